r"""Transductive SVMs by switching labels: Joachims' SVM-light, one pair of samples at a time.

The unlabelled samples get labels, the convex SVM of those labels is trained, and a pair of them changes labels
when that pays; repeat until none does. What is held at a weight c of the unlabelled losses is

    J(w, y) = 1/2 w'Pw + C sum_labelled V(y_i f_i) + c sum_unlabelled V(y_j f_j),

and neither step raises it: training minimises over w, and to switch a positive sample i and a negative one j that are
both within their margins, f_i < 1 and f_j > -1, lowers the losses exactly if f_i < f_j. (In slacks xi = 1 - y f that is
Joachims' criterion xi_i + xi_j > 2.) Every labelling is visited once at the most, hence the end; at the end no
admissible pair improves. The number of positive labels is that of the start and stays.

c grows by the factor `rate` from a tiny share of C* to C*: an annealing that lets the labels converge while they cost
little. `specmargin.solvers.multi_switch` switches many pairs between two trainings.
"""

from __future__ import annotations

import time
from typing import cast

import numpy as np

from specmargin.losses import MarginLoss
from specmargin.objectives import S3VM, WeightedSVM
from specmargin.results import INACCURATE_GAP, Certificate, History, SolveResult, Status
from specmargin.solvers.newton_system import NewtonSystem
from specmargin.solvers.parts import missing, require
from specmargin.solvers.s3vm.box_qp import hinge_svm
from specmargin.solvers.s3vm.finite_newton import REQUIRES as FINITE_NEWTON
from specmargin.solvers.s3vm.finite_newton import descend
from specmargin.solvers.s3vm.precision import ended, require_range, start_vector
from specmargin.solvers.s3vm.weighted_svm import supervised_svm, weighted_svm
from specmargin.typing import FloatArray, IntArray

__all__ = ["REQUIRES", "admissible_pairs", "label_switching", "switch_labels"]

REQUIRES = ("convex", "nonincreasing")
"""A training with a proof, and switches that pay."""

_DISTINCT = 1e-7
"""Decisions that differ by less are equal: switching must not chase roundings."""
_ROUGH = 1e-2
"""Relative gap of trainings that others follow; J falls nevertheless, as descent starts from the last weights."""
_SYSTEMS = (500, 50)
"""Linear systems of one training with the hinge; the latter once the one before was beyond float64."""


def label_switching(
    obj: S3VM,
    w: FloatArray | None = None,
    *,
    rate: float = 1.5,
    first_share: float = 1e-5,
    skewed: bool = True,
    tol: float = 1e-9,
    max_iter: int = 100_000,
) -> SolveResult:
    """Search a local minimum over the labels of the unlabelled samples, switching one pair at a time.

    Parameters
    ----------
    obj : S3VM
        Objective with a V that is convex and never rises with the margin, so that a switch pays; any intercept.
    w : ndarray of shape (size,), optional
        Its decisions give the first labels; by default those of the supervised SVM.
    rate : float, default 1.5
        Factor by which the weight of the unlabelled losses grows, > 1; SVM-light has 2.
    first_share : float, default 1e-5
        First weight, as a share of C*, in (0, 1].
    skewed : bool, default True
        Whether the weight of the positive labels starts at n+ / n- times that of the negative ones, so that both
        sides weigh alike; both end at C*.
    tol : float, default 1e-9
        Relative duality gap of every training.
    max_iter : int, default 100000
        Most trainings.

    Returns
    -------
    SolveResult
        ``STATIONARY`` where no admissible pair improves. Its variable ``held_labels`` (u,) are the labels that the
        SVM was trained with; a few may differ from the signs of the decisions. The history has a row per training:
        the objective with the labels held, its gradient, the weight, and the pairs switched afterwards.

    Raises
    ------
    ValueError
        For a loss that does not meet `REQUIRES`, or rate and first_share out of range.

    References
    ----------
    Joachims, Transductive inference for text classification using support vector machines, ICML 1999.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> X = np.array([[-2.0], [2.0], [-1.5], [-1.0], [1.0], [1.5]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1, -1]), "hinge", intercept="free")
    >>> label_switching(obj).variables["held_labels"].tolist()
    [-1.0, -1.0, 1.0, 1.0]
    """
    return switch_labels(
        obj,
        w,
        solver="label_switching",
        pairs=1,
        rate=rate,
        first_share=first_share,
        skewed=skewed,
        tol=tol,
        max_iter=max_iter,
    )


def switch_labels(
    obj: S3VM,
    w: FloatArray | None,
    *,
    solver: str,
    pairs: int,
    rate: float,
    first_share: float,
    skewed: bool,
    tol: float,
    max_iter: int,
) -> SolveResult:
    """Run the loop that `label_switching` and `specmargin.solvers.multi_switch` share; `pairs` are switched at most."""
    began = time.perf_counter()
    require(solver, "S3VM", obj.loss)
    obj.require_weights()
    require_range(obj)
    training = _Training(obj, tol)
    history, switched, n_iter = History(), 0, 0
    if w is None:
        w, f = training.supervised()
    else:
        w = start_vector(w, obj.size)
        f = obj.decisions_at(w)
    labels = _first_labels(f[obj.unlabeled], obj.positive_share)
    if obj.is_supervised:
        return supervised_svm(obj, w, solver=solver, start=began, held_labels=labels)
    status = Status.STATIONARY
    schedule = _schedule(labels, first_share, rate, skewed, float(obj.C_star))
    for step, weights in enumerate(schedule):
        final, seen = False, {labels.tobytes()}
        while n_iter < max_iter:
            w, f, value, size = training(labels, weights, w, f, final)
            n_iter += 1
            positive, negative = admissible_pairs(f[obj.unlabeled], labels, pairs)
            history.record(objective=value, gradient=size, C_star=weights[0], switches=float(len(positive)))
            after = labels.copy()
            after[positive], after[negative] = -1.0, 1.0
            # J falls from switch to switch, so that no labels come again, unless rounding has the training.
            if len(positive) and not (training.hard and after.tobytes() in seen):
                labels, switched = after, switched + len(positive)
                seen.add(after.tobytes())
            elif final or step < len(schedule) - 1:
                break
            else:
                final = True
        else:
            status = Status.MAX_ITER
            break
    end = status, f"{switched} pairs switched in {n_iter} trainings"
    return ended(
        obj, w, end, training.proof(w), solver=solver, history=history, n_iter=n_iter, start=began, held_labels=labels
    )


def admissible_pairs(f: FloatArray, labels: FloatArray, most: int) -> tuple[IntArray, IntArray]:
    """Return positive and negative samples whose switch pays, pair by pair, the best pair first.

    Parameters
    ----------
    f, labels : ndarray of shape (u,)
        Decisions and held labels.
    most : int
        Pairs at the most.

    Examples
    --------
    >>> positive, negative = admissible_pairs(np.array([-0.5, 0.3, 0.2, 0.1]), np.array([1.0, 1.0, -1.0, -1.0]), 9)
    >>> positive.tolist(), negative.tolist()
    ([0], [2])
    """
    positive = np.flatnonzero((labels > 0) & (f < 1.0))
    negative = np.flatnonzero((labels < 0) & (f > -1.0))
    positive = positive[np.argsort(f[positive], kind="stable")]
    negative = negative[np.argsort(-f[negative], kind="stable")]
    count = min(len(positive), len(negative), most)
    pays = f[positive[:count]] < f[negative[:count]] - _DISTINCT
    count = int(pays.sum())  # the differences shrink from pair to pair
    return positive[:count], negative[:count]


def _first_labels(f: FloatArray, share: float) -> FloatArray:
    """Label the share of the highest decisions positive, but at least one sample on either side."""
    u = len(f)
    count = round(share * u)
    if u >= 2:
        count = min(max(count, 1), u - 1)
    labels = np.full(u, -1.0)
    labels[np.argsort(-f, kind="stable")[:count]] = 1.0
    return labels


def _schedule(
    labels: FloatArray, first_share: float, rate: float, skewed: bool, C_star: float
) -> list[tuple[float, float]]:
    """Return the weights of negative and of positive labels, step by step."""
    count = float((labels > 0).sum())
    ratio = count / (len(labels) - count) if skewed and 0 < count < len(labels) else 1.0
    share, steps = first_share, []
    while True:
        steps.append((C_star * min(share, 1.0), C_star * min(ratio * share, 1.0)))
        if min(steps[-1]) >= C_star:
            return steps
        share *= rate


class _Training:
    """The convex SVM of given labels, trained from wherever the last one ended."""

    def __init__(self, obj: S3VM, tol: float) -> None:
        self.obj, self.tol = obj, tol
        self.system = NewtonSystem(obj.features)
        self.multipliers: tuple[FloatArray | None, FloatArray | None] = None, None
        self.hard = False
        self.plus, self.minus = np.zeros(obj.features.n_samples), np.zeros(obj.features.n_samples)
        labeled, sign = obj.labels.labeled, obj.labels.sign
        self.plus[labeled] = obj.costs * (sign > 0)
        self.minus[labeled] = obj.costs * (sign < 0)

    def _svm(self) -> WeightedSVM:
        loss = cast(MarginLoss, self.obj.loss)  # convex, or `require` would have refused it
        return WeightedSVM(self.obj.features, self.plus, self.minus, loss)

    def proof(self, w: FloatArray) -> Certificate:
        """Return the certificate of the last training, which ended at w."""
        return self._svm().prove(w, *self.multipliers)

    def supervised(self) -> tuple[FloatArray, FloatArray]:
        """Train without the unlabelled samples."""
        result = weighted_svm(self._svm(), tol=self.tol)
        return result.variables["w"], result.variables["f"]

    def __call__(
        self, labels: FloatArray, weights: tuple[float, float], w: FloatArray, f: FloatArray, final: bool
    ) -> tuple[FloatArray, FloatArray, float, float]:
        """Return w, its decisions, the objective and the norm of its gradient."""
        tol = self.tol if final else max(self.tol, _ROUGH)
        unlabeled = self.obj.unlabeled
        self.plus[unlabeled] = weights[1] * (labels > 0)
        self.minus[unlabeled] = weights[0] * (labels < 0)
        svm = self._svm()
        if not missing(self.obj.loss, FINITE_NEWTON):
            return descend(svm, w, f, tol=tol, system=self.system)[:4]
        if svm.loss.box_dual:
            # Exact, or as exact as rounding lets it be; once it lets nothing be, any answer of the method will do.
            rough = np.inf if self.hard else tol
            point = hinge_svm(svm, w, f, tol=self.tol, rough=rough, max_iter=_SYSTEMS[int(self.hard)])
            w, f, self.hard = point.w, point.f, point.gap > INACCURATE_GAP
            self.multipliers = point.theta_plus, point.theta_minus
        else:
            result = weighted_svm(svm, w, tol=tol)
            w, f = result.variables["w"], result.variables["f"]
        return w, f, svm.value_at(w, f), float(np.linalg.norm(svm.gradient(w, f)))
