"""Is a release folder what its certificate says, byte for byte, and does it follow from what was paid for?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gnomon.engine.base import Progress, quiet
from gnomon.errors import DataError, GnomonError, VerificationError
from gnomon.privacy.certificate import Certificate, versions_here
from gnomon.release import croissant, measurements, sign
from gnomon.release.folder import (
    CERTIFICATE,
    DATA,
    Opened,
    certificate_text,
    read_certificate,
    sha256,
    write_release,
)
from gnomon.release.folder import (
    open_release as read_release,
)
from gnomon.table.check import check
from gnomon.table.column import Column
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

FARTHEST = 1e150  # of a component, whose noise is unbounded
PARTS = ("map.npz", "schema.toml", measurements.FILE, croissant.FILE, "report.html")


@dataclass(frozen=True)
class Verified:
    """What was found in order, in sentences."""

    release: Opened
    signature: sign.Signature | None
    replayed: bool
    notes: tuple[str, ...]


def open_release(path: Path | str, *, key: Path | str | None = None, replay: bool = True) -> Opened:
    """A release that was verified: hashes, signature, schema, ranges, composition and, unless told otherwise, replay.

    Parameters
    ----------
    path : the release folder.
    key : the public key of whoever should have signed it; an unsigned folder is then refused.
    replay : whether every file is made again from the noisy measurements, which takes about as long as a fit.

    Examples
    --------
    >>> import gnomon as gn, numpy as np, pandas as pd
    >>> table = pd.DataFrame({"age": np.random.default_rng(0).integers(18, 90, 2000)})
    >>> schema = gn.Schema(name="ward", columns=(gn.Column(name="age", kind="number", low=18, high=90),))
    >>> done = gn.publish(table, "opened", schema=schema, epsilon=1)
    >>> release = gn.open_release("opened")
    >>> release.data.num_rows, release.data.column_names
    (2000, ['age'])
    >>> release.sample(3).num_rows
    3
    """
    return verify(Path(path), key=None if key is None else Path(key), replay=replay).release


def verify(
    path: Path, *, key: Path | None = None, replay: bool = True, progress: Progress = quiet
) -> Verified:
    """Check a release folder; whatever does not fit is a `VerificationError` of one sentence."""
    expected = None if key is None else sign.public_key(key)
    if not path.is_dir():
        raise DataError(f"The release folder {str(path)!r} does not exist; check the path.")
    with _in_one_sentence(path):
        certificate, content = _certificate(path)
        _hashes(path, certificate)
        signature = _signature(path, content, key is not None, expected)
        opened = read_release(path)
        _rows(opened)
        notes = [f"The file {name} is not part of the release." for name in _strangers(path, certificate)]
        replayed, words = (False, "") if not replay else _replay(opened, progress)
    return Verified(opened, signature, replayed, (*notes, *([words] if words else [])))


@contextmanager
def _in_one_sentence(path: Path) -> Iterator[None]:
    """A part that cannot be read is a part that is not what was certified."""
    try:
        yield
    except VerificationError:
        raise
    except GnomonError as problem:
        raise VerificationError(f"The release in {str(path)!r} is not in order: {problem}") from None
    except Exception as problem:  # whoever made the files chose their hashes too
        raise VerificationError(
            f"The release in {str(path)!r} is not in order: its files do not fit together."
        ) from problem


def _certificate(path: Path) -> tuple[Certificate, bytes]:
    """The certificate, whose last line is a hash of the others, and which is written as gnomon writes it."""
    try:
        certificate, content = read_certificate(path)
    except FileNotFoundError:
        raise VerificationError(f"The folder {str(path)!r} is no release: it has no {CERTIFICATE}.") from None
    if certificate_text(certificate).encode() != content:
        raise VerificationError(f"The file {CERTIFICATE} was changed: it is not what its own last line says.")
    return certificate, content


def _hashes(path: Path, certificate: Certificate) -> None:
    data = [name for name in DATA if name in certificate.files]
    lacking = [name for name in PARTS if name not in certificate.files]
    if len(data) != 1 or lacking:
        named = lacking[0] if lacking else "exactly one table of rows"
        raise VerificationError(f"The certificate does not name {named}.")
    for name, digest in certificate.files.items():
        if Path(name).name != name or not (path / name).is_file():
            raise VerificationError(f"The file {name} that the certificate names is not there.")
        if sha256(path / name) != digest:
            raise VerificationError(
                f"The file {name} is not the one that the certificate names: it was changed."
            )


def _signature(
    path: Path, content: bytes, needed: bool, expected: Ed25519PublicKey | None
) -> sign.Signature | None:
    file = path / sign.FILE
    if not file.is_file():
        if needed:
            raise VerificationError(
                "The certificate is not signed, and a key was given to check its signature."
            )
        return None
    if file.stat().st_size > sign.LARGEST:
        raise VerificationError(f"The file {sign.FILE} is no signature of this certificate.")
    return sign.check_signature(file.read_bytes().decode("utf-8", "replace"), content, expected)


def _strangers(path: Path, certificate: Certificate) -> list[str]:
    known = {*certificate.files, CERTIFICATE, sign.FILE}
    return sorted(found.name for found in path.iterdir() if found.name not in known)


# --- the released rows ---


def _rows(opened: Opened) -> None:
    """Every released cell is one that the schema declares, and there are as many rows as the certificate says."""
    file, declared = opened.data_file, _columns(opened)
    source = open_source(opened.path / file, schema=declared.as_released())
    if source.n_rows() != opened.certificate.released_rows:
        raise VerificationError(f"The file {file} has another number of rows than the certificate.")
    if list(source.names) != [column.name for column in declared.released]:
        raise VerificationError(f"The columns of {file} are not those that the schema declares.")
    for column in check(source, declared).columns:
        if column.problem or column.out_of_bounds or column.unknown or column.alien:
            raise VerificationError(f"The column {column.name!r} has cells that the schema does not allow.")
    if declared.rules:
        names = list(source.names)
        mender = declared.mender(names)
        if any(mender.broken(pa.Table.from_batches([batch])).any() for batch in source.batches(names)):
            raise VerificationError(f"The file {file} has rows that break a rule of the schema.")


def _columns(opened: Opened) -> Schema:
    """The columns of the released rows: those of the schema, or components, which are any numbers, and the target."""
    if not opened.map.components_only:
        return opened.schema
    components = (
        Column(name=f"c{j}", kind="number", low=-FARTHEST, high=FARTHEST)
        for j in range(opened.map.frame.n_components)
    )
    target = [] if opened.schema.target is None else [opened.schema.target]
    return Schema(name=opened.schema.name, columns=(*components, *target))


# --- replay ---


def _promise(recorded: measurements.Recorded, certificate: Certificate) -> None:
    """The parameters of the measurements promise what the certificate does, whatever versions are at hand."""
    promised = (recorded.method, recorded.parameters.get("calibration"), recorded.rows, recorded.guarantee)
    if promised != (certificate.method, certificate.calibration, certificate.rows, certificate.guarantee):
        raise VerificationError(
            f"The file {CERTIFICATE} promises something else than {measurements.FILE} was made for."
        )


def _replay(opened: Opened, progress: Progress) -> tuple[bool, str]:
    """Make the folder again from schema, parameters, measurements and seed; the same versions must give the same bytes."""
    if not opened.certificate.noise.private:
        return False, "Its noise was fixed for a test, so that it was not replayed."
    recorded = measurements.read_measurements(opened.path)
    _promise(recorded, opened.certificate)
    if recorded.withheld:
        return False, "The release withholds its projection, so that only its custodian can replay it."
    with tempfile.TemporaryDirectory(prefix="gnomon-") as place:
        again = Path(place) / "again"
        format = opened.data_file.removeprefix("data.")
        write_release(recorded.replay(), again, opened.certificate.released_rows, format, progress)
        differing = [
            name
            for name in (*opened.certificate.files, CERTIFICATE)
            if not (again / name).is_file() or sha256(again / name) != sha256(opened.path / name)
        ]
    if not differing:
        return True, ""
    here, there = versions_here(), opened.certificate.versions
    others = [name for name in sorted({*here, *there}) if here.get(name) != there.get(name)]
    if not others:
        raise VerificationError(
            f"The file {differing[0]} does not follow from the measurements of this release."
        )
    name = others[0]
    return False, (
        f"Versions differ ({name} {here.get(name, 'none')} here, {there.get(name, 'none')} in the release), so it was "
        "not replayed byte for byte."
    )
