"""DPPro's Figure 4 beside a PrivBayes that can be run today: total variation of Adult's one-way marginals.

python benchmarks/dppro_privbayes.py --data DIR [--runs 3] [--epsilons 0.2 1]

PrivBayes is dpmm's, in its own environment (benchmarks/peers/environments.py dpmm), with the same columns, bins and delta.
Its guarantee is for whole records, DPPro's for one attribute of a record, which is the weaker promise.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from gnomon.reproduce.dppro import DELTA
from gnomon.reproduce.dppro_adult import categories, total_variation
from gnomon.table.encode import Encoder

PEERS = Path(__file__).parent / "peers"


def privbayes(data: Path, epsilon: float, python: Path) -> float:
    """One release of Adult by PrivBayes; the total variation of its marginals."""
    table, schema = categories(data)
    names = {column.name: f"c{j}" for j, column in enumerate(schema.columns)}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        pq.write_table(table.rename_columns(list(names.values())), folder / "binned.parquet")
        domain = [
            {"name": names[c.name], "size": len(c.values), "ordered": False, "exact": True}
            for c in schema.columns
        ]
        (folder / "domain.json").write_text(json.dumps(domain))
        asked = ["PrivBayes", folder, epsilon, DELTA, table.num_rows, folder / "out.parquet"]
        command = [str(python), str(PEERS / "dpmm_models.py"), *map(str, asked)]
        subprocess.run(command, check=True, capture_output=True)
        found = pq.read_table(folder / "out.parquet").rename_columns(list(names))
    return total_variation(data, Encoder(schema).encode(found).X.mean(axis=0))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilons", type=float, nargs="*", default=[0.2, 1.0])
    options = parser.parse_args(argv)
    sys.path.insert(0, str(PEERS))
    from environments import interpreter

    python = interpreter("dpmm")
    if python is None:
        print(
            "PrivBayes needs its environment: python benchmarks/peers/environments.py dpmm", file=sys.stderr
        )
        return 2
    for epsilon in options.epsilons:
        found = [privbayes(options.data, epsilon, python) for _ in range(options.runs)]
        print(
            f"epsilon {epsilon:g}: {np.mean(found):.4f} (runs {', '.join(f'{x:.4f}' for x in found)})",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
