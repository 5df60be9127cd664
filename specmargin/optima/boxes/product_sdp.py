r"""Multipliers of products in x that make the bound of an S3VM large: an interior point method for the dual SDP.

With Y the moments of (v, 1), x = c + F v (the balance at its price), B_c the symmetric matrix of a product g_c there,

    max t:  S = C - sum lam_c B_c - t e e' >= 0,  lam >= 0;      min <C, Y>:  g_c(Y) >= 0,  Y_ee = 1,
    C = diag(1/2, ..., 1/2, kappa).

The direction is that of Helmberg, Rendl, Vanderbei & Wolkowicz and of Kojima, Shindoh & Hara, with Mehrotra's
predictor and corrector; S and lam are feasible all along, Y becomes so. With X = U Y U', R = U S^-1 U', U = (F c; 0 1),
the Schur matrix consists of entries of X and R alone: B_c has rank two.

It starts from multipliers of a relaxation like it, or from those that give all products the same weight: with Y =
mu S^-1 and z = mu / lam it is on the central path but for the products, whose slacks z are other than their values.

Nothing here proves a bound: `specmargin.optima.boxes.product_bound` does, from the multipliers.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas, lapack

from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.products import Products
from specmargin.rounding import cholesky
from specmargin.typing import FloatArray, IntArray, SparseArray

__all__ = ["Multipliers", "product_sdp"]

_SHORT = 0.95
_INSIDE = 1.2
"""How much longer than the first multipliers those may be that leave S positive definite."""
_FIRST = 3.0
"""The first mu, which all products and directions have, in units of a share of the bound's terms for each."""
_TAKEN, _MORE, _NEW = 0.8, 0.1, 0.5
"""Share of a multiplier at the start that is taken, and of the mean one, for products that have one and for others."""
_SPARSE = 150
"""Samples from which on the zeros of F and of the products are worth leaving out."""
_BLOCK = 128
"""Rows of the Schur matrix that are made at once."""
_SOLVED = 0.1
"""Gap of the relaxation, relative to the distance from its bound to the level, that is small enough."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """End of the method: multipliers (m,), their bound in floating point, moments X of (x, 1), and its steps."""

    lam: FloatArray
    value: float
    X: FloatArray
    n_iter: int


def product_sdp(
    space: MarginSpace,
    products: Products,
    *,
    start: FloatArray | None = None,
    tol: float = 2e-3,
    level: float = np.inf,
    deadline: float = np.inf,
    max_iter: int = 60,
) -> Multipliers:
    """Maximise the bound of products.

    Parameters
    ----------
    space, products
        The problem, and what is not negative in it.
    start : ndarray of shape (m,), optional
        Multipliers of a problem like it, NaN where there are none.
    tol : float, default 2e-3
        Gap of the relaxation, relative to its bound, at which it is solved; a tenth of the distance from the bound to
        `level`, where that is less.
    level : float, default inf
        A bound above it is good enough.
    deadline : float, default inf
        Time of `time.perf_counter` to stop at.
    max_iter : int, default 60
        Steps.
    """
    state = _State(space, products, start)
    best = Multipliers(state.lam, -np.inf, state.X, 0)
    for n_iter in range(max_iter + 1):
        value = state.bound()
        lam = state.lam if value > best.value or not np.isfinite(best.value) else best.lam
        best = Multipliers(lam, max(value, best.value), state.X, n_iter)
        primal, missed = state.primal()
        gap = primal - best.value
        if best.value > level or time.perf_counter() > deadline:
            break
        small = min(tol * abs(best.value), _SOLVED * (level - best.value)) if primal < level else 1e-9 * abs(best.value)
        if missed < 1e-4 and gap < small:
            break
        if not state.step():
            break
    return best


class _State:
    """An interior point: lam, t, S; Y and the slacks z of the products."""

    def __init__(self, space: MarginSpace, products: Products, start: FloatArray | None) -> None:
        F, c, kappa = space.priced
        n = len(c)
        self.products, self.n, self.kappa = products, n, kappa
        self.squared, self.sums = self._triangles()
        self.F, self.c = np.asfortranarray(F), c
        self.U = np.zeros((n + 1, n + 1))
        self.U[:n, :n], self.U[:n, n], self.U[n, n] = F, c, 1.0
        self.form: Callable[[FloatArray], FloatArray | SparseArray] = (
            products.sparse_matrix if n >= _SPARSE else products.matrix
        )
        self.lam = self._begun(start)
        D = self._down(self.form(self.lam) @ self.U)
        half = 0.5 * np.eye(n)
        while cholesky(np.asfortranarray(half - _INSIDE * D[:n, :n]), clean=False) is None:
            self.lam, D = 0.7 * self.lam, 0.7 * D
        self.S = -D
        self.S[np.arange(n), np.arange(n)] += 0.5
        self.S[n, n] += kappa
        top = cholesky(np.asfortranarray(self.S[:n, :n]))
        assert top is not None
        h, corner = self.S[:n, n], float(self.S[n, n])
        square = float(h @ lapack.dpotrs(top, h, lower=1)[0])
        mu = max(_FIRST * (abs(corner) + square) / (n + len(self.lam)), 1e-12)
        self.t = corner - square - mu
        self.S[n, n] -= self.t
        self._factored()
        # On the central path but for the products: Y_ee is 1.
        self.Y, self.X, self.z = mu * self.inverse, mu * self.R, mu / self.lam

    def _begun(self, start: FloatArray | None) -> FloatArray:
        """Return positive multipliers: some of those at the start, and such that all products weigh the same."""
        of, t = self.products, self.products.triangles[:, :3]
        own, c = np.append((self.F**2).sum(axis=1), 0.0), np.append(self.c, 1.0)
        sizes = np.sqrt((own[of.i] + (c[of.i] - of.p) ** 2) * (own[of.j] + (c[of.j] - of.q) ** 2))
        even = 1.0 / np.append(sizes, (own + c**2)[t].sum(axis=1))
        if start is None or np.isnan(start).all():
            return even
        known = np.isfinite(start)
        even *= float(np.mean(start[known] / even[known])) or 1.0
        return np.where(known, _TAKEN * start + _MORE * even, _NEW * even)

    def _down(self, B: FloatArray) -> FloatArray:
        """Return U' B for B by rows: F is a triangle, and half the work of a full matrix where work is what counts."""
        if self.n < _SPARSE:
            return np.asarray(self.U.T @ B)
        out = np.empty_like(B)
        out[:-1] = blas.dtrmm(1.0, self.F, B[:-1].T, side=1, lower=1).T
        out[-1] = self.c @ B[:-1] + B[-1]
        return out

    def _up(self, B: FloatArray) -> FloatArray:
        """Return U B for B by rows."""
        if self.n < _SPARSE:
            return np.asarray(self.U @ B)
        out = np.empty_like(B)
        out[:-1] = blas.dtrmm(1.0, self.F, B[:-1].T, side=1, lower=1, trans_a=1).T
        out[:-1] += self.c[:, None] * B[-1]
        out[-1] = B[-1]
        return out

    def _moments(self, Y: FloatArray) -> FloatArray:
        """Return U Y U' for symmetric Y."""
        return self._up(np.ascontiguousarray(self._up(Y).T))

    def _factored(self) -> bool:
        factor = cholesky(np.asfortranarray(self.S))
        if factor is None:
            return False
        inverse = np.tril(lapack.dpotri(factor, lower=1)[0])
        self.inverse = inverse + np.tril(inverse, -1).T
        self.V = self._up(self.inverse)
        self.R = self._up(np.ascontiguousarray(self.V.T))
        return True

    def bound(self) -> float:
        """Return the bound of lam: t and what it may still rise by."""
        return self.t + 1.0 / float(self.inverse[-1, -1])

    def primal(self) -> tuple[float, float]:
        """Return <C, Y>, and how far Y is from feasible, relative to the products."""
        g = self.products.values(self.X)
        missed = float(np.abs(g - self.z).max(initial=0.0)) / (1.0 + float(np.abs(g).max(initial=0.0)))
        value = 0.5 * float(np.trace(self.Y[:-1, :-1])) + self.kappa * float(self.Y[-1, -1])
        return value, max(missed, abs(float(self.X[-1, -1]) - 1.0))

    def _schur(self) -> tuple[FloatArray, FloatArray] | None:
        """Return the factor of the Schur matrix of (lam, t), its diagonal scaled to one, and the scales.

        H_cd = sign_c sign_d / 4 (bXa bRa' + bXb aRa + aXa bRb + aXb bRa'), with the factors of c on the left and those
        of d on the right: entries of the products of X and R with all factors, gathered by whole rows.
        """
        of = self.products
        a, b, m = (of.i, of.p), (of.j, of.q), len(of.i)
        Xa, Xb, Ra, Rb = (np.ascontiguousarray(_rows(M, *side).T) for M in (self.X, self.R) for side in (a, b))
        terms = [(X, R, s, r) for X, R in ((Xa, Rb), (Xb, Ra)) for s, r in ((a, b), (b, a))]
        weight = 0.5 * of.sign
        H = np.zeros((len(self.lam) + 1,) * 2)
        for start in range(0, m, _BLOCK):
            c, rest = slice(start, start + _BLOCK), slice(start, m)
            block = H[:m, :m][c, rest]
            for X, R, s, r in terms:
                part = _rows(X[:, rest], s[0][c], s[1][c])
                part *= _rows(R[:, rest], r[0][c], r[1][c])
                block += part
            block *= weight[rest]
            block *= weight[c, None]
        H[:m, -1] = weight * (Xa[-1] * Rb[-1] + Xb[-1] * Ra[-1])
        H[-1, -1] = self.X[-1, -1] * self.R[-1, -1]
        if len(of.triangles):
            # Their matrices are sums of squares: those of x, of the sums of three x, and of the constant.
            squared, sums = self.squared, self.sums
            mixed = (squared @ Xa) * (squared @ Rb) + (squared @ Xb) * (squared @ Ra)
            H[:m, m:-1] = (sums @ (mixed * weight)).T
            X, R = (squared @ np.ascontiguousarray((squared @ M).T) for M in (self.X, self.R))
            own = sums @ (X * R)
            H[m:-1, m:-1], H[m:-1, -1] = sums @ np.ascontiguousarray(own.T), own[:, -1]
        every = np.arange(len(H))
        H[every[:-1], every[:-1]] += self.z / self.lam
        scale = 1.0 / np.sqrt(H.diagonal())
        H *= scale
        H *= scale[:, None]
        for ridge in (0.0, 1e-13, 1e-11, 1e-9, 1e-7):
            H[every, every] = 1.0 + ridge
            factor = cholesky(H.T, clean=False)
            if factor is not None:
                return factor, scale
        return None

    def _triangles(self) -> tuple[SparseArray, SparseArray]:
        """Return whose squares the triangles are sums of, in (x, 1), and how much of each is in each of them."""
        of, n, k = self.products, self.n, len(self.products.triangles)
        rows, t = np.repeat(np.arange(k), 3), of.triangles[:, :3].ravel()
        three = sp.csr_array((of.signs.ravel(), (rows, t)), shape=(k, n + 1))
        lines = sp.csr_array(([-2.0] * k, (np.arange(k), [n] * k)), shape=(k, n + 1))
        sums = sp.hstack([0.5 * sp.eye_array(k), 0.5 * abs(three) + lines])
        return sp.csr_array(sp.vstack([three, sp.eye_array(n + 1)])), sp.csr_array(sums)

    def step(self) -> bool:
        """Take a step; False where the arithmetic has come to its end."""
        schur = self._schur()
        if schur is None:
            return False
        m, size = len(self.lam), self.n + 1
        mu = (float(np.vdot(self.S, self.Y)) + float(self.lam @ self.z)) / (m + size)
        dlam, _, dS, dY, dz, W = self._direction(schur, 0.0, None, np.zeros(m))
        dual, primal = self._longest(self.S, dS, self.lam, dlam), self._longest(self.Y, dY, self.z, dz)
        left = float(np.vdot(self.S + dual * dS, self.Y + primal * dY))
        left += float((self.lam + dual * dlam) @ (self.z + primal * dz))
        sigma = min(0.7, max(0.02, (max(left, 0.0) / (m + size) / mu) ** 2))
        product = dY @ W
        dlam, dt, dS, dY, dz, _ = self._direction(schur, sigma * mu, (product + product.T) / -2.0, dlam * dz)
        dual, primal = self._longest(self.S, dS, self.lam, dlam), self._longest(self.Y, dY, self.z, dz)
        if max(dual, primal) < 1e-7:
            return False
        self.lam, self.t, self.S = self.lam + dual * dlam, self.t + dual * dt, self.S + dual * dS
        self.Y, self.z = self.Y + primal * dY, self.z + primal * dz
        self.X = self._moments(self.Y)
        return self._factored()

    def _direction(
        self, schur: tuple[FloatArray, FloatArray], mu: float, second: FloatArray | None, cross: FloatArray
    ) -> tuple[FloatArray, float, FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the changes of lam, t, S, Y, z towards mu, and -dS S^-1; `second` and `cross` are of second order."""
        factor, scale = schur
        target = (mu - cross) / self.lam
        right = np.append(target, 1.0)
        if second is not None:
            aim = mu * self.inverse - second
            moments = self._moments(aim)
            right -= np.append(self.products.values(moments), moments[-1, -1])
        step = scale * lapack.dpotrs(factor, scale * right, lower=1)[0]
        dlam, dt = step[:-1], float(step[-1])
        N = self.form(dlam)
        dS, W = self._down(N @ self.U), self._down(N @ self.V)
        dS[-1, -1] += dt
        W[-1] += dt * self.inverse[-1]
        product = self.Y @ W
        dY = (product + product.T) / 2.0 - self.Y
        if second is not None:
            dY += aim
        return dlam, dt, -dS, dY, target - self.z - self.z / self.lam * dlam, W

    @staticmethod
    def _longest(M: FloatArray, dM: FloatArray, x: FloatArray, dx: FloatArray) -> float:
        """Return a step that leaves M and x inside of their cones."""
        falling = dx < 0
        length = min(1.0, _SHORT * float(np.min(-x[falling] / dx[falling], initial=np.inf)))
        while length > 1e-9:
            if cholesky((M + (length / _SHORT) * dM).T, clean=False, overwrite=True) is not None:
                return length
            length *= 0.88
        return 0.0


def _rows(M: FloatArray, k: IntArray, s: FloatArray) -> FloatArray:
    """Return the rows k of M, less s times the last one."""
    out = np.take(M, k, axis=0)
    out -= s[:, None] * M[-1]
    return out
