"""The site builds strictly, without network, and loads nothing from elsewhere; notebooks of the tutorials run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import notebooks
import pytest

import gnomon as gn

ROOT = Path(__file__).parents[2]
HAS_SITE = all(importlib.util.find_spec(name) for name in ("mkdocs", "material", "mkdocstrings"))
HAS_NOTEBOOKS = all(importlib.util.find_spec(name) for name in ("nbclient", "ipykernel"))
needs_site = pytest.mark.skipif(not HAS_SITE, reason="needs gnomon[docs]: mkdocs-material and mkdocstrings")
needs_notebooks = pytest.mark.skipif(not HAS_NOTEBOOKS, reason="needs gnomon[docs]: nbclient and ipykernel")


def build(folder: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Build the site behind a proxy that does not exist: whatever asks for the network fails."""
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@needs_site
def test_the_site_builds_strictly_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 80
    for page in pages:
        text = page.read_text(encoding="utf-8")
        tags = re.findall(r"<(?:script|img|iframe|source|link)\b[^>]*>", text)
        loading = [tag for tag in tags if not re.search(r"rel=[\"']?(?:canonical|next|prev|edit)\b", tag)]
        loaded = [
            address for tag in loading for address in re.findall(r"(?:src|href)=[\"']?([^\"' >]+)", tag)
        ]
        assert not [address for address in loaded if re.match(r"(?:https?:)?//", address)], page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet


@needs_site
def test_no_mark_of_markdown_is_left_and_none_was_made_of_a_formula(site: Path) -> None:
    """`|D|_*` outside of backticks turned a line into italics, and lost its stars."""
    for page in site.rglob("*.html"):
        article = page.read_text(encoding="utf-8").split("<article", 1)[-1].split("</article>")[0]
        for emphasised in re.findall(r"<(?:em|strong)>(.*?)</(?:em|strong)>", article, re.DOTALL):
            assert not re.search(r"&lt;|&gt;|[=|^]", emphasised), f"{page.name}: {emphasised}"
        plain = re.sub(r"<(pre|code)\b.*?</\1>|<[^>]+>", "", article, flags=re.DOTALL)
        left = re.search(r".*(?:\*\*|`|\]\().*", plain)
        assert left is None, f"{page.name}: {left.group()}"
        escaped = re.search(r"<code>[^<]*\\\|[^<]*</code>", article)  # in a table: code keeps the backslash
        assert escaped is None, f"{page.name}: {escaped.group()}"


@needs_site
def test_a_reader_of_the_site_gets_the_notebook_of_a_tutorial(site: Path) -> None:
    for name in notebooks.TUTORIALS:
        assert re.search(
            rf'href="?{name}\.ipynb', (site / f"tutorials/{name}.html").read_text(encoding="utf-8")
        )
        assert (site / f"tutorials/{name}.ipynb").read_text(encoding="utf-8") == notebooks.notebook_text(name)


@needs_site
def test_the_reference_shows_every_public_name_with_types_and_an_example(site: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "reference/api").glob("*.html"))
    homes = [(gn, gn._HOMES), (gn.baseline, gn.baseline._HOMES)]
    for name, found in ((name, getattr(home, name)) for home, names in homes for name in names):
        assert f'id="{found.__module__}.{name}"' in text, name
    assert text.count('<span class="gp">&gt;&gt;&gt; </span>') > 60
    assert "mermaid" not in "".join(
        re.findall(r'class="[^"]*"', text)
    )  # what Material would load from elsewhere


@needs_site
@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("[nowhere](nowhere.md)", "nowhere.md"),
        ("[no anchor](index.md#no-such-place)", "no-such-place"),
        ("```ruby\nputs 1\n```", "never executed"),
        ("::: gnomon.no_such_thing", "no_such_thing"),
    ],
)
def test_what_is_broken_fails_the_build(tmp_path: Path, page: str, says: str) -> None:
    """A small copy of the site, with one fault."""
    (tmp_path / "docs/tools").mkdir(parents=True)
    (tmp_path / "docs/tutorials").mkdir()
    for name in ("hooks", "examples", "notebooks", "griffe_parameters"):
        (tmp_path / f"docs/tools/{name}.py").write_text((ROOT / f"docs/tools/{name}.py").read_text())
    for name in notebooks.TUTORIALS:
        (tmp_path / f"docs/tutorials/{name}.md").write_text("# A tutorial\n")
    for name in ("CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"):
        (tmp_path / name).write_text("# A page\n")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[0]
    settings = settings.replace("paths: [src]", f"paths: [{ROOT / 'src'}]").replace(
        "extra_css: [assets/site.css]\nextra_javascript: [assets/site.js]\n", ""
    )
    (tmp_path / "mkdocs.yml").write_text(re.sub(r"  (?:logo|favicon): .*\n", "", settings))
    (tmp_path / "docs/index.md").write_text(f"# A site\n\n{page}\n")
    done = build(tmp_path / "out", tmp_path)
    assert done.returncode != 0
    assert says in done.stdout + done.stderr


def test_a_notebook_holds_all_that_its_page_executes() -> None:
    for name in notebooks.TUTORIALS:
        page = (ROOT / f"docs/tutorials/{name}.md").read_text(encoding="utf-8")
        made = json.loads(notebooks.notebook_text(name))
        code = [cell["source"] for cell in made["cells"] if cell["cell_type"] == "code"]
        assert len(code) == len(re.findall(r"^```(?:python|sh|toml)", page, re.MULTILINE))
        assert not any("```" in cell["source"] for cell in made["cells"])


@needs_notebooks
@pytest.mark.parametrize("name", notebooks.TUTORIALS)
def test_the_notebook_of_a_tutorial_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("GNOMON_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    made = nbformat.reads(notebooks.notebook_text(name), as_version=4)
    nbclient.NotebookClient(made, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in made.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert list(tmp_path.glob("*.png"))
