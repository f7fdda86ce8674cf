"""The identity query: what its methods share, however they choose the projection."""

from __future__ import annotations

from dataclasses import dataclass, field

from gnomon.errors import ParameterError
from gnomon.methods.baseline.base import Compared
from gnomon.methods.projected import LaplaceRows
from gnomon.methods.public import Public


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
