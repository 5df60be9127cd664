"""Learned spectra of KTA, STORM and MKL-R.

Each panel is one task and one draw of the labels: the weight of every eigenvector of the graph Laplacian, as a share of
their sum. KTA and STORM keep the order of the eigenvalues (step curves), MKL-R does not (stems).

After figure 1 of Shivaswamy and Jebara, "Laplacian spectrum learning", which says that KTA's spectra are steep, STORM's
decay more slowly, and MKL's are haphazard. The first eigenvector is constant and left out: the intercept does its work.
MNIST and 20 newsgroups where the data folder holds them, else scikit-learn's bundled digits. The sidecar has the
numbers: rises against the order, the effective number of eigenvectors 1 / sum(weight^2), and the index that holds 90 %
of the weight, for the draw shown and as means over several draws, and the tasks for which each claim holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import specmargin as sm
from reproduction.papers.shivaswamy_jebara_2010 import fits
from reproduction.tasks import is_available, sources_of
from specmargin.graphs import Laplacian

ERROR = "error on unlabelled points, percent"
ORDER = "order violations"
EFFECTIVE = "effective number of eigenvectors"
INDEX = "index that holds 90 % of the weight"
PARAMETERS = {"C": 10.0, "B": 1.5, "n_labeled": 60, **fits.GRAPH, "normalized": False}
TASKS = ("mnist 3-8", "mnist 4-7", "20news baseball-hockey", "20news pc-mac")
BUNDLED = ("digits 3-8", "digits 4-7", "digits 8-9", "digits 5-9")
CLAIMS: dict[str, Callable[[Any], bool]] = {
    "MKL-R breaks the order": lambda row: row["MKL-R"][ORDER] >= 1,
    "KTA is steeper than STORM, by the effective number": lambda row: row["KTA"][EFFECTIVE] < row["STORM"][EFFECTIVE],
    "KTA is steeper than STORM, by the index": lambda row: row["KTA"][INDEX] < row["STORM"][INDEX],
    "the order helps: STORM errs less than MKL-R": lambda row: row["STORM"][ERROR] < row["MKL-R"][ERROR],
}
"""The paper's, and when the numbers of a task bear them out."""

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n": 160, "q": 60, "n_draws": 2, "bundled": True},
    "standard": {"n": 1000, "q": 200, "n_draws": 5, "bundled": False},
    "full": {"n": 1000, "q": 200, "n_draws": 10, "bundled": False},
}
SECONDS = {"quick": (3, 3), "standard": (7, 14), "full": (12, 22)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Learn the spectra of every task."""
    bundled = SIZES[size]["bundled"]
    available = [task for task in TASKS if is_available(task.split()[0]) and not bundled]
    tasks = {task.replace("mnist", "MNIST"): task for task in (*available, *BUNDLED)[: 2 if bundled else 4]}
    parameters = {**PARAMETERS, "q": SIZES[size]["q"], "tasks": list(tasks)}
    n_draws = SIZES[size]["n_draws"]
    C, B = parameters["C"], parameters["B"]
    shared = {"q": parameters["q"], "laplacian": Laplacian(normalized=parameters["normalized"])}
    methods = {"KTA": sm.KTA(C=C, **shared), "STORM": sm.STORM(C=C, B=B, **shared), "MKL-R": sm.MKL(C=C, B=B, **shared)}
    spectra, shown, means, gaps, solvers = {}, {}, {}, {}, set()
    for title, task in tasks.items():
        X, y_true = fits.samples(task, SIZES[size]["n"])
        graph = fits.neighbor_graph(task, len(y_true))
        numbers: dict[str, list[dict[str, float]]] = {}
        for k in range(n_draws):
            y = sm.hide_labels(y_true, n_labeled=parameters["n_labeled"], random_state=seed + k)
            hidden = y == -1
            for name, method in methods.items():
                method.fit(X, y, graph=graph)
                if k == 0:
                    spectra.setdefault(title, {})[name] = method.delta_
                error = 100 * np.mean(method.transduction_[hidden] != y_true[hidden])
                numbers.setdefault(name, []).append({ERROR: float(error), **shape(method.delta_)})
                gaps.setdefault(title, {}).setdefault(name, []).append(method.result_.certificate.relative_gap)
                solvers.add(method.result_.solver)
        shown[title] = {name: draws[0] for name, draws in numbers.items()}
        means[title] = {
            name: {key: float(np.mean([draw[key] for draw in draws])) for key in draws[0]}
            for name, draws in numbers.items()
        }
    claims = {claim: [task for task, row in means.items() if holds(row)] for claim, holds in CLAIMS.items()}
    return {
        "spectra": spectra,
        "parameters": parameters,
        "results": {"draw shown": shown, f"mean over {n_draws} draws": means, "claims": claims},
        "certificates": {"relative gap, per draw": gaps},
        "data": sources_of(tasks.values()),
        "solvers": sorted(solvers),
    }


def shape(delta: np.ndarray) -> dict[str, Any]:
    """Say in numbers what the figure shows, from the second weight on."""
    weights = delta[1:] / delta[1:].sum()
    return {
        ORDER: int((np.diff(weights) > 1e-6 * weights.max()).sum()),
        EFFECTIVE: float(1 / (weights**2).sum()),
        INDEX: int(np.searchsorted(np.cumsum(weights), 0.9)) + 2,
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel per task, with one legend."""
    from specmargin.plots import SpectrumDisplay, style, subplots

    n_rows = -(-len(data["spectra"]) // 2)
    figure, axes = subplots(n_rows, 2, width="page", aspect=0.58, sharex=True, sharey=True)
    for ax, (title, spectra) in zip(axes.flat, data["spectra"].items(), strict=True):
        display = SpectrumDisplay(spectra).plot(ax, scale="log", floor=1e-5, legend=False, title=title)
    for ax in axes.flat:
        ax.label_outer()
    with style():
        figure.legend(handles=display.legend_handles(), loc="outside upper center", ncols=3)
    return figure
