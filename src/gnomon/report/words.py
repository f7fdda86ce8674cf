"""The sentences of the public page: what a guarantee means and does not mean, how to use a release."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gnomon.privacy.certificate import Certificate
from gnomon.privacy.guarantee import Guarantee, Unit
from gnomon.report.summary import tidy
from gnomon.table.schema import Schema

DATA = ("data.parquet", "data.csv")
FILES = (
    (
        "certificate.yaml",
        "the guarantee with every mechanism, sensitivity and scale, for people and programs",
    ),
    ("map.npz", "the public map, by which 'gnomon transform' shows real rows as the release would"),
    ("schema.toml", "the declared columns, bounds and categories"),
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
        "People with several records.",
        "The guarantee is for one record. A person with k records is protected k times less (k times "
        "epsilon), unless the "
        "table was reduced to one record a person before.",
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


def best_guess(epsilon: float, delta: float) -> float:
    """How often the best test of two equally likely neighbours is right, at most: (e^epsilon + delta) / (1
    + e^epsilon).

    (epsilon, delta)-DP bounds the total variation distance of neighbours by (e^epsilon - 1 + 2 delta) /
    (e^epsilon + 1), and the best test of two equally likely laws is right with probability (1 + distance)
    / 2.
    """
    shrink = math.exp(-epsilon)
    return min(1.0, (1 + delta * shrink) / (1 + shrink))


def percent_up(share: float) -> str:
    """A percentage rounded up, because it is an upper bound."""
    return f"{math.ceil(1000 * share - 1e-9) / 10:.1f}%"


def percent(share: float) -> str:
    """A share of the rows for people."""
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.1 else f"{100 * share:.0f}%"


def _is_model(certificate: Certificate) -> bool:
    from gnomon.release import METHODS
    from gnomon.release.base import ModelRelease

    return certificate.method in METHODS and issubclass(METHODS[certificate.method], ModelRelease)


def usage(certificate: Certificate) -> str:
    """How to begin."""
    through = "'gnomon transform' shows other rows, your own too, as the release would; test models on those."
    if _is_model(certificate):
        return f"Load the table with any tool and work with it as with the original. {through}"
    return f"Load the table with any tool; each row stands for a record, and its noise is known. {through}"


def warnings(certificate: Certificate) -> list[tuple[str, str]]:
    """What a reader must know first: a promise that does not hold, and the method's caveats."""
    found = []
    if not certificate.holds:
        found.append(("Do not publish this.", certificate.statement))
    found += [("Caveat.", caveat) for caveat in certificate.caveats]
    return found


def released(certificate: Certificate) -> str:
    """What kind of rows these are, by what was done to the private ones."""
    if _is_model(certificate):
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
        return "one attribute of one record"
    return "one whole record, its label included"


def terms(certificate: Certificate) -> list[tuple[str, str]]:
    """The promise in a few pairs of words; where it does not hold, what holds instead."""
    method = ("Method", certificate.method)
    if certificate.holds:
        reader = "anyone who reads this release, whatever else they know"
        return [("Protects", protects(certificate.guarantee)), ("Against", reader), method]
    found = certificate.delivered
    really = "no finite ε" if found is None or math.isinf(found) else f"ε = {tidy(found)}"
    return [("Delivers", really), method]


def columns_words(count: int) -> str:
    return f"{count:,} column" + ("" if count == 1 else "s")


def loss_words(kind: str, amount: float) -> str:
    symbol = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ"}.get(kind, kind)
    return f"{symbol} = {'∞' if math.isinf(amount) else tidy(amount)}"
