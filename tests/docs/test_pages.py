"""What the pages say is what the code has: inputs of methods, options, keys of schemas, fields of certificates, links."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel

import gnomon as gn
from gnomon import errors
from gnomon.cli import app, main
from gnomon.methods import METHODS
from gnomon.privacy import certificate
from gnomon.privacy.accounting import mu_of
from gnomon.privacy.meaning import percent_up, reach_by_epsilon, reach_of_gaussian
from gnomon.table import column, form, rules, schema

ROOT = Path(__file__).parents[2]
METHOD_PAGES = ("ron-gauss", "pca-gauss", "jl-laplace", "dppro", "dprp")
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_method_has_a_page_with_its_inputs() -> None:
    for name in METHOD_PAGES:
        text = text_of(f"docs/explanation/methods/{name}.md")
        own = set(METHODS[name]._get_param_names()) - set(METHODS["modips"]._get_param_names())
        for parameter in own:
            assert f"`{parameter}`" in text, f"{name}: {parameter}"


def test_the_readme_is_short_names_every_method_and_has_two_examples() -> None:
    text = text_of("README.md")
    assert len(text.splitlines()) < 80
    for name in METHODS:
        assert f"`{name}`" in text
    bodies = re.findall(r"^```(?:sh|python)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert len(bodies) == 2
    assert all(len(body.strip().splitlines()) <= 10 for body in bodies)
    assert text.count("![") == 1


def test_the_table_of_chances_is_right() -> None:
    lines = re.findall(
        r"^\| ([\d.]+) \| (.*) \|$", text_of("docs/how-to/choose-epsilon-and-delta.md"), re.MULTILINE
    )
    assert len(lines) == 6
    for epsilon, cells in lines:
        pure, exact = reach_by_epsilon(float(epsilon), 0.0), reach_of_gaussian(mu_of(float(epsilon), 1e-6))
        told = [percent_up(pure.right), percent_up(exact.right, 2), percent_up(exact.found[1], 2)]
        assert cells.split(" | ") == told


def test_the_reference_documents_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    reference = text_of("docs/reference/cli.md")
    groups = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    budget = groups.pop("budget")
    for command in [*groups, *(f"budget {name}" for name in budget.commands)]:
        assert f"## gnomon {command}" in reference
        main([*command.split(), "--help"])
        section = reference.split(f"## gnomon {command}\n")[1].split("\n## ")[0]
        everywhere = {"--help", "--json", "--quiet", "--verbose"}  # documented once, at the top
        for option in set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - everywhere:
            assert f"`{option}" in section, f"{command} {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_paths_in_the_documents_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        if not target.startswith(("http", "mailto")):
            assert (page.parent / target).exists(), target


def test_every_line_of_the_threat_model_names_a_test_that_exists() -> None:
    text = text_of("docs/explanation/threat-model.md").split("## What is promised", 1)[1]
    promises = [line for line in text.splitlines() if line.startswith("|") and line[2:4] not in ("pr", "--")]
    assert len(promises) > 10
    for line in promises:
        named = re.findall(r"`(tests/[^`]+)`", line)
        assert named, line
        assert all((ROOT / name).exists() for name in named), line


def test_the_schema_page_has_every_key() -> None:
    text = text_of("docs/reference/schema.md")
    keys = {
        *column._EXPECTED,
        *form._EXPECTED,
        *schema._TABLE,
        *schema._PARTS,
        "columns",
        "values_file",
        "sheet",
    }
    for kind in (rules.Ascending, rules.Implication, rules.Determines, rules.Total):
        keys.update(kind.keys)
    for key in keys - {"table", "defaults", "rules", "csv", "excel"}:
        assert f"`{key}`" in text, key
    for part in ("[table]", "[table.csv]", "[table.excel]", "[defaults]", "[[rules]]"):
        assert part in text


def test_the_certificate_page_has_every_field() -> None:
    text = text_of("docs/reference/certificate.md")
    kinds = [
        kind for _, kind in inspect.getmembers(certificate, inspect.isclass) if issubclass(kind, BaseModel)
    ]
    fields = {name for kind in kinds if kind.__module__ == certificate.__name__ for name in kind.model_fields}
    assert len(fields) > 30
    for name in fields:
        assert f"`{name}`" in text, name


def test_the_page_of_exit_codes_has_every_error() -> None:
    text = text_of("docs/reference/exit-codes.md")
    for name, kind in inspect.getmembers(errors, inspect.isclass):
        if issubclass(kind, errors.GnomonError) and kind is not errors.GnomonError:
            line = next(line for line in text.splitlines() if f"`{name}`" in line)
            assert line.startswith(f"| {kind.exit_code} |"), name


def test_every_public_name_is_in_the_reference() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference/api").glob("*.md"))
    shown = set(re.findall(r"^::: ([\w.]+)", pages, re.MULTILINE))
    for home, names in ((gn, gn._HOMES), (gn.baseline, gn.baseline._HOMES)):
        for name in names:
            found = getattr(home, name)
            assert f"{found.__module__}.{name}" in shown, name
    assert {"gnomon.plan.plan_by_numbers", "gnomon.publish.publish_by_name", "gnomon.errors"} <= shown


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs/explanation/proofs").glob("*.md")), ids=lambda path: path.stem
)
def test_a_proof_has_its_claim_its_worst_pair_and_an_adversary_that_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.stem in ("index", "noise-overview"):
        return
    for part in ("## Claim", "## Proof", "## Worst pair", "## Adversary"):
        assert part in text, part
    named = re.findall(r"`(tests/[^` ]+\.py)`", text.split("## Adversary")[1].split("\n## ")[0])
    assert named
    assert all((ROOT / name).exists() for name in named)


def test_every_proof_and_every_page_of_results_is_listed() -> None:
    for folder in ("docs/explanation/proofs", "docs/results", "docs/how-to", "docs/tutorials"):
        listed = text_of(f"{folder}/index.md")
        for page in (ROOT / folder).glob("*.md"):
            assert page.stem == "index" or f"({page.name})" in listed, page
