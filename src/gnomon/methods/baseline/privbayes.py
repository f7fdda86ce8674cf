"""PrivBayes: a Bayesian network of low degree, chosen privately, and its noisy tables."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gnomon.methods.baseline.joint import Coded, Dependence, JointCounts, coded
from gnomon.methods.baseline.tables import ChosenTables, useful_cells
from gnomon.methods.parameters import check_integer
from gnomon.methods.public import Notes, Public
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.measure import Measurer
from gnomon.statistics.queries import NoisyMax

MOST = 300  # candidates of one choice: a public random part of more
Edge = tuple[int, ...]  # an attribute, then its parents


@dataclass(eq=False, repr=False)
class PrivBayes(ChosenTables):
    """Synthetic rows from a Bayesian network whose edges are chosen privately and whose tables are noisy.

    Reference: Zhang, Cormode, Procopiuc, Srivastava, Xiao, "PrivBayes: Private Data Release via Bayesian Networks", TODS
    2017: greedy choice of an attribute and its parents by the exponential mechanism, noisy tables, ancestral sampling.

    Guarantee: epsilon-DP for replacing one record, its label included; n public.

    Differs from the paper: edges are chosen by report noisy max, which is as private; parents are chosen among all sets of
    at most `degree` attributes whose table is theta-useful, or a public random part of them; a number has `bins` intervals
    of equal width, without a taxonomy. All d tables are measured. No printed noise is short: there is no paper calibration.

    Parameters
    ----------
    epsilon, delta : the budget; it is spent purely, so delta buys nothing.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; it is an attribute like the others.
    n_components : "auto" or the number of encoded columns: this method has no other dimension.
    degree : the largest number of parents, the paper's k.
    beta : the share of epsilon for the choice of the network.
    theta : a table may have at most n epsilon_2 / (2 d theta) cells, so that counts stand out of their noise.
    bins : intervals of a number.
    random_state : seeds the first attribute, the candidates and the sampling, never the noise.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> method = gn.baseline.PrivBayes(4.0, bounds=(0, 1), classes=[0, 1]).fit(X, y)
    >>> [part.shape for part in method.sample(5)]
    [(5, 3), (5,)]
    """

    name: ClassVar[str] = "privbayes"

    degree: int = 2

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_integer(self, "degree", 8)

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        """GreedyBayes, then NoisyConditionals: choose the network, measure the table of every edge."""
        attributes = tuple(coded(public, self.bins))
        choosing, counting = public.pure_budget.split(self.beta, 1 - self.beta)
        largest = useful_cells(public, counting, len(attributes), self.theta)
        chosen = network(data, public, attributes, choosing, largest, self.degree)
        self.tables_ = self._measured(data, public, attributes, tuple(chosen), counting)
        notes.rows = public.rows
        notes.post_processing.append(
            "negative counts become zero; each row of a table is made a distribution"
        )


def network(
    data: Measurer,
    public: Public,
    attributes: tuple[Coded, ...],
    loss: PureDP,
    largest: float,
    degree: int,
) -> list[Edge]:
    """GreedyBayes: a public first attribute, then at each step the attribute and parents that depend most on each other."""
    rng, d = public.rng(), len(attributes)
    found: list[Edge] = [(int(rng.integers(d)),)]
    parts = loss.split(*[1 / (d - 1)] * (d - 1)) if d > 1 else ()
    for step, part in enumerate(parts):
        candidates = edges(attributes, [edge[0] for edge in found], largest, degree)
        if len(candidates) > MOST:
            candidates = [candidates[i] for i in np.sort(rng.choice(len(candidates), MOST, replace=False))]
        counts = JointCounts(f"attribute {step + 2} of the network", attributes, tuple(candidates))
        scores = Dependence(counts, public.rows)
        found.append(candidates[data.select(NoisyMax(scores, scores.change, (0,) * len(candidates)), part)])
    return found


def edges(attributes: tuple[Coded, ...], chosen: list[int], largest: float, degree: int) -> list[Edge]:
    """Every other attribute with each largest useful set of parents among the chosen ones; without parents if none is."""
    found = []
    for x in (i for i in range(len(attributes)) if i not in chosen):
        for size in range(min(degree, len(chosen)), -1, -1):
            sets = [
                (x, *parents)
                for parents in itertools.combinations(chosen, size)
                if math.prod(attributes[i].size for i in (x, *parents)) <= largest or size == 0
            ]
            if sets:
                found += sets
                break
    return found
