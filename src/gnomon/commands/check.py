"""gnomon check: what the schema lacks and which cells do not fit it; for the custodian's eyes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gnomon.commands.options import Database, DataOrDatabase, SchemaFile, SqlQuery, SqlTable, Target, opened
from gnomon.commands.terminal import Watch, console, facts, printable, say
from gnomon.errors import DataError, SchemaError

if TYPE_CHECKING:
    from gnomon.table.check import CheckReport

NAME = "check"


def run(
    schema: SchemaFile,
    data: DataOrDatabase = None,
    target: Target = None,
    database: Database = None,
    query: SqlQuery = None,
    table: SqlTable = None,
) -> None:
    """List every gap of a schema, compare every cell with it and count what does not fit.

    The counts come from the private rows: they are for your eyes only. A release clips cells out of bounds and
    makes valid cells of the others by the schema's policy; with --strict it refuses them. Nothing is charged.

    [bold]Example[/]: gnomon check ward.parquet --schema schema.toml
    """
    from gnomon.table.check import check
    from gnomon.table.diagnose import diagnose
    from gnomon.table.gaps import load_gaps

    gaps = load_gaps(schema)
    facts(open=list(gaps.sentences))
    _print_gaps(gaps.sentences)
    if gaps.schema is None:
        raise SchemaError(gaps.sentences[0] + _more(len(gaps.sentences)))
    loaded = gaps.schema
    if loaded.patterns:
        loaded = loaded.expand(opened(data, database, query, table, loaded).names)
    known = target is None or any(column.name == target for column in loaded.columns)
    declared = loaded.with_target(target) if target is not None and (known or not gaps.sentences) else loaded
    source = opened(data, database, query, table, declared)
    with Watch(passes=1) as watch:
        report = check(source, declared, watch)
    _print(replace(report, undeclared=tuple(name for name in report.undeclared if not gaps.cover(name))))
    diagnosed = list(diagnose(source, declared, report))
    facts(
        rows=report.rows,
        columns={column.name: _counts(column) for column in report.columns},
        problems=list(report.problems),
        remarks=[*report.remarks, *diagnosed],
        fits=report.ok and not gaps.sentences,
    )
    for remark in grouped(diagnosed):
        say(remark)
    if any(column.problem for column in report.columns):
        say(
            "A release would make valid cells of these by the schema's policy; with --strict it would refuse the table."
        )
    if gaps.sentences:
        raise SchemaError(gaps.sentences[0] + _more(len(gaps.sentences) + len(report.problems)))
    if not report.ok:
        raise DataError(report.problems[0] + _more(len(report.problems)))
    out = [column.name for column in report.columns if column.out_of_bounds]
    if out:
        named = ", ".join(out[:5]) + (" and more" if len(out) > 5 else "")
        say(
            f"Cells out of bounds would be clipped to them: {named}. Widen the bounds if these cells can be right."
        )
    more = "" if loaded.rows is not None else f" --rows {report.rows}"
    say(f"The table fits its schema. Next: gnomon plan --schema {schema}{more} --epsilon 1")


def _counts(column: Any) -> dict[str, int]:
    return {
        "missing": column.missing,
        "out of bounds": column.out_of_bounds,
        "not declared": column.unknown,
        "wrong type": column.alien,
    }


def _more(count: int) -> str:
    return "" if count == 1 else f" (the first of {count} problems, listed above)"


def grouped(sentences: Sequence[str]) -> list[str]:
    """Sentences about columns, those that say the same of three or more columns as one."""
    by_words: dict[str, list[str]] = {}
    for sentence in sentences:
        found = re.match(r"The column ('(?:[^'\\\\]|\\\\.)*'|\"[^\"]*\") ", sentence)
        words = sentence if found is None else f"The column \0 {sentence[found.end() :]}"
        by_words.setdefault(words, []).append("" if found is None else found.group(1))
    lines = []
    for words, names in by_words.items():
        if len(names) < 3 or "\0" not in words:
            lines += [words.replace("\0", name) for name in names]
            continue
        shown = ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
        lines.append(
            f"Each of the {len(names)} columns {shown} {words.removeprefix('The column ').removeprefix(chr(0) + ' ')}"
        )
    return lines


def _print_gaps(sentences: tuple[str, ...]) -> None:
    if sentences:
        many = "1 declaration" if len(sentences) == 1 else f"{len(sentences)} declarations"
        say(f"{many} of the schema to be completed; the cells of these columns are not checked yet.")
    for sentence in grouped(sentences):
        say(f"- {sentence}")


def _print(report: CheckReport) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("column")
    for head in ("missing", "out of bounds", "not declared", "wrong type"):
        table.add_column(head, justify="right")
    plain = 0
    for column in report.columns:
        counts = _counts(column).values()
        if any(counts):
            table.add_row(printable(column.name), *(f"{count:,}" if count else "-" for count in counts))
        else:
            plain += 1
    released = f"{len(report.columns):,} released column{'' if len(report.columns) == 1 else 's'}"
    say(f"{report.rows:,} rows, {released}. For your eyes only: counts of private cells.")
    if table.row_count:
        console().print(table)
    if plain:
        say(f"{plain:,} column{'' if plain == 1 else 's'} without any remark.")
    if report.undeclared:
        say(f"Not in the schema, and never read: {', '.join(report.undeclared)}.")
    for remark in report.remarks:
        say(remark)
    for problem in grouped(report.problems):
        say(f"- {problem}")
