"""How many labels it takes: pairs of digits with two labels and more.

Mean errors at the precision-recall break-even point over 45 pairs of digits, against the labels of each class: RLS and
LapRLS on the left, SVM and LapSVM on the right. Full markers: the unlabelled images (U); small open ones: images that
no fit saw (T). Both scales are logarithmic.

After figure 5 of Belkin, Niyogi and Sindhwani, "Manifold regularization". Two draws of the labels (three in the full
size; the table `manifold_regularization` has ten); bars are one standard error over the draws, the pairs being fixed.
Large open markers are the published errors on U, read from the drawing, where USPS is available and all pairs are
there; else the pairs are of scikit-learn's digits, and nothing is published for them. Labels are counted per digit: so
we read the paper's l. The standard size has three numbers of labels, the full size eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduction.engine.records import Row
from reproduction.papers import belkin_2006 as paper
from reproduction.papers.belkin_2006 import claims, fits
from reproduction.run import measured
from reproduction.tasks import told_data

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n_draws": 3},
    "standard": {"n_draws": 2, "per_class": (2, 16, 128)},
    "full": {"n_draws": 3},
}
SECONDS = {"quick": (3, 3), "standard": (7, 28), "full": (16, 60)}  # of one core: bundled data, real data
UNSEEN: dict[str, Any] = {"linewidth": 0.8, "linestyle": ":", "markersize": 2.8, "markerfacecolor": "white"}
ALL_PAIRS = 45
"""What the published means are over; fewer pairs are not compared with them."""


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit the four classifiers on every pair, number of labels and draw."""
    names, missing = fits.pairs_available()
    plan = paper.plan_for(names, seed=seed, **SIZES[size])
    plan = plan.quick() if size == "quick" else plan
    rows = measured(fits.work)(plan.cells())
    means = {str(k): paper.means_and_published(rows, k, plan.kernels[0]) for k in plan.per_class}
    results = {
        "mean error over the pairs by labels per class, percent": means,
        "claims by labels per class": {
            str(k): claims.of_pairs(rows, per_class=k, kernel=plan.kernels[0]) for k in plan.per_class
        },
        "data": missing,
    }
    return {
        "per_class": np.array(plan.per_class),
        "curves": {
            method: {
                name: np.array([each[method][name] for each in means.values()])
                for name in ("U", "T", "published U", "published T")
            }
            | {
                f"standard error {letter}": np.array(
                    [standard_error(rows, method, part, k, plan.kernels[0]) for k in plan.per_class]
                )
                for part, letter in fits.PARTS.items()
            }
            for method in fits.CONVEX
        },
        **paper.sidecar(plan, rows, results),
    }


def standard_error(rows: Sequence[Row], method: str, part: str, per_class: int, kernel: str) -> float:
    """Return the standard error over the draws of the mean over the pairs."""
    tasks = claims.by_task(rows, part, per_class=per_class, kernel=kernel).values()
    by_draw = np.mean([[errors[method][split] for split in sorted(errors[method])] for errors in tasks], axis=0)
    return float(np.std(by_draw, ddof=1) / np.sqrt(len(by_draw)))


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel per loss."""
    from specmargin.plots import style, subplots
    from specmargin.plots.theme import method_styles
    from specmargin.plots.ticks import ticks_at

    per_class, curves = data["per_class"], data["curves"]
    looks = method_styles(list(fits.CONVEX))
    whole = data["parameters"]["pairs"] == ALL_PAIRS
    figure, axes = subplots(1, 2, width="page", aspect=0.8, sharey=True)
    with style():
        figure.suptitle(told_data(data["data"]), fontsize="medium")
        for ax, pair in zip(axes[0], fits.PAIRS, strict=True):
            for method, shift, marker in zip(pair, (0.98, 1.02), "os", strict=True):
                color, values = looks[method].color, curves[method]
                line: dict[str, Any] = {"color": color, "marker": marker, "elinewidth": 0.8, "capsize": 1.5}
                for part, more in (("U", {"linewidth": 1.1, "markersize": 3.6}), ("T", UNSEEN)):
                    bars = values[f"standard error {part}"]
                    ax.errorbar(shift * per_class, values[part], bars, label=f"{method} ({part})", **line, **more)
                known = np.isfinite(values["published U"])
                if whole and known.any():
                    hollow = {"marker": marker, "color": color, "markerfacecolor": "none", "markersize": 7.0}
                    drawn = values["published U"][known]
                    told = f"{method}, published (U)"
                    ax.plot(per_class[known], drawn, label=told, linestyle="none", **hollow)
            ax.set(xscale="log", yscale="log", xlabel="labelled images of each digit")
            ticks_at(ax.xaxis, per_class)
            ticks_at(ax.yaxis, [0.2, 0.5, 1, 2, 5, 10, 20, 50])
            ax.grid(axis="y")
        axes[0, 0].set_ylabel("mean error at the break-even point, %")
        low, high = axes[0, 0].get_ylim()
        axes[0, 0].set_ylim(low, high * (high / low) ** 0.35)  # room for the legends
        for ax, pair in zip(axes[0], fits.PAIRS, strict=True):
            drawn = dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
            ordered = [name for method in pair for name in sorted(drawn, key=len) if name[: len(method)] == method]
            ax.legend(
                [drawn[name] for name in ordered],
                ordered,
                loc="upper right",
                ncols=2,
                title=f"bars: one standard error, {data['parameters']['draws']} draws",
                columnspacing=1.0,
            )
    return figure
