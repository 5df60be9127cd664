r"""Ridge regression in the span of the eigenvectors, its penalty, and the clusters that refine its answer.

With the centred design X (l, q) and the centred labels Y of `specmargin.objectives.SpectralRidge`, `spectral_ridge`
solves

    (X'X + penalty I) w = X'Y   or   (XX' + penalty I) a = Y,  w = X'a,

whichever matrix is smaller, q or l, for all classes by one Cholesky factorisation. The decisions of all n samples are
one (n, q) x (q, K) product. `choose_penalty` compares penalties by exact leave-one-out. `seeded_kmeans` starts from
the classes that were found and looks for clusters: with a label or two per class, the cluster structure of the
unlabelled samples knows more than any regression on the labels.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.objectives.spectral_ridge import SpectralRidge
from specmargin.results import SolveResult
from specmargin.rounding import first_least
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["PENALTIES", "USUAL_PENALTY", "Clusters", "choose_penalty", "seeded_kmeans", "spectral_ridge"]

PENALTIES = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Penalties that `choose_penalty` compares, per unit mean kernel diagonal. Many or fine classes take small ones."""
USUAL_PENALTY = 0.3
"""Penalty where the labels do not tell. With few labels a class, 1e-3 errs less on some sets and more on others."""
_INFORMED = 5
"""Labelled samples of a class that leave-one-out needs. With three it judges by two thirds of what is known of the
class, and chose worse than no choice on digits and on text; with five it is even, with ten better."""
_LOG_SCALES = (-5.0, 7.0)


def spectral_ridge(obj: SpectralRidge, *, tol: float = 1e-9) -> SolveResult:
    """Solve the ridge regression of all classes.

    Parameters
    ----------
    obj : SpectralRidge
        The objective.
    tol : float, default 1e-9
        Relative gap that the certificate has to prove for the status OPTIMAL.

    Returns
    -------
    SolveResult
        Variables ``v`` (q,), ``b`` (), ``f`` (n,) and ``theta`` (l,), the multipliers; with K > 2 classes each has a
        trailing axis of that length. ``delta`` (q,) is the objective's.

    Raises
    ------
    SolverError
        If the penalty is so small that the matrix is singular in double precision.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> from specmargin.objectives.spectral_ridge import SpectralRidge, power_spectrum
    >>> W = sm.graphs.knn_graph(np.arange(9.0)[:, None], n_neighbors=2)
    >>> spectrum = sm.spectra.laplacian_eigenpairs(W, q=5, normalized=True)
    >>> labels = sm.encode_labels([0, -1, -1, -1, 1, -1, -1, -1, 2])
    >>> result = spectral_ridge(SpectralRidge(spectrum, labels, power_spectrum(spectrum), penalty=0.01))
    >>> result.certificate.is_optimal(1e-12), result.variables["f"].argmax(axis=1).tolist()
    (True, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    """
    start = time.perf_counter()
    v, b, theta = _solution(obj)
    certificate = obj.prove(v, b, theta)
    return SolveResult(
        problem="SpectralRidge",
        status=certificate.status(tol),
        variables={"v": v, "b": b, "f": obj.decisions_at(v, b), "theta": theta, "delta": obj.delta},
        duals={"balance": b},
        certificate=certificate,
        solver="spectral_ridge",
        n_iter=1,
        seconds=time.perf_counter() - start,
        message=f"relative gap {certificate.relative_gap:.1e}",
    )


def choose_penalty(
    obj: SpectralRidge,
    penalties: Sequence[float] = PENALTIES,
    *,
    default: float = USUAL_PENALTY,
    standardize: bool = True,
) -> float:
    r"""Return the penalty of the best leave-one-out decisions.

    The criterion is the logistic loss (K > 2 classes: the softmax loss) of the decisions that each labelled sample
    gets from the others, at the scale that suits them best,

    .. math:: \min_{s > 0} \frac1m \sum_i -\log \frac{e^{s f_{i,y_i}}}{\sum_k e^{s f_{ik}}}.

    A large penalty shrinks decisions without changing who wins, which the free scale forgives and the squared error
    does not; the number of errors, which forgives it too, takes few values when labels are few. `standardize` judges
    the decisions as they will be compared: each class less its mean and over its deviation over all samples.

    Leaving out the only sample of a class leaves nothing that could name it, so that its loss says nothing of the
    penalty. The mean is therefore over the samples of classes with five labels or more;
    labels with weights count by them. Where fewer than two classes
    have as many, or no candidate predicts better than equal odds, the answer is `default`.

    Parameters
    ----------
    obj : SpectralRidge
        The objective, whose own penalty is not looked at.
    penalties : sequence of float
        Candidates; of equally good ones the first wins.
    default : float, default 0.3
        Value to take if the labels do not tell.
    standardize : bool, default True
        Whether classes are compared by z-scores.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> from specmargin.objectives.spectral_ridge import SpectralRidge, power_spectrum
    >>> spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(np.arange(30.0)[:, None], n_neighbors=2), q=9)
    >>> y = np.where(np.arange(30) % 3, -1, np.arange(30) >= 15)
    >>> obj = SpectralRidge(spectrum, sm.encode_labels(y), power_spectrum(spectrum))
    >>> choose_penalty(obj) in PENALTIES, choose_penalty(obj, [0.5])
    (True, 0.5)
    """
    sign = obj.labels.sign
    one_hot: BoolArray = (np.column_stack([-sign, sign]) if sign.ndim == 1 else sign) > 0
    informed = one_hot.sum(axis=0) >= _INFORMED
    if len(penalties) == 0:
        raise InvalidInputError("penalties is empty; pass at least one.")
    if informed.sum() < 2:
        return float(default)
    rows: BoolArray = np.asarray(one_hot[:, informed].any(axis=1))
    losses, c = [], obj.labels.weights
    for penalty, f in zip(penalties, obj.leave_one_out(penalties), strict=True):
        if standardize:
            mean, deviation = obj.moments(*_solution(obj.with_(penalty=penalty))[:2])
            f = (f - mean) / np.where(deviation > 0, deviation, 1.0)
        losses.append(_scaled_loss(np.column_stack([-f, f]) / 2 if f.ndim == 1 else f, one_hot, rows, c))
    if min(losses) >= np.log(one_hot.shape[1]):
        return float(default)
    return float(penalties[first_least(np.array(losses))])


class Clusters(NamedTuple):
    """What `seeded_kmeans` found.

    Parameters
    ----------
    cluster : ndarray of shape (n,)
        Cluster of every row.
    similarities : ndarray of shape (n, K)
        Cosines between the rows and the centres.
    n_iter : int
        Rounds of means and assignments.
    """

    cluster: IntArray
    similarities: FloatArray
    n_iter: int


def seeded_kmeans(rows: FloatArray, start: IntArray, seeds: IntArray, *, max_iter: int = 100) -> Clusters:
    """Group rows by their directions: spherical k-means from a given start, in which seeds never move.

    Each round sets the centres to the directions of the clusters' mean unit vectors and hands every row to the centre
    of the largest cosine. The sum of the cosines cannot fall; the rounds end when no row moves. A row of zeros
    has no direction and stays where it started.

    Parameters
    ----------
    rows : ndarray of shape (n, m)
        One per sample; their lengths do not matter. Rows of a few leading eigenvectors.
    start : ndarray of shape (n,)
        Cluster of each row to begin with, 0 to K - 1, each with a seed.
    seeds : ndarray of shape (l,)
        Rows that keep their cluster: the labelled samples.
    max_iter : int, default 100
        Most rounds.

    Returns
    -------
    Clusters

    Raises
    ------
    ValueError
        If a cluster has no seed: it could die out, or change its meaning.

    References
    ----------
    Basu, Banerjee & Mooney, Semi-supervised clustering by seeding, ICML 2002 (constrained k-means). Dhillon & Modha,
    Concept decompositions for large sparse text data using clustering, Machine Learning 42, 2001 (cosines).

    Examples
    --------
    >>> rows = np.array([[1.0, 0.1], [2.0, 0.0], [0.0, 3.0], [0.1, 1.0]])
    >>> seeded_kmeans(rows, start=np.array([0, 1, 1, 0]), seeds=np.array([0, 2])).cluster.tolist()
    [0, 0, 1, 1]
    """
    n_clusters = int(start.max()) + 1
    fixed = start[seeds]
    if len(np.unique(fixed)) < n_clusters:
        raise InvalidInputError(
            f"{n_clusters} clusters, but the seeds are of {len(np.unique(fixed))} only; every cluster needs a seed."
        )
    length = np.linalg.norm(rows, axis=1)
    known = length > 0
    Z = rows / np.where(known, length, 1.0)[:, None]
    cluster = np.array(start, dtype=np.intp)
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        centres = np.stack([Z[cluster == k].sum(axis=0) for k in range(n_clusters)])
        norms = np.linalg.norm(centres, axis=1)
        similarities = Z @ (centres / np.where(norms > 0, norms, 1.0)[:, None]).T
        moved = np.where(known, similarities.argmax(axis=1), cluster)
        moved[seeds] = fixed
        if np.array_equal(moved, cluster):
            break
        cluster = moved
    return Clusters(cluster, similarities, n_iter)


def _scaled_loss(f: FloatArray, one_hot: BoolArray, rows: BoolArray, weights: FloatArray | None = None) -> float:
    """Return the mean softmax loss of the decisions in `rows`, by weights, at the best common factor."""
    # In units of the decisions, so that the interval of factors is wide enough for all.
    f = f[rows] / max(float(np.abs(f[rows]).max()), 1e-300)
    true, c = one_hot[rows], None if weights is None else weights[rows]

    def loss(log_scale: float) -> float:
        return -float(np.average(log_softmax(np.exp(log_scale) * f, axis=1)[true], weights=c))

    return float(minimize_scalar(loss, bounds=_LOG_SCALES, method="bounded").fun)


def _solution(obj: SpectralRidge) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return v, b and the multipliers."""
    X, target = obj.design, obj.target
    try:
        if len(X) < obj.q:
            w, rest = _by_samples(X, target, obj.penalty, obj.root)
        else:
            w, rest = _by_columns(X, target, obj.penalty)
    except sla.LinAlgError as error:
        remedy = "" if obj.labels.weights is None else ", and weights that are less far apart"
        raise SolverError(
            f"penalty={obj.penalty!r} vanishes next to the kernel of the labelled samples (trace "
            f"{(X**2).sum():.3g}) in double precision; take 1e-10 or more{remedy}."
        ) from error
    v = (w.T * np.sqrt(obj.delta)).T
    return v, obj.best_intercept(v), 2.0 * (rest.T * obj.root).T


def _by_columns(X: FloatArray, target: FloatArray, penalty: float) -> tuple[FloatArray, FloatArray]:
    """Factorise the (q, q) matrix; return w and the residuals, by the roots of their weights."""
    A = X.T @ X
    A[np.diag_indices_from(A)] += penalty
    factor = sla.cho_factor(A, check_finite=False)
    w = sla.cho_solve(factor, X.T @ target)
    return w, target - X @ w


def _by_samples(X: FloatArray, target: FloatArray, penalty: float, root: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Factorise the (l, l) matrix; return the same."""
    A = X @ X.T
    A[np.diag_indices_from(A)] += penalty
    factor = sla.cho_factor(A, check_finite=False)
    a = sla.cho_solve(factor, target)
    # Zero but for rounding, which is divided by the penalty: X is centred.
    a -= np.multiply.outer(root, root @ a / (root @ root))
    return X.T @ a, penalty * a
