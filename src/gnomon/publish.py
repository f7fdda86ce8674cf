"""From a table to a release folder, in the only safe order: check, charge, fit, write.

Every cell is compared with the schema before anything is charged; the charge is durable before any row is
read for the release; the folder appears whole or not at all. A failure after the charge wastes budget,
never privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gnomon.engine.local import Progress, quiet
from gnomon.errors import DataError, GnomonError, ParameterError
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.ledger import Balance, Dataset, Ledger
from gnomon.release.base import ModelRelease, Release
from gnomon.release.folder import check_place, write_release
from gnomon.table.check import check
from gnomon.table.schema import Schema
from gnomon.table.source import Source, open_source
from gnomon.table.spreadsheet import refuse_in_csv

MOST_ROWS = 10**12  # more would fill any disk


def publish(
    data: Any,
    method: Release,
    out: Path,
    *,
    ledger: Ledger,
    rows: int | None = None,
    format: str = "parquet",
    progress: Progress = quiet,
) -> Balance:
    """Release `data` by `method` into the new folder `out`; returns the table's balance after the charge."""
    out = Path(out)
    check_place(out)
    schema = declared_schema(method)
    if format == "csv":
        refuse_in_csv(schema)
    source = open_source(data, schema=schema)
    if rows is not None:
        _check_rows(method, rows, source.n_rows())
    charge = _Charge(source, method, schema, ledger, out.name, progress)
    try:
        method.fit(source, progress=progress, charge=charge)
        write_release(method, out, rows, format, progress)
    except GnomonError as problem:
        if charge.balance is not None:
            problem.args = (f"{problem} The budget of this release was already charged and stays spent.",)
        raise
    assert charge.balance is not None
    return charge.balance


def _check_rows(method: Release, rows: int, n: int) -> None:
    """Refuse, before anything is charged, a number of rows that the method cannot publish."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise ParameterError(
            f"The number of rows to publish must be an integer from 1 to {MOST_ROWS:,}. Got {rows!r} instead."
        )
    if not isinstance(method, ModelRelease) and rows != n:
        raise ParameterError(
            f"The method {method.name} publishes one row for each row of the table and no other number of rows; "
            "leave the number out, or use a method that fits a model."
        )


def declared_schema(method: Release) -> Schema:
    """The schema that a method will use: its target and task applied."""
    if method.schema is None:
        raise ParameterError(f"{type(method).__name__} needs a schema; draft one with 'gnomon init'.")
    schema = method.schema if isinstance(method.schema, Schema) else Schema.load(method.schema)
    if method.target is not None:
        return schema.with_target(method.target)
    return schema.with_target(None) if method.task == "clustering" else schema


@dataclass
class _Charge:
    """Called when everything public is in order: the check of every cell, then the durable charge."""

    source: Source
    method: Release
    schema: Schema
    ledger: Ledger
    note: str
    progress: Progress
    balance: Balance | None = None

    def __call__(self, guarantee: Guarantee) -> None:
        report = check(self.source, self.schema, self.progress)
        if not report.ok:
            more = len(report.problems) - 1
            rest = f" (There are {more} more problems; 'gnomon check' lists them.)" if more else ""
            raise DataError(report.problems[0] + rest)
        dataset = Dataset(self.source.title, self.source.fingerprint())
        note = self.note
        if self.method.calibration == "paper":
            # printed noise may keep no epsilon at all, so no cap can cover it
            guarantee, note = (
                replace(guarantee, epsilon=math.inf),
                f"{note} (as printed, charged as infinite)",
            )
        self.balance = self.ledger.charge(dataset, guarantee, method=self.method.name, note=note)
