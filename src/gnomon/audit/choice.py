"""An attack on the exponential mechanism's choice among candidates."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

from gnomon.audit.attack import Attack, Runs
from gnomon.privacy.guarantee import PureDP

CANDIDATES = 32  # enough that the weight of all others hardly depends on one of them
ROWS = 5  # of a candidate: one record changes an error by as much


def choice_attack(claim: PureDP) -> Attack:
    """One record that makes the first candidate better and every other one worse, each by as much as it can.

    Its probability rises by e^(epsilon/2) for itself and by as much again because all others fall, up to 1/CANDIDATES.
    """
    from gnomon.methods.baseline.exponential import BestDatabase
    from gnomon.methods.baseline.net import Net, Queries

    # the noise and the choice of a real release, whose errors are given here and not counted
    query = BestDatabase(cast(Queries, None), cast(Net, SimpleNamespace(rows=ROWS)), rows=2)
    noise = query.noise(claim)
    worse = np.full(CANDIDATES, ROWS, dtype=np.int64)
    errors = [ROWS - worse, worse]
    errors[0][0], errors[1][0] = ROWS, 0
    gaps = [table - table.min() for table in errors]

    def release(neighbour: bool, runs: int) -> Runs:
        chosen = [int(query.release(gaps[int(neighbour)], noise)) for _ in range(runs)]
        return np.array([float(place == 0) for place in chosen])

    return Attack(
        f"choice among {CANDIDATES}, exponential", "one is better, all others worse", claim, release
    )
