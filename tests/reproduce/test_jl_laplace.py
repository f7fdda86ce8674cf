"""The experiments of JL + Laplace: each for one small trial, and the noise that the paper prints."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from gnomon.reproduce import jl_laplace, jl_reconstruction, named, reproduce


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jl_laplace, "ROWS", 60)
    monkeypatch.setattr(jl_laplace, "PAIRS", 20)
    monkeypatch.setattr(jl_laplace, "DRAWN", 1)
    monkeypatch.setattr(jl_laplace, "SHAPES", ((3, 2),))
    monkeypatch.setattr(jl_laplace, "COMPONENTS", (1, 4))


@pytest.mark.parametrize("name", [experiment.name for experiment in jl_laplace.EXPERIMENTS])
def test_every_experiment_runs_and_fills_its_table(name: str, tmp_path: Path) -> None:
    (experiment,) = named(name)
    results = reproduce(experiment, tmp_path, tmp_path, trials=1)
    assert not results.errors
    with (tmp_path / name / "table.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert lines
    assert all(line["sound mean"] for line in lines)
    assert (tmp_path / name / "figure.png").exists() == (experiment.draw is not None)


@pytest.mark.parametrize(
    ("unit", "c"), [("attribute", 2 * math.sqrt(2)), ("row", math.sqrt(4 * math.log(4)))]
)
def test_the_noise_is_the_printed_one_for_neighbours_within_1(unit: str, c: float) -> None:
    X, _ = jl_laplace.blobs(3, 10, 0)
    method = jl_laplace.release(X, 2, unit, "paper", 0)
    scale = c / jl_laplace.EPSILON
    assert method.noise_std_ * jl_laplace.CELL == pytest.approx(math.sqrt(2) * scale, rel=1e-3)


@pytest.mark.parametrize("unit", ["attribute", "row"])
def test_protecting_everything_costs_as_many_times_more_noise_as_it_is_wide(unit: str) -> None:
    X, _ = jl_laplace.blobs(3, 10, 0)
    near, whole = (
        jl_laplace.release(X, 2, unit, "sound", 0, whole=whole).noise_std_ for whole in (False, True)
    )
    width = 2 * jl_laplace.CELL if unit == "attribute" else 2 * jl_laplace.ball(3)
    assert whole / near == pytest.approx(width, rel=1e-3)


def test_clusters_are_the_papers() -> None:
    X, y = jl_laplace.blobs(10, 4000, 1)
    centres = [X[y == c].mean(axis=0) for c in (0, 1)]
    assert np.linalg.norm(centres[0] - centres[1]) == pytest.approx(4.0, abs=0.3)
    assert float(np.std(X - np.array(centres)[y])) == pytest.approx(1.0, abs=0.05)
    assert jl_laplace.clustered(X, y, 0) == pytest.approx(0.977, abs=0.02)  # Phi(2)


def test_recovered_distances_are_off_by_what_the_corrected_claim_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jl_laplace, "PAIRS", 20_000)
    found = jl_laplace.distance_errors("attribute", "paper", 0)
    assert abs(found["mean error"]) < 6 * math.sqrt(found["variance, Claim 7 corrected"] / 20_000) + 0.5
    # the release's one matrix is in the cross term, so the two agree within its spread only
    assert 0.6 < found["variance"] / found["variance, Claim 7 corrected"] < 1.7


def test_known_records_reveal_a_withheld_projection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jl_reconstruction, "ROWS", 300)
    monkeypatch.setattr(jl_reconstruction, "SHAPES", ((10, 3),))
    (experiment,) = named("jl-laplace-reconstruction")
    results = reproduce(experiment, tmp_path, tmp_path, trials=4)
    assert not results.errors
    found = {
        (column, name): results.measure("d=10, k=3", column, calibration, name).mean
        for column, calibration in (("no noise", "none"), ("element-wise", "sound"))
        for name in (jl_reconstruction.PUBLISHED, jl_reconstruction.GUESSED, jl_reconstruction.LEARNT)
    }
    for column in ("no noise", "element-wise"):
        assert found[column, jl_reconstruction.GUESSED] > 1  # worse than naming the middle
        assert found[column, jl_reconstruction.PUBLISHED] < 0.95
        learnt = found[column, jl_reconstruction.LEARNT]
        assert learnt == pytest.approx(found[column, jl_reconstruction.PUBLISHED], abs=0.15)


def test_a_withheld_projection_is_in_no_part_of_what_is_attacked(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = jl_laplace.blobs(4, 20, 0)
    secret = [jl_laplace.release(X, 2, "row", "sound", 0, secret=True) for _ in range(2)]
    assert secret[0].public_map().withheld
    assert not np.allclose(secret[0].projection_, secret[1].projection_)  # drawn from no seed
