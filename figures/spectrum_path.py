"""How the learned spectrum grows with C, the weight of the loss: STORM, STOAM and MKL-R.

Not in Shivaswamy and Jebara, "Laplacian spectrum learning", who choose one C by its error. Each panel is one machine on
one task: along, C per unit mean kernel diagonal; up, the index of the eigenvector; dark, its share of the weight. Over
it the effective number of eigenvectors 1 / sum(share^2) and the margin 1 / |w|. MNIST and 20 newsgroups where the data
folder holds them, else scikit-learn's bundled digits.

At the smallest C one eigenvector, or one prefix of them, has nearly all the weight. With C the spectrum spreads: in
steps down the order for STORM and STOAM, here and there for MKL-R. Once C exceeds all multipliers it has no effect. The
sidecar holds the error on unlabelled points at both ends of each path and at its least.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import specmargin as sm
from specmargin.experiments.tasks import sources_of
from specmargin.papers.shivaswamy_jebara_2010 import GRAPH, eigenpairs, samples

PARAMETERS = {
    "B": 1.5,
    "n_labeled": 60,
    **GRAPH,
    "normalized": False,
}
TASKS = {"MNIST 3-8": "mnist 3-8", "20news pc-mac": "20news pc-mac"}
BUNDLED = {f"digits {pair}": f"digits {pair}" for pair in ("3-8", "8-9")}
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
    chosen = tasks(SIZES[size]["bundled"])
    paths: dict[str, Any] = {}
    results: dict[str, Any] = {}
    gaps: dict[str, Any] = {}
    for title, task in chosen.items():
        n = SIZES[size]["n"]
        y_true = samples(task, n)[1]
        y = sm.hide_labels(y_true, n_labeled=parameters["n_labeled"], random_state=seed)
        spectrum = eigenpairs(task, n, parameters["q"])
        labels = sm.encode_labels(y)
        truth = y_true == labels.classes[1]
        for name, options in methods(parameters["B"]).items():
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
        "parameters": {**parameters, "C": [float(Cs[0]), float(Cs[-1]), len(Cs)], "tasks": list(chosen)},
        "results": results,
        "certificates": {"largest relative gap on the path": gaps},
        "data": sources_of(chosen.values()),
        "solvers": ["spectrum_margin"],
    }


def methods(B: float) -> dict[str, dict[str, Any]]:
    """Return what tells the three machines apart."""
    return {"STORM": {"B": B}, "STOAM": {}, "MKL-R": {"B": B, "order": False}}


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
    settled = np.abs(deltas - deltas[-1]).sum(axis=1) < 1e-6
    found: dict[str, Any] = {"C from which the spectrum is fixed": float(Cs[settled.argmax()])}
    for name, k in {"smallest C": 0, "least error": int(errors.argmin()), "largest C": len(Cs) - 1}.items():
        found[name] = {"C": float(Cs[k]), EFFECTIVE: float(effective[k]), ERROR: float(errors[k])}
    return found


def tasks(bundled: bool) -> dict[str, str]:
    """Return two tasks, one of images and one of texts as far as their data are here; or bundled ones."""
    if bundled:
        return dict(BUNDLED)
    here = sm.datasets.available()
    real = {title: task for title, task in TASKS.items() if here[task.split()[0]]}
    return dict([*real.items(), *BUNDLED.items()][:2])


def draw(data: dict[str, Any]) -> Any:
    """Draw a row per task, a column per machine."""
    from specmargin.plots import SpectrumPathDisplay, subplots

    n_rows, n_cols = len(data["paths"]), len(next(iter(data["paths"].values())))
    figure, axes = subplots(n_rows, n_cols, width="page", aspect=1.25)
    for row, (task, machines) in zip(axes, data["paths"].items(), strict=True):
        for ax, (name, found) in zip(row, machines.items(), strict=True):
            display = SpectrumPathDisplay(data["Cs"], found["deltas"], margins=found["margins"])
            display.plot(ax, title=f"{task}: {name}", colorbar=ax is row[-1])
    return figure
