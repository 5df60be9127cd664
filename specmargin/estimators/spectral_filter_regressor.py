"""Learned spectra over the features of a graph's nodes for numbers: `SpectralFilterRegressor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from specmargin.checks import Rule, choice
from specmargin.estimators._base.filter_model import FilterModel
from specmargin.estimators._base.semi_supervised_regressor import SemiSupervisedRegressor
from specmargin.graphs import KNN
from specmargin.labels import Targets
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["SpectralFilterRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class SpectralFilterRegressor(FilterModel, SemiSupervisedRegressor):
    """Filters of node features, their weights learned from numbers, and ridge regression on the kernel they make.

    As `SpectralFilterClassifier`, with the numbers instead of signs. Weights are found by centred alignment of
    sum_b delta_b F_b F_b' with T T', T the targets with a column per output; a margin is of classes.

    Parameters
    ----------
    learn : {"alignment", "single", "mean"}, default "alignment"
        How weights are found: by centred alignment with the targets; one filter by leave-one-out; all alike. Where
        several choices are equally good, as all alignments are with two labels, the smoothest filters are taken.
    filters : {"resolvents", "powers", "bernstein", "bands"} or a family of `specmargin.spectra`, default "resolvents"
        Filters h_b.
    penalty : float or "loo", default "loo"
        Penalty of the ridge regression, per unit mean kernel diagonal; "loo" chooses by leave-one-out on the
        labelled nodes.
    self_loops : float, default 1.0
        Weight of the loop at every node, in units of the median weight of an edge.
    normalization : {"unit", "centered"}, default "centered"
        "unit": rows of features and of blocks have length one, so that their direction counts, as for words; blocks
        are centred after that. "centered": blocks are centred as they are, so that sizes of features count; scale
        them.
    joint : bool, default True
        Whether all classes (outputs) share one delta, "a filter of the data set"; else each has its own, and its
        own penalty.
    graph : KNN, int or callable, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them.
    tol : float, default 1e-6
        Relative gap to which the weights have to be certified; a ConvergenceWarning says so where it is not.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,) or (n, n_outputs)
        Predicted numbers of the training samples, labelled ones included.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per output with more than one.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    filter_weights_ : ndarray of shape (m,), or (n_outputs, m) where they are not joint
        delta, of sum one, in the order of ``bank_.filters.parameters``.
    bank_ : FilterBank
        The filters, their power and what they were applied to, without the blocks: a learned filter's frequency
        response is ``bank_.response(filter_weights_, lam)``.
    coef_ : ndarray of shape (m, n_features) or (m, n_features, n_outputs)
        Weights of the filtered features, delta_b F_b[labelled]' gamma.
    penalty_ : float or ndarray of shape (n_outputs,)
        Value in use.
    leave_one_out_ : ndarray of shape (l,) or (l, n_outputs)
        What the other labelled samples predict at each labelled sample, with the weights that were learned from all:
        optimistic.

    Notes
    -----
    Where all targets are the same, as where there is one, nothing can be learned, and all filters are alike. Outputs of
    different units should be scaled where they share a delta, as the largest decides.

    References
    ----------
    Cortes, Mohri & Rostamizadeh, Algorithms for learning kernels based on centered alignment, JMLR 2012.

    Examples
    --------
    >>> import numpy as np, networkx as nx, specmargin as sm
    >>> graph = nx.grid_2d_graph(12, 12)
    >>> place = np.array(list(graph))
    >>> truth = np.sin(place[:, 0] / 3.0)
    >>> rng = np.random.default_rng(0)
    >>> X = truth[:, None] + rng.normal(size=(144, 5))
    >>> y = np.where(rng.random(144) < 0.3, truth, np.nan)
    >>> model = SpectralFilterRegressor().fit(X, y, graph=graph)
    >>> model.result_.certificate.is_optimal(1e-9), model.score(X, truth) > 0.8
    (True, True)
    """

    learn: str = "alignment"
    filters: Any = "resolvents"
    penalty: float | str = "loo"
    self_loops: float = 1.0
    normalization: str = "centered"
    joint: bool = True
    graph: Any = KNN()
    tol: float = 1e-6

    _parameter_rules: ClassVar[Mapping[str, Rule]] = {"learn": choice("alignment", "single", "mean")}

    def _fit(self, X: Matrix, targets: Targets, graph: SparseArray) -> tuple[FloatArray, list[SolveResult]]:
        apart = not self.joint and targets.values.ndim == 2
        parts = [replace(targets, values=z) for z in targets.columns.T] if apart else [targets]
        same = any((part.values == part.values[0]).all() for part in parts)  # no kernel is like a constant
        learn = "mean" if same else self.learn
        f, learned = self._fit_blocks(X, graph, parts, learn, tol=self.tol)
        f = f.reshape(targets.n_samples, -1)
        self._f = f
        return f, [result for one in learned for result in one.results]

    def predict(self, X: Matrix, graph: Any = None) -> FloatArray:
        """Return f at new samples, or at new nodes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (k, n_features)
            Features.
        graph : {ndarray, sparse matrix} of shape (n + k, n + k), networkx.Graph or table of edges, optional
            The n nodes of `fit` first, then the new ones, with their edges; where nodes have names, those of `fit` are
            found by them, and the new ones are the index of X, or the numbers from n on. Features are filtered on it;
            what was learned stays. Without it new samples get the weighted mean of what is predicted at their nearest
            training samples.

        Returns
        -------
        ndarray of shape (k,) or (k, n_outputs)
        """
        return super().predict(X) if graph is None else self._at_new_nodes(X, graph)

    def _values(self, X: Matrix) -> FloatArray:
        return self._neighbor_mean(X, self._f)
