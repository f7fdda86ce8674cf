"""The demo's tables, and what a model trained on the release is worth; for the custodian's eyes only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TARGET = "diagnosis"
SPLIT = 7  # seeds which rows are held out; any number would do


def write_tables(private: Path, held_out: Path) -> tuple[int, int]:
    """Split scikit-learn's breast cancer table into rows that are released and rows that test the release."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    found = load_breast_cancer()
    diagnosis = found.target_names[found.target]
    train, test = train_test_split(
        np.arange(len(diagnosis)), test_size=0.3, random_state=SPLIT, stratify=diagnosis
    )
    for path, rows in ((private, train), (held_out, test)):
        columns = {str(name): found.data[rows, j] for j, name in enumerate(found.feature_names)}
        pq.write_table(pa.table({**columns, TARGET: diagnosis[rows].astype(str)}), path)
    return len(train), len(test)


def compare(private: Path, held_out: Path, release: Path) -> list[str]:
    """Accuracy on held-out rows of a model trained on the release, of one trained on real rows, of none."""
    from gnomon.release.folder import open_release
    from gnomon.release.transform import transform_batches
    from gnomon.table.source import open_source

    opened = open_release(release)
    real, test = pq.read_table(private), pq.read_table(held_out)
    seen = pa.concat_tables(transform_batches(open_source(held_out), opened.schema, opened.map))
    released = pq.read_table(release / "data.parquet")
    diagnoses = test.column(TARGET).to_numpy()
    often = max(set(real.column(TARGET).to_pylist()), key=real.column(TARGET).to_pylist().count)
    scores = {
        "always the more frequent diagnosis": float(np.mean(diagnoses == often)),
        "a model trained on the release": _accuracy(released, seen),
        "a model trained on the real rows": _accuracy(real, test),
    }
    width = max(map(len, scores))
    return [f"{name:{width}}  {100 * score:5.1f}% right" for name, score in scores.items()]


def _accuracy(train: pa.Table, test: pa.Table) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    model.fit(_features(train), train.column(TARGET).to_numpy())
    return float(model.score(_features(test), test.column(TARGET).to_numpy()))


def _features(table: pa.Table) -> np.ndarray:
    return np.column_stack([table.column(name).to_numpy() for name in table.column_names if name != TARGET])
