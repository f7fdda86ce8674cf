"""What a release promises, in a file for people and programs, with nothing private in it.

The fields follow the OpenDP deployment registry, with the terms of NIST SP 800-226: unit of privacy, adjacency,
model of trust, parameters, mechanisms with sensitivity and scale, public knowledge, post-processing,
versions.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from gnomon.errors import DataError, GnomonError
from gnomon.notebook import listed
from gnomon.privacy.accounting import compose, guarantee_of
from gnomon.privacy.guarantee import (
    ZCDP,
    Adjacency,
    ApproxDP,
    GaussianDP,
    Guarantee,
    Loss,
    PureDP,
    Unit,
    declared,
)
from gnomon.privacy.meaning import (
    FALSE_ALARMS,
    Reach,
    plain_words,
    reach_by_epsilon,
    reach_of_gaussian,
    weak_promises,
)
from gnomon.privacy.mechanism import Event
from gnomon.privacy.noise import total_variation
from gnomon.privacy.rounding import fraction

TRUST = (
    "central: the custodian holds the table in the clear, gnomon runs on the custodian's machine, "
    "and readers see only this release"
)
LARGEST = 1_000_000  # characters of a certificate that somebody sends
_SLACK = 1 + 1e-9  # shares of a budget are doubles, and add up to the whole only nearly
_DEEPEST = 12  # levels; a certificate has four
_NODES = 20_000  # values, which take seconds to read; a certificate has some hundred
_PACKAGES = (
    "gnomon",
    "numpy",
    "scipy",
    "pyarrow",
    "scikit-learn",
    "mpmath",
    "opendp",
    "cryptography",
    "jinja2",
    "pyyaml",
)

Line = Annotated[str, StringConstraints(max_length=20_000)]
Lines = Annotated[tuple[Line, ...], Field(max_length=2_000)]
Amount = Annotated[float, Field(gt=0)]
LEVELS = ("good", "usable", "weak", "lost")
LevelName = Literal["good", "usable", "weak", "lost"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


class Privacy(_Part):
    """The declared guarantee."""

    definition: Literal["pure differential privacy", "approximate differential privacy"]
    epsilon: Amount
    delta: Annotated[float, Field(ge=0, lt=1)]
    unit: Unit
    adjacency: Adjacency
    rows: Annotated[int, Field(ge=1)] = 1  # of one unit
    trust: Line


class Mechanism(_Part):
    """One use of the private rows."""

    statistic: Line
    mechanism: Line
    norm: Line
    sensitivity: Amount
    scale: Annotated[float, Field(ge=0)]
    loss: Annotated[dict[Literal["epsilon", "delta", "mu", "rho"], Amount], Field(min_length=1, max_length=2)]
    unit: Unit
    adjacency: Adjacency
    rows: Annotated[int, Field(ge=1)] = 1

    @property
    def spent(self) -> Loss:
        """The loss as a value that composes."""
        neighbours, found = (self.unit, self.adjacency, self.rows), self.loss
        if set(found) == {"epsilon", "delta"}:
            return ApproxDP(found["epsilon"], found["delta"], *neighbours)
        ((kind, amount),) = found.items()
        families: dict[str, type[PureDP | GaussianDP | ZCDP]] = {
            "epsilon": PureDP,
            "mu": GaussianDP,
            "rho": ZCDP,
        }
        if kind not in families:
            raise ValueError("a loss is epsilon, mu, rho, or epsilon with delta")
        return families[kind](amount, *neighbours)


class Attack(_Part):
    """What a test of two neighbours reaches: right of two equally likely ones, and found at 1% and 5% false alarms."""

    basis: Literal["epsilon and delta", "Gaussian noise, exact"]
    mu: Amount | None = None
    right: Annotated[float, Field(ge=0, le=1)]
    found_at_1_percent: Annotated[float, Field(ge=0, le=1)]
    found_at_5_percent: Annotated[float, Field(ge=0, le=1)]


class Noise(_Part):
    """How the noise was drawn."""

    source: Line
    private: bool
    total_variation: Annotated[float, Field(ge=0, le=1)]


class Judged(_Part):
    """How good the release is, by released numbers and the laws of its noise: columns by level, classes, the relation.

    good     total variation of the marginal below 0.1, mean within 0.1 deviations; usable: 0.25 and 0.3
    lost     no better than what was public before: even between the declared bounds, equal classes; weak: between
    """

    summary: Line
    good: Lines = ()
    usable: Lines = ()
    weak: Lines = ()
    lost: Lines = ()
    classes: Annotated[dict[Line, LevelName], Field(max_length=5_000)] = {}
    relation: LevelName | None = None

    def level(self, column: str) -> str | None:
        """The level of a column, where it is named."""
        return next((name for name in LEVELS if column in getattr(self, name)), None)


class Certificate(_Part):
    """A release's promise; `holds` says whether it is kept, `delivered` which epsilon is where it is not.

    It holds where the noise is private, every event's mechanism is sound and its loss finite, the losses compose to at
    most what is declared, and nothing was taken from the rows unpaid.
    """

    format: Literal["gnomon certificate 1"] = "gnomon certificate 1"
    verdicts: Judged | None = None
    statement: Line
    holds: bool
    delivered: Amount | None = None
    caveats: Lines = ()
    weak: Lines = ()
    unpaid: Lines = ()
    attacks: Annotated[tuple[Attack, ...], Field(max_length=4)] = ()
    method: Line
    made: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")] | None = None  # a day, in UTC
    calibration: Literal["sound", "paper"]
    privacy: Privacy
    table: Line
    rows: Annotated[int, Field(ge=0)] | None
    measured_rows: Annotated[int, Field(ge=0)] | None = None  # with noise, where the number is private
    released_rows: Annotated[int, Field(ge=0)] | None = None
    events: Annotated[tuple[Mechanism, ...], Field(max_length=10_000)]
    composition: Line
    noise: Noise
    public: Lines = ()
    post_processing: Lines = ()
    versions: Annotated[dict[Line, Line], Field(max_length=100)] = {}
    files: Annotated[dict[Line, Line], Field(max_length=1_000)] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        """A file from elsewhere must not claim to hold what its own fields deny."""
        if self.holds and not (self.noise.private and math.isfinite(self.privacy.epsilon)):
            raise ValueError("it cannot hold without private noise and a finite epsilon")
        if self.holds and self.delivered is not None and self.delivered > self.privacy.epsilon * _SLACK:
            raise ValueError("it cannot hold and deliver more than the declared epsilon")
        if self.holds and (self.unpaid or (self.calibration == "paper" and self.delivered is None)):
            raise ValueError("it cannot hold with something unpaid, or printed noise of unknown effect")
        losses = [event.spent for event in self.events]
        if self.holds and overspent(self.guarantee, losses):
            raise ValueError("it cannot hold, as its events cost more than it declares")
        described = [event.statistic for event in self.events]
        if len(set(described)) < len(described):
            raise ValueError("two events share a description")
        return self

    @property
    def guarantee(self) -> Guarantee:
        """The declared guarantee as a value."""
        p = self.privacy
        return declared(p.epsilon, p.delta, unit=p.unit, adjacency=p.adjacency, rows=p.rows)

    @property
    def private(self) -> bool:
        """Is this a release that keeps the privacy it declares?"""
        return self.holds

    @property
    def private_noise(self) -> bool:
        return self.noise.private

    @classmethod
    def build(
        cls,
        *,
        method: str,
        guarantee: Guarantee,
        events: Sequence[Event],
        table: str,
        rows: int | None,
        magnitude: int | None = None,
        calibration: Literal["sound", "paper"] = "sound",
        public: Sequence[str] = (),
        post_processing: Sequence[str] = (),
        caveats: Sequence[str] = (),
        unpaid: Sequence[str] = (),
        delivered: float | None = None,
        made: str | None = None,
        measured_rows: int | None = None,
    ) -> Certificate:
        """A certificate from public facts alone; a sound one is refused if its events cost more than it
        declares. `unpaid` is what was taken from the rows without noise, `magnitude` what is declared about a private
        number of rows.
        """
        from gnomon.privacy.noise.stream import noise_is_private

        losses = [event.loss for event in events]
        problem = overspent(guarantee, losses)
        finite = all(map(_finite, losses))
        if calibration == "sound" and finite and problem:
            raise GnomonError(problem)
        if rows is not None and guarantee.adjacency is Adjacency.ADD_REMOVE:
            raise GnomonError(
                "Under add-remove the number of rows is private; it cannot stand in a certificate."
            )
        noise = Noise(
            source="AES-256-CTR keyed by the operating system, exact samplers"
            if noise_is_private()
            else "fixed",
            private=noise_is_private(),
            total_variation=min(
                1.0, math.fsum({e.mechanism: total_variation(e.mechanism) for e in events}.values())
            ),
        )
        sound = calibration == "sound" if delivered is None else delivered <= guarantee.epsilon * _SLACK
        private = noise.private and math.isfinite(guarantee.epsilon)
        holds = private and finite and sound and not problem and not unpaid
        pure = guarantee.delta == 0
        bound, mu = reach_by_epsilon(guarantee.epsilon, guarantee.delta), _mu_of(losses)
        exact = None if mu is None else reach_of_gaussian(mu)
        return cls(
            statement=promise(guarantee, rows, plain_words(bound, exact))
            if holds
            else _broken(guarantee, noise.private, delivered, calibration, unpaid),
            holds=holds,
            delivered=delivered,
            caveats=tuple(caveats),
            weak=tuple(weak_promises(guarantee, magnitude if rows is None else rows, bound, exact))
            if holds
            else (),
            unpaid=tuple(unpaid),
            attacks=_attacks(bound, exact, mu) if holds else (),
            method=method,
            made=made,
            calibration=calibration,
            privacy=Privacy(
                definition="pure differential privacy" if pure else "approximate differential privacy",
                epsilon=guarantee.epsilon,
                delta=guarantee.delta,
                unit=guarantee.unit,
                adjacency=guarantee.adjacency,
                rows=guarantee.rows,
                trust=TRUST,
            ),
            table=table,
            rows=rows,
            measured_rows=measured_rows,
            events=tuple(Mechanism.model_validate(event.to_dict()) for event in events),
            composition=_composition(events),
            noise=noise,
            public=tuple(public),
            post_processing=tuple(post_processing),
            versions=versions_here(),
        )

    def with_files(self, hashes: Mapping[str, str], *, released_rows: int | None = None) -> Certificate:
        """The same certificate, bound to the released files by their SHA-256."""
        return self.model_copy(update={"files": dict(sorted(hashes.items())), "released_rows": released_rows})

    def with_verdicts(self, verdicts: Mapping[str, Any]) -> Certificate:
        """The same certificate, which begins with how good the release is."""
        return self.model_copy(update={"verdicts": Judged.model_validate(verdicts)})

    def _repr_html_(self) -> str:
        p = self.privacy
        facts = {
            "holds": "yes" if self.holds else "NO",
            "epsilon": f"{p.epsilon:g}",
            "delta": f"{p.delta:g}",
            "unit": p.unit.value,
            "adjacency": p.adjacency.value,
            "method": self.method,
            "rows": "private" if self.rows is None else f"{self.rows:,}",
        }
        return listed(f"Certificate of {self.table}", {**facts, "statement": self.statement})

    def to_yaml(self) -> str:
        """YAML in a fixed order, wrapped for people."""
        body = yaml.dump(
            self.model_dump(mode="json"),
            Dumper=_Dumper,
            sort_keys=False,
            allow_unicode=True,
            width=100,
            default_flow_style=False,
        )
        # what is left unprintable stands in double quotes, where YAML reads escapes
        shown = "".join(c if c.isprintable() or c == "\n" else _escape(c) for c in body)
        return "# Certificate of a differentially private release. This file may be published.\n" + shown

    @classmethod
    def from_yaml(cls, text: str) -> Certificate:
        """Read a certificate from anywhere: nothing in it is executed, sizes are capped, every field is
        checked.

        Parameters
        ----------
        text : the text of `certificate.yaml`.
        """
        if len(text) > LARGEST:
            raise DataError(f"The certificate is longer than {LARGEST} characters, which no certificate is.")
        try:
            loaded = yaml.load(text, Loader=_Loader)
        except (yaml.YAMLError, ValueError, TypeError):
            raise DataError(
                "The certificate is not valid YAML; ask the publisher for a whole copy."
            ) from None
        if not isinstance(loaded, dict):
            raise DataError("The certificate holds no fields; ask the publisher for a whole copy.")
        try:
            return cls.model_validate(loaded)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"][:4])[:80] or "the file"
            raise DataError(f"The certificate is not valid at {place!r}: {first['msg'].lower()}.") from None


class _Dumper(yaml.SafeDumper):
    """Long sentences are folded, so that a person can read them."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _folded(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = ">" if len(text) > 80 and "\n" not in text and text == text.strip() else None
    if not text.isprintable():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _folded)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"


class _Loader(yaml.SafeLoader):
    """Plain values only: an alias or a deep nest could unfold a small file into a huge one, and a key given
    twice could mislead.
    """

    _depth = 0
    _nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent) or self._depth > _DEEPEST or self._nodes > _NODES:
            raise yaml.YAMLError("aliases, deep nests and endless lists are not allowed")
        self._depth += 1
        self._nodes += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) < len(node.value):
            raise yaml.YAMLError("a key is given twice or is not text")
        return super().construct_mapping(node, deep)


def overspent(guarantee: Guarantee, losses: Sequence[Loss]) -> str:
    """Why these losses together cost more than is declared, in a sentence; nothing where they do not."""
    if not losses or math.isinf(guarantee.epsilon):
        return ""
    if guarantee.delta == 0 and not all(isinstance(loss, PureDP) for loss in losses):
        return "The release spent Gaussian noise under a pure guarantee; it is not certified."
    if any(loss.neighbours != guarantee.neighbours for loss in losses):
        return "The release protected another unit or adjacency than declared; not certified."
    if not all(map(_finite, losses)):
        return "The release spent an infinite loss under a finite guarantee; it is not certified."
    # what Gaussian losses are stated at is the delta that (epsilon, delta) events leave
    taken = sum((fraction(loss.delta) for loss in losses if isinstance(loss, ApproxDP)), Fraction(0))
    spent = guarantee_of(losses, max(0.0, float(fraction(guarantee.delta) - taken)))
    if spent.epsilon > guarantee.epsilon * _SLACK or spent.delta > guarantee.delta * _SLACK:
        return (
            f"The release spent epsilon {spent.epsilon:.6g} and delta {spent.delta:.3g}, but declares "
            f"epsilon {guarantee.epsilon:.6g} and delta {guarantee.delta:.3g}; it is not certified."
        )
    return ""


def _finite(loss: Loss) -> bool:
    amount = loss.mu if isinstance(loss, GaussianDP) else loss.rho if isinstance(loss, ZCDP) else loss.epsilon
    return math.isfinite(amount)


def _mu_of(losses: Sequence[Loss]) -> float | None:
    """The mu of all events together, where each is Gaussian."""
    if not losses or not all(isinstance(loss, GaussianDP) for loss in losses):
        return None
    together = compose(losses)
    assert isinstance(together, GaussianDP)
    return together.mu


def _attacks(bound: Reach, exact: Reach | None, mu: float | None) -> tuple[Attack, ...]:
    """What a test reaches, by epsilon and exactly, rounded up to four digits of a share."""

    def attack(reach: Reach, basis: Literal["epsilon and delta", "Gaussian noise, exact"]) -> Attack:
        shares = [min(1.0, math.ceil(share * 1e4 - 1e-9) / 1e4) for share in (reach.right, *reach.found)]
        found = dict(zip(("right", "found_at_1_percent", "found_at_5_percent"), shares, strict=True))
        return Attack(basis=basis, mu=None if exact is None or reach is bound else mu, **found)

    assert len(FALSE_ALARMS) == 2
    first = attack(bound, "epsilon and delta")
    return (first,) if exact is None else (first, attack(exact, "Gaussian noise, exact"))


def _composition(events: Sequence[Event]) -> str:
    kinds = {" and ".join(event.to_dict()["loss"]) for event in events}
    words = {
        "epsilon": "pure epsilons add",
        "epsilon and delta": "(epsilon, delta) pairs add",
        "mu": "mu adds in squares and is converted to (epsilon, delta) exactly (Balle and Wang)",
        "rho": "rho adds and is converted by Canonne, Kamath and Steinke",
    }
    rules = [words[kind] for kind in words if kind in kinds]
    if len(events) < 2:
        return "one use of the rows; " + (rules[0] if rules else "nothing was spent")
    return f"{len(events)} uses of the rows, one after another; " + "; ".join(rules)


def versions_here() -> dict[str, str]:
    """On what the bytes of a release may depend: packages, the kind of machine, and its linear algebra."""
    return dict(_versions())


@lru_cache(maxsize=1)
def _versions() -> tuple[tuple[str, str], ...]:
    from threadpoolctl import threadpool_info

    found = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    kernels = {
        " ".join(
            str(part) for part in (pool["internal_api"], pool["version"], pool.get("architecture")) if part
        )
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    }
    found["blas"] = ", ".join(sorted(kernels)) or "unknown"
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return tuple(found.items())


def _numbers(guarantee: Guarantee) -> str:
    numbers = f"epsilon = {guarantee.epsilon:.12g}"
    return numbers + (f" and delta = {guarantee.delta:.12g}" if isinstance(guarantee, ApproxDP) else "")


def _broken(
    guarantee: Guarantee,
    private_noise: bool,
    delivered: float | None,
    calibration: str,
    unpaid: Sequence[str],
) -> str:
    """Why a release does not keep what it declares."""
    if not private_noise:
        return "This release is NOT private: its noise was fixed for a test. Do not publish it."
    if math.isinf(guarantee.epsilon):
        return "This release is NOT private: no noise was added (epsilon is infinite). Do not publish it."
    declares = f"This release does NOT keep the privacy it declares ({_numbers(guarantee)}): "
    if calibration == "paper":
        really = "an epsilon that it cannot name"
        if delivered is not None:
            really = f"epsilon = {delivered:.4g}" if math.isfinite(delivered) else "no finite epsilon"
        return declares + (
            f"it follows a paper's printed noise, which delivers {really}. It is for reproducing the paper, not for "
            "publishing. See the caveats."
        )
    taken = f" ({'; '.join(unpaid)})" if unpaid else ""
    return declares + (
        f"something was taken from the rows without noise{taken}, which no epsilon covers. Do not publish it."
    )


def promise(guarantee: Guarantee, rows: int | None, reached: str = "") -> str:
    """One paragraph that a person without training can use; `reached` are sentences about what a test reaches."""
    what = {
        Unit.ROW: "one row of the table, its label included,",
        Unit.ATTRIBUTE: "one attribute of one row",
        Unit.PERSON: f"one person with all rows, of which at most {guarantee.rows} {_are(guarantee.rows)} used,",
    }[guarantee.unit]
    replaced = guarantee.adjacency is Adjacency.REPLACE_ONE
    change = "is as it is or is replaced by any other" if replaced else "is in the table or not"
    delta = ", plus delta" if isinstance(guarantee, ApproxDP) else ""
    known = "The schema is" if rows is None else f"The number of rows, {rows}, and the schema are"
    return (
        f"This release is differentially private with {_numbers(guarantee)}. Whoever reads it, whatever else they know, "
        f"sees almost the same whether {what} {change}: every set of outcomes has at most {_factor(guarantee.epsilon)} "
        f"times the probability in one case that it has in the other{delta}. {reached}{' ' * bool(reached)}"
        f"{replacement(guarantee)}{known} public knowledge. What is true of people in general can be learnt from it, and "
        "further releases about the same people add to the loss."
    )


def replacement(guarantee: Guarantee) -> str:
    """What a promise about adding or removing is for a replacement: a sentence, empty where that is what is promised.

    (epsilon, delta) for adding or removing one unit is (2 epsilon, (1 + e^epsilon) delta) for replacing it: remove, add.
    """
    if guarantee.adjacency is Adjacency.REPLACE_ONE:
        return ""
    unit = "person" if guarantee.unit is Unit.PERSON else "row"
    numbers = f"epsilon = {2 * guarantee.epsilon:.12g}"
    if guarantee.delta > 0 and guarantee.epsilon < 700:
        numbers += f" and delta = {min(1.0, (1 + math.exp(guarantee.epsilon)) * guarantee.delta):.4g}"
    return f"To replace one {unit} by another is to remove one and to add one, for which it has {numbers}. "


def _are(rows: int) -> str:
    return "is" if rows == 1 else "are"


def _factor(epsilon: float) -> str:
    """e^epsilon, rounded up to three digits."""
    if epsilon > 700:
        return f"e^{epsilon:g}"
    value = math.exp(epsilon)
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / step) * step:.4g}"
