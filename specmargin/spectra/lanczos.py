r"""The low end of a large Laplacian: filtered thick-restart block Lanczos.

Block Lanczos on S = p(L), p a Chebyshev polynomial that amplifies the low end, spans
V = [W_0, W_1, ...] with W_{j+1} an orthonormal basis of S W_j less its part in V. The Ritz pairs (theta, x) are the
eigenpairs of H = V'SV. Orthogonalisation is the main cost of block Lanczos, so that the filter is worth its
products: with 15 of them per block a fraction of the columns is enough.

- **Precision.** float32 where it can attain the residual asked for. Where the filter grows too much over the wanted
  interval, rounding exceeds its values in the upper part; that limits the degree.
- **Stopping.** What S W_j leaves outside V gives |S x - theta x| for every Ritz pair at once, and
  `ChebyshevFilter.residual_bounds` turns that into a bound on the residual with L, up to rounding. Accepted pairs are
  refined by one Rayleigh-Ritz step with L in float64, which makes them orthonormal; `laplacian_eigenpairs`
  recomputes their residual.
- **Restart.** When V is full it shrinks to the leading Ritz vectors, and the last block continues.
- **Multiplicity.** b start vectors see b dimensions of an eigenspace. After convergence a block of fresh random vectors
  is filtered in the complement: an eigenvalue more than the residual below the last wanted one was missed, and the
  iteration goes on with it. That finds missing pairs with high probability; it proves nothing.

References
----------
Wu & Simon (2000), Thick-restart Lanczos method for large symmetric eigenvalue problems. Zhou & Saad (2007), A
Chebyshev-Davidson algorithm for large symmetric eigenproblems. Lin, Saad & Yang (2016), Approximating spectral
densities of large matrices.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from specmargin.exceptions import SolverError
from specmargin.spectra.spectrum import pieces, residual_norms
from specmargin.typing import AnyArray, FloatArray, SparseArray

__all__ = ["SINGLE", "ChebyshevFilter", "Deflation", "Density", "estimate_density", "lowest_eigenpairs"]

SINGLE = 5e-6
"""Smallest residual, relative to the bound on the norm, that is left to float32."""

_LOGGER = logging.getLogger(__name__)
_GROWTH = {4: 9.0, 8: 16.0}  # log of the filter's growth over the wanted interval, by bytes of the precision
_CYCLES = 30
_SURPLUS, _MARGIN = 1.1, 1.1  # the cut lies where 1.1 k eigenvalues are expected, and 10 % above that
_SEARCH_BLOCK, _SEARCH_STEPS = 16, 3
_VECTORS = 8
_STEPS = 50
_AMPLIFIED = 1.5  # p of an eigenvalue that is clearly below the damped interval
_LOWEST, _LINEAR = 1e-4, 0.7  # shares of the interval: a lower cut needs a degree of hundreds, a higher one none


class Deflation:
    """Removes the null space, known exactly, from the columns of a block."""

    def __init__(self, basis: SparseArray, dtype: Any) -> None:
        self._basis = sp.csr_array(basis, dtype=dtype)
        self._transposed = sp.csr_array(self._basis.T)

    def __call__(self, Y: AnyArray) -> AnyArray:
        """Project the block `Y` of shape (n, b) in place, and return it."""
        Y -= self._basis @ (self._transposed @ Y)
        return Y


@dataclass(frozen=True)
class Density:
    """An estimate of the number of eigenvalues up to a number.

    Parameters
    ----------
    nodes, counts : ndarray of shape (v, s)
        Nodes of the quadrature of each of v random vectors, and the number of eigenvalues up to each.
    """

    nodes: FloatArray
    counts: FloatArray

    @property
    def largest(self) -> float:
        """The largest node: just below the largest eigenvalue."""
        return float(self.nodes.max())

    def quantile(self, count: float) -> float:
        """Return the number up to which `count` eigenvalues are expected."""
        grid = np.unique(self.nodes)
        mean = np.mean([np.interp(grid, *pair) for pair in zip(self.nodes, self.counts, strict=True)], axis=0)
        return float(np.interp(count, mean, grid))


def estimate_density(L: SparseArray, deflate: Deflation, count: int, rng: np.random.Generator) -> Density:
    """Estimate the density of the `count` eigenvalues off the null space by stochastic Lanczos quadrature.

    For a random unit vector v the Lanczos process gives Gauss quadrature for v'f(L)v, whose mean is tr f(L) / n. Lost
    orthogonality does no harm here: copies of a Ritz value share the weight of their eigenvalue. Vectors are treated as
    the columns of one block.
    """
    n = L.shape[0]
    steps = min(_STEPS, count)
    V = deflate(rng.standard_normal((n, _VECTORS), dtype=L.dtype))
    V /= np.sqrt(np.einsum("ij,ij->j", V, V))
    before, beta = np.zeros_like(V), np.zeros(_VECTORS, dtype=L.dtype)
    diagonal, below = np.empty((steps, _VECTORS)), np.empty((steps, _VECTORS))
    for j in range(steps):
        Y = L @ V
        before *= beta
        Y -= before
        diagonal[j] = alpha = np.einsum("ij,ij->j", Y, V)
        Y -= alpha * V
        below[j] = beta = np.sqrt(np.einsum("ij,ij->j", Y, Y))
        Y /= np.maximum(beta, np.finfo(beta.dtype).tiny)
        before, V = V, Y
    nodes, counts = np.zeros((_VECTORS, steps + 1)), np.zeros((_VECTORS, steps + 1))
    for i in range(_VECTORS):
        nodes[i, 1:], Z = scipy.linalg.eigh_tridiagonal(diagonal[:, i], below[:-1, i])
        weight = Z[0] ** 2
        counts[i, 1:] = count * (np.cumsum(weight) - weight / 2)
    return Density(np.maximum(nodes, 0.0), counts)


class ChebyshevFilter:
    """p(L), to be applied to blocks of columns.

    Parameters
    ----------
    L : csr_array of shape (n, n)
        The Laplacian.
    cut, top : float
        The damped interval. A cut close to the top makes p linear; one close to 0 is raised.
    growth : float
        Bound on log p(0): beyond it the rounding of the low end exceeds the rest. It sets the degree, which is odd:
        what lies above `top` turns negative, and is never taken for the low end.
    dtype : dtype
        Precision of the products.
    """

    def __init__(self, L: SparseArray, cut: float, top: float, growth: float, dtype: Any) -> None:
        cut = max(cut, _LOWEST * top) if cut <= _LINEAR * top else 0.0
        self.top = top
        self.centre, self.half_width = (top + cut) / 2, (top - cut) / 2
        rate = math.acosh(max(1.0, self.centre / self.half_width))
        self.degree = 1 if rate == 0 else max(1, 2 * int((growth / rate - 1) // 2) + 1)
        shifted = (self.centre * sp.eye_array(L.shape[0], format="csr") - L) * (2.0 / self.half_width)
        self._doubled = sp.csr_array(shifted, dtype=dtype)
        self._doubled.sort_indices()

    def __call__(self, X: AnyArray) -> AnyArray:
        """Return p(L) X for a block of shape (n, b), fastest in C order."""
        before, Y = X, self._doubled @ X
        Y *= 0.5
        for _ in range(self.degree - 1):
            after = self._doubled @ Y
            after -= before
            before, Y = Y, after
        return Y

    def value(self, eigenvalue: float) -> float:
        """Return p at an eigenvalue of L."""
        x = (self.centre - eigenvalue) / self.half_width
        if abs(x) <= 1:
            return math.cos(self.degree * math.acos(x))
        return math.copysign(math.cosh(self.degree * math.acosh(abs(x))), x)  # odd degree

    def eigenvalue(self, theta: float) -> float:
        """Return the eigenvalue of L that p maps to `theta`, which must be >= 1 (any, where p is linear)."""
        x = theta if self.degree == 1 else math.cosh(math.acosh(max(1.0, theta)) / self.degree)
        return self.centre - self.half_width * x

    def separates(self, theta: FloatArray) -> bool:
        """Whether all of `theta` are images of eigenvalues well below the cut, where p decreases."""
        return self.degree == 1 or bool(theta.min() > _AMPLIFIED)

    def residual_bounds(self, theta: FloatArray, residuals: FloatArray) -> FloatArray:
        r"""Return bounds on :math:`|L x - \lambda x|` from :math:`|p(L) x - \theta x|`, :math:`p(\lambda) = \theta`.

        Both are norms of the coefficients of x in the eigenvectors, weighted by :math:`|\mu - \lambda|` and
        :math:`|p(\mu) - \theta|`, mu the eigenvalues. The ratio of the weights is largest on the damped interval,
        since p is convex below it: at most :math:`(top - \lambda) / (\theta - 1)`. Infinite where theta <= 1.
        """
        if self.degree == 1:
            return residuals * self.half_width
        amplification = np.maximum(theta - 1.0, np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            return np.where(theta > 1.0, residuals * self.top / amplification, np.inf)


class _Ritz(NamedTuple):
    """The leading Ritz pairs, and the norms of what S leaves of them outside V."""

    theta: FloatArray
    rotation: FloatArray
    residuals: FloatArray


class _Krylov:
    """Orthonormal columns V and H = V'SV, grown block by block."""

    def __init__(
        self, S: ChebyshevFilter, deflate: Deflation, V: AnyArray, dimension: int, rng: np.random.Generator
    ) -> None:
        self.S, self.deflate, self.rng = S, deflate, rng
        self.V, self.dimension = V, dimension
        self.H = np.zeros((V.shape[1],) * 2)
        self.size = 0
        self._local = 0  # the columns from here on are strongly coupled to the next block
        self._outside = np.zeros((0, 0))
        self._gemm = scipy.linalg.get_blas_funcs("gemm", (V,))

    def fits(self, W: AnyArray) -> bool:
        """Whether `W` holds columns, and V has room for them."""
        return 0 < W.shape[1] <= self.V.shape[1] - self.size

    def random_block(self, b: int) -> AnyArray:
        """Return b (or what is left of the space) filtered random columns, orthonormal and orthogonal to V."""
        return self._next(self.S(self.deflate(self._random(b))))

    def expand(self, W: AnyArray) -> AnyArray:
        """Append the block `W`, which must fit, and return the next one."""
        k, self.size = self.size, self.size + W.shape[1]
        self.V[:, k : self.size] = W
        Y = self.deflate(self.S(W))
        scale = _scale(Y)
        # The large parts first: one more pass over all of V then leaves no more than rounding.
        C = np.zeros((self.size, W.shape[1]))
        C[self._local :] = self._project(Y, self._local)
        C += self._project(Y, 0)
        self.deflate(Y)
        self.H[: self.size, k : self.size] = C
        self.H[k : self.size, : self.size] = C.T
        self._local = k
        self._outside = _gram(Y)
        return self._orthonormal(Y, scale)

    def ritz(self, k: int) -> _Ritz:
        """Return the k leading Ritz pairs."""
        H = self.H[: self.size, : self.size]
        theta, Z = np.linalg.eigh((H + H.T) / 2)
        theta, Z = theta[: -k - 1 : -1], Z[:, : -k - 1 : -1]
        last = Z[self._local :]
        squares = np.einsum("ij,ij->j", last, self._outside @ last)
        return _Ritz(theta, Z, np.sqrt(np.maximum(squares, 0.0)))

    def restart(self, ritz: _Ritz, W: AnyArray) -> AnyArray:
        """Shrink V to the given Ritz vectors; return the block `W` orthogonal to them also by rounding."""
        keep, Z = len(ritz.theta), ritz.rotation.astype(self.V.dtype)
        for rows in pieces(len(self.V)):
            self.V[rows, :keep] = self.V[rows, : self.size] @ Z
        self.H[:] = 0.0
        self.H[range(keep), range(keep)] = ritz.theta
        self.size, self._local = keep, 0
        return self._next(W)

    def _next(self, Y: AnyArray) -> AnyArray:
        """Return an orthonormal basis of the columns of `Y` made orthogonal to V."""
        scale = _scale(Y)
        self._project(self.deflate(Y), 0)
        return self._orthonormal(Y, scale)

    def _random(self, b: int) -> AnyArray:
        return self.rng.standard_normal((len(self.V), b), dtype=self.V.dtype)

    def _project(self, Y: AnyArray, first: int) -> AnyArray:
        """Remove from `Y`, in place, its part in the columns of V from `first` on; return the coefficients."""
        V = self.V[:, first : self.size]
        C = V.T @ Y
        if C.size:
            # Y' <- Y' - C'V': transposed, BLAS can write over its argument.
            Y[:] = self._gemm(-1.0, C, V, 1.0, Y.T, trans_a=1, trans_b=1, overwrite_c=1).T
        return C

    def _orthonormal(self, Y: AnyArray, scale: float) -> AnyArray:
        """Orthonormalise `Y`, which V was projected out of; `scale` is its size before that.

        By the eigenvectors of Y'Y, twice (CholeskyQR2, but for columns that depend on each other). Columns that are
        only rounding are replaced by random ones, as many as the space has left.
        """
        b, eps = min(Y.shape[1], self.dimension - self.size), float(np.finfo(Y.dtype).eps)
        Y = Y[:, :b]
        done = b == 0
        while not done:
            w, Z = np.linalg.eigh(_gram(Y))
            alive = w > (100 * eps * scale) ** 2
            done = bool(alive.all() and np.abs(w - 1.0).max() < 0.1)
            magnified = w[0] < (1e-2 * scale) ** 2
            Y = Y @ (Z[:, alive] / np.sqrt(w[alive])).astype(Y.dtype)
            if not alive.all():
                Y = np.hstack([Y, self._random(b - Y.shape[1]) / math.sqrt(len(Y))])
            if magnified:
                # Dividing by something small also magnified what was left of V.
                self._project(self.deflate(Y), 0)
            scale = 1.0
        return Y


def lowest_eigenpairs(
    L: SparseArray,
    basis: SparseArray,
    k: int,
    bound: float,
    tol: float,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[FloatArray, FloatArray]:
    """Return the k lowest eigenpairs of `L` orthogonal to its null space.

    Parameters
    ----------
    L : csr_array of shape (n, n)
        The Laplacian; products are fast if its nodes are numbered so that neighbours are close.
    basis : csr_array of shape (n, c)
        Orthonormal basis of its null space.
    k : int
        1 to n - c.
    bound : float
        Bound on the norm of L.
    tol : float
        Largest residual ``|L u - lambda u|`` to stop at, relative to `bound`; below `SINGLE` everything is done in
        float64.
    random_state : int, Generator or None, default 0
        Seed of the random vectors: start blocks, the density estimate and the search for missed pairs.

    Returns
    -------
    values : ndarray of shape (k,)
        Values, not decreasing.
    vectors : ndarray of shape (n, k)
        Orthonormal.

    Raises
    ------
    SolverError
        If the residual is not reached.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> path = sp.csr_array(np.diag([1.0, 2, 2, 1]) - np.diag(np.ones(3), 1) - np.diag(np.ones(3), -1))
    >>> constant = sp.csr_array(np.full((4, 1), 0.5))
    >>> lowest_eigenpairs(path, constant, 2, 4.0, 1e-10, random_state=0)[0].round(4).tolist()
    [0.5858, 2.0]
    """
    n, c = basis.shape
    rng = np.random.default_rng(random_state)
    dtype = np.dtype(np.float32 if tol >= SINGLE else np.float64)
    deflate = Deflation(basis, dtype)
    scaled = L * (1.0 / bound)  # of norm 1: tiny weights do not underflow in float32
    density = estimate_density(scaled.astype(dtype), deflate, n - c, rng)
    top = min(1.01 * density.largest, 1.0)
    b = 32 if k >= 64 else 16
    keep = min(k + b // 2, n - c)
    V = np.empty((n, min(int(2.5 * k) + 4 * b, n - c)), dtype, order="F")
    count, krylov, worst = _SURPLUS * k + 8, None, math.inf
    for cycle in range(_CYCLES):
        if krylov is None:
            S = ChebyshevFilter(scaled, _MARGIN * density.quantile(count), top, _GROWTH[dtype.itemsize], dtype)
            krylov = _Krylov(S, deflate, V, n - c, rng)
            W = krylov.random_block(b)
        W, ritz, worst = _expanded(krylov, W, k, keep, tol)
        _LOGGER.debug("cycle %d: degree %d, %d columns, residual below %.1e", cycle, S.degree, krylov.size, worst)
        if not S.separates(ritz.theta[:k]):
            count, krylov = 1.5 * count, None
            _LOGGER.debug("too few eigenvalues below the cut: raising it")
            continue
        W = krylov.restart(ritz, W)
        if worst > tol:
            continue
        fresh, missed = _search_complement(krylov, S.value(S.eigenvalue(ritz.theta[k - 1]) - tol))
        if not missed:
            return _rayleigh_ritz(L, basis, V[:, :k])
        _LOGGER.debug("an eigenvalue was missed; going on with it")
        W = krylov.restart(krylov.ritz(min(keep, krylov.size)), np.hstack([W, fresh])[:, -2 * b :])
    values, vectors = _rayleigh_ritz(L, basis, V[:, :k])
    reached = residual_norms(L, vectors, values).max() / bound
    raise SolverError(
        f"block Lanczos stopped after {_CYCLES} cycles at the residual {reached:.1e} (relative to the norm of L; {k} "
        f"eigenpairs of {n} nodes), where tol={tol:.1e} was asked for and no eigenvalue may be missed; take "
        "a looser tol, another number of eigenpairs (q), or method='arpack'."
    )


def _expanded(krylov: _Krylov, W: AnyArray, k: int, keep: int, tol: float) -> tuple[AnyArray, _Ritz, float]:
    """Expand until k Ritz pairs are accurate or V is full; return the next block, the pairs, and the worst residual."""
    check = int(1.4 * k)
    while True:
        W = krylov.expand(W)
        full = not krylov.fits(W)
        if krylov.size >= check or full:
            ritz = krylov.ritz(min(keep, krylov.size))
            worst = float(krylov.S.residual_bounds(ritz.theta, ritz.residuals)[:k].max())
            if worst <= tol or full:
                return W, ritz, worst
            check = math.ceil(1.08 * krylov.size)


def _search_complement(krylov: _Krylov, limit: float) -> tuple[AnyArray, bool]:
    """Look for Ritz values above `limit` in the complement of V; return the next block, and whether there are."""
    kept = krylov.size
    W = krylov.random_block(_SEARCH_BLOCK)
    for _ in range(_SEARCH_STEPS):
        if krylov.fits(W):
            W = krylov.expand(W)
    ritz_values = np.linalg.eigvalsh(krylov.H[kept : krylov.size, kept : krylov.size])
    return W, bool(ritz_values.max(initial=-math.inf) > limit)


def _rayleigh_ritz(L: SparseArray, basis: SparseArray, V: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return the Ritz pairs of L on the span of nearly orthonormal columns off its null space, in float64."""
    X = Deflation(basis, np.float64)(np.array(V, dtype=np.float64, order="C"))
    G, K = np.zeros((2, X.shape[1], X.shape[1]))
    for rows in pieces(len(X)):
        G += X[rows].T @ X[rows]
        K += X[rows].T @ (L[rows] @ X)
    values, Z = scipy.linalg.eigh((K + K.T) / 2, G)
    for rows in pieces(len(X)):
        X[rows] = X[rows] @ Z
    return values, X


def _gram(Y: AnyArray) -> FloatArray:
    return np.asarray(Y.T @ Y, dtype=np.float64)


def _scale(Y: AnyArray) -> float:
    """Return the norm of the largest column."""
    return float(np.sqrt(np.einsum("ij,ij->j", Y, Y).max(initial=0.0)))
