"""Scores learnt from released numbers, for methods whose likelihoods are not at hand."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Runs = npt.NDArray[np.float64]


def learned(first: Runs, second: Runs) -> tuple[Runs, Runs]:
    """Released rows (runs, k) of both tables -> scores, by a rule that a quarter of the runs taught.

    Those runs are thrown away, so that neither the choice of the event nor its probabilities have seen them.
    """
    quarter = len(first) // 4
    taught = [table[:quarter] for table in (first, second)]
    centre, direction = _rule(*taught)
    scores = [(table[quarter:] - centre) @ direction for table in (first, second)]
    return scores[0], scores[1]


def _rule(first: Runs, second: Runs) -> tuple[Runs, Runs]:
    """A regularised linear discriminant: which numbers differ, and by how many standard deviations.

    The ridge grows with the numbers per run, so that few runs of many numbers still give a rule and not its noise.
    """
    both = np.concatenate([first, second])
    centre = both.mean(axis=0)
    spread = np.sqrt((first.var(axis=0) + second.var(axis=0)) / 2)
    apart = np.abs(first.mean(axis=0) - second.mean(axis=0))
    # a number without any noise that differs gives everything away; one that never differs gives nothing
    scale = np.where(spread > 1e-9 * (1 + apart), spread, np.maximum(apart, 1.0) * 1e-9)
    whitened = [(table - centre) / scale for table in (first, second)]
    shift = whitened[1].mean(axis=0) - whitened[0].mean(axis=0)
    within = sum(np.cov(table, rowvar=False).reshape(len(shift), -1) for table in whitened) / 2
    ridge = 0.05 + len(shift) / len(both)
    direction = np.linalg.solve(within + ridge * np.eye(len(shift)), shift) / scale
    return centre, direction
