"""`map.npz`: the frame of a release as plain arrays, and read back without trusting them."""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.errors import DataError
from gnomon.release.analyst.law import NAME, RowLaw
from gnomon.statistics.frame import Frame

LARGEST_FILE = 2**31  # bytes of arrays that a map may hold
LARGEST_NUMBER = 1e100  # in a map, whose squares and quotients must be numbers too
Arrays = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class PublicMap:
    """The frame through which real rows look like released ones.

    components_only  whether the release shows components, not columns that they were lifted back into;
    withheld         whether the projection is not published, so that no row can be shown as the release would;
    extra            further public arrays, such as the noise of a component.
    """

    frame: Frame
    components_only: bool = False
    withheld: bool = False
    extra: Arrays = field(default_factory=dict)

    @property
    def shows_all(self) -> bool:
        """Whether components are the cells themselves, so that a row needs no look through the map."""
        frame = self.frame
        moved = (
            frame.normalise or frame.mean is not None or math.isfinite(frame.row_norm) or self.components_only
        )
        plain = not frame.centre.any() and not frame.offset.any() and bool((frame.weight == 1).all())
        return frame.projection is None and plain and not moved

    def arrays(self) -> Arrays:
        """Plain arrays, no objects."""
        frame = self.frame
        W = np.zeros((0, 0)) if frame.projection is None else frame.projection
        return {
            "version": np.array(2),
            "centre": frame.centre,
            "weight": frame.weight,
            "normalise": np.array(frame.normalise),
            "projection": W,
            "offset": frame.offset[0],
            "radius": np.array(frame.radius[0]),
            "length": np.array(frame.length),
            "mean": np.zeros(0) if frame.mean is None else frame.mean,
            "components_only": np.array(self.components_only),
            "row_norm": np.array(frame.row_norm),
            "withheld": np.array(self.withheld),
            **self.extra,
        }

    @classmethod
    def of_arrays(cls, held: Arrays) -> PublicMap:
        """A map from arrays that anybody may have written: every shape and number is checked."""
        try:
            flat = {name: held[name].astype(np.float64) for name in ("centre", "weight", "offset", "mean")}
            W = held["projection"].astype(np.float64)
            normalise, radius, length = (float(held[name]) for name in ("normalise", "radius", "length"))
            components_only = bool(held.get("components_only", np.array(False)))
            row_norm = float(held.get("row_norm", np.array(math.inf)))
            withheld = bool(held.get("withheld", np.array(False)))
        except (KeyError, TypeError, ValueError) as problem:
            raise DataError(
                "The map of this release lacks a part; ask its publisher for a whole copy."
            ) from problem
        m, p = flat["centre"].size, flat["offset"].size
        shapes = [a.shape for a in flat.values()] + [W.shape]
        mean_shape = (m,) if flat["mean"].size else (0,)
        fits = shapes[:4] == [(m,), (m,), (p,), mean_shape] and (W.shape == (m, p) or (not W.size and m == p))
        held_all = [*flat.values(), W, np.array([radius, length])]
        usable = all((np.abs(a) <= LARGEST_NUMBER).all() for a in held_all)  # not so for a NaN
        divisors = np.abs(np.r_[radius, row_norm, flat["weight"].ravel()]) >= 1 / LARGEST_NUMBER
        if not (fits and usable and m and p and radius > 0 and row_norm > 0 and divisors.all()):
            raise DataError(
                "The map of this release does not fit together; ask its publisher for a whole copy."
            )
        frame = Frame(
            flat["centre"],
            flat["weight"],
            flat["offset"][None, :],
            np.array([radius]),
            projection=W if W.size else None,
            normalise=bool(normalise),
            mean=flat["mean"] if flat["mean"].size else None,
            row_norm=row_norm,
            length=length,
        )
        extra = {NAME: RowLaw.of_array(held[NAME]).array()} if NAME in held else {}
        return cls(frame, components_only, withheld, extra)

    @property
    def row_law(self) -> RowLaw | None:
        """How released rows vary around their records, where a release has rows of records."""
        return RowLaw.of_array(self.extra[NAME]) if NAME in self.extra else None


def save_arrays(path: Path, arrays: Arrays) -> None:
    """Arrays as a compressed npz whose bytes follow from them alone: no time of writing is in it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, np.asarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getvalue(), zipfile.ZIP_DEFLATED)
    path.write_bytes(buffer.getvalue())


def load_arrays(path: Path) -> Arrays:
    """Arrays of an npz from anywhere: no pickles, sizes capped before anything is unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(item.file_size for item in archive.infolist()) > LARGEST_FILE:
                raise DataError(f"The map {path.name} is larger than {LARGEST_FILE} bytes and is not read.")
        with np.load(path, allow_pickle=False) as archive:
            held = {name: archive[name] for name in archive.files}
            # numpy hands out a member that is no array as its bytes
            return {name: part for name, part in held.items() if isinstance(part, np.ndarray)}
    except DataError:
        raise
    except Exception as problem:  # bytes from anywhere: zip, deflate and numpy each have errors of their own
        raise DataError(
            f"The map {path.name} cannot be read; ask its publisher for a whole copy."
        ) from problem
