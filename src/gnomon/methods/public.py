"""What everyone may know about a release, and what its certificate is to say."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gnomon.privacy.accounting import spendable
from gnomon.privacy.guarantee import Guarantee, PureDP, Spendable
from gnomon.privacy.mechanism import best_spend
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.target import Target


@dataclass(frozen=True)
class Public:
    """Public knowledge about a table and its release: all that a method may see beside measurements.

    Parameters
    ----------
    schema : the declared columns.
    encoder : how cells become integers.
    rows : the number of rows where it is public, else the order of magnitude that the custodian declares.
    n : the number of rows, or None where it is private and must be measured.
    guarantee : what the release declares.
    seed : of projections and of sampling, never of noise.
    left : what remains of the budget, once something was spent before the method began.
    """

    schema: Schema
    encoder: Encoder
    rows: int
    n: int | None
    guarantee: Guarantee
    seed: int
    left: Spendable | None = None

    @property
    def m(self) -> int:
        """The number of encoded columns."""
        return self.encoder.width

    def n_or(self, counted: float) -> float:
        """The number of rows, or a noisy count of them where it is private: at least one.

        Parameters
        ----------
        counted : the noisy count.
        """
        return max(float(counted), 1.0) if self.n is None else float(self.n)

    @property
    def target(self) -> Target:
        """What stands beside a row: nothing, classes or a number."""
        return self.encoder.target

    @property
    def budget(self) -> Spendable:
        """All that is left to spend."""
        return spendable(self.guarantee) if self.left is None else self.left

    def best_budget(self, q: int, share: float = 1.0) -> Spendable:
        """All that is left, in the kind of loss whose share serves a moment matrix of dimension q best.

        Parameters
        ----------
        q : the number of rows and columns of the matrix.
        share : the share of the budget that goes to it.
        """
        return best_spend(self.guarantee, q, share=share) if self.left is None else self.left

    @property
    def pure_budget(self) -> PureDP:
        """All that is left as pure epsilon, for noise that has no use for delta."""
        if isinstance(self.left, PureDP):
            return self.left
        return PureDP(self.guarantee.epsilon, *self.guarantee.neighbours)

    def rng(self) -> np.random.Generator:
        """For projections: the same at every call."""
        return np.random.default_rng(self.seed)


@dataclass
class Notes:
    """What a method wants its certificate to say beside its events.

    Parameters
    ----------
    public : what else the guarantee treats as known.
    post_processing : what was done with noisy answers.
    caveats : what a reader must know.
    unpaid : what was taken from the rows without noise.
    rows : how many rows the release has, where their number is private.
    counted : whether that is a noisy count.
    delivered : the epsilon that a printed noise delivers.
    """

    public: list[str] = field(default_factory=list)
    post_processing: list[str] = field(default_factory=list)
    caveats: list[str] = field(default_factory=list)
    unpaid: list[str] = field(
        default_factory=list
    )  # what was taken from the rows without noise: nothing holds then
    rows: int | None = None  # the measured number of rows, where the true one is private
    counted: bool = True  # whether `rows` was measured, or is the declared order of magnitude
    delivered: float | None = (
        None  # the real epsilon, where a printed calibration does not keep the declared one
    )
