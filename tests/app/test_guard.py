"""Who may ask: the page of this server, with its token, and nobody else; and what every answer forbids the browser."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient


def asked(page: Any, path: str = "/api/hello", **changes: str | None) -> Any:
    headers = {**page.headers, **changes}
    return page.client.post(path, json={}, headers={k: v for k, v in headers.items() if v is not None})


def test_the_page_itself_may_ask(page: Any) -> None:
    assert asked(page).status_code == 200


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"x-gnomon-token": None}, 401),
        ({"x-gnomon-token": "a-token-for-test"}, 401),
        ({"x-gnomon-token": "a-token-for-tests "}, 401),
        ({"x-gnomon-token": "é"}, 401),
        ({"origin": None}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "https://127.0.0.1:8765"}, 403),
        ({"host": "evil.example:8765"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"host": "127.0.0.1.evil.example:8765"}, 421),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
    ],
)
def test_anybody_else_may_not(page: Any, changes: dict[str, str | None], status: int) -> None:
    encoded = {k: v.encode("latin-1") if isinstance(v, str) else v for k, v in changes.items()}
    answer = asked(page, **encoded)  # type: ignore[arg-type]
    assert answer.status_code == status
    assert b"version" not in answer.content


def test_no_action_by_get_and_no_cors(page: Any) -> None:
    assert page.client.get("/api/hello", headers=page.headers).status_code == 403
    preflight = page.client.options(
        "/api/hello", headers={"origin": "http://evil.example", "access-control-request-method": "POST"}
    )
    assert preflight.status_code == 403
    for answer in (preflight, asked(page), page.client.get("/")):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_every_answer_forbids_what_the_page_does_not_need(page: Any) -> None:
    for answer in (
        page.client.get("/"),
        page.client.get("/static/main.js"),
        asked(page),
        page.client.get("/nothing"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


def test_the_files_of_the_page_name_no_other_host() -> None:
    from gnomon.app.server import _STATIC

    assert {"index.html", "main.js", "page.css", "grid.js"} <= _STATIC.keys()
    for name, content in _STATIC.items():
        text = content.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, name
        assert "https://" not in text, name
        assert "//cdn" not in text, name
        assert "innerHTML" not in text, name
        assert "eval(" not in text, name


def test_only_files_of_the_page_are_served(page: Any) -> None:
    for path in ("/static/../server.py", "/static/..%2fserver.py", "/static/server.py", "/etc/passwd"):
        assert page.client.get(path).status_code == 404


def test_a_ticket_is_good_once_and_shows_nothing_that_runs(
    page: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = page.work.ticket("<p>hello</p><script>alert(1)</script>")
    assert page.client.get(address, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    first = page.client.get(address, headers={"sec-fetch-site": "same-origin"})
    assert first.status_code == 200
    policy = first.headers["content-security-policy"]
    assert policy.endswith("; sandbox")
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    assert page.client.get(address).status_code == 404
    late = page.work.ticket("<p>late</p>")
    monkeypatch.setattr("gnomon.app.workspace.time.monotonic", lambda: 1e12)
    assert page.client.get(late).status_code == 404


def as_bytes(page: Any, action: str, body: bytes) -> Any:
    headers = {**page.headers, "content-type": "application/json"}
    return page.client.post(f"/api/{action}", content=body, headers=headers)


def test_a_request_without_end_is_refused(page: Any) -> None:
    assert as_bytes(page, "hello", b" " * (2**24 + 1)).status_code == 413


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"3",
        b'{"path": 3, "purpose": "table"}',
        b'{"purpose": "table", "more": 1}',
        b"[" * 100_000,
    ],
)
def test_a_request_of_another_form_is_one_sentence(page: Any, body: bytes) -> None:
    answer = as_bytes(page, "list_folder", body)
    assert answer.status_code == 400
    assert "\n" not in answer.json()["error"]


def test_an_action_that_there_is_not(page: Any) -> None:
    assert page.post("__init__").status_code == 404


def test_a_bug_shows_its_kind_and_not_its_words(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ValueError("canary-7f3a9")

    monkeypatch.delenv("GNOMON_DEBUG", raising=False)
    monkeypatch.setattr(type(page.work), "recent", broken)
    answer = page.post("hello")
    assert answer.status_code == 500
    assert "ValueError" in answer.text
    assert "canary" not in answer.text


def test_websockets_are_not_spoken(page: Any) -> None:
    client: TestClient = page.client
    with pytest.raises(Exception), client.websocket_connect("/api/hello"):  # noqa: B017
        pass
