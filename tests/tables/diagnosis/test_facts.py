"""Facts about columns, copies and distances, against numpy's and scipy's own and hand-made cases."""

from itertools import permutations as orders

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from specmargin.tables.diagnosis import facts as module
from specmargin.tables.diagnosis.facts import (
    arrangements,
    chance_of_one_class,
    column_facts,
    copies,
    distance_facts,
    permutations,
    purity,
)

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


def by_brute_force(codes: np.ndarray, rows: np.ndarray, cols: np.ndarray) -> tuple[float, float]:
    """Mean share of one class, and probability of as many pairs, over all orders of the labels."""
    dealt = np.array(list(orders(codes)))
    same = (dealt[:, rows] == dealt[:, cols]).sum(axis=1)
    return float(same.mean() / len(rows)), float((same >= (codes[rows] == codes[cols]).sum()).mean())


@pytest.mark.parametrize("codes", [[0, 0, 0, 1, 1, 1, 1], [0, 1, 2, 0, 1, 2], [0, 0, 0, 0, 1]])
def test_few_labels_are_exact(codes: list[int]) -> None:
    labels, rng = np.array(codes), np.random.default_rng(0)
    for _ in range(5):
        rows, cols = np.triu_indices(len(labels), 1)
        some = rng.permutation(len(rows))[:5]
        told = purity(labels, rows[some], cols[some])
        mean, p = by_brute_force(labels, rows[some], cols[some])
        assert told.is_exact
        assert told.by_chance == pytest.approx(mean)
        assert told.p_value == pytest.approx(p)


def test_random_orders_agree_with_all(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    rows, cols = np.array([0, 1, 2, 4, 5, 3]), np.array([1, 2, 3, 5, 6, 4])
    exact = purity(codes, rows, cols)
    monkeypatch.setattr(module, "_LISTED", 0)
    monkeypatch.setattr(module, "_CHUNK", 100)  # in several chunks
    drawn = purity(codes, rows, cols, 1)
    assert not drawn.is_exact
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.03)
    assert drawn.by_chance == exact.by_chance


def test_the_smallest_p_value_of_random_orders_counts_the_labels_as_given() -> None:
    codes = np.repeat([0, 1], 20)
    cliques = [(i, j) for i in range(40) for j in range(i) if codes[i] == codes[j]]
    told = purity(codes, *np.array(cliques).T)
    assert (told.share, told.is_exact) == (1.0, False)
    assert told.p_value == pytest.approx(
        1 / 1000
    )  # one of 137 846 528 820 orders, up to the classes' names, is as pure


def test_p_values_of_random_labels_are_uniform() -> None:
    rng = np.random.default_rng(0)
    rows, cols = np.triu_indices(30, 1)
    some = rng.permutation(len(rows))[:60]
    ps = np.array(
        [purity(rng.permutation(np.repeat([0, 1], 15)), rows[some], cols[some], seed).p_value for seed in range(150)]
    )
    assert (ps < 0.05).mean() <= 0.1
    assert abs(ps.mean() - 0.5) < 0.1


def test_no_pairs_and_counts() -> None:
    none = np.zeros(0, dtype=int)
    assert purity(np.array([0, 1]), none, none).share is None
    assert arrangements(np.array([3, 2, 1])) == len(set(orders([0, 0, 0, 1, 1, 2])))
    assert chance_of_one_class(np.array([1])) == 1.0
    dealt = permutations(np.array([0, 1, 1, 2]), 50, np.random.default_rng(0))
    assert (np.sort(dealt, axis=1) == [0, 1, 1, 2]).all()
    assert len({tuple(row) for row in dealt.tolist()}) > 5
