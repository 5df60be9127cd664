"""SVMs solved together against scikit-learn's, one by one, and against the conditions of optimality."""

import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from specmargin.solvers import hinge_duals
from specmargin.solvers.hinge_duals import solve_hinge_duals


def problems(l=40, d=6, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(l) < 0.4, 1.0, -1.0)
    P = scale * (rng.standard_normal((l, d)) + 0.5 * y[:, None])
    kept = rng.random((5, l)) < 0.8
    upper = np.concatenate([C / scale**2 * kept for C in (0.1, 1.0, 30.0)])
    return P @ P.T, np.broadcast_to(y, upper.shape), upper


def optimality(G, y, upper, beta):
    """Return by how much the pair that violates the conditions most does so, and whether beta is feasible."""
    e = y - G @ beta
    low, high = np.minimum(0.0, y * upper), np.maximum(0.0, y * upper)
    assert (beta >= low).all()
    assert (beta <= high).all()
    assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
    return e[beta < high].max() - e[beta > low].min()


def test_rounding_moves_no_decision():
    """The two samples of a step tie after it, so that another processor may take another path."""
    G, Y, upper = problems()
    beta, intercept = solve_hinge_duals(G, Y, upper)
    signs = np.random.default_rng(1).integers(-1, 2, G.shape)
    other, there = solve_hinge_duals(G * (1.0 + 1.1e-16 * (signs + signs.T)), Y, upper)
    np.testing.assert_allclose(other @ G + there[:, None], beta @ G + intercept[:, None], rtol=0, atol=1e-5)


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("steps", [0, 1000])  # without steps all is left to libsvm
def test_all_problems_are_those_of_scikit_learn(scale, steps, monkeypatch):
    monkeypatch.setattr(hinge_duals, "_STEPS", steps)
    G, Y, upper = problems(scale=scale)
    beta, intercept = solve_hinge_duals(G, Y, upper)
    for b, (y, C) in enumerate(zip(Y, upper, strict=True)):
        assert optimality(G, y, C, beta[b]) <= (2e-6 if steps else 1e-4)  # libsvm keeps its kernel in single precision
        used = C > 0
        svm = SVC(C=1.0, kernel="precomputed", tol=1e-6).fit(G[np.ix_(used, used)], y[used], sample_weight=C[used])
        expected = svm.decision_function(G[:, used])
        np.testing.assert_allclose(G @ beta[b] + intercept[b], expected, atol=2e-2)


def test_what_has_not_converged_is_left_to_libsvm(monkeypatch):
    G, Y, upper = problems(d=2)
    exact = solve_hinge_duals(G, Y, upper)[0]
    monkeypatch.setattr(hinge_duals, "_STEPS", 20)
    for beta, other, y in zip(solve_hinge_duals(G, Y, upper)[0], exact, Y, strict=True):
        assert y @ beta - beta @ G @ beta / 2 == pytest.approx(y @ other - other @ G @ other / 2, rel=2e-3)


def test_one_class_and_no_sample_need_no_training():
    y = np.array([[1.0, 1.0, -1.0]])
    upper = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    beta, intercept = solve_hinge_duals(np.eye(3), np.repeat(y, 3, axis=0), upper)
    assert (beta == 0).all()
    assert intercept.tolist() == [1.0, -1.0, 0.0]


def test_copies_of_samples_and_a_kernel_of_zeros():
    G, Y, upper = problems(20)
    twice = np.tile(G, (2, 2))
    beta, intercept = solve_hinge_duals(twice, np.tile(Y, 2), np.tile(upper / 2, 2))
    plain, b = solve_hinge_duals(G, Y, upper)
    np.testing.assert_allclose(twice[:20] @ beta.T + intercept, G @ plain.T + b, atol=2e-2)
    assert np.isfinite(solve_hinge_duals(np.zeros((20, 20)), Y, upper)[1]).all()


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_the_interior_point_takes_over_where_libsvm_has_no_end(C, monkeypatch):
    """A column of order numbers next to one of size one: libsvm's steps have no end, ours have."""
    rng = np.random.default_rng(0)
    P = np.column_stack([rng.normal(size=(60, 3)), np.arange(60.0) - 30.0])
    y, G = np.where(rng.random(60) < 0.5, 1.0, -1.0), P @ P.T
    monkeypatch.setattr(hinge_duals, "_STEPS", 0)
    monkeypatch.setattr(hinge_duals, "_LIBSVM_STEPS", 1)
    (beta,), _ = solve_hinge_duals(G, y[None], np.full((1, 60), C))
    assert optimality(G, y, np.full(60, C), beta) < 1e-2
    svm = SVC(C=C, kernel="precomputed", tol=1e-6).fit(G, y)
    theirs = np.zeros(60)
    theirs[svm.support_] = svm.dual_coef_[0]
    assert y @ beta - beta @ G @ beta / 2 == pytest.approx(y @ theirs - theirs @ G @ theirs / 2, rel=1e-3)


def test_what_rounding_decides_ends_and_is_said():
    rng = np.random.default_rng(0)
    P = np.column_stack([rng.normal(size=(60, 3)), 4e9 + np.arange(60.0)])
    Y = np.where(rng.random((4, 60)) < 0.5, 1.0, -1.0)
    start = time.process_time()
    with pytest.warns(ConvergenceWarning, match=r"of 4 SVMs on 60 samples are not solved.*StandardScaler"):
        beta, intercept = solve_hinge_duals(P @ P.T, Y, np.full((4, 60), 100.0))
    assert time.process_time() - start < 20.0
    assert np.isfinite(beta).all()
    assert np.isfinite(intercept).all()


@pytest.mark.parametrize(
    ("beta", "C", "optimal"),
    [
        ((-0.3, 0.15, 0.15), 2.0, True),
        ((-0.3, 0.15, 0.15), 1.2, False),  # the first one ends outside of its box
        ((-0.3, 0.3, 0.0), 2.0, False),  # the last one should rise
        ((0.0, 0.0, 0.0), 2.0, False),  # none is inside
    ],
)
def test_the_linear_system_is_taken_only_where_it_has_the_optimum(beta, C, optimal):
    y = np.array([-1.0, 1.0, 1.0])
    before = np.array(beta)
    after, slopes = before.copy(), y - before
    low, high = np.minimum(0.0, C * y), np.maximum(0.0, C * y)
    assert hinge_duals._solve_free(np.eye(3), after, slopes, low, high) == optimal
    assert after == pytest.approx([-4 / 3, 2 / 3, 2 / 3] if optimal else before)
    assert slopes == pytest.approx(y - after)
