r"""Laplacian regularised least squares (LapRLS) with numbers for targets: regression.

    min_{alpha, b}  sum_i c_i (z_i - f_i)^2 + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha,   f = K alpha + b,

over the labelled samples i, whose weights c are one unless others are given: `specmargin.objectives.LapSVM` with the
squared loss, whose margins y f are replaced by residuals z - f. With z in {-1, 1} the two are one. The reduction to the
deformed kernel G and the lower bound are the same but for the loss's part: for theta with 1'theta = 0, and any m where
there is an intercept,

    sum_i (z_i - m) theta_i - theta_i^2 / (4 c_i)  instead of  sum_i c_i V*(y_i theta_i / c_i).

The bound is taken at the mean m of the targets, so that their offset costs no digits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from specmargin.arrays import finite_numbers
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.kernels.operators import as_kernel
from specmargin.labels import Labels
from specmargin.losses import MarginLoss
from specmargin.objectives.contract import require_fields
from specmargin.objectives.intercept import checked_weights
from specmargin.objectives.lapsvm import LapSVM
from specmargin.rounding import UNIT, two_sum
from specmargin.typing import FloatArray, IntArray

__all__ = ["LapRLS"]


@dataclass(frozen=True, eq=False)
class LapRLS(LapSVM):
    """The objective of LapRLS for numbers.

    Parameters
    ----------
    K, L, gamma_A, gamma_I, fit_intercept
        The same as for `LapSVM`.
    labeled : ndarray of int, of shape (l,)
        Increasing indices of the labelled samples.
    targets : ndarray of shape (l,)
        Their targets z.
    weights : ndarray of shape (l,), optional
        Weights c of their losses, > 0.

    Raises
    ------
    ValueError
        As `LapSVM`, for targets that are not finite, for weights that are not positive numbers, and for indices that
        are not increasing or not of a sample.

    Notes
    -----
    ``alpha`` (n,) and ``b`` decide the value. The multipliers of `certificate` are ``beta`` (l,), twice the residuals
    times their weights.

    Examples
    --------
    >>> K, L = np.eye(3), np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> obj = LapRLS(K, L, labeled=np.array([0, 2]), targets=np.array([1.0, 4.0]), gamma_A=0.5, gamma_I=0.1)
    >>> obj.value({"alpha": np.array([-1.0, 0.0, 1.0]), "b": 2.0})
    2.2
    """

    labels: Labels = field(init=False, repr=False)
    loss: str | MarginLoss = field(init=False, repr=False, default="squared")
    labeled: IntArray = field(kw_only=True)
    targets: FloatArray = field(kw_only=True)
    weights: FloatArray | None = field(kw_only=True, default=None)

    def __post_init__(self) -> None:
        n, labeled = as_kernel(self.K).shape[0], np.asarray(self.labeled)
        whole = labeled.ndim == 1 and labeled.dtype.kind in "iu" and len(labeled) > 0
        if not (whole and (np.diff(labeled) > 0).all() and labeled[0] >= 0 and labeled[-1] < n):
            raise InvalidInputError(
                f"labeled={shown(self.labeled)} must be increasing indices of labelled samples, from 0 to {n - 1}; "
                "pass np.flatnonzero(~np.isnan(z))."
            )
        object.__setattr__(self, "labeled", labeled)
        object.__setattr__(self, "targets", _targets(self.targets, len(labeled)))
        object.__setattr__(self, "weights", checked_weights(self.weights, len(labeled)))
        # Labels of which the squared loss of the margins is that of the residuals.
        labels = Labels(np.ones(len(labeled)), labeled, np.array([False, True]), n, self.weights)
        object.__setattr__(self, "labels", labels)
        super().__post_init__()

    def derive(self) -> None:
        """Set what follows from the fields."""
        super().derive()
        vars(self)["slack_at_zero"] = self.targets  # residuals of f = 0

    def with_(self, **changes: Any) -> LapRLS:
        """Return the same problem with fields changed, sharing what does not depend on them, as `LapSVM.with_`."""
        require_fields(self, changes)
        if "labeled" in changes or "weights" in changes:
            return replace(self, **changes)
        if "targets" in changes:
            changes["targets"] = _targets(changes["targets"], len(self.labeled))
        other = super().with_(**changes)
        assert isinstance(other, LapRLS)
        return other

    def value_at(self, alpha: FloatArray, b: float, Ka: FloatArray | None = None) -> float:
        """Return the objective; `Ka` is K alpha where it is known."""
        f = self.K @ alpha if Ka is None else Ka
        residuals = self.targets - (f[self.labeled] + b)
        return float(residuals @ (self._c * residuals) + f @ self.apply_S(alpha, f))

    def gradient(self, alpha: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return the derivatives by alpha, (n,), and by b (0 without intercept)."""
        f = self.K @ alpha
        slope = -2.0 * self._c * (self.targets - (f[self.labeled] + b))
        inner = 2.0 * self.apply_S(alpha, f)
        inner[self.labeled] += slope
        return self.K @ inner, float(slope.sum()) * self.fit_intercept

    def multipliers(self, alpha: FloatArray, b: float, Ka: FloatArray | None = None) -> FloatArray:
        """Return the theta that a candidate implies: twice its residuals, times their weights."""
        f = self.K @ alpha if Ka is None else Ka
        return 2.0 * self._c * (self.targets - (f[self.labeled] + b))

    def constant(self) -> float:
        """Return the mean of the targets, the b that is best at alpha = 0; 0 without an intercept."""
        if not self.fit_intercept:
            return 0.0
        first = float(self.targets[0])
        return first + float(np.average(self.targets - first, weights=self.weights))  # equal targets are met exactly

    def dual_terms(self, beta: FloatArray) -> tuple[FloatArray, float]:
        """Return terms whose sum is the loss's part of the lower bound, and a bound on their error."""
        high, low = two_sum(self.targets, -self.constant())
        parts = beta * high, beta * low, -beta * (beta / self._c) / 4.0
        return np.concatenate(parts), 6.0 * UNIT * float(sum(np.abs(part).sum() for part in parts))

    def fenchel_residuals(self, decisions: FloatArray, theta: FloatArray) -> FloatArray:
        """Return by how much each labelled sample misses Fenchel's equality: c (z - f - theta / 2c)^2."""
        return self._c * (self.targets - decisions - theta / (2.0 * self._c)) ** 2

    @property
    def _c(self) -> FloatArray:
        """Weights of the labelled samples, (l,)."""
        return self.labels.weights_or_ones


def _targets(values: Any, l: int) -> FloatArray:
    targets = np.asarray(values, dtype=np.float64)
    if targets.shape != (l,):
        raise InvalidInputError(
            f"targets have the shape {targets.shape}, but {l} samples are labelled; pass one number for each."
        )
    finite_numbers("targets", targets, "finite numbers, one per labelled sample")
    return targets
