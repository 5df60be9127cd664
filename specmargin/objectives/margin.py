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
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from specmargin.labels import Labels
from specmargin.results import Certificate
from specmargin.typing import FloatArray

__all__ = ["RMM", "RelativeMargin"]


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
            raise ValueError(f"C={self.C!r} must be a positive number: it weighs the loss against the margin.")
        if np.isnan(self.B) or self.B < 0:
            raise ValueError(
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

    def repair_multipliers(self, y: FloatArray, gamma: FloatArray) -> FloatArray:
        """Return the nearest multipliers with 1'gamma = 0 (and 0 <= y gamma <= C where B is infinite)."""
        if np.isfinite(self.B):
            return gamma - gamma.mean()
        s = balanced(y, np.clip(y * gamma, 0.0, self.C))
        return y * s

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

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> rmm = RMM(X @ X.T, encode_labels([0, 0, 1, 1]), C=1.0)
    >>> rmm.certificate(gamma=np.array([0.0, -0.5, 0.5, 0.0]), b=0.0).relative_gap
    0.0
    """

    K: FloatArray
    labels: Labels
    C: float = 1.0
    B: float = np.inf

    def __post_init__(self) -> None:
        if not self.labels.is_binary:
            raise ValueError("RMM takes binary labels; iterate over labels.one_vs_rest() for several classes.")
        K = np.asarray(self.K, dtype=float)
        n, labels = len(K), self.labels
        if K.ndim != 2 or K.shape[0] != K.shape[1] or n not in (labels.n_labeled, labels.n_samples):
            raise ValueError(
                f"K has the shape {K.shape}; pass the Gram matrix of the {labels.n_labeled} labelled or of all "
                f"{labels.n_samples} samples."
            )
        if n != labels.n_labeled:
            K = K[np.ix_(labels.labeled, labels.labeled)]
        if not np.isfinite(K).all():
            raise ValueError("K holds NaN or infinite entries; check the features and the kernel's parameters.")
        object.__setattr__(self, "K", K)
        _ = self.loss  # validates C and B

    @cached_property
    def loss(self) -> RelativeMargin:
        """The loss of one sample."""
        return RelativeMargin(self.C, self.B)

    def value(self, gamma: FloatArray, b: float) -> float:
        """Return the primal objective at f = K gamma + b; inf where |f| > B."""
        f = self.K @ gamma
        return float(0.5 * gamma @ f + self.loss.value(self.labels.sign * (f + b)).sum())

    def dual_bound(self, gamma: FloatArray) -> float:
        """Return the dual objective at a balanced gamma: a lower bound on the optimum."""
        return float(self.loss.dual_value(self.labels.sign * gamma).sum() - 0.5 * gamma @ self.K @ gamma)

    def certificate(self, gamma: FloatArray, b: float) -> Certificate:
        """Repair the candidate to feasibility and measure the gap that is left."""
        return self.repaired(gamma, b)[0]

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
        found = []
        for candidate in (dual,) if expansion is None else (dual, expansion):
            f = self.K @ candidate
            scale, offset = self.loss.repair_decisions(y, f, b)
            # The scaled decisions touch the bound up to rounding, which `value` would read as infinite.
            t = np.clip(y * (scale * f + offset), -self.B, self.B)
            primal = 0.5 * scale**2 * float(candidate @ f) + float(self.loss.value(t).sum())
            found.append((primal, scale, offset, scale * candidate))
        primal, scale, offset, coefficients = min(found, key=lambda point: point[0])
        certificate = Certificate(
            primal_objective=primal,
            dual_objective=self.dual_bound(dual),
            primal_residual=abs(1.0 - scale) + abs(offset - b) / max(1.0, abs(b)),
            dual_residual=float(np.abs(dual - gamma).max() / max(1e-300, np.abs(gamma).max())),
            complementarity=self.complementarity(dual, self.K @ coefficients + offset, primal),
        )
        return certificate, coefficients, offset

    def complementarity(self, gamma: FloatArray, f: FloatArray, primal: float) -> float:
        """Largest share of the objective by which one sample misses Fenchel's equality."""
        y = self.labels.sign
        t = np.clip(y * f, -self.B, self.B)
        miss = self.loss.value(t) + y * gamma * t - self.loss.dual_value(y * gamma)
        return float(np.abs(miss).max() / max(abs(primal), 1e-300))
