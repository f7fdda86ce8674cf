"""Neighbouring rows that are as hard to hide as a proof says, and a search for harder ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gnomon.privacy.sensitivity import Norm

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
Tables = Matrix | Sequence[Any]  # two tables (n, m), one array (2, n, m) where they have as many rows
Targets = npt.NDArray[Any] | Sequence[npt.NDArray[Any]]  # what stands beside their rows


def orthogonal_pair(p: int, constant: float = 0.0) -> tuple[Vector, Vector]:
    """Unit rows x, y such that (x, c) and (y, c) are orthogonal: the worst pair for nuclear and Frobenius norms.

    In one dimension there is none; x = 1, y = -1 moves the mean as far as it can.
    """
    x, y = np.zeros(p), np.zeros(p)
    x[0] = 1.0
    if p == 1:
        return x, -x
    y[0], y[1] = -(constant**2), math.sqrt(1 - constant**4)
    return x, y


def to_the_box(x: Vector) -> Vector:
    """The same direction, as long as cells in [-1, 1] allow: clipping must shorten it again."""
    stretched: Vector = x / np.abs(x).max()
    return stretched


def change(x: Vector, y: Vector, constant: float = 0.0) -> Matrix:
    """(y, c)(y, c)' - (x, c)(x, c)'."""
    u, v = np.append(x, constant), np.append(y, constant)
    return np.outer(v, v) - np.outer(u, u)


def size(D: Matrix, norm: Norm, *, whole: bool = False) -> float:
    """The norm in which a mechanism feels a change; L1 counts the upper triangle unless `whole`."""
    if norm is Norm.NUCLEAR:
        return float(np.abs(np.linalg.eigvalsh(D)).sum())
    if norm is Norm.FROBENIUS:
        return float(np.linalg.norm(D))
    return float(np.abs(D if whole else np.triu(D)).sum())


def search_pair(
    norm: Norm, p: int, constant: float = 0.0, *, whole: bool = False, tries: int = 20, seed: int = 0
) -> tuple[Vector, Vector]:
    """Unit rows whose change is as large as an ascent from random starts can make it.

    The norm is convex in the change, so replacing it by its slope M and maximising v'Mv - u'Mu over both rows, one
    power step each, never makes it smaller; the steps stop at a local maximum.
    """
    rng = np.random.default_rng(seed)
    best, found = -1.0, (np.zeros(p), np.zeros(p))
    for _ in range(tries):
        x, y = (_unit(rng.standard_normal(p)) for _ in range(2))
        for _ in range(60):
            M = _slope(change(x, y, constant), norm, whole)
            x, y = _step(-M, x, constant), _step(M, y, constant)
        reached = size(change(x, y, constant), norm, whole=whole)
        if reached > best:
            best, found = reached, (x, y)
    return found


def _unit(x: Vector) -> Vector:
    unit: Vector = x / max(float(np.linalg.norm(x)), 1e-300)
    return unit


def _slope(D: Matrix, norm: Norm, whole: bool) -> Matrix:
    if norm is Norm.FROBENIUS:
        return D
    if norm is Norm.NUCLEAR:
        values, vectors = np.linalg.eigh(D)
        slope: Matrix = (vectors * np.sign(values)) @ vectors.T
        return slope
    weight = np.ones_like(D) if whole else (np.ones_like(D) + np.eye(len(D))) / 2
    return weight * np.sign(D)


def _step(M: Matrix, x: Vector, constant: float) -> Vector:
    """One power step of the row inside (x, c)'M(x, c); the shift makes the form convex, so it cannot fall."""
    shift = float(np.abs(M).sum(axis=1).max())
    return _unit(M[:-1, :-1] @ x + shift * x + constant * M[:-1, -1])
