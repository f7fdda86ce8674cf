"""What a budget buys, before it is spent: noise, expected error and advice per method; no data are read.

A method describes itself in a classmethod `plan(encoder, n, guarantee) -> MethodPlan` and refuses there what it
cannot keep; what RON-Gauss and PCA-Gauss would do is described here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import ApproxDP, Guarantee, PureDP

if TYPE_CHECKING:
    from gnomon.table.column import Column
    from gnomon.table.encode import Encoder
    from gnomon.table.schema import Schema

SMALL, LARGE = 0.25, 0.8  # expected error: below, it hardly shows; above, little of the data is left
# By docs/results/comparison.md: what a worst case weighs beside an expectation, where counts keep more than moments.
WORST_CASE = 2.0
FEW_COLUMNS, FEW_VALUES, MOSTLY = 20, 16, 0.5
_SOME_DELTA = 1e-6
_MOST_DOUBLINGS = 12


@dataclass(frozen=True)
class PlannedNoise:
    """The noise that one statistic would meet: its standard deviation, in words of the statistic's unit."""

    statistic: str
    mechanism: str
    std: float
    unit: str


@dataclass(frozen=True)
class MethodPlan:
    """What one method would do.

    `error` is the expected relative error of what the release shows of the data: its noise relative to the spread
    of the data, and what a random projection to `n_components` dimensions distorts (see `distortion`).
    """

    method: str
    road: Literal["model", "rows"]
    n_components: int
    noise: tuple[PlannedNoise, ...]
    error: float
    advice: str
    worst_case: bool = False  # the error is that of the worst table; others do better

    @property
    def typical(self) -> float:
        """The error by which methods are ranked: a worst case counts for less."""
        return self.error / WORST_CASE if self.worst_case else self.error


def plan(schema: Schema, rows: int, guarantee: Guarantee, target: str | None = None) -> list[MethodPlan]:
    """One plan per method that can keep the guarantee, best first; reads no data."""
    from gnomon.release import METHODS
    from gnomon.table.encode import Encoder

    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 2:
        raise ParameterError(
            f"The 'rows' parameter of plan must be an integer of at least 2. Got {rows!r} instead."
        )
    declared = schema if target is None else schema.with_target(target)
    encoder = Encoder(declared.with_bounds({column.name: (0.0, 1.0) for column in declared.estimated}))
    plans = []
    for name in METHODS:
        try:
            plans.append(_plan_of(name, METHODS[name], encoder, rows, guarantee))
        except ParameterError:
            continue  # a method that cannot keep this kind of guarantee has nothing to plan
    return sorted(plans, key=lambda planned: (planned.road != "model", planned.typical))


def elsewhere(schema: Schema) -> str | None:
    """What a tool of another kind would likely keep better, by the schema alone; None where gnomon's own will do.

    Tools such as AIM and MST publish noisy counts of the values of columns and of pairs of columns. That is most of a
    narrow table of categories, of which a moment matrix says less; with many columns or numbers it is the other way round.
    """
    columns = schema.released
    listed = sum(_listed(column) for column in columns)
    if len(columns) > FEW_COLUMNS or listed <= MOSTLY * len(columns):
        return None
    return (
        f"{listed} of the {len(columns)} released columns take a few declared values only: a marginal-based tool such as "
        "AIM or MST may keep pairs of them better, if these matter more to you than a classifier."
    )


def _listed(column: Column) -> bool:
    """Is every value of the column declared, and are there few numbers among them?"""
    if column.kind in ("category", "boolean"):
        return True
    if column.kind != "number" or not column.integer or column.estimate:
        return False
    return bool(column.high - column.low < FEW_VALUES)  # type: ignore[operator]


def choose(schema: Schema, rows: int, guarantee: Guarantee, target: str | None = None) -> str:
    """The method that `auto` stands for: the model release whose expected error is smallest.

    PCA-Gauss is planned for the worst table, in which no direction matters more than another, and RON-Gauss for all
    alike. On the tables compared, PCA-Gauss kept far more on faces and blogs, where its worst case was up to 1.6 times
    RON-Gauss's error: it counts half.
    """
    plans = plan(schema, rows, guarantee, target)
    if not plans:
        raise ParameterError("No method can keep this guarantee for this schema; name a method to learn why.")
    return plans[0].method


def _plan_of(name: str, method: Any, encoder: Encoder, rows: int, guarantee: Guarantee) -> MethodPlan:
    if "unit" not in method._get_param_names() and method.unit != guarantee.unit.value:
        raise ParameterError(f"The method {name} protects one {method.unit}, not one {guarantee.unit.value}.")
    if name == "ron-gauss":
        return moment_plan(name, encoder, rows, guarantee)
    if not hasattr(method, "plan"):
        raise ParameterError(f"The method {name} does not say what it would do with a budget.")
    own: MethodPlan = method.plan(encoder, rows, guarantee)
    return own


def moment_plan(name: str, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
    """The plan of a method that releases one moment matrix (count, sum, second moment) for each class."""
    p, noise, error = _moments(encoder, n, guarantee)
    advice = advise(error)
    if math.isinf(guarantee.epsilon):
        advice = "No noise at all: this is not private."
    elif error > LARGE:
        advice += _what_it_takes(encoder, n, guarantee)
    elif isinstance(guarantee, PureDP) and error > SMALL:
        other = ApproxDP(guarantee.epsilon, min(_SOME_DELTA, 0.1 / n), guarantee.unit, guarantee.adjacency)
        better = _moments(encoder, n, other)[2]
        if better < 0.8 * error:
            advice += (
                f" With --delta {other.delta:.0e} the error would be {error / better:.1f} times smaller."
            )
    return MethodPlan(name, "model", p, noise, error, advice)


def subspace_plan(name: str, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
    """The plan of PCA-Gauss: one moment matrix in the full dimension, and the directions that rise above its noise.

    How many rise depends on the rows, which a plan does not read. The worst case is shown: no direction matters more
    than another, and the p that are seen are no better than random ones. Related columns do better.
    """
    from gnomon.privacy.mechanism import moment_noise
    from gnomon.release.base import Account
    from gnomon.release.pca_gauss import affordable_plan
    from gnomon.release.pca_marginals import noise_of, numbers, parts
    from gnomon.release.pca_regression import Beside, stages
    from gnomon.release.pca_stages import LABEL, MEAN
    from gnomon.statistics.grid import GRID
    from gnomon.statistics.moments import ball

    m, classes = encoder.width, len(encoder.classes) if encoder.classes else 1
    planned, loss = affordable_plan(encoder, n, Account(guarantee))
    steps, first, _ = planned.split(loss)
    if encoder.task == "regression" and "columns" in steps:
        _, alone, second = stages(n, m, first).split(first)
        first = second or alone
    beside = Beside.of(n, m, first)
    weight, q, T = {
        "classification": (LABEL, m + classes, ball(LABEL)),
        "clustering": (MEAN, m + 1, ball(MEAN)),
        "regression": (beside.constant, m + 2, beside.ball),
    }[encoder.task]
    found = moment_noise(q, first, ball=T)
    noise = found.law.off_diagonal / GRID**2 / n
    edge = 2 * noise * math.sqrt(m)  # the largest eigenvalue of the noise alone
    p = m if edge == 0 else max(1, min(m, math.floor(0.5 / edge)))
    relative, spread = noise * p / 0.5, math.sqrt(0.5 / p)
    size = n / classes
    what = "a class" if classes > 1 else "all rows"
    mean = found.law.off_diagonal / (GRID * weight) / size / spread
    lines: tuple[PlannedNoise, ...] = (
        PlannedNoise(f"mean of {what}", found.mechanism, mean, "spreads"),
        PlannedNoise("covariance of all rows", found.mechanism, relative, "variances"),
    )
    if classes > 1:
        count = PlannedNoise("size of a class", found.mechanism, found.law.diagonal / LABEL**2, "rows")
        lines = (count, *lines)
    if "shapes" in steps:
        counted = noise_of(len(numbers(encoder)), parts(steps["shapes"], classes)[0])
        lines = (*lines, PlannedNoise("bin of a column of numbers", *counted, "rows"))
    error = math.hypot(relative, distortion(p, m))
    advice = "No noise at all: this is not private." if math.isinf(guarantee.epsilon) else advise(error)
    if error > SMALL:
        advice += " This is the worst case: it sees more where columns are related."
    return MethodPlan(name, "model", p, lines, error, advice, worst_case=True)


def advise(error: float) -> str:
    """One sentence from the expected error."""
    if error <= SMALL:
        return "The noise is small beside the data; this budget is enough, and a smaller one may be."
    if error <= LARGE:
        return "The main structure of the data survives; expect some loss of accuracy."
    return "Little of the data would be left."


def _what_it_takes(encoder: Encoder, n: int, guarantee: Guarantee) -> str:
    for doubling in range(1, _MOST_DOUBLINGS + 1):
        if _moments(encoder, n << doubling, guarantee)[2] <= LARGE:
            return f" It takes about {n << doubling:,} rows, or {1 << doubling} times this epsilon, or fewer columns."
    return " It takes many more rows, or far fewer columns."


def distortion(p: int, m: int) -> float:
    """The relative standard deviation of a squared distance seen through a random projection from m to p dimensions.

    The squared length of a unit row's image is Beta(p/2, (m-p)/2): mean p/m, variance 2 p (m-p) / (m^2 (m+2)).
    """
    return math.sqrt(2 * (m - p) / (p * (m + 2)))


def _moments(encoder: Encoder, n: int, guarantee: Guarantee) -> tuple[int, tuple[PlannedNoise, ...], float]:
    """Dimension, noise per statistic, expected error."""
    from gnomon.privacy.mechanism import moment_noise
    from gnomon.release.base import Account
    from gnomon.release.ron_gauss import LAMBDA, LOOK, MODEL, auto_dimension
    from gnomon.statistics.grid import GRID
    from gnomon.statistics.moments import ball

    classes = len(encoder.classes) if encoder.classes else 1
    extra = 2 if encoder.task == "regression" else 1
    spendable = Account(guarantee).spendable
    p = auto_dimension(encoder.width, n, classes, spendable, extra)
    q = p + extra
    _, loss = spendable(q).split(LOOK, MODEL)
    found = moment_noise(q, loss, ball=ball(LAMBDA, LAMBDA**2 if extra == 2 else 0), blocks=classes)
    law, size = found.law, n / classes
    what = "a class" if classes > 1 else "all rows"
    variance = 0.5 / p  # rows in the unit ball spread about half of their square over p directions
    relative = law.off_diagonal / GRID**2 / size / variance
    spread = math.sqrt(variance)
    lines: tuple[PlannedNoise, ...] = (
        PlannedNoise(
            f"mean of {what}", found.mechanism, law.off_diagonal / (GRID * LAMBDA) / size / spread, "spreads"
        ),
        PlannedNoise(f"covariance of {what}", found.mechanism, relative, "variances"),
    )
    if classes > 1:
        lines = (PlannedNoise("size of a class", found.mechanism, law.diagonal / LAMBDA**2, "rows"), *lines)
    return p, lines, math.hypot(relative, distortion(p, encoder.width))
