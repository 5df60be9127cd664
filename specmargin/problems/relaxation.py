r"""The semidefinite relaxation of S3VMs as a CVXPY problem: a lower bound on their global optimum.

    min  1/2 tr W + C sum V(t_i) + C* sum v(s_j)
    s.t. [[1, w'], [w, W]] >= 0,   t_i = y_i (z_i'w + b),   s_j = z_j'W z_j + 2 b z_j'w + b^2

with U(f) = v(f^2) the loss of unlabelled samples, z the coordinates of the samples in an orthonormal basis of their
span, and b the fixed offset (`specmargin.objectives.S3VMRelaxation`). One semidefinite cone of rank + 1 rows.

The multipliers of `square` and `margin` are the theta and beta of the dual. The answer's ``dual_objective`` is computed
from *them*, repaired, with a margin for rounding: the value that a solver reports is no bound (SCS at its default
accuracy may well report one above the optimum of J).
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import cvxpy as cp
import numpy as np

from specmargin.losses import ExpSquared
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.s3vm_relaxation import S3VMRelaxation
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import as_cvxpy

__all__ = ["s3vm_relaxation"]


def s3vm_relaxation(obj: S3VM | S3VMRelaxation) -> BuiltProblem:
    """Build the semidefinite relaxation of an S3VM.

    Variables ``M`` (rank + 1, rank + 1), the matrix [[1, w'], [w, W]], ``s`` (u,) and ``t`` (l,); constraints ``psd``,
    ``corner`` (M_00 = 1), ``square`` (of s) and ``margin`` (of t). The result adds ``theta`` (u,), ``beta`` (l,),
    ``w`` (size,) and ``f`` (n,).

    Parameters
    ----------
    obj : S3VM or S3VMRelaxation
        The relaxation of an S3VM, or a relaxation some of whose labels are decided.

    Returns
    -------
    BuiltProblem
        Solved, its certificate is that of the *relaxation*: ``dual_objective`` is the lower bound on J, proved from
        the repaired multipliers, and the gap tells how well the relaxation was solved.

    Raises
    ------
    ValueError
        If the intercept is free (the relaxation is unbounded), or for losses that it does not cover.

    References
    ----------
    De Bie & Cristianini, Semi-supervised learning using semi-definite programming, 2006; Xu & Schuurmans, Unsupervised
    and semi-supervised multi-class support vector machines, AAAI 2005: the same bound over the labels' Gram matrix.

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[-2.0, 0.1], [2.0, 0.0], [-1.0, 0.3], [1.0, -0.2], [1.2, 0.1]])
    >>> obj = S3VM(X, sm.encode_labels([0, 1, -1, -1, -1]), C=1.0)
    >>> result = sm.solve(s3vm_relaxation(obj))
    >>> result.certificate.dual_objective <= obj.value_at(result.variables["w"])
    True
    """
    relaxation = obj if isinstance(obj, S3VMRelaxation) else S3VMRelaxation(obj)
    r, k, b = relaxation.rank, len(relaxation.free), relaxation.offset
    Z, Z_known, y = relaxation.Z_free, relaxation.Z_known, relaxation.y
    if r == 0:  # of features that are all alike: CVXPY has no variables of size zero
        Z, Z_known = np.zeros((k, 1)), np.zeros((len(y), 1))
    M = cp.Variable((max(r, 1) + 1,) * 2, symmetric=True, name="M")
    t = cp.Variable(len(y), name="t")
    w, W = M[0, 1:], M[1:, 1:]
    constraints: dict[str, Any] = {
        "psd": M >> 0,
        "corner": M[0, 0] == 1,
        "margin": t - cp.multiply(y, Z_known @ w + b) == 0,
    }
    variables = {"M": M, "t": t}
    value = 0.5 * cp.trace(W)
    for group, loss in relaxation.groups:
        value = value + cp.sum(cp.multiply(relaxation.weights[group], as_cvxpy(loss, t[group])))
    if k:
        s = variables["s"] = cp.Variable(k, name="s")
        constraints["square"] = s - (cp.sum(cp.multiply(Z @ W, Z), axis=1) + 2 * b * (Z @ w) + b**2) == 0
        value = value + relaxation.obj.C_star * cp.sum(_relaxed(relaxation.obj.unlabeled_loss, relaxation, s))

    def recover(current: S3VMRelaxation) -> Recovered:
        # Lagrangian: C* v'(s) + multiplier = 0, and theta = -2 C* v'.
        theta = current.repair(2.0 * np.asarray(constraints["square"].dual_value)) if k else np.zeros(0)
        theta, beta = current.best_inwards(theta, np.asarray(constraints["margin"].dual_value) / current.weights)
        w, spread, trace = current.point_of(np.asarray(M.value)[: r + 1, : r + 1])
        weights = current.expand(w)
        variables = {"w": weights, "f": current.obj.decisions_at(weights)}
        variables.update(theta=current.over_unlabeled(theta), beta=beta)
        return Recovered(variables, current.prove(w, spread, trace, theta, beta))

    return BuiltProblem(
        name="S3VM relaxation",
        problem=cp.Problem(cp.Minimize(value), list(constraints.values())),
        objective=relaxation,
        variables=variables,
        constraints=constraints,
        recover=recover,
    )


@singledispatch
def _relaxed(loss: Any, relaxation: S3VMRelaxation, s: cp.Expression) -> cp.Expression:
    """v(s), convex and decreasing."""
    slack = cp.pos(1 - cp.sqrt(s))
    return slack if relaxation.minorant.branch.box_dual else cp.square(slack)


@_relaxed.register
def _(loss: ExpSquared, relaxation: S3VMRelaxation, s: cp.Expression) -> cp.Expression:
    return cp.exp(-loss.s * s)
