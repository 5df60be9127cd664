"""Two classes of digits: errors, objective and gradients after each iteration.

Above, errors of LapSVM on labelled (L), unlabelled (U), validation (V) and test samples (T) after each iteration of
conjugate gradients; level lines are the exact solution. Below, how far the objective is above its optimum, and the
norms of three gradients, relative to the start. Means and standard errors over draws of the labels.

After figure 11 of Melacci and Belkin, "Laplacian support vector machines trained in the primal": MNIST, 3 against 8,
with 80 labelled and 80 validation images, the squared hinge, and the gradient, the preconditioned gradient and their
mixed product (geometric means over three draws). Kernel, graph and gammas are the paper's (table 8). The standard size
has 2,000 of the 13,966 images, chosen at random, on which nothing is published; the full size all of them and one draw,
with triangles for the errors that table 7 has for the exact solution. Where the data folder has no MNIST, and with
--quick, 600 of scikit-learn's digits take their place, 0 to 4 against 5 to 9.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.engine.published import published
from reproduction.papers.melacci_belkin_2011 import LARGE, TASKS, iterates, published_setting
from reproduction.tasks import is_available, missing_data, samples, sources_of, splits

CHECKPOINTS = (1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 45, 64)
PARTS = ("L", "U", "V", "T")
QUANTITIES = ("objective less optimum", "gradient", "preconditioned gradient", "their mixed product")
DEFAULT = (1e-2, 1.0)
LEAST = 1e-8
"""Of the quantities over their start: what is below is rounding to an objective in double precision."""

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n": None, "n_draws": 2, "bundled": True},
    "standard": {"n": 2000, "n_draws": 3, "bundled": False},
    "full": {"n": None, "n_draws": 1, "bundled": False},
}
SECONDS = {"quick": (3, 3), "standard": (3, 9), "full": (3, 400)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Follow conjugate gradients; there is nothing random but the draws, which are the experiment's."""
    chosen = SIZES[size]
    real = is_available("mnist") and not chosen["bundled"]
    task = replace(TASKS[LARGE[0]], n=chosen["n"]) if real else TASKS["digitsb"]
    setting = published_setting(task.name, "lapsvm_newton") or DEFAULT
    names = list(splits(task))[:: 1 if real else 4][: chosen["n_draws"]]
    runs = [iterates(task, name, setting, CHECKPOINTS) for name in names]
    shortest = min(each.shape[1] for run in runs for each in run.quantities)
    logarithms = [np.log(np.maximum(each[:, :shortest], 1e-300)) for run in runs for each in run.quantities]
    errors = np.array([run.errors for run in runs])
    whole = real and chosen["n"] is None
    known = {}
    if whole:
        table = published("lapsvm_primal_2009", "7", "mnist3vs8", "lapsvm_newton").set_index("split")["mean"]
        known = {part: float(table[part]) for part in PARTS if part in table.index}
    return {
        "errors": errors.mean(axis=0),
        "standard errors": np.std(errors, axis=0) / np.sqrt(max(1, len(runs) - 1)),
        "exact": np.mean([run.exact for run in runs], axis=0),
        "quantities": np.exp(np.mean(logarithms, axis=0)),
        "published": known,
        "parameters": {
            "task": task.name,
            "images": len(samples(task).y),
            "draws": len(runs),
            "checkpoints": CHECKPOINTS,
            "gamma_A, gamma_I": setting,
        },
        "results": {
            "errors of the exact solution on L, U, V and T, percent": np.mean([run.exact for run in runs], axis=0),
            "errors by iteration, percent": dict(zip(map(str, CHECKPOINTS), errors.mean(axis=0), strict=True)),
            "published for the exact solution": known,
            "data": [] if is_available("mnist") else missing_data(["mnist"], "scikit-learn's digits", word="its"),
        },
        "certificates": {"worst relative gap of an exact solution": max(run.gap for run in runs)},
        "data": sources_of([task.source]),
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw errors above, the objective and norms below."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator

    from specmargin.plots import style, subplots
    from specmargin.plots.theme import PALETTE
    from specmargin.plots.ticks import ticks_at

    figure, axes = subplots(2, 1, width=4.6, aspect=0.52, sharex=True)
    above, below = axes[:, 0]
    colors = [PALETTE[name] for name in ("black", "vermillion", "blue", "green")]
    n_draws, n_images = data["parameters"]["draws"], data["parameters"]["images"]
    with style():
        for k, (part, color, mark) in enumerate(zip(PARTS, colors, "os^D", strict=True)):
            above.axhline(data["exact"][k], color=color, linewidth=0.6, linestyle=(0, (4, 2)))
            bars = data["standard errors"][:, k] if n_draws > 1 else None
            look: dict[str, Any] = {"color": color, "marker": mark, "markersize": 2.8, "linewidth": 0.9}
            above.errorbar(CHECKPOINTS, data["errors"][:, k], bars, elinewidth=0.7, capsize=1.2, label=part, **look)
            if part in data["published"]:
                marks: dict[str, Any] = {"markersize": 5.0, "markerfacecolor": "none", "clip_on": False}
                above.plot(1.12 * CHECKPOINTS[-1], data["published"][part], "<", color=color, **marks)
        curves = list(zip(QUANTITIES, data["quantities"], colors, strict=True))
        for name, values, color in curves[::-1]:  # the objective on top
            width = 1.4 if color == colors[0] else 0.7
            below.plot(np.arange(1, len(values)), np.maximum(values[1:], 1e-30), color, linewidth=width, label=name)
        above.set(ylabel="error, %", title=f"{NAMES[data['parameters']['task']]}, {n_images:,} images")
        above.set_ylim(-0.03 * above.get_ylim()[1], None)
        below.set(xscale="log", yscale="log", xlim=(0.9, 1.2 * CHECKPOINTS[-1]), ylim=(LEAST, 50.0))
        below.set(xlabel="iterations", ylabel="relative to the start")
        ticks_at(below.xaxis, [1, 2, 4, 8, 16, 32, 64])
        below.yaxis.set_major_locator(LogLocator(100.0))
        below.yaxis.set_minor_locator(NullLocator())
        handles, parts = above.get_legend_handles_labels()
        handles.append(Line2D([], [], color="0.25", linewidth=0.6, linestyle=(0, (4, 2)), label="exact solution"))
        if data["published"]:
            mark = {"marker": "<", "linestyle": "none", "markerfacecolor": "none"}
            handles.append(Line2D([], [], color="0.25", label="published", **mark))
        title = f"mean and standard error, {n_draws} draws" if n_draws > 1 else "one draw"
        above.legend(handles, [*parts, "exact solution", "published"][: len(handles)], title=title, ncols=2)
        handles, names = below.get_legend_handles_labels()
        below.legend(handles[::-1], names[::-1], loc="lower left")
    return figure


NAMES = {"mnist3vs8": "MNIST, 3 against 8", "digitsb": "scikit-learn's digits, 0 to 4 against 5 to 9"}
"""What a title calls the task."""
