"""Facts about columns, copies and distances, against numpy's and scipy's own and hand-made cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from specmargin.tables.diagnosis.columns import column_facts, copies, distance_facts

NONE = np.zeros(0, dtype=np.intp)


def spoilt() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6)) * [1.0, 10.0, 0.1, 1.0, 1.0, 1.0]
    X[:, 3] = 7.0
    X[:, 4] = X[:, 1]
    X[5] = X[6] = X[2]
    return X


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_counts_and_ratio(form: object, offset: float) -> None:
    X = spoilt() + offset
    facts = column_facts(form(X), np.array([0, 1, 1, 0]), np.array([2, 5, 6, 9]))
    assert (facts.n_columns, facts.n_constant, facts.n_copies) == (6, 1, 1)
    assert (facts.widest, facts.narrowest) in {(1, 2), (4, 2)}
    deviations = X.std(axis=0)
    assert facts.scale_ratio == pytest.approx(deviations[1] / deviations[2], rel=1e-6)
    assert facts.n_copied_samples == 2
    assert facts.n_contradictions == 3  # sample 2 is of the class 0, its copies of the class 1
    assert facts.is_sparse == sp.issparse(form(X))


def test_single_column_and_constants_alone_have_no_ratio() -> None:
    assert column_facts(np.arange(4.0)[:, None], NONE, NONE).scale_ratio == 1.0
    alike = column_facts(np.full((4, 3), 1e9 / 3), NONE, NONE)
    assert (alike.scale_ratio, alike.n_constant, alike.widest, alike.n_copies) == (1.0, 3, -1, 0)
    assert alike.n_copied_samples == 3


def test_copies_are_those_of_brute_force() -> None:
    X = np.random.default_rng(1).integers(0, 2, (60, 4)).astype(float)
    X[X == 0] *= np.where(np.arange((X == 0).sum()) % 2, 1.0, -1.0)  # zeros of both signs
    expected = [next(j for j in range(60) if (X[i] == X[j]).all()) for i in range(60)]
    assert copies(X).tolist() == expected
    assert copies(sp.csr_array(X)).tolist() == expected
    stored = sp.csr_array(X.copy())
    stored.data[:5] = 0.0  # stored zeros are zeros
    dense = stored.toarray()
    assert copies(stored).tolist() == copies(dense).tolist()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "cityblock"])
def test_distances_are_those_of_scipy(metric: str) -> None:
    X = np.random.default_rng(2).standard_normal((30, 4))
    facts = distance_facts(X, metric, 0.5)
    pairs = pdist(X, metric)
    assert facts.mean == pytest.approx(pairs.mean())
    assert facts.variation == pytest.approx(pairs.std() / pairs.mean())
    assert facts.contrast == pytest.approx(0.5 / pairs.mean())


def test_precomputed_and_sampled_distances() -> None:
    X = np.random.default_rng(3).standard_normal((1500, 50))
    facts = distance_facts(X, "euclidean", 1.0)
    assert facts.variation == pytest.approx(1 / np.sqrt(100), rel=0.05)  # 1 / sqrt(2 d) of normal columns
    D = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    assert distance_facts(D, "precomputed", 1.0).mean == 2.0
    assert distance_facts(np.ones((4, 2)), "euclidean", 0.0).variation == 0.0
