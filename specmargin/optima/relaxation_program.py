r"""The semidefinite relaxation of S3VMs as a CVXPY problem: a lower bound on their global optimum.

    min  1/2 tr W + C sum V(t_i) + C* sum v(s_j)
    s.t. [[1, w'], [w, W]] >= 0,   t_i = y_i (z_i'w + b),   s_j = z_j'W z_j + 2 b z_j'w + b^2

with U(f) = v(f^2) the loss of unlabelled samples, z the coordinates of the samples in an orthonormal basis of their
span, and b the fixed offset (`specmargin.optima.S3VMRelaxation`). One semidefinite cone of rank + 1 rows.

The multipliers of `square` and `margin` are the theta and beta of the dual. The answer's ``dual_objective`` is computed
from *them*, repaired, with a margin for rounding: the value that a solver reports is no bound (SCS at its default
accuracy may well report one above the optimum of J).

**With cuts** the squared hinge is relaxed in x, decision plus signed slack, of which J is a quadratic (`specmargin.
optima.branch_and_bound`): with X the moments of (x, 1), Q = A A' + diag(1 / 2C_i), b the offset,

    min  1/2 <Q^-1, X - b (x 1' + 1 x') + b^2 1 1'>   s.t.  X >= 0,  X_jj >= 1 (unlabelled),  y_i x_i >= 1 (labelled).

Points that are better than a level have |x_j - b| <= sqrt(2 level Q_jj): the products of two sides of this box, and of
labels, are not negative there, and linear in X. So are, at all |x| >= 1, the triangle inequalities of the cut polytope
with the squares added: (a x_i + b x_j + c x_k)^2 + x_i^2 + x_j^2 + x_k^2 >= 4 for signs a, b, c.
"""

from __future__ import annotations

from functools import singledispatch
from itertools import combinations
from typing import Any, Literal

import cvxpy as cp
import numpy as np

from specmargin.checks import checked, instance
from specmargin.exceptions import InvalidInputError
from specmargin.losses import ExpSquared
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.s3vm_slack import has_slacks, slack_costs
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import as_cvxpy
from specmargin.results import Certificate

__all__ = ["s3vm_relaxation"]


@checked(obj=instance((S3VM, S3VMRelaxation), "pass specmargin.objectives.S3VM(X, labels)"))
def s3vm_relaxation(
    obj: S3VM | S3VMRelaxation,
    *,
    cuts: Literal["diagonal", "products", "triangles"] | None = None,
    level: float = np.inf,
) -> BuiltProblem:
    """Build the semidefinite relaxation of an S3VM.

    Variables ``M`` (rank + 1, rank + 1), the matrix [[1, w'], [w, W]], ``s`` (u,) and ``t`` (l,); constraints ``psd``,
    ``corner`` (M_00 = 1), ``square`` (of s) and ``margin`` (of t). The result adds ``theta`` (u,), ``beta`` (l,),
    ``w`` (size,) and ``f`` (n,).

    Parameters
    ----------
    obj : S3VM or S3VMRelaxation
        The relaxation of an S3VM, or a relaxation some of whose labels are decided.
    cuts : {"diagonal", "products", "triangles"}, optional
        The relaxation in x, of squared hinges, with (x_j - low_j)(high_j - x_j) >= 0 for the box of a level, with the
        four products of the sides of any two samples as well, or also with all triangle inequalities. Its variable is
        ``V`` (n + 1, n + 1), moments of (v, 1) with x = b + F v, F F' = Q; constraints are ``psd``, ``corner``,
        ``square``, ``margin``, ``balance`` (on slack), ``diagonal``, ``products`` and ``triangles``.
    level : float, default inf
        Value of J that a better point would have to be below. With cuts the minimum of J is at least the smaller one of
        the level and the bound.

    Returns
    -------
    BuiltProblem
        Solved, its certificate is that of the *relaxation*: ``dual_objective`` is the lower bound on J, proved from
        the repaired multipliers, and the gap tells how well the relaxation was solved. With cuts it is that of the cone
        program.

    Raises
    ------
    ValueError
        If the intercept is free (the relaxation is unbounded), or for losses that it does not cover; for cuts without a
        finite level.

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
    >>> level = obj.value_at(result.variables["w"])
    >>> tight = sm.solve(s3vm_relaxation(obj, cuts="products", level=level))
    >>> tight.certificate.dual_objective >= result.certificate.dual_objective - 1e-6
    True
    """
    if cuts is not None:
        return _in_margin_space(obj, cuts, level)
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
    if not loss.convex_in_square:
        raise InvalidInputError(f"{loss!r} has no CVXPY form here; optima.s3vm_bound takes it.")
    slack = cp.pos(1 - cp.sqrt(s))
    return slack if relaxation.minorant.branch.box_dual else cp.square(slack)


@_relaxed.register
def _(loss: ExpSquared, relaxation: S3VMRelaxation, s: cp.Expression) -> cp.Expression:
    return cp.exp(-loss.s * s)


def _in_margin_space(obj: S3VM | S3VMRelaxation, cuts: str, level: float) -> BuiltProblem:
    """Build the relaxation in x with the products of the box of a level."""
    if type(obj) is S3VM and obj.count is not None:
        obj.require_weights()
    if type(obj) is not S3VM or not has_slacks(obj) or not 0 < level < np.inf:
        raise InvalidInputError(
            f"cuts={cuts!r} are for an S3VM with squared hinges, C_star > 0 and a finite level > 0, the best J that is "
            f"known, not for {type(obj).__name__} with {getattr(obj, 'unlabeled_loss', None)!r} and level={level!r}."
        )
    if cuts not in ("diagonal", "products", "triangles"):
        raise InvalidInputError(f"cuts={cuts!r} is unknown; take 'diagonal', 'products' or 'triangles'.")
    A, n, known, free = obj.features.dense(), obj.features.n_samples, obj.labels.labeled, obj.unlabeled
    b = 0.0 if obj.features.penalty is not None else obj.features.offset
    Q = A @ A.T + np.diag(0.5 / slack_costs(obj))
    U = np.block([[np.linalg.cholesky(Q), np.full((n, 1), b)], [np.zeros((1, n)), np.ones((1, 1))]])
    radius = np.sqrt(2.0 * level * Q.diagonal())
    low, high = np.where(b - radius > -1.0, 1.0, b - radius), np.where(b + radius < 1.0, -1.0, b + radius)
    low[known] = np.where(obj.labels.sign > 0, 1.0, low[known])
    high[known] = np.where(obj.labels.sign < 0, -1.0, high[known])
    V = cp.Variable((n + 1, n + 1), symmetric=True, name="V")
    X = U @ V @ U.T
    x, squares = X[:n, n], cp.diag(X)[:n]
    constraints: dict[str, Any] = {"psd": V >> 0, "corner": V[n, n] == 1}
    constraints["square"] = squares[free] >= 1
    constraints["margin"] = cp.multiply(obj.labels.sign, x[known]) >= 1
    if obj.total is not None:
        constraints["balance"] = cp.sum(X[:, free], axis=1) == obj.total * X[:, n]
    base = BuiltProblem(
        name="S3VM relaxation in x",
        problem=cp.Problem(cp.Minimize(0.5 * cp.trace(V[:n, :n])), list(constraints.values())),
        objective=obj,
        variables={"V": V},
        constraints=constraints,
        recover=lambda current: Recovered({}, Certificate(0.5 * float(np.trace(V.value[:n, :n])), -np.inf)),
    )
    more: dict[str, Any] = {"diagonal": cp.multiply(low + high, x) - squares - low * high >= 0}
    if cuts != "diagonal":
        i, j = np.triu_indices(n, 1)
        kinds = ((high, high, 1), (low, low, 1), (low, high, -1), (high, low, -1))
        values = [
            sign * (X[i, j] - cp.multiply(p[i], x[j]) - cp.multiply(q[j], x[i]) + p[i] * q[j]) for p, q, sign in kinds
        ]
        more["products"] = cp.hstack(values) >= 0
    if cuts == "triangles":
        i, j, k = np.array(list(combinations(range(n + 1), 3))).T
        own = cp.diag(X)[i] + cp.diag(X)[j] + cp.diag(X)[k]
        pairs = ((1, 1), (1, -1), (-1, 1), (-1, -1))
        more["triangles"] = cp.hstack([own + a * X[i, j] + b * X[i, k] + a * b * X[j, k] for a, b in pairs]) >= 2
    return base.with_(constraints=more)
