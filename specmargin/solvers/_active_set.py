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

from specmargin.solvers._interior_point import MarginData, Point
from specmargin.typing import BoolArray, FloatArray

__all__ = ["ActiveSet", "Polished", "identify", "polish"]

_NEWTON_STEPS = 8
_SHIFT = 1e-11  # of a singular system, against entries of size one: Newton's method then converges linearly by it


class ActiveSet(NamedTuple):
    """Who is active: `kink` (l,) holds 1, B or -B where the margin is fixed, nan where the multiplier is `fixed`."""

    kink: FloatArray
    fixed: FloatArray
    rows: BoolArray


class Polished(NamedTuple):
    """A point that solves the equations of an active set, and by how much it violates the signs."""

    gamma: FloatArray
    kappa: FloatArray
    b: float
    tau: float
    violation: float
    rounds: int


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


def polish(data: MarginData, active: ActiveSet, kappa: FloatArray, gamma: FloatArray, b: float) -> Polished | None:
    """Solve the equations of an active set, correct the set where signs are violated, and solve again.

    Returns None where the equations of a set have no solution near by.
    """
    y, c = data.y, data.cone.c
    best = None
    if not active.rows.any():
        return None
    for rounds in range(1, 7):
        found = _newton(data, active, kappa, gamma, b)
        if found is None:
            return best
        gamma, kappa, b, tau = found
        s = y * gamma
        z = data.U.T @ gamma
        t = y * (data.U @ (data.weights(kappa) * z) + b)
        excess = data.cone.sums(z**2 / 2) - c * tau
        on = ~np.isnan(active.kink)
        scale = max(1e-300, float(np.abs(gamma).max()))
        # How far a sample on a kink is beyond the multipliers of that kink, and one off it beyond its piece.
        low = np.where(active.kink == data.B, -np.inf, np.where(active.kink == 1.0, 0.0, data.C))
        high = np.where(active.kink == data.B, 0.0, np.where(active.kink == 1.0, data.C, np.inf))
        lower, upper = np.where(active.fixed > 0, -data.B, min(1.0, data.B)), np.where(active.fixed > 0, 1.0, data.B)
        beyond = np.where(on, np.maximum(low - s, s - high) / scale, np.maximum(lower - t, t - upper))
        beyond_rows = np.where(active.rows, -kappa * c / data.rho, excess / (c * max(tau, 1e-300)))
        violation = max(float(beyond.max()), float(beyond_rows.max()), 0.0)
        if best is None or violation < best.violation:
            best = Polished(gamma, kappa, b, tau, violation, rounds)
        if violation <= 1e-13:
            break
        # Only violations within reach of the worst one change sides: smaller ones are often its consequence.
        reach = 0.1 * violation
        kink, fixed, rows = active.kink.copy(), active.fixed.copy(), active.rows.copy()
        rows[beyond_rows > reach] ^= True
        change = beyond > reach
        leave = change & on
        fixed[leave] = np.where(s[leave] > 0.5 * data.C, data.C, 0.0)
        if np.isfinite(data.B):
            fixed[leave & (active.kink == data.B)], fixed[leave & (active.kink == -data.B)] = 0.0, data.C
        kink[leave] = np.nan
        enter = change & ~on
        ends = np.where(active.fixed > 0, np.where(t > 1.0, 1.0, -data.B), np.where(t < 1.0, 1.0, data.B))
        kink[enter] = ends[enter]
        if not rows.any():
            return best
        active = ActiveSet(kink, fixed, rows)
    return best


def _newton(
    data: MarginData, active: ActiveSet, kappa: FloatArray, gamma: FloatArray, b: float
) -> tuple[FloatArray, FloatArray, float, float] | None:
    """Return gamma, kappa, b and tau that solve the equations of an active set, or None."""
    y, cone, c = data.y, data.cone, data.cone.c
    on = np.flatnonzero(~np.isnan(active.kink))
    rows = np.flatnonzero(active.rows)
    gamma = np.where(np.isnan(active.kink), y * active.fixed, gamma)
    kappa = np.where(active.rows, np.maximum(kappa, 0.0), 0.0)
    U_on, A, target = data.U[on], data.rays[rows], (y * active.kink)[on]
    f, k = len(on), len(rows)
    z = data.U.T @ gamma
    tau = float((cone.sums(z**2 / 2)[rows] / c[rows]).max())
    J = np.zeros((f + k + 2, f + k + 2))
    J[:f, f] = J[f, :f] = 1.0
    J[f + 1, f + 2 :] = J[f + 2 :, f + 1] = -c[rows]
    last = np.inf
    for _ in range(_NEWTON_STEPS):
        delta = data.weights(kappa)
        v = delta * z
        sums = cone.sums(z**2 / 2)[rows]
        residual = np.concatenate(
            [
                U_on @ v + b - target,
                [gamma.sum(), data.rho - float(c[rows] @ kappa[rows])],
                sums - c[rows] * tau,
            ]
        )
        scale = np.concatenate([np.ones(f), [np.abs(gamma).max(), data.rho], c[rows] * tau])
        size = float(np.abs(residual / np.maximum(scale, 1e-300)).max())
        if not np.isfinite(size) or size > max(1e3 * last, 1e3):
            return None
        if size <= 4e-16 * max(10, f) or (size < 1e-11 and size > 0.3 * last):
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
    else:
        if size > 1e-7:
            return None
    return gamma, kappa, b, tau


def _solve(J: FloatArray, r: FloatArray, f: int) -> FloatArray | None:
    """Solve a symmetric saddle-point system, scaled; a singular one (a degenerate optimum) is regularised."""
    scale = 1.0 / np.sqrt(np.maximum(np.abs(J).max(axis=0), 1e-300))
    scaled = J * np.outer(scale, scale)
    for shift in (0.0, _SHIFT):
        if shift:
            scaled[np.diag_indices_from(scaled)] += np.where(np.arange(len(J)) < f, shift, -shift)
        lu, pivots, info = sla.lapack.dgetrf(scaled)
        diagonal = np.abs(lu.diagonal())
        if info == 0 and diagonal.min() > 1e-14 * diagonal.max():
            solution = sla.lapack.dgetrs(lu, pivots, scale * r)[0]
            return np.asarray(scale * solution)
    return None
