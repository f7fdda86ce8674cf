"""Where DPRP's rows lie: a ball around declared or measured numbers, and the way back from noisy rows to cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from gnomon.methods.dprp_rows import LABEL
from gnomon.methods.public import Public
from gnomon.model.denoise import AffineMap
from gnomon.model.shrinkage import signal_share
from gnomon.privacy.guarantee import Spendable
from gnomon.privacy.measure import Measurer
from gnomon.projection.orthonormal import haar
from gnomon.statistics.frame import Frame
from gnomon.statistics.queries import RowSum
from gnomon.table.encode import Encoder
from gnomon.table.schema import Schema
from gnomon.table.target import Target

LOCATION, WIDE = 0.1, 0.75  # the share of the budget for where rows lie, and the ball in which it is measured
BALL = 0.35  # the default radius, relative to that of the box of all cells
WEIGHTS = {  # how loud a cell is; a boolean would dominate numbers, which spread less
    "boolean": 0.5,
    "one-hot": 0.7,
}


def row_frame(encoder: Encoder, radius: float | None) -> Frame:
    """Cells centred where the schema fills missing ones, booleans and categories softened, clipped to a ball."""
    centre, weight = np.zeros(encoder.width), np.ones(encoder.width)
    for group, column in zip(encoder.groups, encoder.schema.features, strict=True):
        width = group.place.stop - group.place.start
        weight[group.place] = WEIGHTS.get(group.kind, 1.0)
        if column.fill is not None:
            cell = pa.table({column.name: pa.array([column.fill])})
            only = Encoder(Schema(name="fill", columns=(column,)))
            centre[group.place] = only.matrix(cell)[0]
        elif group.kind == "one-hot":
            centre[group.place] = 1 / width
    clipping_norm = BALL * float(np.linalg.norm(weight)) if radius is None else radius
    return Frame(centre, weight, np.zeros((1, encoder.width)), np.array([clipping_norm]))


def located(data: Measurer, public: Public, frame: Frame, loss: Spendable) -> tuple[Frame, Spendable]:
    """Where the rows lie, by a tenth of the budget; not spent where every column declares it with a fill value."""
    if all(column.fill is not None for column in public.schema.features):
        return frame, loss
    locating, left = loss.split(LOCATION, 1 - LOCATION)
    radius = WIDE * float(np.linalg.norm(frame.weight))
    wide = replace(frame, radius=np.array([radius]))
    measured = data.measure(RowSum("sum of the rows, to centre them", wide), locating)
    steps = wide.unit * public.rows
    mean, noise = measured.answer[0] / steps, measured.noise.diagonal / steps
    mean = mean * signal_share(float(mean @ mean), public.m * noise**2)
    return replace(frame, centre=frame.centre + mean * radius / frame.weight), left


def narrowed(frame: Frame, k1: int | str, rng: np.random.Generator) -> Frame:
    """The rows through a random orthonormal projection to k1 dimensions, or as they are where k1 is not below m."""
    if k1 == "auto" or int(k1) >= frame.n_features:
        return frame
    return frame.project(haar(frame.n_features, int(k1), rng), radius=float(frame.radius[0]))


def cells_of(frame: Frame, target: Target, transport: AffineMap) -> AffineMap:
    """From the integers of noisy rows to encoded cells, and to the target where that is a number."""
    p, unit = frame.n_components, frame.unit
    base = frame.lift(np.zeros((1, p)))
    slope = frame.lift(np.eye(p)) - base
    if target.is_number:
        slope = np.block([[slope, np.zeros((p, 1))], [np.zeros((1, slope.shape[1])), unit / LABEL]])
        base = np.append(base, 0.0)[None, :]
    found = transport.then(slope, base[0])
    return replace(found, matrix=found.matrix / unit).single()
