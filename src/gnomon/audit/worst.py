"""For every method a record that is as hard to hide as its accounts allow, in a table that is otherwise empty.

A record is worst when it uses up every step of a method at once: it lies beyond every ball that rows are clipped to, on
opposite or orthogonal sides for the two tables, and its label moves. Other records lie at zero, in a class of their own,
where they neither help nor hide it; where a method first measures where its rows lie, there are enough of them
that the ball around them is small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from gnomon.audit.pair import Tables, Targets
from gnomon.privacy.guarantee import Adjacency, Guarantee, PureDP, Unit
from gnomon.privacy.mechanism import best_spend
from gnomon.projection.orthonormal import haar
from gnomon.table.column import Column
from gnomon.table.schema import Schema

Matrix = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
SEED = 0  # of public draws, so that both tables and the attacker see the same projection
HIDDEN = (
    16  # columns behind a projection to one: a ball that holds most rows is far smaller than the worst row
)
FEW_ROWS = 10
CROWD = 300  # records at zero, around which a method draws a small ball

FEW = {"candidates": 256, "queries": 1, "database_rows": 1, "random_state": SEED}
EXPECTED = 1000  # rows: the public order of magnitude where their number is private
PERSON = "who"
_OF_ARRAYS = ("classes", "bounds", "target_bounds", "expected_rows")  # which a schema declares


@dataclass(frozen=True)
class Worst:
    """Two tables X and y that differ in their first record, and the parameters that make it worst."""

    X: Tables
    y: Targets | None
    pair: str
    parameters: dict[str, Any]

    def added(self) -> Worst:
        """The first table without its first record, and with it: a neighbour where the number of rows is private.

        A sum moves by what the record adds to it, and the record of the first table adds all that it may.
        """
        X, y = self.X[0], None if self.y is None else self.y[0]
        labels = None if y is None else (y[1:], y)
        return replace(self, X=(X[1:], X), y=labels, pair="one record more")

    def of_person(self, rows: int) -> Worst:
        """A table, and the same with a person more, whose records are as many copies of the one that `added` adds.

        Everybody else has one record.
        """
        others, record = (self._columns(which) for which in (0, 1))
        without = pa.table({**others, PERSON: [f"p{i}" for i in range(len(self.X[0]))]})
        new = {name: np.repeat(cells[:1], rows) for name, cells in record.items()}
        more = pa.concat_tables([without, pa.table({**new, PERSON: ["new"] * rows})])
        names = tuple(self._declared(name) for name in others)
        schema = Schema(
            name="audit",
            rows=EXPECTED,
            person=PERSON,
            rows_per_person=rows,
            columns=(Column(name=PERSON, kind="identifier"), *names),
        )
        kept = {name: value for name, value in self.parameters.items() if name not in _OF_ARRAYS}
        pair = f"one person more, with {rows} record{'s' * (rows > 1)}"
        return Worst((without, more), None, pair, {**kept, "schema": schema})

    def _columns(self, which: int) -> dict[str, Any]:
        X = np.asarray(self.X[which])
        found = {f"c{j}": X[:, j] for j in range(X.shape[1])}
        return found if self.y is None else {**found, "y": self.y[which]}

    def _declared(self, name: str) -> Column:
        role = "target" if name == "y" else None
        if name == "y" and "classes" in self.parameters:
            return Column(name=name, kind="category", values=tuple(self.parameters["classes"]), role=role)
        return Column(name=name, kind="number", low=-1.0, high=1.0, role=role)


def worst_pair(
    method: str, claim: Guarantee, components: int | None = None, calibration: str = "sound"
) -> Worst:
    """The worst pair of a method at this budget; `components` where its dimension can be chosen."""
    if calibration == "paper" and method in _AS_PRINTED:
        return _AS_PRINTED[method]()
    if claim.adjacency is Adjacency.ADD_REMOVE:
        return _private(
            _ADDED[method]() if method in _ADDED else _pair(method)(claim, components).added(), claim
        )
    return _pair(method)(claim, components)


def _private(added: Worst, claim: Guarantee) -> Worst:
    """A pair for a claim under which the number of rows is private: of a record, or of a person."""
    if claim.unit is Unit.PERSON:
        return added.of_person(claim.rows)
    return replace(added, parameters={**added.parameters, "expected_rows": EXPECTED})


def _pair(method: str) -> Callable[[Guarantee, int | None], Worst]:
    """A method without a pair of its own is attacked by one that most statistics hide hardest."""
    return _PAIRS.get(method, _corners)


def _smallest(claim: Guarantee) -> int:
    """The smallest width of a moment matrix at which the budget is spent as it was declared: purely, or by mu."""
    if isinstance(claim, PureDP):
        return 2
    return next((q for q in range(2, 64) if not isinstance(best_spend(claim, q), PureDP)), 64)


def _tables(
    x: Matrix, y: Matrix, labels: tuple[int, int] | None, *, n: int = 2, others: int = 0
) -> tuple[Matrix, Labels | None]:
    X = np.zeros((2, n, len(x)))
    X[0, 0], X[1, 0] = x, y
    if labels is None:
        return X, None
    codes = np.full((2, n), others)
    codes[:, 0] = labels
    return X, codes


def _ron_gauss(claim: Guarantee, components: int | None) -> Worst:
    """The row of signs that the projection shows longest against a short one on the other side, in another class."""
    p = components or _smallest(claim) - 1
    m = HIDDEN * p if p < 4 else 2 * p
    W = haar(m, p, np.random.default_rng(SEED))
    x = np.where(W @ np.ones(p) >= 0, 1.0, -1.0)
    X, y = _tables(x, -0.001 * x, (0, 1), n=CROWD)
    return Worst(
        X, y, "opposite sides and classes", {"n_components": p, "classes": [0, 1], "random_state": SEED}
    )


def _modips(claim: Guarantee, components: int | None) -> Worst:
    m = components or _smallest(claim) - 1
    X, y = _tables(np.ones(m), np.full(m, -0.75), (0, 1), n=CROWD)
    return Worst(X, y, "opposite sides and classes", {"classes": [0, 1]})


def _corners(claim: Guarantee, components: int | None) -> Worst:
    """Orthogonal corners of the box in two classes: second moments see them at full length, all together or by class."""
    m = components or 2
    m += m % 2
    X, y = _tables(np.ones(m), np.resize([1.0, -1.0], m), (0, 1), n=CROWD)
    return Worst(X, y, "orthogonal rows of two classes", {"classes": [0, 1]})


def synthesizer_pair(claim: Guarantee, target: str = "classes", n: int = CROWD) -> Worst:
    """The worst pair of the Synthesizer among n records, for each kind of target ("classes", "number" or "none").

    Corners of the box, or a record more; a person comes with as many equal records as may be used.
    """
    worst = _synthesizer(target, n)
    return worst if claim.adjacency is Adjacency.REPLACE_ONE else _private(worst.added(), claim)


def _synthesizer(target: str, n: int) -> Worst:
    # beside a constant of weight w, rows are farthest apart where their product is -w^2; that of few rows has weight 1
    angle = math.pi / 4 + math.acos(-0.75 if target == "none" and n < FEW_ROWS else -0.25)
    other = np.array([math.cos(angle), math.sin(angle)])
    X, labels = _tables(np.ones(2), other / np.abs(other).max(), (0, 1), n=n)
    assert labels is not None
    targets: dict[str, tuple[Any, dict[str, Any]]] = {
        "classes": (labels, {"classes": [0, 1]}),
        "number": (1.0 - 2.0 * labels, {"target_bounds": (-1.0, 1.0)}),
        "none": (None, {}),
    }
    y, more = targets[target]
    pair = "corners of the box" + " and targets" * (y is not None)
    return Worst(X, y, pair, {**more, "bounds": (-1.0, 1.0)})


def _pca_gauss(claim: Guarantee, components: int | None) -> Worst:
    """Corners, and all directions are kept, so that no PCA can turn away from the record."""
    found = _corners(claim, components)
    return replace(found, parameters={**found.parameters, "n_components": found.X[0].shape[1]})


def _pca_gauss_as_printed() -> Worst:
    """Algorithm 1 centres by the true mean: when one of two rows leaves, both move, and the eigenvalue by 2 a^2 / N."""
    X = np.ones((2, 2, 1))
    X[1, 0] = -1.0
    return Worst(X, None, "one of two equal rows leaves", {"n_components": 1})


def _dprp(claim: Guarantee, components: int | None) -> Worst:
    x, y = np.eye(components or 2)[:2]
    X, labels = _tables(x, y - 0.1 * x, (0, 1))
    return Worst(X, labels, "orthogonal rows of two classes", {"classes": [0, 1]})


def _dprp_as_printed() -> Worst:
    """Algorithm 1 takes rows of unit length to be 1 apart; opposite ones are 2 apart. Its noise has more slack the fewer
    directions it projects to, and with thousands of them (the paper takes up to ten a column) hardly any.
    """
    X, _ = _tables(np.ones(1), -np.ones(1), None)
    return Worst(X, None, "opposite rows", {"k1": 4096, "random_state": SEED})


def _subspace(claim: Guarantee, components: int | None) -> Worst:
    """One column, so that no direction that is found can turn away from the record."""
    X, labels = _tables(np.ones(1), -np.ones(1), (0, 1))
    return Worst(
        X, labels, "opposite sides and classes", {"classes": [0, 1], "n_components": 1, "radius": 1.0}
    )


def _blocki(claim: Guarantee, components: int | None) -> Worst:
    X, labels = _tables(np.ones(components or 1), -np.ones(components or 1), (0, 1), others=2)
    return Worst(X, labels, "opposite sides and classes", {"classes": [0, 1, 2], "sketch_rows": 8})


def _counted(claim: Guarantee, components: int | None) -> Worst:
    """One attribute and the class: in each table the record moves two counts, and there is one edge to choose from.

    What a choice among several edges costs is searched for beside their score (`Dependence`) and by replay.
    """
    X, labels = _tables(np.ones(1), -np.ones(1), (0, 1))
    return Worst(X, labels, "opposite sides and classes", {"classes": [0, 1], "beta": 0.05, "bins": 2})


def _exponential(claim: Guarantee, components: int | None) -> Worst:
    """Databases of one row and one half-space: few candidates lie inside, and one record of two decides how many should."""
    X, _ = _tables(np.ones(1), -np.ones(1), None)
    X[:, 1] = 1.0
    return Worst(X, None, "the only record outside", dict(FEW))


def _exponential_added() -> Worst:
    """As many rows as the public order of magnitude, half of them in the half-space: one more decides who errs less."""
    X = np.ones((EXPECTED + 1, 1))
    X[EXPECTED // 2 + 1 :] = -1.0
    return Worst((X[1:], X), None, "one record more", dict(FEW))


_PAIRS: dict[str, Callable[[Guarantee, int | None], Worst]] = {
    "synthesizer": lambda claim, components: _synthesizer("classes", CROWD),
    "ron-gauss": _ron_gauss,
    "modips": _modips,
    "pca-gauss": _pca_gauss,
    "dprp": _dprp,
    "pca-identity": _subspace,
    "lda-identity": _subspace,
    "blocki": _blocki,
    "exponential": _exponential,
    "privbayes": _counted,
    "jtree": _counted,
    "priview": _counted,
}
_ADDED: dict[str, Callable[[], Worst]] = {"exponential": _exponential_added}
_AS_PRINTED: dict[str, Callable[[], Worst]] = {
    "pca-gauss": _pca_gauss_as_printed,
    "dprp": _dprp_as_printed,
}
