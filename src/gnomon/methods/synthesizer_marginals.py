"""The Synthesizer's third round of counting: marginals of classes, or of all rows, raked to counts at their quantiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gnomon.methods.planning import count_noise
from gnomon.methods.synthesizer_rounds import View
from gnomon.model.class_marginals import class_bins, raked, target_marginals, tilted
from gnomon.model.columns import Attribute
from gnomon.model.marginal import Marginal
from gnomon.model.rounds import Subspace
from gnomon.model.shrinkage import Floats
from gnomon.model.synthetic import SyntheticModel
from gnomon.statistics.queries import ClassHistogram, Histogram
from gnomon.table.rows import CELL

Marginals = dict[tuple[int, int], Marginal]  # by class and column


def with_class_marginals(view: View, model: SyntheticModel, space: Subspace) -> SyntheticModel:
    """Marginals of all rows, or of classes once these are tilted to their moments, raked to a third count."""
    plan, on, L = view.plan, model.coordinates, view.classes
    if not plan.counted:
        return model
    shaped = [a for a in on.attributes if a.shaped and a.first < view.public.m]
    if not plan.of_classes:
        known = _raked(view, shaped, {(0, a.first): g for a, g in on}, np.array([view.rows]))
        on = replace(on, marginals=tuple(known.get((0, a.first), g) for a, g in on))
        model = replace(model, coordinates=on)
    if L == 1:
        return model
    own: Marginals = {}
    for a, g in on.numbers:
        if a.first < view.public.m:
            masses = tilted(g, model.latent(a.first), L)
            own |= {(c, a.first): replace(g, mass=masses[c]) for c in range(L)}
        else:
            own |= target_marginals(g, view.levels, a.first)
    if plan.of_classes:
        own |= _raked(view, shaped, own, space.counts)
    return replace(model, class_marginals=own)


def _raked(view: View, shaped: list[Attribute], known: Marginals, rows: Floats) -> Marginals:
    """Marginals of classes, or of all rows as one class, raked to noisy counts in bins at their quantiles."""
    if not shaped:
        return {}
    t, loss = view.plan.tuning, view.plan.losses["third"]
    noise = max(count_noise(len(shaped), loss), 1 / CELL)
    most = rows / (t.planned * noise)
    places = [(c, a) for c in range(len(rows)) for a in shaped]
    bins = [class_bins(a, known[c, a.first], most[c], t) for c, a in places]
    binnings = [a.binning(b) for (_, a), b in zip(places, bins, strict=True)]
    by_class = tuple(tuple(binnings[i : i + len(shaped)]) for i in range(0, len(bins), len(shaped)))
    several = len(rows) > 1
    query = ClassHistogram("counts by class", by_class) if several else Histogram("third counts", by_class[0])
    answer = view.measure("third", query).answer.ravel().astype(np.float64)
    counts = np.split(answer, np.cumsum([len(b) for b in bins])[:-1])
    return {
        (c, a.first): raked(known[c, a.first], b, h, noise, float(rows[c]), t)
        for (c, a), b, h in zip(places, bins, counts, strict=True)
    }
