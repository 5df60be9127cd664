r"""Models to copy: each is a function of its options that returns a change, from a built problem to the changed one.

A `Change` is made by `BuiltProblem.with_` alone, is pickled and saved, and is what the parameter `model` of estimators
takes. Changes follow one another: ``smooth(1.0)(band_limited(10)(built))``. f are the decisions of all
samples and delta is the spectrum, which the primal forms have; the first weight of a graph, that of the constant
function, has no place in its order. Where a tolerance is zero the constraint is an equality, whose multipliers have a
sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import cvxpy as cp
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from specmargin.arrays import vector
from specmargin.changes import change
from specmargin.checks import count, foreign, instance, number, shown, whole
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.adjacency import check_adjacency
from specmargin.objectives import LapSVM
from specmargin.problems.base import BuiltProblem
from specmargin.typing import BoolArray

__all__ = [
    "band_limited",
    "grouped",
    "smooth",
    "convex",
    "fairness",
    "links",
    "class_shares",
    "robust_margins",
    "insensitive_smoothness",
    "graph_budget",
]

_ZERO_OR_MORE = number(least=0)
_LABEL = instance(str, "pass a text")


@change(q=count(1))
def band_limited(built: BuiltProblem, q: int) -> BuiltProblem:
    r"""Confine a spectrum to the q lowest eigenvalues of each graph: sum_{j > q} delta_j = 0, the constraint ``band``.

    The multiplier of ``band`` is at least what a small share of the trace above q is worth.

    Parameters
    ----------
    q : int
        Number of eigenvectors of each graph that may have a weight, fewer than there are.

    Returns
    -------
    Change
        Change of a primal form over a spectrum.

    Raises
    ------
    ValueError
        If there is no spectrum, or no eigenvector above q.

    References
    ----------
    Belkin & Niyogi, Semi-supervised learning on Riemannian manifolds, Machine Learning 56, 2004.

    Examples
    --------
    >>> import specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> obj = sm.objectives.SpectrumMargin(
    ...     sm.spectra.laplacian_eigenpairs(W, q=6), sm.encode_labels([0, 0] + [-1] * 8 + [1, 1]))
    >>> built = sm.problems.stoam(obj, "primal")
    >>> abs(sm.solve(sm.problems.models.band_limited(3)(built)).variables["delta"][3:]).max() < 1e-6
    np.True_
    """
    above = [delta[q:] for delta in _spectra(built) if delta.size > q]
    if not above:
        raise InvalidInputError(f"q={q}: no graph has as many eigenvectors and more; take a smaller q.")
    return built.with_(constraints={"band": cp.sum(cp.hstack(above)) <= 0})


@change()
def grouped(built: BuiltProblem, groups: npt.ArrayLike) -> BuiltProblem:
    r"""Give the eigenvectors of a group one weight: delta_j = delta_k for j, k in one group, the constraint ``groups``.

    A spectrum with as many steps as there are groups: fewer weights to learn from few labels.

    Parameters
    ----------
    groups : array of int of shape (q,)
        Number of the group of each weight, of several graphs one after the other, as in ``np.arange(20) // 5``.

    Returns
    -------
    Change
        Change of a primal form over a spectrum.

    Raises
    ------
    ValueError
        If there is no spectrum, another number of weights, or no group of two.

    Examples
    --------
    >>> import specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> obj = sm.objectives.SpectrumMargin(
    ...     sm.spectra.laplacian_eigenpairs(W, q=6), sm.encode_labels([0, 0] + [-1] * 8 + [1, 1]))
    >>> built = sm.problems.stoam(obj, "primal")
    >>> sm.solve(sm.problems.models.grouped([0, 1, 1, 1, 2, 2])(built)).variables["delta"].round(3).tolist()
    [0.0, 0.333, 0.333, 0.333, 0.0, 0.0]
    """
    delta, of = cp.hstack(_spectra(built)), vector("groups", groups, "the number of the group of each weight")
    order = np.argsort(of, kind="stable")
    if len(of) != delta.size or len(np.unique(of)) == len(of):
        raise InvalidInputError(
            f"groups={shown(groups)} must name the groups of {delta.size} weights, one of them of two."
        )
    alike = np.flatnonzero(np.diff(of[order]) == 0)
    return built.with_(constraints={"groups": delta[order[alike]] == delta[order[alike + 1]]})


@change(weight=_ZERO_OR_MORE)
def smooth(built: BuiltProblem, weight: float) -> BuiltProblem:
    r"""Smooth a spectrum by the term ``smooth``, the weight times sum_j (delta_{j+1} - 2 delta_j + delta_{j-1})^2.

    Parameters
    ----------
    weight : float
        Weight of the sum over all graphs, >= 0, in units of the objective; delta has the sum one.

    Returns
    -------
    Change
        Change of a primal form over a spectrum.

    Raises
    ------
    ValueError
        If there is no spectrum, or the weight is negative.

    References
    ----------
    Whittaker, On a new method of graduation, Proceedings of the Edinburgh Mathematical Society 41, 1923.

    Examples
    --------
    >>> import specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> obj = sm.objectives.SpectrumMargin(
    ...     sm.spectra.laplacian_eigenpairs(W, q=6), sm.encode_labels([0, 1] + [-1] * 8 + [0, 1]))
    >>> built = sm.problems.stoam(obj, "primal")
    >>> delta = sm.solve(sm.problems.models.smooth(1e2)(built)).variables["delta"]
    >>> bool(abs(np.diff(delta[1:], 2)).max() < 1e-2)
    True
    """
    return built.with_(terms={"smooth": weight * cp.sum_squares(cp.hstack(_second_differences(built)))})


@change()
def convex(built: BuiltProblem) -> BuiltProblem:
    r"""Let a spectrum decrease ever more slowly: delta_{j+1} - 2 delta_j + delta_{j-1} >= 0, the constraint ``convex``.

    (1 + lambda)^-p and exp(-t lambda) of evenly spaced lambda are such spectra. The last difference is not positive,
    thus no other one is: the constraint is an order, too.

    Returns
    -------
    Change
        Change of a primal form over a spectrum, ordered or not.

    Raises
    ------
    ValueError
        If there is no spectrum.

    References
    ----------
    Zhu, Kandola, Ghahramani & Lafferty, Nonparametric transforms of graph kernels for semi-supervised learning, NIPS
    2004, for the order.

    Examples
    --------
    >>> import specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> obj = sm.objectives.SpectrumMargin(
    ...     sm.spectra.laplacian_eigenpairs(W, q=6), sm.encode_labels([0, 1] + [-1] * 8 + [0, 1]))
    >>> built = sm.problems.stoam(obj, "primal")
    >>> delta = sm.solve(sm.problems.models.convex()(built)).variables["delta"]
    >>> bool((np.diff(delta[1:], 2) > -1e-6).all())
    True
    """
    last = [delta[-2:-1] - delta[-1:] for delta in _spectra(built) if delta.size > 2]
    return built.with_(constraints={"convex": cp.hstack([*_second_differences(built), *last]) >= 0})


@change(at_most=_ZERO_OR_MORE, label=_LABEL)
def fairness(built: BuiltProblem, group: Any, at_most: float = 0.0, *, label: str = "fairness") -> BuiltProblem:
    r"""Bound the difference of the mean decisions of a group S and of the others: |mean_S f - mean_rest f| <= d.

    Parameters
    ----------
    group : bool array of shape (n,), or int
        Members of the group; or the column of the features of an estimator that is 1 for them and 0 for the others.
    at_most : float, default 0
        d >= 0, in units of the decisions; the margin is 1.
    label : str, default "fairness"
        Name of the constraint; a second group takes another.

    Returns
    -------
    Change
        Change of a form with decisions of all samples.

    Raises
    ------
    ValueError
        If there are no decisions, a group is empty, or the column does not hold zeros and ones.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez & Gummadi, Fairness constraints: mechanisms for fair classification, AISTATS 2017:
    the covariance there is p (1 - p) times this difference, p the share of the group.

    Examples
    --------
    >>> import specmargin as sm
    >>> obj = sm.objectives.LapSVM(np.eye(4), None, sm.encode_labels([0, 0, 1, 1]), gamma_A=0.1)
    >>> built = sm.problems.models.fairness(np.array([True, False, True, True]), 0.5)(sm.problems.lapsvm_primal(obj))
    >>> f = sm.solve(built).variables["f"]
    >>> round(float(f[[0, 2, 3]].mean() - f[1]), 4)
    0.5
    """
    f, members = _decisions(built), _members(built, group)
    difference = (members / members.sum() - ~members / (~members).sum()) @ f
    return built.with_(constraints={label: _at_most(difference, at_most)})


@change(within=_ZERO_OR_MORE)
def links(
    built: BuiltProblem,
    must: Sequence[tuple[int, int]] = (),
    cannot: Sequence[tuple[int, int]] = (),
    within: float = 0.0,
) -> BuiltProblem:
    r"""Link pairs of samples: |f_i - f_j| <= d, the constraint ``must``; |f_i + f_j| <= d, the constraint ``cannot``.

    That two samples are of different classes, f_i f_j < 0, is not convex. Opposite decisions of one size are: they ask
    for more, and yet two samples on the boundary, f_i = f_j = 0, satisfy them.

    Parameters
    ----------
    must, cannot : sequences of pairs of int, default ()
        Pairs of samples of one class, and of different classes.
    within : float, default 0
        d >= 0, in units of the decisions; the margin is 1.

    Returns
    -------
    Change
        Change of a form with decisions of all samples.

    Raises
    ------
    ValueError
        If there are no decisions, no pairs, or a pair is none of two samples.

    References
    ----------
    Wagstaff, Cardie, Rogers & Schroedl, Constrained k-means clustering with background knowledge, ICML 2001.

    Examples
    --------
    >>> import specmargin as sm
    >>> obj = sm.objectives.LapSVM(np.eye(4), None, sm.encode_labels([0, 1, -1, -1]), gamma_A=0.1)
    >>> built = sm.problems.models.links(must=[(1, 2)], cannot=[(1, 3)])(sm.problems.lapsvm_primal(obj))
    >>> sm.solve(built).variables["f"].round(3).tolist()
    [-1.0, 1.0, 1.0, -1.0]
    """
    f, pairs = _decisions(built), {"must": (must, -1.0), "cannot": (cannot, 1.0)}
    rows = {label: _pairs(label, given, sign, f.shape[0]) for label, (given, sign) in pairs.items()}
    added = {label: _at_most(D @ f, within) for label, D in rows.items() if D.shape[0]}
    if not added:
        raise InvalidInputError("must and cannot are both empty; give pairs of samples, as in must=[(0, 5)].")
    return built.with_(constraints=added)


@change(within=_ZERO_OR_MORE)
def class_shares(
    built: BuiltProblem, positive: float | tuple[float, float] | Mapping[Any, Any], within: float = 0.0
) -> BuiltProblem:
    r"""Hold the mean decision at that of known shares of classes: |mean f - (2 p - 1)| <= d, the constraint ``shares``.

    Were all decisions -1 or 1, p would be the share of the positive ones.

    Parameters
    ----------
    positive : float, pair of float, or mapping
        Share p of the positive class in all samples; or the ends of an interval, and d is added on both sides. An
        estimator of several classes solves a problem for each, and takes a mapping that has these for each by name.
    within : float, default 0
        d >= 0, in units of the decisions.

    Returns
    -------
    Change
        Change of a form with decisions of all samples, of two classes.

    Raises
    ------
    ValueError
        If there are no decisions, or of more classes than two without a share for each, or a share is not between 0
        and 1.

    References
    ----------
    Chapelle & Zien, Semi-supervised classification by low density separation, AISTATS 2005, and for shares of predicted
    labels Joachims, Transductive inference for text classification using support vector machines, ICML 1999.

    Examples
    --------
    >>> import specmargin as sm
    >>> obj = sm.objectives.LapSVM(np.eye(4), None, sm.encode_labels([0, 1, -1, -1]), gamma_A=0.1)
    >>> built = sm.problems.models.class_shares(positive=0.6)(sm.problems.lapsvm_primal(obj))
    >>> round(float(sm.solve(built).variables["f"].mean()), 4)
    0.2
    """
    f, share = _decisions(built), number(least=0, most=1)
    if isinstance(positive, Mapping) and built.positive in positive:
        positive = positive[built.positive]
    elif isinstance(positive, Mapping) or built.n_classes > 2:
        raise InvalidInputError(
            f"positive={shown(positive)} says nothing of the class {built.positive!r} alone, one of {built.n_classes}; "
            f"pass a share for each, {{{built.positive!r}: 0.3, ...}}."
        )
    pair = positive if isinstance(positive, tuple | list) and len(positive) == 2 else (positive, positive)
    low, high = (share("positive", end) for end in pair)
    if f.ndim != 1 or low > high:
        raise InvalidInputError(f"positive={shown(positive)} must be a share of two classes, or a pair (low, high).")
    mean = cp.sum(f) / f.size
    return built.with_(constraints={"shares": _at_most(mean - (low + high - 1), high - low + within)})


@change(radius=_ZERO_OR_MORE)
def robust_margins(built: BuiltProblem, radius: float) -> BuiltProblem:
    r"""Take the worst margins that samples within a radius have: t_i <= y_i f_i - radius |w|, in place of ``margin``.

    They are the least y (w'(x + e) + b) over |e| <= radius. Of LapSVM, w'w = alpha'K alpha and e moves a sample in the
    space of the kernel; over a spectrum w is v, and e moves the entries of sqrt(n) u. No other constraint or term sees
    e.

    Parameters
    ----------
    radius : float
        Radius >= 0, in units of the features of w.

    Returns
    -------
    Change
        Change of a primal form with a constraint ``margin`` and a loss that never rises with the margin.

    Raises
    ------
    ValueError
        If there is no such constraint, or the loss rises with the margin, as the squared one does.

    References
    ----------
    Shivaswamy, Bhattacharyya & Smola, Second order cone programming approaches for handling missing and uncertain data,
    JMLR 7, 2006. Xu, Caramanis & Mannor, Robustness and regularization of support vector machines, JMLR 10, 2009.

    Examples
    --------
    >>> import specmargin as sm
    >>> obj = sm.objectives.LapSVM(np.eye(2), None, sm.encode_labels([0, 1]), gamma_A=0.01)
    >>> built = sm.problems.models.robust_margins(radius=0.2)(sm.problems.lapsvm_primal(obj))
    >>> sm.solve(built).variables["f"].round(3).tolist()
    [-1.394, 1.394]
    """
    margin: Any = built.constraints.get("margin")
    w = built.variables.get("w", built.variables.get("v"))
    equal = isinstance(built.objective, LapSVM) and built.objective.margin_loss.nonincreasing
    if w is None or not (equal or isinstance(margin, cp.constraints.Inequality)):
        raise InvalidInputError(
            f"built is {built.name}, without a 'margin' of a loss that never rises; take the hinge."
        )
    slack = margin.expr if equal else -margin.expr
    norm = cp.norm(w) if w.ndim == 1 else np.ones((slack.shape[0], 1)) @ cp.norm(w, axis=0, keepdims=True)
    return built.with_(constraints={"margin": slack >= radius * norm}, without=("margin",))


@change(eps=_ZERO_OR_MORE, weight=_ZERO_OR_MORE, label=_LABEL)
def insensitive_smoothness(
    built: BuiltProblem, W: Any, eps: float, weight: float, *, label: str = "insensitive"
) -> BuiltProblem:
    r"""Penalise differences along the edges of a graph beyond eps: weight sum_{i < j} W_ij max(0, |f_i - f_j| - eps).

    The term is linear in a jump where the penalty of the Laplacian is quadratic: decisions may jump at few edges.

    Parameters
    ----------
    W : sparse matrix or array of shape (n, n)
        Symmetric weights of the edges.
    eps : float
        Difference that costs nothing, >= 0, in units of the decisions.
    weight : float
        Weight of the sum, >= 0, in units of the objective.
    label : str, default "insensitive"
        Name of the term; that of a second graph takes another.

    Returns
    -------
    Change
        Change of a form with decisions of all samples.

    Raises
    ------
    ValueError
        If there are no decisions, W is no graph of n samples, or has no edge.

    References
    ----------
    Hallac, Leskovec & Boyd, Network lasso, KDD 2015, where eps is 0; Vapnik's loss of regression in place of its norm.

    Examples
    --------
    >>> import specmargin as sm
    >>> obj = sm.objectives.LapSVM(np.eye(3), None, sm.encode_labels([0, 1, -1]), gamma_A=0.1)
    >>> path = np.array([[0.0, 0, 1], [0, 0, 1], [1, 1, 0]])
    >>> built = sm.problems.models.insensitive_smoothness(path, eps=0.5, weight=1.0)(sm.problems.lapsvm_primal(obj))
    >>> (sm.solve(built).variables["f"].round(3) + 0.0).tolist()
    [-0.5, 0.5, 0.0]
    """
    f = _decisions(built)
    edges = sp.coo_array(sp.triu(check_adjacency(W, f.shape[0]), k=1))
    if not edges.nnz:
        raise InvalidInputError("W has no edge; take a graph with edges, e.g. specmargin.graphs.knn_graph(X).")
    jumps = cp.abs(_differences(edges.row, edges.col, -1.0, f.shape[0]) @ f)
    return built.with_(terms={label: weight * cp.sum(edges.data @ cp.pos(jumps - eps))})


@change()
def graph_budget(built: BuiltProblem, budgets: npt.ArrayLike) -> BuiltProblem:
    r"""Limit the share of each graph in the trace: sum_{j of graph g} delta_j <= budget_g, the constraint ``budget``.

    Parameters
    ----------
    budgets : array of shape (number of graphs,)
        Largest share of each, >= 0, in the order of the graphs; of the sum one at least, since shares sum to one.

    Returns
    -------
    Change
        Change of a primal form over the spectra of several graphs.

    Raises
    ------
    ValueError
        If there is no spectrum, another number of graphs, a negative budget, or a sum below one.

    References
    ----------
    Argyriou, Herbster & Pontil, Combining graph Laplacians for semi-supervised learning, NIPS 2005, without budgets.

    Examples
    --------
    >>> import specmargin as sm
    >>> spectra = [sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(x[:, None], n_neighbors=2), q=4)
    ...            for x in (np.arange(12.0), np.cos(np.arange(12.0)))]
    >>> obj = sm.objectives.SpectrumMargin(spectra, sm.encode_labels([0, 0] + [-1] * 8 + [1, 1]))
    >>> built = sm.problems.models.graph_budget([0.5, 1.0])(sm.problems.stoam(obj, "primal"))
    >>> round(float(sm.solve(built).variables["delta"][:4].sum()), 4)
    0.5
    """
    shares = cp.hstack([cp.sum(delta) for delta in _spectra(built)])
    most = vector("budgets", budgets, "the largest share of each graph", least=0)
    if len(most) != shares.size or most.sum() < 1:
        raise InvalidInputError(f"budgets={shown(budgets)} must be {shares.size} shares, of the sum one or more.")
    return built.with_(constraints={"budget": shares <= most})


def _at_most(x: cp.Expression, bound: float) -> Any:
    """Return |x| <= bound; an equality has an interior where two inequalities have none."""
    return cp.abs(x) <= bound if bound > 0 else x == 0


def _decisions(built: BuiltProblem) -> cp.Expression:
    """Return the decisions of all samples, (n,) or, of several classes, (n, K)."""
    if "decisions" not in built.expressions:
        raise InvalidInputError(
            f"built is {built.name}, which has no decisions; build a primal form, e.g. storm(obj, form='primal')."
        )
    return built.expressions["decisions"]


def _spectra(built: BuiltProblem) -> list[cp.Expression]:
    """Return the spectrum, a piece for each graph."""
    if "spectrum" not in built.expressions or not hasattr(built.objective, "spectra"):
        raise InvalidInputError(f"built is {built.name}, which has no spectrum; build storm(obj, form='primal').")
    ends = np.cumsum([0, *(spectrum.q for spectrum in built.objective.spectra)])
    return [built.expressions["spectrum"][a:e] for a, e in pairwise(ends)]


def _second_differences(built: BuiltProblem) -> list[cp.Expression]:
    """Return the second differences of each graph's spectrum, from its second weight on."""
    curved = [cp.diff(delta[1:], 2) for delta in _spectra(built) if delta.size > 3]
    if not curved:
        raise InvalidInputError(f"built is {built.name} with spectra of fewer than four weights; take a larger q.")
    return curved


def _members(built: BuiltProblem, group: Any) -> BoolArray:
    """Return who belongs to a group: a mask, or a column of the features."""
    n, mask = built.expressions["decisions"].shape[0], np.asarray(group)
    if mask.dtype != bool or not mask.ndim:
        column = whole("group", group, "an array of True and False, or the number of a column of the features")
        samples = getattr(built, "samples", None)
        if samples is None:
            raise InvalidInputError(f"group={column} is a column of features, and {built.name} has none; pass a mask.")
        if not 0 <= column < samples.shape[1]:
            raise InvalidInputError(f"group={column} is no column of the features; take 0 to {samples.shape[1] - 1}.")
        values = samples[:, [column]]
        values = np.ravel(values.toarray() if sp.issparse(values) else values)
        if not np.isin(values, (0, 1)).all():
            raise InvalidInputError(
                f"group={column}: the column holds {shown(np.unique(values))}; take one of 0 and 1."
            )
        mask = values == 1
    if mask.shape != (n,) or mask.all() or not mask.any():
        raise InvalidInputError(f"group={shown(group)} must be True for some of the {n} samples and False for others.")
    return mask


def _pairs(name: str, given: Any, sign: float, n: int) -> sp.csr_array:
    """Return the rows f_i + sign f_j of pairs."""
    with foreign(f"{name}={shown(given)} must be a list of pairs of samples, as in [(0, 5)]"):
        pairs = np.asarray(given if len(given) else np.zeros((0, 2), dtype=int))
    if pairs.dtype.kind not in "iu" or pairs.shape[1:] != (2,):
        raise InvalidTypeError(f"{name}={shown(given)} must be a list of pairs of samples, as in [(0, 5)].")
    if ((pairs < 0) | (pairs >= n)).any() or (pairs[:, 0] == pairs[:, 1]).any():
        raise InvalidInputError(f"{name}={shown(given)} must be a list of pairs of two of the samples 0 to {n - 1}.")
    return _differences(pairs[:, 0], pairs[:, 1], sign, n)


def _differences(i: Any, j: Any, sign: float, n: int) -> sp.csr_array:
    rows = np.tile(np.arange(len(i)), 2)
    values = np.repeat([1.0, sign], len(i))
    return sp.csr_array((values, (rows, np.concatenate([i, j]))), shape=(len(i), n))
