"""Tiny tables with the columns of the papers' tables, so that every experiment can run in a test."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest


def write(data: Path, name: str, columns: dict[str, object]) -> None:
    path = data / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def faces(data: Path, n: int = 900) -> None:
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, n)
    columns = {}
    for point in range(100):
        for axis, middle in (("x", 300.0), ("y", 220.0), ("z", 1200.0)):
            columns[f"{point}{axis}"] = middle * (1 + 0.1 * group * rng.random()) + rng.normal(0, 5, n)
    write(data, "gfe/data.parquet", columns)


def movements(data: Path, segments: int = 6) -> None:
    rng = np.random.default_rng(2)
    keys = [(a, s, k) for a in range(1, 20) for s in range(1, 3) for k in range(1, segments + 1)]
    activity, subject, segment = np.repeat(np.array(keys).T, 3, axis=1)
    moving = np.isin(activity, (5, 6, 8, 9, 10, 11, 12, 15, 16, 19))
    columns: dict[str, object] = {}
    for place in ("T", "RA", "LA", "RL", "LL"):
        for kind, scale in (("acc", 8.0), ("gyro", 1.0), ("mag", 0.5)):
            for axis in "xyz":
                columns[f"{place}_{axis}{kind}"] = scale * (moving + rng.normal(0, 0.7, len(moving)))
    write(
        data,
        "daily_sports_activities/data_5hz.parquet",
        {**columns, "activity": activity, "subject": subject, "segment": segment},
    )


def buzz(data: Path, n: int = 300) -> None:
    rng = np.random.default_rng(3)
    level = np.exp(rng.normal(3, 1.5, n))
    columns: dict[str, object] = {}
    for kind in ("NCD", "AI", "NAC", "NA", "NAD", "AT", "ADL", "AS(NA)", "AS(NAC)", "BL", "CS"):
        top = 1e-5 if kind.startswith("AS") else 0.01 if kind in ("AT", "ADL", "BL", "CS") else 1.0
        for day in range(7):
            columns[f"{kind}_{day}"] = np.minimum(top * level * np.exp(rng.normal(0, 0.2, n)), 1e5 * top)
    write(data, "buzz_twitter/data.parquet", columns)


def digits(data: Path, n: int = 120) -> None:
    rng = np.random.default_rng(4)
    label = np.arange(n) % 10
    shapes = 200.0 * (rng.random((10, 784)) < 0.2)
    pixels = np.clip(shapes[label] + rng.normal(0, 20, (n, 784)), 0, 255).astype(np.uint8)
    columns: dict[str, object] = {f"pixel{j}": pixels[:, j] for j in range(784)}
    split = np.where(np.arange(n) < 0.8 * n, "train", "test")
    write(data, "mnist/data.parquet", {**columns, "label": label, "split": split})


@pytest.fixture(scope="session")
def gauss_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder for RON-Gauss and PCA-Gauss."""
    folder = tmp_path_factory.mktemp("data")
    for fill in (faces, movements, buzz, digits):
        fill(folder)
    return folder
