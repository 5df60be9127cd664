"""Graphs and Laplacians as objects, which estimators are composed of: `KNN` and `Laplacian`.

``KNN(10)(X)`` is an adjacency, ``Laplacian(power=2)(W)`` the operator of one. `graph_of` and `laplacian_of` read the
short forms: a number of neighbours, a power.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from specmargin.checks import choice, count, flag, maybe, seed, shown
from specmargin.exceptions import InvalidTypeError
from specmargin.graphs.adjacency import check_adjacency
from specmargin.graphs.laplacians import POWERS, LaplacianOperator
from specmargin.graphs.neighbor_graphs import (
    knn_graph,
    neighbor_graph,
    neighbor_weights,
    warn_of_zero_rows,
    with_graph_sections,
)
from specmargin.graphs.neighbors import METRIC, REDUCE, NeighborSearch
from specmargin.graphs.weights import KIND, WEIGHT
from specmargin.parts import Part, from_number, require_part
from specmargin.typing import Matrix, SparseArray

__all__ = ["KNN", "Laplacian", "built", "built_each", "graph_of", "laplacian_of", "ties", "whole_seed"]

_USUAL = 10
_POWER, _AUTO = count(1, POWERS), choice("auto")


@with_graph_sections
@dataclass(frozen=True, repr=False)
class KNN(Part):
    """The graph of nearest neighbours, and how new samples are tied to it.

    Parameters
    ----------
    n_neighbors : int, optional
        Neighbours of every sample; by default min(10, n // 2) of n samples, for a complete graph says nothing.
    weight : <weights>, default "binary"
        Edge weights.
    kind : <kinds>, default "symmetric"
        How the neighbour relation is made symmetric. The mutual graph falls apart on real data.
    metric : str or callable, default "euclidean"
        Metric of the neighbours; "cosine" for text.
    reduce : int, "auto" or None, default "auto"
        Principal components in which neighbours are searched; "auto": 50 for more than 10,000 dense samples of more
        than 100 features, else none.
    random_state : int, Generator or None, default 0
        Seed of the search, where there is a projection.

    Examples
    --------
    >>> KNN(1)([[0.0], [1.0], [3.0]]).toarray().tolist(), KNN(5, metric="cosine")
    ([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]], KNN(n_neighbors=5, metric='cosine'))
    """

    n_neighbors: int | None = None
    weight: str = "binary"
    kind: str = "symmetric"
    metric: Any = "euclidean"
    reduce: int | str | None = "auto"
    random_state: Any = 0

    def __post_init__(self) -> None:
        maybe(count(1))("n_neighbors", self.n_neighbors)
        WEIGHT("weight", self.weight)
        KIND("kind", self.kind)
        METRIC("metric", self.metric)
        REDUCE("reduce", self.reduce)
        seed("random_state", self.random_state)

    def count(self, n: int) -> int:
        """Return the number of neighbours among n samples."""
        return min(_USUAL, max(1, n // 2)) if self.n_neighbors is None else self.n_neighbors

    def search(self, X: Matrix, *, checked: bool = False) -> NeighborSearch:
        """Return the search for neighbours among the rows of X, which a graph and new samples can share.

        Checked rows are finite and float64, in the order that scikit-learn's fast search needs of many.
        """
        angles, start = self.weight == "cosine" or self.metric == "cosine", whole_seed(self.random_state)
        if checked and self.metric != "precomputed":
            return NeighborSearch.__new__(NeighborSearch).open(X, self.metric, self.reduce, "exact", angles, start)
        return NeighborSearch(X, metric=self.metric, reduce=self.reduce, angles=angles, random_state=start)

    def __call__(self, X: Matrix | NeighborSearch) -> SparseArray:
        """Return the adjacency (n, n) of the rows of X, or of those of a search."""
        search = X if isinstance(X, NeighborSearch) else self.search(X)
        return knn_graph(search, self.count(search.n_samples), kind=self.kind, weight=self.weight)

    def weights(self, X_new: Matrix, X: Matrix | NeighborSearch) -> SparseArray:
        """Return the weights (m, n) by which new samples are tied to the rows of X."""
        search = X if isinstance(X, NeighborSearch) else self.search(X)
        return neighbor_weights(X_new, search, self.count(search.n_samples), weight=self.weight)


def whole_seed(random_state: Any) -> Any:
    """Return what a search takes for a seed and keeps: a number for a Generator, which no file holds."""
    if isinstance(random_state, np.random.RandomState | int | np.integer):
        return random_state
    return int(np.random.default_rng(random_state).integers(2**31))


@dataclass(frozen=True, repr=False)
class Laplacian(Part):
    """Which Laplacian of a graph, and its power.

    Parameters
    ----------
    power : int, default 1
        The graph norm is that of L^power, 1 to 100.
    normalized : bool or "auto", default True
        Whether L is I - D^-1/2 W D^-1/2 or D - W. The graph norm of the first vanishes on the square roots of the
        degrees, that of the second on constants. "auto": what suits the weights of `LapSVM`, which says how; elsewhere
        it is True.

    Examples
    --------
    >>> Laplacian(power=2, normalized=False)([[0, 1], [1, 0]]).toarray().tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """

    power: int = 1
    normalized: bool | str = True

    def __post_init__(self) -> None:
        _POWER("power", self.power)
        (_AUTO if isinstance(self.normalized, str) else flag)("normalized", self.normalized)

    def __call__(self, W: Any) -> LaplacianOperator:
        """Return the Laplacian of an adjacency, an operator that is applied by ``@``."""
        return self.of(check_adjacency(W))

    def of(self, W: SparseArray) -> LaplacianOperator:
        """Return the Laplacian of an adjacency that has been checked; a subclass overrides this one."""
        return LaplacianOperator.of(W, bool(self.normalized), self.power)


def graph_of(name: str, value: Any) -> Any:
    """Return the graph that a parameter means: `KNN`, a number of neighbours, or any function of samples.

    Raises
    ------
    InvalidInputError
        For anything else, a class instead of an object, or something fitted.

    Examples
    --------
    >>> graph_of("graph", 5)
    KNN(n_neighbors=5)
    """
    require_part(name, value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return from_number(name, value, lambda count: KNN(int(count)))
    if hasattr(value, "shape") or hasattr(value, "adjacency"):
        raise InvalidTypeError(f"{name}={shown(value)} is an adjacency; pass it to fit, fit(X, y, graph=W).")
    if (isinstance(value, Part) and not isinstance(value, KNN)) or not callable(value):
        raise InvalidTypeError(
            f"{name}={shown(value)} makes no graph; take specmargin.graphs.KNN(10), a number of neighbours, or an "
            "object that returns the adjacency of samples when it is called with them."
        )
    return value


def built(part: Any, X: Matrix, search: NeighborSearch | None = None) -> tuple[SparseArray, Matrix | NeighborSearch]:
    """Return the adjacency that a part makes of checked samples, and what new samples find their neighbours in."""
    if not isinstance(part, KNN):
        return check_adjacency(part(X), X.shape[0]), X
    search = part.search(X, checked=True) if search is None else search
    if not search.used.all():
        warn_of_zero_rows(search)
    k = search.count(part.count(search.n_samples), own=True)
    return neighbor_graph(search, k, part.kind, part.weight), search


def built_each(parts: Iterable[Any], X: Matrix) -> list[tuple[Any, SparseArray, Matrix | NeighborSearch]]:
    """Return every distinct part, of at most n - 1 neighbours, and what `built` makes of it.

    Graphs that differ in their numbers of neighbours, or in how these are made symmetric, share one search.
    """
    n = X.shape[0]
    least = [part.with_(n_neighbors=min(part.count(n), n - 1)) if isinstance(part, KNN) else part for part in parts]
    distinct = [part for at, part in enumerate(least) if part not in least[:at]]
    searches: dict[KNN, NeighborSearch] = {}
    longest = sorted((part for part in distinct if isinstance(part, KNN)), key=lambda part: -part.count(n))
    for part in longest:
        if _searched(part) not in searches:
            search = searches[_searched(part)] = _searched(part).search(X, checked=True)
            search.lists(search.count(part.count(n), own=True))
    return [(part, *built(part, X, searches[_searched(part)] if isinstance(part, KNN) else None)) for part in distinct]


def _searched(part: KNN) -> KNN:
    """Return what the search for neighbours depends on."""
    return part.with_(n_neighbors=None, kind="symmetric")


def ties(part: Any) -> Any:
    """Return what ties new samples to old ones, a part with ``weights(X_new, X)``: the graph itself, or `KNN`."""
    return part if hasattr(part, "weights") else KNN()


def laplacian_of(name: str, value: Any) -> Laplacian:
    """Return the Laplacian that a parameter means: a `Laplacian`, or its power.

    Examples
    --------
    >>> laplacian_of("laplacian", 2)
    Laplacian(power=2)
    """
    require_part(name, value)
    if isinstance(value, Laplacian):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return from_number(name, value, lambda power: Laplacian(int(power)))
    raise InvalidTypeError(
        f"{name}={shown(value)} is no Laplacian; take specmargin.graphs.Laplacian(power=2), or a power."
    )
