"""Membership inference with shadow models (Shokri et al. 2017), the experiment of RON-Gauss, section 6.2.

A model is trained on the rows that a method releases. The attacker sees the model's class probabilities for a real
row, and its label, and guesses whether the row was in the private table. To learn how, the attacker makes shadow tables
of rows it owns, releases them with the same method, trains the same model on them, and knows who was a member. Half of
all rows that the attacker is asked about are members, so that blind guessing is right half of the time.

`likelihood_ratio_attack` is stronger (Carlini et al. 2022): shadow tables are halves of the very rows that are asked
about, so every row has its own two distributions of the model's confidence, with it and without it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from gnomon.errors import DataError, GnomonWarning, ParameterError
from gnomon.evaluation.sides import Sides
from gnomon.methods.charging import unaccounted
from gnomon.statistics.grid import Matrix

Codes = npt.NDArray[np.int64]
SHADOWS = 10
FEWEST = 20  # members that an attack is worth the name with


@dataclass(frozen=True)
class Membership:
    """How often the attacker is right, with an exact 95% interval, beside how often the attacked model is."""

    attack_accuracy: float
    interval: tuple[float, float]
    utility: float  # accuracy of the attacked model on rows that were no members
    asked: int
    shadows: int
    epsilon: float
    called_members: float  # the share of the rows asked about that the attack calls members

    @property
    def same_answer(self) -> bool:
        """The attack says the same of every row, so nothing is shown either way."""
        return self.called_members in (0.0, 1.0)

    @property
    def leakage(self) -> float:
        """What the attack is right beyond a coin."""
        return self.attack_accuracy - 0.5

    def to_dict(self) -> dict[str, Any]:
        found = asdict(self)
        found["epsilon"] = None if math.isinf(self.epsilon) else self.epsilon
        return {**found, "interval": list(self.interval), "leakage": self.leakage}


def membership_inference(
    method: Any,
    X: Matrix,
    y: Codes,
    *,
    shadows: int = SHADOWS,
    random_state: Any = None,
    model: Callable[[], Any] | None = None,
) -> Membership:
    """Attack `method` (an unfitted release, or None: the model is trained on the real rows) on arrays X and labels y.

    A third of the rows are the private table, a third the rows that were not in it, and the last third is what the
    attacker owns and splits again for every shadow. The attack model is a neural network trained for 50 epochs with a
    learning rate of 0.01, one for all classes, as in the experiment of RON-Gauss; the attacked model is a random forest
    unless `model` makes another. Nothing of this is published, so nothing is charged.
    """
    if isinstance(shadows, bool) or not isinstance(shadows, int) or shadows < 1:
        raise ParameterError(f"The 'shadows' parameter must be a positive integer. Got {shadows!r} instead.")
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    size = len(X) // 3
    if size < FEWEST:
        raise DataError(f"Membership inference needs at least {3 * FEWEST} rows. Got {len(X)} instead.")
    rng = np.random.default_rng(random_state)
    make = model or (lambda: RandomForestClassifier(n_estimators=50, random_state=int(rng.integers(2**31))))
    classes = np.unique(y)
    order = rng.permutation(len(X))
    members, others, owned = order[:size], order[size : 2 * size], order[2 * size :]
    lessons = []
    for _ in range(shadows):
        mine = rng.permutation(owned)
        lessons.append(_seen(method, X, y, mine[: len(mine) // 2], mine[len(mine) // 2 :], classes, make)[0])
    attack = MLPClassifier((64,), learning_rate_init=0.01, max_iter=50, random_state=int(rng.integers(2**31)))
    features, answers = (np.concatenate(part) for part in zip(*lessons, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 50 epochs are what the experiment has, converged or not
        attack.fit(features, answers)
    (asked, truth), utility = _seen(method, X, y, members, others, classes, make)
    return _judged(np.asarray(attack.predict(asked)) == 1, truth == 1, utility, shadows, method)


def likelihood_ratio_attack(
    method: Any,
    X: Matrix,
    y: Codes,
    *,
    shadows: int = SHADOWS,
    random_state: Any = None,
    model: Callable[[], Any] | None = None,
) -> Membership:
    """Attack `method` with a likelihood ratio for every row, from shadow tables that had it and that had not.

    All rows are asked about. The private table is a random half of them, and so is every shadow table. A row's confidence
    is the logit of its own class; both of its distributions are normal with a variance that all rows share.
    """
    if isinstance(shadows, bool) or not isinstance(shadows, int) or shadows < 2:
        raise ParameterError(
            f"The 'shadows' parameter of the likelihood ratio must be an integer of at least 2. Got {shadows!r} instead."
        )
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    if len(X) < 2 * FEWEST:
        raise DataError(f"Membership inference needs at least {2 * FEWEST} rows. Got {len(X)} instead.")
    rng = np.random.default_rng(random_state)
    make = model or (lambda: RandomForestClassifier(n_estimators=50, random_state=int(rng.integers(2**31))))
    classes = np.unique(y)
    inside = np.zeros((shadows, len(X)), dtype=bool)
    for one in range(
        0, shadows, 2
    ):  # a half and the other half, so that every row is in as many as it is not
        half = rng.permutation(len(X))[: len(X) // 2]
        inside[one, half] = True
        if one + 1 < shadows:
            inside[one + 1] = ~inside[one]
    seen = np.array([_confidence(method, X, y, np.flatnonzero(mine), classes, make)[0] for mine in inside])
    members = np.zeros(len(X), dtype=bool)
    members[rng.permutation(len(X))[: len(X) // 2]] = True
    told, utility = _confidence(method, X, y, np.flatnonzero(members), classes, make)
    means = [
        np.where(side, seen, 0).sum(axis=0) / np.maximum(side.sum(axis=0), 1) for side in (inside, ~inside)
    ]
    variance = max(float(np.mean((seen - np.where(inside, means[0], means[1])) ** 2)), 1e-12)
    ratio = ((told - means[1]) ** 2 - (told - means[0]) ** 2) / (2 * variance)
    return _judged(ratio > 0, members, utility, shadows, method)


def _judged(said: Any, truth: Any, utility: float, shadows: int, method: Any) -> Membership:
    right = int((said == truth).sum())
    exact = stats.binomtest(right, len(truth)).proportion_ci(0.95, "exact")
    epsilon = math.inf if method is None else float(method.epsilon)
    interval = (float(exact.low), float(exact.high))
    return Membership(
        right / len(truth), interval, utility, len(truth), shadows, epsilon, float(np.mean(said))
    )


def leakage_curve(
    method: Any, X: Matrix, y: Codes, epsilons: Sequence[float], **settings: Any
) -> list[Membership]:
    """The attack at several epsilons (accuracy against epsilon, utility against leakage), real data last."""
    found = [
        membership_inference(clone(method).set_params(epsilon=epsilon), X, y, **settings)
        for epsilon in epsilons
    ]
    return [*found, membership_inference(None, X, y, **settings)]


def _seen(
    method: Any, X: Matrix, y: Codes, members: Codes, others: Codes, classes: Codes, make: Callable[[], Any]
) -> tuple[tuple[Matrix, Codes], float]:
    """What an attacker sees of members and as many others, who they were, and the model's accuracy on the others."""
    others = others[: len(members)]
    asked = np.concatenate([members, others])
    truth = np.r_[np.ones(len(members), int), np.zeros(len(others), int)]
    chances = _chances(method, X, y, members, asked, classes, make)
    labelled = np.column_stack([chances, y[asked][:, None] == classes[None, :]]).astype(np.float64)
    right = classes[np.argmax(chances[len(members) :], axis=1)] == y[others]
    return (labelled, truth), float(right.mean())


def _confidence(
    method: Any, X: Matrix, y: Codes, members: Codes, classes: Codes, make: Callable[[], Any]
) -> tuple[Matrix, float]:
    """The logit of every row's own class by a model of the release of `members`, and its accuracy on the other rows."""
    chances = _chances(method, X, y, members, np.arange(len(X)), classes, make)
    own = np.clip(chances[np.arange(len(X)), np.searchsorted(classes, y)], 1e-6, 1 - 1e-6)
    others = np.setdiff1d(np.arange(len(X)), members)
    right = classes[np.argmax(chances[others], axis=1)] == y[others]
    return np.log(own) - np.log1p(-own), float(right.mean())


def _chances(
    method: Any, X: Matrix, y: Codes, members: Codes, asked: Codes, classes: Codes, make: Callable[[], Any]
) -> Matrix:
    """Class probabilities of the rows asked about, by a model of what the method releases of its members."""
    if method is None:
        released, labels, seen = X[members], y[members], X[asked]
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GnomonWarning)
            fitted = clone(method).fit(X[members], y[members], charge=unaccounted)
        released, labels = fitted.sample(len(members))
        seen = fitted.transform(X[asked])
    chances = np.zeros((len(asked), len(classes)))
    if len(np.unique(labels)) < 2:  # a release of one class teaches that one
        chances[:, np.searchsorted(classes, labels[:1])] = 1.0
        return chances
    model = make().fit(released, labels)
    chances[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(seen)
    return chances


def attack_release(sides: Sides, rng: np.random.Generator) -> Membership:
    """The attack on the method of a release, fitted anew to the real rows that the evaluation looks at."""
    from gnomon.methods import METHODS

    certificate = sides.published.certificate
    if sides.task != "classification":
        raise ParameterError(
            "Membership inference attacks a classifier; the release has no category as its target."
        )
    if certificate.method not in METHODS:
        raise DataError(
            f"The method {certificate.method!r} of the release is not known to this version of gnomon."
        )
    encoder_width, seen = sides.real.X.shape[1], sides.published.map
    kind = METHODS[certificate.method]
    wanted: dict[str, Any] = {
        "epsilon": certificate.privacy.epsilon,
        "delta": certificate.privacy.delta,
        "bounds": (-1.0, 1.0),
        "classes": list(range(sides.classes)),
        "n_components": "auto" if seen.shows_all else min(seen.frame.n_components, encoder_width),
        "calibration": certificate.calibration,
        "not_private": math.isinf(certificate.privacy.epsilon),
    }
    taken = kind.parameter_names()
    method = kind(**{name: value for name, value in wanted.items() if name in taken})
    assert sides.real.y is not None
    return membership_inference(method, sides.real.X, sides.real.y, random_state=int(rng.integers(2**31)))
