"""What `map.npz` says about the noise of released rows: the numbers that answers about them need."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

from gnomon.errors import DataError
from gnomon.release.analyst.rows import Law

NAME = "rows"  # of the array in map.npz
KINDS = ("none", "gaussian", "orthonormal", "sign", "chosen")


@dataclass(frozen=True)
class RowLaw:
    """How the rows of a row release came about.

    noise, fourth, stretch  see `Law`;
    steps        integers of noisy_rows.parquet to a unit of the rows;
    label_steps  the same for the label beside them, 0 where there is none;
    kind         of the projection: drawn (gaussian, orthonormal, sign), chosen by measurements, or none.
    """

    noise: float
    fourth: float
    stretch: float
    steps: float
    label_steps: float
    kind: str

    @property
    def law(self) -> Law:
        return Law(self.noise, self.fourth, self.stretch)

    @property
    def drawn(self) -> bool:
        """Whether the projection is random and the same in all directions, so that sums can be recovered."""
        return self.kind in ("gaussian", "orthonormal", "sign")

    def array(self) -> npt.NDArray[np.float64]:
        *numbers, kind = astuple(self)
        return np.array([*numbers, KINDS.index(kind)])

    @classmethod
    def of_array(cls, held: npt.NDArray[np.float64]) -> RowLaw:
        """From numbers that anybody may have written."""
        broken = DataError(
            "The map of this release does not fit together; ask its publisher for a whole copy."
        )
        if held.shape != (6,) or held.dtype.kind != "f" or not np.isfinite(held).all() or (held < 0).any():
            raise broken
        noise, fourth, stretch, steps, label_steps, kind = held.tolist()
        if kind not in range(len(KINDS)) or math.isclose(steps, 0.0):
            raise broken
        return cls(noise, fourth, stretch, steps, label_steps, KINDS[int(kind)])
