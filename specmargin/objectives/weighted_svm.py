r"""The convex SVM inside every label-guessing S3VM solver: a weight for each label of each sample.

    min_w  1/2 w'Pw + sum_i [ p_i V(f_i) + m_i V(-f_i) + t_i f_i ],   f = A w + offset.

A labelled sample has the weight C on its side; a guessed one C* on one side (label switching), shared between both
sides (annealing: C* times its probabilities), or on both in full with a linear term (CCCP, whose t linearises the
concave half of the ramps). V is convex, so the answer has a proof:

**Duality.** With multipliers theta+ and theta- in the domain of V's `dual_value` and a = t - p theta+ + m theta-,

    -1/2 |P^(-1/2) A'a|^2 + offset * sum(a) + sum_i [ p_i V*(theta+_i) + m_i V*(theta-_i) ]

bounds the optimum from below (V* is `dual_value`); a free intercept needs sum(a) = 0 besides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from specmargin.arrays import finite_numbers
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError
from specmargin.losses import get_loss
from specmargin.objectives.contract import Arrays, ByName, Shapes, multipliers_of
from specmargin.objectives.features import Features
from specmargin.objectives.rounding.weighted_svm import dual_with_rounding, value_with_rounding
from specmargin.results import Certificate
from specmargin.typing import FloatArray

__all__ = ["WeightedSVM"]


@dataclass(frozen=True, eq=False)
class WeightedSVM(ByName):
    """An SVM whose samples have a weight for each of both labels.

    Parameters
    ----------
    features : Features
        The map from w to the decisions of n samples.
    plus, minus : ndarray of shape (n,)
        p and m: weights of the labels +1 and -1, >= 0.
    loss : {"hinge", "squared_hinge", "squared", "smooth_hinge"} or MarginLoss
        V.
    linear : ndarray of shape (n,), optional
        t, weights of the decisions themselves; default 0.

    Notes
    -----
    ``w`` (size,) decides the value. The multipliers of `certificate` are ``plus`` and ``minus`` (n,), theta+ and
    theta-, by default the slopes of the losses.

    Examples
    --------
    >>> A = Features.of(np.array([[1.0], [-1.0]]), "regularized", rows=np.array([0, 1]))
    >>> svm = WeightedSVM(A, plus=np.array([1.0, 0.0]), minus=np.array([0.0, 1.0]))
    >>> svm.value({"w": np.array([0.8, 0.0])}), svm.certificate({"w": np.array([0.8, 0.0])}).is_optimal(1e-12)
    (0.4, True)
    """

    features: Features
    plus: FloatArray
    minus: FloatArray
    loss: Any = "squared_hinge"
    linear: FloatArray | None = None

    def __post_init__(self) -> None:
        n = self.features.n_samples
        object.__setattr__(self, "loss", get_loss(self.loss))
        for name in ("plus", "minus", *(() if self.linear is None else ("linear",))):
            values = np.asarray(getattr(self, name), dtype=float)
            if values.shape != (n,):
                raise InvalidInputError(
                    f"{name}={shown(values)}, but there are {n} samples; pass one weight per sample."
                )
            finite_numbers(name, values, "one weight per sample", least=-np.inf if name == "linear" else 0.0)
            object.__setattr__(self, name, values)

    name = "WeightedSVM"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"w": (self.size,)}

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Return `prove` at ``w``, with the multipliers ``plus`` and ``minus`` where they are given."""
        (w,) = self._read(variables)
        n = self.features.n_samples
        return self.prove(w, *multipliers_of({"plus": (n,), "minus": (n,)}, duals))

    def decisions_at(self, w: FloatArray) -> FloatArray:
        """Return f at all samples, (n,)."""
        return self.features.decisions(w)

    @property
    def size(self) -> int:
        """Length of w."""
        return self.features.size

    def value_at(self, w: FloatArray, f: FloatArray | None = None) -> float:
        """Return the objective at w; `f` are its decisions where they are known."""
        f = self.features.decisions(w) if f is None else f
        value = 0.5 * float(self.features.weights @ w**2)
        value += float(self.plus @ self.loss.value(f) + self.minus @ self.loss.value(-f))
        return value + (0.0 if self.linear is None else float(self.linear @ f))

    def slopes(self, f: FloatArray) -> FloatArray:
        """Return the derivative of the losses by every decision, (n,)."""
        out = self.plus * self.loss.gradient(f) - self.minus * self.loss.gradient(-f)
        return out if self.linear is None else out + self.linear

    def curvatures(self, f: FloatArray) -> FloatArray:
        """Return the second derivative of the losses by every decision, (n,)."""
        return self.plus * self.loss.curvature(f) + self.minus * self.loss.curvature(-f)

    def gradient(self, w: FloatArray, f: FloatArray | None = None) -> FloatArray:
        """Return the gradient, (size,); a subgradient at a kink of V."""
        f = self.features.decisions(w) if f is None else f
        return self.features.weights * w + self.features.adjoint(self.slopes(f))

    def dual_bound(self, theta_plus: FloatArray, theta_minus: FloatArray) -> float:
        """Return the dual objective at multipliers of both labels, a lower bound on the optimum.

        Parameters
        ----------
        theta_plus, theta_minus : ndarray of shape (n,)
            Multipliers in [loss.lower, loss.upper], else the bound is -inf. Where the intercept is free they are made
            to balance: those of the heavier side are scaled down, or all are shifted where a loss sets them no bounds.
        """
        return dual_with_rounding(self, theta_plus, theta_minus)[0]

    def repair_multipliers(self, theta_plus: FloatArray, theta_minus: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return multipliers with sum(a) = 0, or NaN where scaling cannot reach that."""
        up, down = self.minus * theta_minus, self.plus * theta_plus
        linear_sum = 0.0 if self.linear is None else float(self.linear.sum())
        excess = float(up.sum() - down.sum()) + linear_sum
        if excess == 0:
            return theta_plus, theta_minus
        if np.isinf(self.loss.lower):
            shift = excess / float(self.plus.sum() + self.minus.sum())
            return theta_plus + shift, theta_minus - shift
        total, rest = (up.sum(), down.sum() - linear_sum) if excess > 0 else (down.sum(), up.sum() + linear_sum)
        scale = float(rest / total) if 0 <= rest <= total and total > 0 else np.nan
        if excess > 0:
            return theta_plus, theta_minus * scale
        return theta_plus * scale, theta_minus

    def prove(
        self, w: FloatArray, theta_plus: FloatArray | None = None, theta_minus: FloatArray | None = None
    ) -> Certificate:
        """Measure the gap between the objective at w and the dual bound, rounding included.

        Parameters
        ----------
        w : ndarray of shape (size,)
            Candidate.
        theta_plus, theta_minus : ndarray of shape (n,), optional
            Multipliers; by default the slopes of the losses at w, which are exact at the optimum of a smooth V.
        """
        f = self.features.decisions(w)
        theta_plus = -self.loss.gradient(f) if theta_plus is None else theta_plus
        theta_minus = -self.loss.gradient(-f) if theta_minus is None else theta_minus
        primal, above = value_with_rounding(self, w, f)
        dual, below = dual_with_rounding(self, theta_plus, theta_minus)
        return Certificate(primal, dual, rounding=above + below)
