r"""Families of graph filters: functions h_b(s) of the eigenvalues s in [-1, 1] of a normalised adjacency S.

A filter of the node features X is h_b(S) X: h = 1 leaves them, a resolvent with g > 0 smooths them along the edges, one
with g < 0 keeps what neighbours do not share. All but `Bands` are polynomials, or are as near to one as one likes, and
one Chebyshev recursion of S on X applies a whole family (`specmargin.spectra.filter_bank`). lam = 1 - s is the
frequency: an eigenvalue of the Laplacian I - S, in [0, 2].

A new family is a class with `name`, `parameters`, `response` and `chebyshev`; an object of it is taken wherever one of
these is, and an entry in `FAMILIES` makes its name a short form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp
from numpy.polynomial import chebyshev
from scipy.special import binom

from specmargin.arrays import vector
from specmargin.checks import count, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import AnyArray, FloatArray, SparseArray

__all__ = ["FAMILIES", "Bands", "Bernstein", "GraphFilters", "Powers", "Resolvents", "applied", "family_rule"]

_DEGREE = 60
"""Highest power and degree: beyond it monomials of [-1, 1] are alike, and their Chebyshev coefficients lose digits."""
_CHUNK = 256
"""Bytes of a row of the columns that are filtered together: they, and a sum per filter, stay in the cache."""
_TERMS = 8
"""Terms of the recursion that are added to all filters by one product of matrices."""
_DENSE = 4000
"""Nodes up to which all eigenvectors are computed, for bands."""
_STEPS = 20
"""Of the power method that looks for eigenvalues beyond one."""


@runtime_checkable
class GraphFilters(Protocol):
    """A family of m filters.

    Examples
    --------
    >>> Powers(2).response(np.array([-1.0, 0.5])).tolist()
    [[1.0, 1.0], [-1.0, 0.5], [1.0, 0.25]]
    """

    name: ClassVar[str]

    @property
    def parameters(self) -> FloatArray:
        """What tells one filter of the family from another, (m,)."""

    def response(self, s: FloatArray) -> FloatArray:
        """Return h_b(s) for eigenvalues s in [-1, 1], (m, len(s))."""

    def chebyshev(self, tol: float) -> FloatArray:
        """Return coefficients (m, degree + 1) in T_k(s) whose series is within `tol` of h_b, relative to its size."""


@dataclass(frozen=True, eq=False)
class Resolvents:
    """h_g(s) = (1 - |g|) / (1 - g s): low-pass for g > 0, the features themselves for g = 0, high-pass for g < 0.

    For g > 0 it is personalised PageRank with the restart probability 1 - g. One family for graphs whose neighbours
    are alike (homophily) and for those whose are not, and the features alone are among its kernels.

    Parameters
    ----------
    g : sequence of float, default (-0.9, -0.5, 0, 0.5, 0.8, 0.9, 0.95)
        Values in (-1, 1), one per filter.

    Raises
    ------
    ValueError
        If a g is not inside (-1, 1), or there is none.

    References
    ----------
    Gasteiger, Bojchevski & Guennemann, Predict then propagate, ICLR 2019, for g > 0.

    Examples
    --------
    >>> Resolvents([-0.5, 0.0, 0.5]).response(np.array([-1.0, 1.0])).round(3).tolist()
    [[1.0, 0.333], [1.0, 1.0], [0.333, 1.0]]
    """

    g: Sequence[float] | FloatArray = (-0.9, -0.5, 0.0, 0.5, 0.8, 0.9, 0.95)
    name: ClassVar[str] = "resolvents"

    def __post_init__(self) -> None:
        g = vector("g", self.g, "numbers inside (-1, 1), one per filter")
        if not len(g) or not (np.abs(g) < 1).all():
            raise InvalidInputError(
                f"g={shown(self.g)} must hold numbers inside (-1, 1), one per filter; take 0.9, 0 or -0.9, for example."
            )
        object.__setattr__(self, "g", g)

    @property
    def parameters(self) -> FloatArray:
        """The g, (m,)."""
        return np.asarray(self.g)

    def response(self, s: FloatArray) -> FloatArray:
        """Return h_g(s), (m, len(s))."""
        g = self.parameters[:, None]
        return (1.0 - np.abs(g)) / (1.0 - g * np.asarray(s))

    def chebyshev(self, tol: float) -> FloatArray:
        """Return the coefficients c and 2 c r^k, r = (1 - sqrt(1 - g^2)) / g, c = (1 - |g|) / sqrt(1 - g^2).

        What is cut off is at most 2 c r^(K + 1) / (1 - r) after the degree K; the largest value of h is one.
        """
        g = self.parameters
        root = np.sqrt(1.0 - g**2)
        r = g / (1.0 + root)  # that of the docstring without its cancellation, and 0 at g = 0
        c = (1.0 - np.abs(g)) / root
        size = float(np.abs(r).max())
        worst = float((2 * c / (1 - np.abs(r))).max())
        degree = math.ceil(math.log(tol / worst) / math.log(size)) if size > 0 and tol < worst else 0
        out = 2.0 * c[:, None] * r[:, None] ** np.arange(max(degree, 0) + 1)
        out[:, 0] = c
        out[np.abs(out) < 1e-3 * tol / len(out[0])] = 0.0  # shorter series stop earlier
        return out


@dataclass(frozen=True)
class Powers:
    """h_k(s) = s^k, k = 0 to `degree`: k steps along the edges. All of them are low-pass or even.

    Parameters
    ----------
    degree : int, default 10
        Degree, at most 60.

    Raises
    ------
    ValueError
        If the degree is not a whole number from 0 to 60.

    References
    ----------
    Wu et al., Simplifying graph convolutional networks, ICML 2019, for one power.

    Examples
    --------
    >>> Powers(2).chebyshev(1e-9).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
    """

    degree: int = 10
    name: ClassVar[str] = "powers"

    def __post_init__(self) -> None:
        count(0, _DEGREE)("degree", self.degree)

    @property
    def parameters(self) -> FloatArray:
        """The powers, (m,)."""
        return np.arange(self.degree + 1.0)

    def response(self, s: FloatArray) -> FloatArray:
        """Return s^k, (m, len(s))."""
        return np.asarray(s)[None] ** self.parameters[:, None]

    def chebyshev(self, tol: float) -> FloatArray:
        """Return the exact coefficients of the powers."""
        out = np.zeros((self.degree + 1, self.degree + 1))
        for k, power in enumerate(np.eye(self.degree + 1)):
            series = chebyshev.poly2cheb(power)
            out[k, : len(series)] = series
        return out


@dataclass(frozen=True)
class Bernstein:
    """h_k(s) = C(d, k) x^k (1 - x)^(d - k), x = (1 - s) / 2: Bernstein polynomials of half the frequency.

    Nonnegative bumps that sum to one: the k-th passes frequencies around 2 k / d.

    Parameters
    ----------
    degree : int, default 6
        d, 1 to 60; there are d + 1 filters.

    Raises
    ------
    ValueError
        If the degree is not a whole number from 1 to 60.

    References
    ----------
    He, Wei, Huang & Xu, BernNet, NeurIPS 2021.

    Examples
    --------
    >>> Bernstein(2).response(np.array([1.0, 0.0, -1.0])).tolist()
    [[1.0, 0.25, 0.0], [0.0, 0.5, 0.0], [0.0, 0.25, 1.0]]
    """

    degree: int = 6
    name: ClassVar[str] = "bernstein"

    def __post_init__(self) -> None:
        count(1, _DEGREE)("degree", self.degree)

    @property
    def parameters(self) -> FloatArray:
        """The frequencies 2 k / d around which the filters pass, (m,)."""
        return 2.0 * np.arange(self.degree + 1.0) / self.degree

    def response(self, s: FloatArray) -> FloatArray:
        """Return the polynomials, (m, len(s))."""
        k, x = np.arange(self.degree + 1)[:, None], (1.0 - np.asarray(s)[None]) / 2
        return binom(self.degree, k) * x**k * (1.0 - x) ** (self.degree - k)

    def chebyshev(self, tol: float) -> FloatArray:
        """Return the coefficients, exact but for rounding: at the nodes of Chebyshev the T_k are orthogonal."""
        size = self.degree + 1
        angles = np.pi * (np.arange(size) + 0.5) / size
        T = np.cos(np.arange(size) * angles[:, None])
        T[:, 0] /= 2
        return 2.0 / size * self.response(np.cos(angles)) @ T


@dataclass(frozen=True, eq=False)
class Bands:
    """h_b(s) = 1 where the frequency 1 - s lies in [edge_b, edge_b+1), else 0: projections on bands of eigenvectors.

    True pieces of the spectrum, for looking and for teaching: they take all eigenvectors, and narrow bands tear the
    features apart, so that they classify worse than `Resolvents`.

    Parameters
    ----------
    edges : int or sequence of float, default 4
        Number of bands of equal width in [0, 2], or their increasing edges from 0 to 2; the last one is closed.

    Raises
    ------
    ValueError
        If the edges do not increase from 0 to 2.

    Examples
    --------
    >>> Bands([0.0, 0.5, 2.0]).response(np.array([1.0, 0.4, -1.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]
    """

    edges: int | Sequence[float] | FloatArray = 4
    name: ClassVar[str] = "bands"

    def __post_init__(self) -> None:
        if isinstance(self.edges, int | np.integer) and not isinstance(self.edges, bool) and self.edges >= 1:
            edges = np.linspace(0.0, 2.0, int(self.edges) + 1)
        else:
            edges = vector("edges", self.edges, "a number of bands, or edges that increase from 0 to 2")
        if len(edges) < 2 or edges[0] != 0 or edges[-1] != 2 or not (np.diff(edges) > 0).all():
            raise InvalidInputError(
                f"edges={shown(self.edges)} must be a number of bands, at least one, or increase from 0 to 2."
            )
        object.__setattr__(self, "edges", edges)

    @property
    def parameters(self) -> FloatArray:
        """The middles of the bands, (m,)."""
        edges = np.asarray(self.edges)
        return (edges[1:] + edges[:-1]) / 2

    def response(self, s: FloatArray) -> FloatArray:
        """Return the indicators, (m, len(s)); frequencies beyond [0, 2] by rounding belong to the outer bands."""
        edges = np.asarray(self.edges)
        band = np.clip(np.searchsorted(edges, 1.0 - np.asarray(s), side="right") - 1, 0, len(edges) - 2)
        return (band[None] == np.arange(len(edges) - 1)[:, None]).astype(float)

    def chebyshev(self, tol: float) -> FloatArray:
        """Refuse: no polynomial is near to an indicator."""
        raise InvalidInputError("bands are no polynomials of the operator; they take its eigenvectors.")


FAMILIES: dict[str, Callable[[], GraphFilters]] = {one.name: one for one in (Resolvents, Powers, Bernstein, Bands)}
"""Families of filters by name."""


def family_rule(name: str, value: Any) -> Any:
    """Check a family of filters, of one's own or of this module."""
    if isinstance(value, type) or not isinstance(value, GraphFilters):
        raise InvalidTypeError(
            f"{name}={shown(value)} is no family of filters; pass one of specmargin.spectra, such as Resolvents(), or "
            "an object with name, parameters, response and chebyshev."
        )
    return value


def operator_of(S: Any) -> SparseArray:
    """Return a normalised adjacency, checked."""
    if not sp.issparse(S):
        S = np.asarray(S, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not S.shape[0]:
        raise InvalidInputError(
            f"S has the shape {S.shape}; pass the square matrix of specmargin.graphs.normalized_adjacency(W)."
        )
    S = sp.csr_array(S).astype(np.float64)
    if not np.isfinite(S.data).all() or (S.nnz and abs(S - S.T).max() > 1e-12):
        raise InvalidInputError("S is not a finite symmetric matrix; pass specmargin.graphs.normalized_adjacency(W).")
    radius = _radius(S)
    if radius > 1 + 1e-6:
        raise InvalidInputError(
            f"S has an eigenvalue of at least {radius:.3g} in size, but those of a normalised adjacency lie in "
            "[-1, 1]; pass specmargin.graphs.normalized_adjacency(W) for an adjacency W."
        )
    return S


def _radius(S: SparseArray) -> float:
    """Return a lower bound on the largest eigenvalue in size: the growth in a few steps of the power method."""
    v = np.random.default_rng(0).normal(size=S.shape[0])
    growth = 0.0
    for _ in range(_STEPS):
        length = float(np.linalg.norm(v))
        if length == 0:
            break
        image = S @ (v / length)
        growth = max(growth, float(np.linalg.norm(image)))
        v = image
    return growth


def checked_features(X: Any, n: int, unit_rows: bool, unit: float | None = None) -> tuple[Any, float]:
    """Return the features in a unit, by default the largest, or with rows of length one; and that unit."""
    if X is None:
        return None, 1.0
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] != n or not X.shape[1]:
        raise InvalidInputError(
            f"X has the shape {X.shape}, but the graph has {n} nodes; pass one row of features per node, in the order "
            "of the graph's rows."
        )
    X = sp.csr_array(X, dtype=np.float64, copy=True) if sp.issparse(X) else np.array(X, dtype=np.float64)
    stored = X.data if sp.issparse(X) else X
    low, high = float(stored.min(initial=0.0)), float(stored.max(initial=0.0))
    if not np.isfinite([low, high]).all():
        raise InvalidInputError("X holds NaN or infinite features; impute or drop them first.")
    if low == high:
        raise InvalidInputError(
            f"X of the shape {X.shape} holds zeros only; pass features that differ, or X=None for the graph alone."
        )
    unit = max(-low, high) if unit is None else unit
    stored /= unit  # squares neither over- nor underflow
    if not unit_rows:
        return X, unit
    squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
    lengths = np.sqrt(np.asarray(squares)).ravel()
    inverse = np.divide(1.0, lengths, out=np.zeros(n), where=lengths > 0)
    if sp.issparse(X):
        return sp.csr_array(sp.diags_array(inverse) @ X), unit
    X *= inverse[:, None]
    return X, unit


def _columns(features: Any, n: int, start: int, stop: int, kind: Any) -> AnyArray:
    """Return some columns of the features, dense; of None those of the identity."""
    if features is None:
        out = np.zeros((n, stop - start), kind)
        out[np.arange(start, stop), np.arange(stop - start)] = 1.0
        return out
    chunk = features[:, start:stop]
    return np.array(chunk.toarray() if sp.issparse(chunk) else chunk, dtype=kind, order="C")


def by_recursion(S: SparseArray, features: Any, coefficients: FloatArray, kind: Any) -> list[AnyArray]:
    """Return h_b(S) X of all filters by T_k+1 = 2 S T_k - T_k-1, some columns at a time."""
    n = S.shape[0]
    d = n if features is None else features.shape[1]
    S = S.astype(kind)
    twice = 2 * S
    c = np.asfortranarray(coefficients.T.astype(kind))
    n_terms, m = c.shape
    (gemm,) = sla.get_blas_funcs(("gemm",), dtype=np.dtype(kind))
    csc = features.tocsc() if sp.issparse(features) else features
    width, held = max(1, _CHUNK // np.dtype(kind).itemsize), min(_TERMS, n_terms)
    blocks = [np.empty((n, d), kind) for _ in range(m)]
    for start in range(0, d, width):
        stop = min(d, start + width)
        if start == 0 or stop - start < width:  # the last columns may be fewer
            terms, parts = np.empty((held, n, stop - start), kind), np.empty((m, n, stop - start), kind)
        # Both are columns of all entries to BLAS, which adds in place.
        listed, sums = terms.reshape(held, -1).T, parts.reshape(m, -1).T
        for first in range(0, n_terms, held):
            last = min(n_terms, first + held)
            for k in range(first, last):
                if k == 0:
                    terms[0] = _columns(csc, n, start, stop, kind)
                elif k == 1:
                    terms[1] = S @ terms[0]
                else:
                    np.subtract(twice @ terms[(k - 1) % held], terms[(k - 2) % held], out=terms[k - first])
            gemm(1.0, listed[:, : last - first], c[first:last], float(first > 0), sums, overwrite_c=True)
        for block, part in zip(blocks, parts, strict=True):
            block[:, start:stop] = part
    return blocks


def by_steps(S: SparseArray, features: Any, degree: int, kind: Any) -> list[AnyArray]:
    """Return S^k X for k = 0 to the degree, each from the one before: a sum of no other terms."""
    S, n = S.astype(kind), S.shape[0]
    blocks = [_columns(features, n, 0, n if features is None else features.shape[1], kind)]
    for _ in range(degree):
        blocks.append(S @ blocks[-1])
    return blocks


def by_eigenvectors(S: SparseArray, features: Any, family: Bands) -> list[AnyArray]:
    n = S.shape[0]
    if n > _DENSE:
        raise InvalidInputError(
            f"bands take all eigenvectors of the {n} nodes, which are computed up to {_DENSE}; take Resolvents(), "
            "Powers() or Bernstein()."
        )
    values, vectors = sla.eigh(S.toarray(), check_finite=False)
    X = np.eye(n) if features is None else features.toarray() if sp.issparse(features) else features
    projected = vectors.T @ X
    return [vectors[:, kept > 0] @ projected[kept > 0] for kept in family.response(values)]


def applied(S: SparseArray, features: Any, family: GraphFilters, tol: float, kind: Any) -> list[AnyArray]:
    """Return h_b(S) X of all filters of a family."""
    if isinstance(family, Bands):
        return [F.astype(kind, copy=False) for F in by_eigenvectors(S, features, family)]
    if isinstance(family, Powers):
        return by_steps(S, features, family.degree, kind)
    return by_recursion(S, features, family.chebyshev(tol), kind)
