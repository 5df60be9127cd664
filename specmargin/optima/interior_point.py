r"""A primal-dual interior-point method for the S3VM relaxation (`specmargin.optima.S3VMRelaxation`).

Written as a semidefinite program, the dual is to maximise the concave

    G = sum h(theta_j) + sum c_i [V*(beta_i) - beta_i y_i b] - tau / 2,
    S = [[A(theta), q], [q', tau - b^2 sum theta_j]] >= 0,    theta, beta within their bounds,

where the best tau, q'A^-1 q + b^2 sum theta_j, makes G the dual bound. S is affine: with a_j = (z_j, -b) it changes by
-a_j a_j' with theta_j, and its last row by c_i y_i z_i with beta_i. The multiplier of S >= 0 is the primal answer,

    M = 1/2 [[W, -w], [-w', 1]],

so that a_j'M a_j is half of the relaxed f_j^2. Newton's method on the optimality conditions in the form M - mu S^-1 = 0
(Helmberg, Rendl, Vanderbei & Wolkowicz) leaves one linear system in (theta, beta, tau), whose matrix is made of
entrywise products of U'M U and U'S^-1 U, U = (rows of free and known samples, e).

**The gap is measured, not estimated.** Any positive definite M, scaled to have 1/2 in its corner, is feasible: the
relaxed objective there is an upper bound on the optimum of the relaxation.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.results import History
from specmargin.rounding import cholesky
from specmargin.typing import FloatArray

__all__ = ["Interior", "barrier"]

_SHARE = 0.1
"""Weight of the logarithms of theta, relative to those of beta and of the cone: they only keep theta positive."""
_SHORT = 0.95
"""How much of the way to a boundary a step may go."""
_STALLED = 15
"""Steps without a smaller gap after which there is none to come."""
_REDUCTIONS = ((0.8, 0.1), (0.4, 0.3), (0.0, 0.6))
"""Factors of mu for last steps of at least such lengths. A predictor for mu = 0 costs more steps than it saves."""


@dataclass
class Interior:
    """An interior point: multipliers, the minimiser w of the minorant, its bound and the relaxed primal value.

    `lower` is proved (`S3VMRelaxation.dual_bound`); `upper` bounds the optimum of the *relaxation* from above.
    """

    theta: FloatArray
    beta: FloatArray
    w: FloatArray
    lower: float = -np.inf
    upper: float = np.inf
    n_iter: int = 0
    primal: FloatArray | None = None
    """The w of the primal answer that `upper` belongs to."""
    M: FloatArray | None = None
    """Its matrix [[1, w'], [w, W]], where that was to be kept."""
    rounding: float = 0.0
    """What `upper` may be off by."""


def _start(problem: S3VMRelaxation) -> tuple[FloatArray, FloatArray, float]:
    """Return theta, beta and mu to begin with.

    theta = 1 / (2 lambda_max), and beta so small that no decision exceeds 1, whatever the labels: well inside. From
    the end of a similar problem, near the boundary, the method would need more steps, not fewer.
    """
    k, c = len(problem.free), problem.weights
    top = float(np.linalg.norm(problem.Z_free, 2)) ** 2 if k and problem.rank else 0.0
    theta = np.full(k, min(0.5 / max(top, 1e-300), 0.5 * problem.largest))
    pulls = np.abs(problem.Z_known @ problem.Z_known.T).sum(axis=1)
    beta = np.minimum(0.5 * problem.upper, 1.0 / (1.0 + c * pulls))
    # Two feasible W: zero, which costs J(0), and one with f^2 near 1, which costs its trace.
    mu = problem.value_at(np.zeros(problem.rank), np.zeros(k), 0.0) / max(problem.rank, 1)
    squares = (problem.Z_free**2).sum(axis=1)
    if k and np.median(squares) > 0:
        mu = min(mu, float(1.0 / np.median(squares)))
    return theta, beta, max(mu, 1e-12)


def barrier(
    problem: S3VMRelaxation,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    prune: float = np.inf,
    deadline: float = np.inf,
    history: History | None = None,
    keep: bool = False,
) -> Interior:
    """Maximise the dual bound.

    Parameters
    ----------
    problem : S3VMRelaxation
        The relaxation, of the whole problem or of a node.
    tol : float, default 1e-3
        Stop at this gap between the relaxed primal value and the bound, relative to the bound.
    max_iter : int, default 100
        Newton steps.
    prune : float, default inf
        Stop as soon as the bound exceeds this value, or as it has become clear that it will not: the relaxed optimum
        is below it and the bound is within a third of what is missing.
    deadline : float, default inf
        Time of `time.perf_counter` to stop at.
    history : History, optional
        Records objective (the bound), relaxed (the primal value) and mu.
    keep : bool, default False
        Whether to keep the matrix of the primal answer.

    Returns
    -------
    Interior
        The point of the best bound, proved; its upper value is the least seen.
    """
    try:
        state = _State(problem)
    except ArithmeticError:  # scales beyond float64: what is proved without any step
        best = Interior(np.zeros(len(problem.free)), np.zeros(len(problem.y)), np.zeros(problem.rank))
        _proved(problem, best)
        return best
    best = Interior(state.theta, state.beta, np.zeros(problem.rank))
    reached, least, stalled = -np.inf, np.inf, 0
    moments = (np.zeros(len(problem.free)), 0.0)
    for n_iter in range(max_iter + 1):
        # The value of the bound costs nothing here: it is proved only where that ends the search, or at the end.
        value, mu = state.bound(), state.mu()
        if value > reached:
            reached, best.theta, best.beta = value, state.theta, state.beta
        w, spread, trace = state.primal()
        upper = problem.value_at(w, spread, trace)
        if upper < best.upper:
            best.upper, best.primal, moments = upper, w, (spread, trace)
            best.M = state.matrix() if keep else None
        best.n_iter = n_iter
        if history is not None:
            history.record(objective=value, relaxed=upper, mu=mu)
        if reached > prune and _proved(problem, best) > prune:
            return best
        gap = best.upper - reached
        hopeless = best.upper < prune < np.inf and gap < (prune - reached) / 3.0
        if gap < 0.9 * least:
            least, stalled = gap, n_iter
        if gap <= 0.9 * tol * abs(reached) or hopeless or n_iter == max_iter or time.perf_counter() > deadline:
            break
        if n_iter - stalled >= _STALLED:  # beyond what float64 resolves
            break
        if not state.step(mu):
            break
    _proved(problem, best)
    if best.primal is not None:
        best.rounding = problem.rounding(best.primal, *moments)
    return best


def _proved(problem: S3VMRelaxation, best: Interior) -> float:
    """Prove the bound at the best multipliers, and find the w that belongs to them."""
    best.lower = problem.dual_bound(best.theta, best.beta)
    w = problem.minimizer(best.theta, best.beta)
    if w is not None:
        best.w = w
    return best.lower


class _State:
    """A primal-dual interior point and its Newton step.

    x = (theta, beta, tau); `low` and `high` are the multipliers of its bounds 0 and `top`, and `weight` the weights of
    their logarithms.
    """

    def __init__(self, problem: S3VMRelaxation) -> None:
        self.problem = problem
        theta, beta, mu = _start(problem)
        k, m, r = len(theta), len(beta), problem.rank
        self.k = k
        self.cy = problem.weights * problem.y
        self.U = np.zeros((r + 1, k + m + 1))
        self.U[:r, :k], self.U[r, :k] = problem.Z_free.T, -problem.offset
        self.U[:r, k : k + m] = problem.Z_known.T
        self.U[r, -1] = 1.0
        self.top = np.concatenate([np.full(k, problem.largest), problem.upper])
        self.capped = np.isfinite(self.top)
        self.weight = np.concatenate([np.full(k, _SHARE), np.ones(m)])
        self.dimension = r + 1 + float(self.weight.sum() + self.weight[self.capped].sum())
        A = problem.matrix(theta)
        factor = _cholesky(A)
        if factor is None:
            raise ArithmeticError("no interior point: A(theta) is not positive definite at the start")
        q = problem.linear(theta, beta)
        half = sla.solve_triangular(factor, q, lower=True, check_finite=False) if r else q
        corner = float(half @ half) + 2.0 * mu
        self.x = np.concatenate([theta, beta, [corner + problem.offset**2 * float(theta.sum())]])
        self.S = np.block([[A, q[:, None]], [q[None, :], np.array([[corner]])]])
        factor = _cholesky(self.S)
        if factor is None:
            raise ArithmeticError("no interior point: the cone's matrix is not positive definite at the start")
        self.factor = factor
        self.inverse = _inverse(factor)
        self.M = mu * self.inverse
        self.low, self.high = mu * self.weight / self.x[:-1], mu * self.weight / self.room
        self.U_M_U = self.U.T @ self.M @ self.U
        self.last = 0.0

    @property
    def theta(self) -> FloatArray:
        return self.x[: self.k]

    @property
    def beta(self) -> FloatArray:
        return self.x[self.k : -1]

    @property
    def room(self) -> FloatArray:
        """Distance from `top`, infinite where there is none."""
        return self.top - self.x[:-1]

    def mu(self) -> float:
        """Return the mean product of the multipliers and what they belong to."""
        products = float(np.sum(self.S * self.M)) + float(self.low @ self.x[:-1])
        products += float(self.high[self.capped] @ self.room[self.capped])
        return products / self.dimension

    def bound(self) -> float:
        """Return LB(theta, beta), in floating point: the last pivot is what tau exceeds its best value by."""
        problem, b = self.problem, self.problem.offset
        value = float(problem.minorant_values(self.theta).sum())
        value += float(problem.weights @ (problem.dual_values(self.beta) - b * problem.y * self.beta))
        return value - 0.5 * (float(self.x[-1]) - float(self.factor[-1, -1]) ** 2)

    def primal(self) -> tuple[FloatArray, FloatArray, float]:
        """Return the primal answer in M: w, and of W - w w' what it adds to the squares, and its trace."""
        corner = float(self.M[-1, -1])
        w = -self.M[:-1, -1] / corner
        f = self.problem.Z_free @ w + self.problem.offset
        squares = np.diagonal(self.U_M_U)[: self.k] / corner
        trace = float(np.trace(self.M[:-1, :-1])) / corner - float(w @ w)
        return w, squares - f**2, trace

    def matrix(self) -> FloatArray:
        """Return [[1, w'], [w, W]]."""
        w, W = -self.M[-1:, :-1], self.M[:-1, :-1]
        return np.block([[self.M[-1:, -1:], w], [w.T, W]]) / self.M[-1, -1]

    def step(self, mu: float) -> bool:
        """Take a Newton step towards a smaller mu, the smaller the longer the last step was; False if there is none."""
        k, problem, b = self.k, self.problem, self.problem.offset
        x, room = self.x[:-1], self.room
        mu *= next(factor for length, factor in _REDUCTIONS if self.last >= length)
        nu = mu * self.weight
        h1, h2 = problem.minorant_derivatives(self.theta)
        d1, d2 = problem.dual_value_derivatives(self.beta)
        inverse_U = self.inverse @ self.U
        R = self.U.T @ inverse_U
        H = self._curvature(self.U_M_U, R)
        diagonal = np.concatenate([-h2, -problem.weights * d2]) + self.low / x + self.high / room
        H[np.arange(len(x)), np.arange(len(x))] += diagonal
        factor = _regularized(H)
        if factor is None:
            return False
        g = np.concatenate([h1, problem.weights * (d1 - b * problem.y), [-0.5]])
        g += mu * np.concatenate([-np.diagonal(R)[:k], 2.0 * self.cy * R[-1, k:-1], [R[-1, -1]]])
        g[:-1] += nu / x - nu / room
        step = np.asarray(sla.lapack.dpotrs(factor, g, lower=1)[0])
        dx = step[:-1]
        dS, product = self._changes(step, inverse_U)
        dM = mu * self.inverse - self.M - 0.5 * (product + product.T)
        dlow = nu / x - self.low - self.low / x * dx
        dhigh = nu / room - self.high + self.high / room * dx
        dual = min(_largest_step(x, dx), _largest_step(room[self.capped], -dx[self.capped]))
        primal = min(_largest_step(self.low, dlow), _largest_step(self.high[self.capped], dhigh[self.capped]))
        dual, primal = _inside(self.S, dS, _SHORT * dual), _inside(self.M, dM, _SHORT * primal)
        self.last = min(dual, primal)
        self.x, self.S = self.x + dual * step, self.S + dual * dS
        self.M = self.M + primal * dM
        self.low, self.high = self.low + primal * dlow, self.high + primal * dhigh
        new = _cholesky(self.S)
        if new is None or max(dual, primal) < 1e-8:
            return False
        self.factor, self.inverse = new, _inverse(new)
        self.U_M_U = self.U.T @ self.M @ self.U
        return True

    def _changes(self, step: FloatArray, inverse_U: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return dS and M dS S^-1, both from the few rows that dS is made of."""
        k, M_U = self.k, self.M @ self.U
        dtheta, weights = step[:k], self.cy * step[k:-1]
        dS = -(self.U[:, :k] * dtheta) @ self.U[:, :k].T
        line = self.U[:, k:-1] @ weights
        dS[:, -1] += line
        dS[-1] += line
        dS[-1, -1] += step[-1]
        product = (M_U[:, :k] * -dtheta) @ inverse_U[:, :k].T
        product += np.multiply.outer(M_U[:, k:-1] @ weights, inverse_U[:, -1])
        last = inverse_U[:, k:-1] @ weights + step[-1] * inverse_U[:, -1]
        product += np.multiply.outer(M_U[:, -1], last)
        return dS, product

    def _curvature(self, P: FloatArray, R: FloatArray) -> FloatArray:
        """Return <S_i, M S_j S^-1>, symmetrised; S_i is -a a' for theta, c y (z e' + e z') for beta, e e' for tau."""
        k, cy, e = self.k, self.cy, -1
        free, known = slice(0, k), slice(k, -1)
        Q = np.empty(P.shape)
        Q[free, free] = P[free, free] * R[free, free]
        cross = P[free, e][:, None] * R[free, known] + R[free, e][:, None] * P[free, known]
        Q[free, known] = -cross * cy
        Q[known, free] = Q[free, known].T
        both = np.multiply.outer(P[known, e], R[known, e])
        both = both + both.T + P[known, known] * R[e, e] + R[known, known] * P[e, e]
        Q[known, known] = both * np.multiply.outer(cy, cy)
        Q[free, e] = Q[e, free] = -P[free, e] * R[free, e]
        Q[known, e] = Q[e, known] = cy * (P[known, e] * R[e, e] + R[known, e] * P[e, e])
        Q[e, e] = P[e, e] * R[e, e]
        return Q


def _cholesky(A: FloatArray) -> FloatArray | None:
    return cholesky(A) if len(A) else A


def _regularized(H: FloatArray) -> FloatArray | None:
    """Return the Cholesky factor of H, its diagonal raised where rounding has made it indefinite."""
    diagonal = np.diagonal(H).copy()
    for ridge in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        H[np.diag_indices(len(H))] = diagonal * (1.0 + ridge)
        factor = _cholesky(H)
        if factor is not None:
            return factor
    return None


def _inverse(factor: FloatArray) -> FloatArray:
    """Return A^-1 from its Cholesky factor."""
    inverse = np.tril(sla.lapack.dpotri(factor, lower=1)[0])
    return np.asarray(inverse + np.tril(inverse, -1).T)


def _largest_step(x: FloatArray, dx: FloatArray) -> float:
    """Return the step at which the first x > 0 becomes 0."""
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling], initial=np.inf))


def _inside(A: FloatArray, dA: FloatArray, most: float) -> float:
    """Return a step of at most 1 and `most` that leaves A a share of its distance to the boundary of the cone."""
    size = min(1.0, most)
    while size > 1e-10:
        if _cholesky(A + size / _SHORT * dA) is not None:
            return size
        size *= 0.8
    return 0.0
