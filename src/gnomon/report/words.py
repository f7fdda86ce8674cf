"""The sentences of the public page: what a guarantee means and does not mean, how to use a release."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import Adjacency, Guarantee, Unit
from gnomon.privacy.meaning import percent_up, reach_by_epsilon
from gnomon.report.summary import tidy
from gnomon.table.schema import Schema

DATA = ("data.parquet", "data.csv")
FILES = (
    (
        "certificate.yaml",
        "the guarantee with every mechanism, sensitivity and scale, for people and programs",
    ),
    (
        "measurements.npz",
        "what was measured, with its noise: 'gnomon verify' makes this folder again from it, without the table",
    ),
    ("map.npz", "the public map, by which 'gnomon transform' shows real rows as the release would"),
    ("schema.toml", "the declared columns, bounds and categories"),
    ("croissant.json", "the same facts for programs that search and load datasets (Croissant 1.1)"),
    ("report.html", "this page"),
)

LIMITS = (
    (
        "What is true of everyone.",
        "If the table shows that smokers fall ill more often, so does the release, and it says so about "
        "every smoker, "
        "in the table or not. Privacy here means that no conclusion depends on one record.",
    ),
    (
        "Other releases.",
        "Budgets add up. A second release of the same people, by anyone, weakens both; the publisher's "
        "ledger counts the "
        "ones made with it.",
    ),
    (
        "A careless schema.",
        "Bounds and categories are published. They are safe only if they came from public knowledge and "
        "not from the rows.",
    ),
    (
        "The publisher.",
        "Noise was added where the rows were. It protects from readers of the release, not from those who "
        "hold the table.",
    ),
    (
        "Wrong conclusions.",
        "Released rows are synthetic or blurred. Do not count rare cases or read single rows as if they were "
        "people; confirm what "
        "matters on the real data.",
    ),
)


def limits(certificate: Certificate) -> tuple[tuple[str, str], ...]:
    """What the promise does not cover; people with several rows second, by what is protected."""
    first, *rest = LIMITS
    return first, _several_rows(certificate.guarantee), *rest


def _several_rows(guarantee: Guarantee) -> tuple[str, str]:
    if guarantee.unit is Unit.PERSON:
        used = f"at most {guarantee.rows} row{'' if guarantee.rows == 1 else 's'} of a person"
        return (
            "People under several names.",
            f"The guarantee is for a person, of whom {used} were used. Somebody who stands in the table under two "
            "identifiers is protected as two people.",
        )
    return (
        "People with several rows.",
        "The guarantee is for one row. A person with k rows is protected k times less (k times epsilon, and more "
        "than k times delta), unless the table was reduced to one row a person before.",
    )


def best_guess(certificate: Certificate) -> float:
    """How often the best test of two equally likely versions is right, at most: exactly where all noise is Gaussian."""
    guarantee = certificate.guarantee
    bound = reach_by_epsilon(guarantee.epsilon, guarantee.delta).right
    return min([bound, *(attack.right for attack in certificate.attacks)])


def trade_off(certificate: Certificate) -> str:
    """What a test finds at few false alarms, and what epsilon alone would say."""
    guarantee = certificate.guarantee
    *_, best = certificate.attacks
    words = (
        f"A test that raises a false alarm 1% of the time finds a version at most "
        f"{percent_up(best.found_at_1_percent, 2)} of the time; at 5%, {percent_up(best.found_at_5_percent, 2)}."
    )
    if best.mu is None:
        return words
    bound = reach_by_epsilon(guarantee.epsilon, guarantee.delta).right
    return (
        f"{words} All noise of this release is Gaussian, for which these figures are exact; epsilon and delta alone would "
        f"allow a test that is right {percent_up(bound)} of the time."
    )


def percent(share: float) -> str:
    """A share of the rows for people."""
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.1 else f"{100 * share:.0f}%"


def is_model(certificate: Certificate) -> bool:
    """Whether rows were drawn from a model, and not made of one record each."""
    from gnomon.methods import METHODS

    return certificate.method in METHODS and METHODS[certificate.method].publishes == "model"


LEVELS = (
    ("good", "total variation of the marginal below 0.1, mean within 0.1 standard deviations"),
    ("usable", "below 0.25, and within 0.3"),
    ("weak", "better than what was public before, and too far off to count on"),
    ("lost", "no better than what was public before: even between the declared bounds, equal classes"),
)


def listed(names: Sequence[str]) -> str:
    """Names of columns, as many as a page has room for."""
    return ", ".join(names[:200]) + (f" and {len(names) - 200:,} more" if len(names) > 200 else "")


def usage(certificate: Certificate) -> str:
    """How to begin."""
    found = certificate.verdicts
    poor = found is not None and bool(found.weak or found.lost)
    through = "'gnomon transform' shows other rows, your own too, as the release would; test models on those."
    if is_model(certificate) and poor:
        kept = "Work with the columns that are good or usable; leave the others aside."
        return f"Load the table with any tool. {kept} {through}"
    if is_model(certificate):
        return f"Load the table with any tool and work with it as with the original. {through}"
    return f"Load the table with any tool; each row stands for a record, and its noise is known. {through}"


def warnings(certificate: Certificate) -> list[tuple[str, str]]:
    """What a reader must know first: a promise that does not hold, and the method's caveats."""
    found = []
    if not certificate.holds:
        found.append(("Do not publish this.", certificate.statement))
    found += [("A weak promise.", weak) for weak in certificate.weak]
    found += [("Caveat.", caveat) for caveat in certificate.caveats]
    return found


def released(certificate: Certificate) -> str:
    """What kind of rows these are, by what was done to the private ones."""
    if is_model(certificate):
        return (
            "A table of synthetic rows. Sums over the private rows met noise, a model was fitted to the "
            "noisy sums, and these "
            "rows were drawn from the model: no row is a person, and any number of rows could be drawn."
        )
    return (
        "A table with one row for each private row, in which every row met noise on its own: a row is a "
        "heavily blurred "
        "image of a record, of use in the crowd and not alone."
    )


def colophon(certificate: Certificate) -> str:
    """Versions and the fingerprints of the released files."""
    made = " · ".join(f"{name} {number}" for name, number in certificate.versions.items())
    prints = " · ".join(f"{name} {digest}" for name, digest in certificate.files.items())
    return f"Made with {made}." + (f" SHA-256: {prints}." if prints else "")


def data_file(certificate: Certificate) -> str:
    """The name of the released table."""
    return next((name for name in DATA if name in certificate.files), DATA[0])


def files(certificate: Certificate) -> list[tuple[str, str]]:
    """The files of the folder and what each is for."""
    return [(data_file(certificate), "the released rows, one table with the columns below"), *FILES]


def example(certificate: Certificate, schema: Schema) -> str:
    """A few lines that work in the release folder."""
    name = data_file(certificate)
    lines = ["import pandas as pd", "", f'table = pd.read_{name.removeprefix("data.")}("{name}")']
    if schema.target is not None:
        name = repr(schema.target.name)
        lines += [f"y = table[{name}]", f"X = pd.get_dummies(table.drop(columns={name}))"]
    else:
        lines += ["table.describe()"]
    return "\n".join(lines)


def drawn_from(shown: int, rows: int) -> str:
    """Which rows the pictures show; never the private ones."""
    these = (
        f"the {rows:,} released rows" if shown >= rows else f"the first {shown:,} of {rows:,} released rows"
    )
    return (
        f"Drawn from {these}, between the declared bounds. The private rows were not looked at for this page."
    )


def undrawn(names: Sequence[str]) -> str:
    """The columns for which the page has no room."""
    if not names:
        return ""
    listed = ", ".join(names[:40]) + (", ..." if len(names) > 40 else "")
    return f"Released too, without a picture here: {columns_words(len(names))} ({listed})."


def delta_words(delta: float) -> str:
    return "pure, δ = 0" if delta == 0 else f"δ = {delta:g}"


def protects(guarantee: Guarantee) -> str:
    if guarantee.unit is Unit.ATTRIBUTE:
        return "one attribute of one row"
    if guarantee.unit is Unit.PERSON:
        return f"one person, with at most {guarantee.rows} row{'' if guarantee.rows == 1 else 's'} used"
    return "one row, its label included"


def unit_word(guarantee: Guarantee) -> str:
    """Who moves a statistic."""
    return {Unit.ATTRIBUTE: "One attribute", Unit.PERSON: "One person", Unit.ROW: "One row"}[guarantee.unit]


def counted(certificate: Certificate) -> str:
    """How many rows were behind the release, where that is private: the noisy count, which is all that is known."""
    if certificate.measured_rows is None:
        return ""
    return (
        f" The table had about {certificate.measured_rows:,} rows by a noisy count; their number is private."
    )


def terms(certificate: Certificate) -> list[tuple[str, str]]:
    """The promise in a few pairs of words; where it does not hold, what holds instead."""
    method = ("Method", certificate.method)
    if certificate.holds:
        reader = "anyone who reads this release, whatever else they know"
        change = (
            "replacement"
            if certificate.guarantee.adjacency is Adjacency.REPLACE_ONE
            else "presence or absence"
        )
        return [
            ("Protects", protects(certificate.guarantee)),
            ("From", f"telling its {change}"),
            ("Against", reader),
            method,
        ]
    found = certificate.delivered
    really = "no finite ε" if found is None or math.isinf(found) else f"ε = {tidy(found)}"
    return [("Delivers", really), method]


def columns_words(count: int) -> str:
    return f"{count:,} column" + ("" if count == 1 else "s")


def loss_words(kind: str, amount: float) -> str:
    symbol = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ"}.get(kind, kind)
    return f"{symbol} = {'∞' if math.isinf(amount) else tidy(amount)}"
