"""The linear system of a step of `interior_point` over eigenvectors, by its smaller side: samples or eigenvectors.

`data` is a `MarginData` of that module, which makes the system.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import lapack

from specmargin.typing import FloatArray

__all__ = ["MarginSystem", "factorised", "solved"]

_BORDER = 1e3  # rows whose D G'G exceeds this many times the mean diagonal of the kernel (one) border the system
_KINK = 1e3  # the same for samples in Woodbury's form
_WIDE = 1.3  # labelled samples per eigenvector up to which a matrix of the order l is the cheaper one
_DIGITS = 1e-9  # residual of a linear system, relative to its right-hand side, that is left alone
_CORRECTIONS = 4  # at most; two are usual where samples of all weights meet, W from 1e-7 to 1e9


class MarginSystem:
    """The system over eigenvectors."""

    def __init__(
        self, data: Any, z: FloatArray, delta: FloatArray, kappa: FloatArray, w: FloatArray, W: FloatArray
    ) -> None:
        cone, U, D = data.cone, data.U, kappa / w
        l = len(U)
        self.data, self.z, self.c, self.kappa, self.w, self.D = data, z, cone.c, kappa, w, D
        wide = l <= _WIDE * cone.q
        G = cone.sums(z[:, None] * U.T) if wide else None  # transposed, (m, l)
        if G is not None:
            lengths = np.einsum("ij,ij->i", G, G)
        else:
            lengths = cone.sums(cone.sums(z[:, None] * data.gram * z).T).diagonal()
        self.border = border = np.flatnonzero(D * lengths > _BORDER * l)
        D_in = D.copy()
        D_in[border] = 0.0
        k = 2 + len(border)
        self.edge = np.empty((l, k))
        self.edge[:, 0] = 1.0
        self.edge[:, 1] = -(U @ (z * cone.weights(D_in * cone.c)))
        self.edge[:, 2:] = G[border].T if G is not None else U @ (z[:, None] * data.rays[border].T)
        self.inverse: Callable[[FloatArray], FloatArray] = (
            partial(solved, _direct(U, delta, G, D_in, W)) if G is not None else _Woodbury(data, z, delta, D_in, W)
        )
        self.image = self.inverse(self.edge)
        schur = -(self.edge.T @ self.image)
        schur[1, 1] += cone.c @ (D_in * cone.c)
        schur[1, 2:] -= cone.c[border]
        schur[2:, 1] -= cone.c[border]
        schur[np.arange(2, k), np.arange(2, k)] -= 1.0 / D[border]
        self.scale = 1.0 / np.sqrt(np.maximum(np.abs(schur.diagonal()), 1e-300))
        self.factor = lapack.dgetrf(schur * np.outer(self.scale, self.scale))

    def solve(
        self, r: FloatArray, rho: FloatArray, r_w: FloatArray, r_balance: float, r_trace: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the changes of gamma, of b and tau, of kappa and of w; `rho` is the right-hand side of kappa w."""
        border = self.border
        free = rho / self.w - self.D * r_w
        free[border] = 0.0
        r = (
            r - self.data.U @ (self.z * self.data.cone.weights(free)) + r_balance
        )  # N was given 1 1' to be definite: the balance takes it back
        rhs = np.concatenate([[r_balance, self.c @ free - r_trace], (r_w - rho / self.kappa)[border]])
        X = self.inverse(r)
        small = lapack.dgetrs(self.factor[0], self.factor[1], self.scale * (rhs - self.edge.T @ X))[0] * self.scale
        dgamma = X - self.image @ small
        dw = self.c * small[1] - self.data.cone.sums(self.z * (self.data.U.T @ dgamma)) + r_w  # less G'dgamma
        dkappa = rho / self.w - self.D * dw
        dkappa[border] = small[2:]
        dw[border] = ((rho - self.w * dkappa) / self.kappa)[border]
        return dgamma, small[:2], dkappa, dw


def factorised(N: FloatArray) -> FloatArray:
    """Return the Cholesky factor of a symmetric matrix in LAPACK's order; N is used up."""
    factor, failed = lapack.dpotrf(N.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError(f"a pivot of {len(N)} is not positive")
    return np.asarray(factor)


def solved(factor: FloatArray, r: FloatArray) -> FloatArray:
    """Solve with a factor of `factorised`."""
    return np.asarray(lapack.dpotrs(factor, r, lower=1)[0])


def _direct(U: FloatArray, delta: FloatArray, G: FloatArray, D: FloatArray, W: FloatArray) -> FloatArray:
    """Return the Cholesky factor of N + 1 1', of the order l."""
    root = np.sqrt(delta), np.sqrt(D)
    factor = np.empty((len(delta) + len(D), len(U)))
    np.multiply(root[0][:, None], U.T, out=factor[: len(delta)])
    np.multiply(root[1][:, None], G, out=factor[len(delta) :])
    N = factor.T @ factor
    N += 1.0
    N.reshape(-1)[:: len(N) + 1] += 1.0 / W
    return factorised(N)


class _Woodbury:
    """The same by factorisations of the order q: samples off the kinks are eliminated first, the others last."""

    def __init__(self, data: Any, z: FloatArray, delta: FloatArray, D: FloatArray, W: FloatArray) -> None:
        self.data, self.given = data, (z, delta, D, W)
        M = z[:, None] * data.cone.weights(D[:, None] * data.rays) * z
        q = len(M)
        M.reshape(-1)[:: q + 1] += delta
        root = np.sqrt(np.maximum(M.diagonal(), 1e-300))
        M /= np.outer(root, root)
        M.reshape(-1)[:: q + 1] += 1e-14
        # T = (U, 1) P is never formed: products with U and with the small P are cheaper.
        self.P = np.zeros((q + 1, q + 1))
        np.multiply(root[:, None], np.linalg.cholesky(M), out=self.P[:q, :q])
        self.P[q, q] = 1.0
        last = np.argsort(W)[-q:]
        self.on = last[W[last] > _KINK]
        self.W = W.copy()
        self.W[self.on] = 0.0
        # Kinks that are eliminated all the same, or a large share of scores in M: digits go.
        self.doubtful = len(self.on) == q or float(np.abs(self.P).max()) > 2.0
        self.U = data.with_ones
        half = np.sqrt(self.W)[:, None] * self.U
        K = self.P.T @ (half.T @ half) @ self.P
        K.reshape(-1)[:: q + 2] += 1.0
        self.factor = factorised(K)
        if len(self.on):
            self.T_on = self.U[self.on] @ self.P
            half = lapack.dtrtrs(self.factor, self.T_on.T, lower=1)[0]
            N = half.T @ half
            N.reshape(-1)[:: len(N) + 1] += 1.0 / W[self.on]
            self.last = factorised(N)

    def __call__(self, r: FloatArray) -> FloatArray:
        """Solve, and correct by the residual where the elimination lost digits."""
        x = self._eliminate(r)
        if not self.doubtful:
            return x
        size = float(np.abs(r).max())
        last = np.inf
        for _ in range(_CORRECTIONS):
            left = r - self._times(x)
            error = float(np.abs(left).max())
            if not _DIGITS * size < error < 0.5 * last:
                break
            x, last = x + self._eliminate(left), error
        return x

    def _times(self, x: FloatArray) -> FloatArray:
        """Return (N + 1 1') x."""
        data, (z, delta, D, W) = self.data, (a if x.ndim == 1 else a[:, None] for a in self.given)
        scores = data.U.T @ x
        inner = delta * scores + z * data.cone.weights(D * data.cone.sums(z * scores))
        return np.asarray(x / W + data.U @ inner + x.sum(axis=0))

    def _eliminate(self, r: FloatArray) -> FloatArray:
        W = self.W if r.ndim == 1 else self.W[:, None]
        u = self.P.T @ (self.U.T @ (W * r))
        if len(self.on):
            x_on = solved(self.last, r[self.on] - self.T_on @ solved(self.factor, u))
            u += self.T_on.T @ x_on
        x = W * (r - self.U @ (self.P @ solved(self.factor, u)))
        if len(self.on):
            x[self.on] = x_on
        return np.asarray(x)
