"""Two classes of very unequal size: errors after each iteration.

Above, macro errors of LapSVM on unlabelled (U), validation (V) and test samples (T) after each iteration of conjugate
gradients; level lines are the optimum, which a certificate proves. Below, how far the objective is above its dual
bound. The picture's title names the data.

After figure 12 of Melacci and Belkin, "Laplacian support vector machines trained in the primal", on FACEMIT: means over
up to three draws of the two labelled images; triangles are what the paper's table 7 prints, where its table 6 stops.
The gain that is published for three iterations is gone at the optimum. On the labelled images no iterate errs.

24,044 images, minutes and 5 GB. Where the data folder has no CBCL faces, and with --quick, scikit-learn's digits take
their place, 8 against the others; nothing is published for them. The table `lapsvm_primal_faces` has twelve draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.engine.published import published
from reproduction.papers import melacci_belkin_2011 as paper
from reproduction.run import measured
from reproduction.tasks import sources_of

SIZES: dict[str, dict[str, int]] = {"quick": {"draws": 3}, "standard": {"draws": 1}, "full": {"draws": 3}}
SECONDS = {"quick": (3, 3), "standard": (3, 55), "full": (4, 200)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Follow conjugate gradients; there is nothing random but the draws, the experiment's."""
    task, note = paper.facemit_task()
    plan = paper.FacemitPlan(paper.FACEMIT["digits8"] if size == "quick" else task, SIZES[size]["draws"])
    wanted = {"setting": list(plan.grid[0]), "normalized": True}
    rows = measured(paper.LAPSVM_PRIMAL_FACES.work)([cell for cell in plan.cells() if cell.parameters == wanted])
    curves, exact = paper.figure_12(rows, plan)
    three: dict[str, float] = {}
    if plan.task.name == "facemit":
        table = published("lapsvm_primal_2009", "7", "facemit", "lapsvm_pcg_stability").set_index("split")["mean"]
        three = {part: float(table[part]) for part in "UVT"}
    return {
        "iterations": np.array([t for t, _ in curves]),
        "curves": np.array([values for _, values in curves]),
        "exact": np.array(exact),
        "published": three,
        "parameters": {"task": plan.task.name, "draws": plan.n_draws, "gamma_A, gamma_I": plan.grid[0]},
        "results": {
            "macro errors on U, V and T by iteration, percent, and the objective over the dual bound": {
                str(t): values for t, values in curves
            },
            "errors of the optimum, percent": dict(zip("UVT", exact, strict=True)),
            "published for three iterations": three,
            "data": note,
        },
        "certificates": {"worst relative gap of an optimum": max(abs(row["relative_gap"]) for row in rows)},
        "data": sources_of([plan.task.source]),
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw errors above and the objective below."""
    from specmargin.plots import style, subplots
    from specmargin.plots.theme import PALETTE
    from specmargin.plots.ticks import whole_ticks

    t, curve = data["iterations"], data["curves"]
    figure, axes = subplots(2, 1, width="column", aspect=0.6, sharex=True)
    above, below = axes[:, 0]
    with style():
        for k, (part, name, mark) in enumerate(zip("UVT", ("vermillion", "blue", "green"), "s^D", strict=True)):
            color = PALETTE[name]
            above.axhline(data["exact"][k], color=color, linewidth=0.6, linestyle=(0, (4, 2)))
            above.plot(t, curve[:, k], color=color, marker=mark, markersize=2.6, linewidth=0.9, label=part)
            if part in data["published"]:
                above.plot(3, data["published"][part], ">", color=color, markersize=5.0, markerfacecolor="none")
        below.plot(t, np.maximum(curve[:, 3] - 1.0, 1e-9), color=PALETTE["black"], marker="o", markersize=2.4)
        above.set(ylabel="macro error, %")
        n_draws = data["parameters"]["draws"]
        told = f"mean of {n_draws} draws" if n_draws > 1 else "one draw"
        task = "FACEMIT" if data["parameters"]["task"] == "facemit" else "scikit-learn's digits, 8 or not"
        title = f"{task}, {told}; dashed: optimum" + (
            "\ntriangles: published, three iterations" if data["published"] else ""
        )
        above.legend(title=title, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.02))
        below.set(yscale="log", xlabel="iterations", ylabel="objective / dual bound - 1")
        whole_ticks(below.xaxis)
        below.set_xlim(0.5, None)
    return figure
