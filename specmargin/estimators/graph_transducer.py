"""The spectral graph transducer as a classifier: `SpectralGraphTransducer`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from specmargin import objectives, solvers
from specmargin.checks import warn
from specmargin.estimators._base.changed_model import ChangedModel
from specmargin.estimators._base.spectrum_classifier import Answer, GraphSpectrumClassifier
from specmargin.exceptions import EigenspaceWarning
from specmargin.graphs import KNN, Laplacian
from specmargin.labels import Labels
from specmargin.solvers.spectrum.graph_transducer import HARD_CASE
from specmargin.spectra import Spectrum
from specmargin.spectra.transforms import power

__all__ = ["SpectralGraphTransducer"]


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralGraphTransducer(GraphSpectrumClassifier):
    """Spectral graph transducer: a relaxed normalised cut that the labels steer.

    Finds values h = V w of all samples on the sphere h'h = n, smooth along the graph and near their targets where
    samples are labelled: 1/2 w'Q w + C (h - tau)'P (h - tau) with Q_ii = i^2 (eq. 1 of the spectrum paper). The
    problem is not convex, but its answer is the global optimum, and certified. Samples are classified by
    f = h - (tau+ + tau-) / 2.

    Parameters
    ----------
    C : float, default 10000.0
        Weight of the loss, > 0; 1e1 to 1e6 are in use. The loss is a mean per class, h has mean square one: this C
        is not that of a margin. The default did well on the unlabelled samples of two tasks of the paper (MNIST
        3-8, pc-mac), which makes it an optimistic choice there.
    exponent : float, default 2.0
        Exponent: Q_ii = i^exponent, >= 0; a block of equal eigenvalues shares the harmonic mean of its entries.
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

    Notes
    -----
    `delta_` is the spectrum of the kernel V Q^-1 V', `intercept_` minus the threshold.

    **Weights** of labels: a label of weight c counts as c labels of that one sample. The loss stays a mean per class,
    by weights, and l+ and l-, which make the targets tau, are sums of weights; the weight of a whole class moves the
    targets and the threshold alone. That is not what c rows instead of one do: each of them is a node, which has
    edges, and a share in h'h = n and in the eigenvectors.

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
    Joachims, Transductive learning via spectral graph partitioning, ICML 2003.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> sgt = sm.SpectralGraphTransducer(q=20).fit(X, y)
    >>> sgt.result_.certificate.is_optimal(1e-6), bool((sgt.transduction_ == y_true).mean() > 0.9)
    (True, True)
    """

    C: float = 10000.0
    exponent: float = 2.0
    graph: Any = KNN()
    laplacian: Any = Laplacian()
    q: Any = None
    class_weight: Any = None
    class_balance: Any = "shrunk"
    tol: float = 1e-6
    random_state: Any = 0
    unlabeled: Any = -1

    def _solve(self, spectrum: Spectrum, labels: Labels, change: ChangedModel) -> Answer:
        delta = power(spectrum, self.exponent)
        # The sum of all i^-exponent undoes the scaling of delta to sum one: Q is literally i^exponent.
        total = (np.arange(1.0, spectrum.q) ** -self.exponent).sum()
        objective = objectives.SpectralGraphTransducer(spectrum, labels, C=self.C, Q=1.0 / (total * delta[1:]))
        result = solvers.graph_transducer(objective, tol=self.tol)
        if result.message.startswith(HARD_CASE):
            warn(
                f"SpectralGraphTransducer: the labels leave a direction open in an eigenspace of the problem "
                f"({result.message}); the optimum is not the only one, and which is returned depends on the order of "
                "the nodes. Label more nodes, or take SpectralRidge or STOAM, whose answers are unique.",
                EigenspaceWarning,
            )
        variables = {**result.variables, "delta": delta, "b": np.asarray(-objective.threshold)}
        result = replace(result, variables=variables)
        return Answer(result, result)
