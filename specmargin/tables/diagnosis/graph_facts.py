"""Facts about a graph: pieces, degrees and hubs, eigenvalues and their gaps, and two eigenvectors for a picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import skew

from specmargin.graphs import Components
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray, IntArray, SparseArray

__all__ = ["Connectivity", "Degrees", "Gap", "connectivity", "degree_facts", "embedding", "largest_gap"]

_SHOWN = 20
_SPREAD = 0.1  # share of the samples over which an eigenvector must spread to be drawn


@dataclass(frozen=True)
class Connectivity:
    """Pieces of a graph that no edge joins.

    Parameters
    ----------
    n_components : int
    sizes : tuple of int
        The largest ones, at most 20, not increasing.
    n_isolated : int
        Samples without an edge.
    n_without_label : int
        Components that hold no label; 0 where there are no labels at all.
    n_samples_without_label : int
        Samples in them.
    """

    n_components: int
    sizes: tuple[int, ...]
    n_isolated: int
    n_without_label: int
    n_samples_without_label: int


@dataclass(frozen=True)
class Degrees:
    """Edges of the samples, and hubs.

    Parameters
    ----------
    least, most : int
        Edges of a sample.
    mean : float
    hubness : float
        Skewness of `counts`, 0 where all are equal: above 1, a few samples are neighbours of very many.
    largest_hub : int
        The number of the sample that most others list.
    largest_count : int
        How many list it.
    never_listed : int
        Samples that nobody lists.
    counted : str
        What `counts` are: "in-degree", how many list a sample among their nearest neighbours, or "degree", its edges
        in a graph that was given.
    """

    least: int
    most: int
    mean: float
    hubness: float
    largest_hub: int
    largest_count: int
    never_listed: int
    counted: str


@dataclass(frozen=True)
class Gap:
    """The largest gap between successive eigenvalues of the normalised Laplacian.

    Parameters
    ----------
    eigenvalues : tuple of float
        The lowest, at most 20 (more where the graph has that many components), in [0, 2].
    n_clusters : int
        Eigenvalues below the largest gap: the number of clusters that it suggests.
    size : float
        The gap.
    low, high : float
        Its ends.
    is_clear : bool
        Whether every other gap is less than half as large: otherwise the number of clusters is a guess.
    """

    eigenvalues: tuple[float, ...]
    n_clusters: int
    size: float
    low: float
    high: float
    is_clear: bool


def connectivity(parts: Components, labeled: IntArray) -> Connectivity:
    """Return the components, and which hold no label.

    Examples
    --------
    >>> from specmargin.graphs import components
    >>> parts = components(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    >>> connectivity(parts, np.array([2]))
    Connectivity(n_components=2, sizes=(2, 1), n_isolated=1, n_without_label=1, n_samples_without_label=2)
    """
    without = np.ones(parts.n, dtype=bool)
    without[parts.index[labeled]] = False
    if len(labeled) == 0:
        without[:] = False
    return Connectivity(
        parts.n,
        tuple(int(size) for size in parts.sizes[:_SHOWN]),
        parts.n_isolated,
        int(np.count_nonzero(without)),
        int(parts.sizes[without].sum()),
    )


def degree_facts(W: SparseArray, counts: IntArray, counted: str) -> Degrees:
    """Return the degrees of a graph, and the hubs by `counts` (n,), how many samples list each.

    Examples
    --------
    >>> W = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    >>> facts = degree_facts(W, np.array([2, 1, 0]), "in-degree")
    >>> facts.most, facts.largest_hub, facts.never_listed, facts.hubness
    (2, 0, 1, 0.0)
    """
    edges = np.asarray((W != 0).sum(axis=1)).ravel()
    alike = bool((counts == counts[0]).all())
    return Degrees(
        int(edges.min()),
        int(edges.max()),
        float(edges.mean()),
        0.0 if alike else float(skew(counts)),
        int(counts.argmax()),
        int(counts.max()),
        int(np.count_nonzero(counts == 0)),
        counted,
    )


def largest_gap(eigenvalues: FloatArray, n_components: int) -> Gap:
    """Return the largest gap of the lowest eigenvalues, those that are given.

    Parameters
    ----------
    eigenvalues : ndarray of shape (q,)
        Eigenvalues, not decreasing.
    n_components : int
        Number of components of the graph: clusters are as many at least.

    Examples
    --------
    >>> gap = largest_gap(np.array([0.0, 0.1, 0.7, 0.8]), 1)
    >>> gap.n_clusters, round(gap.size, 3)
    (2, 0.6)
    """
    shown = tuple(float(one) for one in eigenvalues)
    gaps = np.diff(eigenvalues)
    if len(gaps) < n_components:
        return Gap(shown, n_components, 0.0, 0.0, 0.0, False)
    m = n_components + int(gaps[n_components - 1 :].argmax())
    others = np.delete(gaps, m - 1)
    is_clear = bool(2.0 * others.max(initial=0.0) < gaps[m - 1])
    return Gap(shown, m, float(gaps[m - 1]), shown[m - 1], shown[m], is_clear)


def embedding(spectrum: Spectrum) -> FloatArray:
    """Return two coordinates for every sample: the lowest eigenvectors that spread over a tenth of the samples.

    Those of a small piece of the graph are zero elsewhere, and would draw all other samples as one point. Each is
    divided by the roots of the degrees, as in spectral clustering, and has the mean square 1.

    Parameters
    ----------
    spectrum : Spectrum
        Spectrum of the normalised Laplacian, of two eigenpairs at least.

    Returns
    -------
    ndarray of shape (n, 2)
    """
    degrees = np.asarray(spectrum.degrees)
    root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    U = spectrum.eigenvectors[:, 1:] / root[:, None]
    n, squares = len(U), (U * U).sum(axis=0)
    spread = squares**2 / np.maximum((U**4).sum(axis=0), np.finfo(np.float64).tiny) / n
    order = np.argsort(spread < _SPREAD, kind="stable")[:2]
    chosen = U[:, order] * np.sqrt(n / np.maximum(squares[order], np.finfo(np.float64).tiny))
    return chosen if chosen.shape[1] == 2 else np.column_stack([chosen, np.zeros((n, 2 - chosen.shape[1]))])
