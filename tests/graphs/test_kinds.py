"""The registry of the kinds of neighbour graphs."""

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.graphs import knn_graph
from specmargin.graphs.kinds import KINDS, neighbor_kind

# 2 lists 1, which lists 0; 4 is nearest to 3 and lists it.
X = np.array([[0.0], [1.0], [3.0], [10.0], [14.0]])


def edges(kind):
    W = sp.triu(knn_graph(X, 1, kind=kind)).tocoo()
    return sorted(zip(W.row.tolist(), W.col.tolist(), strict=True))


def test_kinds_by_hand():
    assert edges("symmetric") == [(0, 1), (1, 2), (3, 4)]
    assert edges("mutual") == [(0, 1), (3, 4)]
    assert edges("mutual+mst") == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_a_kind_is_one_function():
    with pytest.raises(ValueError, match="kind='joined' is unknown; take one of symmetric, mutual, mutual"):
        edges("joined")
    try:

        @neighbor_kind("joined")
        def joined(listed, search, k):
            return listed + listed.T

        assert edges("joined") == edges("symmetric")
        with pytest.raises(ValueError, match=r"take one of symmetric, mutual, mutual\+mst, joined"):
            edges("jointed")
    finally:
        del KINDS["joined"]


def test_docstrings_list_the_kinds():
    assert "{" + ", ".join(f'"{kind}"' for kind in KINDS) + "}" in knn_graph.__doc__
