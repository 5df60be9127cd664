"""The methods of the primal-LapSVM paper on one split: what they are, and what fitting them shares.

`exact` fits every method that has an exact solution under all gammas of one ratio: one factorisation serves them, their
losses and all classes. `alone` fits one method from scratch, conjugate gradients with their stopping rule among them.

None has an intercept, as in the authors' released code with the normalised Laplacian, against eq. 7: constants are
penalised by that Laplacian, an intercept is not, and with the published gammas it costs LapSVM four points and more on
g50c. ``lapsvm_newton_intercept`` is there to show it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from specmargin.experiments.engine.published import published_parameters
from specmargin.experiments.engine.records import Cell, Row, canonical_json
from specmargin.experiments.methods import Method
from specmargin.objectives import LapSVM
from specmargin.papers._melacci_belkin_tasks import TASKS, Problem, Training, problem
from specmargin.results import SolveResult
from specmargin.solvers import factorized
from specmargin.solvers.manifold.newton import newton
from specmargin.solvers.manifold.pcg import pcg_one_vs_rest

PAPER = "lapsvm_primal_2009"

Setting: TypeAlias = tuple[float, float]
"""gamma_A and gamma_I."""

Fit: TypeAlias = dict[str, Any]
"""Columns: ``error_<part>`` in percent, ``relative_gap`` of the worst class, ``seconds``, ``iterations`` by class."""

MAX_ITER = 200
"""Of conjugate gradients with the paper's rules: the default of the authors' code."""

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


def exact(problem: Problem, settings: Iterable[Setting]) -> Iterator[tuple[str, Setting, Fit]]:
    """Yield the fits of all exact methods, setting by setting.

    Parameters
    ----------
    problem : Problem
        Of one split.
    settings : iterable of (gamma_A, gamma_I)
        Of one ratio. With gamma_I = 0 the methods without a graph are fitted, else those with one.
    """
    shared: LapSVM | None = None
    for setting in settings:
        if shared is None:
            shared = _objective(problem.training, setting, loss="squared")
        shared = shared.with_(gamma_A=setting[0], gamma_I=setting[1])
        for name in EXACT:
            if METHODS[name].graph == (setting[1] > 0):
                yield name, setting, _exact(problem, shared, METHODS[name])


def alone(problem: Problem, name: str, setting: Setting) -> Fit:
    """Fit a method from scratch, with the seconds that training takes.

    ``lapsvm_newton`` is the full-space Newton's method here, one class after the other; the classes of all others share
    what they can.
    """
    method = METHODS[name]
    if name in STOPPING:
        return _early_stopped(problem, name, setting)
    obj = _objective(problem.training, setting, **method.options)
    if name == "lapsvm_newton":
        results = [newton(replace(obj, labels=labels)) for labels in problem.labels.one_vs_rest()]
        return _fit(problem, results, sum(result.seconds for result in results))
    start = time.perf_counter()
    _ = obj.reduction
    return _exact(problem, obj, method, time.perf_counter() - start)


def _objective(training: Training, setting: Setting, loss: str, fit_intercept: bool = False) -> LapSVM:
    K, L, labels = training
    return LapSVM(K, L, next(labels.one_vs_rest()), loss, *setting, fit_intercept=fit_intercept)


def _exact(problem: Problem, shared: LapSVM, method: Method, seconds: float = 0.0) -> Fit:
    _ = shared.reduction  # in which neither the loss nor the intercept takes part
    obj = shared.with_(**method.options)
    results = [method.solve(one) for one in obj.one_vs_rest(problem.labels)]
    return _fit(problem, results, seconds + sum(result.seconds for result in results))


def _early_stopped(problem: Problem, name: str, setting: Setting) -> Fit:
    """Fit by conjugate gradients, checked every round(sqrt(n) / 2) iterations; V is looked at from outside."""
    rule, n, known = STOPPING[name], len(problem.K), problem.y["validation"]
    training, seen = problem.training, dict[str, Any]()
    if rule in ("validation", "mixed"):
        training = problem.with_validation
        seen = {"validation": np.arange(n, n + len(known)), "truth": np.append(np.full(n, -1), known)}
    obj = _objective(training, setting, **METHODS[name].options)
    every, limit = max(1, round(np.sqrt(n) / 2)), 5000 if rule == "safe" else MAX_ITER
    results = pcg_one_vs_rest(obj, training[2], stopping=rule, max_iter=limit, check_every=every, **seen)
    # The loop of all classes; what comes after it is certificates.
    return _fit(problem, results, results[0].seconds)


def _fit(problem: Problem, results: Sequence[SolveResult], seconds: float) -> Fit:
    gap = max((result.certificate.relative_gap for result in results), key=abs)
    iterations = [result.n_iter for result in results]
    return {**problem.errors(results), "relative_gap": gap, "seconds": seconds, "iterations": iterations}


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit what a cell names: all exact methods with its ``settings``, or each of its ``fits`` alone.

    Returns
    -------
    dict
        ``fits``, as JSON: a list of method, setting and `Fit`. ``relative_gap`` of the worst certificate of exact
        methods; that of early-stopped ones proves nothing and stays in the list.
    """
    wanted = cell.parameters
    shared = problem(TASKS[cell.dataset], cell.split, data, wanted["normalized"])
    if "settings" in wanted:
        fits = list(exact(shared, [(a, i) for a, i in wanted["settings"]]))
    else:
        fits = [(name, (a, i), alone(shared, name, (a, i))) for name, (a, i) in wanted["fits"]]
    gaps = [fit["relative_gap"] for name, _, fit in fits if name in EXACT]
    return {"fits": canonical_json(fits), **({"relative_gap": max(gaps, key=abs)} if gaps else {})}


def fits_of(rows: Iterable[Row]) -> list[Row]:
    """Return a row per fit, as `select` and `compare` read them; no failed cells."""
    return [
        {
            **{key: row[key] for key in ("experiment", "dataset", "split", "status")},
            "method": name,
            "parameters": canonical_json(setting),
            "setting": tuple(setting),
            "normalized": row["param_normalized"],
            **fit,
        }
        for row in rows
        if row["status"] == "ok"
        for name, setting, fit in json.loads(row["fits"])
    ]


@cache  # asked once per fit, of which there are thousands
def published_setting(task: str, method: str) -> Setting | None:
    """Return the gamma_A and gamma_I of table 8, or of table 9 for the stopping rules; None where there are none."""
    table = published_parameters(PAPER, "9" if method in STOPPING else "8")
    rows = table[(table["dataset"] == task) & (table["method"] == method)].set_index("parameter")["value"]
    if "gamma_A" not in rows:
        return None
    return float(rows["gamma_A"]), float(rows.get("gamma_I", 0.0))


def with_published_gammas(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of `fits_of` with the published setting of their task and method."""
    return [row for row in rows if row["setting"] == published_setting(row["dataset"], row["method"])]
