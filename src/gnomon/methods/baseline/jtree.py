"""JTree: a graph of dependent attributes, chosen privately, and noisy tables of the cliques of its junction tree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from gnomon.methods.baseline.joint import FINE, Coded, Dependence, JointCounts, Sets, coded
from gnomon.methods.baseline.tables import ChosenTables, consistent, useful_cells
from gnomon.methods.parameters import check_integer, check_share
from gnomon.methods.public import Notes, Public
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.measure import Measurer
from gnomon.statistics.grid import Integers
from gnomon.statistics.queries import NoisyMax

Pair = tuple[int, int]
Clique = tuple[int, ...]


@dataclass(eq=False, repr=False)
class JTree(ChosenTables):
    """Synthetic rows from the noisy tables of a junction tree.

    Reference: Chen, Xiao, Zhang, Xu, "Differentially Private High-Dimensional Data Publication via Sampling-Based
    Inference", KDD 2015: find the dependent pairs of attributes, triangulate their graph, merge the cliques of its junction
    tree where that lowers the noise, measure the table of each, make the tables agree, and draw rows along the tree.

    Guarantee: epsilon-DP for replacing one record, its label included; n public.

    Differs from the paper: its test of the pairs is the sparse vector technique without a limit on positive answers, which
    keeps no epsilon (Lyu, Su, Li, VLDB 2017, Algorithm 6). Here `edges` pairs are chosen one after another by report noisy
    max, and "no pair" is a candidate too. Pairs are scored by PrivBayes' R; the sensitivity of the mutual information grows
    with log n. No sample of the rows is drawn first. A pair whose clique would not be theta-useful is no candidate.
    Cliques are merged greedily. A number has `bins` intervals of equal width.

    Parameters
    ----------
    epsilon, delta : the budget; it is spent purely, so delta buys nothing.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; it is an attribute like the others.
    n_components : "auto" or the number of encoded columns: this method has no other dimension.
    edges : how many pairs are chosen at most, or "auto": as many as there are attributes.
    beta : the share of epsilon for the choice of the pairs.
    phi : Cramer's V from which on two attributes count as dependent.
    theta : a clique may have at most n epsilon_2 / (2 d theta) cells, so that counts stand out of their noise.
    bins : intervals of a number.
    random_state : seeds the sampling, never the noise.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> gn.baseline.JTree(4.0, bounds=(0, 1)).fit(X).sample(5).shape
    (5, 3)
    """

    name: ClassVar[str] = "jtree"

    edges: int | str = "auto"
    phi: float = 0.2

    def _check(self, public: Public) -> None:
        super()._check(public)
        if self.edges != "auto":
            check_integer(self, "edges", 1000)
        check_share(self, "phi")

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        attributes = tuple(coded(public, self.bins))
        choosing, counting = public.pure_budget.split(self.beta, 1 - self.beta)
        sizes = [one.size for one in attributes]
        largest = useful_cells(public, counting, len(sizes), self.theta)
        rounds = len(sizes) if self.edges == "auto" else int(self.edges)
        self.edges_ = dependencies(data, public, attributes, choosing, rounds, self.phi, largest)
        sets = merged(junction_tree(cliques(range(len(sizes)), self.edges_, sizes)), sizes)
        self.tables_ = consistent(sets, self._measured(data, public, attributes, sets, counting))
        notes.rows = public.rows
        notes.post_processing.append(
            "tables are made to agree on what they share; negative counts become zero"
        )


@dataclass(frozen=True, eq=False)
class Pairs(Dependence):
    """The scores of pairs, then 0 for no pair at all: as sensitive as those of `Dependence`."""

    def finish(self, total: Integers) -> Integers:
        scored = super().finish(total) if self.summed.sets else np.zeros(0, dtype=np.int64)
        return np.append(scored, 0)


def dependencies(
    data: Measurer,
    public: Public,
    attributes: tuple[Coded, ...],
    loss: PureDP,
    rounds: int,
    phi: float,
    largest: float,
) -> list[Pair]:
    """The pairs that depend on each other most, as far as their cliques stay useful; every round costs, chosen or not.

    Twice R is at most Cramer's V times the root of the smaller size less one, so that a pair that reaches `phi` times
    this root, and is chosen without noise, has a V of at least `phi`.
    """
    sizes, found = [one.size for one in attributes], list[Pair]()
    for step, part in enumerate(loss.split(*[1 / rounds] * rounds)):
        candidates = useful_pairs(found, sizes, largest)
        short = [
            -round(FINE * public.rows * phi * math.sqrt(min(sizes[i], sizes[j]) - 1)) for i, j in candidates
        ]
        counts = JointCounts(f"pair {step + 1} of the graph", attributes, tuple(candidates))
        scores = Pairs(counts, public.rows)
        place = data.select(NoisyMax(scores, scores.change, (*short, 0)), part)
        if place < len(candidates):
            found.append(candidates[place])
    return found


def useful_pairs(found: list[Pair], sizes: list[int], largest: float) -> list[Pair]:
    """The further pairs with which every clique of more than one attribute has few enough cells."""
    part = list(range(len(sizes)))  # of the graph, that an attribute is in
    for i, j in found:
        part = [part[i] if one == part[j] else one for one in part]
    inside = {k: tuple(pair for pair in found if part[pair[0]] == k) for k in part}
    cells = tuple(sizes)

    def fits(i: int, j: int) -> bool:
        if (i, j) in found or sizes[i] * sizes[j] > largest:
            return False
        if part[i] != part[j]:  # the pair is a clique of its own
            return True
        return most_cells((*inside[part[i]], (i, j)), cells) <= largest

    return [pair for pair in itertools.combinations(range(len(sizes)), 2) if fits(*pair)]


@lru_cache(2**13)  # most parts of a graph stay as they were when a pair is added
def most_cells(pairs: tuple[Pair, ...], sizes: tuple[int, ...]) -> int:
    """The cells of the largest clique among attributes that these pairs connect."""
    made = cliques(sorted({i for pair in pairs for i in pair}), pairs, sizes)
    return max(math.prod(sizes[i] for i in one) for one in made)


def cliques(nodes: Iterable[int], pairs: Sequence[Pair], sizes: Sequence[int]) -> list[Clique]:
    """The maximal cliques of the triangulated graph: attributes are eliminated, the smallest clique first."""
    near: dict[int, set[int]] = {i: set() for i in nodes}
    for i, j in pairs:
        near[i].add(j)
        near[j].add(i)
    cells = {i: sizes[i] * math.prod(sizes[j] for j in of) for i, of in near.items()}
    found: list[set[int]] = []
    while near:
        i = min(cells, key=cells.__getitem__)  # the first of several, as attributes are in their order
        clique = near.pop(i) | {i}
        del cells[i]
        for j in clique - {i}:
            near[j] = (near[j] | clique) - {i, j}
            cells[j] = sizes[j] * math.prod(sizes[k] for k in near[j])
        if not any(clique <= other for other in found):
            found.append(clique)
    return sorted(tuple(sorted(one)) for one in found)


def junction_tree(found: list[Clique]) -> list[tuple[Clique, int | None]]:
    """Cliques in an order in which each shares with those before it only what it shares with its parent."""
    tree: list[tuple[Clique, int | None]] = [(found[0], None)]
    rest = list(found[1:])
    while rest:
        _, parent, one = max(
            (len(set(one) & set(inside)), -place, one)
            for one in rest
            for place, (inside, _) in enumerate(tree)
        )
        rest.remove(one)
        tree.append((one, -parent))
    return tree


def merged(tree: list[tuple[Clique, int | None]], sizes: list[int]) -> Sets:
    """Cliques joined with their parents as long as that lowers the noise of all cells together.

    T tables share one budget, so that each cell's variance grows as T^2: what is kept small is T^2 times all cells.
    """

    def cells(one: Clique) -> int:
        return math.prod(sizes[i] for i in one)

    nodes = dict(enumerate(tree))
    while len(nodes) > 1:
        total, T = sum(cells(one) for one, _ in nodes.values()), len(nodes)
        options = []
        for child, (one, parent) in nodes.items():
            if parent is not None:
                both = tuple(sorted({*one, *nodes[parent][0]}))
                options.append((total - cells(one) - cells(nodes[parent][0]) + cells(both), child, both))
        least, child, both = min(options)
        if least * (T - 1) ** 2 >= total * T**2:
            break
        parent = nodes.pop(child)[1]
        assert parent is not None
        nodes[parent] = (both, nodes[parent][1])
        nodes = {k: (one, parent if up == child else up) for k, (one, up) in nodes.items()}
    return tuple(one for one, _ in nodes.values())
