"""Values at new points: scores by averaging or harmonically, eigenvectors by their own equation (Nyström)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from specmargin.arrays import finite_numbers
from specmargin.exceptions import InvalidInputError
from specmargin.spectra.spectrum import Spectrum
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["extend", "harmonic", "nystrom"]


def nystrom(spectrum: Spectrum, weights: SparseArray, *, floor: float = 1e-2) -> FloatArray:
    r"""Extend the eigenvectors to new points through their weights to the training points.

    An eigenvector satisfies its own equation at every node; the extension asks for it at the new point x,
    whose degree is :math:`d(x) = \sum_j w(x, j)`:

    * combinatorial, :math:`(d_i - \lambda) u_i = \sum_j w_{ij} u_j`, gives
      :math:`u(x) = \sum_j w(x, j) u_j / (d(x) - \lambda)`;
    * normalized, :math:`(1 - \lambda) u_i / \sqrt{d_i} = \frac1{d_i} \sum_j w_{ij} u_j / \sqrt{d_j}` (that is the
      random walk at ``u / sqrt(d)``), gives
      :math:`u(x) = s / ((1 - \lambda) \sqrt{d(x)})` with :math:`s = \sum_j w(x, j) u_j / \sqrt{d_j}`.

    At a training point with its own row of W both return the eigenvector. Where the relative denominator,
    :math:`1 - \lambda / d(x)` or :math:`1 - \lambda`, is smaller than `floor` in modulus it is replaced by
    `floor` with its sign: there the equation hardly determines the value. Low eigenvectors never come near.
    Weights must be edge weights in the units of the graph; a new point that coincides with a training point
    should take its value, for which `extend` is made.

    Parameters
    ----------
    spectrum : Spectrum
        Spectrum with q eigenvectors on n training points.
    weights : sparse matrix or ndarray of shape (m, n)
        ``w(x, j) >= 0``, e.g. from `specmargin.graphs.neighbor_weights`.
    floor : float, default 0.01
        Smallest relative denominator.

    Returns
    -------
    ndarray of shape (m, q)

    Raises
    ------
    ValueError
        If shapes do not fit, a row of `weights` is empty, or degrees are needed and missing.

    Examples
    --------
    >>> from specmargin.spectra import laplacian_eigenpairs
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> s = laplacian_eigenpairs(W, q=2, normalized=True)
    >>> bool(np.allclose(nystrom(s, W[:1])[:, 0], s.eigenvectors[0, 0]))
    True
    """
    weights, total = _row_sums(weights, spectrum.n_samples)
    U = spectrum.eigenvectors
    rates = spectrum.eigenvalues ** (1.0 / spectrum.power)
    if not spectrum.normalized:
        return (weights @ U) / (total[:, None] * _away_from_zero(1.0 - rates / total[:, None], floor))
    if spectrum.degrees is None:
        raise InvalidInputError(
            "the spectrum of a normalized Laplacian extends through the degrees, and spectrum.degrees is "
            "None; use laplacian_eigenpairs, or pass degrees= (the row sums of W) to Spectrum."
        )
    root = np.sqrt(spectrum.degrees)
    has_edges = root > 0
    values = (weights @ (U / np.where(has_edges, root, np.inf)[:, None])) / np.sqrt(total)[:, None]
    # A node without edges has no degree to divide by: it passes on its value, weighted as in `extend`.
    values = values + (weights @ np.where(has_edges[:, None], 0.0, U)) / total[:, None]
    return values / _away_from_zero(1.0 - rates, floor)


def extend(values: FloatArray, weights: SparseArray) -> FloatArray:
    """Return the weighted mean of training values at new points: the zero-order extension used for scores.

    Parameters
    ----------
    values : ndarray of shape (n,) or (n, k)
        Scores at the training points.
    weights : sparse matrix or ndarray of shape (m, n)
        ``w(x, j) >= 0``, e.g. from `specmargin.graphs.neighbor_weights`; only their ratios within a row
        matter.

    Returns
    -------
    ndarray of shape (m,) or (m, k)

    Raises
    ------
    ValueError
        If shapes do not fit or a row of `weights` is empty.

    Examples
    --------
    >>> extend(np.array([1.0, 3.0]), np.array([[1.0, 1.0], [0.0, 2.0]])).tolist()
    [2.0, 3.0]
    """
    values = np.asarray(values, dtype=np.float64)
    weights, total = _row_sums(weights, len(values))
    mean = weights @ values
    return mean / (total if values.ndim == 1 else total[:, None])


def harmonic(values: FloatArray, graph: SparseArray) -> FloatArray:
    r"""Return the harmonic extension of values to new nodes: each is the weighted mean of its neighbours' values.

    With the old nodes first in the adjacency W, whose values are held, it minimises
    :math:`\sum_{ij} w_{ij} (f_i - f_j)^2`. Where no two new nodes are joined it is that of `extend`.

    Parameters
    ----------
    values : ndarray of shape (n,) or (n, k)
        Scores of the old nodes.
    graph : sparse matrix of shape (n + m, n + m)
        Adjacency, symmetric.

    Returns
    -------
    ndarray of shape (m,) or (m, k)
        nan at new nodes that no path joins to an old one.

    Examples
    --------
    >>> path = sp.diags_array([np.ones(4), np.ones(4)], offsets=[1, -1]).tocsr()[[0, 4, 1, 2, 3]][:, [0, 4, 1, 2, 3]]
    >>> harmonic(np.array([0.0, 4.0]), path).round(12).tolist()
    [1.0, 2.0, 3.0]
    """
    n, W = len(values), sp.csr_array(graph, dtype=np.float64)
    cross, own = W[n:, :n], W[n:, n:]
    _, component = connected_components(own, directed=False)
    joined = np.isin(component, component[np.flatnonzero(cross.sum(axis=1) > 0)])
    out = np.full((own.shape[0], *np.shape(values)[1:]), np.nan)
    if joined.any():
        degrees = (cross.sum(axis=1) + own.sum(axis=1))[joined]
        system = sp.diags_array(degrees) - own[joined][:, joined]
        out[joined] = splu(sp.csc_matrix(system)).solve(cross[joined] @ np.asarray(values, dtype=np.float64))
    return out


def _row_sums(weights: Matrix, n: int) -> tuple[SparseArray, FloatArray]:
    """Check the weights of new points; return them as CSR with their row sums."""
    weights = sp.csr_array(weights if sp.issparse(weights) else np.asarray(weights), dtype=np.float64)
    if weights.ndim != 2 or weights.shape[1] != n:
        raise InvalidInputError(
            f"weights has the shape {weights.shape}, but values are of {n} training points; pass one row per new "
            "point and one column per training point."
        )
    finite_numbers("weights", weights, "such as graphs.neighbor_weights returns", least=0.0)
    total = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel()
    if (total <= 0).any():
        raise InvalidInputError(
            f"row {int((total <= 0).argmax())} of weights is empty ({np.count_nonzero(total <= 0)} such "
            "rows): the point is tied to no training point. Take graphs.neighbor_weights, which leaves no row empty."
        )
    return weights, total


def _away_from_zero(denominator: FloatArray, floor: float) -> FloatArray:
    small = np.abs(denominator) < floor
    return np.where(small, np.where(denominator < 0, -floor, floor), denominator)
