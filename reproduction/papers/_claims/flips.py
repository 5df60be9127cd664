"""What certificates of flipped labels predict, from the rows of the table: rank correlations and what is claimed.

Two questions. *Within* a set: does the method whose predictions survive more lose less? That is the rank correlation
over the methods of one set, and the mean over the sets. *Across* the sets: does a method lose less where its
predictions survive more? That is the rank correlation over the sets for one method, and the mean over the methods.
Predictors are put so that all of them should rise with the loss. A predictor that is the same everywhere predicts
nothing, and its correlation is 0. Intervals are those of a bootstrap over the sets, which are few and not drawn.

The claims were written down before the table was computed, and stand in ``table_claims.toml``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from reproduction.engine.records import Row
from reproduction.judging import TABLE_CLAIMS
from reproduction.judging import judge as judge_rows
from reproduction.papers._protocols.flipped_fits import METHODS, RATES
from specmargin.typing import FloatArray

PREDICTORS: Mapping[str, str] = {
    "as many, true labels": "100 - survive",
    "one, true labels": "100 - one",
    "flips, true labels": "-flips",
    "as many, as given": "100 - user",
    "one, as given": "100 - user_one",
    "flips, as given": "-user_flips",
    "trial flips, as given": "trial",
}
"""Shares of the predictions that are not certified for as many false labels as there are, or for one, and the mean
number of flips that change one, less of which is worse; by the fit to the true labels, and by that to the flipped ones,
which a user has. At last the share that changes in trials."""

_RESAMPLED = 1000
_LEVEL = (2.5, 97.5)


def by_rate(rows: Iterable[Row]) -> pd.DataFrame:
    """Return a row for each set, draw, method and rate, whose columns are those of `compared` without the rate.

    Added are ``loss``, the error less that with the true labels, and ``loss_held``. Failed cells take no part.
    """
    long = []
    for row in rows:
        if row["status"] == "ok":
            kept = {name: row[name] for name in ("dataset", "split", "method", "error_clean", "one", "flips")}
            for rate in RATES:
                end = f"_{rate}"
                long.append(kept | {"rate": rate} | {k.removesuffix(end): v for k, v in row.items() if k.endswith(end)})
    frame = pd.DataFrame(long)
    if len(frame):
        frame[["auc", "auc_margin"]] = frame[["auc", "auc_margin"]].astype(float)
        frame["loss"], frame["loss_held"] = (frame[name] - frame["error_clean"] for name in ("error", "error_held"))
    return frame


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the means over the draws, a row for each set, method and rate, and a column for each of `PREDICTORS`."""
    keys = ["rate", "dataset", "method"]
    mean = frame.drop(columns="split").groupby(keys, sort=False).mean().reset_index()
    for name, expression in PREDICTORS.items():
        mean[name] = mean.eval(expression)
    return mean


class Correlation(NamedTuple):
    """A rank correlation with its interval; `rate` is 0 for the mean over all rates."""

    rate: int
    predictor: str
    outcome: str
    where: str
    mean: float
    low: float
    high: float


def correlations(mean: pd.DataFrame, outcomes: Sequence[str] = ("loss", "changed")) -> list[Correlation]:
    """Return how each predictor and outcome go together, within and across the sets, of a frame of `means`."""
    sets, rates = mean["dataset"].unique(), mean["rate"].unique()
    chosen = np.random.default_rng(0).integers(len(sets), size=(_RESAMPLED, len(sets)))
    chosen = np.vstack([np.arange(len(sets)), chosen])  # the first is the sets as they are
    found = []
    for outcome in outcomes:
        for predictor in PREDICTORS:
            pairs = {rate: [_grid(mean[mean["rate"] == rate], name) for name in (predictor, outcome)] for rate in rates}
            within = {rate: _ranked(*pair)[chosen].mean(axis=1) for rate, pair in pairs.items()}
            across = {
                rate: np.mean(
                    [_ranked(x[chosen], y[chosen]) for x, y in zip(*(a.T for a in pair), strict=True)], axis=0
                )
                for rate, pair in pairs.items()
            }
            for where, values in (("within sets", within), ("across sets", across)):
                for rate, each in {**values, 0: np.mean(list(values.values()), axis=0)}.items():
                    low, high = np.percentile(each[1:], _LEVEL)
                    found.append(Correlation(int(rate), predictor, outcome, where, *map(float, (each[0], low, high))))
    return found


def _grid(mean: pd.DataFrame, column: str) -> FloatArray:
    """Return a column as an array of a row for each set and a column for each method, both in the order of names."""
    return mean.pivot(index="dataset", columns="method", values=column).to_numpy()


def _ranked(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return Spearman's rank correlation of each pair of rows, 0 where one of them is constant."""
    a, b = (rankdata(np.round(each, 9), axis=-1) for each in (x, y))
    a, b = (each - each.mean(axis=-1, keepdims=True) for each in (a, b))
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    return np.asarray(np.divide((a * b).sum(axis=-1), size, out=np.zeros_like(size), where=size > 0))


def judge(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each claim that the rows can judge, verdict first."""
    frame = by_rate(rows)
    if frame.empty:
        return []
    held = frame.assign(over=frame["survive"] + frame["changed_held"] - 100.0)
    return judge_rows(TABLE_CLAIMS["flipped_labels"], {"predictions": held, "sets": _of_sets(means(frame))})


def _of_sets(mean: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each set, which is a draw here: its rank correlations, and what survives by method."""
    sets, columns = sorted(mean["dataset"].unique()), {}
    for rate in mean["rate"].unique():
        at = mean[mean["rate"] == rate]
        loss = _grid(at, "loss")
        for k, predictor in enumerate(PREDICTORS):
            columns[f"rank_{k}_{rate}"] = _ranked(_grid(at, predictor), loss)
    one = mean[mean["rate"] == RATES[0]].pivot(index="dataset", columns="method", values="one").loc[sets]
    columns |= {f"one_{name.replace(' ', '_')}": one[name].to_numpy() for name in METHODS if name in one}
    return pd.DataFrame({"dataset": "all", "split": sets, **columns})
