r"""Primal and dual value of LapSVM and LapRLS with bounds on their rounding: what their certificate is made of.

`LapSVM.prove` adds up the objective and the lower bound of the docstring of `specmargin.objectives.lapsvm` at a
candidate. Both share the penalty, whose error moves them alike, and rest on one `Image` K alpha, which is computed
anew with more digits where rounding is what keeps a proof away.

Coefficients alpha grow like 1 / gamma_A, and f = K alpha stays of size one: large terms cancel, and float64 keeps about
n u |K| |alpha| of f as noise. As K is positive semidefinite, |K_ij| <= sqrt(K_ii K_jj), which bounds that by the
diagonal of K alone, once it is known that rounding has left no larger entry. Where the bound is too wide, `image`
computes the same products with parts of K and L that float64 multiplies exactly
(`specmargin.rounding.split_product`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from specmargin.graphs.laplacians import LaplacianOperator
from specmargin.kernels.operators import KernelOperator, kernel_diagonal, kernel_trace
from specmargin.kernels.truncated import TruncatedKernel
from specmargin.objectives.reduction import Applied
from specmargin.rounding import (
    UNIT,
    blocked_depth,
    blocked_product,
    exact_dot,
    exact_sum,
    gamma,
    split_product,
    two_product,
    two_sum,
)
from specmargin.typing import FloatArray, MatrixLike

__all__ = [
    "Image",
    "Products",
    "dual_with_error",
    "penalty_with_error",
    "primal_with_error",
    "residual",
    "residual_bound",
]

_STORED = 1000
"""Samples up to which a graph that is known by its products only is stored as a matrix."""
_TILE = 128
"""Rows and columns of K that are looked at together."""
_SAFE = 1.0 + 1e-9
"""Covers the roundings of the bounds themselves."""


@dataclass(frozen=True, eq=False)
class Image:
    """K alpha and L K alpha, each as a sum of two vectors, and bounds on their errors.

    Parameters
    ----------
    alpha : ndarray of shape (n,)
        The coefficients.
    f, f_low : ndarray of shape (n,)
        K alpha.
    f_error : ndarray of shape (n,)
        Bound on the error of that.
    g, g_low : ndarray of shape (n,)
        L (f + f_low); zero without a graph.
    g_error : ndarray of shape (n,)
        Bound on the error of that product, with f as it is.
    g_shift : ndarray of shape (n,)
        Bound on L times the error of f.
    """

    alpha: FloatArray
    f: FloatArray
    f_low: FloatArray
    f_error: FloatArray
    g: FloatArray
    g_low: FloatArray
    g_error: FloatArray
    g_shift: FloatArray

    def ambient(self) -> tuple[float, float]:
        """Return alpha'f, and a bound on the rounding of that product alone."""
        value = exact_dot(self.alpha, self.f) + float(self.alpha @ self.f_low)
        error = gamma(len(self.f) + 2) * float(np.abs(self.alpha) @ np.abs(self.f_low))
        return value, _SAFE * error + 4.0 * UNIT * abs(value)

    def intrinsic(self) -> tuple[float, float]:
        """Return f'L f, and a bound on its error but for what `f_error` makes of it to the first order."""
        f, g = np.abs(self.f) + np.abs(self.f_low), np.abs(self.g) + np.abs(self.g_low)
        small = float(self.f_low @ self.g) + float(self.f @ self.g_low)
        value = exact_dot(self.f, self.g) + small
        error = float(f @ self.g_error) + 2.0 * float(self.f_error @ self.g_error)
        error += float(self.f_error @ self.g_shift) + float(np.abs(self.f_low) @ np.abs(self.g_low))
        error += gamma(len(f) + 2) * (float(np.abs(self.f_low) @ g) + float(f @ np.abs(self.g_low)))
        return value, _SAFE * error + 4.0 * UNIT * abs(value)


class Products:
    """A kernel and a graph as factors of vectors.

    Parameters
    ----------
    K : kernel in any of the forms of `specmargin.kernels.operators.as_kernel`
        Positive semidefinite.
    L : matrix-like or None
        A matrix, a `specmargin.graphs.LaplacianOperator`, or anything with ``L @ v``. Nothing is known of how that
        rounds: up to 1,000 samples it counts as the matrix of its products with the unit vectors, the mean of that and
        its transpose, which is stored. Beyond, the bound is a guess, that of products of n terms without cancellation.
    """

    def __init__(self, K: Any, L: MatrixLike | None) -> None:
        self.K, self.L = K, L
        self.kept: tuple[Any, Any] | None = None
        """Something costly that all problems of these products share, under its key."""
        source: Any = L.L if isinstance(L, Applied) else L
        # Their class decides: what others call their matrix may be anything.
        matrix, self._power = (source.matrix, source.power) if isinstance(source, LaplacianOperator) else (source, 1)
        if sp.issparse(matrix):
            matrix = sp.csr_array(matrix)
        self._given: Any = matrix if sp.issparse(matrix) or isinstance(matrix, np.ndarray) else None
        self._matrix: Any = self._given
        if self._given is None and L is not None and K.shape[0] <= _STORED:
            columns = np.column_stack([np.asarray(L @ unit, dtype=float) for unit in np.eye(K.shape[0])])
            self._matrix = (columns + columns.T) / 2
        self._terms = 0  # in a row of L
        self._sizes: Any = None
        if self._matrix is not None:
            self._sizes = abs(self._matrix)
            per_row = np.diff(self._matrix.indptr) if sp.issparse(self._matrix) else self._matrix.shape[1]
            self._terms = int(np.max(per_row, initial=0))

    @cached_property
    def roots(self) -> FloatArray:
        """Numbers s with |K_ij| <= s_i s_j: square roots of the diagonal of K.

        Where rounding has made a stored K indefinite, as centring does at a sample near the mean, entries next to a
        tiny diagonal are larger than those roots allow; both of their samples are given what is missing.
        """
        squares = np.maximum(kernel_diagonal(self.K), 0.0)
        roots = np.sqrt(squares)
        if isinstance(self.K, KernelOperator):
            return roots
        over, beyond = np.zeros(len(roots), dtype=bool), 0.0
        entries = sp.coo_array(self.K) if sp.issparse(self.K) else None
        for start in range(0, len(roots) if entries is None else 1, _TILE):
            # Of a stored matrix, which is symmetric, the lower triangle at least; `_SAFE` covers the 1e-10.
            if entries is None:
                sizes = np.abs(self.K[start : start + _TILE, : start + _TILE])
                allowed = (1.0 + 1e-10) * roots[start : start + _TILE, None] * roots[: start + _TILE]
            else:
                sizes, allowed = np.abs(entries.data), (1.0 + 1e-10) * roots[entries.row] * roots[entries.col]
            outside = sizes > allowed
            if outside.any():
                i, j = np.nonzero(outside) if entries is None else (entries.row[outside], entries.col[outside])
                over[i + start] = over[j] = True
                beyond = max(beyond, float(sizes[outside].max()))
        return np.sqrt(np.where(over, np.maximum(squares, beyond), squares))

    def kernel(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return K v in float64, and a bound on the rounding of every entry."""
        if isinstance(self.K, np.ndarray):
            depth = gamma(blocked_depth(len(v)) + 1)
            return blocked_product(self.K, v), _SAFE * depth * float(self.roots @ np.abs(v)) * self.roots
        return np.asarray(self.K @ v), self.kernel_error(v)

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether L is a matrix that is symmetric to the last bit."""
        M = self._matrix
        if M is None:
            return False
        return bool((M != M.T).nnz == 0) if sp.issparse(M) else bool(np.array_equal(M, M.T))

    def kernel_error(self, v: FloatArray) -> FloatArray:
        """Return a bound on the rounding of every entry of ``K @ v`` in float64, in whichever order it is summed."""
        depth = self.K.rounding if isinstance(self.K, KernelOperator) else gamma(len(v) + 1)
        return np.asarray(_SAFE * depth * float(self.roots @ np.abs(v)) * self.roots)

    def length(self, error: FloatArray) -> float:
        """Return a bound on sqrt(v'K v) of every v with these moduli of its entries."""
        return _SAFE * float(self.roots @ error)

    def graph(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return L x, and a bound on the rounding of every entry."""
        assert self.L is not None
        if self._matrix is None:
            g = np.asarray(self.L @ x)
            return g, gamma(len(x) + 1) * np.abs(g)
        g = np.asarray((self._matrix if self._given is None else self.L) @ x)
        return g, gamma(self._power * (self._terms + 1)) * self.spread(np.abs(x))

    def spread(self, error: FloatArray) -> FloatArray:
        """Return a bound on the entries of L v for every v with these moduli of its entries."""
        if self._matrix is None:
            assert self.L is not None
            return np.abs(np.asarray(self.L @ error))
        for _ in range(self._power):
            error = np.asarray(self._sizes @ error)
        return _SAFE * error

    def image(self, alpha: FloatArray, Ka: FloatArray | None = None, slices: int = 0) -> Image | None:
        """Return K alpha and L K alpha.

        Parameters
        ----------
        alpha : ndarray of shape (n,)
            Coefficients.
        Ka : ndarray of shape (n,), optional
            K alpha in float64, where it is known: ``K @ alpha`` of these very alpha.
        slices : int, default 0
            0 is plain float64; 1 and 2 as in `specmargin.rounding.split_product`. None comes back where K or L cannot
            be split.
        """
        zero = np.zeros(len(alpha))
        if slices == 0:
            f, error = self.kernel(alpha) if Ka is None else (np.asarray(Ka), self.kernel_error(alpha))
            if self.L is None:
                return Image(alpha, f, zero, error, zero, zero, zero, zero)
            g, g_error = self.graph(f)
            return Image(alpha, f, zero, error, g, zero, g_error, self.spread(error))
        split = self.split_kernel(alpha, slices)
        if split is None or (self.L is not None and self._matrix is None):
            return None
        f, low, error = split
        if self.L is None:
            return Image(alpha, f, low, error, zero, zero, zero, zero)
        g, g_low, g_error = f, low, zero
        for _ in range(self._power):
            g, part, rounded = split_product(self._matrix, g, slices)
            g_error = self._sizes @ (g_error + gamma(self._terms + 3) * np.abs(g_low)) + rounded
            g_low = part + self._matrix @ g_low
            g_error += 2.0 * UNIT * np.abs(g_low)
        return Image(alpha, f, low, error, g, g_low, _SAFE * np.asarray(g_error), self.spread(error))

    def split_kernel(self, v: FloatArray, slices: int) -> tuple[FloatArray, FloatArray, FloatArray] | None:
        """Return K v as in `specmargin.rounding.split_product`, None where K cannot be split."""
        if isinstance(self.K, KernelOperator):
            return self.K.split_product(v, slices)
        # No entry of a positive semidefinite matrix exceeds the largest of its diagonal, but for rounding.
        return split_product(self.K, v, slices, largest=2.0 * float(self.roots.max(initial=0.0)) ** 2)


_CG_TOL, _CG_STEPS = 1e-8, 100
_TRUNCATED = 1e-10  # of the bound, that what is left out of a kernel may cost before it is looked at closely
LapSVM: TypeAlias = Any
"""`specmargin.objectives.LapSVM`, which calls this module and is not imported here."""


def penalty_with_error(obj: LapSVM, theta: FloatArray, image: Image) -> tuple[float, float]:
    """Return gamma_A a'Ka + gamma_I a'KLKa, and a bound on the error of that less theta'J Ka.

    An error of Ka moves that difference by its inner product with gamma_A a + 2 gamma_I L K a - J'theta, which is
    small where theta are the multipliers of a, far smaller than its three parts; and by terms of second order.
    """
    value, error = (obj.gamma_A * part for part in image.ambient())
    slope = obj.gamma_A * image.alpha
    size = np.abs(slope)
    if obj.products.L is not None:
        intrinsic, more = image.intrinsic()
        value, error = value + obj.gamma_I * intrinsic, error + obj.gamma_I * more
        part = 2.0 * obj.gamma_I * (image.g + image.g_low)
        slope, size = slope + part, size + np.abs(part)
    slope[obj.labels.labeled] -= theta
    size[obj.labels.labeled] += np.abs(theta)
    error += (1.0 + 1e-9) * float(image.f_error @ (np.abs(slope) + 8.0 * UNIT * size))
    return value, error + 4.0 * UNIT * abs(value)


def primal_with_error(obj: LapSVM, image: Image, b: float, theta: FloatArray, penalty: float) -> tuple[float, float]:
    """Return the objective, and a bound on its error but for that of the penalty; theta are near -y V'(y f).

    `penalty` is the value that `penalty_with_error` returns.
    """
    y, labeled = obj.labels.sign, obj.labels.labeled
    total, lost = two_sum(obj.slack_at_zero, -y * b)
    slack, again = two_sum(total, -y * image.f[labeled])
    low = lost + again - y * image.f_low[labeled]
    slack = slack + low
    # Of the error of f its product with theta is in `penalty_with_error`; the rest is convex, and largest at an end.
    off = image.f_error[labeled]
    known = 2.0 * UNIT * (np.abs(slack) + 2.0 * np.abs(low))
    share = 8.0 * UNIT
    losses_of = obj.margin_loss.value_of_slack
    if not obj.margin_loss.piecewise_quadratic:
        # Of the margin 1 - slack at which these are known, and of the logarithms; here, and at either end below.
        known, share = known + 16.0 * UNIT * (1.0 + np.abs(slack)), 32.0 * UNIT
    losses, beta = losses_of(slack), y * theta
    up, down = (np.maximum(losses_of(end + known), losses_of(end - known)) for end in (slack + off, slack - off))
    rest = np.maximum(up - losses - off * beta, down - losses + off * beta)
    error = float(rest.sum()) + share * float((np.maximum(up, down) + off * np.abs(beta)).sum())
    value = exact_sum(losses) + penalty
    return obj.scale * value, obj.scale * ((1.0 + 1e-9) * error + 4.0 * UNIT * abs(value))


def dual_with_error(
    obj: LapSVM,
    theta: FloatArray,
    image: Image,
    penalty: tuple[float, float],
    thorough: bool = True,
) -> tuple[float, float]:
    """Return the lower bound of `specmargin.objectives.lapsvm`, and a bound on its error but for that of the penalty.

    What a hundredth of the error outweighs is not made smaller.
    """
    y, labeled = obj.labels.sign, obj.labels.labeled
    gains, error = obj.dual_terms(y * theta)
    linear = exact_dot(theta, image.f[labeled]) + float(theta @ image.f_low[labeled])
    error += gamma(len(y) + 2) * float(np.abs(theta) @ np.abs(image.f_low[labeled])) + 4.0 * UNIT * abs(linear)
    lagrangian = exact_sum(gains) + penalty[0] - linear
    error += 4.0 * UNIT * (abs(penalty[0]) + abs(linear) + abs(lagrangian))
    enough = max(1e-13 * abs(lagrangian), 0.01 * (penalty[1] + error))
    missed = residual_bound(obj, theta, image, enough, thorough)
    if isinstance(obj.K, TruncatedKernel):
        # What it leaves out costs gamma_A (|a| + |r| / (2 gamma_A))^2 in the norm of that: twice either square.
        spare = math.sqrt((_TRUNCATED * abs(lagrangian) + 0.01 * missed) / obj.gamma_A)
        error += 2.0 * obj.gamma_A * obj.K.length_left(image.alpha, spare) ** 2
    value = lagrangian - missed
    return obj.scale * value, obj.scale * (error + 4.0 * UNIT * abs(value))


def residual(obj: LapSVM, theta: FloatArray, image: Image) -> tuple[FloatArray, FloatArray]:
    """Return r = 2 S a - J'theta, and a bound on the error of every entry."""
    labeled = obj.labels.labeled
    loss_part = np.zeros(len(image.alpha))
    loss_part[labeled] = theta
    r, off = two_product(2.0 * obj.gamma_A, image.alpha)
    # What is left of the parts may cancel, too: each counts by itself.
    parts, error = np.abs(off), np.zeros(len(r))
    if obj.products.L is not None:
        weight = 2.0 * obj.gamma_I
        part, rounded = two_product(weight, image.g)
        r, lost = two_sum(r, part)
        low = weight * image.g_low
        off = off + rounded + lost + low
        parts = parts + np.abs(rounded) + np.abs(lost) + np.abs(low)
        error = weight * (image.g_error + image.g_shift)
    r, lost = two_sum(r, -loss_part)
    r = r + (off + lost)
    error = error + 2.0 * UNIT * np.abs(r) + 8.0 * UNIT * (parts + np.abs(lost))
    return r, error


def residual_bound(obj: LapSVM, theta: FloatArray, image: Image, negligible: float, thorough: bool = True) -> float:
    """Return an upper bound on r'K S^-1 r / 4, r = 2 S a - J'theta, without ado where the simple one is negligible.

    Whatever rounding may have made of r and of the products with it is part of the bound.
    """
    products = obj.products
    r, error = residual(obj, theta, image)
    unit = 1.0 / (4.0 * obj.gamma_A)

    def ambient(part: FloatArray, error: FloatArray) -> float:
        """Return a bound on the length of part in the kernel's norm, over 2 sqrt(gamma_A)."""
        image, off = products.kernel(part)
        inner, rounding = float(part @ image), float(np.abs(part) @ off)
        rounding += gamma(len(part) + 2) * products.length(np.abs(part)) ** 2
        if rounding * unit > 0.1 * negligible and (split := products.split_kernel(part, 2)) is not None:
            inner = exact_dot(part, split[0]) + float(part @ split[1])
            low = gamma(len(part) + 2) * np.abs(split[1])
            rounding = float(np.abs(part) @ (split[2] + low)) + 4.0 * UNIT * abs(inner)
        inner += rounding
        root = math.sqrt(max(inner, 0.0) * unit) * (1.0 + 16.0 * UNIT)
        if isinstance(obj.K, TruncatedKernel):
            root += math.sqrt(2.0 * unit) * obj.K.length_left(part, math.inf)
        return root + products.length(error) * math.sqrt(unit)

    # |v|_K is no more than sum_i sqrt(K_ii) |v_i|: where that decides it, a product with K is saved.
    n, coarse = len(r), products.length(np.abs(r) + error) ** 2 * unit
    if coarse <= negligible:
        return coarse
    simple = ambient(r, error) ** 2
    if simple <= negligible or not thorough or products.L is None or not np.isfinite(simple):
        return min(coarse, simple)
    # K S^-1 = (gamma_A K^-1 + gamma_I L)^-1 is a parallel sum: whatever x is, r = gamma_I L x + rest costs
    # gamma_I x'L x + rest'K rest / gamma_A. The best x is K S^-1 r; a few conjugate gradients find another one.
    bound = min(coarse, simple)
    for x in _splits(obj, r):
        Lx, rounded = products.graph(x)
        graph = obj.gamma_I * Lx
        inner = float(x @ graph) + float(np.abs(x) @ (obj.gamma_I * rounded + gamma(n + 2) * np.abs(graph)))
        more = error + obj.gamma_I * rounded + 4.0 * UNIT * (np.abs(graph) + np.abs(r))
        bound = min(bound, max(inner, 0.0) / 4.0 * (1.0 + 16.0 * UNIT) + ambient(r - graph, more) ** 2)
        if bound <= negligible:
            break
    return bound


def _splits(obj: LapSVM, r: FloatArray) -> Iterator[FloatArray]:
    """Yield candidates for the x of `residual_bound`."""
    solve = getattr(obj.reduction.damped, "solve", None) if "reduction" in vars(obj) else None
    if solve is not None:
        yield np.asarray(obj.K @ np.asarray(solve(r)))
    L, n, shift = obj.products.L, len(r), obj.gamma_A / max(kernel_trace(obj.K), 1e-300)
    assert L is not None
    # Conjugate gradients as scipy's, whose overhead would be most of the time on a small graph.
    x, left, direction, before = np.zeros(n), r.copy(), np.zeros(n), 1.0
    enough = _CG_TOL * float(np.linalg.norm(r))
    for _ in range(_CG_STEPS if enough > 0.0 else 0):
        if float(np.linalg.norm(left)) < enough:
            break
        square = float(left @ left)
        direction *= square / before
        direction += left
        image = shift * direction + obj.gamma_I * (L @ direction)
        step = square / float(direction @ image)
        x += step * direction
        left -= step * image
        before = square
    yield x
