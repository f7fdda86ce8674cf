"""The reference describes all that it shows: every name, every method, every parameter with its type."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

import gnomon as gn
from gnomon.privacy.certificate import Certificate

ROOT = Path(__file__).parents[2]
API = ROOT / "docs/reference/api"
_SHOWN = re.compile(r"^::: ([\w.]+)\n((?: {4}.*\n|\n(?= {4}))*)", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+(?:, \w+)*) : \S", re.MULTILINE)
CONVENTIONS = {"self", "cls"}
ELSEWHERE = "gnomon.model."  # shown for its use in a method; its fields are in the source
ALIASES = {"plan_by_numbers": "plan", "publish_by_name": "publish"}


def shown() -> Iterator[tuple[str, dict[str, Any]]]:
    """The names on the pages of the reference, with the options that say which members a page shows."""
    for page in sorted(API.glob("*.md")):
        for name, options in _SHOWN.findall(page.read_text(encoding="utf-8") + "\n"):
            yield name, (yaml.safe_load(options) or {}).get("options") or {}


def resolved(name: str) -> Any:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def members(name: str, options: dict[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """(name, object, shared description) of all that stands under a name of the reference."""
    found, wanted = resolved(name), options.get("members")
    hidden = [pattern.removeprefix("!") for pattern in options.get("filters", ["!^_"])]
    if inspect.ismodule(found):
        for own, value in vars(found).items():
            here = getattr(value, "__module__", None) == found.__name__
            if any(re.search(pattern, own) for pattern in hidden):
                continue
            if here and (wanted is None or own in wanted):
                yield from of_object(f"{name}.{own}", value, None, inspect.getdoc(found) or "")
    else:
        yield from of_object(name, found, wanted, "")


def of_object(name: str, found: Any, wanted: list[str] | None, shared: str) -> Iterator[tuple[str, Any, str]]:
    yield name, found, shared
    if not inspect.isclass(found) or issubclass(found, Enum | Exception):
        return
    fields = getattr(found, "__dataclass_fields__", {})
    for own, value in vars(found).items():
        if own.startswith("_") or own in fields or (wanted is not None and own not in wanted):
            continue
        plain = (
            getattr(value, "__func__", None) or getattr(value, "fget", None) or getattr(value, "func", None)
        )
        plain = value if plain is None and inspect.isfunction(value) else plain
        if plain is not None:
            yield f"{name}.{own}", plain, shared


EVERYTHING = {name: (found, shared) for one, asked in shown() for name, found, shared in members(one, asked)}


def described(found: Any, shared: str) -> set[str]:
    """The parameters that a docstring (or that of a base class, or the module's) describes, or names in its text."""
    owners = found.__mro__ if inspect.isclass(found) else [found]
    text = "\n".join(inspect.getdoc(owner) or "" for owner in owners) + "\n" + shared
    listed = {name for entry in _ENTRY.findall(text) for name in entry.split(", ")}
    return listed | set(re.findall(r"`(\w+)`", text)) | set(re.findall(r"`(\w+)\(", text))


def parameters(found: Any) -> dict[str, inspect.Parameter]:
    if inspect.isclass(found) and not dataclasses.is_dataclass(found) and not hasattr(found, "model_fields"):
        return {} if found.__init__ is object.__init__ else _of(found.__init__)
    return _of(found)


def _of(found: Any) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(found).parameters)
    except (TypeError, ValueError):
        return {}


@pytest.mark.parametrize("name", [name for name in EVERYTHING if not name.startswith(ELSEWHERE)])
def test_a_name_of_the_reference_and_its_parameters_are_described(name: str) -> None:
    found, shared = EVERYTHING[name]
    own = found.__dict__.get("__doc__") if inspect.isclass(found) else found.__doc__
    assert (own or "").strip(), f"{name} has no description"
    if found is Certificate or (inspect.isclass(found) and issubclass(found, Enum | Exception)):
        return  # the fields of a certificate have a page of their own, and a test for it
    known = described(found, shared)
    for parameter, value in parameters(found).items():
        if parameter in CONVENTIONS or parameter.startswith("_") or parameter in ("args", "kwargs"):
            continue
        assert parameter in known, f"{name} does not describe its parameter {parameter!r}"
        assert value.annotation is not inspect.Parameter.empty, f"{name}: {parameter!r} has no type"


def test_every_public_name_is_checked() -> None:
    assert len(EVERYTHING) > 180
    for home in (gn, gn.baseline):
        for name in home._HOMES:
            found = getattr(home, name)
            assert f"{found.__module__}.{name}" in EVERYTHING


def test_every_public_method_is_used_in_an_example() -> None:
    """In a docstring or on a page: tests execute both."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    examples = "\n".join(
        body
        for page in pages
        for body in re.findall(r"^ *```python\n(.*?)^ *```", page.read_text("utf-8"), re.M | re.S)
    )
    examples += "\n".join(
        line
        for found, _ in EVERYTHING.values()
        for line in (inspect.getdoc(found) or "").splitlines()
        if line.startswith((">>>", "..."))
    )
    core = [name for name, _ in _SHOWN.findall((API / "core.md").read_text("utf-8") + "\n")]
    unused = [
        name
        for name, (found, _) in EVERYTHING.items()
        if not inspect.isclass(found)
        and not any(name.startswith(part) for part in core)
        and not re.search(rf"\b{ALIASES.get(short := name.rsplit('.', 1)[1], short)}\b", examples)
    ]
    assert not unused, unused
