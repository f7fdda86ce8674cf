"""The ball that is charged holds the rows that are summed: the trace of the moments is the sum of squared row lengths."""

import warnings
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GnomonWarning
from gnomon.release import pca_stages, ron_gauss


@pytest.mark.parametrize("n", [40, 4000])
@pytest.mark.parametrize("task", ["clustering", "classification", "regression"])
@pytest.mark.parametrize(("method", "module"), [(gn.PcaGauss, pca_stages), (gn.RonGauss, ron_gauss)])
def test_no_row_is_longer_than_the_charge_says(
    method: Any, module: Any, task: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows at the corners of the box, targets at their ends: as long as a row can be."""
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1.0, 1.0], (n, 4)), rng.choice([-1.0, 1.0], n)
    fullness = []
    real = module.release_moments

    def watched(S: np.ndarray, ball: int, *args: Any, **kwargs: Any) -> Any:
        fullness.append(int(np.trace(S.sum(axis=0))) / (n * ball))
        return real(S, ball, *args, **kwargs)

    monkeypatch.setattr(module, "release_moments", watched)
    parameters: dict[str, Any] = {"bounds": (-1.0, 1.0), "task": task}
    if task == "classification":
        parameters |= {
            "classes": [-1.0, 1.0],
            "n_components": 4,
        }  # a dimension asked for: no road around stage one
    elif task == "regression":
        parameters["target_bounds"] = (-1.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GnomonWarning)
        method(2.0, 1e-6, **parameters).fit(X, None if task == "clustering" else y)
    assert fullness
    assert max(fullness) <= 1
    if n == 40 and method is gn.PcaGauss and task != "regression":
        assert (
            fullness[0] > 0.999
        )  # nothing was looked at, so corners fill the declared ball: the bound is tight
