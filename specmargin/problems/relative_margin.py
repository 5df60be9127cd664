"""The relative margin machine on a given kernel, and with B = inf the SVM, as the dual of eq. 6.

max_{alpha, beta, eta}  -1/2 gamma'K gamma + alpha'1 - B (beta'1 + eta'1)
s.t.  1'gamma = 0,  0 <= alpha <= C,  beta >= 0,  eta >= 0,      gamma = Y alpha - beta + eta.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from specmargin.objectives import RMM
from specmargin.problems._over_cone import multipliers_of, parameters_of, with_bounds
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import costs, decisions_from_duals, expansion_of, root_of, semidefinite_form
from specmargin.typing import AnyArray

__all__ = ["rmm", "rmm_primal"]


def rmm(obj: RMM) -> BuiltProblem:
    """Build the dual QP of the relative margin machine.

    Variables ``alpha``, ``beta``, ``eta`` (l,; the latter two where B is finite); constraints ``balance`` (its
    multiplier is the intercept), ``box`` and ``nonnegative``; parameters ``C`` and, where finite, ``B``. The result
    adds ``gamma`` (l,), ``b`` and ``f`` (l,), the decisions K gamma + b of the labelled samples.

    Parameters
    ----------
    obj : RMM
        The objective on the labelled samples' Gram matrix.

    Returns
    -------
    BuiltProblem

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eqs. 5 and 6.

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> obj = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0, B=1.5)
    >>> sm.solve(sm.problems.rmm(obj)).variables["f"].round(4).tolist()
    [-1.5, -0.9, 0.3, 1.5]
    """
    y, parameters = obj.labels.sign, parameters_of(obj)
    gamma, value, variables, constraints = multipliers_of(obj, parameters["C"], parameters.get("B"))

    def recover(current: RMM) -> Recovered:
        candidate, b = np.asarray(gamma.value), float(constraints["balance"].dual_value)
        f = decisions_from_duals(y, constraints["box"].dual_value, constraints["nonnegative"].dual_value)
        expansion = expansion_of(current.K, f - b, candidate)
        certificate, feasible, offset = current.repaired(candidate, b, expansion)
        variables = {"gamma": feasible, "b": np.asarray(offset), "f": current.K @ feasible + offset}
        return Recovered(variables, certificate, {"gamma": current.loss.repair_multipliers(y, candidate)})

    return BuiltProblem(
        name="RMM" if "B" in parameters else "SVM",
        problem=cp.Problem(
            cp.Maximize(value - 0.5 * semidefinite_form(obj.K, gamma)),
            list(constraints.values()),
        ),
        objective=obj,
        variables=variables,
        parameters=parameters,
        constraints=constraints,
        recover=recover,
    )


def rmm_primal(obj: RMM) -> BuiltProblem:
    """Build the primal of the relative margin machine over the decisions of the labelled samples (eq. 5).

    With K = R R' of numerical rank r, f = R w + b. Variables ``w`` (r,), ``b`` and ``xi`` (l,), the slacks; constraints
    ``margin`` and, where B is finite, ``upper`` and ``lower``; parameters as those of `rmm`. Expressions ``decisions``
    (l,) and ``coefficients`` (l,), the gamma with f = K gamma + b, from which decisions of other samples follow. The
    result adds ``gamma`` and ``f``.

    Parameters
    ----------
    obj : RMM
        The objective on the labelled samples' Gram matrix.

    Returns
    -------
    BuiltProblem

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eq. 5.

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> obj = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0, B=1.5)
    >>> sm.solve(sm.problems.rmm_primal(obj)).variables["f"].round(4).tolist()
    [-1.5, -0.9, 0.3, 1.5]
    """
    y, parameters = obj.labels.sign, parameters_of(obj)
    R, inverse = root_of(obj.K)
    w, b = cp.Variable(R.shape[1], name="w"), cp.Variable(name="b")
    xi = cp.Variable(len(y), name="xi", nonneg=True)
    f = R @ w + b
    margins = cp.multiply(y, f)
    constraints = {"margin": margins + xi >= 1}
    if "B" in parameters:
        constraints["upper"], constraints["lower"] = f <= parameters["B"], f >= -parameters["B"]
    expressions = {
        "decisions": f,
        "coefficients": inverse @ w,
        "margins": margins,
        "loss": cp.sum(xi),
        "norm": cp.sum_squares(w),
    }

    def derived(current: RMM) -> dict[str, AnyArray]:
        gamma = inverse @ w.value
        return {"gamma": gamma, "f": current.K @ gamma + b.value}

    def recover(current: RMM) -> Recovered:
        gamma = with_bounds(y * np.asarray(constraints["margin"].dual_value), constraints)
        certificate, feasible, offset = current.repaired(gamma, float(b.value), inverse @ w.value)
        variables = {"gamma": feasible, "b": np.asarray(offset), "f": current.K @ feasible + offset}
        return Recovered(variables, certificate, {"gamma": current.loss.repair_multipliers(y, gamma)})

    return BuiltProblem(
        name=f"{'RMM' if 'B' in parameters else 'SVM'} primal",
        problem=cp.Problem(
            cp.Minimize(0.5 * expressions["norm"] + cp.sum(cp.multiply(costs(parameters["C"], obj.labels), xi))),
            list(constraints.values()),
        ),
        objective=obj,
        variables={"w": w, "b": b, "xi": xi},
        parameters=parameters,
        constraints=constraints,
        recover=recover,
        derived=derived,
        expressions=expressions,
    )
