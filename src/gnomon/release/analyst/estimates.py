"""Answers with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import t

from gnomon.errors import ParameterError

Vector = npt.NDArray[np.float64]
MEASURED = "linear in the released rows: noise and projection"
CONSTRAINED = "constrained least squares; intervals of the linear answer, within what is possible"
COUNTED = "a noisy count: noise"
MODEL = "model estimate, noise only"


@dataclass(frozen=True)
class Estimates:
    """Estimated numbers, their standard errors, and intervals.

    Parameters
    ----------
    value : the estimates.
    standard_error : of each; NaN where the noise is not known.
    degrees : of freedom of Student's law, where the standard errors are themselves estimated.
    centre : of the intervals, where that is not the value.
    least, most : what is possible: intervals end there.
    about : what the standard errors cover.
    """

    value: Vector
    standard_error: Vector
    degrees: float | Vector = np.inf
    centre: Vector | None = None
    least: float | Vector = -np.inf
    most: float | Vector = np.inf
    about: str = MEASURED

    def interval(self, level: float = 0.95) -> tuple[Vector, Vector]:
        """The lower and upper ends of intervals that hold the truth with this probability, each for itself.

        Parameters
        ----------
        level : the probability.
        """
        centre = self.value if self.centre is None else self.centre
        reach = quantile(level, self.degrees) * self.standard_error
        low, high = (np.clip(end, self.least, self.most) for end in (centre - reach, centre + reach))
        return np.minimum(low, self.value), np.maximum(high, self.value)


def quantile(level: float, degrees: float | Vector = np.inf) -> Vector:
    """How many standard errors an interval of this level reaches to either side."""
    if not 0 < level < 1:
        raise ParameterError(f"The 'level' of an interval must be between 0 and 1. Got {level!r} instead.")
    return np.asarray(t.ppf((1 + level) / 2, degrees))
