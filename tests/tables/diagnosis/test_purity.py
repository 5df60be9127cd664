"""Purities and their p-values, against all arrangements of the labels."""

from itertools import permutations as orders

import numpy as np
import pytest

from specmargin.tables.diagnosis import purity as module
from specmargin.tables.diagnosis.purity import arrangements, chance_of_one_class, permutations, purity


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
