"""Other tools as methods of the protocol: each in its own process and environment, with a limit of time and memory.

gnomon itself takes part in the same way (`gnomon`, `gnomon-add-remove`), so that seconds and megabytes are measured alike.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from peers.environments import interpreter

import gnomon as gn
from harness import bins, process

SCRIPTS = Path(__file__).resolve().parent.parent / "peers"
OWN = ""  # the environment that this program runs in
Adjacency = Literal["replace", "add/remove"]


@dataclass(frozen=True)
class Peer:
    """A tool's algorithm: its environment, its script in benchmarks/peers, what the script is told, what it promises."""

    environment: str
    script: str
    algorithm: str
    adjacency: Adjacency
    pure: bool = False


TOLD = ("rows_with_none",)  # what a tool may tell beside its cost
PEERS = {
    "gnomon": Peer(OWN, "gnomon_release.py", "synthesizer/replace-one", "replace"),
    "gnomon-add-remove": Peer(OWN, "gnomon_release.py", "synthesizer/add-remove", "add/remove"),
    "opendp-mst": Peer("opendp", "opendp_mbi.py", "MST", "add/remove"),
    "aim": Peer("dpmm", "aim.py", "AIM", "add/remove"),
    "aim-long": Peer("dpmm", "aim.py", "AIM/1000", "add/remove"),
    "dpmm-mst": Peer("dpmm", "dpmm_models.py", "MST", "add/remove"),
    "dpmm-aim": Peer("dpmm", "dpmm_models.py", "AIM", "add/remove"),
    "dpmm-privbayes": Peer("dpmm", "dpmm_models.py", "PrivBayes", "add/remove"),
    "dp-merf": Peer("torch", "dp_merf.py", "DP-MERF", "replace"),
    "tab-pe": Peer("torch", "tab_pe.py", "Tab-PE", "add/remove"),
    "smartnoise-dpctgan": Peer("smartnoise", "smartnoise_gan.py", "dpctgan", "add/remove"),
    "smartnoise-patectgan": Peer("smartnoise", "smartnoise_gan.py", "patectgan", "add/remove"),
    "opacus-dpgan": Peer("opacus", "opacus_gan.py", "dpgan", "add/remove"),
    "opacus-dp-cgan": Peer("opacus", "opacus_gan.py", "dp-cgan", "add/remove"),
    "diffprivlib": Peer("diffprivlib", "diffprivlib_direct.py", "direct", "replace", pure=True),
}


class PeerStoppedError(Exception):
    """A peer gave nothing: its limit was exceeded, it failed, or its environment is not there."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(f"{status}: {why}")
        self.status = status


def prepare(folder: Path, train: pa.Table, test: pa.Table, schema: gn.Schema) -> int:
    """What every peer may read: the table as codes, numbers and encoded rows, and the public domain.

    Returns the bins of a number, which the way back needs.
    """
    size = bins.of_table(train.num_rows)
    pq.write_table(train, folder / "train.parquet")
    schema.save(folder / "schema.toml")
    pq.write_table(bins.binned(train, schema, size), folder / "binned.parquet")
    pq.write_table(bins.numbers(train, schema), folder / "numbers.parquet")
    encoder = bins.Encoder(schema)
    missing = [*(group.indicator for group in encoder.groups), False]
    columns = [
        {"name": f"c{j}", "size": cut.size, "ordered": cut.ordered, "exact": cut.exact, "missing": missing[j]}
        for j, cut in enumerate(bins.cuts(schema, size))
    ]
    (folder / "domain.json").write_text(json.dumps(columns))
    for name, rows in (("train", train), ("test", test)):
        whole = rows.combine_chunks()
        np.savez(
            folder / f"{name}.npz", X=encoder.matrix(whole).astype(np.float32), y=encoder.encode_target(whole)
        )
    return size


@dataclass(frozen=True)
class Made:
    """Released rows (None for a tool that only predicts), predictions of the test rows, and what they cost."""

    rows: pa.Table | None
    predictions: dict[str, np.ndarray]
    cost: dict[str, Any]


def release(
    name: str,
    train: pa.Table,
    test: pa.Table,
    schema: gn.Schema,
    epsilon: float,
    delta: float,
    rows: int,
    seed: int,
) -> Made:
    """Run a peer once; raises `PeerStoppedError` where it gives nothing."""
    peer = PEERS[name]
    python = Path(sys.executable) if peer.environment == OWN else interpreter(peer.environment)
    if python is None:
        raise PeerStoppedError(
            "failed", "its environment is not installed (benchmarks/peers/environments.py)"
        )
    folder = Path(tempfile.mkdtemp(prefix="gnomon-peer-"))
    try:
        size = prepare(folder, train, test, schema)
        out = folder / "made.parquet"
        words = [peer.algorithm, str(folder), str(epsilon), str(delta), str(rows), str(out)]
        outcome = process.run([str(python), str(SCRIPTS / peer.script), *words])
        if outcome.status != "done":
            raise PeerStoppedError(outcome.status, outcome.why)
        cost = {"fit_cpu": round(outcome.told["cpu"], 2), "sample_cpu": 0.0}
        cost |= {"seconds": round(outcome.told["seconds"], 2), "peak_mb": round(outcome.told["peak_mb"])}
        cost |= {name: round(outcome.told[name], 4) for name in TOLD if name in outcome.told}
        if not out.is_file():
            return Made(None, dict(np.load(f"{out}.npz")), cost)
        made = pq.read_table(out)
        if peer.environment != OWN:
            made = bins.restored(made, schema, np.random.default_rng([24, seed]), size)
        return Made(made, {}, cost)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
