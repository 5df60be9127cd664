"""Eigenpairs that serve a fit, or many: what they must be, and the part of them that a fit takes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse import csgraph

from specmargin.checks import warn
from specmargin.exceptions import EigenspaceWarning, InvalidInputError, SavedVersionWarning
from specmargin.spectra.eigenpairs import LaplacianLike, eigenpairs_of, fix_signs, null_space, read_laplacian
from specmargin.spectra.spectrum import TIE, Spectrum
from specmargin.typing import AnyArray, IntArray, SparseArray

__all__ = [
    "USUAL_Q",
    "KeptSpectrum",
    "labeled_eigenpairs",
    "labeled_part",
    "reached",
    "reused",
    "warn_of_repeated",
    "whole_eigenspaces",
]

USUAL_Q = 200
"""Eigenvectors where no number is asked for."""

_NORM = 1e-3
"""Deviation of the norm of a column from one that no accuracy of an eigensolver explains."""


_PRECISE = 1e-9
"""Residual, relative to the largest eigenvalue, above which equal and close eigenvalues are not distinguished."""


def labeled_eigenpairs(
    W: SparseArray,
    labeled: IntArray,
    q: int,
    *,
    of: Callable[[SparseArray], LaplacianLike] | None = None,
    normalized: bool = True,
    **options: Any,
) -> Spectrum:
    """Return the q lowest eigenpairs of the components of a graph that hold a label, or all that these have.

    An eigenvector of a component without a label is zero at all labels: nothing can be learned of its weight.

    Parameters
    ----------
    W : sparse matrix of shape (n, n)
        Adjacency, checked.
    labeled : ndarray of int
        The labelled nodes.
    q : int
        Eigenpairs, 1 to n.
    of : callable, optional
        Function of an adjacency that returns its Laplacian.
    normalized : bool, default True
        Which Laplacian, where there is no such function.
    **options
        method, tol and random_state of `laplacian_eigenpairs`.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> s = labeled_eigenpairs(sp.block_diag([edge, edge], format="csr"), np.array([0]), q=3)
    >>> s.eigenvalues.round(12).tolist(), s.nodes.tolist()
    ([0.0, 2.0], [0, 1])
    """
    n, of = W.shape[0], of or partial(read_laplacian, normalized=normalized)
    component = csgraph.connected_components(W, directed=False)[1]
    kept = np.isin(component, component[labeled])
    if kept.all() or q > n:
        return eigenpairs_of(of(W), q, **options)
    nodes = np.flatnonzero(kept)
    part = eigenpairs_of(of(W[nodes][:, nodes]), min(q, len(nodes)), **options)
    vectors = np.zeros((n, part.q))
    vectors[nodes] = part.eigenvectors
    degrees = np.asarray(W.sum(axis=1)).ravel()
    return replace(part, eigenvectors=vectors, degrees=degrees, component=component, nodes=nodes)


def labeled_part(spectrum: Spectrum, labeled: IntArray) -> Spectrum:
    """Return the eigenpairs, of those that are given, of the components that hold a label.

    Those of all components are these themselves. Eigenvectors of one eigenvalue, or of close ones that are inexact, may
    mix components: what is left of their span is diagonalised again.

    Raises
    ------
    ValueError
        If a component with a label was left out when the eigenpairs were computed.

    Examples
    --------
    >>> from specmargin.spectra import laplacian_eigenpairs
    >>> edge = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> s = laplacian_eigenpairs(np.kron(np.eye(2), edge), q=4)
    >>> labeled_part(s, np.array([0])).eigenvectors.round(4).tolist()
    [[0.7071, 0.7071], [0.7071, -0.7071], [0.0, 0.0], [0.0, 0.0]]
    """
    component, degrees = spectrum.component, spectrum.degrees
    if component is None or degrees is None:
        return spectrum
    held = np.arange(len(component)) if spectrum.nodes is None else spectrum.nodes
    kept = np.isin(component, component[labeled])
    if np.count_nonzero(kept) > np.count_nonzero(kept[held]):
        lost = labeled[~np.isin(labeled, held)]
        raise InvalidInputError(
            f"the spectrum is that of the {len(held)} nodes of components that had a label, and node {lost[0]}, which "
            "has one now, is none of them; pass laplacian_eigenpairs(W), which is of all, or the graph."
        )
    if kept[held].all():
        return spectrum
    nodes = np.flatnonzero(kept)
    index = np.unique(component[nodes], return_inverse=True)[1]
    null, _ = null_space(index, degrees[nodes], spectrum.normalized, spectrum.q)
    rough = spectrum.eigenvectors[nodes, spectrum.n_components :]
    share, turned = np.linalg.eigh(rough.T @ rough)  # 1 in the span of these components, 0 off it
    inside = turned[:, share > 0.5] / np.sqrt(share[share > 0.5])
    values, order = np.linalg.eigh(inside.T @ (spectrum.eigenvalues[spectrum.n_components :, None] * inside))
    smooth = rough @ (inside @ order)
    fix_signs(smooth)
    vectors = np.zeros((len(component), null.shape[1] + len(values)))
    vectors[nodes] = np.hstack([null, smooth])
    return replace(
        spectrum,
        eigenvalues=np.concatenate([np.zeros(null.shape[1]), np.maximum(values, 0.0)]),
        eigenvectors=vectors,
        n_components=null.shape[1],
        nodes=nodes,
    )


def reached(spectra: Spectrum | Sequence[Spectrum], values: AnyArray) -> AnyArray:
    """Return the rows of the nodes whose component has a label in one graph at least: the others nothing tells of.

    Examples
    --------
    >>> reached(Spectrum(np.zeros(1), np.eye(3)[:, :1], n_components=1, nodes=np.array([0])), np.array([5.0, 6.0, 7.0]))
    array([5.])
    """
    known = [spectrum.nodes for spectrum in ([spectra] if isinstance(spectra, Spectrum) else spectra)]
    rows = [nodes for nodes in known if nodes is not None]
    return values[np.unique(np.concatenate(rows))] if len(rows) == len(known) else values


def whole_eigenspaces(spectrum: Spectrum) -> Spectrum:
    """Return the eigenpairs of whole eigenspaces, and warn where the last one is cut and left out.

    Of an eigenspace that q cuts, the eigensolver returns some basis, which changes with the order of the nodes, and so
    would every answer. Where nothing but the constant would be left the eigenpairs stay, and the warning says so.
    Eigenpairs so inexact that equal and close eigenvalues cannot be distinguished are returned as they are.

    Examples
    --------
    >>> import warnings
    >>> s = Spectrum(np.array([0.0, 1.0, 2.0, 2.0, 2.0]), np.eye(5), n_components=1)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     print(whole_eigenspaces(s.truncate(4)).q, whole_eigenspaces(s).q)
    2 5
    """
    largest = float(spectrum.eigenvalues[-1])
    if not spectrum.cuts_tie or spectrum.residual > _PRECISE * largest:
        return spectrum
    ends = spectrum.block_ends()
    whole = int(ends[-2]) + 1 if len(ends) > 1 else 1
    text = (
        f"answers depend on the order of the nodes. Take q={spectrum.n_samples}, all eigenvectors."
        if whole == 1
        else f"the {whole} of whole eigenspaces are used, as with q={whole}. A larger q may hold all of it."
    )
    warn(
        f"q={spectrum.q} cuts the eigenspace of the repeated eigenvalue {largest:.6g}, whose basis is any: {text}",
        EigenspaceWarning,
    )
    return spectrum if whole == 1 else spectrum.truncate(whole)


@dataclass(eq=False)
class KeptSpectrum:
    """What a fit keeps of a graph: the eigenpairs of its labelled components, or those that were passed in its place.

    They are computed when they are first asked for: by the fit, and again where this was read from a pickle or a file,
    which holds the graph, a tenth of their size, and a checksum. Without a seed they would be others, and are stored.

    Parameters
    ----------
    graph : sparse matrix or Spectrum
    labeled : ndarray of int
        The labelled nodes.
    q : int or None
        Eigenpairs asked for; None for at most 200.
    laplacian : object
        Its ``of(W)`` returns the Laplacian of an adjacency.
    random_state, tol
        Start and accuracy, see `laplacian_eigenpairs`.

    Examples
    --------
    >>> import pickle
    >>> from specmargin.graphs import Laplacian
    >>> ring = np.roll(np.eye(9), 1, axis=0)
    >>> kept = KeptSpectrum(ring + ring.T, np.array([0, 4]), 3, Laplacian(), 0)
    >>> vectors = kept.spectrum.eigenvectors
    >>> bool((pickle.loads(pickle.dumps(kept)).spectrum.eigenvectors == vectors).all())
    True
    """

    graph: SparseArray | Spectrum | None
    labeled: IntArray
    q: int | None
    laplacian: Any
    random_state: Any
    tol: float | None = None
    _known: Spectrum | None = None
    _checksum: int | None = None

    @property
    def spectrum(self) -> Spectrum:
        """The eigenpairs, of whole eigenspaces."""
        if self._known is None:
            W: Any = self.graph
            stored = self._checksum
            if isinstance(W, Spectrum):
                known = labeled_part(W, self.labeled)
            else:
                q = min(USUAL_Q, W.shape[0]) if self.q is None else self.q
                options = {"tol": self.tol, "random_state": self.random_state}
                known = labeled_eigenpairs(W, self.labeled, q, of=self.laplacian.of, **options)
            with warnings.catch_warnings():
                if stored is not None:
                    warnings.simplefilter("ignore", EigenspaceWarning)
                self._known = whole_eigenspaces(known)
            if isinstance(W, Spectrum) or not isinstance(self.random_state, int | np.integer):
                self.graph = self.random_state = None
            else:
                self._checksum = crc32(np.ascontiguousarray(self._known.eigenvectors).data)
            if stored not in (None, self._checksum):
                warn(
                    "the eigenvectors were computed again, on another machine or by other libraries than those of the "
                    "fit, and differ from these by rounding; decisions are those of the fit.",
                    SavedVersionWarning,
                )
        return self._known

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_known": self._known if self.graph is None else None}


def warn_of_repeated(spectrum: Spectrum, who: str, instead: str) -> None:
    """Warn where a weight of its own is learned for each of several eigenvectors of one eigenvalue.

    Those of eigenvalue 0 are set by the sizes of the components, and are warned of where two are of one size.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_of_repeated(Spectrum(np.array([0.0, 2.0, 2.0]), np.eye(3), n_components=1), "MKL", "STOAM")
    >>> "eigenvalue 2 is repeated" in str(caught[0].message)
    True
    """
    ends = spectrum.block_ends()
    sizes = np.diff(ends, prepend=0)
    values = spectrum.eigenvalues[ends]
    told_apart = False
    if spectrum.component is not None:
        of_components = np.unique(spectrum.reached(spectrum.component), return_counts=True)[1]
        told_apart = len(set(of_components)) == spectrum.n_components
    repeated = (sizes > 1) & ((values > 0) | (not told_apart))
    if repeated.any():
        first = int(repeated.argmax())
        warn(
            f"the eigenvalue {values[first]:.6g} is repeated {sizes[first]} times ({np.count_nonzero(repeated)} such "
            f"eigenvalues), and {who} weighs each of its eigenvectors, whose basis is arbitrary: the answer depends on "
            f"the order of the nodes. {instead} shares one weight within an eigenspace.",
            EigenspaceWarning,
        )


def reused(spectrum: Spectrum, n_samples: int, *, q: int | None, normalized: bool, power: int = 1) -> Spectrum:
    """Return the eigenpairs that an estimator would have computed, from those that were passed to it.

    Parameters
    ----------
    spectrum : Spectrum
        What `specmargin.spectra.laplacian_eigenpairs` returned for a graph of these samples, in their order.
    n_samples : int
        Rows of the data.
    q : int or None
        Eigenpairs asked for; None for at most 200, as many as there are. Fewer than there are: the lowest.
    normalized : bool
        The kind of Laplacian asked for.
    power : int, default 1
        The power of the Laplacian asked for. Eigenpairs of L are those of every power of it.

    Raises
    ------
    ValueError
        If these are not eigenpairs of what is asked for, or fewer than q.

    Examples
    --------
    >>> s = Spectrum(np.array([0.0, 1.0, 2.0]), np.eye(3), n_components=1)
    >>> reused(s, 3, q=2, normalized=False, power=2).eigenvalues.tolist()
    [0.0, 1.0]
    """
    if spectrum.n_samples != n_samples:
        raise InvalidInputError(
            f"the spectrum is that of a graph of {spectrum.n_samples} nodes but the data has {n_samples} rows; build "
            "the graph on the same rows, labelled and unlabelled together, in the same order."
        )
    if spectrum.normalized != normalized:
        kind, asked = ("normalized", "combinatorial") if spectrum.normalized else ("combinatorial", "normalized")
        raise InvalidInputError(
            f"the spectrum is that of the {kind} Laplacian, but normalized={normalized} asks for the {asked} one; take "
            f"Laplacian(normalized={spectrum.normalized}), or pass laplacian_eigenpairs(W, normalized={normalized})."
        )
    if spectrum.power not in (1, power):
        raise InvalidInputError(
            f"the spectrum is that of L^{spectrum.power}, but power={power} is asked for; pass the eigenpairs of L "
            "itself, which serve every power."
        )
    if q is not None and q > spectrum.q:
        raise InvalidInputError(
            f"q={q}, but the spectrum that was passed holds {spectrum.q} eigenpairs; take q={spectrum.q} at most, or "
            f"pass laplacian_eigenpairs(W, q={q})."
        )
    _check(spectrum)
    spectrum = spectrum.truncate(min(USUAL_Q, spectrum.q) if q is None else q)
    if power == spectrum.power:
        return spectrum
    return replace(spectrum, eigenvalues=spectrum.eigenvalues**power, power=power, residual=np.nan)


def _check(spectrum: Spectrum) -> None:
    """Raise unless eigenvalues ascend from zero on and eigenvectors have length one."""
    values = spectrum.eigenvalues
    allowed = TIE * float(np.abs(values).max())
    wrong = np.append(values[:1] < -allowed, np.diff(values) < -allowed)
    if wrong.any():
        k = int(wrong.argmax())
        raise InvalidInputError(
            f"eigenvalues of a Laplacian ascend from 0, but eigenvalues[{k}] is {values[k]:.6g}"
            f"{f' after {values[k - 1]:.6g}' if k else ''}; pass what laplacian_eigenpairs(W) returns."
        )
    norms = np.sqrt(np.einsum("ij,ij->j", spectrum.eigenvectors, spectrum.eigenvectors))
    wrong = ~(np.abs(norms - 1.0) <= _NORM)
    if wrong.any():
        k = int(wrong.argmax())
        raise InvalidInputError(
            f"eigenvectors have length one, but column {k} has {norms[k]:.6g}; pass what laplacian_eigenpairs(W) "
            "returns."
        )
