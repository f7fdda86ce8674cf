"""Drawing rows: decoding by rank, and discrete attributes by linear prediction."""

import numpy as np
import pytest

from gnomon.model.components import Chain, Choice, Gaussians, Table
from gnomon.model.marginal import Marginal


def test_decoding_by_rank_gives_the_marginal_whatever_the_latent_law() -> None:
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(-3, 0.1, 6_000), rng.normal(5, 2, 4_000)])
    marginal = Marginal(np.array([-1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.array([0.2, 0.5, 0.3]))
    x = Table.by_rank(z, marginal)(z)
    assert (x == 0).mean() == pytest.approx(0.5, abs=0.01)
    assert (x < 0).mean() == pytest.approx(0.2, abs=0.01)
    order = np.argsort(z)
    assert (np.diff(x[order]) >= 0).all()


def simple_chain(S: np.ndarray, share: float) -> Chain:
    """One component of a boolean with the given share and a number, with covariance S."""
    model = Gaussians(
        np.ones(1),
        np.zeros(1, dtype=np.int64),
        np.zeros((1, 2)),
        np.zeros((1, 2, 1)),
        np.zeros((2, 0)),
        np.ones(2),
    )
    points = np.array([[-share], [1 - share]])
    choice = Choice(np.array([0]), points, np.array([1 - share, share]), np.array([0]), points)
    return Chain(model, S[None], [choice], np.array([1]))


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_a_chain_keeps_shares_and_covariances_of_a_boolean(share: float) -> None:
    v = share * (1 - share)
    S = np.array([[v, 0.5 * np.sqrt(v)], [0.5 * np.sqrt(v), 1.0]])
    Z, chosen = simple_chain(S, share).draw(np.zeros(40_000, dtype=np.int64), np.random.default_rng(1))
    assert chosen[:, 0].mean() == pytest.approx(share, abs=0.005)
    assert np.cov(Z.T) == pytest.approx(S, abs=0.02)


def test_a_chain_of_categories_keeps_their_covariances_without_inversion() -> None:
    rng = np.random.default_rng(2)
    joint = rng.dirichlet(np.ones(9)).reshape(3, 3)
    a, b = joint.sum(axis=1), joint.sum(axis=0)
    cross = joint - np.outer(a, b)
    S = np.zeros((4, 4))
    S[:2, :2] = np.diag(a[1:]) - np.outer(a[1:], a[1:])
    S[2:, 2:] = np.diag(b[1:]) - np.outer(b[1:], b[1:])
    S[:2, 2:], S[2:, :2] = cross[1:, 1:], cross[1:, 1:].T
    choices = [
        Choice(places, (np.eye(3) - p)[:, 1:], p, places, np.eye(3)[:, 1:])
        for places, p in ((np.array([0, 1]), a), (np.array([2, 3]), b))
    ]
    model = Gaussians(
        np.ones(1),
        np.zeros(1, dtype=np.int64),
        np.zeros((1, 4)),
        np.zeros((1, 4, 1)),
        np.zeros((4, 0)),
        np.ones(4),
    )
    chain = Chain(model, S[None], choices, np.zeros(0, dtype=np.int64))
    _, chosen = chain.draw(np.zeros(60_000, dtype=np.int64), rng)
    found = np.bincount(chosen[:, 0] * 3 + chosen[:, 1], minlength=9).reshape(3, 3) / 60_000
    assert np.abs(found - joint).sum() / 2 < 0.015


def test_the_chances_of_a_category_are_its_linear_prediction() -> None:
    """Whether by the identity, as for values with a coordinate of their own, or by the pseudo-inverse."""
    rng = np.random.default_rng(4)
    mass = np.array([0.4, 0.3, 0.2, 0.1])
    for points in ((np.eye(4) - mass)[:, 1:], np.linspace(-1, 1, 5)[:, None]):
        choice = Choice(np.arange(points.shape[1]), points, np.ones(len(points)), np.arange(1), points)
        predicted = rng.normal(scale=0.3, size=(50, points.shape[1]))
        rest = (predicted - points[0]) @ np.linalg.pinv((points[1:] - points[0]).T).T
        linear = np.maximum(np.hstack([1 - rest.sum(axis=1, keepdims=True), rest]), 0.0)
        assert choice.chances(predicted) == pytest.approx(linear, abs=1e-12)
