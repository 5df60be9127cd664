"""The sections of docstrings that several estimators share, written once."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["LAPLACIAN", "documented"]

_GRAPH_PARAMETERS = """q : int, optional
        Number of eigenvectors per graph, at most n; default min(200, n).
    n_neighbors : int, default 5
        Neighbours of the graph.
    kind : {"symmetric", "mutual", "mutual+mst"}, default "symmetric"
        How the neighbour relation is made symmetric. The mutual graph of the paper falls apart on real data.
    weight : {"binary", "heat", "cosine"}, default "binary"
        Edge weights.
    metric : str, default "euclidean"
        Metric of the neighbours; "cosine" for text.
    normalized : bool, default False
        Whether the Laplacian is I - D^-1/2 W D^-1/2 or D - W.
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y."""

_SOLVER_PARAMETERS = """solver : str or sequence of str, default "auto"
        "auto": the package's own, in numpy. Or any installed CVXPY solver ("CLARABEL"), or an order of them.
    solver_params : dict, optional
        Passed on to the solver."""

_BOUND = """Bound on the labelled decisions. Only values between 1 and the largest |f| of the absolute margin change
        anything; "auto" is the middle of that range: the absolute margin is solved first, r is its largest labelled
        |f|, and B = (1 + r) / 2, or inf (nothing to bound) where r <= 1"""

_MARGIN = f"""C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    margin : {{"absolute", "relative"}}, default "absolute"
        SVM or relative margin machine.
    B : float or "auto", default 1.5
        {_BOUND}; with ``margin="relative"``."""

_ATTRIBUTES = """classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Their decisions f.
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The spectrum, of sum one.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per class with more than two.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str"""

_BOUND_ATTRIBUTE = """B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none."""

_NOTES = """New samples get the weighted mean of the scores of their nearest training samples (the Nyström extension of
    the eigenvectors to lowest order); a sample that coincides with training samples gets theirs. A component of the
    graph without a labelled sample is predicted by the intercept; a warning counts such samples."""

_SEVERAL = """**Several graphs** are learned over in one joint problem: pass ``graph=[W1, W2]``, or lists, one entry per
    graph, for any of `n_neighbors`, `kind`, `weight` and `metric`, e.g. ``metric=["euclidean", "cosine"]``. Their
    eigenvectors stand side by side, each graph under its own order: graph g has the entries g q to (g + 1) q of
    `delta_` and `eigenvalues_`, and columns of `eigenvectors_`; `graph_weights_`, of shape (n_graphs,) or
    (n_classes, n_graphs), holds its share of the trace. New samples find neighbours graph by graph."""

_KERNEL = """kernel : {"rbf", "poly", "linear", "cosine", "precomputed"} or callable, default "rbf"
        Kernel of the expansion.
    gamma : float, "scale" or "median", default "scale"
        Kernel parameter, 1 / (2 sigma^2) for "rbf". It has nothing to do with gamma_A and gamma_I.
    degree, coef0 : int, float
        Parameters of the polynomial kernel."""

LAPLACIAN = """n_neighbors : int, default 6
        Neighbours of the graph.
    kind : {"symmetric", "mutual", "mutual+mst"}, default "symmetric"
        How the neighbour relation is made symmetric.
    weight : {"binary", "heat", "cosine", "self_tuning"}, default "binary"
        Edge weights.
    metric : str, default "euclidean"
        Metric of the neighbours.
    normalized : bool, default True
        Whether the Laplacian is I - D^-1/2 W D^-1/2 or D - W.
    power : int, default 1
        The graph norm is that of L^power."""

_CLASS_BALANCE = """class_balance : {"zscore", "mass"} or None, default None
        How the scores of the classes are made comparable. "zscore": by their means and deviations over all samples,
        unless the label counts reject classes of equal size; "mass": by the label proportions over the masses of the
        classes. With two classes the threshold moves."""

_SECTIONS = {
    "<graph>": _GRAPH_PARAMETERS,
    "<solver>": _SOLVER_PARAMETERS,
    "<bound>": _BOUND,
    "<margin>": _MARGIN,
    "<attributes>": _ATTRIBUTES,
    "<bound_>": _BOUND_ATTRIBUTE,
    "<notes>": _NOTES,
    "<several>": _SEVERAL,
    "<kernel>": _KERNEL,
    "<laplacian>": LAPLACIAN,
    "<class_balance>": _CLASS_BALANCE,
}

_Class = TypeVar("_Class", bound=type)


def documented(cls: _Class) -> _Class:
    """Fill in the sections that the docstring of a class names."""
    assert cls.__doc__ is not None
    for marker, text in _SECTIONS.items():
        cls.__doc__ = cls.__doc__.replace(marker, text)
    return cls
