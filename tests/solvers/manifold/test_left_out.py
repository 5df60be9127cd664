"""Decisions at left-out labels: those of the whole problem, solved by CVXPY without the label."""

from dataclasses import replace

import numpy as np
import pytest

import specmargin as sm
from specmargin.losses import LOSSES
from specmargin.objectives.held_out.leave_one_out import dealt_folds
from specmargin.solvers.manifold import left_out
from specmargin.solvers.manifold.left_out import left_out_decisions


@pytest.fixture
def problem():
    """An objective of 40 samples, 10 of them labelled in 3 classes."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 2)) + 1.5 * np.eye(3, 2)[np.arange(40) % 3]
    y = np.where(np.arange(40) < 10, np.arange(40) % 3, -1)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=4))
    labels = sm.encode_labels(y)
    first = next(labels.one_vs_rest())
    return sm.objectives.LapSVM(sm.kernels.gram(X, gamma=0.7), L, first, gamma_A=0.1, gamma_I=0.3), labels


def literal(obj, labels, folds):
    """Decisions of the whole problem without the labels of each fold."""
    decisions = np.full(labels.sign.shape, np.nan)
    for fold in folds:
        kept = np.delete(np.arange(labels.n_labeled), fold.left_out)
        for k, one in enumerate(labels.one_vs_rest()):
            answer = sm.solve(sm.problems.lapsvm_dual(obj.with_(labels=one.at(kept))), solver="CLARABEL")
            f = answer.variables["f"][labels.labeled[fold.test]]
            decisions[(fold.test, k) if decisions.ndim == 2 else fold.test] = f
    return decisions


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber_hinge", "squared"])
@pytest.mark.parametrize(("most", "weighted"), [(100, False), (0, False), (100, True), (0, True)])
def test_decisions_are_those_of_the_whole_problem_without_the_labels(problem, loss, most, weighted, monkeypatch):
    obj, labels = problem
    if weighted:
        labels = replace(labels, weights=np.linspace(0.5, 2.0, 10))
    obj = obj.with_(loss=loss)
    monkeypatch.setattr(left_out, "MOST", most)
    solved = [sm.solvers.factorized(one).variables for one in obj.one_vs_rest(labels)]
    decisions = left_out_decisions(
        obj.reduction.G, labels, LOSSES[loss], True, [(one["v"], float(one["b"])) for one in solved]
    )
    folds = left_out.one_left_out(10) if most or loss == "squared" else dealt_folds(labels.sign, 5)
    expected = literal(obj, labels, folds)
    np.testing.assert_allclose(decisions, expected, atol=2e-5)
    again = left_out_decisions(obj.reduction.G, labels, LOSSES[loss], True)
    np.testing.assert_allclose(again, decisions, atol=1e-9)


def test_without_an_intercept_and_of_two_classes(problem):
    obj, labels = problem
    binary = next(labels.one_vs_rest())
    obj = obj.with_(labels=binary, fit_intercept=False)
    decisions = left_out_decisions(obj.reduction.G, binary, obj.margin_loss, False)
    assert decisions.shape == (10,)
    np.testing.assert_allclose(decisions, literal(obj, binary, left_out.one_left_out(10)), atol=2e-5)


def test_what_has_no_solution_decides_nothing(problem):
    obj, labels = problem
    binary = next(labels.one_vs_rest())
    G = np.full((10, 10), np.nan)
    with pytest.raises(ValueError, match="finite"):
        left_out_decisions(G, binary, sm.losses.Squared(), True)
    assert np.isfinite(left_out_decisions(obj.reduction.G * 1e-9, binary, obj.margin_loss, True)).all()
