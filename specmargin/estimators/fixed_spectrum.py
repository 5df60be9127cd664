"""Classifiers on a spectrum that no label has touched: `SpectralKernelSVM` and `XuSpectralSVM`.

Both fix the weights of the Laplacian's eigenvectors beforehand, by a rule of `specmargin.spectra.transforms`, and train
a large (relative) margin classifier on the kernel K = n U diag(delta) U'. They are what learning the spectrum (`STORM`)
is measured against.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from specmargin.estimators._base.parameters import part_of
from specmargin.estimators._base.spectrum_classifier import FixedSpectrumClassifier
from specmargin.graphs import KNN, Laplacian
from specmargin.spectra import Spectrum, Transform
from specmargin.spectra.transforms import analytic_centre
from specmargin.typing import FloatArray

__all__ = ["SpectralKernelSVM", "XuSpectralSVM"]


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralKernelSVM(FixedSpectrumClassifier):
    """Support vector machine (or relative margin machine) on a parametric transform of the Laplacian's spectrum.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    B : float or "auto", default inf
        Bound on the labelled decisions: a relative margin; inf is the absolute margin of the SVM. Only values
        between 1 and the largest |f| of the absolute margin change anything; "auto" is the middle of that range:
        the absolute margin is solved first, r is its largest labelled |f|, and B = (1 + r) / 2, or inf (nothing to
        bound) where r <= 1.
    transformation : str, Transform or callable, default Transform()
        Rule of the weights: a name such as "diffusion" or "inverse", a `specmargin.spectra.Transform`, which has
        the parameters of the rules, or a function of the `Spectrum` that returns nonnegative weights (q,). The name
        is not ``transform``: scikit-learn takes whatever has that attribute for a transformer.
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

    Notes
    -----
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
    Smola & Kondor, Kernels and regularization on graphs, COLT 2003. Shivaswamy & Jebara, Laplacian spectrum learning,
    ECML 2010, section 2.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> field = sm.spectra.Transform("gaussian_field", sigma=0.3)
    >>> svm = sm.SpectralKernelSVM(C=10.0, transformation=field, q=20).fit(X, y)
    >>> svm.result_.problem, svm.result_.certificate.is_optimal(1e-6)
    ('SVM', True)
    """

    C: float = 1.0
    B: float | str = np.inf
    transformation: Any = Transform()
    graph: Any = KNN()
    laplacian: Any = Laplacian()
    q: Any = None
    class_weight: Any = None
    class_balance: Any = "shrunk"
    model: Any = None
    solver: Any = "auto"
    random_state: Any = 0
    unlabeled: Any = -1

    def _weights(self, spectrum: Spectrum) -> FloatArray:
        return np.asarray(part_of("transformation", self.transformation)(spectrum))


@dataclass(kw_only=True, eq=False, repr=False)
class XuSpectralSVM(FixedSpectrumClassifier):
    """Support vector machine on the spectrum of Xu et al. (2007): ordered, and independent of the labels.

    In their problem the weights delta touch neither the classifier nor the objective, so that every spectrum of
    their family is optimal: `specmargin.spectra.transforms.analytic_centre` has the argument. The family's analytic
    centre stands for whatever a solver returns.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    w : float, default 1.0
        Least ratio of consecutive weights, delta_i >= w delta_{i+1}, >= 1.
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
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The spectrum, of sum one.
    graph_weights_ : ndarray of shape (n_graphs,) or (n_classes, n_graphs)
        Share of each graph in the trace; one where there is one graph.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    spectrum_ : Spectrum or list of Spectrum
        The eigenpairs as one object, per graph where there are several: ``graph=`` of other fits takes it.

    Notes
    -----
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
    Xu, Zhu, Lyu & King, Maximum margin based semi-supervised spectral kernel learning, IJCNN 2007; the method "[9]" of
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y, other = (sm.hide_labels(y_true, per_class=3, random_state=seed) for seed in (0, 1))
    >>> a, b = (sm.XuSpectralSVM(C=10.0, q=20).fit(X, labels) for labels in (y, other))
    >>> bool((a.delta_ == b.delta_).all())
    True
    """

    C: float = 1.0
    w: float = 1.0
    graph: Any = KNN()
    laplacian: Any = Laplacian()
    q: Any = None
    class_weight: Any = None
    class_balance: Any = "shrunk"
    model: Any = None
    solver: Any = "auto"
    random_state: Any = 0
    unlabeled: Any = -1

    def _weights(self, spectrum: Spectrum) -> FloatArray:
        return analytic_centre(spectrum, self.w)
