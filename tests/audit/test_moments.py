"""Runs of a moment attack are blocks of real releases: of the same noise as a release of its own would have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from gnomon.audit import moments as attacked
from gnomon.audit.moments import moment_attack
from gnomon.privacy.guarantee import ApproxDP, PureDP

LOOSE = ApproxDP(4.0, 1e-5)


@pytest.fixture
def calls(monkeypatch):
    """(blocks, mechanism, scale) of every release."""
    seen = []
    right = attacked.release_moments

    def noted(S, *arguments, **named):
        released = right(S, *arguments, **named)
        seen.append((len(S), released.event.mechanism, released.event.scale))
        return released

    monkeypatch.setattr(attacked, "release_moments", noted)
    return seen


@pytest.mark.parametrize(
    ("q", "claim", "options", "together"),
    [
        (2, PureDP(4.0), {"mechanism": "matrix-laplace"}, True),
        (3, PureDP(4.0), {"mechanism": "matrix-laplace", "moved_label": True}, True),
        (3, PureDP(4.0), {"mechanism": "matrix-laplace", "moved_label": True, "product": True}, True),
        (2, PureDP(4.0), {"mechanism": "upper-laplace", "moved_label": True}, True),
        (3, LOOSE, {"mechanism": "goe", "moved_label": True}, True),
        (4, LOOSE, {"mechanism": "goe"}, True),
        (
            2,
            PureDP(4.0),
            {"mechanism": "upper-laplace"},
            False,
        ),  # with classes the label may move, and the noise grows
        (1, PureDP(2.0), {"mechanism": "matrix-laplace"}, False),
    ],
)
def test_many_runs_are_one_call_where_the_noise_is_the_same(q, claim, options, together, calls) -> None:
    attack = moment_attack(q, claim, **options)
    assert len(attack.release(True, 40)) == 40
    scores_of_a_call = 2 if options.get("product") or q == 4 else 1  # four coordinates hold two pairs
    assert len(calls) == (1 if together else 40 // scores_of_a_call)
    bulk = calls.copy()
    calls.clear()
    attack.release(True, scores_of_a_call)
    assert {call[1:] for call in bulk} == {calls[0][1:]}
    assert calls[0][0] == (2 if options.get("moved_label") else 1)


@pytest.mark.parametrize("options", [{}, {"moved_label": True}, {"moved_label": True, "product": True}])
def test_scores_of_a_bulk_follow_the_law_of_single_releases(options, monkeypatch) -> None:
    attack = moment_attack(2, PureDP(4.0), mechanism="matrix-laplace", **options)
    bulk = attack.release(True, 6000)
    monkeypatch.setattr(attacked, "TOGETHER", 1)
    alone = moment_attack(2, PureDP(4.0), mechanism="matrix-laplace", **options).release(True, 1500)
    assert ks_2samp(bulk, alone).pvalue > 1e-9
    assert len(np.unique(bulk)) > 0.5 * len(bulk)
