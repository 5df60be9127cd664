"""Nine methods on the spectrum of a graph, against the number of labels.

Mean errors on the unlabelled points, a panel per task, with bars of one standard error over the splits. At each number
of labels methods stand in the order of the legend. The scale is logarithmic; an error of zero is an open marker at the
lower edge. OPTIMISTIC: hidden labels of a few splits chose the parameters.

What tables 1 and 2 of Shivaswamy and Jebara, "Laplacian spectrum learning", hold in numbers. STORM and STOAM learn an
ordered spectrum together with the classifier, KTA before it, MKL without order; SGT, Xu (`XuSpectralSVM`, its ratio w
tuned like every parameter) and a diffusion kernel do not learn it. MNIST and 20 newsgroups where the data folder holds
them, else pairs of scikit-learn's digits. This is the experiment of ``python -m reproduction tables spectrum_learning``
with fewer splits and a smaller grid, by the same functions, and the paper's protocol: the hyper-parameters are those of
least mean error on the unlabelled points of a few tuning splits; the errors drawn are means over other splits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.engine.records import worst_gap
from reproduction.papers.shivaswamy_jebara_2010 import Plan, claims, errors_of, fits, measure
from reproduction.run import measured
from reproduction.tasks import sources_of

GRID = {
    "C": (1.0, 10.0, 100.0),
    "B": (1.5,),
    "loss_weight": (1e2, 1e3, 1e4, 1e5),
    "width": (0.1, 0.3),
    "w": (1.0, 1.1, 1.5),
}
METHODS = (*fits.PAPER, "diffusion")
SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n_labeled": (20, 40, 60), "n_tuning": 1, "n_fresh": 4},
    "standard": {"n_labeled": (20, 60, 100), "n_tuning": 2, "n_fresh": 4, "grid": GRID},
    "full": {"n_labeled": (20, 40, 60, 80, 100), "n_tuning": 3, "n_fresh": 10, "grid": GRID},
}
SECONDS = {"quick": (4, 4), "standard": (14, 32), "full": (38, 90)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Tune on a few splits and measure on others."""
    names, _ = fits.tasks_available()
    plan = Plan(names, seed=seed, methods=METHODS)
    plan = replace(plan.quick() if size == "quick" else plan, **SIZES[size])
    tuning, fresh, _ = measure(plan, measured(fits.work))
    errors, rows = errors_of(fresh), [*tuning, *fresh]
    curves = {
        task: {
            method: np.array([np.mean(list(errors[task, k][method].values())) for k in plan.n_labeled])
            for method in plan.methods
        }
        for task in plan.tasks
    }
    spreads = {
        task: {
            method: np.array([standard_error(list(errors[task, k][method].values())) for k in plan.n_labeled])
            for method in plan.methods
        }
        for task in plan.tasks
    }
    return {
        "n_labeled": np.array(plan.n_labeled),
        "curves": curves,
        "standard errors": spreads,
        "parameters": {
            **{name: getattr(plan, name) for name in ("n", "q", "n_tuning", "n_fresh")},
            "n_labeled": list(plan.n_labeled),
            "grid": {name: list(values) for name, values in plan.grid.items()},
            "protocol": "optimistic: tuned by the unlabelled error of other splits of the same samples",
            "graph": "symmetric, 5 neighbours, binary weights, combinatorial Laplacian",
        },
        "results": {
            "mean error on unlabelled points, percent": {
                task: {
                    method: dict(zip(map(str, plan.n_labeled), values, strict=True)) for method, values in each.items()
                }
                for task, each in curves.items()
            },
            "claims": claims.sentences([(task, each) for (task, _), each in errors.items()], plan.methods),
        },
        "certificates": {
            "worst relative gap": worst_gap(rows),
            "fits": sum(row["fits"] for row in rows),
            "with a relative gap above 1e-6": sum(row["uncertified"] for row in rows),
        },
        "data": sources_of(plan.tasks),
        "solvers": sorted({name for row in rows for name in row["solver"].split("+")}),
    }


def standard_error(values: list[float]) -> float:
    """Return the deviation of a mean over splits."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel per task, with one legend."""
    from matplotlib.lines import Line2D

    from specmargin.plots import style, subplots
    from specmargin.plots.theme import method_styles
    from specmargin.plots.ticks import ticks_at

    curves, n_labeled = data["curves"], data["n_labeled"]
    methods = list(next(iter(curves.values())))
    looks = method_styles(methods)
    n_cols = min(5, len(curves))
    n_rows = -(-len(curves) // n_cols)
    figure, axes = subplots(n_rows, n_cols, width="page", aspect=1.35 if n_cols > 2 else 0.7, sharex=True, sharey="row")
    lowest = min(float(values[values > 0].min(initial=100.0)) for each in curves.values() for values in each.values())
    places = np.linspace(-0.38, 0.38, len(methods))
    with style():
        for ax in axes.flat[len(curves) :]:
            ax.set_visible(False)
        for ax, (task, each) in zip(axes.flat, curves.items(), strict=False):
            for k in range(0, len(n_labeled), 2):
                ax.axvspan(k - 0.5, k + 0.5, color="0.955", linewidth=0, zorder=0)
            for place, (method, values) in zip(places, each.items(), strict=True):
                look, front = looks[method], method in ("STORM", "STOAM")
                marks: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": "none"}
                marks |= {"markersize": 3.6 if front else 2.8, "markeredgewidth": 0.5, "zorder": 3 if front else 2}
                at, bars = np.arange(len(n_labeled)) + place, data["standard errors"][task][method]
                some = values > 0
                bars = np.vstack([np.minimum(bars, 0.9 * values), bars])[:, some]  # a logarithmic scale has no zero
                ax.errorbar(at[some], values[some], bars, elinewidth=0.7, **marks)
                ax.plot(at[~some], np.full((~some).sum(), 0.7 * lowest), markerfacecolor="none", **marks)
            ax.set_title(task.replace(" ", "\n", 1))
            ax.set(yscale="log", xlim=(-0.5, len(n_labeled) - 0.5))
            ax.grid(axis="y")
            ticks_at(ax.xaxis, range(len(n_labeled)), [f"{k}" for k in n_labeled])
            ticks_at(ax.yaxis, [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50])
            ax.label_outer()
        for ax in axes[:, 0]:
            ax.set_ylabel("mean error, %")
        for ax in axes[-1]:
            ax.set_xlabel("labels")
        handles = [
            Line2D([], [], color=look.color, marker=look.marker, linestyle="none", label=method, markersize=4.0)
            for method, look in looks.items()
        ]
        title = f"mean over {data['parameters']['n_fresh']} splits; bars: one standard error"
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), title=title, handletextpad=0.1)
    return figure
