"""How far seven S3VM searches end from the proved global optimum.

A row is a solver, a marker one draw of 40 points with four labels: along, how far its objective is above the global
optimum, which branch and bound has proved; open markers in the grey strip are at it. Colour: error on the unlabelled
points; bar: median; number: mean error.

The question behind figure 3 of Chapelle, Chi and Zien, "A continuation method for semi-supervised SVMs", asked with
bounds. Draws stand in the same order from top to bottom of every row; above each panel is the mean error of the global
optima. Above C = C* = 1, below 100; a column per data set. Every solver minimises an objective of its own. To be
compared, its labels are the start of a descent on one objective for all: squared hinges, J = 1/2 |w|^2 + C sum max(0, 1
- y f)^2 + C* sum max(0, 1 - |f|)^2, trained with these labels, then with those of the answer, until they stay.
"Supervised" is that descent from the labels which the SVM of the labelled points predicts. Gaussian kernels; USPST
where the data folder holds it, else scikit-learn's digits. Draws whose optimum was not proved in time are left out. The
sidecar has, per solver, how often it found the optimum, alone and followed by one-flip descent, its median gap and mean
error, and the rank correlation of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.papers import global_optima as s3vm_optima
from reproduction.tasks import sources_of

SOLVERS = {
    "supervised": "supervised",
    "cccp": "CCCP",
    "multi_switch": "multi-switch",
    "label_switching": "label switching",
    "annealing": "annealing",
    "quasi_newton": "quasi-Newton",
    "gradient": "gradient",
    "continuation": "continuation",
}
"""The solvers of `s3vm_optima`, with the name of each."""
COLORS = ("#0072B2", "#9AA6AD", "#D55E00")
"""From no error to the largest: as a print without colours cannot show it, the means stand at the right."""
ZERO = 0.1  # of the least gap that is not zero: where gaps of zero are drawn on the logarithmic scale

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n_unlabeled": 16, "seeds": 2},
    "standard": {"n_unlabeled": 36, "seeds": 8},
    "full": {"n_unlabeled": 36, "seeds": 8},
}
SECONDS = {"quick": (5, 5), "standard": (35, 33), "full": (35, 33)}  # of one core: bundled data, real data
TIME_LIMIT = 60.0  # seconds for one optimum: twenty times what the slowest takes


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Run every solver and branch and bound on every draw; the draws are those of seeds 0, 1, ..., whatever `seed`."""
    n_unlabeled, n_draws = SIZES[size]["n_unlabeled"], SIZES[size]["seeds"]
    problems = list(s3vm_optima.tasks(**SIZES[size]))
    rows = s3vm_optima.rows(problems, time_limit=TIME_LIMIT)
    failed = [row for row in rows if "failed" in row]
    names = list(dict.fromkeys(task.name for task in problems))
    images = "uspst" if any(name.startswith("USPST") for name in names) else "digits"
    panels: dict[str, Any] = {}
    results, certificates = {}, {}
    for C in s3vm_optima.WEIGHTS:
        for name in names:
            block = [row for row in rows if row["task"] == name and row["C"] == C]
            panel = panel_of(block)
            panels.setdefault(f"{C:g}", {})[name] = panel
            results[f"{name}, C = {C:g}"] = {
                "by solver": by_solver(block),
                "mean error of the global optima, percent": float(panel["optimum"].mean()),
                "rank correlation of gap and error": correlation(panel),
            }
            certificates[f"{name}, C = {C:g}"] = {
                "draws": n_draws,
                "optima proved to 1e-6": len({row["seed"] for row in block if row["proved"]}),
                "worst relative gap": max(1 - row["bound"] / row["optimum"] for row in block),
            }
    return {
        "panels": panels,
        "parameters": {
            "C": list(s3vm_optima.WEIGHTS),
            "C_star": "C",
            "unlabelled": n_unlabeled,
            "draws": n_draws,
            "time limit": TIME_LIMIT,
            "losses": {name: dict(s3vm_optima.METHODS[name].options) for name in SOLVERS},
        },
        "results": {
            **results,
            **{f"all, C = {C:g}": by_solver([row for row in rows if row["C"] == C]) for C in s3vm_optima.WEIGHTS},
            "failed": [f"{row['solver']} on {row['task']}: {row['failed']}" for row in failed],
        },
        "certificates": certificates,
        "data": {**sources_of([images]), "others": {"kind": "generated", "sha256": None}},
        "solvers": ["branch_and_bound", "one_flip", *(name for name in SOLVERS if name != "supervised")],
    }


def panel_of(block: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    """Return relative gaps and errors, (draws, solvers), of the draws whose optimum is proved."""
    seeds = sorted({row["seed"] for row in block if row["proved"]})
    gaps, errors = np.full((2, len(seeds), len(SOLVERS)), np.nan)
    optimum = np.full(len(seeds), np.nan)
    for row in (row for row in block if row["proved"]):
        i, k = seeds.index(row["seed"]), list(SOLVERS).index(row["solver"])
        optimum[i] = row["error_optimum"]
        if "failed" not in row:
            gaps[i, k], errors[i, k] = row["converged"] / row["optimum"] - 1, row["error"]
    return {"gaps": gaps, "errors": errors, "optimum": optimum}


def by_solver(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the table of `s3vm_optima` by solver; the rows are of one C."""
    return {line.pop("solver"): line for line in s3vm_optima.summary(rows)}


def correlation(panel: dict[str, np.ndarray]) -> float | None:
    """Return Spearman's rank correlation of gaps and errors, None where one of them never varies."""
    from scipy.stats import spearmanr

    gaps, errors = panel["gaps"].ravel(), panel["errors"].ravel()
    known = np.isfinite(gaps)
    if not known.any() or np.ptp(gaps[known]) == 0 or np.ptp(errors[known]) == 0:
        return None
    return float(spearmanr(gaps[known], errors[known]).statistic)


def draw(data: dict[str, Any]) -> Any:
    """Draw a row per C and a column per data set."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.lines import Line2D

    from specmargin.plots import style, subplots
    from specmargin.plots.theme import PALETTE
    from specmargin.plots.ticks import ticks_at

    panels = data["panels"]
    n_rows, n_cols = len(panels), len(next(iter(panels.values())))
    every = [panel for sets in panels.values() for panel in sets.values()]
    highest = max(float(np.nanmax(panel["errors"], initial=10.0)) for panel in every)
    norm, colors = Normalize(0, highest), LinearSegmentedColormap.from_list("errors", list(COLORS))
    gaps = 100 * np.concatenate([panel["gaps"].ravel() for panel in every])
    away = gaps[gaps > 100 * s3vm_optima.HIT]  # comparisons with nan are false
    decades = 10.0 ** np.arange(np.floor(np.log10(away.min(initial=1.0))), np.ceil(np.log10(away.max(initial=1.0))) + 1)
    zero = ZERO * decades[0]
    figure, axes = subplots(n_rows, n_cols, width="page", aspect=1.4, sharex=True, sharey=True)
    with style():
        for i, (C, sets) in enumerate(panels.items()):
            for ax, (name, panel) in zip(axes[i], sets.items(), strict=True):
                draw_panel(ax, panel, zero, lambda error: colors(norm(error)))
                level = f"{panel['optimum'].mean():.0f} %" if len(panel["optimum"]) else "none proved"
                ax.set_title(f"{name}, $C = {C}$\nerror of the optima: {level}")
                ax.axvspan(zero / 2.5, 2.5 * zero, color="0.92", linewidth=0, zorder=0)
                ax.set(xscale="log", xlim=(zero / 2.5, 1.5 * decades[-1]), ylim=(len(SOLVERS) - 0.5, -0.5))
                shown = decades[len(decades) > 2 :: 1 + len(decades) // 4]  # a name next to that of 0 would run into it
                ticks_at(ax.xaxis, [zero, *shown], ["0", *(f"{x:g}" for x in shown)])
                ticks_at(ax.yaxis, range(len(SOLVERS)), list(SOLVERS.values()))
                ax.tick_params(axis="y", length=0, labelleft=ax is axes[i, 0])
                ax.tick_params(axis="x", labelbottom=i == n_rows - 1, labelsize=6.4)
        figure.supxlabel("objective above the proved global optimum, %", fontsize=7.5)
        bar = figure.colorbar(ScalarMappable(norm, colors), ax=axes, fraction=0.02, aspect=40, pad=0.01)
        bar.set_label("error on unlabelled points, %")
        bar.outline.set_linewidth(0.5)
        marks: dict[str, Any] = {"linestyle": "none", "color": PALETTE["blue"], "markersize": 4}
        handles = [
            Line2D([], [], marker="o", label="one draw", **marks),
            Line2D([], [], marker="o", markerfacecolor="none", label="one draw, at the optimum", **marks),
            Line2D([], [], marker="|", markersize=9, markeredgewidth=1.6, color="black", linestyle="none"),
            Line2D([], [], linestyle="none"),
        ]
        handles[2].set_label("median")
        handles[3].set_label("right: mean error $\\pm$ standard error, %")
        figure.legend(handles=handles, loc="outside upper center", ncols=4, handletextpad=0.4)
    return figure


def draw_panel(ax: Any, panel: dict[str, np.ndarray], zero: float, color: Any) -> None:
    """Draw the solvers, one below the other."""
    n_draws = len(panel["optimum"])
    offsets = np.linspace(-0.34, 0.34, n_draws) if n_draws > 1 else np.zeros(n_draws)
    for k in range(len(SOLVERS)):
        if k % 2 == 0:
            ax.axhspan(k - 0.5, k + 0.5, color="0.97", linewidth=0, zorder=-1)
        gaps, errors = panel["gaps"][:, k], panel["errors"][:, k]
        known = np.isfinite(gaps)
        if not known.any():
            continue
        for gap, error, offset in zip(gaps[known], errors[known], offsets[known], strict=True):
            hit = gap < s3vm_optima.HIT
            face = "none" if hit else color(error)
            at = place(gap, zero)
            ax.plot(at, k + offset, "o", color=color(error), markerfacecolor=face, markersize=2.7, markeredgewidth=0.8)
        middle = place(np.median(gaps[known]), zero)
        ax.plot([middle, middle], [k - 0.42, k + 0.42], color="black", linewidth=1.4, zorder=1)
        spread = np.std(errors[known], ddof=1) / np.sqrt(known.sum()) if known.sum() > 2 else np.nan
        told = f"{errors[known].mean():.0f}" + (f" $\\pm$ {spread:.0f}" if np.isfinite(spread) else "")
        ax.text(1.03, k, told, transform=ax.get_yaxis_transform(), va="center", fontsize=6)


def place(gap: float, zero: float) -> float:
    """Return where a relative gap is drawn, in per cent: all gaps of zero at one place."""
    return zero if gap < s3vm_optima.HIT else 100 * float(gap)
