"""A hold-out: real rows that a release is not made from, kept for its owner to test on.

Every row (every person, where the schema names persons) is kept back with the same probability, by a coin of the
operating system's randomness that is tossed once, before anything is measured. Both parts are written once, beside the
place of the release and readable by their owner only.

Claim. If a release of any table is (epsilon, delta)-DP, so is the release of the rows that are not kept back, for
the whole table, under replace-one and under add/remove.
Proof. Toss a coin for each record; coins do not look at records, so the law of the released part depends on the table as
a multiset and not on its order. Give neighbouring tables the same coins. If the record in which they differ is kept back,
both releases see the same rows; if not, their rows are neighbours again: one is replaced, so that their number is the
same, or one is added. Either way P[M(A) in S] <= e^epsilon P[M(B) in S] + delta for these coins, and so for their
average. Under replace-one the number of released rows is public: it depends on the coins alone. A split that leaves too few
rows is refused there by this number; where the number is private nothing is refused.

What would not do: a coin that is a hash of the record's content. Replacing a record then moves it from one part to the
other, so that the number of released rows, which is published, tells the two tables apart. Nor would coins by position in
two readings, whose order may differ. For persons, whose number of rows is private, the coin is a keyed hash of who
they are: all rows of a person fall together, whoever else is in the table. (`docs/explanation/proofs/holdout.md`)
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from gnomon.engine.base import Progress, quiet
from gnomon.errors import DataError, OutputError, ParameterError
from gnomon.table.base import Source
from gnomon.table.persons import Bounding
from gnomon.table.schema import Schema
from gnomon.table.source import open_source

RELEASED, HELD = "released.parquet", "held-out.parquet"
_MANIFEST = "split.json"
LEAST = 2  # rows of either part

Coins = Callable[[int], NDArray[np.uint64]]


def tossed(n: int) -> NDArray[np.uint64]:
    """n uniform numbers of 64 bits, of which nobody knows the next."""
    return np.frombuffer(secrets.token_bytes(8 * n), dtype=np.uint64)


@dataclass(frozen=True)
class Holdout:
    """The two parts of a table on disk."""

    folder: Path
    split: str  # a name by which a release that is resumed knows its split

    @property
    def released(self) -> Path:
        return self.folder / RELEASED

    @property
    def held(self) -> Path:
        return self.folder / HELD

    def source(self, schema: Schema, *, held: bool = False) -> Source:
        """The rows that are released, or held back; typed, so that the form of the original file is not needed."""
        return open_source(self.held if held else self.released, schema=schema.as_released())

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def place_of(out: Path) -> Path:
    """Where the parts lie: beside the release, never in it."""
    return out.absolute().parent / f"{out.name}-holdout"


def holdout_of(out: Path) -> Holdout | None:
    """The hold-out of a release, if it has one on this machine."""
    folder = place_of(Path(out))
    manifest = _read(folder)
    return None if manifest is None else Holdout(folder, str(manifest["split"]))


def hold_out(
    source: Source,
    schema: Schema,
    share: float,
    out: Path,
    content: str,
    progress: Progress = quiet,
    coins: Coins = tossed,
    *,
    private: bool = False,
) -> Holdout:
    """Split a table once; a release that was cut short finds the split that it was made with.

    `content` is the owner's print of the table, by which a split is recognised as one of the same table. Where the number
    of rows is `private` no split is refused for too few of them: whether there is a release would tell it.
    """
    _check(share)
    folder = place_of(out)
    wanted = {"share": share, "content": content, "columns": _columns(schema)}
    manifest = _read(folder)
    if manifest is not None and all(manifest.get(key) == value for key, value in wanted.items()):
        return Holdout(folder, str(manifest["split"]))
    if folder.exists() or folder.is_symlink():
        raise OutputError(
            f"The folder {str(folder)!r} holds another split; remove it, or choose another place for the release."
        )
    split = secrets.token_hex(16)
    try:
        folder.mkdir(mode=0o700)
        counts = _write(source, schema, share, folder, progress, coins)
        if min(counts) < LEAST and not private:
            raise DataError("The table has too few rows to keep some of them back; release it whole.")
        _owned(folder / _MANIFEST).write_text(json.dumps({**wanted, "split": split}), encoding="utf-8")
    except OSError as problem:
        shutil.rmtree(folder, ignore_errors=True)
        raise OutputError(
            f"The hold-out could not be written to {str(folder)!r} ({problem.strerror})."
        ) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Holdout(folder, split)


def _check(share: float) -> None:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share < 1:
        raise ParameterError(
            f"The hold-out must be a share between 0 and 1, such as 0.2. Got {share!r} instead."
        )


def _columns(schema: Schema) -> list[str]:
    names = [column.name for column in schema.released]
    return names if schema.person is None else [*names, schema.person]


def _write(
    source: Source, schema: Schema, share: float, folder: Path, progress: Progress, coins: Coins
) -> tuple[int, int]:
    """One pass writes both parts, so that a row is in one of them whatever order another reading would have."""
    columns = _columns(schema)
    persons = None if schema.person is None else Bounding(schema.person, 1)
    arrow = pa.schema(list(_types(source, columns).items()))
    below = np.uint64(min(int(share * 2**64), 2**64 - 1))
    done, counts, total = 0, [0, 0], source.n_rows()
    places = [_owned(folder / name) for name in (RELEASED, HELD)]
    with pq.ParquetWriter(places[0], arrow) as released, pq.ParquetWriter(places[1], arrow) as held:
        for batch in source.batches(columns):
            table = pa.Table.from_batches([batch]).cast(arrow)
            drawn = coins(batch.num_rows) if persons is None else _by_person(persons, batch)
            kept = drawn < below
            for i, (writer, mask) in enumerate(((released, ~kept), (held, kept))):
                writer.write_table(table.filter(pa.array(mask)))
                counts[i] += int(mask.sum())
            done += batch.num_rows
            progress("holding rows back", done, total)
    return counts[0], counts[1]


def _by_person(persons: Bounding, batch: pa.RecordBatch) -> NDArray[np.uint64]:
    hashed = persons.identities(batch.column(persons.person))
    return np.ascontiguousarray(hashed[:, :2]).view(np.uint64)[:, 0]


def _types(source: Source, columns: Sequence[str]) -> dict[str, pa.DataType]:
    """The type of each column in all batches; text where they differ, which every kind of column can be read from."""
    found: dict[str, pa.DataType] = {}
    for batch in source.batches(columns):
        for field in batch.schema:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            if pa.types.is_null(kind):
                continue
            found[field.name] = kind if found.setdefault(field.name, kind) == kind else pa.string()
    return {name: found.get(name, pa.string()) for name in columns}


def _owned(path: Path) -> Path:
    """An empty file that only its owner can read."""
    path.touch(mode=0o600, exist_ok=False)
    return path


def _read(folder: Path) -> dict[str, object] | None:
    try:
        found = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "split" in found else None
