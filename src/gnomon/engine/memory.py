"""Memory that stays flat: few heaps for the threads of a streaming pass."""

from __future__ import annotations

import ctypes
import platform
from functools import cache

# parameters of glibc's mallopt
_ARENA_MAX = -8
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1


@cache
def share_heaps() -> None:
    """Let all threads share two heaps, where the C library is glibc.

    By default every thread fills a heap of its own. Batches are made by one thread and freed by another, so these heaps
    fragment and grow with the table: 1.2 GB instead of 0.4 GB after three million rows of fifty columns.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)


@cache
def reuse_heaps() -> None:
    """Let a worker use again what it has freed, where the C library is glibc.

    Dask's workers are started to give memory back at once. Then every batch is mapped and zeroed anew, and a fold costs
    more than twice the processor time (1.5 s instead of 0.6 s for a million rows of a hundred columns).
    """
    share_heaps()
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(_MMAP_THRESHOLD, 32 << 20)  # the largest that glibc takes
        libc.mallopt(_TRIM_THRESHOLD, 256 << 20)
