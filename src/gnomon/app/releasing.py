"""Spending a budget on a release, and what the release is worth beside real rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from gnomon.app.actions import action
from gnomon.app.budget import Neighbouring, shown
from gnomon.app.jobs import Job, Stopped
from gnomon.app.workspace import Workspace
from gnomon.commands.release import expected_passes
from gnomon.errors import GnomonError, ParameterError
from gnomon.evaluation.limits import Limits
from gnomon.evaluation.page import summary
from gnomon.evaluation.result import STAMP
from gnomon.evaluation.run import evaluate as evaluate_release
from gnomon.methods import DEFAULT
from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import Guarantee
from gnomon.privacy.ledger import Balance, Ledger
from gnomon.privacy.meaning import percent_up
from gnomon.publish import publish_by_name
from gnomon.release.folder import check_place
from gnomon.release.holdout import place_of
from gnomon.report.words import best_guess, protects, trade_off


class _Watched(Ledger):
    """The ledger, which tells the job that it was charged: from then on, stopping costs."""

    job: Job

    def charge(self, account: str, guarantee: Guarantee, **facts: Any) -> Balance:
        balance = super().charge(account, guarantee, **facts)
        self.job.charged = True
        return balance


@action
def place(work: Workspace, *, out: str) -> dict[str, Any]:
    """Whether a release can be written to a place, and whether one was cut short there."""
    path = work.places.new(out)
    try:
        check_place(path)
    except GnomonError as problem:
        return {"ok": False, "error": str(problem), "resumes": False}
    return {"ok": True, "error": None, "resumes": _journal(path).exists(), "path": str(path)}


def _journal(out: Path) -> Path:
    return out.parent / f".{out.name}.resume"


@action
def remember(
    work: Workspace, *, id: str, settings: dict[str, str | int | float | bool | None]
) -> dict[str, Any]:
    """Keep what the page asks of a budget and a release, so that a reload or a restart finds it again."""
    found = work.project(id)
    found.settings = {**found.settings, **settings}
    work.remember(found)
    return {}


@action
def release(
    work: Workspace,
    *,
    id: str,
    epsilon: float,
    delta: float = 0.0,
    out: str,
    method: str = "auto",
    adjacency: Neighbouring = "replace-one",
    rows: int | None = None,
    format: Literal["parquet", "csv"] = "parquet",
    strict: bool = False,
    holdout: float | None = None,
    even_if_useless: bool = False,
) -> dict[str, Any]:
    """gnomon release."""
    found, path = work.project(id), work.places.new(out)
    check_place(path)
    schema = found.schema()
    ledger = _Watched(work.ledger.path)

    def run(job: Job) -> dict[str, Any]:
        ledger.job = job
        try:
            published = publish_by_name(
                found.data.source(schema),
                path,
                schema=schema,
                epsilon=epsilon,
                delta=delta,
                method=method,
                ledger=ledger,
                rows=rows,
                format=format,
                progress=job,
                adjacency=adjacency,
                strict=strict,
                holdout=holdout,
                even_if_useless=even_if_useless,
            )
        except Stopped as stopped:
            if not job.charged and not _journal(path).exists():
                raise Stopped(f"{stopped} Nothing was charged, and nothing was written.") from None
            raise
        made: Any = published.method
        return {
            "out": str(path),
            "holdout": None if holdout is None else str(place_of(path)),
            "rows": rows or made.n_rows_,
            "columns": len(made.data_schema_.released),
            "method": made.name,
            **promise(made.certificate_),
            "balance": shown(published.balance),
        }

    passes = expected_passes(DEFAULT if method == "auto" else method, schema) + strict + (holdout is not None)
    job = Job("release", id, passes=passes)
    return work.jobs.start(job, run, key=schema.budget_account, heavy=True).status()


def promise(certificate: Certificate) -> dict[str, Any]:
    """What a certificate says, in a few sentences."""
    guarantee = certificate.guarantee
    guess = best_guess(certificate)
    return {
        "holds": certificate.holds,
        "statement": certificate.statement,
        "epsilon": f"{guarantee.epsilon:g}",
        "delta": f"{guarantee.delta:g}",
        "protects": protects(guarantee),
        "guess": guess,
        "guess_words": percent_up(guess, 2 if len(certificate.attacks) > 1 else 1),
        "trade_off": trade_off(certificate),
        "weak": list(certificate.weak),
    }


@action
def job(work: Workspace, *, id: str) -> dict[str, Any]:
    return work.jobs[id].status()


@action
def stop(work: Workspace, *, id: str) -> dict[str, Any]:
    """Stop work at its next step; what was charged stays charged."""
    found = work.jobs[id]
    found.stopping.set()
    return found.status()


@action
def evaluate(
    work: Workspace, *, id: str, release: str, test: str | None = None, trials: int = 5
) -> dict[str, Any]:
    """gnomon evaluate, on a stamped page of its own; without `test`, on the rows that the release kept back."""
    found, folder = work.project(id), work.places.inside(release)
    held_out = None if test is None else work.places.inside(test)
    if held_out is not None and found.data.path is not None and held_out == Path(found.data.path).resolve():
        raise ParameterError(
            "The rows to test on are those of the released table; choose a table of rows that were not released."
        )

    def run(job: Job) -> dict[str, Any]:
        real = None if held_out is None else found.data.source(found.schema())
        worth = evaluate_release(folder, real, held_out, trials=trials, limits=Limits(), progress=job)
        job.view = worth.to_html()
        return {"stamp": STAMP, "summary": summary(worth), "notes": worth.notes}

    return work.jobs.start(Job("evaluate", id), run, heavy=True).status()


@action
def view_job(work: Workspace, *, id: str) -> dict[str, Any]:
    """An address for the page that a job made."""
    page = work.jobs[id].view
    if page is None:
        raise ParameterError("That work made no page.")
    return {"address": work.ticket(page)}
