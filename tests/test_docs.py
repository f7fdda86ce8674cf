"""The examples in the README and the guide do what they say: every block is executed, in order, in an empty folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.datasets import load_wine

from gnomon.cli import main
from gnomon.methods import METHODS
from gnomon.privacy.meaning import percent_up, reach_by_epsilon

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What a custodian does by hand in an editor: bounds from public knowledge, and which column is the target.
HANDS = """\
import sys
draft = open(sys.argv[1]).read()
draft = draft.replace("# low = ", "low = 0").replace("# high = ", "high = 2000  # ")
head, _ = draft.split("[columns.cultivar]")
target = '[columns.cultivar]\\nkind = "category"\\nvalues = ["a", "b", "c"]\\nrole = "target"\\n'
open(sys.argv[1], "w").write(head + target)
"""


def blocks(document: str) -> list[tuple[str, str]]:
    return FENCE.findall((ROOT / document).read_text(encoding="utf-8"))


def shell(commands: str) -> None:
    """One command a line: gnomon's own in this process, which saves starting Python anew; others by the shell."""
    for line in commands.splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "gnomon":
            assert main(words[1:]) == 0, line
        else:
            subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=True)


def write_wine(folder: Path) -> None:
    found = load_wine()
    columns = {str(name).replace("/", "_"): found.data[:, j] for j, name in enumerate(found.feature_names)}
    table = pa.table({**columns, "cultivar": np.array(["a", "b", "c"])[found.target]})
    pyarrow.csv.write_csv(table, folder / "wine.csv")
    (folder / "hands.py").write_text(HANDS)


def write_ward(folder: Path, name: str, n: int) -> None:
    rng = np.random.default_rng(n)
    age = rng.integers(18, 99, n)
    outcome = np.where(rng.random(n) < age / 150, np.where(rng.random(n) < 0.6, "care", "died"), "home")
    table = pa.table(
        {
            "patient": [f"{i:05d}" for i in range(n)],
            "age": age,
            "stay": np.exp(rng.normal(1.5, 1, n)).clip(0, 300).round(1),
            "ward": rng.choice(["north", "south", "east", "tent"], n),
            "smoker": [None if r < 0.1 else bool(r < 0.4) for r in rng.random(n)],
            "outcome": outcome,
        }
    )
    pyarrow.csv.write_csv(table, folder / name)


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")  # by chance, a small class may drown
@pytest.mark.parametrize("document", ["README.md", "docs/guide.md"])
def test_every_example_runs(document: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_wine(tmp_path)
    write_ward(tmp_path, "ward.csv", 400)
    write_ward(tmp_path, "new-patients.csv", 50)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("EDITOR", f"{sys.executable} {tmp_path / 'hands.py'}")
    known: dict[str, object] = {}
    executed = set()
    for language, body in blocks(document):
        executed.add(language)
        if language == "sh":
            shell(body)
        elif language == "toml":
            (tmp_path / "schema.toml").write_text(body, encoding="utf-8")
        elif language == "python":
            exec(compile(body, document, "exec"), known)
    assert executed >= {"sh", "python"}


PAGES = ("ron-gauss", "pca-gauss", "jl-laplace", "dppro", "dprp", "analyst")


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
@pytest.mark.parametrize("page", PAGES)
def test_the_example_of_every_method_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    examples = [body for language, body in blocks(f"docs/{page}.md") if language == "python"]
    assert examples
    for body in examples:
        exec(compile(body, page, "exec"), {})


def test_every_method_has_a_page_with_its_inputs() -> None:
    for name in ("ron-gauss", "pca-gauss", "jl-laplace", "dppro", "dprp"):
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        own = set(METHODS[name]._get_param_names()) - set(METHODS["modips"]._get_param_names())
        for parameter in own:
            assert f"`{parameter}`" in text, f"{name}: {parameter}"


def test_the_readme_names_every_method_and_its_examples_are_ten_lines() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in METHODS:
        assert f"`{name}`" in text
    for language, body in blocks("README.md"):
        if language in ("sh", "python"):
            assert len(body.strip().splitlines()) <= 10


def test_the_guide_quotes_the_right_chances() -> None:
    text = (ROOT / "docs/guide.md").read_text(encoding="utf-8")
    for epsilon in (1.0, 0.1, 5.0):
        assert percent_up(reach_by_epsilon(epsilon, 0.0).right).rstrip("%") in text


def test_the_reference_documents_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    reference = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    for command in [
        "init",
        "check",
        "plan",
        "release",
        "sample",
        "transform",
        "evaluate",
        "audit",
        "distances",
        "neighbours",
        "query",
        "marginal",
        "budget show",
        "budget cap",
        "budget history",
        "budget export",
        "budget import",
    ]:
        assert f"## gnomon {command}" in reference
        main([*command.split(), "--help"])
        section = reference.split(f"## gnomon {command}\n")[1].split("\n## ")[0]
        everywhere = {"--help", "--json", "--quiet", "--verbose"}  # documented once, at the top
        for option in set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - everywhere:
            assert f"`{option}" in section, f"{command} {option}"


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/guide.md",
        "docs/reference/cli.md",
        *(f"docs/{page}.md" for page in PAGES),
    ],
)
def test_links_and_paths_in_the_documents_exist(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert ((ROOT / document).parent / target).exists(), target


def test_every_line_of_the_threat_model_names_a_test_that_exists() -> None:
    text = (ROOT / "docs" / "threat-model.md").read_text()
    promises = [line for line in text.splitlines() if line.startswith("|") and line[2:4] not in ("pr", "--")]
    assert len(promises) > 10
    for line in promises:
        named = re.findall(r"`(tests/[^`]+)`", line)
        assert named, line
        assert all((ROOT / name).exists() for name in named), line
