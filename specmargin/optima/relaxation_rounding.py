"""Bounds of the S3VM relaxation that hold against rounding: the proved dual bound, and the rounding of the value.

What is proved is that A(theta) of `specmargin.optima.relaxation` is positive definite, by a Cholesky
factorisation of A less a shift; the rounding of everything else is charged to the bound.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sla

from specmargin.rounding import cholesky, is_definite
from specmargin.typing import FloatArray

__all__ = ["definiteness_shift", "minorant_bound", "proved_factor", "solved", "value_rounding"]

S3VMRelaxation: TypeAlias = Any
"""`specmargin.optima.S3VMRelaxation`, which calls this module and is not imported here."""

_EPS = float(np.finfo(float).eps)


def definiteness_shift(relaxation: S3VMRelaxation, theta: FloatArray) -> float:
    """Return what the smallest eigenvalue of a computed A(theta) must exceed to prove that of the exact one.

    With tau = sum theta_j |z_j|^2, forming A costs at most (k + 4)(1 + tau) roundings in norm and Cholesky's method
    (rank + 2) tr A of them (Rump, Verification of positive definiteness, BIT 46, 2006). Four times their sum: a
    Cholesky factor of A - shift proves that the smallest eigenvalue of the exact A is at least shift / 2. The
    errors e_j of the row space change the eigenvalue by 3 (sum theta_j e_j^2)^(1/2) and its skew at most.
    """
    lengths, _ = relaxation.lengths
    errors, _ = relaxation.errors
    trace = float(theta @ lengths**2)
    shift = 2.0 * _EPS * ((len(theta) + 4) * (1.0 + trace) + (relaxation.rank + 2) * (relaxation.rank + trace))
    return shift + 2.0 * (relaxation.space.skew + 3.0 * float(np.sqrt(theta @ errors**2)))


def proved_factor(relaxation: S3VMRelaxation, theta: FloatArray) -> tuple[FloatArray, float] | None:
    """Return the Cholesky factor of A(theta) less a shift, and that shift; None where A is not proved definite."""
    if not relaxation.rank:
        return np.zeros((0, 0)), 1.0
    A, shift = relaxation.matrix(theta), definiteness_shift(relaxation, theta)
    A[np.diag_indices(len(A))] -= shift
    factor = cholesky(A, overwrite=True)
    return None if factor is None else (factor, shift)


def solved(relaxation: S3VMRelaxation, factor: FloatArray, theta: FloatArray, q: FloatArray) -> FloatArray:
    """Return w = A(theta)^-1 q from the factor of `proved_factor`."""
    w = np.zeros(relaxation.rank)
    for _ in range(2 if relaxation.rank else 0):
        # The factor is that of A - shift: one refinement takes the shift out.
        w = w + sla.lapack.dpotrs(factor, _residual(relaxation, theta, q, w), lower=1)[0]
    return w


def _residual(relaxation: S3VMRelaxation, theta: FloatArray, q: FloatArray, w: FloatArray) -> FloatArray:
    """Return q - A(theta) w from the data."""
    return q - w + relaxation.Z_free.T @ (theta * (relaxation.Z_free @ w))


def minorant_bound(
    relaxation: S3VMRelaxation, theta: FloatArray, h: FloatArray, linear: FloatArray, beta: FloatArray
) -> float:
    """Return the proved minimum of any minorant h + linear f - theta f^2 / 2 of the free samples' losses.

    As `dual_bound`, for parabolas that need not be symmetric. It bounds J where they are below the losses.

    Parameters
    ----------
    relaxation : S3VMRelaxation
    theta, h, linear : ndarray of shape (k,)
        Parts of the bound that belong to the free samples, theta >= 0.
    beta : ndarray of shape (m,)
        Multipliers of the labelled and decided samples; clipped to the bounds of V*.
    """
    beta = np.clip(beta, 0.0, relaxation.upper)
    if not (np.isfinite(theta).all() and np.isfinite(beta).all()):
        return -np.inf
    proved = proved_factor(relaxation, theta)
    if proved is None:
        return -np.inf
    factor, shift = proved
    q = relaxation.linear(theta, beta) - linear @ relaxation.Z_free
    w = solved(relaxation, factor, theta, q)
    b, weighted, steep = relaxation.offset, relaxation.weights * beta, np.abs(linear)
    f = relaxation.Z_free @ w + b
    t = relaxation.y * (relaxation.Z_known @ w + b)
    dual = relaxation.dual_values(beta)
    square = 0.5 * float(w @ w)
    value = square + float((h + linear * f - 0.5 * theta * f**2).sum())
    value = value + float(relaxation.weights @ dual - weighted @ t)
    # What a decision of the features may differ by from the computed one, for every unit of |w|.
    skew, length = relaxation.space.skew, float(np.sqrt(2.0 * square))
    roundings = (len(theta) + len(beta) + relaxation.rank + 20) * _EPS
    length_free, length_known = relaxation.lengths
    errors_free, errors_known = relaxation.errors
    off_free = (roundings + skew) * length_free + 1.01 * errors_free
    off_known = (roundings + skew) * length_known + 1.01 * errors_known
    size = square + float((np.abs(h) + (steep + theta * np.abs(f)) * (np.abs(f) + abs(b))).sum())
    # Where beta has no bound V* is the difference of it and its square.
    parts = np.abs(dual) + np.where(np.isinf(relaxation.upper), 0.25 * beta**2, 0.0)
    size += float(relaxation.weights @ parts + weighted @ (np.abs(t) + abs(b)))
    charge = (roundings + skew) * size + length * float(weighted @ off_known)
    charge += length * float((steep + theta * (np.abs(f) + 0.5 * off_free * length)) @ off_free)
    blurred = float((theta * length_free) @ off_free) * length + roundings * (abs(b) * float(theta @ length_free))
    blurred += roundings * (length + float(weighted @ length_known)) + float(weighted @ errors_known)
    blurred += float((steep + theta * (np.abs(f) + off_free * length)) @ errors_free)
    blurred += roundings * float(steep @ length_free)
    residual = (1.0 + skew) * (float(np.linalg.norm(_residual(relaxation, theta, q, w))) + blurred)
    least = _least_eigenvalue(relaxation, theta, shift, residual**2, 1e-10 * abs(value))
    return float(value - 0.5 * residual**2 / least - charge)


def _least_eigenvalue(
    relaxation: S3VMRelaxation, theta: FloatArray, shift: float, square: float, enough: float
) -> float:
    """Return a lower bound on the smallest eigenvalue of A(theta); a good one where square / it matters."""
    least = 0.5 * shift
    if not theta.any():
        return 1.0
    if square <= enough * least:
        return least
    for trial in (0.3, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10):
        if trial <= 2.0 * shift:
            break
        if is_definite(relaxation.matrix(theta), trial + shift):
            return trial
    return least


def value_rounding(relaxation: S3VMRelaxation, w: FloatArray, spread: FloatArray, trace: float) -> float:
    """Return a bound on the rounding of `value`: what it rises by when margins and squares fall by their errors.

    W is V (w w' + S) V' in terms of the features, whose rows the coordinates miss by `RowSpace.errors` and the skew
    of V. z_j'S z_j is what is left of z_j'(w w' + S) z_j, and S is positive semidefinite but for the rounding of a
    Cholesky factorisation of it.
    """
    skew, length, root = relaxation.space.skew, float(np.linalg.norm(w)), float(np.sqrt(max(trace, 0.0)))
    roundings = (len(relaxation.space.Z) + relaxation.rank + 20) * _EPS
    (free, known), (errors_free, errors_known) = relaxation.lengths, relaxation.errors
    rate_free, rate_known = (roundings + skew) * free + errors_free, (roundings + skew) * known + errors_known
    off_free, off_known = (rate * length + 2.0 * _EPS * abs(relaxation.offset) for rate in (rate_free, rate_known))
    f = np.abs(relaxation.Z_free @ w + relaxation.offset)
    t = relaxation.y * (relaxation.Z_known @ w + relaxation.offset)
    least = np.maximum(np.sqrt(np.maximum(spread, 0.0)) - rate_free * root, 0.0) ** 2
    least -= roundings * (free * np.hypot(length, root) + abs(relaxation.offset)) ** 2
    lower = np.maximum(np.maximum(f - off_free, 0.0) ** 2 + least, 0.0)
    rise = relaxation.minorant.relaxed(lower) - relaxation.minorant.relaxed(f**2 + spread)
    share = roundings + skew + relaxation.rank * (relaxation.rank + 4) * _EPS
    rounding = relaxation.obj.C_star * float(rise.sum()) + share * relaxation.value_at(w, spread, trace)
    for group, loss in relaxation.groups:
        rise = loss.value(t[group] - off_known[group]) - loss.value(t[group])
        rounding += float(relaxation.weights[group] @ rise)
    return 2.0 * rounding
