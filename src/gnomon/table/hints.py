"""What the name of a column suggests: words that people use for ages, counts, money, keys and remarks.

A hint is public knowledge about words, so it may stand in a draft; it never comes from a cell.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple


class Hint(NamedTuple):
    """Suggested bounds, as TOML text, and why."""

    low: str
    high: str
    why: str
    more: tuple[str, ...] = ()  # further lines


_LOG = ("# log = true  # where few are much larger than most",)
# words of the name -> hint; the first row with a word of the name decides
_NUMBERS: list[tuple[frozenset[str], Hint]] = [
    (frozenset(words.split()), hint)
    for words, hint in [
        ("latitude lat", Hint("-90", "90", "a latitude")),
        ("longitude lon lng", Hint("-180", "180", "a longitude")),
        ("percent percentage pct prozent %", Hint("0", "100", "a percentage")),
        (
            "share proportion probability prob fraction anteil",
            Hint("0", "1", "a share; 100 where it is written in percent"),
        ),
        ("bmi", Hint("10", "80", "a body mass index")),
        ("systolic sbp", Hint("50", "260", "a systolic blood pressure in mmHg")),
        ("diastolic dbp", Hint("30", "160", "a diastolic blood pressure in mmHg")),
        ("pulse heartrate", Hint("20", "250", "beats a minute")),
        ("temperature temp", Hint("30", "45", "a body temperature in degrees Celsius; otherwise correct it")),
        ("height_cm cm", Hint("0", "250", "a height in centimetres")),
        ("height_m", Hint("0", "2.5", "a height in metres")),
        ("height", Hint("0", "250", "a height in centimetres; 2.5 in metres")),
        ("weight kg gewicht", Hint("0", "300", "a weight in kilograms")),
        ("hours hour stunden", Hint("0", "168", "hours of a week; 24 for those of a day")),
        ("weekday", Hint("1", "7", "a day of the week")),
        ("month monat", Hint("1", "12", "a month")),
        ("year jahr", Hint("1900", "2100", "a calendar year")),
        ("age ages alter", Hint("0", "120", "an age in years")),
        ("years jahre", Hint("0", "100", "years of a life")),
        ("count counts number num nr anzahl visits", Hint("0", "", "a count", _LOG)),
        (
            "price cost costs income salary wage amount revenue gain loss capital fee charge betrag preis eur usd",
            Hint("0", "", "an amount of money; negative where there are debts", _LOG),
        ),
    ]
]
_DATES: list[tuple[frozenset[str], Hint]] = [
    (
        frozenset(("birth", "born", "dob", "birthday", "geburtsdatum", "geboren")),
        Hint("1900-01-01", "", "a birth"),
    ),
]
_KEYS = set(
    re.findall(
        r"\w+",
        "id ids key uuid guid ssn mrn iban email mail phone telephone mobile address street surname firstname lastname "
        "fullname patient patientid name passport fallnummer patientennummer kundennummer vorname nachname anschrift",
    )
)
_REMARKS = set(
    re.findall(
        r"\w+",
        "comment comments remark remarks note notes description narrative freetext bemerkung bemerkungen kommentar",
    )
)


def words_of(name: str) -> list[str]:
    """The words of a name, by its signs, capitals and digits."""
    apart = re.sub(r"(?<=[a-zäöüß0-9])(?=[A-ZÄÖÜ])", " ", name)
    return re.findall(r"%|[^\W\d_]+", apart.lower())


def number_hint(name: str) -> Hint | None:
    return _first(_NUMBERS, name)


def date_hint(name: str) -> Hint | None:
    return _first(_DATES, name)


def is_key(name: str) -> bool:
    """Whether a name is one for keys and persons: alone, or at its end."""
    words = words_of(name)
    return bool(words) and (words[-1] in _KEYS - {"name"} or words == ["name"] or name.lower() in _KEYS)


def is_remark(name: str) -> bool:
    """Whether a name is one for free text."""
    return not _REMARKS.isdisjoint(words_of(name))


def _first(table: list[tuple[frozenset[str], Hint]], name: str) -> Hint | None:
    words = set(
        words_of(re.sub(r"(/|\bper\b)[\W_]*\w+", " ", name.replace("_", " ")))
    )  # packs/year are no years
    pairs = [f"{a}_{b}" for a, b in pairwise(words_of(name))]  # a unit stands beside what it measures
    words.update(pairs)
    return next((hint for known, hint in table if not known.isdisjoint(words)), None)
