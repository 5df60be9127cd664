"""The FACEMIT rows of the primal-LapSVM paper's tables, made of the fits of `lapsvm_primal_faces`, and what they say.

Tables 1 and 2 are the sizes, in the header; 3, 6 and 10 seconds and iterations; 4, 7 and 11 errors, all with the
published gammas of tables 8 and 9; figure 12 the errors from iteration to iteration. With them come the optimum, the
other Laplacian, and other gammas.
"""

import json
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from reproduction.claims import LAPLACIANS
from reproduction.comparison import Reference
from reproduction.engine.published import published_sizes
from reproduction.engine.records import Row
from reproduction.judging import TABLE_CLAIMS, judge, wide_frame
from reproduction.papers._protocols.melacci_belkin_faces import FACEMIT, GRID, FacemitPlan, facemit_task, work
from reproduction.papers._protocols.melacci_belkin_fits import PAPER, RULES, Setting, fits_of
from reproduction.papers._protocols.melacci_belkin_sections import PARTS, fixed_lines, per_class
from reproduction.report import Section
from reproduction.run import Experiment, Findings, Options, Setup, words
from reproduction.tasks import splits

_THREE = "where the paper's table 6 stops"


def sections(fits: Sequence[Row], plan: FacemitPlan) -> list[Section]:
    """Return the rows of tables 3, 4, 6, 7, 10 and 11, all with the published gammas, then what the paper has not."""
    published = _at(fits, plan.grid[0])
    counted = [row for row in per_class(published) if row["method"].startswith("lapsvm")]
    parts: list[tuple[Any, ...]] = []
    for part, column in PARTS.items():
        known = {name: [Reference(PAPER, "4", name, part)] for name in ("svm", "rls")}
        known["lapsvm_pcg_3"] = [Reference(PAPER, "4", "lapsvm_pcg", part, note=_THREE)]
        known |= {name: [Reference(PAPER, table, name, part) for table in ("7", "11")] for name in RULES}
        parts.append((f"Tables 4, 7 and 11, published gammas, error on {part} in percent", published, known, column))
    for title, column, quantity in (
        ("Tables 6 and 10, published gammas, iterations", "count", "pcg_iterations"),
        ("Tables 3, 6 and 10, published gammas, seconds (another computer's)", "seconds", "train_seconds"),
    ):
        known = {name: [Reference(PAPER, table, name, "", quantity) for table in ("6", "10")] for name in RULES}
        parts.append((title, counted, known, column))
    for part, column in PARTS.items():
        title, tuning = f"With D - W, published gammas, error on {part} in percent", f"fixed, {LAPLACIANS[False]}"
        parts.append((title, _at(fits, plan.grid[0], False), {}, column, tuning))
    shown = [Section(title, fixed_lines(*rest)) for title, *rest in parts]
    tried = [row for row in fits if row["split"] == "round0-fold0" and row["method"].startswith("lapsvm")]
    for part in "UT":
        lines = [
            line
            for setting in plan.grid
            for line in fixed_lines(_at(tried, setting), {}, PARTS[part], f"{setting[0]:g}, {setting[1]:g}")
        ]
        shown.append(Section(f"Other gammas, the first 1 draws, error on {part}", lines))
    return [part for part in shown if part.lines]


def _at(fits: Iterable[Row], setting: Setting, normalized: bool = True) -> list[Row]:
    return [row for row in fits if row["setting"] == setting and row["normalized"] == normalized]


def verdicts(fits: Sequence[Row], plan: FacemitPlan) -> list[str]:
    """Put what the paper says of FACEMIT to the numbers, verdict first; two draws are judged, not one."""
    if plan.task.name != "facemit":
        return []
    rows = [{**row, "count": (row.get("iterations") or [math.nan])[0]} for row in _at(fits, plan.grid[0])]
    columns = {"U": PARTS["U"], "T": PARTS["T"], "gap": "relative_gap", "count": "count"}
    frame = wide_frame(rows, columns, stops=statistics.fmean(row["count"] for row in rows if row["method"] in RULES))
    for part in "UT":
        frame[f"published_{part}"] = _published("svm", part)
        frame[f"gain_{part}"] = _published("svm", part) - _published("lapsvm_pcg", part)
    judged = judge(TABLE_CLAIMS["lapsvm_primal_faces"], {"facemit": frame})
    return ["What the paper says of FACEMIT by these numbers:", *judged]


def _published(method: str, part: str) -> float:
    known = Reference(PAPER, "4", method, part).find("facemit")
    return math.nan if known is None else known[0]


def _many(rows: Iterable[Row]) -> list[str]:
    """Say what the SVM errs over many draws, and how often three of them err as little as published."""
    remarks = []
    for row in rows:
        if row["method"] == "svm" and row["status"] == "ok" and row["dataset"] == "facemit":
            for part, errors in zip("UT", np.array(json.loads(row["errors"])).T, strict=True):
                threes, theirs = errors[: 3 * (len(errors) // 3)].reshape(-1, 3).mean(axis=1), _published("svm", part)
                remarks.append(
                    f"The SVM on {part} over {len(errors)} draws: {errors.mean():.2f} ({errors.std(ddof=1):.2f}), "
                    f"published {theirs:.2f}; {100 * np.mean(threes <= theirs):.0f} % of the means of three draws are "
                    "as low."
                )
    return remarks


Curves: TypeAlias = list[tuple[int, list[float]]]


def figure_12(rows: Sequence[Row], plan: FacemitPlan) -> tuple[Curves, list[float]]:
    """Return means over the draws with the published gammas, those of a draw that has converged being its last ones.

    After each iteration: the errors on U, V and T, and the objective over the dual bound. At the optimum: the errors.
    """
    wanted = [row for row in rows if row["status"] == "ok" and row.get("param_normalized")]
    each = [json.loads(row["curve"]) for row in wanted if tuple(json.loads(row["param_setting"])) == plan.grid[0]]
    longest = max((len(curve) for curve in each), default=0)
    padded = [[*curve, *[curve[-1]] * (longest - len(curve))] for curve in each]
    optima = [row for row in _at(fits_of(wanted), plan.grid[0]) if row["method"] == "lapsvm_exact"]
    return (
        [(t + 1, [statistics.fmean(curve[t][k] for curve in padded) for k in range(1, 5)]) for t in range(longest)],
        [statistics.fmean(row[column] for row in optima) for column in PARTS.values()] if optima else [],
    )


def _setup(options: Options) -> Setup:
    task, header = facemit_task(options.data)
    plan = FacemitPlan(FACEMIT["digits8"], 2, GRID[:2]) if options.quick else FacemitPlan(task)
    return Setup(plan, [plan.task.source], header)


def _report(rows: list[Row], plan: FacemitPlan, options: Options) -> Findings:
    split = next(iter(splits(plan.task, options.data).values()))
    parts = ("labeled", "unlabeled", "validation", "test")
    sizes = (f"{len(getattr(split, part))} {part.replace('labeled', 'labelled')}" for part in parts)
    published = published_sizes(PAPER, "2", "facemit")["value"]
    facts = {"sizes": ", ".join(sizes), "published": ", ".join(published), "draws": plan.n_draws, "three": _THREE}
    fits = fits_of(row for row in rows if row["method"] == "all")
    curves = [
        f"  {t:2d}: {u:5.2f} {v:5.2f} {test:5.2f}   {objective:.5f}"
        for t, (u, v, test, objective) in figure_12(rows, plan)[0]
    ]
    title = "Figure 12: errors on U, V and T after each iteration, and the objective over the dual bound:"
    remarks = [*verdicts(fits, plan), *_many(rows), "", title, *curves]
    return Findings(sections(fits, plan), remarks=remarks, facts=facts)


LAPSVM_PRIMAL_FACES = Experiment(**words("lapsvm_primal_faces"), setup=_setup, work=work, report=_report)
"""On scikit-learn's digits where the faces are missing, and always in the quick table. A process takes 5 GB."""
