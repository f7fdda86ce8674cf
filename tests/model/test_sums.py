"""Sums of measured moments: in natural units, whatever stands beside the rows."""

import numpy as np
import pytest

from gnomon.model.sums import Sums
from gnomon.privacy.measure import Measurement
from gnomon.privacy.mechanism import NoiseLaw
from gnomon.statistics.frame import Frame
from gnomon.statistics.grid import GRID
from gnomon.statistics.queries import CellMoments, Moments
from gnomon.table.rows import CELL, Rows
from gnomon.table.target import Target

RNG = np.random.default_rng(0)
X, CODES = RNG.uniform(-0.4, 0.4, (400, 3)), RNG.integers(0, 2, 400)
ROWS = Rows(np.rint(X.T * CELL).astype(np.int32).T, CODES)
FRAME, CLASSES = Frame.identity(3, radius=1.0), Target("y", 2)
BY_CLASS = FRAME.zoom(np.zeros((2, 3)), np.ones(2), classes=2)


def of(query: Moments | CellMoments) -> Sums:
    law = NoiseLaw("goe", np.sqrt(2) * query.side**2, query.frame.unit * query.side)
    return Sums.of(Measurement(query, query.of_batch(ROWS), law, None))


@pytest.mark.parametrize("side", [GRID, GRID // 2])
@pytest.mark.parametrize("beside", ["label", "constant", "classes", "cells"])
def test_sums_are_those_of_the_rows(beside: str, side: int) -> None:
    query = {
        "label": Moments("s", FRAME, CLASSES, label=side),
        "constant": Moments("s", FRAME, CLASSES, constant=side),
        "classes": Moments("s", FRAME, CLASSES, constant=side, by_class=True),
        "cells": CellMoments("s", BY_CLASS, side),
    }[beside]
    found = of(query)
    owners = np.eye(2)[CODES] if beside != "constant" else np.ones((400, 1))
    blocks = owners.T if beside in ("classes", "cells") else np.ones((1, 400))
    assert found.counts == pytest.approx(owners.sum(axis=0))
    assert found.first == pytest.approx(owners.T @ X, abs=0.01)
    assert found.second == pytest.approx(np.einsum("bn,ni,nj->bij", blocks, X, X), abs=0.01)
    assert found.count_noise == pytest.approx(np.sqrt(2))
    assert found.first_noise == pytest.approx(1.0)
    assert found.second_noise == pytest.approx(side / query.frame.unit)
