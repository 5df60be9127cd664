"""Verdicts in words: which assumption labels support, if they are enough to tell; and a diagnosis as lines of text."""

from __future__ import annotations

from typing import Any

from specmargin.estimators.comparison import FEWEST, mcnemar_power
from specmargin.tables.diagnosis.evidence import Evidence
from specmargin.tables.diagnosis.facts import Purity

__all__ = ["VERDICTS", "advise", "diagnosis_lines", "entries", "judge", "sentences"]

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


def judge(facts: Evidence | None, n_labeled: int, all_alike: bool) -> tuple[str, str]:
    """Return which assumption the labels support, a key of `VERDICTS`, and why, a sentence with the numbers.

    Parameters
    ----------
    facts : Evidence or None
        None where there are no labels of two classes.
    n_labeled : int
    all_alike : bool
        Whether all samples are copies of one.
    """
    if all_alike:
        return ("none", "all samples are alike, and neighbours are arbitrary")
    if facts is None:
        return "cannot tell", f"all {n_labeled} labels are of one class" if n_labeled else "there are no labels"
    if n_labeled < FEWEST:
        return ("cannot tell", f"{n_labeled} labels are too few; from {FEWEST} on there is something to count")
    if facts.n_paired < FEWEST:
        return (
            "cannot tell",
            f"{facts.n_paired} of {facts.n_labeled} labels have another one of their class; from {FEWEST} on there is "
            "something to count",
        )
    compared, edges = facts.comparison, facts.boundary
    smooth = facts.graph.p_value < _LEVEL
    bent = smooth and facts.beats_linear is not None and facts.beats_linear < _LEVEL
    errors = (
        f"left-out labels: {facts.graph.error:.0%} errors along the graph, {facts.graph.by_chance:.0%} by chance "
        f"(p = {facts.graph.p_value:.2g})"
    )
    apart = edges and facts.linear and max(edges.p_value, facts.linear.p_value) < _LEVEL
    if edges and facts.linear and apart and not bent:
        return (
            "clusters",
            f"{edges.share:.1%} of the edges cross the linear boundary of the classes, {edges.by_chance:.1%} that of "
            f"random labels (p = {edges.p_value:.2g}), and it errs at {facts.linear.error:.0%} of left-out labels",
        )
    if smooth and compared is not None and compared.p_worse < _LEVEL:
        return (
            "none",
            f"{errors}, but features alone err at {_rival(facts):.0%} (p = {compared.p_worse:.2g}): the graph "
            "adds nothing that is seen",
        )
    if smooth:
        return ("manifold", errors)
    power = mcnemar_power(facts.majority, facts.majority / 2.0, facts.n_labeled) if facts.majority > 0 else 0.0
    if power < 0.5:
        return (
            "cannot tell",
            f"{errors}; {facts.n_labeled} labels would show half of the error of naming one class with the probability "
            f"{power:.2f} only",
        )
    return ("none", errors)


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


_CLASSES = 6  # that are named


def diagnosis_lines(d: Any) -> list[str]:
    """Return the lines of ``str(d)``."""
    first, verdict, reason, *advice = sentences(d)
    return [first, verdict, f"  {reason}", *(f"  {name + ':':<17}{text}" for name, text in entries(d)), *advice]


def sentences(d: Any) -> list[str]:
    """Return what was looked at, the verdict, its reason, and each advice."""
    width = "" if d.columns is None else f" in {d.columns.n_columns} columns"
    lines = [f"{d.n_samples} samples{width}, {_labels(d)}", f"Verdict: {VERDICTS[d.verdict]}", d.reason]
    return [*lines, *(f"To do: {advice}" for advice in d.advice)]


def entries(d: Any) -> list[tuple[str, str]]:
    """Return the numbers in words, each with its name."""
    c, distances, parts, g, gap, e = d.columns, d.distances, d.connectivity, d.degrees, d.gap, d.evidence
    told = {}
    if c is not None:
        told["columns"] = (
            f"deviations differ by {c.scale_ratio:.3g} at most; {c.n_constant} constant, {c.n_copies} repeated; "
            f"{c.n_copied_samples} samples repeated, {c.n_contradictions} of them under two classes"
        )
    if distances is not None:
        vary = f"vary by {distances.variation:.0%} of their mean; to neighbours {distances.contrast:.0%} of it"
        told["distances"] = vary if distances.mean > 0 else "all are zero"
    kind = "as given" if d.n_neighbors is None else f"{d.n_neighbors} nearest neighbours ({d.metric})"
    sizes = ", ".join(map(str, parts.sizes[:4])) + (", ..." if parts.n_components > 4 else "")
    several = f"{parts.n_components} components ({sizes}), {parts.n_without_label} without a label"
    pieces = several if parts.n_components > 1 else "one component"
    told["graph"] = f"{kind}; {pieces}; {parts.n_isolated} isolated samples"
    told["degrees"] = (
        f"{g.least} to {g.most}, {g.mean:.1f} on average; skewness of the {g.counted} {g.hubness:.1f}; the largest "
        f"hub, sample {g.largest_hub}, is {'listed by' if g.counted == 'in-degree' else 'joined to'} {g.largest_count}"
    )
    lowest = f"the lowest {len(gap.eigenvalues)}"
    ends = f"of {lowest} behind {gap.n_clusters} ({gap.low:.2g} to {gap.high:.2g})"
    if not gap.size > 0:
        told["eigenvalues"] = f"{lowest} are alike: at least {gap.n_clusters} clusters"
    elif gap.is_clear:
        told["eigenvalues"] = f"clear gap {ends}: {gap.n_clusters} cluster{'s' if gap.n_clusters > 1 else ''}"
    else:
        told["eigenvalues"] = f"no clear gap; the largest {ends} is less than twice another"
    told["edges"] = _purity(d.edges, "edges between labels") or "none between labels: nothing to tell"
    told["nearest labels"] = _purity(d.nearest, "nearest labels")
    if e is not None:
        named = (("graph", e.graph), ("linear", e.linear), ("RBF", e.radial))
        errors = [f"{name} {one.error:.0%} (p = {one.p_value:.2g})" for name, one in named if one is not None]
        errors += [] if e.nearest is None else [f"nearest {e.nearest:.0%}"]
        told["left-out labels"] = f"errors: {', '.join(errors)}, naming one class {e.majority:.0%}"
        if b := e.boundary:
            crossed = f"{b.share:.1%} of edges cross the linear one, {b.by_chance:.1%} by chance"
            told["boundary"] = f"{crossed} (p = {b.p_value:.2g})"
        if one := e.comparison:
            counts = f"{one.gains} won, {one.losses} lost"
            told["unlabelled data"] = f"graph against features ({e.supervised}): {counts}; {one.verdict}"
    return [(name, text) for name, text in told.items() if text]


def _labels(d: Any) -> str:
    if d.n_labeled == 0:
        return "no labels"
    counts = [f"{count} of {name!r}" for name, count in list(d.label_counts.items())[:_CLASSES]]
    more = len(d.label_counts) - _CLASSES
    return f"{d.n_labeled} labels ({', '.join(counts)}{f', and of {more} more classes' if more > 0 else ''})"


def _purity(p: Purity, pairs: str) -> str:
    if p.share is None or p.by_chance is None or p.p_value is None:
        return ""
    told = "" if p.p_value < 0.05 else ": cannot be distinguished from chance"
    shares = f"{p.share:.0%} of {p.n_pairs} {pairs} within a class, {p.by_chance:.0%} by chance"
    return f"{shares} (p = {p.p_value:.2g}){told}"
