"""G1'G1 - G2'G2 for matrices of exact normals, in integers, with a bound on what the digits left out can do.

The digits of G are cut into limbs of w bits, (q + 1) 2^2w <= 2^53, so that a product of two limb matrices is
a sum of integers that float64 holds exactly, in whatever order BLAS adds them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.privacy.noise.normal import Normals

_Ints = NDArray[np.object_]


class GramDifference:
    """D = G1'G1 - G2'G2 for `blocks` independent pairs G1, G2 of shape (q + 1, q); known as closely as one asks."""

    def __init__(self, q: int, blocks: int = 1) -> None:
        self.q, self.blocks = q, blocks
        self._normals = (Normals(blocks * (q + 1) * q), Normals(blocks * (q + 1) * q))
        self._width = (53 - (q + 1).bit_length()) // 2
        largest = max(int(normals.integer.max()) for normals in self._normals)
        self._whole = largest.bit_length()  # |G| < 2^whole

    def error_bits(self, limbs: int) -> int:
        """The e such that `upper(limbs)` is within 2^-e of D.

        Let tau = 2^-(w limbs - whole) be the last digit kept. One entry of G'G moves by at most 2 (q + 1)
        2^whole tau when the digits below tau are left out, and by at most limbs (q + 1) 2^whole tau when the
        products of limbs of order >= `limbs` are; D has two such entries.
        """
        constant = 2 * (self.q + 1) * (limbs + 2) << self._whole
        return self._width * limbs - self._whole - constant.bit_length()

    def upper(self, limbs: int) -> tuple[_Ints, int, int]:
        """D (blocks, entries i <= j row by row): integers N, their error bound, and f; the first two in units of 2^-f."""
        i, j = np.triu_indices(self.q)
        orders = np.zeros((limbs, self.blocks, len(i)), dtype=np.int64)
        for sign, normals in zip((1, -1), self._normals, strict=True):
            parts = [self._limb(normals, level) for level in range(limbs)]
            for a in range(limbs):
                for b in range(a, limbs - a):
                    product = (parts[a].transpose(0, 2, 1) @ parts[b]).astype(np.int64)
                    entries = product[:, i, j] if a == b else product[:, i, j] + product[:, j, i]
                    orders[a + b] += sign * entries
        total: _Ints = orders[0].astype(object)
        for order in orders[1:]:
            total = (total << self._width) + order
        f = 2 * (self._width - self._whole) + self._width * (limbs - 1)
        return total, 1 << (f - self.error_bits(limbs)), f

    def entry(self, block: int, i: int, j: int, depth: int) -> tuple[int, int, int]:
        """One block's D[i, j] from 64 depth fraction bits: an integer N, its error bound, and f, as in `upper`."""
        total = error = 0
        size = (self.q + 1) * self.q
        for sign, normals in zip((1, -1), self._normals, strict=True):
            for row in range(block * size, (block + 1) * size, self.q):
                x, y = normals.magnitude(row + i, depth), normals.magnitude(row + j, depth)
                same = normals.negative[row + i] == normals.negative[row + j]
                total += sign * x * y if same else -sign * x * y
                error += x + y + 1
        return total, error, 128 * depth

    def _limb(self, normals: Normals, level: int) -> NDArray[np.float64]:
        """The level-th limb of every entry, with the entry's sign, exact in float64."""
        first = self._width - self._whole
        if level == 0:
            digits = normals.bits(0, first).astype(np.int64) + (normals.integer << first)
        else:
            digits = normals.bits(first + (level - 1) * self._width, self._width).astype(np.int64)
        limb = np.where(normals.negative, -digits, digits).astype(np.float64)
        return limb.reshape(self.blocks, self.q + 1, self.q)
