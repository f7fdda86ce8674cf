"""gnomon release: spend a budget on a release folder that may be published as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnomon.commands.options import (
    Data,
    Delta,
    Epsilon,
    LedgerFile,
    ProtectedUnit,
    SchemaFile,
    Target,
    Task,
    one_of,
)
from gnomon.commands.terminal import Watch, say
from gnomon.errors import ParameterError

if TYPE_CHECKING:
    from gnomon.privacy.guarantee import Guarantee
    from gnomon.release.base import Release
    from gnomon.table.schema import Schema
    from gnomon.table.source import Source

NAME = "release"


def run(
    data: Data,
    schema: SchemaFile,
    epsilon: Epsilon,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The release folder, which must not exist.")
    ],
    method: Annotated[
        str,
        typer.Option("--method", "-m", metavar="NAME", help="A method that 'gnomon plan' lists, or auto."),
    ] = "auto",
    delta: Delta = 0.0,
    target: Target = None,
    task: Task = None,
    components: Annotated[
        str, typer.Option("--components", "-p", metavar="P", help="The dimension of the projection, or auto.")
    ] = "auto",
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", "-n", metavar="N", help="How many rows to publish; by default as many as were read."
        ),
    ] = None,
    unit: ProtectedUnit = "row",
    calibration: Annotated[
        str,
        typer.Option(
            "--calibration",
            metavar="HOW",
            help="sound (proved), or paper: the printed noise, whose claim may not hold; the certificate "
            "says so.",
        ),
    ] = "sound",
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="parquet or csv.")] = "parquet",
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            metavar="N",
            min=0,
            help="Repeats the projection and the sampling of the model. It never reaches the noise.",
        ),
    ] = None,
    ledger: LedgerFile = None,
    not_private: Annotated[
        bool,
        typer.Option("--not-private", help="Allow --epsilon inf: no noise, no privacy, for comparison only."),
    ] = False,
) -> None:
    """Make a private release of a table: a folder that may be published as it is.

    Everything public is checked first, then every cell against the schema. Only then is the budget charged
    to the ledger, and only after that are the rows read for the release. A refusal writes nothing and charges
    nothing.

    [bold]Example[/]: gnomon release ward.parquet --schema schema.toml --epsilon 1 --out ward-release
    """
    from gnomon.commands.budget import left
    from gnomon.privacy.ledger import Ledger
    from gnomon.publish import publish
    from gnomon.release.folder import check_place
    from gnomon.table.source import open_source

    declared = _schema(schema, target, task)
    one_of("--format", format, ("parquet", "csv"))
    one_of("--unit", unit, ("row", "attribute"))
    check_place(out)
    source = open_source(data, schema=declared)
    chosen = _choose(method, declared, source, epsilon, delta, unit)
    estimator = _estimator(
        chosen,
        unit=unit,
        epsilon=epsilon,
        delta=delta,
        schema=declared,
        task=task,
        n_components=_components(components),
        calibration=calibration,
        random_state=seed,
        not_private=not_private,
    )
    with Watch(passes=_passes(declared)) as watch:
        balance = publish(
            source, estimator, out, ledger=Ledger(ledger), rows=rows, format=format, progress=watch
        )
    _tell(estimator, out, rows)
    say(left(balance))


def _schema(path: Path, target: str | None, task: str | None) -> Schema:
    from gnomon.table.schema import Schema

    loaded = Schema.load(path)
    if target is not None:
        return loaded.with_target(target)
    return loaded.with_target(None) if task == "clustering" else loaded


def _components(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return int(text)
    except ValueError:
        raise ParameterError(
            f"The option --components must be auto or a positive integer. Got {text!r} instead."
        ) from None


def _choose(method: str, schema: Schema, source: Source, epsilon: float, delta: float, unit: str) -> str:
    from gnomon.plan import choose
    from gnomon.privacy.guarantee import Unit, declared
    from gnomon.release import METHODS

    one_of("--method", method, (*METHODS, "auto"))
    if method != "auto":
        return method
    return choose(schema, max(2, source.n_rows()), declared(epsilon, delta, unit=Unit(unit)))


def _estimator(name: str, *, unit: str, **parameters: Any) -> Release:
    """The method with the parameters that it takes; `unit` is a parameter of some and a fact of others."""
    from gnomon.release import METHODS

    method = METHODS[name]
    taken = method._get_param_names()
    if "unit" in taken:
        parameters["unit"] = unit
    elif unit != method.unit:
        raise ParameterError(
            f"The method {name} protects one {method.unit}, not one {unit}; use --unit {method.unit}."
        )
    return method(**{key: value for key, value in parameters.items() if key in taken})


def _passes(schema: Schema) -> int:
    """Over the rows: the check, two to estimate bounds, as a rule two of the method, one to write."""
    return 4 + (2 if schema.estimated else 0)


def _tell(estimator: Release, out: Path, rows: int | None) -> None:
    """A few lines that a person understands."""
    from gnomon.report.words import best_guess, percent_up, protects

    guarantee: Guarantee = estimator.guarantee_
    count = estimator.n_rows_ if rows is None else rows
    columns = len(estimator.data_schema_.released)
    say(f"Released {out}: {count:,} rows, {columns:,} columns, by {estimator.name}.")
    if not estimator.certificate_.holds:
        say(f"NOT PRIVATE as declared. {estimator.certificate_.statement}")
        return
    delta = "" if guarantee.delta == 0 else f" and delta = {guarantee.delta:g}"
    guess = percent_up(best_guess(guarantee.epsilon, guarantee.delta))
    say(
        f"Guarantee: epsilon = {guarantee.epsilon:g}{delta} for {protects(guarantee)}. Of two versions of it that are "
        f"equally likely, nobody names the true one more than {guess} of the time (a coin: 50%)."
    )
    say(f"Read {out / 'report.html'} in a browser; the whole folder may be published.")
