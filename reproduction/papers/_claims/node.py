"""What is claimed of learned spectra over node features, put to the rows of the table: a verdict each.

The claims were written down before the table was computed, stand in ``table_claims.toml`` and are judged by what they
say: "at least" by the mean, "never below by more than" on every graph, "significantly" by the corrected resampled
t-test, because random splits of one graph share most of their nodes. "Ours" is alignment, the default. Neighbours are
called alike from a homophily of 0.5 on and not alike up to 0.3; chance is a third in the sweep. Graphs of one homophily
are one place of the sweep, and each graph is one split of it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reproduction.engine.records import Row
from reproduction.engine.significance import paired_p_value
from reproduction.judging import TABLE_CLAIMS
from reproduction.judging import judge as judge_rows
from reproduction.papers._protocols.node_filters import WEIGHTS
from reproduction.papers._protocols.node_sets import N_TEST

__all__ = ["DEFAULT", "RULES", "Place", "Points", "judge", "places", "points"]

DEFAULT = "alignment"
RULES = (DEFAULT, "margin", "ordered", "single", "mean")
SWEEP = "blocks of homophily "
_ROUNDING = 1e-9
_TEST_TO_TRAIN = N_TEST / 140
"""Of a random split of Cora, seven classes with 20 labels each."""


class Points(NamedTuple):
    """Points of accuracy over some splits."""

    mean: float
    error: float
    """Standard error of the mean, NaN for one split."""
    n: int

    @property
    def text(self) -> str:
        """Mean and standard error."""
        return f"{self.mean:+.2f}" + ("" if math.isnan(self.error) else f" ({self.error:.2f})")


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
    differences = pd.DataFrame([each for place in there for each in _differences(place)])
    frames = {
        "accuracies": pd.DataFrame([each for place in there for each in _accuracies(place)]),
        "differences": differences,
        "filters": pd.DataFrame([_filter(place) for place in there if DEFAULT in place.weights]),
        "gaps": pd.DataFrame({"gap": gaps}),
    }
    if len(differences):  # with a standard error, from the least homophily on
        frames["by homophily"] = differences[differences["n"] > 1].sort_values("homophily", kind="stable")
    named = {source: frame.set_index("name") if "name" in frame else frame for source, frame in frames.items()}
    return judge_rows(TABLE_CLAIMS["spectral_filters"], named)


def _accuracies(place: Place) -> list[dict[str, Any]]:
    """Return the accuracy of each rule, where the default was run."""
    rules = {rule: place.of(rule) for rule in RULES if DEFAULT in place.accuracy and rule in place.accuracy}
    n = rules[DEFAULT].n if rules else 0
    shared = {"place": place.name, "splits": "one split" if n == 1 else f"{n} splits"}
    return [{"name": rule, "mean": each.mean, "default": rules[DEFAULT].mean, **shared} for rule, each in rules.items()]


def _differences(place: Place) -> list[dict[str, Any]]:
    """Return the default less every other method, and the margin with the order less the one without."""
    halves = [half for half in ("features", "graph") if half in place.accuracy]
    shared = {
        "place": place.name,
        "homophily": place.homophily,
        "swept": place.name.removeprefix(SWEEP) if place.name.startswith(SWEEP) else "",
        "better": max(halves, key=lambda half: place.of(half).mean) if len(halves) == 2 else "",
    }
    pairs = [(DEFAULT, str(method)) for method in place.accuracy if method != DEFAULT] + [("ordered", "margin")]
    rows = []
    for first, second in pairs:
        both = place.pairs(first, second)
        if len(both):
            difference, a, b = place.less(first, second), both[first], both[second]
            won, lost = (int((sign * (a - b) > _ROUNDING).sum()) for sign in (1, -1))
            tests = {"plain": paired_p_value(a, b), "corrected": paired_p_value(a, b, _TEST_TO_TRAIN)}
            more = {"points": difference.text, "accuracy": place.of(first).mean, "won": won, "lost": lost}
            rows.append({**shared, "first": first, "second": second, **difference._asdict(), **more, **tests})
    return rows


def _filter(place: Place) -> dict[str, Any]:
    """Return the share of alignment's weight that is low-pass where neighbours are alike, high-pass where not."""
    # Weight at g = 0, the features as they are, is neither: a flat filter fails.
    g, side = np.array([float(name.removeprefix("weight ")) for name in WEIGHTS]), 1 if place.homophily >= 0.5 else -1
    share = float(place.weights[DEFAULT][:, np.sign(g) == side].sum(axis=1).mean())
    return {"name": place.name, "homophily": place.homophily, "share": share, "side": "low" if side > 0 else "high"}
