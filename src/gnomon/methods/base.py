"""A method: a scikit-learn estimator whose `fit` spends the budget."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from gnomon.engine.base import Engine, Progress, quiet
from gnomon.engine.local import LOCAL, one_thread
from gnomon.errors import ParameterError
from gnomon.methods.charging import Charge, LedgerOrPath, charge_for
from gnomon.methods.classes import refuse_pure
from gnomon.methods.opening import Opened, check_task, magnitude, open_table, promised, public_rows
from gnomon.methods.public import Notes, Public
from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import Adjacency, Guarantee, Unit, auto_delta
from gnomon.privacy.measure import Answer, Measurer, Observer
from gnomon.statistics.grid import GRID
from gnomon.table.check import refuse_misfits
from gnomon.table.encode import EncodedRows, Encoder
from gnomon.table.raw import RawTable
from gnomon.table.schema import Schema
from gnomon.table.target import Task

FITS_WORDS = (
    "how any cell becomes a valid one, so that no table is refused for its cells: numbers and dates are clipped to their "
    "bounds; a cell that is none, or a category that is not declared, becomes 'other' or is missing; a missing cell has "
    "its indicator, its declared fill, or the middle of the bounds, false, or the first category"
)
STRICT_WORDS = (
    "that every cell fits the schema: this release was strict, so its promise covers only tables that pass this check, "
    "and that the table passes it is public"
)
GRID_WORDS = (
    f"the grid of {GRID} steps to a unit: sensitivities and scales of sums of rows count steps (of products, squared), "
    "those of histograms count rows"
)
SMALLEST = 1e-4  # epsilon
SMALLEST_DELTA = 1e-100


def _as_it_is(table: Any) -> Any:
    return table


@dataclass(eq=False, repr=False)
class Release(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of all methods: the parameters that they share, and the order of a release.

    Parameters
    ----------
    epsilon : the privacy loss of the release, from 1e-4.
    delta : "auto" (1e-6, or less where the table is large and its number of rows public), or a number; 0 asks
        for pure epsilon-DP.
    schema : what is public about the columns: a `Schema`.
    bounds : for arrays in place of a schema: (low, high), each one number or one number per column.
    target : the column to predict, if not the one that the schema declares.
    task : "clustering", "classification" or "regression"; by default as the target is declared.
    classes : for arrays: the classes of y, or "private", which pays for their selection.
    target_bounds : for arrays: (low, high) of a numeric y.
    n_components : the dimension of the projection, or "auto": a rule on public numbers.
    calibration : "sound", the proved noise, or "paper", the printed noise, where a paper prints one.
    adjacency : "replace-one" (the number of rows is public) or "add-remove" (it is private).
    expected_rows : the public order of magnitude of a private number of rows, if not that of the schema.
    random_state : seeds projections and sampling, never the noise.
    not_private : allows epsilon = infinity, which adds no noise; for comparison only.
    strict : whether a table with cells that do not fit is refused, which narrows the promise to tables that
        fit.
    """

    name: ClassVar[str]
    publishes: ClassVar[str] = "rows"  # "model" where any number of rows can be drawn
    adjacencies: ClassVar[tuple[Adjacency, ...]] = (Adjacency.REPLACE_ONE,)

    epsilon: float
    delta: float | str = "auto"
    _: KW_ONLY
    schema: Schema | None = None
    bounds: Any = None
    target: str | None = None
    task: Task | None = None
    classes: Any = None
    target_bounds: Any = None
    n_components: int | str = "auto"
    calibration: str = "sound"
    adjacency: str = "replace-one"
    expected_rows: int | None = None
    random_state: Any = None
    not_private: bool = False
    strict: bool = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        ledger: LedgerOrPath = None,
        account: str | None = None,
        progress: Progress = quiet,
        charge: Charge | None = None,
        engine: Engine | None = None,
        observer: Observer | None = None,
        recorded: Sequence[Answer] = (),
        record: Callable[[Answer], None] | None = None,
        seed: int | None = None,
    ) -> Self:
        """Read the table, spend the budget, keep what may be published.

        The guarantee is charged after everything public has been checked and before anything is measured. The rows have
        been encoded by then, unless bounds must be estimated first. Without a ledger it is not accounted, which is said
        once. By default any cell becomes a valid one; `strict` refuses a table that does not fit, before the charge.

        Parameters
        ----------
        X : the table: a frame, a path, a database query, or an array with `bounds`.
        y : the target of an array X.
        ledger : where the guarantee is charged; by default the ledger that $GNOMON_LEDGER names.
        account : the account of the ledger; by default the one that the schema names.
        progress : called with the stage, the rows that were read, and how many there are.
        charge : called with the guarantee in place of a ledger.
        engine : where rows are read and summed; by default threads of this process, or the engine of a Dask or Spark
            frame.
        observer : watches exact and noisy answers, for audits; nothing holds then.
        recorded : answers of an earlier run of the same release, which are not measured again.
        record : called with each fresh answer, so that a release can resume.
        seed : that of the earlier run.
        """
        promise, seed = self._guarantee(None), self._seed() if seed is None else seed
        opened = open_table(self, X, y)
        engine = opened.source.engine(engine) or LOCAL
        n = None if promise.adjacency is Adjacency.ADD_REMOVE else public_rows(opened.source)
        guarantee = self._guarantee(n)
        public = self._declared(opened.schema, n, guarantee, seed)
        self._check_inputs(public)
        if self.strict:
            refuse_misfits(opened.source, opened.schema, progress)
        rows = None
        if not public.schema.estimated:
            rows = EncodedRows(opened.source, public.encoder, engine, progress)
            rows.prepare()  # a file that cannot be read to its end is not charged for
        if charge is None:
            charge = charge_for(self, opened.source, opened.schema, ledger, account, engine)
        charge(guarantee)
        data = Measurer(rows, engine, progress, recorded, record, observer)
        self._like = opened.source.form()
        self._remember_names(X, opened)
        self.made_: str | None = datetime.now(UTC).date().isoformat()
        return self._run(data, public, opened)

    def _check_inputs(self, public: Public) -> None:
        """Refuse what is wrong with further tables that the caller gives; a replay has none."""

    def replay(
        self,
        schema: Schema,
        rows: int | None,
        answers: Sequence[Answer],
        seed: int,
        *,
        made: str | None = None,
    ) -> Self:
        """The same release from its declared schema and its recorded answers, without the table; `made` is its day.

        Parameters
        ----------
        schema : the declared schema.
        rows : the number of rows where it is public, else None.
        answers : the recorded noisy answers, in their order.
        seed : the recorded seed of projections and sampling.
        """
        public = self._declared(schema, rows, self._guarantee(rows), seed)
        self._like, self.made_ = _as_it_is, made
        return self._run(Measurer(None, recorded=answers), public, None)

    def _declared(self, schema: Schema, n: int | None, guarantee: Guarantee, seed: int) -> Public:
        """Everything public, checked before anything is charged."""
        encoder = Encoder(schema.with_any_estimates())
        check_task(self, encoder)
        rows = magnitude(schema, self.expected_rows) if n is None else n
        public = Public(schema, encoder, rows, n, guarantee, seed)
        if self.calibration == "paper" and schema.estimated:
            raise ParameterError(
                f"The column {schema.estimated[0].name!r} has estimate = true, which no paper prints a price for; "
                "declare its bounds, or use calibration='sound'."
            )
        self._check(public)
        refuse_pure(schema, guarantee)
        return public

    def _run(self, data: Measurer, public: Public, opened: Opened | None) -> Self:
        notes, source = Notes(), None if opened is None else opened.source
        self.declared_schema_ = public.schema
        if public.schema.estimated:
            from gnomon.methods.bounds import with_estimates

            raw = None if source is None else RawTable(source, public.schema, data.engine)
            public = with_estimates(data, public, notes, raw)
        if source is not None and data.rows is None:
            data.rows = EncodedRows(source, public.encoder, data.engine, data.progress)
        self.guarantee_ = public.guarantee
        self.schema_ = public.schema
        self.encoder_ = public.encoder
        self.n_rows_ = self.n_public_ = public.n
        self.seed_ = public.seed
        with one_thread():
            self._release(data, public, notes)
        if data.observer is not None:
            notes.unpaid.append(
                "the exact answers, which an observer of this run was shown and could replace"
            )
        if public.n is None:
            self.n_rows_ = notes.rows
        self.events_ = tuple(data.events)
        self.answers_ = tuple(data.answers)
        self.counts_ = tuple(data.counts)
        self.measurements_ = tuple(data.measurements)
        self.certificate_ = self._certify(public, notes)
        return self

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        """Spend the budget on measurements of `data` and set the fitted attributes."""
        raise NotImplementedError

    # --- conventions of scikit-learn ---

    def __getattr__(self, name: str) -> Any:
        """Attributes that end in an underscore come with fit, and so does the form of the table."""
        if name == "_like" or (name.endswith("_") and not name.startswith("_")):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit with a table first."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "certificate_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # nobody can seed the noise
        tags.input_tags.allow_nan = True  # any cell becomes a valid one
        tags.target_tags.required = False
        return tags

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """The names of the parameters, as `get_params` has them."""
        return tuple(sorted(field.name for field in fields(cls) if field.init))

    def _remember_names(self, X: Any, opened: Opened) -> None:
        names = [column.name for column in opened.schema.features]
        self.n_features_in_ = len(names)
        if not isinstance(X, np.ndarray | list):
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The columns that `transform` gives, without a target.

        Parameters
        ----------
        input_features : ignored; it is a convention of scikit-learn.
        """
        names = [column.name for column in self.data_schema_.features]
        if input_features is not None:
            given = [str(name) for name in input_features]
            known = list(getattr(self, "feature_names_in_", given))
            if len(given) != self.n_features_in_ or given != known:
                raise ValueError(
                    "input_features is not equal to feature_names_in_, the columns of the table."
                )
            names = given if len(names) == len(given) else names
        return np.array(names, dtype=object)

    # --- parameters ---

    @classmethod
    def restored(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Parameters as they were before they were written as plain values."""
        return parameters

    def _unit(self) -> Unit:
        return Unit.ROW

    def _pure(self) -> bool:
        """Whether delta would buy nothing, so that "auto" is 0: printed calibrations, and methods that spend purely."""
        return self.calibration == "paper" or math.isinf(self.epsilon)

    def _guarantee(self, n: int | None) -> Guarantee:
        """What is promised to a table of n rows, or of a private number of them."""
        epsilon, who = self.epsilon, type(self).__name__
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
        delta: Any = self.delta
        if isinstance(delta, str) and delta == "auto":
            delta = 0.0 if self._pure() else auto_delta(n)
        if not isinstance(delta, (int, float, np.number)) or not 0 <= delta < 1:
            raise ParameterError(
                f"The 'delta' parameter of {who} must be 'auto' or in [0, 1). Got {delta!r} instead."
            )
        if 0 < delta < SMALLEST_DELTA:
            raise ParameterError(
                f"The 'delta' parameter of {who} must be 0 or at least {SMALLEST_DELTA:g}, below which 64-bit numbers "
                f"hold no tails. Got {delta!r} instead."
            )
        if self.calibration not in ("sound", "paper"):
            raise ParameterError(
                f"The 'calibration' parameter of {who} must be 'sound' or 'paper'. Got {self.calibration!r} instead."
            )
        schema = self._given_schema()
        adjacency = self._adjacency(persons=schema is not None and schema.person is not None)
        return promised(schema, float(epsilon), float(delta), unit=self._unit(), adjacency=adjacency)

    def _given_schema(self) -> Schema | None:
        return (
            self.schema
            if self.schema is None or isinstance(self.schema, Schema)
            else Schema.load(self.schema)
        )

    def _adjacency(self, *, persons: bool) -> Adjacency:
        who = type(self).__name__
        known = {one.value: one for one in Adjacency}
        if self.adjacency not in known:
            raise ParameterError(
                f"The 'adjacency' parameter of {who} must be 'replace-one' or 'add-remove'. Got {self.adjacency!r} instead."
            )
        asked = Adjacency.ADD_REMOVE if persons else known[self.adjacency]
        if asked not in self.adjacencies:
            why = (
                "publishes one row for each record"
                if self.publishes == "rows"
                else "divides by the number of rows"
            )
            raise ParameterError(
                f"{who} {why}, so the number of rows is public; use adjacency='replace-one' and a schema without person, "
                "or another method that fits a model."
            )
        if asked is Adjacency.ADD_REMOVE and self.calibration == "paper":
            raise ParameterError(
                "The papers' printed noise is for adjacency='replace-one' and rows; use calibration='sound'."
            )
        return asked

    def _check(self, public: Public) -> None:
        who, p = type(self).__name__, self.n_components
        if p == "auto":
            return
        if not isinstance(p, (int, np.integer)) or isinstance(p, bool) or p < 1:
            raise ParameterError(
                f"The 'n_components' parameter of {who} must be 'auto' or a positive integer. Got {p!r} instead."
            )
        if p > public.m:
            raise ParameterError(
                f"The 'n_components' parameter of {who} must be at most {public.m}, "
                f"the number of encoded columns. Got {p} instead."
            )

    def _seed(self) -> int:
        """Of the projection and the sampling of the model, never of the noise; drawn and recorded where none is given."""
        if self.random_state is None:
            return secrets.randbits(62)
        if isinstance(self.random_state, (int, np.integer)) and not isinstance(self.random_state, bool):
            if self.random_state >= 0:
                return int(self.random_state)
        elif isinstance(self.random_state, np.random.Generator):
            return int(self.random_state.integers(2**62))
        raise ParameterError(
            f"The 'random_state' parameter of {type(self).__name__} must be None, a generator, or an integer of at "
            f"least 0. Got {self.random_state!r} instead."
        )

    # --- what is published about it ---

    def _certify(self, public: Public, notes: Notes) -> Certificate:
        bounded = (
            "declared bounds, categories and missing-value policy of every released column (schema.toml)"
        )
        if public.n is None:
            rows = [f"the order of magnitude of the number of rows, {public.rows}"]
        else:
            rows = [f"the number of rows, {public.n}"]
        if public.schema.person is not None:
            rows.append(f"which column tells persons apart, {public.schema.person!r}; it is not released")
        if public.schema.rules:
            rows.append("declared rules between columns (schema.toml)")
            notes.post_processing.append("rows changed where they broke a declared rule")
        return Certificate.build(
            method=self.name,
            guarantee=public.guarantee,
            events=self.events_,
            table=public.schema.name,
            rows=public.n,
            magnitude=public.rows,
            calibration="paper" if self.calibration == "paper" else "sound",
            public=[*rows, bounded, STRICT_WORDS if self.strict else FITS_WORDS, GRID_WORDS, *notes.public],
            post_processing=notes.post_processing,
            caveats=notes.caveats,
            unpaid=notes.unpaid,
            delivered=notes.delivered,
            made=self.made_,
            measured_rows=notes.rows if public.n is None and notes.counted else None,
        )

    @property
    def data_schema_(self) -> Schema:
        """The schema of the released rows, which is that of the table unless a method shows something else."""
        return self.schema_
