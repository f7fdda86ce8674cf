"""The ball that is charged holds the rows that are summed: the trace of the moments is the sum of squared row lengths."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GnomonWarning
from gnomon.privacy.mechanism import Noise
from gnomon.privacy.sensitivity import Norm


class Fullness:
    """How much of the charged ball the summed rows fill; the sensitivity of moments is that many times its square."""

    def __init__(self, n: int) -> None:
        self.n, self.seen = n, []

    def outcome(self, noise: Noise, exact: Any, release: Callable[[], Any]) -> Any:
        if np.ndim(exact) == 3:
            norm, blocks, q = noise.sensitivity.norm, len(exact), exact.shape[1]
            upper = q + 1 if blocks > 1 else np.sqrt(q * q / 2 + q + (1 if q % 2 == 0 else 0.75))
            times = {Norm.FROBENIUS: np.sqrt(2), Norm.NUCLEAR: 2.0, Norm.L1: upper}[norm]
            ball = float(noise.sensitivity.value) / times
            self.seen.append(int(np.trace(exact.sum(axis=0))) / (self.n * ball))
        return release()


@pytest.mark.parametrize("n", [40, 4000])
@pytest.mark.parametrize("task", ["clustering", "classification", "regression"])
@pytest.mark.parametrize("method", [gn.PcaGauss, gn.RonGauss, gn.baseline.Modips])
def test_no_row_is_longer_than_the_charge_says(method: Any, task: str, n: int) -> None:
    """Rows at the corners of the box, targets at their ends: as long as a row can be."""
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1.0, 1.0], (n, 4)), rng.choice([-1.0, 1.0], n)
    parameters: dict[str, Any] = {"bounds": (-1.0, 1.0), "task": task}
    if task == "classification":
        parameters["classes"] = [-1.0, 1.0]
    elif task == "regression":
        parameters["target_bounds"] = (-1.0, 1.0)
    watch = Fullness(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        method(0.5, 1e-6, **parameters).fit(X, None if task == "clustering" else y, observer=watch)
    if method is gn.PcaGauss and task == "clustering":
        assert not watch.seen  # Algorithm 1 measures eigenvalues
        return
    assert watch.seen
    assert max(watch.seen) <= 1 + 1e-12
    assert max(watch.seen) > 0.3
