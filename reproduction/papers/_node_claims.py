"""What is claimed of learned spectra over node features, put to the rows of the table: a verdict each.

The claims were written down before the table was computed, and are judged by what they say: "at least" by the mean,
"never below by more than" on every graph, "significantly" by the corrected resampled t-test, because random splits of
one graph share most of their nodes. "Ours" is alignment, the default. Graphs of one homophily are one place of the
sweep, and each graph is one split of it.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reproduction.claims import claim, yes_or_no
from reproduction.engine.records import Row
from reproduction.engine.significance import paired_p_value
from reproduction.papers._node_filters import WEIGHTS
from reproduction.papers._node_sets import N_TEST

__all__ = ["DEFAULT", "RULES", "Difference", "Place", "judge", "places"]

DEFAULT = "alignment"
RULES = (DEFAULT, "margin", "ordered", "single", "mean")
CERTIFIED = 1e-8
PUBLIC, RANDOM, LOW, HIGH = 83.0, 81.2, 80.0, 99.0
"""Least accuracies in percent: Cora's public split and its random ones, homophily 0.05 and 0.9."""
SWEEP = "blocks of homophily "
_ROUNDING = 1e-9
_TEST_TO_TRAIN = N_TEST / 140
"""Of a random split of Cora, seven classes with 20 labels each."""
_ALIKE, _UNLIKE = 0.5, 0.3
"""Homophily from which on neighbours are called alike, and up to which they are not; chance is a third in the sweep."""


class Difference(NamedTuple):
    """Points of accuracy between two methods on the same splits."""

    mean: float
    error: float
    """Standard error of the mean, NaN for one split."""
    n: int
    won: int
    lost: int

    @property
    def text(self) -> str:
        """Mean and standard error."""
        return f"{self.mean:+.2f}" + ("" if math.isnan(self.error) else f" ({self.error:.2f})")

    @property
    def sign(self) -> int:
        """1 or -1 where the mean is more than two standard errors away from zero, else 0."""
        return int(math.copysign(1, self.mean)) if abs(self.mean) > 2.0 * self.error + _ROUNDING else 0


@dataclass(frozen=True)
class Place:
    """A graph, or all graphs of one homophily: accuracies in percent and learned weights by method.

    Parameters
    ----------
    name : str
        Of the task, without the number of the draw.
    homophily : float
        Share of edges that join nodes of one class; the mean over the graphs.
    accuracy : mapping of str to mapping of str to float
        By method and split.
    weights : mapping of str to ndarray of shape (splits, filters)
        By rule.
    """

    name: str
    homophily: float
    accuracy: Mapping[str, Mapping[str, float]]
    weights: Mapping[str, np.ndarray]

    def mean(self, method: str) -> float:
        """Return the mean accuracy of a method."""
        return statistics.fmean(self.accuracy[method].values())

    def error(self, method: str) -> float:
        """Return the standard error of `mean`, NaN for one split."""
        return standard_error(list(self.accuracy[method].values()))

    def has(self, *methods: str) -> bool:
        """Whether there are rows of all these methods."""
        return all(method in self.accuracy for method in methods)

    def less(self, first: str, second: str) -> Difference:
        """Return the first method less the second, over the splits that both have."""
        a, b = self.pairs(first, second)
        differences = [x - y for x, y in zip(a, b, strict=True)]
        won, lost = (sum(sign * each > _ROUNDING for each in differences) for sign in (1, -1))
        return Difference(statistics.fmean(differences), standard_error(differences), len(differences), won, lost)

    def pairs(self, first: str, second: str) -> tuple[list[float], list[float]]:
        """Return the accuracies of two methods on the splits that both have."""
        a, b = self.accuracy[first], self.accuracy[second]
        common = [split for split in a if split in b]
        return [a[split] for split in common], [b[split] for split in common]


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean, NaN for one value.

    Examples
    --------
    >>> standard_error([1.0, 3.0])
    1.0
    """
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def places(rows: Iterable[Row]) -> dict[str, Place]:
    """Return the places by name, in the order of the rows; failed cells take no part."""
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        if row["status"] == "ok":
            by_name.setdefault(re.sub(r", draw \d+$", "", row["dataset"]), []).append(row)
    return {name: _place(name, of) for name, of in by_name.items()}


def _place(name: str, rows: Sequence[Row]) -> Place:
    accuracy: dict[str, dict[str, float]] = {}
    for row in rows:
        accuracy.setdefault(row["method"], {})[f"{row['dataset']} {row['split']}"] = 100.0 - row["error_test"]
    weights = {
        rule: np.array([[row[column] for column in WEIGHTS] for row in rows if row["method"] == rule])
        for rule in RULES
        if rule in accuracy
    }
    homophily = statistics.fmean({row["dataset"]: row["homophily"] for row in rows}.values())
    return Place(name, homophily, accuracy, weights)


def judge(rows: Sequence[Row]) -> list[str]:
    """Return a sentence for each claim that the rows can judge, verdict first."""
    by_name = places(rows)
    sentences = [sentence for one in CLAIMS if (sentence := one(by_name))]
    return [*sentences, *certified(rows)]


def public_split(by_name: Mapping[str, Place]) -> str:
    """Judge the accuracy on Cora's public split."""
    return at_least(by_name.get("cora"), f"at least {PUBLIC:.1f} % on Cora's public split", PUBLIC)


def random_splits(by_name: Mapping[str, Place]) -> str:
    """Judge the mean accuracy on random splits of Cora."""
    return at_least(by_name.get("cora random"), f"at least {RANDOM:.1f} % in the mean of Cora's random splits", RANDOM)


def at_least(place: Place | None, text: str, least: float) -> str:
    """Say whether the default's mean accuracy is one that was asked for; nothing where there are no rows."""
    if place is None or not place.has(DEFAULT):
        return ""
    shown = ", ".join(f"{rule} {place.mean(rule):.2f}" for rule in RULES if place.has(rule))
    n = len(place.accuracy[DEFAULT])
    return claim(text, int(place.mean(DEFAULT) >= least - _ROUNDING), 1, f"Accuracy, {_splits(n)}, {shown}")


def networks(by_name: Mapping[str, Place]) -> str:
    """Judge that no mean difference to GCN, SGC and APPNP on random splits of Cora is negative."""
    place, rivals = by_name.get("cora random"), ("gcn", "sgc_l1", "sgc_l2", "appnp_linear", "appnp")
    if place is None or not place.has(DEFAULT, *rivals):
        return ""
    differences = {rival: place.less(DEFAULT, rival) for rival in rivals}
    counts = ", ".join(f"{rival} {d.text}, {d.won} won, {d.lost} lost" for rival, d in differences.items())
    return claim(
        "paired no worse than GCN, SGC and APPNP on Cora's random splits",
        sum(d.mean >= -_ROUNDING for d in differences.values()),
        len(rivals),
        f"Not below in the mean for {{part}} of {{whole}} forms of them, points of accuracy (standard error) against "
        f"{counts}",
    )


def laprls(by_name: Mapping[str, Place]) -> str:
    """Judge that LapRLS is significantly lower on random splits of Cora."""
    place = by_name.get("cora random")
    if place is None or not place.has(DEFAULT, "laprls") or place.less(DEFAULT, "laprls").n < 2:
        return ""
    a, b = place.pairs(DEFAULT, "laprls")
    difference = place.less(DEFAULT, "laprls")
    plain, corrected = (paired_p_value(a, b, ratio) for ratio in (0.0, _TEST_TO_TRAIN))
    return claim(
        "significantly above LapRLS on Cora's random splits",
        int(difference.mean > 0 and corrected < 0.05),
        1,
        f"{difference.text} points, {difference.won} of {difference.n} won; p = {corrected:.2g} by the corrected "
        f"resampled t-test, {plain:.2g} by the plain one",
    )


def heterophily(by_name: Mapping[str, Place]) -> str:
    """Judge that neither Texas nor Cornell is more than a standard error below the better of its two halves."""
    there = [by_name[name] for name in ("texas", "cornell") if name in by_name]
    there = [place for place in there if place.has(DEFAULT, "features", "graph")]
    if not there:
        return ""
    held, counts = [], []
    for place in there:
        better = max(("features", "graph"), key=place.mean)
        difference = place.less(DEFAULT, better)
        held.append(difference.mean >= -(0.0 if math.isnan(difference.error) else difference.error) - _ROUNDING)
        counts.append(f"{place.name} {place.mean(DEFAULT):.2f}, {difference.text} against {better}")
    return claim(
        "on Texas and Cornell never below the better of features alone and graph alone by more than a standard error",
        sum(held),
        len(held),
        f"So on {{part}} of {{whole}}, which share features and labels. {'; '.join(counts)}",
    )


def sweep(by_name: Mapping[str, Place]) -> str:
    """Judge that the sweep is nowhere more than a point below the features alone."""
    there = [place for place in _sweep(by_name) if place.has(DEFAULT, "features")]
    if not there:
        return ""
    differences = {place.name.removeprefix(SWEEP): place.less(DEFAULT, "features") for place in there}
    part = sum(d.mean >= -1.0 - _ROUNDING for d in differences.values())
    counts = ", ".join(f"{h} {d.text}" for h, d in differences.items())
    verdict = yes_or_no(part == len(there))  # never is not mostly
    text = "never more than a point below the features alone at any homophily of the sweep"
    return f"{verdict}: {text}. So at {part} of {len(there)} homophilies, {counts}."


def low(by_name: Mapping[str, Place]) -> str:
    """Judge the accuracy at the lowest homophily."""
    return at_least(by_name.get(f"{SWEEP}0.05"), f"at least {LOW:.0f} % at homophily 0.05", LOW)


def high(by_name: Mapping[str, Place]) -> str:
    """Judge the accuracy at the highest homophily."""
    return at_least(by_name.get(f"{SWEEP}0.9"), f"at least {HIGH:.0f} % at homophily 0.9", HIGH)


def learning_pays(by_name: Mapping[str, Place]) -> str:
    """Hold alignment against equal weights of the same filters."""
    return _pays(by_name, "learning the spectrum pays", DEFAULT, "mean", "equal weights of all filters")


def order_pays(by_name: Mapping[str, Place]) -> str:
    """Hold the margin with the order against the one without."""
    return _pays(by_name, "the order constraint pays", "ordered", "margin", "the same margin without it")


def _pays(by_name: Mapping[str, Place], text: str, first: str, second: str, against: str) -> str:
    differences = _by_homophily(by_name, first, second)
    if not differences:
        return ""
    signs = [difference.sign for _, difference in differences]
    counts = ", ".join(_at(place, difference) for place, difference in differences)
    return claim(
        text,
        signs.count(1),
        len(signs),
        f"{first} is above {against} by more than two standard errors at {{part}} of {{whole}} places, below by as "
        f"much at {signs.count(-1)}; by homophily {counts}",
    )


def order_follows_homophily(by_name: Mapping[str, Place]) -> str:
    """Judge that the order, which allows low-pass filters alone, helps where neighbours are alike and nowhere else."""
    differences = _by_homophily(by_name, "ordered", "margin")
    if not differences:
        return ""
    held = [d.mean > _ROUNDING if place.homophily >= _ALIKE else d.mean < -_ROUNDING for place, d in differences]
    missed = ", ".join(_at(place, d) for (place, d), holds in zip(differences, held, strict=True) if not holds)
    return claim(
        f"the order constraint pays from homophily {_ALIKE:g} on, and costs below",
        sum(held),
        len(held),
        f"The mean difference has that sign at {{part}} of {{whole}} places; not so at {missed or 'none'}",
    )


def filter_follows_homophily(by_name: Mapping[str, Place]) -> str:
    """Judge that most of the learned weight is low-pass where neighbours are alike, high-pass where they are not."""
    g = np.array([float(name.removeprefix("weight ")) for name in WEIGHTS])
    there = [place for place in by_name.values() if DEFAULT in place.weights]
    there = [place for place in there if not _UNLIKE < place.homophily < _ALIKE]
    if not there:
        return ""
    # Weight at g = 0, the features as they are, is neither: a flat filter fails.
    expected = [1 if place.homophily >= _ALIKE else -1 for place in there]
    shares = [
        float(place.weights[DEFAULT][:, np.sign(g) == side].sum(axis=1).mean())
        for place, side in zip(there, expected, strict=True)
    ]
    counts = ", ".join(
        f"{place.name} ({place.homophily:.2f}) {100.0 * share:.0f} % {'low' if side > 0 else 'high'}-pass"
        for place, share, side in zip(there, shares, expected, strict=True)
    )
    return claim(
        f"alignment learns a low-pass filter from homophily {_ALIKE:g} on, a high-pass one up to {_UNLIKE:g}",
        sum(share > 0.5 for share in shares),
        len(shares),
        f"More than half of the weight is there at {{part}} of {{whole}} places, in the mean over the splits {counts}",
    )


def certified(rows: Iterable[Row]) -> list[str]:
    """Say how many answers of convex problems are proved, of all rules and of STORM."""
    gaps = [abs(row["relative_gap"]) for row in rows if row["status"] == "ok" and "relative_gap" in row]
    if not gaps:
        return []
    part, text = sum(gap <= CERTIFIED for gap in gaps), "every learned spectrum is proved to be optimal"
    counts = f"Relative gap at most {CERTIFIED:g} in {part} of {len(gaps)} fits; the largest is {max(gaps):.0e}"
    return [f"{yes_or_no(part == len(gaps))}: {text}. {counts}."]


def _sweep(by_name: Mapping[str, Place]) -> list[Place]:
    return [place for name, place in by_name.items() if name.startswith(SWEEP)]


def _by_homophily(by_name: Mapping[str, Place], first: str, second: str) -> list[tuple[Place, Difference]]:
    """Return differences with a standard error, from the least homophily on."""
    there = [(place, place.less(first, second)) for place in by_name.values() if place.has(first, second)]
    return sorted(((place, d) for place, d in there if d.n > 1), key=lambda pair: pair[0].homophily)


def _at(place: Place, difference: Difference) -> str:
    return f"{place.name} ({place.homophily:.2f}) {difference.text}"


def _splits(n: int) -> str:
    return "one split" if n == 1 else f"{n} splits"


CLAIMS: Sequence[Callable[[Mapping[str, Place]], str]] = (
    *(public_split, random_splits, networks, laprls, heterophily, sweep, low, high),
    *(learning_pays, order_pays, order_follows_homophily, filter_follows_homophily),
)
"""What makes a sentence of the places, empty where they do not say."""
