"""Graphs over samples: neighbours, Laplacians, components, and conversion from and to networkx.

`KNN` and `Laplacian` are the parts that estimators are composed of. `knn_graph` (or `radius_graph`) turns rows into an
adjacency, `laplacian` turns the adjacency into the operator that the objectives use, `check_adjacency` reads a graph
that the user brings, and `warn_components` warns of a disconnected graph. `neighbor_weights` ties new points to the
training points. The edge weights are the functions of `specmargin.graphs.weights`.
"""

from specmargin.graphs.adjacency import check_adjacency, to_networkx
from specmargin.graphs.convert import from_networkx, node_features
from specmargin.graphs.laplacians import (
    Components,
    LaplacianOperator,
    components,
    laplacian,
    normalized_adjacency,
    warn_components,
)
from specmargin.graphs.neighbor_graphs import knn_graph, neighbor_weights, radius_graph, resolve_sigma
from specmargin.graphs.neighbors import NeighborSearch
from specmargin.graphs.parts import KNN, Laplacian

__all__ = [
    "KNN",
    "knn_graph",
    "radius_graph",
    "neighbor_weights",
    "resolve_sigma",
    "NeighborSearch",
    "check_adjacency",
    "Laplacian",
    "LaplacianOperator",
    "laplacian",
    "normalized_adjacency",
    "Components",
    "components",
    "warn_components",
    "from_networkx",
    "node_features",
    "to_networkx",
]
