r"""Global lower bounds of S3VM objectives: how far a local solution can be from the optimum.

    >>> import numpy as np
    >>> from specmargin.labels import encode_labels
    >>> from specmargin.objectives.s3vm import S3VM
    >>> X = np.array([[-2.0, 0.1], [2.0, 0.0], [-1.0, 0.3], [1.0, -0.2], [1.2, 0.1]])
    >>> obj = S3VM(X, encode_labels([0, 1, -1, -1, -1]), C=1.0)
    >>> bound = s3vm_bound(obj)
    >>> bound.certificate.dual_objective <= obj.value_at(bound.variables["w"])
    True

`s3vm_bound` maximises the dual of the semidefinite relaxation (`specmargin.optima.S3VMRelaxation`) by a barrier
method in numpy; `specmargin.optima.s3vm_relaxation` is the same relaxation in CVXPY. `with_bound` puts the bound
into the certificate of any local solution. A bound that is not tight is closed by
`specmargin.optima.branch_and_bound`.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.free_intercept import free_bound
from specmargin.optima.interior_point import barrier
from specmargin.optima.label_qp import PIVOTED
from specmargin.optima.label_svms import LabelSVMs
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.results import Certificate, History, SolveResult, Status
from specmargin.solvers.parts import require
from specmargin.typing import FloatArray

__all__ = ["REQUIRES", "REQUIRES_UNLABELED", "s3vm_bound", "with_bound"]

REQUIRES, REQUIRES_UNLABELED = ("convex", "nonincreasing"), ("convex_in_square or two_ramps",)
"""Losses that the relaxation covers: convex ones of the margin, and unlabelled losses with parabolas below them."""

_PROVED = 1e-6
"""Relative gap to the bound at which a local solution is the global one."""


def s3vm_bound(
    obj: S3VM,
    *,
    tol: float = 1e-3,
    max_iter: int = 100,
    time_limit: float = np.inf,
) -> SolveResult:
    """Bound the global optimum of an S3VM from below.

    The answer is that of the *relaxation*: its certificate holds the relaxed objective at a feasible (w, W) and, as
    ``dual_objective``, the lower bound. The bound is proved (`S3VMRelaxation.dual_bound`): by a Cholesky factor, with a
    margin for rounding, whatever the status is. It is at least that of the labelled samples alone, and never negative.

    Parameters
    ----------
    obj : S3VM
        Objective with a convex loss for labelled samples that never rises, a symmetric hinge, exp(-s f^2) or a
        symmetric ramp for unlabelled ones, and the intercept "balance" or "regularized".
        Of a balance on labels the bound makes no use; it holds with it, too.
    tol : float, default 1e-3
        Relative gap at which the relaxation counts as solved (not the distance of the bound from the optimum of J).
    max_iter : int, default 100
        Newton steps.
    time_limit : float, default inf
        Seconds; checked between Newton steps. What is proved then counts.

    Returns
    -------
    SolveResult
        ``certificate.dual_objective`` is the bound. Variables: ``theta`` (u,), ``beta`` (l,), ``w`` (size,), the
        minimiser of the minorant of J and a good start for local solvers, its decisions ``f`` (n,), and ``M``, the
        primal answer of `S3VMRelaxation`.
        OPTIMAL where the relaxation was solved to `tol`, MAX_ITER where steps or time ran out; else by the relaxation's
        gap (`Certificate.status`).

    Raises
    ------
    ValueError
        If the intercept is free (the relaxation is unbounded; `with_bound` takes it), or for other losses.

    References
    ----------
    De Bie & Cristianini, Semi-supervised learning using semi-definite programming, 2006: the same bound, for the
    hinge, by a semidefinite program over the Gram matrix of the labels.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> obj = S3VM(np.array([[-2.0], [2.0], [-1.0], [1.0]]), encode_labels([0, 1, -1, -1]), C=1.0)
    >>> bound = s3vm_bound(obj).certificate.dual_objective
    >>> bool(bound <= min(obj.value_at(np.array([w])) for w in np.linspace(-2, 2, 99)))
    True
    """
    start = time.perf_counter()
    require("s3vm_bound", "S3VM", obj.loss, obj.unlabeled_loss)
    if obj.count is not None:  # without the count no J is larger
        obj = replace(obj, balance_on="decision")
    relaxation = S3VMRelaxation(obj)
    history = History()
    deadline = start + time_limit
    result = barrier(relaxation, tol=tol, max_iter=max_iter, deadline=deadline, history=history, keep=True)
    lower, theta, beta = _at_least(relaxation, result.lower, result.theta, result.beta)
    certificate = Certificate(result.upper, lower, rounding=result.rounding)
    cut_off = result.n_iter >= max_iter or time.perf_counter() > deadline
    weights = relaxation.expand(result.w)
    variables = {"w": weights, "f": obj.decisions_at(weights)}
    variables.update(theta=relaxation.over_unlabeled(theta), beta=beta)
    if result.M is not None:
        variables["M"] = result.M
    return SolveResult(
        problem=relaxation.name,
        status=certificate.status(tol, Status.MAX_ITER if cut_off else None),
        variables=variables,
        certificate=certificate,
        history=history,
        solver="s3vm_bound",
        n_iter=result.n_iter,
        seconds=time.perf_counter() - start,
        message=f"lower bound {certificate.dual_objective:.6g}",
    )


def with_bound(obj: S3VM, result: SolveResult, **options: Any) -> SolveResult:
    """Return a local solution with a lower bound, and hence a gap, in its certificate.

    Parameters
    ----------
    obj : S3VM
        The objective the solution is measured in; J is recomputed at its ``w``.
    result : SolveResult
        Result of any solver, with the variable ``w`` of this objective's size.
    **options
        Arguments of `s3vm_bound`; with a free intercept, whose range is split as long as it pays, `tol` and
        `time_limit` only. The better of this bound and one that the result may hold already is kept.

    Returns
    -------
    SolveResult
        The status is the solver's, unless the gap proves optimality to 1e-6, or the bound is above J by more than their
        rounding: NUMERICAL. Variables ``theta`` and ``beta`` are added, the multipliers that prove the bound, unless
        the result held a better one or the intercept is free.

    Examples
    --------
    >>> from specmargin.labels import encode_labels
    >>> obj = S3VM(np.array([[-2.0], [2.0], [-1.0], [1.0]]), encode_labels([0, 1, -1, -1]), C=1.0)
    >>> certified = with_bound(obj, obj.result(np.array([0.8]), solver="mine"), tol=1e-8)
    >>> certified.status.name, certified.message[:21]
    ('OPTIMAL', 'global optimum proved')
    """
    if "w" not in result.variables:
        raise InvalidInputError("the result holds no variable 'w'; pass the answer of an S3VM solver.")
    w = np.asarray(result.variables["w"], dtype=float)
    known, proof, evidence = result.certificate, obj.prove(w), {}
    if obj.features.penalty == 0.0 and not obj.is_supervised:
        require("s3vm_bound", "S3VM", obj.loss, obj.unlabeled_loss)
        bound = free_bound(s3vm_bound, obj, proof.primal_objective + proof.rounding, **options)
    else:
        relaxed = s3vm_bound(obj, **options)
        bound = relaxed.certificate.dual_objective
        evidence = {name: relaxed.variables[name] for name in ("theta", "beta")}
    if known.primal_objective == proof.primal_objective and known.dual_objective > bound:
        return _holding(obj, result, known.dual_objective)
    return _holding(obj, replace(result, variables={**result.variables, **evidence}), bound)


def _holding(obj: S3VM, result: SolveResult, bound: float) -> SolveResult:
    """Return the result with that bound in its certificate, and a status that it allows."""
    certificate = obj.prove(np.asarray(result.variables["w"], dtype=float), bound)
    gap = certificate.relative_gap
    if bound != result.certificate.dual_objective:
        result = replace(result, log=None)  # that of another bound
    if certificate.is_optimal(_PROVED):
        message = f"global optimum proved: relative gap {max(gap, 0.0):.1e}"
        return replace(result, status=Status.OPTIMAL, certificate=certificate, message=message)
    if not gap >= 0:
        message = f"the lower bound {bound:.6g} is above the objective {certificate.primal_objective:.6g}"
        return replace(result, status=Status.NUMERICAL, certificate=certificate, message=message)
    message = f"{result.message + '; ' if result.message else ''}within {gap:.1%} of the global optimum"
    return replace(result, certificate=certificate, message=message)


def _at_least(
    relaxation: S3VMRelaxation, lower: float, theta: FloatArray, beta: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Return a bound that is no worse than zero and the SVM of the labelled samples alone, with its multipliers."""
    none, nothing = np.zeros_like(theta), np.zeros_like(beta)
    if lower < 0.0:
        lower, theta, beta = 0.0, none, nothing
    if len(beta) <= PIVOTED and relaxation.obj.loss.slack_power > 0:
        qp = LabelSVMs(relaxation)
        point = qp.solve(qp.known)
        known = qp.lower(point)
        if known > lower:
            lower, theta, beta = known, none, point.a[relaxation.known] / relaxation.weights
    return lower, theta, beta
