"""Every sensitivity has an adversary: a search over neighbours never beats it, a worst pair attains it."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gnomon.errors import ParameterError
from gnomon.privacy import sensitivity as module
from gnomon.privacy.guarantee import Adjacency, Unit
from gnomon.privacy.norms import spectral_norm, two_to_one_norm
from gnomon.privacy.sensitivity import (
    Attribute,
    Norm,
    Sensitivity,
    attribute_change,
    block_sums,
    box_moments,
    cell_change,
    class_counts,
    diagonal_moments,
    eigenvalues,
    histogram,
    labelled_moments,
    located_sum,
    moments,
    row_change,
    row_sum,
    rows_with_moments,
    scalar_sum,
    spread_sums,
    threshold_counts,
)

Rows = NDArray[np.float64]
REPLACE, ADD = Adjacency.REPLACE_ONE, Adjacency.ADD_REMOVE
L1, L2, NUCLEAR, FROBENIUS = Norm.L1, Norm.L2, Norm.NUCLEAR, Norm.FROBENIUS


@dataclass
class Adversary:
    """Neighbouring rows x and y, the change they make, and how close worst pair and search must come."""

    claim: Sensitivity
    change: Callable[[Rows, Rows], Rows]
    width: int
    feasible: Callable[[Rows], Rows]
    worst: tuple[Rows, Rows]
    attains: float = 1.0
    finds: float = 0.97


def search(case: Adversary, *, restarts: int = 50, steps: int = 200) -> float:
    """Random restarts, then ascent by shrinking random steps, all restarts at once."""
    rng = np.random.default_rng(20)
    x = case.feasible(rng.normal(size=(restarts, case.width)))
    y = case.feasible(rng.normal(size=(restarts, case.width)))
    best = case.change(x, y)
    for step in range(steps):
        size = 0.5 * 0.965**step + 1e-3
        mask = rng.random((restarts, 1)) < 0.7
        new_x = case.feasible(x + size * rng.normal(size=x.shape) * mask)
        new_y = case.feasible(y + size * rng.normal(size=y.shape))
        value = case.change(new_x, new_y)
        better = value > best
        x[better], y[better], best[better] = new_x[better], new_y[better], value[better]
    return float(best.max())


def into_ball(radius: float = 1.0) -> Callable[[Rows], Rows]:
    def clip(x: Rows) -> Rows:
        norms = np.linalg.norm(x, axis=1, keepdims=True)
        return x * np.minimum(1.0, radius / np.maximum(norms, 1e-300))

    return clip


def into_box(bound: float = 1.0) -> Callable[[Rows], Rows]:
    return lambda x: np.clip(x, -bound, bound)


def outer(x: Rows) -> Rows:
    return np.einsum("ri,rj->rij", x, x)


def matrix_norm(norm: Norm, D: Rows, whole: bool = False) -> Rows:
    if norm is L1:
        return (
            np.abs(D if whole else D[(slice(None), *np.triu_indices(D.shape[1]))]).reshape(len(D), -1).sum(1)
        )
    values = np.abs(np.linalg.eigvalsh(D))
    return values.sum(1) if norm is NUCLEAR else np.sqrt((values**2).sum(1))


def vector_norm(norm: Norm, v: Rows) -> Rows:
    return np.linalg.norm(v, ord=1 if norm is L1 else 2, axis=1)


def gone(y: Rows, adjacency: Adjacency) -> Rows:
    """Under add/remove the second row is not there."""
    return y if adjacency is REPLACE else np.zeros_like(y)


def unit(*values: float) -> Rows:
    v = np.array([values], dtype=float)
    return v / np.linalg.norm(v)


def basis(q: int, i: int) -> Rows:
    return np.eye(q)[i : i + 1]


def ones(q: int) -> Rows:
    return np.ones((1, q))


def triangle_pair(q: int, h: float = 0.5, e: float = 0.5) -> tuple[Rows, Rows]:
    """T2's worst pair; for odd q the larger half has one coordinate more."""
    a = (q + 1) // 2
    b = q - a
    phi = 0.5 * math.atan2(h * math.sqrt(q * q - q % 2), h * q + 2 * e)
    u_side, v_side = (
        np.repeat([1.0, 0.0], [a, b]) / math.sqrt(a),
        np.repeat([0.0, 1.0], [a, b]) / math.sqrt(b),
    )
    c, s = math.cos(phi), math.sin(phi)
    return (c * u_side + s * v_side)[None], (-s * u_side + c * v_side)[None]


# --- one function a sensitivity; each yields its adversaries ---


def adversaries_of_row_sum() -> list[Adversary]:
    cases = []
    for norm in (L1, L2):
        for adjacency in (REPLACE, ADD):
            m, r = 5, 3.0
            worst = r * unit(*[1.0] * m)
            cases.append(
                Adversary(
                    row_sum(norm, columns=m, radius=r, adjacency=adjacency),
                    lambda x, y, n=norm, a=adjacency: vector_norm(n, x - gone(y, a)),
                    m,
                    into_ball(r),
                    (worst, -worst),
                )
            )
    return cases


def adversaries_of_scalar_sum() -> list[Adversary]:
    return [
        Adversary(
            scalar_sum(norm, low=-2, high=5, adjacency=adjacency),
            lambda x, y, n=norm, a=adjacency: vector_norm(n, x - gone(y, a)),
            1,
            lambda x: np.clip(x, -2, 5),
            (np.array([[5.0]]), np.array([[-2.0]])),
        )
        for norm in (L1, L2)
        for adjacency in (REPLACE, ADD)
    ]


def adversaries_of_located_sum() -> list[Adversary]:
    cases = []
    r, beside, constant = 2.0, 0.7, 0.4
    for m in (1, 2, 3, 4, 7):
        for norm in (L1, L2):
            for adjacency in (REPLACE, ADD):

                def change(x: Rows, y: Rows, m: int = m, n: Norm = norm, a: Adjacency = adjacency) -> Rows:
                    counted = np.full(len(x), constant)
                    seen, other = (
                        np.c_[z[:, :m], (z[:, :m] ** 2).sum(1) / r, z[:, m], counted] for z in (x, y)
                    )
                    return vector_norm(n, seen - (other if a is REPLACE else 0))

                def feasible(x: Rows, m: int = m) -> Rows:
                    return np.c_[into_ball(r)(x[:, :m]), np.clip(x[:, m], 0, beside)]

                far = np.full((1, m), r / math.sqrt(m))
                t = min(1.0, math.sqrt(m) / 2) if norm is L1 else 1.0
                pair = (np.c_[far, [[beside]]], np.c_[-t * far, [[0.0]]])
                claim = located_sum(
                    norm, columns=m, radius=r, beside=beside, constant=constant, adjacency=adjacency
                )
                cases.append(Adversary(claim, change, m + 1, feasible, pair, finds=0.93))
    return cases


def adversaries_of_block_sums() -> list[Adversary]:
    """Rows (x, which block): the sign of the last number is the block."""
    cases = []
    r = 2.0
    for m, constant, blocks in ((1, 0.0, 1), (3, 0.7, 1), (1, 0.7, 2), (4, 0.7, 2), (4, 5.0, 2), (3, 0.0, 2)):
        for norm in (L1, L2):
            for adjacency in (REPLACE, ADD):

                def placed(z: Rows, m: int = m, c: float = constant, blocks: int = blocks) -> Rows:
                    row = np.c_[z[:, :m], np.full(len(z), c)]
                    second = (z[:, m:] > 0) & (blocks > 1)
                    return np.c_[np.where(second, 0, row), np.where(second, row, 0)]

                def change(
                    x: Rows,
                    y: Rows,
                    n: Norm = norm,
                    a: Adjacency = adjacency,
                    placed: Callable[[Rows], Rows] = placed,
                ) -> Rows:
                    return vector_norm(n, placed(x) - (placed(y) if a is REPLACE else 0))

                def feasible(x: Rows, m: int = m) -> Rows:
                    return np.c_[into_ball(r)(x[:, :m]), np.clip(x[:, m], -1, 1)]

                far = np.full((1, m), r / math.sqrt(m))
                claim = block_sums(
                    norm, columns=m, radius=r, constant=constant, blocks=blocks, adjacency=adjacency
                )
                apart = 1.0 if blocks > 1 and (norm is L1 or constant > r) else -1.0
                pair = (np.c_[far, [[-1.0]]], np.c_[-far, [[apart]]])
                cases.append(Adversary(claim, change, m + 1, feasible, pair, finds=0.9))
    return cases


def _bins(x: Rows, bins: int = 4) -> Rows:
    """Each number falls into one of four bins; the counts of a row, flattened."""
    which = np.clip(np.floor((x + 2) * bins / 4), 0, bins - 1).astype(int)
    return np.eye(bins)[which].reshape(len(x), -1)


def adversaries_of_histogram(columns: int = 3) -> list[Adversary]:
    cases = []
    for norm in (L1, L2):
        for adjacency in (REPLACE, ADD):

            def change(x: Rows, y: Rows, n: Norm = norm, a: Adjacency = adjacency) -> Rows:
                other = _bins(y) if a is REPLACE else 0 * _bins(y)
                return vector_norm(n, _bins(x) - other)

            claim = (
                class_counts(norm, adjacency=adjacency)
                if columns == 1
                else histogram(norm, columns=columns, adjacency=adjacency)
            )
            pair = (np.full((1, columns), -1.9), np.full((1, columns), 1.9))
            cases.append(Adversary(claim, change, columns, into_box(2), pair))
    return cases


def adversaries_of_class_counts() -> list[Adversary]:
    return adversaries_of_histogram(columns=1)


def adversaries_of_threshold_counts() -> list[Adversary]:
    edges = np.array([-1.0, 0.0, 0.5, 1.0])
    cases = []
    for norm in (L1, L2):
        for adjacency in (REPLACE, ADD):

            def change(x: Rows, y: Rows, n: Norm = norm, a: Adjacency = adjacency) -> Rows:
                other = (y <= edges) if a is REPLACE else np.zeros((len(y), 4))
                return vector_norm(n, (x <= edges) * 1.0 - other)

            pair = (np.array([[-2.0]]), np.array([[2.0]]))
            claim = threshold_counts(norm, thresholds=4, adjacency=adjacency)
            cases.append(Adversary(claim, change, 1, into_box(2), pair))
    return cases


def adversaries_of_moments() -> list[Adversary]:
    cases = []
    for q in (1, 2, 3, 4, 5, 8):
        for norm, whole in ((L1, False), (L1, True), (NUCLEAR, False), (FROBENIUS, False)):
            T = 4.0

            def change(x: Rows, y: Rows, n: Norm = norm, w: bool = whole) -> Rows:
                return matrix_norm(n, outer(x) - outer(y), w)

            def move(x: Rows, y: Rows, n: Norm = norm, w: bool = whole) -> Rows:
                both = np.stack([matrix_norm(n, outer(x), w), matrix_norm(n, outer(y), w)])
                apart = np.sqrt((both**2).sum(0)) if n is FROBENIUS else both.sum(0)
                return np.maximum(apart, change(x, y, n, w))

            def appear(x: Rows, y: Rows, n: Norm = norm, w: bool = whole) -> Rows:
                return matrix_norm(n, outer(x), w)

            x, y = (basis(q, 0), basis(q, 1)) if q > 1 else (basis(1, 0), np.zeros((1, 1)))
            attains = 1.0
            if norm is L1 and q > 1:
                x, y = triangle_pair(q, *((1.0, 0.0) if whole else (0.5, 0.5)))
                # the whole matrix of an odd width has the slack sqrt(1 - 1/(2 q^2))
                attains = math.sqrt(1 - 1 / (2 * q * q)) if whole and q % 2 else 1.0
            spread = unit(*[1.0] * q)
            pair, same = (2 * x, 2 * y), (2 * spread, 2 * spread)
            finds = 0.97 if q <= 5 else 0.8
            one = dict(width=q, ball=T, whole=whole)
            ball = into_ball(2.0)
            cases += [
                Adversary(moments(norm, **one, adjacency=REPLACE), change, q, ball, pair, attains, finds),
                Adversary(moments(norm, **one, blocks=3, adjacency=REPLACE), move, q, ball, same, 1.0, finds),
                Adversary(moments(norm, **one, adjacency=ADD), appear, q, ball, same, 1.0, finds),
            ]
    return cases


def _orthogonal_signs(M: int) -> tuple[Rows, Rows]:
    return ones(M), np.where(np.arange(M) < M // 2, 1.0, -1.0)[None]


def adversaries_of_box_moments() -> list[Adversary]:
    cases = []
    for M in (1, 2, 3, 6):
        for norm, whole in ((L1, False), (L1, True), (NUCLEAR, False), (FROBENIUS, False)):
            for adjacency in (REPLACE, ADD):
                a = 0.5

                def change(
                    x: Rows, y: Rows, n: Norm = norm, w: bool = whole, d: Adjacency = adjacency
                ) -> Rows:
                    return matrix_norm(n, outer(x) - outer(gone(y, d)), w)

                u, v = (ones(M), 0 * ones(M)) if norm is L1 or M == 1 else _orthogonal_signs(M)
                odd = norm is not L1 and adjacency is REPLACE and M % 2 and M > 1
                attains = math.sqrt(1 - 1 / M**2) if odd else 1.0
                claim = box_moments(norm, width=M, bound=a, whole=whole, adjacency=adjacency)
                cases.append(Adversary(claim, change, M, into_box(a), (a * u, a * v), attains, 0.9))
    return cases


def adversaries_of_labelled_moments() -> list[Adversary]:
    cases = []
    for p in (2, 3, 8):
        for a, constant in ((0.25, 0.5), (0.6, 0.0)):
            for norm, whole in ((L1, False), (L1, True), (NUCLEAR, False), (FROBENIUS, False)):
                for adjacency in (REPLACE, ADD):

                    def joint(z: Rows, c: float = constant) -> Rows:
                        return np.hstack([z, np.full((len(z), 1), c)]) if c else z

                    def change(
                        x: Rows,
                        y: Rows,
                        n: Norm = norm,
                        w: bool = whole,
                        d: Adjacency = adjacency,
                        j=joint,
                    ) -> Rows:
                        other = outer(j(y)) if d is REPLACE else 0.0
                        return matrix_norm(n, outer(j(x)) - other, w)

                    def feasible(z: Rows, p: int = p, a: float = a) -> Rows:
                        return np.hstack([into_ball()(z[:, :p]), np.clip(z[:, p:], -a, a)])

                    claim = labelled_moments(
                        norm,
                        width=p,
                        ball=1,
                        label=a,
                        constant=constant,
                        whole=whole,
                        adjacency=adjacency,
                    )
                    worst = _labelled_pair(p, a, constant)
                    # L1 is a sum of parts with different worst pairs: an upper bound, reached to 80%
                    tight = 1.0 if norm is not L1 else 0.1
                    cases.append(Adversary(claim, change, p + 1, feasible, worst, tight, 0.8))
    return cases


def _labelled_pair(p: int, a: float, constant: float) -> tuple[Rows, Rows]:
    """Joint rows of full length that are orthogonal: opposite labels and <x, x'> = a^2 - constant^2."""
    c = a * a - constant * constant
    x, y = np.zeros((1, p + 1)), np.zeros((1, p + 1))
    x[0, 0], x[0, p], y[0, p] = 1, a, -a
    if p > 1:
        y[0, 0], y[0, 1] = c, math.sqrt(1 - c * c)
    return x, y


def adversaries_of_diagonal_moments() -> list[Adversary]:
    cases = []
    for P in (1, 2, 4):
        for norm in (L1, L2):
            for adjacency in (REPLACE, ADD):
                W = np.linalg.qr(np.random.default_rng(1).normal(size=(5, P)))[0]

                def change(x: Rows, y: Rows, n: Norm = norm, d: Adjacency = adjacency, W: Rows = W) -> Rows:
                    return vector_norm(n, (x @ W) ** 2 - (gone(y, d) @ W) ** 2)

                second = W[:, 1] if P > 1 else np.zeros(5)
                claim = diagonal_moments(norm, width=P, ball=4, adjacency=adjacency)
                cases.append(Adversary(claim, change, 5, into_ball(2), (2 * W[:, :1].T, 2 * second[None])))
    return cases


def adversaries_of_eigenvalues() -> list[Adversary]:
    cases = []
    base = np.diag([50.0, 20.0, 5.0, 0.0])
    for P in (1, 2, 3):
        for norm in (L1, L2):
            for adjacency in (REPLACE, ADD):

                def change(x: Rows, y: Rows, n: Norm = norm, d: Adjacency = adjacency, P: int = P) -> Rows:
                    one, two = (np.linalg.eigvalsh(base + outer(z)) for z in (x, gone(y, d)))
                    return vector_norm(n, (one - two)[:, ::-1][:, :P])

                claim = eigenvalues(norm, count=P, ball=1, adjacency=adjacency)
                cases.append(Adversary(claim, change, 4, into_ball(), (basis(4, 0), basis(4, 1)), finds=0.95))
    return cases


def adversaries_of_rows_with_moments() -> list[Adversary]:
    cases = []
    B = 1.5
    for ratio in (0.3, 1.0, 1.5, math.sqrt(2) * B, 4.0):

        def change(x: Rows, y: Rows, k: float = ratio) -> Rows:
            moved = matrix_norm(FROBENIUS, outer(x) - outer(y))
            return np.sqrt(((x - y) ** 2).sum(1) + (moved / k) ** 2)

        b = (B / ratio) ** 2
        c = -min(1.0, 1 / (2 * b))
        pair = (np.array([[B, 0.0, 0.0]]), B * np.array([[c, math.sqrt(1 - c * c), 0.0]]))
        claim = rows_with_moments(L2, radius=B, ratio=ratio, adjacency=REPLACE)
        cases.append(Adversary(claim, change, 3, into_ball(B), pair))
    return cases


def adversaries_of_row_change() -> list[Adversary]:
    rng = np.random.default_rng(2)
    cases = []
    for d, k in ((3, 1), (6, 4), (4, 7)):
        R = rng.normal(size=(d, k))
        signs = np.array(np.meshgrid(*[[-1, 1]] * k)).reshape(k, -1).T
        stretched = signs @ R.T
        for norm in (L1, L2):
            x = stretched[np.argmax((stretched**2).sum(1))] if norm is L1 else np.linalg.svd(R)[0][:, 0]
            x = 2 * unit(*x)
            claim = row_change(norm, R, radius=2, adjacency=REPLACE)
            cases.append(
                Adversary(
                    claim, lambda x, y, n=norm, R=R: vector_norm(n, (x - y) @ R), d, into_ball(2), (x, -x)
                )
            )
    return cases


def adversaries_of_cell_change() -> list[Adversary]:
    R = np.random.default_rng(3).normal(size=(6, 4))
    cases = []
    for norm in (L1, L2):

        def change(x: Rows, y: Rows, n: Norm = norm) -> Rows:
            """x chooses the cell by its largest number; that cell moves within [-1, 1]."""
            cell = np.abs(x).argmax(1)
            return vector_norm(n, (x - y)[np.arange(len(x)), cell][:, None] * R[cell])

        longest = int(vector_norm(norm, R).argmax())
        worst = (basis(6, longest), -basis(6, longest))
        claim = cell_change(norm, R, width=2, adjacency=REPLACE)
        cases.append(Adversary(claim, change, 6, into_box(), worst))
    return cases


def adversaries_of_attribute_change() -> list[Adversary]:
    """A number, a category of three and a number that may be missing; one of them changes."""
    R = np.random.default_rng(4).normal(size=(6, 4))
    attributes = [Attribute.number(0), Attribute.category([1, 2, 3]), Attribute.number_or_missing(4, 5)]

    def encoded(z: Rows, attribute: int) -> Rows:
        row = np.zeros((len(z), 6))
        if attribute == 0:
            row[:, 0] = np.clip(z[:, 0], -1, 1)
        elif attribute == 1:
            row[np.arange(len(z)), 1 + z[:, 1:4].argmax(1)] = 1
        else:
            missing = z[:, 5] > 0
            row[:, 4] = np.where(missing, 0, np.clip(z[:, 4], -1, 1))
            row[:, 5] = missing
        return row

    cases = []
    for norm in (L1, L2):
        for chosen in ([0], [1], [2], [0, 1, 2]):

            def change(x: Rows, y: Rows, n: Norm = norm, c: list[int] = chosen) -> Rows:
                return np.max([vector_norm(n, (encoded(x, i) - encoded(y, i)) @ R) for i in c], axis=0)

            corners = [
                (x, y)
                for x in np.array(np.meshgrid(*[[-1.0, 1.0]] * 6)).reshape(6, -1).T
                for y in (-x, np.roll(x, 1), x * [-1, 1, 1, 1, 1, -1], x * [-1, 1, 1, 1, -1, 1])
            ]
            pair = max(corners, key=lambda xy: float(change(xy[0][None], xy[1][None])[0]))
            claim = attribute_change(norm, R, [attributes[i] for i in chosen], adjacency=REPLACE)
            cases.append(Adversary(claim, change, 6, into_box(), (pair[0][None], pair[1][None])))
    return cases


def sensitivities() -> list[str]:
    """The public functions of sensitivity.py."""
    return [
        name
        for name, thing in inspect.getmembers(module, inspect.isfunction)
        if thing.__module__ == module.__name__ and not name.startswith("_")
    ]


@pytest.mark.parametrize("name", sensitivities())
def test_every_sensitivity_has_a_proof_and_resists_its_adversary(name: str) -> None:
    adversaries = globals().get(f"adversaries_of_{name}")
    assert adversaries is not None, f"{name} has no adversary: write adversaries_of_{name}"
    documented = " ".join((inspect.getdoc(getattr(module, name)) or "").split())
    for word in ("Claim", "Proof", "Worst pair"):
        assert word in documented, f"the docstring of {name} lacks its {word}"
    assert "adjacency" in inspect.signature(getattr(module, name)).parameters
    for case in adversaries():
        bound = float(case.claim.value)
        found = search(case)
        attained = float(case.change(*case.worst)[0])
        assert found <= bound * (1 + 1e-9), (name, case.claim, found)
        assert attained == pytest.approx(bound * case.attains, rel=1e-9) or (
            case.attains < 1 and bound * case.attains * (1 - 1e-9) <= attained <= bound * (1 + 1e-9)
        ), (name, case.claim, attained / bound)
        # a search that finds little would prove little
        assert found >= case.finds * bound, (name, case.claim, found / bound)


def test_adjacency_has_no_default_and_is_keyword_only() -> None:
    for name in sensitivities():
        parameter = inspect.signature(getattr(module, name)).parameters["adjacency"]
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.default is inspect.Parameter.empty


def test_upper_triangle_against_every_sign_matrix() -> None:
    """sup = max over sign matrices S of lambda_1 - lambda_q of (S + diag S)/2: all of them."""
    for q in (2, 3, 4):
        rows, columns = np.triu_indices(q)
        signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * len(rows))).reshape(len(rows), -1).T
        M = np.zeros((len(signs), q, q))
        M[:, rows, columns] = np.where(rows == columns, 1.0, 0.5) * signs
        M[:, columns, rows] = M[:, rows, columns]
        values = np.linalg.eigvalsh(M)
        truth = float((values[:, -1] - values[:, 0]).max())
        assert float(moments(L1, width=q, ball=1, adjacency=REPLACE).value) == pytest.approx(truth, rel=1e-12)


def test_printed_lemma_four_of_ron_gauss_is_broken_by_its_pair() -> None:
    c, s = math.cos(math.pi / 8), math.sin(math.pi / 8)
    x, y = np.array([[c, c, s, s]]) / math.sqrt(2), np.array([[-s, -s, c, c]]) / math.sqrt(2)
    change = float(matrix_norm(L1, outer(x) - outer(y), whole=True)[0])
    assert change == pytest.approx(4 * math.sqrt(2))
    assert change > 2 * math.sqrt(4)
    assert float(moments(L1, width=4, ball=1, whole=True, adjacency=REPLACE).value) >= change


def test_grid_values_are_exact_or_rounded_up() -> None:
    T = 2**32 + 2**30
    assert moments(NUCLEAR, width=17, ball=T, adjacency=REPLACE).value == 2 * T
    assert moments(L1, width=17, ball=T, blocks=2, adjacency=REPLACE).value == 18 * T
    frobenius = moments(FROBENIUS, width=17, ball=T, adjacency=REPLACE).value
    assert frobenius**2 > 2 * T * T
    assert frobenius**2 < 2 * T * T * (1 + Fraction(1, 2**70))
    assert row_sum(L1, columns=16, radius=65536, adjacency=REPLACE).value == 8 * 65536


def test_a_sensitivity_on_a_grid_covers_rounding() -> None:
    """Two numbers that straddle a rounding edge differ by a whole step more than the numbers do."""
    R = np.array([[0.3, -0.7], [0.2, 0.9]])
    rng = np.random.default_rng(5)
    for norm in (L1, L2):
        base = row_change(norm, R, radius=1, adjacency=REPLACE)
        claim = base.on_grid(4, coordinates=2)
        x, y = into_ball()(rng.normal(size=(20000, 2))), into_ball()(rng.normal(size=(20000, 2)))
        moved = vector_norm(norm, np.rint(4 * x @ R) - np.rint(4 * y @ R)).max()
        assert 4 * float(base.value) < float(claim.value)
        assert moved <= float(claim.value)
        assert moved > 0.8 * float(claim.value)
        slack = 2 if norm is L1 else math.sqrt(2)
        assert float(claim.value) == pytest.approx(4 * float(base.value) + slack)
        wider = base.on_grid(4, coordinates=2, error=0.25)
        assert float(wider.value) == pytest.approx(4 * float(base.value) + 1.5 * slack)


def test_attributes_are_the_unit_where_one_attribute_changes() -> None:
    R = np.eye(3)
    assert cell_change(L2, R, width=2, adjacency=REPLACE).unit is Unit.ATTRIBUTE
    category = attribute_change(L2, R, [Attribute.category([0, 1, 2])], adjacency=REPLACE)
    assert category.unit is Unit.ATTRIBUTE
    assert float(category.value) == pytest.approx(math.sqrt(2))
    assert row_change(L2, R, radius=1, adjacency=REPLACE).unit is Unit.ROW


def test_two_to_one_norm_is_certified_above_enumeration() -> None:
    """The relaxation is compared with the best of many sign vectors (a lower bound) and its proved factor."""
    rng = np.random.default_rng(6)
    R = rng.normal(size=(30, 24)) / math.sqrt(24)
    signs = np.sign(rng.normal(size=(200, 24)))
    for _ in range(60):
        signs = np.where(signs @ (R.T @ R) >= 0, 1.0, -1.0)
    reached = np.linalg.norm(signs @ R.T, axis=1).max()
    bound = float(two_to_one_norm(R))
    assert reached <= bound <= math.sqrt(math.pi / 2) * reached
    assert bound <= math.sqrt(24) * float(spectral_norm(R)) * (1 + 1e-9)


def test_orthonormal_projection_has_its_known_norms() -> None:
    Q = math.sqrt(50 / 20) * np.linalg.qr(np.random.default_rng(7).normal(size=(50, 20)))[0]
    assert float(two_to_one_norm(Q)) == pytest.approx(math.sqrt(50), rel=1e-9)
    assert float(spectral_norm(Q)) == pytest.approx(math.sqrt(2.5), rel=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (40, 3), (3, 40), (200, 200)])
def test_certified_norms_are_never_below_the_truth(shape: tuple[int, int]) -> None:
    """Integer matrices of rank one have norms that are known without rounding."""
    u, v = np.arange(1.0, shape[0] + 1), np.arange(1.0, shape[1] + 1)
    square = Fraction(int((u * u).sum()) * int((v * v).sum()))
    found = spectral_norm(np.outer(u, v))
    assert square <= found**2 <= square * (1 + Fraction(1, 10**8))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: row_sum(NUCLEAR, columns=2, radius=1, adjacency=REPLACE), "'norm' parameter of row_sum"),
        (lambda: row_sum(L1, columns=0, radius=1, adjacency=REPLACE), "'columns' parameter"),
        (lambda: row_sum(L1, columns=2, radius=math.nan, adjacency=REPLACE), "'radius' parameter"),
        (lambda: row_sum(L1, columns=2, radius=math.inf, adjacency=REPLACE), "'radius' parameter"),
        (lambda: row_sum(L1, columns=2, radius=1, adjacency="replace-one"), "'adjacency' parameter"),
        (lambda: scalar_sum(L1, low=2, high=2, adjacency=REPLACE), "'low' parameter"),
        (
            lambda: labelled_moments(L1, width=1, ball=1, label=1, constant=-1, adjacency=REPLACE),
            "'constant'",
        ),
        (lambda: row_change(L2, np.zeros(3), radius=1, adjacency=REPLACE), "'projection' parameter"),
        (
            lambda: row_change(L2, np.array([[math.nan]]), radius=1, adjacency=REPLACE),
            "'projection' parameter",
        ),
        (lambda: row_change(L2, np.eye(2), radius=1, adjacency=ADD), "must be replace-one"),
        (lambda: attribute_change(L2, np.eye(2), [], adjacency=REPLACE), "'attributes' parameter"),
        (lambda: Sensitivity(L1, math.inf, adjacency=REPLACE), "positive finite"),
        (lambda: Sensitivity(L1, 0, adjacency=REPLACE), "positive finite"),
        (lambda: moments(FROBENIUS, width=2, ball=1, adjacency=ADD).on_grid(2, coordinates=2), "L1 or L2"),
    ],
)
def test_bad_questions_get_one_sentence(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        call()


def test_every_long_proof_that_the_code_names_is_there() -> None:
    root = Path(module.__file__).parents[3]
    sources = "".join(path.read_text() for path in Path(module.__file__).parent.glob("*.py"))
    named = set(re.findall(r"docs/explanation/proofs/[\w-]+\.md", sources))
    assert len(named) >= 7
    assert [name for name in sorted(named) if not (root / name).is_file()] == []


def adversaries_of_spread_sums() -> list[Adversary]:
    """One number, one number that may be missing, and rows of a numbers; between x = 1 and y = -t x rows have slack."""

    def change(x: Rows, y: Rows) -> Rows:
        lengths = (x**2).sum(1) - (y**2).sum(1)
        return np.hypot(np.linalg.norm(x - y, axis=1), lengths)

    def or_missing(z: Rows) -> Rows:
        missing = z[:, 1] > 0
        return np.stack([np.where(missing, 0.0, np.clip(z[:, 0], -1, 1)), missing], axis=1)

    one = spread_sums(L2, attributes=3, unit=Unit.ATTRIBUTE, adjacency=REPLACE)
    far = np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0]])
    cases = [
        Adversary(one, change, 1, into_box(), (ones(1), -ones(1))),
        Adversary(one, change, 2, or_missing, far),
    ]
    for a, t in ((1, 1.0), (2, 1.0), (5, 0.1)):
        row = spread_sums(L2, attributes=a, unit=Unit.ROW, adjacency=REPLACE)
        cases.append(Adversary(row, change, a, into_box(), (ones(a), -t * ones(a)), attains=0.81, finds=0.8))
    return cases
