"""The ridge objective against its literal formula, CVXPY, finite differences, refitting, and LapRLS."""

import networkx as nx
import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives.spectral_ridge import SpectralRidge, power_spectrum
from specmargin.spectra import Spectrum
from specmargin.spectra.transforms import inverse

KINDS = ("simple", "tied", "split")
kinds = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="session")
def case(spectrum_data):
    """Return make(kind, n_classes, l, ...) -> objective; more than two classes make columns of signs."""

    def make(kind="simple", n_classes=2, l=8, q=9, n=24, penalty=0.2, power=2.0, seed=0):
        spectrum, _ = spectrum_data(kind, n=n, q=q, seed=seed)
        rng = np.random.default_rng(seed)
        y = np.full(n, -1)
        y[rng.permutation(n)[:l]] = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=l - n_classes)])
        return SpectralRidge(spectrum, sm.encode_labels(y), power_spectrum(spectrum, power), penalty)

    return make


def scaled_rows(obj):
    return np.sqrt(obj.spectrum.n_samples) * obj.spectrum.eigenvectors[obj.labels.labeled]


def solution(obj, keep=slice(None)):
    """Coefficients and intercepts by least squares on stacked rows, without normal equations: (q, K) and (K,)."""
    root = np.sqrt(obj.delta)
    X, y = (scaled_rows(obj) * root)[keep], obj.labels.sign[keep]
    stacked = np.block([[X, np.ones((len(X), 1))], [np.sqrt(obj.penalty) * np.eye(obj.q), np.zeros((obj.q, 1))]])
    target = np.concatenate([y, np.zeros((obj.q, *y.shape[1:]))])
    found = np.linalg.lstsq(stacked, target, rcond=None)[0]
    return (found[:-1].T * root).T, found[-1]


def random_point(obj, seed=0, size=1.0):
    rng = np.random.default_rng(seed)
    tail = obj.labels.sign.shape[1:]
    v = size * rng.normal(size=(obj.q, *tail))
    v[obj.delta == 0] = 0.0
    return v, rng.normal(size=tail)


# The objective


@kinds
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_value_is_the_literal_sum(case, kind, n_classes, tol):
    obj = case(kind, n_classes, l=11)
    v, b = random_point(obj)
    columns, offsets = v.reshape(obj.q, -1), np.atleast_1d(b)
    literal = 0.0
    for row, i in enumerate(obj.labels.labeled):
        u = np.sqrt(24) * obj.spectrum.eigenvectors[i]
        for k in range(len(offsets)):
            y = obj.labels.sign[row] if n_classes == 2 else obj.labels.sign[row, k]
            literal += (y - u @ columns[:, k] - offsets[k]) ** 2
    literal += 0.2 * sum(columns[j, k] ** 2 / obj.delta[j] for j in range(1, obj.q) for k in range(len(offsets)))
    assert obj.value_at(v, b) == pytest.approx(literal, rel=tol["exact"])
    f = np.sqrt(24) * obj.spectrum.eigenvectors @ v + b
    np.testing.assert_allclose(obj.decisions_at(v, b), f, rtol=tol["exact"], atol=1e-12)


def test_a_coefficient_without_weight_costs_infinity_and_is_repaired(case):
    obj = case()
    v, b = random_point(obj)
    moved = v.copy()
    moved[0] = 0.5
    assert obj.value_at(moved, b) == np.inf
    certificate = obj.prove(moved, b)
    assert certificate.primal_objective == obj.value_at(v, b)
    assert certificate.primal_residual == pytest.approx(0.5 / np.abs(moved).max())


def test_it_is_lap_rls_when_all_eigenvectors_are_in(tol):
    """With q = n the ridge is min sum (y - f)^2 + c f'L^2 f over all f, whose stationarity is a linear system."""
    rng = np.random.default_rng(4)
    W = np.triu(rng.random((15, 15)) < 0.4, 1) * rng.random((15, 15))
    W = W + W.T
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=15, normalized=False)
    assert spectrum.n_components == 1
    y = np.full(15, -1)
    y[[0, 3, 7, 8, 12]] = [0, 1, 1, 0, 1]
    labels = sm.encode_labels(y)
    obj = SpectralRidge(spectrum, labels, power_spectrum(spectrum, 2), 0.7)
    L = np.diag(W.sum(axis=1)) - W
    # penalty v_j^2 / delta_j with f = sqrt(n) U v and delta_j = c lambda_j^-2
    c = 1.0 / (spectrum.eigenvalues[1:] ** -2.0).sum()
    A = 0.7 / (15 * c) * L @ L
    A[labels.labeled, labels.labeled] += 1.0
    rhs = np.zeros(15)
    rhs[labels.labeled] = labels.sign
    f = np.linalg.solve(A, rhs)
    v, b = solution(obj)
    np.testing.assert_allclose(obj.decisions_at(v, b), f, atol=tol["linalg"] * np.linalg.cond(A))


@pytest.mark.parametrize("n_classes", [2, 4])
def test_moments_are_those_of_the_decisions(n_classes, tol):
    """On a normalized Laplacian, whose columns have a mean; those of the combinatorial one have none."""
    W = nx.to_numpy_array(nx.barabasi_albert_graph(24, 2, seed=1))
    y = np.full(24, -1)
    y[:8] = np.arange(8) % n_classes
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=9, normalized=True)
    obj = SpectralRidge(spectrum, sm.encode_labels(y), power_spectrum(spectrum))
    v, b = random_point(obj, seed=1)
    f = obj.decisions_at(v, b)
    mean, deviation = obj.moments(v, b)
    np.testing.assert_allclose(mean, f.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(deviation, f.std(axis=0), rtol=tol["exact"])


# The bound


def test_the_gap_is_what_the_docstring_says_it_is(case):
    """Without the best multiple: |X'r - penalty w|^2 / penalty; with it no more than that."""
    obj = case(penalty=0.3)
    v, _ = random_point(obj, seed=2, size=0.1)
    b = obj.best_intercept(v)
    X = scaled_rows(obj) * np.sqrt(obj.delta)
    r = obj.labels.sign - scaled_rows(obj) @ v - b
    w = v[1:] / np.sqrt(obj.delta[1:])
    stated = ((X[:, 1:].T @ r - 0.3 * w) ** 2).sum() / 0.3
    literal = 2 * r @ obj.labels.sign - r @ r - ((X.T @ r) ** 2).sum() / 0.3
    assert obj.value_at(v, b) - literal == pytest.approx(stated, rel=1e-10)
    assert literal < obj.dual_bound(2 * r) <= obj.value_at(v, b)
    # Only the direction of theta matters, and classes are scaled one by one.
    assert obj.dual_bound(7 * r) == pytest.approx(obj.dual_bound(2 * r))


def test_unbalanced_multipliers_are_balanced_and_reported(case):
    obj = case()
    v, b = solution(obj)
    theta = obj.multipliers(v, b)
    shifted = obj.prove(v, b, theta + 0.5 * np.abs(theta).max())
    assert shifted.is_optimal(1e-12)
    assert shifted.dual_residual > 0.3


# Leave-one-out


def test_leave_one_out_keeps_its_digits_at_small_penalties(case):
    """Below q labels interpolate: 1 - S_ii is of the order of the penalty, and a difference of ones would lose it.

    The limit is the minimum-norm interpolation of the others, by a pseudo-inverse.
    """
    obj = case(l=7, power=0.0, penalty=1e-13)
    X = scaled_rows(obj) * np.sqrt(obj.delta)
    for i in range(7):
        keep = np.arange(7) != i
        mean_x, mean_y = X[keep].mean(axis=0), obj.labels.sign[keep].mean()
        w = np.linalg.pinv(X[keep] - mean_x) @ (obj.labels.sign[keep] - mean_y)
        assert obj.leave_one_out()[i] == pytest.approx((X[i] - mean_x) @ w + mean_y, abs=1e-9)


def test_leave_one_out_of_the_only_sample_of_a_class_predicts_the_rest(case):
    obj = case(n_classes=4, l=4)
    np.testing.assert_allclose(np.diag(obj.leave_one_out()[obj.labels.sign.argmax(axis=0)]), -1.0, atol=1e-12)


def test_a_path_of_penalties_is_the_single_ones_stacked(case):
    obj = case(n_classes=3)
    path = obj.leave_one_out([0.01, 0.2])
    assert path.shape == (2, 8, 3)
    np.testing.assert_array_equal(path[1], obj.leave_one_out())


# The spectrum


def test_the_power_spectrum_is_a_power_of_sum_one(case, tol):
    spectrum = case(q=9).spectrum
    for power in (0.0, 0.5, 1.0, 2.0, 7.0):
        delta = power_spectrum(spectrum, power)
        expected = spectrum.eigenvalues[1:] ** -power
        assert delta[0] == 0.0
        np.testing.assert_allclose(delta[1:], expected / expected.sum(), rtol=tol["exact"])


@kinds
def test_the_first_power_is_the_resistance_kernel(case, kind, tol):
    spectrum = case(kind).spectrum
    np.testing.assert_allclose(power_spectrum(spectrum, 1.0), inverse(spectrum), rtol=tol["linalg"])


def test_columns_of_the_null_space_share_a_multiple_of_all_others():
    graph = nx.disjoint_union_all([nx.path_graph(4), nx.path_graph(5), nx.empty_graph(1)])
    spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(graph), q=7, normalized=True)
    delta = power_spectrum(spectrum, 2)
    assert spectrum.n_components == 3
    np.testing.assert_allclose(delta[1:3], 16 * delta[3:].sum() / 2)
    np.testing.assert_allclose(delta[3:] / delta[3], (spectrum.eigenvalues[3:] / spectrum.eigenvalues[3]) ** -2)
    only_null = power_spectrum(spectrum.truncate(3), 2)
    np.testing.assert_allclose(only_null, [0, 0.5, 0.5])
    # An eigenvalue that is zero but for rounding would take all of the trace.
    rounded = Spectrum(np.array([0.0, 1e-17, 0.5, 1.0]), np.eye(4), n_components=1)
    np.testing.assert_allclose(power_spectrum(rounded, 2), np.array([0, 16 * 5, 4, 1]) / 85)


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 3.0])
def test_a_weak_edge_weighs_no_less_than_none(power):
    """As the edge between two cliques vanishes the spectrum has no jump, nor have the decisions."""
    cliques = nx.to_numpy_array(nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(9)))
    labels, answers = sm.encode_labels([0, 1, *[-1] * 4, 1, *[-1] * 8]), []
    for weight in (0.0, 1e-300, 1e-12, 1e-6):
        cliques[0, 6] = cliques[6, 0] = weight
        spectrum = sm.spectra.laplacian_eigenpairs(cliques, q=15)
        obj = SpectralRidge(spectrum, labels, power_spectrum(spectrum, power))
        answers.append(np.append(obj.delta, sm.solvers.spectral_ridge(obj).variables["f"]))
    np.testing.assert_allclose(answers[1:], answers[:1] * np.ones((3, 1)), atol=1e-4)


def test_a_chain_of_nodes_keeps_its_powers():
    """Of graphs in one piece its second eigenvalue stands out most: four times less than the third."""
    spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(nx.path_graph(300)), q=200)
    for power in (1.0, 2.0, 3.0):
        expected = spectrum.eigenvalues[1:] ** -power
        np.testing.assert_allclose(power_spectrum(spectrum, power)[1:], expected / expected.sum(), rtol=1e-9)


def test_a_high_power_neither_overflows_nor_underflows():
    steep = Spectrum(np.array([0.0, 1e-9, 1e-3, 2.0]), np.eye(4), n_components=1)
    delta = power_spectrum(steep, 40.0)
    assert np.isfinite(delta).all()
    assert delta.sum() == pytest.approx(1.0)


# Bad input


def test_the_certificate_takes_the_multipliers_that_it_is_given(case):
    obj = case()
    v, b = solution(obj)
    variables = {"v": v.ravel() if obj.labels.sign.ndim == 1 else v, "b": np.squeeze(b)}
    other = np.random.default_rng(0).normal(size=obj.labels.sign.shape)
    found = obj.certificate(variables, {"theta": other})
    assert found.dual_objective == obj.prove(variables["v"], variables["b"], other).dual_objective
    assert found.dual_objective < obj.certificate(variables).dual_objective


@pytest.mark.parametrize("n_classes", [2, 3])
def test_multipliers_of_a_point_are_twice_its_residuals(case, n_classes):
    """At the optimum they carry the coefficients: penalty v / delta = U'theta / 2."""
    obj = case(n_classes=n_classes)
    v, b = solution(obj)
    v, b = (v.ravel(), np.squeeze(b)) if n_classes == 2 else (v, b)
    theta = obj.multipliers(v, b)
    np.testing.assert_allclose(theta, 2 * (obj.labels.sign - scaled_rows(obj) @ v - b), atol=1e-13)
    used = obj.delta > 0
    pulled = (scaled_rows(obj).T @ theta)[used] / 2
    np.testing.assert_allclose(obj.penalty * (v[used].T / obj.delta[used]).T, pulled, atol=1e-12)
    assert obj.name == "SpectralRidge"


@pytest.mark.parametrize("unit", [1.0, 2.0**-30])
def test_how_far_multipliers_were_moved_is_relative_to_them(case, unit):
    obj = case()
    theta = np.where(obj.labels.sign > 0, 2.0, -1.0) + 0.5
    moved = np.abs(theta.mean()) / np.abs(theta).max()
    found = obj.prove(np.zeros(obj.q), 0.0, unit * theta)
    assert found.dual_residual == pytest.approx(moved, rel=1e-12)
    assert found.primal_residual == 0.0


@kinds
def test_multipliers_of_zero_prove_zero(kind, case):
    for n_classes in (2, 3):
        obj = case(kind, n_classes)
        v, b = np.zeros((obj.q, *obj.labels.sign.shape[1:])), np.zeros(obj.labels.sign.shape[1:])
        found = obj.prove(v, b, np.zeros(obj.labels.sign.shape))
        assert found.dual_objective == 0.0
        assert found.primal_objective <= found.gap < np.inf
