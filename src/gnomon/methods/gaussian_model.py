"""One Gaussian for each class in a given view of the rows: two measurements and free repair.

What RON-Gauss, PCA-Gauss and MODIPS do once the view is chosen, with sound noise: they differ in the view alone.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gnomon.errors import GnomonWarning
from gnomon.methods.public import Notes, Public
from gnomon.model.mixture import Mixture
from gnomon.model.repair import mixture_of, rows_of
from gnomon.model.shrinkage import signal_share
from gnomon.model.sums import Sums
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.measure import Measurer
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import Location, Moments

Vector = npt.NDArray[np.float64]
CONSTANT = GRID // 2  # the constant coordinate of a row: counts and means come with the second moments
BESIDE = GRID // 2  # the integer weight of a number beside the row: a regression target, a row's length
LOCATION = 0.1  # the share of the budget for where the rows lie; the model has the rest


def gaussian_model(
    data: Measurer, public: Public, notes: Notes, start: Frame, loss: Spendable, share: float = LOCATION
) -> tuple[Frame, Mixture]:
    """Where the rows lie in `start`, by a share of the loss, then the moments of every class in the ball that fits them."""
    locating, modelling = loss.split(share, 1 - share)
    frame = located(data, public, start, locating)
    sums = Sums.of(data.measure(class_moments(public, frame), modelling))
    fitted = mixture_of(sums, public.n)
    notes.rows = rows_of(sums)
    model = fitted.mixture
    if public.target.is_number:
        model = model.scaled(np.r_[np.ones(frame.n_components), frame.unit / BESIDE])
    notes.post_processing.append(
        "counts onto the simplex of n, class means and covariances shrunk by their noise, eigenvalues by the "
        "semicircle law"
    )
    if fitted.fallback:
        warnings.warn(
            f"{len(fitted.fallback)} of {public.target.classes} classes are too small for the noise at this budget; "
            "they use the pooled model.",
            GnomonWarning,
            stacklevel=6,
        )
    return frame, model


def class_moments(public: Public, frame: Frame) -> Moments:
    """Count, sum and second moment of every class; a number stands beside the row (RON-Gauss, Algorithms 3 to 5)."""
    label = BESIDE if public.target.is_number else 0
    return Moments(
        "count, sum and second moment of every class", frame, public.target, label, CONSTANT, by_class=True
    )


def located(data: Measurer, public: Public, start: Frame, loss: Spendable) -> Frame:
    """The ball around the rows: their noisy mean and mean squared length (RON-Gauss, Algorithm 1)."""
    count = CONSTANT if public.n is None else 0
    query = Location("sum, squared length and original length of the projected rows", start, BESIDE, count)
    measured = data.measure(query, loss)
    n = public.n_or(measured.answer[-1] / max(count, 1))
    p = start.n_components
    mean, std = measured.answer / n, measured.noise.diagonal / n
    centre, radius = ball_around(mean[:p] / start.unit, mean[p] * GRID / start.unit**2, std / start.unit)
    length = (
        math.sqrt(public.m) * min(max(float(mean[p + 1]) / BESIDE, 0.05), 1.0) if start.normalise else 1.0
    )
    first = float(start.radius[0])
    return replace(start, length=length).zoom(first * centre, first * radius)


def ball_around(mean: Vector, square: float, std: float) -> tuple[Vector, float]:
    """Centre and radius of a ball that holds nearly all rows, from their noisy mean and mean squared length.

    Everything is in units of the first ball and known up to the standard deviation `std` a number. The centre is
    shrunk by its noise; the radius allows for what is left of that noise, and never grows past the first ball.
    """
    noise = len(mean) * std**2
    centre = mean * signal_share(float(mean @ mean), noise)
    variance = max(square - float(mean @ mean) + noise, 0.0) + min(noise, float(mean @ mean)) + std
    return centre, min(1.0, max(1.5 * math.sqrt(variance), 0.02))
