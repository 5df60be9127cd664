"""The classifier over learned filters: its decisions written out, graphs of either kind, and bad input."""

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.estimators.spectral_filter import SpectralFilterClassifier
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import normalized_adjacency
from specmargin.objectives.held_out.leave_one_out import RidgePath
from specmargin.solvers.spectrum.block_weights import RULES
from specmargin.spectra import Powers, Resolvents, filter_bank


def block_graph(h, seed=0, n=240, d=30):
    """A graph of three classes of which about the share h of the edges joins one class, and features that know some."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    alike = y[:, None] == y
    p = np.where(alike, h * 3, (1 - h) * 1.5) * 6 / n
    W = np.triu(rng.random((n, n)) < p, 1).astype(float)
    means = rng.normal(size=(3, d))
    return sp.csr_array(W + W.T), 0.35 * means[y] + rng.normal(size=(n, d)), y


def hidden(y, per_class=10, seed=0):
    return sm.hide_labels(y, per_class=per_class, random_state=seed)


@pytest.mark.parametrize("learn", RULES)
def test_decisions_are_those_of_the_kernel_that_was_learned(learn):
    W, X, y = block_graph(0.8)
    clf = SpectralFilterClassifier(learn=learn).fit(X, hidden(y), graph=W)
    bank = filter_bank(normalized_adjacency(W), X)
    labeled = np.flatnonzero(hidden(y) >= 0)
    K = sum(d * F @ F[labeled].T for d, F in zip(clf.filter_weights_, bank.blocks, strict=True))
    sign = np.where(y[labeled][:, None] == np.arange(3), 1.0, -1.0)
    system = np.block(
        [
            [K[labeled] + clf.penalty_ * np.eye(len(labeled)), np.ones((len(labeled), 1))],
            [np.ones((1, len(labeled))), np.zeros((1, 1))],
        ]
    )
    solved = np.linalg.solve(system, np.vstack([sign, np.zeros(3)]))
    np.testing.assert_allclose(clf.scores_, K @ solved[:-1] + solved[-1], atol=1e-8)
    assert (clf.transduction_ == y).mean() > 0.7
    assert (clf.result_ is None) == (learn in ("single", "mean"))


def test_the_filter_learned_is_low_pass_or_high_pass_as_the_graph_is():
    for h, sign in ((0.95, 1.0), (0.02, -1.0)):
        W, X, y = block_graph(h)
        clf = SpectralFilterClassifier().fit(X, hidden(y, 20), graph=W)
        assert sign * (clf.filter_weights_ @ clf.bank_.filters.parameters) > 0.3
        features = SpectralFilterClassifier(filters=Resolvents([0.0])).fit(X, hidden(y, 20), graph=W)
        assert (clf.transduction_ == y).mean() > (features.transduction_ == y).mean() + 0.02


def test_sparse_features_and_two_classes():
    W, X, y = block_graph(0.8)
    X, two = np.where(X > 0.5, X, 0.0), (y > 0).astype(int)
    dense = SpectralFilterClassifier(filters="powers").fit(X, hidden(two), graph=W)
    sparse = SpectralFilterClassifier(filters=Powers(10)).fit(sp.csr_array(X), hidden(two), graph=W)
    np.testing.assert_allclose(dense.scores_, sparse.scores_, atol=1e-10)
    assert dense.scores_.ndim == 1


def test_costs_and_penalties_that_are_given_are_kept():
    W, X, y = block_graph(0.8)
    clf = SpectralFilterClassifier(learn="margin", C=2.0, penalty=0.3).fit(X, hidden(y), graph=W)
    assert (clf.C_, clf.penalty_) == (2.0, 0.3)
    assert np.isnan(SpectralFilterClassifier().fit(X, hidden(y), graph=W).C_)


def test_classes_apart_are_those_of_one_fit_each():
    W, X, y = block_graph(0.8)
    seen = hidden(y)
    apart = SpectralFilterClassifier(joint=False).fit(X, seen, graph=W)
    assert apart.filter_weights_.shape == (3, 7)
    assert apart.penalty_.shape == (3,)
    for k in range(3):
        one = SpectralFilterClassifier().fit(X, np.where(seen < 0, -1, seen == k), graph=W)
        np.testing.assert_allclose(apart.scores_[:, k], one.scores_, atol=1e-9)
    assert len(apart.result_) == 3
    assert apart.bank_.response(apart.filter_weights_, np.array([0.0, 1.0])).shape == (3, 2)
    with pytest.raises(InvalidInputError, match="joint=True"):
        apart.conformal_sets()


@pytest.mark.parametrize("learn", ["alignment", "single", "mean"])
@pytest.mark.parametrize("penalty", ["loo", 0.1])
def test_conformal_p_values_are_those_of_weights_that_were_learned_with_the_candidate(learn, penalty):
    """Literally: the node is labelled so, all is learned, then every labelled node is left out by a refit."""
    W, X, y = block_graph(0.8, n=60)
    seen = hidden(y, per_class=4)
    seen[np.flatnonzero(seen == 0)[2:]] = -1  # 2, 4 and 4
    parameters = {"learn": learn, "penalty": penalty}
    fitted = SpectralFilterClassifier(**parameters).fit(X, seen, graph=W)
    p, within = fitted.conformal_p_values(), fitted.conformal_p_values(class_conditional=True)
    blocks = filter_bank(normalized_adjacency(W), X).blocks
    for j in np.flatnonzero(seen < 0)[:6]:
        for k in range(3):
            labels = np.where(np.arange(60) == j, k, seen)
            full = SpectralFilterClassifier(**parameters).fit(X, labels, graph=W)
            among = np.append(np.flatnonzero(seen >= 0), j)
            K = sum(d * F[among] @ F[among].T for d, F in zip(full.filter_weights_, blocks, strict=True))
            own = labels[among]
            T = np.where(own[:, None] == np.arange(3), 1.0, -1.0)
            scores = []
            for i in range(len(among)):
                others = np.delete(np.arange(len(among)), i)
                system = np.ones((len(among), len(among)))
                system[:-1, :-1] = K[np.ix_(others, others)] + full.penalty_ * np.eye(len(others))
                system[-1, -1] = 0.0
                f = np.append(K[i, others], 1.0) @ np.linalg.solve(system, np.vstack([T[others], np.zeros(3)]))
                scores.append(np.delete(f, own[i]).max() - f[own[i]])
            larger = np.array(scores) >= scores[-1] - 1e-9
            assert p[j, k] == pytest.approx(larger.mean(), abs=1e-12)
            assert within[j, k] == pytest.approx(larger[own == k].mean(), abs=1e-12)


@pytest.mark.parametrize("learn", ["margin", "ordered"])
def test_conformal_sets_of_weights_that_saw_the_labels_are_refused(learn):
    W, X, y = block_graph(0.8)
    with pytest.raises(InvalidInputError, match="take learn='alignment'"):
        SpectralFilterClassifier(learn=learn).fit(X, hidden(y), graph=W).conformal_sets()


def test_a_single_filter_is_judged_at_the_penalty_that_is_asked_for():
    W, X, y = block_graph(0.6)
    seen, chosen = hidden(y), []
    blocks = filter_bank(normalized_adjacency(W), X).blocks
    labeled = np.flatnonzero(seen >= 0)
    sign = np.where(y[labeled][:, None] == np.arange(3), 1.0, -1.0)
    for penalty in (1e-4, 1e-2, 1.0, 100.0):
        clf = SpectralFilterClassifier(learn="single", penalty=penalty).fit(X, seen, graph=W)
        errors = [
            np.mean((RidgePath(F[labeled] @ F[labeled].T, sign).leave_one_out([penalty])[0] - sign) ** 2)
            for F in blocks
        ]
        assert clf.filter_weights_.argmax() == np.argmin(errors)
        chosen.append(int(np.argmin(errors)))
    assert len(set(chosen)) > 1


@pytest.mark.parametrize("normalization", ["unit", "centered"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_new_nodes_of_a_copy_of_the_graph_are_the_old_ones(normalization, kind):
    W, X, y = block_graph(0.8)
    for joint in (True, False):
        clf = SpectralFilterClassifier(normalization=normalization, joint=joint).fit(kind(X), hidden(y), graph=W)
        f = clf.decision_function(kind(X), graph=sp.block_diag([W, W]))
        np.testing.assert_allclose(f, clf.scores_, atol=1e-9)
        np.testing.assert_array_equal(clf.predict(kind(X), graph=sp.block_diag([W, W])), clf.transduction_)


@pytest.mark.parametrize("normalization", ["unit", "centered"])
def test_new_nodes_are_filtered_on_the_new_graph(normalization):
    """Functions of the new operator by its eigenvectors; means and scales of the blocks at the old nodes."""
    W, X, y = block_graph(0.8, n=240)
    n = 200
    seen, old = hidden(y[:n], 8), X[:n]
    clf = SpectralFilterClassifier(filters=Resolvents([-0.5, 0.0, 0.8]), normalization=normalization)
    clf.fit(old, seen, graph=W[:n, :n])
    unit = lambda F: F / np.linalg.norm(F, axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(normalized_adjacency(W).toarray())
    before_values, before_vectors = np.linalg.eigh(normalized_adjacency(W[:n, :n]).toarray())
    f = np.zeros((240 - n, 3)) + clf.intercept_
    for b in range(3):
        every = (
            vectors * clf.bank_.filters.response(values)[b] @ vectors.T @ (unit(X) if normalization == "unit" else X)
        )
        before = before_vectors * clf.bank_.filters.response(before_values)[b] @ before_vectors.T
        before = before @ (unit(old) if normalization == "unit" else old)
        if normalization == "unit":
            every, before = unit(every), unit(before)
        scale = np.sqrt(n / ((before - before.mean(axis=0)) ** 2).sum())
        f += (every[n:] - before.mean(axis=0)) * scale @ clf.coef_[b]
    np.testing.assert_allclose(clf.decision_function(X[n:], graph=W), f, atol=1e-5)
    assert (clf.predict(X[n:], graph=W) == y[n:]).mean() > 0.7


def test_bad_new_nodes_are_refused():
    W, X, y = block_graph(0.8)
    clf = SpectralFilterClassifier().fit(X, hidden(y), graph=W)
    with pytest.raises(InvalidInputError, match="240"):
        clf.predict(X[:3], graph=W)
    with pytest.raises(InvalidInputError, match="symmetric"):
        clf.predict(X[:1], graph=np.triu(np.ones((241, 241)), 1))
    with pytest.raises(ValueError, match="features"):
        clf.predict(X[:1, :3], graph=np.ones((241, 241)))


@pytest.mark.parametrize("scale", [1e-8, 3.0, 1e8])
def test_the_unit_of_the_edges_decides_nothing(scale):
    W, X, y = block_graph(0.8)
    plain = SpectralFilterClassifier().fit(X, hidden(y), graph=W)
    scaled = SpectralFilterClassifier().fit(X, hidden(y), graph=scale * W)
    np.testing.assert_allclose(scaled.scores_, plain.scores_, atol=1e-9)
    new = [clf.decision_function(X, graph=c * sp.block_diag([W, W])) for clf, c in ((plain, 1.0), (scaled, scale))]
    np.testing.assert_allclose(new[1], new[0], atol=1e-9)


def test_a_graph_without_edges_leaves_the_features():
    W, X, y = block_graph(0.8)
    with pytest.warns(UserWarning, match="components"):
        clf = SpectralFilterClassifier().fit(X, hidden(y), graph=0.0 * W)
    alone = SpectralFilterClassifier(filters=Resolvents([0.0])).fit(X, hidden(y), graph=W)
    np.testing.assert_allclose(clf.scores_, alone.scores_, atol=1e-6)
