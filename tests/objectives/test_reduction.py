"""The reduction to the labelled samples against its definition, solved by numpy, for every form of kernel and graph."""

import numpy as np
import pytest
import scipy.sparse as sp

from specmargin.exceptions import SolverError
from specmargin.kernels.operators import LowRankKernel
from specmargin.objectives import LapSVM
from specmargin.objectives.reduction import Applied, _refined, deformed, graph_product, reduce


def by_definition(K, L, labeled, gamma_A, gamma_I):
    """X = S^-1 J' and G = J K X."""
    S = gamma_A * np.eye(len(K)) + gamma_I * (L @ K)
    X = np.linalg.solve(S, np.eye(len(K))[:, labeled])
    return X, K[labeled] @ X


@pytest.fixture
def low_rank(manifold_data, rng):
    """A factor of three columns, and the Laplacian and labels of 18 samples."""
    _, L, labels = manifold_data()
    return rng.normal(size=(18, 3)), L, labels.labeled


FORMS = {
    "dense": lambda K, L: (K, L),
    "sparse graph": lambda K, L: (K, sp.csr_array(L)),
    "sparse kernel": lambda K, L: (sp.csr_array(K), sp.csr_array(L)),
    "product known": lambda K, L: (K, Applied(L, K, L @ K)),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_it_is_the_inverse_at_the_labelled_samples(form, dtype, manifold_data):
    """In either precision of the factorisation, and through the damped form."""
    K, L, labels = manifold_data()
    found = reduce(*form(K, L), labels.labeled, 0.1, 0.5, dtype)
    X, G = by_definition(K, L, labels.labeled, 0.1, 0.5)
    np.testing.assert_allclose(found.X, X, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.G, G, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.coefficients(np.arange(7.0)), X @ np.arange(7.0), rtol=0, atol=1e-11)
    assert found.damped.dtype == np.float64
    assert found.c == 0.005


def test_of_a_kernel_of_low_rank_it_is_that_of_the_stored_one(low_rank):
    F, L, labeled = low_rank
    X, G = by_definition(F @ F.T, L, labeled, 0.1, 0.5)
    found = reduce(LowRankKernel(F), L, labeled, 0.1, 0.5)
    np.testing.assert_allclose(found.G, G, rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.X, X, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.coefficients(np.arange(7.0)), X @ np.arange(7.0), rtol=0, atol=1e-10)
    other = found.scaled(4.0)  # both gammas divided by four
    X, G = by_definition(F @ F.T, L, labeled, 0.025, 0.125)
    np.testing.assert_allclose(other.G, G, rtol=0, atol=1e-10)
    np.testing.assert_allclose(other.X, X, rtol=0, atol=1e-9)
    np.testing.assert_allclose(other.coefficients(np.arange(7.0)), X @ np.arange(7.0), rtol=0, atol=1e-9)


@pytest.mark.parametrize("gamma_I", [0.0, 0.7])
def test_without_a_graph_it_is_the_kernel_itself(gamma_I, low_rank):
    F, L, labeled = low_rank
    for K in (LowRankKernel(F), F @ F.T):
        found = reduce(K, None if gamma_I else L, labeled, 0.5, 0.0)
        np.testing.assert_allclose(found.G, 2.0 * F[labeled] @ F[labeled].T, rtol=0, atol=1e-13)
        np.testing.assert_array_equal(found.X, 2.0 * np.eye(18)[:, labeled])


def test_a_graph_is_applied_panel_by_panel(rng):
    L, K = rng.normal(size=(150, 150)), rng.normal(size=(150, 150))
    np.testing.assert_allclose(graph_product(L, K), L @ K, atol=1e-12)
    assert graph_product(L, K, np.float32).dtype == np.float32


def test_a_deformed_kernel_is_that_of_fractions_of_its_eigenvalues(rng):
    """G = H (I - c H)^-1; eigenvalues that rounding put outside [0, 1/c] count as its ends."""
    V = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    h = np.array([-1e-12, 0.0, 0.3, 0.9])
    G, gain = deformed((V * h) @ V.T, 1.0)
    exact = np.array([0.0, 0.0, 3.0 / 7.0, 9.0])
    np.testing.assert_allclose(np.diag(V.T @ G @ V), exact, atol=1e-10)
    np.testing.assert_allclose(gain, np.eye(4) + G, atol=1e-10)
    beyond = np.linalg.eigvalsh(deformed(np.diag([0.5, 1.0 + 1e-12]), 1.0)[0])
    assert np.isfinite(beyond).all()
    assert beyond[0] == pytest.approx(1.0)
    assert beyond[1] > 1e14


def refined_by(correction, exact, start=0.0):
    """What iterative refinement of a scalar equation makes of a solver that is off by that factor, and its calls."""
    calls = []

    def solve(r):
        calls.append(r)
        return correction * r

    return _refined(np.array([start]), solve, lambda x: exact - x), len(calls)


def test_refinement_goes_on_until_nothing_changes():
    x, calls = refined_by(0.9, np.array([3.0]))
    assert x[0] == pytest.approx(3.0, rel=1e-15)
    assert 14 <= calls <= 18  # every one gains a digit


def test_refinement_that_gets_nowhere_is_refused():
    """A solver that is off by 60 % contracts too slowly, one that is off by 300 % not at all."""
    for correction in (0.3, 4.0, np.nan):
        with pytest.raises(SolverError, match="float32 is too coarse"):
            refined_by(correction, np.array([3.0]), start=1.0)


def test_refinement_may_end_at_the_rounding_of_the_residual():
    """Corrections that no longer shrink, but are small: the answer stands."""
    noise = iter([1.0, 1e-3, 1e-6, 1e-10, 1e-10])
    x = _refined(np.array([1.0]), lambda r: r, lambda x: np.array([next(noise)]))
    assert x[0] == pytest.approx(2.0 + 1e-3 + 1e-6 + 1e-10, abs=1e-14)


def test_what_has_no_symmetric_reduction_is_refused(manifold_data):
    """Where G comes out asymmetric, S was singular to rounding, or no S at all."""
    K, L, labels = manifold_data()
    skew = np.triu(np.ones((18, 18)), 1)
    with pytest.raises(SolverError, match="singular to rounding"):
        reduce(K, L + 0.01 * skew, labels.labeled, 0.1, 1.0)
    with pytest.raises(SolverError, match="singular to rounding"):
        reduce(LowRankKernel(np.ones((18, 1))), L - np.eye(18), labels.labeled, 0.1, 1.0)
    found = reduce(K, L + 1e-9 * skew, labels.labeled, 0.1, 1.0)
    np.testing.assert_array_equal(found.G, found.G.T)


def test_the_reduction_is_computed_once_and_shared_at_the_same_ratio(manifold_data):
    K, L, labels = manifold_data()
    obj = LapSVM(K, L, labels, gamma_A=0.1, gamma_I=0.5)
    assert not obj.is_reduced
    G = obj.reduction.G
    assert obj.is_reduced
    assert obj.with_(loss="squared").reduction is obj.reduction
    other = obj.with_(gamma_A=0.2, gamma_I=1.0)
    assert other.is_reduced
    np.testing.assert_allclose(other.reduction.G, G / 2, rtol=1e-15)
    assert not obj.with_(gamma_A=0.2).is_reduced


def test_an_objective_is_reduced_in_either_precision(manifold_data):
    K, L, labels = manifold_data()
    obj = LapSVM(K, L, labels, gamma_A=0.1, gamma_I=0.5)
    G = by_definition(K, L, labels.labeled, 0.1, 0.5)[1]
    for dtype in (np.float32, np.float64):
        other = obj.reduced(dtype)
        assert other.is_reduced
        assert not obj.is_reduced
        assert (other.gamma_A, other.gamma_I, other.loss) == (0.1, 0.5, obj.loss)
        np.testing.assert_allclose(other.reduction.G, G, rtol=0, atol=1e-12)
    assert LapSVM(K, L, labels, fit_intercept=False).constant() == 0.0
