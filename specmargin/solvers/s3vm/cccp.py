r"""The concave-convex procedure (CCCP) for S3VMs: `cccp`, the algorithm of UniverSVM.

Each unlabelled sample enters with both labels under the ramp :math:`R_s = H_1 - H_s`, the difference of two hinges
:math:`H_s(t) = \max(0, s - t)`. The objective is then convex plus concave,

.. math:: U(f) = [H_1(f) + H_1(-f)] - [H_s(f) + H_s(-f)] - (1 - s),

with U = `specmargin.losses.SymmetricRamp`, at s = 0 the symmetric hinge. A round replaces the concave half by its
tangent at the present decisions: it charges beta f with

    beta = C* if f < s,    -C* if f > -s,    0 between (those are left alone),

on top of both hinges. What remains is a convex SVM, `specmargin.objectives.WeightedSVM` with the weight C* on both
labels and the linear term beta. The tangent lies above the concave half and touches it: the objective never rises, and
with finitely many beta the rounds end when beta stays.

Once the unlabelled losses weigh, labels hardly ever change: at s = 0 not at all beyond the margin. A `schedule` lets C*
rise from a small share of itself, and the rounds begin anew at each, while changes still cost little.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.weighted_svm import WeightedSVM
from specmargin.results import Certificate, History, SolveResult, Status
from specmargin.solvers.parts import require
from specmargin.solvers.s3vm.homotopy import rising
from specmargin.solvers.s3vm.negative_curvature import ESCAPES, way_down
from specmargin.solvers.s3vm.precision import ended, require_range, start_vector
from specmargin.solvers.s3vm.weighted_svm import supervised_svm, weighted_svm
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "REQUIRES_UNLABELED", "cccp"]

REQUIRES, REQUIRES_UNLABELED = ("box_dual",), ("two_ramps",)
"""The hinge, and a loss that is two hinges less two others."""

_SVM_TOL = 1e-10
"""Relative gap to which every convex SVM is solved."""


def cccp(
    obj: S3VM,
    w: FloatArray | None = None,
    *,
    schedule: npt.ArrayLike = (1.0,),
    tol: float = 1e-9,
    max_iter: int = 100,
    inner_tol: float = _SVM_TOL,
) -> SolveResult:
    """Minimise an S3VM objective by the concave-convex procedure.

    Parameters
    ----------
    obj : S3VM
        Objective with the hinge, and `SymmetricHinge` or `SymmetricRamp`.
    w : ndarray of shape (size,), optional
        Weights that beta comes from first; by default the supervised SVM.
    schedule : array-like of float, default (1.0,)
        Factors of C*, >= 0; the last should be 1. UniverSVM has that one alone; (1e-4, 1e-3, 0.01, 0.1, 1) anneals.
    tol : float, default 1e-9
        Rounds end when beta stays, or the objective falls by less than this share of itself.
    max_iter : int, default 100
        Rounds at each factor; UniverSVM needs about five.
    inner_tol : float, default 1e-10
        Relative gap to which every round is solved.

    Returns
    -------
    SolveResult
        Variables add ``beta`` (u,), the linear term of the last round. The history holds, from the start of every
        factor on, that ``factor``, the ``objective`` with it (never rising), ``gradient`` (`S3VM.stationarity`, of
        little meaning at kinks) and ``changes``, how many entries of beta the decisions would change. The status is
        that of the last factor.

    Raises
    ------
    ValueError
        For other losses, or parameters out of range.

    References
    ----------
    Collobert, Sinz, Weston & Bottou, Large scale transductive SVMs, JMLR 7, 2006. Yuille & Rangarajan, The
    concave-convex procedure, Neural Computation 15, 2003.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.losses import SymmetricRamp
    >>> X = np.array([[-2.0], [-1.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> obj = S3VM(X, encode_labels([0, -1, -1, -1, -1, 1]), "hinge", SymmetricRamp(s=-0.3), C=10.0)
    >>> result = cccp(obj)
    >>> result.status.name, result.variables["labels"].tolist(), result.history["changes"][-1]
    ('STATIONARY', [-1.0, -1.0, 1.0, 1.0], 0.0)
    """
    require("cccp", "S3VM", obj.loss, obj.unlabeled_loss)
    # What declares `two_ramps` has that width; the type of an unlabelled loss cannot tell.
    s = -obj.unlabeled_loss.flat_half_width
    require_range(obj)
    start = time.perf_counter()
    if obj.is_supervised:
        return supervised_svm(obj, w, solver="cccp", start=start, beta=np.zeros(len(obj.unlabeled)))
    factors = rising(schedule)
    history, n_iter = History(), 0
    if w is None:
        w, _ = _solved(obj.guessed(np.zeros(len(obj.unlabeled)), 0.0), None, inner_tol)
    else:
        w = start_vector(w, obj.size)
    for factor in factors:
        eased = obj if factor == 1.0 else obj.with_(C_star=factor * obj.C_star)
        end = _rounds(eased, w, s, factor, history, tol, max_iter, inner_tol)
        w, n_iter = end.w, n_iter + end.n_iter
        for _ in range(ESCAPES):  # where the tangents of a maximum keep it
            below = way_down(eased, w) if end.status is Status.STATIONARY else None
            if below is None:
                break
            end = _rounds(eased, below, s, factor, history, tol, max_iter, inner_tol)
            w, n_iter = end.w, n_iter + 1 + end.n_iter
    # The SVM of a round is J plus what its tangent adds, some C* for every sample: its gap is held against J.
    value, missed = obj.value_at(w), end.proof.primal_objective - end.proof.dual_objective
    proof = replace(end.proof, primal_objective=value, dual_objective=value - missed)
    verdict = end.status, end.message
    return ended(obj, w, verdict, proof, solver="cccp", history=history, n_iter=n_iter, start=start, beta=end.beta)


class _Outcome(NamedTuple):
    """Result of the rounds at one factor of C*, with the certificate of the last convex SVM."""

    w: FloatArray
    beta: FloatArray
    n_iter: int
    status: Status
    message: str
    proof: Certificate


def _rounds(
    obj: S3VM, w: FloatArray, s: float, factor: float, history: History, tol: float, max_iter: int, inner_tol: float
) -> _Outcome:
    """Linearise the concave half and solve the convex SVM that is left, until beta stays."""
    # Twice C*, half of it on either label.
    both = obj.guessed(np.zeros(len(obj.unlabeled)), 2.0 * obj.C_star)
    f = obj.decisions_at(w)
    value, beta = obj.value_at(w, f), _linear_term(obj, f, s)
    history.record(factor=factor, objective=value, gradient=obj.stationarity(w, f), changes=float(len(beta)))
    for n_iter in range(1, max_iter + 1):
        linear = np.zeros(len(f))
        linear[obj.unlabeled] = beta
        trial, proof = _solved(both.with_(linear=linear), w, inner_tol)
        f = obj.decisions_at(trial)
        lowered, tangent = obj.value_at(trial, f), _linear_term(obj, f, s)
        decrease = value - lowered
        changes = int((tangent != beta).sum())
        # No round can raise the objective, but for the rounding of its SVM.
        if decrease >= 0:
            w, value = trial, lowered
        history.record(factor=factor, objective=value, gradient=obj.stationarity(w), changes=float(changes))
        if changes == 0 or abs(decrease) <= tol * abs(value):
            message = "beta stays" if changes == 0 else "the objective stays"
            return _Outcome(w, beta, n_iter, Status.STATIONARY, message, proof)
        if decrease < 0:
            message = "a round was not solved to the accuracy that it takes to lower the objective"
            return _Outcome(w, beta, n_iter, Status.MAX_ITER, message, proof)
        beta = tangent
    return _Outcome(w, beta, max_iter, Status.MAX_ITER, "beta still changes", proof)


def _linear_term(obj: S3VM, f: FloatArray, s: float) -> FloatArray:
    """Return beta: C* times the slope of the concave half at the unlabelled decisions, (u,)."""
    f = f[obj.unlabeled]
    return obj.C_star * ((f < s).astype(float) - (f > -s))


def _solved(svm: WeightedSVM, w: FloatArray | None, tol: float) -> tuple[FloatArray, Certificate]:
    result = weighted_svm(svm, w, tol=tol)
    return np.asarray(result.variables["w"]), result.certificate
