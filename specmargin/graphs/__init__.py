"""Graphs over samples: neighbours, Laplacians, components, and networkx in and out.

`knn_graph` (or `radius_graph`) turns rows into an adjacency, `laplacian` turns the adjacency into the
operator that the objectives read, `check_adjacency` reads a graph of the user's own, and `warn_components`
says what a disconnected graph means. `neighbor_weights` ties new points to the training points.
"""

from specmargin.graphs.adjacency import check_adjacency
from specmargin.graphs.connectivity import Components, components, warn_components
from specmargin.graphs.convert import from_networkx, to_networkx
from specmargin.graphs.laplacians import Laplacian, laplacian
from specmargin.graphs.neighbor_graphs import knn_graph, neighbor_weights, radius_graph, resolve_sigma
from specmargin.graphs.neighbors import NeighborSearch

__all__ = [
    "knn_graph",
    "radius_graph",
    "neighbor_weights",
    "resolve_sigma",
    "NeighborSearch",
    "check_adjacency",
    "Laplacian",
    "laplacian",
    "Components",
    "components",
    "warn_components",
    "from_networkx",
    "to_networkx",
]
