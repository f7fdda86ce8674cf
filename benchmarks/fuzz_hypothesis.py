"""Hostile inputs that are nearly right: python benchmarks/fuzz_hypothesis.py TARGET EXAMPLES.

Mutated bytes hardly ever pass a parser; here Hypothesis writes schemas, tables, maps, certificates and command lines
that do, with the cells, numbers and words that break things. The targets, and what counts as wrong, are those of
`fuzz_inputs.py`; Hypothesis shrinks what it finds.
"""

from __future__ import annotations

import csv
import io
import resource
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import fuzz_inputs
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from gnomon.table import toml

LIKELY = [
    "", " ", "0", "1", "2", "-1", "+1", "1.0", "1e3", "1e400", "-inf", "NaN", "nan", "NA", "null", "None", "true", "False",
    "north", "south", "North ", "=cmd()", "@SUM(A1)", "\t1", "9" * 30, str(2**63), str(-(2**63)), str(2**60 + 1), "0x10",
    "1_000", "１", "2020-01-01", "2020-02-30", "2020-01-01T10:00", "2020-01-01T10:00:00+14:00", "0001-01-01", "9999-12-31",
    "20200101", "2020-W01-1", '"', "a\nb", "a,b", "\x00", "\x1b[31m", "\u202e", "é", "𝟙", "1e", ".5", "5.", "--1", "inf",
    "infinity",
]  # fmt: skip
words = st.one_of(st.sampled_from(LIKELY), st.text(max_size=8))
reals = st.one_of(
    st.floats(allow_nan=True), st.sampled_from([0.0, -0.0, 5e-324, 1e308, 2.0**53, 0.1]), st.integers(-3, 3)
)
integers = st.one_of(st.integers(-5, 5), st.integers(-(2**70), 2**70))


def documents() -> st.SearchStrategy[bytes]:
    """Schemas with the right keys and likely values."""
    scalars = st.one_of(words, reals, integers, st.booleans(), st.dates(), st.datetimes())
    column = st.fixed_dictionaries(
        {"kind": st.sampled_from(["number", "number", "category", "boolean", "date", "identifier", "ignored"])},
        optional={
            "low": scalars, "high": scalars, "integer": st.booleans(), "log": st.booleans(), "unit": words,
            "estimate": st.booleans(), "values": st.lists(scalars, max_size=4), "ordered": st.booleans(), "other": scalars,
            "missing": st.sampled_from(["refuse", "fill", "indicator", "x"]), "fill": scalars,
            "role": st.sampled_from(["target", "x"]),
        },
    )  # fmt: skip

    def text(columns: dict[str, dict[str, Any]]) -> bytes:
        lines = []
        for name, body in columns.items():
            lines += [f"[columns.{toml.key(name)}]", *(f"{key} = {toml.value(v)}" for key, v in body.items())]
        return "\n".join(lines).encode("utf-8", "replace")

    return st.dictionaries(words, column, min_size=1, max_size=3).map(text)


COLUMNS = ["age", "when", "ward", "wide", "ok", "y"]
FITTING = {
    "age": ["20", "1.5", " 30", "200", "-inf", "1e2"],
    "when": ["2020-01-01", "2020-01-01T10:00:00", "", "1999-01-01"],
    "ward": ["north", "south", "west", "=cmd()"],
    "wide": [str(2**60 + 1), "5.0", "1e3", "", "9" * 30],
    "ok": ["true", "0", "1.0", "", "FALSE"],
    "y": ["1", "2", "1.0", "2.0"],
}


def spreadsheets() -> st.SearchStrategy[bytes]:
    """CSV files whose cells mostly fit."""
    row = st.tuples(
        *(
            st.one_of(st.sampled_from(FITTING[name]), st.sampled_from(FITTING[name]), words)
            for name in COLUMNS
        )
    )

    def text(rows: list[tuple[str, ...]], style: int) -> bytes:
        out = io.StringIO()
        csv.writer(out, quoting=style, lineterminator="\n").writerows([COLUMNS, *rows])
        return out.getvalue().encode("utf-8", "replace")

    return st.builds(
        text, st.lists(row, min_size=1, max_size=6), st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    )


def frames(form: str) -> st.SearchStrategy[bytes]:
    """Tables of any types, as Parquet or as Arrow files."""
    likely = [
        pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string(), pa.large_string(),
        pa.date32(), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("s"), pa.decimal128(20, 2), pa.null(),
        pa.dictionary(pa.int8(), pa.string()), pa.binary(), pa.list_(pa.int64()),
    ]  # fmt: skip
    texts = {name: st.one_of(st.none(), st.sampled_from(FITTING[name]), words) for name in COLUMNS}

    def array(cells: list[str | None], kind: pa.DataType) -> pa.Array:
        held = pa.array([None if c is None else c.encode("utf-8", "replace").decode() for c in cells])
        base = pa.string() if pa.types.is_dictionary(kind) else kind
        parts = []
        for cell in held:
            try:
                parts.append(cell.cast(base).as_py())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, OverflowError):
                parts.append(None)
        made = pa.array(parts, base)
        return made.dictionary_encode() if pa.types.is_dictionary(kind) else made

    def bytes_of(cells: list[list[str | None]], kinds: list[pa.DataType]) -> bytes:
        columns = {
            name: array([row[j] for row in cells], kinds[j] if kinds[j] is not None else pa.string())
            for j, name in enumerate(COLUMNS)
        }
        sink = pa.BufferOutputStream()
        if form == "parquet":
            pq.write_table(pa.table(columns), sink)
        else:
            pa.feather.write_feather(pa.table(columns), sink, compression="uncompressed")
        return sink.getvalue().to_pybytes()

    row = st.tuples(*(texts[name] for name in COLUMNS)).map(list)
    return st.builds(
        bytes_of,
        st.lists(row, min_size=1, max_size=5),
        st.lists(st.one_of(st.none(), st.sampled_from(likely)), min_size=len(COLUMNS), max_size=len(COLUMNS)),
    )


def maps(targets: fuzz_inputs.Targets) -> st.SearchStrategy[bytes]:
    """Maps with all their parts, of likely shapes and unlikely numbers."""
    with np.load(targets.folder / "good.npz") as held:
        parts = {name: held[name] for name in held.files}
    kinds = st.sampled_from([np.float64, np.float32, np.int64, np.bool_, np.complex128, "U3", "M8[s]"])

    def changed(name: str, value: float, kind: Any, shape: tuple[int, ...] | None) -> dict[str, Any]:
        part = parts[name].astype(np.float64) if shape is None else np.zeros(shape)
        if part.size:
            part.flat[0] = value
        with np.errstate(all="ignore"):
            try:
                return {name: part.astype(kind)}
            except (TypeError, ValueError):
                return {name: part}

    shapes = st.one_of(st.none(), st.lists(st.integers(0, 9), max_size=3).map(tuple))
    edit = st.builds(changed, st.sampled_from(sorted(parts)), reals, kinds, shapes)

    def bytes_of(edits: list[dict[str, Any]]) -> bytes:
        held = dict(parts)
        for one in edits:
            held.update(one)
        out = io.BytesIO()
        np.savez(out, **held)
        return out.getvalue()

    return st.builds(bytes_of, st.lists(edit, min_size=1, max_size=3))


def certificates(targets: fuzz_inputs.Targets) -> st.SearchStrategy[bytes]:
    """Certificates with some fields replaced."""
    good = yaml.safe_load(targets.seeds["certificate"][0])
    paths = [(key,) for key in good] + [("privacy", key) for key in good["privacy"]] + [("noise", "private")]
    values = st.one_of(
        words,
        reals,
        integers,
        st.booleans(),
        st.none(),
        st.lists(words, max_size=2),
        st.dictionaries(words, reals),
    )

    def text(changes: list[tuple[tuple[str, ...], Any]]) -> bytes:
        made = {**good, "privacy": dict(good["privacy"]), "noise": dict(good["noise"])}
        for path, value in changes:
            place = made
            for key in path[:-1]:
                place = place[key] if isinstance(place[key], dict) else made
            place[path[-1]] = value
        return yaml.safe_dump(made).encode("utf-8", "replace")

    return st.lists(st.tuples(st.sampled_from(paths), values), min_size=1, max_size=3).map(text)


def lines() -> st.SearchStrategy[bytes]:
    """Command lines of known commands and options with likely and unlikely values."""
    options = [
        "--schema",
        "--epsilon",
        "--delta",
        "--out",
        "--method",
        "--target",
        "--task",
        "--components",
        "--rows",
        "--unit",
        "--calibration",
        "--format",
        "--seed",
        "--ledger",
        "--release",
        "--not-private",
    ]
    fitting = st.sampled_from(
        [
            "s.toml",
            "good.csv",
            "released",
            "out",
            "1",
            "1e-6",
            "0",
            "inf",
            "auto",
            "row",
            "attribute",
            "csv",
            "parquet",
            "sound",
            "paper",
            "ron-gauss",
            "jl-laplace",
            "dppro",
            "dprp",
            "pca-gauss",
            "y",
            "age",
            "l.sqlite",
        ]
    )
    extra = st.tuples(st.sampled_from(options), st.one_of(fitting, words))

    def text(start: str, more: list[tuple[str, str]]) -> bytes:
        return "\x1f".join([*start.split(), *(part for pair in more for part in pair)]).encode(
            "utf-8", "replace"
        )

    return st.builds(text, st.sampled_from(fuzz_inputs.COMMANDS), st.lists(extra, max_size=3))


def strategy(name: str, targets: fuzz_inputs.Targets) -> st.SearchStrategy[bytes]:
    return {
        "schema": documents,
        "csv": spreadsheets,
        "parquet": lambda: frames("parquet"),
        "arrow": lambda: frames("arrow"),
        "map": lambda: maps(targets),
        "certificate": lambda: certificates(targets),
        "command": lines,
    }[name]()


def fuzz(
    name: str, targets: fuzz_inputs.Targets, examples: int, fixed: bool = False
) -> tuple[int, str | None]:
    """Inputs tried, and the smallest one that went wrong."""
    tried, inputs = 0, strategy(name, targets)
    once = settings(
        max_examples=examples,
        derandomize=fixed,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )

    @once
    @given(inputs)
    def every(data: bytes) -> None:
        nonlocal tried
        tried += 1
        found = fuzz_inputs.outcome(lambda: targets.run(name, data), data)
        assert found is None, found

    try:
        every()
    except AssertionError as problem:
        return tried, str(problem)
    return tried, None


def main() -> int:
    name, examples = sys.argv[1], int(sys.argv[2])
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (fuzz_inputs.MEMORY, fuzz_inputs.MEMORY))
    with tempfile.TemporaryDirectory() as place, fuzz_inputs.contextlib.chdir(place):
        tried, wrong = fuzz(name, fuzz_inputs.Targets(Path(place)), examples)
    print(f"{name}: {tried:,} inputs by Hypothesis, {0 if wrong is None else 1} wrong", flush=True)
    if wrong:
        print("  ", wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
