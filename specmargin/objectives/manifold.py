r"""Manifold regularization: LapSVM with the hinge and the squared hinge, and LapRLS.

For a kernel K, a graph Laplacian L and labels y at the labelled samples (J picks their rows),

    min_{alpha, b}  scale * [ sum_i V(y_i f_i) + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha ],

f = K alpha + b. The sums are sums, not means (eq. 4 of the primal paper for the hinge, eq. 7 for the squared
hinge with scale = 1/2, eq. 14 for least squares). The manifold-regularization paper writes 1/l and 1/(l+u)^2
instead: gamma_A = l gamma_A', gamma_I = l gamma_I' / (l+u)^2 leads to the same alpha. The intercept is not
penalised by the Laplacian term, as in eq. 7.

Everything collapses to l right-hand sides: with S = gamma_A I + gamma_I L K, X = S^-1 J' and the *deformed
kernel* G = J K X, any loss has its optimum at alpha = X v, where f_lab = G v + b and the penalty is v'G v.

Duality, which makes the certificate: for multipliers theta with 1'theta = 0 and any vector a,

    sum_i V*(y_i theta_i) + a'KSa - theta'JKa - r'K r / (4 gamma_A),   r = 2 S a - J'theta,

bounds the optimum from below (V* is the loss's `dual_value`): the first terms are the Lagrangian at a, and
K S^-1 <= K / gamma_A bounds what minimising over a could still take off. Where that is too much, the part of r that
the graph penalises is charged to the graph instead: K S^-1 <= (gamma_I L)^-1 on the range of L. Both need products
with K and L only, so a solver that never factorised anything can be certified, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, cg

from specmargin.kernels.operators import as_kernel, kernel_rows, kernel_trace
from specmargin.labels import Labels
from specmargin.losses import MarginLoss, get_loss
from specmargin.objectives.margin import balanced, hinge_intercepts
from specmargin.objectives.reduction import Reduction, reduce
from specmargin.results import Certificate
from specmargin.typing import FloatArray, MatrixLike

__all__ = ["LapSVM"]


@dataclass(frozen=True, eq=False)
class LapSVM:
    """The objective of LapSVM (hinge, squared hinge) and LapRLS (squared).

    Parameters
    ----------
    K : ndarray or sparse matrix of shape (n, n), or KernelOperator
        Positive semidefinite Gram matrix of all samples; it may be singular. A `specmargin.kernels.LowRankKernel`
        confines f to a span of m functions, exactly and at the cost of m; a `specmargin.kernels.BlockKernel` is never
        stored and serves solvers that need products only.
    L : matrix-like of shape (n, n) or None
        Anything symmetric positive semidefinite with ``L @ v``, e.g. `specmargin.graphs.laplacian`. None where
        gamma_I is 0.
    labels : Labels
        Binary labels, from `specmargin.encode_labels`.
    loss : {"hinge", "squared_hinge", "squared"} or MarginLoss
        Loss of the margin y f.
    gamma_A : float
        Weight of the ambient norm, > 0.
    gamma_I : float, default 0
        Weight of the intrinsic (graph) norm, >= 0.
    fit_intercept : bool, default True
        Whether f has an (unpenalised) intercept b.

    Raises
    ------
    ValueError
        For a gamma out of range, matrices of the wrong size, NaN in K, labels of more than two classes.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> K, L = np.eye(3), np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> obj = LapSVM(K, L, encode_labels([0, 1, -1]), loss="hinge", gamma_A=0.5, gamma_I=0.1)
    >>> obj.value(np.array([-1.0, 1.0, 0.0]), b=0.0)
    1.5
    """

    K: Any
    L: MatrixLike | None
    labels: Labels
    loss: str | MarginLoss = "hinge"
    gamma_A: float = 1.0
    gamma_I: float = 0.0
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gamma_A) and self.gamma_A > 0):
            raise ValueError(
                f"gamma_A={self.gamma_A!r} must be a positive number: without the ambient norm the problem has no "
                "unique solution. Use a small value such as 1e-6 to let the graph rule."
            )
        if not (np.isfinite(self.gamma_I) and self.gamma_I >= 0):
            raise ValueError(f"gamma_I={self.gamma_I!r} must be a number >= 0; 0 switches the graph off.")
        if not self.labels.is_binary:
            raise ValueError("LapSVM takes binary labels; iterate over labels.one_vs_rest() for several classes.")
        K, n = as_kernel(self.K), self.labels.n_samples
        if K.shape != (n, n):
            raise ValueError(f"K has the shape {K.shape}, but there are {n} samples in labels; pass ({n}, {n}).")
        object.__setattr__(self, "K", K)
        object.__setattr__(self, "loss", get_loss(self.loss))
        if self.L is None:
            if self.gamma_I > 0:
                raise ValueError(f"gamma_I={self.gamma_I!r} weighs a Laplacian, but L is None; pass L or gamma_I=0.")
        elif tuple(getattr(self.L, "shape", (n, n))) != (n, n):
            raise ValueError(
                f"L has the shape {getattr(self.L, 'shape', None)}, but K has {K.shape}; build both on the same rows."
            )

    @property
    def _loss(self) -> MarginLoss:
        assert not isinstance(self.loss, str)
        return self.loss

    @property
    def scale(self) -> float:
        """Factor in front of the whole objective: 1/2 for the squared hinge (eq. 7), else 1."""
        return 0.5 if self._loss.name == "squared_hinge" else 1.0

    def apply_S(self, alpha: FloatArray, Ka: FloatArray | None = None) -> FloatArray:
        """Return S alpha = gamma_A alpha + gamma_I L K alpha, for a vector or for columns; `Ka` is K alpha if known."""
        if self.L is None or self.gamma_I == 0:
            return self.gamma_A * alpha
        return self.gamma_A * alpha + self.gamma_I * (self.L @ (self.K @ alpha if Ka is None else Ka))

    def decision(self, alpha: FloatArray, b: float) -> FloatArray:
        """Return f = K alpha + b at all samples."""
        return self.K @ alpha + b

    def value(self, alpha: FloatArray, b: float, Ka: FloatArray | None = None) -> float:
        """Return the objective; `Ka` is K alpha where it is known."""
        f = self.K @ alpha if Ka is None else Ka
        t = self.labels.sign * (f[self.labels.labeled] + b)
        return float(self.scale * (self._loss.value(t).sum() + f @ self.apply_S(alpha, f)))

    def gradient(self, alpha: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return the derivatives by alpha, (n,), and by b (0 without intercept)."""
        y, labeled = self.labels.sign, self.labels.labeled
        f = self.K @ alpha
        slope = y * self._loss.gradient(y * (f[labeled] + b))
        inner = 2.0 * self.apply_S(alpha, f)
        inner[labeled] += slope
        return self.scale * (self.K @ inner), self.scale * float(slope.sum()) * self.fit_intercept

    def hessian_product(
        self, alpha: FloatArray, b: float, direction: FloatArray, direction_b: float
    ) -> tuple[FloatArray, float]:
        """Return the (generalised) Hessian at (alpha, b) times a direction."""
        y, labeled = self.labels.sign, self.labels.labeled
        f = self.K @ alpha
        curved = self._loss.curvature(y * (f[labeled] + b))
        change = self.K @ direction
        bent = curved * (change[labeled] + direction_b)
        inner = 2.0 * self.apply_S(direction, change)
        inner[labeled] += bent
        return self.scale * (self.K @ inner), self.scale * float(bent.sum()) * self.fit_intercept

    @cached_property
    def labeled_rows(self) -> FloatArray:
        """Rows of K at the labelled samples, (l, n)."""
        return kernel_rows(self.K, self.labels.labeled)

    @cached_property
    def reduction(self) -> Reduction:
        """X = S^-1 J' and G = J K X by one LU factorisation, shared by every class of `one_vs_rest`."""
        return self._reduced(np.float64)

    def reduced(self, dtype: npt.DTypeLike = np.float64) -> LapSVM:
        """Return the same objective with its reduction computed, by a factorisation in that precision.

        Parameters
        ----------
        dtype : {float64, float32}
            float32 halves time and memory of the factorisation; iterative refinement with residuals in float64 makes
            up for it.

        Raises
        ------
        SolverError
            If S is too ill-conditioned for float32: refinement does not converge.
        """
        other = replace(self)
        other.__dict__["reduction"] = self._reduced(dtype)
        return other

    def _reduced(self, dtype: npt.DTypeLike) -> Reduction:
        return reduce(self.K, self.L, self.labels.labeled, self.gamma_A, self.gamma_I, dtype)

    def with_gammas(self, gamma_A: float, gamma_I: float) -> LapSVM:
        """Return the same problem under other weights; one of the same ratio shares the factorisation.

        A grid over (gamma_A, gamma_I) costs one factorisation per distinct ratio, if it is walked ratio by ratio.
        """
        other = replace(self, gamma_A=gamma_A, gamma_I=gamma_I)
        same = math.isclose(self.gamma_I * gamma_A, gamma_I * self.gamma_A, rel_tol=1e-13, abs_tol=0.0)
        if same and "reduction" in self.__dict__:
            other.__dict__["reduction"] = self.reduction.scaled(self.gamma_A / gamma_A)
        return other

    def one_vs_rest(self, labels: Labels) -> Iterator[LapSVM]:
        """Yield one objective per class of `labels`, all on this objective's factorisation."""
        _ = self.reduction, self.labeled_rows
        for binary in labels.one_vs_rest():
            # Not `replace`: to look for NaN in K once per class costs more than solving for it.
            other = copy(self)
            object.__setattr__(other, "labels", binary)
            yield other

    def repair_multipliers(self, theta: FloatArray) -> FloatArray:
        """Return the nearest multipliers inside the loss's bounds and, with an intercept, of sum zero."""
        y, loss = self.labels.sign, self._loss
        beta = np.clip(y * theta, loss.lower, loss.upper)
        if not self.fit_intercept:
            return y * beta
        if np.isinf(loss.lower):
            return y * beta - np.mean(y * beta)
        return y * balanced(y, beta)

    def dual_bound(self, theta: FloatArray, a: FloatArray | None = None, Ka: FloatArray | None = None) -> float:
        """Return the lower bound of the module's docstring at feasible multipliers theta = y beta.

        Parameters
        ----------
        theta : ndarray of shape (l,)
            Multipliers, feasible (`repair_multipliers`).
        a : ndarray of shape (n,), optional
            A candidate for alpha; the closer 2 S a is to J'theta, the tighter the bound. By default the exact one,
            which needs the factorisation.
        Ka : ndarray of shape (n,), optional
            K a where it is known.
        """
        y, labeled = self.labels.sign, self.labels.labeled
        if a is None:
            a, Ka = self.reduction.coefficients(theta / 2), None
        if Ka is None:
            Ka = self.K @ a
        Sa = self.apply_S(a, Ka)
        r = 2.0 * Sa
        r[labeled] -= theta
        lagrangian = float(self._loss.dual_value(y * theta).sum() + Ka @ Sa - theta @ Ka[labeled])
        return self.scale * (lagrangian - self._slip(r, 1e-13 * abs(lagrangian)))

    def _slip(self, r: FloatArray, negligible: float) -> float:
        """Return an upper bound on r'K S^-1 r / 4, without ado where the simple one is negligible."""

        def ambient(part: FloatArray) -> float:
            return max(float(part @ (self.K @ part)), 0.0) / (4.0 * self.gamma_A)

        # No eigenvalue of K exceeds its trace: where that settles it, a product with K is saved.
        coarse = float(r @ r) * kernel_trace(self.K) / (4.0 * self.gamma_A)
        if coarse <= negligible:
            return coarse
        simple = ambient(r)
        if simple <= negligible or self.L is None or self.gamma_I == 0 or not np.isfinite(simple):
            return simple
        # r = gamma_I L x + rest and the triangle inequality, for whatever x a few conjugate gradients find.
        L, n, shift = self.L, len(r), self.gamma_A / max(kernel_trace(self.K), 1e-300)
        A = LinearOperator((n, n), matvec=lambda x: shift * x + self.gamma_I * (L @ x), dtype=np.float64)
        x = cg(A, r, rtol=1e-8, maxiter=100)[0]
        graph = self.gamma_I * (L @ x)
        return min(simple, (math.sqrt(max(float(x @ graph), 0.0)) / 2.0 + math.sqrt(ambient(r - graph))) ** 2)

    def multipliers(self, alpha: FloatArray, b: float, Ka: FloatArray | None = None) -> FloatArray:
        """Return the theta that a candidate implies: from the loss's slope, or from S alpha where that jumps."""
        y, labeled = self.labels.sign, self.labels.labeled
        f = self.K @ alpha if Ka is None else Ka
        if np.isfinite(self._loss.upper):
            return 2.0 * self.apply_S(alpha, f)[labeled]
        return -y * self._loss.gradient(y * (f[labeled] + b))

    def best_intercept(self, alpha: FloatArray, b: float) -> float:
        """Return the point nearest to b of the interval of optimal intercepts (hinge only; else b itself)."""
        if self._loss.name != "hinge" or not self.fit_intercept:
            return b
        left, right = hinge_intercepts(self.labels.sign, (self.K @ alpha)[self.labels.labeled])
        return float(np.clip(b, left, right))

    def certificate(
        self,
        alpha: FloatArray,
        b: float,
        theta: FloatArray | None = None,
        a: FloatArray | None = None,
        Ka: FloatArray | None = None,
    ) -> Certificate:
        """Measure the gap at a candidate, by two products with K, or one where K alpha is known.

        Parameters
        ----------
        alpha, b : ndarray of shape (n,), float
            The candidate; any point is primal feasible.
        theta : ndarray of shape (l,), optional
            Its multipliers y beta; derived from the candidate where they are not given.
        a : ndarray of shape (n,), optional
            Passed to `dual_bound`; default alpha.
        Ka : ndarray of shape (n,), optional
            K alpha, computed from these very alpha in float64: the proof rests on it.
        """
        f = self.K @ alpha if Ka is None else Ka
        given = self.multipliers(alpha, b, f) if theta is None else theta
        feasible = self.repair_multipliers(given)
        primal = self.value(alpha, b, f)
        y, labeled = self.labels.sign, self.labels.labeled
        t, beta = y * (f[labeled] + b), y * feasible
        miss = self._loss.value(t) + beta * t - self._loss.dual_value(beta)
        return Certificate(
            primal_objective=primal,
            dual_objective=self.dual_bound(feasible, alpha, f) if a is None else self.dual_bound(feasible, a),
            dual_residual=float(np.abs(feasible - given).max() / max(1e-300, np.abs(given).max())),
            complementarity=float(self.scale * np.abs(miss).max() / max(abs(primal), 1e-300)),
        )
