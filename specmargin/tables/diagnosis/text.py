"""A diagnosis as some fifteen lines of text."""

from __future__ import annotations

from typing import Any

from specmargin.tables.diagnosis.evidence import HeldOut
from specmargin.tables.diagnosis.purity import Purity
from specmargin.tables.diagnosis.verdict import VERDICTS

__all__ = ["diagnosis_lines", "entries", "sentences"]

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
    told = {
        "columns": _columns(d),
        "distances": _distances(d),
        "graph": _graph(d),
        "degrees": _degrees(d),
        "eigenvalues": _gap(d),
        "edges": _purity(d.edges, "edges between labels"),
        "nearest labels": _purity(d.nearest, "nearest labels"),
        "left-out labels": _held_out(d),
        "boundary": _boundary(d),
        "unlabelled data": _comparison(d),
    }
    return [(name, text) for name, text in told.items() if text]


def _labels(d: Any) -> str:
    if d.n_labeled == 0:
        return "no labels"
    counts = [f"{count} of {name!r}" for name, count in list(d.label_counts.items())[:_CLASSES]]
    more = len(d.label_counts) - _CLASSES
    return f"{d.n_labeled} labels ({', '.join(counts)}{f', and of {more} more classes' if more > 0 else ''})"


def _columns(d: Any) -> str:
    if d.columns is None:
        return ""
    c = d.columns
    return (
        f"deviations differ by {c.scale_ratio:.3g} at most; {c.n_constant} constant, {c.n_copies} repeated; "
        f"{c.n_copied_samples} samples repeated, {c.n_contradictions} of them under two classes"
    )


def _distances(d: Any) -> str:
    if d.distances is None:
        return ""
    if not d.distances.mean > 0:
        return "all are zero"
    return f"vary by {d.distances.variation:.0%} of their mean; to neighbours {d.distances.contrast:.0%} of it"


def _graph(d: Any) -> str:
    c = d.connectivity
    kind = "as given" if d.n_neighbors is None else f"{d.n_neighbors} nearest neighbours ({d.metric})"
    pieces = "one component"
    if c.n_components > 1:
        sizes = ", ".join(map(str, c.sizes[:4])) + (", ..." if c.n_components > 4 else "")
        pieces = f"{c.n_components} components ({sizes}), {c.n_without_label} without a label"
    return f"{kind}; {pieces}; {c.n_isolated} isolated samples"


def _degrees(d: Any) -> str:
    g = d.degrees
    lists = "listed by" if g.counted == "in-degree" else "joined to"
    return (
        f"{g.least} to {g.most}, {g.mean:.1f} on average; skewness of the {g.counted} {g.hubness:.1f}; the largest "
        f"hub, sample {g.largest_hub}, is {lists} {g.largest_count}"
    )


def _gap(d: Any) -> str:
    g = d.gap
    if not g.size > 0:
        return f"the lowest {len(g.eigenvalues)} are alike: at least {g.n_clusters} clusters"
    ends = f"of the lowest {len(g.eigenvalues)} behind {g.n_clusters} ({g.low:.2g} to {g.high:.2g})"
    if not g.is_clear:
        return f"no clear gap; the largest {ends} is less than twice another"
    return f"clear gap {ends}: {g.n_clusters} cluster{'s' if g.n_clusters > 1 else ''}"


def _purity(p: Purity, pairs: str) -> str:
    if p.share is None or p.by_chance is None or p.p_value is None:
        return "" if pairs == "nearest labels" else "none between labels: nothing to tell"
    told = "" if p.p_value < 0.05 else ": cannot be told from chance"
    return (
        f"{p.share:.0%} of {p.n_pairs} {pairs} within a class, {p.by_chance:.0%} by chance (p = {p.p_value:.2g}){told}"
    )


def _held_out(d: Any) -> str:
    if d.evidence is None:
        return ""
    e = d.evidence
    errors = [f"graph {_error(e.graph)}"]
    errors += [f"{name} {_error(one)}" for name, one in (("linear", e.linear), ("RBF", e.radial)) if one is not None]
    if e.nearest is not None:
        errors.append(f"nearest {e.nearest:.0%}")
    return f"errors: {', '.join(errors)}, naming one class {e.majority:.0%}"


def _error(one: HeldOut) -> str:
    return f"{one.error:.0%} (p = {one.p_value:.2g})"


def _boundary(d: Any) -> str:
    if d.evidence is None or d.evidence.boundary is None:
        return ""
    b = d.evidence.boundary
    return f"{b.share:.1%} of edges cross the linear one, {b.by_chance:.1%} by chance (p = {b.p_value:.2g})"


def _comparison(d: Any) -> str:
    if d.evidence is None or d.evidence.comparison is None:
        return ""
    c = d.evidence.comparison
    return f"graph against features ({d.evidence.supervised}): {c.gains} won, {c.losses} lost; {c.verdict}"
