"""What the compared methods share: they are there to be compared with, so gnomon never plans or recommends them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Never

from gnomon.errors import ParameterError
from gnomon.methods.base import Release
from gnomon.methods.projected import LaplaceRows
from gnomon.methods.public import Public
from gnomon.statistics.frame import Frame


class Compared:
    """A method of the literature that gnomon's own methods are measured against."""

    @classmethod
    def plan(cls, encoder: Any, n: int, guarantee: Any) -> Never:
        """Refuses, so that `plan` and `auto` pass over it."""
        raise ParameterError(
            f"{cls.__name__} is a method to compare with; plans are made for gnomon's own methods only."
        )


def all_columns(m: int, *, normalise: bool) -> Frame:
    """All m columns as they are, in the ball that holds every row of cells in [-1, 1]."""
    return Frame.identity(m, radius=1.0 if normalise else math.sqrt(m), normalise=normalise)


def check_full_dimension(method: Release, public: Public) -> None:
    """Refuse a dimension for a method that has none."""
    if method.n_components not in ("auto", public.m):
        raise ParameterError(
            f"The 'n_components' parameter of {type(method).__name__} must be 'auto' or {public.m}, the number of "
            f"encoded columns, because it does not reduce them. Got {method.n_components!r} instead."
        )


@dataclass(eq=False, repr=False)
class IdentityQuery(Compared, LaplaceRows):
    """Base of the methods that answer the identity query: x -> xR plus Laplace noise on every coordinate."""

    unit: str = field(default="row", init=False)
    publish_projection: bool = field(default=True, init=False)

    def _check(self, public: Public) -> None:
        super()._check(public)
        if self.calibration == "paper":
            raise ParameterError(
                f"No paper prints the noise of {type(self).__name__}; use calibration='sound'."
            )
