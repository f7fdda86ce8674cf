"""Storage does not matter: a column is the same however its values are encoded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn


def coded(values: int, index: pa.DataType, missing: bool) -> tuple[pa.Table, Any]:
    """A table with a column of categories in a dictionary, and its schema."""
    rng = np.random.default_rng(11)
    names = [f"v{i}" for i in range(values)]
    codes = rng.integers(0, values, 300).tolist()
    places = pa.array([None if missing and i < 3 else code for i, code in enumerate(codes)], index)
    table = pa.table(
        {"kind": pa.DictionaryArray.from_arrays(places, pa.array(names)), "x": rng.uniform(0, 1, 300)}
    )
    kind = gn.Column(
        name="kind", kind="category", values=tuple(names), missing="indicator" if missing else "refuse"
    )
    return table, gn.Schema(name="coded", columns=(kind, gn.Column(name="x", kind="number", low=0, high=1)))


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "with missing cells"])
@pytest.mark.parametrize(
    ("values", "index"),
    [
        (128, pa.int8()),
        (256, pa.uint8()),
        (127, pa.int8()),
        (128, pa.int16()),
    ],
)
def test_a_full_dictionary_is_released(values: int, index: pa.DataType, missing: bool) -> None:
    """As many values as the codes can count are as good as fewer."""
    table, schema = coded(values, index, missing)
    released = gn.RonGauss(1.0, schema=schema).fit(table).sample()
    assert released.num_rows == table.num_rows


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8()])
def test_full_dictionaries_of_several_batches_are_read_together(index: pa.DataType) -> None:
    """Two batches whose dictionaries hold other values, cut where neither ends."""
    from gnomon.table.encode import Encoder
    from gnomon.table.source import open_source

    size = 128 if index == pa.int8() else 256
    names = [f"v{i}" for i in range(2 * size)]
    halves = [
        pa.DictionaryArray.from_arrays(
            pa.array([*range(size), None], index), pa.array(names[start : start + size])
        )
        for start in (0, size)
    ]
    table = pa.Table.from_batches([pa.record_batch({"kind": half}) for half in halves])
    kind = gn.Column(name="kind", kind="category", values=tuple(names), missing="indicator")
    one = Encoder(gn.Schema(columns=(kind,)))
    found = np.concatenate([one.matrix(batch) for batch in open_source(table).batches(["kind"], rows=100)])
    expected = one.matrix(pa.table({"kind": [*names[:size], None, *names[size:], None]}))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("values", "index"), [(128, pa.int8()), (256, pa.uint8())])
def test_persons_and_prints_of_full_dictionaries_are_those_of_plain_text(
    values: int, index: pa.DataType
) -> None:
    """Who is who, and which table this is, are asked of the same codes."""
    from gnomon.table.fingerprint import content_print
    from gnomon.table.persons import Bounding
    from gnomon.table.source import open_source

    names = [f"v{i}" for i in range(values)]
    full = pa.DictionaryArray.from_arrays(pa.array([*range(values), None], index), pa.array(names))
    text, bounding = pa.array([*names, None]), Bounding("kind", 1, bytes(32))
    assert np.array_equal(bounding.identities(full), bounding.identities(text))
    schema = gn.Schema(columns=(gn.Column(name="kind", kind="category", values=tuple(names)),))
    one, other = (
        content_print(open_source(pa.table({"kind": cells})), schema, bytes(32)) for cells in (full, text)
    )
    assert one == other
