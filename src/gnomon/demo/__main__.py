"""python -m gnomon.demo [FOLDER]: make a release as a custodian would, and see what it is worth."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from importlib.resources import files
from pathlib import Path

from gnomon.cli import main as gnomon
from gnomon.commands.terminal import complain

EPSILON, DELTA = "1", "1e-5"  # pure privacy (delta = 0) works too, with more noise in 30 columns
ACCOUNT = "breast cancer"  # as schema.toml names the table
MARK = ".made-by-gnomon-demo"  # only a folder with this file in it is ever replaced


def main(folder: Path = Path("demo-release")) -> int:
    """Write real files, release one of them by the command line, compare; returns an exit code."""
    from gnomon.demo.compare import compare, write_tables

    if folder.exists() and not (folder / MARK).exists():
        complain(
            f"the folder {str(folder)!r} exists and is not the demo's; name another: python -m "
            "gnomon.demo FOLDER."
        )
        return 2
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / MARK).touch()

    private, held_out, schema, out = (
        folder / name for name in ("private.parquet", "held-out.parquet", "schema.toml", "release")
    )
    rows, tested = write_tables(private, held_out)
    schema.write_text(
        files("gnomon.demo").joinpath("schema.toml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    print(f"A hospital holds {private}: {rows} patients, 30 measures of their cells, and a diagnosis.")
    print(f"It declares what everyone may know in {schema}: names, bounds, the two diagnoses.\n")

    ledger = str(folder / "ledger.sqlite")
    steps = [
        ["budget", "cap", ACCOUNT, "--epsilon", "2", "--delta", "1e-4", "--ledger", ledger],
        [
            "release",
            str(private),
            "--schema",
            str(schema),
            "--epsilon",
            EPSILON,
            "--delta",
            DELTA,
            "--out",
            str(out),
            "--ledger",
            ledger,
        ],
    ]
    for step in steps:
        print(f"$ gnomon {shlex.join(map(str, step))}")
        code = gnomon(step)
        if code:
            return code
        print()

    print(f"What is it worth? Not for release: this looks at the real rows, {tested} of which were held out.")
    for line in compare(private, held_out, out):
        print(f"  {line}")
    print(f"\nNow open {out / 'report.html'} in a browser.")
    # in an environment that is not activated, as that of `make demo`, the command has a path
    command = "gnomon" if shutil.which("gnomon") else os.path.relpath(Path(sys.executable).parent / "gnomon")
    page = shlex.join([command, "serve", str(folder), "--ledger", ledger])
    print(f"The same journey in a page on this machine: {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
