"""PrivBayes: a Bayesian network of low degree, chosen privately, and its noisy tables."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.methods.baseline.base import Compared, all_columns, check_full_dimension
from gnomon.methods.baseline.joint import Coded, Dependence, JointCounts, coded, spread
from gnomon.methods.model_release import SAMPLING, ModelRelease
from gnomon.methods.public import Notes, Public
from gnomon.model.mixture import BATCH
from gnomon.privacy.guarantee import Adjacency, PureDP
from gnomon.privacy.measure import Measurer
from gnomon.statistics.queries import NoisyMax
from gnomon.table.rows import Codes

MOST = 300  # candidates of one choice: a public random part of more
Edge = tuple[int, ...]  # an attribute, then its parents


@dataclass(eq=False, repr=False)
class PrivBayes(Compared, ModelRelease):
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
    """

    name: ClassVar[str] = "privbayes"
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE,)

    degree: int = 2
    beta: float = 0.3
    theta: float = 4.0
    bins: int = 16

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_full_dimension(self, public)
        if self.calibration == "paper":
            raise ParameterError("PrivBayes has no printed noise that is short; use calibration='sound'.")
        for name, value, most in (("degree", self.degree, 8), ("bins", self.bins, 256)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value <= most:
                raise ParameterError(
                    f"The '{name}' parameter of PrivBayes must be an integer from 1 to {most}. Got {value!r} instead."
                )
        if not (isinstance(self.beta, int | float) and 0.01 <= self.beta <= 0.99):
            raise ParameterError(
                f"The 'beta' parameter of PrivBayes must be from 0.01 to 0.99. Got {self.beta!r} instead."
            )
        if not (isinstance(self.theta, int | float) and 0 < self.theta <= 1e6):
            raise ParameterError(
                f"The 'theta' parameter of PrivBayes must be positive and at most 1e+06. Got {self.theta!r} instead."
            )
        if public.guarantee.delta > 0 and public.schema.estimated:
            raise ParameterError(
                f"The column {public.schema.estimated[0].name!r} has estimate = true, and PrivBayes spends what is left as "
                "pure epsilon; set delta to 0, or declare its bounds or classes."
            )

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        attributes = tuple(coded(public, self.bins))
        choosing, counting = public.pure_budget.split(self.beta, 1 - self.beta)
        largest = self._largest(public, counting, len(attributes))
        self.network_ = network(data, public, attributes, choosing, largest, self.degree)
        query = JointCounts("tables of every attribute with its parents", attributes, tuple(self.network_))
        counts = query.split(data.measure(query, counting).answer)
        self.tables_ = [conditional(table) for table in counts]
        self.attributes_ = attributes
        self.frame_ = all_columns(public.m, normalise=False)
        notes.rows = public.rows
        notes.post_processing.append(
            "negative counts become zero; each row of a table is made a distribution"
        )

    def _largest(self, public: Public, counting: PureDP, d: int) -> float:
        """The most cells of a table, by theta-usefulness: public numbers."""
        if math.isinf(counting.epsilon):
            return math.inf
        return public.rows * counting.epsilon / (2 * d * self.theta)

    def sample_batches(self, n: int, seed: int | None = None) -> Iterator[pa.Table]:
        """n synthetic rows: every attribute given its parents, in the order of the network."""
        rng = np.random.default_rng([SAMPLING, self.seed_ if seed is None else seed])
        target, m = self.encoder_.target, self.encoder_.width
        for start in range(0, n, BATCH):
            size = min(BATCH, n - start)
            codes = ancestral(self.network_, self.tables_, size, rng)
            cells = np.zeros((size, m))
            for i, attribute in enumerate(self.attributes_):
                if attribute.binning is not None:
                    attribute.write(codes[:, i], cells, rng)
            y: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None = None
            if target.is_class:
                y = codes[:, -1]
            elif target.is_number:
                y = spread(codes[:, -1], self.attributes_[-1].size, exact=False, rng=rng)
            yield self.encoder_.decode(cells, y)


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


def conditional(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """P(x | parents), (parents, x), from noisy counts; the margin of x where its parents have none."""
    table = np.maximum(counts.astype(np.float64).reshape(len(counts), -1).T, 0.0)
    margin = table.sum(axis=0)
    margin = margin / margin.sum() if margin.sum() > 0 else np.full(len(margin), 1 / len(margin))
    total = table.sum(axis=1, keepdims=True)
    return np.where(total > 0, table / np.maximum(total, 1e-300), margin)


def ancestral(
    network: list[Edge], tables: list[npt.NDArray[np.float64]], n: int, rng: np.random.Generator
) -> Codes:
    """n rows of codes (n, d), each attribute drawn given its parents."""
    codes = np.zeros((n, len(network)), dtype=np.int64)
    sizes = {edge[0]: table.shape[1] for edge, table in zip(network, tables, strict=True)}
    for edge, table in zip(network, tables, strict=True):
        place = np.zeros(n, dtype=np.int64)
        for parent in edge[1:]:
            place = place * sizes[parent] + codes[:, parent]
        cumulative = np.cumsum(table, axis=1)[place]
        codes[:, edge[0]] = (rng.random((n, 1)) * cumulative[:, -1:] >= cumulative[:, :-1]).sum(axis=1)
    return codes
