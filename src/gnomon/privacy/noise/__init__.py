"""The laws of noise by the names that certificates use; a law is a sampler in a module of this folder and a line here.

A module states how far its samplers are from their laws (`TOTAL_VARIATION`).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

LAWS = {
    "discrete-laplace": "laplace.discrete_laplace",
    "rounded-gaussian": "gaussian.rounded_gaussian",
    "discrete-gaussian": "discrete.discrete_gaussian",
    "upper-laplace": "symmetric.upper_laplace",
    "matrix-laplace": "symmetric.matrix_laplace",
    "goe": "symmetric.goe",
    "discrete-goe": "discrete.discrete_goe",
    "gaussian-sketch": "sketch.gaussian_sketch",
    "exponential": "choice.exponential_choice",
    "noisy-max": "laplace.discrete_laplace",
    "thresholded-laplace": "laplace.discrete_laplace",
}


def sampler(law: str) -> Callable[..., Any]:
    """The function that draws from a law; its module is imported when it is first asked for.

    Parameters
    ----------
    law : its name, as in a certificate: "rounded-gaussian", "discrete-laplace", "goe", ...
    """
    module, name = LAWS[law].split(".")
    found: Callable[..., Any] = getattr(import_module(f"gnomon.privacy.noise.{module}"), name)
    return found


def total_variation(law: str) -> float:
    """How far a sampler is from its ideal law, as its module proves it; a law without noise is met exactly.

    Parameters
    ----------
    law : its name, as in a certificate: "rounded-gaussian", "discrete-laplace", "goe", ...
    """
    if law not in LAWS:
        return 0.0
    return float(import_module(f"gnomon.privacy.noise.{LAWS[law].split('.')[0]}").TOTAL_VARIATION)
