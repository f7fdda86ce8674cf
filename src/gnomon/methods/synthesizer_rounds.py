"""The Synthesizer's rounds of moments: what is measured in which frame, and what is known after it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gnomon.methods.planning import doubled, moment_deviation
from gnomon.methods.synthesizer_counts import WHOLE, Rounds
from gnomon.model.class_marginals import target_levels
from gnomon.model.coordinates import UNIFORM, Coordinates
from gnomon.model.mixture import Mixture
from gnomon.model.rounds import Radius, Subspace, cells, length_grid, radius, subspace
from gnomon.model.shrinkage import Floats, signal_share
from gnomon.model.sums import Sums
from gnomon.model.tuning import RESOLUTION
from gnomon.privacy.guarantee import PureDP
from gnomon.privacy.measure import Measurement
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import CellMoments, Lengths, Moments, Query, RowSum
from gnomon.table.rows import CELL
from gnomon.table.target import Target


@dataclass
class View:
    """The rounds of one release: frames from what is known, queries in them, updates of what is known."""

    rounds: Rounds
    on: Coordinates
    rows: float

    def __post_init__(self) -> None:
        self.public, self.plan = self.rounds.public, self.rounds.plan
        self.target, self.ends, self.levels = self.public.target, WHOLE, np.array([0.0, 1.0])
        if self.target.is_number:
            self.levels = target_levels(self.on.marginals[-1], self.plan.target_bins)
            inner = self.on.marginals[-1].quantile(self.levels[1:-1])
            self.ends = np.append(np.rint(inner * CELL), CELL).astype(np.int64)
            self.target = Target(self.target.name, len(self.ends))
        self.scores = self.on.scores(self.plan.tuning)
        self.location = self.on.centre if self.plan.counted else self._measured_location()

    @property
    def classes(self) -> int:
        return self.target.blocks

    def measure(self, name: str, query: Query) -> Measurement:
        return self.rounds.measure(name, query, self.ends)

    def frame(self, centre: Floats) -> Frame:
        whole, missing = np.zeros((1, len(centre))), self.on.missing
        return Frame(centre, self.on.weight, whole, np.ones(1), scores=self.scores, missing=missing)

    def _measured_location(self) -> Floats:
        """The mean of scores that nothing is known about but their bounds, by all rounds that were to count columns."""
        on, names = self.on, [name for name in ("second", "third") if name in self.plan.losses]
        m, longest = len(on.centre), UNIFORM * float(np.linalg.norm(on.weight))
        frame = self.frame(on.centre).zoom(np.zeros((1, m)), longest)
        asked = [RowSum("sum of the scores" + ", again" * (name == "third"), frame, GRID) for name in names]
        found = [self.measure(name, query) for name, query in zip(names, asked, strict=True)]
        each = np.array([one.noise.diagonal for one in found]) / asked[0].units[0]
        share = 1 / np.maximum(each, RESOLUTION.tiny) ** 2
        share /= share.sum()
        sums = share @ [one.answer[0] / asked[0].units for one in found]
        noise = float(np.linalg.norm(share * each)) * longest
        self.rows = self.public.n_or(sums[-1])
        mean, noise = sums[:-1] * longest / self.rows, noise / self.rows
        return np.asarray(on.centre + signal_share(float(mean @ mean), m * noise**2) * mean / on.weight)

    def within(
        self, name: str, words: str, frame: Frame, guess: float, coverage: float, blocks: int = 1
    ) -> Radius:
        """Balls for the classes from a noisy histogram of lengths."""
        grid = length_grid(guess)
        query = Lengths(words, frame, tuple(grid.tolist()))
        measured = self.measure(name, query)
        by_class = measured.answer.reshape(blocks, -1, len(grid)).sum(axis=1).astype(np.float64)
        noise = measured.noise.diagonal * math.sqrt(frame.blocks / blocks)
        return radius(by_class, noise, grid, coverage, self.rows)

    def joint(self) -> Subspace:
        """Moments of (score, label) in a ball that holds few rows, since directions need no lengths."""
        t, on, frame = self.plan.tuning, self.on, self.frame(self.location)
        guess = math.sqrt(max(float(on.variance @ on.weight**2), t.least))
        ball = self.within("lengths", "lengths of the scores", frame, guess, t.joint_coverage)
        frame = replace(frame, radius=ball.radii)
        beside = round((t.label if self.plan.by_class else 1) * GRID)
        label, constant = (beside, 0) if self.target.is_class else (0, beside)
        query = Moments("moments of scores and label", frame, self.target, label, constant)
        sums = Sums.of(self.measure("joint", query))
        self.rows = self.public.n_or(sums.counts.sum())
        most = max(self.plan.dimension, 2) if self.plan.by_class else len(on.centre)
        return subspace(sums, ball, self.rows, most, t)

    def by_class(self, space: Subspace) -> Mixture:
        """Second moments by class, with sums and counts by cell of the class, around centres that the model itself has."""
        t, k = self.plan.tuning, self._cells(space)
        centres, around = space.cell_centres(k, self.public.rng())
        L, _, P = centres.shape
        longest = float(space.scale.max())
        offset = (centres.reshape(L * k, P) + space.centre @ (space.basis * space.scale)) / longest
        frame = replace(self.frame(self.location), projection=space.basis * (space.scale / longest))
        frame = frame.zoom(offset, np.full(L * k, 1 / longest), classes=L if L > 1 or k > 1 else 0)
        guess = math.sqrt(float(np.trace(space.within))) / k ** (1 / max(P, 2))
        ball = self.within("class_lengths", "lengths by class", frame, guess, t.class_coverage, L)
        frame = replace(frame, radius=np.repeat(ball.radii, k) / longest)
        constant = GRID // 2
        query = (
            CellMoments("moments by class and cell", frame, constant)
            if k > 1
            else Moments("moments by class", frame, self.target, 0, constant, by_class=L > 1)
        )
        return cells(space, centres, around, Sums.of(self.measure("classes", query)), ball, t)

    def _cells(self, space: Subspace) -> int:
        """Cells in a class: doubled while the noise of a cell's mean stays small beside the ball."""
        t, P, loss = self.plan.tuning, space.dimension, self.plan.losses["classes"]
        if isinstance(loss, PureDP):
            return 1
        noise = moment_deviation(P + 1, loss, 1 / 2, 2) * 2
        return doubled(noise * math.sqrt(P) * self.classes / self.rows, t.parts, t.part_noise)

    def located(self, space: Subspace) -> Subspace:
        """The subspace with its centre seen from the coordinates' own."""
        return replace(space, centre=space.centre + (self.location - self.on.centre) * self.on.weight)

    def seen(self, space: Subspace) -> Frame:
        """The subspace in which `transform` shows rows, which have no target."""
        m, whole = self.public.m, self.frame(self.location + space.centre / self.on.weight)
        basis = np.asarray(np.linalg.qr(space.basis[:m])[0])
        return replace(
            whole.project(basis, radius=1.0),
            centre=whole.centre[:m],
            weight=whole.weight[:m],
            scores=whole.scores[:m],
        )

    def scaled(self, space: Subspace) -> Coordinates:
        """The coordinates; where no marginal was counted, with the variances that the joint moments show."""
        on = self.on
        if on.counted:
            return on
        seen = np.clip(space.variances / on.weight**2, self.plan.tuning.least * on.variance, on.variance)
        return replace(on, variance=seen)
