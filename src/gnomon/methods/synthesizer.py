"""The Synthesizer: a latent Gaussian mixture over private marginals, measured in better and better frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from gnomon.errors import ParameterError
from gnomon.methods.model_release import SAMPLING, ModelRelease
from gnomon.methods.planning import MethodPlan
from gnomon.methods.public import Notes, Public
from gnomon.methods.synthesizer_counts import Rounds, measure_coordinates
from gnomon.methods.synthesizer_marginals import with_class_marginals
from gnomon.methods.synthesizer_plan import BudgetPlan, synthesizer_plan
from gnomon.methods.synthesizer_rounds import View
from gnomon.model.rounds import class_cells
from gnomon.model.synthetic import SyntheticModel, synthetic_model
from gnomon.model.tuning import Tuning
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.measure import Measurer
from gnomon.statistics.frame import Frame
from gnomon.table.encode import Encoder
from gnomon.table.source import open_source


def synthesize(data: Measurer, public: Public, plan: BudgetPlan) -> tuple[SyntheticModel, Frame, float]:
    """Marginals, joint moments of scores, moments by class and cell, counts by class; then a model of all columns."""
    view = View(*measure_coordinates(Rounds(data, public, plan)))  # two rounds of counting
    space = view.joint()  # directions, in a ball that a histogram of lengths chose
    components = view.by_class(space) if plan.by_class else class_cells(space)
    model = synthetic_model(view.located(space), components, view.scaled(space), plan.tuning)
    return with_class_marginals(view, model.raked(public.rng()), space), view.seen(space), view.rows


@dataclass(eq=False, repr=False)
class Synthesizer(ModelRelease):
    """Differentially private synthetic rows from a latent Gaussian mixture over private marginals.

    Guarantee: epsilon-DP (delta = 0) or (epsilon, delta)-DP for replacing one record, its label included, or for adding
    or removing one, with the number of rows private.

    Every number is read by `Measurer.measure`: counts of columns, lengths, moments. All else is post-processing.

    Parameters
    ----------
    epsilon, delta : the budget; delta = 0 asks for pure epsilon-DP.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; by default as the schema declares.
    tuning : the numbers that were chosen, see `Tuning`.
    random_state : seeds the sampling of the model, never the noise.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> method = gn.Synthesizer(4.0, bounds=(0, 1)).fit(X)
    >>> method.sample(5).shape, method.certificate_.holds
    ((5, 3), True)
    """

    name: ClassVar[str] = "synthesizer"

    tuning: Tuning = Tuning()  # noqa: RUF009 - frozen

    @classmethod
    def restored(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        return {**parameters, "tuning": Tuning(**parameters["tuning"])}

    def _check(self, public: Public) -> None:
        super()._check(public)
        if self.calibration == "paper":
            raise ParameterError("No paper prints the noise of Synthesizer; use calibration='sound'.")
        if self.n_components != "auto":
            raise ParameterError(
                "The 'n_components' parameter of Synthesizer must be 'auto': it keeps every direction that stands out of "
                f"its noise. Got {self.n_components!r} instead."
            )

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        self.frame_ = Frame.identity(public.m, radius=1.0)  # released columns are used as they are
        self.plan_ = BudgetPlan.of(public, self.tuning)
        self.synthetic_, self.view_, rows = synthesize(data, public, self.plan_)
        notes.rows = round(rows)
        notes.post_processing.append(
            "counts onto the simplex, columns' marginals and scores from them, moments shrunk by the law of their noise, "
            "discrete cells by linear predictions raked to their shares"
        )

    @classmethod
    def plan(cls, encoder: Encoder, n: int, guarantee: Guarantee) -> MethodPlan:
        """What a budget buys, by public numbers: the noise of every round, and the directions that rise above it."""
        return synthesizer_plan(cls.name, encoder, n, guarantee)

    def sample_batches(self, n: int, seed: int | None = None) -> Iterator[pa.Table]:
        """n synthetic rows as Arrow tables, a batch at a time; the same for the same seed."""
        rng = np.random.default_rng([SAMPLING, self.seed_ if seed is None else seed])
        target, m = self.encoder_.target, self.encoder_.width
        for cells_, codes in self.synthetic_.sample_batches(n, rng):
            y: Any = (
                codes if target.is_class else np.clip(cells_[:, -1], -1.0, 1.0) if target.is_number else None
            )
            yield self.encoder_.decode(cells_[:, :m], y)

    def transform(self, X: Any) -> Any:
        """Real rows with their numbers as the model's subspace shows them; other cells as they are."""
        source = open_source(X, None, schema=self.schema_)
        features = self.schema_.with_target(None) if self.encoder_.target.is_none else self.schema_
        names = [column.name for column in features.released if column.name in source.names]
        parts = [self._through(batch, names) for batch in source.batches(names)]
        return source.like(pa.concat_tables(parts))

    def _through(self, batch: pa.RecordBatch, names: list[str]) -> pa.Table:
        rows = self.encoder_.encode(batch, target=False)
        scores = self.view_.lift(self.view_.components(rows))
        seen = self.encoder_.decode(self.synthetic_.coordinates.read(rows.X, scores), None)
        columns = {name: seen[name] if name in seen.column_names else batch.column(name) for name in names}
        return pa.table(columns)
