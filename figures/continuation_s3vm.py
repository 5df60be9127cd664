"""Continuation against gradient descent and label switching, pair by pair of digits.

(a) Does the lower objective have the lower error? In the grey quadrants it does. (b) Errors of both, run by run; above
the diagonal continuation errs less. (c, d) Mean errors against the width of the kernel and the weight of a graph. (e,
f) Errors and seconds on p = q functions, as p grows.

After figures 3 to 7 of Chapelle, Chi and Zien, "A continuation method for semi-supervised SVMs"; errors are those of
the unlabelled points. (a) Figure 3: a marker is a pair of digits and a split; along, the difference of the objectives
of continuation and gradient descent over the larger one; up, that of their errors. (b) Figure 4: linear below 1 % and
logarithmic beyond, open markers where an error is zero. (c) Figure 5: C = C* = 100; bars in (c) and (d) are one
standard error over the splits, the pairs being fixed. (d) Figure 6: an SVM (which is LapSVM) and continuation on the
kernel that a graph deforms; hollow at 0 the kernel is the plain one. Dashed lines are the published best errors of
both: OPTIMISTIC, the weight was chosen by the errors on the test points. (e) Figure 7: continuation confined to p = q
random kernel functions on MNIST 5 against 8, 20 labelled images and 5000 others, mean and standard error over the draws
of the labels; a line and a band for the SVM of the labelled points. (f) What a fit takes, with the map to the features.

Every fifth of the 45 pairs of USPST and two of their ten published splits in (a) to (d), and p at most 1250. Full: all
pairs, splits and p; quick: nine pairs, two splits, and p at most 625. Where the data folder lacks USPST the pairs are
of scikit-learn's digits, with widths 2.5 times as large and no published numbers; where it lacks MNIST (e) and (f) are
the rank study of the paper's section 5.2, leading kernel principal components on every fifth pair. Gradient descent is
on the hinge, as the paper says: `reproduction.papers.chapelle_2006` has the settings, and what the paper leaves
open. The sidecar has the counts behind (a) and (b) in sentences.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.claims import Pairing, objective_and_error, paired, wins
from reproduction.engine.records import Row, worst_gap
from reproduction.papers import chapelle_2006 as experiment
from reproduction.papers.chapelle_2006 import FOUR, ContinuationBlock, measure, seconds, timed_features
from reproduction.tasks import is_available, missing_data, sources_of, told_data

FIRST = "cs3vm"
LOOKS = {
    "svm": ("SVM", "SVM"),
    "cs3vm": ("continuation", "continuation"),
    "grad_hinge": ("gradient", "gradient"),
    "svmlight_s3vm": ("label_switching", "label switching"),
    "lapsvm": ("LapSVM", "LapSVM"),
}
"""Style and name of each method; the last is the SVM on the deformed kernel."""
WIDER = 2.5
"""Widths on the bundled digits over those on USPST: 20 over 8, as in the tables."""
SIZES: dict[str, dict[str, Any]] = {
    "quick": {"every": 5, "n_splits": 2, "most_landmarks": 625},
    "standard": {"every": 5, "n_splits": 2, "most_landmarks": 1250},
    "full": {"every": 1, "n_splits": None, "most_landmarks": None},
}
SECONDS = {"quick": (9, 16), "standard": (20, 35), "full": (140, 600)}  # of one core: bundled data, real data
BARS: dict[str, Any] = {"elinewidth": 0.8, "capsize": 1.5}
BARS_TOLD = "bars and band: one standard error, over splits in (c, d), over draws of labels in (e)"
ON_GRAPH = ("svm", FIRST)


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit every method of every setting; the splits are those of the tables, whatever `seed`."""
    parts, notes = settings(**SIZES[size])
    plain = parts["Table 1"][0]
    rows = measure([block for name, blocks in parts.items() if name != "cost" for block in blocks])
    costs, cost_rows = cost(parts["cost"])
    rows |= cost_rows
    mine = plain.rows(rows)
    gammas = [plain, *parts["Figure 6"]]
    curves = {
        "sigma": {
            "at": np.array([block.sigma for block in parts["Figure 5"]]),
            "errors": {m: means(parts["Figure 5"], rows, m) for m in FOUR},
            "standard errors": {m: standard_errors(parts["Figure 5"], rows, m) for m in FOUR},
        },
        "gamma_I": {
            "at": np.array([block.graph / block.C for block in gammas]),
            "errors": {m: means(gammas, rows, m) for m in ON_GRAPH},
            "standard errors": {m: standard_errors(gammas, rows, m) for m in ON_GRAPH},
            "published": {m: gammas[-1].published(m).mean for m in ON_GRAPH},
        },
    }
    used = [block for blocks in parts.values() for block in blocks]
    return {
        "runs": {m: paired(mine, FIRST, m)._asdict() for m in ("grad_hinge", "svmlight_s3vm")},
        "curves": curves,
        "cost": costs,
        "parameters": {
            name: {
                "sections": sorted({block.title for block in blocks}),
                "tasks": sorted({task for block in blocks for task in block.tasks}),
                "splits": blocks[0].n_splits,
                "C": blocks[0].C,
                "C_star": blocks[0].C_star,
                "sigma": sorted({block.sigma for block in blocks}),
            }
            for name, blocks in parts.items()
        },
        "results": {
            "in sentences": [
                objective_and_error(mine, FIRST, "grad_hinge"),
                *(wins(mine, FIRST, m) for m in ("grad_hinge", "svmlight_s3vm")),
            ],
            "mean error of these runs, percent": {m: float(means([plain], rows, m)[0]) for m in FOUR},
            "figure 5, mean error by sigma, percent": table(curves["sigma"]),
            "figure 6, mean error by gamma_I, percent": table(curves["gamma_I"]),
            "figure 6, published best over gamma_I (optimistic), percent": curves["gamma_I"]["published"],
            "figure 7, by p = q" if costs["landmarks"] else "section 5.2, by rank": {
                f"{size:g}": {name: float(costs[name][i]) for name in ("error", "standard error", "fit", "features")}
                for i, size in enumerate(costs["at"])
            },
            "seconds": seconds(rows.values()),
            "data": notes,
        },
        "certificates": {
            "fits": len(rows),
            "worst relative gap of an SVM": worst_gap(rows.values()),
            "worst stationarity of continuation": max(
                row["stationarity"] for row in rows.values() if row["method"] == FIRST
            ),
            "cut off": sum(row["ended"] not in ("stationary", "optimal") for row in rows.values()),
        },
        "data": sources_of(task for block in used for task in block.tasks),
        "solvers": sorted({row["method"] for row in rows.values()}),
    }


def settings(
    every: int, n_splits: int | None, most_landmarks: int | None
) -> tuple[dict[str, list[ContinuationBlock]], list[str]]:
    """Return the blocks of the panels, and a note on missing data."""
    lost = [name for name in ("uspst", "mnist") if not is_available(name)]
    titles = {name: name for name in ("Table 1", "Figure 5", "Figure 6")}
    titles["cost"] = "Section 5.2" if "mnist" in lost else "Figure 7"
    parts = {}
    for part, title in titles.items():
        blocks = [b for b in experiment.blocks(every=every) if b.title.startswith(title)]
        blocks = [b for b in blocks if b.source in ("uspst", "mnist")]
        if part == "Table 1":
            blocks = [replace(b, methods=FOUR) for b in blocks]
        if part == "cost":
            blocks = [b for b in blocks if (b.landmarks or 0) <= (most_landmarks or np.inf)]
            blocks[-1] = replace(blocks[-1], methods=("svm", FIRST))
        if n_splits is not None:
            blocks = [replace(b, n_splits=n_splits) for b in blocks]
        parts[part] = [bundled(b) if "uspst" in lost else b for b in blocks]
    return parts, missing_data(lost)


def bundled(block: ContinuationBlock) -> ContinuationBlock:
    """Return the setting on the same pairs of scikit-learn's digits; that of MNIST stays as it is."""
    if block.source == "mnist":
        return block
    tasks = tuple(task.replace("uspst", "digits") for task in block.tasks)
    sigma = None if block.sigma is None else WIDER * block.sigma
    return replace(block, dataset="digits_pairs", tasks=tasks, sigma=sigma)


def cost(blocks: list[ContinuationBlock]) -> tuple[dict[str, Any], dict[str, Row]]:
    """Return errors of continuation with their standard errors and seconds by the number of features, and the rows."""
    rows: dict[str, Row] = {}
    mapped, taken, errors = [], [], []
    for block in blocks:
        mapped.append(timed_features(block))
        measured = measure([block])
        mine = [row for row in measured.values() if row["method"] == FIRST]
        taken.append(np.mean([row["fit_seconds"] for row in mine]))
        errors.append([row["error_unlabeled"] for row in mine])
        rows |= measured
    return {
        "landmarks": blocks[0].landmarks is not None,
        "at": np.array([block.landmarks or block.rank for block in blocks], dtype=float),
        "error": np.array([np.mean(each) for each in errors]),
        "standard error": np.array([np.std(each, ddof=1) / np.sqrt(len(each)) for each in errors]),
        "svm": float(means(blocks[-1:], rows, "svm")[0]),
        "svm standard error": float(standard_errors(blocks[-1:], rows, "svm")[0]),
        "fit": np.array(taken),
        "features": np.array(mapped),
    }, rows


def means(blocks: Iterable[ContinuationBlock], rows: dict[str, Row], method: str) -> np.ndarray:
    """Return the mean error of a method on each block."""
    return np.array(
        [np.mean([row["error_unlabeled"] for row in b.rows(rows) if row["method"] == method]) for b in blocks]
    )


def standard_errors(blocks: Iterable[ContinuationBlock], rows: dict[str, Row], method: str) -> np.ndarray:
    """Return the standard error over the splits of a method's mean over the pairs of each block."""
    values = []
    for block in blocks:
        by_split: dict[str, list[float]] = {}
        for row in block.rows(rows):
            if row["method"] == method:
                by_split.setdefault(row["split"], []).append(row["error_unlabeled"])
        each = [np.mean(errors) for errors in by_split.values()]
        values.append(np.std(each, ddof=1) / np.sqrt(len(each)))
    return np.array(values)


def table(curve: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        m: {f"{x:g}": float(value) for x, value in zip(curve["at"], values, strict=True)}
        for m, values in curve["errors"].items()
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw the six panels."""
    from specmargin.plots import style, subplots
    from specmargin.plots.theme import method_styles

    styles = method_styles([key for key, _ in LOOKS.values()])
    looks = {method: (styles[key], label) for method, (key, label) in LOOKS.items()}
    figure, axes = subplots(2, 3, width="page", aspect=0.95)
    with style():
        runs = {method: Pairing(**each) for method, each in data["runs"].items()}
        differences(axes[0, 0], runs["grad_hinge"])
        scatter(axes[0, 1], runs, looks)
        widths(axes[0, 2], data["curves"]["sigma"], looks)
        graph(axes[1, 0], data["curves"]["gamma_I"], looks)
        sizes(axes[1, 1:], data["cost"], looks)
        handles: dict[str, Any] = {}
        for ax in (axes[0, 2], axes[1, 0], axes[0, 1]):
            handles |= {name: h for h, name in zip(*ax.get_legend_handles_labels(), strict=True) if name not in handles}
        place: dict[str, Any] = {"loc": "outside upper center", "ncols": len(handles), "columnspacing": 1.2}
        title = f"{told_data(data['data'])}; {BARS_TOLD}"
        figure.legend(handles.values(), handles.keys(), title=title, **place)
    return figure


def line_of(look: Any) -> dict[str, Any]:
    return {"color": look.color, "marker": look.marker, "linestyle": look.linestyle, "linewidth": 1.0}


def differences(ax: Any, runs: Pairing) -> None:
    """Draw figure 3."""
    scale = np.maximum(np.abs(runs.first_objective), np.abs(runs.second_objective))
    x = 100 * (runs.first_objective - runs.second_objective) / scale
    y = runs.first_error - runs.second_error
    right, top = (1.08 * max(float(np.max(np.abs(part))), 1e-3) for part in (x, y))
    for sign in (-1, 1):
        ax.fill_between([0, sign * right], [0, 0], [sign * top] * 2, color="0.93", linewidth=0, zorder=0)
    ax.axhline(0, color="0.6", linewidth=0.6, zorder=1)
    ax.axvline(0, color="0.6", linewidth=0.6, zorder=1)
    ax.plot(x, y, "o", color="0.15", markersize=2.4, markerfacecolor="none", markeredgewidth=0.5, alpha=0.7)
    told = "a circle: one run;\ngrey: the lower\nobjective has the\nlower error"
    ax.text(0.97 * right, -0.97 * top, told, va="bottom", ha="right", fontsize=6.0, color="0.35")
    ax.set(xlim=(-right, right), ylim=(-top, top), title="(a) continuation less gradient")
    ax.set(xlabel="difference of objectives, %", ylabel="difference of errors, points")


def scatter(ax: Any, runs: dict[str, Pairing], looks: dict[str, Any]) -> None:
    """Draw figure 4."""
    largest = 1.1 * max(float(np.max(part)) for each in runs.values() for part in each[:2])
    ax.plot([0, largest], [0, largest], color="0.6", linewidth=0.7, zorder=1, label="equal errors")
    for method, each in reversed(runs.items()):
        look, _ = looks[method]
        marks: dict[str, Any] = {"linestyle": "none", "marker": look.marker, "color": look.color, "alpha": 0.75}
        marks |= {"markersize": 3.0, "markeredgewidth": 0.5}
        away = (each.first_error > 0) & (each.second_error > 0)
        ax.plot(each.first_error[away], each.second_error[away], **marks)
        ax.plot(each.first_error[~away], each.second_error[~away], markerfacecolor="none", **marks)
    scale = {"value": "symlog", "linthresh": 1.0}
    ax.set_xscale(**scale)
    ax.set_yscale(**scale)
    ax.set(xlim=(-0.1, largest), ylim=(-0.1, largest), title="(b) every run")
    for axis in (ax.xaxis, ax.yaxis):
        ticks(axis, np.array([0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0]))
    ax.set(xlabel="error of continuation, %", ylabel="error of the other, %")


def widths(ax: Any, curve: dict[str, Any], looks: dict[str, Any]) -> None:
    """Draw figure 5."""
    for method, values in curve["errors"].items():
        look, label = looks[method]
        ax.errorbar(curve["at"], values, curve["standard errors"][method], label=label, **BARS, **line_of(look))
    ax.set(title="(c) width of the kernel", xlabel=r"width $\sigma$")
    error_axes(ax, curve["at"])


def graph(ax: Any, curve: dict[str, Any], looks: dict[str, Any]) -> None:
    """Draw figure 6; the plain kernel stands a decade to the left of the smallest weight."""
    at = curve["at"].copy()
    at[0] = at[1] / 10
    dashed = {"linewidth": 0.8, "linestyle": (0, (5, 2))}
    for method, values in curve["errors"].items():
        look, label = looks["lapsvm" if method == "svm" else method]
        bars = curve["standard errors"][method]
        ax.errorbar(at[1:], values[1:], bars[1:], label=label, **BARS, **line_of(look))
        before = {"color": looks[method][0].color, "marker": looks[method][0].marker, "markersize": 5}
        ax.errorbar(at[:1], values[:1], bars[:1], markerfacecolor="none", **BARS, **before)
        level = curve["published"][method]
        if np.isfinite(level):
            ax.axhline(level, color=look.color, zorder=1, **dashed)
            ax.plot([], [], color="0.25", label="published best", **dashed)
    ax.set(title="(d) kernel deformed by a graph", xlabel=r"weight of the graph, $\gamma_I$")
    error_axes(ax, at, {at[0]: "0"})


def error_axes(ax: Any, at: np.ndarray, named: dict[float, str] | None = None) -> None:
    ax.set(xscale="log", ylim=(0, None), ylabel="mean error, %")
    ticks(ax.xaxis, at, named)
    ax.grid(axis="y")


def sizes(axes: Any, costs: dict[str, Any], looks: dict[str, Any]) -> None:
    """Draw figure 7, or the rank study: errors on the left, seconds on the right."""
    from specmargin.plots.ticks import plain_ticks

    at, (look, _) = costs["at"], looks[FIRST]
    task = "MNIST 5 and 8" if costs["landmarks"] else "leading components"
    axes[0].errorbar(at, costs["error"], costs["standard error"], **BARS, **line_of(look))
    band = costs["svm"] + costs["svm standard error"] * np.array([-1.0, 1.0])
    axes[0].axhspan(*band, color=looks["svm"][0].color, alpha=0.2, linewidth=0)
    axes[0].axhline(costs["svm"], color=looks["svm"][0].color, linestyle=looks["svm"][0].linestyle, linewidth=1.0)
    axes[0].set(ylim=(0, None), ylabel="mean error, %", title=f"(e) {task}: error")
    axes[1].plot(at, costs["fit"] + costs["features"], color=look.color, linestyle="-", marker="o", label="fit and map")
    axes[1].plot(at, costs["fit"], label="fit", **line_of(look))
    axes[1].set(yscale="log", ylabel="seconds", title=f"(f) {task}: time")
    axes[1].legend(loc="upper left")
    plain_ticks(axes[1].yaxis)
    for ax in axes:
        ax.set(xscale="log", xlabel="random kernel functions, $p = q$" if costs["landmarks"] else "rank")
        ticks(ax.xaxis, at)
        ax.tick_params(axis="x", labelsize=5.8)
        ax.grid(axis="y")


def ticks(axis: Any, at: np.ndarray, named: dict[float, str] | None = None) -> None:
    """Put a tick at each value and nowhere else."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    axis.set_major_locator(FixedLocator(list(at)))
    axis.set_major_formatter(FixedFormatter([(named or {}).get(x, f"{x:g}") for x in at]))
    axis.set_minor_locator(NullLocator())
