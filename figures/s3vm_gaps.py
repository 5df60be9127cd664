"""Objective against error: what seven S3VM solvers reach, compared with the proved global optimum.

The question behind figure 3 of Chapelle, Chi and Zien, "A continuation method for semi-supervised SVMs", asked with
bounds. A hollow marker is one solver on one draw of 40 points, four of them labelled: along, how far its objective is
above the global optimum, which branch and bound has proved; up, its error on the unlabelled points. A full marker is
the solver's median gap and mean error. Those in the grey strip, which has a column for each solver, are at the optimum;
other gaps below 0.07 % are drawn next to it. The dashed line is the mean error of the global optima. Above C = C* = 1,
below 100; a column per data set.

Every solver minimises an objective of its own. To be compared, its labels are the start of a descent on one objective
for all: squared hinges, J = 1/2 |w|^2 + C sum max(0, 1 - y f)^2 + C* sum max(0, 1 - |f|)^2, trained with these labels,
then with those of the answer, until they stay. "Supervised" is that descent from the labels which the SVM of the
labelled points predicts. Gaussian kernels; USPST where the data folder holds it, else scikit-learn's
digits. Draws whose optimum was not proved in time are left out. The sidecar has, per solver, how often it found the
optimum, alone and followed by one-flip descent, its median gap and mean error, and the rank correlation of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specmargin.experiments.tasks import sources_of
from specmargin.papers import global_optima as s3vm_optima

SOLVERS = {
    "supervised": ("SVM", "supervised"),
    "cccp": ("CCCPS3VM", "CCCP"),
    "multi_switch": ("MultiSwitchTSVM", "multi-switch"),
    "label_switching": ("LabelSwitchingS3VM", "label switching"),
    "annealing": ("AnnealedS3VM", "annealing"),
    "quasi_newton": ("QuasiNewtonS3VM", "quasi-Newton"),
    "gradient": ("GradientS3VM", "gradient"),
    "continuation": ("ContinuationS3VM", "continuation"),
}
"""The solvers of `s3vm_optima`, with the style and the name of each."""
STRIP = (1e-3, 5e-2)  # per cent: where gaps of zero are drawn on the logarithmic scale

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
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from specmargin.plots import style, subplots
    from specmargin.plots.theme import method_styles

    panels = data["panels"]
    looks = method_styles([key for key, _ in SOLVERS.values()])
    n_rows, n_cols = len(panels), len(next(iter(panels.values())))
    figure, axes = subplots(n_rows, n_cols, width="page", aspect=1.12, sharex=True, sharey=True)
    columns = np.geomspace(*STRIP, len(SOLVERS) + 2)[1:-1]  # a place for each solver in the strip
    highest = max(float(np.nanmax(each["errors"], initial=10.0)) for sets in panels.values() for each in sets.values())
    middle = float(np.sqrt(STRIP[0] * STRIP[1]))
    with style():
        for i, (C, sets) in enumerate(panels.items()):
            for ax, (name, panel) in zip(axes[i], sets.items(), strict=True):
                ax.axvspan(*STRIP, color="0.92", linewidth=0, zorder=0)
                ax.set_title(f"{name}, $C = {C}$")
                if not len(panel["optimum"]):
                    continue
                level = panel["optimum"].mean()
                ax.axhline(level, color="0.25", linewidth=0.9, linestyle=(0, (5, 2)), label="global optimum", zorder=1)
                for k, (key, label) in enumerate(SOLVERS.values()):
                    look, gaps, errors = looks[key], panel["gaps"][:, k], panel["errors"][:, k]
                    marks = {"linestyle": "none", "marker": look.marker, "color": look.color}
                    hollow = {"markerfacecolor": "none", "markersize": 3.2, "markeredgewidth": 0.6, "alpha": 0.6}
                    ax.plot(place(gaps, columns[k]), errors, zorder=3, **marks, **hollow)
                    full = {"markeredgecolor": "white", "markeredgewidth": 0.7, "label": label}
                    middle_gap = place(np.nanmedian(gaps, keepdims=True), columns[k])
                    largest = 7.5 if k == 0 else 5.6  # others may come to lie on it
                    ax.plot(middle_gap, [np.nanmean(errors)], zorder=4, markersize=largest, **marks, **full)
                ax.set(xscale="log", xlim=(STRIP[0], 4e3), ylim=(-2.5, highest + 3.5))
                ax.xaxis.set_major_locator(FixedLocator([middle, 0.1, 1, 10, 100, 1000]))
                ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: "0" if np.isclose(x, middle) else f"{x:g}"))
                ax.xaxis.set_minor_locator(NullLocator())
                ax.grid(axis="y")
                ax.tick_params(axis="y", labelleft=ax is axes[i, 0])
                ax.tick_params(axis="x", labelbottom=i == n_rows - 1, labelsize=6.4)
            axes[i, 0].set_ylabel("error on unlabelled points, %")
        figure.supxlabel("objective above the proved global optimum, %", fontsize=7.5)
        handles, names = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=5, handletextpad=0.4)
    return figure


def place(gaps: np.ndarray, column: float) -> np.ndarray:
    """Return where relative gaps are drawn, in per cent: in the solver's column of the strip where there is none."""
    return np.where(gaps < s3vm_optima.HIT, column, np.maximum(100 * gaps, 1.35 * STRIP[1]))
