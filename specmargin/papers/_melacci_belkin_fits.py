"""The methods of the primal-LapSVM paper's experiment on one split: what they are, and what fitting them shares.

`exact` fits every method that has an exact solution under all gammas of one ratio: one factorisation serves them,
their losses and all classes. `early_stopped` runs conjugate gradients with one stopping rule. `timed` fits a
method from scratch, as it would be fitted alone.

None has an intercept, as in the authors' released code with the normalised Laplacian, against eq. 7: constants are
penalised by that Laplacian, an intercept is not, and with the printed gammas it costs LapSVM four points and more on
g50c. ``lapsvm_newton_intercept`` is there to show it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from specmargin.experiments.engine.published import published_parameters
from specmargin.experiments.engine.records import Cell, Row, canonical_json
from specmargin.experiments.methods import Method
from specmargin.objectives import LapSVM
from specmargin.papers._melacci_belkin_tasks import Problem, problem
from specmargin.results import SolveResult
from specmargin.solvers import factorized
from specmargin.solvers.manifold.newton import newton
from specmargin.solvers.manifold.pcg import pcg_one_vs_rest

__all__ = [
    "EXACT",
    "METHODS",
    "RULES",
    "STOPPING",
    "Fit",
    "Setting",
    "early_stopped",
    "exact",
    "fits_of",
    "printed_setting",
    "timed",
    "work",
]

Setting: TypeAlias = tuple[float, float]
"""gamma_A and gamma_I."""

MAX_ITER = {"safe": 5000}
"""Of conjugate gradients; 200 for the paper's rules, the default of the authors' code."""


STOPPING = {f"lapsvm_pcg_{rule}": rule for rule in ("stability", "validation", "mixed", "safe")}
"""The stopping rules of conjugate gradients, by method."""


def _method(loss: str, *, graph: bool = True, fit_intercept: bool = False) -> Method:
    options = {"loss": loss, "fit_intercept": fit_intercept}
    return Method(("gamma_A", "gamma_I") if graph else ("gamma_A",), options, factorized)


METHODS: Mapping[str, Method] = {
    "svm": _method("hinge", graph=False),
    "rls": _method("squared", graph=False),
    "laprls": _method("squared"),
    "lapsvm_dual": _method("hinge"),
    "lapsvm_newton": _method("squared_hinge"),
    "lapsvm_newton_intercept": _method("squared_hinge", fit_intercept=True),
    **dict.fromkeys(STOPPING, _method("squared_hinge")),
}
"""By the names of the published tables; ``lapsvm_newton_intercept`` and ``lapsvm_pcg_safe`` are not the paper's."""

EXACT = tuple(name for name in METHODS if name not in STOPPING)
RULES = tuple(name for name, rule in STOPPING.items() if rule != "safe")
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
            if name in EXACT and method.graph == (gamma_I > 0):
                yield name, _exact(problem, shared, method)


def early_stopped(problem: Problem, name: str, setting: Setting) -> Fit:
    """Fit by conjugate gradients, checked every round(sqrt(n) / 2) iterations; V is looked at from outside."""
    rule, options = STOPPING[name], METHODS[name].options
    every, limit = max(1, round(np.sqrt(len(problem.K)) / 2)), MAX_ITER.get(rule, 200)
    if rule in ("validation", "mixed"):
        K, L, labels, validation, known = problem.with_validation
        obj = LapSVM(K, L, next(labels.one_vs_rest()), gamma_A=setting[0], gamma_I=setting[1], **options)
        results = pcg_one_vs_rest(
            obj, labels, stopping=rule, max_iter=limit, check_every=every, validation=validation, truth=known
        )
    else:
        obj = _objective(problem, *setting, **options)
        results = pcg_one_vs_rest(obj, problem.labels, stopping=rule, max_iter=limit, check_every=every)
    # The loop of all classes; what comes after it is certificates.
    return _fit(problem, results, results[0].seconds)


def timed(problem: Problem, name: str, setting: Setting) -> Fit:
    """Fit a method from scratch, with the seconds that training takes.

    ``lapsvm_newton`` is the full-space Newton's method here, one class after the other; the classes of all others share
    what they can.
    """
    method = METHODS[name]
    if name in STOPPING:
        return early_stopped(problem, name, setting)
    obj = _objective(problem, *setting, **method.options)
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
    obj = shared.with_(**method.options)
    results = [method.solve(one) for one in obj.one_vs_rest(problem.labels)]
    return _fit(problem, results, seconds + sum(result.seconds for result in results))


def _fit(problem: Problem, results: Sequence[SolveResult], seconds: float) -> Fit:
    n = len(problem.K)
    alpha, F = (np.column_stack([result.variables[name][:n] for result in results]) for name in ("alpha", "f"))
    errors = problem.errors(alpha, np.array([float(result.variables["b"]) for result in results]), F)
    gap = max((result.certificate.relative_gap for result in results), key=abs)
    return Fit(**errors, relative_gap=gap, seconds=seconds, iterations=[result.n_iter for result in results])


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit what a cell names.

    Returns
    -------
    dict
        ``fits``, as JSON: a list of method, gamma_A, gamma_I, and the fields of `Fit`. ``relative_gap`` of the worst
        certificate of exact methods; that of early-stopped ones proves nothing and stays in the list.
    """
    normalized = cell.parameters.get("normalized", True)
    shared = problem(cell.dataset, cell.split, data, cell.parameters["weight"], normalized)
    phase = cell.parameters["phase"]
    found: list[tuple[str, Setting, Fit]]
    if phase == "timed":
        found = [(name, (a, i), timed(shared, name, (a, i))) for name, (a, i) in cell.parameters["fits"]]
    else:
        settings = [(a, i) for a, i in cell.parameters["settings"]]
        if phase == "tuned":
            found = [(cell.method, setting, early_stopped(shared, cell.method, setting)) for setting in settings]
        else:
            # Each setting has as many fits as there are methods for it, in the order of the settings.
            fits = list(exact(shared, settings))
            each = len(fits) // len(settings)
            found = [(name, settings[k // each], fit) for k, (name, fit) in enumerate(fits)]
    gaps = [fit.relative_gap for name, _, fit in found if name in EXACT]
    return {
        "fits": canonical_json([[name, *setting, fit._asdict()] for name, setting, fit in found]),
        **({"relative_gap": max(gaps, key=abs)} if gaps else {}),
    }


def fits_of(rows: Iterable[Row]) -> list[Row]:
    """Return a row per fit, as `select` and `compare` read them; no failed cells."""
    found = []
    for row in rows:
        if row["status"] != "ok":
            continue
        for name, gamma_A, gamma_I, fit in json.loads(row["fits"]):
            found.append(
                {
                    **{key: row[key] for key in ("experiment", "dataset", "split", "status")},
                    "method": name,
                    "parameters": canonical_json({"gamma_A": gamma_A, "gamma_I": gamma_I}),
                    "setting": (gamma_A, gamma_I),
                    "normalized": row.get("param_normalized", True),
                    **{f"error_{part}": fit[part] for part in ("unlabeled", "validation", "test")},
                    **{key: fit[key] for key in ("relative_gap", "seconds", "iterations")},
                }
            )
    return found


@cache  # asked once per fit, of which there are thousands
def printed_setting(task: str, method: str) -> Setting | None:
    """Return the gamma_A and gamma_I of table 8, or of table 9 for the stopping rules; None where there are none."""
    table = published_parameters("lapsvm_primal_2009", "9" if method in STOPPING else "8")
    rows = table[(table["dataset"] == task) & (table["method"] == method)].set_index("parameter")["value"]
    if "gamma_A" not in rows:
        return None
    return float(rows["gamma_A"]), float(rows.get("gamma_I", 0.0))
