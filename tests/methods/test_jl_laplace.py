"""JL + Laplace: noise for the matrix that was drawn, distances without bias, rows in one pass."""

import math
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import KMeans
from sklearn.neighbors import NearestNeighbors

import gnomon as gn
from gnomon.errors import ParameterError
from gnomon.methods.jl_laplace import UNSEEDED
from gnomon.methods.projected_query import Label, ProjectedQuery, View, with_label
from gnomon.privacy.guarantee import Adjacency
from gnomon.privacy.ledger import Ledger
from gnomon.privacy.noisy_rows import CHUNK, NoisyRows
from gnomon.privacy.sensitivity import Norm, Sensitivity, row_change
from gnomon.privacy.tails import projected_l1_quantile
from gnomon.projection.gaussian import FINE, gaussian
from gnomon.publish import publish
from gnomon.release.analyst.rows import Distances, Law
from gnomon.release.folder import open_release
from gnomon.table.encode import Encoder
from gnomon.table.rows import Rows

REPLACE = Adjacency.REPLACE_ONE


def cloud(n: int = 400, m: int = 8, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, (n, m))


def fitted(X: np.ndarray, y: np.ndarray | None = None, **parameters: object) -> gn.JlLaplace:
    settings = {"epsilon": 4.0, "bounds": (-1.0, 1.0), "n_components": 4, "random_state": 1, **parameters}
    settings.setdefault("order", "kept")  # so that row i is record i
    return gn.JlLaplace(**settings).fit(X, y)


def mixed() -> gn.Schema:
    return gn.Schema(
        name="mixed",
        columns=(
            gn.Column(name="age", kind="number", low=0, high=100),
            gn.Column(name="ward", kind="category", values=("a", "b", "c")),
            gn.Column(name="weight", kind="number", low=0, high=200, missing="indicator"),
            gn.Column(name="smokes", kind="boolean"),
            gn.Column(name="ill", kind="category", values=("no", "yes"), role="target"),
        ),
    )


def patients(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "age": rng.uniform(0, 100, n),
            "ward": rng.choice(["a", "b", "c"], n),
            "weight": pa.array(rng.uniform(0, 200, n), mask=rng.random(n) < 0.2),
            "smokes": rng.random(n) < 0.3,
            "ill": rng.choice(["no", "yes"], n),
        }
    )


# --- what is released ---


def test_released_rows_are_one_per_record_and_the_same_at_every_call() -> None:
    X = cloud()
    method = fitted(X)
    Z = method.sample()
    assert Z.shape == (400, 4)
    assert np.array_equal(Z, method.sample(400))
    assert np.array_equal(Z, method.components())
    assert method.n_components_ == 4


def test_without_noise_the_release_is_the_projection() -> None:
    X = cloud()
    method = fitted(X, epsilon=math.inf, not_private=True)
    assert np.abs(method.sample() - X @ method.projection_).max() < 1e-3
    assert np.allclose(method.transform(X), X @ method.projection_, atol=1e-5)
    assert not method.certificate_.private


def test_without_noise_the_integers_are_those_of_numpy() -> None:
    """A mixed table, its label beside it: every integer of the release, computed again from the cells."""
    table = patients(50)
    method = gn.JlLaplace(
        math.inf, schema=mixed(), n_components=3, random_state=2, not_private=True, order="kept"
    ).fit(table)
    R, grid = method.projection_, method._query.grid
    assert np.array_equal(R, gaussian(6 + 1, 3, np.random.default_rng(2)))
    X, y = Encoder(mixed()).matrix(table), np.array(table["ill"].to_pylist()) == "yes"
    fine = method._query.view.scale
    exact = np.rint(X * fine).astype(object) @ np.rint(R * FINE).astype(np.int64).astype(object)
    expected = np.rint((exact * int(grid)).astype(np.float64) / (fine * FINE)).astype(np.int64)
    needed = float(row_change(Norm.L1, R, radius=2.0, adjacency=REPLACE).value)
    steps = math.floor(0.5 * needed * grid / 2)
    released = np.concatenate(list(method.rows_.chunks()))
    assert np.array_equal(released[:, :3], expected)
    assert np.abs(released[:, 3:] - steps * np.column_stack([~y, y])).max() <= 1e-5 * steps


def test_a_batch_does_not_change_a_row() -> None:
    R, change = gaussian(8, 3, np.random.default_rng(0)), Sensitivity(Norm.L1, 1, adjacency=REPLACE)
    for view in (View(R, 0.7, clip=True), View(R, math.sqrt(8))):
        query = ProjectedQuery("rows", view, 2.0**16, Label(0, 0), change)
        rows = Rows.of(cloud(500))
        alone = np.vstack([query.of_batch(rows.take(np.array([i]))) for i in range(500)])
        assert np.array_equal(query.of_batch(rows), alone)
        assert np.abs(alone).max() <= query.bound


def test_frames_keep_their_kind_and_labels_their_values() -> None:
    method = gn.JlLaplace(8.0, schema=mixed(), n_components=3, random_state=0).fit(patients())
    released = method.sample()
    assert released.column_names == ["c0", "c1", "c2", "ill"]
    assert set(released["ill"].to_pylist()) <= {"no", "yes"}
    polars = pytest.importorskip("polars")
    frame = polars.from_arrow(patients())
    assert type(gn.JlLaplace(8.0, schema=mixed()).fit(frame).sample()) is polars.DataFrame


def test_a_label_is_never_in_the_clear_and_comes_back_when_epsilon_is_large() -> None:
    X, y = cloud(2000), np.random.default_rng(1).integers(0, 3, 2000)
    weak = fitted(X, y, epsilon=0.1, classes=[0, 1, 2]).sample()[1]
    strong = fitted(X, y, epsilon=500.0, classes=[0, 1, 2]).sample()[1]
    assert np.mean(weak == y) < 0.5
    assert np.mean(strong == y) > 0.95


def test_scikit_learn_works_on_the_release() -> None:
    X = np.vstack([cloud(200) * 0.1 - 0.8, cloud(200, seed=1) * 0.1 + 0.8])
    Z = fitted(X, epsilon=200.0).sample()
    halves = KMeans(2, n_init=4, random_state=0).fit_predict(Z)
    assert max(np.mean(halves == np.repeat([0, 1], 200)), np.mean(halves == np.repeat([1, 0], 200))) > 0.95
    assert NearestNeighbors(n_neighbors=2).fit(Z).kneighbors(Z)[0].shape == (400, 2)


# --- calibration ---


@pytest.mark.parametrize("projection", ["gaussian", "orthonormal", "sign"])
@pytest.mark.parametrize("unit", ["row", "attribute"])
def test_noise_is_what_the_drawn_matrix_needs(projection: str, unit: str) -> None:
    method = fitted(cloud(), delta=0.0, projection=projection, unit=unit)
    R = method.projection_
    if unit == "row":
        needed = float(row_change(Norm.L1, R, radius=math.sqrt(8), adjacency=REPLACE).value)
    else:
        needed = 2 * np.abs(R).sum(axis=1).max()
    assert math.sqrt(2) * needed / 4 == pytest.approx(method.noise_std_, rel=2e-4)
    assert method.noise_std_ >= math.sqrt(2) * needed / 4
    assert method.certificate_.holds
    assert method.guarantee_.delta == 0


def test_the_noise_has_its_scale() -> None:
    X = cloud(3000)
    method = fitted(X)
    residual = (method.sample() - X @ method.projection_) / method.noise_std_
    # 12,000 Laplace values: the mean of |z| is 1/sqrt(2) within 0.0065 a deviation
    assert abs(np.abs(residual).mean() - 1 / math.sqrt(2)) < 0.04
    assert abs(residual.mean()) < 0.06


def test_no_pair_of_rows_is_farther_apart_than_the_noise_was_made_for() -> None:
    """An adversary over rows and over attributes of a mixed table, labels included."""
    for unit in ("row", "attribute"):
        method = gn.JlLaplace(2.0, schema=mixed(), n_components=3, unit=unit, random_state=3).fit(patients())
        sensitivity = float(method.events_[0].sensitivity.value)
        query = pickle.loads(pickle.dumps(method._query))
        rng = np.random.default_rng(0)
        corners = [
            [[-1.0], [1.0]],
            np.eye(3).tolist(),
            [[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
            [[-1.0], [1.0]],
        ]
        worst = 0.0
        for _ in range(400):
            first = [options[rng.integers(len(options))] for options in corners]
            second = [options[rng.integers(len(options))] for options in corners]
            y = rng.integers(0, 2, 2)
            if unit == "attribute":
                place = rng.integers(5)
                second = [second[j] if j == place else first[j] for j in range(4)]
                y[1] = y[1] if place == 4 else y[0]
            X = np.array([[cell for code in row for cell in code] for row in (first, second)])
            Q = query.of_batch(Rows.of(X, y))
            worst = max(worst, np.abs(Q[0] - Q[1]).sum())
        assert worst <= sensitivity
        assert worst >= (0.4 if unit == "row" else 0.99) * sensitivity


def test_with_label_adds_what_a_label_can_move() -> None:
    """Adversary: the worst features together with two labels, in both norms."""
    R = gaussian(6, 3, np.random.default_rng(2))
    for norm, one in ((Norm.L1, False), (Norm.L2, False), (Norm.L2, True)):
        features = row_change(norm, R, radius=1, adjacency=REPLACE)
        whole = float(with_label(features, Label(1 if one else 3, 100), 50.0).value)
        t = 2.0
        v = np.linalg.svd(R)[0][:, 0] if norm is Norm.L2 else _worst_l1(R)
        label = np.array([2 * t]) if one else t * np.array([1.0, -1.0, 0.0])
        moved = np.concatenate([2 * v @ R, label])
        reached = np.abs(moved).sum() if norm is Norm.L1 else np.linalg.norm(moved)
        assert reached <= whole
        assert reached >= 0.999 * whole


def _worst_l1(R: np.ndarray) -> np.ndarray:
    signs = np.array(np.meshgrid(*[[-1, 1]] * R.shape[1])).reshape(R.shape[1], -1)
    best = R @ signs[:, np.argmax(np.linalg.norm(R @ signs, axis=0))]
    return best / np.linalg.norm(best)


def test_rows_outside_the_declared_ball_are_clipped_to_it() -> None:
    X = np.ones((50, 8))
    small = fitted(X, radius=0.5)
    assert small.noise_std_ == pytest.approx(fitted(X).noise_std_ * 0.5 / math.sqrt(8), rel=1e-3)
    bare = fitted(X, radius=0.5, epsilon=math.inf, not_private=True)
    clipped = 0.5 * np.ones(8) / math.sqrt(8) @ bare.projection_
    assert np.abs(bare.sample() - clipped).max() < 1e-3


@pytest.mark.parametrize("unit", ["attribute", "row"])
def test_the_tail_of_the_projection_never_leaves_the_label_uncovered(unit: str) -> None:
    """No projection shortens a change of label: its L1 length must be inside what the noise was made for."""
    X = cloud(60, 300)
    y = np.arange(60) % 2
    method = fitted(X, y, classes=[0, 1], unit=unit, epsilon=8.0, delta=0.05, random_state=None)
    assert any("law of the projection" in line for line in method.certificate_.public)
    steps = method._query.label.steps
    assert steps > 0
    assert 2 * steps <= method.events_[0].sensitivity.value


def test_a_delta_buys_the_exact_tail_when_nobody_can_know_the_matrix() -> None:
    X = cloud(50, 40)
    pure = fitted(X, random_state=None)
    tail = fitted(X, random_state=None, delta=1e-5)
    expected = math.sqrt(2) / 4 * 2 * math.sqrt(40) * projected_l1_quantile(4, 1e-5)
    assert tail.noise_std_ == pytest.approx(expected, rel=1e-3)
    assert tail.noise_std_ < pure.noise_std_
    assert any("law of the projection" in line for line in tail.certificate_.public)
    seeded = fitted(X, delta=1e-5)  # a seed may have been known before: the drawn matrix decides
    needed = float(row_change(Norm.L1, seeded.projection_, radius=math.sqrt(40), adjacency=REPLACE).value)
    assert seeded.noise_std_ == pytest.approx(math.sqrt(2) * needed / 4, rel=1e-3)


def test_the_printed_noise_is_certified_for_what_it_gives() -> None:
    X = cloud(100, 30)
    rows = fitted(X, calibration="paper", n_components=10)
    k, widest = 10, 2 * math.sqrt(30)
    assert rows.noise_std_ == pytest.approx(
        math.sqrt(2) * widest * math.sqrt(2 * k * math.log(2 * k)) / 4, rel=1e-6
    )
    needed = float(row_change(Norm.L1, rows.projection_, radius=math.sqrt(30), adjacency=REPLACE).value)
    printed = widest * math.sqrt(2 * k * math.log(2 * k))
    assert rows.certificate_.delivered == pytest.approx(4 * needed / printed, rel=1e-3)
    assert rows.certificate_.holds == (rows.certificate_.delivered <= 4)
    cells = fitted(X, calibration="paper", unit="attribute")
    assert cells.noise_std_ == pytest.approx(math.sqrt(2) * 2 * 2 * math.sqrt(4) / 4, rel=1e-6)
    assert any("Theorem 3" in line for line in cells.certificate_.caveats)


# --- replay and pickles ---


@pytest.mark.parametrize("parameters", [{}, {"delta": 1e-5}, {"delta": 1e-5, "random_state": None}])
def test_the_recorded_answers_give_the_release_again_without_the_table(parameters: dict) -> None:
    """Whoever replays does not know whether a seed was given: what was drawn from none is recorded."""
    first = fitted(cloud(300, 40), **parameters)
    unseeded = "random_state" in parameters
    assert (first.answers_[0].statistic == UNSEEDED) == unseeded
    settings = {**first.get_params(), "random_state": None}
    again = gn.JlLaplace(**settings).replay(first.schema_, 300, first.answers_, first.seed_)
    assert np.array_equal(again.components(), first.components())
    assert again.sample().equals(pa.concat_tables(first.sample_batches()))
    assert again.certificate_.public == first.certificate_.public


def test_a_fitted_method_can_be_pickled_and_holds_no_rows() -> None:
    first = fitted(cloud(), delta=1e-5, random_state=None)
    held = pickle.loads(pickle.dumps(first))
    assert np.array_equal(held.sample(), first.sample())
    assert held.distances(1, 2) == first.distances(1, 2)


# --- distances ---


def test_distances_are_unbiased_with_the_right_variance() -> None:
    """Claim 7 prints (2/k) a^2 + 14 k s^4 - 2 k s^2 + 4 s^2 a; the truth is (2/k) a^2 + 14 k s^4 + 8 s^2 a."""
    rng = np.random.default_rng(0)
    k, m, s2, trials = 4, 6, 0.5, 200_000
    v = rng.standard_normal(m)
    a = float(v @ v)
    d = (
        v @ rng.standard_normal((trials * m, k)).reshape(trials, m, k).transpose(1, 0, 2).reshape(m, -1)
    ).reshape(trials, k)
    d /= math.sqrt(k)
    noise = rng.laplace(0, math.sqrt(s2 / 2), (2, trials, k))
    estimates = np.sum((d + noise[0] - noise[1]) ** 2, axis=1) - 2 * k * s2
    right = float(Law(math.sqrt(s2), 14.0, 2 / k).variance(np.array([a]), k)[0])
    printed = 2 / k * a**2 + 2 * k * (7 * s2**2 - s2) + 4 * s2 * a
    assert abs(estimates.mean() - a) < 6 * math.sqrt(right / trials)
    assert estimates.var() == pytest.approx(right, rel=0.04)
    assert abs(printed / right - 1) > 0.2


def test_distances_of_one_pair_and_of_many() -> None:
    X = cloud(50)
    method = fitted(X, epsilon=1e6)
    one = method.distances(3, 7)
    assert isinstance(one, Distances)
    many = method.distances([3, 0], [7, 1])
    assert many.value[0] == one.value
    seen = (X[3] - X[7]) @ method.projection_
    assert one.value == pytest.approx(seen @ seen, rel=1e-3)
    assert np.all(many.standard_error > 0)
    with pytest.raises(ParameterError, match="integers from 0 to 49"):
        method.distances(0, 50)
    with pytest.raises(ParameterError, match="integers from 0 to 49"):
        method.distances(0.5, 1)


def test_an_orthonormal_projection_distorts_less() -> None:
    assert fitted(cloud(), projection="orthonormal").stretch_variance_ < fitted(cloud()).stretch_variance_


# --- streaming ---


def test_many_rows_wait_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnomon.privacy.noisy_rows.IN_MEMORY", 1000)
    method = fitted(cloud(2000))
    assert method.rows_._file is not None
    assert np.array_equal(method.sample(), method.sample())
    assert method.components([5, 1999]).shape == (2, 4)


def test_noisy_rows_in_a_file_are_read_in_chunks_and_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a chunk ends follows from the number of rows alone: a replay keeps the same rows in other batches."""
    monkeypatch.setattr("gnomon.privacy.noisy_rows.IN_MEMORY", 200)
    rows = np.arange(3000).reshape(1000, 3)
    for batches in (1, 9, 300):
        kept = NoisyRows(3, 1e4)
        for part in np.array_split(rows, batches):
            kept.append(part)
        assert kept._file is not None
        assert [len(chunk) for chunk in kept.chunks(300)] == [300, 300, 300, 100]
        for held in (kept, pickle.loads(pickle.dumps(kept))):
            assert np.array_equal(np.concatenate(list(held.chunks(250))), rows)
            assert np.array_equal(held.take(np.array([999, 0, 500])), rows[[999, 0, 500]])


def test_noisy_rows_come_back_as_they_were_kept() -> None:
    rows = np.random.default_rng(0).integers(-(2**40), 2**40, (CHUNK + 5, 2))
    wide = NoisyRows(2, 2.0**41)
    for part in np.array_split(rows, 7):
        wide.append(part)
    assert np.array_equal(np.concatenate(list(wide.chunks())), rows)
    places = np.array([CHUNK + 4, 0, 17, CHUNK // 2, 17])
    assert np.array_equal(wide.take(places), rows[places])
    narrow = NoisyRows(2, 100.0)
    narrow.append(rows)
    assert np.abs(narrow.take(np.arange(10))).max() <= 2**31 - 1


def test_parquet_in_and_a_folder_out(tmp_path: Path) -> None:
    path = tmp_path / "patients.parquet"
    pq.write_table(patients(), path)
    method = gn.JlLaplace(2.0, schema=mixed(), n_components=3)
    publish(path, method, tmp_path / "out", ledger=Ledger(tmp_path / "ledger.db"))
    released = pq.read_table(tmp_path / "out" / "data.parquet")
    assert released.column_names == ["c0", "c1", "c2", "ill"]
    assert released.num_rows == 300
    opened = open_release(tmp_path / "out")
    assert opened.map.components_only
    assert opened.certificate.holds


# --- refusals ---


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"adjacency": "add-remove"}, "publishes one row for each record, so the number of rows is public"),
        ({"n_components": 0}, "must be 'auto' or a positive integer"),
        ({"n_components": 9}, "must be at most 8, the number of encoded columns"),
        ({"unit": "person"}, "must be 'row' or 'attribute'"),
        ({"projection": "fourier"}, "must be 'gaussian', 'orthonormal' or 'sign'"),
        ({"radius": -1.0}, "must be a positive number"),
        ({"label_weight": 1e15}, "must be a positive number of at most 1e"),
        ({"radius": 1.0, "unit": "attribute"}, "would spread the change of one attribute"),
        ({"calibration": "paper", "projection": "sign"}, "must be 'gaussian' with calibration='paper'"),
    ],
)
def test_bad_parameters_are_refused_in_a_sentence(parameters: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        fitted(cloud(), **parameters)


def test_another_number_of_rows_is_refused_and_says_why() -> None:
    with pytest.raises(ParameterError, match="one noisy row for each record, not a model to draw from"):
        fitted(cloud()).sample(10)


def test_bounds_to_estimate_need_a_budget_that_laplace_can_share() -> None:
    schema = gn.Schema(
        name="t",
        columns=(
            gn.Column(name="x", kind="number", estimate=True),
            gn.Column(name="z", kind="number", low=0, high=1),
        ),
    )
    table = pa.table({"x": np.arange(100.0), "z": np.linspace(0, 1, 100)})
    with pytest.raises(ParameterError, match="set delta to 0"):
        gn.JlLaplace(1.0, 1e-6, schema=schema).fit(table)
    with pytest.raises(ParameterError, match="declare its low and high for unit='attribute'"):
        gn.JlLaplace(1.0, schema=schema, unit="attribute").fit(table)
    assert gn.JlLaplace(1.0, schema=schema).fit(table).certificate_.holds


def test_the_certificate_tells_the_grid_that_its_scale_counts() -> None:
    method = gn.JlLaplace(1.0, bounds=(-1, 1), n_components=2).fit(np.zeros((5, 4)))
    told = [line for line in method.certificate_.public if line.startswith("the grid of the released rows")]
    steps = float(told[0].split()[6])
    assert math.sqrt(2) * method.events_[0].scale / steps == pytest.approx(method.noise_std_)
