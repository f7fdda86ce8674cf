"""The exact Gram difference: float64 products without error, and a truncation bound that holds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from gnomon.privacy.noise.gram import GramDifference


def by_hand(gram: GramDifference, block: int, i: int, j: int, depth: int) -> Fraction:
    """D[i, j] from the definition, in rational arithmetic, with every digit to 64 depth places."""
    total = Fraction(0)
    for sign, normals in zip((1, -1), gram._normals, strict=True):
        for row in range(gram.q + 1):
            a, b = (((block * (gram.q + 1)) + row) * gram.q + at for at in (i, j))
            x, y = (Fraction(normals.magnitude(at, depth), 1 << 64 * depth) for at in (a, b))
            total += sign * (-x if normals.negative[a] else x) * (-y if normals.negative[b] else y)
    return total


@pytest.mark.parametrize(("q", "blocks"), [(1, 1), (1, 5), (2, 3), (3, 2), (7, 1), (12, 2)])
@pytest.mark.parametrize("limbs", [2, 3, 5])
def test_the_product_is_exact_up_to_its_bound(q: int, blocks: int, limbs: int) -> None:
    gram = GramDifference(q, blocks)
    entries, error, f = gram.upper(limbs)
    assert entries.shape == (blocks, q * (q + 1) // 2)
    assert Fraction(error, 1 << f) == Fraction(1, 1 << gram.error_bits(limbs))
    for block in range(blocks):
        for position, (i, j) in enumerate(zip(*np.triu_indices(q), strict=True)):
            difference = abs(Fraction(entries[block, position], 1 << f) - by_hand(gram, block, i, j, depth=6))
            assert difference <= Fraction(error, 1 << f)


def test_more_limbs_lose_less() -> None:
    gram = GramDifference(5)
    truth = by_hand(gram, 0, 0, 1, depth=6)
    for limbs in (2, 3, 4, 5):
        entries, _, f = gram.upper(limbs)
        lost = abs(Fraction(entries[0, 1], 1 << f) - truth)
        assert 0 < lost < Fraction(1, 1 << (20 * limbs - 16))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_one_entry_is_exact_up_to_its_bound(depth: int) -> None:
    gram = GramDifference(4, blocks=3)
    for block, i, j in [(0, 0, 0), (2, 0, 3), (1, 2, 1)]:
        total, error, f = gram.entry(block, i, j, depth)
        assert Fraction(total, 1 << f) == by_hand(gram, block, i, j, depth)
        assert abs(by_hand(gram, block, i, j, 6) - Fraction(total, 1 << f)) <= Fraction(error, 1 << f)


def test_limbs_put_together_are_the_digits() -> None:
    gram = GramDifference(3)
    normals = gram._normals[0]
    width, first = gram._width, gram._width - gram._whole
    limbs = [gram._limb(normals, level).ravel() for level in range(4)]
    for at in range(12):
        kept = sum(int(limb[at]) << (width * (3 - level)) for level, limb in enumerate(limbs))
        fraction_bits = first + 3 * width
        magnitude = normals.magnitude(at, 4) >> (256 - fraction_bits)
        assert kept == (-magnitude if normals.negative[at] else magnitude)
    assert max(np.abs(limb).max() for limb in limbs) < 2**width


@pytest.mark.parametrize("q", [*range(1, 70), 127, 128, 255, 256, 795, 796, 1023, 4999])
def test_partial_sums_fit_float64(q: int) -> None:
    width = (53 - (q + 1).bit_length()) // 2
    assert (q + 1) * (2**width - 1) ** 2 < 2**53
    if q < 8:
        assert GramDifference(q)._width == width
