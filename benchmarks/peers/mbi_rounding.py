"""mbi 1.1's two ways to draw rows, on a tree of three columns: b and c depend on a, and on each other through a alone.

    GNOMON_PEERS/opendp/bin/python benchmarks/peers/mbi_rounding.py

`round` ranks the rows of a parent by row order for every child, so the children rise together.
"""

from __future__ import annotations

import numpy as np
from mbi import CliqueVector, Domain, Factor, MarkovRandomField, marginal_oracles

ROWS = 30_000


def main() -> None:
    rng = np.random.default_rng(0)
    domain = Domain(["a", "b", "c"], [3, 8, 8])
    tables = {
        ("a", child): Factor(domain.project(("a", child)), rng.normal(0, 0.5, (3, 8))) for child in "bc"
    }
    potentials = CliqueVector(domain, list(tables), tables)
    marginals = marginal_oracles.message_passing_stable(potentials, 1.0)
    model = MarkovRandomField(potentials=potentials, marginals=marginals, total=1.0)
    law = np.array(model.project(("b", "c")).datavector(flatten=False), dtype=np.float64)
    law /= law.sum()
    print(f"the model: correlation of b and c {_correlation(law):.3f}")
    for how in ("round", "sample"):
        rows = model.synthetic_data(ROWS, how).df
        counts = np.zeros((8, 8))
        np.add.at(counts, (rows["b"].to_numpy().astype(int), rows["c"].to_numpy().astype(int)), 1)
        print(
            f"{how}: {_correlation(counts):.3f}, total variation {np.abs(counts / ROWS - law).sum() / 2:.3f}"
        )
    draw = rng.multinomial(ROWS, law.ravel()).reshape(8, 8) / ROWS
    print(f"drawing alone: total variation {np.abs(draw - law).sum() / 2:.3f}")


def _correlation(counts: np.ndarray) -> float:
    law, place = counts / counts.sum(), np.arange(8)
    b, c = place - law.sum(1) @ place, place - law.sum(0) @ place
    return float(b @ law @ c / np.sqrt((law.sum(1) @ b**2) * (law.sum(0) @ c**2)))


if __name__ == "__main__":
    main()
