"""The table of `specmargin.experiments.s3vm_optima`: who finds the global optimum of an S3VM, resumable.

A cell is one problem at one C with all solvers, since branch and bound starts from the best of their answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from specmargin.experiments.engine.provenance import collect
from specmargin.experiments.engine.records import Cell, Row
from specmargin.experiments.engine.sweep import run_sweep
from specmargin.experiments.s3vm_optima import SOLVERS, Task, rows, summary, tasks
from specmargin.experiments.table_report import Line, TableReport
from specmargin.experiments.tables import TableOptions, footer

__all__ = ["s3vm_optima", "work"]

WEIGHTS = (1.0, 100.0)
_KEPT = ("settled", "flipped", "error", "flipped_error")


@lru_cache(maxsize=2)
def _tasks(n_unlabeled: int, seeds: int, data: Path | None) -> dict[tuple[str, int], Task]:
    return {(task.name, task.seed): task for task in tasks(n_unlabeled, seeds, data)}


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Run all solvers and branch and bound on one problem.

    Returns
    -------
    dict
        ``optimum``, ``bound``, ``proved``, ``optimum_error``, and per solver its objective with settled labels and
        after one-flip descent, and both errors in percent; ``relative_gap`` of the optimum.
    """
    p = cell.parameters
    task = _tasks(p["n_unlabeled"], p["seeds"], data)[cell.dataset, int(cell.split.removeprefix("seed"))]
    found = rows([task], (p["C"],), time_limit=p["time_limit"])
    first = found[0]
    shared = {name: first[name] for name in ("optimum", "bound", "proved", "optimum_error")}
    each = {f"{row['solver']}_{name}": row.get(name) for row in found for name in _KEPT}
    return {**shared, **each, "relative_gap": 1.0 - first["bound"] / first["optimum"]}


def _long(found: Iterable[Row]) -> Iterator[Row]:
    """Return a row per solver again, as `s3vm_optima.summary` takes them."""
    for row in found:
        if row["status"] != "ok":
            continue
        shared = {name: row[name] for name in ("optimum", "proved", "optimum_error")}
        for solver in SOLVERS:
            if row.get(f"{solver}_settled") is not None:
                own = {name: row[f"{solver}_{name}"] for name in _KEPT}
                yield {"task": row["dataset"], "C": row["param_C"], "solver": solver, **shared, **own}


def s3vm_optima(options: TableOptions) -> TableReport:
    """Compute the table.

    Parameters
    ----------
    options : TableOptions
        Folder, quick or full, data, processes.

    Returns
    -------
    TableReport
        The share of runs that end in the global optimum, in percent, by solver and C: with labels settled, and
        after one-flip descent. Quick: 16 unlabelled samples, two seeds.
    """
    u, seeds = (16, 2) if options.quick else (36, 8)
    shared = {"n_unlabeled": u, "seeds": seeds, "time_limit": 60.0}
    cells = [
        Cell("s3vm_optima", "all", name, f"seed{seed}", {"C": C, **shared})
        for name, seed in _tasks(u, seeds, options.data)
        for C in WEIGHTS
    ]
    found = run_sweep(
        cells,
        partial(work, data=options.data),
        provenance=collect(solver="numpy"),
        **options.of_sweep(),
    )
    ok = [row for row in found if row["status"] == "ok"]
    proved = sum(bool(row["proved"]) for row in ok)
    command = f"specmargin tables s3vm_optima{' --quick' if options.quick else ''} --jobs {options.jobs}"
    return TableReport(
        "s3vm_optima-quick" if options.quick else "s3vm_optima",
        "Share of runs that find the global optimum of the S3VM objective, in percent",
        _lines(summary(list(_long(found)))),
        [
            f"{len({row['dataset'] for row in ok})} sets, {u} unlabelled, four labelled samples each; squared hinge, "
            f"C = C*. The optimum is proved by branch and bound in {proved} of {len(ok)} problems; only those count.",
            "Every solver runs on the losses of its paper, label switching on the squared hinge; answers are judged in "
            "one objective, with labels settled.",
        ],
        footer(found, options.folder, command),
    )


def _lines(summaries: Sequence[Row]) -> list[Line]:
    lines = []
    for one in summaries:
        for suffix, said in (("", "as it ends"), ("_flipped", "after one-flip descent")):
            note = (
                f"median excess {one[f'gap{suffix}']:.2f} %, mean error {one[f'error{suffix}']:.1f} % (optimum's "
                f"{one['error_optimum']:.1f} %)"
            )
            lines.append(
                Line(f"C = {one['C']:g}", one["solver"], said, one[f"hit{suffix}"], math.nan, one["runs"], note=note)
            )
    return lines
