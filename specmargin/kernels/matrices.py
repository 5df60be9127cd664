"""Kernel matrices, the ``K`` of the objectives.

Every kernel method of this package reads its data through one matrix of inner products, ``K[i, j] = k(x_i,
x_j)``. Call `gram` for it: with one set of rows it returns the exactly symmetric training matrix, with two
sets the block between new and training points that predictions need. Parameters have scikit-learn's names and
meanings; above all ``gamma = 1 / (2 sigma**2)`` is the inverse width of the kernel and has nothing to do with
the regularisation parameters ``gamma_A`` and ``gamma_I`` of manifold regularisation.

A rule for the width ("scale", "median" or "local") depends on the data. Call `resolve_gamma` once on the training rows
and pass the number on, so that the training matrix and every later block share one kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import feature_rows
from specmargin.checks import NUMBERS, among, number, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.kernels.semidefinite import require_symmetric
from specmargin.rounding import directions
from specmargin.typing import FloatArray, Matrix

__all__ = [
    "COEF0",
    "DEGREE",
    "GAMMA",
    "KERNEL",
    "KERNELS",
    "Kernel",
    "SCALED",
    "WIDTHS",
    "check_kernel",
    "check_rows",
    "gram",
    "kernel_block",
    "multiple_of_median",
    "near_origin",
    "resolve_gamma",
    "squared_distances",
    "width_of",
]

Kernel: TypeAlias = str | Callable[[Matrix, Matrix], FloatArray]
"""Name of a kernel, or a function of two data matrices that returns the block between their rows."""

_FAR = 100.0  # standard deviations from the origin, beyond which squared distances lose four digits
_NEAR = 0.05  # share of the distances that are below the width of "local"
_NARROWEST = 4.0  # least width of "local" in medians, inverted: groups of near copies have no width of their own
_ROWS = 512  # that are copied at a time
_MEDIAN_ROWS = 1000  # half a million pairs determine a median well enough


WIDTHS = ("scale", "median", "local", "auto")
"""Rules for the width of a kernel."""

SCALED = ("rbf", "poly", "polynomial")
"""Kernels that have a width."""

KERNELS = (*SCALED, "linear", "cosine", "precomputed")
"""Names of the kernels."""

DEGREE, COEF0 = number(least=0), number()
"""Check the degree and the constant of a polynomial."""


def KERNEL(name: str, value: Any) -> Any:
    """Check a kernel: one of the names, or a function of two data matrices."""
    if not callable(value) and not (isinstance(value, str) and value in KERNELS):
        kind = InvalidInputError if isinstance(value, str) else InvalidTypeError
        raise kind(f"{name}={shown(value)} is unknown; take a callable, or one of {among(value, KERNELS)}")
    return value


def multiple_of_median(rule: str) -> float | None:
    """Return the m of the rule "m median", or None.

    Examples
    --------
    >>> multiple_of_median("0.5 median"), multiple_of_median("half")
    (0.5, None)
    """
    try:
        multiple = float(rule.removesuffix(" median")) if rule.endswith(" median") else np.nan
    except ValueError:
        return None
    return multiple if 0 < multiple < np.inf else None


def GAMMA(name: str, value: Any) -> Any:
    """Check an inverse width: a positive number, or a rule."""
    if isinstance(value, str):
        if value not in WIDTHS and multiple_of_median(value) is None:
            raise InvalidInputError(
                f"{name}={value!r} is unknown; take a positive number, 'scale', 'median' or 'local', or a multiple of "
                "the median distance such as '0.5 median'."
            )
        return value
    good = isinstance(value, NUMBERS) and not isinstance(value, bool)
    if not (good and np.isfinite(value) and value > 0):
        kind = InvalidInputError if good else InvalidTypeError
        raise kind(
            f"{name}={shown(value)} is no inverse width; take a positive number (1 / (2 sigma**2)), 'scale', "
            "'median' or 'local'."
        )
    return value


def check_kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> None:
    """Check the arguments of `specmargin.kernels.gram`."""
    KERNEL("kernel", kernel)
    GAMMA("gamma", gamma)
    DEGREE("degree", degree)
    COEF0("coef0", coef0)


def gram(
    X: Matrix,
    Y: Matrix | None = None,
    *,
    kernel: Kernel = "rbf",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 1.0,
) -> FloatArray:
    r"""Return the kernel matrix between the rows of `X` and the rows of `Y`.

    ========== ==============================================
    kernel     k(x, y)
    ========== ==============================================
    rbf        :math:`\exp(-\gamma \|x - y\|^2)`
    poly       :math:`(\gamma\, x^\top y + c_0)^{degree}`
    linear     :math:`x^\top y`
    cosine     :math:`x^\top y / (\|x\| \|y\|)`, 0 for a zero row
    ========== ==============================================

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Rows are samples. With ``kernel="precomputed"`` the kernel matrix itself: (n, n) without `Y`, the
        block (n, m) with it.
    Y : ndarray or sparse matrix of shape (m, d), optional
        Reference rows, usually the training data. Without it `X` is compared with itself.
    kernel : {"rbf", "poly", "polynomial", "linear", "cosine", "precomputed"} or callable
        A callable receives both data matrices and returns the whole block, as in `sklearn.svm.SVC`.
    gamma : float, "scale", "median" or "local", default "scale"
        Inverse width, ``1 / (2 sigma**2)``, in inverse squared units of the features (not the ``gamma_A`` of
        manifold regularisation). A rule is resolved on `Y` where it is given (the training rows), else on
        `X`; see `resolve_gamma`. Read by "rbf" and "poly" only.
    degree : float, default 3
        Degree of "poly".
    coef0 : float, default 1.0
        Constant term of "poly".

    Returns
    -------
    ndarray of shape (n, m)
        Dense float64; exactly symmetric when `Y` is None. A precomputed matrix that needs no correction is
        returned without a copy.

    Raises
    ------
    ValueError
        If a parameter is unknown, shapes do not fit, data are not finite, or the kernel overflows.

    Examples
    --------
    >>> X = [[0.0, 0.0], [1.0, 0.0]]
    >>> gram(X, gamma=0.5).round(3).tolist()
    [[1.0, 0.607], [0.607, 1.0]]
    >>> gram([[2.0, 0.0]], X, kernel="linear").tolist()
    [[0.0, 2.0]]
    """
    check_kernel(kernel, gamma, degree, coef0)
    X = check_rows(X, "X", small=Y is None)
    Y = None if Y is None else check_rows(Y, "Y")
    return kernel_block(X, Y, kernel, gamma, degree, coef0)


def kernel_block(
    X: Matrix, Y: Matrix | None, kernel: Kernel, gamma: float | str = "scale", degree: float = 3, coef0: float = 1.0
) -> FloatArray:
    """Return `gram` of rows and parameters that have been checked."""
    name = "callable" if callable(kernel) else kernel
    if name == "precomputed":
        return _precomputed(X, Y)
    if Y is not None and X.shape[1] != Y.shape[1]:
        raise InvalidInputError(
            f"X has {X.shape[1]} features but Y has {Y.shape[1]}; both must be measured in the same columns."
        )
    if callable(kernel):
        K = _by_function(kernel, X, Y)
    else:
        from sklearn.metrics import pairwise

        with np.errstate(over="ignore", invalid="ignore"):  # reported below, with a remedy
            if name == "linear":
                K = pairwise.linear_kernel(X, Y, dense_output=True)
            elif name == "cosine":
                K = pairwise.cosine_similarity(directions(X), None if Y is None else directions(Y), dense_output=True)
            else:
                width = width_of(X if Y is None else Y, gamma) if isinstance(gamma, str) else float(gamma)
                if name == "rbf":
                    K = squared_distances(*near_origin(X, Y))
                    K *= -width
                    np.exp(K, K)
                else:
                    K = pairwise.polynomial_kernel(X, Y, degree=degree, gamma=width, coef0=coef0)
        K = np.asarray(K, dtype=np.float64)
    # Minimum and maximum carry NaN and inf without a temporary of the size of K.
    if K.size and not (np.isfinite(K.min()) and np.isfinite(K.max())):
        raise InvalidInputError(
            f"the {name} kernel has entries that are not finite (gamma={gamma!r}, degree={degree!r}, coef0={coef0!r}): "
            "scale the features, lower the degree, or take an integer degree where the base can be negative."
        )
    if Y is None:
        _copy_upper_to_lower(K)
    return K


def resolve_gamma(X: Matrix, gamma: float | str = "scale") -> float:
    """Return the number that a rule for the kernel's inverse width means on the rows of `X`.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Training rows.
    gamma : float or str, default "scale"
        A positive number is returned as it is. "scale" is ``1 / (d * X.var())``, as in `sklearn.svm.SVC`.
        "median" is ``1 / (2 m**2)`` with m the median distance between two rows (of a fixed sample of 1000
        rows when there are more; of the distances that are not zero when more than half are). "local" takes the
        distance below which a twentieth of those that are not zero lies, at least a quarter of the median: in many
        dimensions, where all distances are alike, nearly the median; in two or three the width of what is curved or in
        pieces. "auto" is "local"; `LapSVM` and `LapRLS` choose by the labels between it and a wide
        one. "0.5 median" is half the median distance for sigma, and so on. None depends on the number of rows. Where
        all rows agree (or X has no variance) all rules give 1.0.

    Returns
    -------
    float
        ``1 / (2 sigma**2)``, in inverse squared units of the features.

    Raises
    ------
    ValueError
        If `gamma` is not positive and finite, or not one of the rules.

    Examples
    --------
    >>> [resolve_gamma([[0.0], [2.0]], rule) for rule in ("scale", "median", "local")]
    [1.0, 0.125, 0.125]
    """
    GAMMA("gamma", gamma)
    return width_of(check_rows(X, "X"), gamma) if isinstance(gamma, str) else float(gamma)


def squared_distances(X: Matrix, Y: Matrix | None = None) -> FloatArray:
    """Return |x - y|^2 of rows that have been checked, to the last bit as scikit-learn does.

    Examples
    --------
    >>> squared_distances(np.array([[0.0], [3.0]])).tolist()
    [[0.0, 9.0], [9.0, 0.0]]
    """
    if sp.issparse(X) or sp.issparse(Y):
        from sklearn.metrics.pairwise import euclidean_distances

        return np.asarray(euclidean_distances(X, Y, squared=True))
    other = X if Y is None else Y
    squares = np.einsum("ij,ij->i", X, X)
    D: FloatArray = -2.0 * (X @ other.T)
    D += squares[:, None]
    D += squares if Y is None else np.einsum("ij,ij->i", Y, Y)
    np.maximum(D, 0.0, out=D)
    if Y is None:
        np.fill_diagonal(D, 0.0)
    return D


def near_origin(X: Matrix, Y: Matrix | None = None) -> tuple[Matrix, Matrix | None]:
    """Move dense rows far from the origin there: |x|^2 - 2 x'y + |y|^2 would lose their distances, x'y their angles.

    Rows of `Y`, the training data where there are two, are then centred, and those of `X` less the same mean. Where an
    intercept is free that changes no classifier with a linear kernel.

    Examples
    --------
    >>> near_origin(np.array([[1e9], [1e9 + 2.0]]))[0].ravel().tolist()
    [-1.0, 1.0]
    """
    training = X if Y is None else Y
    if sp.issparse(training) or len(training) < 2:
        return X, Y
    mean = training.mean(axis=0)
    if mean @ mean <= _FAR**2 * training.var(axis=0).sum():
        return X, Y
    X = X.toarray() if sp.issparse(X) else X
    return X - mean, None if Y is None else Y - mean


def _by_function(kernel: Callable[[Matrix, Matrix], FloatArray], X: Matrix, Y: Matrix | None) -> FloatArray:
    other = X if Y is None else Y
    block: Matrix = kernel(X, other)
    K = np.array(block.toarray() if sp.issparse(block) else block, dtype=np.float64)
    expected = (X.shape[0], other.shape[0])
    if K.shape != expected:
        raise InvalidInputError(
            f"the kernel function returned the shape {K.shape} where {expected} was expected; it must take two data "
            "matrices and return the block between their rows."
        )
    if Y is None:
        require_symmetric(K, "the kernel function's matrix")
    return K


def _precomputed(K: Matrix, Y: Matrix | None) -> FloatArray:
    K = K.toarray() if sp.issparse(K) else K
    if Y is not None:
        if K.shape[1] != Y.shape[0]:
            raise InvalidInputError(
                f"the precomputed block has {K.shape[1]} columns but there are {Y.shape[0]} reference rows; pass the "
                "kernel between the new points (rows) and all training points (columns)."
            )
        return K
    if K.shape[0] != K.shape[1]:
        raise InvalidInputError(
            f"kernel='precomputed' needs a square kernel matrix, got the shape {K.shape}; pass gram(X), or "
            "name a kernel."
        )
    if require_symmetric(K, "the precomputed kernel matrix") > 0:
        K = K.copy()  # the caller's matrix stays as it is
        _copy_upper_to_lower(K)
    return K


def check_rows(X: Matrix, name: str, *, small: bool = True) -> Matrix:
    """Return rows of features as a finite float64 array or CSR matrix."""
    from sklearn.utils import check_array

    keywords = {"accept_sparse": "csr", "dtype": np.float64, "input_name": name, "ensure_all_finite": False}
    return feature_rows(X, name, lambda X: check_array(X, **keywords), small=small)


def _copy_upper_to_lower(K: FloatArray) -> None:
    """Make `K` exactly symmetric in place: BLAS rounds the two triangles differently."""
    for start in range(0, len(K), _ROWS):
        stop = start + _ROWS
        K[stop:, start:stop] = K[start:stop, stop:].T
        block = K[start:stop, start:stop]
        block[:] = np.triu(block) + np.triu(block, 1).T


def width_of(X: Matrix, rule: str) -> float:
    """Return the number that a rule means on rows; both have been checked, as `resolve_gamma` does.

    Examples
    --------
    >>> width_of(np.array([[0.0], [2.0]]), "median")
    0.125
    """
    if rule == "scale":
        return _scale_gamma(X)
    if rule in ("local", "auto"):
        return _distance_gamma(X, "local")
    return _distance_gamma(X, "median") / (multiple_of_median(rule) or 1.0) ** 2


def _scale_gamma(X: Matrix) -> float:
    size = X.shape[0] * X.shape[1]
    # Centred sums for sparse rows too: E[x^2] - E[x]^2 would be rounding error for nearly constant data.
    values = X.data if sp.issparse(X) else X.ravel()
    mean = values.sum() / size
    second = (values**2).sum() / size
    variance = (((values - mean) ** 2).sum() + (size - values.size) * mean**2) / size
    # A constant such as 0.1 has a variance of rounding errors, not of data.
    return 1.0 if variance <= 1e-28 * second else float(1.0 / (X.shape[1] * variance))


def _distance_gamma(X: Matrix, rule: str) -> float:
    n = X.shape[0]
    if n > _MEDIAN_ROWS:
        X = X[np.sort(np.random.default_rng(0).choice(n, _MEDIAN_ROWS, replace=False))]
        n = _MEDIAN_ROWS
    if n < 2:
        return 1.0
    X, _ = near_origin(X, None)
    distances = np.sqrt(squared_distances(X)[~np.tri(n, dtype=bool)])
    # Equal rows come out at about 1e-8 of their norm instead of 0.
    norms = np.sqrt(X.multiply(X).sum(axis=1) if sp.issparse(X) else (X**2).sum(axis=1))
    positive = distances > 1e-7 * norms.max()
    if rule == "local" or np.count_nonzero(positive) <= len(distances) / 2:
        distances = distances[positive]
    width = 0.0
    if m := len(distances):
        # Median and quantile by one partition: two take longer than the distances.
        near, half = (m - 1) * _NEAR, m // 2
        low = int(near)
        places = sorted({low, min(low + 1, m - 1), (m - 1) // 2, half})
        ordered = np.partition(distances, places)
        width = float((ordered[(m - 1) // 2] + ordered[half]) / 2.0) if m % 2 == 0 else float(ordered[half])
        if rule == "local":
            first, second = float(ordered[low]), float(ordered[min(low + 1, m - 1)])
            share = near - low
            quantile = first + (second - first) * share if share < 0.5 else second - (second - first) * (1.0 - share)
            width = max(quantile, width / _NARROWEST)
    return 1.0 / (2.0 * width**2) if width > 0 else 1.0
