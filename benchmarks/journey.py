"""The whole journey on five real tables, as a stranger would walk it: `python benchmarks/journey.py --data DIR --out FILE`.

Every command is the real `gnomon` program in a process of its own. The page lists, for each table, the lines that were
edited between `init` and the first release, seconds, what was said about the release, errors met, and every message in
full, in files beside the page. Kinds and bounds are public knowledge: those of the papers' schemas, and for KDD those of
its published description.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import json
import os
import pickle
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from gnomon.table.schema import Schema

SCHEMAS = Path(__file__).parents[1] / "src/gnomon/reproduce/schemas"
ROWS = ["--rows", "3000"]  # that an evaluation trains and tests on, so that the walk takes minutes
Edit = tuple[str, str]


@dataclass
class Table:
    """What a stranger has: a file, perhaps a codebook, and what they know."""

    title: str
    file: Path
    codebook: Path | None
    changes: list[Edit]
    budget: list[str]
    columns: int
    rows: int


@dataclass
class Walk:
    """One table's journey: every command with its code, its time and its lines."""

    table: Table
    edits: int = 0
    steps: list[tuple[str, int, float, list[str]]] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        return [lines[-1] for _, code, _, lines in self.steps if code != 0 and lines]

    @property
    def verdicts(self) -> str:
        """What the release says of itself, without the names of columns."""
        said = next((line for line in self.lines("release") if line.startswith("How good")), "")
        parts = said.removeprefix("How good it is: ").split(". ")
        return ". ".join(part.rstrip(".") for part in parts if not part.startswith(("Weak:", "Lost:")))

    def seconds(self, *commands: str) -> float:
        return sum(s for said, _, s, _ in self.steps if said.split()[1] in commands)

    def lines(self, command: str) -> list[str]:
        return [
            line for said, _, _, lines in self.steps if said.startswith(f"gnomon {command}") for line in lines
        ]


def declared(name: str) -> Schema:
    return Schema.loads((SCHEMAS / f"{name}.toml").read_text(encoding="utf-8"))


def edits(before: str, after: str) -> int:
    """Lines that were changed, added or removed."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    return sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")


def csv_codebook(rows: Sequence[Sequence[Any]], path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["variable", "type", "min", "max", "values"], *rows])
    return path


def book_of(schema: Schema, path: Path) -> Path:
    def line(column: Any) -> list[Any]:
        kind = "integer" if column.integer else column.kind
        bounds = ["" if bound is None else bound for bound in (column.low, column.high)]
        return [column.name, kind, *bounds, "|".join(map(str, column.values))]

    return csv_codebook([line(column) for column in schema.columns], path)


def target(name: str, kind: str = "category") -> Edit:
    return (f'[columns.{name}]\nkind = "{kind}"', f'[columns.{name}]\nkind = "{kind}"\nrole = "target"')


MISSING = ('# missing = "indicator"', 'missing = "indicator"')


def cervical(data: Path, place: Path) -> Table:
    """With keys, dates and remarks added, as a ward keeps it."""
    table = pq.read_table(data / "cervical_cancer_risk/data.parquet")
    n = table.num_rows
    days = [date(2012, 1, 1) + timedelta(days=(37 * i) % 900) for i in range(n)]
    table = table.append_column("patient id", pa.array([f"P{i:05d}" for i in range(n)]))
    table = table.append_column("seen", pa.array(days))
    table = table.append_column("remarks", pa.array([f"came with her sister, case {i}" for i in range(n)]))
    file = place / "cervical.parquet"
    pq.write_table(table, file)
    book = book_of(declared("cervical_cancer_risk"), place / "book.csv")
    seen = ('kind = "date"\n# low = \n# high =', 'kind = "date"\nlow = 2010-01-01\nhigh = 2020-01-01 #')
    changes = [MISSING, target("Biopsy"), seen]
    return Table(
        "Cervical cancer, with keys, dates and remarks", file, book, changes, ["--epsilon", "1"], 39, n
    )


EDUCATION = [
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
]


def adult(data: Path, place: Path) -> Table:
    """As a German office exports it: semicolons, cp1252; a Frictionless schema; two rules that everybody knows."""
    table = pq.read_table(data / "adult/data.parquet").drop_columns(["split", "complete"])
    plain, file = place / "comma.csv", place / "adult.csv"
    pyarrow.csv.write_csv(table, plain)
    with (
        plain.open(encoding="utf-8", newline="") as source,
        file.open("w", encoding="cp1252", newline="") as out,
    ):
        csv.writer(out, delimiter=";").writerows(csv.reader(source))
    text = (SCHEMAS / "adult.toml").read_text(encoding="utf-8")
    schema = Schema.loads(text.replace('"Without-pay",', '"Without-pay", "Never-worked",'))
    fields = []
    for column in schema.columns:
        kind = {"number": "integer" if column.integer else "number", "category": "string"}.get(
            column.kind, column.kind
        )
        rules: dict[str, Any] = {} if column.low is None else {"minimum": column.low, "maximum": column.high}
        rules |= {"enum": list(column.values)} if column.values else {}
        fields.append({"name": column.name, "type": kind, "constraints": rules})
    book = place / "schema.json"
    book.write_text(json.dumps({"fields": fields}))
    by = ", ".join(f'"{name}" = {number}' for number, name in enumerate(EDUCATION, 1))
    known = (
        '[[rules]]\nif = { relationship = "Husband" }\nthen = { sex = "Male" }\n\n'
        '[[rules]]\nif = { relationship = "Wife" }\nthen = { sex = "Female" }\n\n'
        f'[[rules]]\ndetermines = ["education", "education-num"]\nby = {{ {by} }}\n'
    )
    changes = [MISSING, target("income"), ("[defaults]", f"{known}\n[defaults]")]
    return Table(
        "Adult, as semicolon CSV in cp1252", file, book, changes, ["--epsilon", "1"], 15, table.num_rows
    )


def kdd(data: Path, place: Path) -> Table:
    """Half a million connections; the published description has kinds, lists of services and labels, and ranges."""
    table = pq.read_table(data / "kddcup99_10pct/data.parquet")
    file = place / "kdd.parquet"
    pq.write_table(table, file)
    large = {
        "duration": 60000,
        "src_bytes": 2**31,
        "dst_bytes": 2**31,
        "num_compromised": 10000,
        "num_root": 10000,
    }
    lines = []
    for column in table.schema:
        name = column.name
        if pa.types.is_large_string(column.type):  # the lists of the published description
            values = sorted(set(table[name].to_pylist()))
            lines.append([name, "category", "", "", "|".join(values)])
        elif name.endswith("_rate"):
            lines.append([name, "number", 0, 1, ""])
        elif name in ("land", "logged_in", "root_shell", "is_host_login", "is_guest_login"):
            lines.append([name, "boolean", "", "", ""])
        else:
            most = large.get(name, 511 if name in ("count", "srv_count") else 255)
            lines.append([name, "integer", 0, most, ""])
    book = csv_codebook(lines, place / "book.csv")
    log = [
        (f'[columns.{name}]\nkind = "number"\n', f'[columns.{name}]\nkind = "number"\nlog = true\n')
        for name in ("duration", "src_bytes", "dst_bytes")
    ]
    changes = [*log, target("label")]
    return Table("KDD Cup 1999, 10%", file, book, changes, ["--epsilon", "1"], 42, table.num_rows)


def hcc(data: Path, place: Path) -> Table:
    """A workbook with a tenth of its cells empty."""
    import openpyxl

    table = pq.read_table(data / "hcc_survival/data.parquet")
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    sheet.append(table.column_names)
    for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
        sheet.append([None if cell != cell else cell for cell in row])
    file = place / "hcc.xlsx"
    book.save(file)
    described = book_of(declared("hcc_survival"), place / "book.csv")
    changes = [MISSING, target("survived")]
    return Table(
        "HCC survival, a workbook with 10% missing", file, described, changes, ["--epsilon", "1"], 50, 165
    )


def lab(data: Path, place: Path) -> Table:
    """Thirty measurements of biopsies, as tab-separated text with decimal commas, compressed."""
    import gzip

    table = pq.read_table(data / "breast_cancer_wisconsin_diagnostic/data.parquet")
    file = place / "lab.tsv.gz"
    with gzip.open(file, "wt", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, delimiter="\t")
        writer.writerow(table.column_names)
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            writer.writerow(
                [str(cell).replace(".", ",") if isinstance(cell, float) else cell for cell in row]
            )
    book = book_of(declared("breast_cancer_wisconsin_diagnostic"), place / "book.csv")
    kind = declared("breast_cancer_wisconsin_diagnostic").columns[-1]
    changes = [target(kind.name, kind.kind)]
    return Table("A laboratory's table: 30 measurements, .tsv.gz, decimal commas", file, book, changes,
                 ["--epsilon", "1"], table.num_columns, table.num_rows)  # fmt: skip


TABLES: dict[str, Callable[[Path, Path], Table]] = {
    "cervical": cervical, "adult": adult, "kdd": kdd, "hcc": hcc, "lab": lab,
}  # fmt: skip


def _cpu() -> float:
    """Processor seconds of all commands so far: the machine may be shared."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def walk(table: Table, place: Path) -> Walk:
    """From the file to an evaluation; the first check and the first release come too early, as they do for people."""
    found = Walk(table)
    env = {**os.environ, "GNOMON_LEDGER": str(place / "ledger.sqlite"), "COLUMNS": "120"}
    file, name = table.file.name, table.file.name.split(".")[0]

    def run(*command: str) -> int:
        began, used = time.perf_counter(), _cpu()
        program = [sys.executable, "-m", "gnomon.cli", *command]
        done = subprocess.run(program, cwd=place, env=env, capture_output=True, text=True, check=False)
        said = (line.rstrip() for line in (done.stdout + done.stderr).splitlines() if line.strip())
        lines = [line for line in said if not re.match(r"gnomon: (pass \d|training)", line)]  # progress
        shown = "gnomon " + " ".join(command)
        found.steps.append((shown, done.returncode, _cpu() - used, lines))
        wall = time.perf_counter() - began
        print(f"{shown}: {done.returncode}, {_cpu() - used:.1f} of {wall:.1f} s", file=sys.stderr, flush=True)
        return done.returncode

    book = [] if table.codebook is None else ["--codebook", table.codebook.name]
    run("init", file, *book, "--out", "schema.toml")
    run("check", file, "--schema", "schema.toml")
    schema = place / "schema.toml"
    before = after = schema.read_text(encoding="utf-8")
    for old, new in table.changes:
        if after.count(old) != 1:
            raise SystemExit(f"{table.title}: the draft has {after.count(old)} times {old!r}\n{after}")
        after = after.replace(old, new)
    found.edits = edits(before, after)
    schema.write_text(after, encoding="utf-8")
    run("check", file, "--schema", "schema.toml")
    run("plan", "--schema", "schema.toml", "--rows", str(table.rows), *table.budget)
    run("budget", "cap", name, "--epsilon", "2", "--delta", "1e-5")
    run("release", file, "--schema", "schema.toml", *table.budget, "--holdout", "0.2", "--out", "release")
    if not (place / "release").exists():  # refused as useless: a stranger asks for more
        run(
            "release",
            file,
            "--schema",
            "schema.toml",
            "--epsilon",
            "2",
            "--holdout",
            "0.2",
            "--out",
            "release",
        )
    if (place / "release").exists():
        run("verify", "release")
        run("evaluate", "--release", "release", "--out", "worth", "--trials", "3", *ROWS, "--seed", "0")
        run("sample", "release", "--rows", "100", "--out", "more.csv")
        run("release", file, "--schema", "schema.toml", "--epsilon", "5", "--out", "again")  # past the cap
    run("budget", "show", name)
    return found


# what the rules do on Adult


def rules_on_adult(place: Path) -> list[str]:
    """Rows of one model before and after they were made to keep the rules, and what models learn from either."""
    import gnomon as gn
    from gnomon.evaluation.classify import MODELS, score
    from gnomon.evaluation.limits import Limits
    from gnomon.evaluation.sides import _encoded
    from gnomon.release.holdout import holdout_of
    from gnomon.table.encode import Encoder

    opened = gn.open_release(place / "release", replay=False)
    schema = opened.schema
    kept = holdout_of(place / "release")
    assert kept is not None
    encoder = Encoder(schema)
    test = pa.Table.from_batches(list(kept.source(schema, held=True).batches(encoder.columns)))
    limits, rng = Limits(), np.random.default_rng(0)
    tested = _encoded(
        test.take(rng.choice(test.num_rows, 5000, replace=False)), Encoder(schema.as_released())
    )
    bare = Encoder(schema._with(rules=()))
    model, ruled = opened.model, opened.model.encoder_
    numbers = dict(zip(EDUCATION, range(1, 17), strict=True))
    found: dict[str, list[list[float]]] = {"before": [], "after": []}
    broken: dict[str, list[list[float]]] = {"before": [], "after": []}
    for seed in range(5):
        for side, used in (("before", bare), ("after", ruled)):
            model.encoder_ = used
            table = model.sample(5000, random_state=seed)
            rows = table.to_pylist()
            husbands = [row for row in rows if row["relationship"] == "Husband"]
            both = [row for row in rows if None not in (row["education"], row["education-num"])]
            wrong = [numbers[row["education"]] != row["education-num"] for row in both]
            broken[side].append([np.mean([row["sex"] == "Female" for row in husbands]), np.mean(wrong)])
            trained = _encoded(table, Encoder(schema.as_released()))
            scores = [score(name, trained, tested, limits, np.random.default_rng(seed)) for name in MODELS]
            found[side].append([s[metric] for s in scores for metric in ("accuracy", "AUROC")])
    lines = ["| | husbands who are female | education against its number | "
             + " | ".join(f"{name} {metric}" for name in MODELS for metric in ("accuracy", "AUROC")) + " |",
             "|---" * (3 + 2 * len(MODELS)) + "|"]  # fmt: skip
    for side in ("before", "after"):
        shares = [f"{100 * value:.1f}%" for value in np.mean(broken[side], axis=0)]
        means, errors = np.mean(found[side], axis=0), np.std(found[side], axis=0, ddof=1)
        scored = [f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True)]
        lines.append(f"| {side} | {' | '.join([*shares, *scored])} |")
    return lines


# the page


def page(walks: dict[str, Walk], rules: list[str], command: str) -> str:
    spent = {name: one.seconds("init", "check", "plan", "budget", "release") for name, one in walks.items()}
    few, many = min(one.edits for one in walks.values()), max(one.edits for one in walks.values())
    lines = [
        "# The journey of a custodian",
        "",
        f"From a file to a release takes {few} to {many} edits of the drafted schema and {min(spent.values()):.0f} to "
        f"{max(spent.values()):.0f} seconds of processor time, on {len(walks)} tables as people have them.",
        "",
        "| table | rows x columns | edits | seconds, init to release | seconds, evaluate | verdicts | transcript |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in walks.items():
        lines.append(
            f"| {one.table.title} | {one.table.rows:,} x {one.table.columns} | {one.edits} | {spent[name]:.0f} | "
            f"{one.seconds('evaluate'):.0f} | {one.verdicts} | [{name}](journey/{name}.txt) |"
        )
    lines += [
        "",
        "![Edits and seconds by table](journey.png)",
        "",
        "- **Edits** are lines of the draft that were changed, added or removed.",
        "- **Seconds** are those of processors. Each command is a process of its own.",
        "- **A transcript** has every command of the walk, its exit code and all that it printed.",
        "",
        "## What the release is worth",
        "",
        "The first sentence of `gnomon evaluate`, on rows that `--holdout 0.2` kept back.",
        "",
        "| table | evaluation |",
        "|---|---|",
    ]
    for one in walks.values():
        lines.append(f"| {one.table.title} | {' '.join(one.lines('evaluate')[:1])} |")
    lines += [
        "",
        "## What was refused",
        "",
        "Each walk ends with a try to overspend its budget, which is refused with exit code 3.",
        "",
        "| table | refusals, in order |",
        "|---|---|",
    ]
    for one in walks.values():
        lines.append(
            f"| {one.table.title} | {'<br>'.join(error.removeprefix('gnomon: ') for error in one.errors)} |"
        )
    if rules:
        lines += ["", "## Rules on Adult", "",
                  "Rows of one model before and after they were made to keep three rules. Models are tested on 5,000 rows "
                  "that were kept back.", "The spread is over five draws of 5,000 rows.", "", *rules]  # fmt: skip
    lines += ["", "## Made by", "", "```text", command, "```", ""]
    lines += ["One run on one core, by the program `gnomon` alone."]
    return "\n".join(line.rstrip() for line in lines).rstrip() + "\n"


def transcript(one: Walk) -> str:
    """Every command of a walk, with all that it said."""
    lines = []
    for command, code, seconds, spoken in one.steps:
        lines += [
            f"$ {command}    # exit code {code}, {seconds:.1f} s",
            *(line.rstrip() for line in spoken),
            "",
        ]
    return "\n".join(lines)


def _walked(name: str, data: Path) -> tuple[Walk, list[str]]:
    """One table's journey, and for Adult what its rules do."""
    with tempfile.TemporaryDirectory(prefix="journey-") as folder:
        place = Path(folder)
        found = walk(TABLES[name](data, place), place)
        ruled = name == "adult" and (place / "release").exists()
        return found, rules_on_adult(place) if ruled else []


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--data", type=Path, default=os.environ.get("GNOMON_DATA"), required=not os.environ.get("GNOMON_DATA")
    )
    options.add_argument("--out", type=Path, default=Path("docs/results/journey.md"))
    options.add_argument("--only", nargs="*", default=list(TABLES), choices=list(TABLES))
    options.add_argument("--kept", type=Path, help="a folder for finished tables, by which a run goes on")
    asked = options.parse_args()
    walks, rules = {}, []
    for name in asked.only:
        kept = None if asked.kept is None else asked.kept / f"{name}.pickle"
        if kept is not None and kept.exists():
            walked, said = pickle.loads(kept.read_bytes())
        else:
            walked, said = _walked(name, Path(asked.data))
            if kept is not None:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(pickle.dumps((walked, said)))
        walks[name] = walked
        rules += said
    asked.out.write_text(page(walks, rules, "python benchmarks/journey.py --data DIR"), encoding="utf-8")
    folder = asked.out.with_suffix("")
    folder.mkdir(exist_ok=True)
    for name, walked in walks.items():
        (folder / f"{name}.txt").write_text(transcript(walked), encoding="utf-8")


if __name__ == "__main__":
    main()
