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

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from specmargin.objectives.cones.cone import Cone
from specmargin.objectives.cones.margin import squared_lengths
from specmargin.solvers.spectrum.interior_system import MarginSystem
from specmargin.typing import FloatArray

__all__ = ["MarginData", "Point", "Step", "StepSystem", "interior_step"]

_PROXIMAL = 1e-9  # added to the mean diagonal of the kernel (one), so that a step is unique where gamma is not
_PROXIMAL_MOVE = 1e-4  # that times the largest multiplier, at most: it must not outweigh small eigenvalues then
_LEAST_PROXIMAL = 1e-13  # whatever the multipliers
_TO_BOUNDARY = 0.995
_CENTRED = 0.5  # of the products, after a step that only centres
_DRIFT = 0.1  # error of a margin, where 1 is what a margin should be, from which on the linearisation is in doubt


@dataclass(frozen=True, eq=False)
class MarginData:
    """The numbers of a problem: labelled rows U (l, q), signs y, spectra, C of all or of each, B, rho and eps.

    Signs (l, K) are of K classes, or of one that shares its weights with blocks; the loss is the hinge but for those.
    """

    U: FloatArray
    y: FloatArray
    cone: Cone
    C: float | FloatArray
    B: float
    rho: float = 1.0
    eps: float = 0.0
    loss: str = "hinge"
    n_pairs: int = field(init=False)
    """Complementary pairs per sample and class."""
    rays: FloatArray = field(init=False)
    """A, (m, q)."""

    def __post_init__(self) -> None:
        bounded = 4 if np.isfinite(self.B) else 2
        pairs = bounded if self.loss == "hinge" else 1 if self.loss == "squared_hinge" else 0
        vars(self).update(n_pairs=pairs, rays=self.cone.sums(np.eye(self.cone.q)))

    @cached_property
    def gram(self) -> FloatArray:
        """U'U, (q, q)."""
        return self.U.T @ self.U

    @cached_property
    def with_ones(self) -> FloatArray:
        """U and a column of ones, (l, q + 1)."""
        return np.column_stack([self.U, np.ones(len(self.y))])

    def decisions(self, delta: FloatArray, z: FloatArray) -> FloatArray:
        """Return U (delta z), which is K(delta) gamma, of scores z = U'gamma."""
        return self.U @ ((delta if z.ndim == 1 else delta[:, None]) * z)

    def squares(self, z: FloatArray) -> FloatArray:
        """Return 1/2 sum_k gamma_k'K_r gamma_k, (m,)."""
        return self.cone.sums(squared_lengths(z) / 2)

    def system(self, point: Point, z: FloatArray, delta: FloatArray, W: FloatArray) -> StepSystem:
        """Return the linear system of a step."""
        # Samples that look alike (copies, or rows of one component) share their multipliers in any proportion.
        size = max(float(np.abs(point.gamma).max()), 1e-300)
        proximal = min(_PROXIMAL, max(_PROXIMAL_MOVE / size, _LEAST_PROXIMAL))
        return MarginSystem(self, z, delta, point.kappa, point.w, W / (1.0 + proximal * W))

    def value(self, point: Point) -> float:
        """Return the dual objective of an iterate plus its products: a cheap stand-in for the primal one."""
        if self.n_pairs < 2:
            s = self.y * point.gamma
            value = float(s.sum() - (s**2 / (2 * self.C)).sum())
        else:
            value = float(point.x[0].sum())
        value -= self.rho * point.tau
        if self.n_pairs == 4:
            value -= self.B * float(point.x[2].sum() + point.x[3].sum())
        if self.eps:
            value -= self.eps * float(self.squares(self.U.T @ point.gamma).sum())
        return abs(value) + float(point.pos @ point.slack)

    def start(self) -> Point:
        """Return a first point inside all bounds whose complementary products are of one size.

        The sum of the multipliers is at most twice any primal value: that is their scale, C is only their limit.
        """
        y, C, cone = self.y, self.C, self.cone
        positive = y > 0
        share = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())
        z = self.U.T @ (y * share)
        S = self.squares(z)
        most = self.rho * float((S / cone.c).max()) + self.eps * float(S.sum())
        limit = float((C / share).min())
        multiple = min(0.5 / most, limit) if most > 0 else limit
        kappa = self.rho / (cone.m * cone.c)
        delta = self.cone.weights(kappa + self.eps)
        t = multiple * y * self.decisions(delta, z)
        value = 0.5 * multiple**2 * float(delta @ z**2) + float((C * np.maximum(1.0 - t, 0.0)).sum())
        value = min(value, 2 * float(min((C * positive).sum(), (C * ~positive).sum())))
        alpha = np.minimum(0.5 * C, np.full(len(y), 2.0 * value / len(y)))
        S *= multiple**2
        tau = float((S / cone.c).max()) + float(alpha.mean()) * cone.m / self.rho
        return self.inside(alpha, multiple * y * share, kappa, S, tau)

    def inside(self, alpha: FloatArray, gamma: FloatArray, kappa: FloatArray, S: FloatArray, tau: float) -> Point:
        """Return the point of these multipliers and squares, with margins and slacks to match and no intercept."""
        C, B = self.C, self.B
        x, s, t = [alpha], [np.ones(alpha.shape)], 2.0 - alpha / C
        if self.n_pairs > 1:
            x, s = [alpha, C - alpha], [*s, alpha / (C - alpha)]
            t = np.minimum(1.0 + s[0] - s[1], 0.5 * (1.0 + B))
        if self.n_pairs == 4:
            s += [np.maximum(B - t, 1.0), np.maximum(B + t, 1.0)]
            x += [alpha / s[2], alpha / s[3]]
        parts: list[Any] = [*x, kappa, *s, self.cone.c * tau - S, t, gamma, np.zeros(gamma.shape[1:]), tau]
        return Point(np.concatenate([np.ravel(part) for part in parts]), gamma.shape, len(kappa))


class Point:
    """An iterate, or a direction: one array for all unknowns, with views by name.

    Rows of `x` are alpha, C - alpha, beta, eta, rows of `s` their slacks t - 1 + xi, xi, B - t, B + t; without a bound
    on the decisions the last two are missing. `kappa` and `w` are complementary, too. The unknowns that must stay
    positive come first: `pos` is x and kappa, `slack` is s and w.
    """

    __slots__ = ("b", "b_tau", "gamma", "kappa", "pos", "s", "shape", "slack", "t", "tau", "values", "w", "x")

    def __init__(self, values: FloatArray, shape: tuple[int, ...], m: int) -> None:
        l, n_b = math.prod(shape), math.prod(shape[1:])
        pairs = (len(values) - 2 * m - 2 * l - n_b - 1) // (2 * l)
        p = pairs * l + m
        self.values, self.shape = values, shape
        self.pos, self.slack = values[:p], values[p : 2 * p]
        self.x, self.s = (part[: pairs * l].reshape(pairs, *shape) for part in (self.pos, self.slack))
        self.kappa, self.w = self.pos[pairs * l :], self.slack[pairs * l :]
        self.t, self.gamma = (values[at : at + l].reshape(shape) for at in (2 * p, 2 * p + l))
        self.b_tau = values[2 * p + 2 * l :]
        # The intercept, of several classes one for each, and the multiplier of the trace.
        self.b: Any = self.b_tau[:-1].reshape(shape[1:])[()]
        self.tau = float(self.b_tau[-1])

    def largest_step(self, direction: Point, most: float = 1.0) -> float:
        """Return the largest step, at most `most`, that keeps every value nonnegative."""
        n = 2 * len(self.pos)
        worst = float((direction.values[:n] / self.values[:n]).min())
        return most if -worst * most <= 1.0 else -1.0 / worst


class Step(NamedTuple):
    """What an iteration tells: the new point, the fraction of the step taken, the largest residual before it."""

    point: Point
    length: float
    residual: float


class StepSystem(Protocol):
    """The linear system of a step, factorised once and solved for two right-hand sides."""

    def solve(
        self, r: FloatArray, rho: FloatArray, r_w: FloatArray, r_balance: Any, r_trace: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the changes of gamma, of b and tau, of kappa and of w; `rho` is the right-hand side of kappa w."""


def interior_step(data: MarginData, point: Point, last: float = np.inf, *, centre: bool = False) -> Step:
    """Take one predictor-corrector step.

    Where the margins are further from delta z than the `last` step found them, the product of the two changes is what
    keeps them apart. The step then holds the complementary products as they are: a smaller step on a flatter part of
    the path, where the linearisation holds.

    The corrector supposes that the predictor's step could be taken whole. Where little of it can, the correction leads
    away from the path, and the next one back: two such points may take turns for ever. With `centre` there is no
    correction, and the products are halved at the most, so that the point comes near the path again.
    """
    near = _Linearised(data, point)
    pairs = len(point.pos)
    mu = float(point.pos @ point.slack) / pairs
    rho = -(point.pos * point.slack)
    affine = near.direction(rho, near.r_t, near.r_w)
    step = point.largest_step(affine)
    after = float((point.pos + step * affine.pos) @ (point.slack + step * affine.slack)) / pairs
    sigma = 1.0 if near.residual > max(_DRIFT, last) else min(1.0, max(after, 0.0) / mu) ** 3
    # The corrector also takes the second order of the two products in the conditions: delta z and z^2 / 2.
    dz = data.U.T @ affine.gamma
    damp = 0.0 if centre else step**2
    sigma = max(sigma, _CENTRED) if centre else sigma
    second = 0.0 if centre else affine.pos * affine.slack
    corrected = near.direction(
        rho + (sigma * mu - second),
        near.r_t + damp * data.y * data.decisions(data.cone.weights(affine.kappa), dz),
        near.r_w - damp * data.squares(dz),
    )
    length = min(1.0, _TO_BOUNDARY * point.largest_step(corrected, most=2.0))
    moved = Point(point.values + length * corrected.values, point.shape, len(point.kappa))
    return Step(moved, length, near.residual)


class _Linearised:
    """The conditions at a point, linearised: their residuals, and the directions that they ask for."""

    def __init__(self, data: MarginData, point: Point) -> None:
        y, cone = data.y, data.cone
        x, s, t, gamma = point.x, point.s, point.t, point.gamma
        self.data, self.point, self.pairs = data, point, len(x)
        z = data.U.T @ gamma
        delta = cone.weights(point.kappa + data.eps)
        self.over = over = x / s  # alpha, ... over their slacks
        if self.pairs > 1:
            self.theta = 1.0 / (1.0 / over[0] + 1.0 / over[1])
        elif self.pairs:
            self.theta = 1.0 / (1.0 / over[0] + 1.0 / data.C)
        else:
            self.theta = np.broadcast_to(data.C, y.shape)
        self.W = self.theta + over[2] + over[3] if self.pairs == 4 else self.theta
        self.system = data.system(point, z, delta, self.W)
        self.r_s = r_s = np.zeros_like(s)
        self.alpha = x[0] if self.pairs else y * gamma
        self.r_gamma = self.alpha - y * gamma
        if self.pairs > 1:
            r_s[0] = t - 1.0 + s[1] - s[0]
        elif self.pairs:
            r_s[0] = t - 1.0 + self.alpha / data.C - s[0]
        if self.pairs == 4:
            r_s[2], r_s[3] = data.B - t - s[2], data.B + t - s[3]
            self.r_gamma += x[3] - x[2]
        self.r_t = y * (data.decisions(delta, z) + point.b) - t
        self.r_w = cone.c * point.tau - data.squares(z) - point.w
        self.r_balance, self.r_trace = -gamma.sum(axis=0), data.rho - float(cone.c @ point.kappa)
        self.residual = max(float(np.abs(r).max()) for r in (self.r_t, self.r_gamma, self.r_balance, self.r_trace))

    def direction(self, rho: FloatArray, r_t: FloatArray, r_w: FloatArray) -> Point:
        """Solve for complementary products that change by rho."""
        point, over, theta, r_s, W, C = self.point, self.over, self.theta, self.r_s, self.W, self.data.C
        d = Point(np.empty_like(point.values), point.shape, len(point.kappa))
        u = rho[: point.x.size].reshape(point.x.shape) / point.x - r_s
        gain = u[0] if self.pairs else 1.0 - point.t - self.alpha / C
        if self.pairs > 1:
            gain = gain - u[1]
        e = theta * gain + self.r_gamma
        if self.pairs == 4:
            e += over[3] * u[3] - over[2] * u[2]
        d.gamma[:], d.b_tau[:], d.kappa[:], d.w[:] = self.system.solve(
            self.data.y * (e / W - r_t), rho[point.x.size :], r_w, self.r_balance, self.r_trace
        )
        np.divide(e - self.data.y * d.gamma, W, out=d.t)
        if self.pairs:
            d.x[0] = theta * (gain - d.t)
        if self.pairs == 1:
            d.s[0] = d.t + d.x[0] / C + r_s[0]
        elif self.pairs:
            np.negative(d.x[0], out=d.x[1])
            d.s[1] = u[1] - d.x[1] / over[1]
            d.s[0] = d.t + d.s[1] + r_s[0]
        if self.pairs == 4:
            d.s[2], d.s[3] = r_s[2] - d.t, r_s[3] + d.t
            d.x[2], d.x[3] = over[2] * (u[2] + d.t), over[3] * (u[3] - d.t)
        return d
