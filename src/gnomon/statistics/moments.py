"""Exact integer moment matrices that add up.

A row q (integers, from `grid.into_ball`) becomes (q, Lambda); the sum of its outer products, one matrix per class,
holds the count, the sum and the second moment of the class. The float64 product of integers is exact as long as every
partial sum stays below 2^53: blocks of at most 2^20 rows whose squared norm is at most 2 GRID^2 = 2^33 guarantee it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnomon.statistics.grid import GRID, Matrix

BLOCK = 2**19


@dataclass(frozen=True)
class Moments:
    """`matrix[c]` is the integer sum of (q, Lambda)(q, Lambda)' over the rows of class c."""

    matrix: npt.NDArray[np.int64]
    rows: int

    @classmethod
    def zero(cls, width: int, classes: int = 1) -> Moments:
        return cls(np.zeros((classes, width, width), dtype=np.int64), 0)

    @classmethod
    def of_batch(cls, Q: Matrix, codes: npt.NDArray[np.int64] | None = None, classes: int = 1) -> Moments:
        """The moments of integer rows `Q`, whose last column is Lambda, split by class code."""
        matrix = np.zeros((classes, Q.shape[1], Q.shape[1]), dtype=np.int64)
        for start in range(0, len(Q), BLOCK):
            block = Q[start : start + BLOCK]
            if codes is None:
                matrix[0] += _gram(block)
            else:
                present = codes[start : start + BLOCK]
                order = np.argsort(present, kind="stable")
                ends = np.searchsorted(present[order], np.arange(classes), side="right")
                begin = 0
                for c, end in enumerate(ends):
                    if end > begin:
                        matrix[c] += _gram(block[order[begin:end]])
                    begin = int(end)
        return cls(matrix, len(Q))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.matrix + other.matrix, self.rows + other.rows)


def _gram(Q: Matrix) -> npt.NDArray[np.int64]:
    return (Q.T @ Q).astype(np.int64)


def ball(lam: int, extra: int = 0) -> int:
    """The bound on the squared integer norm of a row (q, Lambda), plus `extra` for coordinates beside q."""
    return GRID**2 + lam**2 + extra
