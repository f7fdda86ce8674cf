"""From a table to a release folder, in the only safe order: check, charge, fit, write.

Everything public is checked before anything is charged, and with `strict` every cell too; the charge is durable before
anything is measured; the folder appears whole or not at all. Noisy answers are kept beside it until it does, so that a
release that was killed goes on where it was, without a second charge.

`gnomon.publish(...)` is the short way, by the name of a method; `publish` in this module takes a method that is set up.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from gnomon.engine.base import Engine, Progress, quiet
from gnomon.engine.local import LOCAL
from gnomon.errors import GnomonError, NoisyRefusalError, ParameterError
from gnomon.methods import METHODS
from gnomon.methods.base import Release
from gnomon.methods.charging import Account, LedgerOrPath, tell_weak
from gnomon.methods.opening import declared_schema, magnitude, named_neighbours, promised
from gnomon.notebook import framed
from gnomon.plan import choose
from gnomon.privacy.guarantee import Adjacency, Guarantee
from gnomon.privacy.ledger import Balance
from gnomon.privacy.measure import Answer
from gnomon.release.folder import check_place, write_release
from gnomon.release.formats import FORMATS
from gnomon.release.holdout import Holdout, hold_out
from gnomon.release.journal import Journal
from gnomon.release.measurements import parameters_of
from gnomon.release.sign import private_key
from gnomon.table.schema import Schema
from gnomon.table.source import Source, open_source
from gnomon.verdict.predict import refuse_useless

MOST_ROWS = 10**12  # more would fill any disk


@dataclass(frozen=True)
class Published:
    """A release that was made: where it lies, the fitted method, and what is left on the account.

    Parameters
    ----------
    folder : where the release lies.
    method : the fitted method, with its certificate.
    balance : what is spent and left on the account.
    """

    folder: Path
    method: Release
    balance: Balance

    def _repr_html_(self) -> str:
        return framed((self.folder / "report.html").read_text(encoding="utf-8"))


def publish_by_name(
    data: Any,
    out: str | PathLike[str],
    *,
    schema: Schema | str | PathLike[str],
    epsilon: float,
    delta: float | str = "auto",
    method: str = "auto",
    account: str | None = None,
    ledger: LedgerOrPath = None,
    rows: int | None = None,
    format: str = "parquet",
    progress: Progress = quiet,
    engine: Engine | None = None,
    even_if_useless: bool = False,
    holdout: float | None = None,
    **parameters: Any,
) -> Published:
    """Check, charge, fit, write: the short way from a table to a folder that may be published.

    `method` is a name that `gnomon plan` lists, or auto; `parameters` are those of the method. The budget is charged to
    `account` (by default the one that the schema names) of `ledger` (by default the usual one). A release in which public
    numbers put every column at lost is a `UselessError` before the charge, unless `even_if_useless`. `holdout` is a share
    of the rows that are kept back beside the folder, for `gn.evaluate`.

    Parameters
    ----------
    data : the table: a path, a frame or a database query.
    out : the new folder.
    schema : a `Schema`, or the path of one.
    epsilon, delta : the budget; "auto" is 1e-6, or less for a large table.
    rows : how many rows to publish; by default as many as were read or, where that is private, counted with
        noise.
    format : "parquet" or "csv".
    progress : called with the stage and the rows that were read.
    engine : where rows are read and summed; by default threads of this process.

    Examples
    --------
    >>> import gnomon as gn, numpy as np, pandas as pd
    >>> table = pd.DataFrame({"age": np.random.default_rng(0).integers(18, 90, 2000)})
    >>> schema = gn.Schema(name="ward", columns=(gn.Column(name="age", kind="number", low=18, high=90),))
    >>> done = gn.publish(table, "out", schema=schema, epsilon=1)
    >>> done.folder.name, done.method.certificate_.holds, done.balance.epsilon_spent
    ('out', True, 1.0)
    """
    public = schema if isinstance(schema, Schema) else Schema.load(Path(schema))
    source = open_source(data, schema=public)
    public = public.expand(source.names) if public.patterns else public
    if method == "auto":
        method = _choose(public, source, epsilon, delta, parameters)
    made = _made(method, {"epsilon": epsilon, "delta": delta, "schema": public, **parameters})
    out = Path(out)
    balance = publish(
        source,
        made,
        out,
        ledger=ledger,
        account=account,
        rows=rows,
        format=format,
        progress=progress,
        engine=engine,
        even_if_useless=even_if_useless,
        holdout=holdout,
    )
    tell_weak(balance)
    return Published(out, made, balance)


def _choose(
    schema: Schema, source: Source, epsilon: float, delta: float | str, parameters: dict[str, Any]
) -> str:
    """What auto stands for, by public numbers."""
    unit, adjacency = named_neighbours(
        parameters.get("unit", "row"), parameters.get("adjacency", "replace-one")
    )
    private = adjacency is Adjacency.ADD_REMOVE or schema.person is not None
    n = magnitude(schema, parameters.get("expected_rows")) if private else max(2, source.n_rows())
    if parameters.get("target") is not None or parameters.get("task") == "clustering":
        schema = schema.with_target(parameters.get("target"))
    return choose(schema, n, promised(schema, epsilon, delta, unit=unit, adjacency=adjacency, rows=n))


def _made(name: str, parameters: dict[str, Any]) -> Release:
    if name not in METHODS:
        raise ParameterError(
            f"The 'method' must be auto or one of {', '.join(METHODS)}. Got {name!r} instead."
        )
    known = METHODS[name].parameter_names()
    for given in parameters:
        if given not in known:
            raise ParameterError(
                f"The method {name} has no parameter {given!r}; it has {', '.join(sorted(known))}."
            )
    return METHODS[name](**parameters)


def publish(
    data: Any,
    method: Release,
    out: Path,
    *,
    ledger: LedgerOrPath = None,
    account: str | None = None,
    rows: int | None = None,
    format: str = "parquet",
    strict: bool = False,
    progress: Progress = quiet,
    engine: Engine | None = None,
    sign: Path | None = None,
    even_if_useless: bool = False,
    holdout: float | None = None,
) -> Balance:
    """Release `data` by `method` into the new folder `out`; returns the account's balance after the charge.

    Any cell becomes a valid one by the declared policy. `strict` refuses a table that does not fit instead, before the
    charge; its certificate says that the promise then covers only tables that pass. A release in which public numbers put
    every column at lost is refused before the charge, unless `even_if_useless`. A release of the same table with the
    same parameters into the same place that was cut short is resumed. `sign` is a private key (PEM, Ed25519) by which the
    certificate is signed. `holdout` is a share of the rows that are kept back beside the folder, for `evaluate`.
    """
    out = Path(out)
    check_place(out)
    if strict:
        method.set_params(strict=True)
    key = None if sign is None else private_key(Path(sign))
    schema = declared_schema(method, data)
    payer = Account.of(schema, ledger, account)
    FORMATS[format].check(schema)
    source = open_source(data, schema=schema)
    engine = source.engine(engine)
    if rows is not None:
        _check_rows(method, rows, source, holdout)
    private = method._guarantee(None).adjacency is Adjacency.ADD_REMOVE
    with (
        Journal(out) as journal,
        _held_back(source, schema, holdout, payer, out, engine, progress, private) as kept,
    ):
        earlier = journal.seed(_asked_seed(method))
        seed = method._seed() if earlier is None else earlier
        charge = _Charge(source, method, schema, payer, out, journal, seed, even_if_useless, engine, kept)
        if kept is not None:
            source = kept.source(schema)
        try:
            method.fit(
                source,
                progress=progress,
                charge=charge,
                engine=engine,
                recorded=charge.recorded,
                record=journal.record,
                seed=seed,
            )
            write_release(method, out, rows, format, progress, key)
        except GnomonError as problem:
            if charge.balance is not None:
                problem.args = (
                    f"{problem} The budget of this release is charged; {_again(problem, journal)}.",
                )
            raise
        except KeyboardInterrupt as stop:
            stop.args = (_stopped(charge, journal),)
            raise
        journal.discard()
    assert charge.balance is not None
    return charge.balance


def _again(problem: GnomonError, journal: Journal) -> str:
    """What the same release does when it is run again after a charge."""
    if not journal.resumes:
        return "another run pays again"
    if isinstance(problem, NoisyRefusalError):
        return "its noisy answers are kept, so that the same release ends the same"
    return "run it again to go on without another charge"


def _stopped(charge: _Charge, journal: Journal) -> str:
    """Whether a release that was interrupted was charged, and how to go on."""
    if charge.balance is None:
        return "Interrupted before the charge: nothing was spent and nothing was written."
    said = f"Interrupted after the charge to account {charge.account.name!r}"
    if journal.resumes:
        return f"{said}: run the same command again, and it goes on without another charge."
    return f"{said}, while noisy rows were drawn: they are lost, and another run pays again."


@contextmanager
def _held_back(
    source: Source,
    schema: Schema,
    share: float | None,
    payer: Account,
    out: Path,
    engine: Engine | None,
    progress: Progress,
    private: bool,
) -> Iterator[Holdout | None]:
    """The rows that are kept back, before anything is measured; a refusal before the charge leaves nothing behind."""
    if share is None:
        yield None
        return
    if engine is not None and engine is not LOCAL:
        raise ParameterError(
            "A hold-out is split on this machine; use the local engine, or split the table before."
        )
    kept = hold_out(source, schema, share, out, payer.content(source, schema), progress, private=private)
    try:
        yield kept
    except BaseException:
        if not Journal.kept(out):
            kept.remove()
        raise


def _check_rows(method: Release, rows: int, source: Source, holdout: float | None) -> None:
    """Refuse, before anything is charged, a number of rows that the method cannot publish."""
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS:
        raise ParameterError(
            f"The number of rows to publish must be an integer from 1 to {MOST_ROWS:,}. Got {rows!r} instead."
        )
    if method.publishes == "rows" and (holdout is not None or rows != source.n_rows()):
        raise ParameterError(
            f"The method {method.name} publishes one row for each row of the table and no other number of rows; "
            "leave the number out, or use a method that fits a model."
        )


def _asked_seed(method: Release) -> str:
    """The seed that the caller chose, or that any will do."""
    state = method.random_state
    return str(state) if isinstance(state, int | np.integer) else "any"


@dataclass
class _Charge:
    """Called when everything public is in order: the durable charge, once a release."""

    source: Source
    method: Release
    schema: Schema
    account: Account
    out: Path
    journal: Journal
    seed: int
    even_if_useless: bool
    engine: Engine | None = None
    kept: Holdout | None = None
    balance: Balance | None = None
    recorded: list[Answer] = field(default_factory=list)

    def __call__(self, guarantee: Guarantee) -> None:
        content = self.account.content(self.source, self.schema, self.engine)
        header = self._header(content, guarantee)
        held = self.account.ledger.history(self.account.name)
        earlier = self.journal.recorded(header, {entry.hash for entry in held})
        if earlier is None:
            if not self.even_if_useless:
                refuse_useless(self.method, self.schema, self._public_rows(guarantee), guarantee)
            self.balance = self.account.charge(
                self.method, guarantee, self.schema, self.source, content, self.out.name
            )
            charge = self.balance.last
        else:
            self.recorded += earlier
            self.balance, charge = self.account.ledger.show(self.account.name), self.journal.charge
        self.journal.start(header, self.seed, charge, self.recorded)

    def _public_rows(self, guarantee: Guarantee) -> int:
        """The number of rows, or what is public about it."""
        if guarantee.adjacency is Adjacency.REPLACE_ONE:
            return self.source.n_rows()
        return magnitude(self.schema, self.method.expected_rows)

    def _header(self, content: str, guarantee: Guarantee) -> dict[str, Any]:
        """What must be equal for a release to be the same one."""
        return {
            "gnomon": version("gnomon"),
            "account": self.account.name,
            "content": content,
            "method": self.method.name,
            "parameters": parameters_of(self.method),
            "random_state": _asked_seed(self.method),
            "schema": hashlib.sha256(self.schema.dumps().encode()).hexdigest(),
            "guarantee": repr(guarantee),
            "ledger": str(self.account.ledger.path.absolute()),
            "split": None if self.kept is None else self.kept.split,
        }


class _CallableModule(ModuleType):
    """`gn.publish("ward.parquet", "out", schema=schema, epsilon=1)` reads well, and this module has that name."""

    def __call__(self, *arguments: Any, **named: Any) -> Published:
        return publish_by_name(*arguments, **named)


sys.modules[__name__].__class__ = _CallableModule
