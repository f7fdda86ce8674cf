"""Worst pairs: the proofs' pairs attain the stated sensitivities, and a search finds nothing beyond."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.audit.pair import change, orthogonal_pair, search_pair, size
from gnomon.privacy.guarantee import Adjacency
from gnomon.privacy.sensitivity import Norm, moments


@pytest.mark.parametrize("p", [2, 3, 5, 8])
@pytest.mark.parametrize("norm", [Norm.NUCLEAR, Norm.FROBENIUS, Norm.L1])
def test_search_reaches_the_sensitivity_and_never_exceeds_it(norm, p) -> None:
    stated = float(moments(norm, width=p, ball=1, adjacency=Adjacency.REPLACE_ONE).value)
    found = size(change(*search_pair(norm, p, tries=40)), norm)
    assert 0.99 * stated <= found <= stated * (1 + 1e-9)


@pytest.mark.parametrize("norm", [Norm.NUCLEAR, Norm.FROBENIUS])
@pytest.mark.parametrize("constant", [0.0, 0.5])
def test_orthogonal_rows_are_worst_also_beside_a_constant(norm, constant) -> None:
    ball = 1 + constant**2
    stated = float(moments(norm, width=4, ball=ball, adjacency=Adjacency.REPLACE_ONE).value)
    assert size(change(*orthogonal_pair(3, constant), constant), norm) == pytest.approx(stated)
    assert size(change(*search_pair(norm, 3, constant), constant), norm) == pytest.approx(stated, rel=1e-3)


def test_the_whole_matrix_counts_every_entry() -> None:
    x, y = search_pair(Norm.L1, 4, whole=True)
    assert size(change(x, y), Norm.L1, whole=True) == pytest.approx(np.sqrt(2) * 4, rel=1e-3)
