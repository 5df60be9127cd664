"""Parameters that mean the same in every estimator: limits of iterations, seeds, eigenvectors and powers per graph."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import specmargin as sm
from specmargin.estimators._docstrings import documented
from specmargin.estimators._shared_parameters import KernelParameters
from specmargin.spectra import laplacian_eigenpairs

ITERATING = [
    sm.LapSVM(gamma=2.0, gamma_A=1e-6, loss="squared_hinge", solver="newton"),
    sm.LapSVM(gamma=2.0, loss="squared_hinge", solver="pcg"),
    sm.STORM(q=20, C=100.0),
    sm.RMM(gamma=2.0, C=1000.0),
    sm.QuasiNewtonS3VM(gamma=2.0),
]


@pytest.mark.parametrize("method", ITERATING, ids=lambda method: f"{type(method).__name__}-{len(repr(method))}")
def test_the_limit_of_iterations_reaches_the_solver(moons, method):
    X, y_true, _ = moons
    y = sm.hide_labels(y_true, per_class=30, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        clone(method).set_params(max_iter=1).fit(X, y)


def test_the_transducer_passes_its_limit_and_options_on(moons, monkeypatch):
    X, _, y = moons
    seen = []
    genuine = sm.solvers.graph_transducer

    def watched(obj, **options):
        seen.append(options)
        return genuine(obj, **options)

    monkeypatch.setattr(sm.solvers, "graph_transducer", watched)
    sm.SpectralGraphTransducer(q=15).fit(X, y)
    sm.SpectralGraphTransducer(q=15, tol=1e-5, max_iter=50).fit(X, y)
    sm.SpectralGraphTransducer(q=15, solver_params={"max_iter": 60}).fit(X, y)
    assert seen == [{"tol": 1e-6}, {"tol": 1e-5, "max_iter": 50}, {"tol": 1e-6, "max_iter": 60}]


@pytest.mark.parametrize("method", [sm.LapSVM(solver="dual"), sm.STORM(solver="CLARABEL"), sm.RMM(solver="CLARABEL")])
def test_solvers_of_cvxpy_have_a_limit_of_their_own(moons, method):
    X, _, y = moons
    with pytest.raises(ValueError, match=r"max_iter=7 limits the solvers of the package.*solver_params="):
        clone(method).set_params(max_iter=7).fit(X, y)


@pytest.mark.parametrize("cls", [sm.LapSVMCV, sm.LapRLSCV])
def test_a_search_passes_the_solver_on_to_its_refit(moons, cls):
    X, _, y = moons
    grid = {"kernels": ["rbf"], "gammas": [2.0], "n_neighbors": [5], "powers": [1], "ratios": [1e2]}
    by_default, dual = cls(**grid).fit(X, y), cls(**grid, solver="dual").fit(X, y)
    assert (by_default.result_.solver, dual.result_.solver) == ("factorized", "CLARABEL")
    assert dual.estimator_.solver == "dual"
    np.testing.assert_allclose(dual.scores_, by_default.scores_, atol=1e-4)
    assert cls(**grid, max_iter=77).fit(X, y).estimator_.max_iter == 77


@pytest.mark.parametrize(
    "method",
    [sm.STORM(q=8), sm.SpectralGraphTransducer(q=8), sm.SpectralRidge(q=8), sm.LapSVM(span="eigenvectors", q=8)],
    ids=lambda method: type(method).__name__,
)
@pytest.mark.parametrize("seed", [0, 3])
def test_the_seed_reaches_the_search_for_eigenvectors(moons, monkeypatch, method, seed):
    X, _, y = moons
    seen = []

    def watched(W, **options):
        seen.append(options["random_state"])
        return laplacian_eigenpairs(W, **options)

    for module in ("_spectrum_classifier", "_feature_maps", "spectral_ridge"):
        monkeypatch.setattr(f"specmargin.estimators.{module}.laplacian_eigenpairs", watched)
    fitted = clone(method).set_params(random_state=seed).fit(X, y)
    assert seen == [seed]
    again = clone(fitted).set_params(random_state=np.random.default_rng(seed)).fit(X, y)
    assert isinstance(seen[1], np.random.Generator)
    np.testing.assert_allclose(again.scores_, fitted.scores_, atol=1e-6)  # a dense matrix: nothing is drawn


def test_eigenvectors_powers_and_laplacians_graph_by_graph(moons):
    X, _, y = moons
    graphs = [sm.graphs.knn_graph(X, n_neighbors=k) for k in (4, 7)]
    storm = sm.STORM(q=[6, 11], n_neighbors=[4, 7], normalized=[False, True], power=[1, 2]).fit(X, y)
    L = [sm.graphs.laplacian(W, normalized=bool(g), power=1 + g) for g, W in enumerate(graphs)]
    spectra = [laplacian_eigenpairs(one, q=q) for one, q in zip(L, (6, 11), strict=True)]
    np.testing.assert_array_equal(storm.eigenvalues_, np.concatenate([s.eigenvalues for s in spectra]))
    result = sm.solvers.spectrum_margin(sm.objectives.SpectrumMargin(spectra, sm.encode_labels(y), C=1.0, B=1.5))
    np.testing.assert_allclose(storm.scores_, result.variables["f"], atol=1e-9)
    np.testing.assert_allclose(storm.graph_weights_, [storm.delta_[:6].sum(), storm.delta_[6:].sum()])
    np.testing.assert_allclose(storm.decision_function(X), storm.scores_, atol=1e-9)
    passed = sm.STORM(q=[6, 11], normalized=[False, True], power=[1, 2], n_neighbors=[4, 7]).fit(X, y, graph=graphs)
    np.testing.assert_array_equal(passed.scores_, storm.scores_)


def test_the_power_of_the_laplacian_is_that_of_its_eigenvalues(moons):
    X, _, y = moons
    once, twice = (
        sm.SpectralKernelSVM(q=15, sigma=0.5, power=p, normalized=False, class_balance=None).fit(X, y) for p in (1, 2)
    )
    np.testing.assert_allclose(twice.eigenvalues_, once.eigenvalues_**2, atol=1e-12)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, 10), normalized=False, power=2)
    weights = sm.spectra.transforms.diffusion(laplacian_eigenpairs(L, q=15), sigma=0.5)
    np.testing.assert_allclose(twice.delta_, weights / weights.sum(), atol=1e-12)
    one, two = (sm.STORM(q=15, power=p, normalized=False).fit(X, y).scores_ for p in (1, 2))
    np.testing.assert_allclose(one, two, atol=1e-6)  # the order of the eigenvectors is all that STORM sees


@pytest.mark.parametrize("cls", [sm.QuasiNewtonS3VM, sm.ContinuationS3VM])
def test_an_s3vm_in_the_span_of_eigenvectors(moons, blobs, cls):
    """The kernel is n/q U U', deformed by the graph that the eigenvectors are of."""
    X, y_true, y = moons
    options = {"gamma_I": 1.0, "balance": 0.0}
    clf = cls(span="eigenvectors", q=20, **options).fit(X, y)
    W = sm.graphs.knn_graph(X, n_neighbors=10)
    U = laplacian_eigenpairs(W, q=20, normalized=True).eigenvectors
    stored = cls(kernel="precomputed", **options).fit(len(X) / 20 * U @ U.T, y, graph=W)
    np.testing.assert_allclose(clf.scores_, stored.scores_, atol=1e-3)
    np.testing.assert_allclose(clf.decision_function(X), clf.scores_, atol=1e-9)
    assert (clf.transduction_ == y_true).mean() > 0.9
    assert (clf.predict(X + 1e-3) == clf.transduction_).mean() > 0.95
    with pytest.raises(ValueError, match="which gamma_I=0 leaves out"):
        cls(span="eigenvectors").fit(X, y)
    X, y_true, y = blobs
    assert (cls(span="eigenvectors", q=30, gamma_I=1.0, unlabeled="?").fit(X, y).transduction_ == y_true).mean() > 0.8


def test_landmarks_of_an_s3vm_are_asked_for_by_their_number_or_their_name(moons):
    X, _, y = moons
    by_number = sm.QuasiNewtonS3VM(gamma=2.0, n_landmarks=2000).fit(X, y)
    by_name = sm.QuasiNewtonS3VM(gamma=2.0, span="landmarks").fit(X, y)
    np.testing.assert_array_equal(by_name.scores_, by_number.scores_)
    whole = sm.QuasiNewtonS3VM(gamma=2.0, span="kernel", n_landmarks=10).fit(X, y)
    np.testing.assert_array_equal(whole.scores_, sm.QuasiNewtonS3VM(gamma=2.0).fit(X, y).scores_)


def test_a_parameter_without_a_description_is_noticed():
    class Silent(KernelParameters):
        """A class.

        Parameters
        ----------
        loud : int
            It is described.
        """

        def __init__(self, loud=1, silent=2):
            pass

    Silent.__module__ = "specmargin.silent"
    with pytest.raises(sm.exceptions.InvalidInputError, match="no class describes the parameters silent"):
        documented(Silent)
    Silent.__init__ = lambda self, loud=1: None
    assert "loud : int, default 1\n" in documented(Silent).__doc__


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (sm.STORM(n_neighbors=np.array(5)), r"n_neighbors=array\(5\) is an array; pass .* n_neighbors=5"),
        (sm.LapSVM(random_state=np.array(3)), r"random_state=array\(3\) is an array; pass .* random_state=3"),
        (sm.QuasiNewtonS3VM(C=np.array(0.5)), r"C=array\(0\.5\) is an array; pass .* C=0\.5"),
        (sm.STORM(C=Fraction(1, 3)), r"C=Fraction\(1, 3\) must be a positive number, not of the type Fraction"),
        (sm.RMM(B=Fraction(3, 2)), r"B=Fraction\(3, 2\) must be a number"),
        (sm.LapSVM(gamma=Fraction(1, 3)), r"gamma=Fraction\(1, 3\)"),
        (sm.LapSVM(class_weight={0: Fraction(1, 3)}), r"Fraction\(1, 3\)"),
    ],
)
def test_numbers_that_numpy_does_not_compute_with_are_refused_by_name(moons, method, message):
    with pytest.raises(ValueError, match=message):
        clone(method).fit(moons[0], moons[2])


@pytest.mark.parametrize("C", [np.float32(2.0), np.int64(2), np.float64(2.0)])
def test_numbers_of_numpy_are_numbers(moons, C):
    X, _, y = moons
    np.testing.assert_array_equal(sm.STORM(C=C, q=20).fit(X, y).scores_, sm.STORM(C=2.0, q=20).fit(X, y).scores_)
