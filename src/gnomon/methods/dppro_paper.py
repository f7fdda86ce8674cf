"""DPPro's noise as printed: Theorem 2, Lemma 4, or the sigma that its figures name."""

from __future__ import annotations

import math
from typing import Any

from gnomon.errors import ParameterError
from gnomon.methods.parameters import check_choice, check_number
from gnomon.methods.projected import LARGEST
from gnomon.methods.public import Notes, Public
from gnomon.methods.row_release import attributes_of
from gnomon.privacy.accounting import epsilon_of
from gnomon.privacy.printed import paper_dppro, paper_dppro_sigma, paper_dppro_theorem_2
from gnomon.privacy.sensitivity import Sensitivity
from gnomon.statistics.grid import Matrix

THEOREM_2, LEMMA_4 = "theorem-2", "lemma-4"


def check_inputs(method: Any, public: Public) -> None:
    """Refuse what nothing is printed for."""
    check_choice(method, "printed", (THEOREM_2, LEMMA_4))
    check_number(method, "sigma", 1e-6, LARGEST, optional=True)
    if method.calibration != "paper":
        if method.sigma is not None or method.printed != THEOREM_2:
            raise ParameterError(
                "The 'printed' and 'sigma' parameters of DpPro are for calibration='paper'; sound noise follows from "
                "the matrix that is drawn."
            )
        return
    if method.projection != "gaussian" or method.unit != "attribute":
        raise ParameterError(
            "DPPro as printed is for unit='attribute' and a Gaussian projection; set both, or calibration='sound'."
        )
    if method.typical_distance == "estimate" or math.isinf(method.epsilon):
        raise ParameterError(
            "DPPro as printed has no price for an estimated typical distance and no noise for an infinite epsilon; "
            "declare both, or use calibration='sound'."
        )
    if method.printed == LEMMA_4 and method.sigma is None and method.n_components != "auto":
        unmet = unmet_conditions(public.m, int(method.n_components), method.epsilon, public.guarantee.delta)
        if unmet:
            raise ParameterError(f"{unmet[0]} Use printed={THEOREM_2!r}, which holds for every k.")


def printed_mu(
    printed: str, sigma: float | None, R: Matrix, true: Sensitivity, grid: float, public: Public, notes: Notes
) -> float:
    """What the printed sigma really costs, for rows in steps of 1/grid; the certificate says which epsilon that is."""
    m, k = R.shape
    epsilon, delta = public.guarantee.epsilon, public.guarantee.delta
    noise, words = printed_noise(printed, sigma, R, public)
    mu = float(true.value) / (noise * grid)
    notes.delivered = epsilon_of(mu, delta)
    if printed == LEMMA_4 and sigma is None:
        notes.caveats += unmet_conditions(m, k, epsilon, delta)
    notes.caveats.append(
        f"{words} with the projection that was drawn and is published delivers epsilon {notes.delivered:.4g} at delta "
        f"{delta:g}."
    )
    return mu


def printed_noise(printed: str, sigma: float | None, R: Matrix, public: Public) -> tuple[float, str]:
    """The standard deviation of a component as printed, for cells of width 1: a number in [-1, 1] has width 2."""
    attributes, guarantee = attributes_of(public.encoder), public.guarantee
    width = 2.0 if max(attribute.width for attribute in attributes) >= 2 else 1.0
    if sigma is not None:
        return sigma * width, f"The given sigma, {sigma:g},"
    if printed == LEMMA_4:
        return paper_dppro_sigma(guarantee.epsilon, guarantee.delta) * width, "Lemma 4's noise"
    theta = paper_dppro(R, attributes).printed
    return theta * paper_dppro_theorem_2(guarantee.epsilon, guarantee.delta) * width, "Theorem 2's noise"


def unmet_conditions(m: int, k: int, epsilon: float, delta: float) -> list[str]:
    """Which conditions of Lemma 4 a release from m to k columns does not meet."""
    found = []
    least = 2 * (math.log(m) + math.log(2 / delta))
    if not k > least:
        found.append(f"Lemma 4 is for k > {least:.3g}; this release has k = {k}.")
    if not epsilon < math.log(1 / delta):
        found.append(f"Lemma 4 is for epsilon < ln(1/delta) = {math.log(1 / delta):.3g}.")
    return found
