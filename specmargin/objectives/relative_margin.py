"""Absolute and relative margin on a given kernel: the SVM and the relative margin machine (RMM).

Eq. 5 of the spectrum paper asks for a large margin *relative to the spread of the data*: on the labelled samples
the decisions must stay within [-B, B],

    min_{w, b, xi}  1/2 w'w + C sum_i xi_i    s.t.  y_i f_i >= 1 - xi_i,  xi_i >= 0,  |f_i| <= B,

with f_i = w'x_i + b; B = inf is the SVM. Seen from one sample this is the hinge confined to |f| <= B, the loss
`specmargin.objectives.RelativeMargin`. With gamma the vector of eq. 6 (y alpha - beta + eta) and s = y gamma, the dual
objective is sum dual_value(s) - 1/2 gamma'K gamma, to be maximised over the balanced gamma (1'gamma = 0).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from specmargin.arrays import finite_numbers
from specmargin.exceptions import InvalidInputError
from specmargin.kernels.semidefinite import require_semidefinite, symmetric
from specmargin.labels import Labels, several
from specmargin.objectives.contract import Arrays, ByName, Shapes, multipliers_of
from specmargin.objectives.relative_margin_loss import RelativeMargin
from specmargin.results import Certificate
from specmargin.rounding import EXTENDED_UNIT, UNIT, bounded_product, extended_product
from specmargin.typing import AnyArray, FloatArray

__all__ = ["RMM"]

_MINOR = 1e-2
"""Share of the gap that a bound on its rounding may take before products are computed in extended precision."""


@dataclass(frozen=True, eq=False)
class RMM(ByName):
    """Relative margin machine on a kernel (eqs. 5 and 6 of the spectrum paper); B = inf is the SVM.

    Its value is 1/2 gamma'K gamma + C sum_i max(0, 1 - y_i f_i), f = K gamma + b, |f_i| <= B.

    Parameters
    ----------
    K : ndarray of shape (l, l) or (n, n)
        Positive semidefinite Gram matrix of the labelled samples, or of all samples in the order of `labels`.
    labels : Labels
        Binary labels. Their weights, where they have such, multiply C.
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

    weights_only = frozenset({"C", "B"})

    K: FloatArray
    labels: Labels
    C: float = 1.0
    B: float = np.inf
    name: str = field(init=False, default="RMM")
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
        K = symmetric(K)  # or alpha'K alpha and K alpha would be those of two kernels
        if n != labels.n_labeled:
            K = K[np.ix_(labels.labeled, labels.labeled)]
        require_semidefinite(K)
        object.__setattr__(self, "K", K)
        self.renew()

    def renew(self) -> None:
        """Set the loss, after a check of C and B."""
        weights = self.labels.weights
        loss = RelativeMargin(self.C if weights is None else self.C * weights, self.B)
        vars(self).update(loss=loss, name="RMM" if np.isfinite(self.B) else "SVM")

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"gamma": (len(self.K),), "b": ()}

    def value(self, variables: Arrays) -> float:
        """Return the objective at ``gamma`` and ``b``; inf where |f| > B by more than rounding."""
        gamma, b = self._read(variables)
        return self._value(gamma, b) if self.loss.holds(self.decisions_at(gamma, b)) else np.inf

    def decisions_at(self, gamma: FloatArray, b: Any) -> FloatArray:
        """Return f at the labelled samples, (l,)."""
        return np.asarray(self.K @ gamma + b)

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Measure the gap at ``gamma`` and ``b``, shortened where |f| > B; the multipliers are the duals' ``gamma``."""
        gamma, b = self._read(variables)
        (multipliers,) = multipliers_of({"gamma": gamma.shape}, duals)
        given = gamma if multipliers is None else multipliers
        share = self.loss.share_within(self.decisions_at(gamma, b))
        dual = self.loss.nearest_multipliers(self.labels.sign, given)
        shift = float(np.abs(dual - given).max() / max(1e-300, np.abs(given).max()))
        return self.prove(dual, share * gamma, share * b, 1.0 - share, shift)

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
        self, gamma: FloatArray, expansion: FloatArray, b: Any, moved: float = 0.0, shift: float = 0.0
    ) -> Certificate:
        """Measure the gap between balanced multipliers and a feasible point f = K expansion + b."""
        primal, dual, rounding = self._measured(gamma, expansion, b)
        # The largest share of the objective by which one sample misses Fenchel's equality.
        y = self.labels.sign
        t = np.clip(y * (self.K @ expansion + b), -self.B, self.B)
        missed = self.loss.value(t) + y * gamma * t - self.loss.dual_value(y * gamma)
        return Certificate(
            primal_objective=primal,
            dual_objective=dual,
            primal_residual=moved,
            dual_residual=shift,
            complementarity=float(np.abs(missed).max() / max(abs(primal), 1e-300)),
            rounding=rounding,
        )

    def _value(self, expansion: FloatArray, b: Any) -> float:
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
