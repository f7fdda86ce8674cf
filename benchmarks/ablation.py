"""What each number of the synthesizer's `Tuning` is worth: every one at two other values, over all tables.

    python benchmarks/ablation.py run --data DIR [--out FILE] [--epsilon 1] [--fields NAME,...] [--minutes M]
    python benchmarks/ablation.py show [FILE]

The protocol is the quick tier of `utility.py`, released columns directly on real rows, one split of every table. The
chosen values are run four times, so that their own noise does not sit in every difference. Tables of fewer than 1,000
rows come last. A score below zero counts as zero: a linear model that meets a heavy tail can fall without bound, and
would hide all other tables. One line of JSON for each run; a line that is there is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
import warnings
from collections import defaultdict
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from harness.learners import QUICK
from harness.tables import TABLES
from utility import DELTA, RESULTS, Split, read

from gnomon.model.tuning import Tuning

REPEATS, SMALL = 4, 11  # the first tables of the protocol have fewer than 1,000 rows
OTHERS: dict[str, tuple[float, float]] = {
    "floor": (0.0, 1.8),
    "whitening": (0.0, 1.0),
    "class_coverage": (0.7, 0.97),
    "score_bound": (2.25, 3.5),
    "clear": (2.0, 4.0),
    "octaves": (6, 12),
    "label": (0.5, 1.0),
    "least": (0.005, 0.08),
}  # where half and twice the value make no sense


def variants() -> list[tuple[str, float]]:
    """Each field at half and at twice its value, or at two others."""
    found: list[tuple[str, float]] = [("", float(repeat)) for repeat in range(REPEATS)]
    for field in fields(Tuning):
        value = getattr(Tuning(), field.name)
        for other in OTHERS.get(field.name, (value / 2, value * 2)):
            found.append((field.name, type(value)(other)))
    return found


def run(told: argparse.Namespace) -> None:
    done = {(x["field"], x["value"], x["table"], x["epsilon"]) for x in read(told.out)}
    wanted = [v for v in variants() if not told.fields or v[0] in ("", *told.fields.split(","))]
    started = time.monotonic()
    names = list(TABLES)
    for name in names[SMALL:] + names[:SMALL]:
        missing = [v for v in wanted if (*v, name, told.epsilon) not in done]
        prepared = Split(TABLES[name], TABLES[name].load(told.data), 0) if missing else None
        for field, value in missing:
            if time.monotonic() - started > 60 * told.minutes:
                print("the time is over; the same command goes on from here")
                return
            assert prepared is not None
            tuning = replace(Tuning(), **{field: value}) if field else Tuning()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                line = prepared.measure("synthesizer", told.epsilon, DELTA, QUICK, tuning=tuning)
            scores = [max(score or 0.0, 0.0) for score in line["direct"].values()]
            key = {"field": field, "value": value, "table": name, "epsilon": told.epsilon}
            found = {"score": round(float(np.mean(scores)), 4), "two_way": line["tv"][1]}
            with told.out.open("a", encoding="utf-8") as log:
                log.write(json.dumps({**key, **found}, separators=(",", ":")) + "\n")
    print("nothing is left to run")


def show(lines: list[dict[str, Any]]) -> str:
    """A line for each variant: differences to the chosen value, by table, and over all of them."""
    scores: dict[tuple[str, float], dict[str, Any]] = defaultdict(dict)
    chosen: dict[str, list[Any]] = defaultdict(list)
    for x in lines:
        found = np.array([x["score"], x["two_way"]])
        if x["field"]:
            scores[x["field"], x["value"]][x["table"]] = found
        else:
            chosen[x["table"]].append(found)
    base = {table: np.mean(of, axis=0) for table, of in chosen.items()}
    small = list(TABLES)[:SMALL]
    page = [
        "| field | other | score, large tables | small tables | two-way, large tables | largest gain | largest loss |"
    ]
    page.append("|---|---|---|---|---|---|---|")
    for (field, value), of in scores.items():
        away = {table: found - base[table] for table, found in of.items()}
        large = {table: found for table, found in away.items() if table not in small}
        best, worst = (pick(large, key=lambda table: large[table][0]) for pick in (max, min))
        page.append(
            f"| {field} | {value:g} | {_interval(large, 0)} | "
            f"{_interval({table: away[table] for table in away if table in small}, 0)} | {_interval(large, 1)} | "
            f"{best} {large[best][0]:+.3f} | {worst} {large[worst][0]:+.3f} |"
        )
    return "\n".join(page)


def _interval(away: dict[str, Any], place: int) -> str:
    each = np.array([found[place] for found in away.values()])
    return f"{each.mean():+.3f} ± {2 * each.std() / math.sqrt(len(each)):.3f}" if len(each) else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    runs, shows = commands.add_parser("run"), commands.add_parser("show")
    runs.add_argument("--data", type=Path, default=os.environ.get("GNOMON_DATA"))
    runs.add_argument("--out", type=Path, default=RESULTS / "ablation.jsonl")
    runs.add_argument("--epsilon", type=float, default=1.0)
    runs.add_argument("--fields", help="names with commas between them; all by default")
    runs.add_argument("--minutes", type=float, default=math.inf)
    shows.add_argument("file", type=Path, nargs="?", default=RESULTS / "ablation.jsonl")
    told = parser.parse_args()
    if told.command == "run":
        told.data = Path(told.data) if told.data else None
        run(told)
    else:
        print(show(read(told.file)))


if __name__ == "__main__":
    main()
