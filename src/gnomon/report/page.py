"""The public page of a release, made from the release alone: nothing here has seen the private rows."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from jinja2 import Environment, PackageLoader, StrictUndefined

from gnomon.privacy.certificate import promise
from gnomon.privacy.meaning import percent_up
from gnomon.report import draw, words
from gnomon.report.summary import ColumnSummary, summarise, tidy
from gnomon.table.schema import Column, Schema

if TYPE_CHECKING:
    from gnomon.privacy.certificate import Certificate, Mechanism

# controls, and marks that turn the direction of the text after them: a name must not rewrite the page around it
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
DRAWN = 60  # columns with a picture; a page of thousands would help nobody


def public_page(certificate: Certificate, schema: Schema, table: pa.Table) -> str:
    """A self-contained HTML page, without scripts; `table` holds the first released rows."""
    pages = Environment(
        loader=PackageLoader("gnomon", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=False,
    )
    page = pages.get_template("page.html").render(
        **_promise(certificate),
        **_contents(certificate, schema, table),
        mark=draw.sundial(),
        histogram=draw.histogram,
        bar=draw.bar,
        percent=words.percent,
        files=words.files(certificate),
        limits=words.limits(certificate),
    )
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", page)


def _promise(certificate: Certificate) -> dict[str, Any]:
    """The guarantee, in numbers, in words and as a picture; warnings first where it does not hold."""
    guarantee = certificate.guarantee
    infinite = math.isinf(guarantee.epsilon)
    holds = certificate.private and not infinite
    guess = words.best_guess(certificate)
    return {
        "verdicts": certificate.verdicts,
        "verdict_levels": _levels(certificate),
        "warnings": [{"title": title, "text": text} for title, text in words.warnings(certificate)],
        "epsilon": "∞" if infinite else tidy(guarantee.epsilon),
        "delta": words.delta_words(guarantee.delta) if holds else "declared, but not kept",
        "brand": "A private release, made with gnomon" if holds else "Not a private release",
        "terms": words.terms(certificate),
        # what a test reaches stands beside the picture
        "statement": promise(guarantee, certificate.rows) if holds else certificate.statement,
        "guess": percent_up(guess, 2 if len(certificate.attacks) > 1 else 1) if holds else "",
        "trade_off": words.trade_off(certificate) if holds else "",
        "guess_picture": draw.chance(guess),
    }


def _levels(certificate: Certificate) -> list[tuple[str, str, str]]:
    """Levels that a column has, what they mean, and the columns."""
    found = certificate.verdicts
    if found is None:
        return []
    return [
        (level, meaning, words.listed(getattr(found, level)))
        for level, meaning in words.LEVELS
        if getattr(found, level)
    ]


def _contents(certificate: Certificate, schema: Schema, table: pa.Table) -> dict[str, Any]:
    """What was released: columns, noise, public knowledge."""
    released = schema.released
    rows = certificate.released_rows or table.num_rows
    columns: list[ColumnSummary] = [summarise(column, table.column(column.name)) for column in _drawn(schema)]
    undrawn = [column.name for column in released if column.name not in {c.name for c in columns}]
    return {
        "title": schema.name,
        "lead": f"{rows:,} rows × {words.columns_words(len(released))}, released by {certificate.method}."
        + words.counted(certificate),
        "released": words.released(certificate),
        "public": certificate.public,
        "noise_heads": (
            "Statistic",
            "Mechanism",
            f"{words.unit_word(certificate.guarantee)} can move it by",
            "Noise scale",
            "Ratio",
            "Cost",
        ),
        "noise": [_noise(event) for event in certificate.events],
        "post_processing": certificate.post_processing,
        "drawn_from": words.drawn_from(table.num_rows, rows),
        "columns": columns,
        "undrawn": words.undrawn(undrawn),
        "usage": words.usage(certificate),
        "example": words.example(certificate, schema),
        "colophon": words.colophon(certificate),
    }


def _drawn(schema: Schema) -> list[Column]:
    """The target first, then the features in their order, as many as a page can hold."""
    target = [] if schema.target is None else [schema.target]
    return [*target, *schema.features][:DRAWN]


def _noise(event: Mechanism) -> tuple[str, ...]:
    """One use of the rows: statistic, mechanism, sensitivity with its norm, scale, their ratio, cost."""
    cost = ", ".join(words.loss_words(kind, amount) for kind, amount in event.loss.items())
    moves, scale = event.sensitivity, event.scale
    return (
        event.statistic,
        event.mechanism,
        f"{moves:.3g} ({event.norm})",
        f"{scale:.3g}",
        f"{scale / moves:.3g}",
        cost,
    )
