"""LapRLS and LapSVM that choose their parameters by the labelled samples alone: `LapRLSCV` and `LapSVMCV`.

The deformed kernel G ignores the labels, so that the decisions of left-out samples follow from it without refitting
anything of size n (`specmargin.objectives.leave_one_out`). One factorisation is paid per kernel width, graph, power of
the Laplacian and ratio gamma_I / gamma_A; gamma_A, classes, balance and criteria are nearly free (LapRLS) or cost a
few problems with l unknowns each (LapSVM).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._balance import Balance
from specmargin.estimators._base import columns
from specmargin.estimators._manifold_cv import Deformed, ManifoldCV
from specmargin.estimators.laprls import LapRLS
from specmargin.estimators.lapsvm import LapSVM
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives import leave_one_out as loo
from specmargin.objectives.refitting import refitted, solution_near, squared_hinge_leave_one_out
from specmargin.objectives.relative_margin import hinge_intercept
from specmargin.typing import FloatArray

__all__ = ["LapRLSCV", "LapSVMCV"]

_WORDS = """kernel : {"rbf", "poly", "linear", "cosine", "precomputed"} or callable, default "rbf"
        Kernel of the expansion.
    gammas : sequence of float or str, default ("median",)
        Kernel parameters to try, of "rbf" and "poly". A number is gamma itself, 1 / (2 sigma^2); "median" is sigma =
        the median distance between samples, "0.5 median" half that sigma (four times that gamma), and so on; "scale"
        as in scikit-learn.
    degree, coef0 : int, float
        Parameters of the polynomial kernel.
    gamma_As : sequence of float, optional
        Ambient weights to try, > 0. By default nine from 1e-4 to 1 in units of tr(H G H) / l, G the deformed kernel
        at gamma_A = 1 and H the centring: these suit any kernel and graph, and hardly cost more than one.
    gamma_Is : sequence of float, optional
        Intrinsic weights to try with each of `gamma_As`, >= 0, instead of `ratios`; a factorisation is paid for each
        distinct gamma_I / gamma_A.
    ratios : sequence of float, default (1e2, 1e4, 1e6)
        gamma_I / gamma_A to try, >= 0; 0 is supervised learning.
    n_neighbors : sequence of int, default (5, 15)
        Neighbours of the graphs to try; more than n - 1 are n - 1. It decides, with `powers`: images want 4 to 10,
        views of one object 2, Gaussian clusters and text 15 to 50.
    kind : {"symmetric", "mutual", "mutual+mst"}, default "symmetric"
        How the neighbour relation is made symmetric.
    weight : {"binary", "heat", "cosine", "self_tuning"}, default "binary"
        Edge weights.
    metric : str, default "euclidean"
        Metric of the neighbours; "cosine" for text.
    normalized : bool, default True
        Whether the Laplacian is I - D^-1/2 W D^-1/2 or D - W.
    powers : sequence of int, default (1, 2, 4)
        Powers of the Laplacian to try."""

_MORE_WORDS = """cv : "loo", int or splitter, default "loo"
        "loo": leave one labelled sample out. A number of folds (stratified, in the order of the samples), or any
        splitter, which is shown the labelled samples only. Left-out samples stay as unlabelled ones.
    class_balance : {"zscore", "mass"} or None, default "zscore"
        How the scores of the classes are made comparable, while choosing and after it. "zscore": by their means and
        deviations over all samples, unless the label counts reject classes of equal size (chi-square, 5 %); "mass": by
        the label proportions over the masses of the classes. With two classes the threshold moves.
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.
    span, n_functions, random_state
        Fewer functions for large samples, as for `LapSVM`; the eigenvectors of a graph have no kernel width.
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    best_params_ : dict
        Words for `estimator_`.
    best_score_ : float
        The criterion with its sign changed, so that larger is better. **No estimate of accuracy**: see the notes.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarray
        ``params``, ``param_*``, ``mean_test_score``, ``rank_test_score``, and every criterion under its name.
    estimator_ : estimator
        Fitted with `best_params_` to all samples.
    classes_, transduction_, dual_coef_, intercept_, result_, gamma_, n_iter_
        Those of `estimator_`.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    The labelled samples alone choose. The minimum of a criterion over many settings is smaller than the criterion of
    a setting named in advance: `best_score_` is no estimate of the error. Keep labels aside for that.

    A sample that is the only labelled one of its class, or whose fold leaves one class to train on, does not count:
    no setting could name its class. If none counts, as with one label per class, the first candidates are taken, with
    a warning."""

_CRITERION = """criterion : {"nll", "sq", "01"<gcv>}, default "nll"
        Of the decisions of left-out samples: "nll", logistic (softmax) loss at the scale that suits them best; "sq",
        mean squared residual of f before balancing; "01", errors, ties broken by nll<gcv_text>."""


@dataclass(kw_only=True, eq=False, repr=False)
class LapRLSCV(ManifoldCV):
    """LapRLS that chooses kernel width, neighbours, power, gamma_A and gamma_I by exact leave-one-out.

    Parameters
    ----------
    <words>
    <criterion>
    <more>

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006 (LapRLS). Golub, Heath & Wahba, Generalized
    cross-validation as a method for choosing a good ridge parameter, Technometrics 1979.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.manifold_cv import LapRLSCV
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = LapRLSCV(gammas=["0.25 median", "median"], powers=[1, 2]).fit(X, y)
    >>> sorted(clf.best_params_), bool((clf.transduction_ == y_true).mean() > 0.95)
    (['gamma', 'gamma_A', 'gamma_I', 'n_neighbors', 'power'], True)
    """

    def _held_out(
        self,
        path: loo.RidgePath,
        gamma_As: FloatArray,
        folds: list[loo.Fold],
        deformed: Deformed,
        labels: Labels,
        rule: str | None,
    ) -> tuple[FloatArray, list[Balance]]:
        decisions = path.held_out(gamma_As, folds)
        if rule is None:
            return decisions, []
        solutions = [path.solution(gamma_A) for gamma_A in gamma_As]
        v, b = _stacked(solutions)
        f = deformed.decisions(v.reshape(len(v), -1), b.ravel()).reshape(-1, *v.shape[1:])
        return decisions, [Balance.of(f[:, i], labels, rule) for i in range(len(gamma_As))]

    def _estimator(self, params: Mapping[str, Any]) -> LapSVM:
        return LapRLS(**self._shared_words(), **params)


def _stacked(solutions: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Return v (l, P[, K]) and b (P[, K]) of P settings."""
    return np.stack([v for v, _ in solutions], axis=1), np.stack([b for _, b in solutions])


@dataclass(kw_only=True, eq=False, repr=False)
class LapSVMCV(ManifoldCV):
    """LapSVM that chooses kernel width, neighbours, power, gamma_A and gamma_I by exact leave-one-out.

    A left-out sample that is no support vector changes nothing; others cost a problem with l - 1 unknowns, or, with
    the squared hinge, mostly a formula. `LapRLSCV` is faster, and chooses from the same grid.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge"}, default "squared_hinge"
        Loss of the labelled samples.
    <words>
    <criterion>
    <more>

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, JMLR 2011.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.manifold_cv import LapSVMCV
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = LapSVMCV(gammas=[4.0], n_neighbors=[5, 10], powers=[1, 2]).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-6), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    loss: str = "squared_hinge"

    _criteria: ClassVar[tuple[str, ...]] = ("nll", "sq", "01")

    def _check_words(self) -> None:
        super()._check_words()
        if self.loss not in ("hinge", "squared_hinge"):
            raise InvalidInputError(
                f"loss={self.loss!r} must be 'hinge' or 'squared_hinge'; LapRLSCV takes the squared loss."
            )

    def _held_out(
        self,
        path: loo.RidgePath,
        gamma_As: FloatArray,
        folds: list[loo.Fold],
        deformed: Deformed,
        labels: Labels,
        rule: str | None,
    ) -> tuple[FloatArray, list[Balance]]:
        formula = self.loss == "squared_hinge" and isinstance(self.cv, str)
        nearby = partial(solution_near, loss=self.loss, fit_intercept=self.fit_intercept)
        decisions, maps = [], []
        for gamma_A in gamma_As:
            G, parts, solutions = path.G / gamma_A, [], []
            for binary in labels.one_vs_rest():
                full = self._solve(G, binary.sign)
                known: Any = {"full": full, "nearby": nearby}
                if formula:
                    part = squared_hinge_leave_one_out(
                        G, binary.sign, self._solve, fit_intercept=self.fit_intercept, **known
                    )
                else:
                    rule_of_b = hinge_intercept if self.loss == "hinge" and self.fit_intercept else None
                    part = refitted(G, binary.sign, folds, self._solve, intercept=rule_of_b, **known)
                parts.append(part)
                solutions.append((full[0] / gamma_A, np.asarray(full[1])))
            decisions.append(columns(parts))
            if rule is not None:
                f = deformed.decisions(*_stacked(solutions))
                maps.append(Balance.of(f[:, 0] if labels.is_binary else f, labels, rule))
        return np.stack(decisions), maps

    def _solve(self, G: FloatArray, sign: FloatArray) -> tuple[FloatArray, float]:
        """Solve the problem whose kernel is the deformed one."""
        labels = Labels(sign, np.arange(len(sign)), np.array([False, True]), len(sign))
        found = solvers.factorized(
            objectives.LapSVM(G, None, labels, loss=self.loss, gamma_A=1.0, fit_intercept=self.fit_intercept)
        )
        return np.asarray(found.variables["v"]), float(found.variables["b"])

    def _estimator(self, params: Mapping[str, Any]) -> LapSVM:
        return LapSVM(**self._shared_words(), loss=self.loss, **params)


for _cls, _gcv, _gcv_text in (
    (LapRLSCV, ', "gcv"', '; "gcv",\n        generalised cross-validation, which looks at no fold'),
    (LapSVMCV, "", ""),
):
    assert _cls.__doc__ is not None
    _criterion = _CRITERION.replace("<gcv>", _gcv).replace("<gcv_text>", _gcv_text)
    for _marker, _text in (("<words>", _WORDS), ("<criterion>", _criterion), ("<more>", _MORE_WORDS)):
        _cls.__doc__ = _cls.__doc__.replace(_marker, _text)
