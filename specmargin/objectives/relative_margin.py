"""Absolute and relative margin on a given kernel: the SVM and the relative margin machine (RMM).

Eq. 5 of the spectrum paper asks for a large margin *relative to the spread of the data*: on the labelled samples
the decisions must stay within [-B, B],

    min_{w, b, xi}  1/2 w'w + C sum_i xi_i    s.t.  y_i f_i >= 1 - xi_i,  xi_i >= 0,  |f_i| <= B,

with f_i = w'x_i + b; B = inf is the SVM. Seen from one sample this is the hinge confined to |f| <= B, and
everything that duality needs of it is the concave conjugate `RelativeMargin.dual_value`. With gamma the vector of
eq. 6 (y alpha - beta + eta) and s = y gamma, the dual objective is sum dual_value(s) - 1/2 gamma'K gamma, to be
maximised over the balanced gamma (1'gamma = 0).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.arrays import finite_numbers
from specmargin.exceptions import InvalidInputError
from specmargin.kernels.semidefinite import require_semidefinite, require_symmetric
from specmargin.labels import Labels, several
from specmargin.objectives.contract import Arrays, Shapes, changed, multipliers_of, read, require_fields
from specmargin.results import Certificate
from specmargin.rounding import EXTENDED_UNIT, UNIT, bounded_product, extended_product
from specmargin.typing import AnyArray, FloatArray

__all__ = ["RMM", "RelativeMargin"]

_ON_MARGIN = 1e-6
"""Distance from one at which a margin is meant to be one."""

_MINOR = 1e-2
"""Share of the gap that a bound on its rounding may take before products are computed in extended precision."""

_LEAST_LACK = 1e-14
"""Loss, relative to the objective, that margins of nearly one may cost."""

_FEASIBLE = 1e-9
"""Relative violation of a constraint that counts as rounding: such a point is certified as it is."""


@dataclass(frozen=True)
class RelativeMargin:
    """C max(0, 1 - t) on |t| <= B, infinite outside: the loss of the SVM (B = inf) and of the RMM.

    Parameters
    ----------
    C : float
        Weight of the loss, > 0.
    B : float, default inf
        Bound on the decisions. Below 1 no sample can reach its margin: feasible, but every multiplier is at its
        bound, so a warning is issued. Negative values are an error.

    Examples
    --------
    >>> RelativeMargin(C=2.0, B=1.5).dual_value(np.array([-1.0, 1.0, 4.0])).tolist()
    [-1.5, 1.0, -1.0]
    """

    C: float
    B: float = np.inf

    def __post_init__(self) -> None:
        if not (np.isfinite(self.C) and self.C > 0):
            raise InvalidInputError(f"C={self.C!r} must be a positive number: it weighs the loss against the margin.")
        if np.isnan(self.B) or self.B < 0:
            raise InvalidInputError(
                f"B={self.B!r} must be >= 0: it bounds the decisions, |f| <= B. Take a value above 1, or inf (the SVM)."
            )
        if self.B < 1:
            warnings.warn(
                f"B={self.B!r} is below 1: no sample can reach the margin y f >= 1, all of them are charged; "
                "values of interest lie between 1 and the largest |f| of the SVM.",
                UserWarning,
                stacklevel=3,
            )

    def value(self, t: FloatArray) -> FloatArray:
        """Return the loss at the margins t, inf where |t| > B."""
        return np.where(np.abs(t) <= self.B, self.C * np.maximum(1.0 - t, 0.0), np.inf)

    def dual_value(self, s: FloatArray) -> FloatArray:
        """Return inf_t value(t) + s t: the least over the corners t = -B, 1, B of the loss."""
        C, B = self.C, self.B
        if np.isinf(B):
            return np.where((s >= 0) & (s <= C), s, -np.inf)
        left, right = C * (1 + B) - B * s, C * max(0.0, 1 - B) + B * s
        ends = np.minimum(left, right)
        return np.minimum(ends, s) if B >= 1 else ends

    def holds(self, f: FloatArray) -> bool:
        """Whether decisions are within B but for rounding."""
        return bool((np.abs(f) <= self.B * (1.0 + _FEASIBLE)).all())

    def share_within(self, f: FloatArray) -> float:
        """Return the factor that brings decisions within B; 1 where they `holds`."""
        return 1.0 if self.holds(f) else self.B / float(np.abs(f).max())

    def nearest_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return multipliers that are feasible but for rounding as they are, others after `repair_multipliers`."""
        s = y * gamma
        inside = np.isfinite(self.B) or bool(((s >= 0) & (s <= self.C)).all())
        balanced = abs(math.fsum(gamma)) <= len(gamma) * UNIT * float(np.abs(gamma).max(initial=0.0))
        return gamma if inside and balanced else self.repair_multipliers(y, gamma)

    def value_bounds(self, y: FloatArray, f: AnyArray, error: FloatArray, b: float) -> tuple[float, float]:
        """Return the sum of the losses at f + b, and a bound on what it can be at a feasible point.

        Decisions f are within `error` of the exact ones. Those that may exceed B come within when all are shortened.
        """
        f = f.astype(np.longdouble) + b
        error = error + 2 * EXTENDED_UNIT * np.abs(f)
        over = max(float((np.abs(f) + error).max() - np.longdouble(self.B)), 0.0)
        t = np.clip(y * f, -self.B, self.B)
        C, slack = np.longdouble(self.C), 1 + 4 * (len(t) + 4) * EXTENDED_UNIT
        return float(C * np.maximum(1 - t, 0).sum()), float(C * np.maximum(1 - t + error + over, 0).sum() * slack)

    def dual_bounds(self, s: FloatArray) -> tuple[Any, Any]:
        """Return the sum of `dual_value` in extended precision, and a bound below it that no rounding has touched."""
        s, C = s.astype(np.longdouble), np.longdouble(self.C)
        summed = 4 * (len(s) + 4) * EXTENDED_UNIT
        if np.isinf(self.B):
            total = s.sum() if ((s >= 0) & (s <= C)).all() else np.longdouble(-np.inf)
            return total, total - summed * np.abs(s).sum()
        B = np.longdouble(self.B)
        # Two lines, and where B >= 1 the third one s: constant plus slope times s, rounded in proportion to both.
        lines = [(C * (1 + B), -B * s), (C * max(1 - B, np.longdouble(0)), B * s)]
        pieces = [constant + linear for constant, linear in lines]
        below = [constant + linear - 4 * EXTENDED_UNIT * (constant + np.abs(linear)) for constant, linear in lines]
        value, least = (np.minimum(*both) for both in (pieces, below))
        if B >= 1:
            value, least = np.minimum(value, s), np.minimum(least, s)
        return value.sum(), least.sum() - summed * np.abs(value).sum()

    def repair_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return the nearest multipliers with 1'gamma = 0 (and 0 <= y gamma <= C where B is infinite)."""
        if np.isfinite(self.B):
            return _levelled(gamma - gamma.mean(), np.full(len(y), -np.inf), np.full(len(y), np.inf))
        gamma = y * balanced(y, np.clip(y * gamma, 0.0, self.C))
        return _levelled(gamma, np.where(y > 0, 0.0, -self.C), np.where(y > 0, self.C, 0.0))

    def repair_decisions(self, y: FloatArray, f: FloatArray, b: float) -> tuple[float, float]:
        """Return (scale, b) for which scale*f + b lies within [-B, B] and b is the best intercept there.

        `f` holds the decisions without intercept. The `b` that is passed in is kept where it is optimal: the
        loss is flat in b when no free support vector pins it.
        """
        scale = 1.0
        low, high = -np.inf, np.inf
        if np.isfinite(self.B):
            spread = f.max() - f.min()
            if spread > 2 * self.B:
                scale = 2 * self.B / spread * (1 - 1e-15)
            low, high = -self.B - scale * f.min(), self.B - scale * f.max()
            if low > high:  # rounding only: both are the same point
                low = high = (low + high) / 2
        left, right = hinge_intercepts(y, scale * f)
        return scale, float(np.clip(np.clip(b, left, right), low, high))

    def correct_rounding(
        self, y: FloatArray, A: FloatArray, v: FloatArray, b: float, primal: float
    ) -> tuple[FloatArray, float]:
        """Return (v, b) whose decisions A v + b are within B, and whose margins of one are one, whatever rounding does.

        The loss multiplies what a margin lacks by C; longer (v, b) make up for it at the price of twice as much of the
        `primal` objective. Decisions beyond the bound are shortened.
        """
        t = y * (A @ v + b)
        near = np.abs(t - 1) < _ON_MARGIN
        lengthen = self.C * near.sum() > 4 * primal
        lengthen = lengthen and self.C * float(np.maximum(1 - t[near], 0).sum() + UNIT) > _LEAST_LACK * primal
        for _ in range(3 if np.isfinite(self.B) or lengthen else 0):
            f, error = extended_product(A, v)
            f, error = f + b, error + 2 * UNIT * (np.abs(A) @ np.abs(v) + abs(b))
            largest, B = (np.abs(f) + error).max(), np.longdouble(self.B)
            lack = float(((1 - y * f)[near] + error[near]).max(initial=0.0)) if lengthen else 0.0
            if lack > 0 and largest * (1 + lack) <= B:
                scale = 1 + lack
            elif largest > B and np.abs(f).max() + error.max() / 4 > B:
                scale = float(np.nextafter(float(B / largest), 0.0))
            else:
                break
            lengthen = False
            v, b = scale * v, scale * b
        return v, b


def balanced(y: FloatArray, s: FloatArray) -> FloatArray:
    """Scale the heavier class of nonnegative multipliers down until y's = 0."""
    excess = float(y @ s)
    heavy = (y > 0) == (excess > 0)
    total = float(s[heavy].sum())
    if excess == 0 or total == 0:
        return s
    s = s.copy()
    s[heavy] *= (total - abs(excess)) / total
    return s


def exactly_balanced(y: FloatArray, s: FloatArray) -> FloatArray:
    """Return theta = y s with a sum that is zero without any rounding, for an s that is balanced up to rounding.

    Rounded to multiples of one power of two, all sums are exact; the heavier side then gives up what it has too much.

    Examples
    --------
    >>> theta = exactly_balanced(np.array([1.0, 1.0, -1.0]), np.array([0.1, 0.2, 0.30000000000000004]))
    >>> math.fsum(theta)
    0.0
    """
    largest = float(np.abs(s).max(initial=0.0))
    if not 1e-290 < largest < 1e290:
        return np.zeros_like(s) if largest < 1.0 else y * s
    grid = math.ldexp(1.0, math.frexp(largest)[1] - 52)
    theta: FloatArray = np.rint(y * s / grid) * grid
    excess = math.fsum(theta)
    if excess != 0.0:
        theta[np.argmax(np.copysign(1.0, excess) * theta)] -= excess
    return theta


def _levelled(gamma: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Take what rounding left of 1'gamma off the smallest multiplier that can hold it: its grid is the finest."""
    for _ in range(3):
        rest = math.fsum(gamma)
        if rest == 0 or not math.isfinite(rest):
            break
        moved = gamma - rest
        able = (np.abs(gamma) >= 2 * abs(rest)) & (low <= moved) & (moved <= high)
        if not able.any():
            break
        i = int(np.where(able, np.abs(gamma), np.inf).argmin())
        gamma = gamma.copy()
        gamma[i] = moved[i]
    return gamma


def hinge_intercepts(y: FloatArray, f: FloatArray) -> tuple[float, float]:
    """Return the interval of all b that minimise sum max(0, 1 - y (f + b)).

    The sum is convex and piecewise linear with one kink per sample, at y_i - f_i, where its slope rises by one;
    it starts at minus the number of positives.
    """
    kinks = np.sort(y - f)
    n_positive = int((y > 0).sum())
    left = kinks[n_positive - 1] if n_positive else -np.inf
    right = kinks[n_positive] if n_positive < len(y) else np.inf
    return float(left), float(right)


def hinge_intercept(y: FloatArray, f: FloatArray) -> float:
    """Return the middle of `hinge_intercepts`, its finite end where there is one class: the one rule for a free choice.

    Solvers end anywhere in the interval; what they return, and what leaving samples out compares with it, must not
    depend on that.

    Examples
    --------
    >>> y = np.array([1.0, -1.0])
    >>> hinge_intercept(y, np.array([2.0, -4.0])), hinge_intercept(y[:1], np.zeros(1))
    (1.0, 1.0)
    """
    left, right = hinge_intercepts(y, f)
    if not np.isfinite(left) or not np.isfinite(right):
        return left if np.isfinite(left) else right if np.isfinite(right) else 0.0
    return left + (right - left) / 2.0


@dataclass(frozen=True, eq=False)
class RMM:
    """Relative margin machine on a kernel (eqs. 5 and 6 of the spectrum paper); B = inf is the SVM.

    Its value is 1/2 gamma'K gamma + C sum_i max(0, 1 - y_i f_i), f = K gamma + b, |f_i| <= B.

    Parameters
    ----------
    K : ndarray of shape (l, l) or (n, n)
        Positive semidefinite Gram matrix of the labelled samples, or of all samples in the order of `labels`.
    labels : Labels
        Binary labels.
    C : float
        Weight of the loss, > 0.
    B : float, default inf
        Bound on the decisions of the labelled samples.

    Raises
    ------
    ValueError
        For C or B out of range, labels that do not match, or a K that is not finite, symmetric and positive
        semidefinite up to rounding: with an indefinite K the problem is unbounded.

    Notes
    -----
    ``gamma`` (l,) and ``b`` of f = K gamma + b decide the value. The multipliers of `certificate` are called ``gamma``
    (l,), too, and default to the coefficients, with which they agree at the optimum.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> rmm = RMM(X @ X.T, encode_labels([0, 0, 1, 1]), C=1.0)
    >>> rmm.certificate({"gamma": np.array([0.0, -0.5, 0.5, 0.0]), "b": 0.0}).is_optimal(1e-14)
    True
    """

    K: FloatArray
    labels: Labels
    C: float = 1.0
    B: float = np.inf
    loss: RelativeMargin = field(init=False)
    """The loss of one sample."""

    def __post_init__(self) -> None:
        if not self.labels.is_binary:
            raise InvalidInputError(f"RMM takes binary labels, not {several(self.labels)}.")
        K = np.asarray(self.K, dtype=float)
        n, labels = len(K), self.labels
        if K.ndim != 2 or K.shape[0] != K.shape[1] or n not in (labels.n_labeled, labels.n_samples):
            raise InvalidInputError(
                f"K has the shape {K.shape}; pass the Gram matrix of the {labels.n_labeled} labelled or of all "
                f"{labels.n_samples} samples."
            )
        finite_numbers("K", K, "the kernel of finite features, and check its parameters")
        if require_symmetric(K) > 0:
            K = (K + K.T) / 2  # or alpha'K alpha and K alpha would be those of two kernels
        if n != labels.n_labeled:
            K = K[np.ix_(labels.labeled, labels.labeled)]
        require_semidefinite(K)
        object.__setattr__(self, "K", K)
        object.__setattr__(self, "loss", RelativeMargin(self.C, self.B))

    @property
    def name(self) -> str:
        """RMM, or SVM where B is infinite."""
        return "RMM" if np.isfinite(self.B) else "SVM"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"gamma": (len(self.K),), "b": ()}

    def with_(self, **changes: Any) -> RMM:
        """Return the same problem with fields changed; another C or B costs nothing."""
        require_fields(self, changes)
        if changes.keys() - {"C", "B"}:
            return replace(self, **changes)
        return changed(self, {**changes, "loss": replace(self.loss, **changes)})

    def value(self, variables: Arrays) -> float:
        """Return the objective at ``gamma`` and ``b``; inf where |f| > B by more than rounding."""
        gamma, b = read(self.variables, variables)
        holds = self.loss.holds(self.K @ gamma + float(b))
        return self._value(gamma, float(b)) if holds else np.inf

    def decisions(self, variables: Arrays) -> FloatArray:
        """Return f at the labelled samples, (l,)."""
        gamma, b = read(self.variables, variables)
        return np.asarray(self.K @ gamma + float(b))

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Measure the gap at ``gamma`` and ``b``, shortened where |f| > B; the multipliers are the duals' ``gamma``."""
        gamma, b = read(self.variables, variables)
        (multipliers,) = multipliers_of({"gamma": gamma.shape}, duals)
        given = gamma if multipliers is None else multipliers
        share = self.loss.share_within(self.K @ gamma + float(b))
        dual = self.loss.nearest_multipliers(self.labels.sign, given)
        shift = float(np.abs(dual - given).max() / max(1e-300, np.abs(given).max()))
        return self.prove(dual, share * gamma, share * float(b), 1.0 - share, shift)

    def value_at(self, gamma: FloatArray, b: float) -> float:
        """Return the primal objective at f = K gamma + b; inf where |f| > B."""
        f = self.K @ gamma
        return float(0.5 * gamma @ f + self.loss.value(self.labels.sign * (f + b)).sum())

    def dual_bound(self, gamma: FloatArray) -> float:
        """Return the dual objective at a balanced gamma: a lower bound on the optimum."""
        return float(self.loss.dual_value(self.labels.sign * gamma).sum() - 0.5 * gamma @ self.K @ gamma)

    def repaired(
        self, gamma: FloatArray, b: float, expansion: FloatArray | None = None
    ) -> tuple[Certificate, FloatArray, float]:
        """Return the certificate with the feasible (expansion, b) whose primal value it holds.

        Parameters
        ----------
        gamma, b : ndarray of shape (l,), float
            Multipliers and intercept.
        expansion : ndarray of shape (l,), optional
            Coefficients of the primal candidate where a solver knows the decisions better than gamma does; the better
            of the two is taken.
        """
        y = self.labels.sign
        dual = self.loss.repair_multipliers(y, gamma)
        points = []
        for candidate in (dual,) if expansion is None else (dual, expansion):
            f = self.K @ candidate
            scale, offset = self.loss.repair_decisions(y, f, b)
            points.append((self._value(scale * candidate, offset), scale, offset, scale * candidate))
        primal, scale, offset, coefficients = min(points, key=lambda point: point[0])
        moved = abs(1.0 - scale) + abs(offset - b) / max(1.0, abs(b))
        coefficients, offset = self.loss.correct_rounding(y, self.K, coefficients, offset, primal)
        shift = float(np.abs(dual - gamma).max() / max(1e-300, np.abs(gamma).max()))
        return self.prove(dual, coefficients, offset, moved, shift), coefficients, offset

    def prove(
        self, gamma: FloatArray, expansion: FloatArray, b: float, moved: float = 0.0, shift: float = 0.0
    ) -> Certificate:
        """Measure the gap between balanced multipliers and a feasible point f = K expansion + b."""
        primal, dual, rounding = self._measured(gamma, expansion, b)
        return Certificate(
            primal_objective=primal,
            dual_objective=dual,
            primal_residual=moved,
            dual_residual=shift,
            complementarity=self.complementarity(gamma, self.K @ expansion + b, primal),
            rounding=rounding,
        )

    def _value(self, expansion: FloatArray, b: float) -> float:
        """Return `value` at a point whose decisions touch the bound B up to rounding."""
        f = self.K @ expansion
        t = np.clip(self.labels.sign * (f + b), -self.B, self.B)
        return 0.5 * float(expansion @ f) + float(self.loss.value(t).sum())

    @cached_property
    def _negative(self) -> float:
        """How indefinite rounding has made K: by so much the bound for the kernel that is meant may be lower."""
        return max(-float(np.linalg.eigvalsh(self.K)[0]), 0.0) if len(self.K) else 0.0

    def _measured(self, gamma: FloatArray, expansion: FloatArray, b: float) -> tuple[float, float, float]:
        """Return the primal and the dual objective, and a bound on the rounding of both together."""
        y, wide = self.labels.sign, 4 * (len(self.K) + 4) * EXTENDED_UNIT
        conjugate, least = self.loss.dual_bounds(y * gamma)

        def norm(c: FloatArray, f: AnyArray, error: FloatArray) -> tuple[float, float]:
            terms = c * f.astype(np.longdouble)
            return float(terms.sum() / 2), float(np.abs(c) @ error / 2 + wide * np.abs(terms).sum())

        for product in (bounded_product, extended_product):
            f, error = product(self.K, expansion)
            loss, most = self.loss.value_bounds(y, f, error, b)
            length, first = norm(expansion, f, error)
            quadratic, second = norm(gamma, *product(self.K, gamma))
            primal, dual = length + loss, float(conjugate - quadratic)
            rounding = first + second + (most - loss) + float(conjugate - least)
            rounding += self._negative / 2 * float(gamma @ gamma)
            rounding += 8 * UNIT * (length + loss + abs(quadratic) + abs(float(conjugate)))
            unbalanced = abs(math.fsum(gamma))
            if unbalanced > 0:
                # At some optimum |f| <= B, or else some margin is on its kink.
                free = self.B if np.isfinite(self.B) else 1.0
                largest = 2 * max(primal + rounding, 0.0) * max(float(self.K.diagonal().max()), 0.0)
                rounding += 1.001 * unbalanced * (free + math.sqrt(largest))
            rounding *= 1 + 8 * UNIT
            if rounding <= _MINOR * (primal - dual):
                break
        return primal, dual, rounding

    def complementarity(self, gamma: FloatArray, f: FloatArray, primal: float) -> float:
        """Largest share of the objective by which one sample misses Fenchel's equality."""
        y = self.labels.sign
        t = np.clip(y * f, -self.B, self.B)
        residual = self.loss.value(t) + y * gamma * t - self.loss.dual_value(y * gamma)
        return float(np.abs(residual).max() / max(abs(primal), 1e-300))
