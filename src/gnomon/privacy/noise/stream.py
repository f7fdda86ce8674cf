"""Random words for noise: AES-256 in counter mode under a key that the system drew for this call alone.

No generator is kept between calls, so nothing is shared across threads, survives a fork, or can be seeded.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

STREAM_ASSUMPTION = (
    "AES-256 in counter mode, keyed by the operating system for each call, cannot be told from random bits"
)

_WORDS_AT_ONCE = 1 << 16  # what one encryption step makes: the zeros it reads stay in the cache
_ZEROS = memoryview(bytes(8 * _WORDS_AT_ONCE))
_MAIN_LANE = bytes(16)
_SPARE_LANE = b"\x80" + bytes(15)  # the counter's upper half: 2^127 blocks away from the main lane

_fixed_keys: ContextVar[Iterator[bytes] | None] = ContextVar("gnomon_fixed_noise", default=None)
_fixed_blocks = 0
_fixed_lock = threading.Lock()


class Stream:
    """The words of one call: a main lane read in bulk, a spare lane for the rare value that needs more.

    Two lanes of one key, so that looking closer at one value never moves the words of the others.
    """

    def __init__(self) -> None:
        fixed = _fixed_keys.get()
        key = algorithms.AES(os.urandom(32) if fixed is None else next(fixed))
        self._main = Cipher(key, modes.CTR(_MAIN_LANE)).encryptor()
        self._spare = Cipher(key, modes.CTR(_SPARE_LANE)).encryptor()

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words, independent and uniform on 0 .. 2^64 - 1."""
        out = np.zeros(n + 2, dtype=np.uint64)  # update_into wants up to one block of room behind its output
        room = out.view(np.uint8).data
        for start in range(0, n, _WORDS_AT_ONCE):
            count = min(_WORDS_AT_ONCE, n - start)
            written = self._main.update_into(_ZEROS[: 8 * count], room[8 * start :])
            if written != 8 * count:  # memory that no cipher wrote must never pass for noise
                raise RuntimeError("The cipher wrote fewer random bytes than asked; no noise was drawn.")
        return out[:n]

    def spare_word(self) -> int:
        """One word of the spare lane."""
        return int.from_bytes(self._spare.update(_ZEROS[:8]), "little")


def random_uint64(n: int) -> NDArray[np.uint64]:
    """n independent words, uniform on 0 .. 2^64 - 1."""
    return Stream().words(n)


def random_bytes(n: int) -> bytes:
    """n independent uniform bytes."""
    return Stream().words(-(-n // 8)).tobytes()[:n]


@contextmanager
def fixed_noise(seed: int) -> Iterator[None]:
    """For tests only: noise drawn in this block, by this thread, repeats with the seed and protects nobody.

    While any such block is open anywhere in the process `noise_is_private` says no, so that a certificate
    made meanwhile by whichever thread says no too.
    """
    global _fixed_blocks
    names = (f"gnomon fixed noise {seed} {call}" for call in itertools.count())
    keys = (hashlib.sha256(name.encode()).digest() for name in names)
    with _fixed_lock:
        _fixed_blocks += 1
    token = _fixed_keys.set(keys)
    try:
        yield
    finally:
        _fixed_keys.reset(token)
        with _fixed_lock:
            _fixed_blocks -= 1


def noise_is_private() -> bool:
    """False while a `fixed_noise` block is open, in this thread or any other."""
    return _fixed_blocks == 0 and _fixed_keys.get() is None
