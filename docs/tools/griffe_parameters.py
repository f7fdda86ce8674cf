"""Docstrings write `name : what it is`; griffe would take what it is for a type, which signatures have."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SECTION = re.compile(
    r"(^(?:Parameters|Attributes)\n-+\n)(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.MULTILINE | re.DOTALL
)
_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : (.*)$", re.MULTILINE)


class Parameters(griffe.Extension):
    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = described(obj.docstring.value)


def described(text: str) -> str:
    return _SECTION.sub(lambda found: found.group(1) + _ENTRY.sub(r"\1\n    \2", found.group(2)), text)
