"""dpmm's AIM, MST and PrivBayes with the declared domain: `dpmm_models.py AIM|MST|PrivBayes ...`."""

from __future__ import annotations

from typing import Any

import numpy as np
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM
from protocol import Asked, serve, within

MODELS = {"AIM": AIMGM, "MST": MSTGM, "PrivBayes": PrivBayesGM}


def _pairs(model: Any) -> Any:
    """The fitted model's marginals, of values as it merged them."""
    fitted = model.generator.model

    def pair(names: tuple[str, str]) -> np.ndarray:
        return np.asarray(fitted.project(names).transpose(names).datavector())

    return pair


def synthesise(asked: Asked) -> dict[str, np.ndarray]:
    sizes = {column["name"]: column["size"] for column in asked.domain}
    model = MODELS[asked.algorithm](epsilon=asked.epsilon, delta=asked.delta, domain=sizes, n_jobs=1)
    model.fit(asked.table().to_pandas())
    made = model.generate(asked.rows)
    if asked.check is not None:
        # rare values were merged, and drawn apart again afterwards: the model knows them together
        merge = model.generator.compressor
        together = merge.transform(made[list(sizes)])
        own = {name: int(merge.supports[name].sum()) for name in sizes}
        asked.check(_pairs(model), together, {name: own[name] + (own[name] < sizes[name]) for name in sizes})
    rng = np.random.default_rng()
    return {name: within(made[name].astype("float64").to_numpy(), size, rng) for name, size in sizes.items()}


if __name__ == "__main__":
    serve(synthesise)
