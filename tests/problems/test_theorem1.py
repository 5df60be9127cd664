"""Theorem 1 of the spectrum paper: what regularising predictions and a large margin have to do with each other.

Eq. 3 penalises the predictions h themselves, eq. 4 is an SVM on the rows v_i of the eigenvectors V (without the first,
the constant one), scaled by Q^(-1/2):

    (3)  min_h     1/2 h'V Q V'h + C sum_i max(0, 1 - y_i h_i),
    (4)  min_w,b   1/2 w'w       + C sum_i max(0, 1 - y_i (w'Q^(-1/2) v_i + b)).

The proof puts h = V Q^(-1/2) w + b 1 and so presupposes that h lies in the span of V and 1. There the two are equal.
Over all h in R^n, as eq. 3 is printed, what lies outside that span costs nothing, and the labels are fitted for free.
Both are solved here as they stand, with CVXPY.
"""

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives import SpectrumMargin
from specmargin.problems import solve, storm

TIGHT = {"tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11}
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


def karate():
    """Zachary's club: who met whom, and which side they took when it split."""
    graph = nx.karate_club_graph()
    W = nx.to_numpy_array(graph, weight=None)
    return W, np.array([int(graph.nodes[i]["club"] == "Officer") for i in graph])


def digits():
    """Threes and eights, and who looks like whom."""
    X, y = sm.datasets.digits_pair(3, 8, n=60, random_state=0)
    return sm.graphs.knn_graph(X, n_neighbors=5), y


GRAPHS = {"karate": karate, "digits": digits}
REGULARIZERS = {
    "eigenvalues": lambda values, rng: values,
    "squared index": lambda values, rng: np.arange(2.0, len(values) + 2) ** 2,
    "any positive numbers": lambda values, rng: rng.uniform(0.1, 10.0, len(values)),
}
graphs = pytest.mark.parametrize("graph", GRAPHS)


def setting(graph, q, seed, l=10, normalized=False):
    """Return V (n, q), the eigenvalues, and the labels."""
    W, truth = GRAPHS[graph]()
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=q + 1, normalized=normalized)
    assert spectrum.n_components == 1
    labels = sm.encode_labels(sm.hide_labels(truth, n_labeled=l, random_state=seed))
    return spectrum, spectrum.eigenvectors[:, 1:], spectrum.eigenvalues[1:], labels


def eq_3(V, Q, labels, C, restricted):
    """Return the optimum and a minimiser h; `restricted` to the span of V and 1 or over all of R^n."""
    h = cp.Variable(len(V))
    hinges = cp.sum(cp.pos(1 - cp.multiply(labels.sign, h[labels.labeled])))
    span = [h == V @ cp.Variable(V.shape[1]) + cp.Variable()] if restricted else []
    problem = cp.Problem(cp.Minimize(cp.sum_squares(np.sqrt(Q)[:, None] * V.T @ h) / 2 + C * hinges), span)
    problem.solve(solver="CLARABEL", **TIGHT)
    return problem.value, h.value


def eq_4(V, Q, labels, C):
    """Return the optimum and w."""
    w, b = cp.Variable(V.shape[1]), cp.Variable()
    decisions = (V / np.sqrt(Q))[labels.labeled] @ w + b
    hinges = cp.sum(cp.pos(1 - cp.multiply(labels.sign, decisions)))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + C * hinges))
    problem.solve(solver="CLARABEL", **TIGHT)
    return problem.value, w.value


@graphs
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_in_the_span_of_the_eigenvectors_both_are_one_problem(graph, regularizer, seed, tol):
    _, V, eigenvalues, labels = setting(graph, 8, seed)
    Q = REGULARIZERS[regularizer](eigenvalues, np.random.default_rng(seed))
    for C in (0.1, 10.0):
        value, h = eq_3(V, Q, labels, C, restricted=True)
        expected, w = eq_4(V, Q, labels, C)
        assert expected > 1e-3
        assert value == pytest.approx(expected, rel=tol["objective"])
        # h = V Q^(-1/2) w + b 1, and V'1 = 0.
        np.testing.assert_allclose(V.T @ h, w / np.sqrt(Q), rtol=0, atol=tol["variables"])


@graphs
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_as_printed_the_optimum_is_zero_and_fits_all_labels(graph, seed):
    """Wherever n - l >= q: unlabelled predictions then cancel whatever V sees of the labelled ones."""
    _, V, Q, labels = setting(graph, 8, seed)
    h = np.zeros(len(V))
    h[labels.labeled] = labels.sign
    rest = labels.unlabeled
    h[rest] = np.linalg.lstsq(V[rest].T, -V[labels.labeled].T @ labels.sign, rcond=None)[0]
    assert np.abs(V.T @ h).max() < 1e-9  # no penalty
    assert (labels.sign * h[labels.labeled] == 1).all()  # no loss
    value, _ = eq_3(V, Q, labels, 10.0, restricted=False)
    assert value == pytest.approx(0.0, abs=1e-6)
    assert eq_4(V, Q, labels, 10.0)[0] > 0.1


@graphs
def test_as_printed_it_is_right_only_with_all_eigenvectors(graph, tol):
    n = len(GRAPHS[graph]()[1])
    gaps = {}
    for q in (n - 12, n - 6, n - 2, n - 1):
        _, V, Q, labels = setting(graph, q, seed=0)
        expected = eq_4(V, Q, labels, 10.0)[0]
        gaps[n - 1 - q] = 1 - eq_3(V, Q, labels, 10.0, restricted=False)[0] / expected
    assert gaps.pop(0) == pytest.approx(0.0, abs=tol["objective"])
    assert min(gaps.values()) > 1e-3
    assert gaps[11] == pytest.approx(1.0, abs=1e-6)


@graphs
def test_the_constant_must_be_an_eigenvector(graph):
    """The proof uses V'1 = 0, which the normalized Laplacian of an irregular graph does not give."""
    _, V, Q, labels = setting(graph, 8, seed=0, normalized=True)
    assert np.abs(V.sum(axis=0)).max() > 0.1
    value, expected = eq_3(V, Q, labels, 1.0, restricted=True)[0], eq_4(V, Q, labels, 1.0)[0]
    assert abs(value / expected - 1) > 1e-4


@graphs
def test_the_package_has_eq_4_in_units_of_the_mean_diagonal(graph, tol):
    """The kernel V Q^-1 V' has the trace s = sum 1/Q; `SpectrumMargin` scales it to n, and C and the value with it."""
    spectrum, V, Q, labels = setting(graph, 8, seed=0)
    scale = (1 / Q).sum() / len(V)
    for C in (0.1, 10.0):
        obj = SpectrumMargin(spectrum, labels, C=C * scale, delta=np.append(0.0, 1 / Q))
        certificate = solve(storm(obj), **TIGHT).certificate
        assert certificate.primal_objective / scale == pytest.approx(eq_4(V, Q, labels, C)[0], rel=tol["objective"])


@graphs
def test_no_fixed_regularizer_beats_the_learned_spectrum(graph):
    """Eq. 7 minimises eq. 4 over Q^-1 = delta of a given trace: every Q of the theorem is a candidate."""
    spectrum, _, eigenvalues, labels = setting(graph, 8, seed=0)
    learned = solve(storm(SpectrumMargin(spectrum, labels, C=1.0)), **TIGHT).certificate
    for regularizer in ("eigenvalues", "squared index"):
        Q = REGULARIZERS[regularizer](eigenvalues, None)
        fixed = solve(storm(SpectrumMargin(spectrum, labels, C=1.0, delta=np.append(0.0, 1 / Q))), **TIGHT).certificate
        assert learned.primal_objective < fixed.dual_objective
