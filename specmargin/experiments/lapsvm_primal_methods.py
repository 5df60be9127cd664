"""The methods of the primal-LapSVM paper's experiment on one split: what they are, and what fitting them shares.

`exact` fits every method that has an exact solution under all gammas of one ratio: one factorisation serves them,
their losses and all classes. `early_stopped` runs conjugate gradients with one stopping rule. `timed` fits a
method from scratch, as it would be fitted alone.

None has an intercept, as in the authors' released code with the normalised Laplacian, against eq. 7: constants are
penalised by that Laplacian, an intercept is not, and with the printed gammas it costs LapSVM four points and more on
g50c. ``lapsvm_newton_intercept`` is there to show it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np

from specmargin.experiments.lapsvm_primal_tasks import Problem
from specmargin.objectives import LapSVM
from specmargin.results import SolveResult
from specmargin.solvers import factorized
from specmargin.solvers.manifold.newton import newton
from specmargin.solvers.manifold.pcg import pcg_one_vs_rest

__all__ = ["EXACT", "METHODS", "RULES", "Fit", "Method", "Setting", "early_stopped", "exact", "timed"]

Setting: TypeAlias = tuple[float, float]
"""gamma_A and gamma_I."""

MAX_ITER = {"safe": 5000}
"""Of conjugate gradients; 200 for the paper's rules, the default of the authors' code."""


@dataclass(frozen=True)
class Method:
    """Loss, whether the graph takes part, the stopping rule of conjugate gradients, the intercept."""

    loss: str
    graph: bool = True
    rule: str | None = None
    fit_intercept: bool = False


METHODS: Mapping[str, Method] = {
    "svm": Method("hinge", graph=False),
    "rls": Method("squared", graph=False),
    "laprls": Method("squared"),
    "lapsvm_dual": Method("hinge"),
    "lapsvm_newton": Method("squared_hinge"),
    "lapsvm_newton_intercept": Method("squared_hinge", fit_intercept=True),
    **{
        f"lapsvm_pcg_{rule}": Method("squared_hinge", rule=rule)
        for rule in ("stability", "validation", "mixed", "safe")
    },
}
"""By the names of the published tables; ``lapsvm_newton_intercept`` and ``lapsvm_pcg_safe`` are not the paper's."""

EXACT = tuple(name for name, method in METHODS.items() if method.rule is None)
RULES = tuple(name for name, method in METHODS.items() if method.rule in ("stability", "validation", "mixed"))
"""Conjugate gradients with the paper's rules."""


class Fit(NamedTuple):
    """Errors in percent on U, V and T; worst relative gap, seconds of all classes, iterations of each."""

    unlabeled: float
    validation: float
    test: float
    relative_gap: float
    seconds: float
    iterations: list[int]


def exact(problem: Problem, settings: Iterable[Setting], names: Sequence[str] = EXACT) -> Iterator[tuple[str, Fit]]:
    """Yield the fits of all exact methods among `names`, setting by setting.

    Parameters
    ----------
    problem : Problem
        Of one split.
    settings : iterable of (gamma_A, gamma_I)
        Of one ratio. With gamma_I = 0 the methods without a graph are fitted, else those with one.
    names : sequence of str
        Of `METHODS`.
    """
    shared: LapSVM | None = None
    for gamma_A, gamma_I in settings:
        shared = (
            _objective(problem, gamma_A, gamma_I) if shared is None else shared.with_(gamma_A=gamma_A, gamma_I=gamma_I)
        )
        for name in names:
            method = METHODS[name]
            if method.rule is None and method.graph == (gamma_I > 0):
                yield name, _exact(problem, shared, method)


def early_stopped(problem: Problem, name: str, setting: Setting) -> Fit:
    """Fit by conjugate gradients, checked every round(sqrt(n) / 2) iterations; V is looked at from outside."""
    rule = METHODS[name].rule
    assert rule is not None
    every, limit = max(1, round(np.sqrt(len(problem.K)) / 2)), MAX_ITER.get(rule, 200)
    if rule in ("validation", "mixed"):
        K, L, labels, validation, known = problem.with_validation
        obj = LapSVM(K, L, next(labels.one_vs_rest()), METHODS[name].loss, *setting, fit_intercept=False)
        results = pcg_one_vs_rest(
            obj, labels, stopping=rule, max_iter=limit, check_every=every, validation=validation, truth=known
        )
    else:
        obj = _objective(problem, *setting, loss=METHODS[name].loss)
        results = pcg_one_vs_rest(obj, problem.labels, stopping=rule, max_iter=limit, check_every=every)
    # The loop of all classes; what comes after it is certificates.
    return _fit(problem, results, results[0].seconds)


def timed(problem: Problem, name: str, setting: Setting) -> Fit:
    """Fit a method from scratch, with the seconds that training takes.

    ``lapsvm_newton`` is the full-space Newton's method here, one class after the other; the classes of all others share
    what they can.
    """
    method = METHODS[name]
    if method.rule is not None:
        return early_stopped(problem, name, setting)
    obj = _objective(problem, *setting, loss=method.loss, fit_intercept=method.fit_intercept)
    if name == "lapsvm_newton":
        results = [newton(replace(obj, labels=labels)) for labels in problem.labels.one_vs_rest()]
        return _fit(problem, results, sum(result.seconds for result in results))
    start = time.perf_counter()
    _ = obj.reduction
    return _exact(problem, obj, method, time.perf_counter() - start)


def _objective(
    problem: Problem, gamma_A: float, gamma_I: float, *, loss: str = "squared", fit_intercept: bool = False
) -> LapSVM:
    first = next(problem.labels.one_vs_rest())
    return LapSVM(problem.K, problem.L, first, loss, gamma_A, gamma_I, fit_intercept=fit_intercept)


def _exact(problem: Problem, shared: LapSVM, method: Method, seconds: float = 0.0) -> Fit:
    _ = shared.reduction  # in which neither the loss nor the intercept takes part
    obj = shared.with_(loss=method.loss, fit_intercept=method.fit_intercept)
    results = [factorized(one) for one in obj.one_vs_rest(problem.labels)]
    return _fit(problem, results, seconds + sum(result.seconds for result in results))


def _fit(problem: Problem, results: Sequence[SolveResult], seconds: float) -> Fit:
    n = len(problem.K)
    alpha, F = (np.column_stack([result.variables[name][:n] for result in results]) for name in ("alpha", "f"))
    errors = problem.errors(alpha, np.array([float(result.variables["b"]) for result in results]), F)
    gap = max((result.certificate.relative_gap for result in results), key=abs)
    return Fit(**errors, relative_gap=gap, seconds=seconds, iterations=[result.n_iter for result in results])
