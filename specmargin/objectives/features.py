r"""Features of the samples as an affine map of the weights: centred, with one of three intercepts or none.

A classifier in w decides by f = A w + offset. What A and the offset are is the intercept's business:

- ``"balance"``: the mean decision on the unlabelled samples is to be r. With their mean mu,

      f = (X - 1 mu') w + r

  meets that for every w, and the constraint is gone. Dense X is centred once; sparse X stays sparse and is centred on
  the fly, A w = X w - (mu'w) 1 and A'a = X'a - (1'a) mu.
- ``"regularized"``: a constant feature of one, whose weight is penalised like the others (SVMlin, liblinear).
- ``"free"``: the same without the penalty, the intercept of the textbook SVM.
- ``"none"``: f = X w.

**Far from the origin**, where |mu| is large against the spread of the samples, mu is rounded, and X w and mu'w cancel.
The rows of dense features are therefore centred twice, on mu and on the mean that rounding has left (`residue`), and no
product sees the large numbers. Those of sparse features do: `decision_errors` says what that costs, and
`accurate_decisions` avoids it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp

from specmargin.arrays import finite_numbers, numbers_array
from specmargin.checks import numeric, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.rounding import UNIT, accurate_product, exact_dot, gamma
from specmargin.typing import FloatArray, IntArray, Matrix

__all__ = ["Features", "Intercept", "with_intercept"]

Intercept = Literal["balance", "regularized", "free", "none"]


@dataclass(frozen=True, eq=False)
class Features:
    """The map w -> f = A w + offset of n samples.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Features.
    mu : ndarray of shape (d,), optional
        What every row is centred on; None is zero.
    offset : float, default 0
        Constant part of the decisions.
    penalty : float, optional
        Weight of b^2 where the last entry of w is an intercept b: 1 (regularized) or 0 (free). None: there is no such
        entry.
    residue : ndarray of shape (d,), optional
        What the centre exceeds mu by: the rows are centred on mu + residue, which no array of float64 holds.

    Examples
    --------
    >>> A = Features.of(np.array([[1.0], [3.0]]), "balance", rows=np.array([0, 1]), balance=0.5)
    >>> A.decisions(np.array([2.0])).tolist()
    [-1.5, 2.5]
    """

    X: Matrix
    mu: FloatArray | None = None
    offset: float = 0.0
    penalty: float | None = None
    residue: FloatArray | None = None
    n_samples: int = field(init=False)
    """Number of samples, n."""
    size: int = field(init=False)
    """Length of w: the number of features, plus one where w holds an intercept."""
    is_sparse: bool = field(init=False)
    """Whether X is a sparse matrix."""
    weights: FloatArray = field(init=False)
    """Diagonal of the penalty 1/2 w'Pw, (size,): ones, but for a free intercept."""

    def __post_init__(self) -> None:
        if getattr(self.X, "ndim", 0) != 2:
            raise InvalidTypeError(f"X={shown(self.X)} is no matrix; pass (n, d) features, a row per sample.")
        n, d = self.X.shape
        weights = np.ones(int(d) + (self.penalty is not None))
        if self.penalty is not None:
            weights[-1] = self.penalty
        vars(self).update(n_samples=int(n), size=len(weights), is_sparse=bool(sp.issparse(self.X)), weights=weights)

    @classmethod
    def of(cls, X: Matrix, intercept: Intercept, *, rows: IntArray, balance: float = 0.0) -> Features:
        """Return the map with that intercept.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, d)
            Features.
        intercept : {"balance", "regularized", "free", "none"}
            See the chapter above.
        rows : ndarray of int
            Samples whose mean decision is to be `balance`; the unlabelled ones.
        balance : float, default 0
            r, in [-1, 1].
        """
        X = numbers_array("finite features, a row per sample", ndim=2, finite=False)("X", X)
        balance = numeric("balance", balance)
        X = sp.csr_array(X, dtype=float) if sp.issparse(X) else np.asarray(X, dtype=float)
        if 0 in X.shape:
            raise InvalidInputError(f"X has the shape {X.shape}; pass (n, d) features with n and d at least 1.")
        finite_numbers("X", X, "finite features: impute or remove these")
        if intercept not in get_args(Intercept):
            raise InvalidInputError(
                f"unknown intercept {intercept!r}; choose one of 'balance', 'regularized', 'free', 'none'."
            )
        if intercept == "balance":
            if not -1.0 <= balance <= 1.0:
                raise InvalidInputError(
                    f"balance={balance!r} must be in [-1, 1]: it is the mean of the labels of the unlabelled samples, "
                    "2 p - 1 where a share p of them is positive."
                )
            if len(rows) == 0:
                raise InvalidInputError(
                    "intercept='balance' needs unlabelled samples to balance; pass 'free' without them."
                )
        return with_intercept(X, intercept, rows, balance)

    @cached_property
    def _transposed(self) -> Matrix:
        # A product with the transpose of a CSR matrix runs down its columns, unless it is stored by rows itself.
        return sp.csr_array(self.X.T) if self.is_sparse else self.X.T

    def decisions(self, w: FloatArray) -> FloatArray:
        """Return f = A w + offset, (n,)."""
        return self.products(w) + self.offset

    def products(self, w: FloatArray) -> FloatArray:
        """Return A w, (n,), or (n, c) for c columns."""
        if self.penalty is not None:
            return np.asarray(self.X @ w[:-1] + w[-1])
        if self.mu is None:
            return np.asarray(self.X @ w)
        if not self.is_sparse:
            return np.asarray(self.matrix @ w)
        f = self.X @ w
        f -= self.mu @ w
        return np.asarray(f)

    def decision_errors(self, w: FloatArray) -> FloatArray:
        """Return bounds on the rounding of `decisions`, (n,): those of dot products, by the lengths of both factors."""
        length = float(np.linalg.norm(w))
        if self.is_sparse:
            rows = np.sqrt(np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel() + (self.penalty is not None))
            rows = rows if self.mu is None else rows + float(np.linalg.norm(self.mu))
        else:
            rows = np.asarray(np.linalg.norm(self.matrix, axis=1))
        errors = gamma(self.size + 4) * length * rows
        return np.asarray(errors + 2.0 * UNIT * abs(self.offset))

    def accurate_decisions(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return f computed in extended precision, and bounds on the errors of its entries."""
        if not self.is_sparse:
            f, errors = accurate_product(self.matrix, w)
            return self.offset + f, errors + UNIT * (np.abs(f) + np.abs(self.offset + f))
        f, errors = np.empty(self.n_samples), np.empty(self.n_samples)
        for i, (values, factors) in enumerate(self._terms(w)):
            f[i : i + 1], errors[i : i + 1] = accurate_product(values[None], factors)
        return f, errors

    def shortfalls(self, w: FloatArray, y: FloatArray) -> FloatArray:
        """Return by how much the margins are short of 1, 1 - y f, (n,), to 2 `UNIT` of each whatever cancels in it."""
        sides = zip(y.tolist(), self._terms(w), strict=True)
        short = [-y * exact_dot(np.append(values, -y), np.append(factors, 1.0)) for y, (values, factors) in sides]
        return np.array(short)

    def _terms(self, w: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield the factors of the products that add up to a decision, offset included, sample by sample."""
        if not self.is_sparse:
            values, factors = np.array([self.offset]), np.append(1.0, w)
            yield from ((np.concatenate([values, row]), factors) for row in self.matrix)
            return
        X, plain = self.X, w if self.penalty is None else w[:-1]
        values, factors = np.array([self.offset if self.penalty is None else w[-1]]), np.ones(1)
        if self.mu is not None:
            values, factors = np.concatenate([values, -self.mu]), np.concatenate([factors, plain])
        for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            row, seen = X.data[start:end], plain[X.indices[start:end]]
            yield np.concatenate([values, row]), np.concatenate([factors, seen])

    def adjoint(self, a: FloatArray) -> FloatArray:
        """Return A'a, (size,), or (size, c) for c columns."""
        if self.mu is not None and not self.is_sparse:
            return np.asarray(self.matrix.T @ a)
        g = np.asarray(self._transposed @ a)
        if self.penalty is not None:
            return np.concatenate([g, a.sum(axis=0, keepdims=True)])
        if self.mu is not None:
            g -= np.multiply.outer(self.mu, a.sum(axis=0))
        return g

    def subset(self, rows: IntArray) -> Features:
        """Return the map of some samples; mu and the offset stay."""
        return replace(self, X=self.X[rows])

    @cached_property
    def squared_norms(self) -> FloatArray:
        """Squared lengths of the rows of A that the penalty sees, (n,)."""
        if self.is_sparse:
            norms = np.asarray(self.X.multiply(self.X).sum(axis=1)).ravel()
            if self.mu is not None:
                norms = norms - 2.0 * (self.X @ self.mu) + self.mu @ self.mu
            return np.maximum(norms, 0.0)
        centred = self.X if self.mu is None else self.matrix
        return np.asarray(np.einsum("ij,ij->i", centred, centred))

    def dense(self) -> FloatArray:
        """Return A as an (n, size) array."""
        A = self.X.toarray() if self.is_sparse else self.X
        if self.penalty is not None:
            return np.column_stack([A, np.ones(len(A))])
        if self.mu is None:
            return np.asarray(A)
        A = A - self.mu
        return np.asarray(A if self.residue is None else A - self.residue)

    @cached_property
    def matrix(self) -> FloatArray:
        """A as an (n, size) array by rows, kept."""
        return np.ascontiguousarray(self.dense())

    @cached_property
    def gram(self) -> FloatArray:
        """A A', (n, n), kept: the inner products that the penalty sees, without the part of a free intercept."""
        return self.gram_of(np.arange(self.n_samples))

    def gram_of(self, rows: IntArray) -> FloatArray:
        """Return the part of `gram` that belongs to some samples, computed anew where the whole is not kept."""
        kept: FloatArray | None = vars(self).get("gram")
        if kept is not None:
            return kept[np.ix_(rows, rows)]
        if self.is_sparse:
            X = self.X[rows]
            G = np.asarray((X @ X.T).toarray())
            if self.mu is not None:
                along = X @ self.mu
                G += self.mu @ self.mu - along[:, None] - along[None, :]
        else:
            A = self.matrix[rows]
            if self.penalty is not None:
                A = A[:, :-1]
            G = A @ A.T
        return G + 1.0 if self.penalty else G

    def coefficients(self, w: FloatArray) -> tuple[FloatArray, float]:
        """Return coefficients and intercept (v, b) with f(x) = x'v + b for any sample x."""
        if self.penalty is not None:
            return w[:-1], float(w[-1])
        shift = 0.0 if self.mu is None else float(self.mu @ w)
        rest = 0.0 if self.residue is None else float(self.residue @ w)
        return w, self.offset - shift - rest


def with_intercept(X: Matrix, intercept: Intercept, rows: IntArray, balance: float) -> Features:
    """Return what `Features.of` does, of features and a balance that are known to be right."""
    if intercept == "balance":
        mu = np.asarray(X[rows].mean(axis=0)).ravel()
        return Features(X, mu, float(balance), residue=None if sp.issparse(X) else _residue(X, mu, rows))
    return Features(X, penalty={"regularized": 1.0, "free": 0.0, "none": None}[intercept])


def _residue(X: FloatArray, mu: FloatArray, rows: IntArray) -> FloatArray | None:
    """Return the mean of the centred rows where it is more than their own rounding, else None."""
    A = X[rows] - mu
    rest = A.mean(axis=0)
    far = np.abs(rest) > 16.0 * UNIT * np.abs(A).max(axis=0)
    return np.where(far, rest, 0.0) if far.any() else None
