"""Laplacian regularised least squares: `LapRLS`, LapSVM with the squared loss.

One linear system for all classes where the support vector machine has a problem per class. ``gamma_I=0`` is
regularised least-squares classification (kernel ridge regression on the labels). `LapRLSCV` chooses the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from specmargin.estimators._docs import documented
from specmargin.estimators.lapsvm import LapSVM

__all__ = ["LapRLS"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LapRLS(LapSVM):
    """Laplacian regularised least squares.

    Minimises, per class against the rest, sum_i (y_i - f_i)^2 + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha
    (eq. 14 of the primal paper) over f(x) = sum_j alpha_j k(x_j, x) + b. The sums are not means: gammas of tables that
    divide by l and (l+u)^2 convert by gamma_A = l gamma_A', gamma_I = l gamma_I' / (l+u)^2.

    Parameters
    ----------
    <kernel>
    gamma_A : float, default 0.01
        Weight of the ambient norm, > 0.
    gamma_I : float, default 1.0
        Weight of the intrinsic norm, >= 0; 0 is supervised and builds no graph.
    <laplacian>
    fit_intercept : bool, default True
        Whether f has an unpenalised intercept.
    <class_balance>
    span, n_functions, random_state
        Fewer functions for large samples, as for `LapSVM`.
    solver, solver_params : str or sequence of str, dict
        As for `LapSVM`.
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included.
    dual_coef_ : ndarray of shape (n_outputs, n)
        Expansion coefficients alpha; one row with two classes.
    intercept_ : ndarray of shape (n_outputs,)
    balance_ : object
        The map from f to the scores that `decision_function` returns; the numbers are those of the training samples.
    result_ : SolveResult or tuple of SolveResult
        Status, certificate, and the decisions f before they were balanced, per class with more than two.
    gamma_ : float
        The kernel parameter in use.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006. Melacci & Belkin, Laplacian support vector
    machines trained in the primal, JMLR 2011. Zhu, Ghahramani & Lafferty, Semi-supervised learning using Gaussian
    fields and harmonic functions, ICML 2003 (class mass normalisation).

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.laprls import LapRLS
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = LapRLS(gamma=4.0, gamma_A=1e-2, gamma_I=1.0, n_neighbors=5).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-9), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    loss: str = field(init=False, default="squared")
