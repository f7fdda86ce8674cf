"""Weaknesses that attacks on gnomon itself once found; each stays mended."""

from __future__ import annotations

import contextlib
import pickle
import random
import time
import zipfile
from fractions import Fraction
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.commands.output import new_file
from gnomon.errors import DataError, GnomonError, OutputError, ParameterError, SchemaError
from gnomon.privacy.certificate import LARGEST, Certificate
from gnomon.privacy.ledger import Ledger
from gnomon.privacy.noise import symmetric
from gnomon.publish import publish
from gnomon.release.folder import open_release, write_release
from gnomon.release.map import PublicMap, load_arrays, save_arrays
from gnomon.statistics.frame import Frame
from gnomon.table.check import check
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
    with pytest.raises(DataError, match="the noise of this budget hides them"):  # whatever the cells are
        gn.RonGauss(1.0, schema=schema).fit(pa.table({"a": cells}))


def test_estimated_bounds_never_quote_a_cell() -> None:
    strict = gn.RonGauss(1.0, schema=gn.Schema.loads(ESTIMATED), strict=True)
    with pytest.raises(DataError) as refusal:
        strict.fit(pa.table({"a": ["1", "canary-77", "3"]}))
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
    save_arrays(
        path,
        {**PublicMap(Frame.identity(3, radius=1.0)).arrays(), "centre": np.random.default_rng(0).random(500)},
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
        PublicMap.of_arrays(load_arrays(path))


@pytest.mark.parametrize(
    ("part", "number"),
    [("radius", 5e-324), ("centre", 1e308), ("weight", 1e308), ("weight", 5e-324), ("offset", 1e308)],
)
def test_a_map_of_numbers_beyond_reach_is_refused_in_a_sentence(part, number) -> None:
    """Their squares and quotients are infinite, and no grid holds them."""
    arrays = PublicMap(Frame.identity(3, radius=1.0)).arrays()
    with pytest.raises(DataError, match="does not fit together"):
        PublicMap.of_arrays({**arrays, part: np.full_like(arrays[part], number)})


def test_a_header_that_is_no_text_is_refused_in_a_sentence(tmp_path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\xf8e,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="is not UTF-8 text"):
        open_source(tmp_path / "t.csv")


def test_text_that_is_no_text_is_refused_in_a_sentence(tmp_path) -> None:
    """Arrow trusts what a file says of itself: a UnicodeDecodeError from Parquet, reads past the end from Arrow IPC."""
    schema = gn.Schema.loads("[columns.a]\nkind = 'category'\nvalues = ['north', 'south']\nother = 'south'")
    table = pa.table({"a": ["north", "south", "canary"]})
    pq.write_table(table, tmp_path / "t.parquet", compression="none", use_dictionary=False)
    pa.feather.write_feather(table, str(tmp_path / "t.arrow"), compression="uncompressed")
    for name in ("t.parquet", "t.arrow"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes().replace(b"canary", b"can\xffry"))
        with pytest.raises(DataError, match="cannot be read as Arrow data") as refusal:
            check(open_source(path), schema)
        assert "can" not in str(refusal.value).replace("cannot", "")


def test_offsets_past_the_end_of_a_file_are_refused_in_a_sentence(tmp_path) -> None:
    path = tmp_path / "t.arrow"
    pa.feather.write_feather(pa.table({"a": ["north"] * 40}), str(path), compression="uncompressed")
    ends = np.arange(0, 205, 5, dtype=np.int32)
    assert ends.tobytes() in path.read_bytes()
    far = np.where(ends > 100, 2**30, ends).astype(np.int32)
    path.write_bytes(path.read_bytes().replace(ends.tobytes(), far.tobytes()))
    with pytest.raises(DataError, match="cannot be read as Arrow data"):
        list(open_source(path).batches(["a"]))


def test_a_file_that_lies_about_its_rows_is_refused_in_a_sentence(tmp_path) -> None:
    pq.write_table(pa.table({"a": [1.0] * 61}), tmp_path / "t.parquet")
    held = (tmp_path / "t.parquet").read_bytes()
    said = []
    for place in range(len(held) - 1):
        if held[place : place + 2] == b"\x16\x7a":  # 61 rows, of the file or of a group
            (tmp_path / "t.parquet").write_bytes(held[:place] + b"\x16\x60" + held[place + 2 :])
            with contextlib.suppress(DataError):
                said.append(sum(b.num_rows for b in open_source(tmp_path / "t.parquet").batches(["a"])))
    assert set(said) <= {61}  # what was let pass was read whole


def test_a_name_too_long_for_a_disk_is_refused_in_a_sentence_before_the_charge(tmp_path) -> None:
    """Exit code 70; for a release folder of nearly the longest name, after the charge."""
    with pytest.raises(DataError, match="File name too long"):
        open_source(tmp_path / ("x" * 300 + ".csv"))
    with pytest.raises(OutputError, match="File name too long"), new_file(tmp_path / ("x" * 300)):
        pass
    schema, book = gn.Schema.of_arrays(1, (0.0, 1.0), names=["a"]), Ledger(tmp_path / "ledger.sqlite")
    for length in (300, 250):
        with pytest.raises(OutputError, match="File name too long"):
            publish(
                pa.table({"a": [0.5, 0.25]}),
                gn.RonGauss(1.0, schema=schema),
                tmp_path / ("x" * length),
                ledger=book,
            )
    assert book.accounts() == []


def test_a_category_too_large_for_a_file_is_refused_in_a_sentence() -> None:
    with pytest.raises(SchemaError, match="must fit 64 bits"):
        gn.Column(name="a", kind="category", values=(1, 10**40))


COLUMN = '[table]\nname = "t"\n[columns.a]\n'
HOSTILE_SCHEMAS = {
    "a nest that exhausts the stack": COLUMN + "kind = 'category'\nvalues = " + "[" * 20_000,
    "inline tables without end": COLUMN + "kind = " + "{a = " * 20_000,
    "a decimal that Python does not parse": COLUMN + "kind = 'number'\nlow = 0\nhigh = " + "9" * 5000,
    "an integer that Python does not print": COLUMN + "kind = 'number'\nlow = 0\nhigh = 0x" + "F" * 5000,
    "the same as a kind": COLUMN + "kind = 0x" + "F" * 5000,
    "the same in a list": COLUMN + "kind = 'category'\nvalues = [[0x" + "F" * 5000 + "]]",
    "the same as other": COLUMN + "kind = 'category'\nvalues = [1, 2]\nother = 0x" + "F" * 5000,
    "a date before the year 1": COLUMN
    + "kind = 'date'\nlow = 0001-01-01T00:00:00+23:59\nhigh = 2000-01-01T00:00:00Z",
    "a key with a hundred thousand dots": "a." * 100_000 + "a = 1",
    "a header with as many": '["a"' + " . a" * 100_000 + "]",
    "repeated values": COLUMN + f"kind = 'category'\nvalues = {[*range(20_000), 1]}",
    "characters without end": COLUMN + "#" * (2**24),
}


@pytest.mark.parametrize("harm", sorted(HOSTILE_SCHEMAS))
def test_a_hostile_schema_is_refused_in_a_sentence_and_soon(harm) -> None:
    """Errors of the parser and of Python, or minutes in loops that grow with the square of the input."""
    began = time.process_time()
    with pytest.raises(SchemaError) as refusal:
        gn.Schema.loads(HOSTILE_SCHEMAS[harm])
    assert time.process_time() - began < 5
    assert len(str(refusal.value)) < 1000


@pytest.mark.parametrize("part", ["- a\n", "a: b\n", "? a\n: b\n", "[", "{", "'"])
def test_an_endless_certificate_is_refused_soon(part) -> None:
    """A list of a million characters took twenty seconds."""
    began = time.process_time()
    with pytest.raises(DataError, match="certificate"):
        Certificate.from_yaml(part * (LARGEST // len(part)))
    assert time.process_time() - began < 12


@pytest.mark.parametrize("name", ["certificate.yaml", "schema.toml", "map.npz"])
def test_no_more_of_a_hostile_file_is_read_than_it_may_hold(tmp_path, name) -> None:
    schema = gn.Schema.of_arrays(1, (0.0, 1.0), names=["a"])
    write_release(gn.RonGauss(1.0, schema=schema).fit(pa.table({"a": [0.5, 0.25]})), tmp_path / "out")
    if name != "certificate.yaml":  # a hostile publisher hashes what he likes
        (tmp_path / "out" / "certificate.yaml").write_text(
            open_release(tmp_path / "out").certificate.with_files({}).to_yaml()
        )
    with (tmp_path / "out" / name).open("r+b") as file:
        file.truncate(8 << 30)  # a hole, which takes no room on a disk
    with pytest.raises(GnomonError, match="longer than"):
        open_release(tmp_path / "out")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 1e-300}, "'epsilon' parameter of .* at least 0.0001"),
        ({"epsilon": 1.0, "delta": 1e-300}, "'delta' parameter of .* 0 or at least 1e-100"),
        ({"epsilon": 1.0, "random_state": -1}, "'random_state' parameter of .* at least 0. Got -1"),
        ({"epsilon": 1.0, "random_state": "x"}, "'random_state' parameter of .* at least 0. Got 'x'"),
    ],
)
@pytest.mark.parametrize("method", [gn.RonGauss, gn.JlLaplace])
def test_parameters_that_numpy_refuses_are_refused_before_the_charge(
    tmp_path, method, parameters, message
) -> None:
    """They ended in exit code 70, after the charge."""
    schema = gn.Schema.of_arrays(1, (0.0, 1.0), names=["a"])
    book = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(ParameterError, match=message):
        publish(
            pa.table({"a": [0.5, 0.25]}), method(schema=schema, **parameters), tmp_path / "out", ledger=book
        )
    assert book.accounts() == []


def test_rows_that_no_disk_holds_are_refused_before_the_charge(tmp_path) -> None:
    schema = gn.Schema.of_arrays(1, (0.0, 1.0), names=["a"])
    book = Ledger(tmp_path / "ledger.sqlite")
    with pytest.raises(ParameterError, match="from 1 to 1,000,000,000,000"):
        publish(
            pa.table({"a": [0.5, 0.25]}),
            gn.RonGauss(1.0, schema=schema),
            tmp_path / "out",
            ledger=book,
            rows=10**23,
        )
    assert book.accounts() == []


def test_goe_noise_beside_the_diagonal_is_never_below_its_share() -> None:
    pick = random.Random(5)
    for _ in range(500):
        sigma = pick.uniform(1, 4) * 2.0**30
        with mock.patch.object(symmetric, "rounded_gaussian", side_effect=lambda _, n: np.zeros(n)) as drawn:
            symmetric.goe(2, sigma)
        beside = drawn.call_args_list[1].args[0]
        assert 2 * Fraction(beside) ** 2 >= Fraction(sigma) ** 2
