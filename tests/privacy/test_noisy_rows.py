"""Noisy rows: kept once, shuffled uniformly, in memory and past it."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import permutations
from math import factorial

import numpy as np
import pytest

from gnomon.privacy import noisy_rows
from gnomon.privacy.noisy_rows import NoisyRows, random_order


def numbered(n: int, width: int = 2, batch: int = 100, largest: float = 1e6) -> NoisyRows:
    rows = NoisyRows(width, largest)
    for start in range(0, n, batch):
        places = np.arange(start, min(n, start + batch))
        rows.append(np.stack([places * (j + 1) for j in range(width)], axis=1))
    return rows


def all_rows(rows: NoisyRows) -> np.ndarray:
    return np.concatenate(list(rows.chunks()))


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """So little that rows are scattered, and some buckets again."""
    monkeypatch.setattr(noisy_rows, "IN_MEMORY", 400)
    monkeypatch.setattr(noisy_rows, "BUCKETS", 4)
    monkeypatch.setattr(noisy_rows, "SCATTERED", 30)


def check_shuffled(n: int, largest: float) -> None:
    rows = numbered(n, largest=largest)
    assert rows.permutation() is None
    kind = rows.dtype
    rows.shuffle()
    order, held = rows.permutation(), all_rows(rows)
    assert rows.dtype == kind
    assert sorted(order) == list(range(n))
    assert np.array_equal(held, np.stack([order, 2 * order], axis=1))
    assert np.array_equal(rows.take(np.array([n - 1, 0])), held[[n - 1, 0]])
    assert abs(np.corrcoef(order, np.arange(n))[0, 1]) < 6 / np.sqrt(n)


@pytest.mark.parametrize("largest", [1e6, 1e12])
def test_rows_in_memory_are_shuffled(largest: float) -> None:
    check_shuffled(1000, largest)


@pytest.mark.parametrize("largest", [1e6, 1e12])
def test_rows_past_memory_are_shuffled(little_memory: None, largest: float) -> None:
    check_shuffled(1000, largest)


@pytest.mark.parametrize("past", [False, True])
def test_every_order_is_as_likely(past: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All 24 orders of four rows, in memory and through buckets of one row or two; five standard deviations."""
    if past:
        monkeypatch.setattr(noisy_rows, "IN_MEMORY", 16)
        monkeypatch.setattr(noisy_rows, "BUCKETS", 2)
    runs = 300 if past else 4800
    seen: Counter[tuple[int, ...]] = Counter()
    for _ in range(runs):
        rows = numbered(4, batch=3)
        rows.shuffle()
        seen[tuple(rows.permutation().tolist())] += 1
    each = runs / factorial(4)
    assert max(abs(seen[order] - each) for order in permutations(range(4))) < 5 * np.sqrt(each) + 1


def test_equal_keys_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting equal keys would keep their order."""
    drawn = iter([[5, 5, 1], [2, 2, 2], [9, 3, 6]])
    monkeypatch.setattr(noisy_rows, "random_uint64", lambda n: np.array(next(drawn), dtype=np.uint64))
    assert random_order(3).tolist() == [1, 2, 0]


def test_no_rows_and_one_row() -> None:
    for n in (0, 1):
        rows = numbered(n)
        rows.shuffle()
        assert rows.permutation().tolist() == list(range(n))


def test_a_pickle_has_the_rows_and_not_the_permutation(little_memory: None) -> None:
    rows = numbered(200)
    rows.shuffle()
    again = pickle.loads(pickle.dumps(rows))
    assert np.array_equal(all_rows(again), all_rows(rows))
    assert again.permutation() is None
