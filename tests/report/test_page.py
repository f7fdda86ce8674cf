"""The public page: complete, self-contained, and safe whatever the columns are called."""

from __future__ import annotations

import math
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

from gnomon.privacy.certificate import Certificate, promise
from gnomon.privacy.guarantee import Adjacency, Guarantee, PureDP, declared
from gnomon.privacy.mechanism import Event
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.report.page import DRAWN, public_page
from gnomon.table.schema import Column, Schema

HOSTILE = '<script>alert("x")</script>'


class Reader(HTMLParser):
    """Tags that were opened and not closed, every attribute, and the text that a person reads."""

    VOID = frozenset({"meta", "rect", "line", "path", "br"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(page)
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)


def certificate(guarantee: Guarantee | None = None, **changes: object) -> Certificate:
    promised = guarantee or PureDP(1.0)
    sensitivity = Sensitivity(Norm.L1, Fraction(2), adjacency=Adjacency.REPLACE_ONE)
    event = Event("count of every class", "discrete-laplace", sensitivity, 2.0, PureDP(1.0))
    made = Certificate.build(
        method="ron-gauss",
        guarantee=promised,
        events=[event],
        table="ward",
        rows=300,
        public=["the number of rows, 300"],
        post_processing=["counts onto the simplex"],
    )
    return made.with_files({"data.parquet": "ab" * 32}).model_copy(update=changes)


def schema(*names: str) -> Schema:
    columns = [Column(name=name, kind="number", low=0, high=1) for name in names]
    columns.append(Column(name="outcome", kind="category", values=("home", HOSTILE), role="target"))
    return Schema(name="ward <2024>", columns=tuple(columns))


def table(declared_columns: Schema, n: int = 40) -> pa.Table:
    rng = np.random.default_rng(0)
    numbers = {column.name: rng.random(n) for column in declared_columns.features}
    return pa.table({**numbers, "outcome": rng.choice(["home", HOSTILE], n)})


def read(made: Certificate, *names: str) -> Reader:
    shape = schema(*names)
    return Reader(public_page(made, shape, table(shape)))


def test_the_page_tells_everything_that_it_should() -> None:
    page = read(certificate(), "age", "pressure")
    assert not page.open
    for part in (
        "ward <2024>",
        "ε = 1",
        "pure, δ = 0",
        "73.2%",
        promise(certificate().guarantee, certificate().rows),
        "the number of rows, 300",
        "count of every class discrete-laplace 2 (L1) 2 1 ε = 1",
        "counts onto the simplex",
        "age",
        "pressure",
        "What it does not protect against",
        "ab" * 32,
    ):
        assert part in page.text


def test_nothing_is_executed_and_nothing_comes_from_elsewhere() -> None:
    page = read(certificate(), HOSTILE, '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }}")
    assert not page.tags & {"script", "img", "link", "iframe", "object", "a", "form"}
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert HOSTILE in page.text
    assert "{{ 7 * 7 }}" in page.text
    policy = dict(page.attributes)["content"]
    assert policy is not None
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes


def test_it_works_for_phones_print_and_the_dark() -> None:
    shape = schema("age")
    page = public_page(certificate(), shape, table(shape))
    for rule in ("width=device-width", "@media print", "prefers-color-scheme: dark", "max-width: 40rem"):
        assert rule in page
    assert "http" not in page.replace("http-equiv", "")


def test_approximate_privacy_shows_delta() -> None:
    page = read(certificate(declared(1.0, 1e-6)), "age")
    assert "δ = 1e-06" in page.text


@pytest.mark.parametrize(
    "changes",
    [
        {
            "holds": False,
            "statement": "This release does NOT keep the privacy it declares.",
            "delivered": 2.0,
        },
        {"holds": False, "statement": "This release is NOT private: its noise was fixed for a test."},
    ],
)
def test_a_promise_that_does_not_hold_is_the_first_thing_to_read(changes: dict[str, object]) -> None:
    page = read(certificate(**changes), "age")
    assert "Do not publish this." in page.text
    assert page.text.index("Do not publish this.") < page.text.index("What was released")
    assert "they name the right one" not in page.text
    assert "A private release" not in page.text
    assert "Protects" not in page.text
    assert ("Delivers ε = 2" if changes.get("delivered") else "Delivers no finite ε") in page.text


def test_infinite_epsilon_is_not_dressed_up() -> None:
    made = Certificate.build(
        method="ron-gauss", guarantee=PureDP(math.inf), events=[], table="ward", rows=300
    )
    page = read(made, "age")
    assert "ε = ∞" in page.text
    assert "NOT private" in page.text
    assert "they name the right one" not in page.text


@pytest.mark.parametrize(
    ("method", "kind"), [("ron-gauss", "synthetic rows"), ("jl-laplace", "one row for each")]
)
def test_what_kind_of_rows_these_are(method: str, kind: str) -> None:
    assert kind in read(certificate(method=method), "age").text


def test_caveats_are_shown() -> None:
    assert (
        "Caveat. Two classes fell back." in read(certificate(caveats=("Two classes fell back.",)), "age").text
    )


def test_a_thousand_columns_make_a_page_of_bounded_size() -> None:
    shape = schema(*(f"x{i}" for i in range(1000)))
    page = public_page(certificate(), shape, table(shape, n=5))
    assert page.count("<article") == DRAWN
    assert "outcome" in page
    assert f"{1001 - DRAWN} columns" in page
    assert len(page) < 400_000


def test_rows_that_the_page_did_not_see_are_said() -> None:
    page = read(certificate(released_rows=1_000_000), "age")
    assert "1,000,000 rows × 2 columns" in page.text
    assert "the first 40 of 1,000,000 released rows" in page.text


def test_a_csv_release_is_called_by_its_name() -> None:
    page = read(certificate().with_files({"data.csv": "ab" * 32}), "age")
    assert 'pd.read_csv("data.csv")' in page.text
    assert "data.parquet" not in page.text


def test_the_first_printed_page_is_a_handout() -> None:
    """On paper it has what a board needs; the rest begins on the next page. How it fits was looked at in Chromium."""
    columns = schema()
    page = public_page(certificate(), columns, table(columns))
    before, after = page.split("<h2>What was released</h2>")
    for said in ("The guarantee in plain words", "How anybody can check it", "gnomon verify"):
        assert said in before
    assert (
        before.count("What it does not protect against")
        == after.count("What it does not protect against")
        == 1
    )
    assert "main > .first + h2 { break-before: page" in page
    assert ".handout { display: none }" in page
    assert page.count("<main>") == page.count("</main>") == 1
