"""The methods against scikit-learn's SVC on explicit kernels and against CVXPY."""

import math

import numpy as np
import pytest
from sklearn.svm import SVC

import specmargin as sm
from reproduction.papers._protocols import shivaswamy_jebara_fits as fits
from reproduction.papers._protocols.shivaswamy_jebara_fits import METHODS
from reproduction.tasks import labels_of
from specmargin.labels import Labels
from specmargin.results import Certificate, SolveResult, Status

C, B = 3.0, 1.3


@pytest.fixture(scope="module")
def problem():
    """Return eigenpairs, labels and true classes of 150 digits."""
    y = fits.samples("digits 3-8", 150)[1]
    labeled = fits.splits("digits 3-8", 150, 24, "tuning", 0)["random24-seed1-00"].labeled
    return fits.eigenpairs("digits 3-8", 150, 40), labels_of(y, labeled), y


def scores(name, problem, **setting):
    ((f, results),) = METHODS[name].fit(*problem[:2], [setting])
    assert 0 <= fits.worst_gap(results) < 1e-6
    return f


def gram(spectrum, delta):
    """Kernel of a spectrum in the package's unit: mean of the diagonal one."""
    U = spectrum.eigenvectors
    K = (U * delta) @ U.T
    return K * len(U) / np.trace(K)


def centre(spectrum):
    """Delta of the analytic centre from the drops 1 / (m c_i), by a loop; no eigenvalues are equal here."""
    q = spectrum.q
    assert len(spectrum.block_ends()) == q - 1
    delta = np.zeros(q)
    delta[0] = 1 / q
    for i in range(1, q):
        delta[1 : i + 1] += 1 / (q * i)
    return delta


def aligned(spectrum, labels):
    return sm.solve(sm.problems.kta(sm.objectives.Alignment(spectrum, labels))).variables["delta"]


CERTIFIED = [name for name in METHODS if not METHODS[name].on_graph]
VALUES = {"C": 10.0, "B": 1.5, "loss_weight": 1e4, "width": 0.1, "w": 1.1, "penalty": 0.3}


@pytest.mark.parametrize("name", ["Xu w=1", "diffusion", "Gaussian field", "geometric", "KTA-S"])
def test_two_steps_are_svc_on_the_kernel(problem, tol, name):
    spectrum, labels, _ = problem
    theta = spectrum.eigenvalues
    delta = {
        "Xu w=1": lambda: centre(spectrum),
        "geometric": lambda: 1.2 ** -np.arange(spectrum.q),
        "diffusion": lambda: np.exp(-theta / (0.2 * theta[1:].mean())),
        "Gaussian field": lambda: 1 / (theta + 0.2 * theta[1:].mean()),
        "KTA-S": lambda: aligned(spectrum, labels),
    }[name]()
    K = gram(spectrum, delta)
    svc = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K[np.ix_(labels.labeled, labels.labeled)], labels.sign)
    expected = svc.decision_function(K[:, labels.labeled])
    of_name = {"diffusion": {"width": 0.2}, "Gaussian field": {"width": 0.2}, "geometric": {"w": 1.2}}
    got = scores(name, problem, C=C, **of_name.get(name, {}))
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(got, expected, atol=tol["variables"], rtol=0)


@pytest.mark.parametrize("name", ["diffusion", "Gaussian field"])
def test_kernel_of_all_eigenpairs_is_the_function_of_the_laplacian(tol, name):
    from scipy.linalg import expm, inv

    X, y = fits.samples("digits 3-8", 60)
    W = sm.graphs.knn_graph(X, n_neighbors=5, kind="symmetric", weight="binary")
    L = sm.graphs.laplacian(W, normalized=False).matrix.toarray()
    spectrum = fits.eigenpairs("digits 3-8", 60, 200)
    assert spectrum.q == 60
    labeled = np.arange(20)
    labels = labels_of(y, labeled)
    theta = np.linalg.eigvalsh(L)
    square = 0.3 * theta[theta > 1e-9].mean()
    K = expm(-L / square) if name == "diffusion" else inv(L + square * np.eye(60))
    K *= 60 / np.trace(K)
    svc = SVC(C=C, kernel="precomputed", tol=1e-9).fit(K[:20, :20], labels.sign)
    got = scores(name, (spectrum, labels), C=C, width=0.3)
    np.testing.assert_allclose(got, svc.decision_function(K[:, :20]), atol=tol["variables"], rtol=0)


@pytest.mark.parametrize("name", ["STORM", "STOAM", "MKL-R", "MKL-S", "KTA-R"])
def test_margins_are_those_of_cvxpy(problem, tol, name):
    spectrum, labels, _ = problem
    bound = B if name in ("STORM", "MKL-R", "KTA-R") else np.inf
    delta = aligned(spectrum, labels) if name == "KTA-R" else None
    obj = sm.objectives.SpectrumMargin(spectrum, labels, C=C, B=bound, order=not name.startswith("MKL"), delta=delta)
    expected = sm.solve(sm.problems.storm(obj), sm.problems.default_solvers(), tol=1e-8)
    got = scores(name, problem, C=C, **({"B": B} if np.isfinite(bound) else {}))
    if np.isfinite(bound):  # which the bound touches
        assert np.abs(got[labels.labeled]).max() == pytest.approx(B, abs=1e-6)
    np.testing.assert_allclose(got, expected.variables["f"], atol=20 * tol["variables"], rtol=0)


@pytest.mark.parametrize("name", CERTIFIED)
def test_positive_scores_are_the_second_class(problem, name):
    spectrum, labels, y = problem
    setting = {parameter: VALUES[parameter] for parameter in METHODS[name].parameters}
    f = scores(name, problem, **setting)
    assert np.mean((f > 0) == (y == 1)) > 0.85
    flipped = Labels(-labels.sign, labels.labeled, labels.classes, labels.n_samples)
    np.testing.assert_allclose(scores(name, (spectrum, flipped), **setting), -f, atol=1e-6)


@pytest.mark.parametrize("name", CERTIFIED)
def test_settings_come_in_order(problem, name):
    """A fit does not depend on those before it."""
    spectrum, labels, _ = problem
    two = {"C": (0.1, 100.0), "B": (1.1, 4.0), "loss_weight": (1e2, 1e5), "width": (0.05, 1.0)}
    settings = METHODS[name].grid({**two, "w": (1.0, 1.5), "penalty": (0.01, 3.0)})
    assert len({tuple(setting.items()) for setting in settings}) == 2 ** len(METHODS[name].parameters)
    together = [f for f, _ in METHODS[name].fit(spectrum, labels, settings)]
    for setting, f in zip(settings, together, strict=True):
        np.testing.assert_allclose(scores(name, problem, **setting), f, atol=1e-6)
    assert len({tuple(f.round(6)) for f in together}) > 1


def test_evidence_is_that_of_every_problem(problem):
    ((_, results),) = METHODS["KTA-S"].fit(*problem[:2], [{"C": C}])
    assert [result.problem for result in results] == ["KTA", "SVM"]


def test_worst_gap_of_a_fit():
    def result(gap):
        return SolveResult("p", Status.OPTIMAL, {}, Certificate(1.0, 1.0 - gap))

    gap = result(-1e-2).certificate.relative_gap
    assert fits.worst_gap((result(1e-3), result(-1e-2))) == gap < -9e-3
    assert fits.worst_gap((result(math.inf), result(0.0))) == math.inf


def test_xu_with_ratio_one_is_its_order_alone(problem):
    np.testing.assert_allclose(scores("Xu", problem, C=C, w=1.0), scores("Xu w=1", problem, C=C), atol=1e-9)
    assert np.abs(scores("Xu", problem, C=C, w=1.5) - scores("Xu w=1", problem, C=C)).max() > 0.01


def test_ridge_by_its_normal_equations(problem):
    spectrum, labels, _ = problem
    theta, U = spectrum.eigenvalues, np.sqrt(labels.n_samples) * spectrum.eigenvectors
    delta = np.where(theta > 0, theta, np.inf) ** -2.0
    X = U[:, 1:] * np.sqrt(delta[1:] / delta.sum())
    known = X[labels.labeled]
    centred = known - known.mean(axis=0)
    w = np.linalg.solve(centred.T @ centred + 0.3 * np.eye(X.shape[1]), centred.T @ labels.sign)
    expected = X @ w + (labels.sign.mean() - known.mean(axis=0) @ w)
    np.testing.assert_allclose(scores("ridge", problem, penalty=0.3), expected, atol=1e-8)


def test_eps_holds_the_weights_apart(problem):
    spectrum, labels, _ = problem
    deltas = {}
    for eps in (0.0, 1e-5):
        ((_, (result,)),) = METHODS["STOAM"].fit(spectrum, labels, [{"C": C, "eps": eps}])
        deltas[eps] = result.variables["delta"]
    assert -np.diff(deltas[1e-5][1:]).max() >= 1e-5 * (1 - 1e-6)
    assert -np.diff(deltas[0.0][1:]).max() < 1e-9


def test_diffusion_on_a_graph_of_more_components_than_eigenpairs():
    """Its width is a share of the mean positive eigenvalue, and there is none: the constant spectrum, not nan."""
    spectrum = fits.eigenpairs("digits 3-8", 40, 3, None, "mutual").truncate(2)
    if (spectrum.eigenvalues > 0).any():
        spectrum = sm.spectra.Spectrum(np.zeros(2), np.linalg.qr(np.ones((40, 2)) + np.eye(40, 2))[0], n_components=2)
    labels = Labels(np.array([1.0, -1.0]), np.array([0, 1]), np.array([0, 1]), 40)
    ((f, _),) = METHODS["diffusion"].fit(spectrum, labels, [{"C": 1.0, "width": 0.1}])
    assert np.isfinite(f).all()


def test_poisson_learning_is_a_method_where_it_is_installed(problem):
    names = fits.installed_methods()
    assert names[: len(METHODS) - 1] == tuple(METHODS)[:-1]
    if "Poisson" not in names:
        with pytest.raises(ModuleNotFoundError):
            next(METHODS["Poisson"].fit(None, None, [{}]))
        return
    _, labels, y = problem
    ((f, results),) = METHODS["Poisson"].fit(fits.neighbor_graph("digits 3-8", 150), labels, [{}])
    assert np.mean((f > 0) == (y == 1)) > 0.85
    assert results == ()
