"""Kernel-target alignment as a classifier: `KTA`.

The spectrum of the graph kernel is chosen beforehand, by its alignment with the labels, and handed to a classifier with
an absolute or a relative margin. The two steps have different criteria; `STORM` has one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._base.bound import bound_in_use, within_bound
from specmargin.estimators._base.changed_model import ChangedModel
from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.semi_supervised import solved_by_cvxpy, unpacked
from specmargin.estimators._base.spectrum_classifier import Answer, FixedSpectrumClassifier
from specmargin.graphs import KNN, Laplacian
from specmargin.labels import Labels
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["KTA"]


@dataclass(kw_only=True, eq=False, repr=False)
class KTA(FixedSpectrumClassifier):
    """Kernel-target alignment: an ordered spectrum from the labels alone, then a classifier on its kernel.

    The spectrum maximises the alignment of the labelled kernel with yy' (eq. 2); an SVM (``B=inf``, the paper's KTA-S)
    or a relative margin machine (B finite, KTA-R) is then trained on it. `build_problem` is the alignment's.

    Parameters
    ----------
    C : float, default 10.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    B : float or "auto", default inf
        Bound on the labelled decisions: a relative margin; inf is the absolute margin of the SVM. Only values
        between 1 and the largest |f| of the absolute margin change anything; "auto" is the middle of that range:
        the absolute margin is solved first, r is its largest labelled |f|, and B = (1 + r) / 2, or inf (nothing to
        bound) where r <= 1.
    graph : KNN, int or callable, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    laplacian : Laplacian or int, default Laplacian()
        Which Laplacian of the graph, and its power, the short form: `specmargin.graphs.Laplacian`.
    q : int, optional
        Number of eigenvectors, at most n; by default min(200, n).
    class_weight : dict, "balanced" or None, default None
        Weights of the classes in the losses of the labelled samples, times `sample_weight` of `fit`. A dict from
        class values, whose missing classes have the weight 1; "balanced": l / (K l_k) for l_k of the l labels of K
        classes, so that all classes weigh the same.
    class_balance : {"shrunk", "zscore", "mass"}, dict or None, default "shrunk"
        How the scores of the classes are made comparable; with two classes the threshold moves. "shrunk": for two
        classes, to where the scores of the training samples are sparse and the share above fits that of the labels;
        for more classes as "zscore". "zscore": by their means and deviations over all samples, unless the label counts
        reject classes of equal size (chi-square test, 5 % level). "mass": by the label proportions over the masses of
        the classes. None: as they are. `LapSVM` has the formulas.
        A dict from each class to its share of all samples, or an interval (low, high) of it, where that is known:
        each class is compared above the threshold that leaves this share of its training decisions.
    model : callable, optional
        Change of the problem that is solved: ``specmargin.problems.models.fairness(group=0)``, or a function that gets
        the built problem, in the form whose ``expressions`` have the decisions, and returns ``built.with_(...)``; with
        more than two classes each problem of one class against the rest, ``built.positive``. CVXPY solves it then, and
        certificates are those of the changed problem (`specmargin.problems.BuiltProblem.with_`).
    solver : str, sequence of str or Solver, default "auto"
        "auto": the package's own, in numpy. Or any installed CVXPY solver ("CLARABEL"), or an order of them.
        `specmargin.solvers.Solver` holds the name with tol, the relative gap to which the answer has to be
        certified, max_iter and options.
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
    calibration_ : float
        The scale T of `predict_proba`.
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The spectrum, of sum one.
    graph_weights_ : ndarray of shape (n_graphs,) or (n_classes, n_graphs)
        Share of each graph in the trace; one where there is one graph.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    spectrum_ : Spectrum or list of Spectrum
        The eigenpairs as one object, per graph where there are several: ``graph=`` of other fits takes it.
    B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none.
    margin_result_ : SolveResult or tuple of SolveResult
        The classifier's; ``result_`` is the alignment's.

    Notes
    -----
    Weights of samples and classes are those of the classifier's loss: the alignment has none.

    Labels that no eigenvector correlates with, two twins of different classes for one, leave the alignment undefined: a
    ValueError.

    **Many fits over one graph.** Neighbours and eigenpairs ignore the labels. Compute them once and pass them on:
    ``spectrum = specmargin.spectra.laplacian_eigenpairs(W, q=200)``, then ``fit(X, y, graph=spectrum)`` of any
    estimator over a spectrum; or ``graph=other.spectrum_`` of one that is fitted. The answer is the same. The rows of X
    must be the nodes, in their order; `laplacian` must be of the kind of the spectrum, and with a smaller q the lowest
    eigenpairs are taken. The eigenpairs of L itself serve every power. By default q is min(200, n) here, too, or all
    that the spectrum has; of eigenpairs that are passed, q counts those of components without a label, too.

    New samples get the weighted mean of the scores of their nearest training samples (the Nyström extension of the
    eigenvectors to lowest order); a sample that coincides with training samples gets theirs. A component of the graph
    without a labelled sample is predicted by the intercept; a warning counts such samples. Its eigenvectors are left
    out: q, the units and the balance of classes are those of the other components.

    References
    ----------
    Zhu, Kandola, Ghahramani & Lafferty, Nonparametric transforms of graph kernels for semi-supervised learning,
    NIPS 2004. Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> kta = sm.KTA(q=20).fit(X, y)
    >>> kta.result_.certificate.sense, kta.result_.certificate.is_optimal(1e-6)
    ('maximize', True)
    """

    C: float = 10.0
    B: float | str = np.inf
    graph: Any = KNN()
    laplacian: Any = Laplacian()
    q: Any = None
    class_weight: Any = None
    class_balance: Any = "shrunk"
    model: Any = None
    solver: Any = "auto"
    random_state: Any = 0
    unlabeled: Any = -1

    _objectives: ClassVar[Any] = None  # the optimum has another spectrum

    def _solve(self, spectrum: Spectrum, labels: Labels, change: ChangedModel) -> Answer:
        solver = part_of("solver", self.solver)
        if solver.name == "auto":
            result = solvers.alignment(_alignment(spectrum, labels), **solver.arguments())
        else:
            from specmargin import problems

            result = solved_by_cvxpy(problems.kta(_alignment(spectrum, labels)), solver)
        objective = objectives.SpectrumMargin(spectrum, labels, C=self.C, delta=result.variables["delta"])
        return Answer(result, *within_bound(self.B, partial(self._under, change, objective), labels.labeled))

    def _built(self, spectrum: Spectrum, labels: Labels, change: ChangedModel) -> Any:
        from specmargin import problems

        if not change:
            return problems.kta(_alignment(spectrum, labels))
        delta = solvers.alignment(_alignment(spectrum, labels)).variables["delta"]
        objective = objectives.SpectrumMargin(spectrum, labels, C=self.C, delta=delta)
        bound = bound_in_use(self.B, partial(self._under, change, objective), labels.labeled)
        return self._changeable(objective.with_(B=bound), change)

    def _record(self, answers: list[Answer]) -> FloatArray:
        self.margin_result_ = unpacked([answer.classifier for answer in answers])
        return super()._record(answers)


def _alignment(spectrum: Spectrum, labels: Labels) -> objectives.Alignment:
    return objectives.Alignment(spectrum, replace(labels, weights=None))  # weights are those of the loss
