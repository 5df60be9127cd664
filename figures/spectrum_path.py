"""How a learned spectrum spreads as the loss gains weight.

A panel is a method on a task: along, the weight C of the loss; up, the eigenvector; dark, its share. Above it the
effective number of eigenvectors and the margin. At the smallest C one eigenvector or prefix has nearly all; then STORM
and STOAM spread in steps down the order, MKL-R here and there.

Not in Shivaswamy and Jebara, "Laplacian spectrum learning", who choose one C by its error. C is per unit mean kernel
diagonal, the effective number 1 / sum(share^2), the margin 1 / |w|. Once C exceeds all multipliers it has no effect.
MNIST and 20 newsgroups where the data folder holds them, else scikit-learn's bundled digits. The sidecar holds the
error on unlabelled points at both ends of each path and at its least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import specmargin as sm
from reproduction.papers.shivaswamy_jebara_2010 import fits
from reproduction.tasks import is_available, sources_of

PARAMETERS = {"B": 1.5, "n_labeled": 60, **fits.GRAPH, "normalized": False}
METHODS: dict[str, dict[str, Any]] = {"STORM": {"B": 1.5}, "STOAM": {}, "MKL-R": {"B": 1.5, "order": False}}
TASKS, BUNDLED = ("mnist 3-8", "20news pc-mac"), ("digits 3-8", "digits 8-9")
ERROR = "error on unlabelled points, percent"
EFFECTIVE = "effective number of eigenvectors"

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n": 160, "q": 60, "n_C": 26, "bundled": True},
    "standard": {"n": 1000, "q": 200, "n_C": 101, "bundled": False},
    "full": {"n": 1000, "q": 200, "n_C": 101, "bundled": False},
}
SECONDS = {"quick": (3, 3), "standard": (6, 8), "full": (6, 8)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Follow the three paths on both tasks."""
    parameters = {**PARAMETERS, "q": SIZES[size]["q"]}
    Cs = np.logspace(-2, 3, SIZES[size]["n_C"])
    available = [] if SIZES[size]["bundled"] else [task for task in TASKS if is_available(task.split()[0])]
    tasks = {task.replace("mnist", "MNIST"): task for task in (*available, *BUNDLED)[:2]}
    paths: dict[str, Any] = {}
    results: dict[str, Any] = {}
    gaps: dict[str, Any] = {}
    for title, task in tasks.items():
        n = SIZES[size]["n"]
        y_true = fits.samples(task, n)[1]
        y = sm.hide_labels(y_true, n_labeled=parameters["n_labeled"], random_state=seed)
        spectrum = fits.eigenpairs(task, n, parameters["q"])
        labels = sm.encode_labels(y)
        truth = y_true == labels.classes[1]
        for name, options in METHODS.items():
            answers = sm.solvers.spectrum_path(sm.objectives.SpectrumMargin(spectrum, labels, **options), Cs)
            deltas = np.array([answer.variables["delta"] for answer in answers])
            errors = [100 * np.mean((answer.variables["f"] > 0) != truth, where=y == -1) for answer in answers]
            paths.setdefault(title, {})[name] = {"deltas": deltas, "margins": np.array([margin(a) for a in answers])}
            results.setdefault(title, {})[name] = numbers(Cs, deltas, np.array(errors))
            worst = max(answer.certificate.relative_gap for answer in answers)
            gaps.setdefault(title, {})[name] = float(worst)
    return {
        "Cs": Cs,
        "paths": paths,
        "parameters": {**parameters, "C": [float(Cs[0]), float(Cs[-1]), len(Cs)], "tasks": list(tasks)},
        "results": results,
        "certificates": {"largest relative gap on the path": gaps},
        "data": sources_of(tasks.values()),
        "solvers": ["spectrum_margin"],
    }


def margin(answer: Any) -> float:
    """Return 1 / |w|; inf where w = 0."""
    v, delta = answer.variables["v"], answer.variables["delta"]
    used = v != 0
    norm = float(np.sqrt((v[used] ** 2 / delta[used]).sum()))
    return 1 / norm if norm > 0 else np.inf


def numbers(Cs: np.ndarray, deltas: np.ndarray, errors: np.ndarray) -> dict[str, Any]:
    """Say in numbers what a panel shows, at both ends of the path and where it errs least."""
    shares = deltas[:, 1:] / np.maximum(deltas[:, 1:].sum(axis=1, keepdims=True), 1e-300)
    effective = 1 / np.maximum((shares**2).sum(axis=1), 1e-300)
    fixed = np.abs(deltas - deltas[-1]).sum(axis=1) < 1e-6
    results: dict[str, Any] = {"C from which the spectrum is fixed": float(Cs[fixed.argmax()])}
    for name, k in {"smallest C": 0, "least error": int(errors.argmin()), "largest C": len(Cs) - 1}.items():
        results[name] = {"C": float(Cs[k]), EFFECTIVE: float(effective[k]), ERROR: float(errors[k])}
    return results


def draw(data: dict[str, Any]) -> Any:
    """Draw a row per task, a column per method."""
    from specmargin.plots import SpectrumPathDisplay, subplots

    n_rows, n_cols = len(data["paths"]), len(next(iter(data["paths"].values())))
    figure, axes = subplots(n_rows, n_cols, width="page", aspect=1.25)
    for row, (task, paths) in zip(axes, data["paths"].items(), strict=True):
        for ax, (name, path) in zip(row, paths.items(), strict=True):
            display = SpectrumPathDisplay(data["Cs"], path["deltas"], margins=path["margins"])
            display.plot(ax, title=f"{task}: {name}", colorbar=ax is row[-1])
    return figure
