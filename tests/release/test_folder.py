"""A release folder is whole or absent, and is opened without trust."""

import errno
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gnomon as gn
from gnomon.errors import DataError, OutputError
from gnomon.release import folder
from gnomon.release.folder import open_release, write_release
from gnomon.release.map import PublicMap
from gnomon.release.transform import transform_batches
from gnomon.statistics.frame import Frame
from gnomon.table.schema import Schema
from gnomon.table.source import open_source


def release(n: int = 300) -> gn.RonGauss:
    rng = np.random.default_rng(0)
    frame = pa.table(
        {"a": rng.uniform(0, 9, n), "b": rng.uniform(-1, 1, n), "c": np.array(["x", "y"])[np.arange(n) % 2]}
    )
    text = '[columns.a]\nkind="number"\nlow=0\nhigh=9\n[columns.b]\nkind="number"\nlow=-1\nhigh=1\n'
    text += '[columns.c]\nkind="category"\nvalues=["x", "y"]\nrole="target"\n'
    return gn.RonGauss(2.0, schema=gn.Schema.loads(text), n_components=2).fit(frame)


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_everything_is_there_and_the_hashes_agree(tmp_path: Path, format: str) -> None:
    method = release()
    write_release(method, tmp_path / "out", rows=123, format=format)
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {
        f"data.{format}",
        "certificate.yaml",
        "map.npz",
        "measurements.npz",
        "schema.toml",
        "report.html",
        "croissant.json",
    }
    assert os.listdir(tmp_path) == ["out"]
    opened = open_release(tmp_path / "out")
    for name, digest in opened.certificate.files.items():
        assert folder.sha256(tmp_path / "out" / name) == digest
    assert f"data.{format}" in opened.certificate.files
    if format == "parquet":
        assert pq.read_table(tmp_path / "out" / "data.parquet").num_rows == 123


def test_an_opened_release_transforms_as_the_method_does(tmp_path: Path) -> None:
    method = release()
    write_release(method, tmp_path / "out")
    opened = open_release(tmp_path / "out")
    rows = pa.table({"b": [0.5, -0.5], "a": [1.0, 8.0], "c": ["y", "x"]})
    seen = pa.concat_tables(transform_batches(open_source(rows), opened.schema, opened.map))
    assert seen.column_names == ["a", "b", "c"]
    assert seen.column("c").to_pylist() == ["y", "x"]
    assert seen.select(["a", "b"]).equals(method.transform(rows.select(["a", "b"])))


@pytest.mark.parametrize("failing", ["save_arrays", "_write_rows", "sha256", "_sync"])
def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = release()

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(folder, failing, full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_release(method, tmp_path / "out")
    assert os.listdir(tmp_path) == []


def test_an_existing_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(OutputError, match="exists"):
        folder.check_place(tmp_path / "out")
    with pytest.raises(OutputError, match="does not exist"):
        folder.check_place(tmp_path / "no" / "out")


def test_a_file_that_the_certificate_does_not_name_is_refused(tmp_path: Path) -> None:
    write_release(release(), tmp_path / "out")
    schema = tmp_path / "out" / "schema.toml"
    schema.write_text(schema.read_text().replace("high = 9", "high = 8"))
    with pytest.raises(DataError, match="not the one that its certificate names"):
        open_release(tmp_path / "out")


@pytest.mark.parametrize("name", ["certificate.yaml", "schema.toml", "map.npz"])
def test_a_folder_with_a_missing_or_broken_part_is_refused(tmp_path: Path, name: str) -> None:
    write_release(release(), tmp_path / "out")
    path = tmp_path / "out" / name
    path.write_bytes(b"\x00\xff rubbish")
    with pytest.raises(gn.errors.GnomonError):
        open_release(tmp_path / "out")
    path.unlink()
    with pytest.raises(DataError, match=name):
        open_release(tmp_path / "out")
    with pytest.raises(DataError, match="does not exist"):
        open_release(tmp_path / "nowhere")


def test_a_boolean_target_in_words_is_transformed_to_booleans(tmp_path: Path) -> None:
    schema = Schema.loads(
        'format = 2\n[columns.age]\nkind = "number"\nlow = 0\nhigh = 100\n'
        '[columns.ill]\nkind = "boolean"\ntrue = ["J"]\nfalse = ["N"]\nrole = "target"\n'
    )
    (tmp_path / "ward.csv").write_text("age,ill\n30,J\n40,N\n50,?\n")
    frame = Frame.identity(1, radius=1.0)
    seen = pa.concat_tables(
        transform_batches(open_source(tmp_path / "ward.csv", schema=schema), schema, PublicMap(frame))
    )
    assert seen["ill"].type == pa.bool_()
    assert seen["ill"].to_pylist() == [True, False, None]
