"""The server of the page: on loopback, behind a token, ended when nobody uses it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import time
import webbrowser
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import uvicorn
from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from gnomon.app import analyst, budget, questions, releasing, tables
from gnomon.app.actions import ACTIONS
from gnomon.app.guard import Guard
from gnomon.app.project import Stale
from gnomon.app.workspace import Workspace, in_words
from gnomon.errors import GnomonError, ParameterError

PARTS = (tables, budget, releasing, analyst, questions)  # their actions are known once they are imported
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
LOOPBACK = "127.0.0.1"
_PATIENCE = 10.0  # seconds for work under way when the server ends


def create_app(work: Workspace, token: str, port: int) -> ASGIApp:
    """The page and its actions."""

    async def act(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ACTIONS:
            return _json({"error": f"There is no action {name!r}."}, 404)
        try:
            given = json.loads(await request.body() or b"{}")
        except (ValueError, RecursionError):
            return _json({"error": "The request is not JSON."}, 400)
        return await run_sync(_answer, work, name, given)

    async def view(request: Request) -> Response:
        page = work.admitted(request.path_params["ticket"])
        if page is None:
            return PlainTextResponse("This address was good for once; open the page again.", 404)
        return Response(page.encode("utf-8", "replace"), media_type="text/html; charset=utf-8")

    async def static(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in _STATIC:
            return PlainTextResponse("There is nothing here.", 404)
        return Response(_STATIC[name], media_type=f"{TYPES[Path(name).suffix]}; charset=utf-8")

    routes = [
        Route("/", static),
        Route("/static/{name}", static),
        Route("/view/{ticket}", view),
        Route("/api/{name}", act, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), token, port, work.touch)


_STATIC = {
    one.name: one.read_bytes()
    for one in files("gnomon.app").joinpath("static").iterdir()
    if Path(one.name).suffix in TYPES
}


def _answer(work: Workspace, name: str, given: Any) -> Response:
    try:
        return _json(ACTIONS[name](work, given))
    except Stale as stale:
        return _json(in_words(stale), 409)
    except GnomonError as refusal:
        return _json(in_words(refusal), 400)
    except Exception as problem:
        if os.environ.get("GNOMON_DEBUG"):
            raise
        # the text of an unforeseen exception may quote a cell of the private table, so only its kind is shown
        words = f"unexpected {type(problem).__name__}; this is a bug, and GNOMON_DEBUG=1 before 'gnomon serve' shows where."
        return _json({"error": words, "code": 70}, 500)


def _json(content: Any, status: int = 200) -> Response:
    # ASCII: names of files may hold bytes that are no text, which only an escape carries
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Response(text, status, media_type="application/json")


def bind(port: int) -> socket.socket:
    """A socket on loopback, at the port or at any free one."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((LOOPBACK, port))
        found.listen(100)  # before anybody is told the address
    except OSError as problem:
        found.close()
        raise ParameterError(
            f"The port {port} cannot be used ({problem.strerror}); give another with --port, or none."
        ) from None
    return found


def serve(
    work: Workspace,
    *,
    port: int = 0,
    idle: float = 3600.0,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve the page until it is interrupted, or until nobody has used it for `idle` seconds."""
    listening = bind(port)
    bound, token = listening.getsockname()[1], secrets.token_urlsafe(32)
    address = f"http://{LOOPBACK}:{bound}/#token={token}"
    config = uvicorn.Config(
        create_app(work, token, bound),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        limit_concurrency=100,
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    say(f"gnomon is at {address}")
    say("Only this machine can reach it, and only with that address. End it with Ctrl+C.")
    note = _note(work, address) if browser else None
    try:
        if note is not None:
            webbrowser.open(note.as_uri())
        asyncio.run(_until_idle(server, listening, work, idle, say))
    except KeyboardInterrupt:
        pass
    finally:
        if note is not None:
            note.unlink(missing_ok=True)
        work.jobs.end(_PATIENCE)
        listening.close()


async def _until_idle(
    server: uvicorn.Server, listening: socket.socket, work: Workspace, idle: float, say: Callable[[str], None]
) -> None:
    async def watch() -> None:
        while not server.should_exit:
            await asyncio.sleep(min(1.0, idle / 4))
            if not work.jobs.running and time.monotonic() - work.touched > idle:
                say(
                    "Nobody has used the page for a while: ended. Schemas, budgets and releases are on the disk."
                )
                server.should_exit = True

    watching = asyncio.create_task(watch())
    try:
        await server.serve(sockets=[listening])
    finally:
        watching.cancel()


def _note(work: Workspace, address: str) -> Path | None:
    """A file that sends the browser to the page: a token on a command line could be read by other users of the machine."""
    path = work.ledger.path.parent / f"serve-{secrets.token_hex(8)}.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(
                f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>gnomon</title>'
                f'<meta http-equiv="refresh" content="0;url={address}"><a href="{address}">Open gnomon</a>\n'
            )
    except OSError:
        return None
    return path.absolute()
