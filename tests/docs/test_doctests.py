"""Every public name has an example in its docstring, and the example does what it says."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import gnomon as gn
from gnomon.privacy import accounting

NAMES = {
    **{name: getattr(gn, name) for name in gn._HOMES},
    **{f"baseline.{name}": getattr(gn.baseline, name) for name in gn.baseline._HOMES},
    "plan": gn.plan.plan_by_numbers,
    "publish": gn.publish.publish_by_name,
    "Draft": importlib.import_module("gnomon.table.draft").Draft,
    **{name: getattr(accounting, name) for name in ("compose", "guarantee_of", "mu_of_pure")},
    **{name: getattr(accounting, name) for name in ("mu_of", "delta_of", "epsilon_of")},
}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_public_name_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    known = dict(vars(importlib.import_module(NAMES[name].__module__)))
    found = doctest.DocTestFinder(recurse=False).find(NAMES[name], name, globs=known)
    assert sum(len(one.examples) for one in found) > 0, f"{name} has no example"
    for one in found:
        said: list[str] = []
        result = doctest.DocTestRunner(optionflags=FLAGS).run(one, out=said.append)
        assert result.failed == 0, "".join(said)
