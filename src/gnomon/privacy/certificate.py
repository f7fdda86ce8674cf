"""What a release promises, in a file for people and programs, with nothing private in it.

The fields follow the OpenDP deployment registry, which follows NIST SP 800-226: unit of privacy, adjacency,
model of trust, parameters, mechanisms with sensitivity and scale, public knowledge, post-processing,
versions.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from gnomon.errors import DataError, GnomonError
from gnomon.privacy.accounting import guarantee_of
from gnomon.privacy.guarantee import Adjacency, ApproxDP, Guarantee, PureDP, Unit, declared
from gnomon.privacy.mechanism import Event

TRUST = (
    "central: the custodian holds the table in the clear, gnomon runs on the custodian's machine, "
    "and readers see only this release"
)
LARGEST = 1_000_000  # characters of a certificate that somebody sends
_SLACK = 1 + 1e-9  # shares of a budget are doubles, and add up to the whole only nearly
_DEEPEST = 12  # levels; a certificate has four
_NODES = 20_000  # values, which take seconds to read; a certificate has some hundred
_PACKAGES = ("gnomon", "numpy", "scipy", "opendp", "cryptography")
_SAMPLERS = {
    "discrete-laplace": "laplace",
    "upper-laplace": "symmetric",
    "matrix-laplace": "symmetric",
    "rounded-gaussian": "gaussian",
    "goe": "symmetric",
    "discrete-gaussian": "discrete",
    "gaussian-sketch": "sketch",
    "exponential": "choice",
}

Line = Annotated[str, StringConstraints(max_length=20_000)]
Lines = Annotated[tuple[Line, ...], Field(max_length=2_000)]
Amount = Annotated[float, Field(gt=0)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=False)


class Privacy(_Part):
    """The declared guarantee."""

    definition: Literal["pure differential privacy", "approximate differential privacy"]
    epsilon: Amount
    delta: Annotated[float, Field(ge=0, lt=1)]
    unit: Unit
    adjacency: Adjacency
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


class Noise(_Part):
    """How the noise was drawn."""

    source: Line
    private: bool
    total_variation: Annotated[float, Field(ge=0, le=1)]


class Certificate(_Part):
    """A release's promise; `holds` says whether it is kept, `delivered` which epsilon is where it is not."""

    format: Literal["gnomon certificate 1"] = "gnomon certificate 1"
    statement: Line
    holds: bool
    delivered: Amount | None = None
    caveats: Lines = ()
    method: Line
    calibration: Literal["sound", "paper"]
    privacy: Privacy
    table: Line
    rows: Annotated[int, Field(ge=0)] | None
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
        if self.holds and self.delivered is not None and self.delivered > self.privacy.epsilon:
            raise ValueError("it cannot hold and deliver more than the declared epsilon")
        return self

    @property
    def guarantee(self) -> Guarantee:
        p = self.privacy
        return declared(p.epsilon, p.delta, unit=p.unit, adjacency=p.adjacency)

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
        calibration: Literal["sound", "paper"] = "sound",
        public: Sequence[str] = (),
        post_processing: Sequence[str] = (),
        caveats: Sequence[str] = (),
        delivered: float | None = None,
    ) -> Certificate:
        """A certificate from public facts alone; a sound one is refused if its events cost more than it
        declares.
        """
        from gnomon.privacy.noise.stream import noise_is_private

        if calibration == "sound":
            _refuse_overspending(guarantee, events)
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
                1.0, math.fsum({e.mechanism: _total_variation(e.mechanism) for e in events}.values())
            ),
        )
        finite, paper = math.isfinite(guarantee.epsilon), calibration == "paper"
        kept = delivered <= guarantee.epsilon * _SLACK if delivered is not None else not (paper and caveats)
        holds = noise.private and finite and kept
        pure = guarantee.delta == 0
        return cls(
            statement=_statement(guarantee, rows, noise.private, holds, delivered),
            holds=holds,
            delivered=delivered,
            caveats=tuple(caveats),
            method=method,
            calibration=calibration,
            privacy=Privacy(
                definition="pure differential privacy" if pure else "approximate differential privacy",
                epsilon=guarantee.epsilon,
                delta=guarantee.delta,
                unit=guarantee.unit,
                adjacency=guarantee.adjacency,
                trust=TRUST,
            ),
            table=table,
            rows=rows,
            events=tuple(Mechanism.model_validate(event.to_dict()) for event in events),
            composition=_composition(events),
            noise=noise,
            public=tuple(public),
            post_processing=tuple(post_processing),
            versions=_versions(),
        )

    def with_files(self, hashes: Mapping[str, str], *, released_rows: int | None = None) -> Certificate:
        """The same certificate, bound to the released files by their SHA-256."""
        return self.model_copy(update={"files": dict(sorted(hashes.items())), "released_rows": released_rows})

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


def _refuse_overspending(guarantee: Guarantee, events: Sequence[Event]) -> None:
    """The last line of defence: what the events cost together must not exceed what is declared."""
    losses = [event.loss for event in events]
    if not losses or math.isinf(guarantee.epsilon):
        return
    if guarantee.delta == 0 and not all(isinstance(loss, PureDP) for loss in losses):
        raise GnomonError("The release spent Gaussian noise under a pure guarantee; it is not certified.")
    if any((loss.unit, loss.adjacency) != (guarantee.unit, guarantee.adjacency) for loss in losses):
        raise GnomonError("The release protected another unit or adjacency than declared; not certified.")
    spent = guarantee_of(losses, guarantee.delta)
    if spent.epsilon > guarantee.epsilon * _SLACK or spent.delta > guarantee.delta * _SLACK:
        raise GnomonError(
            f"The release spent epsilon {spent.epsilon:.6g} and delta {spent.delta:.3g}, but declares "
            f"epsilon {guarantee.epsilon:.6g} and delta {guarantee.delta:.3g}; it is not certified."
        )


def _total_variation(mechanism: str) -> float:
    """How far the sampler is from its ideal law, as its module proves it."""
    if mechanism not in _SAMPLERS:
        return 0.0
    return float(import_module(f"gnomon.privacy.noise.{_SAMPLERS[mechanism]}").TOTAL_VARIATION)


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


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _statement(
    guarantee: Guarantee, rows: int | None, private_noise: bool, holds: bool, delivered: float | None
) -> str:
    """One paragraph that a person without training can use."""
    if not private_noise:
        return "This release is NOT private: its noise was fixed for a test. Do not publish it."
    if math.isinf(guarantee.epsilon):
        return "This release is NOT private: no noise was added (epsilon is infinite). Do not publish it."
    what = {
        Unit.ROW: "one person's whole record (its label included)",
        Unit.ATTRIBUTE: "one attribute of one person's record",
    }[guarantee.unit]
    replaced = guarantee.adjacency is Adjacency.REPLACE_ONE
    change = "is as it is or is replaced by any other" if replaced else "is in the table or not"
    numbers = f"epsilon = {guarantee.epsilon:.12g}"
    if isinstance(guarantee, ApproxDP):
        numbers += f" and delta = {guarantee.delta:.12g}"
    if not holds:
        really = "an epsilon that it cannot name"
        if delivered is not None:
            really = f"epsilon = {delivered:.4g}" if math.isfinite(delivered) else "no finite epsilon"
        return (
            f"This release does NOT keep the privacy it declares ({numbers}): it follows a paper's printed "
            f"noise, which delivers {really}. It is for reproducing the paper, not for publishing. "
            "See the caveats."
        )
    except_for = ", except with probability delta" if isinstance(guarantee, ApproxDP) else ""
    factor = _factor(guarantee.epsilon)
    known = "The schema is" if rows is None else f"The number of rows, {rows}, and the schema are"
    return (
        f"This release is differentially private with {numbers}. Whoever reads it, whatever else they know, "
        f"sees almost the same whether {what} {change}: every outcome is at most {factor} "
        f"times as likely in one case as in the other{except_for}. {known} public knowledge. What is true of "
        "people in general can be learnt from it, and further releases about the same people add to the loss."
    )


def _factor(epsilon: float) -> str:
    """e^epsilon, rounded up to three digits."""
    if epsilon > 700:
        return f"e^{epsilon:g}"
    value = math.exp(epsilon)
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / step) * step:.4g}"
