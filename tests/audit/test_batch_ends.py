"""Where a source's batches end is no business of a release: blocks of a CSV file end where its private cells make them.

The same rows come as CSV, as Parquet with row groups of several sizes, as a folder, as Arrow batches and as a table;
one of two tables has long cells at its beginning, the other at its end. Nothing written may tell them apart.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.methods import METHODS
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.privacy.noisy_rows import NoisyRows
from gnomon.release.folder import write_release
from gnomon.table import base, files
from gnomon.table import rows as table_rows

N, BATCH, CHUNK = 4_700, 1_000, 2_500
GROUPS = [2_500, 2_200]  # rows of the chunks, which have nothing to do with batches
SCHEMA = """\
[table]
name = "t"
[columns.a]
kind = "number"
low = 0
high = 1
[columns.b]
kind = "category"
values = ["x", "a much longer name than the other one"]
role = "target"
"""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks and batches as small beside these tables as the real ones are beside large tables."""
    monkeypatch.setattr(table_rows, "BATCH", BATCH)
    monkeypatch.setattr(files, "_BLOCK_BYTES", 1 << 13)
    monkeypatch.setattr(NoisyRows.chunks, "__defaults__", (CHUNK,))


def rows(long_first: bool = True) -> pa.Table:
    long = np.arange(N) < N // 2
    names = np.where(long if long_first else ~long, "a much longer name than the other one", "x")
    return pa.table({"a": np.round(np.linspace(0, 1, N), 4), "b": names})


def as_csv(table: pa.Table, folder: Path) -> Path:
    pyarrow.csv.write_csv(table, folder / "rows.csv")
    return folder / "rows.csv"


def as_packed_csv(table: pa.Table, folder: Path) -> Path:
    path = folder / "rows.csv.gz"
    path.write_bytes(gzip.compress(as_csv(table, folder).read_bytes()))
    return path


def as_parquet(groups: int) -> Callable[[pa.Table, Path], Path]:
    def write(table: pa.Table, folder: Path) -> Path:
        pq.write_table(table, folder / "rows.parquet", row_group_size=groups)
        return folder / "rows.parquet"

    return write


def as_folder(table: pa.Table, folder: Path) -> Path:
    parts = folder / "parts"
    parts.mkdir()
    for place, start in enumerate((0, 13, 1_700, 1_701)):
        end = (13, 1_700, 1_701, N)[place]
        pq.write_table(table.slice(start, end - start), parts / f"{place}.parquet")
    return parts


def as_arrow(table: pa.Table, folder: Path) -> Path:
    path = folder / "rows.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=301)
    return path


def as_table(table: pa.Table, folder: Path) -> pa.Table:
    return pa.concat_tables([table.slice(0, 7), table.slice(7, 2_222), table.slice(2_229)])


FORMS: list[Callable[[pa.Table, Path], Any]] = [
    as_csv,
    as_packed_csv,
    as_parquet(N),
    as_parquet(333),
    as_folder,
    as_arrow,
    as_table,
]


def released(method: str, data: Any, out: Path, noise: int | None = None) -> dict[str, bytes]:
    """All files of a release of these rows."""
    taken = METHODS[method].parameter_names()
    more = {"random_state": 4, "n_components": 1}
    made = METHODS[method](
        2.0, 1e-6, schema=gn.Schema.loads(SCHEMA), **{k: v for k, v in more.items() if k in taken}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gn.errors.GnomonWarning)
        if noise is None:
            made.fit(data)
        else:
            with fixed_noise(noise):
                made.fit(data)
        write_release(made, out)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def layout(written: dict[str, bytes]) -> list[tuple[int, list[Any]]]:
    """The row groups of the released file: how many rows, and how each of their columns is stored."""
    metadata = pq.ParquetFile(pa.BufferReader(written["data.parquet"])).metadata
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    columns = [[group.column(c) for c in range(group.num_columns)] for group in groups]
    return [
        (
            group.num_rows,
            [(column.num_values, sorted(column.encodings), column.compression) for column in held],
        )
        for group, held in zip(groups, columns, strict=True)
    ]


def of_all_forms(method: str, tmp_path: Path, noise: int | None = None) -> list[dict[str, bytes]]:
    found = []
    for turn, form in enumerate(FORMS):
        folder = tmp_path / str(turn)
        folder.mkdir()
        found.append(released(method, form(rows(), folder), folder / "out", noise))
    folder = tmp_path / "long last"
    folder.mkdir()
    found.append(released(method, as_csv(rows(long_first=False), folder), folder / "out", noise))
    return found


def test_a_model_release_is_the_same_bytes_whatever_the_rows_came_in(tmp_path) -> None:
    """With the noise fixed for the test; the table with its long cells last is another table."""
    first, *others = of_all_forms("ron-gauss", tmp_path, noise=3)
    for other in others[:-1]:
        assert other == first
    assert layout(others[-1]) == layout(first)


# rows by their own noise, rows from which a model is told, rows behind a paid subspace
@pytest.mark.parametrize("method", ["jl-laplace", "dprp", "pca-identity"])
def test_a_row_release_has_the_layout_of_its_number_of_rows(method, tmp_path) -> None:
    first, *others = of_all_forms(method, tmp_path)
    assert [rows for rows, _ in layout(first)] == GROUPS
    sizes = len(first["data.parquet"])
    for other in others:
        assert layout(other) == layout(first)
        assert other.keys() == first.keys()
        assert len(other["data.parquet"]) == pytest.approx(sizes, rel=0.5)  # one class, whatever was drawn


def test_batches_that_end_where_the_source_ends_them_would_be_seen(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(base, "_of_equal_length", lambda batches, rows: iter(batches))
    monkeypatch.setattr(NoisyRows, "chunks", lambda self: (batch.T for batch in self._batches()))
    monkeypatch.setattr(NoisyRows, "shuffle", lambda self: None)  # which hides them too
    layouts = [layout(written) for written in of_all_forms("jl-laplace", tmp_path)]
    assert layouts[0] != layouts[2]
    assert layouts[0] != layouts[-1]


def test_noisy_rows_hide_the_ends_of_batches_by_themselves(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(base, "_of_equal_length", lambda batches, rows: iter(batches))
    first, *others = [layout(written) for written in of_all_forms("jl-laplace", tmp_path)]
    assert all(other == first for other in others)
