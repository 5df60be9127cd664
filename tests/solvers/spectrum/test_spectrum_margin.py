"""The interior point and its active set against CVXPY, scikit-learn and closed forms; every answer certified."""

import warnings

import networkx as nx
import numpy as np
import pytest
from sklearn.svm import SVC

import specmargin as sm
from specmargin.objectives import RMM, SpectrumMargin
from specmargin.solvers import relative_margin, spectrum_margin
from specmargin.solvers.spectrum.active_set import Solution, _newton, identify
from specmargin.solvers.spectrum.interior_point import MarginData, interior_step
from specmargin.solvers.spectrum.interior_system import MarginSystem
from specmargin.spectra import Spectrum
from specmargin.spectra.transforms import analytic_centre

TIGHT = {"solver": "CLARABEL", "tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11}
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def digits_spectrum(q=40, n=300, parts=1):
    """Eigenpairs of a neighbour graph over two of scikit-learn's digits; `parts` cuts it."""
    X, truth = sm.datasets.digits_pair(3, 8, n=n)
    W = sm.graphs.knn_graph(X, n_neighbors=5)
    if parts > 1:
        block = np.arange(n) % parts
        W = W.multiply(block[:, None] == block[None, :]).tocsr()
    return sm.spectra.laplacian_eigenpairs(W, q=q, normalized=False), truth


SPECTRA = {parts: digits_spectrum(60, parts=parts) for parts in (1, 3)}


def problem(l, C, B=np.inf, *, order=True, q=40, parts=1, seed=0, **kwargs):
    spectrum, truth = SPECTRA[parts]
    y = sm.hide_labels(truth, n_labeled=l, random_state=seed)
    return SpectrumMargin(spectrum.truncate(q), sm.encode_labels(y), C=C, B=B, order=order, **kwargs)


@pytest.mark.parametrize("order", [True, False], ids=["ordered", "free"])
@pytest.mark.parametrize("l", [4, 20, 100])
def test_proves_its_optimum_over_the_grid(l, order):
    gaps = []
    for q, parts in ((20, 1), (60, 1), (60, 3)):
        for C in (0.01, 1.0, 100.0, 1e3):
            for B in (1.05, 1.5, 4.0, np.inf):
                result = spectrum_margin(problem(l, C, B, order=order, q=q, parts=parts))
                gaps.append(abs(result.certificate.relative_gap))
                assert result.status is sm.Status.OPTIMAL
    assert max(gaps) <= 1e-9
    assert np.mean(np.array(gaps) <= 1e-12) >= 0.6


@pytest.mark.parametrize(("l", "q", "C", "B"), [(100, 20, 1e4, 1.05), (100, 20, 100.0, 1.1), (100, 60, 1e4, 1.5)])
def test_the_known_weak_spots(l, q, C, B):
    """Large C, and more labels than eigenvectors under a tight bound."""
    for order in (True, False):
        result = spectrum_margin(problem(l, C, B, order=order, q=q))
        assert abs(result.certificate.relative_gap) <= 1e-8


@pytest.mark.parametrize("order", [True, False], ids=["ordered", "free"])
@pytest.mark.parametrize(("l", "q"), [(12, 25), (40, 12)], ids=["l<q", "l>q"])
@pytest.mark.parametrize(("C", "B"), [(0.1, np.inf), (5.0, 1.3), (50.0, np.inf), (2.0, 0.7), (1.0, 1.0)])
def test_agrees_with_cvxpy(l, q, C, B, order):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # B < 1 is warned about
        obj = problem(l, C, B, order=order, q=q)
    mine = spectrum_margin(obj)
    other = sm.solve(sm.problems.storm(obj), **TIGHT)
    assert mine.certificate.primal_objective == pytest.approx(other.certificate.primal_objective, rel=1e-7)
    assert mine.certificate.primal_objective <= other.certificate.primal_objective * (1 + 1e-11)
    if other.certificate.relative_gap < 1e-9:
        np.testing.assert_allclose(mine.variables["f"], other.variables["f"], atol=2e-3)


@pytest.mark.parametrize("eps", [1e-6, 1e-4])
def test_least_drops(eps):
    obj = problem(20, 10.0, 1.5, q=30, eps=eps)
    mine = spectrum_margin(obj)
    other = sm.solve(sm.problems.storm(obj), **TIGHT)
    assert mine.certificate.relative_gap <= 1e-9
    assert mine.certificate.primal_objective == pytest.approx(other.certificate.primal_objective, rel=1e-7)
    assert np.diff(mine.variables["delta"][1:]).max() <= -eps * (1 - 1e-9)


def test_variables_are_a_feasible_point_with_the_certified_value():
    for obj in (problem(30, 10.0, 1.5), problem(60, 1.0, 1.2, q=20), problem(30, 3.0, order=False)):
        result = spectrum_margin(obj)
        v, b, delta, f = (result.variables[name] for name in ("v", "b", "delta", "f"))
        assert delta.sum() == pytest.approx(1.0, abs=1e-12)
        assert (delta >= 0).all()
        if obj.order:
            assert (np.diff(delta[1:]) <= 1e-15).all()
        y, labeled = obj.labels.sign, obj.labels.labeled
        assert np.abs(f[labeled]).max() <= obj.B * (1 + 1e-12)
        with np.errstate(divide="ignore", invalid="ignore"):
            norm = np.where(v == 0, 0.0, v**2 / delta).sum()
        value = 0.5 * norm + obj.C * np.maximum(0.0, 1.0 - y * f[labeled]).sum()
        assert result.certificate.primal_objective == pytest.approx(value, rel=1e-10)
        np.testing.assert_allclose(f, np.sqrt(len(f)) * obj.spectrum.eigenvectors @ v + b, atol=1e-12)


def test_ties_do_not_depend_on_the_basis(rng):
    spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(nx.cycle_graph(40)), q=15, normalized=False)
    U = spectrum.eigenvectors.copy()
    for j in range(1, 14, 2):
        angle = rng.uniform(0, np.pi)
        U[:, j : j + 2] = U[:, j : j + 2] @ [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    y = np.full(40, -1)
    y[rng.permutation(40)[:10]] = np.arange(10) % 2
    labels = sm.encode_labels(y)
    turned = Spectrum(spectrum.eigenvalues, U, 1)
    first, second = (spectrum_margin(SpectrumMargin(s, labels, C=5.0, B=1.5)) for s in (spectrum, turned))
    assert first.certificate.primal_objective == pytest.approx(second.certificate.primal_objective, rel=1e-10)
    np.testing.assert_allclose(first.variables["delta"], second.variables["delta"], atol=1e-8)
    np.testing.assert_allclose(first.variables["delta"][1:15:2], first.variables["delta"][2:15:2], atol=1e-15)


def test_a_fixed_spectrum_is_the_svm_of_scikit_learn():
    spectrum, _ = SPECTRA[1]
    delta = np.exp(-spectrum.eigenvalues[:40])
    obj = problem(40, 2.0, delta=delta)
    result = spectrum_margin(obj)
    K = (obj.U * (delta / delta.sum())) @ obj.U.T
    svc = SVC(C=2.0, kernel="precomputed", tol=1e-10).fit(K, obj.labels.sign)
    assert obj.name == "SVM"
    assert result.certificate.relative_gap <= 1e-12
    np.testing.assert_allclose(result.variables["f"][obj.labels.labeled], svc.decision_function(K), atol=1e-6)
    np.testing.assert_allclose(result.variables["delta"], delta / delta.sum(), rtol=1e-12)


@pytest.mark.parametrize("order", [True, False], ids=["ordered", "free"])
def test_several_graphs_are_one_problem(order):
    X, truth = sm.datasets.digits_pair(3, 8, n=200)
    labels = sm.encode_labels(sm.hide_labels(truth, n_labeled=16, random_state=1))
    spectra = [
        sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=k, metric=metric), q=12, normalized=False)
        for k, metric in ((4, "euclidean"), (12, "cosine"))
    ]
    both = SpectrumMargin(spectra, labels, C=5.0, B=1.5, order=order)
    mine, other = spectrum_margin(both), sm.solve(sm.problems.storm(both), **TIGHT)
    assert mine.certificate.primal_objective == pytest.approx(other.certificate.primal_objective, rel=1e-6)
    alone = [spectrum_margin(SpectrumMargin(s, labels, C=5.0, B=1.5, order=order)) for s in spectra]
    assert mine.certificate.primal_objective <= min(a.certificate.primal_objective for a in alone) * (1 + 1e-12)
    if order:
        delta = mine.variables["delta"]
        assert (np.diff(delta[1:12]) <= 1e-15).all()
        assert (np.diff(delta[13:]) <= 1e-15).all()


def test_two_labels_have_a_closed_form():
    """One sample of each class: gamma = (a, -a), so that a maximises 2a - a^2 max_i (A (u_1 - u_2)^2 / 2c)_i."""
    spectrum, truth = SPECTRA[1]
    y = np.full(300, -1)
    i, j = np.flatnonzero(truth == 0)[0], np.flatnonzero(truth == 1)[0]
    y[i], y[j] = 0, 1
    U = np.sqrt(300) * spectrum.eigenvectors[:, :30]
    p = (U[i] - U[j]) ** 2 / 2
    top = max(p[0], (np.cumsum(p[1:]) / np.arange(1, 30)).max())
    for C in (0.05, 100.0):
        a = min(C, 1 / top)
        result = spectrum_margin(SpectrumMargin(spectrum.truncate(30), sm.encode_labels(y), C=C))
        assert result.certificate.primal_objective == pytest.approx(2 * a - a**2 * top, rel=1e-10)


def test_warm_starts_along_a_path():
    cold = [spectrum_margin(problem(30, C, 1.5)) for C in np.geomspace(1, 2, 6)]
    previous, steps = cold[0], []
    for C, reference in zip(np.geomspace(1, 2, 6)[1:], cold[1:], strict=True):
        previous = spectrum_margin(problem(30, C, 1.5), warm_start=previous)
        assert previous.certificate.relative_gap <= 1e-9
        assert previous.certificate.primal_objective == pytest.approx(reference.certificate.primal_objective, rel=1e-9)
        steps.append(previous.n_iter)
    assert sum(steps) < sum(r.n_iter for r in cold[1:])


def test_a_warm_start_of_another_problem_is_refused():
    with pytest.raises(ValueError, match="same labels and spectrum"):
        spectrum_margin(problem(30, 1.0), warm_start=spectrum_margin(problem(20, 1.0)))


def test_out_of_steps_says_so_with_the_gap():
    result = spectrum_margin(problem(30, 10.0, 1.5), max_iter=3)
    assert result.status is sm.Status.MAX_ITER
    assert 1e-9 < result.certificate.relative_gap < 5
    assert len(result.history) == result.n_iter == 3


def test_points_that_would_take_turns_come_near_the_path_again():
    """Predictor and corrector alone end in a cycle of four points here, with a gap of one percent."""
    X = np.random.default_rng(36).standard_normal((120, 5))
    X[:60, 0] += 2.0
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=60, normalized=False)
    labeled = [13, 26, 36, 41, 49, 54, 58, 65, 72, 74, 76, 84, 85, 89, 90, 104, 111, 113, 115, 117]
    y = np.full(120, -1)
    y[labeled] = np.array(labeled) < 60
    delta = analytic_centre(spectrum, 1.5)
    obj = SpectrumMargin(spectrum, sm.encode_labels(y), C=1e3, delta=delta)
    result = spectrum_margin(obj)
    assert result.certificate.relative_gap <= 1e-12
    assert result.n_iter < 50
    K = (obj.U * (delta / delta.sum())) @ obj.U.T
    svc = SVC(C=1e3, kernel="precomputed", tol=1e-10).fit(K, obj.labels.sign)
    multipliers, at = svc.dual_coef_[0], svc.support_
    by_libsvm = np.abs(multipliers).sum() - 0.5 * multipliers @ K[np.ix_(at, at)] @ multipliers
    assert result.certificate.primal_objective == pytest.approx(by_libsvm, rel=1e-8)


def test_newton_on_the_active_set_solves_its_equations():
    obj = problem(30, 10.0, 1.5)
    data = MarginData(obj.U, obj.labels.sign, obj.cone, obj.C, obj.B)
    point = data.start()
    for _ in range(14):
        point = interior_step(data, point).point
    active = identify(data, point)
    gamma, kappa, b, tau = _newton(data, active, Solution(point.gamma, point.kappa, point.b, point.tau), 8)
    z = data.U.T @ gamma
    t = data.y * (data.U @ (data.cone.weights(kappa) * z) + b)
    on = ~np.isnan(active.kink)
    np.testing.assert_allclose(t[on], active.kink[on], atol=1e-12)
    np.testing.assert_allclose(data.cone.sums(z**2 / 2)[active.rows], (data.cone.c * tau)[active.rows], rtol=1e-12)
    assert abs(gamma.sum()) < 1e-12 * np.abs(gamma).max()


@pytest.fixture(scope="module")
def gram():
    X, truth = sm.datasets.digits_pair(4, 9, n=60)
    return np.exp(-0.01 * ((X[:, None] - X) ** 2).sum(axis=2)), sm.encode_labels(truth)


@pytest.mark.parametrize(("C", "B"), [(0.1, np.inf), (10.0, np.inf), (1e4, np.inf), (10.0, 1.05), (1.0, 1.5)])
def test_relative_margin_agrees_with_cvxpy(gram, C, B):
    obj = RMM(*gram, C=C, B=B)
    mine, other = relative_margin(obj), sm.solve(sm.problems.rmm(obj), **TIGHT)
    assert mine.certificate.relative_gap <= 1e-9
    assert mine.certificate.primal_objective == pytest.approx(other.certificate.primal_objective, rel=1e-7)
    assert np.abs(mine.variables["f"]).max() <= B * (1 + 1e-12)
    np.testing.assert_allclose(mine.variables["f"], gram[0] @ mine.variables["gamma"] + mine.variables["b"])


def test_relative_margin_on_a_singular_kernel(rng):
    X = np.repeat(rng.normal(size=(10, 2)), 3, axis=0)
    obj = RMM(X @ X.T, sm.encode_labels(np.repeat(np.arange(10) % 2, 3)), C=1.0, B=1.2)
    assert relative_margin(obj).certificate.relative_gap <= 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_eigenvalues_near_rounding_count_where_the_weights_are_large(seed):
    # Each of them is worth C^2 eigenvalue / 2 or so, a millionth of the objective here; K is what is given.
    rng = np.random.default_rng(seed)
    truth = np.arange(34) % 2
    X = 0.7 * rng.standard_normal((34, 4))
    X[:, 0] += np.where(truth == 1, 6.0, -6.0)
    wrong = rng.permutation(34)[:8]
    X[wrong, 0] *= 0.02
    K = X @ X.T
    K += 3e-14 * np.linalg.eigvalsh(K)[-1] * np.eye(34)
    result = relative_margin(RMM(K, sm.encode_labels(truth), C=1000.0, B=1.2))
    assert result.certificate.is_optimal(1e-8), result


@pytest.mark.parametrize("seed", [0, 2])
def test_eigenvalues_that_large_multipliers_make_count_end_at_the_rounding_of_the_answer(seed):
    # Of rank 6 but for 1e-10: moved by the multipliers alone, decisions within B differ by C 1e-10 or so.
    X, truth = sm.datasets.make_two_moons(n_samples=50, noise=0.15, random_state=seed)
    K = sm.kernels.gram(X, kernel="poly", gamma=1.0, degree=2) + 1e-10 * np.eye(50)
    certificate = relative_margin(RMM(K, sm.encode_labels(truth), C=3e7, B=1.01), max_iter=14).certificate
    assert certificate.gap <= 6.0 * certificate.rounding, certificate


def test_a_kernel_of_zeros_is_refused():
    with pytest.raises(ValueError, match="no kernel is left"):
        relative_margin(RMM(np.zeros((4, 4)), sm.encode_labels([0, 0, 1, 1])))


@pytest.mark.parametrize("C", [10.0, 1000.0])
@pytest.mark.parametrize("n", [250, 500])
def test_a_loss_that_dwarfs_the_norm_on_indistinguishable_samples(n, C):
    """Three labels in one component, of both classes, whose rows are equal, and one in a component of its own.

    The optimum is known: f = -1 in the component costs 2 C, and f = 1 at the lonely sample takes the least norm, all
    but nothing beside it. Steps that shrink the complementary products while the decisions drift end with f = 0.
    """
    lone = 19
    U = np.zeros((n, lone + 1))
    U[: n - lone, 0] = 1 / np.sqrt(n - lone)
    U[np.arange(n - lone, n), np.arange(1, lone + 1)] = 1.0
    spectrum = sm.spectra.Spectrum(np.zeros(lone + 1), U, n_components=lone + 1)
    y = np.full(n, -1)
    y[[0, 1, 2, n - 1]] = [0, 1, 0, 1]
    result = spectrum_margin(SpectrumMargin(spectrum, sm.encode_labels(y), C=C, order=False))
    assert result.certificate.relative_gap < 1e-12
    assert result.n_iter < 20
    np.testing.assert_allclose(result.variables["f"][[0, 1, 2, n - 1]], [-1, -1, -1, 1], atol=1e-9)
    # The lonely column has the largest entry, sqrt(n): a gap of 2 costs 1/2 (2 / sqrt(n))^2 there.
    assert result.certificate.primal_objective == pytest.approx(2 * C + 2 / n, rel=1e-12)


@pytest.mark.parametrize("l", [12, 90], ids=["order l", "order q"])
@pytest.mark.parametrize("active", [0, 3], ids=["no border", "border"])
@pytest.mark.parametrize("kinks", [0, 15], ids=["no kinks", "kinks"])
@pytest.mark.parametrize("order", [True, False], ids=["ordered", "free"])
def test_the_eliminated_system_solves_the_whole_one(l, active, kinks, order, rng, tol):
    """All five equations of a step's directions, literally, with pivots of very different sizes."""
    obj = problem(l, 10.0, 1.5, order=order)
    data = MarginData(obj.U, obj.labels.sign, obj.cone, obj.C, obj.B)
    m, c, A = data.cone.m, data.cone.c, data.rays
    z, W = rng.normal(size=data.cone.q), rng.uniform(0.5, 2.0, size=l)
    W[:kinks] *= 1e7
    kappa, w = rng.uniform(0.5, 2.0, size=(2, m))
    kappa[:active], w[:active] = 1e3 * kappa[:active], 1e-5 * w[:active]
    system = MarginSystem(data, z, data.cone.weights(kappa), kappa, w, W)
    assert len(system.border) == active
    if l > data.cone.q:
        assert len(system.inverse.on) == kinks
    r, rho, r_w = rng.normal(size=l), rng.normal(size=m), rng.normal(size=m)
    dgamma, (db, dtau), dkappa, dw = system.solve(r, rho, r_w, 0.3, -0.7)
    G = (data.U * z) @ A.T
    kernel = (data.U * data.cone.weights(kappa)) @ data.U.T
    for left, right in (
        (dgamma / W + kernel @ dgamma + G @ dkappa + db, r),
        (dgamma.sum(), 0.3),
        (c @ dkappa, -0.7),
        (dw - c * dtau + A @ (z * (data.U.T @ dgamma)), r_w),
        (w * dkappa + kappa * dw, rho),
    ):
        scale = np.abs(kernel).max() * np.abs(dgamma).max() + np.abs(G).max() * np.abs(dkappa).max()
        np.testing.assert_allclose(left, right, atol=tol["linalg"] * max(1.0, scale))


@pytest.mark.parametrize(("seed", "C"), [(0, 0.5), (1, 0.2), (2, 3.0), (0, 1.0)])
def test_wrong_labels_end_on_the_lower_bound(seed, C):
    """Samples at y f = -B have a multiplier beyond C; the active set has to know this kink of its own."""
    spectrum, truth = SPECTRA[1]
    y = sm.hide_labels(truth, n_labeled=40, random_state=seed)
    labeled = np.flatnonzero(y >= 0)
    y[labeled[::5]] = 1 - y[labeled[::5]]
    obj = SpectrumMargin(spectrum.truncate(40), sm.encode_labels(y), C=C, B=1.02)
    result = spectrum_margin(obj)
    margins = obj.labels.sign * result.variables["f"][obj.labels.labeled]
    beyond = obj.labels.sign * result.variables["gamma"] > obj.C * (1 + 1e-6)
    assert beyond.sum() >= 1
    np.testing.assert_allclose(margins[beyond], -1.02, atol=1e-9)
    assert result.message.startswith("active set")
    assert result.certificate.relative_gap < 1e-12
