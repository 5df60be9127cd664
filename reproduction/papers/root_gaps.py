r"""How tight the root of the exact S3VM search is: the gap to proved optima, in stages of its relaxation.

**Problems.** Those of the table ``s3vm_optima`` whose optimum it has proved to 0.1 %, of its first `DRAWS` draws:
squared hinges, the decisions of the unlabelled samples balanced like the known labels. Optimum and incumbent are taken
from its rows: nothing is searched here. The incumbent is the lowest answer of all local searches; in a tenth of the
problems it is not the optimum.

**Stages**, each on top of the one before, for decisions plus slacks x (`specmargin.optima.boxes`):

1. ``plain``: the semidefinite relaxation with x_j^2 >= 1 of each unlabelled and y_i x_i >= 1 of each labelled sample;
2. ``boxes``: intervals of x that hold every point better than the incumbent, by dual values of J and of J less a share
   of the products so far; labels that an interval fixes, and the relaxation with those, up to `ROUNDS` times;
3. ``diagonal``: with (x_j - low_j)(high_j - x_j) >= 0 of each sample, relaxation and intervals by turns;
4. ``products``: with those of the four products of the sides of two intervals that are violated most, up to five a
   sample, again by turns;
5. ``triangles``: with the triangle inequalities of three samples, for |x| >= 1, that are violated most, up to four a
   sample, again by turns.

The root of `specmargin.optima.branch_and_bound` does the same, and more: it takes triangles from the first round on,
looks for better incumbents on the way, bounds labelings in a tree, and takes fewer products where the plain gap is
below 2 %.

**Gap**: (optimum - bound) / optimum. Intervals hold the points below the incumbent less 0.1 %, so that no stage proves
more than that: a gap of at most 0.1 % is closed, as far as the optimum itself is known. Relaxations are solved to
0.2 %: stages that differ by less are alike.

**Axes**: labels, C*, C, kernel, samples; *dimension*, the number of features of the data; *rank*, the number of
eigenvalues of the kernel matrix that make up 99 % of its trace.

**What was known before.** The gaps of the first and of a last stage are in ``s3vm_optima``, and were seen there. Stages
were tried on 31 of the problems while this was written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.engine.equivalence import Interval
from reproduction.engine.records import Cell, Row
from reproduction.papers import global_optima
from reproduction.papers._protocols.optima_instances import SETS, Problem, drawn
from reproduction.papers._protocols.optima_quantities import PARTS as PARTS_OF_OPTIMA
from reproduction.papers._protocols.optima_quantities import TOL, intervals
from reproduction.recorded import read_record, recorded_folder
from reproduction.report import Line, Section
from reproduction.run import Experiment, Findings, Options, Setup, words
from reproduction.tasks import checksums, dataset, is_available, missing_data
from specmargin.exceptions import SpecmarginError
from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.margin_search import MarginSearch
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.nodes import Bounding, BoxNode
from specmargin.typing import FloatArray

__all__ = [
    "DRAWS",
    "PARTS",
    "QUICK",
    "ROUNDS",
    "S3VM_TIGHTNESS",
    "STAGES",
    "TOL",
    "Plan",
    "measured",
    "parts_of",
    "quantities",
    "rank",
    "stages",
    "work",
]

DRAWS = 3
"""Draws of ``s3vm_optima`` whose problems are taken, of five: some five hundred problems."""
ROUNDS = 8
"""Relaxations of a stage."""
STAGES: Mapping[str, str] = {
    "plain": "plain relaxation",
    "boxes": "with boxes",
    "diagonal": "with diagonal cuts",
    "products": "with products of box sides",
    "triangles": "with triangle inequalities",
}
"""The stages by what their columns are called."""
_TRACE = 0.99
_OF_OPTIMA = ("n", "share", "kernel", "weight")
"""Parameters that say which problem a row of the optima is of."""


def _between(column: str, ends: Sequence[int], named: str) -> Callable[[pd.DataFrame], Any]:
    """Return what tells problems apart by the intervals that a number lies in; `named` has {} for the interval."""
    ranges = [f"up to {ends[0]}", *(f"{a + 1} to {b}" for a, b in pairwise(ends)), f"above {ends[-1]}"]
    return lambda frame: np.array([named.format(each) for each in ranges])[np.searchsorted(ends, frame[column])]


PARTS: Mapping[str, Callable[[pd.DataFrame], Any]] = {
    **{name: PARTS_OF_OPTIMA[name] for name in ("all", "labels", "weight", "C", "kernel", "samples")},
    "dimension": _between("dimension", (2, 34, 64), "{} features"),
    "rank": _between("rank", (2, 20, 36), "rank {}"),
}
"""By what problems are told apart: the part of each."""


class _Given(MarginSearch):
    """A search that has a value, and finds nothing better: the incumbent is the same in all stages."""

    def __init__(self, space: MarginSpace, value: float) -> None:
        super().__init__(space)
        self._value = value

    @property
    def value(self) -> float:
        return self._value

    def offer(self, labels: FloatArray, *, flips: bool = False) -> bool:
        return False

    def sample(self, X: FloatArray, count: int, seed: int) -> bool:
        return False


def stages(space: MarginSpace, incumbent: float) -> Iterator[tuple[str, BoxNode]]:
    """Yield the names of the stages and the root after each; it is one node, whose bound and box only get better.

    Parameters
    ----------
    space : MarginSpace
        The problem.
    incumbent : float
        Value J of a point.
    """
    space.highest = incumbent
    search = _Given(space, incumbent)
    without = Bounding(search, TOL, per_round=0.0, most=0.0, triangles=False)
    root = BoxNode(search.known.lower, MarginBox.of(space.y, incumbent))
    without.relax(root, None, root=True)
    yield "plain", root
    closed = root.lower >= without.level
    for _ in range(0 if closed else ROUNDS):
        labels = root.box.labels
        closed = not without.tighten(root, root=True)
        if closed or (labels == root.box.labels).all():
            break
        without.relax(root, None, root=True)
        closed = root.lower >= without.level
        if closed:
            break
    yield "boxes", root
    closed = closed or without.bound(root, ROUNDS, root=True)
    yield "diagonal", root
    for name in ("products", "triangles"):
        bounding = Bounding(search, TOL, per_round=3.0, most=5.0, triangles=name == "triangles")
        closed = closed or bounding.bound(root, ROUNDS, root=True)
        yield name, root


def measured(problem: Problem, optimum: float, incumbent: float) -> Row:
    """Return the columns of a problem whose optimum is known.

    Of each stage ``gap_``, relative to the optimum, ``fixed_``, the share of unlabelled samples whose label the boxes
    fix, and ``seconds_``, CPU seconds from the start; ``rank``, ``l``, ``u``, ``C``, ``C_star``.

    Raises
    ------
    SpecmarginError
        If a bound lies above the optimum: then it is none.
    """
    row: Row = {"l": len(problem.labeled), "C": problem.C, "C_star": problem.C_star, "rank": rank(problem.Z)}
    begun = time.process_time()
    space = MarginSpace.of(problem.objective)
    for name, root in stages(space, incumbent):
        if not root.proved <= optimum * (1.0 + 1e-9):
            raise SpecmarginError(f"the bound {root.proved} ({name}) lies above the value {optimum}; report it.")
        row[f"gap_{name}"] = 1.0 - root.proved / optimum
        row[f"fixed_{name}"] = float(np.mean(root.box.labels[space.free] != 0))
        row[f"seconds_{name}"] = time.process_time() - begun
    return row | {"u": len(space.free)}


def rank(Z: FloatArray) -> int:
    """Return how many eigenvalues of Z Z' make up 99 % of their sum.

    Examples
    --------
    >>> rank(np.diag([10.0, 3.0, 0.1])), rank(np.eye(3))
    (2, 3)
    """
    shares = np.cumsum(np.linalg.svd(Z, compute_uv=False) ** 2)
    return int(np.searchsorted(shares, _TRACE * shares[-1])) + 1


def work(cell: Cell, *, data: Path | None = None) -> Row:
    """Bound the root of one problem: the columns of `measured`, and ``dimension``.

    A cell without an optimum is solved first, as a cell of ``s3vm_optima`` is.
    """
    p = cell.parameters
    known = p if "optimum" in p else _values(global_optima.work(cell, data=data))
    draw = int(cell.split.removeprefix("draw"))
    problem = drawn(cell.dataset, p["n"], p["share"], p["kernel"], p["weight"], draw, data)
    dimension = dataset(SETS[cell.dataset].name, data).X.shape[1]
    return measured(problem, known["optimum"], known["incumbent"]) | {"dimension": int(dimension)}


def _values(row: Row) -> dict[str, float]:
    """Return the optimum of a row of the optima, and the lowest answer of its local searches."""
    lowest = min(place for places in row["found"].values() for place in places if place is not None)
    return {"optimum": row["optimum"], "incumbent": row["optimum"] * (1.0 + row["minima"][lowest][0])}


@dataclass(frozen=True)
class Plan:
    """What is computed: the proved problems of some rows of ``s3vm_optima``, of the first draws."""

    rows: Sequence[Row]
    draws: int = DRAWS

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per problem, draw by draw."""
        cells = [
            Cell(
                "s3vm_tightness",
                "all",
                row["dataset"],
                row["split"],
                {name: row[f"param_{name}"] for name in _OF_OPTIMA} | _values(row),
            )
            for row in self.rows
            if row["status"] == "ok" and row["proved"] and int(row["split"].removeprefix("draw")) < self.draws
        ]
        return sorted(cells, key=lambda cell: cell.split)


@dataclass(frozen=True)
class Unsolved:
    """What is computed without a record: the problems of a plan of ``s3vm_optima``, solved on the way."""

    plan: global_optima.Plan

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per problem."""
        return [
            Cell("s3vm_tightness", "all", cell.dataset, cell.split, cell.parameters) for cell in self.plan.cells(data)
        ]


QUICK = Unsolved(global_optima.QUICK)
"""Two pairs of scikit-learn's digits."""


def _setup(options: Options) -> Setup:
    if options.quick:
        return Setup(QUICK, checksums({SETS[name].name for name in global_optima.QUICK.sets}, options.data))
    folder = recorded_folder()
    if folder is None:
        raise SpecmarginError("the optima are in the records of a checkout; run it there, or pass --quick.")
    there = [name for name, source in SETS.items() if is_available(source.name, options.data)]
    rows = [row for row in read_record(folder / "s3vm_optima").rows() if row["dataset"] in there]
    lost = missing_data([name for name in SETS if name not in there])
    return Setup(Plan(rows), checksums({SETS[name].name for name in there}, options.data), lost)


def quantities(rows: Iterable[Row]) -> pd.DataFrame:
    """Return a row per problem, with gaps in percent, its `PARTS`, and what each stage has closed of the plain gap.

    ``closed_boxes`` and the like are in percent, NaN where the plain gap is none.
    """
    frame = pd.DataFrame([row for row in rows if row["status"] == "ok"])
    gaps = {f"gap_{name}": 100.0 * frame[f"gap_{name}"] for name in STAGES}
    plain = frame["gap_plain"].where(frame["gap_plain"] > TOL)
    closed = {f"closed_{name}": 100.0 * (1.0 - frame[f"gap_{name}"] / plain) for name in STAGES if name != "plain"}
    return frame.assign(**gaps, **closed, **{f"part {name}": np.asarray(of(frame)) for name, of in PARTS.items()})


def parts_of(frame: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame]]:
    """Return the `PARTS` of what `quantities` returned: by what, its name, its rows; numbers in the names rise."""
    return [
        (by, str(part), some)
        for by in PARTS
        for part, some in sorted(frame.groupby(f"part {by}"), key=lambda pair: _order(str(pair[0])))
    ]


def _order(part: str) -> tuple[float, str]:
    number = next((float(word) for word in part.split() if word.isdigit()), 0.0)
    return number - 0.5 * ("up to" in part or "below" in part) + 0.5 * ("above" in part), part


def _report(rows: Sequence[Row], plan: Any, options: Options) -> Findings:
    frame = quantities(rows)
    columns = [f"{kind}_{name}" for kind in ("gap", "closed") for name in STAGES]
    told = [(part, some, intervals(some, columns)) for _, part, some in parts_of(frame)]
    gaps = [_gap(part, name, some, of[f"gap_{name}"]) for part, some, of in told for name in STAGES]
    closed = [
        _line(part, name, of[f"closed_{name}"]) for part, _, of in told for name in STAGES if f"closed_{name}" in of
    ]
    sections = [
        Section("Mean gap of the root to the proved optimum, in percent", gaps),
        Section("Mean share of the plain gap that is closed, in percent", closed),
        Section("Median CPU seconds up to the end of a stage", [_cost(frame, name) for name in STAGES]),
    ]
    facts = {"problems": len(frame), "sets": frame["dataset"].nunique()}
    return Findings(sections, remarks=_answer(frame, told[0][2]), facts=facts)


def _line(part: str, name: str, of: Interval, note: str = "") -> Line:
    limits = f"95 %: {of.low:.1f} to {of.high:.1f}"
    return Line(part, STAGES[name], "", of.mean, np.nan, of.n, note="; ".join(filter(None, [limits, note])))


def _gap(part: str, name: str, some: pd.DataFrame, of: Interval) -> Line:
    gap = some[f"gap_{name}"]
    low, middle, high = (float(gap.quantile(q)) for q in (0.25, 0.5, 0.75))
    closed = 100.0 * float((gap <= 100.0 * TOL).mean())
    note = f"median {middle:.1f} %, half of them from {low:.1f} to {high:.1f} %; at most 0.1 % in {closed:.0f} %"
    return _line(part, name, of, note)


def _cost(frame: pd.DataFrame, name: str) -> Line:
    fixed, seconds = 100.0 * float(frame[f"fixed_{name}"].mean()), frame[f"seconds_{name}"]
    note = f"mean {float(seconds.mean()):.2f} s; boxes fix {fixed:.0f} % of the labels, mean over the problems"
    return Line("all problems", STAGES[name], "", float(seconds.median()), np.nan, len(frame), note=note)


def _answer(frame: pd.DataFrame, told: Mapping[str, Interval]) -> list[str]:
    """Return what the stages do, and by what kind of problem what they leave differs most, in sentences."""
    medians = [f"{float(frame[f'gap_{name}'].median()):.1f} % ({words})" for name, words in STAGES.items()]
    hits = [f"{100.0 * float((frame[f'gap_{name}'] <= 100.0 * TOL).mean()):.0f} %" for name in STAGES]
    first = (
        f"On {len(frame)} proved problems the median gap of the root falls from {medians[0]} to "
        f"{', '.join(medians[1:])}; it is at most 0.1 % in {', '.join(hits[:-1])} and {hits[-1]} of the problems."
    )
    shares = {words: told[f"closed_{name}"] for name, words in STAGES.items() if f"closed_{name}" in told}
    closed = [f"{of.mean:.1f} [{of.low:.1f}, {of.high:.1f}] % {words}" for words, of in shares.items()]
    second = f"Closed of the plain gap, mean over the problems: {', '.join(closed)}."
    left: dict[str, dict[str, float]] = {}
    for by, part, some in parts_of(frame):
        left.setdefault(by, {})[part] = float(some[f"gap_{[*STAGES][-1]}"].mean())
    by = max(left, key=lambda name: max(left[name].values()) - min(left[name].values()))
    means = [f"{mean:.1f} % ({part})" for part, mean in left[by].items()]
    third = f"What the last stage leaves differs most by {by}: mean gaps of {', '.join(means)}."
    return [first, second, third]


S3VM_TIGHTNESS = Experiment(**words("s3vm_tightness"), setup=_setup, work=work, report=_report)
"""The root of the exact search in stages: plain relaxation, boxes, diagonal cuts, products of box sides, triangles."""
