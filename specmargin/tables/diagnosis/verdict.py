"""Verdicts in words: which assumption of semi-supervised learning labels support, if they are enough to tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from specmargin.estimators.comparison import FEWEST, mcnemar_power
from specmargin.tables.diagnosis.evidence import Evidence

__all__ = ["VERDICTS", "Verdict", "advise", "judge"]

_LEVEL = 0.05
_SCALES = 1e3  # ratio of deviations from which on columns count as of different scale
_CROWDED = 0.9  # contrast above which neighbours are hardly nearer than others
_HUBS = 3.0  # hubness above which a few samples are neighbours of very many

VERDICTS = {
    "clusters": "the cluster assumption: the boundary of the classes lies where few edges cross it",
    "manifold": "the manifold assumption: classes are smooth along the graph",
    "none": "none of the assumptions",
    "cannot tell": "cannot tell",
}
"""What `Diagnosis.verdict` may be."""


@dataclass(frozen=True)
class Verdict:
    """Which assumption the labels support, and why.

    Parameters
    ----------
    name : str
        A key of `VERDICTS`.
    reason : str
        A sentence with the numbers.
    """

    name: str
    reason: str


def judge(facts: Evidence | None, n_labeled: int, all_alike: bool) -> Verdict:
    """Return the verdict.

    Parameters
    ----------
    facts : Evidence or None
        None where there are no labels of two classes.
    n_labeled : int
    all_alike : bool
        Whether all samples are copies of one.
    """
    if all_alike:
        return Verdict("none", "all samples are alike, and neighbours are arbitrary")
    if facts is None:
        if n_labeled == 0:
            return Verdict("cannot tell", "there are no labels")
        return Verdict("cannot tell", f"all {n_labeled} labels are of one class")
    if n_labeled < FEWEST:
        return Verdict("cannot tell", f"{n_labeled} labels are too few; from {FEWEST} on there is something to count")
    if facts.n_paired < FEWEST:
        return Verdict(
            "cannot tell",
            f"{facts.n_paired} of {facts.n_labeled} labels have another one of their class; from {FEWEST} on there is "
            "something to count",
        )
    compared, edges = facts.comparison, facts.boundary
    smooth = facts.graph.p_value < _LEVEL
    bent = smooth and facts.beats_linear is not None and facts.beats_linear < _LEVEL
    apart = edges is not None and facts.linear is not None and max(edges.p_value, facts.linear.p_value) < _LEVEL
    errors = (
        f"left-out labels: {facts.graph.error:.0%} errors along the graph, {facts.graph.by_chance:.0%} by chance "
        f"(p = {facts.graph.p_value:.2g})"
    )
    if apart and not bent:
        assert edges is not None
        assert facts.linear is not None
        return Verdict(
            "clusters",
            f"{edges.share:.1%} of the edges cross the linear boundary of the classes, {edges.by_chance:.1%} that of "
            f"random labels (p = {edges.p_value:.2g}), and it errs at {facts.linear.error:.0%} of left-out labels",
        )
    if smooth and compared is not None and compared.p_worse < _LEVEL:
        return Verdict(
            "none",
            f"{errors}, but features alone err at {_rival(facts):.0%} (p = {compared.p_worse:.2g}): the graph "
            "adds nothing that is seen",
        )
    if smooth:
        return Verdict("manifold", errors)
    power = mcnemar_power(facts.majority, facts.majority / 2.0, facts.n_labeled) if facts.majority > 0 else 0.0
    if power < 0.5:
        return Verdict(
            "cannot tell",
            f"{errors}; {facts.n_labeled} labels would show half of the error of naming one class with the probability "
            f"{power:.2f} only",
        )
    return Verdict("none", errors)


def _rival(facts: Evidence) -> float:
    """Return the smallest error of the features alone."""
    errors = [facts.nearest, *(one.error for one in (facts.linear, facts.radial) if one is not None)]
    return min(error for error in errors if error is not None)


def advise(d: Any) -> tuple[str, ...]:
    """Return what to do about what is wrong, a sentence each."""
    listed: list[str] = []
    columns, parts = d.columns, d.connectivity
    if columns is not None:
        if columns.scale_ratio >= _SCALES and not columns.is_sparse:
            listed.append(
                f"scale the columns, unless all are in one unit: column {columns.widest} deviates "
                f"{columns.scale_ratio:.2g} times as much as column {columns.narrowest}, which distances hardly see"
            )
        if columns.n_constant and not columns.is_sparse:
            listed.append(f"drop {columns.n_constant} constant columns: they say nothing")
        if columns.n_copies and not columns.is_sparse:
            listed.append(f"drop {columns.n_copies} columns that repeat others: they count twice in distances")
        if columns.n_contradictions:
            listed.append(f"check the labels of {columns.n_contradictions} samples that have copies of another class")
    if parts.n_without_label:
        listed.append(
            f"label a sample in each of {parts.n_without_label} components without a label "
            f"({parts.n_samples_without_label} samples), or raise n_neighbors"
        )
    crowded = d.distances is not None and d.distances.contrast > _CROWDED and d.distances.mean > 0
    if (crowded or d.degrees.hubness > _HUBS) and d.verdict in ("none", "cannot tell"):
        what = "neighbours are hardly nearer than others" if crowded else "a few samples are neighbours of very many"
        listed.append(f"try fewer columns, e.g. 20 principal components, or another metric: {what}")
    if d.n_labeled > 0 and len(d.label_counts) > max(2, d.n_labeled // 2):
        listed.append(
            f"check y: {len(d.label_counts)} classes of {d.n_labeled} labels look like numbers to predict; for these "
            "take LapRLSRegressor"
        )
    if len(d.label_counts) == 1:
        listed.append("label samples of another class; if the marker is itself a class, name another by unlabeled=")
    return tuple(listed)
