"""Interior point over blocks of any rank and several classes: the iteration behind `block_margin`.

Mehrotra's predictor and corrector on the optimality conditions of the dual problem of `objectives.BlockMargin`. With
the kernels K_r of the extreme spectra at the labelled rows (m, l, l), multipliers Gamma (l, K) and signs Y,

    T = Y (K(kappa) Gamma + 1 b'),  1'Gamma = 0,  c'kappa = rho,  w_r = c_r tau - 1/2 sum_k gamma_k'K_r gamma_k,
    kappa w = mu, and per sample and class Y Gamma = alpha (- beta + eta) with
    hinge            alpha (t - 1 + xi) = (C - alpha) xi = mu,  beta (B - t) = eta (B + t) = mu,
    squared hinge    alpha (t - 1 + alpha / C) = mu,
    squared          alpha = C (1 - t).

Everything that belongs to one sample and class is eliminated. Class k then has the matrix N_k = K(kappa) +
diag(1 / W_k) with the borders 1 and K_r gamma_k; classes meet only where the borders do, in a system of K + m + 1
unknowns. All m weights stay unknowns to the end, which keeps their digits: blocks are few, unlike the eigenvectors of
`interior_point`. A step costs K factorisations of the order l (the squared loss: one) and m l^2 K.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from specmargin.objectives.block_cone import BlockCone
from specmargin.objectives.margin_over_cone import squared_lengths
from specmargin.objectives.rounding.cholesky import cholesky
from specmargin.typing import FloatArray

__all__ = ["BlockData", "BlockPoint", "block_start", "block_step"]

_TO_BOUNDARY = 0.995
_DRIFT = 0.1  # error of a margin, where 1 is what a margin should be, from which on the linearisation is in doubt
_CENTRED = 0.5  # of the products, after a step that only centres
_PROXIMAL = 1e-13  # of the mean diagonal of the kernel, so that a step is unique where gamma is not


@dataclass(frozen=True, eq=False)
class BlockData:
    """The numbers of a problem: rows U (l, q), kernels of the rays (m, l, l), signs Y (l, K), C (l, 1), and so on.

    The matrix of a step takes the kernels. Scores, and all that is measured, come from the rows: the multipliers of a
    large C nearly cancel there, and in kernels, which are squares, with half of the digits.
    """

    U: FloatArray
    rays: FloatArray
    cone: BlockCone
    Y: FloatArray
    C: FloatArray
    loss: str
    B: float = np.inf
    rho: float = 1.0
    eps: float = 0.0

    @property
    def n_pairs(self) -> int:
        """Complementary pairs per sample and class."""
        if self.loss == "hinge":
            return 4 if np.isfinite(self.B) else 2
        return 1 if self.loss == "squared_hinge" else 0

    def kernel(self, kappa: FloatArray) -> FloatArray:
        """Return K(kappa), (l, l)."""
        return np.tensordot(kappa, self.rays, 1)

    def images(self, z: FloatArray) -> FloatArray:
        """Return K_r gamma_k of scores z = U'gamma, (m, l, K)."""
        ends = np.append(self.cone.starts[1:], self.cone.q)
        pairs = zip(self.cone.starts, ends, strict=True)
        return self.cone.of_rays(np.stack([self.U[:, a:e] @ z[a:e] for a, e in pairs]))

    def squares(self, z: FloatArray) -> FloatArray:
        """Return 1/2 sum_k gamma_k'K_r gamma_k, (m,)."""
        return self.cone.sums(squared_lengths(z) / 2)

    def decisions(self, kappa: FloatArray, z: FloatArray) -> FloatArray:
        """Return K(kappa) Gamma, (l, K)."""
        return self.U @ (self.cone.weights(kappa)[:, None] * z)


@dataclass(eq=False)
class BlockPoint:
    """An iterate, or a direction; `x` holds alpha, C - alpha, beta, eta, as far as there are such, and `s` slacks."""

    gamma: FloatArray
    b: FloatArray
    kappa: FloatArray
    w: FloatArray
    tau: float
    t: FloatArray
    x: FloatArray
    s: FloatArray

    def products(self) -> float:
        """Return the sum of all complementary products."""
        return float((self.x * self.s).sum() + self.kappa @ self.w)

    def moved(self, direction: BlockPoint, length: float) -> BlockPoint:
        """Return the point a step further."""
        parts = {name: value + length * getattr(direction, name) for name, value in vars(self).items()}
        return replace(self, **parts)

    def largest_step(self, direction: BlockPoint, most: float = 1.0) -> float:
        """Return the largest step, at most `most`, that keeps every value nonnegative."""
        worst = 0.0
        for name in ("kappa", "w", "x", "s"):
            worst = min(worst, float((getattr(direction, name) / getattr(self, name)).min(initial=0.0)))
        return most if -worst * most <= 1.0 else -1.0 / worst


class BlockStep(NamedTuple):
    """What an iteration tells: the new point, the fraction of the step taken, the largest residual before it."""

    point: BlockPoint
    length: float
    residual: float


def block_start(data: BlockData) -> BlockPoint:
    """Return a first point inside all bounds, whose multipliers are of the size that the best margin has.

    For the squared loss they are those of the least squares on the mean kernel: its residuals are zero.
    """
    Y, C, c, n_classes = data.Y, data.C, data.cone.c, data.Y.shape[1]
    kappa = data.rho / (len(c) * c)
    if data.loss == "squared":
        gamma, b = _least_squares(data, kappa)
        z = data.U.T @ gamma
        q, mean = data.squares(z), 0.1 * float(np.abs(gamma).mean()) / len(Y)
        tau = float((q / c).max()) * 1.5 + mean * len(c) / data.rho
        t, none = Y * (data.decisions(kappa + data.eps, z) + b), np.zeros((0, *Y.shape))
        return BlockPoint(gamma, b, kappa, c * tau - q, tau, t, none, none)
    positive = Y > 0
    count = np.where(positive, positive.sum(axis=0), (~positive).sum(axis=0))
    share = 0.5 / np.maximum(count, 1)
    q = data.squares(data.U.T @ (Y * share))
    most = data.rho * float((q / c).max()) + data.eps * float(q.sum())
    if data.loss == "squared_hinge":
        most += float((share**2 / (2 * C)).sum())
    limit = 0.5 * float((C / share).min()) if data.loss == "hinge" else np.inf
    multiple = min(0.5 * n_classes / most if most > 0 else limit, limit)
    if not np.isfinite(multiple):
        multiple = float(np.min(C))
    gamma = multiple * Y * share
    t = Y * data.decisions(kappa + data.eps, data.U.T @ gamma)
    alpha = np.full(Y.shape, max(float(np.abs(gamma).mean()), 1e-300))
    if data.loss == "hinge":
        alpha = np.minimum(alpha, 0.5 * C)
        rows = [(alpha, np.ones(Y.shape)), (C - alpha, alpha / (C - alpha))]
        t = np.minimum(1.0 + rows[0][1] - rows[1][1], 0.5 * (1.0 + data.B))
        if np.isfinite(data.B):
            slack = np.maximum(data.B - t, 1.0), np.maximum(data.B + t, 1.0)
            rows += [(alpha / one, one) for one in slack]
    else:
        rows = [(alpha, np.ones(Y.shape))]
        t = 2.0 - alpha / C
    x, s = (np.stack(part) for part in zip(*rows, strict=True))
    q *= multiple**2
    tau = float((q / c).max()) * 1.5 + float(alpha.mean()) * len(c) / data.rho
    return BlockPoint(gamma, np.zeros(n_classes), kappa, c * tau - q, tau, t, x, s)


def _least_squares(data: BlockData, kappa: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gamma and b of the least squares on K(kappa): (K + diag(1 / C)) gamma + 1 b' = Y, 1'gamma = 0."""
    N = data.kernel(kappa + data.eps)
    N.reshape(-1)[:: len(N) + 1] += 1.0 / data.C[:, 0] + _PROXIMAL * float(N.diagonal().mean())
    factor = cholesky(N.T, clean=False, overwrite=True)
    if factor is None:
        raise np.linalg.LinAlgError(f"a pivot of {len(N)} is not positive")
    solved = lapack.dpotrs(factor, np.column_stack([data.Y, np.ones(len(N))]), lower=1)[0]
    b = solved[:, :-1].sum(axis=0) / solved[:, -1].sum()
    return solved[:, :-1] - np.outer(solved[:, -1], b), b


def block_step(data: BlockData, point: BlockPoint, last: float = np.inf, *, centre: bool = False) -> BlockStep:
    """Take one predictor-corrector step; `last` and `centre` as in `interior_point.interior_step`."""
    Y, C, c = data.Y, data.C, data.cone.c
    gamma, kappa, w, t, x, s = point.gamma, point.kappa, point.w, point.t, point.x, point.s
    z = data.U.T @ gamma
    kernel, images = data.kernel(kappa + data.eps), data.images(z)
    over = x / s
    if data.loss == "hinge":
        theta = 1.0 / (1.0 / over[0] + 1.0 / over[1])
    elif data.loss == "squared_hinge":
        theta = 1.0 / (1.0 / over[0] + 1.0 / C)
    else:
        theta = np.broadcast_to(C, Y.shape)
    bounded = len(x) == 4
    W = theta + over[2] + over[3] if bounded else theta
    alpha = x[0] if len(x) else Y * gamma
    r_s = np.zeros_like(s)
    r_gamma = alpha - Y * gamma
    if data.loss == "hinge":
        r_s[0] = t - 1.0 + s[1] - s[0]
    elif data.loss == "squared_hinge":
        r_s[0] = t - 1.0 + alpha / C - s[0]
    if bounded:
        r_s[2], r_s[3] = data.B - t - s[2], data.B + t - s[3]
        r_gamma = r_gamma + x[3] - x[2]
    r_t = Y * (data.decisions(kappa + data.eps, z) + point.b) - t
    r_w = c * point.tau - data.squares(z) - w
    r_balance, r_trace = -gamma.sum(axis=0), data.rho - float(c @ kappa)
    system = _System(kernel, images, W, kappa, w, c, shared=data.loss == "squared")
    pairs = x.size + len(kappa)
    mu = point.products() / pairs

    def direction(rho: FloatArray, rho_kappa: FloatArray, r_t: FloatArray, r_w: FloatArray) -> BlockPoint:
        """Solve for complementary products that change by rho."""
        u = rho / x - r_s
        if data.loss == "hinge":
            gain = u[0] - u[1]
        elif data.loss == "squared_hinge":
            gain = u[0]
        else:
            gain = 1.0 - t - alpha / C
        e = theta * gain + r_gamma
        if bounded:
            e = e + over[3] * u[3] - over[2] * u[2]
        dgamma, db, dkappa, dtau = system.solve(Y * (e / W - r_t), r_balance, r_w - rho_kappa / kappa, r_trace)
        dt = (e - Y * dgamma) / W
        dx, ds = np.empty_like(x), np.empty_like(s)
        if len(x):
            dx[0] = theta * (gain - dt)
        if data.loss == "hinge":
            dx[1] = -dx[0]
            ds[1] = u[1] - dx[1] / over[1]
            ds[0] = dt + ds[1] + r_s[0]
        elif data.loss == "squared_hinge":
            ds[0] = dt + dx[0] / C + r_s[0]
        if bounded:
            ds[2], ds[3] = r_s[2] - dt, r_s[3] + dt
            dx[2], dx[3] = over[2] * (u[2] + dt), over[3] * (u[3] - dt)
        dw = (rho_kappa - w * dkappa) / kappa
        return BlockPoint(dgamma, db, dkappa, dw, dtau, dt, dx, ds)

    affine = direction(-x * s, -kappa * w, r_t, r_w)
    step = point.largest_step(affine)
    after = point.moved(affine, step).products() / pairs
    missed = (r_t, r_gamma, r_balance) if len(x) else (Y * r_t + r_gamma, r_balance)
    residual = max(*(float(np.abs(r).max()) for r in missed), abs(r_trace))
    sigma = 1.0 if residual > max(_DRIFT, last) else min(1.0, max(after, 0.0) / mu) ** 3
    sigma = max(sigma, _CENTRED) if centre else sigma
    damp = 0.0 if centre else step**2
    second = 0.0 if centre else 1.0
    # The corrector takes the second order of the products in the conditions: kappa and gamma, gamma and gamma.
    dz = data.U.T @ affine.gamma
    corrected = direction(
        sigma * mu - x * s - second * affine.x * affine.s,
        sigma * mu - kappa * w - second * affine.kappa * affine.w,
        r_t + damp * Y * data.decisions(affine.kappa, dz),
        r_w - damp * data.squares(dz),
    )
    length = min(1.0, _TO_BOUNDARY * point.largest_step(corrected, most=2.0))
    return BlockStep(point.moved(corrected, length), length, residual)


class _System:
    """The linear system of a step, factorised once and solved for two right-hand sides."""

    def __init__(
        self,
        kernel: FloatArray,
        images: FloatArray,
        W: FloatArray,
        kappa: FloatArray,
        w: FloatArray,
        c: FloatArray,
        shared: bool,
    ) -> None:
        l, n_classes, m = len(kernel), W.shape[1], len(kappa)
        self.n_classes, self.m = n_classes, m
        tiny = _PROXIMAL * float(kernel.diagonal().mean())
        self.factors: list[FloatArray] = []
        factor: FloatArray | None = None
        self.edges = np.empty((n_classes, l, 1 + m))
        self.edges[:, :, 0] = 1.0
        self.edges[:, :, 1:] = images.transpose(2, 1, 0)
        self.solved = np.empty_like(self.edges)
        schur = np.zeros((n_classes + m + 1, n_classes + m + 1))
        weights = slice(n_classes, n_classes + m)
        for k in range(n_classes):
            if k == 0 or not shared:
                N = kernel.copy()
                N.reshape(-1)[:: l + 1] += 1.0 / W[:, k] + tiny
                factor = cholesky(N.T, clean=False, overwrite=True)
            if factor is None:
                raise np.linalg.LinAlgError(f"a pivot of {l} is not positive")
            self.factors.append(factor)
            self.solved[k] = lapack.dpotrs(factor, self.edges[k], lower=1)[0]
            inner = self.edges[k].T @ self.solved[k]
            schur[k, k] -= inner[0, 0]
            schur[k, weights] -= inner[0, 1:]
            schur[weights, k] -= inner[1:, 0]
            schur[weights, weights] -= inner[1:, 1:]
        diagonal = np.arange(n_classes, n_classes + m)
        schur[diagonal, diagonal] -= w / kappa
        schur[weights, -1] = schur[-1, weights] = -c
        self.scale = 1.0 / np.sqrt(np.maximum(np.abs(schur.diagonal()), 1e-300))
        self.scale[-1] = 1.0 / np.abs(c * self.scale[weights]).max()
        self.factor = lapack.dgetrf(schur * np.outer(self.scale, self.scale))

    def solve(
        self, rhs: FloatArray, r_balance: FloatArray, r_weights: FloatArray, r_trace: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return the changes of gamma, of b, of kappa and of tau."""
        K, m = self.n_classes, self.m
        head = np.concatenate([r_balance, r_weights, [-r_trace]])
        inner = np.empty_like(rhs)
        for k in range(K):
            inner[:, k] = lapack.dpotrs(self.factors[k], rhs[:, k], lower=1)[0]
            moved = self.edges[k].T @ inner[:, k]
            head[k] -= moved[0]
            head[K : K + m] -= moved[1:]
        z = lapack.dgetrs(self.factor[0], self.factor[1], self.scale * head)[0] * self.scale
        for k in range(K):
            inner[:, k] -= self.solved[k] @ np.concatenate([z[k : k + 1], z[K : K + m]])
        return inner, z[:K], z[K : K + m], float(z[-1])
