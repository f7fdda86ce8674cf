"""JL + Laplace's printed c: the length, for changes of length 1, that the noise c / epsilon is made for."""

from __future__ import annotations

import math
from typing import Any

from gnomon.errors import ParameterError
from gnomon.methods.parameters import check_positive
from gnomon.methods.projected import LARGEST
from gnomon.privacy import printed
from gnomon.privacy.tails import projected_l1_tail


def check_inputs(method: Any) -> None:
    """Refuse c and t that nothing is printed for."""
    for name in ("c", "t"):
        if getattr(method, name) is not None and method.calibration != "paper":
            raise ParameterError(
                f"The '{name}' parameter of JlLaplace is for calibration='paper'; sound noise follows from the matrix "
                "that is drawn."
            )
        check_positive(method, name, LARGEST, optional=True)
    if method.t is not None and (method.unit != "row" or method.c is not None):
        raise ParameterError(
            "The 't' parameter of JlLaplace makes c = k t for unit='row'; leave out t, or c."
        )


def printed_length(
    k: int, unit: str, delta: float, c: float | None = None, t: float | None = None
) -> tuple[float, str, float]:
    """The c that the paper prints for changes of length 1, what is wrong with its claim, and the true delta."""
    if c is not None:
        return c, f"c = {c:g} was given, for changes of length 1.", projected_l1_tail(k, c)
    if unit == "attribute":
        words = "Theorem 3 prints c = 2 sqrt(k) and claims epsilon-DP with probability 1 - m exp(-k/2)"
        return (
            2 * math.sqrt(k),
            words + ", which is not epsilon-DP, but (epsilon, delta)-DP for each pair of tables.",
            printed.paper_jl_cell_delta(k),
        )
    given = t is not None
    if t is None:
        t = math.sqrt(2 * math.log(2 * k / (delta or 1.0)) / k)
    words = "Theorem 5 prints c = k t with delta = 2 k exp(-k t^2 / 2)"
    at = (
        f"; t = {t:g} was given"
        if given
        else ""
        if delta > 0
        else "; with delta = 0, t is at its threshold, where that bound is 1"
    )
    return k * t, words + at + ".", printed.paper_jl_row_delta(k, t)
