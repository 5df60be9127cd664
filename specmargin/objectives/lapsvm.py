r"""Manifold regularization: LapSVM with the hinge and the squared hinge, and LapRLS.

For a kernel K, a graph Laplacian L and labels y at the labelled samples (J picks their rows),

    min_{alpha, b}  scale * [ sum_i c_i V(y_i f_i) + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha ],

f = K alpha + b; the weights c are one unless the labels have others. The sums are sums, not means (eq. 4 of the primal
paper for the hinge, eq. 7 for the squared hinge with scale = 1/2, eq. 14 for least squares). The
manifold-regularization paper writes 1/l and 1/(l+u)^2 instead: gamma_A = l gamma_A', gamma_I = l gamma_I' / (l+u)^2
leads to the same alpha. The intercept is not penalised by the Laplacian term, as in eq. 7.

Everything collapses to l right-hand sides: with S = gamma_A I + gamma_I L K, X = S^-1 J' and the *deformed
kernel* G = J K X, any loss has its optimum at alpha = X v, where f_lab = G v + b and the penalty is v'G v.

Duality, which makes the certificate: for multipliers theta with 1'theta = 0 and any vector a,

    sum_i c_i V*(y_i theta_i / c_i) + a'KSa - theta'JKa - r'K r / (4 gamma_A),   r = 2 S a - J'theta,

bounds the optimum from below (V* is the loss's `dual_value`): the first terms are the Lagrangian at a, and
K S^-1 <= K / gamma_A bounds what minimising over a could still take off. Where that is too much, the part of r that
the graph penalises is charged to the graph instead: K S^-1 <= (gamma_I L)^-1 on the range of L. Both need products
with K and L only, so a solver that never factorised anything can be certified, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from specmargin.checks import numeric
from specmargin.exceptions import InvalidInputError, SolverError
from specmargin.kernels.operators import KernelOperator, as_kernel, kernel_rows
from specmargin.kernels.semidefinite import require_minors, require_semidefinite, symmetric
from specmargin.labels import Labels, several
from specmargin.losses import MarginLoss, get_loss
from specmargin.losses.weighted import Weighted
from specmargin.objectives.contract import Arrays, ByName, Shapes, changed, multipliers_of, require_fields
from specmargin.objectives.intercept import balanced, exactly_balanced, hinge_intercept
from specmargin.objectives.pivoted import reduce_pivoted
from specmargin.objectives.reduction import Reduction, reduce
from specmargin.objectives.rounding import lapsvm as rounding
from specmargin.objectives.rounding.lapsvm import Image, Products
from specmargin.results import Certificate
from specmargin.rounding import UNIT
from specmargin.typing import FloatArray, IntArray, MatrixLike

__all__ = ["LapSVM"]

_CHECKED = 200  # rows of K that every objective looks at: all of a small K


@dataclass(frozen=True, eq=False)
class LapSVM(ByName):
    """The objective of LapSVM (any convex loss) and LapRLS (squared).

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
        Binary labels, from `specmargin.encode_labels`. Their weights c, where they have such, multiply the losses.
    loss : str or MarginLoss
        Loss of the margin y f, convex: the name of one of `specmargin.losses.LOSSES`, or an object.
    gamma_A : float
        Weight of the ambient norm, > 0.
    gamma_I : float, default 0
        Weight of the intrinsic (graph) norm, >= 0.
    fit_intercept : bool, default True
        Whether f has an (unpenalised) intercept b.

    Raises
    ------
    ValueError
        For a gamma out of range, matrices of the wrong size, NaN in K, labels of more than two classes, stored matrices
        that are symmetric not even up to rounding, which is averaged away, a K that is not positive semidefinite on 200
        of its rows (`specmargin.kernels.require_semidefinite` checks all of them), or an L with an entry that its
        diagonal does not allow: an adjacency.

    Notes
    -----
    ``alpha`` (n,) and ``b`` decide the value. The multipliers of `certificate` are ``beta`` (l,), those of the labelled
    samples: theta = y beta.

    Attributes
    ----------
    margin_loss : MarginLoss
        The loss, as an object whatever it was given as; times the weights of the labels, where they have such.
    scale : float
        Factor in front of the whole objective: 1/2 for the squared hinge (eq. 7), else 1.
    name : str
        LapRLS where the loss is one parabola, so that the problem is a linear system, else LapSVM.
    slack_at_zero : ndarray of shape (l,)
        What the loss is of where f = 0: its slack is this less y f.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> K, L = np.eye(3), np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> obj = LapSVM(K, L, encode_labels([0, 1, -1]), loss="hinge", gamma_A=0.5, gamma_I=0.1)
    >>> obj.value({"alpha": np.array([-1.0, 1.0, 0.0]), "b": 0.0})
    1.5
    """

    K: Any
    L: MatrixLike | None
    labels: Labels
    loss: str | MarginLoss = "hinge"
    gamma_A: float = 1.0
    gamma_I: float = 0.0
    fit_intercept: bool = True
    margin_loss: MarginLoss = field(init=False, repr=False)
    scale: float = field(init=False, repr=False)
    name: str = field(init=False, repr=False, default="LapSVM")
    slack_at_zero: FloatArray = field(init=False, repr=False)

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Return the objective of fields that have been checked, the loss an object; all of them have to be given."""
        made = object.__new__(cls)
        vars(made).update(values)
        made.derive()
        return made

    def __post_init__(self) -> None:
        _check(self)
        K, n = as_kernel(self.K), self.labels.n_samples
        if K.shape != (n, n):
            raise InvalidInputError(f"K has the shape {K.shape}, but there are {n} samples in labels; pass ({n}, {n}).")
        if not isinstance(K, KernelOperator):
            # To the last bit: the penalty sees the mean of K and its transpose only, decisions see K itself.
            K = symmetric(K, "K")
            # A look that costs nothing next to the check for NaN; every principal block of a kernel is a kernel.
            some = np.linspace(0, n - 1, min(n, _CHECKED)).astype(np.intp)
            block, name = kernel_rows(K, some)[:, some], "K" if len(some) == n else "a block of K"
            require_semidefinite(block, name=name)
        object.__setattr__(self, "K", K)
        object.__setattr__(self, "loss", get_loss(self.loss))
        if self.L is not None and tuple(getattr(self.L, "shape", (n, n))) != (n, n):
            raise InvalidInputError(
                f"L has the shape {getattr(self.L, 'shape', None)}, but K has {K.shape}; build both on the same rows."
            )
        if isinstance(self.L, np.ndarray) or sp.issparse(self.L):
            object.__setattr__(self, "L", symmetric(self.L, "L"))
            require_minors(self.L)
        self.derive()

    def derive(self) -> None:
        """Set what follows from the fields, and raise where these make no sense."""
        if not (0.0 < self.gamma_A < math.inf and 0.0 <= self.gamma_I < math.inf and self.labels.is_binary):
            _check(self)
        loss: Any = self.loss
        if self.labels.weights is not None:
            loss = Weighted(loss, self.labels.weights)
        is_ridge = loss.pieces is not None and not loss.pieces.kinks
        vars(self).update(margin_loss=loss, scale=loss.lapsvm_scale, slack_at_zero=np.ones(self.labels.n_labeled))
        vars(self)["name"] = "LapRLS" if is_ridge else "LapSVM"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        return {"alpha": (self.labels.n_samples,), "b": ()}

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Return `prove` at ``alpha`` and ``b``, with the multipliers ``beta`` where they are given.

        Where the factorisation is there already, the lower bound is also taken at the alpha that belongs to the
        multipliers, and the smaller gap is returned.
        """
        alpha, b = self._read(variables)
        (beta,) = multipliers_of({"beta": (self.labels.n_labeled,)}, duals)
        theta = None if beta is None else self.labels.sign * beta
        certificate = self.prove(alpha, b, theta)
        if theta is None or not self.is_reduced:
            return certificate
        exact = self.reduction.coefficients(self.repair_multipliers(theta) / 2)
        return min(certificate, self.prove(alpha, b, theta, a=exact), key=lambda one: abs(one.gap))

    def apply_S(self, alpha: FloatArray, Ka: FloatArray | None = None) -> FloatArray:
        """Return S alpha = gamma_A alpha + gamma_I L K alpha, for a vector or for columns; `Ka` is K alpha if known."""
        if self.L is None or self.gamma_I == 0:
            return self.gamma_A * alpha
        return self.gamma_A * alpha + self.gamma_I * (self.L @ (self.K @ alpha if Ka is None else Ka))

    def decisions_at(self, alpha: FloatArray, b: float) -> FloatArray:
        """Return f = K alpha + b at all samples."""
        return self.K @ alpha + b

    def value_at(self, alpha: FloatArray, b: float, Ka: FloatArray | None = None) -> float:
        """Return the objective; `Ka` is K alpha where it is known."""
        f = self.K @ alpha if Ka is None else Ka
        t = self.labels.sign * (f[self.labels.labeled] + b)
        return float(self.scale * (self.margin_loss.value(t).sum() + f @ self.apply_S(alpha, f)))

    def gradient(self, alpha: FloatArray, b: float) -> tuple[FloatArray, float]:
        """Return the derivatives by alpha, (n,), and by b (0 without intercept)."""
        y, labeled = self.labels.sign, self.labels.labeled
        f = self.K @ alpha
        slope = y * self.margin_loss.gradient(y * (f[labeled] + b))
        inner = 2.0 * self.apply_S(alpha, f)
        inner[labeled] += slope
        return self.scale * (self.K @ inner), self.scale * float(slope.sum()) * self.fit_intercept

    def hessian_product(
        self, alpha: FloatArray, b: float, direction: FloatArray, direction_b: float
    ) -> tuple[FloatArray, float]:
        """Return the (generalised) Hessian at (alpha, b) times a direction."""
        y, labeled = self.labels.sign, self.labels.labeled
        f = self.K @ alpha
        curved = self.margin_loss.curvature(y * (f[labeled] + b))
        change = self.K @ direction
        bent = curved * (change[labeled] + direction_b)
        inner = 2.0 * self.apply_S(direction, change)
        inner[labeled] += bent
        return self.scale * (self.K @ inner), self.scale * float(bent.sum()) * self.fit_intercept

    @cached_property
    def products(self) -> Products:
        """Products with K and L whose rounding is known."""
        return Products(self.K, self.L if self.gamma_I > 0 else None)

    @cached_property
    def labeled_rows(self) -> FloatArray:
        """Rows of K at the labelled samples, (l, n)."""
        return kernel_rows(self.K, self.labels.labeled)

    @cached_property
    def reduction(self) -> Reduction:
        """X = S^-1 J' and G = J K X by one LU factorisation, shared by every class of `one_vs_rest`.

        Where gamma_A is so far below gamma_I that S is singular to rounding, by the longer way of `pivoted`.
        """
        L = self.L if self.gamma_I > 0 else None
        try:
            return reduce(self.K, L, self.labels.labeled, self.gamma_A, self.gamma_I)
        except SolverError:
            return self._pivoted_reduction()

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
        return changed(replace(self), {"reduction": reduce(*self._system(), dtype)})

    def pivoted(self) -> LapSVM:
        """Return the same objective with a reduction that is stable for all gammas, at four times the time.

        Raises
        ------
        SolverError
            If K is zero or the numbers overflow.
        """
        _ = self.products
        return changed(self, {"reduction": self._pivoted_reduction()})

    def _system(self) -> tuple[Any, MatrixLike | None, IntArray, float, float]:
        return self.K, self.L if self.gamma_I > 0 else None, self.labels.labeled, self.gamma_A, self.gamma_I

    def _pivoted_reduction(self) -> Reduction:
        key = (self.gamma_A, self.gamma_I, self.labels.labeled.tobytes())
        # All classes share the products, and with them the last of these reductions.
        if self.products.kept is None or self.products.kept[0] != key:
            self.products.kept = (key, reduce_pivoted(*self._system()))
        return self.products.kept[1]

    def with_(self, **changes: Any) -> LapSVM:
        """Return the same problem with fields changed, sharing what does not depend on them.

        Other gammas of the same ratio share the factorisation: a grid over (gamma_A, gamma_I) costs one per distinct
        ratio, if it is walked ratio by ratio. So do another loss, and other binary labels of the same labelled samples.
        """
        require_fields(self, changes)
        if changes.keys() & {"K", "L"}:
            return replace(self, **changes)
        for name in changes.keys() & {"gamma_A", "gamma_I"}:
            numeric(name, changes[name])
        if "loss" in changes:
            changes["loss"] = get_loss(changes["loss"])
        labels = changes.get("labels", self.labels)
        if labels.n_samples != self.labels.n_samples:
            raise InvalidInputError(
                f"labels of {labels.n_samples} samples, but K is of {self.labels.n_samples}; pass one per row."
            )
        if self.L is None and changes.get("gamma_I", 0.0) > 0:
            _check(changed(self, changes))
        return self.renewed(**changes)

    def renewed(self, **changes: Any) -> Self:
        """Return the same as `with_` of fields but K and L that have been checked, the loss an object."""
        _ = self.products
        # Not `replace`: to look at all of K once per class costs more than solving for it.
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changes)
        other.derive()
        known, theirs = vars(other), other.labels.labeled
        if (other.gamma_A, other.gamma_I) != (self.gamma_A, self.gamma_I):
            same = math.isclose(self.gamma_I * other.gamma_A, other.gamma_I * self.gamma_A, rel_tol=1e-13, abs_tol=0.0)
            reduction = known.pop("reduction", None)
            if same and reduction is not None:
                known["reduction"] = reduction.scaled(self.gamma_A / other.gamma_A)
        if (other.gamma_I > 0) != (self.gamma_I > 0):
            del known["products"]
        if theirs is not self.labels.labeled and not np.array_equal(theirs, self.labels.labeled):
            known.pop("reduction", None)
            known.pop("labeled_rows", None)
        return other

    @property
    def is_reduced(self) -> bool:
        """Whether `reduction` has been computed."""
        return "reduction" in vars(self)

    def one_vs_rest(self, labels: Labels) -> Iterator[LapSVM]:
        """Yield one objective per class of `labels`, all on this objective's factorisation."""
        _ = self.reduction, self.labeled_rows
        for binary in labels.one_vs_rest():
            yield self if binary is self.labels else self.renewed(labels=binary)

    def repair_multipliers(self, theta: FloatArray) -> FloatArray:
        """Return near multipliers inside the loss's bounds and, with an intercept, of a sum that is 0 exactly."""
        y, loss = self.labels.sign, self.margin_loss
        beta = np.clip(y * theta, loss.lower, loss.upper)
        if not self.fit_intercept:
            return y * beta
        if np.isinf(loss.lower).any():
            return exactly_balanced(y, y * (y * beta - np.mean(y * beta)))
        return exactly_balanced(y, balanced(y, beta), inwards=self.labels.weights is not None)

    def dual_bound(self, theta: FloatArray, a: FloatArray | None = None, Ka: FloatArray | None = None) -> float:
        """Return the lower bound of the module's docstring at feasible multipliers theta = y beta, less its rounding.

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
        if a is None:
            a, Ka = self.reduction.coefficients(theta / 2), None
        bounds = []
        for image in (self.products.image(a, Ka), self.products.image(a, slices=2)):
            if image is not None:
                penalty = rounding.penalty_with_error(self, theta, image)
                value, error = rounding.dual_with_error(self, theta, image, penalty)
                bounds.append(value - error - self.scale * penalty[1])
        return max(bounds)

    def multipliers(self, alpha: FloatArray, b: float, Ka: FloatArray | None = None) -> FloatArray:
        """Return the theta that a candidate implies: from the loss's slope, or from S alpha where that jumps."""
        y, labeled = self.labels.sign, self.labels.labeled
        f = self.K @ alpha if Ka is None else Ka
        if np.isfinite(self.margin_loss.upper).all():
            return 2.0 * self.apply_S(alpha, f)[labeled]
        return -y * self.margin_loss.gradient(y * (f[labeled] + b))

    def dual_terms(self, beta: FloatArray) -> tuple[FloatArray, float]:
        """Return terms whose sum is the loss's part of the lower bound, and a bound on their error."""
        gains = self.margin_loss.dual_value(beta)
        # A conjugate is beta and, at the most, less a square of it: what that is, beta and the gain tell together.
        return gains, 8.0 * UNIT * float((np.abs(beta) + np.abs(gains)).sum())

    def fenchel_residuals(self, decisions: FloatArray, theta: FloatArray) -> FloatArray:
        """Return by how much each labelled sample misses Fenchel's equality at decisions (l,) and multipliers."""
        t, beta = self.labels.sign * decisions, self.labels.sign * theta
        return self.margin_loss.value(t) + beta * t - self.margin_loss.dual_value(beta)

    def constant(self) -> float:
        """Return the b that is best at alpha = 0 (0 without an intercept): no answer should be worse than that."""
        if not self.fit_intercept:
            return 0.0
        if self.margin_loss.box_dual:
            return hinge_intercept(self.labels.sign, np.zeros(self.labels.n_labeled), self.labels.weights)
        return float(
            np.average(self.labels.sign, weights=self.labels.weights)
        )  # of both squares; a fair start for other losses

    def best_intercept(self, alpha: FloatArray, b: float) -> float:
        """Return the optimal intercept by `hinge_intercept`; b if the loss is no hinge."""
        if not self.margin_loss.box_dual or not self.fit_intercept:
            return b
        return hinge_intercept(self.labels.sign, (self.K @ alpha)[self.labels.labeled], self.labels.weights)

    def prove(
        self,
        alpha: FloatArray,
        b: float,
        theta: FloatArray | None = None,
        a: FloatArray | None = None,
        Ka: FloatArray | Image | None = None,
        *,
        tol: float = 1e-9,
        thorough: bool = True,
    ) -> Certificate:
        """Measure the gap at a candidate, by two products with K, or one where K alpha is known.

        Its rounding is part of it. Where that alone keeps the relative gap above `tol`, the products are computed anew,
        with more digits.

        Parameters
        ----------
        alpha, b : ndarray of shape (n,), float
            The candidate; any point is primal feasible.
        theta : ndarray of shape (l,), optional
            Its multipliers y beta; derived from the candidate where they are not given.
        a : ndarray of shape (n,), optional
            Passed to `dual_bound`; default alpha.
        Ka : ndarray of shape (n,) or Image, optional
            ``K @ alpha`` of these very alpha in float64, or `Products.image` of them: the proof rests on it.
        tol : float, default 1e-9
            Relative gap that is to be proved.
        thorough : bool, default True
            Whether to go on where the cheap bounds do not prove `tol`: by products with more digits, and by up to 100
            products with L for the dual bound.
        """
        first = Ka if isinstance(Ka, Image) else self.products.image(alpha, Ka)
        assert first is not None
        given = self.multipliers(alpha, b, first.f) if theta is None else theta
        feasible = self.repair_multipliers(given)
        best: Certificate | None = None
        for slices in (0, 1, 2) if thorough else (0,):
            image = first if slices == 0 else self.products.image(alpha, slices=slices)
            other = image if a is None else self.products.image(a, slices=slices)
            if image is None or other is None:
                break
            penalty = rounding.penalty_with_error(self, feasible, image)
            primal, error = rounding.primal_with_error(self, image, b, feasible, penalty[0])
            error += self.scale * penalty[1]
            if other is not image:
                penalty = rounding.penalty_with_error(self, feasible, other)
                error += self.scale * penalty[1]
            # With one image for both, an error of the penalty moves primal and dual alike: it counts once.
            dual, dual_error = rounding.dual_with_error(self, feasible, other, penalty, thorough)
            missed = np.abs(self.fenchel_residuals(image.f[self.labels.labeled] + b, feasible)).max(initial=0.0)
            known = Certificate(
                primal_objective=primal,
                dual_objective=dual,
                dual_residual=float(np.abs(feasible - given).max() / max(1e-300, np.abs(given).max())),
                complementarity=float(self.scale * missed / max(abs(primal), 1e-300)),
                rounding=error + dual_error,
            )
            is_final = best is not None and not known.gap < 0.5 * best.gap  # more digits change nothing
            if best is None or known.gap < best.gap:
                best = known
            if is_final or known.is_optimal(tol):
                break
        assert best is not None
        return best


def _check(obj: LapSVM) -> None:
    """Raise where the weights or the labels of an objective make no sense."""
    if not (np.isfinite(obj.gamma_A) and obj.gamma_A > 0):
        raise InvalidInputError(
            f"gamma_A={obj.gamma_A!r} must be a positive number: without the ambient norm the problem has no "
            "unique solution. Use a small value such as 1e-6 to let the graph rule."
        )
    if not (np.isfinite(obj.gamma_I) and obj.gamma_I >= 0):
        raise InvalidInputError(f"gamma_I={obj.gamma_I!r} must be a number >= 0; 0 switches the graph off.")
    if obj.L is None and obj.gamma_I > 0:
        raise InvalidInputError(f"gamma_I={obj.gamma_I!r} weighs a Laplacian, but L is None; pass L or gamma_I=0.")
    if not obj.labels.is_binary:
        raise InvalidInputError(f"LapSVM takes binary labels, not {several(obj.labels)}.")
