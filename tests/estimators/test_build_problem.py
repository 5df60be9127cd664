"""`build_problem`: the CVXPY problem of a fit, unsolved, on every estimator that has one."""

import all_estimators
import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.graphs import Laplacian
from specmargin.kernels import RBF, Landmarks
from specmargin.spectra import Eigenvectors

CONVEX = [
    sm.LapSVM(kernel=RBF(2.0)),
    sm.LapSVM(loss="squared_hinge", gamma_I=0.0, kernel=RBF(2.0)),
    sm.LapSVM(kernel=RBF(2.0), functions=Landmarks(30)),
    sm.LapSVM(functions=Eigenvectors(20), solver="dual"),
    sm.LapRLS(kernel=RBF(2.0), laplacian=Laplacian(power=2, normalized="auto")),
    sm.RMM(kernel=RBF(2.0)),
    sm.RMM(C=10.0, B="auto", kernel=RBF(2.0)),
    sm.KTA(q=15),
    sm.MKL(q=15),
    sm.STOAM(q=15),
    sm.STORM(q=15, C=100.0, B="auto"),
    sm.STORM(q=[8, 12], graph=[4, 7], laplacian=[Laplacian(normalized=one) for one in [False, True]]),
    sm.SpectralKernelSVM(q=15),
    sm.SpectralKernelSVM(q=15, C=100.0, B="auto"),
    sm.XuSpectralSVM(q=15, solver="CLARABEL"),
    sm.SpectralRidge(q=15),
    sm.SpectralRidge(q=15, penalty=1e-3, class_balance=None),
]


def name_of(estimator):
    named = ("B", "functions", "loss", "q")
    changed = {name: value for name, value in estimator.get_params(deep=False).items() if name in named}
    return f"{type(estimator).__name__}-{'-'.join(map(str, changed.values()))}"


@pytest.mark.parametrize("estimator", CONVEX, ids=name_of)
def test_it_is_the_problem_that_fit_solves(moons, estimator):
    X, _, y = moons
    built = clone(estimator).build_problem(X, y)
    assert built.problem.value is None
    assert all(variable.value is None for variable in built.variables.values())
    fitted = clone(estimator).fit(X, y)
    result = sm.solve(built, tol=1e-7)
    assert result.certificate.is_optimal(1e-6)
    expected = fitted.result_.certificate
    assert result.certificate.sense == expected.sense
    assert result.certificate.primal_objective == pytest.approx(expected.primal_objective, rel=1e-6)


def test_it_leaves_the_estimator_alone(moons):
    X, _, y = moons
    new = sm.LapSVM(kernel=RBF(2.0))
    new.build_problem(X, y)
    assert vars(new).keys() == vars(sm.LapSVM()).keys()
    fitted = sm.LapSVM(kernel=RBF(2.0)).fit(X, y)
    before = fitted.decision_function(X)
    W = sm.graphs.knn_graph(X[:40], n_neighbors=3)
    assert fitted.build_problem(X[:40], y[:40], graph=W) is not fitted.build_problem(X[:40], y[:40], graph=W)
    np.testing.assert_array_equal(fitted.decision_function(X), before)


def test_every_convex_estimator_and_no_other_has_one():
    having = {name for name in all_estimators.NAMES if hasattr(getattr(sm, name)(), "build_problem")}
    assert having == {type(estimator).__name__ for estimator in CONVEX}


@pytest.mark.parametrize("cls", [sm.LapRLS, sm.RMM, sm.STORM, sm.KTA, sm.XuSpectralSVM])
def test_several_classes_are_several_problems(blobs, cls):
    X, _, y = blobs
    with pytest.raises(ValueError, match="3 classes make as many problems; build them one against the rest"):
        cls(unlabeled="?").build_problem(X, y)


def test_least_squares_of_all_classes_are_one_problem(blobs):
    X, _, y = blobs
    built = sm.SpectralRidge(unlabeled="?", q=12).build_problem(X, y)
    fitted = sm.SpectralRidge(unlabeled="?", q=12).fit(X, y)
    assert built.variables["w"].shape == (12, 3)
    assert built.objective.penalty == fitted.penalty_
    np.testing.assert_allclose(sm.solve(built).variables["f"], fitted.result_.variables["f"], atol=1e-6)


def test_bad_input_is_named_as_by_fit(moons):
    X, _, y = moons
    with pytest.raises(ValueError, match="X has 119 rows, but y has 120 labels"):
        sm.LapSVM().build_problem(X[1:], y)
