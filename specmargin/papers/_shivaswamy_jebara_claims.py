"""The claims of the spectrum paper's experiment, put to the numbers of ours.

The published tables of that paper are not available, only what its text says of them. `claims` turns each sentence into
counts over the cells of the table (task and number of labels) and a verdict by one rule: reproduced from 90 % of the
cells on, partly from 50 %, else not. Mean errors decide; how many of the differences are significant (paired t-test,
5 %), and how many of these also by the corrected resampled t-test, is printed with them.

Every method is tuned alike, so that [9] is judged with its ratio w chosen as the others' parameters are. The paper does
not say which w it took; w = 1 is shown, too. "Very poor" is taken at its word: in a cell that counts, [9] is
significantly worse than the best of the paper's methods and has a higher error than MKL, which the paper calls not
competitive.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from specmargin.experiments.engine.significance import Comparison, Entry, Errors, paired_comparison, significance_marks
from specmargin.papers._shivaswamy_jebara_methods import PAPER

__all__ = ["claims", "verdict"]

_JOINT = ("STOAM", "STORM")
_MKL = ("MKL-S", "MKL-R")


def verdict(part: int, whole: int) -> str:
    """Return "reproduced", "partly reproduced" or "not reproduced".

    Examples
    --------
    >>> verdict(9, 10), verdict(5, 10), verdict(0, 10)
    ('reproduced', 'partly reproduced', 'not reproduced')
    """
    share = part / whole if whole else 0.0
    return "reproduced" if share >= 0.9 else "partly reproduced" if share >= 0.5 else "not reproduced"


def claims(
    cells: Sequence[tuple[str, Errors]], methods: Sequence[str], test_to_train: Sequence[float] = ()
) -> list[str]:
    """Return one sentence per claim, verdict first.

    Parameters
    ----------
    cells : sequence of (task, errors)
        A pair per task and number of labels; the errors by method and split.
    methods : sequence of str
        The columns of the table.
    test_to_train : sequence of float, default ()
        Unlabelled over labelled samples of each cell, for the corrected test; it is not made without.
    """
    rows = [errors for _, errors in cells]
    pairs = _Comparisons(rows, test_to_train)
    sentences = [
        _order(pairs),
        _joint_is_best(rows),
        pairs.claim("STORM", ("KTA-S", "KTA-R"), "joint learning beats alignment"),
        pairs.claim("STORM", ("SGT",), "STORM beats the spectral graph transducer"),
        _very_poor(rows, pairs, "Xu", "w tuned as every parameter"),
        _very_poor(rows, pairs, "Xu w=1", "w = 1, the order alone"),
        _mkl(cells),
        pairs.claim("KTA-S", ("diffusion",), "alignment beats parametric transforms (the paper, citing [11])"),
        f"no claim of the paper: the bound B. STORM against STOAM: {pairs.counts('STORM', 'STOAM')}.",
    ]
    others = [method for method in methods if method not in (*PAPER, "Xu w=1", "diffusion")]
    sentences += [
        f"no claim of the paper: {method}, not in its tables. STORM against {method}: {pairs.counts('STORM', method)}."
        for method in others
    ]
    rule = "The paper's claims by these numbers (reproduced: in 90 % of the cells or more; partly: in half or more):"
    return [rule, *sentences, _means(rows, methods)]


class _Comparisons:
    """Pairs of methods over all cells, in words."""

    def __init__(self, rows: Sequence[Errors], test_to_train: Sequence[float]) -> None:
        self.rows, self.test_to_train = rows, test_to_train

    def __call__(self, first: str, second: str) -> Comparison:
        return paired_comparison(self.rows, first, second, test_to_train=self.test_to_train)

    def counts(self, first: str, second: str) -> str:
        result = self(first, second)
        equal = f", equal in {result.equal}" if result.equal else ""
        sure = [f"; {n} corrected" if self.test_to_train else "" for n in (result.surely_lower, result.surely_higher)]
        return (
            f"lower mean error in {result.lower} of {result.rows} cells ({result.clearly_lower} significant{sure[0]}), "
            f"higher in {result.higher} ({result.clearly_higher}{sure[1]}){equal}"
        )

    def claim(self, method: str, rivals: Sequence[str], claim: str) -> str:
        found = [self(method, rival) for rival in rivals]
        part, whole = sum(d.lower for d in found), sum(d.rows for d in found)
        counts = "; ".join(f"{method} against {rival}: {self.counts(method, rival)}" for rival in rivals)
        return f"{verdict(part, whole)}: {claim}. {counts}."


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "no cell"


def _order(pairs: _Comparisons) -> str:
    absolute, relative = pairs("STOAM", "MKL-S"), pairs("STORM", "MKL-R")
    part, whole = absolute.lower + relative.lower, absolute.rows + relative.rows
    return (
        f"{verdict(part, whole)}: the order of the spectrum lowers the error. STOAM against MKL-S: "
        f"{pairs.counts('STOAM', 'MKL-S')}; STORM against MKL-R: {pairs.counts('STORM', 'MKL-R')}; together lower in "
        f"{part} of {whole}, {_percent(part, whole)}."
    )


def _of_paper(row: Errors) -> dict[str, Entry]:
    """Return the marks of a cell among the paper's eight methods."""
    return significance_marks({method: row[method] for method in PAPER if row.get(method)})


def _joint_is_best(rows: Sequence[Errors]) -> str:
    marked = [_of_paper(row) for row in rows]
    either, storm = ([_rank(row, names) for row in marked] for names in (_JOINT, ("STORM",)))
    part, whole = either.count("best"), len(rows)
    return (
        f"{verdict(part, whole)}: STORM and STOAM perform much better than all the methods. Of the paper's eight, one "
        f"of the two has the least mean error in {part} of {whole} cells ({_percent(part, whole)}) and is not "
        f"significantly worse than the best in {either.count('light')} more; STORM itself is best in "
        f"{storm.count('best')} and not significantly worse in {storm.count('light')}."
    )


def _rank(row: Mapping[str, Entry], names: Sequence[str]) -> str:
    """Return the best mark of some methods."""
    found = {row[name].mark for name in names if name in row}
    return next((mark for mark in ("best", "light") if mark in found), "")


def _very_poor(rows: Sequence[Errors], pairs: _Comparisons, name: str, how: str) -> str:
    """Count the cells in which [9] is far from the best and behind MKL, too, and say the verdict."""
    part = whole = worse = 0
    for row in rows:
        if not row.get(name) or not all(row.get(method) for method in PAPER):
            continue
        whole += 1
        entries = _of_paper({**row, "Xu": row[name]})
        far = entries["Xu"].mark == ""
        worse += far
        part += far and all(entries["Xu"].mean > entries[method].mean for method in _MKL)
    against = "; ".join(f"against {rival}: {pairs.counts(name, rival)}" for rival in ("STOAM", "STORM", *_MKL))
    return (
        f"{verdict(part, whole)}: the formulation of [9] gives very poor results ({how}). It is significantly worse "
        f"than the best in {worse} of {whole} cells, and in {part} of them it errs more than both MKL, too. [9] "
        f"{against}."
    )


def _mkl(cells: Sequence[tuple[str, Errors]]) -> str:
    competitive: dict[str, int] = {}
    for task, errors in cells:
        if _rank(_of_paper(errors), _MKL):
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
