"""The stream: fresh for every call, shared by nobody, and honest about a fixed one."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gnomon.privacy.noise import stream
from gnomon.privacy.noise.laplace import discrete_laplace
from gnomon.privacy.noise.stream import Stream, fixed_noise, noise_is_private, random_bytes, random_uint64


@pytest.mark.parametrize("n", [0, 1, 2, 3, 65535, 65536, 65537, 200_001])
def test_every_word_is_written(n: int) -> None:
    with fixed_noise(1):
        words = random_uint64(n)
    with fixed_noise(1):
        longer = random_uint64(n + 7)
    assert words.dtype == np.uint64
    assert np.array_equal(words, longer[:n])
    assert len(np.unique(longer)) == n + 7  # a repeat among 2 * 10^5 words has probability 2^-30


def test_one_stream_read_in_pieces_is_one_stream() -> None:
    with fixed_noise(1):
        source = Stream()
        pieces = np.concatenate([source.words(n) for n in (1, 2, 5, 70_000, 3)])
    with fixed_noise(1):
        assert np.array_equal(pieces, Stream().words(70_011))


def test_looking_closer_does_not_move_the_main_lane() -> None:
    with fixed_noise(1):
        plain = Stream().words(100)
    with fixed_noise(1):
        source = Stream()
        spare = [source.spare_word() for _ in range(100)]
        assert np.array_equal(source.words(100), plain)
    assert len({*spare, *plain.tolist()}) == 200


def test_each_bit_is_fair() -> None:
    words = random_uint64(1 << 17)
    ones = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=0)
    assert np.abs(ones.astype(float) - (1 << 16)).max() < 7.5 * np.sqrt(
        1 << 15
    )  # two-sided, 64 bits: below 1e-11


def test_bytes_have_the_asked_length() -> None:
    assert [len(random_bytes(n)) for n in (0, 1, 7, 8, 9, 31)] == [0, 1, 7, 8, 9, 31]
    assert random_bytes(16) != random_bytes(16)


def test_a_cipher_that_writes_too_little_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lazy:
        def update_into(self, data: bytes, buffer: memoryview) -> int:
            return 0

    source = Stream()
    monkeypatch.setattr(source, "_main", Lazy())
    with pytest.raises(RuntimeError, match="fewer random bytes"):
        source.words(4)


def test_every_call_has_its_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[bytes] = []
    urandom = os.urandom

    def recording(n: int) -> bytes:
        keys.append(urandom(n))
        return keys[-1]

    monkeypatch.setattr(stream.os, "urandom", recording)
    random_uint64(10)
    discrete_laplace(3, 10)
    discrete_laplace(3, 100_000)
    assert len(keys) == len(set(keys)) == 3
    assert {len(key) for key in keys} == {32}


def test_threads_share_no_words() -> None:
    barrier = threading.Barrier(8)

    def draw(_: int) -> list[int]:
        barrier.wait()
        return [word for _ in range(50) for word in random_uint64(20).tolist()]

    with ThreadPoolExecutor(8) as pool:
        words = [word for part in pool.map(draw, range(8)) for word in part]
    assert len(set(words)) == 8 * 50 * 20


def _draw_in_child(connection: multiprocessing.connection.Connection) -> None:
    connection.send(random_uint64(1000).tolist() + discrete_laplace(2**50, 100).tolist())
    connection.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_workers_share_no_words() -> None:
    random_uint64(10)  # whatever state there is exists before the fork
    context = multiprocessing.get_context("fork")
    drawn = []
    for _ in range(3):
        mine, theirs = context.Pipe()
        child = context.Process(target=_draw_in_child, args=(theirs,))
        child.start()
        drawn += mine.recv()
        child.join()
        drawn += random_uint64(1000).tolist()
    assert len(set(drawn)) == 3 * 2100


def test_fixed_noise_repeats_and_private_noise_does_not() -> None:
    def draw() -> list[int]:
        return discrete_laplace(1000, 20).tolist() + discrete_laplace(1000, 20).tolist()

    with fixed_noise(1):
        first = draw()
    with fixed_noise(1):
        again = draw()
    with fixed_noise(2):
        other = draw()
    assert first == again
    assert first[:20] != first[20:]
    assert first != other
    assert draw() != draw()


def test_fixed_noise_is_never_taken_for_private() -> None:
    assert noise_is_private()
    with fixed_noise(0):
        assert not noise_is_private()
        with fixed_noise(1):
            assert not noise_is_private()
        assert not noise_is_private()
        with ThreadPoolExecutor(1) as pool:  # another thread may be the one that writes the certificate
            assert not pool.submit(noise_is_private).result()
    assert noise_is_private()
    with pytest.raises(ValueError, match="stop"), fixed_noise(0):
        raise ValueError("stop")
    assert noise_is_private()
