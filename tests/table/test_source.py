"""Tables in files: what is read, and the sentence for each that cannot be."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from gnomon.errors import DataError
from gnomon.table.cells import numbers as cells_as_numbers
from gnomon.table.check import check
from gnomon.table.encode import Encoder
from gnomon.table.fingerprint import content_print
from gnomon.table.schema import Schema
from gnomon.table.source import Source, open_source

SCHEMA = Schema.loads("""
[columns.age]
kind = "number"
low = 0
high = 110
integer = true
missing = "indicator"

[columns.ward]
kind = "category"
values = ["north", "NA"]
missing = "indicator"

[columns.when]
kind = "date"
low = 2020-01-01
high = 2020-12-31

[columns.key]
kind = "identifier"
""")
N = 1000
TABLE = pa.table(
    {
        "age": pa.array([None if i % 7 == 0 else i % 90 for i in range(N)], pa.int64()),
        "ward": pa.array([None if i % 11 == 0 else ("north", "NA")[i % 2] for i in range(N)]),
        "when": pa.array(np.datetime64("2020-01-01") + np.arange(N) % 300),
        "key": [f"secret-{i}" for i in range(N)],
    }
)


def parquet(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "t.parquet", row_group_size=130)
    return folder / "t.parquet"


def parts(folder: Path) -> Path:
    (folder / "parts").mkdir()
    for i in range(4):
        pq.write_table(TABLE.slice(250 * i, 250), folder / "parts" / f"part-{i}.parquet")
    (folder / "parts" / "_SUCCESS").touch()
    return folder / "parts"


def csv(folder: Path) -> Path:
    pa.csv.write_csv(TABLE, folder / "t.csv")
    return folder / "t.csv"


def csv_gz(folder: Path) -> Path:
    with gzip.open(folder / "t.csv.gz", "wb") as file:
        file.write(csv(folder).read_bytes())
    return folder / "t.csv.gz"


def arrow(folder: Path) -> Path:
    with pa.ipc.new_file(folder / "t.arrow", TABLE.schema) as file:
        file.write_table(TABLE, max_chunksize=77)
    return folder / "t.arrow"


def feather(folder: Path) -> Path:
    pa.feather.write_feather(TABLE, folder / "t.feather", compression="lz4")
    return folder / "t.feather"


Writer = Callable[[Path], Path]
FORMATS: list[Writer] = [parquet, parts, csv, csv_gz, arrow, feather]


@pytest.fixture(params=FORMATS, ids=lambda writer: writer.__name__)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return request.param(tmp_path)  # type: ignore[no-any-return]


def encoded(source: Source, rows: int) -> np.ndarray:
    encoder = Encoder(SCHEMA)
    return np.vstack([encoder.encode(batch).X for batch in source.batches(encoder.columns, rows)])


def test_every_format_gives_the_same_rows(path: Path) -> None:
    source = open_source(path, schema=SCHEMA)
    assert source.names == TABLE.column_names
    assert source.n_rows() == N
    expected = Encoder(SCHEMA).encode(TABLE).X
    for rows in (64, 4096):
        assert np.array_equal(encoded(source, rows), expected)


def test_batches_hold_the_columns_asked_for_and_no_more_rows_than_asked(path: Path) -> None:
    batches = list(open_source(str(path), schema=SCHEMA).batches(["when", "age"], rows=100))
    assert all(batch.schema.names == ["when", "age"] and 0 < batch.num_rows <= 100 for batch in batches)
    assert sum(batch.num_rows for batch in batches) == N


def test_an_unknown_column_is_named(path: Path) -> None:
    with pytest.raises(DataError, match="has no column 'height'; its columns are age, ward, when, key"):
        list(open_source(path).batches(["age", "height"]))


def test_every_format_has_the_print_of_the_table(path: Path) -> None:
    key = bytes(range(32))
    assert content_print(open_source(path, schema=SCHEMA), SCHEMA, key) == content_print(
        open_source(TABLE), SCHEMA, key
    )


def test_a_path_gives_arrow_tables_back(path: Path) -> None:
    assert open_source(path).like(TABLE) is TABLE


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.arrow", "t.csv.gz"])
def test_missing_and_empty_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="does not exist; check the path"):
        open_source(tmp_path / name)
    (tmp_path / name).touch()
    with pytest.raises(DataError, match="is empty"):
        open_source(tmp_path / name)


@pytest.mark.parametrize("writer", [parquet, arrow, csv_gz])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, writer: Writer) -> None:
    path = writer(tmp_path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"nothing of the kind"):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="cannot be read") as caught:
            for _ in open_source(path, schema=SCHEMA).batches(["age"]):
                pass
        assert "secret" not in str(caught.value)


def test_parquet_damaged_in_its_pages(tmp_path: Path) -> None:
    path = parquet(tmp_path)
    content = bytearray(path.read_bytes())
    content[4 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4)
    path.write_bytes(content)
    with pytest.raises(DataError, match="cannot be read"):
        list(open_source(path).batches(["age"]))


def test_a_folder_without_parquet_and_one_with_two_schemas(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no .parquet file"):
        open_source(tmp_path)
    pq.write_table(TABLE, tmp_path / "a.parquet")
    pq.write_table(TABLE.drop_columns("age"), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"'b.parquet' in .* has other columns than the first part"):
        open_source(tmp_path)


def test_an_unknown_ending(tmp_path: Path) -> None:
    (tmp_path / "t.ods").write_text("x")
    with pytest.raises(DataError, match=r"of no known format; give .parquet, .csv"):
        open_source(tmp_path / "t.ods")


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path: Path) -> pa.Table:
    source = open_source(path, schema=SCHEMA)
    return pa.Table.from_batches(list(source.batches(["age", "ward"])))


def test_a_header_alone_has_no_rows(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, "age,ward\n"), schema=SCHEMA)
    assert source.names == ["age", "ward"]
    assert source.n_rows() == 0
    assert list(source.batches(["age"])) == []


def test_text_in_a_number_column_of_a_csv_is_read_as_text(tmp_path: Path) -> None:
    path = written(tmp_path, "ward,age\nnorth,3\nnorth,secret\n")
    batch = next(open_source(path, schema=SCHEMA).batches(["ward", "age"]))
    assert batch.to_pydict() == {"ward": ["north", "north"], "age": ["3", "secret"]}
    raw = list(open_source(path, schema=SCHEMA).batches(["age"], raw=True))
    assert raw[0]["age"].to_pylist() == ["3", "secret"]


def test_rows_around_a_bad_cell_of_a_long_csv_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow drops a block for one cell; what was read before it must be neither lost, repeated nor changed."""
    monkeypatch.setattr("gnomon.table.files._BLOCK_BYTES", 1 << 12)
    numbers = np.random.default_rng(0).standard_normal(5000)
    cells = [repr(float(number)) for number in numbers]
    cells[3000] = "secret"
    path = written(tmp_path, "age\n" + "\n".join(cells) + "\n")
    found: list[float] = []
    for batch in open_source(path, schema=SCHEMA).batches(["age"], rows=700):
        values, _, alien = cells_as_numbers(batch["age"])
        found += np.where(np.zeros(len(values), bool) if alien is None else alien, np.nan, values).tolist()
    assert np.isnan(found[3000])
    assert found[:3000] + found[3001:] == numbers[:3000].tolist() + numbers[3001:].tolist()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("age,ward\n1,north\n2,secret,4\n", "a line with more or fewer cells than its header"),
        (b"age,ward\n1,\xff\xfesecret\n", "not UTF-8 text"),
        ("age,age\n1,2\n", "more than one column 'age'"),
    ],
)
def test_a_bad_csv_is_one_sentence(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence) as caught:
        read(written(tmp_path, text))
    assert "secret" not in str(caught.value)


def test_blanks_of_a_csv_are_missing_unless_declared(tmp_path: Path) -> None:
    table = read(written(tmp_path, 'age,ward\n,north\nNA,NA\nnan,\n 4 ,null\n"5","a\nb"\n'))
    assert table["age"].to_pylist() == [None, None, None, 4.0, 5.0]
    assert table["ward"].to_pylist() == ["north", "NA", None, None, "a\nb"]


WIDE = Schema.loads(
    f"[columns.n]\nkind = 'number'\ninteger = true\nlow = {2**60}\nhigh = {2**60 + 8}\nmissing = 'indicator'"
)


def test_a_csv_keeps_integers_beyond_the_reach_of_floats(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, f"n\n{2**60 + 1}\n{2**60 + 6}\n"), schema=WIDE)
    assert Encoder(WIDE).encode(next(source.batches(["n"]))).X[:, 0].tolist() == [-0.75, 0.5]


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        (f"{2**60 + 6}.0", -1.0),  # a float in text, rounded by itself and by nobody else
        ("1.152921504606846976e18", -1.0),
        ("1e3", -1.0),
        ("+9e300", 1.0),
        ("-inf", -1.0),
        (f" +{2**60 + 6} ", 0.5),
        ("9" * 60, 1.0),
        ("NaN", 0.0),
        ("", 0.0),
    ],
)
def test_what_check_lets_pass_is_encoded(tmp_path: Path, cell: str, code: float) -> None:
    """Texts of other forms passed the check and were refused after the charge; they move no other cell."""
    source = open_source(written(tmp_path, f'n\n{2**60 + 1}\n"{cell}"\n{2**60 + 6}\n'), schema=WIDE)
    assert check(source, WIDE).ok
    assert Encoder(WIDE).encode(next(source.batches(["n"]))).X[:, 0].tolist() == [-0.75, code, 0.5]


def test_integers_that_a_library_made_floats_are_refused_by_the_check() -> None:
    """pandas does so beside a missing cell, and rounds what the other records hold."""
    cells = [2**60 + 1, None, 2**60 + 6]
    found = check(open_source(pd.DataFrame({"n": cells})), WIDE)
    assert "cannot tell such integers apart" in found.problems[0]
    kept = open_source(pd.DataFrame({"n": pd.array(cells, dtype="Int64")}))
    assert check(kept, WIDE).ok
    assert Encoder(WIDE).encode(next(kept.batches(["n"]))).X[:, 0].tolist() == [-0.75, 0.0, 0.5]


def test_decimals_beyond_the_reach_of_floats_stay_apart() -> None:
    cells = pa.array([Decimal(2**60 + 1), None, Decimal(2**60 + 6)], pa.decimal128(30, 2))
    assert Encoder(WIDE).encode(pa.record_batch([cells], names=["n"])).X[:, 0].tolist() == [-0.75, 0.0, 0.5]


def test_a_csv_column_that_starts_with_integers_may_go_on_with_fractions(tmp_path: Path) -> None:
    rows = "\n".join(["1,north"] * 400_000 + ["1.5,north"])
    source = open_source(written(tmp_path, "age,ward\n" + rows + "\n"), schema=SCHEMA)
    assert source.n_rows() == 400_001
    assert [batch["age"][-1].as_py() for batch in source.batches(["age"])][-1] == 1.5


def test_a_quoted_line_break_may_lie_on_the_edge_of_a_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gnomon.table.files._BLOCK_BYTES", 64)
    path = written(tmp_path, "age,ward\n" + '1,"a\nb\nc\nd"\n' * 200)
    assert read(path)["ward"].to_pylist() == ["a\nb\nc\nd"] * 200


def test_where_batches_end_does_not_follow_from_the_cells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long cell moves the ends of the blocks that a text file is read in; releases must not show that."""
    monkeypatch.setattr("gnomon.table.files._BLOCK_BYTES", 640)
    for first in ("1", "1." + 300 * "0"):
        source = open_source(written(tmp_path, f"age,ward\n{first},north\n" + "2,NA\n" * 999), schema=SCHEMA)
        assert [batch.num_rows for batch in source.batches(["age", "ward"], rows=96)] == [96] * 10 + [40]


def test_batches_of_other_dictionaries_are_joined() -> None:
    """Their codes of eight bits could not count the values of both."""
    parts = [
        pa.array([f"{letter}{i}" for i in range(100)])
        .dictionary_encode()
        .cast(pa.dictionary(pa.int8(), pa.string()))
        for letter in "ab"
    ]
    table = pa.table({"a": pa.chunked_array(parts)})
    batches = list(open_source(table).batches(["a"], rows=150))
    assert [batch.num_rows for batch in batches] == [150, 50]
    assert [cell for batch in batches for cell in batch["a"].to_pylist()] == table["a"].to_pylist()
