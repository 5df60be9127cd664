"""The quantities of the study of global optima, a row per proved problem, and their intervals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import spearmanr

from reproduction.engine.equivalence import NOT_JUDGED, Interval
from reproduction.engine.records import Row
from reproduction.papers._protocols.optima_instances import RESTARTED, SEARCHES
from specmargin.typing import FloatArray

TOL = 1e-3
"""Relative gap at which an optimum counts as proved, and beyond which a minimum counts as worse."""
NEAR = 0.05
"""Gap up to which a minimum is near the optimum."""
BINS = (0.001, 0.01, 0.05, 0.2, np.inf)
"""Upper ends of the gaps of the profile."""
ALIKE = 0.5
"""Points within which two errors are alike."""
PARTS: Mapping[str, Callable[[pd.DataFrame], Any]] = {
    "all": lambda frame: np.full(len(frame), "all problems"),
    "samples": lambda frame: [f"{n} samples" for n in frame["param_n"]],
    "labels": lambda frame: [f"{100 * share:.0f} % labels" for share in frame["param_share"]],
    "kernel": lambda frame: frame["param_kernel"].map({"linear": "linear kernel", "rbf": "Gaussian kernel"}),
    "weight": lambda frame: frame["param_weight"].map({"equal": "C* = C", "ratio": "C* = C l / u"}),
    "C": lambda frame: np.select([frame["C"] < 1, frame["C"] <= 10], ["C below 1", "C from 1 to 10"], "C above 10"),
    "features": lambda frame: np.where(frame["features"] <= 15, "up to 15 features", "more than 15 features"),
}
"""By what the quantities are told apart: the part of each problem."""
_PART_COLUMNS = [f"part {name}" for name in PARTS]
_BOOTSTRAPS = 2000
_FEWEST = 20
"""Problems below which nothing is judged."""


def of_problem(row: Row) -> dict[str, float]:
    """Return the quantities of one problem; what it does not have is left out.

    Examples
    --------
    >>> ends = {name: [1, 0] if name in RESTARTED else [1] for name in SEARCHES}
    >>> row = {"minima": [[0.0, 10.0], [0.02, 30.0]], "found": ends, "error_optimum": 10.0, "error_supervised": 15.0}
    >>> one = of_problem(row)
    >>> one["best"], one["search cccp"], one["lowest cccp"], one["supervised"], one["pairs"], one["profile 2"]
    (0.0, -20.0, 0.0, -5.0, 0.0, 20.0)
    """
    gap, error = np.asarray(row["minima"], dtype=float).T
    ends: Mapping[str, Sequence[int | None]] = row["found"]
    places = {name: [place for place in each if place is not None] for name, each in ends.items()}
    best = min(min(each) for each in places.values() if each)
    own = sorted({each[0] for each in ends.values() if each[0] is not None})
    one = {"best": error[0] - error[best], "supervised": row["error_optimum"] - row["error_supervised"]}
    one["missed"] = float(gap[best] > TOL)
    if gap[best] > TOL:
        one["best where missed"] = one["best"]
    for name in SEARCHES:
        if ends[name][0] is not None:
            one[f"search {name}"] = error[0] - error[ends[name][0]]
            one[f"search hit {name}"] = float(gap[ends[name][0]] <= TOL)
        if name in RESTARTED and places[name]:
            one[f"lowest {name}"] = error[0] - error[min(places[name])]
            one[f"lowest hit {name}"] = float(gap[min(places[name])] <= TOL)
    near = gap <= NEAR
    for name, some in (("", slice(None)), (" near", near), (" own", own)):
        if len(gap[some]) >= 3 and np.ptp(gap[some]) > 0 and np.ptp(error[some]) > 0:
            one[f"correlation{name}"] = float(spearmanr(gap[some], error[some]).statistic)
    for name, some in (("", slice(None)), (" near", near)):
        share = _worse_errs_less(gap[some], error[some])
        if share is not None:
            one[f"pairs{name}"] = share
    bins = np.searchsorted(BINS, gap[1:])
    one |= {f"profile {k}": np.mean(error[1:][bins == k]) - error[0] for k in np.unique(bins)}
    return {name: float(value) for name, value in one.items()}


def _worse_errs_less(gap: FloatArray, error: FloatArray) -> float | None:
    """Return in what share of the pairs of minima the worse one errs less; equal errors are half a case."""
    pairs = [(i, j) for i, j in combinations(range(len(gap)), 2) if gap[j] - gap[i] > TOL]  # by rising J
    told = [0.5 * (np.sign(error[i] - error[j]) + 1.0) for i, j in pairs]
    return float(np.mean(told)) if told else None


def quantities(rows: Iterable[Row]) -> pd.DataFrame:
    """Return a row per proved problem: what it is, `PARTS` of it, and its quantities, NaN where it has none."""
    proved = [row for row in rows if row["status"] == "ok" and row["proved"]]
    frame = pd.DataFrame(proved)
    if frame.empty:
        return frame
    quantity = pd.DataFrame([of_problem(row) for row in proved])
    return pd.concat([frame[["dataset", "split"]], with_parts(frame)[_PART_COLUMNS], quantity], axis=1)


def with_parts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows with a column for each of `PARTS`, the part that a row belongs to: ``part labels`` and the like."""
    return frame.assign(**{f"part {name}": np.asarray(of(frame)) for name, of in PARTS.items()})


def intervals(frame: pd.DataFrame, names: Sequence[str], seed: int = 0) -> dict[str, Interval]:
    """Return the mean of each quantity over its problems, with 95 % of its bootstraps.

    Data sets are drawn with replacement, and the draws of each: all problems of a draw of a set stay together. Where
    there is one draw alone the limits are the mean.

    Examples
    --------
    >>> frame = pd.DataFrame({"dataset": ["a", "a", "b", "b"], "split": ["0", "1"] * 2, "x": [1.0, 1.0, 1.0, 1.0]})
    >>> intervals(frame, ["x"])["x"].text
    '1.00'
    """
    clusters = frame[["dataset", "split"]].drop_duplicates().sort_values(["dataset", "split"])
    of_cluster = pd.MultiIndex.from_frame(clusters)
    place = of_cluster.get_indexer(pd.MultiIndex.from_frame(frame[["dataset", "split"]]))
    values = frame.reindex(columns=list(names)).to_numpy(dtype=float)
    sums, counts = np.zeros((2, len(clusters), len(names)))
    np.add.at(sums, place, np.nan_to_num(values))
    np.add.at(counts, place, np.isfinite(values))
    weights = _resampled(clusters["dataset"].to_numpy(), np.random.default_rng(seed))
    told = {}
    for k, name in enumerate(names):
        n = int(counts[:, k].sum())
        if n:
            with np.errstate(invalid="ignore"):
                means = (weights @ sums[:, k]) / (weights @ counts[:, k])
            low, high = np.nanquantile(means, (0.025, 0.975))
            told[name] = Interval(float(sums[:, k].sum() / n), float(low), float(high), n)
    return told


def _resampled(sets: npt.NDArray[Any], rng: np.random.Generator) -> FloatArray:
    """Return how often each cluster is drawn in each bootstrap, (bootstraps, clusters)."""
    members = [np.flatnonzero(sets == name) for name in np.unique(sets)]
    weights = np.zeros((_BOOTSTRAPS, len(sets)))
    times = rng.multinomial(len(members), np.full(len(members), 1.0 / len(members)), size=_BOOTSTRAPS)
    for k, each in enumerate(members):
        # Of a set that is drawn c times, c times as many draws as it has.
        weights[:, each] = rng.multinomial(times[:, k] * len(each), np.full(len(each), 1.0 / len(each)))
    return weights


def verdict(interval: Interval) -> str:
    """Return how the optimum errs, by the interval of its error less another; nothing of few problems.

    Examples
    --------
    >>> [verdict(Interval(0.0, low, high, 99)) for low, high in ((-2, -1), (1, 2), (-0.4, 0.1), (-1, 1))]
    ['errs less', 'errs more', 'errs alike', 'inconclusive']
    """
    if interval.n < _FEWEST:
        return NOT_JUDGED
    if interval.high < 0:
        return "errs less"
    if interval.low > 0:
        return "errs more"
    return "errs alike" if interval.low >= -ALIKE and interval.high <= ALIKE else "inconclusive"
