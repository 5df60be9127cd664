"""What the table of global optima says: its sections, and the answer in three sentences."""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence

import pandas as pd

from reproduction.blocks import grouped
from reproduction.engine.equivalence import Interval
from reproduction.engine.records import Row
from reproduction.papers._protocols.optima_instances import RESTARTED, SEARCHES
from reproduction.papers._protocols.optima_quantities import PARTS, TOL, intervals, verdict, with_parts
from reproduction.report import Line, Section

GAPS = ("up to 0.1 %", "0.1 to 1 %", "1 to 5 %", "5 to 20 %", "above 20 %")
"""The gaps of the profile."""

_OTHERS = {
    "best": "best answer",
    "best where missed": "best answer, where it missed the optimum",
    "supervised": "SVM of the labels alone",
}
_AMONG = {"": "all minima", " near": "within 5 % of the optimum", " own": "ends of the searches' own starts"}
_THAN_BEST = {
    "errs less": "errs less than the best answer of all local searches",
    "errs more": "errs more than the best answer of all local searches",
    "errs alike": "errs like the best answer of all local searches, within half a point",
    "inconclusive": "cannot be distinguished from the best answer of all local searches",
    "not judged": "is not judged against the best answer of all local searches",
}
_THAN_ONE = {
    "errs less": "errs less than",
    "errs more": "errs more than",
    "errs alike": "errs within half a point of",
    "inconclusive": "cannot be distinguished from",
    "not judged": "is not judged against",
}


def sections(frame: pd.DataFrame, rows: Sequence[Row]) -> list[Section]:
    """Return the table: from the `quantities` of the proved problems, and from all rows that have not failed."""
    parts = list(_parts(frame))
    others = [(part, name, each[name]) for part, each in parts for name in _OTHERS if name in each]
    errors = [_line(part, _OTHERS[name], "", of, verdict) for part, name, of in others]
    correlations = _among(parts, "correlation", 1.0)
    pairs = _among(parts, "pairs", 100.0)
    by_gap = intervals(frame, [f"profile {k}" for k in range(len(GAPS))])
    profile = [_line("all problems", "other minima", GAPS[int(name[-1])], each) for name, each in by_gap.items()]
    return [
        Section("Error of the optimum less that of a search, in points", _searches(frame)),
        Section("Error of the optimum less that of another answer, in points", errors),
        Section("Correlation of gap and error within a problem", correlations),
        Section("Share of pairs of minima where the worse J errs less, in percent", pairs),
        Section("Error of other minima less that of the optimum, in points, by their gap", profile),
        Section("Share of problems whose optimum is proved to 0.1 %, in percent", _proofs(rows)),
        Section("Median gap of the root to the best known value, in percent", _roots(rows)),
    ]


def _line(
    part: str,
    method: str,
    tuning: str,
    of: Interval,
    says: Callable[[Interval], str] | None = None,
    note: str = "",
    factor: float = 1.0,
) -> Line:
    told = [f"95 %: {factor * of.low:.2f} to {factor * of.high:.2f}", says(of) if says else "", note]
    note = "; ".join(text for text in told if text)
    return Line(part, method, tuning, factor * of.mean, math.nan, of.n, note=note)


def _parts(frame: pd.DataFrame) -> Iterator[tuple[str, dict[str, Interval]]]:
    """Yield the intervals of the quantities by part."""
    names = [*_OTHERS, *(f"{kind}{some}" for kind in ("correlation", "pairs") for some in _AMONG)]
    for by in PARTS:
        for part, some in frame.groupby(f"part {by}"):
            yield str(part), intervals(some, names)


def _among(parts: Iterable[tuple[str, dict[str, Interval]]], kind: str, factor: float) -> list[Line]:
    return [
        _line(part, kind, among, each[f"{kind}{some}"], factor=factor)
        for part, each in parts
        for some, among in _AMONG.items()
        if f"{kind}{some}" in each
    ]


def _searches(frame: pd.DataFrame) -> list[Line]:
    lines = []
    for kind, tuning, those in (("search", "own start", SEARCHES), ("lowest", "lowest of ten starts", RESTARTED)):
        means = intervals(frame, [f"{kind} {name}" for name in those])
        for name in those:
            if f"{kind} {name}" in means:
                hit = 100.0 * frame[f"{kind} hit {name}"].mean()
                note = f"ends within 0.1 % of the optimum in {hit:.0f} %"
                lines.append(_line("all problems", name, tuning, means[f"{kind} {name}"], verdict, note))
    return lines


def _proofs(rows: Sequence[Row]) -> list[Line]:
    lines = []
    for name, some in grouped(rows, lambda row: row["dataset"]).items():
        share = 100.0 * statistics.fmean(bool(row["proved"]) for row in some)
        plain, root = (100.0 * statistics.median(row[f"{kind}_gap"] for row in some) for kind in ("plain", "root"))
        nodes, seconds = (statistics.fmean(row[column] for row in some) for column in ("nodes", "seconds_exact"))
        note = (
            f"median gap of the plain relaxation {plain:.1f} %, of the root with boxes and products {root:.1f} %; "
            f"mean of {nodes:.0f} nodes, {seconds:.1f} CPU s"
        )
        lines.append(Line(name, "branch and bound", "", share, math.nan, len(some), note=note))
    return lines


def _roots(rows: Sequence[Row]) -> list[Line]:
    """Return how tight the relaxations are by kind of problem, proved or not."""
    frame = with_parts(pd.DataFrame(rows))
    kinds = {"plain_gap": "plain relaxation", "root_gap": "with boxes and products"}
    lines = []
    for part, some in (pair for by in PARTS for pair in frame.groupby(f"part {by}")):
        for column, kind in kinds.items():
            low, middle, high = (100.0 * float(some[column].quantile(q)) for q in (0.25, 0.5, 0.75))
            closed = 100.0 * float((some[column] <= TOL).mean())
            note = f"half of them from {low:.1f} to {high:.1f} %; at most 0.1 % in {closed:.0f} %"
            lines.append(Line(str(part), kind, "", middle, math.nan, len(some), note=note))
    return lines


def unproved(rows: Sequence[Row]) -> str:
    """Say of the problems without a proof what is known."""
    left = [row for row in rows if not row["proved"]]
    if not left:
        return "Every optimum is proved."
    open_gap = 100.0 * statistics.median(row["relative_gap"] for row in left)
    firsts = [min(place for each in row["found"].values() for place in each if place is not None) for row in left]
    less = statistics.fmean(row["minima"][0][1] - row["minima"][k][1] for row, k in zip(left, firsts, strict=True))
    return (
        f"{len(left)} of {len(rows)} problems are not proved, with a median gap of {open_gap:.1f} %: no quantity has "
        f"them. The error of their lowest known point less that of the best answer of the searches: {less:+.2f} points."
    )


def answer(frame: pd.DataFrame) -> list[str]:
    """Return the answer to the question in three sentences, from the `quantities` of the proved problems."""
    single = [f"search {name}" for name in SEARCHES]
    told = intervals(frame, [*_OTHERS, "missed", *single, "correlation", "correlation near", "pairs near"])
    best, missed = told["best"], told.get("best where missed")
    first = (
        f"On {len(frame)} proved problems of {frame['dataset'].nunique()} pairs of classes the optimum "
        f"{_THAN_BEST[verdict(best)]}: its error less theirs is {best.text} points, and {_or_none(missed)} points in "
        f"the {100.0 * told['missed'].mean:.0f} % of the problems where they missed it."
    )
    verdicts = {name: verdict(told[name]) for name in single if name in told}
    clauses = []
    for each in dict.fromkeys(verdicts.values()):
        those = ", ".join(f"{name.split()[1]} ({told[name].text})" for name in verdicts if verdicts[name] == each)
        clauses.append(f"{_THAN_ONE[each]} {those}")
    second = (
        f"Against each search from its own start alone (its error less theirs, in points), it {'; it '.join(clauses)}."
    )
    rho, near, pairs = (told.get(name) for name in ("correlation", "correlation near", "pairs near"))
    share = None if pairs is None else Interval(100 * pairs.mean, 100 * pairs.low, 100 * pairs.high, pairs.n)
    third = (
        f"Within a problem gap and error correlate by {_or_none(rho)} over all minima and by {_or_none(near)} over "
        f"those within 5 % of the optimum, where of two the worse J errs less in {_or_none(share)} % of the pairs."
    )
    return [first, second, third]


def _or_none(interval: Interval | None) -> str:
    return "(none)" if interval is None else interval.text
