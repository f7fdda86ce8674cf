"""Computers are not reals: whatever floats a table holds, one record moves the released integers by what was charged.

The adversary replaces one record by any bits a file can hold; the exact statistics of both tables are compared in
Python integers with the sensitivity that the mechanism was told.
"""

from __future__ import annotations

import struct
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gnomon as gn
from gnomon.audit.methods import witnessed
from gnomon.engine import local
from gnomon.privacy.guarantee import Adjacency
from gnomon.privacy.sensitivity import Norm, moments
from gnomon.projection.orthonormal import haar
from gnomon.release.map import PublicMap
from gnomon.release.ron_gauss import LAMBDA, first_map
from gnomon.statistics.grid import GRID
from gnomon.statistics.moments import Moments, ball
from gnomon.table.encode import Encoder

COLUMNS = 3
SCHEMA = gn.Schema.of_arrays(COLUMNS, (-1.0, 1.0))
FILLED = gn.Schema(
    name="filled",
    columns=tuple(
        gn.Column(name=f"x{j}", kind="number", low=-1.0, high=1.0, missing="fill", fill=0.5)
        for j in range(COLUMNS)
    ),
)


def bits(word: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", word))[0]


SPECIAL = [
    0.0,
    -0.0,
    5e-324,
    -5e-324,
    2.2250738585072014e-308,  # the smallest normal
    1.0,
    -1.0,
    float(np.nextafter(1.0, 2.0)),
    float(np.nextafter(1.0, 0.0)),
    1.7976931348623157e308,
    -1.7976931348623157e308,
    float("inf"),
    float("-inf"),
    bits(0x7FF8000000000000),  # quiet
    bits(0x7FF0000000000001),  # signalling
    bits(0xFFFFFFFFFFFFFFFF),  # negative, all payload
    1 / 3,
    0.5 / GRID,
    1.5 / GRID,
]
anything = st.one_of(st.sampled_from(SPECIAL), st.integers(0, 2**64 - 1).map(bits), st.floats(-1.5, 1.5))
records = st.lists(anything, min_size=COLUMNS, max_size=COLUMNS)


def charts() -> list[PublicMap]:
    W = haar(COLUMNS, 2, np.random.default_rng(4))
    clip = PublicMap.identity(COLUMNS, radius=1.0)
    return [
        clip,
        PublicMap.identity(COLUMNS, radius=1.0, normalise=True),
        first_map(COLUMNS, W, normalise=True),
        first_map(COLUMNS, W, normalise=False).zoom(np.array([0.3, -0.2]), 0.05),
    ]


def encoded(rows: list[list[float]], width: int = 64) -> np.ndarray:
    kind = np.float32 if width == 32 else np.float64
    with np.errstate(all="ignore"):
        columns = np.array(rows, dtype=np.float64).astype(kind).T
    batch = pa.record_batch([pa.array(column) for column in columns], names=[f"x{j}" for j in range(COLUMNS)])
    return Encoder(FILLED).encode(batch).X


@settings(max_examples=300, deadline=None)
@given(records, records, st.sampled_from([32, 64]), st.integers(0, 3))
def test_any_replaced_record_stays_within_the_sensitivity(x, y, width, which) -> None:
    chart = charts()[which]
    Q = chart.integers(encoded([x, y], width), LAMBDA)
    assert np.isfinite(Q).all()
    D = np.array([[int(v) for v in row] for row in Q], dtype=object)
    change = np.outer(D[0], D[0]) - np.outer(D[1], D[1])
    q = len(change)
    charged = {
        norm: moments(norm, width=q, ball=ball(LAMBDA), adjacency=Adjacency.REPLACE_ONE).value
        for norm in (Norm.L1, Norm.FROBENIUS)
    }
    assert (
        sum(int(v) ** 2 for v in change.ravel()) <= charged[Norm.FROBENIUS] ** 2
    )  # in integers and fractions
    assert Fraction(int(sum(abs(change[i, j]) for i in range(q) for j in range(i, q)))) <= charged[Norm.L1]


@settings(max_examples=60, deadline=None)
@given(st.lists(records, min_size=2, max_size=9), records, st.integers(0, 8), st.integers(1, 9))
def test_other_records_do_not_move_when_one_is_replaced(rows, instead, place, size) -> None:
    """Not by a bit, wherever the record stands and however the rows are cut into batches."""
    place %= len(rows)
    neighbour = [instead if i == place else row for i, row in enumerate(rows)]
    for chart in charts():
        whole = chart.integers(encoded(rows), LAMBDA)
        other = chart.integers(encoded(neighbour), LAMBDA)
        kept = [i for i in range(len(rows)) if i != place]
        assert np.array_equal(whole[kept], other[kept])
        parts = [chart.integers(encoded(rows[s : s + size]), LAMBDA) for s in range(0, len(rows), size)]
        assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("batch", [1, 3, 50, 16_384])
def test_a_release_is_the_same_for_any_batch_thread_count_and_row_order(threads, batch, monkeypatch) -> None:
    monkeypatch.setattr(local, "workers", lambda: threads)
    monkeypatch.setattr(local, "BATCH", batch)
    monkeypatch.setattr(
        local.map_batches, "__kwdefaults__", {**local.map_batches.__kwdefaults__, "rows": batch}
    )
    pick = np.random.default_rng(8)
    X = pick.choice(np.array(SPECIAL)[np.isfinite(SPECIAL)], (120, 4))
    y = pick.integers(0, 2, 120)
    order = np.argsort(pick.random(120))
    found = [_exact(X, y), _exact(X[order], y[order]), _exact(np.asfortranarray(X), y)]
    for values in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(values, found[0], strict=True))
    assert all(
        np.array_equal(a, b) for a, b in zip(found[0], _REFERENCE.setdefault("exact", found[0]), strict=True)
    )


_REFERENCE: dict[str, list[np.ndarray]] = {}


def _exact(X: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """What a release without noise would publish."""
    method = gn.RonGauss(
        float("inf"), bounds=(-1, 1), classes=[0, 1], n_components=2, random_state=0, not_private=True
    )
    return witnessed(method, X, y).values


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_values_at_and_just_beyond_the_bounds_are_the_bounds(kind) -> None:
    low, high = kind(-0.1), kind(0.3)
    schema = gn.Schema.of_arrays(1, (float(low), float(high)))
    cells = np.array(
        [low, high, np.nextafter(high, kind(9)), np.nextafter(low, kind(-9)), kind(3e38)], dtype=kind
    )
    X = Encoder(schema).encode(pa.record_batch([pa.array(cells)], names=["x0"])).X[:, 0]
    assert np.abs(X).max() <= 1.0
    assert X[:2] == pytest.approx([-1.0, 1.0], abs=1e-15)
    assert X[2] == X[4] == 1.0
    assert X[3] == -1.0


def test_zero_has_one_sign() -> None:
    for chart in charts():
        Q = chart.integers(encoded([[0.0] * COLUMNS, [-0.0] * COLUMNS]), LAMBDA)
        assert np.array_equal(Moments.of_batch(Q[:1]).matrix, Moments.of_batch(Q[1:]).matrix)


def test_nan_payloads_are_all_the_same_missing_cell() -> None:
    payloads = [float("nan"), bits(0x7FF0000000000001), bits(0xFFF8DEADBEEF0001), bits(0xFFFFFFFFFFFFFFFF)]
    X = encoded([[payload] * COLUMNS for payload in payloads])
    assert (X[0] == X).all()


def test_a_map_never_shows_a_payload() -> None:
    """A NaN that a library let through would still be no number of the release."""
    for chart in charts():
        Q = chart.integers(np.full((2, COLUMNS), np.nan), LAMBDA)
        assert np.isfinite(Q).all()
