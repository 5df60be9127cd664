"""Draw by draw of the labels: errors with and without the unlabelled samples.

Errors at the precision-recall break-even point, a place along the axis for each draw of the labels: above on the
unlabelled samples (U), below on samples that no fit saw (T). Left RLS and LapRLS, right SVM, TSVM and LapSVM. Full
lines have the normalised Laplacian, thin ones D - W.

After figure 6 of Belkin, Niyogi and Sindhwani, "Manifold regularization", on Isolet: letters A to M against N to Z, one
of 30 speakers labelled in turn, U the other 29 speakers, T the 30 of isolet5. The paper's text has D - W; hollow
markers are its own numbers, read from its drawing. The standard size shows the TSVM as the paper drew it; the full size
fits it, too. Where the data folder has no Isolet, and with --quick, the panels show draws of two labelled images of
either class of scikit-learn's digits 3 and 8, for which nothing is published.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.papers import belkin_2006 as paper
from reproduction.papers.belkin_2006 import claims, fits
from reproduction.run import measured
from reproduction.tasks import told_data

BUNDLED = "digits 3-8"
PER_CLASS = 2
FEW = 10
"""Draws up to which each is a marker of its own."""

SECONDS = {"quick": (3, 3), "standard": (4, 10), "full": (4, 75)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit the five methods on every speaker, those with a graph with either Laplacian."""
    quick = size == "quick"
    names, missing = fits.tasks_available()
    real = "isolet" in names and not quick
    plan = paper.Plan(["isolet"], normalized=(False, True), transductive=size == "full" or not real, seed=seed)
    if not real:
        plan = replace(plan, tasks=[BUNDLED], per_class=(PER_CLASS,), n=100, n_draws=5 if quick else 30)
    rows = measured(fits.work)(plan.cells())
    kernel, per_class = ("rbf", fits.SPEAKER_LABELS) if real else ("plain", PER_CLASS)
    errors: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    for part, letter in fits.PARTS.items():
        drawn = claims.drawn_errors(part) if real else {}
        by_laplacian = {
            name: claims.by_task(rows, part, per_class=per_class, kernel=kernel, normalized=normalized)[plan.tasks[0]]
            for name, normalized in (("normalised", True), ("D - W", False))
        }
        errors[letter] = {
            name: {method: np.array(list(each.values())) for method, each in by_method.items()}
            for name, by_method in {**by_laplacian, "published": drawn}.items()
        }
    sentences = [claims.of_isolet(rows, normalized=normalized) for normalized in plan.normalized] if real else []
    results = {
        "mean error, percent": {
            letter: {name: {m: float(np.mean(v)) for m, v in each.items()} for name, each in by_laplacian.items()}
            for letter, by_laplacian in errors.items()
        },
        "claims": sentences,
        "laplacians": claims.of_laplacians(rows),
        "data": missing,
    }
    return {
        "errors": errors,
        "axis": "labelled speaker" if real else "draw of the labelled images",
        **paper.sidecar(plan, rows, results),
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel for each loss and part."""
    from specmargin.plots import style, subplots
    from specmargin.plots.theme import method_styles
    from specmargin.plots.ticks import ticks_at

    looks = method_styles(list(fits.METHODS))
    n = max(len(values) for values in data["errors"]["U"]["normalised"].values())
    few = {"marker": "o", "markersize": 3.0} if n <= FEW else {}
    figure, axes = subplots(2, 2, width="page", aspect=0.7, sharex=True, sharey="row")
    with style():
        figure.suptitle(told_data(data["data"]), fontsize="medium")
        for ax_row, errors in zip(axes, data["errors"].values(), strict=True):
            for ax, shown in zip(ax_row, (("RLS", "LapRLS"), ("SVM", "TSVM", "LapSVM")), strict=True):
                for method in shown:
                    look, laplacian = looks[method], ", normalised" if method.startswith("Lap") else ""
                    ours, plain = errors["normalised"].get(method), errors["D - W"].get(method)
                    if ours is not None:
                        line: dict[str, Any] = {"color": look.color, "linestyle": look.linestyle, "linewidth": 1.0}
                        x = np.arange(1, len(ours) + 1)
                        ax.plot(x, ours, label=f"{method}{laplacian}", **line, **few)
                        if laplacian:
                            thin: dict[str, Any] = {"color": look.color, "linewidth": 0.5, "alpha": 0.7}
                            ax.plot(x, plain, label=f"{method}, $D - W$", **thin, **few)
                    drawn = errors["published"].get(method)
                    if drawn is not None:
                        hollow = {"markersize": 2.6, "markeredgewidth": 0.6, "markerfacecolor": "none"}
                        x = np.arange(1, len(drawn) + 1)
                        ax.plot(x, drawn, look.marker, color=look.color, label=f"{method}, published", **hollow)
        for ax, letter in zip(axes[:, 0], data["errors"], strict=True):
            ax.set(ylabel=f"error ({letter}), %")
        for ax in axes[1]:
            ticks_at(ax.xaxis, range(1, n + 1) if n <= FEW else [1, *range(5, n + 1, 5)])
            ax.set(xlabel=data["axis"])
        for ax in axes[0]:
            ax.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.02))
    return figure
