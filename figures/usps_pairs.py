"""45 pairs of digits with two labels each: with and without the unlabelled samples.

Above, mean errors on the unlabelled images of every pair, RLS against LapRLS and SVM against LapSVM, in the order of
the supervised error. Below left, errors on images that no fit saw against those on the unlabelled ones; below right,
the deviation over ten draws, supervised against Laplacian: above the line the Laplacian method is the steadier one.

After figure 4 of Belkin, Niyogi and Sindhwani, "Manifold regularization": errors at the precision-recall break-even
point, two labelled images of each digit, bars of one standard error over the draws; the paper's order of the pairs is
not known, and the legend has the means over the pairs next to the published ones. On the line of equal errors the
extension out of sample costs nothing. Both lower scales are linear up to 0.1 and logarithmic beyond; open markers have
a zero in one of their numbers. USPS where the data folder holds it, else pairs of scikit-learn's digits. The protocol
and what the paper leaves open are in `reproduction.papers.belkin_2006`; the sidecar has its claims put to these
numbers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.papers import belkin_2006 as paper
from reproduction.papers.belkin_2006 import claims, fits
from reproduction.run import measured
from reproduction.tasks import told_data

PER_CLASS = 2
ALL_PAIRS = 45
"""What the published means are over; fewer pairs are not compared with them."""
FEW = 10
"""Pairs below which the lower panels are left out: so few points show nothing."""

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"kernels": ("unit",)},
    "standard": {"kernels": ()},
    "full": {"kernels": ("plain", "unit")},
}
SECONDS = {"quick": (3, 3), "standard": (10, 35), "full": (18, 70)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit the four classifiers on every pair and draw."""
    names, missing = fits.pairs_available()
    plan = paper.plan_for(names, per_class=(PER_CLASS,), seed=seed)
    plan = replace(plan, kernels=tuple(dict.fromkeys((*plan.kernels, *SIZES[size]["kernels"]))))
    plan = plan.quick() if size == "quick" else plan
    rows = measured(fits.work)(plan.cells())
    means, deviations = {}, {}
    for part, letter in fits.PARTS.items():
        tasks = claims.by_task(rows, part, per_class=PER_CLASS, kernel=plan.kernels[0])
        means[letter] = {method: claims.mean_errors(tasks, method) for method in fits.CONVEX}
        deviations[letter] = {method: claims.deviations(tasks, method) for method in fits.CONVEX}
    whole = len(plan.tasks) == ALL_PAIRS and plan.tasks[0].startswith("usps")
    results = {
        "mean error over the pairs, percent": {
            kernel: paper.means_and_published(rows, PER_CLASS, kernel) for kernel in plan.kernels
        },
        "the published means of figure 4": {
            method: claims.figure_4_mean(method) if whole else np.nan for method in fits.CONVEX
        },
        "errors by pair, percent": {
            letter: {method: dict(zip(plan.tasks, values, strict=True)) for method, values in each.items()}
            for letter, each in means.items()
        },
        "claims": {kernel: claims.of_pairs(rows, per_class=PER_CLASS, kernel=kernel) for kernel in plan.kernels},
        "data": missing,
    }
    return {
        "means": means,
        "deviations": deviations,
        **paper.sidecar(plan, rows, results),
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw two panels of errors and two of comparisons."""
    from specmargin.plots import style, subplots
    from specmargin.plots.theme import method_styles
    from specmargin.plots.ticks import ticks_at

    means, deviations, n_draws = data["means"], data["deviations"], data["parameters"]["draws"]
    looks = method_styles(list(fits.CONVEX))
    known = next(iter(data["results"]["mean error over the pairs, percent"].values()))
    published = data["results"]["the published means of figure 4"]
    n_pairs = len(means["U"]["RLS"])
    figure, axes = subplots(1 if n_pairs < FEW else 2, 2, width="page", aspect=0.68)
    with style():
        figure.suptitle(told_data(data["data"]), fontsize="medium")
        for ax, pair in zip(axes[0], fits.PAIRS, strict=True):
            order = np.argsort(means["U"][pair[0]], kind="stable")
            for method in pair:
                look = {"color": looks[method].color, "marker": "o" if method == pair[0] else ">", "linestyle": "none"}
                bars = {"yerr": deviations["U"][method][order] / np.sqrt(n_draws), "elinewidth": 0.8, "capsize": 1.2}
                told = f"{method}, mean {known[method]['U']:.1f} %"
                if np.isfinite(published[method]):
                    told += f" (published {published[method]:.1f} %)"
                at, values = np.arange(1, len(order) + 1), means["U"][method][order]
                ax.errorbar(at, values, label=told, markersize=3, **bars, **look)
            ticks_at(ax.xaxis, range(1, n_pairs + 1) if n_pairs <= 10 else [1, *range(10, n_pairs, 10), n_pairs])
            ax.set(xlabel=f"pair of digits, by the error of the {pair[0]}", ylabel="mean error (U), %")
            ax.grid(axis="y")
            ax.legend(loc="upper left", title=f"bars: standard error, {n_draws} draws", alignment="left")
        top = max(ax.get_ylim()[1] for ax in axes[0])
        for ax in axes[0]:
            ax.set_ylim(-0.02 * top, 1.15 * top)  # room for the legend
        if len(axes) == 1:
            return figure
        scatter(
            axes[1, 0],
            {method: (means["U"][method], means["T"][method], looks[method]) for _, method in fits.PAIRS},
            ("mean error (U), %", "mean error (T), %"),
        )
        scatter(
            axes[1, 1],
            {f"{b} and {a}": (deviations["U"][b], deviations["U"][a], looks[b]) for a, b in fits.PAIRS},
            ("deviation of the Laplacian method (U), points", "deviation of the supervised (U), points"),
        )
    return figure


def scatter(ax: Any, series: dict[str, Any], names: tuple[str, str]) -> None:
    """Draw series of points and the diagonal; points with a zero open, for they are on no logarithmic scale."""
    from specmargin.plots.ticks import ticks_at

    largest = 1.2 * max(1.0, *(float(np.max(part)) for x, y, _ in series.values() for part in (x, y)))
    ax.plot([0, largest], [0, largest], color="0.6", linewidth=0.7, zorder=1, label="equal")
    for k, (name, (x, y, look)) in enumerate(series.items()):
        marks: dict[str, Any] = {"linestyle": "none", "color": look.color, "clip_on": False, "zorder": 3 + k}
        marks |= {"marker": "os"[k], "markersize": 3.4 - k, "markeredgewidth": 0.7}
        away = (x > 0) & (y > 0)
        ax.plot(x[away], y[away], label=name, **marks)
        ax.plot(x[~away], y[~away], markerfacecolor="none", **marks)
    scale = {"value": "symlog", "linthresh": 0.1, "linscale": 0.5}
    ax.set_xscale(**scale)
    ax.set_yscale(**scale)
    ax.set(xlabel=names[0], ylabel=names[1], xlim=(0, largest), ylim=(0, largest))
    for axis in (ax.xaxis, ax.yaxis):
        ticks_at(axis, [place for place in (0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if place < largest])
    ax.legend(loc="lower right")
