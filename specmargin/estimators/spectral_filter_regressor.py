"""Learned spectra over the features of a graph's nodes for numbers: `SpectralFilterRegressor`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from specmargin.checks import Rule, choice
from specmargin.estimators._docstrings import documented
from specmargin.estimators._filter_parameters import FilterParameters
from specmargin.estimators._semi_supervised import check_features, numerical_failures
from specmargin.estimators._semi_supervised_regressor import SemiSupervisedRegressor
from specmargin.labels import Targets
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["SpectralFilterRegressor"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SpectralFilterRegressor(FilterParameters, SemiSupervisedRegressor):
    """Filters of node features, their weights learned from numbers, and ridge regression on the kernel they make.

    As `SpectralFilterClassifier`, with the numbers in the place of signs. Weights are found by centred alignment of
    sum_b delta_b F_b F_b' with T T', T the targets with a column per output; a margin is of classes.

    Parameters
    ----------
    learn : {"alignment", "single", "mean"}
        How weights are found: by centred alignment with the targets; one filter by leave-one-out; all alike.
    tol : float
        Relative gap to which the weights have to be certified; a ConvergenceWarning says so where it is not.
    random_state : int, Generator or None
        Of the search for neighbours, where there are many features.

    Attributes
    ----------
    leave_one_out_ : ndarray of shape (l,) or (l, n_outputs)
        What the other labelled samples predict at each labelled sample, with the weights that were learned from all:
        optimistic.

    Notes
    -----
    Where all targets are the same, as where there is one, nothing can be learned, and all filters are alike. Outputs
    of different units should be scaled where they share a delta, as the largest decides.

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
    normalization: str = "centered"
    tol: float = 1e-6
    random_state: Any = 0

    _parameter_rules: ClassVar[dict[str, Rule]] = {"learn": choice("alignment", "single", "mean")}

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
        if graph is None:
            return super().predict(X)
        check_is_fitted(self)
        graph = self._with_new_nodes(X, graph)
        X = check_features(self, X, reset=False)
        with numerical_failures(self):
            return self._finite(self._at_new_nodes(X, graph))

    def _values(self, X: Matrix) -> FloatArray:
        return self._neighbor_mean(X, self._f)
