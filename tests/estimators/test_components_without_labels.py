"""Components of the graph without a label, over a spectrum: they change nothing elsewhere."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import specmargin as sm
from specmargin.exceptions import ClassShareWarning, DisconnectedGraphWarning
from specmargin.graphs import KNN

pytestmark = pytest.mark.filterwarnings(
    "ignore::specmargin.exceptions.DisconnectedGraphWarning", "ignore::specmargin.exceptions.UndecidedWarning"
)
METHODS = [
    sm.STORM(B=1.2), sm.STOAM(), sm.MKL(), sm.KTA(), sm.SpectralRidge(), sm.SpectralRidge(refine="kmeans"),
    sm.SpectralGraphTransducer(), sm.SpectralKernelSVM(), sm.SpectralKernelSVM(transformation="inverse"),
    sm.XuSpectralSVM(), sm.STOAM(solver="CLARABEL"),
]  # fmt: skip


@pytest.fixture(scope="module")
def blocks():
    """Two random blocks of 40 nodes, four labels in each, and as sparse as keeps them in one piece."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 40)
    A = np.triu(rng.random((80, 80)) < np.where(truth[:, None] == truth, 0.2, 0.02), 1).astype(float)
    y = np.full(80, -1)
    y[[0, 1, 2, 3, 40, 41, 42, 43]] = [0] * 4 + [1] * 4
    assert sm.graphs.components(A + A.T).n == 1
    return sp.csr_array(A + A.T), y


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_nodes_that_no_label_reaches_change_nothing(blocks, method, several):
    """More of them than eigenvectors; one piece is a triangle. As without them, they get the intercept."""
    W, y = blocks
    if several:
        y = np.where((np.arange(80) % 2 == 1) & (y == 1), 2, y)
    method = clone(method).set_params(q=30)
    alone = clone(method).fit(None, y, graph=W)
    more = sp.block_diag([sp.csr_array((20, 20)), W, np.ones((3, 3)) - np.eye(3), sp.csr_array((40, 40))], format="csr")
    longer = np.r_[np.full(20, -1), y, np.full(43, -1)]
    fitted = clone(method).fit(None, longer, graph=more)
    core = slice(20, 100)
    np.testing.assert_allclose(fitted.scores_[core], alone.scores_, atol=1e-4)
    np.testing.assert_array_equal(fitted.transduction_[core], alone.transduction_)
    np.testing.assert_allclose(fitted.delta_, alone.delta_, atol=1e-5)
    outside = np.delete(fitted.scores_, np.arange(20, 100), axis=0)
    assert np.ptp(outside, axis=0).max() < 1e-12
    if getattr(method, "refine", None) is None:
        np.testing.assert_allclose(outside[0], fitted.balance_(np.squeeze(fitted.intercept_)), atol=1e-12)
    again = clone(method).fit(None, longer, graph=fitted.spectrum_)
    np.testing.assert_array_equal(again.scores_, fitted.scores_)
    if not several and hasattr(method, "build_problem"):
        value = sm.solve(method.build_problem(None, longer, graph=more)).certificate.primal_objective
        assert value == pytest.approx(fitted.result_.certificate.primal_objective, rel=1e-4)


def test_eigenpairs_of_all_serve_those_of_some(blocks):
    W, y = blocks
    more = sp.block_diag([W, sp.csr_array((10, 10))], format="csr")
    longer = np.r_[y, np.full(10, -1)]
    spectrum = sm.spectra.laplacian_eigenpairs(more, q=90, normalized=True)
    whole = sm.STOAM(q=90).fit(None, longer, graph=spectrum)
    np.testing.assert_allclose(whole.scores_, sm.STOAM(q=80).fit(None, longer, graph=more).scores_, atol=1e-4)
    np.testing.assert_allclose(whole.scores_[:80], sm.STOAM(q=80).fit(None, y, graph=W).scores_, atol=1e-4)


@pytest.mark.parametrize("cls", [sm.STORM, sm.KTA])
def test_a_search_leaves_them_out_too(cls):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 0], [40, 40, 30])
    X = rng.standard_normal((110, 2)) + np.column_stack([3.0 * truth, 50.0 * (np.arange(110) >= 80)])
    y = np.full(110, -1)
    y[[0, 1, 2, 3, 40, 41, 42, 43]] = [0] * 4 + [1] * 4
    grid = {"graph": [KNN(10)], "q": [30], "B": [np.inf], "C": [1.0, 10.0]}
    search = sm.LabelSearch(cls(), grid, cv=4)
    fitted, alone = clone(search).fit(X, y), search.fit(X[:80], y[:80])
    assert fitted.best_params_["C"] == alone.best_params_["C"]
    np.testing.assert_allclose(fitted.scores_[:80], alone.scores_, atol=1e-4)
    np.testing.assert_allclose(fitted.decision_function(X[:5] + 0.01), alone.decision_function(X[:5] + 0.01), atol=1e-4)


@pytest.mark.parametrize(
    "method", [sm.STORM(), sm.SpectralRidge(), sm.SpectralGraphTransducer(), sm.LapRLS()], ids=repr
)
def test_the_warning_speaks_of_the_method_and_of_the_graph(blocks, method):
    W, y = blocks
    more, longer = sp.block_diag([W, sp.csr_array((9, 9))], format="csr"), np.r_[y, np.full(9, -1)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(method).fit(sp.eye_array(89), longer, graph=more)
    (text,) = [str(one.message) for one in caught if one.category is DisconnectedGraphWarning]
    assert "9 with 9 samples hold no label" in text
    assert ("by the intercept alone" in text) == (not isinstance(method, sm.LapRLS))
    assert "to one that was passed add the edges that it lacks" in text
    assert not [one for one in caught if one.category is ClassShareWarning]
