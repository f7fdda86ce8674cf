"""One small table with a release of each kind, made once."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.release.folder import write_release
from gnomon.table.schema import Column, Schema

SCHEMA = Schema(
    name="ward",
    columns=(
        Column(name="age", kind="number", low=0, high=100, integer=True),
        Column(name="dose", kind="number", low=0.0, high=1.0),
        Column(name="ward", kind="category", values=("north", "south", "east")),
        Column(name="smoker", kind="boolean"),
        Column(name="outcome", kind="category", values=("well", "ill"), role="target"),
    ),
)


def patients(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.4
    return pa.table(
        {
            "age": np.clip(np.where(ill, 70, 40) + 8 * rng.standard_normal(n), 0, 100).round().astype(int),
            "dose": np.clip(np.where(ill, 0.7, 0.3) + 0.1 * rng.standard_normal(n), 0, 1),
            "ward": np.array(["north", "south", "east"])[rng.choice(3, n, p=[0.6, 0.3, 0.1])],
            "smoker": rng.random(n) < np.where(ill, 0.8, 0.2),
            "outcome": np.where(ill, "ill", "well"),
        }
    )


@pytest.fixture(scope="session")
def ward(tmp_path_factory):  # type: ignore[no-untyped-def]
    """A folder with train.parquet, test.parquet, a model release `model` and a row release `rows`."""
    folder = tmp_path_factory.mktemp("ward")
    pq.write_table(patients(800, 0), folder / "train.parquet")
    pq.write_table(patients(400, 1), folder / "test.parquet")
    model = gn.baseline.Modips(8.0, 1e-5, schema=SCHEMA, random_state=0).fit(folder / "train.parquet")
    write_release(model, folder / "model")
    shown = gn.JlLaplace(100.0, schema=SCHEMA, n_components=3, order="kept", random_state=0)
    rows = shown.fit(folder / "train.parquet")
    write_release(rows, folder / "rows", format="csv")
    return folder
