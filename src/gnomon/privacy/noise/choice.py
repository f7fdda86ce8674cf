"""The exponential mechanism's choice among candidates, exact: P(k) is proportional to exp(-rate gap_k)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy.noise.exact import Uniform, exp_minus
from gnomon.privacy.noise.stream import Stream

TOTAL_VARIATION = 0.0

_PROPOSALS = 8192
_ERROR = 2.0**-40  # of exp(-x) in float64, for x below 50; libm needs 2^-50


def exponential_choice(gaps: NDArray[np.int64], rate: Fraction) -> int:
    """A place k of `gaps` (>= 0, the best candidate has 0) with probability proportional to exp(-rate gap_k).

    *Claim.* Exactly that law (`TOTAL_VARIATION` = 0), given the assumption of `stream.py`. *Proof.* A place is
    proposed uniformly and kept with probability exp(-rate gap): the first one that is kept has the law. "Uniformly"
    is the leading bits of a word, drawn again when they name no place. "With probability exp(-x)" compares a
    lazy uniform real with exp(-x): in float64 where its error cannot matter, else by integer bounds on both, with
    further bits until they part. How many proposals it takes depends on the gaps, so the running time does too.
    """
    if len(gaps) == 0 or gaps.min() != 0 or rate < 0:
        raise ParameterError("The gaps of a choice must be at least 0, with the best candidate at 0.")
    bits = max(1, (len(gaps) - 1).bit_length())
    kept = np.exp(-np.minimum(gaps * float(rate), 700.0))
    stream = Stream()
    while True:
        words = stream.words(2 * _PROPOSALS)
        places = (words[:_PROPOSALS] >> np.uint64(64 - bits)).astype(np.int64)
        trials = words[_PROPOSALS:]
        valid = places < len(gaps)
        chance = kept[np.where(valid, places, 0)]
        value = trials.astype(np.float64) * 2.0**-64
        for i in np.flatnonzero(valid & (value < chance + _ERROR)):
            place = int(places[i])
            sure = value[i] < chance[i] - _ERROR
            if sure or _below(Uniform(int(trials[i]), 64, stream), rate * int(gaps[place])):
                return place


def _below(u: Uniform, x: Fraction) -> bool:
    """Whether the uniform real u is below exp(-x); looks at as many of its bits as that takes."""
    if x == 0:
        return True
    while True:
        bound = exp_minus(x, u.bits)
        if u.n + 1 < bound:
            return True
        if u.n > bound + 1:
            return False
        u.extend()
