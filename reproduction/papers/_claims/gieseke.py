"""What the QN-S3VM paper concludes from table 2 and figures 4 to 7, put to our rows.

The conclusions stand in ``table_claims.toml``; `sentences` makes the frames that they are judged by from the blocks of
`gieseke_2014` with their rows. Errors are those of unseen samples, compared partition by partition. Seconds are those
of our own solvers on one computer: the paper timed programs of several authors in several languages, so that a verdict
on them is one on the methods as we have them.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from reproduction.engine.records import Row
from reproduction.judging import TABLE_CLAIMS, judge, reach, slope, wide_frame

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
        "table 2": _table_2([each for each in settings if each[0].title == "Table 2"]),
        "two moons": _moons(by_figure["4"]),
        "shares of labels": _labelled(by_figure["5a"]),
        "unlabelled samples": _unlabelled(by_figure["5b"]),
        "seconds": _seconds(by_figure["6"]),
        "seconds over samples": _many_samples(by_figure["7"]),
    }
    judged = judge(TABLE_CLAIMS[PAPER], frames)
    return ["What the paper concludes, by these numbers:", *judged] if judged else []


def _wide(named: Iterable[tuple[str, Sequence[Row]]], **columns: str) -> pd.DataFrame:
    """Return a column of settings by method, the settings as data sets; failed cells take no part."""
    rows = [{**row, "dataset": name} for name, each in named for row in each if row["status"] == "ok"]
    wide = wide_frame(rows, columns)
    return wide.assign(sparse=[name.split()[0] in SPARSE for name, _ in wide.index]) if len(wide) else wide


def _table_2(table: Sequence[Setting]) -> pd.DataFrame:
    """Section 4.2.3."""
    named = [(f"{block.dataset} l={block.how.n_labeled} u={block.how.n_unlabeled}", rows) for block, rows in table]
    wide = _wide(named, E="error_test")
    if len(wide):
        sets = ", ".join(dict.fromkeys(name.split()[0] for name, _ in wide.index[wide["sparse"]]))
        wide.attrs["only"] = f"Of the paper's {len(SPARSE)} sparse sets {sets} alone"
    return wide


def _moons(settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 4.2.1, at the width and the weights of least error on the test samples: optimistic."""
    tried = [_wide([("moons", rows)], E="error_test") for _, rows in settings]
    columns: dict[str, pd.Series] = {}
    for method in (SVM, UNIVERSVM, QN):
        each = [wide[f"E_{method}"] for wide in tried if f"E_{method}" in wide]
        columns |= {f"E_{method}": min(each, key=lambda errors: errors.mean())} if each else {}
    return pd.DataFrame(columns)


def _labelled(settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 4.2.2, figure 5a: from 20 % of the training samples on."""
    shares = {block.how.n_labeled / (block.how.n_labeled + block.how.n_unlabeled): rows for block, rows in settings}
    return _wide([(f"{100 * k:.0f} %", rows) for k, rows in sorted(shares.items()) if k >= 0.2 - 1e-9], E="error_test")


def _unlabelled(settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 4.2.2, figure 5b: the first number of unlabelled samples against the last, partition by partition."""
    found = {block.how.n_unlabeled: _wide([("sets", rows)], E="error_test") for block, rows in settings}
    errors = {
        u: wide[f"E_{QN}"].dropna() for u, wide in sorted(found.items(), key=lambda each: each[0]) if f"E_{QN}" in wide
    }
    if len(errors) < 2:
        return pd.DataFrame()
    frame = pd.DataFrame({"first": errors[min(errors)], "last": errors[max(errors)]}).dropna()
    frame.attrs["listed"] = ", ".join(f"{u}: {each.mean():.2f}" for u, each in errors.items())
    return frame


def _seconds(settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 4.2.4, figure 6; a partition is a repeat."""
    wide = _wide(((f"{block.dataset} n={block.how.n}", rows) for block, rows in settings), S="fit_seconds")
    columns = [f"S_{method}" for method in SEMI_SUPERVISED]
    if not {*columns} <= {*wide}:
        return pd.DataFrame()
    times = wide[columns]
    others = times.drop(columns=f"S_{UNIVERSVM}").median(axis=1)
    return wide.assign(slowest=times.max(axis=1), fastest=times.min(axis=1), others=others).dropna()


def _many_samples(settings: Sequence[Setting]) -> pd.DataFrame:
    """Section 4.2.4, figure 7, for QN-S3VM: a slope for each repeat."""
    curves: dict[tuple[str, str], dict[int, float]] = {}
    for block, rows in settings:
        for row in rows:
            if row["status"] == "ok" and row["method"] == QN:
                curves.setdefault((block.dataset, row["split"]), {})[block.how.n] = row["fit_seconds"]
    keys = ("dataset", "split", "slope", "reach", "n", "seconds")
    found = [
        (*key, slope(list(each), list(each.values())), reach(*each), max(each), each[max(each)])
        for key, each in curves.items()
        if len(each) > 1
    ]
    return pd.DataFrame(found, columns=keys)
