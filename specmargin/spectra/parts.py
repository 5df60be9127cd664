"""Functions of a graph as objects, which estimators are composed of: `Eigenvectors` and `Transform`."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from specmargin.checks import among, count, maybe, number, seed, shown
from specmargin.exceptions import InvalidInputError
from specmargin.parts import Part, require_part
from specmargin.spectra.eigenpairs import laplacian_eigenpairs
from specmargin.spectra.spectrum import Spectrum
from specmargin.spectra.transforms import TRANSFORMS
from specmargin.typing import FloatArray

__all__ = ["Eigenvectors", "Transform", "transform_of"]


@dataclass(frozen=True, repr=False)
class Eigenvectors(Part):
    """The lowest eigenvectors of a graph Laplacian, as the functions that a classifier chooses from.

    Called with a Laplacian, or an adjacency, it returns `specmargin.spectra.laplacian_eigenpairs`.

    Parameters
    ----------
    q : int, default 200
        Number of eigenvectors; more than there are nodes are as many.
    random_state : int, Generator or None, default 0
        Start of the search for eigenvectors.

    Examples
    --------
    >>> Eigenvectors(2)([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).eigenvalues.round(6).tolist()
    [0.0, 1.0]
    """

    q: int = 200
    random_state: Any = 0

    def __post_init__(self) -> None:
        count(1)("q", self.q)
        seed("random_state", self.random_state)

    def __call__(self, L: Any) -> Spectrum:
        """Return the eigenpairs of a Laplacian, or of an adjacency."""
        n = L.shape[0] if hasattr(L, "shape") else len(L)
        return laplacian_eigenpairs(L, q=min(self.q, n), random_state=self.random_state)


@dataclass(frozen=True, repr=False)
class Transform(Part):
    """A rule of the spectrum that no label has touched, one of `specmargin.spectra.transforms.TRANSFORMS`.

    Called with a spectrum it returns the weights (q,), of sum one.

    Parameters
    ----------
    rule : str, default "diffusion"
        "diffusion", "gaussian_field", "inverse", "power", "step" or "geometric"; the functions of these names document
        the formulas.
    sigma : float, optional
        Width, of "diffusion" and "gaussian_field"; by default sigma^2 is the mean of the five smallest eigenvalues that
        are not zero.
    exponent : float, default 2.0
        Exponent of "power".
    k : int, default 10
        Number of eigenvectors with equal weights, at most q, of "step".
    w : float, default 1.1
        Ratio of consecutive weights, >= 1, of "geometric".

    Examples
    --------
    >>> import numpy as np
    >>> Transform("step", k=2)(np.array([0.0, 0.5, 1.0])).tolist()
    [0.5, 0.5, 0.0]
    """

    rule: str = "diffusion"
    sigma: float | None = None
    exponent: float = 2.0
    k: int = 10
    w: float = 1.1

    def __post_init__(self) -> None:
        if self.rule not in TRANSFORMS:
            raise InvalidInputError(f"rule={shown(self.rule)} is unknown; take one of {among(self.rule, TRANSFORMS)}")
        maybe(number(above=0))("sigma", self.sigma)
        number(least=0)("exponent", self.exponent)
        count(1)("k", self.k)
        number(least=1)("w", self.w)

    def __call__(self, spectrum: Any) -> FloatArray:
        """Return the weights of a spectrum, or of eigenvalues."""
        rule = TRANSFORMS[self.rule]
        named = {"sigma", "exponent", "k", "w"} & set(inspect.signature(rule).parameters)
        return rule(spectrum, **{name: getattr(self, name) for name in named})


def transform_of(name: str, value: Any) -> Any:
    """Return the transform that a parameter means: a `Transform`, the name of a rule, or a function of the spectrum.

    Examples
    --------
    >>> transform_of("transformation", "inverse")
    Transform(rule='inverse')
    """
    if isinstance(value, str) and value in TRANSFORMS:
        return Transform(value)
    require_part(name, value)
    if not callable(value) or (isinstance(value, Part) and not isinstance(value, Transform)):
        raise InvalidInputError(
            f"{name}={shown(value)} is unknown; take one of {', '.join(TRANSFORMS)}, a specmargin.spectra.Transform, "
            "or a function of the spectrum."
        )
    return value
