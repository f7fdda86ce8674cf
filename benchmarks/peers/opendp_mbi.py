"""OpenDP's MST (opendp.extras.mbi, on private-pgm's estimator): `opendp_mbi.py MST ...`.

All categories are declared, so the release is rho-zCDP without thresholds. Rows are drawn with method="sample": "round" of
mbi 1.1 ranks rows within a parent by row order, so columns that share a parent rise together. mbi 1.1 conditions a column
on the measured cliques; for a tree these are the cliques of the junction tree, so MST is drawn right, and AIM is not
(`aim.py` draws by the junction tree).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import opendp.extras.mbi._mst as mst
import opendp.prelude as dp
import polars as pl
from protocol import FACTS, Asked, rho_of, serve, within

dp.enable_features("contrib")
# OpenDP 0.16 rounds the sum of the edges' shares up, and may refuse it as more than the whole: shares a trifle lower fit.
mst.prior = lambda share: share * (1 - 1e-12)
METHOD = "sample"
TRIES = 5  # draws of twice as many rows as are wanted


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    frame = pl.from_arrow(asked.table())
    keys = {column["name"]: list(range(column["size"])) for column in asked.domain}
    rho = rho_of(asked.epsilon, asked.delta)
    context = dp.Context.compositor(
        data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho)
    )
    found = context.query(rho=rho).contingency_table(keys=keys, algorithm=dp.mbi.MST()).release()
    made, rng = drawn(found, asked.rows), np.random.default_rng()
    FACTS["rows_with_none"] = made[1]
    codes = {
        name: within(made[0][name].cast(pl.Float64).fill_null(float("nan")).to_numpy(), len(values), rng)
        for name, values in keys.items()
    }
    if asked.check is not None:
        asked.check(
            lambda pair: _declared(found.project(list(pair)), [len(keys[name]) for name in pair]), codes
        )
    return codes


def drawn(found: Any, rows: int) -> tuple[pl.DataFrame, float]:
    """Rows of the model given that no cell is none of the declared values, and the share of rows that this leaves out.

    OpenDP keeps one value more in every column. No row has it, but noise gives it mass, much of it in a small table.
    Independent draws of which some are left out are draws of the conditional law.
    """
    whole, seen = pl.DataFrame(), 0
    for _ in range(TRIES):
        more = found.synthesize(rows=2 * rows, method=METHOD)
        seen += len(more)
        whole = pl.concat([whole, more.drop_nulls()]) if len(whole) else more.drop_nulls()
        if len(whole) >= rows:
            break
    share = 1 - len(whole) / seen
    whole = whole.sample(fraction=1.0, shuffle=True)
    if len(whole) < rows:  # nearly all mass is noise: their empty cells are drawn from their columns
        whole = pl.concat([whole, more.sample(rows - len(whole))])
    return whole.head(rows), share


def _declared(counts: Any, sizes: list[int]) -> np.ndarray:
    """Counts of the declared values; OpenDP keeps one more for what is none of them."""
    return np.asarray(counts)[: sizes[0], : sizes[1]]


if __name__ == "__main__":
    serve(synthesise)
