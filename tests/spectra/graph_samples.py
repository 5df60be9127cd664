"""Graphs of which the spectra are known, or hard, and random adjacencies."""

import networkx as nx
import numpy as np
import scipy.sparse as sp

from specmargin.graphs import knn_graph


def sparse(graph):
    return nx.to_scipy_sparse_array(graph, dtype=float, format="csr")


def cloud(n=400, seed=0, weight="heat"):
    return knn_graph(np.random.default_rng(seed).normal(size=(n, 3)), 6, weight=weight)


def pieces():
    """Three components of different sizes, two isolated nodes, all shuffled: 52 nodes, 5 components."""
    blocks = [cloud(n, seed=n) for n in (25, 15, 10)] + [sp.csr_array((2, 2))]
    order = np.random.default_rng(1).permutation(52)
    return sp.csr_array(sp.block_diag(blocks, format="csr"))[order][:, order]


def adjacency(n=25, seed=0, isolated=()):
    """Random weights between n nodes, some of them without edges."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.3), 1)
    W[list(isolated)] = 0.0
    W[:, list(isolated)] = 0.0
    return W + W.T
