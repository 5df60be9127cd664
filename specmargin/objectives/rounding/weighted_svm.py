"""Primal and dual value of a weighted SVM with bounds on their rounding: what its certificate is made of.

The bounds come from lengths of rows and cost next to nothing. Where they are wide for the objective and the features
are few, the decisions and A'a are computed once more in extended precision, which narrows them a hundredfold.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from specmargin.objectives.features import Features
from specmargin.rounding import UNIT, accurate_product, gamma
from specmargin.typing import FloatArray, IntArray

__all__ = ["decision_rounding", "dual_with_rounding", "value_with_rounding"]

WeightedSVM: TypeAlias = Any
"""`specmargin.objectives.WeightedSVM`, which calls this module and is not imported here."""

_FEW, _ENTRIES = 2**16, 2**20
"""Entries of features that are multiplied in extended precision: at once, or where the bound is far too wide."""
_WIDE, _TOO_WIDE = 1e-13, 2e-11
"""Rounding, as a share of the value, from which that is worth its price; the latter: a fifth of the usual tol."""


def _needs_extended(rounding: float, value: float, entries: int) -> bool:
    """Whether to spend extended precision on a bound."""
    share = _WIDE if entries <= _FEW else _TOO_WIDE if entries <= _ENTRIES else np.inf
    return rounding > share * abs(value)


def decision_rounding(features: Features, w: FloatArray, f: FloatArray) -> FloatArray:
    """Return bounds on the rounding of the decisions f at w, and of margins 1 - y f, (n,)."""
    terms, lengths, centre = _row_sizes(features)
    v = w if features.penalty is None else w[:-1]
    ends = abs(features.offset) + (0.0 if features.penalty is None else abs(float(w[-1])))
    length = float(np.linalg.norm(v))
    df = gamma(terms + 4) * (lengths * length + ends) + gamma(len(v)) * centre * length
    return np.asarray(df + gamma(2) * (1.0 + np.abs(f)))


def value_with_rounding(svm: WeightedSVM, w: FloatArray, f: FloatArray) -> tuple[float, float]:
    """Return `WeightedSVM.value` at w with the decisions f, and a bound on its rounding.

    A decision's rounding costs the weight of its sample times the slope of the loss.
    """
    features, n = svm.features, len(f)
    df = decision_rounding(features, w, f)
    value = svm.value_at(w, f)
    rounding = _losses_rounding(svm, f, df)
    if _needs_extended(rounding, value, n * svm.size):
        f = f.copy()
        value += _refined(svm, w, f, df)
        rounding = _losses_rounding(svm, f, df)
    # What sums lose.
    rounding += gamma(len(w) + 4) * 0.5 * float(features.weights @ w**2)
    for weights, t in ((svm.plus, f), (svm.minus, -f)):
        rounding += gamma(n + 8) * _weighted_sum(weights, np.abs(svm.loss.value(t)))
    if svm.linear is not None:
        rounding += gamma(n + 2) * float(np.abs(svm.linear) @ np.abs(f))
    return value, rounding + 2.0 * UNIT * abs(value)


def _losses_rounding(svm: WeightedSVM, f: FloatArray, df: FloatArray) -> float:
    """Return what errors df of the decisions cost; a convex loss is steepest at an end of the interval."""
    total = 0.0 if svm.linear is None else float(np.abs(svm.linear) @ df)
    far = df + gamma(4) * (1.0 + np.abs(f))  # f itself is rounded
    for weights, y in ((svm.plus, 1.0), (svm.minus, -1.0)):
        slope = np.maximum(np.abs(svm.loss.gradient(y * f - far)), np.abs(svm.loss.gradient(y * f + far)))
        total += _weighted_sum(weights, slope * df)
    return total


def _refined(svm: WeightedSVM, w: FloatArray, f: FloatArray, df: FloatArray) -> float:
    """Take decisions in extended precision and return by how much that changes the value; f and df are overwritten.

    At the kink of the hinge 1 - y f is all rounding, and the weight times that is much where the objective is small: it
    is not formed from f, which has its own rounding, and df is what is left of it after that.
    """
    change = 0.0 if svm.linear is None else -float(svm.linear @ f)
    before = f.copy()  # a sample may have weights on both sides
    df[:] = 0.0
    for weights, y in ((svm.plus, 1.0), (svm.minus, -1.0)):
        rows = np.flatnonzero(weights > 0)
        if len(rows) == 0:
            continue
        slack, error = _slacks(svm.features, w, rows, y)
        loss = svm.loss
        t = 1.0 - slack
        exact = loss.box_dual
        new = loss.value_of_slack(slack) if exact else loss.value(t)
        change += float(weights[rows] @ (new - loss.value(y * before[rows])))
        f[rows] = y * t
        if not exact:
            error = error + gamma(3) * (1.0 + np.abs(t))
        df[rows] = np.maximum(df[rows], error)
    if svm.linear is not None:
        rows = np.flatnonzero(svm.linear)
        slack, error = _slacks(svm.features, w, rows, 1.0)
        f[rows] = 1.0 - slack
        df[rows] = np.maximum(df[rows], error + gamma(2) * (1.0 + np.abs(f[rows])))
        change += float(svm.linear @ f)
    return change


def _slacks(features: Features, w: FloatArray, rows: IntArray, y: float) -> tuple[FloatArray, FloatArray]:
    """Return 1 - y f of some samples in extended precision, and a bound on its error."""
    X, mu = _rows(features)
    parts, factors = [X[rows]], [w if features.penalty is None else w[:-1]]
    if features.penalty is not None:
        parts.append(np.ones((len(rows), 1)))
        factors.append(w[-1:])
    if mu is not None:
        parts.append(np.broadcast_to(-mu, parts[0].shape))
        factors.append(w)
    parts.append(np.ones((len(rows), 2)))
    factors.append(np.array([features.offset, -y]))
    rest, error = accurate_product(np.hstack(parts), np.concatenate(factors))
    return -y * rest, error


def dual_with_rounding(svm: WeightedSVM, theta_plus: FloatArray, theta_minus: FloatArray) -> tuple[float, float]:
    """Return `WeightedSVM.dual_bound`, and a bound on its rounding."""
    features, loss = svm.features, svm.loss
    if features.penalty == 0.0:
        theta_plus, theta_minus = svm.repair_multipliers(theta_plus, theta_minus)
    size = svm.minus * np.abs(theta_minus) + svm.plus * np.abs(theta_plus)
    a = svm.minus * theta_minus - svm.plus * theta_plus
    if svm.linear is not None:
        size, a = size + np.abs(svm.linear), a + svm.linear
    if not np.isfinite(size).all():
        return -np.inf, 0.0
    n, (_, lengths, _) = len(a), _row_sizes(features)
    lengths = lengths + (features.penalty or 0.0)
    gain, parts = 0.0, 0.0
    for weights, theta in ((svm.plus, theta_plus), (svm.minus, theta_minus)):
        charge = loss.dual_value(theta)
        gain += _weighted_sum(weights, charge)
        # Where the multipliers have no bounds V* is a difference of theta and its square.
        parts += _weighted_sum(weights, np.abs(charge) + (0.5 * theta**2 if np.isinf(loss.upper) else 0.0))
    image, error = _penalised_adjoint(features, features.adjoint(a)), gamma(n + 8) * float(size @ lengths)
    imbalance = gamma(4) * float(size.sum())  # the entries of a have roundings of their own
    if _needs_extended(error * float(np.linalg.norm(image)), gain, n * svm.size):
        exact, missed = _accurate_adjoint(features, a)
        image = _penalised_adjoint(features, exact)
        error = float(np.linalg.norm(missed)) + gamma(4) * float(size @ lengths)
    total = math.fsum(a)
    length = float(np.linalg.norm(image))
    bound = gain - 0.5 * float(image @ image) + features.offset * total
    rounding = error * (length + error) + gamma(len(image) + 4) * length**2 + gamma(n + 8) * parts
    rounding += abs(features.offset) * (imbalance + 2.0 * UNIT * abs(total))
    if features.penalty == 0.0:
        # Multipliers that balance but for rounding do so exactly once those on the heavier side are scaled down by this
        # share, which costs no more than that of the gain (V* is concave, and 0 at 0) and of the product. The linear
        # term may be any number of times larger than they are, and does not scale with them.
        moves = np.concatenate([svm.minus * theta_minus, -svm.plus * theta_plus])
        lighter = min(float(moves[moves > 0.0].sum()), -float(moves[moves < 0.0].sum()))
        share, loss_part = 1.01 * (abs(total) + imbalance) / max(lighter, 1e-300), float(size @ lengths)
        if not share < 1.0:
            return -np.inf, 0.0
        rounding += share * (parts + loss_part * (length + error + share * loss_part))
    return bound, rounding + 2.0 * UNIT * (abs(gain) + length**2)


def _penalised_adjoint(features: Features, image: FloatArray) -> FloatArray:
    """Return A'a without the part of a free intercept, which no penalty sees."""
    return image[:-1] if features.penalty == 0.0 else image


def _accurate_adjoint(features: Features, a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A'a in extended precision, and a bound on the error of each entry."""
    X, mu = _rows(features)
    if features.penalty is not None:
        return accurate_product(np.vstack([X.T, np.ones(len(a))]), a)
    if mu is None:
        return accurate_product(X.T, a)
    # (X - 1 mu')'a, the centre as further terms of the same sum.
    return accurate_product(np.hstack([X.T, np.repeat(-mu[:, None], len(a), axis=1)]), np.concatenate([a, a]))


def _rows(features: Features) -> tuple[FloatArray, FloatArray | None]:
    """Return the features that products are made of, dense, and what is still to be subtracted from every row.

    Dense features are centred once and for all; these centred numbers are the data.
    """
    if features.is_sparse:
        return features.X.toarray(), features.mu
    return (features.X, None) if features.mu is None else (features.matrix, None)


def _row_sizes(features: Features) -> tuple[int, FloatArray, float]:
    """Return the entries of a row at the most, bounds on the lengths of uncentred rows, that of the centre."""
    terms = int(np.diff(features.X.indptr).max(initial=0)) if features.is_sparse else int(features.X.shape[1])
    centre = float(np.linalg.norm(features.mu)) if features.is_sparse and features.mu is not None else 0.0
    return terms, 1.01 * (np.sqrt(features.squared_norms) + 2.0 * centre), centre


def _weighted_sum(weights: FloatArray, values: FloatArray) -> float:
    """Return weights @ values, where a weight of zero charges nothing, not even infinity."""
    used = weights > 0
    return float(weights[used] @ values[used])
