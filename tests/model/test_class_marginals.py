"""Marginals of columns within classes: what the tilt keeps, and what noisy counts add to it."""

import numpy as np
import pytest

from gnomon.model.class_marginals import Latent, class_bins, raked, tilted
from gnomon.model.columns import Attribute
from gnomon.model.marginal import Marginal
from gnomon.model.tuning import Tuning

T = Tuning()
NUMBER = Attribute("x", "number", slice(0, 1), None, atoms=np.array([-1.0, 1.0]), origin=-1.0)
GAIN = Marginal(np.array([-1.0, -1.0]), np.array([-1.0, 1.0]), np.array([0.92, 0.08]))


def two_classes(means: tuple[float, float], deviations: tuple[float, float] = (1.0, 1.0)) -> Latent:
    return Latent(np.array([0.75, 0.25]), np.array([0, 1]), np.array(means), np.array(deviations))


def test_the_tilt_recovers_class_shares_of_an_atom_from_their_mean_scores() -> None:
    """4% and 20% of the classes lie beyond zero; their mean scores are all that the moments tell."""
    P = np.array([[0.96, 0.04], [0.80, 0.20]])
    means = P @ GAIN.score
    found = tilted(GAIN, two_classes((means[0], means[1]), (0.3, 0.9)), 2)
    assert found == pytest.approx(P, abs=0.01)
    assert np.array([0.75, 0.25]) @ found == pytest.approx(GAIN.mass, abs=1e-6)
    cut = two_classes((means[0], means[1]), (0.3, 0.9)).masses(GAIN, 2)
    assert abs(cut[1, 0] - 0.80) > 0.03  # what the tilt is for


@pytest.mark.parametrize("gap", [0.0, 0.5, 1.0, 1.5])
def test_the_tilt_of_a_column_without_atoms_hardly_moves_it(gap: float) -> None:
    edges = np.linspace(-1, 1, 41)
    within = np.sqrt(1 - 3 / 16 * gap**2)
    latent = two_classes((-gap / 4, 0.75 * gap), (within, within))
    even = Marginal(edges[:-1], edges[1:], np.full(40, 1 / 40))
    found, cut = tilted(even, latent, 2), latent.masses(even, 2)
    assert np.abs(found - cut).sum(axis=1).max() / 2 < 0.12
    assert np.array([0.75, 0.25]) @ found == pytest.approx(even.mass, abs=1e-3)


def test_a_latent_spread_beyond_the_scores_does_not_part_the_classes_more() -> None:
    means = (-0.1, 0.3)
    plain, noisy = tilted(GAIN, two_classes(means), 2), tilted(GAIN, two_classes(means, (3.0, 3.0)), 2)
    assert np.ptp(noisy[:, 0]) < np.ptp(plain[:, 0])


@pytest.mark.parametrize("means", [(0.0, 50.0), (-50.0, 50.0), (0.0, 0.0)])
def test_means_that_no_class_can_have_leave_finite_shares(means: tuple[float, float]) -> None:
    found = tilted(GAIN, two_classes(means), 2)
    assert np.isfinite(found).all()
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert (found >= 0).all()


def test_counts_rake_a_class_and_keep_its_shape_inside_a_bin() -> None:
    own = Marginal(np.array([-1.0, -0.5, 0.5]), np.array([-0.5, 0.5, 1.0]), np.array([0.5, 0.5, 0.0]))
    bins = class_bins(NUMBER, own, 2, T)
    counts = np.array([0.0, 9000.0, 1000.0, 0.0])
    assert len(bins) == len(counts)
    found = raked(own, bins, counts, 1.0, 10_000.0, T)
    assert found.quantile(np.array([0.9])) == pytest.approx([-0.5], abs=0.02)
    assert found.quantile(np.array([0.9999]))[0] < 0.51  # nothing where the class had nothing


def test_counts_that_noise_explains_change_nothing() -> None:
    own = Marginal(np.linspace(-1, 0.9, 20), np.linspace(-0.9, 1, 20), np.full(20, 0.05))
    bins = class_bins(NUMBER, own, 10, T)
    expected = np.where(bins.atom, 0.0, 10_000 / (~bins.atom).sum())
    far = []
    for seed in range(50):
        counts = expected + 30 * np.random.default_rng(seed).standard_normal(len(bins))
        found = raked(own, bins, counts, 30.0, 10_000.0, T)
        levels = np.linspace(0.05, 0.95, 19)
        far.append(np.abs(found.quantile(levels) - own.quantile(levels)).max())
    assert np.mean(far) < 0.01


def test_counts_show_an_atom_of_a_class_that_the_column_has_elsewhere() -> None:
    bins = class_bins(NUMBER, GAIN, 8, T)
    counts = np.zeros(len(bins))
    counts[bins.left == -1.0] = [5000.0, 0.0] if (bins.left == -1.0).sum() == 2 else 5000.0
    counts[-2] = 5000.0
    found = raked(GAIN, bins, counts, 10.0, 10_000.0, T)
    assert found.mass[found.atom & (found.left == -1)].sum() == pytest.approx(0.5, abs=0.02)


def test_quantiles_of_a_class_are_those_of_its_components() -> None:
    latent = Latent(np.array([0.5, 0.3, 0.2]), np.array([0, 1, 1]), np.array([0.0, -2.0, 2.0]), np.ones(3))
    z = latent.quantiles(1, 10_000)
    assert z.mean() == pytest.approx(-0.4, abs=0.02)
    assert z.std() == pytest.approx(np.sqrt(1 + 4 - 0.16), abs=0.02)
    assert latent.quantiles(0, 3)[1] == pytest.approx(0.0, abs=0.03)


def test_no_class_has_rows_where_the_column_has_none() -> None:
    """Bins that hold nothing have the outermost scores, which a tilt would multiply most."""
    edges = np.array([-1.0, -0.1, 0.0, 0.1, 1.0])
    narrow = Marginal(edges[:-1], edges[1:], np.array([1e-9, 0.5, 0.5, 1e-9]))
    found = tilted(narrow, two_classes((-0.5, 1.5), (0.5, 0.5)), 2)
    assert found[:, [0, 3]].max() < 1e-8


def test_rows_that_counts_lack_are_not_put_where_nothing_was_expected() -> None:
    own = Marginal(np.array([-1.0, -0.1, 0.1]), np.array([-0.1, 0.1, 1.0]), np.array([0.0, 1.0, 0.0]))
    bins = class_bins(NUMBER, own, 4, T)
    counts = np.where(bins.atom, 0.0, 2_400.0)  # 400 rows fewer than there are
    found = raked(own, bins, counts, 10.0, 10_000.0, T)
    assert np.abs(found.quantile(np.array([0.0001, 0.9999]))).max() < 0.11


def test_counts_of_noise_alone_leave_a_law() -> None:
    """A class of a few rows whose counts came out far below zero where it is expected, and nowhere else above noise."""
    own = Marginal(np.array([-1.0, -1.0]), np.array([-1.0, 1.0]), np.array([1.0, 0.0]))
    bins = class_bins(NUMBER, own, 4, T)
    counts = np.where(bins.left == -1.0, -500.0, 0.0)
    found = raked(own, bins, counts, 10.0, 3.0, T)
    assert found.mass.sum() == pytest.approx(1.0)
    assert found.mass[found.atom & (found.left == -1)].sum() == pytest.approx(1.0, abs=1e-3)


def test_a_class_whose_counts_are_noise_alone_stays_as_expected() -> None:
    """The one bin that should hold rows is counted far below zero, and the others are not to hold any."""
    own = Marginal(np.array([-1.0, -0.1, 0.1]), np.array([-0.1, 0.1, 1.0]), np.array([0.0, 1.0, 0.0]))
    bins = class_bins(NUMBER, own, 1, T)
    expected = (bins.left <= 0.0) & (bins.right >= 0.0) & ~bins.atom
    found = raked(own, bins, np.where(expected, -300.0, 9.0), 10.0, 5.0, T)
    assert np.isfinite(found.mass).all()
    assert found.quantile(np.array([0.5]))[0] == pytest.approx(0.0, abs=0.1)
