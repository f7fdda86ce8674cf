"""What every release shares: parameters, opening the table, the account of what was spent, sampling and transforming."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sklearn.base import BaseEstimator

from gnomon.engine.local import Progress, fold, quiet
from gnomon.errors import DataError, GnomonWarning, ParameterError
from gnomon.model.mixture import Mixture
from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import Adjacency, ApproxDP, Guarantee, PureDP, Spendable, Unit
from gnomon.privacy.mechanism import Event, Released, best_spend
from gnomon.release.gaps import CellLaw, gaps
from gnomon.release.map import PublicMap
from gnomon.statistics.grid import GRID, Matrix
from gnomon.table.encode import Encoder, Rows
from gnomon.table.schema import Schema
from gnomon.table.source import Source, open_source

FITS_WORDS = (
    "that every cell fits the schema: tables that do not are refused, and the guarantee is for those that do"
)
GRID_WORDS = (
    f"the grid of {GRID} steps to a unit: sensitivities and scales of sums of rows count steps (of products, squared), "
    "those of histograms count rows"
)
SMALLEST = 1e-4  # epsilon
SMALLEST_DELTA = 1e-100
Task = Literal["clustering", "classification", "regression"]
Charge = Callable[[Guarantee], None]


@dataclass(frozen=True)
class Table:
    """A private table as a method sees it: a stream of encoded rows, and public knowledge about it."""

    source: Source
    schema: Schema
    encoder: Encoder
    n: int
    progress: Progress = quiet

    @property
    def m(self) -> int:
        return self.encoder.width

    @property
    def task(self) -> Task:
        task: Task = self.encoder.task
        return task

    @property
    def n_classes(self) -> int:
        return len(self.encoder.classes) if self.encoder.classes is not None else 1

    def sum(self, f: Callable[[Rows], Any], zero: Any, *, stage: str) -> Any:
        """zero + f(rows) over all batches of the table, exactly."""
        columns = [column.name for column in self.schema.released]
        return fold(
            self.source,
            columns,
            lambda batch: f(self.encoder.encode(batch)),
            zero,
            stage=stage,
            progress=self.progress,
        )


@dataclass
class Account:
    """What a release has spent and what it wants its certificate to say."""

    guarantee: Guarantee
    left: Spendable | None = None  # what remains, once something was spent before the method began
    events: list[Event] = field(default_factory=list)
    public: list[str] = field(default_factory=list)
    post_processing: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    delivered: float | None = (
        None  # the real epsilon, where a printed calibration does not keep the declared one
    )

    def spendable(self, q: int, share: float = 1.0) -> Spendable:
        """All that is left, in the kind of loss whose share serves a moment matrix of dimension q best."""
        return best_spend(self.guarantee, q, share=share) if self.left is None else self.left

    def record(self, released: Released) -> Released:
        self.events.append(released.event)
        return released


class Release(BaseEstimator):  # type: ignore[misc]
    """Base of all methods; a scikit-learn estimator whose `fit` spends the budget."""

    name: ClassVar[str]
    unit: str = "row"

    epsilon: float
    delta: float
    schema: Schema | None
    bounds: Any
    target: str | None
    task: Task | None
    classes: Any
    target_bounds: Any
    n_components: int | str
    calibration: str
    random_state: Any
    not_private: bool

    map_: PublicMap

    @property
    def published_map_(self) -> PublicMap:
        """The map through which real rows look like released ones."""
        return self.map_

    def fit(
        self, X: Any, y: Any = None, *, progress: Progress = quiet, charge: Charge | None = None
    ) -> Release:
        """Read the table, spend the budget, keep what may be published.

        `charge` is called with the guarantee after everything public has been checked and before any row is read.
        """
        guarantee = self._guarantee()
        self._rng()
        self._labels_from_y = False
        table = self._open(X, y, progress)
        if self.calibration == "paper" and table.schema.estimated:
            raise ParameterError(
                f"The column {table.schema.estimated[0].name!r} has estimate = true, which no paper prints a price for; "
                "declare its bounds, or use calibration='sound'."
            )
        self._check(table)
        if charge is not None:
            charge(guarantee)
        table, account = self._with_estimated_bounds(table, guarantee)
        if self._labels_from_y:
            account.public.append(
                "the set of class labels, taken from y as the caller declared by passing it"
            )
        self.guarantee_ = guarantee
        self.schema_ = table.schema
        self.encoder_ = table.encoder
        self.n_rows_ = table.n
        self._release(table, account)
        self.events_ = tuple(account.events)
        self.certificate_ = self._certify(table, account)
        self._like = table.source.form()
        return self

    def _release(self, table: Table, account: Account) -> None:
        """Spend `account.guarantee` on `table` and set the fitted attributes."""
        raise NotImplementedError

    def _guarantee(self) -> Guarantee:
        epsilon, delta = self.epsilon, self.delta
        who = type(self).__name__
        if not isinstance(epsilon, (int, float, np.number)) or math.isnan(epsilon) or epsilon <= 0:
            raise ParameterError(
                f"The 'epsilon' parameter of {who} must be a positive number. Got {epsilon!r} instead."
            )
        if epsilon < SMALLEST:
            raise ParameterError(
                f"The 'epsilon' parameter of {who} must be at least {SMALLEST:g}: the noise of less does not fit "
                f"64-bit integers. Got {epsilon!r} instead."
            )
        if math.isinf(epsilon) and not self.not_private:
            raise ParameterError(
                f"The 'epsilon' parameter of {who} is infinite, which is no privacy at all; "
                "set not_private=True (--not-private) if you mean it."
            )
        if not isinstance(delta, (int, float, np.number)) or not 0 <= delta < 1:
            raise ParameterError(f"The 'delta' parameter of {who} must be in [0, 1). Got {delta!r} instead.")
        if 0 < delta < SMALLEST_DELTA:
            raise ParameterError(
                f"The 'delta' parameter of {who} must be 0 or at least {SMALLEST_DELTA:g}, below which 64-bit numbers "
                f"hold no tails. Got {delta!r} instead."
            )
        if self.calibration not in ("sound", "paper"):
            raise ParameterError(
                f"The 'calibration' parameter of {who} must be 'sound' or 'paper'. Got {self.calibration!r} instead."
            )
        unit = Unit(self.unit)
        if delta == 0:
            return PureDP(float(epsilon), unit, Adjacency.REPLACE_ONE)
        return ApproxDP(float(epsilon), float(delta), unit, Adjacency.REPLACE_ONE)

    def _open(self, X: Any, y: Any, progress: Progress) -> Table:
        """Public checks only: nothing here looks at a cell, save the label set that a caller declares by passing y."""
        schema = self.schema
        if isinstance(X, np.ndarray) and schema is None:
            schema = self._schema_of_arrays(X, y)
        elif schema is None:
            raise ParameterError(
                f"{type(self).__name__} needs a schema for this table; "
                "draft one with 'gnomon init', or give an ndarray with bounds=(low, high)."
            )
        elif not isinstance(schema, Schema):
            schema = Schema.load(schema)
        if self.task == "clustering":
            schema = schema.with_target(None) if self.target is None else schema
        elif self.target is not None:
            schema = schema.with_target(self.target)
        source = open_source(X, y if schema.target is not None else None, schema=schema)
        present = set(source.names)
        missing = [c.name for c in schema.released if c.name not in present]
        if missing:
            raise DataError(
                f"The table lacks the column {missing[0]!r} that the schema declares; "
                "correct the schema or the table."
            )
        n = source.n_rows()
        if n < 2:
            raise DataError(f"The table has {n} rows; a release needs at least 2.")
        if n >= 2**30:
            raise DataError("The table has 2^30 rows or more, past what exact integer sums hold; split it.")
        return Table(source, schema, Encoder(_with_placeholder_bounds(schema)), n, progress)

    def _schema_of_arrays(self, X: npt.NDArray[Any], y: Any) -> Schema:
        if X.ndim != 2:
            raise DataError(f"The array X must have two dimensions. Got {X.ndim} instead.")
        if self.bounds is None:
            raise ParameterError(
                f"{type(self).__name__} needs bounds=(low, high) to be declared for an array; "
                "bounds taken from the data would not be private."
            )
        if y is None or self.task == "clustering":
            return Schema.of_arrays(X.shape[1], self.bounds)
        labels = np.asarray(y)
        task = self.task
        if task is None:
            regression = self.target_bounds is not None or labels.dtype.kind == "f"
            task = "regression" if regression and self.classes is None else "classification"
        if task == "regression":
            if self.target_bounds is None:
                raise ParameterError(
                    f"{type(self).__name__} needs target_bounds=(low, high) to be declared for a regression target; "
                    "bounds taken from the data would not be private."
                )
            return Schema.of_arrays(X.shape[1], self.bounds, target_bounds=self.target_bounds)
        classes = self.classes
        if classes is None:
            warnings.warn(
                "The set of labels in y is taken as public knowledge; pass classes=[...] to declare it.",
                GnomonWarning,
                stacklevel=4,
            )
            self._labels_from_y = True
            classes = np.unique(labels).tolist()
        return Schema.of_arrays(X.shape[1], self.bounds, classes=list(classes))

    def _check(self, table: Table) -> None:
        who = type(self).__name__
        if self.task is not None and self.task not in ("clustering", "classification", "regression"):
            raise ParameterError(
                f"The 'task' parameter of {who} must be 'clustering', 'classification' or 'regression'. "
                f"Got {self.task!r} instead."
            )
        if self.task in ("classification", "regression") and table.task != self.task:
            target = table.schema.target
            if target is None:
                raise ParameterError(
                    f"The task is {self.task} but no target is declared; "
                    'give target=... or role = "target" in the schema.'
                )
            raise ParameterError(
                f"The task is {self.task} but the target {target.name!r} is declared as {target.kind}; "
                "change its kind in the schema or the task."
            )
        if table.task == "classification" and table.n_classes < 2:
            raise ParameterError(
                "The target has one class only; declare at least two values for it in the schema."
            )
        p = self.n_components
        if p == "auto":
            return
        if not isinstance(p, (int, np.integer)) or isinstance(p, bool) or p < 1:
            raise ParameterError(
                f"The 'n_components' parameter of {who} must be 'auto' or a positive integer. Got {p!r} instead."
            )
        if p > table.m:
            raise ParameterError(
                f"The 'n_components' parameter of {who} must be at most {table.m}, "
                f"the number of encoded columns. Got {p} instead."
            )

    def _with_estimated_bounds(self, table: Table, guarantee: Guarantee) -> tuple[Table, Account]:
        """Pay for the bounds that the schema asks to estimate, and give the rest of the budget to the method."""
        account = Account(guarantee)
        if not table.schema.estimated:
            return table, account
        from gnomon.release.bounds import estimate_bounds

        return estimate_bounds(table, account), account

    def _certify(self, table: Table, account: Account) -> Certificate:
        bounded = (
            "declared bounds, categories and missing-value policy of every released column (schema.toml)"
        )
        return Certificate.build(
            method=self.name,
            guarantee=account.guarantee,
            events=account.events,
            table=table.schema.name,
            rows=table.n,
            calibration="paper" if self.calibration == "paper" else "sound",
            public=[f"the number of rows, {table.n}", bounded, FITS_WORDS, GRID_WORDS, *account.public],
            post_processing=account.post_processing,
            caveats=account.caveats,
            delivered=account.delivered,
        )

    @property
    def data_schema_(self) -> Schema:
        """The schema of the released rows, which is that of the table unless a method shows something else."""
        return self.schema_

    def _rng(self) -> np.random.Generator:
        """Seeds the projection and the sampling of the model; never the noise."""
        try:
            return np.random.default_rng(self.random_state)
        except (TypeError, ValueError):
            raise ParameterError(
                f"The 'random_state' parameter of {type(self).__name__} must be None, a generator, or an integer of at "
                f"least 0. Got {self.random_state!r} instead."
            ) from None


def _with_placeholder_bounds(schema: Schema) -> Schema:
    """A schema whose bounds are still to be paid for can be encoded only for its layout."""
    return schema.with_bounds({column.name: (0.0, 1.0) for column in schema.estimated})


class ModelRelease(Release):
    """A release that publishes a model of the rows: any number of synthetic rows can be drawn from it."""

    model_: Mixture

    @property
    def n_components_(self) -> int:
        return self.map_.n_components

    @property
    def projection_(self) -> Matrix:
        W = self.map_.projection
        return np.eye(self.map_.n_features) if W is None else W

    def sample_batches(self, n: int) -> Iterator[pa.Table]:
        """n synthetic rows as Arrow tables, a batch at a time."""
        rng = np.random.default_rng(None if self.random_state is None else [1, _seed(self.random_state)])
        shares, missing = self._shares(), gaps(self.encoder_.groups, self._law())
        for C, codes in self.model_.sample_batches(n, rng):
            y: npt.NDArray[Any] | None = None
            if self.encoder_.task == "regression":
                C, y = C[:, :-1], np.clip(C[:, -1], -1.0, 1.0)
            elif self.encoder_.task == "classification":
                y = codes
            cells = self.map_.lift(C)
            for gap in missing:
                gap.settle(cells, codes)
            yield self.encoder_.decode(cells, y, shares)

    def _law(self) -> CellLaw:
        """How the model draws encoded cells."""
        return CellLaw.of(self.map_, self.model_)

    def _shares(self) -> dict[str, list[float]]:
        """How frequent each category is by the released means; decoding keeps to it, where rounding would not."""
        means = self.model_.means[:, : self.map_.n_components]
        cells = self.map_.lift(np.average(means, axis=0, weights=self.model_.weights)[None, :])[0]
        found = {}
        for group in self.encoder_.groups:
            inside = cells[group.place]
            if group.indicator:  # a missing cell counts as 0
                inside = inside[:-1] / np.clip(1 - inside[-1], 1e-6, 1.0)
            if group.kind == "one-hot":
                shares = np.clip(inside, 1e-6, 1.0)
                found[group.name] = (shares / shares.sum()).tolist()
            elif group.kind == "boolean":
                true = float(np.clip((inside[0] + 1) / 2, 0.0, 1.0))
                found[group.name] = [1 - true, true]
        return found

    def public_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What `map.npz` of the release holds."""
        return self.published_map_.arrays()

    def sample(self, n: int | None = None) -> Any:
        """n synthetic rows (default: as many as were read) with the columns and the frame type of the input."""
        wanted = self.n_rows_ if n is None else n
        if not isinstance(wanted, (int, np.integer)) or wanted < 1:
            raise ParameterError(
                f"The 'n' parameter of sample must be a positive integer. Got {n!r} instead."
            )
        return self._like(pa.concat_tables(self.sample_batches(int(wanted))))

    def transform(self, X: Any) -> Any:
        """Real rows into the released space, by public knowledge only: through the map and back into columns."""
        from gnomon.release.folder import transform_batches

        source = open_source(X, None, schema=self.schema_)
        parts = list(transform_batches(source, self.schema_, self.published_map_))
        return source.like(pa.concat_tables(parts))


def _seed(state: Any) -> int:
    return (
        int(state)
        if isinstance(state, (int, np.integer))
        else int(np.random.default_rng(state).integers(2**62))
    )
