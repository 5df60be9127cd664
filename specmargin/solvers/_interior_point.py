"""Interior point for a large (relative) margin over a family of spectra: the iteration behind `spectrum_margin`.

Mehrotra's predictor and corrector on the optimality conditions of the dual problem of `objectives.SpectrumMargin`,

    t = y (Ubar (delta z) + b),  z = Ubar'gamma,  delta = A'(kappa + eps),  1'gamma = 0,  c'kappa = rho,
    w = c tau - A (z^2 / 2),  kappa w = mu,  and per sample  alpha (t - 1 + xi) = (C - alpha) xi = mu,
    beta (B - t) = eta (B + t) = mu,  gamma = y (alpha - beta + eta).

Everything that belongs to one sample is eliminated, so that a step costs one matrix of the order l,

    N = diag(1 / W) + Ubar diag(delta) Ubar' + G D G',   G = Ubar diag(z) A',   D = kappa / w,

or, where labelled samples outnumber eigenvectors, matrices of the order q by Woodbury's identity. What a large pivot
would swamp stays an unknown of its own: rows with a large D (spectra that will be active) border the system, and in
Woodbury's form so do samples with a large W (those that will lie on a kink of the loss). This is what lets the
iteration go on below a gap of 1e-6.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from specmargin.objectives.cone import Cone
from specmargin.typing import FloatArray

__all__ = ["MarginData", "Point", "Step", "interior_step", "start"]

_BORDER = 1e3  # rows whose D G'G exceeds this many times the mean diagonal of the kernel (one) border the system
_KINK = 1e3  # the same for samples in Woodbury's form
_TO_BOUNDARY = 0.995


@dataclass(frozen=True, eq=False)
class MarginData:
    """The numbers of a problem: labelled rows U (l, q), signs y, family of spectra, C, B, rho and eps."""

    U: FloatArray
    y: FloatArray
    cone: Cone
    C: float
    B: float
    rho: float = 1.0
    eps: float = 0.0

    @property
    def n_pairs(self) -> int:
        """Complementary pairs per sample."""
        return 4 if np.isfinite(self.B) else 2

    @cached_property
    def rays(self) -> FloatArray:
        """A, (m, q)."""
        return self.cone.matrix()

    def weights(self, kappa: FloatArray) -> FloatArray:
        """Return delta."""
        return self.cone.weights(kappa + self.eps)


class Point(NamedTuple):
    """An iterate. Rows of `x`: alpha, C - alpha, beta, eta; of `s` their slacks t - 1 + xi, xi, B - t, B + t."""

    x: FloatArray
    s: FloatArray
    t: FloatArray
    gamma: FloatArray
    kappa: FloatArray
    w: FloatArray
    b: float
    tau: float

    def products(self) -> float:
        """Return the sum of all complementary products."""
        return float(np.vdot(self.x, self.s) + self.kappa @ self.w)


class Step(NamedTuple):
    """What an iteration tells: the new point, the fraction of the step taken, the largest residual before it."""

    point: Point
    length: float
    residual: float


def start(data: MarginData) -> Point:
    """Return a first point inside all bounds whose complementary products are of one size.

    The multipliers are the best multiple of the class-balanced ones, the margins lie just beyond one (inside B).
    """
    y, C, B, cone = data.y, data.C, data.B, data.cone
    positive = y > 0
    share = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())
    z = data.U.T @ (y * share)
    S = cone.sums(z**2 / 2)
    most = data.rho * float((S / cone.c).max()) + data.eps * float(S.sum())
    multiple = min(0.5 / most, C / float(share.max())) if most > 0 else C / float(share.max())
    # The sum of the multipliers is at most twice any primal value: that is their scale, C only their limit.
    kappa = data.rho / (cone.m * cone.c)
    delta = data.weights(kappa)
    t = multiple * y * (data.U @ (delta * z))
    value = 0.5 * multiple**2 * float(delta @ z**2) + C * float(np.maximum(1.0 - t, 0.0).sum())
    value = min(value, 2 * C * float(min(positive.sum(), (~positive).sum())))
    alpha = np.full(len(y), min(0.5 * C, 2.0 * value / len(y)))
    s = [np.ones(len(y)), alpha / (C - alpha)]
    x = [alpha, C - alpha]
    t = np.minimum(1.0 + s[0] - s[1], 0.5 * (1.0 + B))
    if data.n_pairs == 4:
        s += [np.maximum(B - t, 1.0), np.maximum(B + t, 1.0)]
        x += [alpha / s[2], alpha / s[3]]
    S *= multiple**2
    tau = float((S / cone.c).max()) + float(alpha.mean()) * cone.m / data.rho
    return Point(np.array(x), np.array(s), t, multiple * y * share, kappa, cone.c * tau - S, 0.0, tau)


def interior_step(data: MarginData, point: Point) -> Step:
    """Take one predictor-corrector step."""
    y, cone, c = data.y, data.cone, data.cone.c
    x, s, t, kappa, w = point.x, point.s, point.t, point.kappa, point.w
    gamma = point.gamma
    z = data.U.T @ gamma
    delta = data.weights(kappa)
    r_s = np.zeros_like(s)
    r_s[0] = t - 1.0 + s[1] - s[0]
    if len(x) == 4:
        r_s[2], r_s[3] = data.B - t - s[2], data.B + t - s[3]
    r_gamma = (x[0] - x[2] + x[3] if len(x) == 4 else x[0]) - y * gamma
    ratio = s / x
    theta = 1.0 / (ratio[0] + ratio[1])
    W = theta.copy()
    if len(x) == 4:
        W += 1.0 / ratio[2] + 1.0 / ratio[3]
    system = _System(data, z, delta, kappa, w, W)
    r_t = y * (data.U @ (delta * z) + point.b) - t
    r_w = c * point.tau - cone.sums(z**2 / 2) - w
    r_balance, r_trace = -float(gamma.sum()), data.rho - float(c @ kappa)
    count = x.size + len(kappa)
    mu = point.products() / count

    def direction(
        rho_x: FloatArray, rho_k: FloatArray, r_t: FloatArray, r_w: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray, float, float, FloatArray]:
        rho_x = rho_x - x * r_s
        e = theta * (rho_x[0] / x[0] - rho_x[1] / x[1])
        if len(x) == 4:
            e += rho_x[3] / s[3] - rho_x[2] / s[2]
        e += r_gamma
        dgamma, db, dtau, dkappa, dw = system.solve(y * (e / W - r_t), rho_k, r_w, r_balance, r_trace)
        dt = (e - y * dgamma) / W
        dx, ds = np.empty_like(x), np.empty_like(s)
        dx[0] = theta * (rho_x[0] / x[0] - rho_x[1] / x[1] - dt)
        dx[1] = -dx[0]
        ds[1] = (rho_x[1] - s[1] * dx[1]) / x[1]
        ds[0] = dt + ds[1] + r_s[0]
        if len(x) == 4:
            ds[2], ds[3] = r_s[2] - dt, r_s[3] + dt
            dx[2], dx[3] = (rho_x[2] + x[2] * dt) / s[2], (rho_x[3] - x[3] * dt) / s[3]
        return dx, ds, dt, dkappa, dw, db, dtau, dgamma

    dx, ds, dt, dkappa, dw, db, dtau, dgamma = direction(-x * s, -kappa * w, r_t, r_w)
    reach = _length((x, dx), (s, ds), (kappa, dkappa), (w, dw))
    after = float(np.vdot(x + reach * dx, s + reach * ds) + (kappa + reach * dkappa) @ (w + reach * dw)) / count
    sigma = min(1.0, max(after, 0.0) / mu) ** 3
    # The corrector also takes the second order of the two products in the conditions: delta z and z^2 / 2.
    dz = data.U.T @ dgamma
    curved_t = y * (data.U @ (cone.weights(dkappa) * dz))
    curved_w = cone.sums(dz**2 / 2)
    damp = reach**2
    dx, ds, dt, dkappa, dw, db, dtau, dgamma = direction(
        sigma * mu - x * s - dx * ds,
        sigma * mu - kappa * w - dkappa * dw,
        r_t + damp * curved_t,
        r_w - damp * curved_w,
    )
    length = min(1.0, _TO_BOUNDARY * _length((x, dx), (s, ds), (kappa, dkappa), (w, dw), most=2.0))
    moved = Point(
        x + length * dx,
        s + length * ds,
        t + length * dt,
        gamma + length * dgamma,
        kappa + length * dkappa,
        w + length * dw,
        point.b + length * db,
        point.tau + length * dtau,
    )
    residual = max(float(np.abs(r_t).max()), float(np.abs(r_gamma).max()), abs(r_balance), abs(r_trace))
    return Step(moved, length, residual)


def _length(*pairs: tuple[FloatArray, FloatArray], most: float = 1.0) -> float:
    """Return the largest step, at most `most`, that keeps every value nonnegative."""
    with np.errstate(divide="ignore", invalid="ignore"):
        worst = max(float(np.max(-change / value)) for value, change in pairs)
    return most if worst * most <= 1.0 else 1.0 / worst


class _System:
    """The linear system of a step, factorised once and solved for two right-hand sides."""

    def __init__(
        self, data: MarginData, z: FloatArray, delta: FloatArray, kappa: FloatArray, w: FloatArray, W: FloatArray
    ) -> None:
        cone, U, D = data.cone, data.U, kappa / w
        self.c, self.kappa, self.w, self.D = cone.c, kappa, w, D
        self.G = cone.sums(z[:, None] * U.T).T
        mass = D * np.einsum("ij,ij->j", self.G, self.G) / len(U)
        self.border = border = mass > _BORDER
        D_in = np.where(border, 0.0, D)
        self.edge = np.column_stack([np.ones(len(U)), -(self.G @ (D_in * cone.c)), self.G[:, border]])
        if len(U) <= 1.3 * cone.q:
            self.inverse: _Direct | _Woodbury = _Direct(U, delta, self.G, D_in, W)
        else:
            self.inverse = _Woodbury(U, z, delta, data.rays, cone, D_in, W)
        self.image = self.inverse.solve(self.edge)
        k = self.edge.shape[1]
        corner = np.zeros((k, k))
        corner[1, 1] = cone.c @ (D_in * cone.c)
        corner[1, 2:] = corner[2:, 1] = -cone.c[border]
        corner[np.arange(2, k), np.arange(2, k)] = -1.0 / D[border]
        schur = corner - self.edge.T @ self.image
        self.scale = 1.0 / np.sqrt(np.maximum(np.abs(schur.diagonal()), 1e-300))
        self.factor = sla.lu_factor(schur * np.outer(self.scale, self.scale), check_finite=False)

    def solve(
        self, r: FloatArray, rho: FloatArray, r_w: FloatArray, r_balance: float, r_trace: float
    ) -> tuple[FloatArray, float, float, FloatArray, FloatArray]:
        """Return the changes of gamma, b, tau, kappa and w; `rho` is the right-hand side of kappa w."""
        border = self.border
        free = np.where(border, 0.0, rho / self.w - self.D * r_w)
        r = r - self.G @ free + r_balance  # N was given 1 1' to be definite: the balance takes it back
        rhs = np.concatenate([[r_balance, self.c @ free - r_trace], (r_w - rho / self.kappa)[border]])
        X = self.inverse.solve(r)
        small = self.scale * sla.lu_solve(self.factor, self.scale * (rhs - self.edge.T @ X), check_finite=False)
        dgamma = X - self.image @ small
        db, dtau = float(small[0]), float(small[1])
        dw = self.c * dtau - self.G.T @ dgamma + r_w
        dkappa = rho / self.w - self.D * dw
        dkappa[border] = small[2:]
        dw[border] = ((rho - self.w * dkappa) / self.kappa)[border]
        return dgamma, db, dtau, dkappa, dw


class _Direct:
    """Inverse of N + 1 1' by one Cholesky factorisation of the order l."""

    def __init__(self, U: FloatArray, delta: FloatArray, G: FloatArray, D: FloatArray, W: FloatArray) -> None:
        factor = np.column_stack([U * np.sqrt(delta), G * np.sqrt(D)])
        N = factor @ factor.T + 1.0
        N[np.diag_indices_from(N)] += 1.0 / W
        self.factor = sla.cho_factor(N, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, r: FloatArray) -> FloatArray:
        return sla.cho_solve(self.factor, r, check_finite=False)


class _Woodbury:
    """The same by factorisations of the order q: samples off the kinks are eliminated first, the others last."""

    def __init__(
        self,
        U: FloatArray,
        z: FloatArray,
        delta: FloatArray,
        rays: FloatArray,
        cone: Cone,
        D: FloatArray,
        W: FloatArray,
    ) -> None:
        M = z[:, None] * cone.weights(D[:, None] * rays) * z
        M[np.diag_indices_from(M)] += delta
        q = len(M)
        root = np.sqrt(np.maximum(M.diagonal(), 1e-300))
        M /= np.outer(root, root)
        M[np.diag_indices_from(M)] += 1e-14
        L = root[:, None] * np.linalg.cholesky(M)
        T = np.column_stack([U @ L, np.ones(len(U))])
        kink = np.zeros(len(U), dtype=bool)
        last = np.argsort(W)[-q:]
        kink[last[W[last] > _KINK]] = True
        self.kink, self.W = kink, W[~kink]
        self.rest, self.on = T[~kink], T[kink]
        K = self.rest.T @ (self.W[:, None] * self.rest)
        K[np.diag_indices_from(K)] += 1.0
        self.factor = sla.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        if kink.any():
            half = sla.solve_triangular(self.factor[0], self.on.T, lower=True, check_finite=False)
            N = half.T @ half
            N[np.diag_indices_from(N)] += 1.0 / W[kink]
            self.last = sla.cho_factor(N, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, r: FloatArray) -> FloatArray:
        x = np.empty_like(r)
        W = self.W if r.ndim == 1 else self.W[:, None]
        u = self.rest.T @ (W * r[~self.kink])
        if self.kink.any():
            inner = sla.cho_solve(self.factor, u, check_finite=False)
            x[self.kink] = sla.cho_solve(self.last, r[self.kink] - self.on @ inner, check_finite=False)
            u = u + self.on.T @ x[self.kink]
        inner = sla.cho_solve(self.factor, u, check_finite=False)
        x[~self.kink] = W * (r[~self.kink] - self.rest @ inner)
        return x
