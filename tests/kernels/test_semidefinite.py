"""What is no kernel is refused wherever a certificate would rest on it."""

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.kernels import (
    BlockKernel,
    Landmarks,
    Polynomial,
    gram,
    is_semidefinite,
    landmark_features,
    require_semidefinite,
)
from specmargin.kernels.maps import deformed_kernel
from specmargin.kernels.semidefinite import require_minors, symmetric


def tanh(A, B):
    return np.tanh(2.0 * A @ B.T - 1.0)


@pytest.fixture
def indefinite(rng):
    A = rng.standard_normal((12, 12))
    return A + A.T


def with_spectrum(rng, values):
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    K = (Q * values) @ Q.T
    return (K + K.T) / 2


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 1e150])
@pytest.mark.parametrize("n", [2, 30])
def test_the_sign_of_the_least_eigenvalue_decides_at_any_scale(rng, scale, n):
    values = np.linspace(1.0, 2.0, n)
    values[0] = 0.0
    require_semidefinite(scale * with_spectrum(rng, values))
    values[0] = -1e-10  # rounding
    require_semidefinite(scale * with_spectrum(rng, values))
    values[0] = -1e-5
    with pytest.raises(ValueError, match="K is no kernel: it has the eigenvalue -"):
        require_semidefinite(scale * with_spectrum(rng, values))


def test_kernels_that_are_rounded_to_single_precision_pass(rng):
    X = rng.standard_normal((300, 3))
    require_semidefinite(gram(X, gamma=0.01).astype(np.float32).astype(np.float64))
    require_semidefinite(gram(X, kernel="linear"))
    require_semidefinite(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="no kernel"):
        require_semidefinite(-np.eye(3))


@pytest.mark.parametrize(
    "keywords",
    [{"kernel": "rbf"}, {"kernel": "linear"}, {"kernel": "cosine"}, {"kernel": "poly", "degree": 4, "coef0": 0.5}],
)
def test_kernels_that_need_no_check_are_semidefinite(rng, keywords):
    X = rng.standard_normal((40, 5))
    keywords = {"degree": 3, "coef0": 1.0, **keywords}
    assert is_semidefinite(**keywords)
    values = np.linalg.eigvalsh(gram(X, gamma=0.5, **keywords))
    assert values[0] > -1e-12 * values[-1]


def test_polynomials_of_a_negative_constant_are_checked(rng):
    X = rng.standard_normal((10, 2))
    keywords = {"kernel": "poly", "degree": 2, "coef0": -1.0}
    assert not is_semidefinite(**keywords)
    assert not is_semidefinite("poly", degree=2.5)
    with pytest.raises(ValueError, match="no kernel"):
        require_semidefinite(gram(X, gamma=1.0, **keywords), **keywords)


# Where it is asked


@pytest.mark.parametrize("estimator", [sm.LapSVM, sm.LapRLS])
def test_manifold_classifiers_refuse_indefinite_kernels(rng, indefinite, estimator):
    y = [0] * 3 + [1] * 3 + [-1] * 6
    graph = np.ones((12, 12)) - np.eye(12)
    with pytest.raises(ValueError, match="no kernel"):
        estimator(kernel="precomputed").fit(indefinite, y, graph=graph)
    X = rng.standard_normal((12, 3))
    with pytest.raises(ValueError, match="the kernel matrix is no kernel"):
        estimator(kernel=tanh, graph=3).fit(X, y)
    with pytest.raises(ValueError, match="no kernel"):
        estimator(kernel=Polynomial(2, 1.0, coef0=-3.0), graph=3).fit(X, y)
    with pytest.raises(ValueError, match="no kernel"):
        estimator(kernel=tanh, graph=3, functions=Landmarks(12)).fit(X, y)


def test_objectives_and_maps_refuse_indefinite_kernels(rng, indefinite):
    labels = sm.encode_labels([0] * 3 + [1] * 3 + [-1] * 6)
    with pytest.raises(ValueError, match="K is no kernel"):
        sm.objectives.LapSVM(indefinite, None, labels)
    with pytest.raises(ValueError, match="no kernel"):
        deformed_kernel(indefinite, np.eye(12), 1.0)
    X = rng.standard_normal((12, 3))
    with pytest.raises(ValueError, match="the kernel of the landmarks is no kernel"):
        landmark_features(X, 12, kernel=tanh)
    with pytest.raises(ValueError, match="the kernel of 12 samples is no kernel"):
        BlockKernel(X, kernel=tanh)
    assert BlockKernel(X, kernel=lambda A, B: A @ B.T).trace() > 0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("n", [1, 7, 300])
def test_rounding_is_averaged_away_and_more_is_refused(form, n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    A = A + A.T
    same = form(A)
    assert symmetric(same) is same
    near = A * (1 + 1e-10 * rng.normal(size=(n, n)))
    mean = symmetric(form(near))
    np.testing.assert_array_equal(mean.toarray() if sp.issparse(mean) else mean, (near + near.T) / 2)
    if n > 1:
        near[n - 1, n // 2 - 1] += 1e-6
        with pytest.raises(ValueError, match=rf"A is not symmetric: K\[.*{n - 1}.*\] = .*\.T\) / 2"):
            symmetric(form(near), "A")


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array])
def test_an_adjacency_is_no_laplacian(form):
    W = sm.graphs.knn_graph(np.random.default_rng(0).normal(size=(700, 2)), n_neighbors=4)
    L = sm.graphs.laplacian(W, normalized=False).matrix
    require_minors(form(L.toarray()))
    require_minors(form(np.zeros((3, 3))))
    i, j = (int(at[0]) for at in np.nonzero(W.toarray()))
    with pytest.raises(ValueError, match=rf"L\[{i}, {j}\] is 1 between 0 and 0 .*graphs\.laplacian"):
        require_minors(form(W.toarray()))
    spoilt = L.toarray()
    spoilt[690, 600] = spoilt[600, 690] = -20.0
    with pytest.raises(ValueError, match=r"L\[600, 690\] is -20 between"):
        require_minors(form(spoilt))
