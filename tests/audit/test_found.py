"""Weaknesses that attacks on gnomon itself once found; each stays mended."""

from __future__ import annotations

import pickle
import random
import zipfile
from fractions import Fraction
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import DataError, SchemaError
from gnomon.privacy.noise import symmetric
from gnomon.release.folder import write_release
from gnomon.release.map import PublicMap, load_map, save_map
from gnomon.table.source import open_source

CANARY = 0.123456789012345
ESTIMATED = '[table]\nname = "t"\n[columns.a]\nkind = "number"\nestimate = true\n'


@pytest.mark.parametrize(
    "form", [np.asarray, pd.DataFrame, pl.DataFrame, pa.table, lambda d: pl.DataFrame(d).lazy()]
)
def test_a_pickled_method_does_not_carry_the_rows(form) -> None:
    cells = {"a": [0.5, CANARY, 0.25], "b": [CANARY, 0.5, 0.75]}
    array = form is np.asarray
    data = np.array(list(cells.values())).T if array else form(cells)
    schema = None if array else gn.Schema.of_arrays(2, (0.0, 1.0), names=["a", "b"])
    method = gn.RonGauss(1.0, schema=schema, bounds=(0.0, 1.0) if array else None).fit(data)
    carried = pickle.dumps(method)
    assert np.float64(CANARY).tobytes() not in carried
    assert np.float64(CANARY).tobytes()[::-1] not in carried  # pickled Python floats are big-endian
    assert type(pickle.loads(carried).sample(4)) is type(method.sample(4))


@pytest.mark.parametrize("cells", [["1", " 2 ", "3"], [1, None, 3], [1.0, float("nan"), 3.0]])
def test_estimated_bounds_read_cells_as_the_encoder_does(cells) -> None:
    schema = gn.Schema.loads(ESTIMATED + 'missing = "fill"\nfill = 1\n')
    gn.RonGauss(1.0, schema=schema).fit(pa.table({"a": cells}))


def test_estimated_bounds_never_quote_a_cell() -> None:
    with pytest.raises(DataError) as refusal:
        gn.RonGauss(1.0, schema=gn.Schema.loads(ESTIMATED)).fit(pa.table({"a": ["1", "canary-77", "3"]}))
    assert "canary-77" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_a_whole_number_beyond_float64_does_not_spoil_the_public_page(tmp_path) -> None:
    """It did, after the budget was charged."""
    column = gn.Column(name="id", kind="number", low=0, high=2**62, integer=True)
    method = gn.RonGauss(1.0, schema=gn.Schema(name="t", columns=(column,))).fit(
        pa.table({"id": [2**61, 3, 5]})
    )
    write_release(method, tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize("harm", ["torn", "method", "encrypted", "huge", "no array"])
def test_a_hostile_map_is_refused_in_a_sentence(tmp_path, harm) -> None:
    """zlib, zipfile and numpy raised errors of their own."""
    path = tmp_path / "map.npz"
    save_map(
        path, {**PublicMap.identity(3, radius=1.0).arrays(), "centre": np.random.default_rng(0).random(500)}
    )
    held = bytearray(path.read_bytes())
    entry = held.index(b"PK\x01\x02")  # the directory's first entry
    if harm == "torn":
        held[200:260] = bytes(range(60))
    elif harm == "method":
        held[entry + 10] = 99
    elif harm == "encrypted":
        held[entry + 8] |= 1
    elif harm == "no array":
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("mean", b"these bytes are no array")
        held = bytearray(path.read_bytes().replace(b"mean.npy", b"weem.npy"))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            header = (
                b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }".ljust(117) + b"\n"
            )
            archive.writestr("centre.npy", b"\x93NUMPY\x01\x00v\x00" + header)
        held = bytearray(path.read_bytes())
    path.write_bytes(held)
    with pytest.raises(DataError, match="ask its publisher"):
        PublicMap.of_arrays(load_map(path))


def test_a_header_that_is_no_text_is_refused_in_a_sentence(tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\xf8e,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="content is damaged"):
        open_source(tmp_path / "t.csv")


def test_a_category_too_large_for_a_file_is_refused_in_a_sentence() -> None:
    with pytest.raises(SchemaError, match="must fit 64 bits"):
        gn.Column(name="a", kind="category", values=(1, 10**40))


def test_goe_noise_beside_the_diagonal_is_never_below_its_share() -> None:
    pick = random.Random(5)
    for _ in range(500):
        sigma = pick.uniform(1, 4) * 2.0**30
        with mock.patch.object(symmetric, "rounded_gaussian", side_effect=lambda _, n: np.zeros(n)) as drawn:
            symmetric.goe(2, sigma)
        beside = drawn.call_args_list[1].args[0]
        assert 2 * Fraction(beside) ** 2 >= Fraction(sigma) ** 2
