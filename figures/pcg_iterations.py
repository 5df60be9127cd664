"""Errors converge long before the gradient has vanished.

Two panels for each data set, against the iterations of conjugate gradients. Above, errors of LapSVM on labelled (L),
unlabelled (U), validation (V) and test samples (T); level lines are the exact solution. Below, objective and gradients
relative to the start. From the grey line on all errors are within half a point of the exact ones.

After figures 5 to 10, 13 and 14 of Melacci and Belkin, "Laplacian support vector machines trained in the primal". Below
are drawn how far the objective is above its optimum, and the norms of the gradient, of the preconditioned gradient, and
of their mixed product (of several classes the geometric mean), down to 1e-8. A panel without the grey line has not come
within half a point. Protocol, kernel, graph and gammas are the paper's (tables 2 and 8); one of the twelve splits, or
in the full size means over three with bars of one standard error. Figure 11, MNIST, is `mnist_iterations`, figure 12,
FACEMIT, `faces_iterations`. Without real data there are two panels of scikit-learn's digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.papers.melacci_belkin_2011 import SMALL, iterates, published_setting, tasks_available
from reproduction.tasks import sources_of, splits

NAMES = {
    "g50c": "G50C",
    "coil20b": "COIL20(B)",
    "mac_windows": "PCMAC",
    "uspstb": "USPST(B)",
    "coil20": "COIL20",
    "uspst": "USPST",
    "digitsb": "digits, 0-4 against 5-9",
    "digits": "digits",
}
PARTS = ("L", "U", "V", "T")
LEAST = 1e-8
"""Of the quantities over their start: what is below is rounding to an objective in double precision."""
CHECKPOINTS = (1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 45, 64, 90, 128, 181, 256)
DEFAULT = (1e-2, 1.0)
NEAR = 0.5

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n_tasks": 2, "n_splits": 1},
    "standard": {"n_tasks": None, "n_splits": 1},
    "full": {"n_tasks": None, "n_splits": 3},
}
SECONDS = {"quick": (4, 4), "standard": (5, 20), "full": (11, 50)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Follow conjugate gradients on every task; there is nothing random but the splits, which are the experiment's."""
    tasks, note = tasks_available(SMALL)
    tasks = tasks[: SIZES[size]["n_tasks"]]
    curves, gaps = {}, []
    for task in tasks:
        setting = published_setting(task.name, "lapsvm_newton") or DEFAULT
        names = list(splits(task))[::4][: SIZES[size]["n_splits"]]
        runs = [iterates(task, name, setting, CHECKPOINTS) for name in names]
        errors, exact = (np.mean([getattr(run, key) for run in runs], axis=0) for key in ("errors", "exact"))
        gaps += [run.gap for run in runs]
        curves[task.name] = {
            "errors": errors,
            "standard error": np.std([run.errors for run in runs], axis=0) / np.sqrt(max(1, len(runs) - 1)),
            "exact": exact,
            "quantities": geometric_mean([column for run in runs for column in run.quantities]),
            "converged": converged(errors, exact),
        }
    return {
        "curves": curves,
        "parameters": {
            "checkpoints": CHECKPOINTS,
            "gammas": {task: published_setting(task, "lapsvm_newton") or DEFAULT for task in curves},
            "splits": SIZES[size]["n_splits"],
        },
        "results": {
            "iterations after which all errors stay within half a point of the exact ones": {
                task: curve["converged"] for task, curve in curves.items()
            },
            "exact errors on L, U, V and T, percent": {task: curve["exact"] for task, curve in curves.items()},
            "data": note,
        },
        "certificates": {"worst relative gap of an exact solution": max(gaps)},
        "data": sources_of(task.source for task in tasks),
    }


def geometric_mean(curves: list[np.ndarray]) -> np.ndarray:
    """Return the mean of curves (4, t_i) that may end early, as far as all of them go."""
    shortest = min(curve.shape[1] for curve in curves)
    logarithms = [np.log(np.maximum(curve[:, :shortest], 1e-300)) for curve in curves]
    return np.exp(np.mean(logarithms, axis=0))


def converged(errors: np.ndarray, exact: np.ndarray) -> int | None:
    """Return the first checkpoint from which on all errors stay near the exact ones."""
    near = (np.abs(errors - exact) <= NEAR).all(axis=1)
    last = np.flatnonzero(~near)
    first = 0 if not len(last) else int(last[-1]) + 1
    return CHECKPOINTS[first] if first < len(CHECKPOINTS) else None


def draw(data: dict[str, Any]) -> Any:
    """Draw two panels per task, three tasks in a row."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullLocator

    from specmargin.plots import style, subplots
    from specmargin.plots.theme import PALETTE
    from specmargin.plots.ticks import ticks_at

    colors = [PALETTE[name] for name in ("black", "vermillion", "blue", "green")]
    marks, curves = ("o", "s", "^", "D"), data["curves"]
    n_columns = min(3, len(curves))
    n_rows = 2 * -(-len(curves) // n_columns)
    figure, axes = subplots(n_rows, n_columns, width="page", aspect=0.8 if n_columns == 3 else 0.55)
    with style():
        for k, (task, curve) in enumerate(curves.items()):
            above, below = axes[2 * (k // n_columns), k % n_columns], axes[2 * (k // n_columns) + 1, k % n_columns]
            several = {"elinewidth": 0.6, "capsize": 1.2} if curve["standard error"].any() else {}
            for part, values, spread, level, color, mark in zip(
                PARTS, curve["errors"].T, curve["standard error"].T, curve["exact"], colors, marks, strict=True
            ):
                above.axhline(level, color=color, linewidth=0.6, linestyle=(0, (4, 2)))
                look: dict[str, Any] = {"color": color, "marker": mark, "markersize": 2.4, "linewidth": 0.9}
                above.errorbar(CHECKPOINTS, values, spread if several else None, label=part, **look, **several)
            names = ("objective less optimum", "gradient", "preconditioned gradient", "their mixed product")
            for name, values, color in list(zip(names, curve["quantities"], colors, strict=True))[::-1]:
                width = 1.4 if color == colors[0] else 0.7
                below.plot(np.arange(1, len(values)), np.maximum(values[1:], 1e-30), color, linewidth=width, label=name)
            for ax in (above, below):
                if curve["converged"] is not None:
                    ax.axvline(curve["converged"], color="0.75", linewidth=2.0, zorder=0)
                ax.set(xscale="log", xlim=(0.9, 1.15 * CHECKPOINTS[-1]))
                ticks_at(ax.xaxis, [1, 4, 16, 64, 256])
            above.set(title=NAMES[task])
            above.set_ylim(-0.03 * above.get_ylim()[1], None)
            below.set(yscale="log", ylim=(LEAST, 50.0), xlabel="iterations")
            below.yaxis.set_major_locator(LogLocator(100.0))
            below.yaxis.set_minor_locator(NullLocator())
            if k % n_columns == 0:
                above.set_ylabel("error, %")
                below.set_ylabel("relative to the start")
        dashed = Line2D([], [], color="0.25", linewidth=0.6, linestyle=(0, (4, 2)))
        line = Line2D([], [], color="0.75", linewidth=2.0)
        (of_errors, parts), (of_norms, names) = (axes[row, 0].get_legend_handles_labels() for row in (0, 1))
        handles = [*(each for pair in zip(of_errors, of_norms[::-1], strict=True) for each in pair), dashed, line]
        texts = [each for pair in zip(parts, names[::-1], strict=True) for each in pair]
        texts = [f"error, {text}" if text in PARTS else text for text in texts]
        texts += ["exact solution", "errors near it for good"]
        figure.legend(handles, texts, loc="outside upper center", ncols=5, columnspacing=1.2)  # columns of two
    return figure
