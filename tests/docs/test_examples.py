"""Every example of the documentation is executed, page by page and in order, beside the tables that pages speak of."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import examples
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.datasets import load_wine

from gnomon.methods import METHODS

NOTEBOOKS = all(
    importlib.util.find_spec(name) for name in ("nbclient", "ipykernel")
)  # they execute the tutorials
ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs/tutorials/first-release.md"
# What a custodian does by hand in an editor: bounds from public knowledge, and which column is the target.
HANDS = """\
import sys
draft = open(sys.argv[1]).read()
draft = draft.replace("# low = ", "low = 0").replace("# high = ", "high = 2000  # ")
head, _ = draft.split("[columns.cultivar]")
target = '[columns.cultivar]\\nkind = "category"\\nvalues = ["a", "b", "c"]\\nrole = "target"\\n'
open(sys.argv[1], "w").write(head + target)
"""


PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if not (NOTEBOOKS and path.parent.name == "tutorials")
    and any(
        language in examples.EXECUTED for language, _, _ in examples.blocks(path.read_text(encoding="utf-8"))
    )
]


def write_tables(folder: Path) -> None:
    """wine.csv of scikit-learn; ward.csv and schema.toml of the first tutorial, by its own words."""
    found = load_wine()
    columns = {str(name).replace("/", "_"): found.data[:, j] for j, name in enumerate(found.feature_names)}
    table = pa.table({**columns, "cultivar": np.array(["a", "b", "c"])[found.target]})
    pyarrow.csv.write_csv(table, folder / "wine.csv")
    (folder / "hands.py").write_text(HANDS)
    (folder / "icd.csv").write_text("code,meaning\nA00,Cholera\nB00,Herpes\n")
    steps = examples.blocks(TUTORIAL.read_text(encoding="utf-8"))
    making = next(body for language, _, body in steps if language == "python")
    exec(compile(making.replace("print(", "str("), "ward", "exec"), {})
    (folder / "schema.toml").write_text(next(body for language, _, body in steps if language == "toml"))


@pytest.mark.filterwarnings(
    "ignore::gnomon.errors.GnomonWarning"
)  # by chance, a small class may be hidden by noise
@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("EDITOR", f"{sys.executable} {tmp_path / 'hands.py'}")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    if page.parent.name != "start":  # those promise to work in an empty folder
        write_tables(tmp_path)
    text = page.read_text(encoding="utf-8")
    if page == TUTORIAL or "--out schema.toml" in text:
        (tmp_path / "schema.toml").unlink(missing_ok=True)  # the page makes its own
    registered = list(METHODS)
    try:
        examples.run(text, tmp_path, re.sub(r"\W", "_", page.stem))
    finally:
        for name in set(METHODS) - set(registered):
            METHODS.unregister(name)


def test_most_pages_have_examples() -> None:
    assert len(PAGES) > 20


def test_a_block_that_nothing_executes_is_refused() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert examples.unexecuted(page.read_text(encoding="utf-8")) == "", page
    assert "never executed" in examples.unexecuted("```ruby\nputs 1\n```\n")
    assert "'no language'" in examples.unexecuted("```\ngnomon release\n```\n")
    assert examples.unexecuted("```text\nout\n```\n") == ""


def test_examples_fit_a_page() -> None:
    """Code of the site is read without scrolling."""
    for page in (ROOT / "docs").rglob("*.md"):
        for language, _, body in examples.blocks(page.read_text(encoding="utf-8")):
            if language in examples.EXECUTED:
                assert [line for line in body.splitlines() if len(line) > examples.WIDTH] == [], page


def test_an_example_that_fails_is_red(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        examples.run("```python\n1 / 0\n```\n", tmp_path, "broken")
    with pytest.raises(Exception, match="unknown key"):
        examples.run('```toml\n[columns.a]\nkind = "boolean"\nlaw = 1\n```\n', tmp_path, "broken")
