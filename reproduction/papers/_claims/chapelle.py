"""What the continuation paper concludes of its S3VMs, put to our rows, setting by setting.

The conclusions of sections 1 and 4 to 5.3 stand in ``table_claims.toml``; `sentences` makes the frames that they are
judged by from the blocks with their rows. Two objectives are the same if they differ by less than `SAME`, relatively.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from reproduction.engine.records import Row
from reproduction.judging import TABLE_CLAIMS, judge, wide_frame

SVM, CONTINUATION, GRADIENT, SWITCHING = "svm", "cs3vm", "grad_hinge", "svmlight_s3vm"
PAIRS = ((CONTINUATION, GRADIENT), (CONTINUATION, SWITCHING), (GRADIENT, SWITCHING))
SAME = 1e-3
NEAR = 1.0
"""Points of error above that of the whole kernel that are nearly the same."""

Setting = tuple[Any, Sequence[Row]]
"""A block and its rows."""


def sentences(settings: Sequence[Setting]) -> list[str]:
    """Return one sentence per conclusion that the rows allow, verdict first."""
    usps = next((rows for block, rows in settings if (block.table, block.source) == ("1", "uspst")), [])
    runs = [_runs(*setting) for setting in settings]
    ends = pd.DataFrame([end for pair in PAIRS for end in _ends(usps, *pair)])
    frames = {
        "runs": pd.concat([each for each in runs if len(each)]) if any(map(len, runs)) else pd.DataFrame(),
        "ends": ends,
        "better ends": ends.dropna() if len(ends) else ends,
        "graph": _graph(usps, settings),
        "kernel functions": _few_functions(settings),
    }
    frames["better ends"] = frames["better ends"].infer_objects()
    judged = judge(TABLE_CLAIMS["continuation_s3vm_2006"], frames)
    return ["What the paper concludes, by these numbers:", *judged] if judged else []


def _good(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row["status"] == "ok"]


def _runs(block: Any, rows: Sequence[Row]) -> pd.DataFrame:
    """Return the errors of a setting of tables 1 to 4 or figure 5, a row for each task and split."""
    widths = block.title.startswith("Figure 5")
    if not widths and block.table not in ("1", "2", "3", "4"):
        return pd.DataFrame()
    name = block.dataset if block.tuning == "fixed" else f"{block.dataset}, {block.tuning}"
    wide = wide_frame(_good(rows), {"E": "error_unlabeled"})
    return wide.assign(name=name, table="" if widths else block.table, source=block.source, widths=widths)


def _ends(rows: Iterable[Row], method: str, rival: str) -> Iterator[dict[str, Any]]:
    """Section 1: runs that end apart: whether the first method ends lower, and whether the lower end errs less."""
    columns = {"J": "objective", "E": "error_unlabeled"}
    wide = wide_frame([row for row in _good(rows) if row["method"] in (method, rival)], columns)
    both = [f"{name}_{each}" for name in columns for each in (method, rival)]
    if not {*both} <= {*wide}:
        return
    ends = wide.dropna().reset_index()
    for dataset, split, J, K, e, f in ends[["dataset", "split", *both]].itertuples(index=False):
        if abs(J - K) > SAME * max(abs(J), abs(K)):
            run = {"dataset": dataset, "split": split, "method": method, "rival": rival, "pair": f"{method}, {rival}"}
            yield {**run, "lower": J < K, "right": (J < K) == (e < f) if e != f else None}


def _graph(usps: Sequence[Row], settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 5.1 and figure 6, best over gamma_I by the test error for LapSVM and the hybrid: optimistic."""
    columns, facts = {"alone": _errors(usps, CONTINUATION)}, {}
    for name, method in (("lapsvm", SVM), ("hybrid", CONTINUATION)):
        tried = [
            (_errors(rows, method), block.tuning)
            for block, rows in settings
            if block.graph and block.source == "uspst" and not block.exact
        ]
        tried = [each for each in tried if len(each[0])]
        if not tried:
            return pd.DataFrame()
        columns[name], facts[f"{name}_at"] = min(tried, key=lambda each: each[0].mean())
    frame = pd.DataFrame(columns).dropna()
    frame.attrs.update(facts)
    return frame


def _errors(rows: Iterable[Row], method: str) -> pd.Series:
    """Return the errors of a method by task and split."""
    wide = wide_frame([row for row in _good(rows) if row["method"] == method], {"E": "error_unlabeled"})
    return wide[f"E_{method}"] if len(wide) else pd.Series(dtype=float)


def _few_functions(settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 5.2 and figure 7: how much faster the fewest kernel functions are that err nearly as the whole kernel."""
    by_number = {}
    for block, rows in sorted(
        (each for each in settings if each[0].landmarks is not None), key=lambda each: each[0].landmarks
    ):
        wide = wide_frame(
            [row for row in _good(rows) if row["method"] == CONTINUATION], {"E": "error_unlabeled", "S": "fit_seconds"}
        )
        if len(wide):
            by_number[block.landmarks] = wide.droplevel("dataset")
    if len(by_number) < 2:
        return pd.DataFrame()
    error = {number: each[f"E_{CONTINUATION}"].mean() for number, each in by_number.items()}
    most = max(error)
    few = min(number for number, each in error.items() if each <= error[most] + NEAR)
    seconds = [by_number[number][f"S_{CONTINUATION}"] for number in (most, few)]
    frame = pd.DataFrame({"faster": seconds[0] / seconds[1]}).dropna().rename_axis("split")
    frame.attrs.update(few=few, most=most, error_few=error[few], error_most=error[most])
    return frame
