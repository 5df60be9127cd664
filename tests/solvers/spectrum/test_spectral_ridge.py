"""The ridge solver, its choice of the penalty and its clusters, against scikit-learn, refitting and brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.linear_model import Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

import specmargin as sm
from specmargin.exceptions import SolverError
from specmargin.objectives.spectral_ridge import SpectralRidge, power_spectrum
from specmargin.results import Status
from specmargin.solvers.spectrum.spectral_ridge import choose_penalty, seeded_kmeans, spectral_ridge


def objective(l=12, q=10, n=60, n_classes=3, penalty=0.1, power=2.0, seed=0, counts=None, noise=0.15):
    """A ring with random chords, classes by position and some noise, `l` labels of which each class has one."""
    rng = np.random.default_rng(seed)
    W = nx.to_numpy_array(nx.cycle_graph(n)) + nx.to_numpy_array(nx.gnp_random_graph(n, 2 / n, seed=seed))
    truth = (np.arange(n) * n_classes) // n
    noisy = np.where(rng.random(n) < noise, rng.integers(n_classes, size=n), truth)
    counts = counts or [l // n_classes + (k < l % n_classes) for k in range(n_classes)]
    y = np.full(n, -1)
    for k, count in enumerate(counts):
        y[rng.choice(np.flatnonzero(noisy == k), count, replace=False)] = k
    spectrum = sm.spectra.laplacian_eigenpairs(np.minimum(W, 1.0), q=q, normalized=True)
    return SpectralRidge(spectrum, sm.encode_labels(y), power_spectrum(spectrum, power), penalty)


def features(obj):
    return np.sqrt(obj.spectrum.n_samples * obj.delta) * obj.spectrum.eigenvectors


# The solver


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("l", "q"), [(6, 12), (12, 12), (11, 12), (13, 12), (30, 12), (30, 2)])
def test_it_is_scikit_learns_ridge(l, q, n_classes, tol):
    obj = objective(l, q, n_classes=n_classes)
    result = spectral_ridge(obj)
    model = Ridge(alpha=0.1, solver="svd").fit(features(obj)[obj.labels.labeled], obj.labels.sign)
    values = result.variables
    np.testing.assert_allclose(values["f"], model.predict(features(obj)), atol=tol["linalg"])
    np.testing.assert_allclose(values["v"], (model.coef_ * np.sqrt(obj.delta)).T, atol=tol["linalg"])
    np.testing.assert_allclose(values["b"], model.intercept_, atol=tol["linalg"])
    np.testing.assert_allclose(values["theta"], 2 * obj.residuals(values["v"], values["b"]), atol=tol["linalg"])
    assert result.status is Status.OPTIMAL
    assert result.n_iter == 1


@pytest.mark.parametrize("penalty", [1e-8, 0.1, 1e4])
@pytest.mark.parametrize("power", [0.0, 4.0])
@pytest.mark.parametrize(("l", "q"), [(4, 25), (24, 25), (25, 25), (26, 25), (40, 25)])
def test_the_gap_is_closed_over_twelve_orders_of_the_penalty(penalty, power, l, q):
    for n_classes in (2, 3):
        certificate = spectral_ridge(objective(l, q, n_classes=n_classes, penalty=penalty, power=power)).certificate
        assert abs(certificate.relative_gap) <= 1e-12
        assert certificate.dual_residual <= 1e-9
        assert certificate.primal_objective > 0


def test_labels_that_contradict_each_other_on_copies(tol):
    """Two nodes with the same neighbours have the same rows: XX' is singular, whatever q."""
    W = nx.to_numpy_array(nx.complete_multipartite_graph(2, 2, 2, 3))
    y = np.array([0, 1, 1, 0, -1, -1, -1, -1, 0])
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=4, normalized=False)
    for penalty in (1e-8, 1e-2, 10.0):
        obj = SpectralRidge(spectrum, sm.encode_labels(y), power_spectrum(spectrum), penalty)
        assert abs(spectral_ridge(obj).certificate.relative_gap) <= 1e-12


def test_a_vanishing_penalty_is_an_error_with_a_remedy():
    """Copies of two nodes, labelled, make XX' singular but for the penalty."""
    X = np.repeat(np.eye(6)[:, :5], 2, axis=0)
    spectrum = sm.spectra.Spectrum(np.arange(5.0), X / np.sqrt(2), n_components=1)
    labels = sm.encode_labels([0, 0, 1, 1, -1, -1, -1, -1, -1, -1, -1, -1])
    obj = SpectralRidge(spectrum, labels, power_spectrum(spectrum), penalty=1e-300)
    with pytest.raises(SolverError, match=r"penalty=1e-300 vanishes .* take 1e-10 or more"):
        spectral_ridge(obj)


# The penalty


def literal_loss(obj, penalty, standardize, rows):
    """Leave-one-out by refitting, z-scores by the decisions of all samples, the best scale on a grid, then polished."""
    X, y = features(obj), obj.labels.sign
    labeled, model = obj.labels.labeled, Ridge(alpha=penalty, solver="svd")
    left_out = cross_val_predict(model, X[labeled], y, cv=LeaveOneOut())
    everywhere = model.fit(X[labeled], y).predict(X)
    if standardize:
        left_out = (left_out - everywhere.mean(axis=0)) / everywhere.std(axis=0)
    if y.ndim == 1:
        left_out, y = np.column_stack([-left_out, left_out]) / 2, np.column_stack([-y, y])
    left_out, y = left_out[rows], y[rows]

    def loss(log_scale):
        scores = np.exp(log_scale) * left_out
        return (logsumexp(scores, axis=1) - scores[y > 0]).mean()

    grid = np.linspace(-5, 7, 121) - np.log(np.abs(left_out).max())
    at = grid[np.argmin([loss(point) for point in grid])]
    return minimize_scalar(loss, bounds=(at - 0.2, at + 0.2), method="bounded").fun


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("counts", [(5, 6), (7, 3, 5)])
def test_the_penalty_is_that_of_the_least_literal_loss(counts, standardize):
    penalties, chosen = (0.003, 0.3, 30.0), set()
    for seed in range(5):
        obj = objective(n_classes=len(counts), counts=counts, q=20, seed=seed, noise=0.3)
        own = obj.labels.sign.argmax(axis=1) if len(counts) > 2 else (obj.labels.sign > 0).astype(int)
        rows = np.bincount(own)[own] >= 5
        losses = [literal_loss(obj, penalty, standardize, rows) for penalty in penalties]
        found = choose_penalty(obj, penalties, standardize=standardize, default=7.0)
        if min(losses) > np.log(len(counts)):
            assert found == 7.0
        else:
            assert losses[penalties.index(found)] <= min(losses) * (1 + 1e-6)
        chosen.add(found)
    assert len(chosen) > 1


@pytest.mark.parametrize("counts", [(1, 1, 1), (4, 4, 4), (9, 4, 1), (4, 4), (8, 1)])
def test_too_few_labels_give_the_default(counts):
    obj = objective(n_classes=len(counts), counts=counts)
    assert choose_penalty(obj, default=0.7) == 0.7
    assert choose_penalty(obj, [5.0]) == 0.3
    assert choose_penalty(objective(n_classes=3, counts=(9, 9, 1)), [5.0]) == 5.0


def test_decisions_that_know_nothing_give_the_default_without_a_division_by_zero():
    """A spectrum that sees nothing of the labelled samples: z-scores of a constant."""
    spectrum = sm.spectra.Spectrum(np.array([0.0, 1.0]), np.eye(12)[:, :2], n_components=1)
    y = np.full(12, -1)
    y[2:] = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    obj = SpectralRidge(spectrum, sm.encode_labels(y), np.array([0.0, 1.0]))
    with np.errstate(all="raise"):
        assert choose_penalty(obj, default=7.0) == 7.0


def test_an_empty_or_impossible_path_is_refused():
    with pytest.raises(ValueError, match="penalties is empty"):
        choose_penalty(objective(), [])
    with pytest.raises(ValueError, match=r"penalty=-1.0 must be a positive number"):
        choose_penalty(objective(l=18), [1.0, -1.0])


# The clusters


def brute_force(Z, seeds, fixed, n_clusters):
    """The best assignment of all that respect the seeds: the largest sum of the lengths of the clusters' sums."""
    free = np.setdiff1d(np.arange(len(Z)), seeds)
    best, where = -np.inf, None
    for choice in itertools.product(range(n_clusters), repeat=len(free)):
        assignment = np.empty(len(Z), dtype=int)
        assignment[seeds], assignment[free] = fixed, choice
        value = sum(np.linalg.norm(Z[assignment == k].sum(axis=0)) for k in range(n_clusters))
        if value > best:
            best, where = value, assignment
    return best, where


def test_the_best_of_all_starts_is_the_optimum_by_brute_force(rng):
    Z = rng.normal(size=(9, 2))
    Z /= np.linalg.norm(Z, axis=1)[:, None]
    seeds, fixed = np.array([0, 4, 8]), np.array([0, 1, 2])
    best, where = brute_force(Z, seeds, fixed, 3)
    values = []
    for _ in range(30):
        start = rng.integers(3, size=9)
        start[seeds] = fixed
        found = seeded_kmeans(rng.uniform(0.1, 9, size=(9, 1)) * Z, start, seeds)
        np.testing.assert_array_equal(found.cluster[seeds], fixed)
        values.append(sum(np.linalg.norm(Z[found.cluster == k].sum(axis=0)) for k in range(3)))
        if values[-1] > best - 1e-12:
            np.testing.assert_array_equal(found.cluster, where)
    assert max(values) == pytest.approx(best)
    assert max(values) <= best + 1e-12


def test_a_row_of_zeros_stays_and_rounds_are_counted():
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.9, 0.1]])
    start, seeds = np.array([0, 1, 1, 1]), np.array([0, 2])
    found = seeded_kmeans(rows, start, seeds)
    assert found.cluster.tolist() == [0, 1, 1, 0]
    assert found.n_iter == 2
    assert found.similarities[2, 1] == pytest.approx(1.0)
    assert seeded_kmeans(rows, start, seeds, max_iter=1).n_iter == 1


def test_every_cluster_needs_a_seed():
    with pytest.raises(ValueError, match="3 clusters, but the seeds are of 2 only"):
        seeded_kmeans(np.eye(4), np.array([0, 1, 2, 0]), np.array([0, 1]))
