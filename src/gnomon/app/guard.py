"""What stands before every request: host, origin, token, size; and the headers on every answer."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN = "x-gnomon-token"  # a header, not a cookie: cookies of 127.0.0.1 go to every port of it
LONGEST = 2**24  # bytes of a request
_ALWAYS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
# reports come from folders of anybody: no script, no request, no way out of their frame
VIEW = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)


class Guard:
    """Lets through what this page itself asks of this server, and nothing else."""

    def __init__(self, app: ASGIApp, token: str, port: int, touched: Callable[[], None]) -> None:
        self._app, self._token, self._touched = app, token.encode(), touched
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            status, why = refusal
            await PlainTextResponse(why, status)(scope, receive, _with_headers(scope, send))
            return
        await self._app(scope, receive, _with_headers(scope, send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if host not in self._hosts or len(headers.getlist("host")) != 1:
            return 421, "This server answers to 127.0.0.1 alone."
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return 403, "This server answers to its own page alone."
        if not path.startswith(("/api/", "/view/")):
            return None if scope["method"] == "GET" else (405, "Only GET.")
        if headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return 403, "This server answers to its own page alone."
        if path.startswith("/view/"):
            return None if scope["method"] == "GET" else (405, "Only GET.")
        if scope["method"] != "POST" or origin is None:
            return 403, "Only this server's own page may ask."
        if headers.get("content-type", "").partition(";")[0] != "application/json":
            return 415, "Only JSON."
        if not hmac.compare_digest(headers.get(TOKEN, "").encode(), self._token):
            return 401, "The token is missing or wrong; open the address that 'gnomon serve' printed."
        if not headers.get("content-length", "").isdigit() or int(headers["content-length"]) > LONGEST:
            return 413, "The request is too long."
        self._touched()
        return None


def _with_headers(scope: Scope, send: Send) -> Send:
    view = scope["path"].startswith("/view/")

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_ALWAYS)
            headers["content-security-policy"] = VIEW if view else PAGE
            headers["x-frame-options"] = "SAMEORIGIN" if view else "DENY"
        await send(message)

    return sending
