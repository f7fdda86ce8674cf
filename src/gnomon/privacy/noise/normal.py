"""Exact standard normals as binary digits: a sign, an integer part and as many fraction bits as one asks for.

*Claim.* The numbers sign (integer + fraction) are independent standard normal reals, with no error of
distribution, under the assumptions of `gaussian.py`.

*Proof.* (The density split of Karney, "Sampling exactly from the normal distribution", ACM TOMS 42, 2016.)
Propose k = floor(2 E), E exponential, so that P(k) is proportional to exp(-k / 2), and x uniform on [0, 1).
Accept when another exponential E' exceeds t = k (k - 1) / 2 + k x + x^2 / 2. The accepted pair has density
proportional to exp(-k / 2 - t) = exp(-(k + x)^2 / 2): k + x is a half-normal real, and a fair sign makes it
normal. Both decisions are made in float64 where its error cannot matter, otherwise in integer interval
arithmetic with further bits of the uniforms. A decision is a function of the words drawn so far, the same
whatever bits follow; so the bits of an accepted x that no decision drew are still uniform and independent,
and are drawn when they are needed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnomon.privacy.noise.exact import Uniform
from gnomon.privacy.noise.stream import Stream

TOTAL_VARIATION = 0.0

_ERROR = 2.0**-41  # of 2 ln U and, near 0, of ln U + t in float64; the proof needs 2^-43.6
_EDGE = 2.0**46  # U * 2^64 (2^63 for the signed word) below this is not evaluated in float64
_PROPOSALS = 16384


class Normals:
    """n exact normals: `negative`, `integer`, and `words`, the fraction's 64-bit digits, leading first."""

    def __init__(self, n: int) -> None:
        self._stream = Stream()
        self.negative = np.empty(n, dtype=np.bool_)
        self.integer = np.empty(n, dtype=np.int64)
        self.words = [np.empty(n, dtype=np.uint64)]
        self._seen: dict[int, list[int]] = {}  # further words that a decision already drew, by position
        done = 0
        while done < n:
            done = self._propose(done, n)

    def extend(self) -> None:
        """Draw 64 more bits of every fraction."""
        more = self._stream.words(len(self.integer))  # in the main lane, after the proposals
        depth = len(self.words)
        for i, words in self._seen.items():
            if len(words) >= depth:
                more[i] = words[depth - 1]
        self.words.append(more)

    def bits(self, start: int, count: int) -> NDArray[np.uint64]:
        """Fraction bits start .. start + count - 1 (at most 64 of them) as integers."""
        while 64 * len(self.words) < start + count:
            self.extend()
        word, skip = divmod(start, 64)
        digits = self.words[word] << np.uint64(skip)
        if skip + count > 64:
            digits |= self.words[word + 1] >> np.uint64(64 - skip)
        return digits >> np.uint64(64 - count)

    def magnitude(self, i: int, depth: int) -> int:
        """floor(|x_i| 2^(64 depth))."""
        while len(self.words) < depth:
            self.extend()
        value = int(self.integer[i])
        for words in self.words[:depth]:
            value = value << 64 | int(words[i])
        return value

    def _propose(self, done: int, n: int) -> int:
        """One batch of proposals; the accepted ones fill the positions from `done` on."""
        m = min(_PROPOSALS, 2 * (n - done) + 64)
        words = self._stream.words(3 * m)
        for_integer, for_trial, fraction = words[:m].view(np.int64), words[m : 2 * m], words[2 * m :]

        value = np.abs(for_integer.astype(np.float64))
        unsure = value < _EDGE
        np.maximum(value, 1.0, out=value)
        value *= 2.0**-63
        np.log(value, out=value)
        value *= -2.0
        k = np.floor(value)
        value -= k
        value -= 0.5
        unsure |= np.abs(value, out=value) >= 0.5 - _ERROR

        trial = for_trial.astype(np.float64)
        unsure |= trial < _EDGE
        np.maximum(trial, 1.0, out=trial)
        trial *= 2.0**-64
        np.log(trial, out=trial)
        x = fraction.astype(np.float64)
        x *= 2.0**-64
        trial += k * (k - 1.0) * 0.5
        x *= k + 0.5 * x
        trial += x
        accept = trial < 0.0
        unsure |= np.abs(trial, out=trial) < _ERROR

        seen: dict[int, list[int]] = {}
        for i in np.flatnonzero(unsure).tolist():
            word = int(for_integer[i])
            e = Uniform(word if word >= 0 else -1 - word, 63, self._stream)
            exact_x = Uniform(int(fraction[i]), 64, self._stream)
            k[i], accept[i] = _decide(e, Uniform(int(for_trial[i]), 64, self._stream), exact_x)
            seen[i] = [exact_x.n >> below & (1 << 64) - 1 for below in range(exact_x.bits - 128, -1, -64)]

        chosen = np.flatnonzero(accept)[: n - done]
        end = done + len(chosen)
        self.negative[done:end] = for_integer[chosen] < 0
        self.integer[done:end] = k[chosen]
        self.words[0][done:end] = fraction[chosen]
        for i, further in seen.items():
            position = int(np.searchsorted(chosen, i))
            if position < len(chosen) and chosen[position] == i:
                self._seen[done + position] = further
        return end


def _decide(e: Uniform, u: Uniform, x: Uniform) -> tuple[int, bool]:
    """k = floor(-2 ln e), and whether k + x is accepted: -ln u > t; looks at as many bits as that takes."""
    while True:
        p = e.bits + 33
        low, high = e.minus_log(p)
        k = 2 * low >> p
        if 2 * high >> p == k:
            break
        e.extend()
    while True:
        p = x.bits
        low, high = u.minus_log(p)
        # twice t, in units of 2^-2p, at both ends of what is known of x
        t_low = (k * (k - 1) << (2 * p)) + x.n * ((2 * k << p) + x.n)
        t_high = (k * (k - 1) << (2 * p)) + (x.n + 1) * ((2 * k << p) + x.n + 1)
        if low << (p + 1) > t_high:
            return k, True
        if high << (p + 1) < t_low:
            return k, False
        u.extend()
        x.extend()
