"""The identity query: every projected record itself, with Laplace noise (Li et al., with a Bernoulli projection)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from gnomon.methods.baseline.base import IdentityQuery


@dataclass(eq=False, repr=False)
class BernoulliIdentity(IdentityQuery):
    """One noisy projection onto random signs for each record.

    Reference: Li et al., as RON-Gauss and PCA-Gauss compare with it: identity query behind a random projection with
    Bernoulli entries, here +-1/sqrt(k).

    Guarantee: epsilon-DP for replacing one record, its label included; n is public, the order of rows is not.

    Differs from the papers: they print no noise for it. Ours is calibrated to the L1 sensitivity of the matrix that was
    drawn; the label stands beside the row and is covered by the same noise.

    Parameters
    ----------
    epsilon, delta : the budget; the noise is Laplace, so all of epsilon is spent purely and delta buys nothing.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column stands beside the row; by default as the schema declares.
    n_components : the dimension k, or "auto": where distances of evenly spread rows vary least (public numbers).
    radius : rows are clipped to this length; by default to none.
    label_weight : how far a change of label moves a row, relative to a change of all features.
    random_state : seeds the projection, never the noise.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> gn.baseline.BernoulliIdentity(8.0, bounds=(0, 1), n_components=2).fit(X).sample().shape[0]
    200
    """

    name: ClassVar[str] = "bernoulli-identity"

    projection: str = field(default="sign", init=False)

    def _pure(self) -> bool:
        return True
