r"""How the features of a graph's nodes spread over its frequencies: what there is for a filter to pass.

With eigenpairs (s_i, u_i) of the normalised adjacency S and centred features X, the energy at the frequency
lam_i = 1 - s_i is |X'u_i|^2 / n. A filter's response says how much of each frequency is passed; where the features have
no energy, or the graph no eigenvalue, that means nothing. `spectral_energy` sums the energy in bands.

Small graphs are diagonalised. For others the kernel polynomial method (Weisse, Wellein, Alvermann & Fehske, Reviews of
Modern Physics 2006) takes moments <X, T_k(S) X> by the recursion of the Chebyshev polynomials, on a random projection
of the features where they are many, and damps them by Jackson's factors, so that no band gets a negative share.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from specmargin.exceptions import InvalidInputError
from specmargin.spectra.filtered_features import FilterBank
from specmargin.typing import FloatArray, SparseArray

__all__ = ["SpectralEnergy", "spectral_energy"]

_EXACT = 2000
"""Nodes up to which all eigenvectors are computed."""
_DEGREE = 256
"""Of the Chebyshev series: bands are resolved to about pi / degree of the half circle."""
_PROJECTED = 128
"""Random columns that stand for many features: a part of rank r is right to a share of sqrt(2 / (128 r)) of itself."""


class SpectralEnergy(NamedTuple):
    """Energy of features in bands of frequencies."""

    edges: FloatArray
    """From 0 to the highest frequency of the graph, (n_bands + 1,)."""
    share: FloatArray
    """Of each band, of sum one, (n_bands,)."""
    total: float
    """Mean squared length of a row of the centred features."""


def spectral_energy(bank: FilterBank, n_bands: int = 24) -> SpectralEnergy:
    """Return how much of the energy of a bank's features lies in bands of frequencies that exist on its graph.

    Parameters
    ----------
    bank : FilterBank
        Its features are taken as they were filtered, with "unit" as rows of length one; their mean row is subtracted,
        for the intercept makes it worthless.
    n_bands : int, default 24
        Number of bands of equal width, from 0 to the graph's highest frequency.

    Returns
    -------
    SpectralEnergy

    Raises
    ------
    ValueError
        If the graph has no edge: then all its frequencies are the same.

    Examples
    --------
    >>> import specmargin as sm
    >>> S = sm.graphs.normalized_adjacency([[0, 1], [1, 0]], self_loops=0)
    >>> bank = sm.spectra.filter_bank(S, np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> spectral_energy(bank, 2).share.round(9).tolist()  # the two nodes differ: all energy is at the frequency 2
    [0.0, 1.0]
    """
    S, n = bank.operator, bank.n_samples
    exact = n <= _EXACT
    if exact:
        values, vectors = sla.eigh(S.toarray(), check_finite=False)
        top, low = 1.0 - values[0], 1.0 - values[-1]
    else:
        start = np.random.default_rng(0).normal(size=n)
        ends = eigsh(S, k=2, which="BE", v0=start, tol=1e-6, return_eigenvectors=False)
        top, low = 1.0 - float(ends.min()), 1.0 - float(ends.max())
    if top - low < 1e-9:
        raise InvalidInputError(
            f"all frequencies of this graph are {top:.3g}: it has no edge between two nodes, so that a filter has "
            "nothing to tell apart; pass a graph with edges."
        )
    edges = np.linspace(0.0, top, n_bands + 1)
    if exact:
        energy = (_projected(bank.features, vectors) ** 2).sum(axis=1)
        total = float(energy.sum())
        share = np.histogram(np.clip(1.0 - values, 0.0, top), edges, weights=energy)[0]
    else:
        moments, total = _moments(S, bank.features)
        # The series leaks a little beyond the ends; what lies there belongs to the outer bands.
        share = _in_bands(moments, np.r_[0.0, edges[1:-1], 2.0])
    return SpectralEnergy(edges, np.asarray(share / share.sum()), total / n)


def _projected(features: Any, vectors: FloatArray) -> FloatArray:
    """Return V'(X - mean row), for X = None of the identity."""
    n = len(vectors)
    if features is None:
        return np.asarray(vectors.T - vectors.sum(axis=0)[:, None] / n)
    mean = np.asarray(features.mean(axis=0)).ravel()
    product = (features.T @ vectors).T
    return np.asarray(product - vectors.sum(axis=0)[:, None] * mean)


def _moments(S: SparseArray, features: Any) -> tuple[FloatArray, float]:
    """Return <X, T_k(S) X> of the centred features, as shares of <X, X>, and that."""
    n = S.shape[0]
    d = n if features is None else features.shape[1]
    rng = np.random.default_rng(0)
    if features is None:
        X = rng.choice([-1.0, 1.0], size=(n, _PROJECTED)) / np.sqrt(_PROJECTED)
    elif d > _PROJECTED:
        X = np.asarray(features @ rng.choice([-1.0, 1.0], size=(d, _PROJECTED))) / np.sqrt(_PROJECTED)
    else:
        X = features.toarray() if sp.issparse(features) else np.array(features)
    X = X - X.mean(axis=0)
    moments = np.zeros(_DEGREE + 1)
    before, now = X, S @ X
    moments[0] = float(np.vdot(X, X))
    moments[1] = float(np.vdot(X, now))
    # T_2k = 2 T_k^2 - 1 and T_2k+1 = 2 T_k T_k+1 - T_1: two moments for one product with S.
    for k in range(1, _DEGREE // 2 + 1):
        moments[2 * k] = 2.0 * float(np.vdot(now, now)) - moments[0]
        if 2 * k < _DEGREE:
            before, now = now, 2.0 * (S @ now) - before
            moments[2 * k + 1] = 2.0 * float(np.vdot(before, now)) - moments[1]
    return moments / moments[0], _total(features, n)


def _total(features: Any, n: int) -> float:
    """Return the squared size of the centred features, without the error of a projection."""
    if features is None:
        return n - 1.0
    mean = np.asarray(features.mean(axis=0)).ravel()
    stored = features.data if sp.issparse(features) else features
    return float(np.vdot(stored, stored)) - n * float(mean @ mean)


def _in_bands(moments: FloatArray, edges: FloatArray) -> FloatArray:
    """Integrate the damped series over bands of the frequency."""
    K = len(moments)
    k = np.arange(K)
    angle = np.pi / (K + 1)
    jackson = ((K - k + 1) * np.cos(angle * k) + np.sin(angle * k) / np.tan(angle)) / (K + 1)
    theta = np.arccos(np.clip(1.0 - edges, -1.0, 1.0))
    # The integral of an indicator over [a, b] in theta times cos(k theta), with the weight of the series.
    below = np.empty((len(theta), K))
    below[:, 0] = theta / np.pi
    below[:, 1:] = 2.0 * np.sin(theta[:, None] * k[1:]) / (np.pi * k[1:])
    return np.maximum(np.diff(below, axis=0) @ (jackson * moments), 0.0)
