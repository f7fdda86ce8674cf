"""A release folder: written whole or not at all, and read back without trusting it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gnomon.engine.base import Progress, quiet
from gnomon.engine.local import one_thread
from gnomon.errors import DataError, OutputError, ParameterError
from gnomon.methods.base import Release
from gnomon.notebook import framed
from gnomon.privacy.certificate import LARGEST, Certificate
from gnomon.release import croissant
from gnomon.release import sign as signing
from gnomon.release.analyst.questions import Questions
from gnomon.release.formats import FORMATS
from gnomon.release.map import LARGEST_FILE, PublicMap, load_arrays, save_arrays
from gnomon.release.measurements import write_measurements
from gnomon.table.base import reading
from gnomon.table.schema import LARGEST as SCHEMA_LARGEST
from gnomon.table.schema import Schema

SHOWN = 50_000  # released rows that the public page summarises
CERTIFICATE = "certificate.yaml"
DATA = ("data.parquet", "data.csv")
LAST_LINE = "# SHA-256 of the lines above: "


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
    method: Release,
    out: Path,
    rows: int | None = None,
    format: str = "parquet",
    progress: Progress = quiet,
    sign: Ed25519PrivateKey | None = None,
) -> None:
    """Write `method`'s release of `rows` rows to the folder `out`, and sign its certificate where a key is given."""
    from gnomon.report.page import public_page
    from gnomon.report.words import is_model
    from gnomon.verdict.state import state

    n = rows or method.n_rows_ or 1
    FORMATS[format].check(method.data_schema_)
    with whole_or_absent(Path(out)) as folder, one_thread():
        data = folder / f"data.{format}"
        shown = _write_rows(data, method.sample_batches(n), format, n, progress)
        save_arrays(folder / "map.npz", method.public_map().arrays())
        write_measurements(method, folder)
        method.schema_.save(folder / "schema.toml")
        method.verdicts_ = state(method)
        method.certificate_ = method.certificate_.with_verdicts(method.verdicts_.certified())
        certificate = method.certificate_.with_files(_hashes(folder), released_rows=n)
        sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
        described = croissant.croissant(
            certificate, method.data_schema_, sizes, data=data.name, synthetic=is_model(certificate)
        )
        _write(folder / croissant.FILE, described)
        _write(folder / "report.html", public_page(certificate, method.data_schema_, shown))
        # both name the files that they describe, and the certificate names them too
        text = certificate_text(certificate.with_files(_hashes(folder), released_rows=n))
        _write(folder / CERTIFICATE, text)
        if sign is not None:
            _write(folder / signing.FILE, signing.sign(text.encode(), sign).text())


def _hashes(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in sorted(folder.iterdir())}


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def certificate_text(certificate: Certificate) -> str:
    """A certificate as its file holds it: the last line is a hash of the others, so that no change goes unnoticed."""
    body = certificate.to_yaml()
    return f"{body}{LAST_LINE}{hashlib.sha256(body.encode()).hexdigest()}\n"


def _write_rows(path: Path, batches: Iterator[pa.Table], format: str, n: int, progress: Progress) -> pa.Table:
    """Stream the released rows to a file; returns the first ones for the public page."""
    writer = None
    shown: list[pa.Table] = []
    done = 0
    try:
        for table in batches:
            if writer is None:
                writer = FORMATS[format].writer(path, table.schema)
            writer.write_table(table)
            if done < SHOWN:
                shown.append(table.slice(0, SHOWN - done))
            done += table.num_rows
            progress("writing the release", done, n)
    finally:
        if writer is not None:
            writer.close()
    return pa.concat_tables(shown)


def sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class Opened(Questions):
    """A release folder that an analyst opened; its questions are those of `Questions`.

    Parameters
    ----------
    path : the folder.
    certificate : the promise, as `Certificate`.
    schema : the declared columns.
    map : the public map from rows to the released space.
    """

    path: Path
    certificate: Certificate
    schema: Schema
    map: PublicMap

    @property
    def data_file(self) -> str:
        """The name of the file with the released rows."""
        return next((name for name in DATA if name in self.certificate.files), DATA[0])

    @property
    def data(self) -> pa.Table:
        """The released rows."""
        file = self.path / self.data_file
        return pq.read_table(file) if file.suffix == ".parquet" else pyarrow.csv.read_csv(file)

    @property
    def report(self) -> Path:
        """The page for people."""
        return self.path / "report.html"

    def _repr_html_(self) -> str:
        return framed(self.report.read_text(encoding="utf-8"))

    @cached_property
    def model(self) -> Any:
        """The method again, fitted, from the measurements in the folder; rows can be drawn from it."""
        from gnomon.release.measurements import read_measurements

        if not self.synthetic:
            raise ParameterError(
                f"The release {str(self.path)!r} holds one row for each record and no model to draw from; use its data."
            )
        return read_measurements(self.path).replay()

    def sample(
        self, n: int | None = None, random_state: int | None = None, *, given: Mapping[str, Any] | None = None
    ) -> pa.Table:
        """More rows of the model, as `sample` of the fitted method gives them; they cost nothing.

        Parameters
        ----------
        n : how many rows; by default as many as were released.
        random_state : another seed gives other rows.
        given : cells that all rows shall have, by column: a value, a list, a pair (low, high), or None for a
            missing cell.
        """
        wanted = self.certificate.released_rows if n is None else n
        found: pa.Table = self.model.sample(wanted, random_state, given=given)
        return found

    @property
    def synthetic(self) -> bool:
        """Whether rows were drawn from a model, and none is the image of a record."""
        from gnomon.report.words import is_model

        return is_model(self.certificate)


def read_certificate(path: Path) -> tuple[Certificate, bytes]:
    """The certificate of a folder, and its bytes."""
    with (path / CERTIFICATE).open("rb") as file:
        content = file.read(4 * LARGEST + 1)
    return Certificate.from_yaml(re.sub("\r\n?", "\n", content.decode("utf-8", "replace"))), content


def open_release(path: Path) -> Opened:
    """Read a release folder from anywhere, without verifying its rows; nothing in it is executed and sizes are capped."""
    if not path.is_dir():
        raise DataError(f"The release folder {str(path)!r} does not exist; check the path.")
    for name in ("certificate.yaml", "schema.toml", "map.npz"):
        if not (path / name).is_file():
            raise DataError(
                f"The release folder {str(path)!r} lacks {name}; ask its publisher for a whole copy."
            )
    with reading(f"The release folder {str(path)!r}"):
        certificate, _ = read_certificate(path)
        for name, most in (("schema.toml", 4 * SCHEMA_LARGEST), ("map.npz", LARGEST_FILE)):
            if (path / name).stat().st_size > most:
                raise DataError(
                    f"The file {name} in {str(path)!r} is longer than {most} bytes and is not read."
                )
            if name in certificate.files and certificate.files[name] != sha256(path / name):
                raise DataError(
                    f"The file {name} in {str(path)!r} is not the one that its certificate names; "
                    "ask the publisher for a whole copy."
                )
    schema = Schema.load(path / "schema.toml")
    return Opened(path, certificate, schema, PublicMap.of_arrays(load_arrays(path / "map.npz")))
