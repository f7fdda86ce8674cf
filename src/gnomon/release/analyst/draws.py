"""Several independent draws of a model release, and how their answers are combined.

Rows of one model differ by the draw alone: they say nothing about the noise. So each draw here has a model of its own:
as many rows as the table had are drawn from the released model, the same method is fitted to them with fresh noise of
the same budget, and the draw comes from that. Draws then differ as releases of other samples with other noise would,
which is what the combining rules of Raghunathan, Reiter and Rubin (2003) ask for. No private row is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.engine.base import Progress, quiet
from gnomon.errors import DataError, ParameterError, columns_instead
from gnomon.release.analyst.estimates import MODEL, Estimates
from gnomon.release.measurements import Recorded
from gnomon.table.schema import Schema

Matrix = npt.NDArray[np.float64]
FEWEST = 2


def combined(estimates: npt.ArrayLike, variances: npt.ArrayLike, *, share: float = 1.0) -> Estimates:
    """One estimate of the draws' (d, p), by the rules for fully synthetic data.

    The mean of the estimates varies by T = (1 + 1/d) b - u: b between the draws, u the mean of their own variances. Where
    T is not positive, u times `share` (rows of a draw over rows of the table) takes its place. Student's degrees of
    freedom are (d - 1) (1 - u / ((1 + 1/d) b))^2, and at least one.
    """
    q, u = (np.atleast_2d(np.asarray(one, dtype=np.float64)) for one in (estimates, variances))
    if q.shape != u.shape or len(q) < FEWEST:
        raise ParameterError(
            f"The draws' estimates and variances must have one shape, of at least {FEWEST} draws. "
            f"Got {q.shape} and {u.shape} instead."
        )
    d = len(q)
    between, within = (1 + 1 / d) * q.var(axis=0, ddof=1), u.mean(axis=0)
    total = between - within
    variance = np.where(total > 0, total, share * within)
    degrees = (d - 1) * (1 - within / np.maximum(between, 1e-300)) ** 2
    degrees = np.maximum(np.where(total > 0, degrees, d - 1), 1.0)
    return Estimates(q.mean(axis=0), np.sqrt(variance), degrees, about=MODEL)


@dataclass(frozen=True)
class Draws:
    """Synthetic tables, each from a model of its own; `share` is how many rows one has, over those of the table.

    Parameters
    ----------
    tables : the synthetic tables.
    """

    tables: Sequence[pa.Table]
    share: float

    def means(self, names: Sequence[str]) -> Estimates:
        """The means of number or boolean columns.

        Parameters
        ----------
        names : the columns.
        """
        found = [np.column_stack([_numbers(table, name) for name in names]) for table in self.tables]
        q = [X.mean(axis=0) for X in found]
        u = [X.var(axis=0, ddof=1) / len(X) for X in found]
        return combined(q, u, share=self.share)

    def regression(self, target: str, features: Sequence[str]) -> Estimates:
        """The constant and the slopes of an ordinary least squares regression on number or boolean columns.

        Parameters
        ----------
        target : the column that is explained.
        features : the columns that explain it.
        """
        fits = [_least_squares(table, target, features) for table in self.tables]
        return combined([q for q, _ in fits], [u for _, u in fits], share=self.share)


def _numbers(table: pa.Table, name: str) -> npt.NDArray[np.float64]:
    if name not in table.column_names:
        raise ParameterError(
            f"The release has no column {name!r}; {columns_instead(name, table.column_names)}"
        )
    column = table[name]
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise ParameterError(f"The column {name!r} is neither a number nor a boolean; choose one that is.")
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def _least_squares(table: pa.Table, target: str, features: Sequence[str]) -> tuple[Any, Any]:
    y = _numbers(table, target)
    X = np.column_stack([np.ones(len(y)), *(_numbers(table, name) for name in features)])
    inverse = np.linalg.pinv(X.T @ X)
    slopes = inverse @ (X.T @ y)
    rest = y - X @ slopes
    return slopes, np.diag(inverse) * float(rest @ rest) / max(len(y) - X.shape[1], 1)


def drawn(
    recorded: Recorded, schema: Schema, count: int, rows: int | None = None, progress: Progress = quiet
) -> Draws:
    """`count` draws of a model release, each of `rows` rows (by default as many as the table has)."""
    from gnomon.methods import METHODS
    from gnomon.methods.charging import unaccounted

    kind = METHODS[recorded.method]
    _refuse(kind, recorded, schema, count)
    first = recorded.replay()
    n = max(2, int(first.n_rows_ or 2))
    wanted = n if rows is None else int(rows)
    parameters = kind.restored(recorded.parameters)
    told = recorded.answers[:1] if first.answers_ and not _is_measured(first) else ()
    tables = []
    for place in range(count):
        table = pa.concat_tables(first.sample_batches(n, seed=_seed(recorded, 2 * place + 1)))
        again = kind(**parameters, schema=schema, random_state=_seed(recorded, 2 * place + 2))
        again.fit(table, charge=unaccounted, recorded=told)
        tables.append(pa.concat_tables(again.sample_batches(wanted)))
        progress("drawing", place + 1, count)
    return Draws(tuple(tables), wanted / n)


def _is_measured(method: Any) -> bool:
    """Whether the first recorded answer is a measurement, and not a public draw that a refit needs again."""
    return (
        bool(method.measurements_) and method.measurements_[0].event.statistic == method.answers_[0].statistic
    )


def _seed(recorded: Recorded, place: int) -> int:
    return int(np.random.SeedSequence([recorded.seed, place]).generate_state(1)[0])


def _refuse(kind: Any, recorded: Recorded, schema: Schema, count: int) -> None:
    if not isinstance(count, int | np.integer) or count < FEWEST:
        raise ParameterError(f"The number of draws must be at least {FEWEST}. Got {count!r} instead.")
    if kind.publishes != "model":
        raise DataError("This release has one row for each record and no model to draw from; use its rows.")
    if schema.person is not None:
        raise DataError("This release protects persons, whose rows a model does not draw; use its rows.")
