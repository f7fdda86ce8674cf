"""PrivateSVM: a linear support vector machine whose weights are published with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Never

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin

from gnomon.errors import ParameterError
from gnomon.methods.base import Release
from gnomon.methods.baseline.base import Compared, check_full_dimension
from gnomon.methods.parameters import check_number
from gnomon.methods.public import Notes, Public
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.measure import Measurer
from gnomon.privacy.mechanism import Noise, vector_noise, vector_norm
from gnomon.privacy.rounding import fraction
from gnomon.privacy.sensitivity import Norm, Sensitivity
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID, Integers, Matrix
from gnomon.statistics.queries import Minimum, Query, gram
from gnomon.table.rows import Rows
from gnomon.table.source import open_source

FINE = 2.0**30  # integer steps to a unit of a weight
SLOPE = 2.0**26  # and to a slope of the loss
NEAR = 0.01  # how near the minimiser the search ends, of the distance that the noise is made for
NEWTON = 100  # steps of Newton's method, before gradient descent takes its sure way
BLOCK = 2**10  # rows whose products of a slope and a cell, below 2^42 each, add up exactly in doubles
MOST_ROWS = 2**20  # whose sums stay within 64-bit integers
SOFT = 0.5  # half the width of the round part of the hinge


@dataclass(eq=False, repr=False)
class PrivateSvm(ClassifierMixin, Compared, Release):  # type: ignore[misc]
    """A linear classifier of two classes: the weights of a support vector machine, with noise.

    Reference: Rubinstein, Bartlett, Huang, Taft, "Learning in a Large Function Space: Privacy-Preserving Mechanisms for SVM
    Learning", J. Privacy and Confidentiality 2012, PrivateSVM-Finite: minimise |w|^2/2 + (C/n) sum loss, add Laplace noise.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP by Gaussian noise, for replacing one record with its label; n is public.

    Differs from the paper: its noise is for a distance of 4 C / n of two minimisers, 2 C / n suffices; the hinge is round
    around 1, so that the minimiser is found up to a proved error, which the noise covers too; rows lie in a declared ball;
    every step is a sum of integers.

    Parameters
    ----------
    epsilon, delta, schema, bounds, target, classes : as in RonGauss; two classes.
    C : how much the errors count beside the length of w. The noise grows with C / n: 1,500 rows are served better by 30.
    radius : rows are clipped to this length; by default half the largest that an encoded row can have.
    random_state : nothing here is drawn from it.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> gn.baseline.PrivateSvm(8.0, 1e-6, bounds=(0, 1), classes=[0, 1]).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    name: ClassVar[str] = "private-svm"
    publishes: ClassVar[str] = "classifier"

    C: float = 1000.0
    radius: float | None = None

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_full_dimension(self, public)
        if public.target.classes != 2:
            raise ParameterError(
                "PrivateSvm tells two classes apart; declare a target of two classes, or fit one against the rest."
            )
        check_number(self, "C", 1e-3, 1000.0)
        check_number(self, "radius", 1e-3, 1e6, optional=True)
        if public.rows > MOST_ROWS:
            raise ParameterError(f"PrivateSvm is for at most {MOST_ROWS} rows; give fewer.")
        if self.calibration == "paper":
            raise ParameterError("The paper's noise is more than needed; use calibration='sound'.")

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        longest = math.sqrt(len(public.encoder.groups))
        self.frame_ = Frame.identity(public.m, radius=self.radius or longest / 2)
        query = HingeMinimum("weights of the support vector machine", self.frame_, float(self.C), public.rows)
        self.weights_ = data.minimise(query, public.budget).answer / FINE

    # --- what is published ---

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """How far on the side of the second class rows are; by public knowledge and the noisy weights alone."""
        source = open_source(X, None, schema=self.schema_)
        names = [column.name for column in self.schema_.features]
        rows = [self.encoder_.encode(batch, target=False) for batch in source.batches(names)]
        return np.concatenate([with_constant(self.frame_, one) @ self.weights_ / GRID for one in rows])

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The two classes, as they are declared."""
        return np.array(self.encoder_.classes)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : rows with the columns of the table.
        """
        found: npt.NDArray[Any] = self.classes_[(self.decision_function(X) > 0).astype(np.int64)]
        return found

    def sample(self, *_: Any, **__: Any) -> Never:
        """There are no rows: this method publishes a classifier."""
        raise ParameterError("PrivateSvm publishes a classifier and no rows; use predict.")


def with_constant(frame: Frame, rows: Rows) -> Matrix:
    """Integer rows (z, 1) / sqrt(2) of length at most GRID."""
    Q, _ = frame.integers(rows, 1)
    Q[:, :-1] *= math.sqrt(0.5)
    np.trunc(Q[:, :-1], out=Q[:, :-1])
    Q[:, -1] = math.floor(GRID * math.sqrt(0.5))
    return Q


@dataclass(frozen=True, eq=False)
class HingeSums(Query):
    """Over the rows, in whole numbers: the sum of slope(y w.x) y x, and of xx' where the hinge is round."""

    statistic: str
    frame: Frame
    weights: Integers  # on the grid FINE

    def zero(self) -> Integers:
        p = len(self.weights)
        return np.zeros(p + p * p, dtype=np.int64)

    def of_batch(self, rows: Rows) -> Integers:
        Q, p = with_constant(self.frame, rows), len(self.weights)
        assert rows.codes is not None
        sign = np.where(rows.codes == 1, 1.0, -1.0)
        # |x| <= 2^16 and |w| <= 2^36, so that by Cauchy and Schwarz all partial sums are integers below 2^52
        margin = sign * (Q @ self.weights.astype(np.float64)) / (GRID * FINE)
        part = (1 + SOFT - margin) / (2 * SOFT)
        slope = -np.rint(np.clip(part, 0.0, 1.0) * SLOPE) * sign
        found = np.zeros(p, dtype=np.int64)
        for start in range(0, len(Q), BLOCK):
            some = slice(start, start + BLOCK)
            found += (slope[some] @ Q[some]).astype(np.int64)
        return np.concatenate([found, gram(Q[(part > 0) & (part < 1)]).ravel()])

    def noise(self, loss: Any) -> Noise:
        raise NotImplementedError("only the last step meets noise")


@dataclass(frozen=True, eq=False)
class Descent:
    """Where the search stands, the slope there and how long it is, and how many steps were made."""

    place: Integers
    done: bool = False
    steps: int = 0
    trial: Integers | None = None  # a place whose slope is to be seen next; None at the start
    shortest: float = math.inf  # the slope at `place`
    move: npt.NDArray[np.float64] | None = None  # from `place` to the trial


@dataclass(frozen=True, eq=False)
class HingeMinimum(Minimum):
    """The minimiser w of f(w) = |w|^2 / 2 + (C/n) sum loss(y w.x) over rows of length at most 1.

    Claim. Replacing a record moves the place where the search ends by at most 2 C / n + 2 `error` in L2.
    Proof. f has curvature at least 1 and the loss slopes of at most 1. At the minimiser for the other table the slope of f
    is that of the two records' terms alone, at most 2 C / n long; so the two minimisers are at most 2 C / n apart. The
    search ends where the slope of f is at most half of `error`, with as much for rounding, and curvature 1 puts the
    minimiser within that length; or after so many steps of gradient descent that it is within `error` whatever the
    rows are: a step of 1/L, L = 1 + C / (2 SOFT), shortens the way by 1 - 1/L, the ball that holds every w with
    f(w) <= f(0) too, and roundings leave C / (2 SLOPE) + L sqrt(p) / (2 FINE) at the end.
    Worst pair: rows x and -x of length 1 with one label, n = 1 and C up to 1 - SOFT: 2 C.
    """

    statistic: str
    frame: Frame
    C: float
    rows: int

    @property
    def width(self) -> int:
        return self.frame.n_components + 1

    @property
    def curvature(self) -> float:
        return 1 + self.C / (2 * SOFT)

    @property
    def ball(self) -> float:
        """No w is longer where f is not above f(0) <= C."""
        return math.sqrt(2 * self.C)

    @property
    def rounding(self) -> float:
        """What rounded slopes and places leave of the way, doubled for floating point."""
        return self.C / SLOPE + self.curvature * math.sqrt(self.width) / FINE

    @property
    def error(self) -> float:
        """How far the last place may be from the minimiser."""
        return max(4 * self.rounding, NEAR * 2 * self.C / self.rows)

    @property
    def most(self) -> int:
        """Steps of gradient descent that bring the way that is left below C / SLOPE."""
        return math.ceil(math.log(2 * max(self.ball, 1.0) * SLOPE / self.C) * self.curvature)

    def start(self) -> Descent:
        return Descent(np.zeros(self.width, dtype=np.int64))

    def at(self, search: Descent) -> Query:
        place = search.place if search.trial is None else search.trial
        return HingeSums(self.statistic, self.frame, place)

    def step(self, search: Descent, total: Integers) -> Descent:
        """Newton's method, its steps halved until the slope is shorter; where that takes long, gradient descent."""
        p, place = self.width, search.place if search.trial is None else search.trial
        scale = self.C / (self.rows * GRID)
        slope = place / FINE + total[:p] * (scale / SLOPE)
        length, steps = float(np.linalg.norm(slope)), search.steps + 1
        if length <= self.error / 2:
            return Descent(place, True, steps)
        if steps > NEWTON:
            move = -slope / self.curvature
            done = steps > NEWTON + self.most
            return Descent(place, done, steps, self._moved(place, move), length, move)
        if length >= search.shortest and search.move is not None:
            move = search.move / 2
            return Descent(search.place, False, steps, self._moved(search.place, move), search.shortest, move)
        H = np.eye(p) + total[p:].reshape(p, p) * (scale / (GRID * 2 * SOFT))
        move = -np.linalg.solve(H, slope)
        return Descent(place, False, steps, self._moved(place, move), length, move)

    def _moved(self, place: Integers, move: npt.NDArray[np.float64]) -> Integers:
        """A step, within the ball."""
        w = place / FINE + move
        return np.rint(w * (FINE * min(1.0, self.ball / max(float(np.linalg.norm(w)), 1e-300)))).astype(
            np.int64
        )

    def noise(self, loss: Spendable) -> Noise:
        norm = vector_norm(loss)
        apart = 2 * fraction(self.C) / self.rows + 2 * fraction(self.error)
        steps = (
            apart * fraction(FINE) * (fraction(math.sqrt(self.width) * (1 + 1e-12)) if norm is Norm.L1 else 1)
        )
        return vector_noise(Sensitivity(norm, steps, adjacency=loss.adjacency).protecting(loss), loss)
