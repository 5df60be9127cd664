r"""Which assumption the labels support: decisions at left-out labels, and where the classes' boundary lies.

The *manifold* assumption (classes are smooth along the graph): kernel ridge regression on the lowest eigenvectors of
the normalised Laplacian decides about each labelled sample without its own label, exactly
(`specmargin.tables.candidates.held_out`). The *cluster* assumption (the boundary of the classes lies where samples are
sparse): the linear ridge does the same, and the share of the graph's edges that cross its boundary counts how dense
samples are there. Each number is compared with that of the same labels dealt out anew, which says what random labels
give. Nearest labels and an RBF kernel tell what features do without unlabelled samples.

A boundary across the longest direction of the samples is crossed by few edges, too, where it has no gap: a graph does
not tell these apart, and the verdict calls both clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.estimators.comparison import Comparison, compare_errors
from specmargin.labels.shares import shrunken_shares
from specmargin.spectra import Spectrum
from specmargin.tables.candidates.held_out import Fits, held_out_ridge, targets
from specmargin.tables.diagnosis.facts import permutations
from specmargin.typing import BoolArray, FloatArray, IntArray, Matrix, SparseArray

__all__ = ["Boundary", "Evidence", "HeldOut", "evidence", "graph_features", "linear_kernel", "radial_kernel"]

_DRAWS = 199
_MOST_LABELS = 1000  # whose left-out decisions are counted
_BOUNDARY_LABELS = 300
_BOUNDARY_EDGES = 50_000
_PENALTY = 0.1  # of the ridge, in units of tr(G) / l: that of the defaults of LapRLS
_HALVES = (2, 8, 30)  # eigenvalues that are not zero, behind which the weights of eigenvectors halve
_BLOCK = 4_000_000  # numbers of a block of decisions


@dataclass(frozen=True)
class HeldOut:
    """Errors at left-out labels.

    Parameters
    ----------
    error : float
        Share of the labelled samples that are decided wrongly without their own label.
    by_chance : float
        The mean of the same for the labels in random order.
    p_value : float
        Probability of random labels to have as few errors.
    """

    error: float
    by_chance: float
    p_value: float


@dataclass(frozen=True)
class Boundary:
    """Edges of the graph that cross the boundary of the linear ridge.

    Parameters
    ----------
    share : float
        Share of the edges; the boundary leaves the classes' shares on its sides. The mean over classes against the
        rest.
    by_chance : float
        The mean of the same for the labels in random order.
    p_value : float
        Probability of random labels to be crossed as rarely.
    """

    share: float
    by_chance: float
    p_value: float


@dataclass(frozen=True)
class Evidence:
    """What labels say about the assumptions.

    Parameters
    ----------
    n_labeled : int
        Labelled samples that were counted: all, at most 1000.
    n_paired : int
        Those of classes that have another label: only they can be decided rightly without their own.
    majority : float
        Share of them that are not of the most frequent class: the error of naming it.
    graph : HeldOut
        Errors of the eigenvectors of the graph: of three kernels the one that errs least, for random labels, too.
    linear, radial : HeldOut or None
        Errors of the linear and of an RBF kernel; None without features, linear also under metrics of other kinds.
    nearest : float or None
        Error of the nearest label.
    boundary : Boundary or None
        Boundary of the linear kernel.
    supervised : str or None
        Which of linear, radial and nearest errs least.
    comparison : Comparison or None
        The graph against that one: exact one-sided McNemar tests on the same left-out labels.
    beats_linear : float or None
        The p-value of the same test of the graph against the linear kernel.
    """

    n_labeled: int
    n_paired: int
    majority: float
    graph: HeldOut
    linear: HeldOut | None
    radial: HeldOut | None
    nearest: float | None
    boundary: Boundary | None
    supervised: str | None
    comparison: Comparison | None
    beats_linear: float | None


def graph_features(spectrum: Spectrum, half: int) -> FloatArray:
    r"""Return the features (n, q) whose products are the kernel of a graph: smooth eigenvectors weigh more.

    Eigenvector j weighs :math:`1 / (1 + (\theta_j / \theta_m)^4)`, where m counts `half` eigenvalues that are not zero
    (or all that there are). All samples are centred together.
    """
    theta = spectrum.eigenvalues
    zeros = int(np.count_nonzero(theta == 0))
    unit = float(theta[min(zeros + half, len(theta)) - 1]) or 1.0
    U = spectrum.eigenvectors / np.sqrt(1.0 + (theta / unit) ** 4)
    return np.asarray(U - U.mean(axis=0))


def linear_kernel(X: Matrix, labeled: IntArray, metric: Any = "euclidean") -> FloatArray:
    """Return the products (n, l) of all samples with the labelled ones, all of them centred together.

    Under the cosine, samples have length one first.
    """
    if metric == "cosine":
        X = _unit_rows(X)
    if not sp.issparse(X):
        centred = np.asarray(X - X.mean(axis=0, dtype=np.float64), dtype=np.float64)
        return centred @ centred[labeled].T
    mean = np.asarray(X.mean(axis=0)).ravel()
    products = (X @ X[labeled].T).toarray()
    along = np.asarray(X @ mean).ravel()
    return products - along[:, None] - along[labeled] + mean @ mean


def radial_kernel(X: Matrix, metric: Any = "euclidean") -> FloatArray:
    """Return exp(-d^2 / 2 s^2) between labelled samples, s half of the median distance d; without negative eigenvalues.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (l, d)
        Labelled samples, or the distances between them where the metric is "precomputed".
    metric : str or callable
    """
    from sklearn.metrics import pairwise_distances

    if metric == "precomputed":
        D = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    elif metric == "cosine":
        D = pairwise_distances(_unit_rows(X))
    else:
        D = pairwise_distances(X, metric=metric)
    squares = D * D
    width = 0.5 * float(np.median(D[np.triu_indices(len(D), 1)])) or 1.0
    return np.exp(-squares / (2.0 * width**2))


def evidence(
    spectrum: Spectrum,
    W: SparseArray,
    X: Matrix | None,
    labeled: IntArray,
    codes: IntArray,
    nearest: IntArray | None,
    *,
    metric: Any = "euclidean",
    seed: int = 0,
) -> Evidence:
    """Count errors at left-out labels, and edges across the boundary, of the labels and of random ones.

    Parameters
    ----------
    spectrum : Spectrum
        Spectrum of the normalised Laplacian of the graph.
    W : sparse matrix of shape (n, n)
        The graph.
    X : ndarray or sparse matrix of shape (n, d), optional
        Features.
    labeled, codes : ndarray of shape (l,)
        Indices and classes (0 to K - 1) of the labelled samples; two classes at least.
    nearest : ndarray of shape (l,), optional
        The nearest other label of each, as an index into `codes`; -1 where there is none.
    metric : str or callable
        Metric of the graph.
    seed : int, default 0
        Draws the orders of the labels.
    """
    rng = np.random.default_rng(seed)
    n_classes = int(codes.max()) + 1
    near_wrong = None if nearest is None else (nearest < 0) | (codes[nearest] != codes)
    kept = np.arange(len(labeled))
    if len(labeled) > _MOST_LABELS:
        kept = np.sort(rng.permutation(len(labeled))[:_MOST_LABELS])
        labeled, codes = labeled[kept], codes[kept]
    dealt = np.vstack([codes, permutations(codes, _DRAWS, rng)])
    wrong = {"graph": _fewest([_wrong(graph_features(spectrum, m)[labeled], dealt, n_classes)[0] for m in _HALVES])}
    boundary = None
    if X is not None and metric in ("euclidean", "l2", "cosine"):
        at = np.sort(rng.permutation(len(labeled))[:_BOUNDARY_LABELS])
        K = linear_kernel(X, labeled, metric)
        wrong["linear"], _ = _wrong(_square_root(K[labeled]), dealt, n_classes)
        fits = _wrong(_square_root(K[np.ix_(labeled[at], at)]), dealt[:, at], n_classes)[1]
        boundary = _boundary(K[:, at], fits, W, codes, n_classes, rng)
    if X is not None:
        part = X[np.ix_(labeled, labeled)] if metric == "precomputed" else X[labeled]
        wrong["radial"], _ = _wrong(_square_root(radial_kernel(part, metric)), dealt, n_classes)
    own = {name: one[0] for name, one in wrong.items()}
    if near_wrong is not None:
        own["nearest"] = near_wrong[kept]
    rivals = {name: one for name, one in own.items() if name != "graph"}
    best = min(rivals, key=lambda name: rivals[name].mean()) if rivals else None
    told = {name: _held_out(one) for name, one in wrong.items()}
    class_counts = np.bincount(codes, minlength=n_classes)
    return Evidence(
        len(codes),
        int(class_counts[class_counts > 1].sum()),
        float(1.0 - class_counts.max() / len(codes)),
        told["graph"],
        told.get("linear"),
        told.get("radial"),
        None if near_wrong is None else float(near_wrong[kept].mean()),
        boundary,
        best,
        None if best is None else compare_errors(own["graph"], rivals[best], 0.0),
        compare_errors(own["graph"], own["linear"], 0.0).p_better if "linear" in own else None,
    )


def _unit_rows(X: Matrix) -> Matrix:
    from sklearn.preprocessing import normalize

    return normalize(X)


def _square_root(G: FloatArray) -> FloatArray:
    """Return features (l, r) of a kernel between labelled samples; rounding below zero is left out."""
    w, V = sla.eigh((G + G.T) / 2.0, check_finite=False)
    kept = w > 1e-12 * max(float(w[-1]), 0.0)
    return np.asarray(V[:, kept] * np.sqrt(w[kept])) if kept.any() else np.zeros((len(G), 1))


def _wrong(features: FloatArray, dealt: IntArray, n_classes: int) -> tuple[BoolArray, Fits]:
    """Return what is decided wrongly without its own label, for every order of the labels (a row each), and the fits.

    All orders have the same counts of classes, and so the same intercept to be shrunk to: one fit has them all.
    """
    columns = [targets(codes, n_classes) for codes in dealt]
    C = columns[0].shape[1]
    fits = held_out_ridge(features, np.hstack(columns), penalties=np.array([_PENALTY]), n_classes=n_classes)
    decisions = fits.held_out[0].reshape(len(features), len(dealt), C)
    decided = (decisions[..., 0] > 0).astype(np.intp) if C == 1 else decisions.argmax(axis=2)
    return dealt != decided.T, fits


def _fewest(several: list[BoolArray]) -> BoolArray:
    """Return what is wrong under the kernel that errs least, chosen for every order of the labels anew."""
    stacked = np.stack(several)
    best = stacked.sum(axis=2).argmin(axis=0)
    return np.asarray(stacked[best, np.arange(stacked.shape[1])])


def _held_out(wrong: BoolArray) -> HeldOut:
    errors = wrong.mean(axis=1)
    # Sums of the same whole numbers: equal shares are equal doubles.
    return HeldOut(float(errors[0]), float(errors[1:].mean()), float((errors <= errors[0]).mean()))


def _boundary(
    K: FloatArray, fits: Fits, W: SparseArray, codes: IntArray, n_classes: int, rng: np.random.Generator
) -> Boundary | None:
    """Count edges across the boundaries of the fits; each leaves the class's share of all samples above it."""
    upper = sp.triu(W, 1).tocoo()
    m = upper.nnz
    if m == 0:
        return None
    some = np.arange(m) if m <= _BOUNDARY_EDGES else rng.permutation(m)[:_BOUNDARY_EDGES]
    rows, cols = upper.row[some], upper.col[some]
    shares = shrunken_shares(np.bincount(codes, minlength=n_classes))
    wanted = shares[1:] if n_classes == 2 else shares
    v = fits.weights[0]
    n_columns, crossed = v.shape[1], []
    step = max(1, _BLOCK // max(len(K), len(rows)) // len(wanted)) * len(wanted)
    for at in range(0, n_columns, step):
        f = K @ v[:, at : at + step]
        levels = np.tile(wanted, f.shape[1] // len(wanted))
        place = np.minimum((len(f) * (1.0 - levels)).astype(np.intp), len(f) - 1)
        cuts = np.sort(f, axis=0)[place, np.arange(f.shape[1])]
        above = f >= cuts
        crossed.append((above[rows] != above[cols]).mean(axis=0))
    shares_crossed = np.concatenate(crossed).reshape(-1, len(wanted)).mean(axis=1)
    own = float(shares_crossed[0])
    return Boundary(own, float(shares_crossed[1:].mean()), float((shares_crossed <= own + 1e-12).mean()))
