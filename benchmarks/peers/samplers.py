"""Do the rows that a tool draws have the marginals that its own model has? A wrong sampler makes a good model look bad.

    python benchmarks/peers/samplers.py run --data DIR [--tools opendp-mst,aim,...] [--table adult] [--out FILE]
    python benchmarks/peers/samplers.py show FILE

A tool is fitted once at (1, 1e-6) and asked for `ROWS` rows. Its model's one- and two-way marginals are compared with
those of the rows, and with those of as many independent draws from the model's own marginals: what drawing alone costs. The
figure is a mean total variation over all columns, or all pairs; a sampler is right where both agree. DP-MERF measures the
pairs of a category and the label, with noise, and its network is a fit of them. Private evolution has no model with
marginals: its rows are its model.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROWS = 30_000
TOOLS = {"opendp-mst": ("opendp", "opendp_mbi"), "opendp-mst-round": ("opendp", "opendp_mbi"), "aim": ("dpmm", "aim"),
         "dpmm-mst": ("dpmm", "dpmm_models"), "dpmm-privbayes": ("dpmm", "dpmm_models"),
         "dp-merf": ("torch", "dp_merf")}  # fmt: skip


def compare(
    model: Any, made: Any, sizes: dict[str, int], pairs: list[tuple[str, str]] | None = None
) -> dict[str, float]:
    """Mean total variation of the rows against the model, and of independent draws against it, for all pairs or some."""
    rng = np.random.default_rng(1)
    found: dict[str, list[float]] = {"one": [], "one drawn": [], "two": [], "two drawn": []}
    pairs = pairs or list(itertools.combinations(sizes, 2))
    for pair in pairs:
        shape = [sizes[name] for name in pair]
        law = np.clip(np.asarray(model(pair), dtype=np.float64).reshape(shape), 0, None)
        law /= law.sum()
        codes = [np.asarray(made[name]).astype(np.int64) for name in pair]
        rows = np.bincount(np.ravel_multi_index(codes, shape), minlength=math.prod(shape)).reshape(shape)
        draw = rng.multinomial(rows.sum(), law.ravel() / law.sum()).reshape(shape)
        found["two"].append(_variation(rows, law))
        found["two drawn"].append(_variation(draw, law))
        if pair[0] == pairs[0][0]:  # every other column once
            found["one"].append(_variation(rows.sum(0), law.sum(0)))
            found["one drawn"].append(_variation(draw.sum(0), law.sum(0)))
    return {name: round(float(np.mean(values)), 4) for name, values in found.items()} | {
        "worst pair": round(max(found["two"]), 4)
    }


def _variation(counts: np.ndarray, law: np.ndarray) -> float:
    return float(np.abs(counts / counts.sum() - law / law.sum()).sum() / 2)


def inside(tool: str, folder: Path) -> None:
    """In the tool's own environment: fit, draw, compare, print."""
    from protocol import Asked

    asked = Asked("", folder, 1.0, 1e-6, ROWS)
    sizes = {column["name"]: column["size"] for column in asked.domain}
    told: dict[str, float] = {}

    def check(model: Any, made: Any, merged: dict[str, int] | None = None, pairs: Any = None) -> None:
        told.update(compare(model, made, merged or sizes, pairs))

    script = __import__(TOOLS[tool][1])
    algorithm = {"dpmm-privbayes": "PrivBayes"}.get(tool, "MST")
    if tool == "opendp-mst-round":
        script.METHOD = "round"
    script.synthesise(asked._replace(algorithm=algorithm, check=check))
    print(json.dumps(told))


def run(told: argparse.Namespace) -> None:
    sys.path.insert(0, str(HERE.parent))
    from harness.peers import prepare
    from harness.tables import TABLES, split
    from peers.environments import interpreter

    table = TABLES[told.table]
    rows = table.load(told.data)
    schema = table.declare(rows)
    train, test = split(rows.select([column.name for column in schema.released]), 0)
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), train, test, schema)
        for tool in told.tools.split(","):
            python = interpreter(TOOLS[tool][0])
            words = [str(python), str(HERE / "samplers.py"), "inside", tool, folder]
            done = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ})
            if done.returncode:
                print(tool, (done.stderr.strip().splitlines() or ["was ended"])[-1])
                continue
            line = {"tool": tool, "table": told.table, **json.loads(done.stdout.strip().splitlines()[-1])}
            told.out.parent.mkdir(parents=True, exist_ok=True)
            with told.out.open("a") as log:
                log.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)


def table_of(lines: list[dict[str, Any]]) -> str:
    head = ["tool", "table", "one-way: rows", "drawing alone", "two-way: rows", "drawing alone", "worst pair"]
    text = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for line in lines:
        cells = [
            line["tool"],
            line["table"],
            *(f"{line[n]:.4f}" for n in ("one", "one drawn", "two", "two drawn", "worst pair")),
        ]
        text.append("| " + " | ".join(cells) + " |")
    return "\n".join(text)


def main() -> None:
    if sys.argv[1] == "inside":
        inside(sys.argv[2], Path(sys.argv[3]))
        return
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--data", type=Path, default=os.environ.get("GNOMON_DATA"))
    parser.add_argument("--tools", default=",".join(TOOLS))
    parser.add_argument("--table", default="adult")
    out = HERE.parent.parent / "docs" / "results" / "comparison" / "samplers.json"
    parser.add_argument("--out", type=Path, default=out)
    told = parser.parse_args()
    told.data = Path(told.data) if told.data else None
    if told.what == "show":
        print(table_of([json.loads(line) for line in told.out.read_text().splitlines()]))
    else:
        run(told)


if __name__ == "__main__":
    main()
