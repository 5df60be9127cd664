"""The rivals against scikit-learn, dense solves, explicit refits and the limits of their parameters."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.preprocessing import normalize

import specmargin as sm
from reproduction.papers._protocols import node_rivals as rivals
from reproduction.papers._protocols.node_rivals import RIVALS
from reproduction.papers._protocols.node_sets import STAND_IN, NodeGraph, node_graph, node_splits
from specmargin.graphs import normalized_adjacency
from specmargin.objectives.held_out.leave_one_out import dealt_folds


@pytest.fixture(scope="module")
def problem():
    return node_graph(STAND_IN), next(iter(node_splits(STAND_IN).values()))


def fitted(name, problem, X=None):
    graph, split = problem
    X = graph.X if X is None else X
    return RIVALS[name].fit(graph.W, X, graph.y[split.train], split.train, graph.n_classes, 0)


def error(f, problem):
    graph, split = problem
    return np.mean(f[split.test].argmax(axis=1) != graph.y[split.test])


@pytest.mark.parametrize("name", RIVALS)
def test_decisions_are_finite_better_than_chance_and_repeatable(problem, name):
    f = fitted(name, problem)
    assert f.shape == (150, 3)
    assert np.isfinite(f).all()
    assert error(f, problem) < 0.5
    assert np.array_equal(f, fitted(name, problem))


@pytest.mark.parametrize("name", RIVALS)
def test_other_labels_are_not_seen_and_classes_without_one_are_not_named(problem, name):
    """Four classes of which the last has no label, one that has a single one, a lone node and a node of no feature."""
    graph, split = problem
    W, X = graph.W.tolil(), graph.X.tolil()
    W[-1], W[:, -1], X[-2] = 0.0, 0.0, 0.0
    y = graph.y[split.train].copy()
    y[y == 2] = 1
    y[-1] = 2
    f = RIVALS[name].fit(W.tocsr(), X.tocsr(), y, split.train, 4, 0)
    assert np.isfinite(f).all()
    assert 3 not in f[split.test].argmax(axis=1)


def test_features_are_ridge_regression(problem):
    """Scikit-learn's ridge regression, refitted without each node in turn, at each penalty."""
    graph, split = problem
    F, T = normalize(graph.X.toarray()), np.eye(3)[graph.y[split.train]]
    A = F[split.train]
    centred = A - A.mean(axis=0)
    penalties = rivals.PENALTIES * (centred**2).sum() / len(A)
    errors = []
    for penalty in penalties:
        left_out = [
            Ridge(penalty, tol=1e-12).fit(np.delete(A, i, axis=0), np.delete(T, i, axis=0)).predict(A[i : i + 1])[0]
            for i in range(len(A))
        ]
        errors.append(((np.array(left_out) - T) ** 2).mean())
    expected = Ridge(penalties[np.argmin(errors)]).fit(A, T).predict(F)
    np.testing.assert_allclose(fitted("features", problem), expected, atol=1e-8)


@pytest.mark.parametrize("normalized", [True, False])
def test_deformed_kernel_is_laprls(problem, normalized):
    """The deformed kernel against a dense solve for the coefficients of the features."""
    graph, split = problem
    F, train = normalize(graph.X.toarray()), split.train
    L = sm.graphs.laplacian(graph.W, normalized=normalized).matrix.toarray()
    sign = np.where(graph.y[train] == 1, 1.0, -1.0)
    weight, gamma = 0.7, 0.2
    kernel = rivals.deformed_kernel(F, F.T @ L @ F, weight, train)
    v, b = rivals.RidgePath(kernel[train], sign).solution(gamma)
    A = np.column_stack([F[train], np.ones(len(train))])
    H = np.zeros((F.shape[1] + 1,) * 2)
    H[:-1, :-1] = gamma * (np.eye(F.shape[1]) + weight * F.T @ L @ F)
    w = np.linalg.solve(A.T @ A + H, A.T @ sign)
    np.testing.assert_allclose(kernel @ v + b, F @ w[:-1] + w[-1], atol=1e-9)
    labels = sm.encode_labels(np.where(np.isin(np.arange(150), train), graph.y == 1, -1))
    obj = sm.objectives.LapSVM(F @ F.T, L, labels, loss="squared", gamma_A=gamma, gamma_I=gamma * weight)
    solved = sm.solve(sm.problems.lapsvm_dual(obj))
    np.testing.assert_allclose(obj.decisions(solved.variables), kernel @ v + b, atol=1e-5)


def test_laprls_takes_the_setting_of_least_leave_one_out_error(problem):
    """By explicit refits of the coefficients without each node, at every setting."""
    graph, split = problem
    F, train = normalize(graph.X.toarray()), split.train
    T = np.eye(3)[graph.y[train]]
    found = []
    for normalized in (True, False):
        L = sm.graphs.laplacian(graph.W, normalized=normalized).matrix.toarray()
        for weight in rivals.GRAPH_WEIGHTS:
            P = np.eye(F.shape[1]) + weight * F.T @ L @ F
            kernel = F @ np.linalg.solve(P, F[train].T)
            H = np.eye(len(train)) - 1.0 / len(train)
            unit = np.trace(H @ kernel[train] @ H) / len(train)
            for penalty in rivals.PENALTIES[::6]:
                left_out = [
                    refit(kernel[train], T, penalty * unit, np.delete(np.arange(len(train)), i), i)
                    for i in range(len(train))
                ]
                f = refit(kernel[train], T, penalty * unit, np.arange(len(train)), kernel)
                found.append((((np.array(left_out) - T) ** 2).mean(), f))
    expected = min(found, key=lambda one: one[0])[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rivals, "PENALTIES", rivals.PENALTIES[::6])
        np.testing.assert_allclose(fitted("laprls", problem), expected, atol=1e-7)


def refit(K, T, gamma, kept, rows):
    """Return decisions of kernel ridge regression with an intercept, by the bordered system."""
    n = len(kept)
    M = np.ones((n + 1, n + 1))
    M[:n, :n] = K[np.ix_(kept, kept)] + gamma * np.eye(n)
    M[n, n] = 0.0
    solution = np.linalg.solve(M, np.vstack([T[kept], np.zeros(T.shape[1])]))
    A = K[rows][kept] if isinstance(rows, int) else rows[:, kept]
    return A @ solution[:n] + solution[n]


def test_more_features_than_nodes_are_rotated(problem):
    graph, _ = problem
    wide = sp.hstack([graph.X, graph.X, graph.X], format="csr")
    assert wide.shape[1] > wide.shape[0]
    np.testing.assert_allclose(fitted("laprls", problem, wide), fitted("laprls", problem), atol=1e-8)


def test_label_propagation_is_harmonic(problem):
    """Each free node has its neighbours' mean; a component without a label has the shares of the classes."""
    graph, split = problem
    lone = sp.block_diag([graph.W, np.ones((2, 2)) - np.eye(2)], format="csr")
    y = graph.y[split.train]
    f = rivals.label_propagation(lone, None, y, split.train, 3)
    mean = np.asarray((lone @ f) / np.maximum(lone.sum(axis=1), 1e-12).reshape(-1, 1))
    free = np.setdiff1d(np.arange(150), split.train)
    degrees = np.asarray(lone.sum(axis=1)).ravel()
    free = free[degrees[free] > 0]
    np.testing.assert_allclose(f[free], mean[free], atol=1e-12)
    assert np.array_equal(f[split.train], np.eye(3)[y])
    np.testing.assert_allclose(f[150:], [[1 / 3] * 3] * 2)


def test_label_spreading_is_a_dense_solve(problem):
    graph, split = problem
    S = normalized_adjacency(graph.W, self_loops=0.0).toarray()
    train, T = split.train, np.eye(3)[graph.y[split.train]]

    def spread(a, kept):
        Y = np.zeros((150, 3))
        Y[train[kept]] = T[kept]
        F = np.linalg.solve(np.eye(150) - a * S, Y)
        total = F.sum(axis=1, keepdims=True)
        return np.where(total > 1e-12, F / np.where(total > 1e-12, total, 1), T[kept].mean(axis=0))

    everything = np.arange(len(train))
    errors = [
        np.mean([(spread(a, np.delete(everything, i))[train[i]] - T[i]) ** 2 for i in everything])
        for a in rivals.PASSED_ON
    ]
    expected = spread(rivals.PASSED_ON[int(np.argmin(errors))], everything)
    np.testing.assert_allclose(fitted("label_spreading", problem), expected, atol=1e-10)


def test_exact_pagerank_is_a_dense_solve(problem, rng):
    S = normalized_adjacency(problem[0].W, self_loops=0.0)
    F = rng.standard_normal((150, 2))
    dense = 0.2 * np.linalg.solve(np.eye(150) - 0.8 * S.toarray(), F)
    np.testing.assert_allclose(rivals.exact_pagerank(S, 0.8)(F), dense, atol=1e-12)
    assert rivals.exact_pagerank(S, 0.0)(F) is F


def test_correct_and_smooth_without_propagation_is_its_base(problem, monkeypatch):
    monkeypatch.setattr(rivals, "CORRECTED", (0.0,))
    monkeypatch.setattr(rivals, "SMOOTHED", (0.0,))
    f, base = fitted("correct_and_smooth", problem), fitted("features", problem)
    test = problem[1].test
    np.testing.assert_allclose(f[test], base[test], atol=1e-12)
    assert error(f, problem) == error(base, problem)


def test_right_decisions_are_not_corrected(problem):
    graph, split = problem
    right = np.eye(3)[graph.y]
    rank = rivals.exact_pagerank(normalized_adjacency(graph.W, self_loops=0.0), 0.8)
    assert np.array_equal(rivals.correct(right, right[split.train], split.train, rank), right)


def test_correction_and_smoothing_by_hand():
    """Three nodes in a row, the first labelled: the error 0.4 goes halfway along, the labels come back before."""
    W = sp.csr_matrix(np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    S = normalized_adjacency(W, self_loops=0.0)
    base, train = np.array([[0.6, 0.4], [0.5, 0.5], [0.2, 0.8]]), np.array([0])
    known = np.array([[1.0, 0.0]])
    corrected = rivals.correct(base, known, train, rivals.exact_pagerank(S, 0.5))
    # Every row of the spread error points along (1, -1), scaled to the mean absolute error 0.8.
    np.testing.assert_allclose(corrected, base + np.array([0.4, -0.4]), atol=1e-12)
    smoothed = rivals.smooth(base, known, train, lambda F: S @ F)
    expected = np.sqrt(0.5) * np.array([[0.5, 0.5], [1.2, 0.8], [0.5, 0.5]])
    np.testing.assert_allclose(smoothed, expected, atol=1e-12)


def test_correct_and_smooth_gains_on_a_homophilous_graph(problem):
    assert error(fitted("correct_and_smooth", problem), problem) < error(fitted("features", problem), problem) - 0.05


@pytest.mark.parametrize(("name", "order"), [("sgc_l1", 1), ("sgc_l2", 2)])
def test_sgc_is_logistic_regression_on_all_columns(problem, name, order):
    """On the features themselves instead of a basis of their span, by Newton steps."""
    graph, split = problem
    loops = graph.W.toarray() + np.eye(150)
    root = 1 / np.sqrt(loops.sum(axis=1))
    S = root[:, None] * loops * root
    F = S @ S @ normalize(graph.X.toarray(), norm=f"l{order}")
    train, y = split.train, graph.y[split.train]
    F /= np.sqrt((F[train] ** 2).sum(axis=1).mean())

    def model(C, kept):
        return LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10).fit(F[train[kept]], y[kept])

    folds = [fold.test for fold in dealt_folds(2 * np.eye(3)[y] - 1, 5)]
    scores = []
    for C in rivals.COSTS:
        p = np.zeros((len(train), 3))
        for test in folds:
            p[test] = model(C, np.setdiff1d(np.arange(len(train)), test)).predict_proba(F[train[test]])
        scores.append((np.mean(p.argmax(axis=1) != y), log_loss(y, p)))
    C = rivals.COSTS[scores.index(min(scores))]
    expected = model(C, np.arange(len(train))).predict_proba(F)
    np.testing.assert_allclose(fitted(name, problem), expected, atol=1e-5)


def test_linear_appnp_propagates_decisions(problem):
    """Decisions of coefficients on the features, propagated, are those on the propagated features."""
    graph, split = problem
    S = normalized_adjacency(graph.W).toarray()
    P = sum(0.1 * np.linalg.matrix_power(0.9 * S, k) for k in range(10)) + np.linalg.matrix_power(0.9 * S, 10)
    X = normalize(graph.X.toarray())
    expected = rivals.logistic(P @ X, graph.y[split.train], split.train, 3)
    # L-BFGS ends where an objective gains less than 64 roundings: that leaves about half of the digits of a minimiser.
    np.testing.assert_allclose(fitted("appnp_linear", problem), expected, atol=1e-5)


def test_rivals_need_no_features_or_graph_that_they_do_not_use(problem):
    graph, split = problem
    other = NodeGraph(sp.csr_matrix((150, 150)), graph.X, graph.y)
    assert np.array_equal(fitted("features", problem), fitted("features", (other, split)))
    nothing = sp.csr_matrix((150, 1))
    for name in ("label_propagation", "label_spreading"):
        assert np.array_equal(fitted(name, problem), fitted(name, problem, nothing))
