r"""Lower bounds of S3VMs by products in x, proved by one Cholesky factor however many products there are.

For multipliers lam >= 0 of products g_c (`Products`) the Lagrangian J - sum lam_c g_c is a quadratic in v, x = c + F v,

    L(v) = 1/2 |v|^2 - (x, 1)' N (x, 1) + price (a'x - rhs)^2,      S = I/2 - F' N_xx F + price F'a a'F,

where the last term is that of a balance on x. Where S is positive definite, min L is a lower bound of J at all points
at which no product is negative.

**Rounding.** S has an error of at most e_S, its factor one of at most e_C, in the spectral norm: the factor is that of
S - 3 (e_S + e_C) I, so that S - R R' exceeds 2e I. The value is L at the computed v, in terms whose rounding is
charged, less what the gradient there leaves: |residual|^2 / e. What remains, e |v - v^|^2, pays for the rounding of
what is solved with the factor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack, solve_triangular

from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.margin_space import MarginSpace, Quadratic
from specmargin.optima.boxes.products import Products
from specmargin.rounding import cholesky
from specmargin.typing import FloatArray

__all__ = ["ProductBound", "product_bound"]

_EPS = float(np.finfo(float).eps)
_REFINED = 6
_LOST = 1e-6
"""Share of the bound that the residual may cost; smaller multipliers, whose S is better conditioned, cost less."""
_SHRINK = (0.0, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2)


@dataclass(frozen=True, eq=False)
class ProductBound:
    """A proved bound and its proof.

    Parameters
    ----------
    lower : float
        Lower bound of J where no product is negative.
    lam : ndarray of shape (m,)
        The multipliers that prove it, >= 0.
    x : ndarray of shape (n,)
        Minimiser of the Lagrangian.
    factor : ndarray of shape (n, n)
        Cholesky factor of S, less the margin for rounding.
    margin : float
        Amount by which S exceeds the product of the factor.
    """

    space: MarginSpace
    products: Products
    lower: float
    lam: FloatArray
    x: FloatArray
    factor: FloatArray
    margin: float

    def quadratic(self) -> Quadratic:
        """Return the Lagrangian as a quadratic below J."""
        F, n = self.space.F, len(self.x)
        Z = solve_triangular(self.factor, F.T, lower=True, check_finite=False)
        lengths = np.sqrt((Z**2).sum(axis=0))
        solved = n * _EPS * float(np.linalg.norm(self.factor)) / np.sqrt(2.0 * self.margin)
        spread = lengths * (2.0 * solved + np.sqrt(4.0 * (n + 20) * _EPS))
        shift = 4.0 * (n + 20) * _EPS * (np.abs(self.x) + self.space.lengths * float(np.sqrt(2.0 * self.space.highest)))
        return Quadratic(0.5 * (Z.T @ Z), self.x, self.lower, spread, shift)

    def moments(self) -> FloatArray:
        """Return moments of (x, 1) on the central path, as far as S says: x, and a multiple of S^-1 as its covariance.

        With that multiple the products, weighted by their multipliers, add up to nothing.
        """
        spread, one = np.zeros((len(self.x) + 1,) * 2), np.append(self.x, 1.0)
        spread[:-1, :-1] = self.quadratic().Q
        middle = np.multiply.outer(one, one)
        missed, gained = (float(self.lam @ self.products.values(M)) for M in (middle, spread))
        return middle + (max(-missed / gained, 0.0) if gained > 0 else 0.0) * spread

    def reduce(self, box: MarginBox, level: float) -> bool:
        """Cut a box by what single multipliers say: g_c <= (level - bound) / lam_c where J <= level."""
        with np.errstate(divide="ignore", over="ignore"):
            room = max(level - self.lower, 0.0) / self.lam * (1.0 + 1e-12)
        low, high = np.full(len(self.x), -np.inf), np.full(len(self.x), np.inf)
        of = self.products
        lines = of.lines
        i, y, most = of.i[lines], of.sign[lines], 1.0 + room[lines] + 1e-12
        high[i[y > 0]], low[i[y < 0]] = most[y > 0], -most[y < 0]
        squares = of.squares
        most = np.sqrt(1.0 + room[squares]) * (1.0 + 1e-12)
        high[of.i[squares]], low[of.i[squares]] = most, -most
        return box.meet(low, high, level)


def product_bound(space: MarginSpace, products: Products, lam: FloatArray) -> ProductBound | None:
    """Return the bound that multipliers prove, a little smaller ones where S has no factor; None if there is none.

    Parameters
    ----------
    space : MarginSpace
        The problem; no level may exceed its ``highest``.
    products : Products
        Valid at all points that matter.
    lam : ndarray of shape (m,)
        Multipliers from anywhere; what is negative is taken as 0.
    """
    best: ProductBound | None = None
    for share in _SHRINK:
        proof, lost = _attempt(space, products, (1.0 - share) * np.maximum(lam, 0.0))
        if proof is not None and (best is None or proof.lower > best.lower):
            best = proof
        if proof is not None and lost <= _LOST * abs(proof.lower):
            break
    return best


def _attempt(space: MarginSpace, products: Products, lam: FloatArray) -> tuple[ProductBound | None, float]:
    """Return the bound that multipliers prove, and what of it their residual has cost."""
    F, n = space.F, len(space.y)
    unit, c = 2.0 * (n + 20) * _EPS, np.full(n, space.offset)
    N = products.matrix(lam)
    if space.price:
        row = np.append(space.balance, -float(space.total or 0.0))
        N -= space.price * np.multiply.outer(row, row)
    S = -(F.T @ (N[:n, :n] @ F))
    S = (S + S.T) / 2.0
    S[np.diag_indices(n)] += 0.5
    rows, weights = products.in_rows(lam)
    sizes = _sizes(space, rows, weights)
    size = np.abs(F).T @ (sizes[0][:n, :n] @ np.abs(F).sum(axis=1))
    margin = unit * (1.0 + float(size.max())) + (n + 2) * _EPS * float(np.abs(S.diagonal()).sum())
    lowered = np.array(S, order="F")
    lowered[np.diag_indices(n)] -= 3.0 * margin
    factor = cholesky(lowered, overwrite=True)
    if factor is None:
        return None, np.inf
    h = F.T @ (N[:n, :n] @ c + N[:n, n])
    v = _solved(S, factor, h)
    x = c + F @ v
    lower, lost = _value(space, rows, weights, sizes, N, v, x, margin)
    return ProductBound(space, products, lower, lam, x, factor, margin), lost


def _solved(S: FloatArray, factor: FloatArray, h: FloatArray) -> FloatArray:
    """Return S^-1 h, refined as long as that helps: the factor is that of another matrix, by the margin."""
    v = lapack.dpotrs(factor, h, lower=1)[0]
    residual = h - S @ v
    for _ in range(_REFINED):
        new = v + lapack.dpotrs(factor, residual, lower=1)[0]
        after = h - S @ new
        if not float(np.linalg.norm(after)) < 0.5 * float(np.linalg.norm(residual)):
            break
        v, residual = new, after
    return np.asarray(v)


def _value(
    space: MarginSpace,
    products: Products,
    lam: FloatArray,
    all_sizes: tuple[FloatArray, FloatArray],
    N: FloatArray,
    v: FloatArray,
    x: FloatArray,
    margin: float,
) -> tuple[float, float]:
    """Return a lower bound of min L from L and its gradient at v, all rounding to the worse; what the latter costs."""
    (sizes, unpriced), n, one = all_sizes, len(x), np.append(x, 1.0)
    unit = (n + 20) * _EPS
    moved = unit * (abs(space.offset) + np.abs(space.F) @ np.abs(v))  # by rounding, of x
    first, second = one[products.i] - products.p, one[products.j] - products.q
    moves = np.append(moved, 0.0)
    size = np.abs(first) * np.abs(second)
    doubt = (
        np.abs(first) * moves[products.j] + np.abs(second) * moves[products.i] + moves[products.i] * moves[products.j]
    )
    terms = 0.5 * float(v @ v) + float(lam @ size)
    value = 0.5 * float(v @ v) - float(lam @ (products.sign * first * second))
    doubts = float(lam @ doubt)
    if space.price:
        missed, total = float(space.balance @ x), float(space.total or 0.0)
        off = float(space.balance @ moved) + unit * (float(space.balance @ np.abs(x)) + abs(total))
        gap = abs(missed - total)
        value += space.price * (missed - total) ** 2
        doubts += space.price * (2.0 * gap * off + off**2)
        terms += space.price * gap**2
    residual = 0.5 * v - space.F.T @ (N[:n] @ one)
    absolute = np.abs(space.F).T @ (sizes[:n] @ (np.abs(one) + moves) + np.abs(N[:n, :n]) @ moved / unit)
    off = float(np.linalg.norm(residual)) + 4.0 * unit * float(np.linalg.norm(absolute + np.abs(v)))
    off += len(lam) * _EPS * float(np.sqrt(n) * np.abs(space.F).sum(axis=0).max()) * 2.0 * float(unpriced[:n, n].max())
    lost = off**2 / margin
    value -= lost + 2.0 * doubts + (len(lam) + 2 * n + 40) * _EPS * terms
    return value - space.allowance, lost


def _sizes(space: MarginSpace, products: Products, lam: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what the absolute values of all terms of N add up to, with the price and without it, entry by entry."""
    p, q, sign = -np.abs(products.p), -np.abs(products.q), np.abs(products.sign)
    sizes = replace(products, p=p, q=q, sign=sign).matrix(lam)
    row = np.append(space.balance, abs(space.total or 0.0))
    return sizes + space.price * np.multiply.outer(row, row), sizes
