"""Random orthonormal (RON) projections, drawn from the Haar measure."""

from __future__ import annotations

import math

import numpy as np

from gnomon.statistics.grid import Matrix


def haar(m: int, p: int, rng: np.random.Generator) -> Matrix:
    """W (m, p) with orthonormal columns, uniform over all such matrices.

    QR of a Gaussian matrix is Haar only after the signs of R's diagonal are moved into Q; QR of a uniform matrix,
    as RON-Gauss prints it, is not Haar at all.
    """
    Q, R = np.linalg.qr(rng.standard_normal((m, p)))
    W: Matrix = Q * np.where(np.diag(R) < 0, -1.0, 1.0)
    return W


def dfm_dimension(m: int) -> int:
    """The largest dimension at which projections of m columns are nearly Gaussian (the DFM effect).

    p < 2 log m / log log m; RON-Gauss evaluates it at m = 100 as 13, which fixes the base of the logarithm at 10.
    """
    if m <= 12:
        return m
    return max(1, min(m, math.floor(2 * math.log10(m) / math.log10(math.log10(m)))))
