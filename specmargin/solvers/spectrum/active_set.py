"""The last digits: Newton's method on the equations that hold once it is known who is active.

At an optimum of `objectives.SpectrumMargin` every labelled sample is on a kink of its loss, where its decision is
known (t = 1, B or -B) and its multiplier is not, or off all kinks, where it is the other way round; every extreme
spectrum is active (S_r = c_r tau) or unused (kappa_r = 0). With the lists fixed, what is left is a smooth square
system,

    Ubar_F (delta z) + b = y_F t_F,   1'gamma = 0,   S_A = c_A tau,   c_A'kappa_A = rho,

whose Newton steps cost one dense solve of the order |F| + |A| + 2. Lists that are wrong show as violated signs and
are corrected; whether the answer is any good is for its certificate to say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg as sla
from scipy.linalg import lapack

from specmargin.rounding import UNIT, extended_product
from specmargin.solvers.spectrum.interior_point import MarginData, Point
from specmargin.typing import BoolArray, FloatArray

__all__ = ["ActiveSet", "Polished", "Solution", "identify", "on_spectrum", "polish", "restore_margins"]

_ROUNDS = 8
_NEWTON_STEPS = 8
_NEARLY = 1e-2  # violations that two Newton steps may leave on the right set
_SETTLING = 4  # corrections of decisions on a kink; two or three reach their rounding
_ALIKE = 1e-13  # share of the diagonal that keeps the decisions of samples that look alike apart
_MOST_ON_KINKS = 8000
"""Samples on kinks whose equations are solved: their matrix takes half a gigabyte, and is factorised in seconds."""
_SHIFT = 1e-11  # of a singular system, against entries of size one: Newton's method then converges linearly by it


class ActiveSet(NamedTuple):
    """Active set: `kink` (l,) holds 1, B or -B where the margin is fixed, nan where the multiplier is `fixed`."""

    kink: FloatArray
    fixed: FloatArray
    rows: BoolArray


class Solution(NamedTuple):
    """A point on which the equations of an active set hold."""

    gamma: FloatArray
    kappa: FloatArray
    b: float
    tau: float


class Polished(NamedTuple):
    """A solution, by how much it violates the signs that an optimum has, and who was active."""

    solution: Solution
    violation: float
    active: ActiveSet


def identify(data: MarginData, point: Point) -> ActiveSet:
    """Read the lists off an interior point: of every complementary pair the larger one stays."""
    scale = max(float(np.abs(point.gamma).max()), 1e-300)
    positive = point.x > scale * point.s
    kink = np.where(positive[0] & positive[1], 1.0, np.nan)
    fixed = np.where(positive[0], data.C, 0.0)
    if len(point.x) == 4:
        kink[positive[2]] = data.B
        kink[positive[3]] = -data.B
    c = data.cone.c
    rows = point.kappa * c / data.rho > point.w / (c * max(point.tau, 1e-300))
    return ActiveSet(kink, fixed, rows)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")  # a wrong set may lead anywhere
def polish(data: MarginData, active: ActiveSet, kappa: FloatArray, gamma: FloatArray, b: float) -> Polished | None:
    """Solve the equations of an active set, correct the set where signs are violated, and solve again.

    Two Newton steps tell well enough who is wrong; only a set whose signs hold is solved to the last digit. Returns
    None where the equations have no solution near by.
    """
    current = Solution(gamma, kappa, b, np.nan)
    best: Polished | None = None
    for _ in range(_ROUNDS):
        if not active.rows.any():
            return best
        solution = _newton(data, active, current, most=2)
        if solution is None:
            return best
        violations = _violations(data, active, solution)
        if violations.largest < _NEARLY:
            solution = _newton(data, active, solution, most=_NEWTON_STEPS)
            if solution is None:
                return best
            violations = _violations(data, active, solution)
            if best is None or violations.largest < best.violation:
                best = Polished(solution, violations.largest, active)
            if violations.largest <= 1e-13:
                return best
        current, active = solution, _exchanged(data, active, violations)
    return best


def on_spectrum(
    data: MarginData, active: ActiveSet, kappa: FloatArray, gamma: FloatArray
) -> tuple[FloatArray, float] | None:
    """Return gamma and b that fit an active set at a given spectrum: a linear system, None where it is singular.

    None, too, for more than `_MOST_ON_KINKS`. A start for `polish` where multipliers at C have moved with it: those on
    the kinks grow as well, while their scores cancel.
    """
    gamma = np.where(np.isnan(active.kink), data.y * active.fixed, gamma)
    on = np.flatnonzero(~np.isnan(active.kink))
    U, delta, f = data.U[on], data.cone.weights(kappa + data.eps), len(on)
    if f > _MOST_ON_KINKS:
        return None
    J = np.ones((f + 1, f + 1))
    J[:f, :f], J[f, f] = (U * delta) @ U.T, 0.0
    step = _solve(J, np.append(U @ (delta * (data.U.T @ gamma)) - (data.y * active.kink)[on], gamma.sum()), f)
    if step is None or not np.isfinite(step).all():
        return None
    gamma[on] -= step[:f]
    return gamma, -float(step[f])


def restore_margins(
    y: FloatArray, kink: FloatArray, B: float, A: FloatArray, back: FloatArray, v: FloatArray, b: float
) -> tuple[FloatArray, float] | None:
    """Move (v, b) as little as possible until no margin on a kink is lost to rounding; None where that fails.

    What follows from gamma inherits its rounding, and the loss shows it times C. Here margins of one are moved above
    one, and decisions at the bound below it, by more than the rounding of v itself can take back.

    Parameters
    ----------
    y, kink : ndarray of shape (l,)
        Signs; 1, B or -B where the margin is fixed, else nan.
    B : float
        Bound on the decisions.
    A : ndarray of shape (l, k)
        The decisions are A v + b.
    back : ndarray of shape (k, f)
        v moves in the span of these columns, one per fixed margin; A back is positive semidefinite on these rows.
    v, b : ndarray of shape (k,), float
        The point.
    """
    on = np.flatnonzero(~np.isnan(kink))
    if not len(on):
        return None
    rows, inside = A[on], np.where(kink[on] == B, -1.0, 1.0)
    K = rows @ back
    unit = K.trace() / len(K)
    K += unit
    K[np.diag_indices_from(K)] += _ALIKE * unit
    try:
        factor = sla.cho_factor(K, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    for _ in range(_SETTLING):
        # Roundings of the entries of v are independent: their squares add up.
        room = 3 * UNIT * (np.linalg.norm(rows * v, axis=1) + abs(b))
        f, _ = extended_product(rows, v)
        missing = (y[on] * (kink[on] + inside * room) - f - b).astype(float)
        step = sla.cho_solve(factor, missing, check_finite=False)
        v, b = v + back @ step, b + unit * float(step.sum())
        if np.abs(missing).max() <= 0.5 * room.min():
            break
    return v, b


class _Violations(NamedTuple):
    """Violations of the optimality conditions by samples and extreme spectra, each in its unit; y gamma and margins."""

    samples: FloatArray
    rows: FloatArray
    largest: float
    s: FloatArray
    t: FloatArray


def _violations(data: MarginData, active: ActiveSet, at: Solution) -> _Violations:
    """Compare multipliers of samples on a kink with their bounds, and margins of the others with theirs."""
    y, c = data.y, data.cone.c
    s, z = y * at.gamma, data.U.T @ at.gamma
    t = y * (data.U @ (data.cone.weights(at.kappa + data.eps) * z) + at.b)
    upper_kink, first_kink = active.kink == data.B, active.kink == 1.0
    low = np.where(upper_kink, -np.inf, np.where(first_kink, 0.0, data.C))
    high = np.where(upper_kink, 0.0, np.where(first_kink, data.C, np.inf))
    lower = np.where(active.fixed > 0, -data.B, min(1.0, data.B))
    upper = np.where(active.fixed > 0, min(1.0, data.B), data.B)
    scale = max(1e-300, float(np.abs(at.gamma).max()))
    samples = np.where(np.isnan(active.kink), np.maximum(lower - t, t - upper), np.maximum(low - s, s - high) / scale)
    excess = data.cone.sums(z**2 / 2) / (c * max(at.tau, 1e-300)) - 1.0
    rows = np.where(active.rows, -at.kappa * c / data.rho, excess)
    return _Violations(samples, rows, max(float(samples.max()), float(rows.max()), 0.0), s, t)


def _exchanged(data: MarginData, active: ActiveSet, violations: _Violations) -> ActiveSet:
    """Return the active set after samples and spectra that violate their condition have changed sides."""
    # Only violations of the order of the worst one: smaller ones are often its consequence.
    threshold = 0.1 * violations.largest
    kink, fixed, rows = active.kink.copy(), active.fixed.copy(), active.rows.copy()
    C = np.broadcast_to(data.C, fixed.shape)
    rows[violations.rows > threshold] ^= True
    change = violations.samples > threshold
    off = np.isnan(active.kink)
    leave, enter = change & ~off, change & off
    fixed[leave] = np.where(violations.s[leave] > 0.5 * C[leave], C[leave], 0.0)
    fixed[leave & (active.kink == data.B)] = 0.0
    lowest = leave & (active.kink == -data.B)
    fixed[lowest] = C[lowest]
    kink[leave] = np.nan
    t = violations.t
    ends = np.where(active.fixed > 0, np.where(t > 1.0, 1.0, -data.B), np.where(t < 1.0, 1.0, data.B))
    kink[enter] = ends[enter]
    return ActiveSet(kink, fixed, rows)


def _newton(data: MarginData, active: ActiveSet, at: Solution, most: int) -> Solution | None:
    """Take at most that many Newton steps on the equations of an active set; None where they lead nowhere."""
    y, cone, c = data.y, data.cone, data.cone.c
    on, rows = np.flatnonzero(~np.isnan(active.kink)), np.flatnonzero(active.rows)
    gamma = np.where(np.isnan(active.kink), y * active.fixed, at.gamma)
    kappa = np.where(active.rows, np.maximum(at.kappa, 0.0), 0.0)
    b = at.b
    U_on, A, target = data.U[on], data.rays[rows], (y * active.kink)[on]
    f, k = len(on), len(rows)
    if f > _MOST_ON_KINKS:
        return None
    z = data.U.T @ gamma
    tau = float((cone.sums(z**2 / 2)[rows] / c[rows]).max())
    J = np.zeros((f + k + 2, f + k + 2))
    J[:f, f] = J[f, :f] = 1.0
    J[f + 1, f + 2 :] = J[f + 2 :, f + 1] = -c[rows]
    last = size = np.inf
    for taken in range(most + 1):
        delta = cone.weights(kappa + data.eps)
        residual = np.empty(f + k + 2)
        residual[:f] = U_on @ (delta * z) + b - target
        residual[f], residual[f + 1] = gamma.sum(), data.rho - float(c[rows] @ kappa[rows])
        residual[f + 2 :] = cone.sums(z**2 / 2)[rows] - c[rows] * tau
        size = float(np.abs(residual[:f]).max(initial=0.0))
        size = max(size, abs(residual[f]) / max(float(np.abs(gamma).max()), 1e-300), abs(residual[f + 1]) / data.rho)
        size = max(size, float(np.abs(residual[f + 2 :] / (c[rows] * max(abs(tau), 1e-300))).max()))
        if not np.isfinite(size) or size > max(1e3 * last, 1e3):
            return None
        if taken == most or size <= 4e-16 * max(10, f) or (size < 1e-11 and size > 0.3 * last):
            break
        last = size
        G = U_on @ (z[:, None] * A.T)
        J[:f, :f] = (U_on * delta) @ U_on.T
        J[:f, f + 2 :], J[f + 2 :, :f] = G, G.T
        step = _solve(J, residual, f)
        if step is None:
            return None
        gamma[on] -= step[:f]
        b -= float(step[f])
        tau -= float(step[f + 1])
        kappa[rows] -= step[f + 2 :]
        z = data.U.T @ gamma
    # Large multipliers leave rounding in their scores, which `restore_margins` takes out of the decisions.
    if most > 2 and size > max(1e-7, 10 * UNIT * float(np.abs(gamma).sum())):
        return None
    return Solution(gamma, kappa, b, tau)


def _solve(J: FloatArray, r: FloatArray, f: int) -> FloatArray | None:
    """Solve a symmetric saddle-point system, scaled; a singular one (a degenerate optimum) is regularised."""
    scale = 1.0 / np.sqrt(np.maximum(np.abs(J).max(axis=0), 1e-300))
    scaled = J * np.outer(scale, scale)
    for shift in (0.0, _SHIFT):
        if shift:
            scaled[np.diag_indices_from(scaled)] += np.where(np.arange(len(J)) < f, shift, -shift)
        lu, pivots, info = lapack.dgetrf(scaled)
        diagonal = np.abs(lu.diagonal())
        if info == 0 and diagonal.min() > 1e-14 * diagonal.max():
            solution = lapack.dgetrs(lu, pivots, scale * r)[0]
            return np.asarray(scale * solution)
    return None
