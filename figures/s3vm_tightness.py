"""How tight the root of the exact S3VM search is, in stages of its relaxation.

Left: share of problems whose gap to the proved optimum is at most that along; the search stops at 0.1 %, the dotted
line. Right: mean gap by kind of problem. Each stage comes on top of the one before.

Stages are the plain semidefinite relaxation, boxes of decision plus slack, the products of both sides of the box of
a sample (diagonal cuts), the products of the sides of two boxes, and triangle inequalities of three samples. The
dimension is the number of features, the rank that of 99 % of the kernel matrix. Squared hinges, 10 to 30 % of the
points labelled; the table ``python -m reproduction tables s3vm_tightness`` says which problems. From its recorded
rows: no problem is bounded anew. The quick size, and an installation without records, takes a few problems of
scikit-learn's digits.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from reproduction.papers import root_gaps
from reproduction.papers.root_gaps import QUICK, STAGES, TOL, parts_of, quantities
from reproduction.recorded import recorded_rows
from reproduction.run import measured
from reproduction.tasks import sources_of

SIZES = ("quick", "standard", "full")
SECONDS = {"quick": (10, 10), "standard": (3, 3), "full": (3, 3)}  # of one core: bundled data, real data
TABLE = "s3vm_tightness"
SHOWN = ("all", "labels", "C", "dimension", "rank")
"""Kinds of problems on the right."""
LOOKS = {
    "plain": ("s", "black", "-"),
    "boxes": ("^", "vermillion", "--"),
    "diagonal": ("D", "green", "-."),
    "products": ("v", "blue", "-"),
    "triangles": ("o", "purple", "-"),
}
"""Marker, colour and line of each stage."""
LEAST = 0.05
"""Gap in percent where the left axis begins."""


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Take the recorded rows, or bound the root of a few problems; the draws are 0, 1, ..., whatever `seed`."""
    rows = None if size == "quick" else recorded_rows(TABLE)
    recorded = rows is not None
    if rows is None:
        rows = measured(root_gaps.work)(QUICK.cells())
    frame = quantities(rows)
    parts = [each for each in parts_of(frame) if each[0] in SHOWN]
    return {
        "gaps": {name: np.sort(frame[f"gap_{name}"].to_numpy(dtype=float)) for name in STAGES},
        "parts": {
            part: np.array([some[f"gap_{name}"].mean() for name in STAGES] + [len(some)]) for _, part, some in parts
        },
        "first of": [part for (before, *_), (by, part, _) in pairwise(parts) if by != before],
        "parameters": {"recorded": recorded, "draws": int(frame["split"].nunique()), "tolerance": TOL},
        "results": {"problems": len(frame), **{name: float(frame[f"gap_{name}"].median()) for name in STAGES}},
        "certificates": {"largest gap of all stages": float(frame["gap_triangles"].max()) / 100.0},
        "data": {TABLE: {"kind": "recorded rows"}} if recorded else sources_of(["digits"]),
        "solvers": ["branch_and_bound"],
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw how many problems each stage bounds how well, and the mean gap by kind of problem."""
    from specmargin.plots import style, subplots
    from specmargin.plots.ticks import ticks_at

    figure, (axes,) = subplots(1, 2, width="page", aspect=1.25, gridspec_kw={"width_ratios": (1.0, 1.1)})
    with style():
        left, right = axes
        left.axvline(100.0 * data["parameters"]["tolerance"], color="0.6", linewidth=0.8, linestyle=":", zorder=0)
        most = max(float(gaps[-1]) for gaps in data["gaps"].values())
        for name, gaps in data["gaps"].items():
            # From the left edge to the right one: problems that are bounded better, and all.
            along = np.concatenate([[LEAST], np.maximum(gaps, LEAST), [1.1 * most]])
            share = 100.0 * np.append(np.arange(len(gaps) + 1), len(gaps)) / len(gaps)
            left.step(along, share, where="post", **_line(name))
        left.set(
            xscale="log", xlim=(LEAST, 1.1 * most), ylim=(0, 102), title=f"all {data['results']['problems']} problems"
        )
        left.set(xlabel="gap of the root, % of the optimum", ylabel="problems with at most that gap, %")
        ticks = [tick for tick in (0.1, 1, 10, 50) if tick < 1.1 * most]
        ticks_at(left.xaxis, ticks, [f"{tick:g}" for tick in ticks])
        places, at = {}, 0.0
        for part in data["parts"]:
            at += 0.5 if part in data["first of"] else 0.0
            places[part] = at
            at += 1.0
        for part, place in places.items():
            means = data["parts"][part][: len(STAGES)]
            right.plot([means.min(), means.max()], [place, place], color="0.8", linewidth=0.8, zorder=0)
            for name, mean in zip(STAGES, means, strict=True):
                right.plot(mean, place, **_mark(name))
        ticks_at(right.yaxis, list(places.values()), [f"{part} ({data['parts'][part][-1]:.0f})" for part in places])
        right.set(ylim=(at - 0.5, -0.5), xlim=(0, None), title="by kind (problems)")
        right.set_xlabel("mean gap of the root, % of the optimum")
        right.tick_params(axis="y", length=0)
        figure.legend(handles=_legend(), loc="outside upper center", ncols=3, handletextpad=0.4)
    return figure


def _line(name: str) -> dict[str, Any]:
    from specmargin.plots.theme import PALETTE

    _, color, line = LOOKS[name]
    return {"color": PALETTE[color], "linestyle": line, "linewidth": 1.2}


def _mark(name: str) -> dict[str, Any]:
    from specmargin.plots.theme import PALETTE

    marker, color, _ = LOOKS[name]
    looks: dict[str, Any] = {"marker": marker, "color": PALETTE[color], "markersize": 3.8, "linestyle": "none"}
    return looks | {"markerfacecolor": PALETTE[color] if name == "triangles" else "white", "markeredgewidth": 0.9}


def _legend() -> list[Any]:
    from matplotlib.lines import Line2D

    return [Line2D([], [], label=label, **_mark(name) | _line(name)) for name, label in STAGES.items()]
