"""How far one record can move a statistic: every formula with its claim, its proof and its worst pair.

A statistic here is a sum over rows (a mean is a sum divided by the public n, afterwards). A symmetric
matrix is released by its upper triangle, so L1 of a matrix counts the entries i <= j once, unless `whole`
says that all entries meet independent noise. Values are exact fractions, rounded up where they are
irrational. Long proofs: docs/explanation/proofs/.

What the parameters mean, in all of them:

- `norm`: how the change is measured; each noise law needs its own.
- `adjacency`: which tables are neighbours; a release of one row a record is for replace-one only.
- `columns`: how many columns the sum or the histogram has.
- `radius`: the largest L2 length of a row.
- `constant`: what stands beside every row, so that rows are counted too.
- `blocks`: into how many sums the rows are divided, such as one a class.
- `low`, `high`: the bounds of a number.
- `beside`: the largest value of what stands beside a row.
- `thresholds`, `count`: how many counts, or eigenvalues, are released.
- `width`: the number of columns of a moment matrix; of `cell_change`, how far the cell moves.
- `ball`: the largest squared length of a row, T.
- `bound`: the largest absolute value of a cell, a.
- `label`: the largest absolute value of the label.
- `whole`: whether all entries of a matrix meet independent noise, and not the upper triangle alone.
- `ratio`: the noise of the moments over that of the rows.
- `projection`: the public matrix R that rows are multiplied by.
- `attributes`: the attributes of a row, or how many there are.
- `unit`: a row, or one attribute of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction

import numpy as np

from gnomon.errors import ParameterError
from gnomon.privacy.guarantee import Adjacency, Loss, Neighbours, Unit, check_neighbours
from gnomon.privacy.norms import (
    Matrix,
    largest_distance,
    largest_row_norm,
    public_matrix,
    spectral_norm,
    two_to_one_norm,
)
from gnomon.privacy.rounding import fraction, root_up

Number = int | float | Fraction


class Norm(Enum):
    """How a change is measured; each noise law needs its own."""

    L1 = "L1"
    L2 = "L2"
    NUCLEAR = "nuclear"
    FROBENIUS = "Frobenius"


@dataclass(frozen=True)
class Sensitivity:
    """The largest change of a statistic between two adjacent tables.

    Parameters
    ----------
    norm : how the change is measured.
    value : the change, at most, as an exact fraction.
    adjacency : whether that unit is replaced (the number of rows is public) or added and removed (it is
        private).
    unit : what one change of neighbouring tables is about: a row, an attribute of a row, or a person.
    rows : how many rows one unit has at most: 1, except for a person.
    """

    norm: Norm
    value: Fraction
    adjacency: Adjacency = field(kw_only=True)
    unit: Unit = field(default=Unit.ROW, kw_only=True)
    rows: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.norm, Norm) or not isinstance(self.adjacency, Adjacency):
            raise ParameterError("A sensitivity must name its norm and its adjacency.")
        if (isinstance(self.value, float) and not np.isfinite(self.value)) or not self.value > 0:
            raise ParameterError(f"A sensitivity must be a positive finite number. Got {self.value} instead.")
        object.__setattr__(self, "value", fraction(self.value))
        check_neighbours(*self.neighbours)

    @property
    def neighbours(self) -> Neighbours:
        """Which two tables are compared."""
        return self.unit, self.adjacency, self.rows

    def protecting(self, promise: Loss) -> Sensitivity:
        """The same sum for the unit that `promise` protects, from the sensitivity to one row.

        Claim. A person with at most k rows, added or removed, moves a sum by at most k times what one row does, in
        every norm. Proof: the k rows are added one after another; triangle inequality. Worst pair: k equal rows.
        """
        if promise.unit is not Unit.PERSON:
            return self
        if self.neighbours != (Unit.ROW, Adjacency.ADD_REMOVE, 1):
            raise ParameterError("What a person moves follows from a row that is added or removed.")
        return Sensitivity(
            self.norm,
            self.value * promise.rows,
            adjacency=self.adjacency,
            unit=Unit.PERSON,
            rows=promise.rows,
        )

    def on_grid(self, grid: Number, *, coordinates: int, error: Number = 0) -> Sensitivity:
        """The sensitivity of rint(grid * value): rounding moves each of the two values by 1/2 a coordinate.

        `error` bounds what floating point may have moved a coordinate of grid * value before the rounding.
        L1 grows by k (1 + 2 error), L2 by sqrt(k) (1 + 2 error) for k coordinates.

        Parameters
        ----------
        grid : how many steps a unit has.
        coordinates : how many numbers are rounded.
        """
        k = _count("coordinates", coordinates)
        if self.norm not in (Norm.L1, Norm.L2):
            raise ParameterError(
                f"Only an L1 or L2 sensitivity can be put on a grid. Got {self.norm.value} instead."
            )
        moved = (k if self.norm is Norm.L1 else root_up(k)) * (1 + 2 * fraction(error))
        value = self.value * _size("grid", grid) + moved
        return replace(self, value=value)


@dataclass(frozen=True)
class Attribute:
    """The encoded columns of one attribute, and the corners of what they can hold.

    A number or boolean: corners -1 and 1 of one column. A category: the unit vectors of its one-hot
    columns. A number with an indicator of missing cells: (-1, 0), (1, 0), (0, 1).

    Parameters
    ----------
    columns : the encoded columns.
    corners : the farthest codes, one tuple each.
    """

    columns: tuple[int, ...]
    corners: tuple[tuple[float, ...], ...]

    @classmethod
    def number(cls, column: int, low: float = -1.0, high: float = 1.0) -> Attribute:
        """A number or a boolean: one column between two ends.

        Parameters
        ----------
        column : its place.
        low, high : the ends.
        """
        return cls((column,), ((low,), (high,)))

    @classmethod
    def category(cls, columns: Sequence[int]) -> Attribute:
        """A category: one column a value, of which one is 1.

        Parameters
        ----------
        columns : their places.
        """
        return cls(tuple(columns), tuple(tuple(row) for row in np.eye(len(columns)).tolist()))

    @classmethod
    def number_or_missing(cls, column: int, indicator: int) -> Attribute:
        """A number with an indicator of missing cells.

        Parameters
        ----------
        column, indicator : their places.
        """
        return cls((column, indicator), ((-1.0, 0.0), (1.0, 0.0), (0.0, 1.0)))

    @property
    def width(self) -> float:
        """The largest L2 distance of two corners."""
        ends = np.asarray(self.corners)
        return float(np.linalg.norm(ends[:, None] - ends[None, :], axis=2).max())


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ParameterError(f"The '{name}' parameter must be a whole number from 1. Got {value!r} instead.")
    return int(value)


def _size(name: str, value: Number) -> Fraction:
    if isinstance(value, bool) or not np.isfinite(float(value)) or not value > 0:
        raise ParameterError(f"The '{name}' parameter must be positive and finite. Got {value!r} instead.")
    return fraction(value)


def _constant(value: Number) -> Fraction:
    if isinstance(value, bool) or not 0 <= value < np.inf:
        raise ParameterError(f"The 'constant' parameter must not be negative. Got {value!r} instead.")
    return fraction(value)


def _replaced(adjacency: Adjacency) -> bool:
    if not isinstance(adjacency, Adjacency):
        raise ParameterError(f"The 'adjacency' parameter must be an Adjacency. Got {adjacency!r} instead.")
    return adjacency is Adjacency.REPLACE_ONE


def _only(norm: Norm, allowed: tuple[Norm, ...], what: str) -> None:
    if norm not in allowed:
        names = " or ".join(n.value for n in allowed)
        raise ParameterError(f"The 'norm' parameter of {what} must be {names}. Got {norm!r} instead.")


_VECTOR = (Norm.L1, Norm.L2)
_MATRIX = (Norm.L1, Norm.NUCLEAR, Norm.FROBENIUS)


# --- Sums and counts ---


def row_sum(norm: Norm, *, columns: int, radius: Number, adjacency: Adjacency) -> Sensitivity:
    """The sum of rows x in R^m, ||x||_2 <= radius.

    Claim: replace-one L1 2 r sqrt(m), L2 2 r; add/remove half of each. Proof: ||x - y||_2 <= 2r, and L1 <=
    sqrt(m) L2. Worst pair: x = r 1/sqrt(m), y = -x.
    """
    _only(norm, _VECTOR, "row_sum")
    m, r = _count("columns", columns), _size("radius", radius)
    value = (root_up(m * r * r) if norm is Norm.L1 else r) * (2 if _replaced(adjacency) else 1)
    return Sensitivity(norm, value, adjacency=adjacency)


def scalar_sum(norm: Norm, *, low: Number, high: Number, adjacency: Adjacency) -> Sensitivity:
    """The sum of numbers in [low, high].

    Claim: replace-one high - low; add/remove max(|low|, |high|); L1 and L2 agree. Proof: one term changes,
    or one is added. Worst pair: low against high; the larger bound against nothing.
    """
    _only(norm, _VECTOR, "scalar_sum")
    a, b = fraction(low), fraction(high)
    if not a < b:
        raise ParameterError(f"The 'low' parameter must be below 'high'. Got {low} and {high} instead.")
    return Sensitivity(norm, b - a if _replaced(adjacency) else max(abs(a), abs(b)), adjacency=adjacency)


def located_sum(
    norm: Norm, *, columns: int, radius: Number, beside: Number, constant: Number = 0, adjacency: Adjacency
) -> Sensitivity:
    """The sum of (x, ||x||^2 / r, b, c): rows in the ball ||x||_2 <= r of R^m, their squared lengths, b in [0, beside],
    and a constant c that counts the rows.

    Claim: the squared length is free where the rows are paid for. Replace-one L2 sqrt(4 r^2 + beside^2); L1
    2 r sqrt(m) + beside for m >= 4 and r (1 + sqrt(m)/2)^2 + beside below; add/remove sqrt(2 r^2 + beside^2 + c^2) and
    r (sqrt(m) + 1) + beside + c. Proof: add/remove: one row with all its coordinates.
    Replace-one: let ||x|| = r, ||y|| = t r with t <= 1 (the longer one may be stretched). Then ||x - y||^2 <= r^2 (1 +
    t)^2 and the squared lengths differ by r (1 - t)(1 + t), so L2^2 <= r^2 (1 + t)^2 (1 + (1 - t)^2), which grows up to
    t = 1; L1 <= r (1 + t)(sqrt(m) + 1 - t), largest at t = min(1, sqrt(m)/2).
    Worst pair: x = r 1/sqrt(m), y = -t x, with b = 0 and b = beside.
    """
    _only(norm, _VECTOR, "located_sum")
    m, r, b = _count("columns", columns), _size("radius", radius), _size("beside", beside)
    c = _constant(constant)
    if not _replaced(adjacency):
        value = r * (root_up(m) + 1) + b + c if norm is Norm.L1 else root_up(2 * r * r + b * b + c * c)
    elif norm is Norm.L2:
        value = root_up(4 * r * r + b * b)
    else:
        value = r * (2 * root_up(m) if m >= 4 else (1 + root_up(m) / 2) ** 2) + b
    return Sensitivity(norm, value, adjacency=adjacency)


def block_sums(
    norm: Norm, *, columns: int, radius: Number, constant: Number = 0, blocks: int = 1, adjacency: Adjacency
) -> Sensitivity:
    """The sums of (x, c), rows in the ball ||x||_2 <= r of R^m and a constant c, one sum for each block of rows.

    A block is a class or a cell: which one a row falls into follows from that row alone.

    Claim: replace-one, one block: L2 2 r, L1 2 r sqrt(m), since c cancels. Several blocks: L2 max(2 r, sqrt(2 (r^2 +
    c^2))), L1 2 (r sqrt(m) + c). Add/remove: L2 sqrt(r^2 + c^2), L1 r sqrt(m) + c. Proof: within a block the change is
    (x - y, 0); between blocks (x, c) leaves one and (y, c) enters another, in separate coordinates. Worst pair:
    x = r 1/sqrt(m), y = -x, within a block or in two.
    """
    _only(norm, _VECTOR, "block_sums")
    m, r, c = _count("columns", columns), _size("radius", radius), _constant(constant)
    several = _count("blocks", blocks) > 1
    one = r * root_up(m) + c if norm is Norm.L1 else root_up(r * r + c * c)
    if not _replaced(adjacency):
        return Sensitivity(norm, one, adjacency=adjacency)
    within = row_sum(norm, columns=m, radius=r, adjacency=adjacency).value
    apart = 2 * one if norm is Norm.L1 else root_up(2 * (r * r + c * c))
    return Sensitivity(norm, max(within, apart) if several else within, adjacency=adjacency)


def class_counts(norm: Norm, *, adjacency: Adjacency) -> Sensitivity:
    """How many rows have each label.

    Claim: replace-one L1 2, L2 sqrt 2; add/remove 1 and 1. Proof: a label move takes one from a count and
    adds one to another. Worst pair: any two labels.
    """
    return histogram(norm, columns=1, adjacency=adjacency)


def histogram(norm: Norm, *, columns: int, adjacency: Adjacency) -> Sensitivity:
    """How many rows fall into each bin, for several columns at once, one bin a column and row (public edges).

    Claim: replace-one L1 2c, L2 sqrt(2c); add/remove c and sqrt(c). Proof: in each column one unit moves
    between two bins. Clipping a count to a public range changes it by no more. Worst pair: rows in
    different bins everywhere.
    """
    _only(norm, _VECTOR, "histogram")
    moved = _count("columns", columns) * (2 if _replaced(adjacency) else 1)
    return Sensitivity(norm, Fraction(moved) if norm is Norm.L1 else root_up(moved), adjacency=adjacency)


def threshold_counts(norm: Norm, *, thresholds: int, adjacency: Adjacency) -> Sensitivity:
    """How many rows lie at or below each of k public thresholds (the questions of a quantile search).

    Claim: L1 k, L2 sqrt(k), for both adjacencies. Proof: a row adds 0 or 1 to each count. Worst pair: below
    all, above all.
    """
    _only(norm, _VECTOR, "threshold_counts")
    k = _count("thresholds", thresholds)
    _replaced(adjacency)
    return Sensitivity(norm, Fraction(k) if norm is Norm.L1 else root_up(k), adjacency=adjacency)


# --- Second moments ---


def _upper_triangle(q: int) -> Fraction:
    """sup of sum_{i<=j} |x_i x_j - y_i y_j| over the unit ball: exact for every q (T2)."""
    if q == 1:
        return Fraction(1)
    return root_up(Fraction(q * q, 2) + q + (Fraction(1) if q % 2 == 0 else Fraction(3, 4)))


def _whole_matrix(q: int) -> Fraction:
    """An upper bound of sum_ij |x_i x_j - y_i y_j| over the unit ball: sqrt(2) q, exact for even q (T2)."""
    return Fraction(1) if q == 1 else root_up(2 * q * q)


def moments(
    norm: Norm, *, width: int, ball: Number, blocks: int = 1, whole: bool = False, adjacency: Adjacency
) -> Sensitivity:
    """The sum of outer products xx', ||x||_2^2 <= ball = T, in q columns; with blocks > 1, one sum for each
    label.

    A constant last coordinate makes one matrix carry count, sum and second moment: the row (x, lambda) has
    T = ||x||^2 + lambda^2, and the claims hold for it unchanged.

    Claim, one block, replace-one: nuclear 2T, Frobenius sqrt(2) T, upper triangle T sqrt(q^2/2 + q + 1) for
    even q and T sqrt(q^2/2 + q + 3/4) for odd q > 1, whole matrix sqrt(2) q T; for q = 1 all are T. Several
    blocks (the label may move): nuclear 2T, Frobenius sqrt(2) T, upper triangle (q + 1) T, whole matrix 2 q
    T. Add/remove: nuclear T, Frobenius T, upper triangle (q + 1)/2 T, whole q T. Proof:
    docs/explanation/proofs/moments.md. Worst pairs: orthonormal x, y of length sqrt(T); for the upper triangle x =
    (c..c, s..s), y = (-s..-s, c..c) with tan(2 phi) = q/(q + 2); for a label move x = y = 1 sqrt(T/q).
    """
    _only(norm, _MATRIX, "moments")
    q, T, several = _count("width", width), _size("ball", ball), _count("blocks", blocks) > 1
    replaced = _replaced(adjacency)
    pair = replaced and (several or q > 1)  # one number in [0, T] moves by at most T
    if norm is Norm.NUCLEAR:
        value = 2 * T if pair else T
    elif norm is Norm.FROBENIUS:
        value = root_up(2 * T * T) if pair else T
    elif replaced and not several:
        value = T * (_whole_matrix(q) if whole else _upper_triangle(q))
    else:
        value = T * (Fraction(q) if whole else Fraction(q + 1, 2)) * (2 if replaced else 1)
    return Sensitivity(norm, value, adjacency=adjacency)


def box_moments(
    norm: Norm, *, width: int, bound: Number, whole: bool = False, adjacency: Adjacency
) -> Sensitivity:
    """The sum of outer products of rows in the box [-a, a]^M.

    Claim: whole matrix M^2 a^2, upper triangle M(M+1)/2 a^2 for both adjacencies; Frobenius sqrt(2) M a^2
    and nuclear 2 M a^2 (add/remove M a^2 both). Proof: T3 (docs/explanation/proofs/box_moments.md). Worst pair: u = a1,
    v = 0 for L1 (attained); two orthogonal sign vectors for the others (attained for even M, slack below
    1/M^2 of the value for odd M > 1).
    """
    _only(norm, _MATRIX, "box_moments")
    M, square = _count("width", width), _size("bound", bound) ** 2
    if norm is not Norm.L1:
        return moments(norm, width=M, ball=M * square, adjacency=adjacency)
    _replaced(adjacency)
    return Sensitivity(norm, (M * M if whole else Fraction(M * (M + 1), 2)) * square, adjacency=adjacency)


def labelled_moments(
    norm: Norm,
    *,
    width: int,
    ball: Number,
    label: Number,
    constant: Number = 0,
    whole: bool = False,
    adjacency: Adjacency,
) -> Sensitivity:
    """The sum of outer products of (x, y, lambda): ||x||^2 <= ball = F in p columns, y in [-label, label],
    lambda constant.

    Claim, replace-one, with T = F + label^2 + lambda^2 and q the width of the joint row: nuclear 2T,
    Frobenius sqrt(2) T; L1 the smaller of T times the bound of `moments` and the sum of the parts F U(p) +
    2 label sqrt(pF) + label^2 + 2 lambda sqrt(pF) + 2 lambda label (cross terms twice for the whole
    matrix). Proof: a joint row lies in the ball T; and the parts xx', xy, y^2, lambda x, lambda y change by
    at most those terms. Worst pair: T is attained for label^2 + lambda^2 <= F; the sum of parts is an upper
    bound (docs/explanation/proofs/labelled_moments.md).
    """
    _only(norm, _MATRIX, "labelled_moments")
    p, F, a = _count("width", width), _size("ball", ball), _size("label", label)
    c = _constant(constant)
    joint = moments(norm, width=p + (2 if c else 1), ball=F + a * a + c * c, whole=whole, adjacency=adjacency)
    if norm is not Norm.L1 or not _replaced(adjacency):
        return joint
    features = moments(norm, width=p, ball=F, whole=whole, adjacency=adjacency).value
    cross = (2 * (a + c) * root_up(p * F) + 2 * a * c) * (2 if whole else 1)
    return Sensitivity(norm, min(joint.value, features + cross + a * a), adjacency=adjacency)


def diagonal_moments(norm: Norm, *, width: int, ball: Number, adjacency: Adjacency) -> Sensitivity:
    """The P diagonal entries of W'SW, S a sum of outer products of rows in the ball T, W public with
    orthonormal columns.

    Claim: replace-one L1 min(P, 2) T, L2 sqrt(min(P, 2)) T; add/remove T and T. Proof: the entries are sums
    of (w_i'x)^2 >= 0, whose sum over i is at most T. Worst pair: x = sqrt(T) w_1, y = sqrt(T) w_2.
    """
    _only(norm, _VECTOR, "diagonal_moments")
    P, T = _count("width", width), _size("ball", ball)
    pair = min(P, 2) if _replaced(adjacency) else 1
    return Sensitivity(norm, T * (pair if norm is Norm.L1 else root_up(pair)), adjacency=adjacency)


def eigenvalues(norm: Norm, *, count: int, ball: Number, adjacency: Adjacency) -> Sensitivity:
    """The P largest eigenvalues of a sum of outer products of rows in the ball T.

    Claim: as `diagonal_moments`. Proof: Lidskii, sum_i |lambda_i(A + D) - lambda_i(A)| <= ||D||_* <= 2T,
    each single one <= ||D||_op <= T; Hoffman-Wielandt gives sqrt(2) T in L2 (docs/explanation/proofs/eigenvalues.md).
    Worst pair: a base with a gap, and x, y along its first two eigenvectors.
    """
    _only(norm, _VECTOR, "eigenvalues")
    return diagonal_moments(norm, width=_count("count", count), ball=ball, adjacency=adjacency)


def rows_with_moments(norm: Norm, *, radius: Number, ratio: Number, adjacency: Adjacency) -> Sensitivity:
    """A row x, ||x||_2 <= B, released together with the sum of xx', whose GOE noise is `ratio` times the
    row's noise.

    Measured in units of the row's noise: sup of sqrt(||x - y||^2 + ||xx' - yy'||_F^2 / ratio^2). Claim,
    with b = (B/ratio)^2: B (2b + 1)/sqrt(2b) for b >= 1/2, and 2B for b <= 1/2: from ratio sqrt(2) B on the
    second moment is free. Replace-one only: rows are released one by one, so n is public. Proof: T6
    (docs/explanation/proofs/rows_with_moments.md). Worst pair: unit vectors with <x, y> = -1/(2b), or y = -x.
    """
    _only(norm, (Norm.L2,), "rows_with_moments")
    _rows_need_replacement(adjacency)
    B, b = _size("radius", radius), (_size("radius", radius) / _size("ratio", ratio)) ** 2
    value = B * (2 * b + 1) * root_up(1 / (2 * b)) if 2 * b >= 1 else 2 * B
    return Sensitivity(norm, value, adjacency=adjacency)


# --- Rows through a public projection ---


def _rows_need_replacement(adjacency: Adjacency) -> None:
    if not _replaced(adjacency):
        raise ParameterError(
            "A release of one row per record makes n public, so its adjacency must be replace-one."
        )


def _order(norm: Norm) -> int:
    return 1 if norm is Norm.L1 else 2


def row_change(norm: Norm, projection: Matrix, *, radius: Number, adjacency: Adjacency) -> Sensitivity:
    """The projected row xR, ||x||_2 <= B, all of which may change.

    Claim: L2 2B sigma_max(R); L1 2B max_s ||Rs||_2 over sign vectors s (exact to 18 outputs, a certified
    bound above). Proof: ||x - y|| <= 2B, and the operator norms from L2 to L2 and to L1; the second is
    max_s s'R'(x - y) over signs. Worst pair: x = B times the maximiser, y = -x.
    """
    _only(norm, _VECTOR, "row_change")
    _rows_need_replacement(adjacency)
    R = public_matrix(projection)
    stretch = two_to_one_norm(R) if norm is Norm.L1 else spectral_norm(R)
    return Sensitivity(norm, 2 * _size("radius", radius) * stretch, adjacency=adjacency)


def cell_change(norm: Norm, projection: Matrix, *, width: Number, adjacency: Adjacency) -> Sensitivity:
    """The projected row xR when one cell of x changes by at most `width` (2 for a number encoded into [-1,
    1]).

    Claim: width max_i ||R_i||: theta_2(R) in L2, the largest row's L1 norm in L1. Proof: the change is t
    R_i, |t| <= width. Worst pair: the cell of the longest R_i at its two ends. Not for clipped rows:
    clipping spreads a change over all cells.
    """
    _only(norm, _VECTOR, "cell_change")
    _rows_need_replacement(adjacency)
    longest = largest_row_norm(public_matrix(projection), _order(norm))
    return Sensitivity(norm, _size("width", width) * longest, adjacency=adjacency, unit=Unit.ATTRIBUTE)


def attribute_change(
    norm: Norm, projection: Matrix, attributes: Sequence[Attribute], *, adjacency: Adjacency
) -> Sensitivity:
    """The projected row xR when one attribute of one record changes, whatever columns encode it.

    Claim: the largest distance between two projected corners of an attribute: 2 ||R_i|| for a number in
    [-1, 1], max_ij ||R_i - R_j|| for a one-hot category. Proof: the attribute's codes lie in the hull of
    its corners, and a norm of a difference is convex in both, so its maximum is at corners. Worst pair:
    those two corners. Not for clipped rows.
    """
    _only(norm, _VECTOR, "attribute_change")
    _rows_need_replacement(adjacency)
    R = public_matrix(projection)
    if not attributes:
        raise ParameterError("The 'attributes' parameter must name at least one attribute. Got none instead.")
    farthest = max(_farthest_corners(R, attribute, _order(norm)) for attribute in attributes)
    return Sensitivity(norm, farthest, adjacency=adjacency, unit=Unit.ATTRIBUTE)


def _farthest_corners(R: Matrix, attribute: Attribute, order: int) -> Fraction:
    corners = np.asarray(attribute.corners, dtype=np.float64)
    block = R[list(attribute.columns)]
    projected = corners @ block
    # the product rounds each coordinate by at most c u sum|corner||R|, in both corners
    slack = len(attribute.columns) * 2.0**-51 * float((np.abs(corners) @ np.abs(block)).sum(axis=1).max())
    return largest_distance(projected, order) + 2 * fraction(slack)


def spread_sums(norm: Norm, *, attributes: int, unit: Unit, adjacency: Adjacency) -> Sensitivity:
    """The sum of encoded rows of `attributes` attributes, and the sum of their squared lengths.

    Claim: replace-one L2 2 for one attribute, sqrt(4 a + a^2) for a row of a attributes. Proof: a number moves by d =
    |x - y| and its square by d |x + y| with d + |x + y| <= 2, so the squared change is at most d^2 (1 + (2 - d)^2),
    which increases in d up to 4 at d = 2; a category moves by sqrt(2) and its square not at all; a missing number by
    at most sqrt(2), its square by at most 1. A row: ||x - y|| <= 2 sqrt(a), squared lengths lie in [0, a]
    (docs/explanation/proofs/row-releases.md). Worst pair: a number at -1 and 1; for a row the bound has slack:
    x = 1, y = -t x.
    """
    _only(norm, (Norm.L2,), "spread_sums")
    _rows_need_replacement(adjacency)
    a = _count("attributes", attributes)
    value = Fraction(2) if unit is Unit.ATTRIBUTE else root_up(4 * a + a * a)
    return Sensitivity(norm, value, adjacency=adjacency, unit=unit)
