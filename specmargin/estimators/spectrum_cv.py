"""STORM and KTA that choose their parameters by the labelled samples alone: `STORMCV` and `KTACV`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._base.spectrum_grid import SpectrumCV
from specmargin.estimators.alignment import KTA
from specmargin.estimators.spectrum_margin import STORM
from specmargin.labels import Labels
from specmargin.objectives import SpectrumMargin
from specmargin.spectra import Spectrum

__all__ = ["KTACV", "STORMCV"]


class STORMCV(SpectrumCV):
    """STORM that chooses neighbours, number of eigenvectors, B and C by the labelled samples alone.

    Left-out labels are decided about by a spectrum and a classifier that have not seen them, over eigenpairs that are
    computed once per graph. With B = inf in the grid STOAM is a candidate.

    Parameters
    ----------
    estimator : STORM, optional
        Estimator whose parameters are chosen; it has all others, such as the marker of unlabelled samples and the
        solver of the refit. By default ``STORM()``.
    grid : dict, optional
        What is tried, by the names of parameters and of those inside of parts: a dict from names to lists, a full
        product. By default {"graph__n_neighbors": [10, 20, 5], "q": [200], "B": [1.5, inf], "C": [1.0, 10.0, 0.1,
        100.0]}, but for what the estimator sets itself. More neighbours than n - 1 are n - 1, more eigenvectors
        than there are samples as many. Of settings that are equally good, and where the labels cannot choose, the
        first is taken.
    criterion : {"nll", "sq", "01"}, default "nll"
        What is asked of the decisions at left-out samples: "nll", log-loss of the probabilities that
        `predict_proba` would make of them; "sq", mean squared residual of f before balancing; "01", errors, ties
        broken by nll.
    cv : "auto", "loo", int or splitter, default "auto"
        "auto": leave one labelled sample out up to 10 labels, beyond that 10 folds. "loo": leave one out, whatever
        it takes. A number of folds (those of `LabeledKFold`, in the order of the samples), or any splitter, which
        is shown the labelled samples only. Left-out samples stay as unlabelled ones.

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
    baseline_ : RMM
        The supervised twin: an SVM on the features of the labelled samples, fitted. Kernel (linear, or RBF with half
        the median distance for sigma, with it, and with twice it) and C (per unit mean diagonal of the centred kernel)
        are chosen by the same folds and criterion.
    baseline_score_ : float
        Its criterion with the sign changed, as `best_score_`.
    comparison_ : specmargin.estimators.comparison.Comparison
        The search against its twin, by their errors at left-out labels, each label judged by the settings that the
        other labels choose: exact McNemar test, and a ``verdict`` in words.
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The spectrum, of sum one.
    B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none.
    graph_weights_ : ndarray of shape (1,) or (n_classes, 1)
        Ones: there is one graph.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    spectrum_ : Spectrum
        The eigenpairs as one object.

    Notes
    -----
    **Honest folds.** Every fold learns the spectrum and the classifier anew, without the left-out labels. ``graph=`` of
    `fit` takes an adjacency, or the eigenpairs of one graph, as that of `STORM` does.

    **Is it worth it?** The twin knows the labelled samples alone. `comparison_` counts at which left-out labels each of
    the two errs; its verdict is "too few labels to judge" below ten.

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
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=5, random_state=0)
    >>> clf = sm.STORMCV(grid={"q": [10, 20], "graph": [5]}).fit(X, y)
    >>> sorted(clf.best_params_), bool((clf.transduction_ == y_true).mean() > 0.9)
    (['B', 'C', 'graph', 'q'], True)
    >>> again = sm.STORM(**clf.best_params_).fit(X, y)
    >>> bool(abs(again.scores_ - clf.scores_).max() < 1e-6), clf.comparison_.verdict[:6]
    (True, 'cannot')
    """

    @classmethod
    def _usual(cls) -> STORM:
        return STORM()

    def _problem_of(self, spectrum: Spectrum, labels: Labels) -> SpectrumMargin:
        return SpectrumMargin(spectrum, labels, eps=self._template.eps)


class KTACV(SpectrumCV):
    """KTA that chooses neighbours, number of eigenvectors, B and C by the labelled samples alone.

    The alignment sees no label that a fold leaves out: a spectrum aligned with all labels would know what it is asked
    for. It depends on neither C nor B, which therefore cost little, nor on weights, which are those of the classifier.

    Parameters
    ----------
    estimator : KTA, optional
        Estimator whose parameters are chosen; it has all others, such as the marker of unlabelled samples and the
        solver of the refit. By default ``KTA()``.
    grid : dict, optional
        What is tried, by the names of parameters and of those inside of parts: a dict from names to lists, a full
        product. By default {"graph__n_neighbors": [10, 20, 5], "q": [200], "B": [inf], "C": [1.0, 10.0, 0.1,
        100.0]}, but for what the estimator sets itself. More neighbours than n - 1 are n - 1, more eigenvectors
        than there are samples as many. Of settings that are equally good, and where the labels cannot choose, the
        first is taken.
    criterion : {"nll", "sq", "01"}, default "nll"
        What is asked of the decisions at left-out samples: "nll", log-loss of the probabilities that
        `predict_proba` would make of them; "sq", mean squared residual of f before balancing; "01", errors, ties
        broken by nll.
    cv : "auto", "loo", int or splitter, default "auto"
        "auto": leave one labelled sample out up to 10 labels, beyond that 10 folds. "loo": leave one out, whatever
        it takes. A number of folds (those of `LabeledKFold`, in the order of the samples), or any splitter, which
        is shown the labelled samples only. Left-out samples stay as unlabelled ones.

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
    baseline_ : RMM
        The supervised twin: an SVM on the features of the labelled samples, fitted. Kernel (linear, or RBF with half
        the median distance for sigma, with it, and with twice it) and C (per unit mean diagonal of the centred kernel)
        are chosen by the same folds and criterion.
    baseline_score_ : float
        Its criterion with the sign changed, as `best_score_`.
    comparison_ : specmargin.estimators.comparison.Comparison
        The search against its twin, by their errors at left-out labels, each label judged by the settings that the
        other labels choose: exact McNemar test, and a ``verdict`` in words.
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The spectrum, of sum one.
    B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none.
    graph_weights_ : ndarray of shape (1,) or (n_classes, 1)
        Ones: there is one graph.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    spectrum_ : Spectrum
        The eigenpairs as one object.
    margin_result_ : SolveResult or tuple of SolveResult
        The classifier's; ``result_`` is the alignment's.

    Notes
    -----
    **Honest folds.** Every fold learns the spectrum and the classifier anew, without the left-out labels. ``graph=`` of
    `fit` takes an adjacency, or the eigenpairs of one graph, as that of `STORM` does.

    **Is it worth it?** The twin knows the labelled samples alone. `comparison_` counts at which left-out labels each of
    the two errs; its verdict is "too few labels to judge" below ten.

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
    Zhu, Kandola, Ghahramani & Lafferty, Nonparametric transforms of graph kernels for semi-supervised learning,
    NIPS 2004. Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=5, random_state=0)
    >>> clf = sm.KTACV(grid={"q": [10, 20], "graph": [5]}).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-6), bool((clf.transduction_ == y_true).mean() > 0.9)
    (True, True)
    """

    _candidates: ClassVar[Mapping[str, Sequence[Any]]] = {**SpectrumCV._candidates, "B": (np.inf,)}

    @classmethod
    def _usual(cls) -> KTA:
        return KTA()

    def _problem_of(self, spectrum: Spectrum, labels: Labels) -> SpectrumMargin:
        aligned = solvers.alignment(objectives.Alignment(spectrum, replace(labels, weights=None)), tol=1e-6)
        return SpectrumMargin(spectrum, labels, delta=aligned.variables["delta"])
