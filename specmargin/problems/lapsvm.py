r"""LapSVM and LapRLS as CVXPY problems: the dual QP of the papers, and the primal.

The dual (eq. 6 of the primal paper) lives on the labelled samples only,

    max_beta  sum_i beta_i - 1/2 beta'Q beta   s.t.  y'beta = 0,  0 <= beta <= 1,
    Q = Y J K (2 gamma_A I + 2 gamma_I L K)^-1 J'Y,  alpha = (2 gamma_A I + 2 gamma_I L K)^-1 J'Y beta,

for the hinge; other losses change its concave terms and bounds. Q = Y G Y / 2 with the deformed kernel G of
`specmargin.objectives.LapSVM`. The intercept is the multiplier of the balance constraint.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from cvxproof.conic.compiling import ParametrizedProblem
from specmargin.labels import Targets
from specmargin.objectives import LapRLS, LapSVM
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import (
    as_cvxpy,
    conjugate_as_cvxpy,
    decisions_from_duals,
    expansion_of,
    has_conjugate,
    root_of,
    semidefinite_form,
)
from specmargin.problems.relabel import LabelData
from specmargin.typing import AnyArray, FloatArray

__all__ = ["lapsvm_dual", "lapsvm_primal", "lapsvm_problem"]

_ENOUGH = 1e-8
"""Relative gap at which no better bound is looked for."""


def lapsvm_problem(obj: LapSVM) -> BuiltProblem:
    """Build the dual where CVXPY knows the dual value of the loss, else the primal.

    Parameters
    ----------
    obj : LapSVM or LapRLS
        Objective with any convex loss that has a CVXPY expression (`specmargin.problems.as_cvxpy`).

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> obj = sm.objectives.LapSVM(np.eye(3), None, sm.encode_labels([0, 1, -1]), loss="huber_hinge")
    >>> lapsvm_problem(obj).name
    'LapSVM dual'
    """
    return lapsvm_dual(obj) if has_conjugate(obj.loss) else lapsvm_primal(obj)


def lapsvm_dual(obj: LapSVM) -> BuiltProblem:
    """Build the dual QP over the multipliers of the labelled samples.

    Variable ``beta`` (l,); constraints ``balance`` (with an intercept), ``nonnegative`` and ``box`` (as far as the
    loss bounds beta; the multipliers of ``box`` are the hinge's slacks xi);
    parameter ``gamma_A``: assign it to walk along a path on which gamma_I / gamma_A stays as it is. The result
    adds ``alpha`` (n,), ``b`` and ``f`` (n,).

    Parameters
    ----------
    obj : LapSVM
        The objective, with any convex loss that is registered in `specmargin.problems.conjugate_as_cvxpy`.

    Returns
    -------
    BuiltProblem

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, eq. 6 (the published text has lost a
    sign and the factor 1/2).

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> X, y = sm.datasets.make_two_moons(n_samples=40, random_state=0)
    >>> y = sm.hide_labels(y, per_class=2, random_state=0)
    >>> L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    >>> obj = sm.objectives.LapSVM(sm.kernels.gram(X, gamma=4.0), L, sm.encode_labels(y), gamma_A=0.01, gamma_I=1.0)
    >>> built = sm.problems.lapsvm_dual(obj)
    >>> sorted(built.constraints), sm.solve(built).certificate.is_optimal(1e-6)
    (['balance', 'box', 'nonnegative'], True)
    """
    loss, y = obj.margin_loss, obj.labels.sign
    G = obj.reduction.G
    beta = cp.Variable(len(y), name="beta")
    gamma_A = cp.Parameter(nonneg=True, value=obj.gamma_A, name="gamma_A")
    # G scales with 1/gamma_A as long as the ratio of the gammas stays: DPP needs the quotient as a parameter.
    shrink = cp.CallbackParam(lambda: obj.gamma_A / gamma_A.value, nonneg=True, name="shrink")
    constraints: dict[str, Any] = {}
    if obj.fit_intercept:
        constraints["balance"] = y @ beta == 0
    if np.isfinite(loss.lower).all():
        constraints["nonnegative"] = beta >= loss.lower
    if np.isfinite(loss.upper).all():
        constraints["box"] = beta <= loss.upper
    value = cp.sum(conjugate_as_cvxpy(loss, beta)) - 0.5 * shrink * semidefinite_form(y[:, None] * (G / 2) * y, beta)
    if (offset := obj.slack_at_zero - 1.0).any():  # slacks count from the targets of LapRLS
        value = value + offset @ beta

    def recover(current: LapSVM) -> Recovered:
        reduction = current.reduction
        theta = current.repair_multipliers(y * beta.value)
        b = float(constraints["balance"].dual_value) / current.scale if current.fit_intercept else 0.0
        expansions = [theta / 2]
        if loss.box_dual:
            f = decisions_from_duals(y, constraints["box"].dual_value, constraints["nonnegative"].dual_value)
            expansions.append(expansion_of(reduction.G, f - b, theta / 2))
        exact, *_ = candidates = [reduction.coefficients(v) for v in expansions]
        points = [(candidate, current.best_intercept(candidate, b)) for candidate in candidates]
        points.append((np.zeros_like(exact), current.constant()))  # rounding may leave nothing better
        # Rounding included: where terms of 1e20 cancel, a value alone may say anything.
        proved = [(current.prove(*point, theta, a=exact), *point) for point in points]
        certificate, alpha, b = min(proved, key=lambda one: one[0].primal_objective + one[0].rounding)
        variables = {"beta": y * theta, "alpha": alpha, "b": np.asarray(b), "f": current.decisions_at(alpha, b)}
        return Recovered(variables, certificate)

    def update(objective: LapSVM, values: dict[str, float]) -> LapSVM:
        ratio = objective.gamma_I / objective.gamma_A
        return replace(objective, gamma_A=values["gamma_A"], gamma_I=ratio * values["gamma_A"])

    return BuiltProblem(
        name=f"{obj.name} dual",
        problem=cp.Problem(cp.Maximize(obj.scale * value), list(constraints.values())),
        objective=obj,
        variables={"beta": beta},
        parameters={"gamma_A": gamma_A},
        constraints=constraints,
        recover=recover,
        update=update,
    )


def lapsvm_primal(obj: LapSVM) -> BuiltProblem:
    """Build the primal over the decisions.

    With K = R R' (numerical rank r) the samples have features R, and f = R w + b with
    alpha'K alpha = w'w, alpha'K L K alpha = w'(R'L R)w, R turned so that R'L R is diagonal.
    Variables ``w`` (r,), ``b`` and the margins ``t`` (l,); constraint ``margin`` says t = y f_lab, its multiplier is
    beta; parameters ``gamma_A``, ``gamma_I``. The result adds ``alpha`` (n,), ``f`` (n,) and ``beta`` (l,).

    Parameters
    ----------
    obj : LapSVM
        The objective, with any convex loss that is registered in `specmargin.problems.as_cvxpy`.

    Returns
    -------
    BuiltProblem

    References
    ----------
    Melacci & Belkin, eqs. 4, 7 and 14. Meant as an oracle and for teaching: it factorises K, O(n^3).

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> obj = sm.objectives.LapSVM(np.eye(3), None, sm.encode_labels([0, 1, -1]), loss="squared", gamma_A=1.0)
    >>> sm.solve(sm.problems.lapsvm_primal(obj)).variables["f"].round(6).tolist()
    [-0.5, 0.5, 0.0]
    """
    data = _label_data(obj)
    R, inverse = root_of(np.asarray(obj.K.toarray() if sp.issparse(obj.K) else obj.K))
    rates, turn = np.zeros(R.shape[1]), np.eye(0)
    if obj.L is not None:  # a diagonal quadratic form: that is where solvers of cones are fast
        rates, turn = np.linalg.eigh(R.T @ (obj.L @ R))
        R, rates = R @ turn, np.maximum(rates, 0.0)
    w = cp.Variable(R.shape[1], name="w")
    b = cp.Variable(name="b")
    t = cp.Variable(obj.labels.n_labeled, name="t")
    gamma_A = cp.Parameter(nonneg=True, value=obj.gamma_A, name="gamma_A")
    gamma_I = cp.Parameter(nonneg=True, value=obj.gamma_I, name="gamma_I")
    rows = data.parameter("rows", lambda now: now.labels.sign[:, None] * R[now.labels.labeled])
    margin = rows @ w + data.signs * b - t
    offset: Any = 0  # of LapRLS slacks count from its targets: t = 1 - (z - f) has the loss (z - f)^2
    if isinstance(obj, LapRLS):
        offset = data.parameter("offset", lambda now: now.slack_at_zero - 1.0)
    constraints: dict[str, Any] = {"margin": margin == offset}
    if not obj.fit_intercept:
        constraints["no_intercept"] = b == 0
    losses = as_cvxpy(obj.loss, t)
    expressions = {
        "decisions": R @ w + b,
        "margins": t,
        "loss": cp.sum(losses) if data.weights is None else data.weights @ losses,
        "norm": cp.sum_squares(w),
    }
    value = expressions["loss"] + gamma_A * expressions["norm"]
    if obj.L is not None:
        expressions["smoothness"] = rates @ cp.square(w)
        value = value + gamma_I * expressions["smoothness"]

    def expansion(weights: FloatArray) -> FloatArray:
        return np.asarray(inverse @ (weights if obj.L is None else turn @ weights))

    def derived(current: LapSVM) -> dict[str, AnyArray]:
        alpha = expansion(w.value)
        return {"alpha": alpha, "f": current.decisions_at(alpha, float(b.value))}

    def recover(current: LapSVM) -> Recovered:
        alpha = expansion(w.value)
        offset = current.best_intercept(alpha, float(b.value)) if current.fit_intercept else 0.0
        y = current.labels.sign
        theta = -y * np.asarray(constraints["margin"].dual_value) / current.scale
        f = current.decisions_at(alpha, offset)
        half = current.repair_multipliers(theta) / 2
        # The alpha of these multipliers, on the features: no system of all samples is solved where that is enough.
        charge, image = current.gamma_A + current.gamma_I * rates, R[current.labels.labeled].T @ half
        of_features = expansion(np.divide(image, charge, out=np.zeros(len(charge)), where=charge > 0))
        certificate = current.prove(alpha, offset, theta, a=of_features, thorough=False)
        if not certificate.relative_gap <= _ENOUGH:
            exact = current.prove(alpha, offset, theta, a=current.reduction.coefficients(half))
            certificate = min(certificate, exact, key=lambda one: abs(one.gap))
        variables = {"alpha": alpha, "b": np.asarray(offset), "f": f, "beta": y * theta}
        return Recovered(variables, certificate)

    return BuiltProblem(
        name=f"{obj.name} primal",
        problem=ParametrizedProblem(cp.Minimize(obj.scale * value), list(constraints.values())),
        objective=obj,
        variables={"w": w, "b": b, "t": t},
        parameters={"gamma_A": gamma_A, "gamma_I": gamma_I} if obj.L is not None else {"gamma_A": gamma_A},
        constraints=constraints,
        recover=recover,
        derived=derived,
        expressions=expressions,
        label_data=data,
    )


def _label_data(obj: LapSVM) -> LabelData:
    """Return what labels decide; of `LapRLS` labels are targets."""
    if not isinstance(obj, LapRLS):
        return LabelData(obj)

    def relabelled(objective: LapRLS, given: Targets) -> LapRLS:
        return objective.with_(labeled=given.labeled, targets=given.values, weights=given.weights)

    return LabelData(obj, relabelled, Targets)
