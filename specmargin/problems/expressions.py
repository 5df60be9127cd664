"""The one bridge from the numpy losses to CVXPY expressions.

A loss that is not convex is not registered here: asking for it is a clear TypeError, not a wrong answer.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.kernels.semidefinite import symmetric
from specmargin.labels import Labels
from specmargin.losses import Hinge, HuberHinge, SmoothHinge, Squared, SquaredHinge
from specmargin.losses.weighted import Weighted
from specmargin.typing import FloatArray

__all__ = ["as_cvxpy", "conjugate_as_cvxpy", "has_conjugate", "squares"]


@singledispatch
def as_cvxpy(loss: Any, t: cp.Expression) -> cp.Expression:
    """Return V(t), elementwise, as a convex CVXPY expression of the margins.

    Parameters
    ----------
    loss : MarginLoss
        A convex loss of `specmargin.losses`.
    t : cvxpy.Expression
        Affine margins y f.

    Raises
    ------
    TypeError
        If the loss has no convex expression.

    Examples
    --------
    >>> import numpy as np
    >>> as_cvxpy(Hinge(), cp.Constant(np.array([0.0, 2.0]))).value.tolist()
    [1.0, 0.0]
    """
    raise InvalidTypeError(
        f"loss={shown(loss)} has no convex CVXPY expression; take {_known(as_cvxpy)}, or register that of your loss "
        "with specmargin.problems.as_cvxpy.register."
    )


@as_cvxpy.register
def _(loss: Hinge, t: cp.Expression) -> cp.Expression:
    return cp.pos(1 - t)


@as_cvxpy.register
def _(loss: SquaredHinge, t: cp.Expression) -> cp.Expression:
    return cp.square(cp.pos(1 - t))


@as_cvxpy.register
def _(loss: Squared, t: cp.Expression) -> cp.Expression:
    return cp.square(1 - t)


@as_cvxpy.register
def _(loss: HuberHinge, t: cp.Expression) -> cp.Expression:
    return cp.huber(cp.pos(1 + loss.h - t), 2 * loss.h) / (4 * loss.h)


@as_cvxpy.register
def _(loss: SmoothHinge, t: cp.Expression) -> cp.Expression:
    return cp.logistic(loss.s * (1 - t)) / loss.s


@as_cvxpy.register
def _(loss: Weighted, t: cp.Expression) -> cp.Expression:
    return cp.multiply(loss.weights, as_cvxpy(loss.loss, t))


@singledispatch
def conjugate_as_cvxpy(loss: Any, beta: cp.Expression) -> cp.Expression:
    """Return the loss's `dual_value` inside its bounds, elementwise, as a concave CVXPY expression.

    The bounds ``loss.lower <= beta <= loss.upper`` are the caller's, as constraints with labels.

    Raises
    ------
    TypeError
        If the loss is not registered.

    Examples
    --------
    >>> import numpy as np
    >>> conjugate_as_cvxpy(SquaredHinge(), cp.Constant(np.array([2.0]))).value.tolist()
    [1.0]
    """
    raise InvalidTypeError(
        f"loss={shown(loss)} has no dual in CVXPY; take {_known(conjugate_as_cvxpy)}, or register that of your convex "
        "loss with specmargin.problems.conjugate_as_cvxpy.register."
    )


@conjugate_as_cvxpy.register
def _(loss: Hinge, beta: cp.Expression) -> cp.Expression:
    return beta


@conjugate_as_cvxpy.register
def _(loss: HuberHinge, beta: cp.Expression) -> cp.Expression:
    return (1 + loss.h) * beta - loss.h * cp.square(beta)


@conjugate_as_cvxpy.register
def _(loss: SmoothHinge, beta: cp.Expression) -> cp.Expression:
    return beta + (cp.entr(beta) + cp.entr(1 - beta)) / loss.s


@conjugate_as_cvxpy.register(SquaredHinge)
@conjugate_as_cvxpy.register(Squared)
def _(loss: SquaredHinge | Squared, beta: cp.Expression) -> cp.Expression:
    return beta - cp.square(beta) / 4


@conjugate_as_cvxpy.register
def _(loss: Weighted, beta: cp.Expression) -> cp.Expression:
    return cp.multiply(loss.weights, conjugate_as_cvxpy(loss.loss, cp.multiply(1.0 / loss.weights, beta)))


def has_conjugate(loss: Any) -> bool:
    """Whether `conjugate_as_cvxpy` knows the loss.

    Examples
    --------
    >>> from specmargin.losses import Ramp
    >>> has_conjugate(Hinge()), has_conjugate(Ramp())
    (True, False)
    """
    loss = loss.loss if isinstance(loss, Weighted) else loss
    return conjugate_as_cvxpy.dispatch(type(loss)) is not conjugate_as_cvxpy.dispatch(object)


def _known(function: Any) -> str:
    return ", ".join(sorted(cls.__name__ for cls in function.registry if cls is not object))


def squares(M: Any, x: cp.Expression) -> cp.Expression:
    """Return x'M x for a positive semidefinite M, as a sum of squares where M is singular.

    CVXPY's `quad_form` asks an iterative method for the smallest eigenvalue of M, which errs where the eigenvalue 0 is
    repeated: it calls most Gram matrices of fewer features than samples not convex.

    Parameters
    ----------
    M : array-like or sparse matrix of shape (n, n)
        Symmetric and positive semidefinite. Eigenvalues below 1e-15 of the largest count as zero.
    x : cvxpy.Expression of shape (n,)
        Affine.

    Raises
    ------
    ValueError
        If M is not symmetric, or has an eigenvalue below -1e-10 of the largest; if x is not affine, or of another size.

    Examples
    --------
    >>> import numpy as np
    >>> X, x = np.array([[1.0], [2.0], [3.0]]), cp.Variable(3)
    >>> x.value = np.array([1.0, 1.0, 1.0])
    >>> round(float(squares(X @ X.T, x).value), 6)
    36.0
    """
    M = np.asarray(M.toarray() if sp.issparse(M) else M, dtype=float)
    if M.shape != (x.size, x.size) or not x.is_affine():
        raise InvalidInputError(
            f"x must be affine, with as many entries as M has rows: M has the shape {M.shape}, x {x.shape}."
        )
    M = symmetric(M, "M")
    values = np.linalg.eigvalsh(M)
    if values[0] < -1e-10 * values[-1]:
        raise InvalidInputError(
            f"M has the eigenvalue {values[0]:.6g}, with {values[-1]:.6g} as the largest: x'M x is not convex. Pass a "
            "positive semidefinite matrix."
        )
    return semidefinite_form(M, x)


def semidefinite_form(M: FloatArray, x: cp.Expression) -> cp.Expression:
    """Return x'M x for a positive semidefinite M, as a sum of squares where M is singular.

    Floats of a singular M are indefinite by an ulp, so that no solver's answer to a `quad_form` of it can be proved; a
    sum of squares is convex by construction. Eigenvalues below 1e-15 of the largest are rounding.
    """
    M = (M + M.T) / 2
    values, vectors = np.linalg.eigh(M)
    kept = values > 1e-15 * max(float(values[-1]), 0.0)
    if not kept.any():
        return cp.Constant(0.0)
    if values[0] > 1e-10 * values[-1]:
        return cp.quad_form(x, cp.psd_wrap(M))
    return cp.sum_squares((vectors[:, kept] * np.sqrt(values[kept])).T @ x)


def costs(C: cp.Expression, labels: Labels) -> cp.Expression:
    """Return what C, or a multiple of it, is for each labelled sample, (l,); itself where labels have no weights."""
    return C if labels.weights is None else C * labels.weights


def decisions_from_duals(y: FloatArray, box: FloatArray, nonnegative: FloatArray) -> FloatArray:
    """Return the decisions f that the multipliers of 0 <= alpha <= C imply in a dual margin problem.

    Stationarity in alpha says y f = 1 - (slack below the margin) + (surplus above it). The multipliers are as exact as
    the solver's feasibility, so f is far better than the product of a Gram matrix with alpha.
    """
    return y * (1.0 - box + nonnegative)


def expansion_of(K: FloatArray, f: FloatArray, start: FloatArray) -> FloatArray:
    """Return the coefficients nearest to `start` with K @ coefficients = f, as far as the rank of K allows."""
    return start + np.linalg.pinv(K, rcond=1e-10, hermitian=True) @ (f - K @ start)


def root_of(K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return R with K = R R', of the numerical rank of K, and a matrix of its shape that gives coefficients.

    With w of as many entries, K a = R w for a = (the second) w. R is the Cholesky factor with pivots, a tenth of the
    time of eigenvectors; a has the pivots of K only.
    """
    from scipy.linalg import lapack

    n = len(K)
    factor, pivots, rank, _ = lapack.dpstrf((K + K.T) / 2, lower=1, tol=1e-13 * float(np.linalg.norm(K)))
    rank = rank if K.any() else 0  # of a kernel of zeros LAPACK reports none reliably
    R, inverse = np.zeros((2, n, max(rank, 1)))  # CVXPY has no variables of size zero
    if rank:
        R[pivots - 1] = np.tril(factor)[:, :rank]
        inverse[pivots[:rank] - 1] = lapack.dtrtri(factor[:rank, :rank], lower=1)[0].T
        inverse[pivots[:rank] - 1] = np.triu(inverse[pivots[:rank] - 1])
    return R, inverse
