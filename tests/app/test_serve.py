"""gnomon serve as people start it: on loopback, with an address that works, ended by a signal or when nobody uses it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gnomon.app import server
from gnomon.app.places import Places
from gnomon.app.workspace import Workspace
from gnomon.cli import main
from gnomon.errors import ParameterError
from gnomon.privacy.ledger import Ledger


class Serving:
    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "gnomon", "serve", str(folder), "--no-browser", *options]
        env = {**os.environ, "GNOMON_LEDGER": str(folder / "ledger" / "l.sqlite")}
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
        )
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#token=([\w-]{40,})", self.said)
        assert found, self.said
        self.port, self.token = int(found[1]), found[2]

    def ask(self, action: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        headers = {
            "Content-Type": "application/json",
            "Origin": f"http://127.0.0.1:{self.port}",
            "X-Gnomon-Token": self.token,
        }
        with closing(connection):
            connection.request("POST", f"/api/{action}", "{}", headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Any]:
    started: list[Serving] = []

    def start(*options: str) -> Serving:
        started.append(Serving(tmp_path, *options))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait(10)
        assert one.process.stdout is not None
        assert one.process.stderr is not None
        one.process.stdout.close()
        one.process.stderr.close()


def test_it_serves_this_machine_alone_and_ends_by_a_signal(serving: Any, tmp_path: Path) -> None:
    one = serving()
    status, found = one.ask("hello")
    assert status == 200
    assert found["roots"] == [str(tmp_path.resolve())]
    other = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    for address in {a for a in other if not a.startswith("127.")}:
        with pytest.raises(OSError), socket.create_connection((address, one.port), timeout=1):
            pass
    one.process.send_signal(signal.SIGINT)
    assert one.process.wait(15) == 0
    assert one.process.stderr.read() == ""
    with pytest.raises(OSError, match="refused"):
        one.ask("hello")


def test_it_ends_when_nobody_uses_it(serving: Any) -> None:
    one = serving("--idle", "0.02")
    assert one.process.wait(20) == 0
    assert "Nobody has used the page" in one.process.stdout.read()


def test_work_under_way_keeps_it_alive(tmp_path: Path) -> None:
    from gnomon.app.jobs import Job

    work = Workspace(Places.of([tmp_path]), Ledger(tmp_path / "l.sqlite"))
    said: list[str] = []
    work.jobs.start(Job("check", None), lambda job: time.sleep(1.5))
    start = time.monotonic()
    server.serve(work, idle=0.2, browser=False, say=said.append)
    assert time.monotonic() - start > 1.4


def test_a_token_is_not_on_a_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, str, int]] = []

    def open_(address: str) -> bool:
        file = Path(address.removeprefix("file://"))
        opened.append((address, file.read_text(), file.stat().st_mode & 0o777))
        return True

    monkeypatch.setattr(server.webbrowser, "open", open_)
    work = Workspace(Places.of([tmp_path]), Ledger(tmp_path / "l.sqlite"))
    server.serve(work, idle=0.1, say=lambda line: None)
    address, text, mode = opened[0]
    assert address.startswith("file://")
    assert "token=" not in address
    assert "#token=" in text
    assert mode == 0o600
    assert not Path(address.removeprefix("file://")).exists()


def test_a_taken_port_a_missing_folder_and_no_time_are_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ParameterError, match="--port"):
            server.bind(taken.getsockname()[1])
    assert main(["serve", str(tmp_path / "nowhere"), "--no-browser"]) == 2
    assert main(["serve", str(tmp_path), "--idle", "0", "--no-browser"]) == 2
    assert "--idle" in capsys.readouterr().err


def test_without_the_extra_a_sentence_names_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "gnomon.app.server")
    assert main(["serve", "--no-browser"]) == 2
    assert "gnomon[app]" in capsys.readouterr().err
