"""An attack on the exponential mechanism's choice among candidates."""

from __future__ import annotations

import numpy as np

from gnomon.audit.attack import Attack, Runs
from gnomon.privacy.guarantee import PureDP

CANDIDATES = 32  # enough that the weight of all others hardly depends on one of them


def choice_attack(claim: PureDP) -> Attack:
    """One record that makes the first candidate better and every other one worse, each by as much as it can.

    Its probability rises by e^(epsilon/2) for itself and by as much again because all others fall, up to 1/CANDIDATES.
    """
    from gnomon.baseline.exponential import choose

    rows = 5
    worse = np.full(CANDIDATES, rows, dtype=np.int64)
    tables = [rows - worse, worse]
    tables[0][0], tables[1][0] = rows, 0

    def release(neighbour: bool, runs: int) -> Runs:
        chosen = [choose(tables[int(neighbour)], rows, claim)[0] for _ in range(runs)]
        return np.array([float(place == 0) for place in chosen])

    return Attack(
        f"choice among {CANDIDATES}, exponential", "one is better, all others worse", claim, release
    )
