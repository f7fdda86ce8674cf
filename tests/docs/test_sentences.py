"""Sentences of the documentation stay under thirty words, and metaphors do not stand in for the field's terms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sentences

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
# What the field calls otherwise: a metaphor, and the term.
METAPHORS = {
    r"\bdrown(?:s|ed|ing)?\b": "noise-dominated, hidden by noise",
    r"\bbearable\b": "maximum dimension",
    r"\bshapes? of (?:the |a )?columns?\b": "marginals",
    r"\broads?\b": "way, path",
    r"\bshadow of a table\b": "release",
    r"\bhas eyes\b": "has power",
    r"\btells? on\b": "reveals",
    r"\bheap(?:s|ed)?\b": "point mass, atom",
    r"(?<!--)\bclimbs?\b": "ascent",
    r"\bblur(?:s|red)?\b": "is not kept, smooths",
    r"\bbeliev(?:e|es|ed)\b": "posterior, is kept",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_sentences_are_under_thirty_words(page: Path) -> None:
    found = sentences.long_sentences(page)
    assert not found, "\n".join(f"{page.name}:{line}: {count} words: {text}" for line, count, text in found)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_terms_are_those_of_the_field(page: Path) -> None:
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for metaphor, term in METAPHORS.items():
        found = re.search(metaphor, text, re.IGNORECASE)
        assert found is None, f"{found.group()!r}: say {term}"


def test_the_measure_counts_what_people_read() -> None:
    long = " ".join(["word"] * 30)
    assert [
        count for _, text in sentences.sentences(f"{long}.") if (count := sentences.words(text)) > 29
    ] == [30]
    for harmless in (
        f"```text\n{long}\n```",
        f"| {long} |",
        f"# {long}",
        f"    {long}",
        f"{long[:60]}. {long[:60]}.",
    ):
        assert all(sentences.words(text) < 30 for _, text in sentences.sentences(harmless)), harmless
    assert next(iter(sentences.sentences("`a b c` is [one link](x y z)."))) == (1, "CODE is one link.")
    assert len(list(sentences.sentences("Liu et al. Say so. Then stop."))) == 2
