"""Error at the precision-recall break-even point on 45 pairs of digits: with and without the unlabelled samples.

After figure 4 of Belkin, Niyogi and Sindhwani, "Manifold regularization". Two labelled images of each digit, ten draws.
Above: mean errors on the unlabelled images of every pair, RLS against LapRLS and SVM against LapSVM; pairs in the order
of the supervised error, since the paper's order is not known. Below: errors on images that no fit saw against those on
the unlabelled ones (LapRLS and LapSVM; on the diagonal the extension out of sample costs nothing), and the deviation
over the draws, supervised against Laplacian (above the diagonal the Laplacian method is the steadier one); both scales
are linear up to 0.1 % and logarithmic beyond.

USPS where the data folder holds it, else pairs of scikit-learn's digits. The protocol and what the paper leaves open
are in `specmargin.papers.belkin_2006`; the sidecar has its claims put to these numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from specmargin.experiments.run import measured
from specmargin.papers import belkin_2006 as paper
from specmargin.papers.belkin_2006 import claims, fits

PER_CLASS = 2

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"kernels": ("plain", "unit")},
    "standard": {"kernels": ("plain",)},
    "full": {"kernels": ("plain", "unit")},
}
SECONDS = {"quick": (3, 3), "standard": (10, 35), "full": (18, 70)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit the four classifiers on every pair and draw."""
    names, missing = fits.pairs_available()
    plan = paper.plan_for(names, per_class=(PER_CLASS,), kernels=SIZES[size]["kernels"], seed=seed)
    plan = plan.quick() if size == "quick" else plan
    rows = measured(fits.work)(plan.cells())
    means, deviations = {}, {}
    for part, letter in fits.PARTS.items():
        tasks = claims.by_task(rows, part, per_class=PER_CLASS)
        means[letter] = {method: claims.mean_errors(tasks, method) for method in fits.CONVEX}
        deviations[letter] = {method: claims.deviations(tasks, method) for method in fits.CONVEX}
    results = {
        "mean error over the pairs, percent": {
            kernel: paper.means_and_published(rows, PER_CLASS, kernel) for kernel in plan.kernels
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

    means, deviations = data["means"], data["deviations"]
    looks = method_styles(list(fits.CONVEX))
    figure, axes = subplots(2, 2, width="page", aspect=0.62)
    with style():
        for ax, pair in zip(axes[0], fits.PAIRS, strict=True):
            order = np.argsort(means["U"][pair[0]], kind="stable")
            for method in pair:
                marks = {**looks[method]._asdict(), "markersize": 3, "linewidth": 0.9, "clip_on": False}
                ax.plot(np.arange(1, len(order) + 1), means["U"][method][order], label=method, **marks)
            ax.set(xlabel="pairs of digits, by the supervised error", ylabel="mean error (U), %", ylim=(0, None))
            ax.legend()
        scatter(
            axes[1, 0],
            {method: (means["U"][method], means["T"][method], looks[method]) for _, method in fits.PAIRS},
            ("mean error (U), %", "mean error (T), %"),
        )
        scatter(
            axes[1, 1],
            {f"{b} / {a}": (deviations["U"][b], deviations["U"][a], looks[b]) for a, b in fits.PAIRS},
            ("deviation of the Laplacian method (U), %", "deviation of the supervised, %"),
        )
    return figure


def scatter(ax: Any, series: dict[str, Any], names: tuple[str, str]) -> None:
    """Draw series of points and the diagonal, small values apart from zero and not from large ones."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

    largest = 1.2 * max(1.0, *(float(np.max(part)) for x, y, _ in series.values() for part in (x, y)))
    ax.plot([0, largest], [0, largest], color="0.6", linewidth=0.7, zorder=1)
    for name, (x, y, look) in series.items():
        marks = {"markersize": 3.4, "markerfacecolor": "none", "markeredgewidth": 0.7, "clip_on": False, "zorder": 3}
        ax.plot(x, y, look.marker, color=look.color, label=name, **marks)
    scale = {"value": "symlog", "linthresh": 0.1, "linscale": 0.5}
    ax.set_xscale(**scale)
    ax.set_yscale(**scale)
    ax.set(xlabel=names[0], ylabel=names[1], xlim=(0, largest), ylim=(0, largest))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(FixedLocator([0, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]))
        axis.set_major_formatter(FormatStrFormatter("%g"))
        axis.set_minor_locator(NullLocator())
    ax.legend(loc="lower right")
