"""The ball holds in integers, for any float a table can contain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gnomon.statistics.grid import GRID, ball_shrink, fine_grid, into_ball, unit_rows


def squared(Q: np.ndarray) -> list[int]:
    return [sum(int(v) ** 2 for v in row) for row in Q]


@settings(max_examples=150, deadline=None)
@given(
    arrays(
        np.float64, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=st.floats(-90, 90, width=32)
    ),
    st.integers(8, 20),
)
def test_no_row_leaves_the_ball(X: np.ndarray, power: int) -> None:
    fine = 2.0**power
    Q = into_ball(np.rint(X * fine), fine)
    assert max(squared(Q)) <= GRID**2
    assert np.array_equal(Q, np.rint(Q))


@pytest.mark.parametrize("p", [1, 2, 3, 16, 100, 784, 5000])
def test_rows_at_the_bound_use_the_ball_and_do_not_leave_it(p: int) -> None:
    rng = np.random.default_rng(p)
    X = rng.standard_normal((500, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    fine = fine_grid(1.0)
    Q = into_ball(np.rint(X * fine), fine)
    lengths = np.sqrt(squared(Q)) / GRID
    assert lengths.max() <= 1
    assert lengths.min() >= ball_shrink(p) - (np.sqrt(p) / 2 + 1) / GRID


def test_a_row_that_rounding_would_push_out_is_caught() -> None:
    """The exact check is no decoration: without the shrunk radius these rows would leave the ball."""
    p = 3000
    X = np.full((1, p), 1 / np.sqrt(p))
    assert squared(np.rint(X * GRID + 0.49))[0] > GRID**2
    fine = fine_grid(1.0)
    assert squared(into_ball(np.rint(X * fine), fine))[0] <= GRID**2


@pytest.mark.parametrize("longest", [1e-3, 1.0, 10.0, 70.7, 1e4])
def test_squared_norms_stay_exact(longest: float) -> None:
    fine = fine_grid(longest)
    assert (longest * fine) ** 2 <= 2.0**52
    assert fine == 2 ** round(np.log2(fine))


def test_unit_rows_keep_zero_and_direction() -> None:
    Z = np.array([[0.0, 0.0], [3.0, 4.0], [-300000.0, 400000.0]])
    fine = 2.0**20
    U = unit_rows(Z, fine)
    assert U[0].tolist() == [0.0, 0.0]
    assert np.allclose(U[1] / fine, [0.6, 0.8], atol=1e-6)
    assert np.allclose(U[2] / fine, [-0.6, 0.8], atol=1e-6)
