"""The sections of docstrings that the S3VM estimators share, written once."""

from __future__ import annotations

from typing import TypeVar

from specmargin.estimators._docs import LAPLACIAN

__all__ = ["documented_s3vm"]

_PARAMETERS = f"""C : float, default 1.0
        Weight of the labelled losses, > 0: of their sum, beside 1/2 |w|^2, as in `sklearn.svm.SVC`.
    C_star : float, optional
        Weight of the unlabelled losses, >= 0; default C. 0 is the supervised SVM.
    balance : float, mapping or sequence, optional
        r, the mean label of the unlabelled samples: in [-1, 1], 2 p - 1 where a share p of them is of ``classes_[1]``.
        By default the mean of the known labels; give it where it is known, for the estimate from few labels is often
        the largest error. With more classes one number per class, by class value or in the order of ``classes_``: the
        mean of +1 for that class and -1 for the rest.
    kernel : {{"rbf", "linear", "poly", "cosine", "precomputed"}} or callable, default "rbf"
        "linear" works in the features as they are, sparse ones included; any other in the map of the Gram matrix.
    gamma : float, "scale" or "median", default "scale"
        Kernel parameter, 1 / (2 sigma^2) for "rbf". It has nothing to do with gamma_A and gamma_I.
    degree, coef0 : int, float
        Parameters of the polynomial kernel.
    n_landmarks : int, optional
        Work with the kernel functions at so many samples (the labelled ones and others drawn at random) instead of all:
        n x n numbers are never stored.
    rank : int, optional
        Keep so many leading components of the kernel map: faster, at little loss.
    intercept : {{"balance", "regularized", "free"}}, default "balance"
        "balance" fixes the mean decision on the unlabelled samples to r; see `specmargin.objectives.Features`.
    multi_class : {{"ovr", "ovo"}}, default "ovr"
        How more than two classes are told apart; see the notes.
    gamma_A, gamma_I : float, default 1.0 and 0.0
        With gamma_I > 0 the machine works on the kernel that a neighbour graph deforms, with the ratio
        gamma_I / gamma_A (the hybrid of S3VM and LapSVM); C keeps its meaning.
    {LAPLACIAN}
    one_flip : bool, default False
        Afterwards flip single labels and retrain until no flip lowers the objective (`specmargin.solvers.one_flip`);
        ramps with s < 0 are refused.
    tol : float, optional
        Tolerance of the solver; default its own.
    max_iter : int, optional
        Its limit of iterations; default its own. A ConvergenceWarning says where it was met.
    solver_params : dict, optional
        Passed on to the solver.
    random_state : int, Generator or None, default 0
        Draws landmarks.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y."""

_ATTRIBUTES = """classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included.
    coef_ : ndarray of shape (n_machines, n_features)
        With ``kernel="linear"``: f = X coef_' + intercept_.
    dual_coef_ : ndarray of shape (n_machines, n)
        With any other kernel: coefficients of the expansion over all samples, f = k(x, X) dual_coef_' + intercept_.
        With `n_landmarks` those of the landmarks' features.
    intercept_ : ndarray of shape (n_machines,)
    result_ : SolveResult or tuple of SolveResult
        One per machine. The certificate holds the objective; its gap is infinite, for nothing is known about the global
        optimum (`specmargin.solvers.with_bound` adds a bound). The status NUMERICAL, with a warning, says that weights
        or features were too large for double precision.
    gamma_ : float
        The kernel parameter in use.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str"""

_NOTES = """The objective is not convex: another solver finds another answer, and none claims more than a stationary
    point. Without unlabelled samples it is convex, the supervised SVM with a free intercept.

    **Several classes.** "ovr" sets each class against the rest. That the rest is no cluster costs more here than in
    supervised learning: the gap between two classes of the rest may be the widest of all. "ovo" sets each class against
    each other, where published results are far better; but a pair must not see unlabelled samples of other classes,
    whose classes are not known. Here supervised SVMs of all pairs guess them first; a pair then learns from those
    that were guessed to be of its two classes, and all is done once more with the better guesses that follow. Votes
    decide, and the decisions where they are even. ``result_`` and the coefficients are those of the pairs (0, 1),
    (0, 2), ..., (1, 2), ..., and a positive decision is for the second class.

    **Large samples.** The kernel route stores n x n numbers, and is refused before anything is computed where they do
    not fit into the memory."""

_Class = TypeVar("_Class", bound=type)


def documented_s3vm(cls: _Class) -> _Class:
    """Fill in the sections of the docstring that all S3VM estimators share."""
    assert cls.__doc__ is not None
    for marker, text in (("<parameters>", _PARAMETERS), ("<attributes>", _ATTRIBUTES), ("<notes>", _NOTES)):
        cls.__doc__ = cls.__doc__.replace(marker, text)
    return cls
