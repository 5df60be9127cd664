"""Conjugate gradients of the primal-LapSVM paper from iteration to iteration: figures 5 to 11, 13 and 14."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reproduction.papers._protocols.melacci_belkin_fits import Setting, problem
from reproduction.tasks import Task
from specmargin.objectives import LapSVM
from specmargin.solvers import factorized
from specmargin.solvers.manifold.pcg import pcg_one_vs_rest
from specmargin.typing import FloatArray

QUANTITIES = ("objective", "gradient", "preconditioned_gradient", "mixed_product")
"""What conjugate gradients write down at every iteration."""


class Iterates(NamedTuple):
    """What becomes of conjugate gradients from iteration to iteration.

    Parameters
    ----------
    errors : ndarray of shape (checkpoints, 4)
        Errors in percent on L, U, V and T.
    exact : ndarray of shape (4,)
        Those of the exact solution.
    quantities : list of ndarray of shape (4, iterations)
        One array for each class: the objective above its optimum, and the norms of the gradient, of the preconditioned
        gradient and of their mixed product, all over their values at the start.
    gap : float
        Worst relative gap of an exact solution.
    """

    errors: FloatArray
    exact: FloatArray
    quantities: list[FloatArray]
    gap: float


def iterates(task: Task, split: str, setting: Setting, checkpoints: Sequence[int]) -> Iterates:
    """Follow conjugate gradients on one split of a task, for LapSVM with the squared hinge."""
    shared = problem(task, split)
    K, L, labels = shared.training
    obj = LapSVM(K, L, next(labels.one_vs_rest()), "squared_hinge", *setting, fit_intercept=False)
    exact = [factorized(one) for one in obj.one_vs_rest(labels)]
    errors = []
    for t in checkpoints:
        results = pcg_one_vs_rest(obj, labels, tol=0.0, max_iter=t)
        errors.append(list(shared.errors(results).values()))
    quantities = []
    for result, optimum in zip(results, exact, strict=True):
        columns = np.array([result.history[name] for name in QUANTITIES])
        columns[0] -= optimum.certificate.primal_objective
        quantities.append(np.maximum(columns / columns[:, :1], 0.0))
    gap = max(result.certificate.relative_gap for result in exact)
    return Iterates(np.array(errors), np.array(list(shared.errors(exact).values())), quantities, gap)
