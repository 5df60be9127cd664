"""What predictions change by when a weight does: `sensitivity` of a fitted LapSVM or LapRLS."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import AsText, instance
from specmargin.estimators._base.changed_model import refuse_changed
from specmargin.estimators._base.semi_supervised import numerical_failures
from specmargin.estimators.lapsvm import LapSVM
from specmargin.objectives.sensitivity import derivatives
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = ["Sensitivity", "sensitivity"]

_PERCENT = 0.01


@dataclass(frozen=True, eq=False)
class Sensitivity(AsText):
    """Derivatives of scores, and of the objective, in the weights of a problem; made by `sensitivity`.

    Scores are those of `decision_function`: numbers without a unit, of which a label asks for 1 or -1. The numbers of
    the balance of classes (``balance_``) are held. With K > 2 classes there is a column for each.

    Parameters
    ----------
    gamma_A, gamma_I : ndarray of shape (m,) or (m, K)
        Change of each score per change of log gamma_A and log gamma_I: a weight that grows by 1 % adds 0.01 times this.
    C : ndarray of shape (m,) or (m, K)
        The same for the weight C of all losses, which is 1: as if both gammas were divided by C.
    label_weights : ndarray of shape (m, l) or (m, K, l)
        Change of each score per change of the weight of one label, which is 1 where `fit` is given no other: -1 times
        this is what leaving the label out does, to the first order.
    objective : dict
        Change of the optimal objective: ``"gamma_A"``, ``"gamma_I"`` and ``"C"`` per change of their logarithms, a
        number or (K,); ``"label_weights"`` per change of each, (l,) or (K, l).
    labeled : ndarray of int, of shape (l,)
        Rows of the labelled samples in the training.
    """

    gamma_A: FloatArray
    gamma_I: FloatArray
    C: FloatArray
    label_weights: FloatArray = field(repr=False)
    objective: dict[str, Any] = field(repr=False)
    labeled: IntArray = field(repr=False)

    def deciding(self, n_labels: int = 3) -> IntArray:
        """Return the rows of the labels whose weights change the scores most, the mean over all scores."""
        size = np.abs(self.label_weights).reshape(-1, len(self.labeled)).mean(axis=0)
        return self.labeled[np.argsort(-size, kind="stable")[:n_labels]]

    def __str__(self) -> str:
        sizes = {"gamma_A": self.gamma_A, "gamma_I": self.gamma_I, "C": self.C}
        parts = [f"{_PERCENT * np.abs(size).max(initial=0.0):.2g} ({name})" for name, size in sizes.items()]
        rows = ", ".join(map(str, self.deciding()))
        return (
            f"1 % more of a weight changes scores by at most {', '.join(parts)}; the labels of rows {rows} weigh most"
        )


def sensitivity(estimator: Any, X: Matrix | None = None) -> Sensitivity:
    """Return what the scores of a fitted classifier change by when a weight does.

    The derivatives follow from the factorisation of the fit, where that is the last one of such a classifier and of at
    most 3,000 samples; else the problem is factorised once more. They are those of the optimum: the answer of the fit
    only says which piece of the loss each label is on.

    Parameters
    ----------
    estimator : LapSVM or LapRLS
        Fitted, with a loss that is piecewise quadratic: "hinge", "squared_hinge", "huber_hinge" or "squared".
    X : array-like of shape (m, n_features), optional
        New samples; by default those of the training.

    Returns
    -------
    Sensitivity

    Raises
    ------
    TypeError
        For another estimator.
    ValueError
        For another loss, a changed ``model``, a label at a kink of the loss, where derivatives are one-sided, and an
        optimal intercept that is an interval.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(truth, per_class=4, random_state=0)
    >>> clf = sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, loss="squared_hinge", kernel=4.0, graph=5).fit(X, y)
    >>> found = sensitivity(clf)
    >>> found.gamma_I.shape, found.label_weights.shape
    ((120,), (120, 8))
    """
    instance(LapSVM, "pass a fitted LapSVM or LapRLS")("estimator", estimator)
    check_is_fitted(estimator)
    refuse_changed(estimator, "sensitivities")
    results = estimator.result_ if isinstance(estimator.result_, tuple) else (estimator.result_,)
    changes, of_objective = [], []
    with numerical_failures(estimator):
        for objective, result in zip(estimator._objectives(), results, strict=True):
            labeled = objective.labels.labeled
            problem = objective.pivoted() if "pivoted" in result.solver else objective
            part = derivatives(
                problem, np.asarray(result.variables["f"])[labeled], np.asarray(result.variables["beta"])
            )
            of_objective.append(part.objective)
            if X is None:
                changes.append(part.decisions)
            else:
                values = estimator._values_of(objective.K, part.coefficients)
                changes.append(estimator._at_new(X, values) + part.intercept)
    balanced = np.stack(changes, axis=-1) * estimator.balance_.slope
    several = np.moveaxis(balanced, 1, -1) if len(changes) > 1 else balanced[..., 0]  # (m[, K], 2 + l)
    return Sensitivity(
        several[..., 0],
        several[..., 1],
        -several[..., :2].sum(axis=-1),
        several[..., 2:],
        {name: columns_of([one[name] for one in of_objective]) for name in of_objective[0]},
        labeled,
    )


def columns_of(parts: list[Any]) -> Any:
    """Return the one of a binary problem, an array for several classes."""
    return parts[0] if len(parts) == 1 else np.array(parts)
