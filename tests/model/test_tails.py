"""Rows beyond quantiles and beside atoms: what many columns show together, and what a single one may not claim."""

import numpy as np
import pytest

from gnomon.model.tails import Tail, tail_masses

OCTAVES, NOISE, PLANNED = 9, 300.0, 1000.0
ENDS = 2.0 ** np.arange(1, OCTAVES + 1) - 1  # each octave twice as wide as the one before


def tails(shares: np.ndarray, columns: int, seed: int = 0) -> list[Tail]:
    rng = np.random.default_rng(seed)
    return [
        Tail(
            tuple(range(len(shares))), ENDS, PLANNED * shares + NOISE * rng.standard_normal(len(shares)),
            np.full(len(shares), NOISE), PLANNED,
        )
        for _ in range(columns)
    ]  # fmt: skip


def power(factor: float) -> np.ndarray:
    share = factor ** np.arange(OCTAVES)
    return share / share.sum()


@pytest.mark.parametrize("factor", [0.125, 0.5])
def test_columns_together_tell_light_tails_from_heavy_ones(factor: float) -> None:
    reach = 2.0 ** np.arange(OCTAVES)
    true = PLANNED * power(factor) @ reach
    found = [rows @ reach for rows in tail_masses(tails(power(factor), 60))]
    assert 0.3 < np.median(found) / true < 2
    assert np.mean([rows.sum() for rows in tail_masses(tails(power(factor), 60))]) == pytest.approx(
        PLANNED, rel=0.15
    )


def test_an_exponential_tail_ends() -> None:
    share = -np.diff(np.append(1.0, 0.4**ENDS))
    found = tail_masses(tails(share / share.sum(), 60))
    assert np.mean([rows[5:].sum() for rows in found]) < 2  # a power law of the same first octaves has 7


@pytest.mark.parametrize("shape", [0.0, 1.0])
def test_bins_that_stand_out_show_what_lies_beyond_them(shape: float) -> None:
    """One column alone: three bins are seen, the law of the rest follows, within a factor of three or a few rows."""
    x = np.append(0.0, 2.0 ** np.arange(OCTAVES))
    beyond = 0.4**x if shape == 0 else (1 + x * (0.4**-shape - 1)) ** (-1 / shape)
    counts, noise = -np.diff(beyond) * PLANNED, PLANNED / 100
    rng = np.random.default_rng(2)
    for _ in range(20):
        seen = counts + noise * rng.standard_normal(OCTAVES)
        (rows,) = tail_masses([Tail(tuple(range(3, OCTAVES)), x[1:], seen, np.full(OCTAVES, noise), PLANNED)])
        assert len(rows) == OCTAVES - 3
        assert counts[3:].sum() / 3 - 5 < rows.sum() < 3 * counts[3:].sum() + 5


def test_a_column_in_one_bin_has_no_tail() -> None:
    rng, beyond = np.random.default_rng(3), []
    for _ in range(20):
        counts = np.append(20_000.0, 20 * rng.standard_normal(OCTAVES - 1))
        (rows,) = tail_masses([Tail(tuple(range(1, OCTAVES)), ENDS, counts, np.full(OCTAVES, 20.0), 20_000.0)])
        beyond.append(rows.sum())
    assert np.mean(beyond) < 20


def quiet(rows: list[float], seed: int = 1) -> list[Tail]:
    rng = np.random.default_rng(seed)
    even = 2.0 ** np.arange(OCTAVES) / (2.0**OCTAVES - 1)
    return [
        Tail(
            tuple(range(OCTAVES)), ENDS, n * even + NOISE * rng.standard_normal(OCTAVES),
            np.full(OCTAVES, NOISE), NOISE, n + NOISE * rng.standard_normal(), NOISE,
        )
        for n in rows
    ]  # fmt: skip


def test_constant_columns_stay_constant_and_hidden_rows_are_seen_together() -> None:
    assert np.mean([rows.sum() for rows in tail_masses(quiet([0.0] * 100))]) < 0.1 * NOISE
    found = np.array([rows.sum() for rows in tail_masses(quiet([NOISE] * 100))])
    assert found.mean() == pytest.approx(NOISE, rel=0.2)
    assert found.std() < NOISE / 2  # each alone would scatter by a whole deviation


def test_a_column_beside_others_that_hide_rows_is_never_quite_constant() -> None:
    """A learner that scales by a released deviation of zero meets real cells as they are."""
    hidden = [4 * NOISE] * 20 + [0.0] * 20
    sizes = np.array([rows.sum() for rows in tail_masses(quiet(hidden), least=0.02)])
    assert sizes.min() >= 0.019 * sizes.mean()
    assert min(rows.sum() for rows in tail_masses(quiet(hidden))) < 0.019 * sizes.mean()


def test_no_octave_holds_less_than_half_a_row() -> None:
    for rows in tail_masses(tails(power(0.125), 20)):
        beyond = np.cumsum(rows[::-1])[::-1]
        assert ((beyond == 0) | (beyond >= 0.25)).all()  # what was cut beyond it was less than the rest


def test_no_tails_are_no_rows() -> None:
    assert tail_masses([]) == []
