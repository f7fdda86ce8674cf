"""A server of the page without a socket, and a client that keeps every answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("starlette", reason="The page needs the extra 'app'; install gnomon[app] to test it.")
from starlette.testclient import TestClient

from gnomon.app.places import Places
from gnomon.app.server import create_app
from gnomon.app.workspace import Workspace
from gnomon.privacy.ledger import Ledger

TOKEN = "a-token-for-tests"
PORT = 8765
ORIGIN = f"http://127.0.0.1:{PORT}"


class Page:
    """What the page does: actions with the token, and pages by ticket; every answer is kept."""

    def __init__(self, work: Workspace) -> None:
        self.work = work
        self.client = TestClient(create_app(work, TOKEN, PORT), base_url=ORIGIN)
        self.headers = {"origin": ORIGIN, "x-gnomon-token": TOKEN, "sec-fetch-site": "same-origin"}
        self.answers: list[tuple[str, int, bytes]] = []

    def post(self, action: str, **given: Any) -> Any:
        headers = {**self.headers, "content-type": "application/json"}
        answer = self.client.post(f"/api/{action}", content=json.dumps(given), headers=headers)
        self.answers.append((action, answer.status_code, answer.content))
        return answer

    def __call__(self, action: str, **given: Any) -> dict[str, Any]:
        answer = self.post(action, **given)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def refused(self, action: str, **given: Any) -> str:
        answer = self.post(action, **given)
        assert answer.status_code in (400, 409), answer.text
        return str(answer.json()["error"])

    def view(self, address: str) -> str:
        answer = self.client.get(address, headers={"sec-fetch-site": "same-origin"})
        assert answer.status_code == 200
        self.answers.append(("view", 200, answer.content))
        return answer.text

    def done(self, job: dict[str, Any], seconds: float = 120.0) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while job["state"] == "running":
            assert time.monotonic() < end, job
            time.sleep(0.02)
            job = self("job", id=job["id"])
        return job


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    folder = tmp_path / "tables"
    folder.mkdir()
    work = Workspace(Places.of([folder]), Ledger(tmp_path / "private" / "ledger.sqlite"))
    yield Page(work)
    work.jobs.end(5.0)


@pytest.fixture
def ward(page: Page) -> Path:
    """A small table with a column of each kind."""
    rng = np.random.default_rng(0)
    n = 300
    table = pa.table(
        {
            "patient": [f"p{i}" for i in range(n)],
            "age": rng.integers(18, 99, n),
            "weight": rng.normal(75, 12, n),
            "sex": rng.choice(["f", "m"], n),
            "smoker": rng.random(n) < 0.3,
        }
    )
    path = page.work.places.roots[0] / "ward.parquet"
    pq.write_table(table, path)
    return path


@pytest.fixture
def complete(page: Page, ward: Path) -> dict[str, Any]:
    """The project of the small table with a complete schema."""
    state = page("open_table", path=str(ward), schema_path=str(ward.parent / "schema.toml"))
    changes = [
        {"names": ["age"], "set": {"low": "0", "high": "120"}},
        {"names": ["weight"], "set": {"low": "0", "high": "300"}},
        {"names": ["sex"], "set": {"values": ["f", "m"], "role": "target"}},
    ]
    return page("edit", id=state["id"], revision=state["revision"], changes=changes)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, Callable[[Any], bool]]:
    """Hold a release at a step, by what `when` says of its job, until somebody stops it."""
    from gnomon.app.jobs import Job

    usual, how = Job.__call__, {"when": lambda job: False}

    def patient(self: Job, stage: str, done: int, total: int | None) -> None:
        if how["when"](self):
            self.stopping.wait(60)
        usual(self, stage, done, total)

    monkeypatch.setattr(Job, "__call__", patient)
    return how
