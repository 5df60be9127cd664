"""Who errs least hangs on ranges that the paper does not name.

In how many cells (task and number of labels) STORM or STOAM, SGT, KTA, MKL or Xu (`XuSpectralSVM`) has the least mean
error over the tuning splits, as SGT may choose larger weights of its loss; left with w = 1 in Xu, right with w tuned.
The grey line is where the range of C ends.

The claim of Shivaswamy and Jebara, "Laplacian spectrum learning", that STORM and STOAM are much better than all other
methods, under both readings. From the recorded rows of ``python -m reproduction tables spectrum_learning``, whose
tuning cells hold the errors of every setting: no fit is made anew. The quick size, and an installation without records,
takes a few cells on scikit-learn's digits.
"""

from __future__ import annotations

from typing import Any

from reproduction.papers.shivaswamy_jebara_2010 import GRID, Plan, claims, fits
from reproduction.recorded import recorded_rows
from reproduction.run import measured
from reproduction.tasks import sources_of

SIZES = ("quick", "standard", "full")
SECONDS = {"quick": (2, 2), "standard": (6, 6), "full": (6, 6)}  # of one core: bundled data, real data
TABLE = "spectrum_learning"


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Count the wins, by recorded rows where there are some."""
    rows, n_tuning = (None if size == "quick" else recorded_rows(TABLE)), Plan(()).n_tuning
    recorded = rows is not None
    if rows is None:
        names, n_tuning = [f"digits {pair}" for pair in fits.BUNDLED[:3]], 2
        methods = (*fits.PAPER, "Xu w=1")
        grid = {**GRID, "C": (1.0, 100.0), "B": (1.5,), "w": (1.0, 1.2)}
        plan = Plan(names, (20,), n_tuning, 1, grid, n=200, q=40, seed=seed, methods=methods)
        rows = measured(fits.work)(plan.cells())
    wins = claims.wins_by_range(rows)
    tasks = dict.fromkeys(row["dataset"] for row in rows)
    return {
        "wins": {
            w: {name: each[name].to_numpy() for name in ("end", *claims.FAMILIES)} for w, each in wins.groupby("w")
        },
        "cells": int(wins["cells"].max()),
        "parameters": {"tuning splits": n_tuning, "end of the range of C": max(GRID["C"]), "recorded": recorded},
        "results": {"wins": wins.to_dict("records"), "told": claims.told_wins(rows)},
        "data": {TABLE: {"kind": "recorded rows"}} if recorded else sources_of(tasks),
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel for either w of Xu."""
    from specmargin.plots import style, subplots
    from specmargin.plots.theme import method_styles

    looks = dict(zip(claims.FAMILIES, method_styles(["STORM", "SGT", "KTA", "MKL", "Xu"]).values(), strict=True))
    figure, axes = subplots(1, 2, width="page", aspect=0.75, sharey=True)
    with style():
        for ax, w in zip(axes.flat, ("1", "tuned"), strict=True):
            end = data["parameters"]["end of the range of C"]
            ax.axvline(end, color="0.7", linewidth=0.8, zorder=0, label="end of the range of C")
            for family, look in looks.items():
                options = look._asdict()
                ax.plot(data["wins"][w]["end"], data["wins"][w][family], label=family, markersize=4, **options)
            title = "Xu with w = 1" if w == "1" else "Xu with w tuned"
            ax.set(xscale="log", xlabel="largest weight of SGT's loss", title=title)
            ax.grid(axis="y")
        axes[0, 0].set_ylabel(f"of {data['cells']} cells, with the least mean error")
        axes[0, 0].yaxis.get_major_locator().set_params(integer=True)
        figure.legend(handles=axes[0, 0].get_legend_handles_labels()[0], loc="outside upper center", ncols=6)
    return figure
