"""What the QN-S3VM paper concludes from table 2 and figures 4 to 7, put to our rows.

The conclusions stand in ``table_claims.toml``; `sentences` makes the frames that they are judged by from the blocks of
`gieseke_2014` with their rows. Errors are those of unseen samples, compared partition by partition by the paired t-test
at 5 %. Seconds are those of our own solvers on one computer: the paper timed programs of several authors in several
languages, so that a verdict on them is one on the methods as we have them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from reproduction.engine.records import Row
from reproduction.engine.significance import Errors, paired_p_value
from reproduction.judging import TABLE_CLAIMS, judge, named_frame, slope, wide_frame

PAPER = "QN-S3VM"
SVM, UNIVERSVM, TSVMLIN, ANNEALING, QN = "svm", "cccp_s3vm", "multiswitch_tsvm", "da_s3vm", "qn_s3vm"
SEMI_SUPERVISED = (UNIVERSVM, TSVMLIN, ANNEALING, QN)
SPARSE = ("mac_windows", "real_sim", "gcat", "ccat", "aut_avn")

Setting = tuple[Any, Sequence[Row]]
"""A block and its rows."""


def sentences(settings: Sequence[Setting]) -> list[str]:
    """Return one sentence per conclusion that the rows allow, verdict first."""
    by_figure = {
        k: [each for each in settings if each[0].title.startswith(f"Figure {k}")] for k in ("4", "5a", "5b", "6", "7")
    }
    frames = {
        **_table_2([each for each in settings if each[0].title == "Table 2"]),
        **_moons(by_figure["4"]),
        **_labelled(by_figure["5a"]),
        **_unlabelled(by_figure["5b"]),
        **_seconds(by_figure["6"]),
        **_many_samples(by_figure["7"]),
    }
    judged = judge(TABLE_CLAIMS[PAPER], frames)
    return ["What the paper concludes, by these numbers:", *judged] if judged else []


def errors_of(rows: Iterable[Row], column: str = "error_test") -> Errors:
    """Return a column by method and partition; no failed cells."""
    errors: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["status"] == "ok":
            errors.setdefault(row["method"], {})[row["split"]] = row[column]
    return errors


def means_of(rows: Iterable[Row], column: str = "error_test") -> dict[str, float]:
    """Return the mean of a column by method."""
    return {method: statistics.fmean(each.values()) for method, each in errors_of(rows, column).items()}


def _means(named: Iterable[tuple[str, Mapping[str, float]]]) -> pd.DataFrame:
    """Return a row per name and a column per method, NaN where it was not run."""
    return pd.DataFrame.from_dict(dict(named), orient="index").reindex(columns=[SVM, *SEMI_SUPERVISED])


def _is_sparse(means: pd.DataFrame) -> Any:
    return np.array([str(name).split()[0] in SPARSE for name in means.index], dtype=bool)


def _frame(named: Iterable[tuple[str, Sequence[Row]]], **facts: Any) -> pd.DataFrame:
    """Return the errors of settings as data sets of a wide frame."""
    rows = [{**row, "dataset": name} for name, each in named for row in each if row["status"] == "ok"]
    return wide_frame(rows, {"E": "error_test"}, **facts) if rows else pd.DataFrame()


def _table_2(table: Sequence[Setting]) -> dict[str, pd.DataFrame]:
    """Section 4.2.3."""
    named = [(f"{block.dataset} l={block.how.n_labeled} u={block.how.n_unlabeled}", rows) for block, rows in table]
    means = _means((name, means_of(rows)) for name, rows in named)
    alike = means[_is_sparse(means)].drop(columns=UNIVERSVM).dropna()
    sparse = [(name, rows) for name, rows in named if name in alike.index]
    dense = means[~_is_sparse(means)].drop(columns=SVM)
    best = {name: row.idxmin() for name, row in dense.iterrows() if row.notna()[QN] and row.count() > 1}
    others = ", ".join(f"{name}: {method}" for name, method in best.items() if method != QN)
    three = alike[list(SEMI_SUPERVISED[1:])]
    sets = ", ".join(dict.fromkeys(name.split()[0] for name, _ in sparse))
    only = f"of the paper's {len(SPARSE)} sparse sets {sets} alone"
    return {
        "table 2": _frame(named),
        "dense rows": named_frame(
            {"best": {name: float(method == QN) for name, method in best.items()}},
            elsewhere=others and f"; elsewhere {others}",
        ),
        "sparse rows": _frame(sparse, only=only),
        "spread of sparse rows": named_frame({"apart": three.max(axis=1) - three.min(axis=1)}, only=only),
    }


def _moons(settings: Sequence[Setting]) -> dict[str, pd.DataFrame]:
    """Section 4.2.1, at the width and the weights of least error on the test samples: optimistic."""
    tried = [errors_of(rows) for _, rows in settings]
    best = {
        method: min(
            (each[method] for each in tried if method in each), key=lambda errors: statistics.fmean(errors.values())
        )
        for method in (SVM, UNIVERSVM, QN)
        if any(method in each for each in tried)
    }
    if SVM not in best:
        return {}
    splits = list(best[SVM])
    values = {method: [each[split] for split in splits] for method, each in best.items()}
    rivals = [method for method in values if method != SVM]
    listed = ", ".join(
        f"{m} {statistics.fmean(each):.2f} (deviation {np.std(each, ddof=1):.2f})" for m, each in values.items()
    )
    columns = {
        "ratio": {m: statistics.fmean(values[m]) / statistics.fmean(values[SVM]) for m in rivals},
        "p": {m: paired_p_value(values[m], values[SVM]) for m in rivals},
    }
    return {"two moons": named_frame(columns, listed=listed)}


def _labelled(settings: Sequence[Setting]) -> dict[str, pd.DataFrame]:
    """Section 4.2.2, figure 5a: from 20 % of the training samples on."""
    shares = {block.how.n_labeled / (block.how.n_labeled + block.how.n_unlabeled): rows for block, rows in settings}
    means = {share: means_of(rows) for share, rows in sorted(shares.items())}
    both = {share: each for share, each in means.items() if {SVM, QN} <= each.keys()}
    listed = ", ".join(f"{100 * share:.0f} %: {each[QN]:.2f} and {each[SVM]:.2f}" for share, each in both.items())
    return {
        "shares of labels": _frame(
            [(f"{share:.3f}", shares[share]) for share in both if share >= 0.2 - 1e-9], listed=listed
        )
    }


def _unlabelled(settings: Sequence[Setting]) -> dict[str, pd.DataFrame]:
    """Section 4.2.2, figure 5b: the first number of unlabelled samples against the last."""
    errors = {block.how.n_unlabeled: errors_of(rows) for block, rows in settings}
    of_qn = {u: list(each[QN].values()) for u, each in sorted(errors.items()) if each.get(QN)}
    if len(of_qn) < 2:
        return {}
    first, *_, last = of_qn.values()
    listed = ", ".join(f"{u}: {statistics.fmean(each):.2f} ({np.std(each, ddof=1):.2f})" for u, each in of_qn.items())
    frame = pd.DataFrame(
        {"first": [statistics.fmean(first)], "last": [statistics.fmean(last)], "p": [paired_p_value(first, last)]}
    )
    frame.attrs["listed"] = listed
    return {"unlabelled samples": frame}


def _seconds(settings: Sequence[Setting]) -> dict[str, pd.DataFrame]:
    """Section 4.2.4, figure 6."""
    seconds = ((f"{block.dataset} n={block.how.n}", means_of(rows, "fit_seconds")) for block, rows in settings)
    times = _means(seconds)[list(SEMI_SUPERVISED)].dropna()
    sparse, rest = times[_is_sparse(times)], times[~_is_sparse(times)]
    dense = {f"{name}: {row.idxmax()} over {row.idxmin()}": row.max() / row.min() for name, row in rest.iterrows()}
    slower = sparse[UNIVERSVM] / sparse[list(SEMI_SUPERVISED[1:])].median(axis=1)
    faster = {f"{name} {m}": row[ANNEALING] / row[m] for name, row in sparse.iterrows() for m in (TSVMLIN, QN)}
    return {
        "seconds on dense sets": named_frame({"ratio": dense}),
        "seconds of CCCP": named_frame({"ratio": slower}),
        "seconds of annealing": named_frame({"ratio": faster}),
    }


def _many_samples(settings: Sequence[Setting]) -> dict[str, pd.DataFrame]:
    """Section 4.2.4, figure 7, for QN-S3VM."""
    curves: dict[str, dict[int, float]] = {}
    for block, rows in settings:
        if QN in (seconds := means_of(rows, "fit_seconds")):
            curves.setdefault(block.dataset, {})[block.how.n] = seconds[QN]
    curves = {name: dict(sorted(each.items())) for name, each in curves.items() if len(each) > 1}
    last = {name: max(each) for name, each in curves.items()}
    columns = {
        "slope": {name: slope(list(each), list(each.values())) for name, each in curves.items()},
        "seconds": {name: each[last[name]] for name, each in curves.items()},
    }
    return {"seconds over samples": named_frame(columns | {"n": last})}
