"""Ridge regression in the span of the eigenvectors as a classifier: `SpectralRidge`, the fast baseline.

One neighbour graph, its lowest eigenvectors, one small Cholesky factorisation for all classes: seventy thousand
samples of ten classes take little longer than the search for their neighbours. What it does not do is learn the
spectrum: it is fixed beforehand, delta_j proportional to lambda_j^-power. `STORM` learns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from specmargin.checks import Rule, number
from specmargin.estimators._base.changed_model import ChangedModel
from specmargin.estimators._base.classifier import SemiSupervisedClassifier
from specmargin.estimators._base.feature_maps import opened
from specmargin.estimators._base.label_robustness import Smoother
from specmargin.estimators._base.linear_decisions import LinearDecisions
from specmargin.estimators._base.manifold import NO_NODES, KernelBlocks
from specmargin.estimators._base.parameters import or_shares, part_of
from specmargin.estimators._base.semi_supervised import own_spectrum
from specmargin.estimators._base.spectrum_classifier import eigenvectors_of, spectrum_of
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN, Laplacian
from specmargin.graphs.laplacians import INTERCEPT
from specmargin.graphs.parts import laplacian_of
from specmargin.labels import Labels
from specmargin.labels.shares import UNDECIDED, Balance, codes_of, in_force
from specmargin.objectives import spectral_ridge as ridge
from specmargin.objectives.held_out.conformal import ConformalRidge
from specmargin.objectives.held_out.label_flips import smoother
from specmargin.objectives.proved_decisions import DecisionBounds
from specmargin.results import SolveResult
from specmargin.solvers.parts import Solver
from specmargin.solvers.spectrum.spectral_ridge import (
    PENALTIES,
    USUAL_PENALTY,
    choose_penalty,
    seeded_kmeans,
    spectral_ridge,
)
from specmargin.spectra import Spectrum
from specmargin.spectra.reuse import KeptSpectrum, reused
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["SpectralRidge"]

_CLUSTER_COLUMNS = 5  # eigenvectors per class in which clusters are looked for; fewer or more were no better


def _kind(name: str, value: Any) -> Laplacian:
    part = laplacian_of(name, value)
    if part.power != 1:
        raise InvalidInputError(
            f"{name}={part!r}: the spectrum of SpectralRidge has a power of its own, any number >= 0; write "
            f"power={part.power}."
        )
    return part


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralRidge(LinearDecisions, SemiSupervisedClassifier):
    """Least squares on the labels in the span of the graph's lowest eigenvectors.

    Minimises, for all classes at once, sum_ik c_i (y_ik - f_k(x_i))^2 + penalty sum_kj v_jk^2 / delta_j over
    f = sqrt(n) U v + b with y = 1 for the own and -1 for every other class, weights c of the labels (one unless some
    are given), and delta_j proportional to lambda_j^-power: LapRLS (eq. 14 of the primal LapSVM paper) with the graph
    norm f'L^power f alone, on the smooth functions of the graph.

    Parameters
    ----------
    penalty : float or "loo", default "loo"
        Weight of the norm per unit mean kernel diagonal (delta has sum one), > 0. "loo" chooses by exact
        leave-one-out on the labelled samples (`choose_penalty` of its solver), whose losses have the labels'
        weights; unless two classes have five labels, too little is left when one is left out, and it is 0.3.
        ``result_.message`` says so then, and where the choice is the smallest or the largest that was tried.
    power : float, default 2.0
        Exponent p of the graph norm f'L^p f, >= 0: the larger, the smoother. It makes the spectrum, and need not be
        whole.
    graph : KNN, int or callable, default KNN(weight="self_tuning")
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    laplacian : Laplacian, default Laplacian()
        Which Laplacian of the graph; its own power stays 1.
    q : int, optional
        Number of eigenvectors, 2 to n; by default min(200, n).
    eigen_tol : float, default 0.001
        Accuracy of the eigenvectors of more than 2,000 samples, as ``tol`` of
        `specmargin.spectra.laplacian_eigenpairs`; predictions hardly depend on it.
    refine : {"kmeans"} or None, default None
        "kmeans" starts spherical k-means from the predicted classes, in the rows of the 5 K leading eigenvectors (K
        classes); labelled samples keep their class. For one or two labels per class and classes that are clusters.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes in the losses of the labelled samples, times `sample_weight` of `fit`. A dict from
        class values, whose missing classes have the weight 1; "balanced": l / (K l_k) for l_k of the l labels of K
        classes, so that all classes weigh the same.
    class_balance : {"shrunk", "zscore"}, dict or None, default "shrunk"
        How the scores of the classes are made comparable. "zscore" compares classes by their z-scores: each class's
        decisions over all samples less their mean, over their standard deviation. See the notes: it supposes
        classes of similar size. "shrunk", the same for several classes, is for two classes whose sizes may differ.
        A dict from each class to its share of all samples, or an interval (low, high) of it, where that is known:
        each class is compared above the threshold that leaves this share of its training decisions.
    model : callable, optional
        Change of the problem that is solved: ``specmargin.problems.models.fairness(group=0)``, or a function that gets
        the built problem, in the form whose ``expressions`` have the decisions, and returns ``built.with_(...)``; with
        more than two classes each problem of one class against the rest, ``built.positive``. CVXPY solves it then, and
        certificates are those of the changed problem (`specmargin.problems.BuiltProblem.with_`).
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    random_state : int, Generator or None, default 0
        Start of the search for eigenvectors.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included. Where decisions are equal but for rounding
        (with two classes: zero), it is the first of these classes, and a warning counts such samples.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        What classes are compared by: z-scores, decisions f where they are not balanced, or the cosines with the
        centres of the clusters (with two classes their difference; the own cosine of a labelled sample is set to 1).
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult
        Status, certificate, and the decisions f before they were balanced, of all classes.
    proved_ : ndarray of bool, of shape (n,) or (n, n_classes)
        Whether predictions are proved to be those of the optimum (`proved_decisions`); computed when it is asked for.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    balance_ : object
        Map from f to the scores that `decision_function` returns; the numbers are those of the training samples.
    calibration_ : float
        The scale T of `predict_proba`.
    penalty_ : float
        The penalty in use.
    delta_ : ndarray of shape (q,)
        The spectrum, of sum one, the same for all classes.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    spectrum_ : Spectrum
        The eigenpairs as one object: ``graph=`` of other fits takes it, as `fit` here does, see `STORM`.

    Notes
    -----
    **Balance.** With few labels the decisions of one class may all be lower than those of another, whichever sample of
    it was labelled, and the largest decision then depends on that. z-scores undo it. They suppose classes of similar
    size: a rare class has its decisions raised as much as a frequent one. Where the label counts speak against equal
    classes (chi-square test, 5 % level), decisions are therefore compared as they are. Equal numbers of labels drawn
    per class say nothing of the classes' sizes: then, if they are known to differ, take None.

    With two classes there is one decision, and "zscore" moves its threshold from 0 to its mean: right for classes of
    equal size, where 0 may put nearly all samples on one side, and wrong where one class is rare, as one digit against
    nine. "shrunk" moves it to a gap between the scores that fits the labels (`specmargin.LapSVM` has the formula).

    **New samples** get the weighted mean of the scores of their nearest training samples (the Nyström extension of the
    eigenvectors to lowest order); a sample that coincides with training samples gets theirs. A component of the graph
    without a labelled sample is predicted by the intercept; a warning counts such samples. Its eigenvectors are left
    out: nothing is learned of them, and q, units and the balance of classes are those of the other components.

    **Components with labels.** The indicator of a component is the smoothest function there is: the graph norm does not
    charge for it. If 1/0 were its weight, it would take all of the trace. Where weights stand out so far,
    `specmargin.objectives.spectral_ridge.power_spectrum` bounds them together, by 4^power times the sum of all others;
    weak edges between components change nothing of it.

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, JMLR 2011. Basu, Banerjee & Mooney,
    Semi-supervised clustering by seeding, ICML 2002.

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.spectral_ridge import SpectralRidge
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = SpectralRidge(q=20).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-12), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    penalty: float | str = "loo"
    power: float = 2.0
    graph: Any = KNN(weight="self_tuning")
    laplacian: Any = Laplacian()
    q: int | None = None
    eigen_tol: float = 1e-3
    refine: str | None = None
    class_weight: Any = None
    class_balance: Any = "shrunk"
    model: Any = None
    tol: float = 1e-6
    random_state: Any = 0
    unlabeled: Any = -1

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {
        "class_balance": or_shares("shrunk", "zscore", None),
        "laplacian": _kind,
        "power": number(least=0),
    }
    _joint: ClassVar[bool] = True
    spectrum_, eigenvectors_ = property(spectrum_of), property(eigenvectors_of)
    _takes_graph_alone: ClassVar[bool] = True
    _unreached: ClassVar[str] = INTERCEPT

    @property
    def _normalized(self) -> bool:
        return bool(part_of("laplacian", self.laplacian).normalized)

    def _graph(self, X: Matrix, graph: Any) -> SparseArray | Spectrum:
        if not isinstance(graph, Spectrum):
            return super()._graph(X, graph)
        self._place = None
        return own_spectrum(reused(graph, X.shape[0], q=self.q, normalized=self._normalized))

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | Spectrum) -> tuple[FloatArray, list[SolveResult]]:
        _, self._place = opened(part_of("graph", self.graph), self._place, X)
        objective, rule = self._objective(X, labels, graph)
        if change := ChangedModel.of(self, X):
            result = change.solved(objective, Solver(tol=self.tol))
        else:
            result = spectral_ridge(objective, tol=self.tol)
        if isinstance(self.penalty, str) and not self._labels_chose:
            untold = f"the labels could not choose the penalty: {self.penalty_:g} is taken, pass another one"
            result = replace(result, message=f"{result.message}; {untold}")
        elif self.penalty == "loo" and self.penalty_ in (PENALTIES[0], PENALTIES[-1]):
            edge = "smallest" if self.penalty_ == PENALTIES[0] else "largest"
            result = replace(
                result, message=f"{result.message}; penalty {self.penalty_:g} is the {edge} that was tried"
            )
        spectrum = objective.spectrum
        self.eigenvalues_ = spectrum.eigenvalues
        self.delta_ = np.asarray(objective.delta)
        self.intercept_ = np.atleast_1d(result.variables["b"])
        self.result_ = result
        f = np.asarray(result.variables["f"])
        if self.refine is None and not change:  # else scores are cosines, or follow from another model
            self._held_out = objective.leave_one_out()
        self.balance_ = Balance.of(spectrum.reached(f), labels, rule)
        scores = self.balance_(f)
        return (_refined(scores, spectrum, labels) if self.refine == "kmeans" else scores), [result]

    def _problem(self, X: Matrix, labels: Labels, graph: SparseArray | Spectrum) -> Any:
        from specmargin import problems

        objective, change = self._objective(X, labels, graph)[0], ChangedModel.of(self, X)
        return change(objective) if change else problems.spectral_ridge_primal(objective)

    def _objective(self, X: Matrix, labels: Labels, graph: SparseArray | Spectrum) -> tuple[ridge.SpectralRidge, Any]:
        """Return the objective, its penalty chosen, and the rule of class balance that is in force."""
        laplacian = part_of("laplacian", self.laplacian)
        self._spectra = [KeptSpectrum(graph, labels.labeled, self.q, laplacian, self.random_state, self.eigen_tol)]
        spectrum = self.spectrum_
        rule = in_force(self.class_balance, labels)
        objective = ridge.SpectralRidge(spectrum, labels, ridge.power_spectrum(spectrum, self.power))
        chosen: Any = self.penalty
        if isinstance(chosen, str):
            chosen = choose_penalty(objective, default=np.nan, standardize=rule == "zscore")
        self._labels_chose = bool(np.isfinite(chosen))
        self.penalty_ = float(chosen) if self._labels_chose else USUAL_PENALTY
        return objective.with_(penalty=self.penalty_), rule

    def _decision(self, X: Matrix) -> FloatArray:
        return self._neighbor_mean(X, self.scores_)

    def _objectives(self) -> list[ridge.SpectralRidge]:
        if self.refine is not None:
            raise InvalidInputError(
                f"refine={self.refine!r} decides by clusters, and no optimum speaks of these; take refine=None."
            )
        labels = self._remembered().labels
        return [ridge.SpectralRidge(self.spectrum_, labels, self.delta_, self.penalty_)]

    def _bounds_at(self, X: Matrix, bounds: list[DecisionBounds]) -> list[DecisionBounds]:
        mean = self._neighbor_mean
        return [DecisionBounds(mean(X, one.low), mean(X, one.high)) for one in bounds]

    def _conformal(self, X: Matrix | None, labels: Labels) -> tuple[ConformalRidge, KernelBlocks]:
        if X is not None:
            raise InvalidInputError(NO_NODES)
        blocks = self._blocks(labels)
        penalty = PENALTIES if isinstance(self.penalty, str) else self.penalty_
        return ConformalRidge(blocks.G, labels.sign, penalty), blocks

    def _blocks(self, labels: Labels) -> KernelBlocks:
        Z = self.eigenvectors_ * np.sqrt(self.spectrum_.n_reached * self.delta_)
        return KernelBlocks.of_features(Z, labels.labeled)

    def _smoother(self, X: Matrix | None) -> Smoother:
        if self.refine is not None:
            raise InvalidInputError(
                f"refine={self.refine!r} starts clusters from the predicted classes, which no linear map of the labels "
                "makes; label_robustness takes refine=None."
            )
        blocks = self._blocks(self._remembered().labels)

        def smooth(weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
            H = smoother(blocks.G, blocks.cross, self.penalty_, weights=weights)
            return H, H if X is None else self._neighbor_mean(X, H)

        return smooth


def _refined(scores: FloatArray, spectrum: Spectrum, labels: Labels) -> FloatArray:
    """Return the cosines with the centres of the clusters that start from the predicted classes."""
    binary = labels.is_binary
    start, own = codes_of(scores), labels.sign_codes
    start[labels.labeled] = own
    # Up to the end of an eigenspace: what is cut off would depend on the order of the nodes.
    ends, asked = np.append(0, spectrum.block_ends()), _CLUSTER_COLUMNS * len(labels.classes)
    leading = spectrum.eigenvectors[:, : int(ends[min(int(np.searchsorted(ends, asked - 1)), len(ends) - 1)]) + 1]
    cosines = seeded_kmeans(leading, start, labels.labeled).similarities.copy()
    # Where no direction speaks for a class, the one of the start stays ahead.
    undirected = ~leading.any(axis=1)
    cosines[undirected, start[undirected]] = 10 * UNDECIDED  # cosines that are decided by less are equal
    cosines[labels.labeled, own] = 1.0
    return cosines[:, 1] - cosines[:, 0] if binary else cosines
