r"""The l-dimensional problem behind a manifold-regularised one: `Reduction`.

With S = gamma_A I + gamma_I L K, X = S^-1 J' and the *deformed kernel* G = J K X every loss on the l labelled samples
has its optimum at alpha = X v, with f_lab = G v + b and the penalty v'G v. `reduce` computes X and G by one LU
factorisation; all classes, all losses, and all gammas of one ratio share them.

Factorised is S + c J'J K, which gives H = G (I + c G)^-1 first. S alone is nearly singular on the functions that the
graph does not penalise as soon as gamma_A << gamma_I, and the answer would lose half its digits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.exceptions import InvalidTypeError, SolverError
from specmargin.kernels.operators import KernelOperator, LowRankKernel, kernel_rows, kernel_trace
from specmargin.typing import FloatArray, IntArray, MatrixLike

__all__ = ["Applied", "Reduction", "graph_product", "reduce"]

_MOST_REFINEMENTS = 30
_CONTRACTION = 0.5  # of a refinement that gets anywhere
_COARSE = 1e-8  # relative size of the last correction that speaks of failure; roundings of the residual end below
_COLUMNS = 64  # that the graph multiplies at once: a panel this wide stays in the cache, which is a third of the time

_ASYMMETRY = 1e-6  # relative, of what is symmetric on paper
_SINGULAR = (
    "S = gamma_A I + gamma_I L K is singular to rounding: gamma_A is too far below gamma_I for a factorisation of S. "
    "specmargin.objectives.LapSVM.pivoted takes another road."
)

Inverse: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

DAMPING = 0.01
"""c of `Reduction` over gamma_I, or over gamma_A per mean diagonal of K where that is larger: it bounds what S^-1 makes
of unpenalised functions by 1/c, and costs G (1 + c |G|)^2 roundings."""


@dataclass(frozen=True, eq=False)
class Reduction:
    """The l-dimensional problem behind a manifold-regularised one.

    Parameters
    ----------
    damped : matrix-like of shape (n, l)
        (S + c J'J K)^-1 J' = X (I + c G)^-1, from which X itself is computed. An array, or in the span of a low-rank
        kernel's functions something that multiplies and is not stored.
    G : ndarray of shape (l, l)
        J K X, symmetric positive semidefinite: the deformed kernel at the labelled samples.
    c : float, default 0
        The c of `damped`.
    inverse : callable, optional
        What returns M^-1 r and K M^-1 r for r (n,) or (n, m) by the factors of M = S + c J'J K; None where these are
        not kept.
    """

    damped: Any
    G: FloatArray
    c: float = 0.0
    inverse: Inverse | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "inverse": None}  # a copy or a file need not hold the factors

    @cached_property
    def X(self) -> FloatArray:
        """S^-1 J', (n, l): expansion coefficients per labelled sample, alpha = X v."""
        return np.asarray(self.damped @ (np.eye(len(self.G)) + self.c * self.G))

    @cached_property
    def ridge_factor(self) -> Any:
        """Cholesky factor of G + I as `scipy.linalg.cho_factor` has it, of all classes of least squares; or None."""
        try:
            return sla.cho_factor(self.G + np.eye(len(self.G)))
        except np.linalg.LinAlgError:
            return None

    def coefficients(self, v: FloatArray) -> FloatArray:
        """Return alpha = X v, avoiding the huge entries that X has along functions free of the graph's penalty.

        They cancel in X v: v is small there, and G v moderate.
        """
        return np.asarray(self.damped @ (v + self.c * (self.G @ v)))

    def solve(self, r: FloatArray) -> FloatArray | None:
        """Return S^-1 r, approximately and up to what K maps to zero; None where the factors are not kept."""
        solve = getattr(self.damped, "solve", None)
        return None if solve is None else np.asarray(solve(r))

    def expanded(self, K: Any, labeled: IntArray, r: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return S^-1 r and K S^-1 r by the factors that are kept."""
        if self.inverse is None:
            alpha = self.solve(r)
            if alpha is None:
                raise SolverError("this reduction is a copy without the factors; make it anew.")
            return alpha, np.asarray(K @ alpha)
        alpha, image = self.inverse(r)
        rest = self.coefficients(self.c * image[labeled])
        return alpha + rest, image + K @ rest

    def scaled(self, factor: float) -> Reduction:
        """Return the reduction of both gammas divided by a factor: the same functions, in other units."""
        inverse = None if self.inverse is None else partial(_times, factor, self.inverse)
        return Reduction(factor * self.damped, factor * self.G, self.c / factor, inverse)


@dataclass(frozen=True, eq=False)
class Applied:
    """A Laplacian that remembers its product with K, the same for all weights of a grid.

    Parameters
    ----------
    L : matrix-like of shape (n, n)
        The Laplacian.
    K : ndarray of shape (n, n)
        The kernel it was applied to.
    product : ndarray of shape (n, n)
        L K.
    """

    L: MatrixLike
    K: FloatArray
    product: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples, twice."""
        return len(self.K), len(self.K)

    def __matmul__(self, other: FloatArray) -> FloatArray:
        return self.L @ other


def graph_product(L: MatrixLike, K: FloatArray, dtype: npt.DTypeLike = np.float64) -> FloatArray:
    """Return L K in that precision and in Fortran's order, computed panel by panel of columns.

    Examples
    --------
    >>> graph_product(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.eye(2)).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    LK = np.empty(K.shape, dtype=dtype, order="F")
    for start in range(0, K.shape[1], _COLUMNS):
        LK[:, start : start + _COLUMNS] = L @ np.ascontiguousarray(K[:, start : start + _COLUMNS])
    return LK


@dataclass(frozen=True, eq=False)
class _WoodburyInverse:
    """(S + c J'J K)^-1 J' for K = F F': products by Woodbury's identity, (J' v - image(F a v)) / gamma_A."""

    F: FloatArray
    L: MatrixLike
    labeled: IntArray
    a: FloatArray
    gamma_A: float
    gamma_I: float
    c: float
    factor: float = 1.0

    def __matmul__(self, v: FloatArray) -> FloatArray:
        f = self.F @ (self.a @ v)
        out = -self.gamma_I * (self.L @ f)
        out[self.labeled] += v - self.c * f[self.labeled]
        return np.asarray(out * (self.factor / self.gamma_A))

    def __rmul__(self, factor: float) -> _WoodburyInverse:
        return replace(self, factor=factor * self.factor)


def reduce(
    K: Any,
    L: MatrixLike | None,
    labeled: IntArray,
    gamma_A: float,
    gamma_I: float,
    dtype: npt.DTypeLike = np.float64,
) -> Reduction:
    """Return the reduction of a problem.

    Parameters
    ----------
    K : ndarray or sparse matrix of shape (n, n), or LowRankKernel
        Gram matrix. Of a low-rank one, F F' with a factor F of m columns, only a matrix of the order m is factorised.
    L : matrix-like of shape (n, n) or None
        Laplacian; None where gamma_I is 0.
    labeled : ndarray of shape (l,)
        Rows of the labelled samples.
    gamma_A, gamma_I : float
        Weights of the two norms.
    dtype : {float64, float32}, default float64
        Precision of the factorisation. float32 halves its time and memory; iterative refinement with residuals in
        float64 makes up for it.

    Raises
    ------
    SolverError
        If S is singular to rounding, or too ill-conditioned for float32: refinement does not converge.
    TypeError
        If K is an operator of another kind, which has nothing to factorise.

    Examples
    --------
    >>> K, L = np.eye(3), np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> found = reduce(K, L, np.array([0, 2]), gamma_A=1.0, gamma_I=1.0)
    >>> (8 * found.G).round(9).tolist()
    [[5.0, 1.0], [1.0, 5.0]]
    """
    if isinstance(K, KernelOperator) and not isinstance(K, LowRankKernel):
        raise InvalidTypeError(
            f"a {type(K).__name__} is not stored, so that there is nothing to factorise; use solvers.pcg, a "
            "LowRankKernel, or store it: np.asarray(K)."
        )
    damped: Any
    if L is None or gamma_I == 0:
        R = K.factor[labeled] if isinstance(K, LowRankKernel) else None
        G = (kernel_rows(K, labeled)[:, labeled] if R is None else R @ R.T) / gamma_A
        return Reduction(_units(K.shape[0], labeled) / gamma_A, (G + G.T) / 2, inverse=partial(_ambient, K, gamma_A))
    c = damping(K, gamma_A, gamma_I)
    if isinstance(K, LowRankKernel):
        damped, H, inverse = _in_the_span(K, L, labeled, gamma_A, gamma_I, c)
    else:
        damped, H, inverse = _in_full(K, L, labeled, gamma_A, gamma_I, c, dtype)
    largest = float(np.abs(H).max(initial=0.0))
    if not np.isfinite(H).all() or np.abs(H - H.T).max(initial=0.0) > _ASYMMETRY * largest:
        raise SolverError(_SINGULAR)
    return Reduction(damped, deformed(H, c)[0], c, inverse)


def _times(factor: float, inverse: Inverse, r: FloatArray) -> tuple[FloatArray, FloatArray]:
    alpha, image = inverse(r)
    return factor * alpha, factor * image


def _ambient(K: Any, gamma_A: float, r: FloatArray) -> tuple[FloatArray, FloatArray]:
    alpha = r / gamma_A
    return alpha, np.asarray(K @ alpha)


def _units(n: int, labeled: IntArray) -> FloatArray:
    """Return J', the unit vectors of the labelled samples as columns."""
    J = np.zeros((n, len(labeled)))
    J[labeled, np.arange(len(labeled))] = 1.0
    return J


def damping(K: Any, gamma_A: float, gamma_I: float) -> float:
    """Return the c of `Reduction`: gamma_A weighs coefficients, c and gamma_I weigh functions, K times as large."""
    unit = kernel_trace(K) / K.shape[0]
    return DAMPING * max(gamma_A / unit if unit > 0 else gamma_A, gamma_I)


def deformed(H: FloatArray, c: float) -> tuple[FloatArray, FloatArray]:
    """Return G = H (I - c H)^-1 and I + c G, for an H whose eigenvalues are in [0, 1/c] but for rounding."""
    h, V = np.linalg.eigh((H + H.T) / 2)
    h = np.clip(h, 0.0, (1.0 - 1e-15) / c)
    G = (V * (h / (1.0 - c * h))) @ V.T
    gain = (V / (1.0 - c * h)) @ V.T
    return (G + G.T) / 2, (gain + gain.T) / 2


def _in_the_span(
    K: LowRankKernel, L: MatrixLike, labeled: IntArray, gamma_A: float, gamma_I: float, c: float
) -> tuple[_WoodburyInverse, FloatArray, Inverse]:
    """Return M^-1 J' for M = S + c J'J K, its product with J K, and M^-1, by Woodbury's identity: K = F F'."""
    R = K.factor[labeled]
    P = gamma_I * K.penalty(L) + c * (R.T @ R)
    P[np.diag_indices_from(P)] += gamma_A
    try:
        factor = sla.cho_factor(P, check_finite=False)
    except sla.LinAlgError as error:
        raise SolverError(_SINGULAR) from error
    a = sla.cho_solve(factor, R.T, check_finite=False)

    def inverse(r: FloatArray) -> tuple[FloatArray, FloatArray]:
        f = K.factor @ sla.cho_solve(factor, K.factor.T @ r, check_finite=False)
        alpha = r - gamma_I * (L @ f)
        alpha[labeled] -= c * f[labeled]
        return alpha / gamma_A, f

    return _WoodburyInverse(K.factor, L, labeled, a, gamma_A, gamma_I, c), R @ a, inverse


def _in_full(
    K: Any, L: MatrixLike, labeled: IntArray, gamma_A: float, gamma_I: float, c: float, dtype: npt.DTypeLike
) -> tuple[FloatArray, FloatArray, Inverse]:
    """Return M^-1 J' for M = S + c J'J K, its product with J K, and M^-1, by an LU factorisation of the order n."""
    A: FloatArray
    J, rows = _units(K.shape[0], labeled), kernel_rows(K, labeled)
    if sp.issparse(K):
        A = (L @ K).toarray(order="F").astype(dtype, copy=False)
    elif isinstance(L, Applied) and L.K is K:
        A = L.product.astype(dtype, order="F")
    else:
        A = graph_product(L, K, dtype)
    A *= gamma_I
    A[np.diag_indices_from(A)] += gamma_A
    A[labeled] += c * rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sla.LinAlgWarning)  # of a zero pivot: the answer is not finite then
        lu = sla.lu_factor(A, overwrite_a=True, check_finite=False)

    def solve(rhs: FloatArray) -> FloatArray:
        return np.asarray(sla.lu_solve(lu, rhs.astype(dtype), check_finite=False), dtype=np.float64)

    def residual(rhs: FloatArray, damped: FloatArray) -> FloatArray:
        image = K @ damped
        left = rhs - gamma_A * damped - gamma_I * (L @ image)
        left[labeled] -= c * image[labeled]
        return np.asarray(left)

    coarse = np.dtype(dtype) == np.float32

    def inverse(r: FloatArray) -> tuple[FloatArray, FloatArray]:
        alpha = solve(r)
        alpha = _refined(alpha, solve, partial(residual, r)) if coarse else alpha + solve(residual(r, alpha))
        return alpha, np.asarray(K @ alpha)

    damped = solve(J)
    damped = _refined(damped, solve, partial(residual, J)) if coarse else damped + solve(residual(J, damped))
    return damped, rows @ damped, inverse


def _refined(
    x: FloatArray, solve: Callable[[FloatArray], FloatArray], residual: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return x after iterative refinement down to rounding: corrections by `solve`, residuals in float64."""
    last = np.inf
    for _ in range(_MOST_REFINEMENTS):
        correction = solve(residual(x))
        size = float(np.linalg.norm(correction)) / max(float(np.linalg.norm(x)), 1e-300)
        if not np.isfinite(size) or size > _CONTRACTION * last:
            break
        x = x + correction
        if size < 1e-15:
            return x
        last = size
    if last > _COARSE:
        raise SolverError(
            f"float32 is too coarse for this problem: iterative refinement ends at a relative error of {last:.0e}. "
            "Factorise in float64, or take gammas whose ratio is less extreme."
        )
    return x
