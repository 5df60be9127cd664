"""What predictions change by when a weight does: `sensitivity` of a fitted classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import AsText, choice, instance, number
from specmargin.estimators._base.changed_model import refuse_changed
from specmargin.estimators._base.semi_supervised import columns, numerical_failures
from specmargin.estimators.lapsvm import LapSVM
from specmargin.objectives.sensitivity import derivatives
from specmargin.solvers.manifold.ranges import Stretch, proved_stretch
from specmargin.solvers.manifold.weight_path import weight_path
from specmargin.typing import BoolArray, FloatArray, IntArray, Matrix

__all__ = ["Sensitivity", "WeightRange", "sensitivity"]

_PERCENT = 0.01


_WAYS = {"gamma_A": "gamma_A", "gamma_I": "gamma_I", "C": "gammas"}


@dataclass(frozen=True, eq=False)
class WeightRange(AsText):
    """The interval of a weight in which every prediction is proved to stay; made by `Sensitivity.range`.

    Parameters
    ----------
    weight : str
        Its name.
    value : float
        The weight of the fit.
    low, high : float
        Ends of the interval, within the limit.
    first_below, first_above : tuple of (int or None, float)
        The row of the first sample whose prediction changes beyond either end, and the weight at which: computed, not
        proved, and next to the end. None where none changes up to the limit, which is the weight then, or where the
        proof ends for another reason, with the weight nan.

    Examples
    --------
    >>> print(WeightRange("gamma_I", 1.0, 0.5, 1000.0, (17, 0.499), (None, 1000.0)))
    no prediction changes for gamma_I from 0.5 to 1000 (proved); below that of row 17 does, at 0.499
    """

    weight: str
    value: float
    low: float
    high: float
    first_below: tuple[int | None, float]
    first_above: tuple[int | None, float]

    def __str__(self) -> str:
        beyond = "".join(
            f"; {where} that of row {row} does, at {at:.4g}"
            for where, (row, at) in (("below", self.first_below), ("above", self.first_above))
            if row is not None
        )
        return f"no prediction changes for {self.weight} from {self.low:.4g} to {self.high:.4g} (proved){beyond}"


@dataclass(frozen=True, eq=False)
class Sensitivity(AsText):
    """Derivatives of scores, and of the objective, in the weights of a problem; made by `sensitivity`.

    Scores are those of `decision_function`: numbers without a unit, of which a label asks for 1 or -1. The numbers of
    the balance of classes (``balance_``) are held. With K > 2 classes there is a column for each.

    Parameters
    ----------
    estimator : LapSVM or LapRLS
        The classifier, which must not be fitted anew as long as ranges and paths are asked for.
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

    Examples
    --------
    >>> import specmargin as sm
    >>> X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(truth, per_class=3, random_state=0)
    >>> clf = sm.LapSVM(gamma_A=1e-2, gamma_I=1.0, loss="squared_hinge", kernel=4.0, graph=5).fit(X, y)
    >>> found = sm.sensitivity(clf)
    >>> bool(np.allclose(found.C, -found.gamma_A - found.gamma_I)), found.range("gamma_I").weight
    (True, 'gamma_I')
    """

    estimator: Any = field(repr=False)
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

    def range(self, weight: str, *, limit: float = 1e3) -> WeightRange:
        """Return the interval of a weight in which the prediction of every training sample is proved to stay.

        Each piece of it is proved from an optimum within, rounding included: no weight inside has an optimum that
        predicts another class, whichever label changes its place on the loss. The numbers of the balance of classes are
        held. A factorisation for each piece, up to 100 either way.

        Parameters
        ----------
        weight : {"gamma_A", "gamma_I", "C"}
            The weight; the others are held.
        limit : float, default 1000
            Factor up to which is looked, either way.

        Raises
        ------
        ValueError
            For another weight or a limit that is not above 1, and for a kernel that is known up to an error only.
        """
        choice(*_WAYS)("weight", weight)
        number(above=1)("limit", limit)
        problems = self._problems()
        stretches = [
            proved_stretch(problems, _WAYS[weight], way, self._stays, self._flips, limit) for way in (-1.0, 1.0)
        ]
        value = 1.0 if weight == "C" else getattr(self.estimator, f"{weight}_")
        if weight == "C":  # the gammas are those over C
            stretches = [Stretch(1.0 / one.end, one.sample, 1.0 / one.at) for one in reversed(stretches)]
        below, above = stretches
        ends = (value * below.end, value * above.end)
        return WeightRange(weight, value, *ends, (below.sample, value * below.at), (above.sample, value * above.at))

    def path(self, C: float) -> Any:
        """Return the answers of the hinge for all weights from C = 1, that of the fit, to another C.

        Returns
        -------
        WeightPath
            Straight pieces, each with the gap that is proved on it; with more than two classes a tuple of them. Its
            decisions are those of ``result_``, before they are balanced.

        Raises
        ------
        ValueError
            For another loss, and where C = 1 is at a kink.
        """
        paths = [weight_path(one, C) for one in self._problems()]
        return paths[0] if len(paths) == 1 else tuple(paths)

    def _problems(self) -> list[Any]:
        results = self.estimator.result_ if isinstance(self.estimator.result_, tuple) else (self.estimator.result_,)
        pairs = zip(self.estimator._objectives(), results, strict=True)
        return [one.pivoted() if "pivoted" in result.solver else one for one, result in pairs]

    def _stays(self, start: list[FloatArray], end: list[FloatArray], radius: list[FloatArray]) -> BoolArray:
        balance, rounding = self.estimator.balance_, 4.0 * self.estimator._rounding
        off = np.abs(balance.slope) * columns(radius)
        scores = [balance(columns(f)) for f in (start, end)]
        if off.ndim == 1:
            return np.all([np.where(scores[0] > 0, f, -f) > off + rounding for f in scores], axis=0)
        own = scores[0].argmax(axis=1)[:, None]
        rivals = np.arange(off.shape[1]) != own
        ahead = [np.take_along_axis(f - off, own, axis=1) > f + off + rounding for f in scores]
        return np.all([(one | ~rivals).all(axis=1) for one in ahead], axis=0)

    def _flips(self, f: list[FloatArray], change: list[FloatArray]) -> FloatArray:
        scores, slopes = self.estimator.balance_(columns(f)), columns(change) * self.estimator.balance_.slope
        if scores.ndim > 1:
            own = scores.argmax(axis=1)[:, None]
            scores, slopes = (np.take_along_axis(each, own, axis=1) - each for each in (scores, slopes))
        with np.errstate(divide="ignore", invalid="ignore"):
            at = -scores / slopes
        at = np.where(at > 0, at, np.inf)
        return at if at.ndim == 1 else at.min(axis=1)

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
        estimator,
        several[..., 0],
        several[..., 1],
        -several[..., :2].sum(axis=-1),
        several[..., 2:],
        {name: np.array([one[name] for one in of_objective]) for name in of_objective[0]}
        if len(of_objective) > 1
        else of_objective[0],
        labeled,
    )
