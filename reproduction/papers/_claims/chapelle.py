"""What the continuation paper concludes of its S3VMs, put to our rows, setting by setting.

The conclusions of sections 1 and 4 to 5.3 that `chapelle_2006` itself does not judge stand in ``table_claims.toml``;
`sentences` makes the frames that they are judged by from the blocks with their rows. Methods are compared by their mean
over all runs of a set; the counts of pairs of classes, and of significant ones (paired t-test over the splits, 5 %),
stand with them. Two objectives are the same if they differ by less than `SAME`, relatively.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims import comparison_counts, paired
from reproduction.engine.records import Row
from reproduction.engine.significance import Errors, paired_comparison
from reproduction.judging import TABLE_CLAIMS, judge

SVM, CONTINUATION, GRADIENT, SWITCHING, LONG = "svm", "cs3vm", "grad_hinge", "svmlight_s3vm", "grad_long"
PAIRS = (
    *((CONTINUATION, SVM), (GRADIENT, SVM), (SWITCHING, SVM)),
    *((CONTINUATION, GRADIENT), (CONTINUATION, SWITCHING), (GRADIENT, SWITCHING), (LONG, GRADIENT)),
)
SAME = 1e-3
NEAR = 1.0
"""Points of error above that of the whole kernel that are nearly the same."""

Setting = tuple[Any, Sequence[Row]]
"""A block and its rows."""


def sentences(settings: Sequence[Setting]) -> list[str]:
    """Return one sentence per conclusion that the rows allow, verdict first."""
    usps = next((rows for block, rows in settings if (block.table, block.source) == ("1", "uspst")), [])
    pairs = [each for setting in settings for each in _pairs(*setting)]
    frames = {
        "pairs of methods": pd.DataFrame(pairs).set_index("name") if pairs else pd.DataFrame(),
        "ends": pd.DataFrame([_ends(usps, *pair) for pair in PAIRS[3:6]]).query("runs > 0"),
        "graph": _graph(usps, settings),
        "kernel functions": _few_functions(settings),
    }
    judged = judge(TABLE_CLAIMS["continuation_s3vm_2006"], frames)
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


def _pairs(block: Any, rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Yield a row per pair of methods of a setting of tables 1 to 4 and figure 5, with both mean errors."""
    widths = block.title.startswith("Figure 5")
    if not widths and block.table not in ("1", "2", "3", "4"):
        return
    means = {method: mean_error(rows, method) for pair in PAIRS for method in pair}
    name = block.dataset if block.tuning == "fixed" else f"{block.dataset}, {block.tuning}"
    unit = "pairs of classes" if len(block.tasks) > 1 else "tasks"
    setting = {"name": name, "table": block.table, "source": block.source, "widths": widths, **means}
    errors = errors_of(rows).values()
    for method, rival in PAIRS:
        if not math.isnan(means[method] + means[rival]):
            counts = comparison_counts(paired_comparison(errors, method, rival), unit)
            pair = {"method": method, "rival": rival, "ours": means[method], "theirs": means[rival], "counts": counts}
            yield setting | pair


def _ends(rows: Sequence[Row], method: str, rival: str) -> dict[str, Any]:
    """Section 1: how often a method ends lower than another, or higher, and whether the lower of two ends errs less."""
    e, f, J, K = paired(rows, method, rival)
    apart = np.abs(J - K) > SAME * np.maximum(np.abs(J), np.abs(K))
    told, right = apart & (e != f), (J < K) == (e < f)
    counts = {"lower": apart & (J < K), "higher": apart & (J > K), "right": told & right, "wrong": told & ~right}
    return {"method": method, "rival": rival, "runs": len(J), **{name: each.sum() for name, each in counts.items()}}


def _graph(usps: Sequence[Row], settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 5.1 and figure 6, best over gamma_I by the test error for LapSVM and the hybrid: optimistic."""
    row: dict[str, Any] = {"alone": mean_error(usps, CONTINUATION)}
    for name, method in (("lapsvm", SVM), ("hybrid", CONTINUATION)):
        tried = [
            (mean_error(rows, method), block.tuning)
            for block, rows in settings
            if block.graph and block.source == "uspst" and not block.exact
        ]
        row[name], row[f"{name}_at"] = min(tried, default=(math.nan, ""))
    return pd.DataFrame([row]).dropna()


def _few_functions(settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 5.2 and figure 7: seconds and errors over the number of kernel functions."""
    by_number = {
        block.landmarks: (
            mean_error(rows, CONTINUATION),
            statistics.fmean(row["fit_seconds"] for row in rows if row["method"] == CONTINUATION),
        )
        for block, rows in settings
        if block.landmarks is not None and not math.isnan(mean_error(rows, CONTINUATION))
    }
    if len(by_number) < 2:
        return pd.DataFrame()
    frame = pd.DataFrame.from_dict(by_number, orient="index", columns=["error", "seconds"]).sort_index()
    last = frame.iloc[-1]
    frame["faster"], frame["near"] = last["seconds"] / frame["seconds"], frame["error"] <= last["error"] + NEAR
    frame.attrs["most"] = frame.index[-1]
    return frame
