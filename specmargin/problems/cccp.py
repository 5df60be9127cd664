r"""One round of the concave-convex procedure for S3VMs as a CVXPY problem.

    min_w  1/2 w'Pw + C sum_lab V(y_i f_i) + C* sum_unl [V(f_j) + V(-f_j)] + sum_unl beta_j f_j,   f = A w + offset,

where beta holds the tangent of the concave half of the unlabelled losses (`specmargin.solvers.cccp` says which). beta
is a `cvxpy.Parameter`: assign the next one and solve again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cvxpy as cp
import numpy as np

from cvxproof.conic.compiling import ParametrizedProblem
from specmargin.exceptions import InvalidInputError
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.weighted_svm import WeightedSVM
from specmargin.problems.base import BuiltProblem, Recovered
from specmargin.problems.expressions import as_cvxpy
from specmargin.typing import FloatArray

__all__ = ["cccp_subproblem"]


@dataclass(frozen=True, eq=False, repr=False)
class _Round(BuiltProblem):
    """The convex problem of a round, whose parameter beta is a vector: one number per unlabelled sample."""

    def current_objective(self) -> Any:
        beta = self.parameters["beta"].value
        if beta is None:
            raise InvalidInputError("the parameter 'beta' has no value; assign built.parameters['beta'].value.")
        return self.update(self.objective, {"beta": beta})


def cccp_subproblem(obj: S3VM, beta: FloatArray) -> BuiltProblem:
    """Build the convex SVM of one round.

    Variables ``w`` (size,) and ``t`` (l + 2u,), the margins of the labelled samples, then of the unlabelled ones as
    positive, then as negative; constraint ``margin`` says what they are, its multipliers over the weights are those of
    `WeightedSVM.dual_bound`; parameter ``beta`` (u,). The result adds ``f`` (n,).

    Parameters
    ----------
    obj : S3VM
        Objective with a convex loss V, which is taken at both labels of the unlabelled samples.
    beta : ndarray of shape (u,)
        Weights of the unlabelled decisions: C* where the label -1 is guessed, -C* where +1 is, for the hinge.

    Returns
    -------
    BuiltProblem
        Its objective is the `WeightedSVM` of the round.

    References
    ----------
    Collobert, Sinz, Weston & Bottou, Large scale transductive SVMs, JMLR 7, 2006, algorithm 2 (there as the dual).

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> obj = S3VM(X, sm.encode_labels([0, -1, -1, -1, -1, 1]), "hinge", C=10.0)
    >>> built = cccp_subproblem(obj, np.array([10.0, 10.0, -10.0, -10.0]))
    >>> sm.solve(built).variables["f"].round(6).tolist()
    [-2.0, -1.0, -1.5, 1.0, 1.5, 2.0]
    """
    beta = np.asarray(beta, dtype=float)
    u = len(obj.unlabeled)
    if u == 0:
        raise InvalidInputError("there are no unlabelled samples, so that the objective is convex as it is.")
    if beta.shape != (u,) or not np.isfinite(beta).all():
        raise InvalidInputError(f"beta must hold {u} finite numbers, one per unlabelled sample.")
    labeled, unlabeled, y = obj.labels.labeled, obj.unlabeled, obj.labels.sign
    loss: Any = obj.loss
    both = obj.guessed(np.zeros(u), 2.0 * obj.C_star)
    rows = np.concatenate([labeled, unlabeled, unlabeled])
    side = np.concatenate([y, np.ones(u), -np.ones(u)])
    weights = np.where(side > 0, both.plus[rows], both.minus[rows])
    guessed = slice(len(y), len(y) + u)

    A = obj.features.dense()[rows]
    w, t = cp.Variable(obj.size, name="w"), cp.Variable(len(rows), name="t")
    parameter = cp.Parameter(u, value=beta, name="beta")
    constraints = {"margin": cp.multiply(side, A @ w + obj.features.offset) - t == 0}
    penalty = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(obj.features.weights), w))
    value = penalty + weights @ as_cvxpy(loss, t) + parameter @ t[guessed]

    def recover(current: WeightedSVM) -> Recovered:
        point = np.asarray(w.value)
        # Stationarity in t: weights V'(t) + beta - (multiplier) = 0, and theta is -V'.
        charged = -np.asarray(constraints["margin"].dual_value)
        charged[guessed] += parameter.value
        theta = np.divide(charged, weights, out=np.zeros_like(charged), where=weights > 0)
        theta = np.clip(theta, loss.lower, loss.upper)
        plus, minus = np.zeros(current.features.n_samples), np.zeros(current.features.n_samples)
        plus[rows[side > 0]], minus[rows[side < 0]] = theta[side > 0], theta[side < 0]
        f = current.features.decisions(point)
        return Recovered({"f": f}, current.prove(point, plus, minus), {"plus": plus, "minus": minus})

    def update(svm: WeightedSVM, values: dict[str, Any]) -> WeightedSVM:
        linear = np.zeros(svm.features.n_samples)
        linear[unlabeled] = values["beta"]
        return svm.with_(linear=linear)

    return _Round(
        name="CCCP round",
        problem=ParametrizedProblem(cp.Minimize(value), list(constraints.values())),
        objective=update(both, {"beta": beta}),
        variables={"w": w, "t": t},
        parameters={"beta": parameter},
        constraints=constraints,
        recover=recover,
        expressions={"decisions": obj.features.dense() @ w + obj.features.offset, "margins": t, "norm": penalty},
        derived=lambda current: {"f": current.features.decisions(np.asarray(w.value))},
        update=update,
        has_optimum=obj.features.penalty != 0.0,  # a linear term may outweigh the losses
    )
