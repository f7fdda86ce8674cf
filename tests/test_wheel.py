"""The wheel: it builds, it installs, and what it installs works without the source tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import gnomon

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    tree = place / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree)
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", tree / "src", ignore=left_out)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        str(tree),
        "--no-deps",
        "--quiet",
        "--wheel-dir",
        str(place),
    ]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    if done.returncode and ("No matching distribution" in done.stderr or "ConnectionError" in done.stderr):
        pytest.skip("the build backend cannot be had here")
    assert done.returncode == 0, done.stderr
    (found,) = place.glob("*.whl")
    return found


def test_one_version_number(wheel: Path) -> None:
    assert wheel.name.split("-")[1] == gnomon.__version__ == version("gnomon")
    assert (
        'version = "'
        not in (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[project.optional")[0]
    )


def test_it_holds_all_files_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "src/gnomon").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert str(path.relative_to(ROOT / "src")) in names
    assert not [name for name in names if name.startswith("tests")]


def test_it_installs_and_releases_a_table(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "site"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-deps",
        "--quiet",
        "--target",
        str(place),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True)
    assert (place / "bin" / "gnomon").is_file()
    (tmp_path / "ward.csv").write_text("age\n" + "\n".join(str(20 + i % 60) for i in range(200)) + "\n")
    (tmp_path / "schema.toml").write_text('format = 2\n[columns.age]\nkind = "number"\nlow = 0\nhigh = 120\n')
    env = {**os.environ, "PYTHONPATH": str(place), "GNOMON_LEDGER": str(tmp_path / "ledger.sqlite")}
    run = [sys.executable, str(place / "bin" / "gnomon")]
    command = [*run, "release", "ward.csv", "--schema", "schema.toml", "--epsilon", "1", "--out", "out"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").is_file()
    where = [sys.executable, "-c", "import gnomon; print(gnomon.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=env, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(place))
