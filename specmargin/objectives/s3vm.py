r"""Semi-supervised support vector machines: one objective for all their solvers.

    J(w) = 1/2 |w|^2 + C sum_labelled V(y_i f_i) + C* sum_unlabelled U(f_j),

f = A w + offset with the map of `specmargin.objectives.Features`. V is a convex loss of the margin, U an even loss of
the decision that pushes unlabelled samples away from the decision boundary; with U(f) = V(|f|) the minimum over w is
also the minimum over the hidden labels. Left alone it would put all samples on one side, so that the mean decision of
the unlabelled samples is confined to r, `balance`: the mean of the labels where it is not given.

**What the papers write.** Chapelle, Chi & Zien (cS3VM, eq. 2) and Chapelle & Zien use these very sums, with hinge and
squared hinge. QN-S3VM divides by l and u and by the weight lam of |w|^2: C = 1 / (2 lam l), C* = lam' / (2 lam u).
SVMlin (multi-switch, annealing) has lam/2 |w|^2 + 1/(2l) sum + lam'/(2u) sum: C = 1 / (2 lam l),
C* = lam' / (2 lam u), with the intercept "regularized".

J is not convex. A solver may claim a stationary point, `S3VM.certificate` says how nearly it is one, and a lower bound
(`specmargin.optima.s3vm_bound`) says how far it can be from the global optimum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels, several
from specmargin.losses import better_label, get_loss, get_unlabeled_loss, smoothed
from specmargin.objectives.contract import Arrays, ByName, Shapes, changed
from specmargin.objectives.features import Features, Intercept
from specmargin.objectives.rounding.s3vm import exact_value, value_rounding
from specmargin.objectives.s3vm_count import count_certificate, counted_labels, require_count_balance
from specmargin.objectives.s3vm_slack import require_slack_balance, slack_certificate, slack_value
from specmargin.objectives.weighted_svm import WeightedSVM
from specmargin.results import Certificate, History, SolveResult, Status
from specmargin.typing import FloatArray, IntArray

__all__ = ["S3VM"]

_ROUNDING = 1e-10
"""Share of J(w) up to which its rounding in float64 is put up with."""
_EXACT = 2**16
"""Entries of features up to which margins are summed exactly where extended precision is too coarse as well."""


@dataclass(frozen=True, eq=False)
class S3VM(ByName):
    """The objective of semi-supervised SVMs.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d), or Features
        Features of all samples: raw ones for a linear classifier, a kernel's map (`specmargin.kernels.kernel_map`,
        `specmargin.kernels.landmark_features`) otherwise.
    labels : Labels
        Binary labels, from `specmargin.encode_labels`. Their weights, where they have such, multiply the labelled
        losses.
    loss : {"hinge", "squared_hinge", "smooth_hinge", "squared"} or SmoothLoss
        V, of the margins y f.
    unlabeled_loss : str or SmoothLoss, optional
        U: "symmetric_hinge", "symmetric_squared_hinge", "exp", "symmetric_ramp", or a loss. Default: V(|f|) for the
        hinge and the squared hinge, "exp" for any other V.
    C, C_star : float
        Weights of the labelled and of the unlabelled losses; C > 0, C* >= 0, by default C.
    balance : float, optional
        r in [-1, 1], the mean of the labels of the unlabelled samples; default: the mean of the known labels. Give it
        where it is known: the estimate from few labels is often the largest error.
    intercept : {"balance", "regularized", "free", "none"}, default "balance"
        How the intercept is found, see `specmargin.objectives.Features`. Without unlabelled samples "balance" becomes
        "free": the supervised SVM.
    balance_on : {"decision", "slack", "labels"}, default "decision"
        What the balance is on where it is not the intercept's business: "slack" confines the mean of x, decision plus
        signed slack, to r (SDP-S3VM), for squared hinges and intercept "none". Points are (w, x) then
        (`specmargin.objectives.s3vm_slack`). "labels" confines the labels: the unlabelled samples have the best ones of
        which round((1 + r) u / 2) are positive, for squared hinges and intercept "none" or "regularized"
        (`specmargin.objectives.s3vm_count`). `specmargin.optima.branch_and_bound` alone minimises these J.

    Raises
    ------
    ValueError
        For weights or a balance out of range, NaN, shapes that do not match, or labels of more than two classes.

    Notes
    -----
    ``w`` (size,) decides the value, with ``x`` (n,) where the balance is on slack.

    Where nothing is charged for unlabelled samples the objective is convex, and
    `certificate` proves a gap: its multipliers are ``plus`` and ``minus`` (n,), those of `WeightedSVM`, by default the
    slopes of the losses.

    References
    ----------
    Chapelle, Sindhwani & Keerthi, Optimization techniques for semi-supervised support vector machines, JMLR 9, 2008.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> obj = S3VM(np.array([[-2.0], [2.0], [-1.0], [1.0]]), encode_labels([0, 1, -1, -1]), "hinge", C=1.0)
    >>> obj.value({"w": np.array([0.5])})
    1.125
    >>> obj.unlabeled_loss
    SymmetricHinge()
    """

    X: Any
    labels: Labels
    loss: Any = "squared_hinge"
    unlabeled_loss: Any = None
    C: float = 1.0
    C_star: Any = None
    balance: Any = None
    intercept: Intercept = "balance"
    balance_on: Any = "decision"
    features: Features = field(init=False, repr=False)
    """The map from w to the decisions."""
    size: int = field(init=False, repr=False)
    """Length of w."""
    unlabeled: IntArray = field(init=False, repr=False)
    """Unlabelled samples, (u,)."""
    costs: float | FloatArray = field(init=False, repr=False)
    """C of every labelled sample: one number, or (l,) where labels have weights."""
    positive_share: float = field(init=False, repr=False)
    """R, the share of positive labels among the unlabelled samples that the balance asks for."""
    is_supervised: bool = field(init=False, repr=False)
    """Whether no unlabelled sample counts: what is left is the convex SVM of the labelled ones."""
    total: float | None = field(init=False, repr=False, default=None)
    """Sum of the unlabelled x, with ``balance_on="slack"``."""
    count: int | None = field(init=False, repr=False, default=None)
    """Number of positive labels, with ``balance_on="labels"``."""

    def __post_init__(self) -> None:
        X, labels, loss, intercept = self.X, self.labels, get_loss(self.loss), self.intercept
        if not labels.is_binary:
            raise InvalidInputError(f"S3VM takes binary labels, not {several(labels)}.")
        if not (np.isfinite(self.C) and self.C > 0):
            raise InvalidInputError(f"C={self.C!r} must be a positive number: it weighs the labelled losses.")
        C_star = float(self.C) if self.C_star is None else self.C_star
        if not (np.isfinite(C_star) and C_star >= 0):
            raise InvalidInputError(f"C_star={C_star!r} must be a number >= 0; 0 ignores the unlabelled samples.")
        unlabeled_loss = better_label(loss) or "exp" if self.unlabeled_loss is None else self.unlabeled_loss
        unlabeled_loss = get_unlabeled_loss(unlabeled_loss)
        balance = float(labels.sign.mean()) if self.balance is None else self.balance
        rows = X.n_samples if isinstance(X, Features) else np.shape(X)[0]
        if rows != labels.n_samples:
            raise InvalidInputError(
                f"X has {rows} rows, but there are {labels.n_samples} samples in labels; pass one label per row."
            )
        if isinstance(X, Features):  # which have one already
            if X.penalty is not None:
                intercept = "regularized" if X.penalty else "free"
            elif X.mu is not None:
                intercept, balance = "balance", float(X.offset)
        else:
            kind: Intercept = "free" if intercept == "balance" and labels.n_labeled == labels.n_samples else intercept
            X = Features.of(X, kind, rows=labels.unlabeled, balance=balance)
        unlabeled = labels.unlabeled
        vars(self).update(
            X=X,
            features=X,
            size=X.size,
            loss=loss,
            unlabeled_loss=unlabeled_loss,
            C_star=C_star,
            balance=balance,
            intercept=intercept,
            unlabeled=unlabeled,
            costs=self.C if labels.weights is None else self.C * labels.weights,
            positive_share=(1.0 + balance) / 2.0,
            is_supervised=not C_star or not len(unlabeled),
        )
        if self.balance_on == "slack":
            require_slack_balance(self)
            vars(self)["total"] = len(unlabeled) * float(balance)
        elif self.balance_on == "labels":
            require_count_balance(self)
            vars(self)["count"] = round(len(unlabeled) * self.positive_share)

    name = "S3VM"

    @property
    def variables(self) -> Shapes:
        """Names and shapes of what decides the value."""
        w: Shapes = {"w": (self.size,)}
        return {**w, "x": (self.features.n_samples,)} if self.balance_on == "slack" else w

    def certificate(self, variables: Arrays, duals: Arrays | None = None) -> Certificate:
        """Return `prove` at ``w``: J and its stationarity, and no claim to optimality, as J is not convex.

        Where it is, without unlabelled losses, it is the certificate of the supervised `WeightedSVM`, with the
        multipliers ``plus`` and ``minus`` where they are given.
        """
        w, *x = self._read(variables)
        if x:
            return slack_certificate(self, w, *x)
        if not self.is_supervised:
            return self.prove(w)
        return self.guessed(np.zeros(len(self.unlabeled)), 0.0).certificate({"w": w}, duals)

    def with_(self, **changes: Any) -> S3VM:
        """Return this objective with other weights or losses, on the same features; the balance is part of those."""
        forbidden = {"X", "labels", "balance", "intercept", "balance_on"} & changes.keys()
        if forbidden:
            raise InvalidInputError(f"{sorted(forbidden)} shape the features; build a new S3VM for them.")
        return super().with_(**changes)

    def with_unlabeled_weight(self, C_star: float) -> S3VM:
        """Return the same problem with another weight C* >= 0 of the unlabelled losses, unchecked."""
        return changed(self, {"C_star": C_star, "is_supervised": not C_star or not len(self.unlabeled)})

    def require_weights(self) -> None:
        """Raise where J is no sum of losses at w: with a balance on slack or on labels."""
        if self.balance_on == "slack":
            slack_value(self, np.zeros(self.size), None)
        elif self.balance_on == "labels":
            raise InvalidInputError(
                "with balance_on='labels' J is no sum of losses of single samples; only optima.branch_and_bound "
                "minimises it, for some hundreds of samples and weights that float64 resolves."
            )

    def charged(self, losses: FloatArray) -> float:
        """Return the weighted sum of losses of the labelled samples, (l,)."""
        weights = self.labels.weights
        return self.C * float(losses.sum() if weights is None else weights @ losses)

    def supervised(self) -> S3VM:
        """Return the objective without its unlabelled losses (C* = 0): where annealing starts."""
        return self.with_(C_star=0.0)

    def guessed(self, labels: FloatArray, weight: float | None = None, **changes: Any) -> WeightedSVM:
        """Return the SVM that this problem becomes when the labels of the unlabelled samples are known; U is V(|f|).

        Parameters
        ----------
        labels : ndarray of shape (u,)
            Labels in [-1, 1]; the share (1 + label) / 2 of the weight is on the label +1.
        weight : float, optional
            Weight instead of C*.
        **changes
            Fields of `WeightedSVM`: another loss, a linear term.
        """
        self.require_weights()
        return self.with_labels(labels, weight, **changes)

    def with_labels(self, labels: FloatArray, weight: float | None = None, **changes: Any) -> WeightedSVM:
        """Return `guessed`, also where a balance confines the labels: one of the SVMs of which J is the least."""
        sign = np.zeros(self.features.n_samples)
        cost = np.full(len(sign), self.C_star if weight is None else weight)
        sign[self.labels.labeled] = self.labels.sign
        cost[self.labels.labeled] = self.costs
        sign[self.unlabeled] = labels
        return WeightedSVM(self.features, cost * (1 + sign) / 2, cost * (1 - sign) / 2, self.loss, **changes)

    def smoothed(self, gamma: float) -> S3VM:
        """Return J convolved with a Gaussian of variance gamma in every coordinate of w, less gamma d / 2.

        An intercept among the coordinates ("regularized", "free") stays as it is.

        Every sample's loss is smoothed by sqrt(gamma) times the length of its row (eq. 6 of the continuation paper,
        whose eq. 5 prints half that variance).
        """
        length = np.sqrt(gamma * self.features.squared_norms)
        loss, unlabeled_loss = self.loss, self.unlabeled_loss
        return self.with_(
            loss=smoothed(loss, length[self.labels.labeled]),
            unlabeled_loss=smoothed(unlabeled_loss, length[self.unlabeled]),
        )

    def decisions_at(self, w: FloatArray, x: FloatArray | None = None) -> FloatArray:
        """Return f at all samples, (n,)."""
        return self.features.decisions(w)

    def value_at(self, w: FloatArray, f: FloatArray | None = None) -> float:
        """Return J(w); `f` are its decisions where they are known, and x where the balance is on slack."""
        if self.balance_on == "slack":
            return slack_value(self, w, f)
        f = self.features.decisions(w) if f is None else f
        if self.count is not None:
            return self.with_labels(counted_labels(f[self.unlabeled], self.count)).value_at(w, f)
        value = 0.5 * float(self.features.weights @ w**2)
        value += self.charged(self.loss.value(self.labels.sign * f[self.labels.labeled]))
        if self.C_star:
            value += self.C_star * float(self.unlabeled_loss.value(f[self.unlabeled]).sum())
        return value

    def slopes(self, f: FloatArray) -> FloatArray:
        """Return the derivative of the losses by every decision, (n,): the gradient of J is P w + A' slopes."""
        if self.balance_on != "decision":
            self.require_weights()
        y = self.labels.sign
        out = np.zeros(len(f))
        out[self.labels.labeled] = self.costs * y * self.loss.gradient(y * f[self.labels.labeled])
        if self.C_star:
            out[self.unlabeled] = self.C_star * self.unlabeled_loss.gradient(f[self.unlabeled])
        return out

    def curvatures(self, f: FloatArray) -> FloatArray:
        """Return the second derivative of the losses by every decision, (n,): the Hessian is P + A' diag(.) A."""
        self.require_weights()
        out = np.zeros(len(f))
        out[self.labels.labeled] = self.costs * self.loss.curvature(self.labels.sign * f[self.labels.labeled])
        if self.C_star:
            out[self.unlabeled] = self.C_star * self.unlabeled_loss.curvature(f[self.unlabeled])
        return out

    def gradient(self, w: FloatArray, f: FloatArray | None = None) -> FloatArray:
        """Return the gradient of J, (size,); a subgradient at a kink."""
        f = self.features.decisions(w) if f is None else f
        return self.features.weights * w + self.features.adjoint(self.slopes(f))

    def value_and_gradient(self, w: FloatArray) -> tuple[float, FloatArray]:
        """Return J(w) and its gradient for two products with the features."""
        f = self.features.decisions(w)
        return self.value_at(w, f), self.features.weights * w + self.features.adjoint(self.slopes(f))

    def hessian(self, w: FloatArray) -> FloatArray:
        """Return the Hessian of J, (size, size), dense."""
        A = self.features.dense()
        H = (A * self.curvatures(self.decisions_at(w))[:, None]).T @ A
        H[np.diag_indices(len(H))] += self.features.weights
        return np.asarray(H)

    def labels_of(self, w: FloatArray) -> FloatArray:
        """Return the best labels of the unlabelled samples, (u,): the signs of their decisions, or by their order."""
        f = self.features.decisions(w)[self.unlabeled]
        return np.where(f >= 0, 1.0, -1.0) if self.count is None else counted_labels(f, self.count)

    def stationarity(self, w: FloatArray, f: FloatArray | None = None) -> float:
        """Return the norm of the gradient relative to the two parts, P w and A' slopes, that cancel in it."""
        f = self.features.decisions(w) if f is None else f
        penalty_part = self.features.weights * w
        loss_part = self.features.adjoint(self.slopes(f))
        unit = max(float(np.abs(penalty_part).max()), float(np.abs(loss_part).max()))
        if not 0 < unit < np.inf:
            return unit
        # Of squares of large numbers no more than their ratios are needed.
        penalty_part, loss_part = penalty_part / unit, loss_part / unit
        scale = max(float(np.linalg.norm(penalty_part)), float(np.linalg.norm(loss_part)))
        return float(np.linalg.norm(penalty_part + loss_part)) / scale

    def prove(self, w: FloatArray, lower_bound: float = -np.inf) -> Certificate:
        """Return the value at w, with a bound on its rounding, and a lower bound on the global optimum.

        Where J(w) in float64 may be off by more than 1e-10 of it (large weights and a hinge at its kink, sparse
        features far from the origin), the decisions are computed anew in extended precision. Where a margin of 1 itself
        is too coarse in float64, what hinges lack of it is summed exactly, if the features are few.

        Parameters
        ----------
        w : ndarray of shape (size,)
            Candidate.
        lower_bound : float, default -inf
            Proved by someone, e.g. `specmargin.optima.s3vm_bound`. Without it the gap is infinite: nothing is known
            about the global optimum.

        Returns
        -------
        Certificate
            ``dual_residual`` is `stationarity`, which is meaningful where the losses are smooth.
        """
        w = np.asarray(w, dtype=float)
        if w.shape != (self.size,) or not np.isfinite(w).all():
            raise InvalidInputError(f"w must be finite and of the shape ({self.size},), got {w.shape}.")
        if self.count is not None:
            return count_certificate(self, w, lower_bound)
        f = self.features.decisions(w)
        value, rounding = self.value_at(w, f), value_rounding(self, w, f, self.features.decision_errors(w))
        if rounding > _ROUNDING * abs(value):
            accurate, errors = self.features.accurate_decisions(w)
            less = value_rounding(self, w, accurate, errors)
            if less < rounding:
                value, rounding = self.value_at(w, accurate), less
        if rounding > _ROUNDING * abs(value) and self.has_hinges and len(f) * len(w) <= _EXACT:
            value, rounding = exact_value(self, w, f)
        return Certificate(value, lower_bound, dual_residual=self.stationarity(w, f), rounding=rounding)

    @property
    def has_hinges(self) -> bool:
        """Whether all losses that count are powers of what a margin lacks of 1."""
        powers = [getattr(one, "slack_power", 0) > 0 for one in (self.loss, self.unlabeled_loss)]
        return powers[0] and (powers[1] or self.is_supervised)

    def result(
        self,
        w: FloatArray,
        *,
        solver: str,
        status: Status = Status.STATIONARY,
        history: History | None = None,
        n_iter: int = 0,
        seconds: float = np.nan,
        message: str = "",
        **variables: Any,
    ) -> SolveResult:
        """Return the answer of a solver that ended at w, in *this* objective's value.

        Its variables are w, coefficients and intercept (v, b) on the raw features, f at all samples and the labels of
        the unlabelled ones; more can be added by name.
        """
        v, b = self.features.coefficients(w)
        own = {"w": w, "v": v, "b": np.asarray(b), "f": self.features.decisions(w), "labels": self.labels_of(w)}
        return SolveResult(
            problem="S3VM",
            status=status,
            variables={**own, **variables},
            certificate=self.prove(w) if self.total is None else slack_certificate(self, w, variables["x"]),
            history=History() if history is None else history,
            solver=solver,
            n_iter=n_iter,
            seconds=seconds,
            message=message,
        )
