"""Interior point over blocks of any rank and several classes: what `block_margin` gives the steps of `interior_point`.

The optimality conditions are those of the dual problem of `objectives.BlockMargin`. With the kernels K_r of the
extreme spectra at the labelled rows (m, l, l), multipliers Gamma (l, K) and signs Y,

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

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.linalg import lapack

from specmargin.objectives.cones.block_cone import BlockCone
from specmargin.solvers.spectrum.interior_point import MarginData, Point
from specmargin.solvers.spectrum.interior_system import factorised, solved
from specmargin.typing import FloatArray

__all__ = ["BlockData"]

_PROXIMAL = 1e-13  # of the mean diagonal of the kernel, so that a step is unique where gamma is not


@dataclass(frozen=True, eq=False)
class BlockData(MarginData):
    """The numbers of a problem whose kernels of the rays (m, l, l) are known; signs are (l, K), C is (l, 1).

    The matrix of a step takes the kernels. Scores, and all that is measured, come from the rows: the multipliers of a
    large C nearly cancel there, and in kernels, which are squares, with half of the digits.
    """

    cone: BlockCone
    C: FloatArray
    kernels: FloatArray = field(kw_only=True)

    def kernel(self, kappa: FloatArray) -> FloatArray:
        """Return K(kappa), (l, l)."""
        return np.tensordot(kappa, self.kernels, 1)

    def images(self, z: FloatArray) -> FloatArray:
        """Return K_r gamma_k of scores z = U'gamma, (m, l, K)."""
        ends = np.append(self.cone.starts[1:], self.cone.q)
        pairs = zip(self.cone.starts, ends, strict=True)
        return self.cone.of_rays(np.stack([self.U[:, a:e] @ z[a:e] for a, e in pairs]))

    def system(self, point: Point, z: FloatArray, delta: FloatArray, W: FloatArray) -> BlockSystem:
        """Return the linear system of a step."""
        kernel = self.kernel(point.kappa + self.eps)
        return BlockSystem(kernel, self.images(z), W, point.kappa, point.w, self.cone.c, shared=not self.n_pairs)

    def start(self) -> Point:
        """Return a first point inside all bounds, whose multipliers are of the size that the best margin has.

        For the squared loss they are those of the least squares on the mean kernel: its residuals are zero.
        """
        y, C, c = self.y, self.C, self.cone.c
        kappa = self.rho / (len(c) * c)
        if not self.n_pairs:
            gamma, b = self._least_squares(kappa)
            z = self.U.T @ gamma
            q, size = self.squares(z), 0.1 * float(np.abs(gamma).mean()) / len(y)
            tau = float((q / c).max()) * 1.5 + size * len(c) / self.rho
            t = y * (self.decisions(self.cone.weights(kappa + self.eps), z) + b)
            parts: list[Any] = [kappa, c * tau - q, t, gamma, b, tau]
            return Point(np.concatenate([np.ravel(part) for part in parts]), gamma.shape, len(kappa))
        positive = y > 0
        count = np.where(positive, positive.sum(axis=0), (~positive).sum(axis=0))
        share = 0.5 / np.maximum(count, 1)
        q = self.squares(self.U.T @ (y * share))
        most = self.rho * float((q / c).max()) + self.eps * float(q.sum())
        limit = np.inf
        if self.n_pairs == 1:
            most += float((share**2 / (2 * C)).sum())
        else:
            limit = 0.5 * float((C / share).min())
        multiple = min(0.5 * y.shape[1] / most if most > 0 else limit, limit)
        if not np.isfinite(multiple):
            multiple = float(np.min(C))
        gamma = multiple * y * share
        alpha = np.full(y.shape, max(float(np.abs(gamma).mean()), 1e-300))
        if self.n_pairs > 1:
            alpha = np.minimum(alpha, 0.5 * C)
        q *= multiple**2
        tau = float((q / c).max()) * 1.5 + float(alpha.mean()) * len(c) / self.rho
        return self.inside(alpha, gamma, kappa, q, tau)

    def _least_squares(self, kappa: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return gamma and b of the least squares on K(kappa): (K + diag(1 / C)) gamma + 1 b' = Y, 1'gamma = 0."""
        N = self.kernel(kappa + self.eps)
        N.reshape(-1)[:: len(N) + 1] += 1.0 / self.C[:, 0] + _PROXIMAL * float(N.diagonal().mean())
        images = solved(factorised(N), np.column_stack([self.y, np.ones(len(N))]))
        b = images[:, :-1].sum(axis=0) / images[:, -1].sum()
        return images[:, :-1] - np.outer(images[:, -1], b), b


class BlockSystem:
    """The linear system of a step over blocks, class by class."""

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
        self.kappa, self.w = kappa, w
        tiny = _PROXIMAL * float(kernel.diagonal().mean())
        self.factors: list[FloatArray] = []
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
                factor = factorised(N)
            self.factors.append(factor)
            self.solved[k] = solved(factor, self.edges[k])
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
        self, r: FloatArray, rho: FloatArray, r_w: FloatArray, r_balance: Any, r_trace: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the changes of gamma, of b and tau, of kappa and of w; `rho` is the right-hand side of kappa w."""
        K, m = len(self.factors), len(self.kappa)
        head = np.concatenate([r_balance, r_w - rho / self.kappa, [-r_trace]])
        inner = np.empty_like(r)
        for k in range(K):
            inner[:, k] = solved(self.factors[k], r[:, k])
            moved = self.edges[k].T @ inner[:, k]
            head[k] -= moved[0]
            head[K : K + m] -= moved[1:]
        z = lapack.dgetrs(self.factor[0], self.factor[1], self.scale * head)[0] * self.scale
        db, dkappa = z[:K], z[K : K + m]
        for k in range(K):
            inner[:, k] -= self.solved[k] @ np.append(db[k], dkappa)
        return inner, np.append(db, z[-1]), dkappa, (rho - self.w * dkappa) / self.kappa
