"""Computers are not reals, for whole methods: hostile floats never cost more than the declared budget.

A table of any bits is released and every outcome of a mechanism is noted; the release of a neighbour is then made with
the same outcomes, so that later stages (the subspace of PCA-Gauss, the centre of DPRP) are the same. What the two
tables put into the mechanisms differs by what one record moves; divided by the noise, in exact integers up to the last
square root, that is the real loss of the release on a computer, and it must not exceed what was declared.
"""

from __future__ import annotations

import math
import struct
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import gnomon as gn
from gnomon.audit.instrumentation import SERIAL, Step, Watch
from gnomon.baseline import Modips
from gnomon.engine import local
from gnomon.errors import GnomonWarning
from gnomon.privacy.accounting import mu_of
from gnomon.table import rows as table_rows

COLUMNS, MOST, ROWS = 3, 12, 6
EPSILON, DELTA = 1.0, 1e-6
LABEL = gn.Column(name="y", kind="category", values=(0, 1), role="target")


def schema_of(columns: int, labels: bool) -> gn.Schema:
    numbers = [
        gn.Column(name=f"x{j}", kind="number", low=-1.0, high=1.0, missing="fill", fill=0.5)
        for j in range(columns)
    ]
    return gn.Schema(name="t", columns=(*numbers, LABEL) if labels else tuple(numbers))


def bits(word: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", word))[0]


SPECIAL = [
    0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.0, -1.0, 1 - 2**-53, 1 + 2**-52, -1 - 2**-52, 1 - 2**-24,
    1.7976931348623157e308, -1.7976931348623157e308, float("inf"), float("-inf"), bits(0x7FF8000000000000),
    bits(0x7FF0000000000001), bits(0xFFFFFFFFFFFFFFFF), 1 / 3, 0.5 / 2**16, 1.5 / 2**16, math.sqrt(1 / 3), 2**-26,
]  # fmt: skip
anything = st.one_of(
    st.sampled_from(SPECIAL),
    st.sampled_from([-1.0, 1.0]),
    st.integers(0, 2**64 - 1).map(bits),
    st.floats(-1.5, 1.5),
)
records = st.tuples(st.lists(anything, min_size=MOST, max_size=MOST), st.integers(0, 1))
Record = tuple[list[float], int]

METHODS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "ron-gauss": (gn.RonGauss, {"n_components": 2}),
    "ron-gauss, rows clipped": (gn.RonGauss, {"n_components": 2, "rows": "clip"}),
    "ron-gauss, n private": (
        gn.RonGauss,
        {"n_components": 2, "adjacency": "add-remove", "expected_rows": 1000},
    ),
    "pca-gauss": (gn.PcaGauss, {}),
    "pca-gauss, laplace": (gn.PcaGauss, {"delta": 0.0, "pca": "laplace"}),
    "pca-gauss in one direction": (gn.PcaGauss, {"n_components": 1}),
    "pca-gauss, n private": (gn.PcaGauss, {"adjacency": "add-remove", "expected_rows": 1000}),
    "modips": (Modips, {}),
    "dprp": (gn.Dprp, {"order": "kept"}),
    "dprp projected": (gn.Dprp, {"order": "kept", "k1": 2}),
    "dppro": (gn.DpPro, {"order": "kept", "unit": "row"}),
    "dppro in a ball": (gn.DpPro, {"order": "kept", "unit": "row", "radius": 0.9}),
    "jl-laplace": (gn.JlLaplace, {"order": "kept", "delta": 0.0}),
    "jl-laplace in a ball": (gn.JlLaplace, {"order": "kept", "delta": 0.0, "radius": 0.9}),
    "ron-gauss, pure": (gn.RonGauss, {"delta": 0.0, "n_components": 1}),
    "ron-gauss, pure, n private": (
        gn.RonGauss,
        {"delta": 0.0, "n_components": 1, "adjacency": "add-remove", "expected_rows": 1000},
    ),
    "pca-gauss, pure": (gn.PcaGauss, {"delta": 0.0}),
}


def table_of(rows: list[Record], width: int = 64, columns: int = COLUMNS) -> pa.Table:
    kind = np.float32 if width == 32 else np.float64
    with np.errstate(all="ignore"):
        cells = np.array([row[0][:columns] for row in rows], dtype=np.float64).astype(kind)
    found = {f"x{j}": pa.array(np.ascontiguousarray(cells[:, j])) for j in range(columns)}
    return pa.table({**found, "y": [row[1] for row in rows]})


def ordinary(n: int) -> list[Record]:
    pick = np.random.default_rng(3)
    return [([*pick.uniform(-1, 1, MOST)], int(pick.integers(0, 2))) for _ in range(n)]


def made(name: str, schema: gn.Schema, **more: Any) -> Any:
    kind, parameters = METHODS[name]
    return kind(
        **{"epsilon": EPSILON, "delta": DELTA, "schema": schema, "random_state": 2, **parameters, **more}
    )


def loss(steps: list[Step], others: list[Step]) -> tuple[float, float]:
    """The epsilon and the squared mu that two tables differ by, over all mechanisms."""
    assert [(one.kind, one.scale) for one in steps] == [(one.kind, one.scale) for one in others]
    epsilon, squared_mu = 0.0, 0.0
    for one, other in zip(steps, others, strict=True):
        if one.kind == "public":
            continue
        D = [int(a) - int(b) for a, b in zip(np.ravel(one.exact), np.ravel(other.exact), strict=True)]
        if one.kind in ("rounded-gaussian", "goe"):
            squared_mu += float(sum(d * d for d in D)) / one.scale**2
        elif one.kind == "discrete-laplace":
            epsilon += float(sum(map(abs, D))) / one.scale
        elif one.kind == "upper-laplace":
            epsilon += sum(float(np.abs(np.triu(M)).sum()) for M in _matrices(D, one)) / one.scale
        elif one.kind == "matrix-laplace":
            epsilon += sum(float(np.linalg.norm(M, "nuc")) for M in _matrices(D, one)) / (2 * one.scale)
        else:
            pytest.fail(f"the test does not know the mechanism {one.kind}")
    return epsilon, squared_mu


def _matrices(D: list[int], step: Step) -> np.ndarray:
    return np.array(D, dtype=np.float64).reshape(np.shape(step.exact))


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("name", sorted(METHODS))
def test_one_record_of_any_bits_costs_at_most_the_budget(name: str, labels: bool) -> None:
    schema, watch, farthest = schema_of(COLUMNS, labels), Watch(), 0.0
    added = "n private" in name

    def released(rows: list[Record], width: int) -> list[Step]:
        made(name, schema).fit(table_of(rows, width), observer=watch, engine=SERIAL)
        return watch.finish()

    def spent(first: Record, second: Record, rows: list[Record], width: int) -> float:
        watch.note()
        steps = released([first, *rows], width)
        watch.repeat(steps)
        epsilon, squared_mu = loss(steps, released(rows if added else [second, *rows], width))
        assert epsilon == 0 or squared_mu == 0
        return epsilon / EPSILON if squared_mu == 0 else math.sqrt(squared_mu) / mu_of(EPSILON, DELTA)

    @settings(
        max_examples=8,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(records, min_size=ROWS, max_size=ROWS), records, st.sampled_from([32, 64]))
    def attacked(rows: list[Record], instead: Record, width: int) -> None:
        nonlocal farthest
        corners: tuple[Record, Record] = ([1.0] * MOST, 0), ([(-1.0) ** j for j in range(MOST)], 1)
        for first, second in ((rows[0], instead), corners):
            share = spent(first, second, rows[1:], width)
            assert share <= 1 + 1e-9
            farthest = max(farthest, share)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        attacked()
    assert farthest > 0.2, "the attack moved next to nothing, so it shows nothing"


@pytest.mark.parametrize("threads", [1, 7])
@pytest.mark.parametrize("batch", [1, 3, 16_384])
@pytest.mark.parametrize("name", ["pca-gauss", "dprp", "jl-laplace", "dppro"])
def test_a_release_without_noise_is_the_same_for_any_batch_and_thread_count(
    name: str, threads: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "workers", lambda: threads)
    monkeypatch.setattr(table_rows, "BATCH", batch)
    pick = np.random.default_rng(8)
    cells = pick.choice(np.array(SPECIAL), (40, COLUMNS))
    rows: list[Record] = [([*cells[i]], int(pick.integers(0, 2))) for i in range(40)]
    found = _exact(name, table_of(rows))
    wanted = _REFERENCE.setdefault(name, found)
    assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True))
    order = pick.permutation(40)
    moved = _exact(name, table_of([rows[i] for i in order]))
    back = [part[order] if part.shape[:1] == (40,) else part for part in found]
    assert all(np.array_equal(a, b) for a, b in zip(moved, back, strict=True))


_REFERENCE: dict[str, list[np.ndarray]] = {}


def _exact(name: str, table: pa.Table) -> list[np.ndarray]:
    """What a release without noise holds: its rows, or the numbers of its model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        method = made(name, schema_of(COLUMNS, True), epsilon=math.inf, not_private=True).fit(table)
    if name == "pca-gauss":
        return [method.model_.means, method.model_.covariances, method.projection_]
    return [np.concatenate(list(method.rows_.chunks()))]
