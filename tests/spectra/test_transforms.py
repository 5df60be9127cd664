"""Parametric spectra against the matrices they stand for, and the centre of the ordered spectra against CVXPY."""

import networkx as nx
import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.decomposition import KernelPCA

from specmargin.graphs import knn_graph, laplacian
from specmargin.labels import encode_labels
from specmargin.objectives import SpectrumMargin
from specmargin.problems import mkl, solve
from specmargin.spectra import Spectrum, laplacian_eigenpairs
from specmargin.spectra.transforms import (
    TRANSFORMS,
    analytic_centre,
    diffusion,
    gaussian_field,
    geometric,
    inverse,
    power,
    step,
)

NAMES = pytest.mark.parametrize("name", TRANSFORMS)


@pytest.fixture
def adjacency():
    return knn_graph(np.random.default_rng(2).normal(size=(14, 2)), 3, weight="heat")


@pytest.fixture
def whole(adjacency):
    """All eigenpairs of a connected graph of 14 nodes without ties."""
    spectrum = laplacian_eigenpairs(adjacency, 14, normalized=False)
    assert spectrum.n_components == 1
    assert len(spectrum.block_ends()) == 13
    return spectrum


def kernel(spectrum, delta):
    return (spectrum.eigenvectors * delta) @ spectrum.eigenvectors.T


def of_trace_one(K):
    return K / np.trace(K)


@pytest.mark.parametrize("normalized", [False, True])
def test_kernels_are_functions_of_the_laplacian(adjacency, normalized, tol):
    L = laplacian(adjacency, normalized=normalized).toarray()
    s = laplacian_eigenpairs(adjacency, 14, normalized=normalized)
    for sigma in (0.4, 1.3):
        for delta, K in (
            (diffusion(s, sigma), scipy.linalg.expm(-L / sigma**2)),
            (gaussian_field(s, sigma), np.linalg.inv(L + sigma**2 * np.eye(14))),
            (inverse(s), np.linalg.pinv(L, rcond=1e-10, hermitian=True)),
        ):
            np.testing.assert_allclose(kernel(s, delta), of_trace_one(K), atol=tol["exact"])


def test_the_inverse_gives_effective_resistances(whole, adjacency, tol):
    graph = nx.from_scipy_sparse_array(adjacency)
    K = kernel(whole, inverse(whole)) * (1.0 / whole.eigenvalues[1:]).sum()
    expected = nx.resistance_distance(graph, 2, 9, weight="weight", invert_weight=False)
    assert K[2, 2] + K[9, 9] - 2 * K[2, 9] == pytest.approx(expected, rel=tol["linalg"])


def test_the_null_space_of_a_disconnected_graph(adjacency, tol):
    W = sp.block_diag([adjacency, knn_graph(np.arange(6.0)[:, None], 2), sp.csr_array((1, 1))], format="csr")
    L, s = laplacian(W, normalized=False).toarray(), laplacian_eigenpairs(W, 21, normalized=False)
    assert s.n_components == 3
    np.testing.assert_allclose(kernel(s, diffusion(s, 0.8)), of_trace_one(scipy.linalg.expm(-L / 0.64)), atol=1e-12)
    delta = inverse(s)
    assert delta[0] == 0.0
    np.testing.assert_allclose(delta[1:3], 4 * delta[3:].sum() / 2)
    K, pinv = kernel(s, delta) / (delta[3] * s.eigenvalues[3]), np.linalg.pinv(L, rcond=1e-10, hermitian=True)
    added = K - pinv
    for rows in (slice(0, 14), slice(14, 20)):  # what is added is constant on components: resistances stay
        for columns in (slice(0, 14), slice(14, 20)):
            assert np.ptp(added[rows, columns]) < tol["exact"] * abs(K).max()
    assert abs(added[0, 20]) > 0.01
    null = s.truncate(3)
    assert inverse(null).tolist() == [0.0, 0.5, 0.5]
    assert diffusion(null).tolist() == pytest.approx([1 / 3] * 3)


def test_power_is_the_transducers_matrix_inverted(whole, tol):
    """Theorem 1 of the spectrum paper: the regulariser V Q V' belongs to the kernel V Q^-1 V'."""
    V, i = whole.eigenvectors[:, 1:], np.arange(1.0, 14.0)
    for exponent in (2.0, 0.7):
        K = np.linalg.pinv((V * i**exponent) @ V.T)
        np.testing.assert_allclose(kernel(whole, power(whole, exponent)), of_trace_one(K), atol=tol["linalg"])
    assert power(whole, 0.0).tolist() == pytest.approx([0.0] + [1 / 13] * 13)


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_kernel_pca_is_the_step(whole, adjacency, sigma):
    """Kernel PCA of exp(-L / sigma^2) finds the lowest Laplacian eigenvectors; centring leaves out the constant."""
    K = scipy.linalg.expm(-laplacian(adjacency, normalized=False).toarray() / sigma**2)
    k = 6
    pca = KernelPCA(k - 1, kernel="precomputed").fit(K)
    features = pca.eigenvectors_
    expected = whole.eigenvectors[:, 1:k]
    np.testing.assert_allclose(np.abs(features.T @ expected), np.eye(k - 1), atol=1e-9)
    np.testing.assert_allclose(pca.eigenvalues_, np.exp(-whole.eigenvalues[1:k] / sigma**2), rtol=1e-9)
    # Whitened, its features have the kernel of the step, but for the constant that centring took out.
    delta = step(whole, k)
    assert delta.tolist() == pytest.approx([1 / k] * k + [0.0] * (14 - k))
    whitened = pca.transform(K) / np.sqrt(pca.eigenvalues_)
    np.testing.assert_allclose(whitened @ whitened.T / k + 1 / (14 * k), kernel(whole, delta), atol=1e-9)


@NAMES
def test_every_transform_is_an_admissible_spectrum(whole, name):
    delta = TRANSFORMS[name](whole)
    assert delta.shape == (14,)
    assert delta.min() >= 0
    assert delta.sum() == pytest.approx(1.0, abs=1e-15)
    assert (np.diff(delta[1:]) <= 0).all()
    np.testing.assert_array_equal(delta, TRANSFORMS[name](whole.eigenvalues))


def test_the_default_width_is_the_mean_of_the_five_smallest_nonzero_eigenvalues(whole):
    theta = np.array([0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0])
    for transform in (diffusion, gaussian_field):
        np.testing.assert_allclose(transform(theta), transform(theta, np.sqrt(3.0)), rtol=1e-14)
        np.testing.assert_allclose(transform(theta[:4]), transform(theta[:4], np.sqrt(1.5)), rtol=1e-14)
        more, fewer = transform(whole), transform(whole.truncate(8))
        np.testing.assert_allclose(fewer, more[:8] / more[:8].sum(), rtol=1e-14)


@NAMES
def test_equal_eigenvalues_get_equal_weights(name):
    """The kernel must not depend on the basis inside a block, so the block shares what its members would have."""
    s = laplacian_eigenpairs(
        nx.to_scipy_sparse_array(nx.cycle_graph(12), dtype=float), 9, normalized=False
    )  # four pairs
    delta = TRANSFORMS[name](s, **({"k": 4} if name == "step" else {}))
    assert (delta[1::2] == delta[2::2]).all()
    assert delta.sum() == pytest.approx(1.0, abs=1e-15)
    if name == "step":  # cuts the second pair
        np.testing.assert_allclose(delta, np.array([1, 1, 1, 0.5, 0.5, 0, 0, 0, 0]) / 4, rtol=1e-15)
    if name == "power":
        r = np.arange(1.0, 9.0) ** -2
        np.testing.assert_allclose(delta, np.append(0, np.repeat(r.reshape(4, 2).mean(axis=1), 2)) / r.sum())


def test_extreme_widths_overflow_nowhere(whole):
    for transform in (diffusion, gaussian_field):
        np.testing.assert_allclose(transform(whole, 1e8), 1 / 14, rtol=1e-12)
    np.testing.assert_allclose(gaussian_field(whole, 1e-9)[0], 1.0)
    with pytest.raises(ValueError, match=r"sigma=0\.001 is so small.*vanishes.*take one near"):
        diffusion(whole, 1e-3)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, 1e-200])
def test_widths_that_are_none(whole, bad):
    for transform in (diffusion, gaussian_field):
        with pytest.raises(ValueError, match=r"sigma=.* must be a positive number, or None"):
            transform(whole, bad)


def test_other_parameters_out_of_range(whole):
    for k in (0, 15, 2.0, True):
        with pytest.raises(ValueError, match=rf"k={k}, but there are 14 eigenpairs; take an integer from 1 to 14"):
            step(whole, k)
    for exponent in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"exponent=.* must be a number >= 0"):
            power(whole, exponent)
    for w in (0.9, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"w=.* must be a number >= 1"):
            analytic_centre(whole, w)


@NAMES
def test_eigenvalues_that_are_none(name):
    for bad, text in (
        ([0.0, np.nan], r"eigenvalues\[1\] is nan"),
        ([], "finite numbers"),
        ([[0.0, 1.0]], r"shape \(1, 2\)"),
        ([0.0, -1.0], "smallest -1"),
        ([0.0, 2.0, 1.0], "largest drop 1"),
    ):
        with pytest.raises(ValueError, match=text):
            TRANSFORMS[name](np.array(bad), **({"k": 1} if name == "step" else {}))


def test_eigenvalues_of_an_eigensolver_are_zero_up_to_rounding(whole):
    for rounding in (-3e-16, 3e-16):
        theta = whole.eigenvalues.copy()
        theta[0] = rounding
        for transform in (inverse, gaussian_field):
            np.testing.assert_array_equal(transform(theta), transform(whole))


def test_a_single_eigenpair():
    one = Spectrum(np.zeros(1), np.full((4, 1), 0.5), n_components=1)
    for name in ("diffusion", "gaussian_field", "inverse", "power"):
        assert TRANSFORMS[name](one).tolist() == [1.0]
    assert analytic_centre(one).tolist() == [1.0]


def test_the_registry_is_read_only():
    with pytest.raises(TypeError):
        TRANSFORMS["diffusion"] = step


# The centre of the ordered spectra


@pytest.mark.parametrize("w", [1.0, 1.2, 2.0])
@pytest.mark.parametrize("ties", [False, True])
def test_the_centre_maximises_the_logarithms_of_the_slacks(w, ties):
    import cvxpy as cp

    theta = np.array([0.0, 1.0, 2.0, 2.0, 2.0, 3.0, 4.0]) if ties else np.arange(7.0)
    delta = cp.Variable(7)
    ends = np.array([1, 4, 5, 6]) if ties else np.arange(1, 7)
    slacks = [delta[0], delta[6], *(delta[i] - w * delta[i + 1] for i in ends[:-1])]
    inside = [delta[i] == delta[i + 1] for i in range(1, 6) if i not in ends]
    cp.Problem(cp.Maximize(cp.sum(cp.log(cp.hstack(slacks)))), [cp.sum(delta) == 1, *inside]).solve(
        solver="CLARABEL", tol_gap_rel=1e-12, tol_gap_abs=1e-12, tol_feas=1e-12
    )
    np.testing.assert_allclose(analytic_centre(theta, w), delta.value, atol=1e-6)


def test_many_eigenvectors_and_a_steep_ratio_neither_over_nor_underflow():
    for w in (1.0, 1.01, 10.0):
        delta = analytic_centre(np.arange(1500.0), w)
        assert np.isfinite(delta).all()
        assert delta.sum() == pytest.approx(1.0, abs=1e-12)
        assert (delta[1:-1] >= w * delta[2:] * (1 - 1e-12)).all()


def test_in_the_problem_of_xu_et_al_the_spectrum_plays_no_part(whole):
    """Their optimal value is twice that of MKL with an absolute margin, for delta free, at one end, or uniform."""
    import cvxpy as cp

    q, C = 8, 3.0
    spectrum = whole.truncate(q)
    labels = encode_labels(np.where(np.arange(14) % 3 < 2, (spectrum.eigenvectors[:, 1] > 0).astype(int), -1))
    y, U = labels.sign, np.sqrt(14) * spectrum.eigenvectors[labels.labeled]
    tight = {"solver": "CLARABEL", "tol_gap_rel": 1e-9, "tol_gap_abs": 1e-9, "tol_feas": 1e-9}

    def literal(signs, fixed=None, w=1.0):
        alpha, rho, delta = cp.Variable(len(signs)), cp.Variable(), cp.Variable(q)
        t, mu = np.ones(q), 1.0
        constraints = [alpha >= 0, alpha <= C, signs @ alpha == 0, delta >= 0, delta @ t == mu]
        constraints += [cp.square(U[:, i] @ cp.multiply(signs, alpha)) / t[i] <= rho for i in range(q)]
        constraints += [delta[i] >= w * delta[i + 1] for i in range(1, q - 1)]
        if fixed is not None:
            constraints.append(delta == fixed)
        problem = cp.Problem(cp.Maximize(2 * cp.sum(alpha) - mu * rho), constraints)
        problem.solve(**tight)
        return problem.value

    free = literal(y)
    for delta, w in ((None, 1.5), (np.eye(q)[0], 1.5), (np.full(q, 1 / q), 1.0), (analytic_centre(spectrum, 1.5), 1.5)):
        assert literal(y, delta, w) == pytest.approx(free, rel=1e-7)
    twice = 2 * solve(mkl(SpectrumMargin(spectrum, labels, C=C, order=False))).certificate.primal_objective
    assert free == pytest.approx(twice, rel=1e-6)


def test_geometric_weights_by_the_loop_and_on_the_border_of_xu(whole):
    w, delta = 1.3, [1.0]
    assert len(whole.block_ends()) == whole.q - 1
    for _ in range(whole.q - 1):
        delta.append(delta[-1] / w)
    np.testing.assert_allclose(geometric(whole, w), np.array(delta) / sum(delta), rtol=1e-13)
    # No admissible spectrum falls slower: the centre's ratios are larger.
    centre = analytic_centre(whole, w)
    assert (centre[1:-1] / centre[2:] > w).all()
    assert geometric(whole, 1.0).tolist() == pytest.approx([1 / whole.q] * whole.q)
    tied = geometric(np.array([0.0, 1.0, 1.0, 2.0]), 2.0) * 15
    assert tied.tolist() == pytest.approx([8.0, 3.0, 3.0, 1.0])
    steep = geometric(np.arange(1500.0), 2.0)
    assert steep.sum() == pytest.approx(1.0)
    assert np.isfinite(steep).all()
    for bad in (0.9, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"w={bad}"):
            geometric(whole, bad)
