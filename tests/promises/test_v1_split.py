"""V1: parallel composition needs parts that a record cannot move others between."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn

N, SHARE = 400, 0.5


def kept_sorted(X: np.ndarray) -> np.ndarray:
    """A table that is stored in the order of its first column, as a database with a clustered index stores it."""
    return X[np.argsort(X[:, 0], kind="stable")]


def neighbours() -> tuple[np.ndarray, np.ndarray]:
    """Two tables that differ in one record: the one that sorts last now sorts first."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.9, 0.9, (N, 4))
    other = X.copy()
    other[np.argmax(X[:, 0])] = -1.0
    return kept_sorted(X), kept_sorted(other)


def fitted(pca: str, X: np.ndarray) -> gn.PcaGauss:
    y = (X[:, 1] > 0).astype(int)
    method = gn.PcaGauss(
        1.0, 0.0, bounds=(-1, 1), classes=[0, 1], pca=pca, pca_share=SHARE, n_components=2, public=X[::7]
    )
    return method.fit(X, y)


def spent(method: gn.PcaGauss, statistics: set[str]) -> float:
    events = [event for event in method.certificate_.events if event.statistic in statistics]
    return float(sum(event.loss["epsilon"] for event in events))


def test_one_record_moves_others_across_the_middle() -> None:
    """Why position is no partition: replacing one record changes rows of both halves of a sorted table."""
    X, other = neighbours()
    half = N // 2
    assert not np.array_equal(X[:half], other[:half])
    assert not np.array_equal(X[half:], other[half:])
    everywhere = {tuple(row) for row in X}
    assert sum(tuple(row) not in everywhere for row in other) == 1


def test_every_use_of_the_rows_is_an_event() -> None:
    """A certificate lists every mechanism that reads private rows.

    With pca="split" the second moment for the principal components is measured exactly as with pca="laplace",
    on rows that are private too; so the certificate has at least as many events.
    """
    X, _ = neighbours()
    split, whole = fitted("split", X).certificate_, fitted("laplace", X).certificate_
    assert len(split.events) >= len(whole.events)


def test_the_losses_of_both_reads_add_up() -> None:
    """Sequential composition: both parts of a table read rows that one record changes, so their epsilons add.

    What pca="public" spends on the model is the whole epsilon, since its PCA reads no private row. With a PCA from
    private rows that takes its share, only the rest is left for the same statistics.
    """
    X, _ = neighbours()
    public, split = fitted("public", X), fitted("split", X)
    model = {event.statistic for event in public.certificate_.events}
    assert spent(public, model) == pytest.approx(1.0)
    assert spent(split, model) <= 1.0 - SHARE + 1e-9
