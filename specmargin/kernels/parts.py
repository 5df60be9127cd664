"""Kernels as objects: `RBF`, `Polynomial`, `Linear`, `Cosine` and `Precomputed`, which estimators are composed of.

``kernel(X)`` is the Gram matrix of samples, ``kernel(X_new, X)`` the block of new ones; both are `specmargin.kernels.
gram`. `kernel_of` reads the short forms: a name, a number (the gamma of `RBF`), or a function of two data matrices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from specmargin.checks import among, count, maybe, seed, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.kernels.blocks import LandmarkFeatures, landmark_features
from specmargin.kernels.maps import KernelMap, kernel_map
from specmargin.kernels.matrices import COEF0, DEGREE, GAMMA, check_rows, gram, kernel_block, width_of
from specmargin.kernels.semidefinite import is_semidefinite
from specmargin.parts import Part, from_number, require_part
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = [
    "RBF",
    "PrincipalComponents",
    "Cosine",
    "Kernel",
    "Landmarks",
    "Linear",
    "Polynomial",
    "Precomputed",
    "kernel_of",
]


class Kernel(Part):
    """Base of the kernels.

    A kernel of one's own derives from it as a frozen dataclass with a ``__call__(X, Y=None)`` that returns the block
    between the rows of two data matrices; any function of two data matrices serves, too.

    Examples
    --------
    >>> @dataclass(frozen=True, repr=False)
    ... class Laplace(Kernel):
    ...     gamma: float = 1.0
    ...
    ...     def __call__(self, X, Y=None):
    ...         Y = X if Y is None else Y
    ...         return np.exp(-self.gamma * np.abs(X[:, None] - Y[None]).sum(axis=2))
    >>> Laplace(0.5)(np.array([[0.0], [2.0]])).round(3).tolist()
    [[1.0, 0.368], [0.368, 1.0]]
    """

    is_precomputed: ClassVar[bool] = False
    """Whether matrices are given, and none is computed."""
    is_semidefinite: ClassVar[Any] = False
    """Whether every matrix of it is positive semidefinite by construction."""
    _name: ClassVar[str | None] = None
    """Name of the kernel of `specmargin.kernels.gram` that has the same parameters."""

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `specmargin.kernels.gram`."""
        return {"kernel": self} if self._name is None else {"kernel": self._name, **vars(self)}

    def at(self, X: Matrix) -> Self:
        """Return the kernel with a number for its width on the rows of X, where a rule names it."""
        return self.fitted_to(check_rows(X, "X") if isinstance(self.arguments.get("gamma"), str) else X)

    def fitted_to(self, X: Matrix) -> Self:
        """Return the same as `at` of rows that have been checked."""
        width = None if self._name is None else getattr(self, "gamma", None)
        if width is None:
            return self
        return self.resolved(gamma=width_of(X, width) if isinstance(width, str) else float(width))

    def block(self, X: Matrix, Y: Matrix | None = None) -> FloatArray:
        """Return the same as a call with rows that have been checked."""
        if type(self).__call__ is not Kernel.__call__:
            return self(X, Y)
        return kernel_block(X, Y, **self.arguments)

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> FloatArray:
        """Return the Gram matrix of the rows of X, or the block of the rows of X with those of Y."""
        X = check_rows(X, "X", small=Y is None)
        return kernel_block(X, None if Y is None else check_rows(Y, "Y"), **self.arguments)


@dataclass(frozen=True, repr=False)
class RBF(Kernel):
    """The Gaussian kernel exp(-gamma |x - y|^2).

    Parameters
    ----------
    gamma : float or str, default "local"
        Inverse width, 1 / (2 sigma^2), > 0; it has nothing to do with gamma_A and gamma_I. Or a rule of
        `specmargin.kernels.resolve_gamma` on the training samples: "local", "median", "scale", or a multiple of the
        median distance such as "0.5 median". "auto", the default of `LapSVM` and `LapRLS`, lets the labels choose.

    Examples
    --------
    >>> RBF(0.5)([[0.0], [1.0]]).round(3).tolist(), RBF("median").at([[0.0], [2.0]])
    ([[1.0, 0.607], [0.607, 1.0]], RBF(gamma=0.125))
    """

    gamma: float | str = "local"

    is_semidefinite: ClassVar[Any] = True
    _name: ClassVar[str | None] = "rbf"

    def __post_init__(self) -> None:
        GAMMA("gamma", self.gamma)


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """The polynomial kernel (gamma x'y + coef0)^degree.

    Parameters
    ----------
    degree : float, default 3
        Exponent, >= 0.
    gamma : float or str, default "scale"
        Factor of the inner product, > 0, or a rule as of `RBF`.
    coef0 : float, default 1.0
        Constant term.

    Examples
    --------
    >>> Polynomial(degree=2, gamma=1.0)([[1.0], [2.0]]).tolist()
    [[4.0, 9.0], [9.0, 25.0]]
    """

    degree: float = 3
    gamma: float | str = "scale"
    coef0: float = 1.0

    _name: ClassVar[str | None] = "poly"

    @property
    def is_semidefinite(self) -> bool:
        """Whether the power series in x'y has no negative coefficient."""
        return is_semidefinite("poly", self.degree, self.coef0)

    def __post_init__(self) -> None:
        GAMMA("gamma", self.gamma)
        DEGREE("degree", self.degree)
        COEF0("coef0", self.coef0)


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """The linear kernel x'y.

    Examples
    --------
    >>> Linear()([[1.0], [2.0]]).tolist()
    [[1.0, 2.0], [2.0, 4.0]]
    """

    is_semidefinite: ClassVar[Any] = True
    _name: ClassVar[str | None] = "linear"


@dataclass(frozen=True, repr=False)
class Cosine(Kernel):
    """The cosine of two samples, 0 for a row of zeros.

    Examples
    --------
    >>> Cosine()([[1.0, 0.0], [0.0, 2.0]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    is_semidefinite: ClassVar[Any] = True
    _name: ClassVar[str | None] = "cosine"


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """A kernel whose matrices are passed instead of X: (n, n) to `fit`, (m, n) for new samples.

    Examples
    --------
    >>> Precomputed()([[1.0, 0.5], [0.5, 1.0]]).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """

    is_precomputed: ClassVar[bool] = True
    _name: ClassVar[str | None] = "precomputed"

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> FloatArray:
        """Return the Gram matrix X, checked, or its block of new samples, dense."""
        dense: Any = X.toarray() if hasattr(X, "toarray") else X
        return gram(dense, kernel="precomputed") if Y is None else np.asarray(dense)


@dataclass(frozen=True, repr=False)
class Function(Kernel):
    """A function of two data matrices as a kernel: what `kernel_of` makes of one."""

    function: Any

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `specmargin.kernels.gram`."""
        return {"kernel": self.function}


_NAMES: dict[str, Kernel] = {
    "rbf": RBF(),
    "poly": Polynomial(),
    "polynomial": Polynomial(),
    "linear": Linear(),
    "cosine": Cosine(),
    "precomputed": Precomputed(),
}


OWN = frozenset(map(type, _NAMES.values())) | {Function}
"""Kernels whose matrices are known to be finite and exactly symmetric."""


def kernel_of(name: str, value: Any) -> Kernel:
    """Return the kernel that a parameter means: a kernel, the name of one, the gamma of `RBF`, or a function.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    value : Kernel, str, float or callable

    Raises
    ------
    InvalidInputError
        For anything else, a class instead of an object, or something fitted.

    Examples
    --------
    >>> kernel_of("kernel", "linear"), kernel_of("kernel", 4.0)
    (Linear(), RBF(gamma=4.0))
    """
    require_part(name, value)
    if isinstance(value, Kernel):
        return value
    if isinstance(value, str):
        if value not in _NAMES:
            raise InvalidInputError(f"{name}={shown(value)} is unknown; take one of {among(value, _NAMES)}")
        return _NAMES[value]
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        return from_number(name, value, lambda gamma: RBF(float(gamma)))
    if isinstance(value, Part) or not callable(value):
        raise InvalidTypeError(
            f"{name}={shown(value)} is no kernel; take a kernel such as specmargin.kernels.RBF(1.0), a number (its "
            f"gamma), or one of {', '.join(_NAMES)}."
        )
    return Function(value)


@dataclass(frozen=True, repr=False)
class Landmarks(Part):
    """The functions of a kernel at some of the samples (Nyström), instead of those at all of them.

    Called with samples and a kernel it returns their map, `specmargin.kernels.landmark_features`. An estimator takes
    the labelled samples among the landmarks.

    Parameters
    ----------
    n : int, default 2000
        Number of landmarks; more than there are samples are all of them.
    random_state : int, Generator or None, default 0
        Seed of the draw.

    Examples
    --------
    >>> Landmarks(2)(np.eye(3), "linear").landmarks.shape
    (2, 3)
    """

    n: int = 2000
    random_state: Any = 0

    def __post_init__(self) -> None:
        count(1)("n", self.n)
        seed("random_state", self.random_state)

    def __call__(self, X: Matrix, kernel: Any = "rbf", include: IntArray | None = None) -> LandmarkFeatures:
        """Return the map of these landmarks, with those rows among them that are to be included."""
        rows = np.empty(0, dtype=np.intp) if include is None else include
        m = max(min(self.n, np.shape(X)[0]), len(rows))
        arguments = kernel_of("kernel", kernel).arguments
        return landmark_features(X, m, include=rows, random_state=self.random_state, **arguments)


@dataclass(frozen=True, repr=False)
class PrincipalComponents(Part):
    """The leading components of a kernel's map: the functions that an S3VM can choose from, faster and at little loss.

    Called with a kernel matrix it returns `specmargin.kernels.kernel_map`.

    Parameters
    ----------
    rank : int, optional
        Number of components; by default all.

    Examples
    --------
    >>> PrincipalComponents(1)(np.diag([4.0, 1.0])).rank
    1
    """

    rank: int | None = None

    def __post_init__(self) -> None:
        maybe(count(1))("rank", self.rank)

    def __call__(self, K: FloatArray) -> KernelMap:
        """Return the map of a kernel matrix."""
        return kernel_map(K, rank=None if self.rank is None else min(self.rank, len(K)))
