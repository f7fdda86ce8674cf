"""What the papers print, beside what holds: for `calibration="paper"` and the certificates that come with it.

Each `paper_*` function gives a printed sensitivity and the true one of the same release under replace-one,
label included, in the same units (sums over rows of unit scale; both are divided by the same n in the
papers). Laplace noise at the printed scale delivers epsilon * true / printed. A true value is a proved
upper bound unless `proved` is False.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gnomon.privacy.accounting import epsilon_of
from gnomon.privacy.guarantee import Adjacency
from gnomon.privacy.norms import Matrix
from gnomon.privacy.rounding import float_up
from gnomon.privacy.sensitivity import (
    Attribute,
    Norm,
    attribute_change,
    box_moments,
    cell_change,
    diagonal_moments,
    labelled_moments,
    moments,
    row_sum,
)
from gnomon.privacy.tails import projected_l1_tail

_REPLACE = Adjacency.REPLACE_ONE


@dataclass(frozen=True)
class Printed:
    """One claim of a paper: the sensitivity it prints, and the one that is true."""

    claim: str
    printed: float
    true: float
    proved: bool = True

    @property
    def factor(self) -> float:
        """How many times the declared epsilon a Laplace release at the printed scale may cost."""
        return self.true / self.printed

    @property
    def holds(self) -> bool:
        return self.factor <= 1 + 1e-12

    def real_epsilon(self, epsilon: float) -> float:
        """The epsilon that Laplace noise at the printed scale delivers."""
        return epsilon * self.factor

    def real_gaussian_epsilon(self, sigma: float, delta: float) -> float:
        """The epsilon at delta that Gaussian noise of this standard deviation delivers."""
        return math.inf if math.isinf(self.true) else epsilon_of(self.true / sigma, delta)


# --- RON-Gauss: rows of unit length in m columns, p after the projection ---


def paper_ron_gauss_mean(columns: int) -> Printed:
    """Lemma 2: 2 sqrt(m). Right, and tight."""
    true = row_sum(Norm.L1, columns=columns, radius=1, adjacency=_REPLACE)
    return Printed("RON-Gauss, Lemma 2 (mean)", 2 * math.sqrt(columns), float_up(true.value))


def paper_ron_gauss_covariance(components: int, *, mirrored: bool = False) -> Printed:
    """Lemma 4: 2 sqrt(p), from an inequality of induced norms that entrywise norms do not obey. True:
    sqrt(2) p.

    The real epsilon is sqrt(p/2) times the declared one; with mirrored noise (upper triangle only) it is
    less.
    """
    true = moments(Norm.L1, width=components, ball=1, whole=not mirrored, adjacency=_REPLACE)
    return Printed("RON-Gauss, Lemma 4 (covariance)", 2 * math.sqrt(components), float_up(true.value))


def paper_ron_gauss_supervised(components: int, label: float, *, mirrored: bool = False) -> Printed:
    """Lemma 5: 2 sqrt(p) + 4 a sqrt(p) + a^2 for labels in [-a, a]; its first term is Lemma 4's and falls
    with it.
    """
    true = labelled_moments(
        Norm.L1, width=components, ball=1, label=label, whole=not mirrored, adjacency=_REPLACE
    )
    printed = (2 + 4 * label) * math.sqrt(components) + label * label
    return Printed("RON-Gauss, Lemma 5 (covariance with the label)", printed, float_up(true.value))


def paper_ron_gauss_classes() -> Printed:
    """Theorem 5: parallel composition over classes, with noise 2 sqrt(p)/(n_c eps).

    A record whose label changes alters n_c, which is printed exactly and sets the scale of the noise:
    Laplace densities of different scales have an unbounded ratio, so no epsilon holds. Within a class the
    theorem is right.
    """
    return Printed("RON-Gauss, Theorem 5 (a class for each label)", 1.0, math.inf)


def ron_gauss_delivered(
    components: int, *, epsilon_mean: float, epsilon: float, label: float | None = None, classes: int = 1
) -> float:
    """The epsilon that RON-Gauss with the printed noise really costs: mean plus covariance, infinite for
    classes.
    """
    if classes > 1:
        return paper_ron_gauss_classes().true
    covariance = (
        paper_ron_gauss_covariance(components)
        if label is None
        else paper_ron_gauss_supervised(components, label)
    )
    return epsilon_mean + covariance.real_epsilon(epsilon)


def ron_gauss_caveats(
    components: int, *, epsilon_mean: float, epsilon: float, label: float | None = None, classes: int = 1
) -> list[str]:
    """What a certificate must say about RON-Gauss with the printed noise; empty where all of it holds."""
    covariance = (
        paper_ron_gauss_covariance(components)
        if label is None
        else paper_ron_gauss_supervised(components, label)
    )
    found = []
    if not covariance.holds:
        real = covariance.real_epsilon(epsilon)
        found.append(
            f"{covariance.claim} prints the sensitivity {covariance.printed:.4g} (over n) where "
            f"{covariance.true:.4g} is needed at {components} components: the covariance costs up to epsilon "
            f"{real:.4g} instead of {epsilon:.4g}, and the whole release {epsilon_mean + real:.4g} instead of "
            f"{epsilon_mean + epsilon:.4g}."
        )
    if classes > 1:
        found.append(
            "The sizes of the classes are published exactly and set the scale of the noise: a change of a "
            "record's label is not protected by any epsilon; only changes within a class are."
        )
    return found


# --- PCA-Gauss: rows scaled to length a = 1, centred by their true mean ---


def _centred_by_the_true_mean(n: int) -> float:
    """Centring by the true mean turns S into S' + (n-1)/n (x - m)(x - m)', so a change is (n-1)/n ||aa' -
    bb'||.
    """
    return (n - 1) / n


def paper_pca_gauss_eigenvalues(components: int, rows: int, *, centred: bool = True) -> Printed:
    """Theorem 4: P a^2. For rows that are centred by public knowledge min(P, 2) a^2 suffices.

    Centred by their true mean, rows in a box move the eigenvalues by 4 (P = 1) or 8/sqrt(3) = 4.62 (P > 1)
    times a^2.
    """
    public = diagonal_moments(Norm.L1, width=components, ball=1, adjacency=_REPLACE)
    true = (4.0 if components == 1 else 8 / math.sqrt(3)) * _centred_by_the_true_mean(rows)
    return Printed(
        "PCA-Gauss, Theorem 4 (eigenvalues)", float(components), true if centred else float_up(public.value)
    )


def paper_pca_gauss_supervised(components: int) -> Printed:
    """Theorem 5: (P^2 + 4P + 1) a^2 for rows of length a and labels in [-a, a]: sound, and several times
    too much.
    """
    true = labelled_moments(Norm.L1, width=components, ball=1, label=1, whole=True, adjacency=_REPLACE)
    printed = float(components**2 + 4 * components + 1)
    return Printed("PCA-Gauss, Theorem 5 (covariance with the label)", printed, float_up(true.value))


def paper_pca_gauss_class_mean(components: int) -> Printed:
    """Theorem 6, mean: 2 P a; true 2 sqrt(P) a."""
    true = row_sum(Norm.L1, columns=components, radius=1, adjacency=_REPLACE)
    return Printed("PCA-Gauss, Theorem 6 (class mean)", 2.0 * components, float_up(true.value))


def paper_pca_gauss_class_covariance(components: int, rows: int) -> Printed:
    """Theorem 6, covariance: P^2 a^2, but it is centred by the true class mean, which costs 4 P a^2 (n-1)/n.

    Short for P = 1, 2, 3. The constant 4 is found by search; 3 sqrt(3) is what the nuclear norm proves.
    """
    true = 4.0 * components * _centred_by_the_true_mean(rows)
    claim = "PCA-Gauss, Theorem 6 (class covariance)"
    return Printed(claim, float(components**2), true, proved=components == 1)


def paper_lap_pca(columns: int, *, mirrored: bool = False) -> Printed:
    """Lap-PCA: M a^2 for entries in [-a, a]; an entry in each of M^2 (mirrored: M(M+1)/2) places needs as
    many.
    """
    true = box_moments(Norm.L1, width=columns, bound=1, whole=not mirrored, adjacency=_REPLACE)
    return Printed("PCA-Gauss, Lap-PCA", float(columns), float_up(true.value))


# --- JL + Laplace: a Gaussian matrix N(0, 1/k) that is drawn after the data were fixed ---


def paper_jl_cell_delta(components: int) -> float:
    """Theorem 3, c = 2 sqrt(k): not epsilon-DP "with high probability" but (epsilon, delta)-DP, with this
    delta.
    """
    return projected_l1_tail(components, 2 * math.sqrt(components))


def paper_jl_row_delta(components: int, t: float) -> float:
    """Theorem 5, c = k t for neighbouring rows at distance 1: (epsilon, delta)-DP with this delta."""
    return projected_l1_tail(components, components * t)


# --- DPRP: rows of length at most 1, replaced ---


def paper_dprp_rows(z: float = 1.0) -> Printed:
    """Z bounds the distance of neighbouring rows; rows of unit length are up to 2 apart."""
    return Printed("DPRP, Theorem A (projected rows)", z, 2.0)


def paper_dprp_covariance(z: float = 1.0) -> Printed:
    """Theorem B: Z^2; the Frobenius norm of xx' - yy' reaches sqrt(2) whatever the distance of x and y was
    meant to be.
    """
    true = moments(Norm.FROBENIUS, width=2, ball=1, adjacency=_REPLACE)
    return Printed("DPRP, Theorem B (covariance)", z * z, float_up(true.value))


# --- DPPro: one attribute of one person, through a public matrix R ---


def paper_dppro(projection: Matrix, attributes: list[Attribute]) -> Printed:
    """Theorem 2: theta_2(R) = max ||R_i||, for one cell that moves by 1; a category moves two, a number in
    [-1, 1] by 2.
    """
    printed = cell_change(Norm.L2, projection, width=1, adjacency=_REPLACE)
    true = attribute_change(Norm.L2, projection, attributes, adjacency=_REPLACE)
    return Printed("DPPro, Theorem 2 (one attribute)", float_up(printed.value), float_up(true.value))


def paper_dppro_theorem_2(epsilon: float, delta: float) -> float:
    """Theorem 2: sigma / theta_2(R) = sqrt(2 (ln(1/(2 delta)) + epsilon)) / epsilon, for delta < 1/2. Right, and a little
    more than needed.
    """
    return math.sqrt(2 * (math.log(1 / (2 * delta)) + epsilon)) / epsilon


def paper_dppro_sigma(epsilon: float, delta: float) -> float:
    """Lemma 4: sigma = 4 sqrt(ln(1/delta)) / epsilon for any R, for k > 2 (ln d + ln(2/delta)), epsilon <
    ln(1/delta).
    """
    return 4 * math.sqrt(math.log(1 / delta)) / epsilon
