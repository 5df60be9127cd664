"""LapSVM with the Huber hinge: a loss that came after the solvers, which read its table of pieces."""

import numpy as np
import pytest

import specmargin as sm
from specmargin.losses import HuberHinge
from specmargin.objectives import LapSVM

SOLVERS = (sm.solvers.factorized, sm.solvers.newton, sm.solvers.pcg)


def objective(h=0.5, gamma_A=0.02, gamma_I=0.3, fit_intercept=True, per_class=4, copies=False, one_of=None):
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.2, random_state=1)
    if copies:
        X[10:20], X[40:50] = X[10], X[40]
    y = sm.hide_labels(truth, per_class=per_class, random_state=0)
    if one_of is not None:
        y[np.flatnonzero(y == one_of)[1:]] = -1
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    K = sm.kernels.gram(X, gamma=4.0)
    return LapSVM(K, L, sm.encode_labels(y), HuberHinge(h), gamma_A, gamma_I, fit_intercept)


@pytest.mark.parametrize("case", [{"copies": True}, {"one_of": 0}, {"one_of": 1, "copies": True}], ids=str)
@pytest.mark.parametrize(
    "gammas", [(1e10, 1.0), (1e-10, 1.0), (1.0, 1e10), (1e10, 0.0), (1e10, 1e10), (1e-6, 1e-3)], ids=str
)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_extreme_weights_copies_and_lone_labels_are_proved(gammas, case, fit_intercept):
    obj = objective(0.5, *gammas, fit_intercept=fit_intercept, **case)
    result = sm.solvers.factorized(obj)
    assert result.status is sm.Status.OPTIMAL
    assert result.certificate.is_optimal(1e-9)
    # No solver is below the proved bound, nor claims more than it has.
    for solver in (sm.solvers.newton, sm.solvers.pcg):
        other = solver(obj, max_iter=300).certificate
        assert (
            other.primal_objective + other.rounding >= result.certificate.dual_objective - result.certificate.rounding
        )


def test_classes_of_one_size_on_straight_pieces_leave_the_intercept_where_it_is():
    """Everybody on the line, and the lines in balance: Newton's method ends there, on any intercept between."""
    obj = objective(0.01, gamma_A=10.0, gamma_I=0.0)
    for solver in (sm.solvers.factorized, sm.solvers.newton):
        result = solver(obj)
        assert result.status is sm.Status.OPTIMAL
        assert result.history["active"][-1] == 0


def test_more_samples_of_one_class_on_straight_pieces_pull_the_intercept():
    """No sample is curved at first, and the larger class would pull the intercept without end."""
    obj = objective(0.01, gamma_A=10.0, gamma_I=0.0, one_of=0)
    values = [solver(obj).certificate for solver in SOLVERS]
    assert all(one.is_optimal(1e-6) for one in values)
    assert abs(float(sm.solvers.newton(obj).variables["b"])) > 0.9


def test_a_small_width_is_the_hinge():
    smooth, kinked = objective(1e-5), objective()
    kinked = LapSVM(kinked.K, kinked.L, kinked.labels, "hinge", 0.02, 0.3)
    a, b = (sm.solvers.factorized(obj).certificate.primal_objective for obj in (smooth, kinked))
    assert 0 <= a - b <= 8 * 1e-5 / 4
