"""The exact search with a number of positive labels, against the enumeration of all labelings of that number."""

from dataclasses import replace

import numpy as np
import pytest
from margin_problems import enumerated, with_trees_of

from specmargin import optima
from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.results import Status


def objective(seed=0, u=8, balance=0.0, gap=0.0, **options):
    """Gaussian samples, the first four labelled, of which a share (1 + balance) / 2 is moved by `gap`."""
    rng = np.random.default_rng(seed)
    y = np.append([0, 1, 0, 1], np.full(u, -1))
    X = rng.standard_normal((u + 4, 3))
    X[:, 0] += gap * np.append([-1, 1, -1, 1], np.where(np.arange(u) < u * (1 + balance) / 2, 1, -1))
    given = {"C": 1.0, "intercept": "none", "balance": balance, "balance_on": "labels", **options}
    return S3VM(X, encode_labels(y), **given)


def least(obj):
    """The least value over all labelings of the count, and over all others."""
    labelings, values, _ = enumerated(MarginSpace.of(replace(obj, balance_on="decision")))
    of_count = (labelings[:, obj.unlabeled] > 0).sum(axis=1) == obj.count
    assert of_count.any()
    return values[of_count].min(), values[~of_count].min()


@pytest.mark.parametrize("intercept", ["none", "regularized"])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
def test_the_answer_is_the_optimum_over_all_labelings_of_the_count(C, intercept, monkeypatch):
    """By trees of labels, and by boxes and bounds alone."""
    differ = 0
    for seed in range(4):
        obj = objective(seed, balance=[-0.5, 0.0, 0.8, 1.0][seed], C=C, C_star=0.5 * C, intercept=intercept)
        best, other = least(obj)
        for trees in (True, False):
            with monkeypatch.context() as patch:
                if not trees:
                    with_trees_of(patch, 0)
                result = optima.branch_and_bound(obj)
            assert result.status is Status.OPTIMAL
            assert result.certificate.primal_objective == pytest.approx(best, rel=1e-6)
            assert best * (1 - 1e-6) <= result.certificate.dual_objective <= best * (1 + 1e-9)
            assert obj.value_at(result.variables["w"]) == pytest.approx(best, rel=1e-6)
            assert (result.variables["labels"] > 0).sum() == obj.count
        differ += best > other * (1 + 1e-3)
        assert optima.s3vm_bound(obj).certificate.dual_objective <= best * (1 + 1e-9)
    assert differ  # the count does confine


def test_a_larger_problem_is_proved():
    obj = objective(3, u=40, balance=0.5, gap=1.5)
    result = optima.branch_and_bound(obj, tol=1e-3)
    assert result.status is Status.OPTIMAL
    assert (result.variables["labels"] > 0).sum() == obj.count == 30
    free = optima.branch_and_bound(replace(obj, balance_on="decision"), tol=1e-3)
    assert free.certificate.dual_objective < result.certificate.dual_objective


def test_a_search_that_is_cut_off_has_a_bound():
    obj = objective(3, u=30, balance=0.5)
    result = optima.branch_and_bound(obj, time_limit=0.5)
    assert result.status is Status.MAX_ITER
    assert 0 < result.certificate.dual_objective < result.certificate.primal_objective
    assert (result.variables["labels"] > 0).sum() == obj.count


def test_a_count_decides_labels_and_forbids_others():
    space = MarginSpace(np.eye(4), np.ones(4), np.array([1.0, 0.0, 0.0, 0.0]), count=1)
    assert space.decided(np.array([1.0, 1.0, 0.0, 0.0])).tolist() == [1.0, 1.0, -1.0, -1.0]
    assert space.decided(np.array([1.0, -1.0, -1.0, 0.0])).tolist() == [1.0, -1.0, -1.0, 1.0]
    assert space.decided(np.array([1.0, -1.0, 0.0, 0.0])).tolist() == [1.0, -1.0, 0.0, 0.0]
    assert space.is_possible(np.array([1.0, 1.0, 0.0, 0.0]))
    assert not space.is_possible(np.array([1.0, 1.0, 1.0, 0.0]))
    assert not space.is_possible(np.array([1.0, -1.0, -1.0, -1.0]))


@pytest.mark.parametrize(("balance", "label"), [(-1.0, -1.0), (0.2, 1.0), (1.0, 1.0)])
def test_one_unlabelled_sample_has_the_label_of_the_count(balance, label):
    obj = objective(u=1, balance=balance)
    result = optima.branch_and_bound(obj)
    assert result.status is Status.OPTIMAL
    assert result.variables["labels"].tolist() == [label]


def test_a_tree_knows_its_count(tmp_path):
    obj, tree = objective(u=20), tmp_path / "it.npz"
    optima.branch_and_bound(obj, max_nodes=0, tree=tree)
    assert optima.branch_and_bound(obj, tree=tree, tol=1e-6).status is Status.OPTIMAL
    with pytest.raises(InvalidInputError, match="another problem"):
        optima.branch_and_bound(objective(u=20, balance=0.5), tree=tree)


def test_what_cannot_be_answered_is_refused_with_the_reason():
    with pytest.raises(InvalidInputError, match="log=True: proofs with balance_on='labels' are not written down"):
        optima.branch_and_bound(objective(), log=True)
    with pytest.raises(InvalidInputError, match=r"C=1e\+13 and C_star=.* are too large .* Divide the features"):
        optima.branch_and_bound(objective(C=1e13))
    with pytest.raises(InvalidInputError, match="time_limit=0"):
        optima.branch_and_bound(objective(), time_limit=0)
