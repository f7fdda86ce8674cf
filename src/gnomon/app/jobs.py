"""Work that takes longer than a request: one thread each, progress by stage, and a way to stop it."""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import Any

from gnomon.errors import GnomonError, GnomonWarning, ParameterError

_KEPT = 50  # jobs that are over


class Stopped(GnomonError):  # noqa: N818 - nothing went wrong
    """The person at the page stopped it."""


@dataclass
class Job:
    """One piece of work; calling it is its progress callback, which ends the work where that was asked for."""

    kind: str
    project: str | None
    passes: int = 0
    id: str = field(default_factory=lambda: secrets.token_urlsafe(9))
    state: str = "running"
    stages: dict[str, float | None] = field(default_factory=dict)  # shares, not counts: n may be private
    charged: bool = False
    result: Any = None
    error: str | None = None
    notes: list[str] = field(default_factory=list)
    view: str | None = None  # a page that a ticket may show
    stopping: Event = field(default_factory=Event)

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if self.stopping.is_set():
            raise Stopped("It was stopped.")
        self.stages[stage] = None if not total else min(1.0, done / total)

    def status(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "project": self.project,
            "state": self.state,
            "stopping": self.stopping.is_set(),
            "stages": [{"name": name, "share": share} for name, share in list(self.stages.items())],
            "passes": self.passes,
            "charged": self.charged,
            "result": self.result,
            "error": self.error,
            "notes": list(self.notes),
            "page": self.view is not None,
        }


class Jobs:
    """The jobs of a server; of those with one key, such as an account, one runs at a time."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._keys: dict[str, str] = {}
        self._threads: dict[str, Thread] = {}
        self._lock, self._heavy = Lock(), Lock()
        self.filters = Lock()  # of warnings, which a process has once: held by whoever sets them for a moment

    def __getitem__(self, id: str) -> Job:
        if id not in self._jobs:
            raise ParameterError("That work is not known any more; start it again.")
        return self._jobs[id]

    @property
    def running(self) -> list[Job]:
        return [job for job in list(self._jobs.values()) if job.state == "running"]

    def start(
        self, job: Job, work: Callable[[Job], Any], key: str | None = None, *, heavy: bool = False
    ) -> Job:
        """Begin work; of what is heavy, one piece runs at a time, and of what has a key, no second is taken."""
        with self._lock:
            if key is not None and key in self._keys:
                raise ParameterError(
                    f"Another release from {key} is under way; wait for it to end, or stop it."
                )
            for old in [one.id for one in self._jobs.values() if one.state != "running"][:-_KEPT]:
                del self._jobs[old]
            self._jobs[job.id] = job
            if key is not None:
                self._keys[key] = job.id
        thread = Thread(
            target=self._run, args=(job, work, key, heavy), name=f"gnomon-{job.kind}", daemon=True
        )
        self._threads[job.id] = thread
        thread.start()
        return job

    def _run(self, job: Job, work: Callable[[Job], Any], key: str | None, heavy: bool) -> None:
        try:
            if heavy:
                with self._heavy, _notes(job, self.filters):
                    job.result = work(job)
            else:
                job.result = work(job)
            job.state = "done"
        except Stopped as stopped:
            job.error, job.state = str(stopped), "stopped"
        except GnomonError as refusal:
            job.error, job.state = str(refusal), "failed"
        except BaseException as problem:  # its text may quote a cell
            job.error, job.state = f"unexpected {type(problem).__name__}; this is a bug in gnomon.", "failed"
        finally:
            with self._lock:
                self._threads.pop(job.id, None)
                if key is not None:
                    self._keys.pop(key, None)

    def end(self, seconds: float) -> None:
        """Ask all work to stop, and wait for it a little: what is half written is then removed."""
        for job in self.running:
            job.stopping.set()
        for thread in list(self._threads.values()):
            thread.join(seconds)


class _notes:  # noqa: N801 - a context manager
    """Warnings of gnomon become notes of the job; those of other libraries might quote data and are dropped."""

    def __init__(self, job: Job, filters: Lock) -> None:
        self._job, self._filters, self._catching = job, filters, warnings.catch_warnings()

    def __enter__(self) -> None:
        with self._filters:
            self._catching.__enter__()
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", GnomonWarning)
            warnings.showwarning = lambda message, *_, **__: self._job.notes.append(str(message))

    def __exit__(self, *_: object) -> None:
        with self._filters:
            self._catching.__exit__(None, None, None)
