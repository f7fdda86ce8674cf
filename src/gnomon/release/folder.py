"""A release folder: written whole or not at all, and read back without trusting it."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from gnomon.engine.local import Progress, quiet
from gnomon.errors import DataError, OutputError
from gnomon.privacy.certificate import LARGEST, Certificate
from gnomon.release.map import LARGEST_FILE, PublicMap, load_map, save_map
from gnomon.table.base import Source, reading
from gnomon.table.encode import Encoder
from gnomon.table.schema import LARGEST as SCHEMA_LARGEST
from gnomon.table.schema import Schema
from gnomon.table.spreadsheet import refuse_in_csv

if TYPE_CHECKING:
    from gnomon.release.base import Release

SHOWN = 50_000  # released rows that the public page summarises


def check_place(out: Path) -> None:
    """Refuse, before anything is spent, a place that the release cannot be written to."""
    parent = out.absolute().parent
    try:
        if out.exists() or out.is_symlink():
            raise OutputError(f"The folder {str(out)!r} exists; choose another or remove it first.")
        if not parent.is_dir():
            raise OutputError(f"The folder {str(parent)!r} does not exist; create it first.")
        os.rmdir(_beside(out))
    except OSError as problem:
        raise OutputError(f"The folder {str(parent)!r} is not writable ({problem.strerror}).") from None


def _beside(out: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{out.name}-", suffix=".partial", dir=out.absolute().parent))


@contextmanager
def whole_or_absent(out: Path) -> Iterator[Path]:
    """A folder beside `out` that becomes `out` in one step when all went well, and disappears otherwise."""
    check_place(out)
    beside = _beside(out)
    try:
        yield beside
        beside.chmod(0o755)
        for path in [*beside.iterdir(), beside]:
            _sync(path)
        os.rename(beside, out)
        _sync(out.absolute().parent)
    except OSError as problem:
        raise OutputError(
            f"The release could not be written to {str(out)!r} ({problem.strerror or type(problem).__name__}); "
            "nothing was left there."
        ) from None
    finally:
        if beside.exists():
            shutil.rmtree(beside, ignore_errors=True)


def write_release(
    method: Release, out: Path, rows: int | None = None, format: str = "parquet", progress: Progress = quiet
) -> None:
    """Write `method`'s release of `rows` rows to the folder `out`."""
    from gnomon.report.page import public_page

    n = method.n_rows_ if rows is None else rows
    if format == "csv":
        refuse_in_csv(method.data_schema_)
    with whole_or_absent(Path(out)) as folder:
        data = folder / f"data.{format}"
        shown = _write_rows(data, method.sample_batches(n), format, n, progress)
        save_map(folder / "map.npz", method.public_arrays())
        method.schema_.save(folder / "schema.toml")
        hashes = {path.name: _sha256(path) for path in sorted(folder.iterdir())}
        certificate = method.certificate_.with_files(hashes, released_rows=n)
        (folder / "certificate.yaml").write_text(certificate.to_yaml(), encoding="utf-8")
        (folder / "report.html").write_text(
            public_page(certificate, method.data_schema_, shown), encoding="utf-8"
        )


def _write_rows(path: Path, batches: Iterator[pa.Table], format: str, n: int, progress: Progress) -> pa.Table:
    """Stream the released rows to a file; returns the first ones for the public page."""
    writer = None
    shown: list[pa.Table] = []
    done = 0
    try:
        for table in batches:
            if writer is None:
                writer = _writer(path, table.schema, format)
            writer.write_table(table)
            if done < SHOWN:
                shown.append(table.slice(0, SHOWN - done))
            done += table.num_rows
            progress("writing the release", done, n)
    finally:
        if writer is not None:
            writer.close()
    return pa.concat_tables(shown)


def _writer(path: Path, schema: pa.Schema, format: str) -> pq.ParquetWriter | pyarrow.csv.CSVWriter:
    if format == "csv":
        return pyarrow.csv.CSVWriter(str(path), schema)
    # a dictionary of noisy numbers is larger than the numbers, and most of the time of writing them
    repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(
        str(path), schema, compression="zstd", compression_level=1, use_dictionary=repeated
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class Opened:
    """A release folder that an analyst opened."""

    path: Path
    certificate: Certificate
    schema: Schema
    map: PublicMap


def open_release(path: Path) -> Opened:
    """Read a release folder from anywhere; nothing in it is executed and sizes are capped."""
    if not path.is_dir():
        raise DataError(f"The release folder {str(path)!r} does not exist; check the path.")
    for name in ("certificate.yaml", "schema.toml", "map.npz"):
        if not (path / name).is_file():
            raise DataError(
                f"The release folder {str(path)!r} lacks {name}; ask its publisher for a whole copy."
            )
    with reading(f"The release folder {str(path)!r}"):
        with (path / "certificate.yaml").open(encoding="utf-8", errors="replace") as file:
            certificate = Certificate.from_yaml(file.read(LARGEST + 1))
        for name, most in (("schema.toml", 4 * SCHEMA_LARGEST), ("map.npz", LARGEST_FILE)):
            if (path / name).stat().st_size > most:
                raise DataError(
                    f"The file {name} in {str(path)!r} is longer than {most} bytes and is not read."
                )
            if name in certificate.files and certificate.files[name] != _sha256(path / name):
                raise DataError(
                    f"The file {name} in {str(path)!r} is not the one that its certificate names; "
                    "ask the publisher for a whole copy."
                )
    schema = Schema.load(path / "schema.toml")
    return Opened(path, certificate, schema, PublicMap.of_arrays(load_map(path / "map.npz")))


def transform_batches(
    source: Source, schema: Schema, chart: PublicMap, progress: Progress = quiet
) -> Iterator[pa.Table]:
    """Rows of `source` seen through the public map of a release; a target column passes through as it is."""
    features = Schema(name=schema.name, columns=schema.features)
    encoder = Encoder(features)
    if encoder.width != chart.n_features:
        raise DataError("The schema and the map of this release do not belong together; ask its publisher.")
    names = [column.name for column in features.columns]
    present = set(source.names)
    missing = [name for name in names if name not in present]
    if missing:
        raise DataError(f"The table lacks the column {missing[0]!r} that the release has; add it.")
    target = schema.target.name if schema.target is not None and schema.target.name in source.names else None
    done, total = 0, source.n_rows()
    for batch in source.batches([*names, target] if target else names):
        X = encoder.encode(batch).X
        C = X if chart.shows_all else chart.components(X)
        if chart.components_only:
            seen = pa.table(list(np.ascontiguousarray(C.T)), names=[f"c{j}" for j in range(C.shape[1])])
            place = C.shape[1]
        else:
            seen = encoder.decode(C if chart.shows_all else chart.lift(C), None)
            place = [column.name for column in schema.released].index(target) if target else 0
        if target:
            seen = seen.add_column(place, target, batch.column(batch.schema.get_field_index(target)))
        done += batch.num_rows
        progress("transforming", done, total)
        yield seen
