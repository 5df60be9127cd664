"""Bad input gets an error that names the remedy, or a warning with a number; what all refuse: tests/contract."""

import numpy as np
import pytest
from sklearn.base import clone

import specmargin as sm
from specmargin.exceptions import DisconnectedGraphWarning, SolverError, SolverNotInstalledError
from specmargin.spectra import Transform

WITH_GRAPH_AND_SOLVER = [sm.LapSVM, sm.STORM, sm.STOAM, sm.MKL, sm.KTA, sm.SpectralKernelSVM, sm.XuSpectralSVM]
GRAPH = [*WITH_GRAPH_AND_SOLVER, sm.SpectralGraphTransducer]
WITH_SOLVERS = [*WITH_GRAPH_AND_SOLVER, sm.RMM]


def test_eps_too_large(moons):
    X, _, y = moons
    with pytest.raises(ValueError, match=r"eps=0\.1 is too large for 20 eigenvectors.*Take eps below"):
        sm.STORM(eps=0.1, q=20).fit(X, y)


@pytest.mark.parametrize("method", [sm.STORM(), sm.MKL(), sm.KTA(B=1.5), sm.SpectralKernelSVM(B=1.5), sm.RMM()])
def test_the_bound_on_the_decisions(method, moons):
    X, _, y = moons
    with pytest.warns(UserWarning, match=r"B=0\.5 is below 1"):
        fitted = clone(method).set_params(B=0.5).fit(X, y)
    assert np.isfinite(fitted.decision_function(X)).all()
    assert fitted.result_.certificate.is_optimal(1e-6)


@pytest.mark.parametrize("cls", WITH_SOLVERS)
def test_a_solver_that_is_not_installed(cls, moons):
    X, _, y = moons
    with pytest.raises(SolverNotInstalledError, match=r"'GUROBI_OF_MINE' is not installed.*CLARABEL"):
        cls(solver="GUROBI_OF_MINE").fit(X, y)


def test_a_failed_solve_carries_its_result(moons, monkeypatch):
    import cvxpy as cp

    X, _, y = moons

    def fail(self, *args, **kwargs):
        raise cp.SolverError("the lights went out")

    monkeypatch.setattr(cp.Problem, "get_problem_data", fail)
    with pytest.raises(SolverError, match="the lights went out") as caught:
        sm.STORM(q=10, solver=sm.problems.default_solvers()).fit(X, y)
    assert caught.value.result.status.name == "FAILED"
    assert [attempt.split(":")[0] for attempt in caught.value.result.attempts] == list(sm.problems.default_solvers())


@pytest.mark.parametrize("cls", GRAPH)
def test_isolated_nodes_and_components_without_a_label_are_counted(cls, moons):
    X, _, y = moons
    W = sm.graphs.knn_graph(X, n_neighbors=6).tolil()
    free = np.flatnonzero(y == -1)[:2]
    for node in free:
        W[node, :] = 0
        W[:, node] = 0
    with pytest.warns(DisconnectedGraphWarning, match="2 isolated nodes") as caught:
        fitted = cls().fit(X, y, graph=W.tocsr())
    assert caught[0].filename == __file__
    assert np.isin(fitted.transduction_, [0, 1]).all()
    assert np.isfinite(fitted.decision_function(X)).all()


def test_unknown_words_list_the_known_ones(moons):
    X, _, y = moons
    for clf, text in (
        (sm.S3VM(search="golden"), "annealing"),
        (sm.LapSVM(graph=500), "500.*120|120.*500"),
        (sm.SpectralKernelSVM(q=30, transformation=Transform("step", k=31)), "k=31, but there are 30 eigenpairs"),
        (sm.SpectralKernelSVM(transformation=lambda spectrum: -spectrum.eigenvalues), "finite weights >= 0"),
        (sm.SpectralKernelSVM(transformation=lambda spectrum: np.ones(3)), r"shape \(3,\)"),
        (sm.SpectralGraphTransducer(q=1), "take q >= 2"),
    ):
        with pytest.raises(ValueError, match=text):
            clf.fit(X, y)


@pytest.mark.parametrize("cls", [*GRAPH, sm.RMM])
def test_two_labels_are_enough(cls, moons):
    X, y_true, _ = moons
    y = sm.hide_labels(y_true, per_class=1, random_state=0)
    # A threshold that follows the shares of the classes may leave a label on its other side.
    plain = cls(class_balance=None) if "class_balance" in cls().get_params() else cls()
    fitted = plain.fit(X, y)
    assert fitted.result_.certificate.is_optimal(1e-6)
    np.testing.assert_array_equal(fitted.transduction_[y != -1], y[y != -1])


@pytest.mark.filterwarnings("ignore::specmargin.exceptions.DisconnectedGraphWarning")
@pytest.mark.parametrize("cls", GRAPH)
def test_labelled_samples_in_a_component_of_their_own(cls, moons):
    X, _, y = moons
    known = y != -1
    W = sm.graphs.knn_graph(X, n_neighbors=6).toarray() * (known[:, None] == known)
    W[np.ix_(known, known)] = 1.0 - np.eye(known.sum())
    fitted = cls().fit(X, y, graph=W)
    assert fitted.result_.certificate.is_optimal(1e-6)
    assert np.isfinite(fitted.decision_function(X)).all()


def test_labels_that_no_eigenvector_tells_apart():
    """Twins have equal values in every low eigenvector: their alignment is undefined, a margin merely useless."""
    path = np.diag(np.ones(5), 1)
    path = path + path.T
    W = np.zeros((8, 8))
    W[:6, :6] = path
    W[6, 2] = W[2, 6] = W[7, 2] = W[2, 7] = 1.0  # two leaves on one node
    X, y = np.arange(8.0)[:, None], np.array([-1, -1, -1, -1, -1, -1, 0, 1])
    with pytest.raises(ValueError, match="none of the q=3 eigenvectors correlates with the 2 labels"):
        sm.KTA(q=3).fit(X, y, graph=W)
    assert sm.STORM(q=3).fit(X, y, graph=W).result_.certificate.is_optimal(1e-6)


def test_warnings_point_at_the_line_that_calls_fit():
    X, y = sm.datasets.make_two_moons(n_samples=24, random_state=0)
    with pytest.warns(sm.exceptions.MarkerWarning, match="no sample carries the marker") as caught:
        sm.LapSVM().fit(X, y)
    assert {one.filename for one in caught} == {__file__}
