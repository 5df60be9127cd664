"""A sum of terms as one CVXPY problem, over the functions of a problem that is built already."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

from cvxproof.conic.values import parts_of
from specmargin.exceptions import InvalidInputError
from specmargin.kernels.semidefinite import require_semidefinite
from specmargin.labels import Labels, several
from specmargin.losses import MarginLoss
from specmargin.losses.weighted import Weighted
from specmargin.problems.base import BuiltProblem
from specmargin.problems.expressions import as_cvxpy, semidefinite_form
from specmargin.typing import SparseArray

__all__ = ["composed"]

_OF_THE_LOSS = {"labeled", "margin", "fit", "upper", "lower", "xi", "t"}
"""Constraints and variables that say what the loss of a builder is: another loss leaves nothing for them to do."""


def composed(
    space: BuiltProblem,
    labels: Labels,
    losses: Sequence[tuple[MarginLoss, float]],
    norm: float,
    bound: float = math.inf,
    L: Any = None,
    variations: Sequence[tuple[SparseArray, float]] = (),
) -> BuiltProblem:
    """Build the sum of losses, norm, smoothness and total variations over the functions of a built problem.

    Its objective is that sum, in no other units than those of its terms. `expressions` has each of its parts.

    Parameters
    ----------
    space : BuiltProblem
        A primal form, whose functions and norm are taken; its loss is not.
    labels : Labels
        Binary labels.
    losses : sequence of (MarginLoss, float)
        Losses and their weights.
    norm : float
        Weight of ``space.expressions["norm"]``.
    bound : float, default inf
        Bound on the decisions of the labelled samples.
    L : matrix-like of shape (n, n), optional
        Laplacian g'L g is added, with g the decisions less their intercept.
    variations : sequence of (sparse matrix, float)
        Adjacencies W and weights of their sum over edges of w_ij |f_i - f_j|.

    Returns
    -------
    BuiltProblem

    Raises
    ------
    ValueError
        If there are more than two classes, or L has a negative eigenvalue.

    Examples
    --------
    >>> import specmargin as sm
    >>> labels = sm.encode_labels([0, 1, -1])
    >>> space = sm.problems.lapsvm_primal(sm.objectives.LapSVM(np.eye(3), None, labels))
    >>> built = composed(space, labels, [(sm.losses.Hinge(), 1.0), (sm.losses.Squared(), 0.5)], norm=0.5)
    >>> round(sm.solve(built).certificate.primal_objective, 6)
    1.0
    """
    if not labels.is_binary:
        raise InvalidInputError(f"a sum of terms takes binary labels, not {several(labels)}.")
    f = space.expressions["decisions"]
    observed = f[labels.labeled]
    t = cp.multiply(labels.sign, observed)
    charged = [
        weight * cp.sum(as_cvxpy(loss if labels.weights is None else Weighted(loss, labels.weights), t))
        for loss, weight in losses
    ]
    parts = {"loss": sum(charged), "norm": norm * space.expressions["norm"]}
    if L is not None:
        dense = np.asarray(L @ np.eye(labels.n_samples))
        require_semidefinite(dense, name="L")
        parts["smoothness"] = semidefinite_form(dense, f - space.variables["b"])
    edges = [(sp.coo_array(sp.triu(W)), weight) for W, weight in variations]
    if edges := [one for one in edges if one[0].nnz]:  # CVXPY takes no empty part
        parts["variation"] = sum(weight * (W.data @ cp.abs(f[W.coords[0]] - f[W.coords[1]])) for W, weight in edges)
    constraints = {label: held for label, held in space.constraints.items() if label not in _OF_THE_LOSS}
    if math.isfinite(bound):
        constraints |= {"upper": observed <= bound, "lower": observed >= -bound}
    return replace(
        space,
        problem=cp.Problem(
            cp.Minimize(sum(parts.values())), [one for held in constraints.values() for one in parts_of(held)]
        ),
        variables={symbol: one for symbol, one in space.variables.items() if symbol not in _OF_THE_LOSS},
        constraints=constraints,
        parameters={},
        expressions={**space.expressions, "decisions": f, "margins": t, **parts},
    )
