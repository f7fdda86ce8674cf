"""The public map of a model release: from encoded cells to released components, and back.

Everything in it is public (declared, drawn, or paid for), so anybody may apply it to rows of their own.
"""

from __future__ import annotations

import io
import math
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.errors import DataError
from gnomon.statistics.grid import GRID, Matrix, ball_shrink, fine_grid, into_ball, shorten, unit_rows

Vector = npt.NDArray[np.float64]
FINE_PROJECTION = 2.0**22
CACHE = 2**18  # cells of a block of rows that stays in a processor's cache
LARGEST_FILE = 2**31  # bytes of arrays that a map may hold
LARGEST_NUMBER = 1e100  # in a map, whose squares and quotients must be numbers too


@dataclass(frozen=True)
class PublicMap:
    """components(x) = (W' rows((x - centre) * weight) - offset) / radius, clipped to the unit ball where it is summed.

    centre, weight (m,)  cells are moved and scaled first;
    normalise            whether each row is then scaled to length 1 (RON-Gauss) or keeps its length;
    projection (m, p)    W with orthonormal columns, or None for the identity;
    offset (p,), radius  the ball in the projected space that rows are clipped to;
    length               the length that `lift` gives back to rows that were normalised;
    mean (m,)            taken from normalised rows, which are then normalised again (RON-Gauss as printed);
    components_only      whether the release shows components, not columns that they were lifted back into;
    reach                longer rows are shortened to this length before the projection (PCA-Gauss).
    """

    centre: Vector
    weight: Vector
    normalise: bool
    projection: Matrix | None
    offset: Vector
    radius: float
    length: float = 1.0
    mean: Vector | None = None
    components_only: bool = False
    reach: float = math.inf

    @classmethod
    def identity(cls, m: int, *, radius: float, normalise: bool = False) -> PublicMap:
        return cls(np.zeros(m), np.ones(m), normalise, None, np.zeros(m), radius)

    @property
    def shows_all(self) -> bool:
        """Whether components are the cells themselves, so that a row needs no look through the map."""
        moved = self.normalise or self.mean is not None or math.isfinite(self.reach) or self.components_only
        plain = not self.centre.any() and not self.offset.any() and bool((self.weight == 1).all())
        return self.projection is None and plain and not moved

    @property
    def n_features(self) -> int:
        return len(self.centre)

    @property
    def n_components(self) -> int:
        return len(self.offset)

    def project(self, W: Matrix, *, radius: float) -> PublicMap:
        """The same rows seen through W, in a ball of another radius around the origin."""
        return replace(self, projection=W, offset=np.zeros(W.shape[1]), radius=radius)

    def zoom(self, offset: Vector, radius: float) -> PublicMap:
        """The same projection, in a ball of another centre (in projected units) and radius."""
        return replace(self, offset=offset, radius=radius)

    def _rows(self, X: Matrix) -> tuple[Matrix, float]:
        """Integer rows before the projection, and the grid that they are on."""
        fine = fine_grid(max(1.0, self._longest))
        Z = (X - self.centre) * (self.weight * fine)
        np.rint(Z, out=Z)
        if self.normalise:
            unit_rows(Z, fine)
        if self.mean is not None:
            Z -= np.rint(self.mean * fine)
            unit_rows(Z, fine)
        if math.isfinite(self.reach):
            shorten(Z, self.reach * fine)
        return Z, fine

    @property
    def _longest(self) -> float:
        """No row of cells in [-1, 1] is longer than this once it is moved and scaled."""
        return float(np.linalg.norm(self.weight * (1 + np.abs(self.centre))))

    def _projected(self, X: Matrix) -> tuple[Matrix, float]:
        """Integer components on a fine grid; exact sums, so the same for every batch and order of rows."""
        longest = 1.001 if self.normalise else 1.001 * self._longest
        grid = fine_grid((longest + float(np.linalg.norm(self.offset))) / self.radius)
        shift = self.offset
        if self.projection is not None:
            Z, fine = self._rows(X)
            Y = Z @ np.rint(self.projection * FINE_PROJECTION)
            Y *= grid / (fine * FINE_PROJECTION * self.radius)
        elif self.normalise or math.isfinite(self.reach):
            Y, fine = self._rows(X)
            Y *= grid / (fine * self.radius)
        else:
            Y = X * (self.weight * (grid / self.radius))
            shift = self.offset + self.weight * self.centre
        if shift.any():
            Y -= shift * (grid / self.radius)
        return np.rint(Y, out=Y), grid

    def components(self, X: Matrix) -> Matrix:
        """Encoded rows (n, m) -> released components (n, p), not clipped."""
        Y, grid = self._projected(X)
        return Y / grid

    def integers(self, X: Matrix, lam: int, beside: Vector | None = None, weight: int = 0) -> Matrix:
        """Encoded rows (n, m) -> integer rows (q, b, Lambda): q in the ball of radius GRID, Lambda constant.

        `beside` (n,), in [-1, 1], is an optional coordinate b of integer weight `weight` that is not projected.
        """
        p = self.n_components
        Q: Matrix = np.empty((p + 1 + (beside is not None), len(X))).T
        step = max(256, CACHE // max(1, X.shape[1]))
        for start in range(0, len(X), step):
            rows = slice(start, start + step)
            Y, grid = self._projected(X[rows])
            into_ball(Y, grid, out=Q[rows, :p])
        if beside is not None:
            np.rint(np.clip(beside, -1.0, 1.0) * weight, out=Q[:, p])
        Q[:, -1] = lam
        return Q

    @property
    def unit(self) -> float:
        """Integers per unit of `components`."""
        return GRID * ball_shrink(self.n_components)

    def lift(self, C: Matrix) -> Matrix:
        """Components -> encoded cells: the smallest row that the map sends to them."""
        Y = C * self.radius + self.offset
        X = Y if self.projection is None else Y @ self.projection.T
        if self.mean is not None:
            X = X + self.mean
        if self.normalise:
            X = X * self.length
        X = X / self.weight + self.centre
        return X

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What `map.npz` holds: plain arrays, no objects."""
        W = np.zeros((0, 0)) if self.projection is None else self.projection
        return {
            "version": np.array(1),
            "centre": self.centre,
            "weight": self.weight,
            "normalise": np.array(self.normalise),
            "projection": W,
            "offset": self.offset,
            "radius": np.array(self.radius),
            "length": np.array(self.length),
            "mean": np.zeros(0) if self.mean is None else self.mean,
            "components_only": np.array(self.components_only),
            "reach": np.array(self.reach),
        }

    @classmethod
    def of_arrays(cls, held: dict[str, npt.NDArray[Any]]) -> PublicMap:
        """A map from arrays that anybody may have written: every shape and number is checked."""
        try:
            flat = {name: held[name].astype(np.float64) for name in ("centre", "weight", "offset", "mean")}
            W = held["projection"].astype(np.float64)
            normalise, radius, length = (float(held[name]) for name in ("normalise", "radius", "length"))
            components_only = bool(held.get("components_only", np.array(False)))
            reach = float(held.get("reach", np.array(math.inf)))
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
        divisors = np.abs(np.r_[radius, reach, flat["weight"].ravel()]) >= 1 / LARGEST_NUMBER
        if not (fits and usable and m and p and radius > 0 and reach > 0 and divisors.all()):
            raise DataError(
                "The map of this release does not fit together; ask its publisher for a whole copy."
            )
        mean = flat["mean"] if flat["mean"].size else None
        projection = W if W.size else None
        return cls(
            flat["centre"],
            flat["weight"],
            bool(normalise),
            projection,
            flat["offset"],
            radius,
            length,
            mean,
            components_only,
            reach,
        )


def save_map(path: Path, arrays: dict[str, npt.NDArray[Any]]) -> None:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    path.write_bytes(buffer.getvalue())


def load_map(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Arrays of a `map.npz` from anywhere: no pickles, sizes capped before anything is unpacked."""
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


def projected_length(p: int, m: int, tail: float = 2.0) -> float:
    """The length below which nearly every Haar projection of a unit row to p of m dimensions stays.

    The squared length is Beta(p/2, (m-p)/2): mean p/m, variance 2 p (m-p) / (m^2 (m+2)). Public numbers only.
    """
    mean = p / m
    spread = math.sqrt(2 * p * (m - p) / (m * m * (m + 2)))
    return min(1.0, math.sqrt(mean + tail * spread))
