r"""Regularized spectral clustering: the smoothest functions on a graph that a kernel can carry to new samples.

Without labels, manifold regularization keeps its two norms only (eq. 12 of the manifold-regularization paper). With
f = K alpha, one column per function,

    min_alpha  trace( gamma alpha'K alpha + f'L f )    subject to  f'f = I,  1'f = 0.

One column is a clustering by its sign; several are regularized Laplacian eigenmaps. The value per column is the
Rayleigh quotient of f, the optimum the sum of the lowest eigenvalues. The normalisation is the paper's, |f| = 1
(alpha'K^2 alpha = 1), so that entries of f are of size 1/sqrt(n). The paper's gamma is gamma_A u^2 / gamma_I with
its factor 1/u^2 of the graph norm; in the sums of `LapSVM` it is gamma_A at gamma_I = 1.

Equation 13 as printed, P (gamma K + K L K) P v = lambda P K^2 P v, cannot be solved so: P K^2 P is singular along K1,
and squares the condition of K. `RegularizedClustering.basis` has the stable form. With K = U diag(w) U',
f = U sqrt(w) u and |f|_K = |u| it is

    (gamma I + sqrt(w) U'L U sqrt(w)) u = lambda diag(w) u     on the u with  (sqrt(w) U'1)'u = 0,

the constraint taken out by a Householder reflection. Nothing is inverted but square roots of w. The coefficients are
alpha = U u / sqrt(w); alpha = (lambda f + mu 1 - L f) / gamma, equal on paper, divides rounding errors by gamma.

Duality, which makes the certificate: for any Z with Z'Z <= I and weights s = sigma - theta >= 0, let kappa be the
least Rayleigh quotient of gamma |.|_K^2 + L + Z diag(s) Z' under 1'f = 0. Then m functions cost at least
m kappa - sum s. With the m lowest eigenvectors for Z, sigma the m-th eigenvalue, the bound is attained.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.exceptions import InvalidInputError
from specmargin.kernels.semidefinite import refuse_indefinite, require_symmetric
from specmargin.results import Certificate
from specmargin.rounding import UNIT, gamma, split_product
from specmargin.typing import FloatArray, MatrixLike

__all__ = ["ClusteringBasis", "RegularizedClustering"]

_CENTRED = 1e-13
"""Relative size of K1 below which it is rounding: the kernel is centred, and every f has 1'f = 0 anyway."""
_RANK = 1e-12
"""Relative size of the eigenvalues of K that count as its rounding."""
_SHIFT = 1e-3
"""Shift of the eigenvalues over the mean penalty of the graph: far above rounding, so that a factorisation always
works, and far too small to cost digits that L itself has."""


@dataclass(frozen=True, eq=False)
class ClusteringBasis:
    """Coordinates y of the functions f = U sqrt(w) H y that K can express and that have 1'f = 0.

    Parameters
    ----------
    U : ndarray of shape (n, r)
        Eigenvectors of K whose eigenvalues are above its rounding.
    w : ndarray of shape (r,)
        Those eigenvalues, falling.
    normal : ndarray of shape (r,) or None
        Unit normal of the Householder reflection that takes sqrt(w) U'1 to the first axis; None where the kernel is
        centred.
    roughness : ndarray of shape (d, d)
        f'L f in the coordinates y.
    mass : ndarray of shape (d, d)
        f'f in the coordinates y. The ambient norm |f|_K^2 is y'y.
    shift : float
        Eigenvalues are computed with this added.
    """

    U: FloatArray
    w: FloatArray
    normal: FloatArray | None
    roughness: FloatArray
    mass: FloatArray
    shift: float

    @property
    def dimension(self) -> int:
        """d, the number of functions to choose from."""
        return len(self.mass)

    def coefficients(self, y: FloatArray) -> FloatArray:
        """Return alpha (n, m) of coordinates y (d, m)."""
        if self.normal is not None:
            y = np.vstack([np.zeros((1, y.shape[1])), y])
            y = y - 2.0 * np.outer(self.normal, self.normal @ y)
        return self.U @ (y / np.sqrt(self.w)[:, None])

    def moments(self, f: FloatArray) -> FloatArray:
        """Return the inner products (d, m) of the columns of f (n, m) with the functions of the coordinates."""
        return _reflected(np.sqrt(self.w)[:, None] * (self.U.T @ f), self.normal)

    def lowest(self, forms: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
        """Return the m lowest eigenvalues, rising, and eigenvectors y (d, m) of ``forms`` against `mass`.

        The shifted problem is turned upside down, mass y = nu (forms + shift mass) y: the wanted end is then the large
        one, on which singular directions of `mass` have no say.
        """
        d = self.dimension
        nu, y = sla.eigh(self.mass, forms + self.shift * self.mass, subset_by_index=(d - m, d - 1), check_finite=False)
        return 1.0 / nu[::-1] - self.shift, y[:, ::-1]


@dataclass(frozen=True, eq=False)
class RegularizedClustering:
    """The objective of regularized spectral clustering and of regularized Laplacian eigenmaps.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite Gram matrix; singular or ill-conditioned is fine. Eigenvalues below
        1e-12 of the largest count as rounding, and functions that need them as out of reach.
    L : matrix-like of shape (n, n)
        Anything symmetric positive semidefinite with ``L @ v``, e.g. `specmargin.graphs.laplacian`. The constraint
        1'f = 0 removes the null space of a connected graph's combinatorial Laplacian.
    gamma : float
        Weight of the ambient norm, > 0: gamma_A of the other objectives where gamma_I = 1.

    Raises
    ------
    ValueError
        For gamma <= 0, matrices of the wrong size, NaN in K, an asymmetric or indefinite K, a K of zeros.

    Examples
    --------
    >>> K = np.eye(3)
    >>> L = np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> obj = RegularizedClustering(K, L, gamma=0.5)
    >>> alpha = np.array([1.0, 0.0, -1.0]) / np.sqrt(2)
    >>> round(obj.value(alpha), 12), obj.violation(alpha) < 1e-15, obj.certificate(alpha).is_optimal(1e-12)
    (1.5, True, True)
    """

    K: FloatArray
    L: MatrixLike
    gamma: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise InvalidInputError(
                f"gamma={self.gamma!r} must be a positive number: without the ambient norm a kernel of full rank may "
                "follow any function on the graph. Use a small value such as 1e-6 to let the graph rule."
            )
        K = np.asarray(self.K, dtype=float)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise InvalidInputError(
                f"K has the shape {K.shape}; pass a square Gram matrix, one row and column per sample."
            )
        finite_numbers("K", K, "the kernel of finite features, and check its parameters")
        largest = np.abs(K).max(initial=0.0)
        if largest == 0:
            raise InvalidInputError(
                f"K is zero on all {len(K)} samples: its only function is zero; check features and kernel."
            )
        require_symmetric(K)
        if tuple(getattr(self.L, "shape", K.shape)) != K.shape:
            raise InvalidInputError(
                f"L has the shape {getattr(self.L, 'shape', None)}, but K has {K.shape}; build both on the same rows."
            )
        object.__setattr__(self, "K", K)

    @cached_property
    def basis(self) -> ClusteringBasis:
        """The stable form: one eigendecomposition of K, which every gamma shares (`with_gamma`)."""
        n = len(self.K)
        w, U = np.linalg.eigh(self.K)
        refuse_indefinite(float(w[0]), float(w[-1]))
        small = int(np.searchsorted(w, _RANK * w[-1]))
        kept = slice(None, small - n - 1, -1)
        w, U = w[kept], np.ascontiguousarray(U[:, kept])
        normal = None
        if np.linalg.norm(self.K.sum(axis=1)) > _CENTRED * w[0] * np.sqrt(n):
            normal = np.sqrt(w) * U.sum(axis=0)
            normal[0] += np.copysign(np.linalg.norm(normal), normal[0])
            normal /= np.linalg.norm(normal)
        LU = self.L @ U
        roots = np.sqrt(w)
        S = roots[:, None] * (U.T @ LU) * roots
        S = _reflected(_reflected((S + S.T) / 2, normal).T, normal)
        mass = _reflected(_reflected(np.diag(w), normal).T, normal)
        shift = _SHIFT * float(np.einsum("ij,ij->j", U, LU).mean())
        return ClusteringBasis(U, w, normal, (S + S.T) / 2, (mass + mass.T) / 2, shift)

    def with_gamma(self, gamma: float) -> RegularizedClustering:
        """Return the same problem under another weight; what was computed of K and L is shared."""
        other = replace(self, gamma=gamma)
        if "basis" in self.__dict__:
            other.__dict__["basis"] = self.basis
        return other

    @property
    def forms(self) -> FloatArray:
        """The penalty gamma |f|_K^2 + f'L f in the coordinates of `basis`, of shape (d, d)."""
        A = self.basis.roughness.copy()
        A[np.diag_indices_from(A)] += self.gamma
        return A

    def decision(self, alpha: FloatArray) -> FloatArray:
        """Return f = K alpha at all samples, for a vector or for columns."""
        return self.K @ alpha

    def value(self, alpha: FloatArray) -> float:
        """Return trace(gamma alpha'K alpha + f'L f), whatever the length of f."""
        alpha = _columns(alpha)
        f = self.K @ alpha
        return float(np.sum(f * (self.gamma * alpha + self.L @ f)))

    def gradient(self, alpha: FloatArray) -> FloatArray:
        """Return the derivative of `value` by alpha, in its shape."""
        return 2.0 * (self.K @ (self.gamma * alpha + self.L @ (self.K @ alpha)))

    def rayleigh_quotients(self, alpha: FloatArray) -> FloatArray:
        """Return (gamma alpha'K alpha + f'L f) / f'f per column, of shape (m,)."""
        alpha = _columns(alpha)
        f = self.K @ alpha
        quotients: FloatArray = (f * (self.gamma * alpha + self.L @ f)).sum(axis=0) / (f * f).sum(axis=0)
        return quotients

    def violation(self, alpha: FloatArray) -> float:
        """Return the larger of max |1'f| and max |f'f - I|, recomputed from K."""
        f = self.K @ _columns(alpha)
        return float(max(np.abs(f.sum(axis=0)).max(), np.abs(f.T @ f - np.eye(f.shape[1])).max()))

    def stationarity(self, alpha: FloatArray) -> FloatArray:
        """Return |K r| per column over the norms of its terms, r = gamma alpha + L f - lambda f - mu 1, shape (m,).

        lambda is the Rayleigh quotient, mu the multiplier of 1'f = 0. Recomputed from K and L; zero at eigenvectors.
        """
        alpha = _columns(alpha)
        f = self.K @ alpha
        pulls = [self.gamma * f, self.K @ (self.L @ f), -self.rayleigh_quotients(alpha) * (self.K @ f)]
        r, row_sums = np.add.reduce(pulls), self.K.sum(axis=1)
        if not self._centred:
            # 1'K r = 0 would make mu depend on the smallest entries of K1; least squares does not.
            r = r - np.outer(row_sums, row_sums @ r) / (row_sums @ row_sums)
        residual: FloatArray = np.linalg.norm(r, axis=0) / np.sum([np.linalg.norm(p, axis=0) for p in pulls], axis=0)
        return residual

    @property
    def _centred(self) -> bool:
        return self.basis.normal is None

    def feasible(self, alpha: FloatArray) -> FloatArray:
        """Return coefficients of a feasible point nearby: centred, orthonormal, and diagonal in both forms.

        The eigenvectors of the problem confined to the columns' span come out, the lowest first (Rayleigh-Ritz).

        Raises
        ------
        ValueError
            If the columns are dependent.
        """
        alpha = np.array(_columns(alpha), dtype=float)
        before = np.linalg.norm(self.K @ alpha, axis=0)
        # Twice: the first pass may cancel most of what it is given.
        for _ in range(2):
            if not self._centred:
                alpha -= (self.K @ alpha).sum(axis=0) / self.K.sum()
            f = self.K @ alpha
            length = np.linalg.norm(f, axis=0)
            gram = f.T @ f
            if (length <= 1e-9 * before).any() or np.linalg.eigvalsh(gram / np.outer(length, length))[0] < 1e-13:
                raise InvalidInputError(
                    f"the {alpha.shape[1]} columns of K alpha are dependent (or proportional to K1), so that no "
                    "orthonormal functions of mean zero span the same; pass independent columns."
                )
            q = self.gamma * (alpha.T @ f) + f.T @ (self.L @ f)
            alpha = alpha @ sla.eigh((q + q.T) / 2, (gram + gram.T) / 2)[1]
        return alpha

    def dual_bound(self, f: FloatArray, theta: FloatArray) -> float:
        """Return the lower bound of the module's docstring on the optimum of as many functions as f has columns.

        Parameters
        ----------
        f : ndarray of shape (n, m)
            Orthonormal columns, Z of the bound.
        theta : ndarray of shape (m,)
            Their Rayleigh quotients.
        """
        weights = theta.max() - theta
        Z = self.basis.moments(_columns(f))
        kappa = float(self.basis.lowest(self.forms + (Z * weights) @ Z.T, 1)[0][0])
        # The columns themselves must not count among the functions that are left.
        return float(len(theta) * kappa - weights.sum())

    def certificate(self, alpha: FloatArray) -> Certificate:
        """Measure how far the columns are from the lowest eigenfunctions.

        `primal_objective` is the sum of the Ritz values of the repaired candidate, `primal_residual` its `violation`
        before repair, `dual_residual` the largest `stationarity`.

        Parameters
        ----------
        alpha : ndarray of shape (n,) or (n, m)
            Coefficients; only their span counts for the objectives.
        """
        repaired = self.feasible(alpha)
        # |alpha| grows as gamma falls: a plain K alpha may keep no more than a few digits of f.
        splits = [split_product(self.K, column, 2) for column in repaired.T]
        f = np.column_stack([high + low for high, low, _ in splits])
        off = np.column_stack([error for _, _, error in splits]) + UNIT * np.abs(f)
        theta = (f * (self.gamma * repaired + self.L @ f)).sum(axis=0) / (f * f).sum(axis=0)
        return Certificate(
            primal_objective=float(theta.sum()),
            dual_objective=self.dual_bound(f, theta),
            rounding=self._rounding(repaired, f, off, theta),
            primal_residual=self.violation(alpha),
            dual_residual=float(self.stationarity(repaired).max()),
        )

    def _rounding(self, alpha: FloatArray, f: FloatArray, off: FloatArray, theta: FloatArray) -> float:
        """Return what rounding may have made of both objectives, to first order.

        Of the Rayleigh quotients by the errors `off` of f = K alpha; of the bound by the backward error of LAPACK's
        eigenvalues, d units of the shifted ones; and what the columns gain by missing 1'f = 0 and orthogonality.
        """
        n, Lf = len(self.K), self.L @ f
        change = self.gamma * np.abs(alpha) + 2.0 * np.abs(Lf) + 2.0 * theta * np.abs(f)
        lengths = (f**2).sum(axis=0)
        first = (change * off).sum(axis=0) / lengths
        terms = (np.abs(f) * (self.gamma * np.abs(alpha) + np.abs(Lf))).sum(axis=0) / lengths
        second = gamma(8 * self.basis.dimension + 8) * (
            len(theta) * self.basis.shift + 2.0 * float(np.abs(theta).sum())
        )
        row_sums = self.K.sum(axis=1)
        pull = self.gamma * f + self.K @ Lf - theta * (self.K @ f)
        slope = 0.0 if self._centred else np.abs(row_sums @ pull) / float(row_sums @ row_sums)
        missed = 3.0 * slope * (np.abs(f.sum(axis=0)) + off.sum(axis=0)) / lengths
        products = f.T @ f / np.sqrt(np.outer(lengths, lengths))
        skew = float(np.abs(products - np.diag(products.diagonal())).sum()) * float(np.abs(theta).max())
        # The basis knows K up to a unit of its largest eigenvalue: what that moves the optimum.
        q = Lf - theta * f
        q = q - q.mean(axis=0)
        missed = missed + UNIT * self.basis.w[0] * (q * q).sum(axis=0) / (self.gamma * lengths)
        return float((first + missed + gamma(n + 4) * (terms + np.abs(theta))).sum()) + skew + second


def _columns(alpha: FloatArray) -> FloatArray:
    return alpha[:, None] if alpha.ndim == 1 else alpha


def _reflected(M: FloatArray, normal: FloatArray | None) -> FloatArray:
    """Return H M without its first row, for the reflection H of the normal."""
    return M if normal is None else (M - 2.0 * np.outer(normal, normal @ M))[1:]
