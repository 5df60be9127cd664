"""SpectralRidge as an estimator: what it solves, balance, clusters, new samples, and scikit-learn's own suite."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import adjusted_rand_score

import specmargin as sm
from reproduction.data import load
from specmargin.estimators.spectral_ridge import SpectralRidge
from specmargin.exceptions import DisconnectedGraphWarning
from specmargin.graphs import KNN, Laplacian
from specmargin.objectives import spectral_ridge as ridge
from specmargin.solvers.spectrum.spectral_ridge import PENALTIES, choose_penalty
from specmargin.spectra.eigenpairs import eigenpairs_of


def spectrum_of(X, n_neighbors=10, q=None, normalized=True):
    W = sm.graphs.knn_graph(X, n_neighbors=n_neighbors, weight="self_tuning")
    return sm.spectra.laplacian_eigenpairs(W, q=q or len(X), normalized=normalized)


def by_scikit_learn(X, y, q, power, penalty, marker=-1):
    """One against the rest by scikit-learn's ridge on rescaled eigenvectors; the decisions of all samples."""
    spectrum = spectrum_of(X, q=q)
    delta = spectrum.eigenvalues[1:] ** -power
    features = spectrum.eigenvectors[:, 1:] * np.sqrt(len(X) * delta / delta.sum())
    known = y != marker
    classes = np.unique(y[known])
    target = np.where(y[known][:, None] == classes, 1.0, -1.0)
    return Ridge(alpha=penalty, solver="svd").fit(features[known], target).predict(features)


def standardized(f):
    return (f - f.mean(axis=0)) / f.std(axis=0)


@pytest.mark.parametrize("balance", ["zscore", None])
def test_two_classes_are_scikit_learns_ridge_on_eigenvectors(moons, balance, tol):
    X, _, y = moons
    clf = SpectralRidge(q=30, penalty=0.05, power=1.5, class_balance=balance).fit(X, y)
    f = by_scikit_learn(X, y, 30, 1.5, 0.05)[:, 1]
    np.testing.assert_allclose(clf.result_.variables["f"], f, atol=tol["linalg"])
    expected = standardized(f) if balance else f
    np.testing.assert_allclose(clf.scores_, expected, atol=tol["linalg"])
    np.testing.assert_array_equal(clf.transduction_, (expected > 0).astype(int))
    assert (clf.penalty_, not clf.balance_.is_identity) == (0.05, balance == "zscore")
    assert clf.result_.certificate.is_optimal(1e-12)


@pytest.mark.parametrize("balance", ["zscore", None])
def test_several_classes_are_one_against_the_rest_in_one_problem(blobs, balance, tol):
    X, y_true, y = blobs
    clf = SpectralRidge(q=40, penalty=0.2, class_balance=balance, unlabeled="?").fit(X, y)
    f = by_scikit_learn(X, y, 40, 2, 0.2, "?")
    expected = standardized(f) if balance else f
    np.testing.assert_allclose(clf.scores_, expected, atol=tol["linalg"])
    np.testing.assert_array_equal(clf.transduction_, np.array(["a", "b", "c"])[expected.argmax(axis=1)])
    assert (clf.transduction_ == y_true).mean() > 0.9
    assert clf.result_.variables["v"].shape == (40, 3)
    assert clf.intercept_.shape == (3,)
    assert clf.delta_.sum() == pytest.approx(1.0)
    assert clf.eigenvectors_.shape == (120, 40)


def test_the_laplacian_is_the_one_that_was_asked_for(moons, tol):
    X, _, y = moons
    clf = SpectralRidge(q=10, graph=KNN(7, weight="binary"), laplacian=Laplacian(normalized=False)).fit(X, y)
    W = sm.graphs.knn_graph(X, n_neighbors=7).toarray()
    values = np.linalg.eigvalsh(np.diag(W.sum(axis=1)) - W)[:10]
    np.testing.assert_allclose(clf.eigenvalues_, values, atol=tol["linalg"])


def test_the_penalty_is_chosen_by_leave_one_out_on_what_is_compared(blobs):
    X, y_true, _ = blobs
    y = sm.hide_labels(y_true, per_class=6, unlabeled="?", random_state=7)
    labels, spectrum = sm.encode_labels(y, "?"), spectrum_of(X)
    obj = ridge.SpectralRidge(spectrum, labels, ridge.power_spectrum(spectrum, 1.0))
    chosen = set()
    for balance in ("zscore", None):
        clf = SpectralRidge(power=1.0, class_balance=balance, unlabeled="?").fit(X, y)
        assert clf.penalty_ == choose_penalty(obj, standardize=balance == "zscore")
        assert clf.penalty_ in PENALTIES
        chosen.add(clf.penalty_)
    assert len(chosen) == 2
    one = sm.hide_labels(y_true, per_class=1, unlabeled="?", random_state=2)
    assert SpectralRidge(unlabeled="?").fit(X, one).penalty_ == 0.3


# Balance


@pytest.mark.filterwarnings("ignore::specmargin.exceptions.DisconnectedGraphWarning")
def test_constant_decisions_are_no_division_by_zero():
    """Both labels in each of two components, and no eigenvector but that of the components: f = b everywhere."""
    W = sp.block_diag([np.ones((4, 4)) - np.eye(4), np.ones((3, 3)) - np.eye(3)])
    y = [0, 1, -1, -1, 0, 1, -1]
    with np.errstate(all="raise"):
        clf = SpectralRidge(
            q=2, penalty=0.1, graph=KNN(2, weight="self_tuning"), laplacian=Laplacian(normalized=False)
        ).fit(np.eye(7), y, graph=W)
    np.testing.assert_array_equal(clf.scores_, np.zeros(7))


# Clusters


def clusters_with_bridges(rng, sizes=(60, 60, 60)):
    """Blobs in a row, close enough that one label each leaves the ridge's boundary off the gap."""
    centres = np.array([[0.0, 0.0], [4.2, 0.0], [8.4, 0.0], [0.0, 4.2]])[: len(sizes)]
    X = np.concatenate([c + rng.normal(size=(m, 2)) for c, m in zip(centres, sizes, strict=True)])
    return X, np.repeat(np.arange(len(sizes)), sizes)


@pytest.mark.parametrize("sizes", [(60, 60, 60), (80, 80)])
def test_refined_classes_are_the_clusters(rng, sizes):
    X, y_true = clusters_with_bridges(rng, sizes)
    plain, refined = [], []
    for seed in range(5):
        y = sm.hide_labels(y_true, per_class=1, random_state=seed)
        clf = SpectralRidge(refine="kmeans").fit(X, y)
        reference = SpectralClustering(
            len(sizes), affinity="precomputed", assign_labels="cluster_qr", random_state=0
        ).fit(sm.graphs.knn_graph(X, 10, weight="self_tuning").toarray())
        assert adjusted_rand_score(reference.labels_, clf.transduction_) > 0.7
        refined.append((clf.transduction_ != y_true).mean())
        plain.append((SpectralRidge().fit(X, y).transduction_ != y_true).mean())
        np.testing.assert_array_equal(clf.transduction_[y >= 0], y[y >= 0])
    assert np.mean(refined) <= np.mean(plain)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_refined_scores_are_cosines_with_the_centres_of_the_predicted_classes(rng, n_classes, tol):
    X, y_true = clusters_with_bridges(rng, (50,) * n_classes)
    y = sm.hide_labels(y_true, per_class=3, random_state=0)
    y[np.flatnonzero(y == 0)[0]] = 1  # which the ridge contradicts, and the cluster keeps
    clf = SpectralRidge(refine="kmeans", penalty=3.0).fit(X, y)
    Z = clf.eigenvectors_[:, : 5 * n_classes]
    Z = Z / np.linalg.norm(Z, axis=1)[:, None]
    centres = np.stack([Z[clf.transduction_ == k].sum(axis=0) for k in range(n_classes)])
    cosines = Z @ (centres / np.linalg.norm(centres, axis=1)[:, None]).T
    cosines[y >= 0, y[y >= 0]] = 1.0
    expected = cosines if n_classes > 2 else cosines[:, 1] - cosines[:, 0]
    np.testing.assert_allclose(clf.scores_, expected, atol=tol["linalg"])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_samples_without_a_direction_keep_the_class_of_the_ridge(rng, n_classes):
    """More isolated nodes than leading eigenvectors: the rows of the last are zero. The last class has most labels."""
    X, y_true = clusters_with_bridges(rng, (50,) * n_classes)
    W = sm.graphs.knn_graph(X, 10, weight="self_tuning").tolil()
    lonely = np.arange(10, 32)
    W[lonely, :] = 0
    W[:, lonely] = 0
    y = np.full(len(y_true), -1)
    y[:3], y[50:53], y[-9:] = 0, 1, n_classes - 1
    with pytest.warns(DisconnectedGraphWarning):
        clf = SpectralRidge(refine="kmeans", class_balance=None).fit(X, y, graph=W.tocsr())
    silent = lonely[~clf.eigenvectors_[lonely, : 5 * n_classes].any(axis=1)]
    assert len(silent) > 5
    f = clf.result_.variables["f"][silent]
    expected = (f > 0).astype(int) if n_classes == 2 else f.argmax(axis=1)
    assert (expected == n_classes - 1).all()
    np.testing.assert_array_equal(clf.transduction_[silent], expected)


# New samples, input, and habits


def test_training_samples_get_their_own_scores_and_neighbours_similar_ones(moons, blobs):
    for X, y, marker in ((moons[0], moons[2], -1), (blobs[0], blobs[2], "?")):
        for refine in (None, "kmeans"):
            clf = SpectralRidge(q=30, refine=refine, unlabeled=marker).fit(X, y)
            np.testing.assert_allclose(clf.decision_function(X), clf.scores_, atol=1e-12)
            assert (clf.predict(X + 0.01) == clf.transduction_).mean() > 0.95


def test_new_samples_are_extended_by_the_weights_of_the_graph(moons):
    X, _, y = moons
    new = X[:7] + 0.3
    for kwargs in (
        {"weight": "heat", "n_neighbors": 4},
        {"weight": "binary"},
        {"metric": "cosine"},
        {"weight": "cosine"},
    ):
        own = {"n_neighbors": 10, "weight": "self_tuning", **kwargs}
        clf = SpectralRidge(q=30, graph=KNN(**own)).fit(X, y)
        weights = sm.graphs.neighbor_weights(new, X, **own)
        np.testing.assert_allclose(clf.decision_function(new), sm.spectra.extend(clf.scores_, weights), atol=1e-12)


def test_neighbours_are_searched_among_projected_samples(rng):
    """With reduce=3 the graph, and the weights of new samples, are those of three principal components."""
    centres = rng.normal(size=(2, 30))
    y_true = np.repeat([0, 1], 60)
    X = 0.5 * centres[y_true] + rng.normal(size=(120, 30))
    y = sm.hide_labels(y_true, per_class=2, random_state=0)
    clf = SpectralRidge(q=20, graph=KNN(reduce=3, weight="self_tuning")).fit(X, y)
    W = sm.graphs.knn_graph(X, 10, weight="self_tuning", reduce=3)
    expected = SpectralRidge(q=20).fit(X, y, graph=W)
    np.testing.assert_allclose(clf.scores_, expected.scores_, atol=1e-9)
    new = X[:9] + 0.1 * rng.normal(size=(9, 30))
    weights = sm.graphs.neighbor_weights(new, X, 10, weight="self_tuning", reduce=3)
    np.testing.assert_allclose(clf.decision_function(new), sm.spectra.extend(clf.scores_, weights), atol=1e-9)
    plain = SpectralRidge(q=20).fit(X, y)
    assert not np.allclose(plain.scores_, clf.scores_, atol=1e-3)


def test_a_second_fit_forgets_the_first(moons):
    X, _, y = moons
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    clf = SpectralRidge(q=20).fit(X + 5.0, y)
    clf.fit(X, y, graph=W)
    fresh = SpectralRidge(q=20).fit(X, y, graph=W)
    np.testing.assert_array_equal(clf.decision_function(X + 0.1), fresh.decision_function(X + 0.1))


def test_a_gap_that_is_not_closed_is_said(moons, monkeypatch):
    X, _, y = moons
    exact = ridge.SpectralRidge.prove
    monkeypatch.setattr(ridge.SpectralRidge, "prove", lambda self, v, b, theta: exact(self, 1.1 * v, b, theta))
    with pytest.warns(ConvergenceWarning, match="SpectralRidge"):
        SpectralRidge(q=20).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SpectralRidge(q=20, tol=1.0).fit(X, y)


def test_loose_eigenvectors_predict_like_exact_ones(monkeypatch):
    """Beyond 2,000 samples the eigenvectors are only as exact as was asked for."""
    X, y_true = sm.datasets.make_two_moons(n_samples=2200, noise=0.1, random_state=0)
    y = sm.hide_labels(y_true, per_class=3, random_state=0)
    asked = []

    def spy(L, q, **kwargs):
        asked.append(kwargs["tol"])
        return eigenpairs_of(L, q, **kwargs)

    monkeypatch.setattr("specmargin.spectra.reuse.eigenpairs_of", spy)
    loose, exact = SpectralRidge(q=40).fit(X, y), SpectralRidge(q=40, eigen_tol=0.0).fit(X, y)
    assert asked == [1e-3, 0.0]
    assert np.abs(loose.eigenvectors_.T @ loose.eigenvectors_ - np.eye(40)).max() < 1e-5
    assert (loose.transduction_ == exact.transduction_).mean() > 0.995


@pytest.mark.data
def test_digits_with_one_and_with_ten_labels_per_class(data_folder):
    """The errors fall with labels, and clusters help where there is one; numbers of the prototype with room."""
    name = "uspst" if data_folder else "digits"
    data = load(name, data_home=data_folder)
    errors = {}
    W = sm.graphs.knn_graph(data.X, n_neighbors=10, weight="self_tuning")
    for per_class, refine in ((1, None), (1, "kmeans"), (10, None)):
        runs = []
        for seed in range(3):
            y = sm.hide_labels(data.y, per_class=per_class, random_state=seed)
            clf = SpectralRidge(q=80, refine=refine).fit(data.X, y, graph=W)
            runs.append((clf.transduction_ != data.y)[y == -1].mean())
        errors[per_class, refine] = np.mean(runs)
    assert errors[10, None] < 0.12
    assert errors[10, None] < errors[1, None] < 0.4
    assert errors[1, "kmeans"] < errors[1, None] + 0.02


def test_the_edge_of_the_penalties_is_said(moons):
    X, y_true, _ = moons
    edges = {"smallest": 1e-6, "largest": 3.0}
    found = set()
    for seed in range(6):
        noise = np.random.default_rng(seed).random(len(y_true)) < (0.0 if seed < 3 else 0.45)
        y = sm.hide_labels(np.where(noise, 1 - y_true, y_true), per_class=12, random_state=seed)
        clf = SpectralRidge().fit(X, y)
        said = [word for word in edges if f"is the {word} that was tried" in clf.result_.message]
        assert said == [word for word, penalty in edges.items() if clf.penalty_ == penalty]
        found.add(clf.penalty_)
    assert len(found) > 1
    assert found & set(edges.values())
    assert "tried" not in SpectralRidge(penalty=1e-6).fit(X, y).result_.message


@pytest.mark.parametrize(("per_class", "told"), [(1, False), (4, False), (6, True)])
def test_a_penalty_that_the_labels_did_not_choose_is_told(moons, per_class, told):
    X, y_true, _ = moons
    y = sm.hide_labels(y_true, per_class=per_class, random_state=0)
    clf = SpectralRidge().fit(X, y)
    assert ("could not choose the penalty: 0.3 is taken" in clf.result_.message) == (not told)
    assert told or clf.penalty_ == 0.3
    assert "could not" not in SpectralRidge(penalty=0.3).fit(X, y).result_.message


def test_bad_input_is_named(moons):
    X, _, y = moons
    for params, text in (
        ({"q": 1}, "q=1 leaves nothing"),
        ({"graph": 120}, "120"),
        ({"laplacian": 2}, r"SpectralRidge has a power of its own, .* write power=2"),
    ):
        with pytest.raises(ValueError, match=text):
            SpectralRidge(**params).fit(X, y)
