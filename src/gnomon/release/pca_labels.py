"""Whether released rows keep the labels of the classes that drew them: a small part of the budget asks the real rows.

A Gaussian for each class can be far from the rows: counts with many zeros, heavy tails. Cut at the declared bounds, its
rows then tell their class by what was cut, and a learner takes that for knowledge. One covariance for all classes is a
coarser model and cannot mislead like this, but knows nothing of classes that differ in spread. Which of the two is right
cannot be seen in the model, so real rows are asked: how many do two learners label rightly that were trained on rows with
the labels of their classes, and how many do two learners of pooled labels? One of the two draws lines, the other curves.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gnomon.model.labels import Rule
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.noise.stream import Stream
from gnomon.release.base import Account, Table
from gnomon.release.pca_look import counted, counting_noise
from gnomon.table.encode import Rows

SHARE = 0.03  # of stage two's budget
MARGIN = 0.03  # of the rows: by so many more right labels the pooled rule must win
SURE = 2.0  # standard deviations of the answer must lie within the margin
ENOUGH = 20_000  # rows that a long table is asked by, unless the noise needs more
DRAWS = 5_000  # released rows that a learner is trained on
WIDEST = DRAWS // 20  # columns: a learner of more of them would need more rows
MOST = 2_000  # columns times classes: beyond, four learners would take longer than the release


def question(second: Spendable, n: int, m: int, classes: int) -> tuple[Spendable | None, Spendable]:
    """The part of stage two's budget that pays for the question, where the table can answer it; and the rest."""
    asked, rest = second.split(SHARE, 1 - SHARE)
    can = _needed(asked) <= n and m <= WIDEST and m * classes <= MOST
    return (asked, rest) if can else (None, second)


def _needed(loss: Spendable) -> float:
    """How many rows give a clear answer; its noise has twice that of a bin, since sixteen count by 0, 1/2 or 1."""
    return SURE * 2 * counting_noise(loss) / MARGIN


def pooled_is_better(
    table: Table, account: Account, loss: Spendable, own: tuple[Rule, Rule], pooled: tuple[Rule, Rule]
) -> bool:
    """Whether two rules of pooled labels are right about clearly more rows, on average, than two of the classes' own.

    A row is in one of sixteen bins, by which of four rules are right about it; so it costs what a histogram costs. Of a
    long table each row is asked with the same probability, by a coin of its own: the answer does not know the rows'
    order, and for any outcome of the coins, a record's coin going with the record, one record is one change of a bin.
    """
    step = max(1, int(table.n / max(ENOUGH, _needed(loss))))

    def places(rows: Rows) -> npt.NDArray[np.int64]:
        asked = Stream().words(len(rows.X)) % step == 0
        X, codes = rows.X[asked], rows.codes[asked]
        found: npt.NDArray[np.int64] = np.zeros(len(X), dtype=np.int64)
        for rule in (*own, *pooled):
            found = 2 * found + (rule(X) == codes)
        return found

    bins = counted(table, account, loss, places, 16, "rows by which of four learners label them rightly")[0]
    right = np.indices((2, 2, 2, 2)).reshape(4, 16)  # of each rule, in each bin
    ahead = (right[2] + right[3] - right[0] - right[1]) / 2
    return float(ahead @ bins) > MARGIN * table.n / step
