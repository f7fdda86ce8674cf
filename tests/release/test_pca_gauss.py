"""PCA-Gauss: what it spends, what it releases, what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

import gnomon as gn
from gnomon.engine.local import quiet
from gnomon.errors import DataError, GnomonWarning, ParameterError
from gnomon.model.refine import Lens
from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import ApproxDP, GaussianDP, PureDP
from gnomon.privacy.noise.stream import fixed_noise
from gnomon.privacy.sensitivity import Norm, moments
from gnomon.release import METHODS, pca_look, pca_marginals, pca_stages, ron_gauss
from gnomon.release.base import Account
from gnomon.release.map import PublicMap
from gnomon.release.pca_gauss import PcaGauss, drowned, plan
from gnomon.release.pca_look import Fit, Place, affordable, look
from gnomon.release.pca_paper import sir
from gnomon.statistics.moments import ball


def two_classes(n: int = 1500, m: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, m)) * 0.15
    X[:, 0] += np.where(y == 1, 0.3, -0.3)
    X[:, 1] *= np.where(y == 1, 2.0, 0.5)
    return np.clip(X, -1, 1), y


def line(n: int = 3000, m: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.clip(rng.standard_normal((n, m)) * 0.3, -1, 1)
    return X, np.clip(X @ [0.8, -0.5, 0.0, 0.0, 0.3] + 0.05 * rng.standard_normal(n), -1, 1)


def classifier(epsilon: float = 4.0, delta: float = 1e-5, **more: Any) -> PcaGauss:
    return PcaGauss(epsilon, delta, bounds=(-1, 1), classes=[0, 1], random_state=0, **more)


def test_it_is_registered() -> None:
    assert gn.PcaGauss is PcaGauss
    assert METHODS["pca-gauss"] is PcaGauss


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_a_classifier_learns_from_the_release(delta: float) -> None:
    X, y = two_classes()
    method = classifier(8.0, delta).fit(X, y)
    learned = LogisticRegression().fit(*method.sample(2000))
    fresh, labels = two_classes(seed=1)
    assert learned.score(method.transform(fresh), labels) > 0.9
    assert learned.score(fresh, labels) > 0.9
    assert method.certificate_.private


def test_a_regression_learns_its_slope() -> None:
    X, y = line()
    method = PcaGauss(8.0, 1e-5, bounds=(-1, 1), target_bounds=(-1, 1), random_state=0).fit(X, y)
    fresh, values = line(seed=1)
    assert Ridge().fit(*method.sample(3000)).score(method.transform(fresh), values) > 0.6


def test_rows_without_a_target_keep_their_spread() -> None:
    X, _ = two_classes()
    method = PcaGauss(8.0, 1e-5, bounds=(-1, 1), random_state=0).fit(X)
    Z = method.sample(4000)
    assert Z.shape == (4000, 8)
    assert np.all(Z.std(axis=0) > 0.4 * X.std(axis=0))
    assert np.all(Z.std(axis=0) < 2 * X.std(axis=0))


def test_a_narrow_table_with_delta_spends_its_many_small_shares_as_gaussian() -> None:
    X, y = two_classes()
    kinds = {event.mechanism for event in classifier(8.0, 1e-5).fit(X, y).certificate_.events}
    assert kinds == {"goe", "rounded-gaussian"}
    kinds = {event.mechanism for event in classifier(8.0, 0.0).fit(X, y).certificate_.events}
    assert kinds == {"matrix-laplace", "discrete-laplace"}


def test_without_noise_means_and_covariances_come_back() -> None:
    X, y = two_classes(4000)
    Z, codes = classifier(math.inf, 0.0, not_private=True, n_components=8).fit(X, y).sample(20_000)
    for c in (0, 1):
        assert np.allclose(Z[codes == c].mean(axis=0), X[y == c].mean(axis=0), atol=0.05)
        assert np.allclose(np.cov(Z[codes == c].T), np.cov(X[y == c].T), atol=0.03)


def test_bounds_declared_too_wide_cost_little() -> None:
    X, y = two_classes(4000)
    rng = np.random.default_rng(2)
    wide = (-rng.uniform(1, 5, 8), rng.uniform(1, 5, 8))
    method = PcaGauss(4.0, 1e-5, bounds=wide, classes=[0, 1], random_state=0).fit(X, y)
    fresh, labels = two_classes(seed=1)
    assert LogisticRegression().fit(*method.sample(2000)).score(method.transform(fresh), labels) > 0.9


@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_what_is_spent_is_what_was_declared(delta: float) -> None:
    events = classifier(1.0, delta).fit(*two_classes()).events_
    if delta == 0:
        assert sum(event.loss.epsilon for event in events) == pytest.approx(1.0)
    else:
        whole = spendable(ApproxDP(1.0, delta))
        assert math.sqrt(sum(event.loss.mu**2 for event in events)) == pytest.approx(whole.mu)


def test_the_plan_is_made_of_public_numbers() -> None:
    loss = spendable(ApproxDP(1.0, 1e-6))
    small, large = plan(400, 30, 2, "classification", loss), plan(200_000, 45, 19, "classification", loss)
    assert small.most is None
    assert large.most is not None
    assert large.most >= 12
    assert affordable(30, 13, loss) == {}
    steps, first, second = large.split(loss)
    assert second is not None
    spent = [*steps.values(), first, second]
    assert sum(part.mu**2 for part in spent) == pytest.approx(loss.mu**2)


def captured(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[np.ndarray]:
    found: list[np.ndarray] = []
    real = getattr(module, name)

    def spy(value: np.ndarray, *told: Any, **more: Any) -> Any:
        found.append(np.array(value))
        return real(value, *told, **more)

    monkeypatch.setattr(module, name, spy)
    return found


def neighbours(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Two tables that differ in the last record, which is as extreme as a cell allows."""
    rng = np.random.default_rng(seed)
    X, y = two_classes(40)
    other, label = X.copy(), y.copy()
    X[-1], other[-1] = rng.choice([-1.0, 0.0, 1.0], 8), rng.choice([-1.0, 0.0, 1.0], 8)
    label[-1] = seed % 2
    return X, y, other, label


@pytest.mark.parametrize("seed", range(8))
def test_no_neighbour_moves_a_stage_beyond_its_sensitivity(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    seen = captured(monkeypatch, pca_stages, "release_moments")
    loss = PureDP(1.0)
    rng = np.random.default_rng(seed)
    place = Place(rng.uniform(-1, 1, 8), rng.uniform(0.2, 5, 8), float(rng.uniform(0.05, 2)))
    W = np.linalg.qr(rng.standard_normal((8, 3)))[0]
    chart = PublicMap(place.centre, place.weight, False, W, np.zeros(3), place.radius, reach=place.radius)
    spread = rng.standard_normal((3, 3))
    lens = Lens.of(rng.standard_normal((2, 3)) * 0.1, spread @ spread.T * 0.01 + 1e-4 * np.eye(3), whole=True)
    X, y, other, label = neighbours(seed)
    for rows, codes in ((X, y), (other, label)):
        table = classifier()._open(rows, codes, quiet)
        with pytest.warns(GnomonWarning):
            pca_stages.classified(table, Account(loss), place, loss, None, 8, None)
        pca_stages.stage_two(table, Account(loss), loss, chart, lens)
    for a, b, T in ((seen[0], seen[2], ball(pca_stages.LABEL)), (seen[1], seen[3], ball(pca_stages.LAMBDA))):
        D = (a - b).astype(np.float64)
        most = moments(Norm.FROBENIUS, width=4, ball=T, blocks=2, adjacency=loss.adjacency).value
        assert 0 < np.sqrt((D**2).sum()) <= float(most)


@pytest.mark.parametrize("seed", range(8))
def test_no_neighbour_moves_the_look_beyond_its_sensitivity(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    seen = captured(monkeypatch, pca_look, "release_vector")
    loss = PureDP(math.inf)
    X, y, other, label = neighbours(seed)
    accounts = []
    for rows, codes in ((X, y), (other, label)):
        accounts.append(Account(loss))
        look(classifier()._open(rows, codes, quiet), accounts[-1], {"columns": loss}, Fit(0.5, 0.9))
    change = np.abs(seen[0] - seen[1]).sum()
    assert 0 < change <= float(accounts[0].events[0].sensitivity.value)


@pytest.mark.parametrize(("loss", "p"), [(PureDP(math.inf), 1), (GaussianDP(math.inf), 2)])
def test_opposite_corners_move_the_centre_by_all_that_is_charged(
    monkeypatch: pytest.MonkeyPatch, loss: Any, p: int
) -> None:
    seen = captured(monkeypatch, pca_look, "release_vector")
    account = Account(loss)
    for corner in (1.0, -1.0):
        X, y = two_classes(40)
        X[-1] = corner
        look(classifier()._open(X, y, quiet), account, {"centre": loss}, Fit(0.5, 0.9))
    change = float(np.linalg.norm((seen[0] - seen[1]).astype(float), p))
    charged = float(account.events[0].sensitivity.value)
    assert 0.999 * charged < change <= charged


@pytest.mark.parametrize("seed", range(8))
def test_no_neighbour_moves_the_lengths_of_classes_beyond_their_sensitivity(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """A record that changes its class and its length leaves one bin and enters another."""
    seen = captured(monkeypatch, pca_look, "release_vector")
    loss = PureDP(math.inf)
    chart = PublicMap(np.zeros(8), np.ones(8), False, np.eye(8, 3), np.zeros(3), 1.0, reach=1.0)
    lens = Lens.of(np.zeros((2, 3)), 0.1 * np.eye(3), whole=True)
    X, y, other, label = neighbours(seed)
    accounts = [Account(loss), Account(loss)]
    for account, rows, codes in zip(accounts, (X, other), (y, label), strict=True):
        table = classifier()._open(rows, codes, quiet)
        pca_stages.fitted(table, account, loss, chart, lens, np.full(2, 20.0))
    assert seen[0].sum() == len(X)
    assert np.abs(seen[0] - seen[1]).sum() <= float(accounts[0].events[0].sensitivity.value) == 2


@pytest.mark.parametrize(("far", "radius"), [(0, 0.25), (5, 4.0)])
def test_a_class_of_rows_that_are_mostly_alike_keeps_its_spread(far: int, radius: float) -> None:
    """95 rows in 100 near the centre fill a small ball; the few far ones have nearly all of the squared lengths."""
    grid = 2.0 ** np.arange(-2, 3)
    X, y = two_classes(200)
    table = classifier()._open(X, y, quiet)
    lengths = np.where(np.arange(200) // 2 < far, 3.0, 0.2)  # as many far rows in both classes

    def by_place(rows: Any) -> np.ndarray:
        return lengths[: len(rows.X)]

    loss = GaussianDP(math.inf)
    found = pca_look.class_radii(table, Account(loss), loss, by_place, grid, np.full(2, 100.0))
    assert found.tolist() == [radius, radius]


ROADS: dict[str, tuple[int, int, float, float, int]] = {  # rows, columns, epsilon, delta, mechanisms used
    "all columns, and their shapes": (4000, 8, 4.0, 1e-5, 10),
    "a subspace, its labels asked for, and shapes": (12_000, 80, 1.0, 1e-5, 9),
    "a subspace": (4000, 40, 1.0, 1e-5, 6),
    "stage one alone": (400, 20, 4.0, 1e-5, 4),
    "a random projection": (400, 20, 0.5, 0.0, 2),
}


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
@pytest.mark.parametrize("road", ROADS)
def test_nothing_but_noisy_numbers_shapes_a_release(monkeypatch: pytest.MonkeyPatch, road: str) -> None:
    """Another table of the same size, given the first one's noisy numbers, ends as the same release."""
    n, m, epsilon, delta, steps = ROADS[road]
    given: list[Any] = []
    replay = False

    def answering(real: Any) -> Any:
        def mechanism(*told: Any, **more: Any) -> Any:
            if replay:
                return given.pop(0)
            given.append(real(*told, **more))
            return given[-1]

        return mechanism

    for module in (pca_look, pca_stages, pca_marginals, ron_gauss):
        for name in ("release_vector", "release_moments"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, answering(getattr(module, name)))
    first = classifier(epsilon, delta).fit(*two_classes(n, m))
    assert len(given) == steps
    replay = True
    X, _ = two_classes(n, m, seed=9)
    second = classifier(epsilon, delta).fit(-X / 2, (np.arange(n) % 4 == 0).astype(int))
    assert not given
    assert np.array_equal(first.model_.weights, second.model_.weights)
    assert np.array_equal(first.model_.means, second.model_.means)
    assert np.array_equal(first.model_.covariances, second.model_.covariances)
    assert np.array_equal(first.outside_, second.outside_)
    assert (first.labels_ is None) == (second.labels_ is None)
    assert first.labels_ is None or np.array_equal(first.labels_.level, second.labels_.level)
    assert len(first.shapes_) == len(second.shapes_)
    for one, other in zip(first.shapes_, second.shapes_, strict=True):
        assert np.array_equal(one.edges, other.edges)
        assert np.array_equal(one.knots, other.knots)
    held = second.map_.arrays()
    assert all(np.array_equal(part, held[name]) for name, part in first.map_.arrays().items())


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
@pytest.mark.parametrize("road", ROADS)
def test_every_road_spends_what_was_declared(road: str) -> None:
    n, m, epsilon, delta, steps = ROADS[road]
    events = classifier(epsilon, delta).fit(*two_classes(n, m)).events_
    assert len(events) == steps
    spent = sum(event.loss.epsilon if delta == 0 else event.loss.mu**2 for event in events)
    whole = epsilon if delta == 0 else spendable(ApproxDP(epsilon, delta)).mu ** 2
    assert spent == pytest.approx(whole)


@pytest.mark.filterwarnings("ignore::gnomon.errors.GnomonWarning")
def test_a_table_too_small_for_its_noise_still_teaches() -> None:
    """Public numbers turn a pure release of few rows to a random projection; an asked dimension does not."""
    loss = PureDP(1.0)
    assert drowned(plan(427, 30, 2, "classification", loss), 427, 30, 2, loss)
    assert not drowned(plan(182_400, 45, 19, "classification", loss), 182_400, 45, 19, loss)
    whole = spendable(ApproxDP(1.0, 1e-4))
    assert not drowned(plan(427, 30, 2, "classification", whole), 427, 30, 2, whole)
    X, y = two_classes(600, 24)
    assert classifier(2.0, 0.0).fit(X, y).n_components_ < 24
    assert classifier(2.0, 0.0, n_components=24).fit(X, y).n_components_ == 24


def test_a_calm_class_meets_less_noise_than_a_restless_one() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(8000) % 2
    X = rng.standard_normal((8000, 6)) * np.where(y == 1, 0.2, 0.02)[:, None]
    X[:, 0] += 0.3 * y
    covariances = classifier(2.0, 1e-6).fit(X, y).model_.covariances
    assert 20 < np.trace(covariances[1]) / np.trace(covariances[0]) < 500


def test_a_class_too_small_for_a_random_projection_is_told() -> None:
    X, _ = two_classes(300, 20)
    y = (np.arange(300) == 0).astype(int)
    with fixed_noise(0), pytest.warns(GnomonWarning, match="1 of 2 classes are too small for the noise"):
        classifier(0.5, 0.0).fit(X, y)


# --- Tables at the edge ---


def test_constant_columns_are_released_as_they_are() -> None:
    X, y = two_classes()
    X[:, 3:] = 0.25
    Z, _ = classifier(8.0).fit(X, y).sample(500)
    assert np.isfinite(Z).all()
    assert np.abs(Z[:, 3:].mean(axis=0) - 0.25).max() < 0.2


def test_a_table_that_is_constant_everywhere() -> None:
    Z = PcaGauss(1.0, 1e-5, bounds=(-1, 1)).fit(np.zeros((200, 3))).sample(50)
    assert np.isfinite(Z).all()


@pytest.mark.parametrize("p", [1, 8])
@pytest.mark.parametrize("pca", ["auto", "laplace"])
def test_one_component_and_all_of_them(p: int, pca: str) -> None:
    method = classifier(n_components=p, pca=pca).fit(*two_classes())
    assert method.n_components_ == p
    assert method.sample(20)[0].shape == (20, 8)


def test_a_class_with_one_row_leans_on_the_others() -> None:
    X, y = two_classes(600)
    y = y.copy()
    y[0] = 2
    method = PcaGauss(1.0, 1e-5, bounds=(-1, 1), classes=[0, 1, 2], random_state=0)
    with fixed_noise(0), pytest.warns(GnomonWarning, match="too small for the noise"):
        method.fit(X, y)
    assert np.isfinite(method.sample(200)[0]).all()


# --- The paper's algorithms ---


@pytest.mark.parametrize("pca", ["laplace", "matrix-laplace", "split", "public"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_every_source_of_a_pure_pca(pca: str, task: str) -> None:
    X, y = two_classes() if task == "classification" else line()
    told: dict[str, Any] = {"classes": [0, 1]} if task == "classification" else {"target_bounds": (-1, 1)}
    method = PcaGauss(
        2.0, bounds=(-1, 1), pca=pca, public=X[:50] if pca == "public" else None, random_state=0, **told
    ).fit(X, y)
    Z, _ = method.sample(100)
    assert Z.shape == (100, X.shape[1])
    assert method.transform(X[:3]).shape == (3, X.shape[1])
    assert sum(event.loss.epsilon for event in method.events_) <= 2.0 * (1 + 1e-9)


def test_analyze_gauss_shares_one_delta() -> None:
    method = classifier(2.0, 1e-5, pca="analyze-gauss").fit(*two_classes())
    assert method.events_[0].mechanism == "goe"
    assert method.certificate_.private


def test_algorithm_1_publishes_components_and_no_projection() -> None:
    X, _ = two_classes()
    method = PcaGauss(2.0, bounds=(-1, 1), pca="laplace", n_components=3, random_state=0).fit(X)
    assert method.sample(40).shape == (40, 3)
    assert float(method.events_[0].sensitivity.value) < 2.01 * 2**32
    assert [column.name for column in method.data_schema_.released] == ["c0", "c1", "c2"]
    with pytest.raises(ParameterError, match="keeps its projection private"):
        method.transform(X)


@pytest.mark.parametrize("task", ["clustering", "classification", "regression"])
def test_the_printed_noise_says_what_does_not_hold(task: str) -> None:
    X, y = line() if task == "regression" else two_classes()
    told: dict[str, Any] = {
        "classification": {"classes": [0, 1]},
        "regression": {"target_bounds": (-1, 1)},
    }.get(task, {})
    method = PcaGauss(1.0, bounds=(-1, 1), calibration="paper", n_components=2, random_state=0, **told)
    method.fit(X, None if task == "clustering" else y)
    text = method.certificate_.to_yaml()
    assert "true mean" in text
    assert not method.certificate_.private
    if task == "classification":
        assert "label" in text
        assert "P < 4" in text
    if task != "clustering":
        assert "Lap-PCA" in text


def test_sir_is_one_at_the_full_dimension() -> None:
    found = sir(np.array([4.0, 2.0, 1.0, 1.0]))
    assert found[-1] == pytest.approx(1.0)
    assert found[0] == pytest.approx(4 * 4 / 8)
    with pytest.raises(ParameterError, match="spectrum"):
        sir(np.zeros(3))


# --- Refusals ---


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"pca": "magic"}, "'pca' parameter of PcaGauss must be one of"),
        ({"pca": "laplace", "pca_share": 1.0}, "'pca_share' parameter"),
        ({"pca": "laplace", "pca_share": 1e-12}, "'pca_share' parameter"),
        ({"pca": "analyze-gauss", "delta": 0.0}, "needs delta above 0"),
        ({"calibration": "paper"}, "set delta=0"),
        ({"calibration": "paper", "delta": 0.0, "pca": "split"}, "prints no noise"),
        ({"pca": "public"}, "'public' parameter"),
        ({"n_components": 9}, "at most 8"),
    ],
)
def test_parameters_that_cannot_be_used(told: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        classifier(**{"delta": 1e-5, **told}).fit(*two_classes(100))


def test_a_split_needs_rows_on_both_sides() -> None:
    with pytest.raises(ParameterError, match="at least 4 rows"):
        classifier(pca="split").fit(*two_classes(3))


def test_a_public_table_with_other_columns() -> None:
    with pytest.raises(DataError, match="8 features"):
        classifier(pca="public", public=np.zeros((50, 7))).fit(*two_classes(100))


def test_a_public_table_with_other_names() -> None:
    import pyarrow as pa

    with pytest.raises(DataError, match="lacks the column 'x1'"):
        classifier(pca="public", public=pa.table({"x0": [0.1] * 20})).fit(*two_classes(100))


def test_fewer_public_rows_than_components() -> None:
    with pytest.raises(DataError, match="too few for 5 components"):
        classifier(pca="public", public=np.zeros((4, 8)), n_components=5).fit(*two_classes(100))


def test_nothing_is_charged_before_the_public_checks() -> None:
    charged: list[Any] = []
    with pytest.raises(DataError):
        classifier(pca="public", public=np.zeros((1, 8))).fit(*two_classes(100), charge=charged.append)
    assert not charged
