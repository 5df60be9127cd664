"""What is claimed of learned spectra over node features, put to the rows of the table: a verdict each.

The claims were written down before the table was computed, and stand in ``table_claims.toml``. The random splits of one
graph share most of their nodes: an interval is one of other splits of that graph. "Ours" is alignment, the default.
Neighbours are called alike from a homophily of 0.5 on and not alike up to 0.3; chance is a third in the sweep. Graphs
of one homophily are one place of the sweep, and each graph is one split of it.
"""

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduction.engine.records import Row
from reproduction.judging import TABLE_CLAIMS
from reproduction.judging import judge as judge_rows
from reproduction.papers._protocols.node_filters import WEIGHTS

DEFAULT = "alignment"
RULES = (DEFAULT, "margin", "ordered", "single", "mean")
SWEEP = "blocks of homophily "


class Points(NamedTuple):
    """Points of accuracy over some splits."""

    mean: float
    error: float
    """Standard error of the mean, NaN for one split."""
    n: int


def points(values: Iterable[float]) -> Points:
    """Return mean and standard error of values.

    Examples
    --------
    >>> points([1.0, 3.0])
    Points(mean=2.0, error=1.0, n=2)
    """
    each = list(values)
    error = statistics.stdev(each) / math.sqrt(len(each)) if len(each) > 1 else math.nan
    return Points(statistics.fmean(each), error, len(each))


class Place(NamedTuple):
    """A graph, or all graphs of one homophily: accuracies in percent and learned weights by method.

    Parameters
    ----------
    name : str
        Name of the task, without the number of the draw.
    homophily : float
        Share of edges that join nodes of one class; the mean over the graphs.
    accuracy : DataFrame
        A row per split, a column per method.
    weights : mapping of str to ndarray of shape (splits, filters)
        Weights by rule.
    """

    name: str
    homophily: float
    accuracy: pd.DataFrame
    weights: Mapping[str, np.ndarray]

    def of(self, method: str) -> Points:
        """Return the accuracy of a method."""
        return points(self.accuracy[method].dropna())

    def pairs(self, first: str, second: str) -> pd.DataFrame:
        """Return the accuracies of two methods on the splits that both have; none where a method was not run."""
        return self.accuracy.reindex(columns=[first, second]).dropna()

    def less(self, first: str, second: str) -> Points:
        """Return the first method less the second, over the splits that both have."""
        both = self.pairs(first, second)
        return points(both[first] - both[second])


def places(rows: Iterable[Row]) -> dict[str, Place]:
    """Return the places by name, in the order of the rows; failed cells take no part."""
    frame = pd.DataFrame([row for row in rows if row["status"] == "ok"])
    if frame.empty:
        return {}
    frame["place"] = frame["dataset"].str.replace(r", draw \d+$", "", regex=True)
    frame["name"] = frame["dataset"] + " " + frame["split"]
    frame["accuracy"] = 100.0 - frame["error_test"]
    return {str(name): _place(str(name), of) for name, of in frame.groupby("place", sort=False)}


def _place(name: str, of: pd.DataFrame) -> Place:
    homophily = statistics.fmean(of.drop_duplicates("dataset", keep="last")["homophily"])
    accuracy = of.pivot_table("accuracy", "name", "method", aggfunc="last", sort=False)
    weights = {rule: of.loc[of["method"] == rule, list(WEIGHTS)].to_numpy() for rule in RULES if rule in accuracy}
    return Place(name, homophily, accuracy, weights)


def judge(rows: Iterable[Row]) -> list[str]:
    """Return a sentence for each claim that the rows can judge, verdict first."""
    rows = list(rows)
    there = places(rows).values()
    gaps = [abs(row["relative_gap"]) for row in rows if row["status"] == "ok" and "relative_gap" in row]
    frames = {"gaps": pd.DataFrame({"gap": gaps})}
    if there:
        frames["accuracies"] = pd.concat([_accuracies(place) for place in there], ignore_index=True)
    return judge_rows(TABLE_CLAIMS["spectral_filters"], frames)


def _accuracies(place: Place) -> pd.DataFrame:
    """Return accuracies by split, and the share of alignment's weight that is where the neighbours ask for it."""
    # Weight at g = 0, the features as they are, is neither: a flat filter fails.
    g, side = np.array([float(name.removeprefix("weight ")) for name in WEIGHTS]), 1 if place.homophily >= 0.5 else -1
    frame = place.accuracy.add_prefix("A_").rename_axis("split").reset_index()
    frame = frame.assign(dataset=place.name, homophily=place.homophily, side=side, swept=place.name.startswith(SWEEP))
    shares = place.weights.get(DEFAULT)
    if shares is not None:
        own = place.accuracy[DEFAULT].notna().to_numpy()
        frame.loc[own, "share"] = shares[:, np.sign(g) == side].sum(axis=1)
    return frame
