"""Columns that share the stem of their names and all that is said of them, gathered under one pattern."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Mapping

from gnomon.errors import SchemaError
from gnomon.table.pattern import winner

FEWEST = 3  # columns that are worth a pattern
_SEPARATOR = re.compile(r"[_:.\-/ ]+")


def stems(name: str) -> set[str]:
    """The patterns that a name may fall under: its first words, its letters before a number, its letters after one."""
    found = {
        name[: part.end()] + "*"
        for part in _SEPARATOR.finditer(name)
        if part.start() > 0 and part.end() < len(name)
    }
    numbered = re.fullmatch(r"(.*?\D)\d+", name)
    if numbered:
        found.add(numbered[1] + "*")
    suffixed = re.fullmatch(r"\d+(\D.*)", name)
    if suffixed:
        found.add("*" + suffixed[1])
    return {stem for stem in found if stem.count("*") == 1}


def by_pattern(said: Mapping[str, Hashable]) -> dict[str, list[str]]:
    """For each declaration of a draft, a pattern or a name, the columns that it serves; in the order of the table."""
    under = {name: stems(name) for name in said}
    members: dict[tuple[str, Hashable], set[str]] = {}
    for name, found in under.items():
        for stem in sorted(found):  # so that ties are decided alike in every run
            members.setdefault((stem, said[name]), set()).add(name)
    served: dict[str, list[str]] = {}
    while members:
        stem, body = max(members, key=lambda group: (len(members[group]), len(group[0])))
        names = members.pop((stem, body))
        if len(names) < FEWEST:
            break
        if stem in served or stem in said:  # the pattern of a larger group, or the name of a column
            continue
        served[stem] = [name for name in said if name in names]
        for name in names:
            for other in under[name] - {stem}:
                members.get((other, body), set()).discard(name)
    return _checked(said, served)


def _checked(said: Mapping[str, Hashable], served: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Without members that would fall to another pattern: those are declared by their names, which win."""
    home = {name: stem for stem, members in served.items() for name in members}
    for name, stem in list(home.items()):
        try:
            fits = winner(served, name) == stem
        except SchemaError:
            fits = False
        if not fits:
            del home[name]
    sizes = Counter(home.values())
    found: dict[str, list[str]] = {}
    for name in said:
        shared = home.get(name)
        found.setdefault(shared if shared and sizes[shared] >= FEWEST else name, []).append(name)
    return found
