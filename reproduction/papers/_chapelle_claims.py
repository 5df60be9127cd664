"""What the continuation paper concludes of its S3VMs, put to our rows, setting by setting.

`sentences` takes the blocks of `chapelle_2006` with their rows and has a verdict for each conclusion of sections 1 and
4 to 5.3 that `chapelle_2006` itself does not judge. Methods are compared by their mean over all runs of a set; the
counts of pairs of classes, and of significant ones (paired t-test over the splits, 5 %), stand with them. Two
objectives are the same if they differ by less than `SAME`, relatively.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from reproduction.claims import CLOSE, claim, comparison_counts, paired, verdict, yes_or_no
from reproduction.engine.records import Row
from reproduction.engine.significance import Errors, paired_comparison

SVM, CONTINUATION, GRADIENT, SWITCHING, LONG = "svm", "cs3vm", "grad_hinge", "svmlight_s3vm", "grad_long"
RIVALS = (GRADIENT, SWITCHING)
SAME = 1e-3
HARDLY = 1.0
"""Points of error that are hardly a gain."""
NEAR = 1.0
"""Points of error above that of the whole kernel that are nearly the same."""
TIMES = 100.0
"""What section 5.2 gains at the most."""

Setting = tuple[Any, Sequence[Row]]
"""A block and its rows."""


def sentences(settings: Sequence[Setting]) -> list[str]:
    """Return one sentence per conclusion that the rows allow, verdict first."""
    first = [each for each in settings if each[0].table == "1"]
    usps = next((rows for block, rows in first if block.source == "uspst"), [])
    others = [each for each in first if each[0].source != "uspst"]
    widths = [each for each in settings if each[0].title.startswith("Figure 5")]
    weights = [each for each in settings if each[0].table == "2"]
    everyone = [(method, SVM) for method in (CONTINUATION, *RIVALS)]
    against = [(CONTINUATION, rival) for rival in (SVM, *RIVALS)]
    judged = [
        *_lower("the S3VMs all err less than the SVM, on every set (section 4.1)", first, everyone),
        *_lower("continuation has the least error on COIL-20 and on Text, too (table 1)", others, against),
        *_minima(usps),
        *_objective_and_error(usps),
        *_annealing(usps),
        *_lower("continuation is consistently better over the widths of the kernel (figure 5)", widths, against),
        *_lower("with other C = C*, too (table 2)", weights, against),
        *_lower(
            "and with another C* (table 3)",
            [each for each in settings if each[0].table == "3"],
            [(CONTINUATION, GRADIENT)],
        ),
        *_graph(usps, [each for each in settings if each[0].graph]),
        *_few_functions([each for each in settings if each[0].landmarks is not None]),
        *_clusters([each for each in settings if each[0].table == "4"]),
    ]
    return ["What the paper concludes, by these numbers:", *judged] if judged else []


def errors_of(rows: Iterable[Row]) -> dict[str, Errors]:
    """Return errors by task, then by method and split; no failed cells."""
    tasks: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row["status"] == "ok":
            tasks.setdefault(row["dataset"], {}).setdefault(row["method"], {})[row["split"]] = row["error_unlabeled"]
    return dict(tasks)


def mean_error(rows: Iterable[Row], method: str) -> float:
    """Return the mean error of a method over all runs, NaN without any."""
    errors = [row["error_unlabeled"] for row in rows if row["status"] == "ok" and row["method"] == method]
    return statistics.fmean(errors) if errors else math.nan


def _lower(text: str, settings: Sequence[Setting], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Judge that the first method of each pair has the lower mean error, in every setting."""
    counts, part, whole = [], 0, 0
    for block, rows in settings:
        errors = errors_of(rows).values()
        for method, rival in pairs:
            ours, theirs = mean_error(rows, method), mean_error(rows, rival)
            if math.isnan(ours) or math.isnan(theirs):
                continue
            part, whole = part + (ours < theirs), whole + 1
            name = block.dataset if block.tuning == "fixed" else f"{block.dataset}, {block.tuning}"
            unit = "pairs of classes" if len(block.tasks) > 1 else "tasks"
            compared = comparison_counts(paired_comparison(errors, method, rival), unit)
            counts.append(f"{name}: {method} {ours:.2f}, {rival} {theirs:.2f} %, {compared}")
    many = f"In {{part}} of {{whole}} (sets and settings, rivals). {'; '.join(counts)}"
    return [claim(text, part, whole, many)] if whole else []


def _minima(rows: Sequence[Row]) -> list[str]:
    """Section 1: the objective where continuation ends, next to where its competitors end."""
    counts, part, whole = [], 0, 0
    for rival in RIVALS:
        runs = paired(rows, CONTINUATION, rival)
        lower, higher = 0, 0
        for ours, theirs in zip(runs.first_objective, runs.second_objective, strict=True):
            apart = abs(ours - theirs) > SAME * max(abs(ours), abs(theirs))
            lower, higher = lower + (apart and ours < theirs), higher + (apart and ours > theirs)
        if len(runs.first_objective):
            counts.append(f"{rival}: lower in {lower}, higher in {higher} of {len(runs.first_objective)} runs")
        part, whole = part + lower, whole + lower + higher
    text = "continuation usually ends in better minima than both competitors (section 1)"
    where = "Of the runs that end apart, in {part} of {whole}"
    return [claim(text, part, whole, f"{where}; common objective against {'; '.join(counts)}")] if whole else []


def _objective_and_error(rows: Sequence[Row]) -> list[str]:
    """Sections 1 and 6: of two ends the lower one errs less, whatever the methods."""
    counts, part, whole = [], 0, 0
    for a, b in ((CONTINUATION, GRADIENT), (CONTINUATION, SWITCHING), (GRADIENT, SWITCHING)):
        runs = paired(rows, a, b)
        right, wrong = 0, 0
        for J, K, e, f in zip(*(runs[k] for k in (2, 3, 0, 1)), strict=True):
            if abs(J - K) > SAME * max(abs(J), abs(K)) and e != f:
                right, wrong = right + ((J < K) == (e < f)), wrong + ((J < K) != (e < f))
        if right + wrong:
            counts.append(f"{a} and {b}: {right} of {right + wrong}")
        part, whole = part + right, whole + right + wrong
    text = "better local minima err less (sections 1 and 6)"
    return [claim(text, part, whole, f"In {{part}} of {{whole}} runs; {'; '.join(counts)}")] if whole else []


def _annealing(rows: Sequence[Row]) -> list[str]:
    long, short = mean_error(rows, LONG), mean_error(rows, GRADIENT)
    if math.isnan(long) or math.isnan(short):
        return []
    result = paired_comparison(errors_of(rows).values(), LONG, GRADIENT)
    counts = f"{LONG} {long:.2f}, {GRADIENT} {short:.2f} %; {comparison_counts(result, 'pairs of classes')}"
    return [f"{yes_or_no(long >= short)}: a long annealing does not help gradient descent (section 4.3). {counts}."]


def _graph(usps: Sequence[Row], settings: Sequence[Setting]) -> list[str]:
    """Section 5.1 and figure 6, best over gamma_I by the test error for LapSVM and the hybrid: optimistic."""
    alone = mean_error(usps, CONTINUATION)
    graph = {
        method: min(
            ((mean_error(rows, method), block.tuning) for block, rows in settings if block.source == "uspst"),
            default=(math.nan, ""),
        )
        for method in (SVM, CONTINUATION)
    }
    if math.isnan(alone) or any(math.isnan(error) for error, _ in graph.values()):
        return []
    (lapsvm, at), (hybrid, where) = graph[SVM], graph[CONTINUATION]
    counts = f"Continuation {alone:.2f}, LapSVM {lapsvm:.2f} ({at}), hybrid {hybrid:.2f} % ({where})"
    return [
        f"{yes_or_no(alone <= lapsvm + CLOSE)}: continuation without a graph is as good on USPS as LapSVM with its "
        f"best gamma_I (section 5.1). {counts}; as good is at most {CLOSE:g} points more.",
        f"{yes_or_no(hybrid < min(alone, lapsvm))}: the hybrid is better than either (figure 6). {counts}.",
    ]


def _few_functions(settings: Sequence[Setting]) -> list[str]:
    """Section 5.2 and figure 7: seconds and errors over the number of kernel functions."""
    by_number = {
        block.landmarks: (
            mean_error(rows, CONTINUATION),
            statistics.fmean(row["fit_seconds"] for row in rows if row["method"] == CONTINUATION),
        )
        for block, rows in settings
        if not math.isnan(mean_error(rows, CONTINUATION))
    }
    if len(by_number) < 2:
        return []
    most = max(by_number)
    error, seconds = by_number[most]
    ratios = {p: seconds / other for p, (near, other) in by_number.items() if p != most and near <= error + NEAR}
    best = max(ratios.values(), default=1.0)
    word = "reproduced" if best >= TIMES else verdict(int(best >= TIMES / 10), 2)
    counts = ", ".join(f"p = {p}: {e:.2f} %, {seconds / s:.0f} times" for p, (e, s) in sorted(by_number.items()))
    return [
        f"{word}: confined to few kernel functions training is up to a hundred times faster at nearly the same error "
        f"(section 5.2). Up to {best:.0f} times within {NEAR:g} point of p = {most}; partly from {TIMES / 10:g} times "
        f"on. {counts}."
    ]


def _clusters(settings: Sequence[Setting]) -> list[str]:
    """Section 5.3 and table 4: classes of several clusters."""
    known = [(block.dataset, rows) for block, rows in settings if not math.isnan(mean_error(rows, SVM))]
    if not known:
        return []
    means = {
        name: {method: mean_error(rows, method) for method in (SVM, CONTINUATION, *RIVALS)} for name, rows in known
    }
    counts = "; ".join(
        f"{name}: {', '.join(f'{method} {error:.2f}' for method, error in each.items())} %"
        for name, each in means.items()
    )
    worse = sum(each[CONTINUATION] > each[SVM] for each in means.values())
    gains = [each[SVM] - each[rival] for each in means.values() for rival in RIVALS if not math.isnan(each[rival])]
    text = "with several clusters in a class continuation is worse than the SVM (section 5.3, table 4)"
    judged = [claim(text, worse, len(means), f"In {{part}} of {{whole}} sets. {counts}")]
    if gains:
        hardly = sum(gain <= HARDLY for gain in gains)
        many = (
            f"At most {HARDLY:g} point less than the SVM in {{part}} of {{whole}} (sets, methods), largest gain "
            f"{max(gains):.2f}"
        )
        judged.append(claim("and the other S3VMs hardly gain (table 4)", hardly, len(gains), many))
    return judged
