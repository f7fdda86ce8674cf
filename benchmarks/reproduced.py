"""The summary of the papers' experiments, with every number from the trials that were run.

    python benchmarks/reproduced.py [--write]

Prints how far every experiment is. `--write` makes docs/results/reproduce.md from docs/results/reproduce/words.txt, where
a number stands as the place that it comes from, and puts that table at the end:

    {{EXPERIMENT|row|column|calibration|name|form}}   a cell's mean ± half of its 95% interval over trials
    {{mean EXPERIMENT|column|calibration|name|form}}  the mean over the seven tables of DPRP
    {{range EXPERIMENT|column|calibration|name|form}} the smallest and the largest of them
    {{ahead EXPERIMENT|column|larger or smaller|row|name|row}}  is the last row better than the first, by Welch's interval
    {{ratio EXPERIMENT|row|column|form|root}}         the printed noise's mean over the sound one's, or that ratio's root
    {{trials EXPERIMENT}}, {{own EXPERIMENT}}         how many trials its lines have, and the synthesizer's
    {{gans EXPERIMENT|metric|column|column}}          on how many tables, and epsilons, DPRP is above both GANs as run
    {{attack column|calibration}}                     the smallest and the largest of Figure 2's epsilons
    {{alike calibration}}                             where its attack answers alike for all rows, and so shows nothing
    {{holds yes}}, {{holds all}}                      how many claims of the page's table hold, and how many there are

`name` is that of one number of a cell, or max, min, argmax, argmin over a sweep. `form` is as in Python (.3f), with
"only" before it where no interval is wanted, and percent for shares.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
from scipy.stats import ttest_ind

from gnomon.evaluation.measure import Measure
from gnomon.reproduce import dprp_printed as printed
from gnomon.reproduce import experiments
from gnomon.reproduce import ron_gauss_attack as figure2
from gnomon.reproduce.dprp import better_gan
from gnomon.reproduce.dprp_gans import GANS
from gnomon.reproduce.results import FILE, Journal, Results

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
OUT = RESULTS / "reproduce"
OURS = "synthesizer"
METRICS = ("accuracy", "AUPRC")
VERDICTS = ("yes", "in part", "no", "open")
ALIKE = 5.0  # per cent of rows that an attack has to tell from the others
CONTINUE = """## How to continue

With `--data DIR --out docs/results/reproduce`. Seconds are of one processor, all lines together. Slow lines have
fewer trials: `--only PART` and `--without PART` choose lines by name, so that these do not hold back the others.
RON-Gauss's Figures 2 and 3 have the clock of a busy machine, several times too high."""


@cache
def results(name: str) -> Results:
    """What was measured, without the cells that say how."""
    found = Results(experiments()[name], OUT, [])
    for record in Journal(OUT / name) if (OUT / name / FILE).is_file() else ():
        found.add(record)
    return found


def numbers(name: str, row: str, column: str, calibration: str) -> dict[str, Measure]:
    """The numbers of a cell by name; one without names has the name ''."""
    of, key = results(name), (row, column, calibration)
    found = {part: of.measure(*key, part or None) for part in of.names(key) or [""]}
    known = {part: measure for part, measure in found.items() if measure is not None}
    if not known:
        raise SystemExit(f"{name} has no trial of {' | '.join(key)}.")
    return known


def said(measure: Measure, form: str) -> str:
    """A mean with its interval, in a form."""
    *words, digits = form.split() or [""]
    digits = digits if digits.startswith(".") else ".3g"
    times = 100.0 if "percent" in words else 1.0
    interval = measure.interval if len(measure.values) > 1 and "only" not in words else None
    text = f"{times * measure.mean:{digits}}"
    return text if interval is None else f"{text} ± {times * (interval[1] - interval[0]) / 2:{digits}}"


def cell(name: str, row: str, column: str, calibration: str, part: str = "", form: str = "") -> str:
    known = numbers(name, row, column, calibration)
    if part in ("max", "min", "argmax", "argmin"):
        best = (max if part.endswith("max") else min)(known, key=lambda one: known[one].mean)
        return best if part.startswith("arg") else said(known[best], form)
    if part not in known:
        raise SystemExit(f"{name} has no number {part!r} in {row} | {column} | {calibration}.")
    return said(known[part], form)


def over_tables(name: str, column: str, calibration: str, part: str, after: str = "") -> list[float]:
    """The means of a number for each of DPRP's tables; `after` is what follows a table's name in its row."""
    return [
        numbers(name, f"{table}{after}", column, calibration)[part].mean for table in printed.NAMES.values()
    ]


def average(name: str, column: str, calibration: str, part: str, form: str = ".2f", after: str = "") -> str:
    values = over_tables(name, column, calibration, part, after)
    return f"{sum(values) / len(values):{form}}"


def extent(name: str, column: str, calibration: str, part: str, form: str = ".1f", after: str = "") -> str:
    values = over_tables(name, column, calibration, part, after)
    return f"{min(values):{form}} to {max(values):{form}}"


def ahead(name: str, column: str, better: str, theirs: str, part: str, ours: str) -> str:
    """Whether our mean differs from theirs by more than 95% of chance, trials taken as independent (Welch)."""
    known = numbers(name, theirs, column, "sound")
    if part in ("max", "min"):
        part = (max if part == "max" else min)(known, key=lambda one: known[one].mean)
    values = [known[part].values, numbers(name, ours, column, "sound")[""].values]
    a, b = (np.array(of, dtype=np.float64).ravel() for of in values)
    if min(len(a), len(b)) < 2:
        return "one trial"
    if float(ttest_ind(a, b, equal_var=False).pvalue) > 0.05:
        return "level"
    return "ahead" if (b.mean() > a.mean()) == (better == "larger") else "**behind**"


def table2(what: str) -> str:
    """What is counted over the 35 pairs of a table and an epsilon of DPRP's Table 2."""
    pairs = [(f, n, p, e) for f, n in printed.NAMES.items() for p, e in enumerate(printed.EPSILONS)]
    gans = [better_gan(folder, place) for folder, _, place, _ in pairs]

    def scores(after: str, calibration: str) -> list[dict[str, float]]:
        cells = [numbers("dprp-table2", f"{n}{after}", f"epsilon {e}", calibration) for _, n, _, e in pairs]
        return [{part: cell[part].mean for part in METRICS} for cell in cells]

    if what == "GANs below the most frequent class":
        often = "most frequent class, accuracy"
        floors = [numbers("dprp-table2", name, "no privacy", "none")[often].mean for _, name, _, _ in pairs]
        return str(sum(gan["accuracy"] < floor for gan, floor in zip(gans, floors, strict=True)))
    if what == OURS:
        ours, others = scores(f", {OURS}", "sound"), scores("", "sound")
        return str(sum(a["accuracy"] > b["accuracy"] for a, b in zip(ours, others, strict=True)))
    if what == f"{OURS} gap":  # over the trials that both have
        kept = results("dprp-table2").records
        both = [
            (
                kept.get(((f"{n}, {OURS}", f"epsilon {e}", "sound"), t)),
                kept.get(((n, f"epsilon {e}", "sound"), t)),
            )
            for _, n, _, e in pairs
            for t in range(experiments()["dprp-table2"].trials)
        ]
        found = [a.value["accuracy"] - b.value["accuracy"] for a, b in both if a and b]  # type: ignore[index]
        return f"{np.mean(found):+.3f}"
    *words, calibration = what.split()
    mine = scores("", calibration)
    if words:  # beside print
        gaps = [a["accuracy"] - printed.DPRP[f][p][0] for (f, _, p, _), a in zip(pairs, mine, strict=True)]
        return f"{abs(np.mean(gaps)):.2f} {'higher' if np.mean(gaps) > 0 else 'lower'}"
    return str(sum(all(a[m] > gan[m] for m in METRICS) for a, gan in zip(mine, gans, strict=True)))


def gans(experiment: str, metric: str, *columns: str) -> str:
    """On how many pairs of a table and a column DPRP's mean is above those of both GANs, as they were run.

    `columns` are DPRP's and the GANs', where these have names of their own; all epsilons by default.
    """
    pairs = [columns] if columns else [(f"epsilon {e}",) * 2 for e in printed.EPSILONS]
    above = 0
    for ours, theirs in pairs:
        rows = [over_tables(experiment, ours, "sound", metric, ", DPRP")]
        rows += [over_tables(experiment, theirs, "sound", metric, f", {gan}") for gan in GANS]
        above += sum(mine > max(others) for mine, *others in zip(*rows, strict=True))
    return str(above)


def ratio(name: str, row: str, column: str, form: str, root: str = "1") -> str:
    """How many times larger the mean is with the printed noise than with the sound one; of errors that grow with a power
    of the noise, that root is a ratio of noise.
    """
    paper, sound = (numbers(name, row, column, calibration)[""].mean for calibration in ("paper", "sound"))
    return f"{(paper / sound) ** (1 / float(root)):{form}}"


def attacks(column: str, calibration: str) -> list[tuple[float, float]]:
    """RON-Gauss's Figure 2: every epsilon with its percentage."""
    rows = [(e, f"RON-Gauss, epsilon = {e:g}") for e in figure2.EPSILONS]
    return [(e, numbers("ron-gauss-figure2", row, column, calibration)[""].mean) for e, row in rows]


def attack(column: str, calibration: str) -> str:
    values = [value for _, value in attacks(column, calibration)]
    return f"{min(values):.1f} to {max(values):.1f}"


def alike(calibration: str) -> str:
    """The epsilons at which the paper's attack calls nearly all rows members, or nearly none."""
    called = attacks(figure2.CALLED, calibration)
    found = [f"{e:g}" for e, share in called if min(share, 100 - share) <= ALIKE]
    return ", ".join(found) or "none"


def holds(word: str) -> str:
    """How many claims of the table have this word first in their column."""
    verdicts = [
        line.split(" | ")[4].split("**")[1]
        for line in (OUT / "words.txt").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and len(line.split(" | ")) == 6 and "**" in line.split(" | ")[4]
    ]
    verdicts = [verdict for verdict in verdicts if verdict in VERDICTS]
    return str(len(verdicts) if word == "all" else sum(verdict == word for verdict in verdicts))


def counts(name: str) -> tuple[list[int], list[int]]:
    """Trials of the lines of others and of the synthesizer's."""
    found: dict[tuple[str, str, str], int] = defaultdict(int)
    for (key, _), record in results(name).records.items():
        found[key] += record.error is None
    mine = [n for key, n in found.items() if OURS in key[0].lower()]
    return [n for key, n in found.items() if OURS not in key[0].lower()], mine


def between(of: list[int]) -> str:
    if not of:
        return "0"
    return f"{min(of):,}" if min(of) == max(of) else f"{min(of):,} to {max(of):,}"


def trials(name: str) -> str:
    return between(counts(name)[0])


def own_trials(name: str) -> str:
    return between(counts(name)[1])


def filled(text: str) -> str:
    """The words with their numbers."""

    def number(match: re.Match[str]) -> str:
        word, _, rest = match[1].partition(" ")
        kinds = {
            "mean": average,
            "range": extent,
            "ahead": ahead,
            "trials": trials,
            "own": own_trials,
            "table2": table2,
            "ratio": ratio,
            "gans": gans,
            "attack": attack,
            "alike": alike,
            "holds": holds,
        }
        if word in kinds:
            return kinds[word](*rest.split("|"))
        return cell(*match[1].split("|"))

    return re.sub(r"\{\{(.+?)\}\}", number, text)


def table() -> str:
    head = (
        "experiment",
        "trials of its lines",
        "the synthesizer's",
        "paper's",
        "seconds a trial",
        "minutes to the paper's",
        "command",
    )
    text = ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
    for name, experiment in experiments().items():
        spent: dict[tuple[str, str, str], list[float]] = defaultdict(list)
        for (key, _), record in results(name).records.items():
            if record.error is None:
                spent[key].append(record.seconds)
        left = sum(max(experiment.trials - len(of), 0) * sum(of) / len(of) for of in spent.values()) / 60
        each = sum(sum(of) / len(of) for of in spent.values())
        told = (f"{each:.1f}", f"{left:.0f}") if spent else ("not run here", "–")
        command = f"`gnomon reproduce {name} --trials {experiment.trials}`"
        text.append(
            "| "
            + " | ".join((name, trials(name), own_trials(name), str(experiment.trials), *told, command))
            + " |"
        )
    return "\n".join(text)


def fewer() -> str:
    """The experiments of which some line, not the synthesizer's, has less than half of the paper's trials."""
    least = {name: min(counts(name)[0], default=0) for name in experiments()}
    found = [f"{name} ({least[name]})" for name, of in experiments().items() if 2 * least[name] < of.trials]
    return ", ".join(found) or "none"


def page() -> str:
    words = filled((OUT / "words.txt").read_text(encoding="utf-8")).rstrip()
    half = f"Less than half of the paper's trials, the synthesizer's own lines aside, have {fewer()}."
    return f"{words}\n\n{CONTINUE}\n\n{half}\n\n{table()}\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true")
    told = parser.parse_args()
    if told.write:
        (RESULTS / "reproduce.md").write_text(page(), encoding="utf-8")
    print(table())


if __name__ == "__main__":
    main()
