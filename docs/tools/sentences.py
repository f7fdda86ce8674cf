"""How long sentences are: `python docs/tools/sentences.py [FILE...]` lists those of thirty words or more.

Code, tables, headings and images do not count. A formula or a name in backticks is one word; numbers and the
letters of other formulas do not count.
A sentence ends at a full stop, a question mark, a colon that opens a list or a formula, or with its paragraph.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

MOST = 29
_FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{2,}")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_END = re.compile(r"(?<=[.!?])[)\"”*_]*\s+(?=[\"“(*_`\[]*[A-Z0-9`§ΑΕα-ωε])")
_ABBREVIATION = re.compile(r"\b(?:et al|vs|cf|Fig|Eq|Sec|Thm|No|e\.g|i\.e|p|pp)\.$")


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """The running text of a page, with the line on which each paragraph or item of a list begins."""
    text = _FENCE.sub(lambda found: "\n" * found.group().count("\n"), text)
    start, lines = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        prose = (
            bare
            and not bare.startswith(("#", "|", "<", "!!!", "???", "===", ":::", "![", "---"))
            and not (line.startswith("    ") and not lines)
        )
        item = bool(_ITEM.match(line))
        if lines and (not prose or item):
            yield start, " ".join(lines)
            lines = []
        if prose:
            if not lines:
                start = number
            lines.append(_ITEM.sub("", line).strip())


def plain(text: str) -> str:
    """Without marks: code and formulas become one word, links their text."""
    text = re.sub(r"\$[^$]+\$|``.+?``|`[^`]+`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)(\{[^}]*\})?", r"\1", text)
    return re.sub(r"\*\*|__|(?<!\w)[*_]|[*_](?!\w)", "", text)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    for line, paragraph in paragraphs(text):
        whole = ""
        for part in _END.split(plain(paragraph)):
            whole = f"{whole} {part}".strip()
            if not _ABBREVIATION.search(whole):
                yield line, whole
                whole = ""
        if whole:
            yield line, whole


def words(sentence: str) -> int:
    """Words; numbers, signs and the letters of formulas do not count."""
    return sum(word in ("a", "A", "I") or bool(_WORD.search(word)) for word in sentence.split())


def long_sentences(path: Path, most: int = MOST) -> list[tuple[int, int, str]]:
    found = ((line, words(text), text) for line, text in sentences(path.read_text(encoding="utf-8")))
    return [item for item in found if item[1] > most]


def main(names: list[str]) -> int:
    root = Path(__file__).parents[2]
    pages = [Path(name) for name in names] or [
        *sorted((root / "docs").rglob("*.md")),
        *sorted(root.glob("*.md")),
    ]
    total = 0
    for path in pages:
        for line, count, text in long_sentences(path):
            total += 1
            print(f"{path}:{line}: {count} words: {text}")
    return total > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
