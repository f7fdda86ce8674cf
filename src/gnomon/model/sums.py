"""Measured moments in natural units, with the standard deviation of their noise: what every model of rows begins with."""

from __future__ import annotations

from dataclasses import dataclass

from gnomon.model.shrinkage import Floats
from gnomon.privacy.measure import Measurement


@dataclass(frozen=True)
class Sums:
    """Noisy sums over rows z of a unit ball, in natural units, and the standard deviation of each kind.

    second (B, p, p) of z z' by block; first (K, p) of z and counts (K,) by class or cell; diagonal entries of
    `second` have sqrt(2) times its noise.
    """

    second: Floats
    first: Floats
    counts: Floats
    second_noise: float
    first_noise: float
    count_noise: float

    @classmethod
    def of(cls, measured: Measurement) -> Sums:
        """From measured moments; sums and counts stand beside the constant, or else beside the label."""
        query, law = measured.query, measured.noise
        unit, side = query.frame.unit, query.side
        second, first, counts = query.split(measured.answer)
        noise = (law.off_diagonal / unit**2, law.off_diagonal / (unit * side), law.diagonal / side**2)
        return cls(second, first, counts, *noise)
