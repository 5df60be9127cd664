"""What objectives are given, because it is known already, they take as it is, and what they have they share."""

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin import objectives
from specmargin.objectives.rounding import lapsvm as rounding
from specmargin.objectives.rounding.lapsvm import Products

N = 6
LABELS = sm.encode_labels([0, 1, -1, -1, -1, -1])
X, EYE = np.arange(12.0).reshape(N, 2), np.eye(N)


def test_decisions_that_are_given_are_those_that_count(rng):
    """Of a value, of a gradient, and of how far that is from zero."""
    s3vm = objectives.S3VM(X, LABELS, "squared_hinge", C_star=0.5, intercept="regularized")
    svm = objectives.WeightedSVM(objectives.Features(X), np.ones(N), 2.0 * np.ones(N))
    f, zero = rng.normal(size=N), np.zeros(s3vm.size)
    other = s3vm.charged(s3vm.loss.value(LABELS.sign * f[LABELS.labeled]))
    other += s3vm.C_star * s3vm.unlabeled_loss.value(f[s3vm.unlabeled]).sum()
    assert s3vm.value_at(zero, f) == pytest.approx(other, rel=1e-12)
    np.testing.assert_array_equal(s3vm.gradient(zero, f), s3vm.features.adjoint(s3vm.slopes(f)))
    w = rng.normal(size=s3vm.size)
    pull, push = s3vm.features.weights * w, s3vm.features.adjoint(s3vm.slopes(f))
    longer = max(np.linalg.norm(pull), np.linalg.norm(push))
    assert s3vm.stationarity(w, f) == pytest.approx(np.linalg.norm(pull + push) / longer, rel=1e-12)
    zero = np.zeros(svm.size)
    assert svm.value_at(zero, f) == pytest.approx(svm.loss.value(f).sum() + 2 * svm.loss.value(-f).sum(), rel=1e-12)
    np.testing.assert_array_equal(svm.gradient(zero, f), svm.features.adjoint(svm.slopes(f)))


def test_products_are_shared_by_all_that_has_the_same_kernel_and_graph():
    """Whether anyone has asked for them before or not."""
    obj = objectives.LapSVM(EYE, EYE, LABELS, gamma_I=0.5)
    for other in (obj.with_(gamma_A=2.0), obj.with_(loss="squared_hinge"), obj.pivoted()):
        assert other.products is obj.products
    fresh = objectives.LapSVM(EYE, EYE, LABELS, gamma_I=0.5)
    assert fresh.pivoted().products is fresh.products


def test_weights_of_labels_are_those_of_the_losses():
    y = sm.encode_labels([0, 1, -1, -1, -1, -1])
    plain, weighted = objectives.S3VM(X, y, C=2.0), objectives.S3VM(X, y.weighted([0.5, 3.0]), C=2.0)
    assert plain.costs == 2.0
    assert weighted.costs.tolist() == [1.0, 6.0]
    assert weighted.guessed(np.ones(4)).minus.max() == 1.0
    f = np.array([0.5, -2.0, 0.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(weighted.slopes(f)[:2], plain.slopes(f)[:2] * [0.5, 3.0])


class ByProducts:
    """A graph of which nothing is known but its products."""

    shape = (N, N)

    def __matmul__(self, x):
        return np.diff(x, n=2, axis=0, prepend=0.0, append=0.0)


@pytest.mark.parametrize("stored", [True, False])
def test_a_graph_that_is_too_large_to_store_is_used_by_its_products(stored, rng, monkeypatch):
    if not stored:
        monkeypatch.setattr(rounding, "_STORED", N - 1)
    L = ByProducts()
    own, x = Products(EYE, L), rng.normal(size=N)
    Lx, error = own.graph(x)
    np.testing.assert_allclose(Lx, L @ x, rtol=1e-13, atol=1e-15)
    assert (error > 0).all() if stored else (error == sm.rounding.gamma(N + 1) * np.abs(Lx)).all()
    spread = own.spread(np.abs(x))
    if stored:
        assert (np.abs(L @ x) <= spread).all()
    else:
        np.testing.assert_array_equal(spread, np.abs(L @ np.abs(x)))
    assert (own.image(x, slices=1) is not None) == stored
    assert own.image(x).g.tolist() == Lx.tolist()
    assert own.is_symmetric == stored


def test_a_graph_whose_products_are_not_symmetric_counts_as_the_mean_of_both(rng):
    M = rng.normal(size=(N, N))

    class Skew(ByProducts):
        def __matmul__(self, x):
            return M @ x

    x = rng.normal(size=N)
    np.testing.assert_allclose(Products(EYE, Skew()).graph(x)[0], (M + M.T) @ x / 2, rtol=1e-12, atol=1e-13)


def test_a_matrix_is_symmetric_or_not_in_every_form():
    skew = EYE + np.diag(np.ones(N - 1), 1)
    for form in (np.asarray, sp.csr_array):
        assert Products(EYE, form(EYE)).is_symmetric
        assert not Products(EYE, form(skew)).is_symmetric
    assert not Products(EYE, None).is_symmetric


def test_another_weight_of_the_loss_keeps_those_of_the_labels(spectrum_data):
    spectrum, labels = spectrum_data()
    heavy = labels.weighted(np.arange(1.0, 9.0))
    K = np.eye(8)
    for obj in (
        objectives.SpectrumMargin(spectrum, heavy),
        objectives.RMM(K, sm.encode_labels([0, 1] * 4).weighted(heavy.weights)),
    ):
        np.testing.assert_array_equal(obj.with_(C=3.0).loss.C, 3.0 * np.arange(1.0, 9.0))
        np.testing.assert_array_equal(obj.with_(B=3.0).loss.C, np.arange(1.0, 9.0))


def test_what_a_spectrum_lacks_of_its_trace_is_reported(spectrum_data):
    """Also where it is so little that the point counts as feasible."""
    obj = objectives.SpectrumMargin(*spectrum_data(), order=False)
    point = {"v": np.zeros(obj.q), "b": 0.0, "delta": np.full(obj.q, obj.rho / obj.q)}
    for off in (1e-11, -1e-11, 0.5):
        found = obj.certificate({**point, "delta": (1 + off) * point["delta"]})
        assert found.primal_residual == pytest.approx(abs(off), rel=1e-3)
