from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import ParameterError
from gnomon.table.calibrate import assign, cut
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema


def test_cutting_gives_the_shares_in_the_order_of_the_scores() -> None:
    scores = np.array([0.3, -5.0, 0.1, 9.0, 0.2])
    assert cut(scores, np.array([0.2, 0.6, 0.2])).tolist() == [1, 0, 1, 2, 1]
    assert cut(scores, np.array([3.0, 0.0, 2.0])).tolist() == [2, 0, 0, 2, 0]
    assert cut(scores[:0], np.array([0.5, 0.5])).tolist() == []


@pytest.mark.parametrize("shares", [[0.7, 0.2, 0.1], [0.98, 0.01, 0.01], [0.25, 0.25, 0.5], [0.5, 0.5, 0.0]])
def test_assigning_gives_the_shares(shares: list[float]) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 20_000)) + np.array([[0.4], [0.3], [0.2]])
    found = np.bincount(assign(scores, np.array(shares)), minlength=3) / 20_000
    assert found == pytest.approx(shares, abs=0.005)
    plain = np.bincount(np.argmax(scores, axis=0), minlength=3) / 20_000
    assert np.abs(plain - shares).max() > 0.05  # so the offsets did something


def test_many_categories_whose_scores_hardly_vary_get_their_shares() -> None:
    """As in a table's rare values: their one-hot columns are near zero, and those of the frequent ones swing."""
    rng = np.random.default_rng(2)
    shares = np.r_[0.6, 0.25, np.full(40, 0.15 / 40)]
    common = rng.normal(size=(3, 20_000))
    spreads = np.sqrt(shares * (1 - shares))[:, None]
    scores = (
        shares[:, None]
        + 0.5 * spreads * (rng.normal(size=(42, 3)) @ common)
        + 0.1 * spreads * rng.normal(size=(42, 20_000))
    )
    found = np.bincount(assign(scores, shares), minlength=42) / 20_000
    assert 0.5 * np.abs(found - shares).sum() < 0.03


def test_assigning_few_or_equal_rows() -> None:
    assert assign(np.zeros((2, 0)), np.array([0.5, 0.5])).shape == (0,)
    assert set(assign(np.ones((2, 4)), np.array([0.0, 1.0])).tolist()) == {1}
    one_far = np.zeros((2, 10_000))
    one_far[0, 0] = 1e9
    assert set(assign(one_far, np.array([0.0, 1.0])).tolist()) == {1}  # a share of nothing means never


SCHEMA = Schema.loads("""
[columns.flag]
kind = "boolean"
[columns.grade]
kind = "category"
values = ["low", "middle", "high"]
ordered = true
[columns.ward]
kind = "category"
values = ["n", "s"]
[columns.age]
kind = "number"
low = 0
high = 9
""")


def test_decoding_to_known_shares() -> None:
    encoder = Encoder(SCHEMA)
    X = np.random.default_rng(1).normal(size=(10_000, encoder.width))
    priors = {"flag": [0.9, 0.1], "grade": [0.1, 0.1, 0.8], "ward": [0.2, 0.8]}
    table = encoder.decode(X, priors=priors)
    assert sum(table["flag"].to_pylist()) == 1000
    assert [table["grade"].to_pylist().count(v) for v in ("low", "middle", "high")] == [1000, 1000, 8000]
    assert table["ward"].to_pylist().count("s") == pytest.approx(8000, abs=50)
    assert table["age"] == encoder.decode(X)["age"]


@pytest.mark.parametrize("priors", [{"flag": [1.0]}, {"ward": [-1, 2]}, {"ward": [0, 0]}, {"age": [1.0]}])
def test_priors_that_do_not_fit(priors: dict[str, list[float]]) -> None:
    with pytest.raises(ParameterError, match=f"priors of column '{next(iter(priors))}' must be"):
        Encoder(SCHEMA).decode(np.zeros((2, 5)), priors=priors)
