r"""Regularized spectral clustering: the smoothest functions on a graph that a kernel can carry to new samples.

Without labels, manifold regularization keeps its two norms only (eq. 12 of the manifold-regularization paper). With
f = K alpha, one column per function,

    min_alpha  trace( gamma alpha'K alpha + f'L f )    subject to  f'f = I,  1'f = 0.

One column is a clustering by its sign; several are regularized Laplacian eigenmaps. The value per column is the
Rayleigh quotient of f, the optimum the sum of the lowest eigenvalues. The normalisation is the paper's, |f| = 1
(alpha'K^2 alpha = 1), so that entries of f are of size 1/sqrt(n). The paper's gamma is gamma_A u^2 / gamma_I with
its factor 1/u^2 of the graph norm; in the sums of `LapSVM` it is gamma_A at gamma_I = 1.

Equation 13 as published, P (gamma K + K L K) P v = lambda P K^2 P v, cannot be solved so: P K^2 P is singular along K1,
and squares the condition of K. `RegularizedClustering.basis` has the stable form. With K = U diag(w) U',
f = U sqrt(w) u and |f|_K = |u| it is

    (gamma I + sqrt(w) U'L U sqrt(w)) u = lambda diag(w) u,

where K stands for K - k k' / (1'k), k = K1, the kernel of those functions of K that have 1'f = 0: the constraint is
gone. Nothing is inverted but square roots of w. The coefficients in the new kernel are U u / sqrt(w), and in the old
one the same less a constant; alpha = (lambda f + mu 1 - L f) / gamma, equal on paper, divides rounding errors by gamma.

Duality, which makes the certificate: for any Z with Z'Z <= I and weights s = sigma - theta >= 0, let kappa be the
least Rayleigh quotient of gamma |.|_K^2 + L + Z diag(s) Z' under 1'f = 0. Then m functions cost at least
m kappa - sum s. With the m lowest eigenvectors for Z, sigma the m-th eigenvalue, the bound is attained. How kappa is
proved, whatever is rounded, is told in `specmargin.objectives.rounding.clustering`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.linalg as sla

from specmargin.arrays import finite_numbers
from specmargin.checks import numeric
from specmargin.exceptions import InvalidInputError
from specmargin.kernels.semidefinite import INDEFINITE, refuse_indefinite, symmetric
from specmargin.objectives.contract import ANY, Arrays, ByName, Shapes
from specmargin.objectives.rounding.clustering import Envelope, centred_kernel
from specmargin.objectives.rounding.lapsvm import Products
from specmargin.results import Certificate
from specmargin.rounding import UNIT, gamma, split_product
from specmargin.typing import FloatArray, MatrixLike

__all__ = ["ClusteringBasis", "RegularizedClustering"]

_CENTRED = 1e-13
"""Relative size of K1 below which it is rounding: the kernel is centred, and every f has 1'f = 0 anyway."""
_RANK = 3e-14
"""Relative size of the eigenvalues of K that count as its rounding."""
_FEASIBLE = 1e-9
"""Violation of the constraints that counts as rounding: such columns are certified as they are."""
_SHIFT = 1e-3
"""Shift of the eigenvalues over the mean penalty of the graph: far above rounding, so that a factorisation always
works, and far too small to cost digits that L itself has."""


@dataclass(frozen=True, eq=False)
class ClusteringBasis:
    """Coordinates y of the functions f = U sqrt(w) y that K can express and that have 1'f = 0.

    Parameters
    ----------
    U : ndarray of shape (n, d)
        Eigenvectors, of eigenvalues above its rounding, of the kernel of the functions with 1'f = 0.
    w : ndarray of shape (d,)
        Those eigenvalues, falling.
    row_sums : ndarray of shape (n,) or None
        K1; None where the kernel is centred.
    roughness : ndarray of shape (d, d)
        f'L f in the coordinates y.
    shift : float
        Eigenvalues are computed with this added.
    envelope : Envelope
        What lower bounds are proved with.
    """

    U: FloatArray
    w: FloatArray
    row_sums: FloatArray | None
    roughness: FloatArray
    shift: float
    envelope: Envelope

    @property
    def dimension(self) -> int:
        """d, the number of functions to choose from."""
        return len(self.w)

    def coefficients(self, y: FloatArray) -> FloatArray:
        """Return alpha (n, m) of coordinates y (d, m)."""
        alpha = self.U @ (y / np.sqrt(self.w)[:, None])
        return alpha if self.row_sums is None else alpha - (self.row_sums @ alpha) / self.row_sums.sum()

    def lowest(self, forms: FloatArray, m: int) -> tuple[FloatArray, FloatArray]:
        """Return the m lowest eigenvalues, rising, and eigenvectors y (d, m) of ``forms`` against the inner products.

        Those are f'f = y'diag(w) y; the ambient norm |f|_K^2 is y'y.

        The shifted problem is turned upside down, mass y = nu (forms + shift mass) y: the wanted end is then the large
        one, on which singular directions of the mass have no say.
        """
        d, mass = self.dimension, np.diag(self.w)
        nu, y = sla.eigh(mass, forms + self.shift * mass, subset_by_index=(d - m, d - 1), check_finite=False)
        return 1.0 / nu[::-1] - self.shift, y[:, ::-1]


@dataclass(frozen=True, eq=False)
class RegularizedClustering(ByName):
    """The objective of regularized spectral clustering and of regularized Laplacian eigenmaps.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite Gram matrix; singular or ill-conditioned is fine. Solvers leave out the
        functions that need eigenvalues of the size of their rounding; bounds do not.
    L : matrix-like of shape (n, n)
        Anything symmetric positive semidefinite with ``L @ v``, e.g. `specmargin.graphs.laplacian`. The constraint
        1'f = 0 removes the null space of a connected graph's combinatorial Laplacian.
    gamma : float
        Weight of the ambient norm, > 0: gamma_A of the other objectives where gamma_I = 1.

    Raises
    ------
    ValueError
        For gamma <= 0, matrices of the wrong size, NaN in K, an asymmetric or indefinite K, a K of zeros.

    Notes
    -----
    ``alpha`` (n, m) decides the value, for any number m of functions; (n,) is one. `certificate` needs no multipliers.

    Examples
    --------
    >>> K = np.eye(3)
    >>> L = np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> obj = RegularizedClustering(K, L, gamma=0.5)
    >>> alpha = np.array([1.0, 0.0, -1.0]) / np.sqrt(2)
    >>> round(obj.value({"alpha": alpha}), 12), obj.certificate({"alpha": alpha}).is_optimal(1e-12)
    (1.5, True)
    """

    weights_only = frozenset({"gamma"})

    K: FloatArray
    L: MatrixLike
    gamma: float

    def __post_init__(self) -> None:
        self.renew()
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
        K = symmetric(K)  # or alpha'K alpha and K alpha would be those of two kernels
        if tuple(getattr(self.L, "shape", K.shape)) != K.shape:
            raise InvalidInputError(
                f"L has the shape {getattr(self.L, 'shape', None)}, but K has {K.shape}; build both on the same rows."
            )
        object.__setattr__(self, "K", K)

    name = "regularized eigenmaps"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"alpha": (len(self.K), ANY)}

    def renew(self) -> None:
        """Raise where gamma is out of range."""
        if not (np.isfinite(numeric("gamma", self.gamma)) and self.gamma > 0):
            raise InvalidInputError(
                f"gamma={self.gamma!r} must be a positive number: without the ambient norm a kernel of full rank may "
                "follow any function on the graph. Use a small value such as 1e-6 to let the graph rule."
            )

    def value(self, variables: Arrays) -> float:
        """Return the objective at ``alpha``; inf where f'f = I or 1'f = 0 is violated by more than rounding."""
        (alpha,) = self._read(variables)
        return self.value_at(alpha) if self.violation(alpha) <= _FEASIBLE else math.inf

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Measure how far the columns of ``alpha``, repaired where they are infeasible, are from the lowest functions.

        `primal_objective` is the sum of their Ritz values, `primal_residual` their `violation` before they were
        repaired, `dual_residual` the largest `stationarity`. `duals` are not needed.
        """
        (alpha,) = self._read(variables)
        violation = self.violation(alpha)
        if violation <= _FEASIBLE:
            return self.prove(alpha)
        return replace(self.prove(self.feasible(alpha)), primal_residual=violation)

    @cached_property
    def products(self) -> Products:
        """Products with K and L whose rounding is known."""
        return Products(self.K, self.L)

    @cached_property
    def basis(self) -> ClusteringBasis:
        """The stable form: one eigendecomposition of a kernel, which every gamma shares (`with_`)."""
        n, k = len(self.K), self.K.sum(axis=1)
        size = float(np.linalg.norm(self.K))
        row_sums = k if np.linalg.norm(k) > _CENTRED * size * np.sqrt(n) else None
        if row_sums is not None and not row_sums.sum() > 0:
            self._refuse()
        K0, error = centred_kernel(self.K, row_sums)
        w, U = np.linalg.eigh(K0)
        if w[0] < -INDEFINITE * max(float(w[-1]), 0.0):
            self._refuse()
        w, U = w[::-1], np.ascontiguousarray(U[:, ::-1])
        envelope = Envelope.of(K0, error, row_sums, w, U, self.products)
        rank = int((w > max(_RANK * float(w[0]), 2.0 * np.sqrt(n) * UNIT * size)).sum())
        roots = np.sqrt(w[:rank])
        S = roots[:, None] * envelope.form[:rank, :rank] * roots
        shift = _SHIFT * float(envelope.form.diagonal().mean())
        return ClusteringBasis(U[:, :rank], w[:rank], row_sums, S, shift, envelope)

    def _refuse(self) -> None:
        """Raise where K is indefinite beyond rounding."""
        values = np.linalg.eigvalsh(self.K)
        refuse_indefinite(float(values[0]), float(values[-1]))

    @property
    def forms(self) -> FloatArray:
        """The penalty gamma |f|_K^2 + f'L f in the coordinates of `basis`, of shape (d, d)."""
        A = self.basis.roughness.copy()
        A[np.diag_indices_from(A)] += self.gamma
        return A

    def decisions_at(self, alpha: FloatArray) -> FloatArray:
        """Return f = K alpha at all samples, for a vector or for columns."""
        return self.K @ alpha

    def value_at(self, alpha: FloatArray) -> float:
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
        return self.basis.row_sums is None

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

    def dual_bound(self, f: FloatArray, theta: FloatArray, *, thorough: bool = True) -> float:
        """Return the lower bound of the module's docstring on the optimum of as many functions as f has columns.

        Proved, rounding included, for every positive semidefinite kernel that K may be a rounded copy of.

        Parameters
        ----------
        f : ndarray of shape (n, m)
            Columns of length one, Z of the bound.
        theta : ndarray of shape (m,)
            Their Rayleigh quotients.
        thorough : bool, default True
            Whether to spend some matrix products more, once for all gammas, on the rounding of the kernel.
        """
        Z, weights = _columns(f), theta.max() - theta
        envelope = self.basis.envelope.refined if thorough else self.basis.envelope
        kappa = envelope.least(self.gamma, Z, weights)
        # The columns themselves must not count among the functions that are left.
        own = weights @ (Z**2).sum(axis=0)
        terms = abs(len(theta) * kappa) + abs(own)
        return float(len(theta) * kappa - own - gamma(Z.size + 8) * terms) if np.isfinite(kappa) else -np.inf

    def prove(self, alpha: FloatArray, *, tol: float = 1e-8) -> Certificate:
        """Measure how far columns that `feasible` returned are from the lowest eigenfunctions: these very columns.

        Parameters
        ----------
        alpha : ndarray of shape (n,) or (n, m)
            Coefficients.
        tol : float, default 1e-8
            Relative gap that is to be proved: where the cheap bound does not prove it, the thorough one is computed.
        """
        repaired = _columns(alpha)
        # |alpha| grows as gamma falls: a plain K alpha may keep no more than a few digits of f.
        splits = [split_product(self.K, column, 2) for column in repaired.T]
        f = np.column_stack([high + low for high, low, _ in splits])
        off = np.column_stack([error for _, _, error in splits]) + UNIT * np.abs(f)
        Lf, rounded = self.products.graph(f)
        theta = (f * (self.gamma * repaired + Lf)).sum(axis=0) / (f * f).sum(axis=0)
        primal, Z = float(theta.sum()), f / np.linalg.norm(f, axis=0)
        certificate = Certificate(
            primal_objective=primal,
            dual_objective=self.dual_bound(Z, theta, thorough=False),
            rounding=max(self._highest(repaired, f, off, Lf, rounded) - primal, 0.0) + 8.0 * UNIT * abs(primal),
            primal_residual=self.violation(repaired),
            dual_residual=float(self.stationarity(repaired).max()),
        )
        if certificate.is_optimal(tol):
            return certificate
        return replace(certificate, dual_objective=max(certificate.dual_objective, self.dual_bound(Z, theta)))

    def _highest(self, alpha: FloatArray, f: FloatArray, off: FloatArray, Lf: FloatArray, rounded: FloatArray) -> float:
        """Return a bound on the sum of the Ritz values of exactly K alpha, made orthonormal and of mean zero.

        Parameters
        ----------
        alpha : ndarray of shape (n, m)
            Coefficients.
        f, off : ndarray of shape (n, m)
            K alpha, and bounds on its errors.
        Lf, rounded : ndarray of shape (n, m)
            L f of that very f, and bounds on its rounding.
        """
        n, m = f.shape
        size, mass = np.abs(f), np.abs(alpha)
        if self._centred:
            # What K1 has of rounding, all columns are cleared of: P K P alpha with P = I - 11'/n.
            row_sums = np.abs(self.K.sum(axis=1)) + gamma(n) * np.abs(self.K).sum(axis=1)
            mean = (np.abs(alpha.sum(axis=0)) + gamma(n) * mass.sum(axis=0)) / n
            off = off + 1.001 * (np.multiply.outer(row_sums + row_sums.mean(), mean) + row_sums @ mass / n)
        costs = (f * (self.gamma * alpha + Lf)).sum(axis=0)
        costs += (off * (self.gamma * mass + 2.0 * np.abs(Lf) + 2.0 * rounded)).sum(axis=0)
        costs += (off * self.products.spread(off)).sum(axis=0) + (size * rounded).sum(axis=0)
        costs += gamma(n + 8) * (size * (self.gamma * mass + np.abs(Lf))).sum(axis=0)
        lengths = (f**2).sum(axis=0) * (1.0 - gamma(n + 2)) - (2.0 * size * off + off**2).sum(axis=0)
        away = np.linalg.norm(off, axis=0)
        if not self._centred:
            # f less c K1 has the mean zero.
            k, total = self._row_sums
            if not total > 0:
                return np.inf
            length, along = float(np.linalg.norm(k)), np.linalg.norm(f, axis=0) + away
            moved = 1.001 * (np.abs(f.sum(axis=0)) + gamma(n) * size.sum(axis=0) + off.sum(axis=0))
            c = moved / total
            graph_part = np.linalg.norm(np.abs(Lf) + rounded + self.products.spread(off), axis=0)
            costs += 2.002 * c * length * (self.gamma * np.linalg.norm(alpha, axis=0) + graph_part)
            costs += 1.001 * c * (self.gamma * moved + c * float(k @ self.products.spread(k)))
            lengths -= 2.002 * c * length * along
            away = away + c * length
        if not (lengths > 0).all():
            return np.inf
        products = f.T @ f / np.sqrt(np.outer(lengths, lengths))
        skew = float(np.linalg.norm(products - np.diag(products.diagonal())))
        skew += m * (gamma(n + 2) + 3.0 * float((away / np.sqrt(lengths)).max()))
        return float((costs / lengths).sum()) / (1.0 - skew) * (1.0 + gamma(m + 8)) if skew < 1.0 else np.inf

    @cached_property
    def _row_sums(self) -> tuple[FloatArray, float]:
        """A bound above |K1|, and one below 1'K1: of a kernel that is nearly centred float64 may not know that."""
        high, low, error = split_product(self.K, np.ones(len(self.K)), 2)
        total = math.fsum(np.concatenate([high, low])) - 1.001 * float(error.sum())
        return 1.001 * (np.abs(high) + error), 0.999 * total


def _columns(alpha: FloatArray) -> FloatArray:
    return alpha[:, None] if alpha.ndim == 1 else alpha
