"""The FACEMIT rows of the primal-LapSVM paper's tables, made of the fits of `lapsvm_primal_faces`, and what they say.

Tables 1 and 2 are the sizes, in the header; 3, 6 and 10 seconds and iterations; 4, 7 and 11 errors, all with the
printed gammas of tables 8 and 9; figure 12 the errors from iteration to iteration. With them come the optimum, the
other Laplacian, and other gammas.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from specmargin.experiments.claims import LAPLACIANS
from specmargin.experiments.comparison import Reference, compare
from specmargin.experiments.engine.protocol import FixedSetting
from specmargin.experiments.engine.published import published_sizes
from specmargin.experiments.engine.records import Row
from specmargin.experiments.engine.significance import paired_p_value
from specmargin.experiments.report import Section
from specmargin.experiments.run import Experiment, Findings, Options, Setup
from specmargin.experiments.tasks import checksums
from specmargin.papers._melacci_belkin_faces import FACES, Plan, splits, task_of_faces, work
from specmargin.papers._melacci_belkin_fits import RULES, fits_of
from specmargin.papers._melacci_belkin_sections import PARTS

__all__ = ["LAPSVM_PRIMAL_FACES", "curves", "faces_verdicts"]

PAPER = "lapsvm_primal_2009"
_THREE = "where the paper's table 6 stops"


def _setup(options: Options) -> Setup:
    task, header = task_of_faces(options.data)
    plan = Plan("digits8").quick() if options.quick else Plan(task)
    return Setup(plan, checksums([FACES[plan.task].source], options.data), header)


def _report(rows: list[Row], plan: Plan, options: Options) -> Findings:
    fits = fits_of(row for row in rows if row["method"] == "all")
    remarks = [*faces_verdicts(fits, plan), *_many(rows), "", *_figure_12(rows, plan)]
    return Findings(_sections(fits, plan), _protocol(plan, options), remarks)


def _protocol(plan: Plan, options: Options) -> list[str]:
    """Say what was done, and the sizes of table 2."""
    first = next(iter(splits(plan.task, plan.n_draws, options.data).values()))
    sizes = {
        "labelled": first.labeled,
        "unlabelled": first.unlabeled,
        "validation": first.validation,
        "test": first.test,
    }
    printed = published_sizes(PAPER, "2", "facemit").set_index("quantity")["value"]
    return [
        f"Sizes (table 2): {', '.join(f'{len(part)} {name}' for name, part in sizes.items())}; printed "
        f"{', '.join(printed)}, of 31,022 images (table 1), whose original sets have 24,045 and 6,977.",
        f"{plan.n_draws} draws of L and V; other gammas and D - W on the first {plan.n_grid}. Heat weights of mean "
        "width, no intercept. The kernel is stored in single precision and multiplied in double.",
        f"lapsvm_pcg_3: after three iterations, {_THREE}. lapsvm_exact: the optimum, proved by its certificate.",
        "Nothing is chosen on V: of its 50 images one or two are faces, so that a single one decides (tables 8, 9).",
        "The stopping rules look at the decisions every round(sqrt(n) / 2) iterations, the paper's; they end before "
        "where the mixed product has fallen to 1e-8 of its start.",
    ]


def _at(fits: Iterable[Row], setting: Sequence[float], normalized: bool) -> list[Row]:
    return [row for row in fits if row["setting"] == tuple(setting) and row["normalized"] == normalized]


def _sections(fits: Sequence[Row], plan: Plan) -> list[Section]:
    printed = _at(fits, plan.grid[0], True)
    other = _at(fits, plan.grid[0], False)
    found = []
    for part, column in PARTS.items():
        references = {name: [Reference(PAPER, "4", name, part)] for name in ("svm", "rls")}
        references["lapsvm_pcg_3"] = [Reference(PAPER, "4", "lapsvm_pcg", part, note=_THREE)]
        for name in RULES:
            references[name] = [Reference(PAPER, table, name, part) for table in ("7", "11")]
        lines = compare(printed, [FixedSetting()], references, column=column)
        found.append(Section(f"Tables 4, 7 and 11, printed gammas, error on {part} in percent", lines))
    counted = [{**row, "count": float(row["iterations"][0])} for row in printed if row["method"].startswith("lapsvm")]
    for title, column, quantity in (
        ("Tables 6 and 10, printed gammas, iterations", "count", "pcg_iterations"),
        ("Tables 3, 6 and 10, printed gammas, seconds (another computer's)", "seconds", "train_seconds"),
    ):
        references = {name: [Reference(PAPER, table, name, "", quantity) for table in ("6", "10")] for name in RULES}
        found.append(Section(title, compare(counted, [FixedSetting()], references, column=column)))
    for part, column in PARTS.items():
        lines = compare(other, [FixedSetting()], {}, column=column)
        lines = [replace(line, tuning=f"{line.tuning}, {LAPLACIANS[False]}") for line in lines]
        found.append(Section(f"With D - W, printed gammas, error on {part} in percent", lines))
    for part in ("U", "T"):
        lines = []
        for setting in plan.grid:
            some = [row for row in _at(fits, setting, True) if row["split"] in _gridded(plan)]
            tuning = f"{setting[0]:g}, {setting[1]:g}"
            some = [row for row in some if row["method"].startswith("lapsvm")]
            lines += [replace(x, tuning=tuning) for x in compare(some, [FixedSetting()], {}, column=PARTS[part])]
        found.append(Section(f"Other gammas, the first {plan.n_grid} draws, error on {part}", lines))
    return [part for part in found if part.lines]


def _gridded(plan: Plan) -> list[str]:
    """Return the draws that see the whole grid."""
    return [f"round{i}-fold0" for i in range(plan.n_grid)]


def faces_verdicts(fits: Sequence[Row], plan: Plan) -> list[str]:
    """Put what the paper says of FACEMIT to the numbers, verdict first.

    Parameters
    ----------
    fits : sequence of rows
        Of `fits_of`.
    plan : Plan
        What was computed.
    """
    if plan.task != "facemit":
        return []
    errors = {part: _by_method(_at(fits, plan.grid[0], True), column) for part, column in PARTS.items()}
    iterations = _by_method(_at(fits, plan.grid[0], True), "iterations", first=True)
    svm = errors["U"]["svm"]
    alike = sum(svm[split] == error for split, error in errors["U"]["rls"].items())
    said = [
        f"{'reproduced' if alike == len(svm) else 'not reproduced'}: SVM and RLS err alike. On U in {alike} of "
        f"{len(svm)} draws: of two labelled images both choose the nearer one.",
        *(_next_to_published(errors[part], part) for part in ("U", "T")),
    ]
    for part in ("U", "T"):
        for method, words in (("lapsvm_exact", "at the optimum"), ("lapsvm_pcg_3", "after three iterations")):
            said.append(_gain(errors[part], part, method, words))
    gaps = [row["relative_gap"] for row in _at(fits, plan.grid[0], True) if row["method"] == "lapsvm_pcg_3"]
    ends = [count for name in RULES for count in iterations[name].values()]
    exact = list(iterations["lapsvm_exact"].values())
    said.append(
        f"{'reproduced' if max(gaps) < 1e-3 else 'not reproduced'}: the algorithm converges in three iterations. The "
        f"objective is then {100 * statistics.fmean(gaps):.1f} % above the dual bound in the mean, at most "
        f"{100 * max(gaps):.1f} %; the rules end after {statistics.fmean(ends):.1f} iterations, the optimum takes "
        f"{statistics.fmean(exact):.1f}."
    )
    return ["What the paper says of FACEMIT by these numbers:", *said]


def _by_method(fits: Iterable[Row], column: str, *, first: bool = False) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in fits:
        found.setdefault(row["method"], {})[row["split"]] = float(row[column][0] if first else row[column])
    return found


def _printed(method: str, part: str) -> float:
    known = Reference(PAPER, "4", "svm" if method == "svm" else "lapsvm_pcg", part).find("facemit")
    return math.nan if known is None else known[0]


def _next_to_published(errors: Mapping[str, Mapping[str, float]], part: str) -> str:
    values, printed = list(errors["svm"].values()), _printed("svm", part)
    mean, error = statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values))
    near = abs(mean - printed) <= 2.0 * error
    return (
        f"{'reproduced' if near else 'not reproduced'}: the SVM's error on {part}. {mean:.2f} with a standard error of "
        f"{error:.2f} over {len(values)} draws, printed {printed:.2f}; single draws from {min(values):.1f} to "
        f"{max(values):.1f}."
    )


def _many(rows: Iterable[Row]) -> list[str]:
    """Say what the SVM errs over many draws, and how often three of them err as little as printed."""
    said = []
    for row in rows:
        if row["method"] == "svm" and row["status"] == "ok" and row["dataset"] == "facemit":
            errors = np.array(json.loads(row["errors"]))
            for k, part in enumerate("UT"):
                threes = errors[: 3 * (len(errors) // 3), k].reshape(-1, 3).mean(axis=1)
                said.append(
                    f"The SVM on {part} over {len(errors)} draws: {errors[:, k].mean():.2f} "
                    f"({errors[:, k].std(ddof=1):.2f}), printed {_printed('svm', part):.2f}; "
                    f"{100 * np.mean(threes <= _printed('svm', part)):.0f} % of the means of three draws are as low."
                )
    return said


def _gain(errors: Mapping[str, Mapping[str, float]], part: str, method: str, words: str) -> str:
    """Say what LapSVM gains over the SVM, draw by draw: as much as printed, less but surely, or nothing sure."""
    splits = [split for split in errors["svm"] if split in errors.get(method, {})]
    svm, mine = ([errors[name][split] for split in splits] for name in ("svm", method))
    gains = [a - b for a, b in zip(svm, mine, strict=True)]
    if len(gains) < 2:
        return f"not judged: the gain of LapSVM on {part} {words}."
    printed = _printed("svm", part) - _printed("lapsvm_pcg", part)
    mean, error = statistics.fmean(gains), statistics.stdev(gains) / math.sqrt(len(gains))
    p_value = paired_p_value(svm, mine)
    sure = mean > 0 and p_value < 0.05
    verdict = (
        "reproduced" if sure and mean >= printed - 2.0 * error else "in its sign only" if sure else "not reproduced"
    )
    return (
        f"{verdict}: LapSVM's gain over the SVM on {part} {words}. {mean:.2f} points (standard error {error:.2f}, "
        f"lower in {sum(gain > 0 for gain in gains)} of {len(gains)} draws, p {p_value:.0e}); printed {printed:.2f}."
    )


def curves(rows: Iterable[Row], plan: Plan) -> list[tuple[int, list[float]]]:
    """Return the means over the draws, iteration by iteration: errors on U, V and T, objective over the dual bound.

    A draw that has converged keeps its last numbers.
    """
    wanted = [row for row in rows if row["status"] == "ok" and row.get("param_normalized")]
    found = [json.loads(row["curve"]) for row in wanted if tuple(json.loads(row["param_setting"])) == plan.grid[0]]
    longest = max((len(curve) for curve in found), default=0)
    padded = [[*curve, *[curve[-1]] * (longest - len(curve))] for curve in found]
    return [(t + 1, [statistics.fmean(curve[t][k] for curve in padded) for k in range(1, 5)]) for t in range(longest)]


def _figure_12(rows: Iterable[Row], plan: Plan) -> list[str]:
    said = ["Figure 12: errors on U, V and T after each iteration, and the objective over the dual bound:"]
    return said + [
        f"  {t:2d}: {u:5.2f} {v:5.2f} {test:5.2f}   {objective:.5f}"
        for t, (u, v, test, objective) in curves(rows, plan)
    ]


LAPSVM_PRIMAL_FACES = Experiment(
    "lapsvm_primal_faces",
    "The same on FACEMIT, the CBCL faces: 24,044 training samples, two labels, macro error; 5 GB, most of an hour",
    "Laplacian support vector machines trained in the primal: FACEMIT, macro error rates",
    _setup,
    work,
    _report,
    solver="conjugate gradients",
    quick="two draws of scikit-learn's digits, 8 against others.",
)
"""On scikit-learn's digits where the faces are missing, and always in the quick table. A process takes 5 GB."""
