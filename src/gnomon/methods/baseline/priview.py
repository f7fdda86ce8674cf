"""PriView: noisy tables of public sets of attributes that cover all pairs, and any other table from them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from gnomon.errors import ParameterError
from gnomon.methods.baseline.joint import Sets, coded
from gnomon.methods.baseline.tables import NoisyTables, consistent, fitted
from gnomon.methods.parameters import check_integer
from gnomon.methods.public import Notes, Public
from gnomon.privacy.measure import Measurer

RIPPLES = 200  # rounds in which negative counts are spread; what is left of them becomes zero
LOW = 0.5  # rows below zero that a count may have
MOST_CELLS = 2**20  # of a table that is asked for


@dataclass(eq=False, repr=False)
class PriView(NoisyTables):
    """Noisy tables of a few sets of attributes, the views, from which any other table is answered.

    Reference: Qardaji, Yang, Li, "PriView: Practical Differentially Private Release of Marginal Contingency Tables", SIGMOD
    2014: views that cover all pairs (or triples) of attributes, chosen without the data; all of the budget on their
    tables; Consistency, Ripple, Consistency; other tables by maximum entropy.

    Guarantee: epsilon-DP, or (epsilon, delta)-DP by Gaussian noise, for replacing one record, its label included, or for
    adding or removing one with n private.

    Differs from the paper: views are found greedily, and attributes need not be binary: a view has at most `cells` cells.
    A count's neighbours in Ripple are those that differ in one attribute. The paper answers tables and has no rows:
    `marginal` is its answer, and rows are drawn view after view, each given what stands already. With every printed
    noise for one record more or less, twice that is needed for one record in place of another.

    Parameters
    ----------
    epsilon, delta : the budget.
    schema : Schema or path, or for arrays `bounds=(low, high)` with `classes` or `target_bounds`.
    target, task : which column to predict and how; it is an attribute like the others.
    n_components : "auto" or the number of encoded columns: this method has no other dimension.
    cover : every so many attributes are together in a view, 1 to 3: the paper's t.
    cells : the most cells of a view: 256 are the paper's eight binary attributes.
    bins : intervals of a number.
    random_state : seeds the sampling, never the noise.

    Examples
    --------
    >>> import gnomon as gn, numpy as np
    >>> X = np.random.default_rng(0).uniform(0, 1, (200, 3))
    >>> gn.baseline.PriView(4.0, bounds=(0, 1)).fit(X).sample(5).shape
    (5, 3)
    """

    name: ClassVar[str] = "priview"

    cover: int = 2
    cells: int = 256
    bins: int = 16

    def _check(self, public: Public) -> None:
        super()._check(public)
        check_integer(self, "cover", 3)
        check_integer(self, "cells", MOST_CELLS, 2)

    def _release(self, data: Measurer, public: Public, notes: Notes) -> None:
        attributes = tuple(coded(public, self.bins))
        sets = views([one.size for one in attributes], self.cover, self.cells)
        tables = consistent(sets, self._measured(data, public, attributes, sets, public.budget))
        self.tables_ = consistent(sets, [ripple(table) for table in tables])
        notes.rows = max(1, round(float(self.tables_[0].sum()))) if public.n is None else public.n
        notes.public.append(f"{len(sets)} views, chosen by the sizes of the attributes alone")
        notes.post_processing.append(
            "views are made to agree on what they share, and negative counts are taken from their neighbours"
        )

    def marginal(self, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """The counts of all combinations of codes of these columns, by maximum entropy from the views.

        Codes are declared values, bins of a number in ascending order, and last a missing cell where there is an indicator.

        Parameters
        ----------
        names : columns of the table.
        """
        known = [column.name for column in self.schema_.features]
        if self.schema_.target is not None:
            known.append(self.schema_.target.name)
        for name in names:
            if name not in known:
                raise ParameterError(f"PriView has no column {name!r}; it has {', '.join(known)}.")
        asked = tuple(known.index(name) for name in names)
        shape = [self.attributes_[i].size for i in asked]
        if not asked or len(set(asked)) < len(asked) or math.prod(shape) > MOST_CELLS:
            raise ParameterError(
                f"A table is of one or more different columns with at most {MOST_CELLS} cells in all. "
                f"Got {', '.join(names) or 'none'} instead."
            )
        return fitted(shape, asked, self.sets_, self.tables_) * float(self.n_rows_ or 0)


def views(sizes: Sequence[int], cover: int, cells: int) -> Sets:
    """Sets of attributes with at most `cells` cells that hold every `cover` of them; such a few alone may have more."""
    d = len(sizes)
    cover = min(cover, d)
    left = set(itertools.combinations(range(d), cover))
    found = []
    while left:
        view = min(left)
        while True:
            room = cells // math.prod(sizes[i] for i in view)
            gains = [
                (-_new(view, i, left, cover), sizes[i], i)
                for i in range(d)
                if i not in view and sizes[i] <= room
            ]
            if not gains or min(gains)[0] == 0:
                break
            view = tuple(sorted((*view, min(gains)[2])))
        left -= set(itertools.combinations(view, cover))
        found.append(view)
    return tuple(found)


def _new(view: Sequence[int], i: int, left: set[tuple[int, ...]], cover: int) -> int:
    """How many combinations are covered once attribute i joins a view, and were not before."""
    return sum(tuple(sorted((*some, i))) in left for some in itertools.combinations(view, cover - 1))


def ripple(table: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Negative counts become zero, and their neighbours, which differ in one attribute, give what that takes."""
    neighbours = sum(size - 1 for size in table.shape)
    for _ in range(RIPPLES if neighbours else 0):
        short = np.where(table < -LOW, -table, 0.0)
        if not short.any():
            break
        given = sum((short.sum(axis=axis, keepdims=True) - short for axis in range(table.ndim)), 0.0)
        table = table + short - given / neighbours
    return table
