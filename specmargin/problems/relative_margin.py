"""The relative margin machine on a given kernel, and with B = inf the SVM, as the dual of eq. 6.

max_{alpha, beta, eta}  -1/2 gamma'K gamma + alpha'1 - B (beta'1 + eta'1)
s.t.  1'gamma = 0,  0 <= alpha <= C,  beta >= 0,  eta >= 0,      gamma = Y alpha - beta + eta.
"""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives import RMM
from specmargin.problems._over_cone import multipliers_of, parameters_of
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import decisions_from_duals, expansion_of, squares
from specmargin.problems.relabel import LabelData

__all__ = ["rmm"]


def rmm(obj: RMM) -> BuiltProblem:
    """Build the dual QP of the relative margin machine.

    Variables ``alpha``, ``beta``, ``eta`` (l,; the latter two where B is finite); constraints ``balance`` (its
    multiplier is the intercept), ``box``, ``nonnegative`` and ``expansion`` (what gamma is); parameters ``C`` and,
    where finite, ``B``. The result adds ``gamma`` (l,), ``b`` and ``f`` (l,), the decisions K gamma + b of the labelled
    samples.

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
    parameters, data = parameters_of(obj), LabelData(obj, relabelled=_relabelled)
    gamma, value, variables, constraints = multipliers_of(data, parameters["C"], parameters.get("B"))
    # A quadratic form of signs that are parameters is none that CVXPY compiles once; one of a variable is.
    coefficients = cp.Variable(obj.labels.n_labeled, name="coefficients")
    constraints["expansion"] = gamma - coefficients == 0

    def recover(current: RMM) -> Recovered:
        candidate, b = np.asarray(gamma.value), float(constraints["balance"].dual_value)
        y = current.labels.sign
        f = decisions_from_duals(y, constraints["box"].dual_value, constraints["nonnegative"].dual_value)
        expansion = expansion_of(current.K, f - b, candidate)
        certificate, feasible, offset = current.repaired(candidate, b, expansion)
        variables = {"gamma": feasible, "b": np.asarray(offset), "f": current.K @ feasible + offset}
        return Recovered(variables, certificate, {"gamma": current.loss.repair_multipliers(y, candidate)})

    return BuiltProblem(
        name="RMM" if "B" in parameters else "SVM",
        problem=cp.Problem(
            cp.Maximize(value - 0.5 * squares(obj.K, coefficients)),
            list(constraints.values()),
        ),
        objective=obj,
        variables=variables,
        parameters=parameters,
        constraints=constraints,
        recover=recover,
        label_data=data,
    )


def _relabelled(objective: RMM, labels: Labels) -> RMM:
    if not np.array_equal(labels.labeled, objective.labels.labeled):
        raise InvalidInputError(
            f"the labels are of other samples than the kernel of {objective.name}, which is that of the labelled ones: "
            "relabel these, or build it anew with the kernel of the others."
        )
    return objective.with_(labels=labels)
