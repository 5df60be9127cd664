"""The three problems in plain numpy: what they are made of, and the objective of an answer.

Nothing of specmargin is used here: whoever takes part is judged by these lines. An answer that misses a constraint is
moved onto it first, so that every value belongs to a feasible point, and rivals are compared by that number alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["PROBLEMS", "STORM", "S3VM", "LapSVM", "graph", "radial_kernel"]


def radial_kernel(X: np.ndarray) -> np.ndarray:
    """Return exp(-|x - z|^2 / the median of these squares)."""
    squares = (X**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0)
    distances = (distances + distances.T) / 2
    np.fill_diagonal(distances, 0.0)
    return np.exp(-distances / np.median(distances[np.triu_indices(len(X), 1)]))


def graph(K: np.ndarray, n_neighbors: int = 6) -> np.ndarray:
    """Return the Laplacian D - W of the graph that joins each sample to its nearest neighbours, weights of one."""
    near = np.argsort(-(K - 2.0 * np.eye(len(K))), axis=1, kind="stable")[:, :n_neighbors]
    W = np.zeros_like(K)
    np.put_along_axis(W, near, 1.0, axis=1)
    W = np.maximum(W, W.T)
    return np.diag(W.sum(axis=1)) - W


def hinge(t: np.ndarray) -> np.ndarray:
    """Return max(0, 1 - t)."""
    return np.maximum(0.0, 1.0 - t)


@dataclass(frozen=True)
class LapSVM:
    """sum over labels max(0, 1 - y (f + b)) + gamma_A a'Ka + gamma_I f'Lf, f = Ka: over a (n,) and b."""

    K: np.ndarray
    L: np.ndarray
    y: np.ndarray
    gamma_A: float = 1e-2
    gamma_I: float = 1e-2

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> LapSVM:
        """Return the problem of samples and their labels -1, 1, or 0 where they are hidden."""
        K = radial_kernel(X)
        return cls(K, graph(K), y)

    def trivial(self) -> dict[str, Any]:
        """Return an answer that is feasible and nothing more."""
        return {"alpha": np.zeros(len(self.y)), "b": 0.0}

    def evaluate(self, alpha: np.ndarray, b: float) -> tuple[float, np.ndarray]:
        """Return the objective and the decisions."""
        known, f = self.y != 0, self.K @ alpha
        value = hinge(self.y * (f + b))[known].sum() + self.gamma_A * alpha @ f + self.gamma_I * f @ self.L @ f
        return float(value), f + b


@dataclass(frozen=True)
class STORM:
    """1/2 sum v_j^2 / delta_j + C sum over labels max(0, 1 - y f), f = U v + b with |f| <= B at the labels.

    Over v (q,), b, and a spectrum delta (q,) >= 0 of sum one with delta_2 >= ... >= delta_q. The columns of U are the
    q smoothest eigenvectors of the graph, times sqrt(n); the first is constant, and its weight is free.
    """

    eigenvalues: np.ndarray
    U: np.ndarray
    y: np.ndarray
    C: float = 1.0
    B: float = 1.2

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, q: int = 40) -> STORM:
        """Return the problem of samples and their labels -1, 1, or 0 where they are hidden."""
        n = len(X)
        values, vectors = np.linalg.eigh(graph(radial_kernel(X)) - 1.0 / n)  # the constant comes first, with -1
        values = np.where(values[:q] < 1e-10 * values[-1], 0.0, values[:q])
        return cls(values, np.sqrt(n) * vectors[:, :q], y)

    def trivial(self) -> dict[str, Any]:
        """Return an answer that is feasible and nothing more."""
        q = len(self.eigenvalues)
        return {"v": np.zeros(q), "b": 0.0, "delta": np.full(q, 1.0 / q)}

    def evaluate(self, v: np.ndarray, b: float, delta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and the decisions, of the answer made feasible."""
        delta, known = np.maximum(delta, 0.0), self.y != 0
        delta[1:] = np.minimum.accumulate(delta[1:])
        delta = delta / delta.sum()
        v = np.where(delta > 0, v, 0.0)
        f = self.U @ v + b
        share = min(1.0, self.B / np.abs(f[known]).max(initial=1e-300))
        f, used = share * f, v != 0
        value = 0.5 * ((share * v[used]) ** 2 / delta[used]).sum() + self.C * hinge(self.y * f)[known].sum()
        return float(value), f


@dataclass(frozen=True)
class S3VM:
    """1/2 |w|^2 + C sum over labels max(0, 1 - y f)^2 + C* sum over the others max(0, 1 - |f|)^2, f = Aw + r: over w.

    The mean of the rows of A over the samples without a label is zero: their mean decision is r, the mean of the known
    labels. This is not convex.
    """

    X: np.ndarray
    y: np.ndarray
    C: float = 10.0
    C_star: float = 1.0

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray) -> S3VM:
        """Return the problem of samples and their labels -1, 1, or 0 where they are hidden: X is the kernel's map."""
        values, vectors = np.linalg.eigh(radial_kernel(X))
        kept = values > 1e-9 * values[-1]
        return cls(vectors[:, kept] * np.sqrt(values[kept]), y)

    @property
    def r(self) -> float:
        """The mean decision where labels are hidden."""
        return float(self.y[self.y != 0].mean())

    @property
    def A(self) -> np.ndarray:
        """X less the mean of its rows without a label."""
        return self.X - self.X[self.y == 0].mean(axis=0)

    def trivial(self) -> dict[str, Any]:
        """Return an answer that is feasible and nothing more."""
        return {"w": np.zeros(self.X.shape[1])}

    def evaluate(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the objective and the decisions."""
        f, known = self.A @ w + self.r, self.y != 0
        losses = self.C * (hinge(self.y * f)[known] ** 2).sum() + self.C_star * (hinge(np.abs(f))[~known] ** 2).sum()
        return float(0.5 * w @ w + losses), f


PROBLEMS: dict[str, Any] = {"lapsvm": LapSVM, "storm": STORM, "s3vm": S3VM}
"""What the objective's parameter `problem` may be."""
