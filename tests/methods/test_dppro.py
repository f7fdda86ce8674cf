"""DPPro: the realised sensitivity, Lemma 5's dimension, distances and linear queries."""

import math

import numpy as np
import pyarrow as pa
import pytest

import gnomon as gn
from gnomon.errors import ParameterError
from gnomon.methods.distance_dimension import best_dimension
from gnomon.methods.typical_distance import SUM_GRID, Spread
from gnomon.privacy import accounting
from gnomon.privacy.guarantee import Adjacency, GaussianDP, Unit
from gnomon.privacy.sensitivity import Norm, row_change
from gnomon.release.analyst.estimates import Estimates
from gnomon.release.analyst.rows import Law
from gnomon.table.encode import Encoder
from gnomon.table.rows import Rows

REPLACE = Adjacency.REPLACE_ONE


def cloud(n: int = 500, m: int = 12, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, m))


def fitted(X: np.ndarray, **parameters: object) -> gn.DpPro:
    settings = {"epsilon": 2.0, "delta": 1e-5, "bounds": (-1.0, 1.0), "n_components": 4, "random_state": 1}
    return gn.DpPro(**{"order": "kept", **settings, **parameters}).fit(X)


def baskets(n: int = 400, items: int = 6) -> tuple[pa.Table, gn.Schema]:
    rng = np.random.default_rng(2)
    names = [f"item{j}" for j in range(items)]
    table = pa.table({name: rng.choice(["no", "yes"], n) for name in names})
    columns = tuple(gn.Column(name=name, kind="category", values=("no", "yes")) for name in names)
    return table, gn.Schema(name="baskets", columns=columns)


# --- calibration ---


@pytest.mark.parametrize("projection", ["gaussian", "orthonormal", "sign"])
@pytest.mark.parametrize("unit", ["row", "attribute"])
def test_noise_is_what_the_drawn_matrix_needs(projection: str, unit: str) -> None:
    method = fitted(cloud(), projection=projection, unit=unit)
    R = method.projection_
    if unit == "row":
        needed = float(row_change(Norm.L2, R, radius=math.sqrt(12), adjacency=REPLACE).value)
    else:
        needed = 2 * np.linalg.norm(R, axis=1).max()
    sigma = needed / accounting.mu_of(2.0, 1e-5)
    assert sigma <= method.noise_std_ <= sigma * 1.001
    assert method.certificate_.holds
    assert method.guarantee_.unit is Unit(unit)


def test_a_category_that_changes_moves_two_cells() -> None:
    table, schema = baskets()
    method = gn.DpPro(2.0, 1e-5, schema=schema, unit="attribute", n_components=4, random_state=0).fit(table)
    R = method.projection_.reshape(6, 2, 4)
    needed = np.linalg.norm(R[:, 0] - R[:, 1], axis=1).max()
    assert method.noise_std_ == pytest.approx(needed / accounting.mu_of(2.0, 1e-5), rel=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_a_number_that_may_be_missing_moves_its_indicator_too(seed: int) -> None:
    """From its cells as they are encoded: two numbers are 2 apart, a number and a missing one lie in two columns."""
    dose = gn.Column(name="dose", kind="number", low=0, high=10, missing="indicator")
    schema = gn.Schema(name="t", columns=(dose, gn.Column(name="flag", kind="boolean")))
    corners = pa.table({"dose": pa.array([0.0, 10.0, None]), "flag": [True] * 3})
    method = gn.DpPro(2.0, 1e-5, schema=schema, unit="attribute", n_components=2, random_state=seed).fit(
        corners
    )
    seen = Encoder(schema).encode(corners).X @ method.projection_
    dose_moves = max(np.linalg.norm(a - b) for a in seen for b in seen)
    needed = max(dose_moves, 2 * np.linalg.norm(method.projection_[2]))
    assert method.noise_std_ == pytest.approx(needed / accounting.mu_of(2.0, 1e-5), rel=1e-3)


def test_the_noise_is_gaussian_of_its_scale() -> None:
    X = cloud(3000)
    method = fitted(X)
    residual = ((method.sample() - X @ method.projection_) / method.noise_std_).ravel()
    assert abs(residual.std() - 1) < 0.05  # 12,000 values: a deviation of 0.0065
    assert abs(np.mean(np.abs(residual)) - math.sqrt(2 / math.pi)) < 0.04


def test_theorem_2_is_the_printed_noise() -> None:
    method = fitted(cloud(), unit="attribute", calibration="paper")
    theta = np.linalg.norm(method.projection_, axis=1).max()
    sigma = theta * math.sqrt(2 * (math.log(1 / 2e-5) + 2.0)) / 2.0
    assert method.noise_std_ == pytest.approx(
        2 * sigma, rel=1e-5
    )  # numbers in [-1, 1] are twice as wide as cells of 0 and 1
    assert method.certificate_.holds  # for numbers it is right, and a little more than needed
    assert method.certificate_.delivered < 2.0
    assert fitted(cloud(), unit="attribute").noise_std_ < method.noise_std_


def test_theorem_2_may_be_short_for_categories() -> None:
    """Two cells change, not one; by how much the noise is short depends on R, which the seed fixes."""
    table, schema = baskets()
    short = []
    for seed in range(12):
        made = gn.DpPro(
            2.0, 1e-5, schema=schema, unit="attribute", n_components=8, calibration="paper", random_state=seed
        )
        method = made.fit(table)
        R = method.projection_.reshape(6, 2, 8)
        moved = np.linalg.norm(R[:, 0] - R[:, 1], axis=1).max()
        delivered = accounting.epsilon_of(moved / method.noise_std_, 1e-5)
        assert method.certificate_.delivered == pytest.approx(delivered, rel=1e-2)
        assert method.certificate_.holds == (method.certificate_.delivered <= 2.0)
        short.append(delivered > 2.0)
    assert any(short)


def test_a_given_sigma_is_the_noise() -> None:
    method = fitted(cloud(), unit="attribute", calibration="paper", sigma=0.5)
    assert method.noise_std_ == pytest.approx(1.0, rel=1e-3)
    assert method.certificate_.delivered > 2.0


def test_lemma_4_is_certified_for_what_it_gives() -> None:
    wide = {"n_components": 40, "printed": "lemma-4"}
    method = fitted(cloud(m=60), unit="attribute", calibration="paper", **wide)
    sigma = 4 * math.sqrt(math.log(1e5)) / 2
    assert method.noise_std_ == pytest.approx(
        2 * sigma, rel=1e-6
    )  # numbers in [-1, 1] are twice as wide as Lemma 4's
    theta = 2 * np.linalg.norm(method.projection_, axis=1).max()
    real = accounting.epsilon_of(theta / (2 * sigma), 1e-5)
    assert method.certificate_.delivered == pytest.approx(real, rel=1e-2)
    with pytest.raises(ParameterError, match=r"Lemma 4 is for k > 3.*printed='theorem-2'"):
        fitted(cloud(m=60), unit="attribute", calibration="paper", printed="lemma-4", n_components=20)


# --- the optimal dimension ---


def test_lemma_5_minimises_theorem_3() -> None:
    rho, sigma = 6.0, 0.8
    k = round(rho**2 / (2 * sigma**2))
    variances = [float(Law(sigma, 8.0, 2 / j).variance(np.array([rho**2]), j)[0]) for j in range(1, 100)]
    assert abs(1 + int(np.argmin(variances)) - k) <= 1
    assert best_dimension(100, rho**2, lambda _: sigma, 8.0) == 1 + int(np.argmin(variances))
    assert best_dimension(100, 0.1**2, lambda _: 5.0, 8.0) == 1


def test_a_larger_typical_distance_asks_for_more_dimensions() -> None:
    near = fitted(cloud(), unit="attribute", epsilon=20.0, n_components="auto", typical_distance=0.5)
    far = fitted(cloud(), unit="attribute", epsilon=20.0, n_components="auto", typical_distance=8.0)
    assert near.n_components_ < far.n_components_


def test_an_estimated_distance_is_paid_for() -> None:
    for unit in ("row", "attribute"):
        method = fitted(cloud(3000), unit=unit, n_components="auto", typical_distance="estimate")
        assert len(method.events_) == 2
        assert "typical distance" in method.events_[0].statistic
        assert math.hypot(*(e.loss.mu for e in method.events_)) <= accounting.mu_of(2.0, 1e-5) * (1 + 1e-12)
        assert method.certificate_.holds


@pytest.mark.parametrize("unit", ["row", "attribute"])
def test_no_neighbour_moves_the_integer_sums_farther_than_they_are_charged(unit: str) -> None:
    """An adversary over the cells themselves; the sensitivity of the numbers has its own in test_sensitivity."""
    query = Spread("spread", 5, 5)
    charged = float(query.sensitivity(Norm.L2, GaussianDP(1.0, Unit(unit))).value)
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(500):
        x, y = rng.choice([-1.0, -0.3, 0.0, 0.71, 1.0], (2, 1, 5))
        y = np.where(np.arange(5) == 2, y, x) if unit == "attribute" else y
        change = query.of_batch(Rows.of(x)) - query.of_batch(Rows.of(y))
        worst = max(worst, float(np.linalg.norm(change)))
    assert 0.5 * charged < worst <= charged
    assert charged >= 2 * SUM_GRID


def test_the_sums_for_a_typical_distance_are_those_of_numpy() -> None:
    X = cloud(200, 5)
    exact = Spread("spread", 5, 5).of_batch(Rows.of(X))
    assert np.abs(exact[:5] / SUM_GRID - X.sum(axis=0)).max() < 200 / SUM_GRID
    assert exact[5] / SUM_GRID == pytest.approx((X**2).sum(), rel=1e-4)


# --- what analysts do with it ---


def test_distances_are_unbiased_over_projections_and_noise() -> None:
    X = cloud(60, 6)
    i, j = np.triu_indices(60, 1)
    truth = np.sum((X[i] - X[j]) ** 2, axis=1)
    errors, claimed = [], []
    for seed in range(40):
        found = fitted(X, epsilon=30.0, random_state=seed).distances(i, j)
        errors.append(np.mean(found.value - truth))
        claimed.append(np.mean(found.variance))
    # pairs share rows and the matrix, so the mean over pairs varies about as much as one pair does
    assert abs(np.mean(errors)) < 6 * math.sqrt(np.mean(claimed) / 40)
    assert fitted(X, epsilon=30.0).distances(0, 1).standard_error > 0


def test_linear_queries_find_shares() -> None:
    table, schema = baskets(4000)
    method = gn.DpPro(
        50.0, 1e-5, schema=schema, unit="attribute", n_components=12, projection="orthonormal"
    ).fit(table)
    answers = method.linear(np.eye(12))
    assert isinstance(answers, Estimates)
    truth = np.array([v for j in range(6) for v in _shares(table, f"item{j}")])
    # k = m: the scaled orthonormal projection is a rotation, and only noise is left
    assert np.all(np.abs(answers.value - truth) < 6 * answers.standard_error + 1)
    with pytest.raises(ParameterError, match=r"shape \(c, 12\)"):
        method.linear(np.ones(3))


def _shares(table: pa.Table, name: str) -> tuple[int, int]:
    yes = table[name].to_pylist().count("yes")
    return table.num_rows - yes, yes


# --- refusals ---


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"delta": 0.0}, "must be positive, because its noise is Gaussian"),
        ({"n_components": -3}, "must be 'auto' or a positive integer"),
        ({"n_components": 13}, "at most 12"),
        ({"typical_distance": "guess", "n_components": "auto"}, "a positive number of at most 1e"),
        ({"typical_distance": 1e300, "n_components": "auto"}, "a positive number of at most 1e"),
        ({"typical_distance": 1.0}, "leave n_components at 'auto'"),
        ({"calibration": "paper"}, "for unit='attribute' and a Gaussian projection"),
        ({"printed": "lemma-4"}, "for calibration='paper'"),
        ({"sigma": 1.0}, "for calibration='paper'"),
        ({"printed": "lemma", "calibration": "paper"}, "'theorem-2' or 'lemma-4'"),
        ({"sigma": -1.0, "calibration": "paper"}, "from 1e-06"),
        ({"unit": "cell"}, "must be 'row' or 'attribute'"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(parameters: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        fitted(cloud(), **parameters)


def test_another_number_of_rows_is_refused_and_says_why() -> None:
    with pytest.raises(ParameterError, match="not a model to draw from"):
        fitted(cloud()).sample(499)
