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
from numpy.polynomial import chebyshev
from scipy.special import binom

from specmargin.arrays import vector
from specmargin.checks import count, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.typing import FloatArray

__all__ = ["FAMILIES", "Bands", "Bernstein", "GraphFilters", "Powers", "Resolvents", "family_rule"]

_DEGREE = 60
"""Highest power and degree: beyond it monomials of [-1, 1] are alike, and their Chebyshev coefficients lose digits."""


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
