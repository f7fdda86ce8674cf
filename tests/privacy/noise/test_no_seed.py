"""No seedable generator anywhere in the noise folder: neither written, nor called."""

from __future__ import annotations

import ast
import inspect
import random
from pathlib import Path

import numpy as np
import pytest

from gnomon.privacy import noise
from gnomon.privacy.noise.gaussian import rounded_gaussian
from gnomon.privacy.noise.laplace import discrete_laplace
from gnomon.privacy.noise.normal import Normals
from gnomon.privacy.noise.stream import fixed_noise, random_bytes
from gnomon.privacy.noise.symmetric import goe, matrix_laplace, upper_laplace

FILES = sorted(Path(noise.__path__[0]).glob("*.py"))
SEEDABLE = {"random", "RandomState", "default_rng", "Generator", "SeedSequence", "PCG64", "Philox", "seed"}


def test_the_folder_is_found() -> None:
    assert {"stream.py", "gaussian.py", "laplace.py", "normal.py", "symmetric.py"} <= {f.name for f in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_file_names_a_seedable_generator(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            assert node.attr not in SEEDABLE, f"{path.name}:{node.lineno}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", "") or ""]
            parts = {part for name in names for part in name.split(".")}
            assert not parts & SEEDABLE, f"{path.name}:{node.lineno}"


def test_no_sampler_takes_a_seed_or_a_generator() -> None:
    for sampler in (
        rounded_gaussian,
        discrete_laplace,
        goe,
        upper_laplace,
        matrix_laplace,
        random_bytes,
        Normals,
    ):
        names = set(inspect.signature(sampler).parameters)
        assert not names & {"seed", "rng", "random_state", "generator", "key", "stream"}


def test_no_sampler_calls_a_seedable_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a seedable generator was called")

    for module in (np.random, random):
        for name in dir(module):
            if not name.startswith("_") and callable(getattr(module, name)):
                monkeypatch.setattr(module, name, refuse)
    draws = [
        rounded_gaussian(2.0**45, 10),
        discrete_laplace(2**45, 10),
        goe(3, 9.0),
        upper_laplace(3, 9),
        matrix_laplace(3, 9),
    ]
    assert len(draws) == 5


def test_seeding_the_global_generators_changes_nothing() -> None:
    draws = []
    for _ in range(2):
        np.random.seed(0)
        random.seed(0)
        draws.append(discrete_laplace(2**40, 8).tolist())
    assert draws[0] != draws[1]


def test_only_the_stream_knows_fixed_noise() -> None:
    users = [f.name for f in FILES if "fixed_noise(" in f.read_text()]
    assert users == ["stream.py"]
    with fixed_noise(0):
        assert rounded_gaussian(5.0, 3).shape == (3,)
