"""Parameters that mean the same in every estimator: limits of iterations, seeds, eigenvectors and powers per graph."""

import inspect
from fractions import Fraction

import all_estimators
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import specmargin as sm
from specmargin.estimators._base.parameters import RULES
from specmargin.graphs import Laplacian
from specmargin.kernels import RBF, Landmarks
from specmargin.solvers import Solver
from specmargin.spectra import Eigenvectors, Transform, laplacian_eigenpairs
from specmargin.spectra.eigenpairs import eigenpairs_of

ITERATING = [
    sm.LapSVM(gamma_A=1e-6, loss="squared_hinge", kernel=RBF(2.0), solver="newton"),
    sm.LapSVM(loss="squared_hinge", kernel=RBF(2.0), solver="pcg"),
    sm.STORM(q=20, C=100.0),
    sm.RMM(C=1000.0, kernel=RBF(2.0)),
    sm.S3VM(search="quasi_newton"),
]


@pytest.mark.parametrize("method", ITERATING, ids=lambda method: f"{type(method).__name__}-{len(repr(method))}")
def test_the_limit_of_iterations_reaches_the_solver(moons, method):
    X, y_true, _ = moons
    y = sm.hide_labels(y_true, per_class=30, random_state=0)
    limit = {f"{'search' if hasattr(method, 'search') else 'solver'}__max_iter": 1}
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        clone(method).set_params(**limit).fit(X, y)


@pytest.mark.parametrize("method", [sm.LapSVM(solver="dual"), sm.STORM(solver="CLARABEL"), sm.RMM(solver="CLARABEL")])
def test_solvers_of_cvxpy_have_a_limit_of_their_own(moons, method):
    X, _, y = moons
    with pytest.raises(ValueError, match=r"max_iter=7 limits the solvers of the package.*options="):
        clone(method).set_params(solver__max_iter=7).fit(X, y)


def test_a_search_passes_the_solver_on_to_its_refit(moons):
    X, _, y = moons
    grid = {"kernel": [2.0], "graph": [5], "laplacian": [1], "gamma_I": ["100 gamma_A"]}
    search = sm.LabelSearch(sm.LapSVM(), grid)
    by_default, dual = (clone(search).set_params(estimator__solver=one).fit(X, y) for one in ("auto", "dual"))
    assert (by_default.result_.solver, dual.result_.solver) == ("factorized", "CLARABEL")
    assert dual.best_estimator_.solver == "dual"
    np.testing.assert_allclose(dual.scores_, by_default.scores_, atol=1e-4)
    limited = search.set_params(estimator__solver__max_iter=77).fit(X, y)
    assert limited.best_estimator_.solver == Solver(max_iter=77)


@pytest.mark.parametrize(
    "method",
    [sm.STORM(q=8), sm.SpectralGraphTransducer(q=8), sm.SpectralRidge(q=8), sm.LapSVM(functions=Eigenvectors(8))],
    ids=lambda method: type(method).__name__,
)
@pytest.mark.parametrize("seed", [0, 3])
def test_the_seed_reaches_the_search_for_eigenvectors(moons, monkeypatch, method, seed):
    X, _, y = moons
    seen = []

    def watching(function):
        def watched(*given, **options):
            seen.append(options["random_state"])
            return function(*given, **options)

        return watched

    monkeypatch.setattr("specmargin.spectra.reuse.eigenpairs_of", watching(eigenpairs_of))
    monkeypatch.setattr("specmargin.spectra.parts.laplacian_eigenpairs", watching(laplacian_eigenpairs))
    name = "random_state" if hasattr(method, "random_state") else "functions__random_state"
    fitted = clone(method).set_params(**{name: seed}).fit(X, y)
    assert seen == [seed]
    again = clone(fitted).set_params(**{name: np.random.default_rng(seed)}).fit(X, y)
    assert isinstance(seen[1], np.random.Generator)
    np.testing.assert_allclose(again.scores_, fitted.scores_, atol=1e-6)  # a dense matrix: nothing is drawn


def test_eigenvectors_powers_and_laplacians_graph_by_graph(moons):
    X, _, y = moons
    graphs = [sm.graphs.knn_graph(X, n_neighbors=k) for k in (4, 7)]
    storm = sm.STORM(
        class_balance=None, q=[6, 11], graph=[4, 7], laplacian=[Laplacian(1, False), Laplacian(2, True)]
    ).fit(X, y)
    L = [sm.graphs.laplacian(W, normalized=bool(g), power=1 + g) for g, W in enumerate(graphs)]
    spectra = [laplacian_eigenpairs(one, q=q, normalized=False) for one, q in zip(L, (6, 11), strict=True)]
    np.testing.assert_array_equal(storm.eigenvalues_, np.concatenate([s.eigenvalues for s in spectra]))
    result = sm.solvers.spectrum_margin(sm.objectives.SpectrumMargin(spectra, sm.encode_labels(y), C=1.0, B=1.5))
    np.testing.assert_allclose(storm.scores_, result.variables["f"], atol=1e-9)
    np.testing.assert_allclose(storm.graph_weights_, [storm.delta_[:6].sum(), storm.delta_[6:].sum()])
    np.testing.assert_allclose(storm.decision_function(X), storm.scores_, atol=1e-9)
    passed = sm.STORM(
        class_balance=None, q=[6, 11], graph=[4, 7], laplacian=[Laplacian(1, False), Laplacian(2, True)]
    ).fit(X, y, graph=graphs)
    np.testing.assert_array_equal(passed.scores_, storm.scores_)


def test_the_power_of_the_laplacian_is_that_of_its_eigenvalues(moons):
    X, _, y = moons
    once, twice = (
        sm.SpectralKernelSVM(
            q=15,
            class_balance=None,
            laplacian=Laplacian(power=p, normalized=False),
            transformation=Transform(sigma=0.5),
        ).fit(X, y)
        for p in (1, 2)
    )
    np.testing.assert_allclose(twice.eigenvalues_, once.eigenvalues_**2, atol=1e-12)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, 10), normalized=False, power=2)
    weights = sm.spectra.transforms.diffusion(laplacian_eigenpairs(L, q=15), sigma=0.5)
    np.testing.assert_allclose(twice.delta_, weights / weights.sum(), atol=1e-12)
    one, two = (sm.STORM(q=15, laplacian=Laplacian(power=p, normalized=False)).fit(X, y).scores_ for p in (1, 2))
    np.testing.assert_allclose(one, two, atol=1e-6)  # the order of the eigenvectors is all that STORM sees


@pytest.mark.parametrize("search", ["quasi_newton", "continuation"])
def test_an_s3vm_of_eigenvectors(moons, blobs, search):
    """The kernel is n/q U U', deformed by the graph that the eigenvectors are of."""
    X, y_true, y = moons
    options = {"search": search, "gamma_I": 1.0, "balance": 0.0}
    clf = sm.S3VM(functions=Eigenvectors(20), **options).fit(X, y)
    W = sm.graphs.knn_graph(X, n_neighbors=10)
    U = laplacian_eigenpairs(W, q=20, normalized=True).eigenvectors
    stored = sm.S3VM(kernel="precomputed", **options).fit(len(X) / 20 * U @ U.T, y, graph=W)
    np.testing.assert_allclose(clf.scores_, stored.scores_, atol=1e-3)
    np.testing.assert_allclose(clf.decision_function(X), clf.scores_, atol=1e-9)
    assert (clf.transduction_ == y_true).mean() > 0.9
    assert (clf.predict(X + 1e-3) == clf.transduction_).mean() > 0.95
    with pytest.raises(ValueError, match="which gamma_I=0 leaves out"):
        sm.S3VM(search=search, functions=Eigenvectors(20)).fit(X, y)
    X, y_true, y = blobs
    clf = sm.S3VM(search=search, functions=Eigenvectors(30), gamma_I=1.0, unlabeled="?").fit(X, y)
    assert (clf.transduction_ == y_true).mean() > 0.8


def test_landmarks_of_an_s3vm_are_asked_for_by_their_number_or_their_name(moons):
    X, _, y = moons
    by_number = sm.S3VM(search="quasi_newton", functions=Landmarks(2000)).fit(X, y)
    by_name = sm.S3VM(search="quasi_newton", functions="landmarks").fit(X, y)
    np.testing.assert_array_equal(by_name.scores_, by_number.scores_)
    whole = sm.S3VM(search="quasi_newton", functions="kernel").fit(X, y)
    np.testing.assert_array_equal(whole.scores_, sm.S3VM(search="quasi_newton").fit(X, y).scores_)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (sm.STORM(random_state=np.array(3)), r"random_state=array\(3\) is an array; pass .* random_state=3"),
        (sm.S3VM(C=np.array(0.5)), r"C=array\(0\.5\) is an array; pass .* C=0\.5"),
        (sm.STORM(C=Fraction(1, 3)), r"C=Fraction\(1, 3\) must be a positive number, not of the type Fraction"),
        (sm.RMM(B=Fraction(3, 2)), r"B=Fraction\(3, 2\) must be a number"),
        (sm.LapSVM(kernel=Fraction(1, 3)), r"kernel=Fraction\(1, 3\) is no kernel"),
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


@pytest.mark.parametrize("name", all_estimators.NAMES)
def test_every_default_keeps_its_rule(name):
    """A fit checks what is no default."""
    cls, rules = getattr(sm, name), dict(RULES)
    for one in reversed(cls.__mro__):
        rules |= vars(one).get("_parameter_rules", {})
    for parameter in inspect.signature(cls).parameters.values():
        if parameter.name in rules:
            rules[parameter.name](parameter.name, parameter.default)
