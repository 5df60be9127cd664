"""Bounds on what rounding hides of the gap of the spectral graph transducer, on the ray of w itself."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from specmargin.rounding import EXTENDED_UNIT, UNIT, extended_product, gamma, is_definite
from specmargin.typing import FloatArray

__all__ = ["GraphTransducerRounding", "lowered_bound"]

SpectralGraphTransducer: TypeAlias = Any
"""`specmargin.objectives.SpectralGraphTransducer`, which calls this module and is not imported here."""


@dataclass(frozen=True, eq=False)
class GraphTransducerRounding:
    """Rounding of the certificates of one objective, which share a proved bound on the lowest eigenvalue of its A."""

    obj: SpectralGraphTransducer

    def of_gap(self, w: FloatArray, lam: float, primal: float, excess: float) -> float:
        """Return a bound on how much larger the gap is in exact arithmetic, where the ray of w meets the sphere.

        Value and residual are computed in extended precision. What lies below the value is 1/2 r'(A - lam)^-1 r, at
        most |r|^2 / (F - lam) / 2 for a proved F below all eigenvalues; lam may be lowered, which adds to r.
        """
        obj = self.obj
        C, n = np.longdouble(obj.C), np.longdouble(obj.n)
        positive = obj.labels.sign > 0
        c = obj.labels.weights_or_ones.astype(np.longdouble)
        n_positive, n_negative = c[positive].sum(), c[~positive].sum()
        # Numbers are summed without any rounding; weights, which go into p and tau, are not.
        summed = 0 if obj.labels.weights is None else 2 * len(c)
        p = c / np.where(positive, n_positive, n_negative)
        tau = np.where(positive, np.sqrt(n_negative / n_positive), -np.sqrt(n_positive / n_negative))
        wide = w.astype(np.longdouble)
        wide = np.sqrt(n / (wide @ wide)) * wide
        f, f_error = extended_product(obj.labeled_rows, wide)
        # Twice, since `wide`, too, is off the sphere by as much.
        f_error = 2 * f_error + (8 + summed) * EXTENDED_UNIT * (np.abs(f) + np.abs(tau)).astype(float)
        residual, slope = f - tau, obj.Q * wide
        value = slope @ wide / 2 + C * (p @ residual**2)
        error = (
            C * (p @ (2 * np.abs(residual) * f_error + f_error**2)) + 8 * (obj.k + len(p) + 8) * EXTENDED_UNIT * value
        )
        step, step_error = extended_product(obj.labeled_rows.T, 2 * C * p * residual)
        r = slope - np.longdouble(lam) * wide + step
        r_error = step_error + 2 * float(C) * (np.abs(obj.labeled_rows.T) @ (p * f_error).astype(float))
        size = np.abs(slope) + abs(lam) * np.abs(wide) + np.abs(r)
        r_error += (obj.k + 16) * EXTENDED_UNIT * size.astype(float)
        length = 1.01 * float(np.linalg.norm((np.abs(r) + r_error).astype(float)))

        least = self.least_eigenvalue
        most = lowered_bound(length, math.sqrt(obj.n), lam, least)
        if least > lam:
            most = min(most, self.solved_bound(r.astype(float), r_error.astype(float), lam, least - lam))
        rounding = max(most - excess, 0.0) + 2 * float(error) + 4 * UNIT * (abs(primal) + excess)
        return rounding + float(abs(value - primal))

    def solved_bound(self, r: FloatArray, error: FloatArray, lam: float, curvature: float) -> float:
        """Return a bound on 1/2 r'(A - lam)^-1 r for A - lam >= curvature: by a solution d and what it leaves of r.

        With r = (A - lam) d + rest the form is r'd + d'rest + rest'(A - lam)^-1 rest.
        """
        obj = self.obj
        a, E = obj.eigen
        d = E @ ((E.T @ r) / (a - lam))
        rest = r - obj.A @ d + lam * d
        roots = np.sqrt(obj.A.diagonal())
        unit = gamma(len(obj.labeled_rows) + 2 * obj.k + 24)
        left = error + UNIT * np.abs(r) + unit * (roots * float(roots @ np.abs(d)) + abs(lam) * np.abs(d) + np.abs(r))
        size, missing = float(np.linalg.norm(left)), float(np.linalg.norm(rest))
        form = (
            float(r @ d)
            + abs(float(d @ rest))
            + 3 * float(np.abs(d) @ left)
            + gamma(obj.k) * float(np.abs(r) @ np.abs(d))
        )
        return 0.5 * (form + 1.01 * (missing + size) ** 2 / curvature)

    @cached_property
    def least_eigenvalue(self) -> float:
        """A number that is proved to be below all eigenvalues of A, -inf where none could be.

        Cholesky's factorisation goes through only if a matrix is positive definite up to its rounding, entry by entry
        gamma_k sqrt(a_ii a_jj) (Higham, theorem 10.3), as does that of A itself.
        """
        obj = self.obj
        size, share = obj.A.diagonal(), obj.k * gamma(len(obj.labeled_rows) + obj.k + 24)
        a, E = obj.eigen
        lowest = float(a.min())
        step = 1.1 * share * float(size @ (E[:, int(a.argmin())] ** 2)) + 4 * UNIT * abs(lowest)
        for _ in range(16):
            least = lowest - step
            # A number below zero makes the diagonal longer, and with it what the factorisation rounds.
            if is_definite(obj.A, least + share * (size + max(-least, 0.0))):
                return least
            step *= 2.0
        return -math.inf


def lowered_bound(length: float, radius: float, lam: float, least: float) -> float:
    """Return a bound on 1/2 r'(A - lam)^-1 r of |r| <= length, lam less whatever makes it the best one.

    What lam is lowered by is added to the curvature above it, and times w, |w| = radius, to r.
    """
    shifts = np.append(0.0, np.logspace(-20, 2, 45) * max(abs(least), abs(lam), 1e-300))
    curvature = least - lam + shifts
    shifts, curvature = shifts[curvature > 0], curvature[curvature > 0]
    with np.errstate(over="ignore"):
        return float((0.5 * (length + 1.001 * radius * shifts) ** 2 / curvature).min(initial=math.inf))
