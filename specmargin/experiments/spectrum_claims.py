"""The claims of the spectrum paper's experiment, put to the numbers of ours.

The published tables of that paper are not at hand, only what its text says of them. `claims` turns each sentence into
counts over the cells of the table (task and number of labels) and a verdict by one rule: reproduced from 90 % of the
cells on, partly from 50 %, else not. Mean errors decide; how many of the differences are significant (paired t-test,
5 %) is printed beside.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from specmargin.experiments.significance import Duel, Entry, Errors, duel, shades

__all__ = ["claims", "verdict"]

_JOINT = ("STOAM", "STORM")
_RIVALS = ("Xu", "MKL-S", "MKL-R", "SGT", "KTA-S", "KTA-R")


def verdict(part: int, whole: int) -> str:
    """Return "reproduced", "partly reproduced" or "not reproduced".

    Examples
    --------
    >>> verdict(9, 10), verdict(5, 10), verdict(0, 10)
    ('reproduced', 'partly reproduced', 'not reproduced')
    """
    share = part / whole if whole else 0.0
    return "reproduced" if share >= 0.9 else "partly reproduced" if share >= 0.5 else "not reproduced"


def claims(cells: Sequence[tuple[str, Errors]], methods: Sequence[str]) -> list[str]:
    """Return one sentence per claim, verdict first.

    Parameters
    ----------
    cells : sequence of (task, errors)
        A pair per task and number of labels; the errors by method and split.
    methods : sequence of str
        The columns of the table.
    """
    rows = [errors for _, errors in cells]
    sentences = [
        _order(rows),
        _joint_is_best(rows),
        _against(rows, "STORM", ("KTA-S", "KTA-R"), "joint learning beats alignment"),
        _against(rows, "STORM", ("SGT",), "STORM beats the spectral graph transducer"),
        _against(rows, "STORM", ("Xu",), "the formulation of [9] gives very poor results"),
        _mkl(cells),
        _against(rows, "KTA-S", ("diffusion",), "alignment beats parametric transforms (the paper, citing [11])"),
    ]
    bound = duel(rows, "STORM", "STOAM")
    sentences.append(f"no claim of the paper: the bound B. STORM against STOAM: {_counts(bound)}.")
    rule = "The paper's claims by these numbers (reproduced: in 90 % of the cells or more; partly: in half or more):"
    return [rule, *sentences, _means(rows, methods)]


def _counts(result: Duel) -> str:
    equal = f", equal in {result.equal}" if result.equal else ""
    return (
        f"lower mean error in {result.lower} of {result.rows} cells ({result.clearly_lower} significant), "
        f"higher in {result.higher} ({result.clearly_higher}){equal}"
    )


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "no cell"


def _order(rows: Sequence[Errors]) -> str:
    absolute, relative = duel(rows, "STOAM", "MKL-S"), duel(rows, "STORM", "MKL-R")
    part, whole = absolute.lower + relative.lower, absolute.rows + relative.rows
    return (
        f"{verdict(part, whole)}: the order of the spectrum lowers the error. STOAM against MKL-S: "
        f"{_counts(absolute)}; STORM against MKL-R: {_counts(relative)}; together lower in {part} of {whole}, "
        f"{_percent(part, whole)}."
    )


def _joint_is_best(rows: Sequence[Errors]) -> str:
    paper = (*_RIVALS, *_JOINT)
    shaded = [shades({method: row[method] for method in paper if method in row}) for row in rows]
    either, storm = ([_rank(row, names) for row in shaded] for names in (_JOINT, ("STORM",)))
    part, whole = either.count("best"), len(rows)
    return (
        f"{verdict(part, whole)}: STORM and STOAM perform much better than all the methods. Of the paper's eight, one "
        f"of the two has the least mean error in {part} of {whole} cells ({_percent(part, whole)}) and is not "
        f"significantly worse than the best in {either.count('light')} more; STORM itself is best in "
        f"{storm.count('best')} and not significantly worse in {storm.count('light')}."
    )


def _rank(row: Mapping[str, Entry], names: Sequence[str]) -> str:
    """Return the best shade of some methods."""
    found = {row[name].shade for name in names if name in row}
    return next((shade for shade in ("best", "light") if shade in found), "")


def _against(rows: Sequence[Errors], method: str, rivals: Sequence[str], claim: str) -> str:
    duels = {rival: duel(rows, method, rival) for rival in rivals}
    part, whole = sum(d.lower for d in duels.values()), sum(d.rows for d in duels.values())
    counts = "; ".join(f"{method} against {rival}: {_counts(result)}" for rival, result in duels.items())
    return f"{verdict(part, whole)}: {claim}. {counts}."


def _mkl(cells: Sequence[tuple[str, Errors]]) -> str:
    competitive: dict[str, int] = {}
    for task, errors in cells:
        row = shades({method: errors[method] for method in (*_RIVALS, *_JOINT) if method in errors})
        if _rank(row, ("MKL-S", "MKL-R")):
            competitive[task] = competitive.get(task, 0) + 1
    where = ", ".join(f"{task} ({count})" for task, count in competitive.items()) or "none"
    part = len(cells) - sum(competitive.values())
    return (
        f"{verdict(part, len(cells))}: without the order MKL is not competitive (the paper: but for digits 1-2). "
        f"Both are significantly worse than the best of the paper's eight in {part} of {len(cells)} cells; not so in: "
        f"{where}."
    )


def _means(rows: Sequence[Errors], methods: Sequence[str]) -> str:
    def averages() -> Iterator[str]:
        complete = [row for row in rows if all(row.get(method) for method in methods)]
        for method in methods:
            if complete:
                mean = statistics.fmean(statistics.fmean(row[method].values()) for row in complete)
                yield f"{method} {mean:.2f}"

    return f"mean error over all cells: {', '.join(averages()) or 'no cell is complete'}."
