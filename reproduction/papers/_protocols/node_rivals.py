"""Rivals of learned spectral filters on graphs with features: ridge regression, LapRLS, propagation of labels, SGC.

Each ``fit(W, X, y_train, train, n_classes, seed)`` sees adjacency and features of all nodes and the classes of the
nodes `train`, and returns decisions (n, n_classes), the largest of which names the class. Nobody has validation labels:
what has a parameter chooses it by leave-one-out or by five folds of the labels. Classes without a label are never
named. `RIVALS` lists them with the papers that they are from, two networks of `_node_networks` included.

Where S is the adjacency with its rows and columns divided by the roots of the degrees, personalised PageRank is
(1 - a) (I - a S)^-1, a the share that is passed on. Label spreading and Correct & Smooth take S without self-loops, SGC
and APPNP with them, as in their papers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import splu

from reproduction.papers._protocols.node_networks import appnp, gcn, pagerank, unit_rows
from specmargin.graphs import laplacian, normalized_adjacency
from specmargin.objectives.held_out.leave_one_out import Fold, RidgePath, dealt_folds, squared_error
from specmargin.typing import FloatArray, IntArray

Fit: TypeAlias = Callable[[Any, Any, IntArray, IntArray, int, int], FloatArray]

N_FOLDS = 5
PENALTIES = 10.0 ** np.arange(-4, 2.01, 0.25)
"""gamma_A in units of the mean eigenvalue of the centred kernel of the labelled nodes."""
GRAPH_WEIGHTS = (0.0, *10.0 ** np.arange(-2, 3.01))
"""gamma_I / gamma_A of LapRLS, for a kernel of unit diagonal."""
PASSED_ON = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Shares a of label spreading."""
CORRECTED = SMOOTHED = (0.0, 0.5, 0.8, 0.9, 0.95)
"""Shares a of the two steps of Correct & Smooth; without both it is the ridge regression that it begins with."""
COSTS = 10.0 ** np.arange(-1.5, 3.01, 0.5)
"""C of logistic regression, for labelled rows of mean squared length one."""


@dataclass(frozen=True)
class Rival:
    """A classifier, and where it is from.

    Parameters
    ----------
    fit : callable
        Function as described above.
    paper : str
        Authors, year and name of the method.
    """

    fit: Fit
    paper: str


def one_hot(y: IntArray, n_classes: int) -> FloatArray:
    """Return a row for each label, one in the column of its class."""
    return np.eye(n_classes)[y]


def kernel_ridge(kernel: FloatArray, targets: FloatArray, train: IntArray) -> tuple[FloatArray, float]:
    """Return decisions at all nodes by the penalty of least leave-one-out error, and that error.

    Parameters
    ----------
    kernel : ndarray of shape (n, l)
        Kernel of all nodes and the labelled ones.
    targets : ndarray of shape (l, K)
        One column per class.
    train : ndarray of int
        The labelled nodes.
    """
    path = RidgePath(kernel[train], targets)
    penalties = PENALTIES * (path.unit or 1.0)
    errors = squared_error(path.leave_one_out(penalties), targets)
    best = int(np.argmin(errors))
    v, b = path.solution(float(penalties[best]))
    return kernel @ v + b, float(errors[best])


def features_ridge(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
    """Ridge regression on the features alone, rows of unit length; the graph is not looked at."""
    F = unit_rows(X)
    return kernel_ridge(_dense(F @ F[train].T), one_hot(y_train, n_classes), train)[0]


def lap_rls(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
    """LapRLS with the linear kernel and the Laplacian of the given graph, normalised or not.

    Leave-one-out chooses the Laplacian and both weights. For f = F w + b and gamma_A = 1 the penalty is
    w'(I + r F'L F) w, so that the deformed kernel is F (I + r F'L F)^-1 F'. Where F has more columns than rows, it is
    rotated into n of them.
    """
    F, targets = _dense(unit_rows(X)), one_hot(y_train, n_classes)
    if F.shape[1] > F.shape[0]:
        F = sla.qr(F.T, mode="economic", check_finite=False)[1].T
    fits = []
    for normalized in (True, False):
        penalty = F.T @ (laplacian(W, normalized=normalized).matrix @ F)
        for weight in GRAPH_WEIGHTS:
            kernel = deformed_kernel(F, penalty, weight, train)
            fits.append(kernel_ridge(kernel, targets, train))
    return min(fits, key=lambda fitted: fitted[1])[0]


def deformed_kernel(F: FloatArray, penalty: FloatArray, weight: float, train: IntArray) -> FloatArray:
    """Return F (I + r P)^-1 F' at all nodes and the labelled ones, (n, l)."""
    factor = sla.cho_factor(np.eye(len(penalty)) + weight * penalty, check_finite=False)
    return np.asarray(F @ sla.cho_solve(factor, F[train].T, check_finite=False))


def label_propagation(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
    """Harmonic function of the labels: every other node has the weighted mean of its neighbours; no parameter.

    Components without a label take the shares of the classes among the labels.
    """
    W, known = sp.csr_matrix(W), one_hot(y_train, n_classes)
    component = csgraph.connected_components(W, directed=False)[1]
    F = np.tile(known.mean(axis=0), (W.shape[0], 1))
    F[train] = known
    free = np.isin(component, component[train])
    free[train] = False
    if free.any():
        L = sp.diags(np.asarray(W.sum(axis=1)).ravel()) - W
        F[free] = splu(sp.csc_matrix(L.tocsr()[free][:, free])).solve(W[free][:, train] @ known)
    return F


def label_spreading(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
    """Personalised PageRank of the labels, scaled to shares; how much is passed on by leave-one-out.

    Without its own label the decision of a labelled node is less by what that label contributes: exact, because the
    decisions are linear in the labels.
    """
    S, known = normalized_adjacency(W, self_loops=0.0), one_hot(y_train, n_classes)
    start = np.zeros((W.shape[0], len(train)))
    start[train, np.arange(len(train))] = 1.0
    fits = []
    for passed_on in PASSED_ON:
        columns = exact_pagerank(S, passed_on)(start)
        F = columns @ known
        others = (known.sum(axis=0) - known) / (len(known) - 1)
        left_out = _shares(F[train] - np.diag(columns[train])[:, None] * known, others)
        fits.append((_shares(F, known.mean(axis=0)), float(np.mean((left_out - known) ** 2))))
    return min(fits, key=lambda fitted: fitted[1])[0]


def correct_and_smooth(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
    """Correct & Smooth on the ridge regression of the features, both shares by the errors in folds of the labels.

    Among equal numbers of errors the least squared error decides.
    """
    S, F = normalized_adjacency(W, self_loops=0.0), unit_rows(X)
    kernel, known = _dense(F @ F[train].T), one_hot(y_train, n_classes)
    ranks = {passed_on: exact_pagerank(S, passed_on) for passed_on in {*CORRECTED, *SMOOTHED}}
    scores = {(a, b): np.zeros(2) for a in CORRECTED for b in SMOOTHED}
    for fold in _folds(known):
        kept = np.setdiff1d(np.arange(len(train)), fold.left_out)
        base = kernel_ridge(kernel[:, kept], known[kept], train[kept])[0]
        for a in CORRECTED:
            corrected = correct(base, known[kept], train[kept], ranks[a])
            for b in SMOOTHED:
                f = smooth(corrected, known[kept], train[kept], ranks[b])[train[fold.test]]
                wrong = np.count_nonzero(f.argmax(axis=1) != y_train[fold.test])
                scores[a, b] += wrong, ((f - known[fold.test]) ** 2).sum()
    a, b = min(scores, key=lambda pair: tuple(scores[pair]))
    base = kernel_ridge(kernel, known, train)[0]
    return smooth(correct(base, known, train, ranks[a]), known, train, ranks[b])


def correct(
    base: FloatArray, known: FloatArray, train: IntArray, rank: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Add the errors at the labelled nodes, spread over the graph, to the decisions of all nodes.

    Each node's correction is scaled to the mean absolute error of the labelled ones (the paper's autoscale).
    """
    error = np.zeros_like(base)
    error[train] = known - base[train]
    spread = rank(error)
    size = np.abs(spread).sum(axis=1, keepdims=True)
    scale = np.abs(error[train]).sum() / len(train)
    return base + scale * np.divide(spread, size, out=np.zeros_like(spread), where=size > 1e-12)


def smooth(
    base: FloatArray, known: FloatArray, train: IntArray, rank: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Put the labels in their places and spread all decisions over the graph."""
    guess = base.copy()
    guess[train] = known
    return rank(guess)


def sgc(order: int) -> Fit:
    """Return logistic regression on S^2 X, rows of X of unit l1 or l2 norm before."""

    def fit(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
        S = normalized_adjacency(W)
        return logistic(S @ (S @ unit_rows(X, order)), y_train, train, n_classes)

    return fit


def linear_appnp(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
    """APPNP with a linear predictor: logistic regression on the ten steps of PageRank of X, rows of unit length.

    Steps and share are the paper's. Propagating linear decisions is the same as propagating the features.
    """
    return logistic(pagerank(normalized_adjacency(W), unit_rows(X)), y_train, train, n_classes)


def logistic(F: Any, y_train: IntArray, train: IntArray, n_classes: int) -> FloatArray:
    """Return probabilities by logistic regression, (n, n_classes), C by the errors in folds of the labels.

    Among equal numbers of errors the least logarithmic loss decides. The coefficients lie in the span of the labelled
    rows, so that as many columns are enough; these are scaled to a mean squared length of one.
    """
    Z = F @ sla.qr(_dense(F[train]).T, mode="economic", check_finite=False)[0]
    Z = Z / (np.sqrt((Z[train] ** 2).sum(axis=1).mean()) or 1.0)
    known = one_hot(y_train, n_classes)
    scores = np.zeros((len(COSTS), 2))
    for fold in _folds(known):
        kept = np.setdiff1d(np.arange(len(train)), fold.left_out)
        for i, C in enumerate(COSTS):
            p = _probabilities(Z[train[kept]], y_train[kept], C, n_classes, Z[train[fold.test]])
            losses = -np.log(np.maximum(p[known[fold.test] > 0], 1e-300))
            scores[i] += np.count_nonzero(p.argmax(axis=1) != y_train[fold.test]), losses.sum()
    best = min(range(len(COSTS)), key=lambda i: tuple(scores[i]))
    return _probabilities(Z[train], y_train, COSTS[best], n_classes, Z)


def _probabilities(Z: FloatArray, y: IntArray, C: float, n_classes: int, others: FloatArray) -> FloatArray:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=C, max_iter=10_000, tol=1e-10).fit(Z, y)
    p = np.zeros((len(others), n_classes))
    p[:, model.classes_] = model.predict_proba(others)
    return p


def _folds(known: FloatArray) -> list[Fold]:
    """Return folds in which every class keeps a label."""
    return dealt_folds(2.0 * known - 1.0, N_FOLDS)


def exact_pagerank(S: Any, passed_on: float) -> Callable[[FloatArray], FloatArray]:
    """Return what multiplies by (1 - a) (I - a S)^-1, from one factorisation."""
    if passed_on == 0.0:
        return lambda F: F
    factor = splu(sp.csc_array(sp.eye_array(S.shape[0]) - passed_on * S), permc_spec="MMD_AT_PLUS_A")
    return lambda F: np.asarray((1.0 - passed_on) * factor.solve(np.ascontiguousarray(F)))


def _shares(F: FloatArray, otherwise: FloatArray) -> FloatArray:
    """Return rows scaled to the sum one, and `otherwise` where they are zero up to rounding."""
    total = F.sum(axis=1, keepdims=True)
    return np.where(total > 1e-12, F / np.where(total > 1e-12, total, 1.0), otherwise)


def _dense(A: Any) -> FloatArray:
    return np.asarray(A.toarray() if sp.issparse(A) else A, dtype=float)


RIVALS: dict[str, Rival] = {
    "features": Rival(features_ridge, "Hoerl & Kennard 1970, ridge regression"),
    "label_propagation": Rival(label_propagation, "Zhu, Ghahramani & Lafferty 2003, harmonic functions"),
    "label_spreading": Rival(label_spreading, "Zhou et al. 2004, local and global consistency"),
    "correct_and_smooth": Rival(correct_and_smooth, "Huang et al. 2021, Correct & Smooth"),
    "laprls": Rival(lap_rls, "Belkin, Niyogi & Sindhwani 2006, LapRLS"),
    "sgc_l1": Rival(sgc(1), "Wu et al. 2019, SGC"),
    "sgc_l2": Rival(sgc(2), "Wu et al. 2019, SGC"),
    "appnp_linear": Rival(linear_appnp, "Gasteiger et al. 2019, APPNP with a linear predictor"),
    "appnp": Rival(appnp, "Gasteiger et al. 2019, APPNP"),
    "gcn": Rival(gcn, "Kipf & Welling 2017, GCN"),
}
"""All rivals by name."""
