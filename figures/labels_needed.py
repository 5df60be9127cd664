"""Error against the number of labelled digits: what the unlabelled ones are worth.

After figure 5 of Belkin, Niyogi and Sindhwani, "Manifold regularization": the mean error at the precision-recall
break-even point over pairs of digits, every third of 45 or in the full size all, and three draws (the table
`manifold_regularization` has ten), RLS and LapRLS on the left, SVM and LapSVM on the right; (U) is on the unlabelled
images, thin dotted lines (T) are on images that no fit saw. Both scales are logarithmic. Hollow markers are the
published errors on U, read from the drawing, where USPS is available; else the pairs are of scikit-learn's digits, and
nothing is published for them. Labels are counted per digit: so we read the paper's l.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from specmargin.experiments.run import measured
from specmargin.papers import belkin_2006 as paper
from specmargin.papers.belkin_2006 import claims, fits

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n_draws": 3},
    "standard": {"n_draws": 3, "every": 3},
    "full": {"n_draws": 3, "every": 1},
}
SECONDS = {"quick": (3, 3), "standard": (7, 22), "full": (16, 60)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit the four classifiers on every pair, number of labels and draw."""
    names, missing = fits.pairs_available()
    plan = paper.plan_for(names, seed=seed, n_draws=SIZES[size]["n_draws"])
    plan = plan.quick() if size == "quick" else replace(plan, tasks=plan.tasks[:: SIZES[size]["every"]])
    rows = measured(fits.work)(plan.cells())
    means = {str(k): paper.means_and_published(rows, k) for k in plan.per_class}
    results = {
        "mean error over the pairs by labels per class, percent": means,
        "claims by labels per class": {str(k): claims.of_pairs(rows, per_class=k) for k in plan.per_class},
        "data": missing,
    }
    return {
        "per_class": np.array(plan.per_class),
        "curves": {
            method: {
                name: np.array([each[method][name] for each in means.values()])
                for name in ("U", "T", "published U", "published T")
            }
            for method in fits.CONVEX
        },
        **paper.sidecar(plan, rows, results),
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel per loss."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

    from specmargin.plots import style, subplots
    from specmargin.plots.theme import method_styles

    per_class, curves = data["per_class"], data["curves"]
    looks = method_styles(list(fits.CONVEX))
    figure, axes = subplots(1, 2, width="page", aspect=0.72, sharey=True)
    with style():
        for ax, pair in zip(axes[0], fits.PAIRS, strict=True):
            for method in pair:
                look, values = looks[method], curves[method]
                line = {"color": look.color, "marker": look.marker, "markersize": 3.2}
                ax.plot(per_class, values["U"], linestyle=look.linestyle, linewidth=1.1, label=f"{method} (U)", **line)
                ax.plot(per_class, values["T"], linestyle=":", linewidth=0.8, label=f"{method} (T)", **line)
                known = np.isfinite(values["published U"])
                if known.any():
                    hollow = {**line, "linestyle": "none", "markerfacecolor": "none", "markersize": 6.0}
                    drawn = values["published U"][known]
                    ax.plot(per_class[known], drawn, label=f"{method}, published (U)", **hollow)
            ax.set(xscale="log", yscale="log", xlabel="labelled images of each digit")
            ax.xaxis.set_major_locator(FixedLocator(per_class.tolist()))
            ax.yaxis.set_major_locator(FixedLocator([0.2, 0.5, 1, 2, 5, 10, 20, 50]))
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(FormatStrFormatter("%g"))
                axis.set_minor_locator(NullLocator())
            ax.grid(axis="y")
            ax.legend()
        axes[0, 0].set_ylabel("mean error at the break-even point, %")
        low, high = axes[0, 0].get_ylim()
        axes[0, 0].set_ylim(low, high * (high / low) ** 0.3)  # room for the legends
    return figure
