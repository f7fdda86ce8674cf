"""Flat memory: asking for shared heaps is safe, often, and on any platform."""

import platform

import pytest

from gnomon.engine.memory import reuse_heaps, share_heaps


@pytest.mark.parametrize("libc", ["glibc", "musl", ""])
def test_it_can_be_asked_anywhere(libc: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if libc != platform.libc_ver()[0]:
        monkeypatch.setattr(
            "gnomon.engine.memory.platform.libc_ver", lambda: (libc if libc != "glibc" else "", "")
        )
    for ask in (share_heaps, reuse_heaps):
        ask.cache_clear()
        assert ask() is None
        assert ask() is None
