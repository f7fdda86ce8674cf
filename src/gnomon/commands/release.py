"""gnomon release: spend a budget on a release folder that may be published as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gnomon.commands.options import (
    AccountOption,
    Cluster,
    Database,
    DataOrDatabase,
    Delta,
    EngineName,
    Epsilon,
    LedgerFile,
    Neighbouring,
    ProtectedUnit,
    SchemaFile,
    Shared,
    SqlQuery,
    SqlTable,
    Target,
    Task,
    delta_of,
    one_of,
    opened,
    schema_of,
)
from gnomon.commands.settings import set_inputs
from gnomon.commands.terminal import Watch, detail, facts, say
from gnomon.errors import InterruptionError, ParameterError

if TYPE_CHECKING:
    from gnomon.methods.base import Release
    from gnomon.privacy.guarantee import Guarantee
    from gnomon.table.schema import Schema
    from gnomon.table.source import Source

NAME = "release"


def run(
    schema: SchemaFile,
    epsilon: Epsilon,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The release folder, which must not exist.")
    ],
    method: Annotated[
        str,
        typer.Option("--method", "-m", metavar="NAME", help="A method that 'gnomon plan' lists, or auto."),
    ] = "auto",
    data: DataOrDatabase = None,
    database: Database = None,
    query: SqlQuery = None,
    table: SqlTable = None,
    delta: Delta = "auto",
    target: Target = None,
    task: Task = None,
    components: Annotated[
        str, typer.Option("--components", "-p", metavar="P", help="The dimension of the projection, or auto.")
    ] = "auto",
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            "-n",
            metavar="N",
            help="How many rows to publish; by default as many as were read, or counted with noise.",
        ),
    ] = None,
    unit: ProtectedUnit = "row",
    adjacency: Neighbouring = "replace-one",
    calibration: Annotated[
        str,
        typer.Option(
            "--calibration",
            metavar="HOW",
            help="sound (proved), or paper: the printed noise, whose claim may not hold; the certificate "
            "says so.",
        ),
    ] = "sound",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other input of the method, as often as needed: --set pca_share=0.2.",
        ),
    ] = None,
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
    account: AccountOption = None,
    ledger: LedgerFile = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign",
            metavar="KEY",
            help="Sign the certificate by this private key (Ed25519 in PEM; 'gnomon verify --help' says how to make one).",
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Refuse a table with cells that do not fit, before the charge; the promise is then for tables that do.",
        ),
    ] = False,
    holdout: Annotated[
        float | None,
        typer.Option(
            "--holdout",
            metavar="SHARE",
            help="Keep so many of the rows back, such as 0.2, in a folder beside the release that only you can read; "
            "'gnomon evaluate' tests on them.",
        ),
    ] = None,
    engine: EngineName = "local",
    cluster: Cluster = None,
    shared: Shared = None,
    even_if_useless: Annotated[
        bool,
        typer.Option(
            "--even-if-useless",
            help="Release even where public numbers say that every column would be lost, which is refused otherwise.",
        ),
    ] = False,
    not_private: Annotated[
        bool,
        typer.Option("--not-private", help="Allow --epsilon inf: no noise, no privacy, for comparison only."),
    ] = False,
) -> None:
    """Make a private release of a table: a folder that may be published as it is.

    Everything public is checked first, and the rows are read. Only then is the budget charged to the ledger, and only
    after that is anything measured. The last lines say how good the release is, column by column: good, usable, weak or
    lost. Any cell becomes a valid one by the schema's policy, so that nothing is learnt from a
    refusal. A refusal writes nothing and charges nothing.

    [bold]Example[/]: gnomon release ward.parquet --schema schema.toml --epsilon 1 --out ward-release
    """
    from gnomon.commands.budget import tell_left
    from gnomon.engine.choice import engine_named
    from gnomon.privacy.ledger import Ledger
    from gnomon.publish import publish
    from gnomon.release.folder import check_place
    from gnomon.release.formats import FORMATS

    declared = _schema(schema, target, task, lambda known: opened(data, database, query, table, known).names)
    one_of("--format", format, tuple(FORMATS))
    one_of("--unit", unit, ("row", "attribute"))
    one_of("--adjacency", adjacency, ("replace-one", "add-remove"))
    check_place(out)
    source = opened(data, database, query, table, declared)
    asked = delta_of(delta)
    chosen = _choose(method, declared, source, epsilon, asked, unit, adjacency)
    estimator = _estimator(
        chosen,
        unit=unit,
        epsilon=epsilon,
        delta=asked,
        schema=declared,
        task=task,
        n_components=_components(components),
        calibration=calibration,
        adjacency=adjacency,
        random_state=seed,
        not_private=not_private,
    )
    set_inputs(estimator, settings or [])
    passes = expected_passes(chosen, declared) + strict + (holdout is not None)
    watch = Watch(passes=passes, private=_private(declared, adjacency))
    detail(f"method {chosen}, account {account or declared.budget_account}, ledger {Ledger(ledger).path}")
    with _interruptible(), engine_named(engine, cluster, shared) as engine_, watch:
        balance = publish(
            source,
            estimator,
            out,
            ledger=Ledger(ledger),
            account=account,
            rows=rows,
            format=format,
            strict=strict,
            progress=watch,
            engine=engine_,
            sign=sign,
            even_if_useless=even_if_useless,
            holdout=holdout,
        )
    _tell(estimator, out, rows)
    if holdout is not None:
        from gnomon.release.holdout import place_of

        facts(holdout=place_of(out))
        say(
            f"Kept back for you alone, and not part of the release: {out}-holdout. "
            f"See what the release is worth: gnomon evaluate --release {out} --out {out}-worth"
        )
    facts(balance=asdict(balance))
    tell_left(balance)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C with the sentence that the library has for it."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise InterruptionError(str(stop) or "Interrupted before the charge: nothing was spent.") from None


def _schema(
    path: Path, target: str | None, task: str | None, names: Callable[[Schema], Sequence[str]]
) -> Schema:
    """The declared schema; `names` of the table's columns, which are public, are read where patterns wait for them."""
    loaded = schema_of(path)
    if loaded.patterns:
        loaded = loaded.expand(names(loaded))
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


def _choose(
    method: str, schema: Schema, source: Source, epsilon: float, delta: float | str, unit: str, adjacency: str
) -> str:
    from gnomon.methods import METHODS
    from gnomon.methods.opening import magnitude, promised
    from gnomon.plan import choose
    from gnomon.privacy.guarantee import Adjacency, Unit

    one_of("--method", method, (*METHODS, "auto"))
    if method != "auto":
        return method
    rows = magnitude(schema) if _private(schema, adjacency) else max(2, source.n_rows())
    guarantee = promised(schema, epsilon, delta, unit=Unit(unit), adjacency=Adjacency(adjacency), rows=rows)
    return choose(schema, rows, guarantee)


def _private(schema: Schema, adjacency: str) -> bool:
    """Whether the number of rows is: what a release keeps of it, no line of this command may tell."""
    return schema.person is not None or adjacency == "add-remove"


def _estimator(name: str, *, unit: str, **parameters: Any) -> Release:
    """The method with the parameters that it takes; `unit` is a parameter of some and a fact of others."""
    from gnomon.methods import METHODS

    method = METHODS[name]
    taken = method.parameter_names()
    if "unit" in taken:
        parameters["unit"] = unit
    elif unit != "row":
        raise ParameterError(f"The method {name} protects one row, not one {unit}; use --unit row.")
    return method(**{key: value for key, value in parameters.items() if key in taken})


_MEASURED = {"synthesizer": 7, "ron-gauss": 2, "pca-gauss": 3, "dprp": 3, "jl-laplace": 1, "dppro": 1}


def expected_passes(method: str, schema: Schema) -> int:
    """Over the rows: one to encode them, two to estimate bounds, those of the method at most, and one to write."""
    return 2 + _MEASURED.get(method, 2) + (2 if schema.estimated else 0)


def _tell(estimator: Release, out: Path, rows: int | None) -> None:
    """A few lines that a person understands."""
    from gnomon.privacy.meaning import percent_up
    from gnomon.report.words import best_guess, protects, trade_off

    guarantee: Guarantee = estimator.guarantee_
    count = estimator.n_rows_ if rows is None else rows
    columns = len(estimator.data_schema_.released)
    facts(
        out=out,
        method=estimator.name,
        rows=count,
        columns=columns,
        epsilon=guarantee.epsilon,
        delta=guarantee.delta,
        unit=guarantee.unit.value,
        adjacency=guarantee.adjacency.value,
        holds=estimator.certificate_.holds,
        weak=list(estimator.certificate_.weak),
        verdicts=estimator.verdicts_.to_dict(),
    )
    say(f"Released {out}: {count:,} rows, {columns:,} columns, by {estimator.name}.")
    if not estimator.certificate_.holds:
        say(f"NOT PRIVATE as declared. {estimator.certificate_.statement}")
        return
    delta = "" if guarantee.delta == 0 else f" and delta = {guarantee.delta:g}"
    certificate = estimator.certificate_
    guess = percent_up(best_guess(certificate), len(certificate.attacks))
    say(
        f"Guarantee: epsilon = {guarantee.epsilon:g}{delta} for {protects(guarantee)}. Of two versions of it that are "
        f"equally likely, nobody names the true one more than {guess} of the time (a coin: 50%)."
    )
    detail(trade_off(certificate))
    for weak in certificate.weak:
        say(f"Note: {weak}")
    for note in [*certificate.caveats, *_notes(estimator)]:
        say(f"Note: {note}")
    say(f"Read {out / 'report.html'} in a browser; the whole folder may be published.")
    say(f"How good it is: {estimator.verdicts_.summary()}")


def _notes(estimator: Release) -> list[str]:
    """What a pure guarantee cost, where one was asked for."""
    from gnomon.plan import price_of_purity

    rows = estimator.n_rows_ or 2
    price = price_of_purity(estimator.schema_, max(2, rows), estimator.guarantee_, estimator.name)
    return [] if price is None or estimator.delta == "auto" else [price]
