"""Content hashes: the same rows give the same print, however they are cut into batches or files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as is_type

_CHUNK = 1 << 20


class _ColumnHash:
    """Running hashes of which cells are there, how long they are and what they hold."""

    def __init__(self) -> None:
        self.parts = [hashlib.sha256() for _ in range(3)]

    def update(self, array: pa.Array) -> None:
        present, lengths, content = self.parts
        if is_type.is_dictionary(array.type):
            array = array.dictionary_decode()
        if array.null_count:
            present.update(pc.is_valid(array).to_numpy(zero_copy_only=False).tobytes())
        else:
            present.update(np.ones(len(array), dtype=bool).tobytes())
        array = array.drop_null()
        if is_type.is_boolean(array.type):
            array = array.cast(pa.uint8())
        elif is_type.is_temporal(array.type):
            array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
        if is_type.is_integer(array.type) or is_type.is_floating(array.type):
            content.update(np.ascontiguousarray(array.to_numpy()).data)
            return
        cells = [cell.encode() for cell in _texts(array)]
        lengths.update(np.array([len(cell) for cell in cells], dtype=np.int64).data)
        content.update(b"".join(cells))

    def digest(self) -> bytes:
        return b"".join(part.digest() for part in self.parts)


def _texts(array: pa.Array) -> list[str]:
    if (
        is_type.is_string(array.type)
        or is_type.is_large_string(array.type)
        or is_type.is_string_view(array.type)
    ):
        return list(array.to_pylist())
    return [repr(cell) for cell in array.to_pylist()]


def fingerprint_batches(names: Sequence[str], batches: Iterable[pa.RecordBatch]) -> str:
    """The print of named columns given as a stream."""
    columns = [_ColumnHash() for _ in names]
    for batch in batches:
        for column, array in zip(columns, batch.columns, strict=True):
            column.update(array)
    whole = hashlib.sha256(repr(list(names)).encode())
    for column in columns:
        whole.update(column.digest())
    return whole.hexdigest()


def fingerprint_files(paths: Sequence[Path]) -> str:
    """The print of files by their bytes (of what is inside, for gzip), whatever they are called."""
    prints = []
    for path in paths:
        part = hashlib.sha256()
        with pa.input_stream(str(path), compression="detect") as stream:
            while block := stream.read(_CHUNK):
                part.update(block)
        prints.append(part.hexdigest())
    return prints[0] if len(prints) == 1 else hashlib.sha256("\n".join(sorted(prints)).encode()).hexdigest()
