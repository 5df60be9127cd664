"""Where the proved global optimum of the S3VM errs less than what local searches find.

Errors on the unlabelled points less that of the proved optimum; above 0, or to the right, the optimum errs less. Left:
other minima, by their gap. Middle: answers of the searches, and of the SVM of the labels alone. Right: the best
answer by kind of problem, also where it missed the optimum. Bars: 95 % of the bootstraps.

Small problems, 10 to 30 % of the points labelled, C by cross-validation of the labels alone; the table ``python -m
reproduction tables s3vm_optima`` says which, and its module how the analysis was fixed before it was run.
From its recorded rows: no problem is solved anew. The quick size, and an installation without records, takes a few
problems of scikit-learn's digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.papers import global_optima
from reproduction.papers.global_optima import ALIKE, PARTS, RESTARTED, SEARCHES, TOL, intervals, quantities
from reproduction.recorded import recorded_rows
from reproduction.run import measured
from reproduction.tasks import sources_of

SIZES = ("quick", "standard", "full")
SECONDS = {"quick": (8, 8), "standard": (5, 5), "full": (5, 5)}  # of one core: bundled data, real data
TABLE = "s3vm_optima"
NAMES = {
    "retraining": "retraining",
    "one_flip": "one-flip",
    "label_switching": "label switching",
    "multi_switch": "multi-switch",
    "annealing": "annealing",
    "cccp": "CCCP",
    "gradient": "gradient",
    "quasi_newton": "quasi-Newton",
    "continuation": "continuation",
}
"""What the searches are called here."""
OTHERS = {"best": "best of all", "supervised": "SVM of the labels"}
PART_NAMES = {
    "more than 15 features": "> 15 features",
    "up to 15 features": "≤ 15 features",
    "C from 1 to 10": "C 1 to 10",
}
FEWEST = 10
"""Problems in which the best answer missed the optimum, below which their mean is not drawn."""
ENDS = ("0.1", "1", "5", "20", "more")
"""Ends of the gaps of the profile, in percent."""


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Take the recorded rows, or solve a few problems; the draws are 0, 1, ..., whatever `seed`."""
    rows = None if size == "quick" else recorded_rows(TABLE)
    recorded = rows is not None
    if rows is None:
        rows = measured(global_optima.work)(global_optima.QUICK.cells())
    frame = quantities(rows)
    own, lowest = [f"search {name}" for name in SEARCHES], [f"lowest {name}" for name in RESTARTED]
    profile = [f"profile {k}" for k in range(len(ENDS))]
    means = intervals(frame, [*profile, *own, *lowest, *OTHERS])
    parts = {
        str(part): intervals(some, ["best", "best where missed"])
        for by in PARTS
        for part, some in frame.groupby(f"part {by}", sort=False)
    }
    told = {name: list(each) for name, each in means.items()}
    # The profile is that of the others less the optimum already.
    less = {name: _less(each) for name, each in means.items()}
    less |= {name: np.array(means[name], dtype=float) for name in profile if name in means}
    return {
        "all": less,
        "parts": {part: {name: _less(each) for name, each in of.items()} for part, of in parts.items()},
        "problems": len(frame),
        "parameters": {"recorded": recorded, "draws": int(frame["split"].nunique()), "tolerance": TOL},
        "results": {"mean, limits, problems": told, "problems": len(rows), "proved": len(frame)},
        "certificates": {"optima proved": len(frame), "largest proved gap": _largest(rows)},
        "data": {TABLE: {"kind": "recorded rows"}} if recorded else sources_of(["digits"]),
        "solvers": ["branch_and_bound", *SEARCHES],
    }


def _less(interval: Any) -> np.ndarray:
    """Return mean, lower and upper limit of the other error less the optimum's, and the number of problems."""
    return np.array([-interval.mean, -interval.high, -interval.low, interval.n])


def _largest(rows: list[dict[str, Any]]) -> float:
    return max(row["relative_gap"] for row in rows if row["proved"])


def draw(data: dict[str, Any]) -> Any:
    """Draw the minima by their gaps, the searches, and the best answer by kind of problem."""
    from specmargin.plots import style, subplots
    from specmargin.plots.ticks import ticks_at

    figure, (axes,) = subplots(1, 3, width="page", aspect=1.35, gridspec_kw={"width_ratios": (0.9, 1.0, 1.0)})
    means, parts = data["all"], data["parts"]
    with style():
        left, middle, right = axes
        for ax in axes:
            line, band = (ax.axhline, ax.axhspan) if ax is left else (ax.axvline, ax.axvspan)
            line(0.0, color="0.6", linewidth=0.8, zorder=0)
            band(-ALIKE, ALIKE, color="0.9", linewidth=0, zorder=-1)
        there = [k for k in range(len(ENDS)) if f"profile {k}" in means]
        for k in there:
            _mark(left, k, means[f"profile {k}"], upright=True)
        ticks_at(left.xaxis, there, [f"{ENDS[k]}\n({means[f'profile {k}'][3]:.0f})" for k in there])
        left.tick_params(axis="x", labelsize=6.4)
        left.set(xlim=(-0.6, len(ENDS) - 0.4), title="other minima", xlabel="gap up to, % (problems)")
        left.set_ylabel("error less the optimum's, points")
        rows = {**NAMES, **OTHERS}
        for at, name in enumerate(rows):
            own, lowest = means.get(name if name in OTHERS else f"search {name}"), means.get(f"lowest {name}")
            shift = 0.18 if lowest is not None else 0.0
            if own is not None:
                _mark(middle, at - shift, own)
            if lowest is not None:
                _mark(middle, at + shift, lowest, "ten")
        ticks_at(middle.yaxis, range(len(rows)), list(rows.values()))
        middle.set(ylim=(len(rows) - 0.5, -0.5), title="answers of searches")
        for at, of in enumerate(parts.values()):
            for shift, name in ((-0.18, "best"), (0.18, "best where missed")):
                if name in of and (name == "best" or of[name][3] >= FEWEST):
                    _mark(right, at + shift, of[name], "missed" if "missed" in name else "")
        ticks_at(right.yaxis, range(len(parts)), [PART_NAMES.get(part, part) for part in parts])
        right.set(ylim=(len(parts) - 0.5, -0.5), title="best of all answers")
        low, high = right.get_xlim()
        right.set_xlim(min(low, -1.0), max(high, 1.0))
        for ax in (middle, right):
            ax.set_xlabel("error less the optimum's, points")
            ax.tick_params(axis="y", length=0)
        figure.legend(handles=_legend(), loc="outside upper center", ncols=2, handletextpad=0.4)
    return figure


_LOOKS = {
    "": ("o", "blue", "blue"),
    "ten": ("s", "vermillion", "white"),
    "missed": ("D", "black", "white"),
}
_LEGEND = {
    "": "mean with 95 % limits (searches: from their own start)",
    "ten": "lowest of ten starts",
    "missed": "problems where the best answer missed the optimum",
}


def _look(kind: str) -> dict[str, Any]:
    from specmargin.plots.theme import PALETTE

    marker, color, face = _LOOKS[kind]
    looks: dict[str, Any] = {"marker": marker, "color": PALETTE[color], "markersize": 3.6, "linestyle": "none"}
    return looks | {"markerfacecolor": PALETTE.get(face, face), "markeredgewidth": 0.9}


def _mark(ax: Any, at: float, interval: np.ndarray, kind: str = "", upright: bool = False) -> None:
    """Draw a mean with its limits."""
    mean, low, high, _ = interval
    bars = [[mean - low], [high - mean]]
    place: dict[str, Any] = {"x": at, "y": mean, "yerr": bars} if upright else {"x": mean, "y": at, "xerr": bars}
    ax.errorbar(**place, elinewidth=0.9, capsize=1.5, **_look(kind))


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    marks = [Line2D([], [], label=label, **_look(kind)) for kind, label in _LEGEND.items()]
    return [*marks, Patch(color="0.9", label="within half a point")]
