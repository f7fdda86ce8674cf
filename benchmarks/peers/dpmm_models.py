"""dpmm's AIM, MST and PrivBayes with the declared domain: `dpmm_models.py AIM|MST|PrivBayes ...`."""

from __future__ import annotations

import numpy as np
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM
from protocol import Asked, serve, within

MODELS = {"AIM": AIMGM, "MST": MSTGM, "PrivBayes": PrivBayesGM}


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    sizes = {column["name"]: column["size"] for column in asked.domain}
    model = MODELS[asked.algorithm](epsilon=asked.epsilon, delta=asked.delta, domain=sizes, n_jobs=1)
    model.fit(asked.table().to_pandas())
    made = model.generate(asked.rows)
    rng = np.random.default_rng()
    return {name: within(made[name].astype("float64").to_numpy(), size, rng) for name, size in sizes.items()}


if __name__ == "__main__":
    serve(synthesise)
