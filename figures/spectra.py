"""Learned spectra of KTA, STORM and MKL-R over the eigenvectors of the graph Laplacian.

After figure 1 of Shivaswamy and Jebara, "Laplacian spectrum learning". Each panel is one task and one draw of the
labels: the weight of every eigenvector of the graph Laplacian, over their order, divided by the sum of the weights
shown. KTA and STORM keep the order of the eigenvalues (step curves), MKL-R does not (stems). The first eigenvector
is constant and left out: the intercept does its work. MNIST and 20 newsgroups where the data folder holds them,
else scikit-learn's bundled digits.

The paper says that KTA's spectra are steep, STORM's decay more slowly, and MKL's are haphazard. The sidecar has the
numbers: rises against the order, the effective number of eigenvectors 1 / sum(weight^2), and the index that holds
90 % of the weight, for the draw shown and as means over several draws, and the tasks for which each claim holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import specmargin as sm
from specmargin.experiments.tasks import sources_of
from specmargin.papers.shivaswamy_jebara_2010 import GRAPH, neighbor_graph, samples

ERROR = "error on unlabelled points, percent"
ORDER = "order violations"
EFFECTIVE = "effective number of eigenvectors"
INDEX = "index that holds 90 % of the weight"
PARAMETERS = {
    "C": 10.0,
    "B": 1.5,
    "n_labeled": 60,
    **GRAPH,
    "normalized": False,
}
TASKS = {
    "MNIST 3-8": "mnist 3-8",
    "MNIST 4-7": "mnist 4-7",
    "20news baseball-hockey": "20news baseball-hockey",
    "20news pc-mac": "20news pc-mac",
}
BUNDLED = {f"digits {pair}": f"digits {pair}" for pair in ("3-8", "4-7", "8-9", "5-9")}

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n": 160, "q": 60, "n_draws": 2, "bundled": True},
    "standard": {"n": 1000, "q": 200, "n_draws": 5, "bundled": False},
    "full": {"n": 1000, "q": 200, "n_draws": 10, "bundled": False},
}
SECONDS = {"quick": (3, 3), "standard": (7, 14), "full": (12, 22)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Learn the spectra of every task."""
    chosen = tasks(SIZES[size]["bundled"])
    parameters = {**PARAMETERS, "q": SIZES[size]["q"], "tasks": list(chosen)}
    n_draws = SIZES[size]["n_draws"]
    spectra, shown, means, gaps, solvers = {}, {}, {}, {}, set()
    for title, task in chosen.items():
        X, y_true = samples(task, SIZES[size]["n"])
        graph = neighbor_graph(task, len(y_true))
        numbers: dict[str, list[dict[str, float]]] = {}
        for k in range(n_draws):
            y = sm.hide_labels(y_true, n_labeled=parameters["n_labeled"], random_state=seed + k)
            hidden = y == -1
            for name, method in methods(parameters).items():
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
    return {
        "spectra": spectra,
        "parameters": parameters,
        "results": {"draw shown": shown, f"mean over {n_draws} draws": means, "claims": claims(means)},
        "certificates": {"relative gap, per draw": gaps},
        "data": sources_of(chosen.values()),
        "solvers": sorted(solvers),
    }


def claims(means: dict[str, Any]) -> dict[str, list[str]]:
    """Return, per claim of the paper, the tasks for which the mean numbers bear it out."""
    return {
        "MKL-R breaks the order": [task for task, row in means.items() if row["MKL-R"][ORDER] >= 1],
        "KTA is steeper than STORM, by the effective number": [
            task for task, row in means.items() if row["KTA"][EFFECTIVE] < row["STORM"][EFFECTIVE]
        ],
        "KTA is steeper than STORM, by the index": [
            task for task, row in means.items() if row["KTA"][INDEX] < row["STORM"][INDEX]
        ],
        "the order helps: STORM errs less than MKL-R": [
            task for task, row in means.items() if row["STORM"][ERROR] < row["MKL-R"][ERROR]
        ],
    }


def methods(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the three machines, unfitted."""
    C, B, shared = parameters["C"], parameters["B"], {"q": parameters["q"], "normalized": parameters["normalized"]}
    return {
        "KTA": sm.KTA(C=C, **shared),
        "STORM": sm.STORM(C=C, B=B, **shared),
        "MKL-R": sm.MKL(C=C, B=B, **shared),
    }


def shape(delta: np.ndarray) -> dict[str, Any]:
    """Say in numbers what the figure shows, from the second weight on."""
    weights = delta[1:] / delta[1:].sum()
    return {
        ORDER: int((np.diff(weights) > 1e-6 * weights.max()).sum()),
        EFFECTIVE: float(1 / (weights**2).sum()),
        INDEX: int(np.searchsorted(np.cumsum(weights), 0.9)) + 2,
    }


def tasks(bundled: bool) -> dict[str, str]:
    """Return four tasks, the paper's as far as their data are here, or two bundled ones."""
    if bundled:
        return dict(list(BUNDLED.items())[:2])
    here = sm.datasets.available()
    real = {title: task for title, task in TASKS.items() if here[task.split()[0]]}
    return dict([*real.items(), *BUNDLED.items()][:4])


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
