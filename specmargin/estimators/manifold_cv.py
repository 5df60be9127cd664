"""LapRLS and LapSVM that choose their parameters by the labelled samples alone: `LapRLSCV` and `LapSVMCV`.

The deformed kernel G ignores the labels, so that the decisions of left-out samples follow from it without refitting
anything of size n (`specmargin.objectives.held_out.leave_one_out`). One factorisation is paid per kernel, graph,
Laplacian and ratio gamma_I / gamma_A; gamma_A, classes, balance and criteria are nearly free (LapRLS) or cost a few
problems with l unknowns each (LapSVM).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from specmargin import objectives, solvers
from specmargin.checks import Rule
from specmargin.estimators._base.class_balance import Balance, in_force
from specmargin.estimators._base.label_search import OF_DECISIONS, LabelSearch, Settings, Space, Trials
from specmargin.estimators._base.manifold_grid import CANDIDATES, SEARCHED, Deformed, ManifoldGrid
from specmargin.estimators._base.parameters import RULES
from specmargin.estimators._base.semi_supervised import columns
from specmargin.estimators.laprls import LapRLS
from specmargin.estimators.lapsvm import LapSVM
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.losses import LOSSES
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.held_out.principal_pivots import squared_hinge_leave_one_out
from specmargin.objectives.held_out.refitting import refitted, solution_near
from specmargin.objectives.intercept import hinge_intercept
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["LapRLSCV", "LapSVMCV"]

_LOGGER = logging.getLogger(__name__)


class LeftOut(NamedTuple):
    """The labels, how they are left out in turn, and the rule by which classes are balanced meanwhile."""

    labels: Labels
    folds: list[loo.Fold]
    rule: Any


@dataclass(kw_only=True, eq=False, repr=False)
class ManifoldCV(LabelSearch):
    """A search over kernels, graphs, powers and weights.

    A subclass says how its learner decides about left-out samples: ``_left_out_decisions``.
    """

    cv: Any = "loo"

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {"cv": RULES["cv"]}
    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = CANDIDATES
    _searched: ClassVar[tuple[str, ...]] = SEARCHED
    _units: ClassVar[FloatArray] = 10.0 ** np.arange(-4.0, 0.5, 0.5)

    @property
    def _instead(self) -> str:
        return f"the setting nearest to the defaults of {type(self._template).__name__} is taken"

    def _settings(
        self, space: Space, X: Matrix, labels: Labels, graph: SparseArray | None, folds: list[loo.Fold]
    ) -> Iterator[Settings]:
        grid, template = ManifoldGrid(space, self._units), self._template
        left_out = LeftOut(labels, folds, in_force(template.class_balance, labels))
        can_choose = loo.counted(labels.sign, folds).any()
        for deformed in grid.factorisations(X, labels, graph):
            path = loo.RidgePath(deformed.reduction.G, labels.sign, template.fit_intercept, labels.weights)
            gamma_As, tried = grid.tried(deformed, path)
            if can_choose:
                raw, maps = self._left_out_decisions(path, gamma_As, deformed, left_out)
            else:  # decisions that nothing looks at
                n_tested = sum(len(fold.test) for fold in folds)
                raw, maps = np.full((len(tried), n_tested, *labels.sign.shape[1:]), np.nan), []
            compared = np.stack([change(f) for change, f in zip(maps, raw, strict=True)]) if maps else raw
            criteria = {"gcv": path.gcv(gamma_As)} if "gcv" in self._criteria else {}
            ranks = None if can_choose else [grid.from_defaults(X, deformed, path, one) for one in tried]
            _LOGGER.debug("%s, ratio %g: %d settings", deformed.params, deformed.ratio, len(tried))
            yield Settings(tried, raw, compared, deformed.is_supervised, criteria, ranks)

    def _compare(
        self, X: Matrix, y: Any, labels: Labels, folds: list[loo.Fold], trials: Trials, sample_weight: Any
    ) -> None:
        """Fit the best supervised candidate, and compare what the labels say of both."""
        self.baseline_ = self._refit_supervised(trials, X, y, sample_weight)
        self.comparison_ = None
        if self.baseline_ is not None:
            without = trials.wrong_when_chosen_by_others(trials.supervised)
            self.comparison_ = self._compared(trials.wrong_when_chosen_by_others(), without)

    def _left_out_decisions(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        """Return the decisions at the tested samples, (P, m) or (P, m, K), and the balance of each setting if any."""
        raise NotImplementedError


class LapRLSCV(ManifoldCV):
    """LapRLS that chooses kernel, neighbours, power, gamma_A and gamma_I by exact leave-one-out.

    Parameters
    ----------
    estimator : LapRLS, optional
        Estimator whose parameters are chosen; it has all others, such as the marker of unlabelled samples and the
        solver of the refit. By default ``LapRLS()``.
    grid : dict, optional
        What is tried, by the names of parameters and of those inside of parts: a dict from names to lists, a full
        product. Where it does not name kernel, graph, Laplacian or gamma_I, it is {"kernel": ["linear", RBF("0.5
        median"), RBF("median")], "graph__n_neighbors": [2, 5, 15, 50], "laplacian__power": [1, 2, 4], "gamma_I":
        ["0 gamma_A", "100 gamma_A"]}, but for what the estimator sets itself; "0 gamma_A" is supervised learning,
        tried once per kernel, and of no cost. gamma_A is tried at nine values from 1e-4 to 1 in units of tr(H G H)
        / l, G the deformed kernel at gamma_A = 1 and H the centring, which suit any kernel and graph. Numbers for
        gamma_I need numbers for gamma_A; a factorisation is paid for each distinct ratio. Neighbours decide, with
        the power: images want 4 to 10, views of one object 2, Gaussian clusters and text 15 to 50; more than n - 1
        are n - 1.
    criterion : {"nll", "sq", "01", "gcv"}, default "nll"
        What is asked of the decisions at left-out samples: "nll", log-loss of the probabilities that
        `predict_proba` would make of them; "sq", mean squared residual of f before balancing; "01", errors, ties
        broken by nll; "gcv", generalised cross-validation, which looks at no fold.
    cv : "loo", int or splitter, default "loo"
        "loo": leave one labelled sample out. A number of folds (stratified, in the order of the samples), or any
        splitter, which is shown the labelled samples only. Left-out samples stay as unlabelled ones.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included. Where decisions are equal but for rounding
        (with two classes: zero), it is the first of these classes, and a warning counts such samples.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Decisions of the training samples, as `decision_function` returns those of new ones.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per class with more than two.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    balance_ : object
        Map from f to the scores that `decision_function` returns; the numbers are those of the training samples.
    best_params_ : dict
        Keyword arguments that make `estimator_` again: what was chosen, and all that its defaults do not imply.
    best_score_ : float
        The criterion with its sign changed, so that larger is better. **No estimate of accuracy**: see the notes.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarray
        ``params``, ``param_*``, ``supervised`` (whether no graph takes part), ``mean_test_score``,
        ``rank_test_score``, and every criterion under its name.
    estimator_ : estimator
        Fitted with `best_params_` to all samples; the other attributes are copied from it.
    baseline_ : estimator or None
        The supervised candidate that the same criterion chooses, fitted; `estimator_` itself where that is supervised,
        None where no ratio is 0.
    comparison_ : specmargin.estimators.comparison.Comparison or None
        The search over all candidates against that over the supervised ones, by their errors at left-out labels, each
        label judged by the settings that the other labels choose. Its ``verdict`` says in words whether the unlabelled
        samples helped.
    dual_coef_ : ndarray of shape (n_outputs, n)
        Coefficients, as of `LapSVM`.
    kernel_ : Kernel
        The kernel that was chosen.
    gamma_A_, gamma_I_ : float
        The weights that were chosen.
    laplacian_ : Laplacian
        The Laplacian that was chosen, where a graph was.

    Notes
    -----
    The labelled samples alone choose. The minimum of a criterion over many settings is smaller than the criterion of a
    setting named in advance: `best_score_` is no estimate of the error. Keep labels aside for that.

    A sample that is the only labelled one of its class, or whose fold leaves one class to train on, does not count: no
    setting could name its class. If none counts, as with one label per class, the labels cannot choose, and a warning
    says what is taken. Classes are balanced while choosing and after it.

    **Weights** of samples and classes are those of the losses, of the fits and of what chooses: criteria are means by
    them, and the supervised candidates have them, too. ``comparison_`` counts labels, whatever they weigh. To make the
    fit again, pass `sample_weight` again; `best_params_` has the `class_weight`.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006 (LapRLS). Golub, Heath & Wahba, Generalized
    cross-validation as a method for choosing a good ridge parameter, Technometrics 1979.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=6, random_state=0)
    >>> clf = sm.LapRLSCV().fit(X, y)
    >>> bool((clf.transduction_ == y_true).mean() > 0.95), clf.comparison_.verdict[:26]
    (True, 'cannot tell with 12 labels')
    >>> again = sm.LapRLS(**clf.best_params_).fit(X, y)
    >>> bool((again.scores_ == clf.scores_).all())
    True
    """

    _criteria: ClassVar[tuple[str, ...]] = (*OF_DECISIONS, "gcv")

    @classmethod
    def _usual(cls) -> LapRLS:
        return LapRLS()

    def _left_out_decisions(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        labels, folds, rule = left_out
        decisions = path.held_out(gamma_As, folds)
        if rule is None:
            return decisions, []
        solutions = [path.solution(gamma_A) for gamma_A in gamma_As]
        v, b = _stacked(solutions)
        f = deformed.decisions(v.reshape(len(v), -1), b.ravel()).reshape(-1, *v.shape[1:])
        return decisions, [Balance.of(f[:, i], labels, rule) for i in range(len(gamma_As))]


def _stacked(solutions: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """Return v (l, P[, K]) and b (P[, K]) of P settings."""
    return np.stack([v for v, _ in solutions], axis=1), np.stack([b for _, b in solutions])


class LapSVMCV(ManifoldCV):
    """LapSVM that chooses kernel, neighbours, power, gamma_A and gamma_I by exact leave-one-out.

    A left-out sample that is no support vector changes nothing; others cost a problem with l - 1 unknowns, or, with
    the squared hinge, mostly a formula. `LapRLSCV` is faster, and chooses from the same grid.

    Parameters
    ----------
    estimator : LapSVM, optional
        Estimator whose parameters are chosen; it has all others, such as the marker of unlabelled samples and the
        solver of the refit. By default ``LapSVM(loss="squared_hinge")``.
    grid : dict, optional
        What is tried, by the names of parameters and of those inside of parts: a dict from names to lists, a full
        product. Where it does not name kernel, graph, Laplacian or gamma_I, it is {"kernel": ["linear", RBF("0.5
        median"), RBF("median")], "graph__n_neighbors": [2, 5, 15, 50], "laplacian__power": [1, 2, 4], "gamma_I":
        ["0 gamma_A", "100 gamma_A"]}, but for what the estimator sets itself; "0 gamma_A" is supervised learning,
        tried once per kernel, and of no cost. gamma_A is tried at the five powers of ten from 1e-4 to 1 in units of
        tr(H G H) / l, G the deformed kernel at gamma_A = 1 and H the centring, which suit any kernel and graph.
        Numbers for gamma_I need numbers for gamma_A; a factorisation is paid for each distinct ratio. Neighbours
        decide, with the power: images want 4 to 10, views of one object 2, Gaussian clusters and text 15 to 50;
        more than n - 1 are n - 1.
    criterion : {"nll", "sq", "01"}, default "nll"
        What is asked of the decisions at left-out samples: "nll", log-loss of the probabilities that
        `predict_proba` would make of them; "sq", mean squared residual of f before balancing; "01", errors, ties
        broken by nll.
    cv : "loo", int or splitter, default "loo"
        "loo": leave one labelled sample out. A number of folds (stratified, in the order of the samples), or any
        splitter, which is shown the labelled samples only. Left-out samples stay as unlabelled ones.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included. Where decisions are equal but for rounding
        (with two classes: zero), it is the first of these classes, and a warning counts such samples.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Decisions of the training samples, as `decision_function` returns those of new ones.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per class with more than two.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    balance_ : object
        Map from f to the scores that `decision_function` returns; the numbers are those of the training samples.
    best_params_ : dict
        Keyword arguments that make `estimator_` again: what was chosen, and all that its defaults do not imply.
    best_score_ : float
        The criterion with its sign changed, so that larger is better. **No estimate of accuracy**: see the notes.
    best_index_ : int
        Its position in `cv_results_`.
    cv_results_ : dict of ndarray
        ``params``, ``param_*``, ``supervised`` (whether no graph takes part), ``mean_test_score``,
        ``rank_test_score``, and every criterion under its name.
    estimator_ : estimator
        Fitted with `best_params_` to all samples; the other attributes are copied from it.
    baseline_ : estimator or None
        The supervised candidate that the same criterion chooses, fitted; `estimator_` itself where that is supervised,
        None where no ratio is 0.
    comparison_ : specmargin.estimators.comparison.Comparison or None
        The search over all candidates against that over the supervised ones, by their errors at left-out labels, each
        label judged by the settings that the other labels choose. Its ``verdict`` says in words whether the unlabelled
        samples helped.
    dual_coef_ : ndarray of shape (n_outputs, n)
        Coefficients, as of `LapSVM`.
    kernel_ : Kernel
        The kernel that was chosen.
    gamma_A_, gamma_I_ : float
        The weights that were chosen.
    laplacian_ : Laplacian
        The Laplacian that was chosen, where a graph was.

    Notes
    -----
    The labelled samples alone choose. The minimum of a criterion over many settings is smaller than the criterion of a
    setting named in advance: `best_score_` is no estimate of the error. Keep labels aside for that.

    A sample that is the only labelled one of its class, or whose fold leaves one class to train on, does not count: no
    setting could name its class. If none counts, as with one label per class, the labels cannot choose, and a warning
    says what is taken. Classes are balanced while choosing and after it.

    **Weights** of samples and classes are those of the losses, of the fits and of what chooses: criteria are means by
    them, and the supervised candidates have them, too. ``comparison_`` counts labels, whatever they weigh. To make the
    fit again, pass `sample_weight` again; `best_params_` has the `class_weight`.

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, JMLR 2011.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = sm.LapSVMCV(grid={"kernel": [4.0], "graph": [5, 10], "laplacian__power": [1, 2]}).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-6), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    _units: ClassVar[FloatArray] = 10.0 ** np.arange(-4.0, 1.0)  # each costs l problems

    @classmethod
    def _usual(cls) -> LapSVM:
        return LapSVM(loss="squared_hinge")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        known, loss = [name for name, loss in LOSSES.items() if loss.slack_power], self._template.loss
        if loss not in known:
            names = " or ".join(map(repr, known))
            raise InvalidInputError(
                f"estimator has loss={loss!r}, and left-out samples follow for {names} only; LapRLSCV takes the "
                "squared loss."
            )

    def _left_out_decisions(
        self, path: loo.RidgePath, gamma_As: FloatArray, deformed: Deformed, left_out: LeftOut
    ) -> tuple[FloatArray, list[Balance]]:
        labels, folds, rule = left_out
        name, fit_intercept = self._template.loss, self._template.fit_intercept
        loss = LOSSES[name]
        formula = loss.smooth and isinstance(self.cv, str)
        # A loss without curvature leaves an interval of intercepts.
        rule_of_b = None if loss.curved or not fit_intercept else hinge_intercept
        nearby = partial(solution_near, loss=name, fit_intercept=fit_intercept)
        decisions, maps, own = [], [], () if labels.weights is None else (labels.weights,)
        before: dict[int, tuple[FloatArray, float]] = {}
        for gamma_A in gamma_As:
            # Rounding is all that tells constant functions apart, and would be solved for at length.
            G, parts, solutions = path.G / gamma_A if path.unit > 0 else np.zeros_like(path.G), [], []
            for k, binary in enumerate(labels.one_vs_rest()):
                near = nearby(G, binary.sign, *before[k], *own) if k in before else None
                full = before[k] = self._solve(G, binary.sign, *own) if near is None else near
                known: Any = {"full": full, "nearby": nearby, "weights": labels.weights}
                if formula:
                    part = squared_hinge_leave_one_out(
                        G, binary.sign, self._solve, fit_intercept=fit_intercept, **known
                    )
                else:
                    part = refitted(G, binary.sign, folds, self._solve, intercept=rule_of_b, **known)
                parts.append(part)
                solutions.append((full[0] / gamma_A, np.asarray(full[1])))
            decisions.append(columns(parts))
            if rule is not None:
                f = deformed.decisions(*_stacked(solutions))
                maps.append(Balance.of(f[:, 0] if labels.is_binary else f, labels, rule))
        return np.stack(decisions), maps

    def _solve(self, G: FloatArray, sign: FloatArray, weights: FloatArray | None = None) -> tuple[FloatArray, float]:
        """Solve the problem whose kernel is the deformed one."""
        labels = Labels(sign, np.arange(len(sign)), np.array([False, True]), len(sign), weights)
        own = {"loss": self._template.loss, "fit_intercept": self._template.fit_intercept}
        result = solvers.factorized(objectives.LapSVM(G, None, labels, gamma_A=1.0, **own))
        return np.asarray(result.variables["v"]), float(result.variables["b"])
