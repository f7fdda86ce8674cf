"""OpenDP's AIM and MST (opendp.extras.mbi, on private-pgm's estimator): `opendp_mbi.py AIM|MST ...`.

All categories are declared, so the release is rho-zCDP without thresholds; rho is the largest that is (epsilon, delta)-DP
by the conversion of Canonne, Kamath and Steinke. AIM looks at pairs of columns, as the other packages do by default.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import polars as pl
from protocol import Asked, serve, within

dp.enable_features("contrib")


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho whose least delta over the orders alpha stays below the one given."""

    def least(rho: float) -> float:
        orders = 1 + np.exp(np.linspace(math.log(1e-3), math.log(1e5), 20_000))
        logs = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        return float(np.exp(logs.min()))

    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if least(middle) <= delta else (low, middle)
    return low


def splittable(rho: float, columns: int) -> float:
    """Just below rho, a budget whose share for each edge of MST adds up again: OpenDP 0.16 rounds the sum up,
    and may then refuse it as more than the whole.
    """

    def fits(whole: float) -> bool:
        multiway = np.nextafter(np.nextafter(whole - whole * 0.5, 0), 0)
        select = np.nextafter(np.nextafter(multiway - multiway * 0.9, 0), 0)
        part, total = np.nextafter(select / (columns - 1), 0), 0.0
        for _ in range(columns - 1):
            exact = Fraction(float(part)) + Fraction(total)
            total = float(part) + total
            total = float(np.nextafter(total, np.inf)) if Fraction(total) < exact else total
        return bool(total <= select)

    return next((lower for k in range(1000) if fits(lower := rho * (1 - 1e-6 * k))), rho)


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    frame = pl.from_arrow(asked.table())
    keys = {column["name"]: list(range(column["size"])) for column in asked.domain}
    rho = splittable(rho_of(asked.epsilon, asked.delta), len(keys))
    context = dp.Context.compositor(
        data=frame.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho)
    )
    algorithm = dp.mbi.MST() if asked.algorithm == "MST" else dp.mbi.AIM(queries=2)
    found = context.query(rho=rho).contingency_table(keys=keys, algorithm=algorithm).release()
    made = found.synthesize(rows=asked.rows)
    rng = np.random.default_rng()
    return {
        name: within(made[name].cast(pl.Float64).fill_null(float("nan")).to_numpy(), len(values), rng)
        for name, values in keys.items()
    }


if __name__ == "__main__":
    serve(synthesise)
