"""Small studies for claims of the primal-LapSVM paper (LapSVM, LapRLS, PCG) that no table judges.

`STUDIES` as in `_claims_manifold`; `_study_claims` holds the claims on the rows. Tasks, splits
and published gammas are those of `melacci_belkin_2011`. A solution is as good as the optimal one where its error on U
is within half a point of that of Newton's method, and stays there.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.papers._claims.manifold import Study, graph_of, hidden_error, published_moons
from reproduction.papers._protocols import melacci_belkin_fits as fits
from reproduction.tasks import rbf
from specmargin.datasets import make_clock, make_two_moons
from specmargin.graphs import knn_graph, laplacian
from specmargin.kernels import gram
from specmargin.labels import encode_labels, hide_labels
from specmargin.losses import SquaredHinge
from specmargin.objectives import LapSVM
from specmargin.results import SolveResult
from specmargin.solvers.line_search import exact_step
from specmargin.solvers.manifold.factorized import factorized
from specmargin.solvers.manifold.newton import newton
from specmargin.solvers.manifold.pcg import pcg
from specmargin.typing import FloatArray

BINARY = ("g50c", "coil20b", "mac_windows", "uspstb")
SPLITS = [f"round{r}-fold{k}" for r in range(3) for k in range(4)]
SIZES = (500, 1000, 2000, 4000)
LIMIT = 1500
"""Iterations of conjugate gradients that are looked at."""
AS_GOOD = 0.5
"""Points of error within which a solution is as good as the optimal one."""
ROUNDING = 1e-12
"""Of the largest coefficient: what is smaller vanishes."""


def objective_of(name: str, draw: int, data: Path | None) -> tuple[LapSVM, fits.Problem]:
    """Return LapSVM on one split with the published gammas, and what else the split has."""
    shared = fits.problem(fits.TASKS[name], SPLITS[draw], data)
    return LapSVM(*shared.training, "squared_hinge", *_setting(name), fit_intercept=False), shared


def at_optimum(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Sections 2.1, 3.1 and 3.1.1: coefficients that vanish, and Newton's method in whole steps."""
    obj, shared = objective_of(name, draw, data)
    result = newton(obj)
    alpha = np.abs(result.variables["alpha"])
    return {
        **shared.errors([result]),
        "nonzero": float((alpha > ROUNDING * alpha.max()).mean()),
        "whole": whole_steps(obj, result.variables["alpha"]),
    }


def whole_steps(obj: LapSVM, optimum: FloatArray, most: int = 50) -> float:
    """Return how many whole Newton steps lead to the optimum of the squared hinge, 0 if `most` do not.

    The samples with a loss before a step say which quadratic it minimises; where they stay, its minimum is the optimum.
    """
    K, labeled, y = np.asarray(obj.K), obj.labels.labeled, obj.labels.sign
    assert obj.L is not None
    S = obj.gamma_I * (obj.L @ K) + obj.gamma_A * np.eye(len(K))
    active = np.ones(len(y), dtype=bool)
    for step in range(1, most + 1):
        M, right = S.copy(), np.zeros(len(K))
        M[labeled[active]] += K[labeled[active]]
        right[labeled[active]] = y[active]
        f = K @ np.linalg.solve(M, right)
        after = y * f[labeled] < 1.0
        if (after == active).all():
            return float(step) if np.allclose(f, K @ optimum, rtol=1e-4, atol=1e-4 * np.abs(f).max()) else 0.0
        active = after
    return 0.0


def _setting(name: str, method: str = "lapsvm_newton") -> fits.Setting:
    """Return the published gammas of a method."""
    setting = fits.published_setting(name, method)
    assert setting is not None
    return setting


def on_the_way(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Sections 4 and 6.4, figures 13 and 14: norms and objective where the errors are those of the optimum.

    Iterations are counted until the error on U is within half a point, and stays.
    """
    obj, shared = objective_of(name, draw, data)
    optimum = newton(obj)
    y = np.concatenate([shared.y[part] for part in ("labeled", "unlabeled")])
    order = np.concatenate([obj.labels.labeled, obj.labels.unlabeled])
    truth = np.zeros(len(order))
    truth[order] = np.where(y == obj.labels.classes[1], 1.0, -1.0)
    result = pcg(obj, stopping="gradient", tol=0.0, max_iter=LIMIT, truth=truth)
    errors = 100.0 * np.asarray(result.history["unlabeled_error"])
    least = shared.errors([optimum])["error_unlabeled"]
    far = np.flatnonzero(np.abs(errors - least) > AS_GOOD)
    there = min(int(far[-1]) + 1 if len(far) else 0, len(errors) - 1)
    J, best = np.asarray(result.history["objective"]), float(obj.value(optimum.variables))
    flat = np.flatnonzero(best * (1.0 + 1e-2) < J)
    gradient, scaled = (np.asarray(result.history[key]) for key in ("gradient", "preconditioned_gradient"))
    active = np.asarray(result.history["active"])
    rises = np.diff(gradient) > 0
    return {
        "error_unlabeled": least,
        "iterations": float(there),
        "samples": float(len(order)),
        "flat": float(flat[-1] + 1 if len(flat) else 0),
        "gradient": float(gradient[there] / gradient[0]),
        "preconditioned": float(scaled[there] / scaled[0]),
        "rises": float(rises.mean()),
        "rises_with_change": float((rises & (np.diff(active) != 0)).sum() / max(1, rises.sum())),
    }


def plain_gradient(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 3.2: iterations to 1 % above the optimum with the kernel as preconditioner, and without one."""
    obj, shared = objective_of(name, draw, data)
    optimum = newton(obj)
    goal = 1.01 * float(obj.value(optimum.variables))
    history = np.asarray(pcg(obj, tol=0.0, max_iter=2000).history["objective"])
    return {
        **shared.errors([optimum]),
        "with": float(np.argmax(history <= goal) if (history <= goal).any() else len(history)),
        "without": float(iterations_to(obj, goal)),
    }


def either_update(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 3.2: iterations to 1 % above the optimum with either update of the conjugate directions."""
    obj, shared = objective_of(name, draw, data)
    optimum = newton(obj)
    goal = 1.01 * float(obj.value(optimum.variables))
    counts = {update: float(iterations_to(obj, goal, update, by_kernel=True)) for update in UPDATES}
    return {**shared.errors([optimum]), **counts}


UPDATES: dict[str, Callable[[FloatArray, FloatArray, FloatArray], float]] = {
    "polak_ribiere": lambda z, g, before: max(0.0, float(z @ (g - before))),
    "fletcher_reeves": lambda z, g, before: float(z @ g),
}
"""Numerator of the weight of the last direction, from the preconditioned gradient z, the gradient and the last one."""


def iterations_to(
    obj: LapSVM, goal: float, update: str = "polak_ribiere", *, by_kernel: bool = False, most: int = 2000
) -> int:
    """Return after how many iterations conjugate gradients are at a value, `most` if not; no intercept takes part.

    By default without a preconditioner; with the kernel as one and Polak and Ribiere's update they are those of `pcg`.
    The line search is exact, and a direction that does not descend starts anew, with either update.
    """
    labeled, y, loss = obj.labels.labeled, obj.labels.sign, SquaredHinge()
    alpha, d = np.zeros(len(obj.K)), np.zeros(len(obj.K))
    before, last = d, 0.0
    for k in range(most):
        if obj.value_at(alpha, 0.0) <= goal:
            return k
        f = obj.K @ alpha
        z = 2.0 * obj.apply_S(alpha, f)
        z[labeled] += y * loss.gradient(y * f[labeled])
        g = obj.K @ z
        z = z if by_kernel else g
        d = (UPDATES[update](z, g, before) / last if last else 0.0) * d - z
        if g @ d >= 0:
            d = -z
        before, last, Kd = g, float(z @ g), obj.K @ d
        columns = (1.0 - y * f[labeled], y * Kd[labeled], 0.5 * g @ d, Kd @ obj.apply_S(d, Kd))
        slack, speed, slope, curvature = (np.reshape(each, (-1, 1)) for each in columns)
        alpha = alpha + exact_step(slack, speed, slope[0], curvature[0], pieces=loss.pieces)[0] * d
    return most


def width_and_start(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 3.2.2: iterations and errors over widths of the kernel, and from the answer at other gammas."""
    task = fits.TASKS[name]
    row: dict[str, float] = {}
    for factor in (0.03, 0.3, 1.0, 3.0):
        gamma = task.kernel["gamma"] / factor**2
        shared = fits.problem(replace(task, kernel={**task.kernel, "gamma": gamma}), SPLITS[draw], data)
        obj = LapSVM(*shared.training, "squared_hinge", *_setting(name), fit_intercept=False)
        result = pcg(obj, stopping="mixed_product", tol=1e-2)
        row |= {
            f"error_{factor:g}": shared.errors([newton(obj)])["error_test"],
            f"iterations_{factor:g}": result.n_iter,
            f"off_diagonal_{factor:g}": float(np.abs(obj.K).sum(axis=1).mean() - np.abs(np.diag(obj.K)).mean()),
        }
        if factor == 1.0:
            near = newton(obj.with_(gamma_A=2.0 * obj.gamma_A, gamma_I=2.0 * obj.gamma_I)).variables
            seeded = pcg(obj, stopping="mixed_product", tol=1e-2, start=(near["alpha"], 0.0))
            row |= {"iterations_seeded": seeded.n_iter}
    return {name: float(value) for name, value in row.items()}


def moons_by_iteration(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 4, figures 3 and 4: errors and changes of decisions on two moons, iteration by iteration."""
    X, y, labels = published_moons(name, draw, data)
    obj = LapSVM(gram(X, **rbf(0.35)), graph_of(X), labels, "squared_hinge", 1e-2, 1.0, fit_intercept=False)
    truth = np.where(y == labels.classes[1], 1.0, -1.0)
    history = pcg(obj, tol=0.0, max_iter=60, truth=truth).history
    errors, J = 100.0 * np.asarray(history["unlabeled_error"]), np.asarray(history["objective"])
    wrong = np.flatnonzero(errors > 0)
    first = int(wrong[-1]) + 1 if len(wrong) else 0
    flat = np.flatnonzero(1.01 * J.min() < J)
    return {
        "error_4": float(errors[4]),
        "error_25": float(errors[min(25, len(errors) - 1)]),
        "first": float(first),
        "flat": float(flat[-1] + 1 if len(flat) else 0),
    }


def rules_for_laprls(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 5 and the journal version's table 8: LapRLS by conjugate gradients with the same rules."""
    _, shared = objective_of(name, draw, data)
    row: dict[str, float] = {}
    for rule in ("optimum", "stability", "validation", "mixed"):
        K, L, labels = shared.with_validation if rule in ("validation", "mixed") else shared.training
        obj = LapSVM(K, L, labels, "squared", *_setting(name, "laprls"), fit_intercept=False)
        n, seen = len(shared.K), dict[str, Any]()
        if rule in ("validation", "mixed"):
            signs = np.where(shared.y["validation"] == labels.classes[1], 1.0, -1.0)
            seen = {"validation": np.arange(n, n + len(signs)), "truth": np.append(np.zeros(n), signs)}
        result = factorized(obj) if rule == "optimum" else pcg(obj, stopping=rule, max_iter=fits.MAX_ITER, **seen)
        errors = shared.errors([result])
        row |= {f"error_{part}_{rule}": errors[f"error_{part}"] for part in ("unlabeled", "test")}
        row[f"iterations_{rule}"] = float(result.n_iter)
    return row


def clock(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Section 2, figure 1: dial and hands with one label each, SVM and LapSVM."""
    X, y = make_clock()
    labels = encode_labels(hide_labels(y, per_class=1, random_state=draw))
    K, L = gram(X, **rbf(0.35)), laplacian(knn_graph(X, n_neighbors=6, weight="binary"), normalized=False)
    answers = {g: factorized(LapSVM(K, L, labels, gamma_A=1e-3, gamma_I=g)).variables["f"] for g in (0.0, 1.0)}
    return {f"error_{g:g}": hidden_error(f, y, labels) for g, f in answers.items()}


def costs(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Sections 3.1.1, 3.2.2, 6.4 and 7: processor seconds and peaks of memory over n, one BLAS thread or several."""
    import tracemalloc

    row: dict[str, float] = {}
    for n in SIZES:
        X, y = make_two_moons(n_samples=n, noise=0.1, random_state=draw)
        labels = encode_labels(hide_labels(y, per_class=20, random_state=draw))
        K, L = gram(X, **rbf(0.35)), laplacian(knn_graph(X, n_neighbors=6), normalized=True, power=2)
        for method, (loss, solve) in SOLVERS.items():
            obj = LapSVM(K, L, labels, loss, 1e-4, 1e-2, fit_intercept=False)
            tracemalloc.start()
            start = time.process_time()
            result = solve(obj)
            row[f"seconds_{method}_{n}"] = (time.process_time() - start) / (result.n_iter if method == "pcg" else 1)
            row[f"memory_{method}_{n}"] = tracemalloc.get_traced_memory()[1] / K.nbytes
            tracemalloc.stop()
            row[f"error_{method}_{n}"] = hidden_error(result.variables["f"], y, labels)
        start = time.process_time()
        _ = L @ K
        row[f"seconds_product_{n}"] = time.process_time() - start
    return row


SOLVERS: dict[str, tuple[str, Callable[[LapSVM], SolveResult]]] = {
    "pcg": ("squared_hinge", lambda obj: pcg(obj, tol=0.0, max_iter=30)),
    "newton": ("squared_hinge", newton),
    "dual": ("hinge", factorized),
}

STUDIES: dict[str, Study] = {
    "Newton's optimum": (at_optimum, BINARY, 4),
    "conjugate gradients on the way": (on_the_way, BINARY, 4),
    "without the preconditioner": (plain_gradient, ("g50c", "coil20b", "uspstb"), 4),
    "update of the directions": (either_update, ("g50c", "coil20b", "mac_windows"), 4),
    "width and start": (width_and_start, ("g50c", "uspstb"), 4),
    "moons by iteration": (moons_by_iteration, ("two_moons",), 60),
    "rules for LapRLS": (rules_for_laprls, ("mac_windows",), 4),
    "clock": (clock, ("generated clock",), 20),
    "costs of LapSVM": (costs, ("generated moons",), 5),
}
