"""SmartNoise's DPCTGAN and PATECTGAN at their defaults: `smartnoise_gan.py dpctgan|patectgan ...`.

Numbers are given as continuous columns between their declared bounds, categories one-hot as declared; the transformer is
fitted to the declared domain and not to the rows, so all of epsilon goes to training. A batch is 500 rows as by default,
and half of the rows where there are fewer than 1,000.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from protocol import Asked, serve, within
from snsynth import Synthesizer
from snsynth.transform import (
    ChainTransformer,
    LabelTransformer,
    MinMaxTransformer,
    OneHotEncoder,
    TableTransformer,
)


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    domain = asked.domain
    transformer = TableTransformer(
        [
            MinMaxTransformer(lower=0, upper=column["size"] - 1)
            if column["ordered"] and not column["exact"]
            else ChainTransformer([LabelTransformer(nullable=False), OneHotEncoder()])
            for column in domain
        ]
    )
    most = max(column["size"] for column in domain)
    public = pd.DataFrame({column["name"]: np.arange(most) % column["size"] for column in domain})
    transformer.fit(public)
    rows = asked.table().to_pandas()
    told = {"epsilon": asked.epsilon, "delta": asked.delta, "batch_size": min(500, len(rows) // 4 * 2)}
    model = Synthesizer.create(asked.algorithm, verbose=False, **told)
    model.fit(rows, transformer=transformer)
    made = model.sample(asked.rows)
    rng = np.random.default_rng()
    return {
        column["name"]: within(made[column["name"]].astype("float64").to_numpy(), column["size"], rng)
        for column in domain
    }


if __name__ == "__main__":
    serve(synthesise)
