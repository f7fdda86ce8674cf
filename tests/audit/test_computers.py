"""Computers are not reals: whatever floats a table holds, one record moves the released integers by what was charged.

The adversary replaces one record by any bits a file can hold; the exact statistics of both tables are compared in
Python integers with the sensitivity that the mechanism was told.
"""

from __future__ import annotations

import struct
import warnings
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gnomon as gn
from gnomon.engine import local
from gnomon.errors import GnomonWarning
from gnomon.methods.gaussian_model import CONSTANT
from gnomon.methods.ron_gauss import random_view
from gnomon.privacy.guarantee import Adjacency
from gnomon.privacy.sensitivity import Norm, moments
from gnomon.projection.orthonormal import haar
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import Moments
from gnomon.table import rows as table_rows
from gnomon.table.encode import Encoder
from gnomon.table.rows import CELL, Rows

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


def frames() -> list[Frame]:
    W = haar(COLUMNS, 2, np.random.default_rng(4))
    return [
        Frame.identity(COLUMNS, radius=1.0),
        Frame.identity(COLUMNS, radius=1.0, normalise=True),
        random_view(COLUMNS, W, normalise=True),
        random_view(COLUMNS, W, normalise=False).zoom(np.array([0.3, -0.2]), 0.05),
    ]


def moments_in(frame: Frame) -> Moments:
    return Moments("", frame, constant=CONSTANT)


def integers(frame: Frame, rows: Rows) -> np.ndarray:
    """The integer rows whose outer products are summed, their constant last."""
    Q = frame.integers(rows, 1)[0]
    Q[:, -1] = CONSTANT
    return Q


def encoded(rows: list[list[float]], width: int = 64) -> Rows:
    kind = np.float32 if width == 32 else np.float64
    with np.errstate(all="ignore"):
        columns = np.array(rows, dtype=np.float64).astype(kind).T
    batch = pa.record_batch([pa.array(column) for column in columns], names=[f"x{j}" for j in range(COLUMNS)])
    return Encoder(FILLED).encode(batch)


@settings(max_examples=300, deadline=None)
@given(records, records, st.sampled_from([32, 64]), st.integers(0, 3))
def test_any_replaced_record_stays_within_the_sensitivity(x, y, width, which) -> None:
    frame, rows = frames()[which], encoded([x, y], width)
    Q, query = integers(frame, rows), moments_in(frame)
    assert np.isfinite(Q).all()
    D = np.array([[int(v) for v in row] for row in Q], dtype=object)
    change = np.outer(D[0], D[0]) - np.outer(D[1], D[1])
    summed = [query.of_batch(rows.take(np.array([i])))[0].astype(object) for i in (0, 1)]
    assert (summed[0] - summed[1] == change).all()
    assert all(
        np.trace(S) <= query.ball for S in summed
    )  # what one record adds, where it is added or removed
    q = len(change)
    charged = {
        norm: moments(norm, width=q, ball=query.ball, adjacency=Adjacency.REPLACE_ONE).value
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
    for frame in frames():
        whole = integers(frame, encoded(rows))
        other = integers(frame, encoded(neighbour))
        kept = [i for i in range(len(rows)) if i != place]
        assert np.array_equal(whole[kept], other[kept])
        parts = [encoded(rows[s : s + size]) for s in range(0, len(rows), size)]
        assert np.array_equal(np.concatenate([integers(frame, part) for part in parts]), whole)
        query = moments_in(frame)
        assert np.array_equal(sum(map(query.of_batch, parts)), query.of_batch(encoded(rows)))


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("batch", [1, 3, 50, 16_384])
def test_a_release_is_the_same_for_any_batch_thread_count_and_row_order(threads, batch, monkeypatch) -> None:
    monkeypatch.setattr(local, "workers", lambda: threads)
    monkeypatch.setattr(table_rows, "BATCH", batch)
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        return [answer.value for answer in method.fit(X, y).answers_]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_values_at_and_just_beyond_the_bounds_are_the_bounds(kind) -> None:
    low, high = kind(-0.1), kind(0.3)
    schema = gn.Schema.of_arrays(1, (float(low), float(high)))
    cells = np.array(
        [low, high, np.nextafter(high, kind(9)), np.nextafter(low, kind(-9)), kind(3e38)], dtype=kind
    )
    X = Encoder(schema).encode(pa.record_batch([pa.array(cells)], names=["x0"])).X[:, 0]
    assert np.abs(X).max() <= 1.0
    assert X[:2] == pytest.approx([-1.0, 1.0], abs=1 / CELL)
    assert X[2] == X[4] == 1.0
    assert X[3] == -1.0


def test_zero_has_one_sign() -> None:
    positive, negative = encoded([[0.0] * COLUMNS]), encoded([[-0.0] * COLUMNS])
    for frame in frames():
        query = moments_in(frame)
        assert np.array_equal(query.of_batch(positive), query.of_batch(negative))


def test_nan_payloads_are_all_the_same_missing_cell() -> None:
    payloads = [float("nan"), bits(0x7FF0000000000001), bits(0xFFF8DEADBEEF0001), bits(0xFFFFFFFFFFFFFFFF)]
    cells = encoded([[payload] * COLUMNS for payload in payloads]).cells
    assert (cells[0] == cells).all()


@pytest.mark.parametrize("far", [-CELL, CELL, -(2**31), 2**31 - 1])
def test_a_frame_keeps_any_cell_within_its_ball(far) -> None:
    """A cell beyond the grid, which no encoder makes, would still move no release by more than was charged."""
    rows = Rows(np.full((2, COLUMNS), far, dtype=np.int32))
    for frame in frames():
        Q = integers(frame, rows)
        assert np.isfinite(Q).all()
        assert (np.square(Q[:, :-1]).sum(axis=1) <= GRID**2).all()
