"""Fits that need more memory than there is say so before they take it."""

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin import arrays


@pytest.fixture
def small_computer(monkeypatch):
    monkeypatch.setattr(arrays, "available_memory", lambda: 1e6)


def test_rmm(small_computer):
    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.raises(MemoryError, match=r"kernel of 300 labelled and 300 samples.*needs about.*landmarks"):
        sm.RMM().fit(X, np.arange(300) % 2)


def test_filters_of_sparse_features_with_many_columns(small_computer):
    X = sp.random(50, 20_000, density=0.01, random_state=0, format="csr")
    W = sm.graphs.knn_graph(np.arange(50.0)[:, None], n_neighbors=2)
    for estimator in (sm.SpectralFilterClassifier(), sm.LabelSearch(sm.SpectralFilterClassifier())):
        with pytest.raises(MemoryError, match=r"filtering 20000 features of 50 nodes.*dense.*TruncatedSVD"):
            estimator.fit(X, np.arange(50) % 2, graph=W)
