r"""A polynomial of a graph Laplacian that amplifies its low eigenvalues: where to cut, and the Chebyshev filter.

`estimate_density` estimates how many eigenvalues lie below a number, from a few Lanczos steps on random vectors.
`ChebyshevFilter` is p(L) with p(lambda) = T_d((c - lambda) / e), c and e the centre and half-width of the damped
interval [cut, top]: there |p| <= 1, and below the cut p grows as fast as any polynomial of degree d can.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from specmargin.typing import AnyArray, FloatArray, SparseArray

__all__ = ["ChebyshevFilter", "Density", "Deflation", "estimate_density"]

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
