"""Sums over records from rows behind a public random projection: counts, tables, covariances, with intervals.

A row is z = xR + e: R (m, k) is public and isotropic, e has independent noise of deviation s. Two facts give every answer.

One sum, of q.x over the records. Let T = sum z, S = sum x, u = qR. Then T = (q.S / |q|^2) u + w, where w is the image of
the part of S that is orthogonal to q, plus noise. For a Gaussian R that part's image is independent of u, with k
independent normal coordinates of one variance. So q.S / |q|^2 is the slope of a regression of T on u through the
origin, and Student's law with k - 1 degrees of freedom gives an exact interval: the projection is included.

One sum of products, of (q.x)(r.x). Let B (k, 2) be the image of an orthonormal basis P of span(q, r), and a = B (B'B)^-1
P'q, b likewise for r. Then a.z = q.x + a.w and b.z = r.x + b.w for every record, and w is isotropic and independent of B.
So sum (a.z)(b.z) is off by sums of w alone, whose variance is read off the k - 2 directions that B does not reach.

For an orthonormal R scaled by sqrt(m/k), what w loses along a and b is known (`Totals.seen`), down to no projection
error at all for k = m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gnomon.model.shrinkage import onto_simplex
from gnomon.release.analyst.estimates import CONSTRAINED, Estimates

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]
STEPS = 4000  # of the constrained least squares, at most
SETTLED = 1e-7  # relative change of a step after which it ends
RAKINGS = 100
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Quantity:
    """One number of a record: constant + weights . x, for its encoded features x."""

    weights: Vector
    constant: float = 0.0


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over released rows, all that the answers need: n, T = sum z, Y = sum zz'."""

    n: int
    T: Vector
    Y: Matrix
    R: Matrix
    noise: float
    orthonormal: bool

    @classmethod
    def of(cls, Z: Matrix, R: Matrix, noise: float, *, orthonormal: bool) -> Totals:
        return cls(len(Z), Z.sum(axis=0), Z.T @ Z, R, noise, orthonormal)

    @property
    def k(self) -> int:
        return len(self.T)

    def moved(self, centre: Vector) -> Totals:
        """The totals of rows x - centre, for a public centre: shorter rows leave a smaller error of the projection."""
        c = centre @ self.R
        T, outer = self.T - self.n * c, np.outer(self.T, c)
        Y = self.Y - outer - outer.T + self.n * np.outer(c, c)
        return Totals(self.n, T, Y, self.R, self.noise, self.orthonormal)

    def seen(self, a: Vector, b: Vector, q: Vector, r: Vector) -> float:
        """The covariance of a.w and b.w in units of a direction that neither reaches, for the part by the projection."""
        kept = self.k / len(self.R) if self.orthonormal else 0.0
        return float(a @ b - kept * (q @ r))

    @cached_property
    def _square(self) -> tuple[float, float]:
        return float(np.trace(self.Y)), float((self.Y**2).sum())

    # --- one sum ---

    def sum_of(self, quantity: Quantity) -> tuple[float, float, float]:
        """The estimated sum over the records, its standard error, and the degrees of freedom of that.

        An orthonormal R leaves less of the projection's error along q, and the noise beside it is known: the degrees of
        freedom of such a sum of an estimated and a known variance are Satterthwaite's.
        """
        q, degrees = quantity.weights, max(self.k - 1.0, 1.0)
        length = float(q @ q)
        if length == 0:
            return quantity.constant * self.n, 0.0, degrees
        u = q @ self.R
        a = u * (length / max(float(u @ u), TINY))
        slope = float(u @ self.T) / max(float(u @ u), TINY)
        rest = self.T - slope * u
        noise = self.n * self.noise**2
        spread = float(rest @ rest) / (self.k - 1) if self.k > 1 else np.inf
        variance = spread * float(a @ a)
        if self.orthonormal and self.k > 1:
            seen = max(self.seen(a, a, q, q), 0.0)
            variance = max(spread - noise, 0.0) * seen + noise * float(a @ a)
            degrees *= max(1.0, variance / max(spread * seen, TINY * variance, 1e-300)) ** 2
        return quantity.constant * self.n + slope * length, float(np.sqrt(variance)), degrees

    # --- one sum of products ---

    def product_of(self, first: Quantity, second: Quantity) -> tuple[float, float]:
        """The estimated sum of products over the records, and its standard error."""
        q, r = first.weights, second.weights
        P = _basis(q, r)
        if P.shape[1] == 0:
            return first.constant * second.constant * self.n, 0.0
        B = self.R.T @ P
        back = np.linalg.pinv(B).T
        a, b = back @ (P.T @ q), back @ (P.T @ r)
        spread, g = self._outside(np.linalg.qr(B)[0])
        F, G = first.constant * self.T + self.Y @ a, second.constant * self.T + self.Y @ b
        noise = self.n * self.noise**2
        raws = [
            c * (d * self.n + float(v @ self.T)) + float(u @ w)
            for c, d, v, u, w in (
                (first.constant, first.constant, a, a, F),
                (second.constant, second.constant, b, b, G),
                (second.constant, first.constant, a, b, F),
            )
        ]
        value = raws[2] - max(spread - noise, 0.0) * self.seen(a, b, q, r) - noise * float(a @ b)
        variance = self._product_variance((a, b), (q, r), (F, G), np.linalg.qr(B)[0], g, raws)
        return value, float(np.sqrt(variance))

    def _outside(self, Q: Matrix) -> tuple[float, float]:
        """In the directions that Q (k, d) does not reach: the mean of sum w^2, and the variance of sum w w'."""
        YQ = self.Y @ Q
        inner = Q.T @ YQ
        trace, square = self._square
        p = self.k - Q.shape[1]
        if p < 2:
            return self.n * self.noise**2, np.inf
        left = trace - float(np.trace(inner))
        size = square - 2 * float((YQ**2).sum()) + float((inner**2).sum())
        return left / p, max(size - left**2 / p, 0.0) / ((p - 1) * (p + 2))

    def _product_variance(
        self,
        ends: tuple[Vector, Vector],
        asked: tuple[Vector, Vector],
        seen: tuple[Vector, Vector],
        Q: Matrix,
        g: float,
        raws: list[float],
    ) -> float:
        """The error is sum f (b.w) + sum g (a.w) + a'(sum ww')b, whose parts are uncorrelated.

        Outside of Q the sums F of (a.z) z show |a|^2 g beside what f leaves: so the three together vary by
        |b|^2 F^2 + |a|^2 G^2 + 2 a.b FG - g (|a|^2 |b|^2 + (a.b)^2), and by no less than the last part alone.
        """
        (a, b), (q, r) = ends, asked
        f, h = (one - Q @ (Q.T @ one) for one in seen)
        p = max(self.k - Q.shape[1], 1)
        aa, bb, ab = float(a @ a), float(b @ b), float(a @ b)
        both = aa * bb + ab**2
        whole = (bb * float(f @ f) + aa * float(h @ h) + 2 * ab * float(f @ h)) / p
        variance = float(max(whole - g * both, g * both))
        if not self.orthonormal:
            return variance
        parts = (self.seen(a, a, q, q) / max(aa, TINY), self.seen(b, b, r, r) / max(bb, TINY))
        left = float(np.clip(max(parts), 0.0, 1.0))  # of what the projection does; noise stays
        noise = self.n * self.noise**4 * both + self.noise**2 * (
            bb * raws[0] + aa * raws[1] + 2 * ab * raws[2]
        )
        return float(left * variance + (1 - left) * noise)


def _basis(q: Vector, r: Vector) -> Matrix:
    """An orthonormal basis (m, d) of span(q, r)."""
    U, size, _ = np.linalg.svd(np.column_stack([q, r]), full_matrices=False)
    return np.asarray(U[:, size > TINY * max(float(size[0]), TINY)])


def sums(totals: Totals, quantities: list[Quantity]) -> Estimates:
    """The sums of quantities over the records, each with an interval of its own."""
    value, error, degrees = np.array([totals.sum_of(one) for one in quantities]).reshape(-1, 3).T
    return Estimates(value, error, degrees)


def products(totals: Totals, pairs: list[tuple[Quantity, Quantity]]) -> Estimates:
    """The sums of products of quantities over the records."""
    found = np.array([totals.product_of(*pair) for pair in pairs]).reshape(-1, 2)
    return Estimates(found[:, 0], found[:, 1], degrees=max(totals.k - 2, 1))


# --- what is possible ---


@dataclass(frozen=True, eq=False)
class Domain:
    """Which rows are possible: each attribute is a mixture of its corners, so that sums of rows are n times such mixtures.

    corners (c, m)  the encoded rows of all corners, attribute by attribute, with zeros for the other attributes: the values
                    of a category, the ends of a number, a missing cell;
    simplices       where the corners of each attribute are.
    """

    corners: Matrix
    simplices: tuple[slice, ...]

    def project(self, weights: Vector) -> Vector:
        """The nearest mixtures."""
        found = weights.copy()
        for place in self.simplices:
            found[place] = onto_simplex(weights[place], 1.0)
        return found

    @property
    def even(self) -> Vector:
        """Every corner alike: what is known before anything was measured."""
        return np.concatenate([np.full(p.stop - p.start, 1 / (p.stop - p.start)) for p in self.simplices])

    @property
    def centre(self) -> Vector:
        return np.asarray(self.even @ self.corners)

    def range_of(self, quantity: Quantity) -> tuple[float, float]:
        """The least and the most that a quantity can be for one record."""
        at = self.corners @ quantity.weights
        low, high = (sum(float(end(at[place])) for place in self.simplices) for end in (np.min, np.max))
        return quantity.constant + low, quantity.constant + high


def possible_sums(totals: Totals, domain: Domain) -> Vector:
    """The possible sums S that fit best: the least |T - SR|^2 over products of simplices, by projected gradients.

    It starts, and where R leaves a choice stays, near rows that are spread evenly.
    """
    seen, mean = domain.corners @ totals.R, totals.T / totals.n
    size = float(np.linalg.norm(seen, 2)) ** 2
    w = momentum = domain.even
    pace = 1.0
    for _ in range(STEPS):
        step = domain.project(momentum - seen @ (momentum @ seen - mean) / size)
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        momentum = step + (pace - 1) / faster * (step - w)
        moved, w, pace = float(np.abs(step - w).max()), step, faster
        if moved < SETTLED:
            break
    return np.asarray(totals.n * (w @ domain.corners))


def constrained(linear: Estimates, value: Vector, least: float | Vector, most: float | Vector) -> Estimates:
    """Possible values in place of linear ones. The linear interval, cut where nothing is possible, holds as often."""
    return Estimates(
        value, linear.standard_error, linear.degrees, linear.value, least, most, about=CONSTRAINED
    )


def raked(table: Matrix, rows: Vector, columns: Vector) -> Matrix:
    """A table without negative numbers that has these margins, by iterative proportional fitting."""
    found = np.maximum(table, 0.0) + TINY * max(float(rows.sum()), TINY)
    for _ in range(RAKINGS):
        found *= (rows / np.maximum(found.sum(axis=1), TINY))[:, None]
        found *= columns / np.maximum(found.sum(axis=0), TINY)
    return found
