"""Every number of the synthesizer that was chosen rather than derived.

Evidence: each field at two other values over 22 tables of `benchmarks/utility.py`, quick tier, epsilon 1
(docs/results/ablation.md). "level" means that no difference of the mean score over tables leaves its interval, which is
0.01 on the eleven tables of more than 1,000 rows. Such a number keeps the value that it began with. `RESOLUTION` holds how
finely laws are computed: finer is slower, and changes no law.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tuning:
    """Shares are of mu squared and, to the power 2/3 and normalised, of a pure epsilon; they add up to one."""

    counts: float = 0.12  # half of it on the public grid; half as much: two-way variation +0.05
    lengths: float = 0.01  # level; ten times that on small tables, whose balls were noise
    joint: float = 0.40  # level
    class_lengths: float = 0.02  # level
    classes: float = 0.37  # the rest; level
    third: float = 0.08  # counts by class, or of all rows; level
    bins: int = 32  # of a column; level
    fewest_bins: int = 10  # to count columns at all; twice as many: two-way variation +0.06, faces -0.14
    octaves: int = 9  # of bins around zero and beyond the outermost quantiles; level
    clear: float = 3.0  # deviations beyond which a mean over columns or a cell counts; level
    planned: float = 4.0  # deviations that a bin is planned to hold; twice: variation +0.06, faces -0.14
    score_bound: float = 2.75  # a normal row beyond it is one of 170; level
    label: float = 0.7  # weight of the label beside a unit row; level
    joint_coverage: float = 0.3  # of rows inside the first ball; level
    class_coverage: float = 0.9  # of rows inside a class's ball; level
    least: float = 0.02  # no variance, chance or share below this part of the unmeasured; level
    fewest_dimensions: int = 4  # for moments by class; level
    part_noise: float = 0.1  # of a cell's mean, in radii of the ball; level
    parts: int = 8  # most cells of a class and bins of a target; level


@dataclass(frozen=True)
class Resolution:
    """How finely laws are computed."""

    tiny: float = 1e-9  # a mass, variance or share that stands for none
    steps: int = 32  # of raking and tilting
    points: int = (
        2**7
    )  # of a law: knots of a decoding table, latent quantiles, values with a bin each, steps of EM
    rows: int = 2**13  # of the model that ranks, clusters and chances are found in
    least_rows: int = 2**10  # that are drawn at once, so that ranks say something
    octaves: int = (
        3  # of lengths below the expected one, and beyond the outermost quantile within a column's spread
    )


RESOLUTION = Resolution()
