"""The headline of each paper: one or a few numbers, as published and as our recorded tables have them.

`HEADLINES` says which numbers, `headline_rows` looks them up: the published ones in the package's CSV files, ours in
the records. Of the spectrum paper no table is available; what is counted there are the cells that agree with its
sentences.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reproduction.engine.published import published
from reproduction.recorded import RecordedTable
from reproduction.report import Report
from specmargin.exceptions import InvalidInputError

__all__ = ["HEADLINES", "NOT_RECORDED", "Count", "Headline", "Number", "headline_rows"]

NOT_RECORDED = "not recorded yet"
"""What stands in the place of our numbers where the table has not been recorded whole."""


@dataclass(frozen=True)
class Number:
    """A mean of a table, and where the paper has it.

    Parameters
    ----------
    section, dataset, method, tuning : str
        The line of our report; the section's title is empty where there is one section.
    source : tuple of str
        Paper, table, data set, method, quantity and split of the published number; a seventh is its number of labels.
    over : str
        A published method by whose number the first one is divided, for a ratio.
    decimals : int
        As it is shown.
    """

    section: str
    dataset: str
    method: str
    tuning: str
    source: tuple[str, ...]
    over: str = ""
    decimals: int = 1

    def published(self) -> str:
        """Return the published number."""
        value = _published(self.source)
        if self.over:
            value /= _published((*self.source[:3], self.over, *self.source[4:]))
        return f"{value:.{self.decimals}f}"

    def reproduced(self, report: Report) -> str:
        """Return the number of a report. `ValueError` if it does not have the line, or has it twice."""
        wanted = (self.section, self.dataset, self.method, self.tuning)
        means = {
            line.mean
            for section in report.sections
            for line in section.lines
            if (section.title, line.dataset, line.method, line.tuning) == wanted
        }
        if len(means) != 1:
            raise InvalidInputError(
                f"the table {report.name!r} has {len(means)} numbers at {' | '.join(wanted)!r}, and its headline needs "
                "one; name another line in reproduction/headlines.py."
            )
        return f"{means.pop():.{self.decimals}f}"


@dataclass(frozen=True)
class Count:
    """How many cells agree with a sentence of the paper, as a remark of the table counts them.

    Parameters
    ----------
    claim : str
        Words of the remark, which has them once.
    pattern : str
        A regular expression, whose group is the count.
    statement : str
        What the paper says.
    """

    claim: str
    pattern: str
    statement: str

    def published(self) -> str:
        """Return what the paper says."""
        return self.statement

    def reproduced(self, report: Report) -> str:
        """Return the count in a report. `ValueError` if no remark has it."""
        matches = [re.search(self.pattern, remark) for remark in report.remarks if self.claim in remark]
        if len(matches) != 1 or matches[0] is None:
            raise InvalidInputError(
                f"the table {report.name!r} has no remark with {self.claim!r} and {self.pattern!r}, or several; its "
                "headline needs one: correct it in reproduction/headlines.py."
            )
        return matches[0][1]


@dataclass(frozen=True)
class Headline:
    """What a paper is about, in one row.

    Parameters
    ----------
    paper : str
        Key of `reproduction.papers.bibliography.PAPERS`.
    name : str
        A few words for it.
    page : str
        The page of docs on it.
    measured : str
        What the numbers are, in their order.
    table : str
        The name of the record.
    numbers : sequence of Number or Count
        What is shown.
    """

    paper: str
    name: str
    page: str
    measured: str
    table: str
    numbers: Sequence[Number | Count]


_BELKIN = ("manifold_regularization_jmlr2006", "figure 5", "usps_pairs")
_PAIRS = "usps pairs, 2 per class, plain kernel, U"
_PRIMAL, _CHOSEN = "lapsvm_primal_2009", "validation set, mean over splits"
_TABLE_4, _TABLE_7 = "Table 4, error on U in percent", "Table 7, error on U in percent"
_TIMES = "Tables 3 and 6, time over that of Newton's method"
_CHAPELLE = ("continuation_s3vm_2006", "1", "uspst_pairs")
_TABLE_1, _TABLE_2 = "Table 1, C = C* = 100", "Table 2"
_OF_TABLE_2 = (_TABLE_2, "mnist_3_8")
_TUNED = "l=20 u=480, 5 labelled folds"


def _primal(section: str, table: str, method: str) -> Number:
    return Number(
        section, "uspst", method, _CHOSEN, (_PRIMAL, table, "uspst", method, "error_percent", "U"), decimals=1
    )


def _continuation(method: str, name: str) -> Number:
    return Number(_TABLE_1, "uspst_pairs", method, "fixed", (*_CHAPELLE, name, "error_percent", "U"))


def _quasi_newton(method: str) -> Number:
    return Number(*_OF_TABLE_2, method, _TUNED, ("qn_s3vm", "2", "mnist_3_8", method, "error_percent", "T", "20"))


HEADLINES = (
    Headline(
        "manifold_regularization",
        "Manifold regularization, 2006",
        "manifold_regularization",
        "45 pairs of USPS digits, two labels of each: error of SVM / LapSVM",
        "manifold_regularization",
        (
            Number("", _PAIRS, "SVM", "fixed", (*_BELKIN, "svm", "error_percent", "U", "2")),
            Number("", _PAIRS, "LapSVM", "fixed, D - W", (*_BELKIN, "lapsvm_dual", "error_percent", "U", "2")),
        ),
    ),
    Headline(
        "primal_lapsvm",
        "LapSVM in the primal, 2011",
        "lapsvm_primal",
        "ten USPS digits, 50 labels: error of SVM / LapSVM in the dual / by Newton's method / by conjugate gradients "
        "that stop early / time of these over Newton's",
        "lapsvm_primal",
        (
            _primal(_TABLE_4, "4", "svm"),
            _primal(_TABLE_4, "4", "lapsvm_dual"),
            _primal(_TABLE_4, "4", "lapsvm_newton"),
            _primal(_TABLE_7, "7", "lapsvm_pcg_stability"),
            Number(
                _TIMES,
                "uspst",
                "lapsvm_pcg_stability",
                _CHOSEN,
                (_PRIMAL, "6", "uspst", "lapsvm_pcg_stability", "train_seconds", ""),
                over="lapsvm_newton",
                decimals=2,
            ),
        ),
    ),
    Headline(
        "spectrum_learning",
        "Laplacian spectrum learning, 2010",
        "spectrum_learning",
        "ten tasks, 20 to 100 labels: how often the order of the spectrum lowers the error / how often STORM or STOAM "
        "errs least of eight methods",
        "spectrum_learning",
        (
            Count("the order of the spectrum lowers the error", r"together lower in (\d+ of \d+)", "it does"),
            Count(
                "STORM and STOAM perform much better than all the methods",
                r"least mean error in (\d+ of \d+) cells",
                '"much better than all"',
            ),
        ),
    ),
    Headline(
        "continuation",
        "Continuation for S3VMs, 2006",
        "continuation_s3vm",
        "45 pairs of USPS digits: error of SVM / continuation / gradient descent / label switching",
        "continuation_s3vm",
        (
            _continuation("svm", "svm"),
            _continuation("cs3vm", "cs3vm"),
            _continuation("grad_hinge", "grad_s3vm"),
            _continuation("svmlight_s3vm", "svmlight_s3vm"),
        ),
    ),
    Headline(
        "qn_s3vm",
        "QN-S3VM, 2014",
        "qn_s3vm",
        "MNIST 3 and 8, 20 labels: error of SVM / CCCP / QN-S3VM",
        "qn_s3vm",
        (_quasi_newton("svm"), _quasi_newton("cccp_s3vm"), _quasi_newton("qn_s3vm")),
    ),
)
"""One of each of the five papers, in the order of `PAPERS`."""


def headline_rows(records: Mapping[str, RecordedTable]) -> list[tuple[Headline, str, str]]:
    """Return each headline with its published and its reproduced numbers.

    Parameters
    ----------
    records : mapping of str to RecordedTable
        By name, as `reproduction.recorded.recorded_tables` returns them.

    Returns
    -------
    list of (Headline, str, str)
        `NOT_RECORDED` in the place of our numbers where the table is not there, or not whole.

    Raises
    ------
    ValueError
        If a record lacks a line that the headline names.

    Examples
    --------
    >>> headline, theirs, ours = headline_rows({})[0]
    >>> headline.table, theirs, ours
    ('manifold_regularization', '9.9 / 2.6', 'not recorded yet')
    """
    rows = []
    for headline in HEADLINES:
        record = records.get(headline.table)
        report = record.report if record is not None else None
        theirs = " / ".join(number.published() for number in headline.numbers)
        ours = NOT_RECORDED
        if report is not None:
            ours = " / ".join(number.reproduced(report) for number in headline.numbers)
        rows.append((headline, theirs, ours))
    return rows


def _published(source: Sequence[str]) -> float:
    """Return one published number; `ValueError` if there is none, or several."""
    names, n_labeled = source[:6], source[6:]
    rows = published(*names)
    if n_labeled:
        rows = rows[rows["n_labeled"] == int(n_labeled[0])]
    if len(rows) != 1:
        raise InvalidInputError(f"{len(rows)} published numbers are at {' | '.join(source)!r}; a headline needs one.")
    return float(rows["mean"].item())
