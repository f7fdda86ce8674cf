"""How far every experiment of the papers is, and what its missing trials would take: the last table of the summary page.

    python benchmarks/reproduced.py [--out docs/results/reproduce] [--write]

Reads trials.jsonl of every experiment. `--write` puts the table below its heading in docs/results/reproduce.md.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

from gnomon.reproduce import experiments
from gnomon.reproduce.results import FILE, Journal

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
HEADING = "## How to continue"


def table(out: Path) -> str:
    head = ("experiment", "trials", "paper's", "seconds a trial", "minutes to the paper's", "command")
    text = ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
    for name, experiment in experiments().items():
        spent: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for record in Journal(out / name) if (out / name / FILE).is_file() else ():
            if record.error is None:
                spent[record.key].append(record.seconds)
        done = max((len(seconds) for seconds in spent.values()), default=0)
        each = sum(sum(seconds) / len(seconds) for seconds in spent.values())
        left = max(experiment.trials - done, 0) * each / 60
        told = (f"{each:.1f}", f"{left:.0f}") if done else ("not run here", "–")
        command = f"`gnomon reproduce {name} --trials {experiment.trials}`"
        text.append("| " + " | ".join((name, str(done), str(experiment.trials), *told, command)) + " |")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS / "reproduce")
    parser.add_argument("--write", action="store_true")
    told = parser.parse_args()
    made = table(told.out)
    print(made)
    if told.write:
        page = RESULTS / "reproduce.md"
        text = page.read_text(encoding="utf-8")
        before = text[: text.index(HEADING)].rstrip() + "\n\n" if HEADING in text else text.rstrip() + "\n\n"
        words = (
            f"{HEADING}\n\nWith `--data DIR --out docs/results/reproduce`; seconds are those of the runs here, beside "
            "other work on two cores. Where none are listed, a page's figures are of an earlier run whose lines were not "
            "kept, and the command begins again.\n\n"
        )
        page.write_text(before + words + made + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
