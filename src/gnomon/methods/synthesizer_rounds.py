"""The Synthesizer's rounds: what is measured in which frame, and what is known after it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from gnomon.methods.public import Public
from gnomon.methods.synthesizer_plan import BudgetPlan, count_noise, doubled
from gnomon.model.class_marginals import class_bins, raked, target_marginals, tilted
from gnomon.model.columns import Attribute, Bins, Floats
from gnomon.model.marginal import (
    Counts,
    Marginal,
    combined,
    marginal_of,
    marginals,
    missing_share,
    public_bins,
    refined_bins,
    uniform,
)
from gnomon.model.rounds import Cells, Radius, Subspace, cells, length_grid, radius, subspace
from gnomon.model.shrinkage import shrunk_to_mean, signal_share
from gnomon.model.sums import Sums
from gnomon.model.synthetic import UNIFORM, Coordinates, SyntheticModel
from gnomon.model.tuning import RESOLUTION, Tuning
from gnomon.privacy.guarantee import PureDP, Spendable
from gnomon.privacy.measure import Measurement, Measurer
from gnomon.privacy.mechanism import moment_noise
from gnomon.statistics.frame import SCORE, Binning, Frame, ScoreMap
from gnomon.statistics.grid import GRID, Integers
from gnomon.statistics.queries import (
    CellMoments,
    ClassHistogram,
    Histogram,
    Lengths,
    Moments,
    Query,
    RowSum,
    TargetAsColumn,
)
from gnomon.table.rows import CELL, Rows
from gnomon.table.target import Target

ALL_CELLS = Bins(np.array([CELL]), np.array([-1.0]), np.array([1.0]))
Ask = Callable[[Query], Query]


@dataclass(frozen=True)
class Measured:
    """What the first round knows: coordinates with their score maps, the number of rows, bins of a numeric target."""

    coordinates: Coordinates
    scores: tuple[ScoreMap | None, ...]
    rows: float
    target_ends: Integers | None
    target_levels: Floats | None


def measure_coordinates(data: Measurer, public: Public, plan: BudgetPlan) -> Measured:
    """Marginals by two rounds of counting: on a public grid, then at the quantiles of the first counts."""
    ask = _asking(public, np.array([CELL]))
    t, found = plan.tuning, plan.attributes
    if not plan.counted:
        return _located(data, ask, public, plan)
    first_bins = [public_bins(attribute, t) for attribute in found]
    first = _count(data, ask, "counts on the public grid", found, first_bins, plan.losses["first"])
    bins = [refined_bins(a, counts, plan.bins, t) for a, counts in zip(found, first, strict=True)]
    second = _count(data, ask, "counts at the quantiles", found, bins, plan.losses["second"])
    both = [combined(a, b) for a, b in zip(first, second, strict=True)]
    counted = float(np.mean([counts.rows for counts in both]))
    rows = float(public.n) if public.n is not None else max(counted, 1.0)
    return _coordinates(public, plan, marginals(both, rows, t), rows)


def _located(data: Measurer, ask: Ask, public: Public, plan: BudgetPlan) -> Measured:
    """Where whole columns are too many bins to count: shares of few values and of missing cells alone."""
    few = tuple(a for a in plan.attributes if a.values is not None or a.indicator is not None)
    found = {attribute.name: uniform(attribute) for attribute in plan.attributes}
    rows = float(public.rows)
    if "first" in plan.losses:
        bins = [public_bins(a, plan.tuning) if a.values is not None else ALL_CELLS for a in few]
        counts = _count(data, ask, "shares of values and of missing cells", few, bins, plan.losses["first"])
        counts = _alike(few, counts)
        if public.n is None:
            rows = max(float(np.mean([one.rows for one in counts])), 1.0)
        for attribute, one in zip(few, counts, strict=True):
            if attribute.values is not None:
                found[attribute.name] = marginal_of(one, rows, plan.tuning)
            else:
                found[attribute.name] = replace(uniform(attribute), missing=missing_share(one, rows))
    return _coordinates(public, plan, list(found.values()), rows)


def _alike(few: tuple[Attribute, ...], counts: list[Counts]) -> list[Counts]:
    """Counts of missing cells, and of both values of booleans, shrunk to their means over the columns."""
    counts = list(counts)
    marked = [i for i, a in enumerate(few) if a.indicator is not None]
    flags = [i for i, a in enumerate(few) if a.kind == "boolean"]
    if marked:
        missing = shrunk_to_mean(np.array([counts[i].missing for i in marked]), counts[0].noise[0])
        for i, one in zip(marked, missing, strict=True):
            counts[i] = replace(counts[i], missing=float(one))
    if flags:
        values = np.array([counts[i].values for i in flags])
        values = np.column_stack([shrunk_to_mean(side, counts[0].noise[0]) for side in values.T])
        for i, pair in zip(flags, values, strict=True):
            counts[i] = replace(counts[i], values=pair)
    return counts


def _asking(public: Public, ends: Integers) -> Ask:
    """Queries as they are, or about rows with a numeric target as their last column."""
    return (lambda query: TargetAsColumn(query, ends)) if public.target.is_number else (lambda query: query)


def _count(
    data: Measurer,
    ask: Ask,
    words: str,
    found: tuple[Attribute, ...],
    bins: list[Bins],
    loss: Spendable,
) -> list[Counts]:
    query = Histogram(words, tuple(_binning(a, b) for a, b in zip(found, bins, strict=True)))
    measured = data.measure(ask(query), loss)
    answers = [part[0].astype(np.float64) for part in query.split(measured.answer)]
    deviations = clear_deviations(query.bins, isinstance(loss, PureDP))
    values = [h if a.indicator is None else h[:-1] for a, h in zip(found, answers, strict=True)]
    missing = [0.0 if a.indicator is None else float(h[-1]) for a, h in zip(found, answers, strict=True)]
    return [
        Counts(b, v, np.full(len(v), measured.noise.diagonal), deviations, gone)
        for b, v, gone in zip(bins, values, missing, strict=True)
    ]


def clear_deviations(bins: int, laplace: bool) -> float:
    """The deviations of noise that half a bin of so many is expected to exceed."""
    chance = 1 / (2 * max(bins, 2))
    return math.log(1 / (2 * chance)) / math.sqrt(2) if laplace else float(ndtri(1 - chance))


def _binning(attribute: Attribute, bins: Bins) -> Binning:
    columns = tuple(range(attribute.first, attribute.columns.stop))
    return Binning(columns, None if attribute.unordered else bins.ends, attribute.indicator)


def _coordinates(public: Public, plan: BudgetPlan, found: list[Marginal], rows: float) -> Measured:
    """Score maps and the moments of the coordinates, from the marginals."""
    t, counted, m = plan.tuning, plan.counted, public.m + public.target.is_number
    centre, variance, weight = np.zeros(m), np.zeros(m), np.ones(m)
    scores: list[ScoreMap | None] = [None] * m
    for attribute, marginal in zip(plan.attributes, found, strict=True):
        if attribute.unordered:
            centre[attribute.columns] = marginal.mass
            variance[attribute.columns] = marginal.mass * (1 - marginal.mass) * (1 - marginal.missing)
        else:
            scores[attribute.first] = score_map(marginal, attribute, counted, t)
            variance[attribute.first] = marginal.variance * (1 - marginal.missing)
        if attribute.indicator is not None:
            centre[attribute.indicator] = marginal.missing
            variance[attribute.indicator] = marginal.missing * (1 - marginal.missing)
    levels = ends = None
    if public.target.is_number:
        weight[-1] = max(math.sqrt(m) / 2, 1.0)
        levels = target_levels(found[-1], plan.target_bins)
        ends = np.append(np.rint(found[-1].quantile(levels[1:-1]) * CELL), CELL).astype(np.int64)
    on = Coordinates(plan.attributes, tuple(found), counted, centre, weight, variance)
    return Measured(on, tuple(scores), rows, ends, levels)


def target_levels(marginal: Marginal, bins: int) -> Floats:
    """Levels of a numeric target's distribution that its rows are classed by: even, but never within a large atom."""
    F, step = marginal.cumulative, 1 / bins
    large = marginal.atom & (marginal.mass > step / 2)
    levels = np.concatenate([[0.0, 1.0], F[:-1][large], F[1:][large]])
    for level in np.arange(1, bins) * step:
        if np.abs(levels - level).min() > step / 2 and not (large & (F[:-1] < level) & (level < F[1:])).any():
            levels = np.append(levels, level)
    return np.unique(np.rint(levels / RESOLUTION.tiny) * RESOLUTION.tiny)


def score_map(marginal: Marginal, attribute: Attribute, counted: bool, t: Tuning) -> ScoreMap:
    """The column's score as integers: normal by the marginal, or even between the bounds where nothing was counted."""
    if not counted and len(marginal.mass) != 2:
        side = UNIFORM * SCORE
        return ScoreMap(np.array([CELL]), *(np.array([round(sign * side)]) for sign in (-1, 1)))
    z = np.clip(marginal.normal_ends, -t.score_bound, t.score_bound)
    middle = np.clip(marginal.score, -t.score_bound, t.score_bound)
    low, high = np.where(marginal.atom, middle, z[:-1]), np.where(marginal.atom, middle, z[1:])
    if attribute.values is not None:
        ends = np.append((marginal.left[1:] + marginal.left[:-1]) / 2, 1.0)
    else:
        ends = marginal.right + np.where(marginal.atom, 1.0, 0.0) / CELL
        before = np.append(marginal.atom[1:], False) & ~marginal.atom
        ends = ends - 2 * before / CELL
    whole = np.rint(np.append(ends[:-1], max(ends[-1], 1.0)) * CELL).astype(np.int64)
    kept = np.append(True, np.diff(whole) > 0)
    scaled = (np.rint(part * SCORE).astype(np.int64)[kept] for part in (low, high))
    return ScoreMap(whole[kept], *scaled)


# --- rounds of moments ---


@dataclass
class View:
    """The rounds of one release: frames from what is known, queries in them, updates of what is known."""

    data: Measurer
    public: Public
    plan: BudgetPlan
    on: Measured

    def __post_init__(self) -> None:
        ends = np.array([CELL]) if self.on.target_ends is None else self.on.target_ends
        self.ask = _asking(self.public, ends)
        number = self.public.target.is_number
        self.target = Target(self.public.target.name, len(ends)) if number else self.public.target
        marks = [(a, a.indicator) for a in self.plan.attributes if a.indicator is not None]
        self.missing = tuple((j, i) for a, i in marks for j in range(a.first, a.columns.stop))
        on = self.on.coordinates
        self.rows, self.location = self.on.rows, on.centre
        if not self.plan.counted:
            self.location = self._measured_location(self.plan.losses["second"])

    @property
    def classes(self) -> int:
        return self.target.blocks

    def measure(self, query: Query, loss: Spendable) -> Measurement:
        return replace(self.data.measure(self.ask(query), loss), query=query)

    def frame(self, centre: Floats) -> Frame:
        on = self.on.coordinates
        whole = np.zeros((1, len(centre)))
        return Frame(centre, on.weight, whole, np.ones(1), scores=self.on.scores, missing=self.missing)

    def _measured_location(self, loss: Spendable) -> Floats:
        """The mean of scores that nothing is known about but their bounds."""
        on = self.on.coordinates
        m, longest = len(on.centre), UNIFORM * float(np.linalg.norm(on.weight))
        query = RowSum("sum of the scores", self.frame(on.centre).zoom(np.zeros((1, m)), longest), GRID)
        measured = self.measure(query, loss)
        sums, noise = measured.answer[0] / query.units, measured.noise.diagonal / query.units[0]
        self.rows = self.rows if self.public.n is not None else max(float(sums[-1]), 1.0)
        mean, noise = sums[:-1] * longest / self.rows, noise * longest / self.rows
        return np.asarray(on.centre + signal_share(float(mean @ mean), m * noise**2) * mean / on.weight)

    def within(
        self, frame: Frame, words: str, guess: float, coverage: float, loss: Spendable, blocks: int = 1
    ) -> Radius:
        """Balls for the classes from a noisy histogram of lengths."""
        grid = length_grid(guess)
        query = Lengths(words, frame, tuple(grid.tolist()))
        measured = self.measure(query, loss)
        by_class = measured.answer.reshape(blocks, -1, len(grid)).sum(axis=1).astype(np.float64)
        noise = measured.noise.diagonal * math.sqrt(frame.blocks / blocks)
        return radius(by_class, noise, grid, coverage, self.rows)

    def joint(self) -> Subspace:
        """Moments of (score, label) in a ball that holds few rows, since directions need no lengths."""
        t, on, frame = self.plan.tuning, self.on.coordinates, self.frame(self.location)
        guess = math.sqrt(max(float(on.variance @ on.weight**2), t.least))
        ball = self.within(
            frame, "lengths of the scores", guess, t.joint_coverage, self.plan.losses["lengths"]
        )
        frame = frame.zoom(frame.offset, ball.radii)
        beside = round((t.label if self.plan.by_class else 1) * GRID)
        label, constant = (beside, 0) if self.target.is_class else (0, beside)
        query = Moments("moments of scores and label", frame, self.target, label, constant)
        sums = Sums.of(self.measure(query, self.plan.losses["joint"]))
        if self.public.n is None:
            self.rows = max(float(sums.counts.sum()), 1.0)
        most = max(self.plan.dimension, 2) if self.plan.by_class else len(on.centre)
        return subspace(sums, ball, self.rows, most, t)

    def by_class(self, space: Subspace) -> Cells:
        """Second moments by class, with sums and counts by cell of the class, around centres that the model itself has."""
        t, loss = self.plan.tuning, self.plan.losses["classes"]
        k = self._cells(space, loss)
        centres, around = space.cell_centres(k, self.public.rng())
        L, _, P = centres.shape
        longest = float(space.scale.max())
        offset = (centres.reshape(L * k, P) + space.centre @ (space.basis * space.scale)) / longest
        frame = replace(self.frame(self.location), projection=space.basis * (space.scale / longest))
        frame = frame.zoom(offset, np.full(L * k, 1 / longest), classes=L if L > 1 or k > 1 else 0)
        guess = math.sqrt(float(np.trace(space.within))) / k ** (1 / max(P, 2))
        ball = self.within(
            frame, "lengths by class", guess, t.class_coverage, self.plan.losses["class_lengths"], L
        )
        frame = replace(frame, radius=np.repeat(ball.radii, k) / longest)
        constant = GRID // 2
        query = (
            CellMoments("moments by class and cell", frame, constant)
            if k > 1
            else Moments("moments by class", frame, self.target, 0, constant, by_class=L > 1)
        )
        return cells(space, centres, around, Sums.of(self.measure(query, loss)), ball, t)

    def _cells(self, space: Subspace, loss: Spendable) -> int:
        """Cells in a class: doubled while the noise of a cell's mean stays small beside the ball."""
        t, P = self.plan.tuning, space.dimension
        if isinstance(loss, PureDP):
            return 1
        ball = GRID**2 + (GRID // 2) ** 2
        noise = moment_noise(P + 1, loss, ball=ball, blocks=2).law.off_diagonal / GRID**2 * 2
        return doubled(noise * math.sqrt(P) * self.classes / self.rows, t.parts, t)

    def located(self, space: Subspace) -> Subspace:
        """The subspace with its centre seen from the coordinates' own."""
        on = self.on.coordinates
        return replace(space, centre=space.centre + (self.location - on.centre) * on.weight)

    def seen(self, space: Subspace) -> Seen:
        """The view of `transform`, which rows without a target have too."""
        m, whole = self.public.m, self.frame(self.location)
        frame = Frame(
            whole.centre[:m], whole.weight[:m], np.zeros((1, m)), np.ones(1),
            scores=whole.scores[:m], missing=whole.missing,
        )  # fmt: skip
        return Seen(frame, space.centre[:m], np.asarray(np.linalg.qr(space.basis[:m])[0]), self.rows)

    def scaled(self, space: Subspace) -> Coordinates:
        """The coordinates; where no marginal was counted, with the variances that the joint moments show."""
        on = self.on.coordinates
        if on.counted:
            return on
        return replace(
            on,
            variance=np.clip(
                space.variances / on.weight**2, self.plan.tuning.least * on.variance, on.variance
            ),
        )

    def with_class_marginals(self, model: SyntheticModel, space: Subspace) -> SyntheticModel:
        """Marginals of all rows, or of classes once these are tilted to their moments, raked to a third count."""
        if not model.coordinates.counted:
            return model
        numbers = [(a, g) for a, g in model.numbers if a.first < self.public.m]
        shaped = [a for a, _ in numbers if a.shaped]
        if not self.plan.of_classes:
            known = self._raked(shaped, {(0, a.first): g for a, g in numbers}, np.array([self.rows]))
            every = tuple(known.get((0, a.first), g) for a, g in model.coordinates)
            model = replace(model, coordinates=replace(model.coordinates, marginals=every))
            numbers = [(a, known.get((0, a.first), g)) for a, g in numbers]
        if self.classes == 1:
            return model
        own = model.class_marginals
        for a, g in numbers:
            masses = tilted(g, model.latent(a.first), self.classes)
            own |= {(c, a.first): replace(g, mass=masses[c]) for c in range(self.classes)}
        if self.on.target_levels is not None:
            place, target = self.plan.attributes[-1].first, model.coordinates.marginals[-1]
            own |= target_marginals(target, self.on.target_levels, place)
        if self.plan.of_classes:
            own |= self._raked(shaped, own, space.counts)
        return model

    def _raked(
        self, shaped: list[Attribute], known: dict[tuple[int, int], Marginal], rows: Floats
    ) -> dict[tuple[int, int], Marginal]:
        """Marginals of classes, or of all rows as one class, raked to noisy counts in bins at their quantiles."""
        if not shaped:
            return {}
        t, loss = self.plan.tuning, self.plan.losses["third"]
        noise = max(count_noise(len(shaped), loss), 1 / CELL)
        most = rows / (t.planned * noise)
        bins = [[class_bins(a, known[c, a.first], most[c], t) for a in shaped] for c in range(len(rows))]
        binnings = [tuple(_binning(a, b) for a, b in zip(shaped, of, strict=True)) for of in bins]
        if len(rows) > 1:
            by_class = ClassHistogram("counts by class", tuple(binnings))
            answers = by_class.split(self.measure(by_class, loss).answer)
        else:
            of_all = Histogram("third counts", binnings[0])
            answers = [[h[0] for h in of_all.split(self.measure(of_all, loss).answer)]]
        return {
            (c, a.first): raked(known[c, a.first], b, h.astype(np.float64), noise, float(rows[c]), t)
            for c, of in enumerate(answers)
            for a, b, h in zip(shaped, bins[c], of, strict=True)
        }


@dataclass(frozen=True, eq=False)
class Seen:
    """How rows look in the subspace: the frame of their scores without a numeric target, the centre and the basis.

    rows  how many there are: the public number, or the measured one.
    """

    frame: Frame
    centre: Floats
    basis: Floats
    rows: float


def through_subspace(rows: Rows, model: SyntheticModel, seen: Seen) -> Floats:
    """Encoded cells in which numbers are what their scores in the subspace stand for."""
    Y = seen.frame.components(rows) - seen.centre
    scores = (Y @ seen.basis) @ seen.basis.T + seen.centre
    scores = scores / seen.frame.weight + seen.frame.centre
    X = rows.X.copy()
    for attribute, marginal in model.numbers:
        j = attribute.first
        if j < X.shape[1]:
            z = scores[:, j]
            X[:, j] = marginal.quantile(ndtr(z)) if model.coordinates.counted else np.clip(z / UNIFORM, -1, 1)
            if attribute.indicator is not None:
                X[X[:, attribute.indicator] > 0, j] = 0.0
    return X
