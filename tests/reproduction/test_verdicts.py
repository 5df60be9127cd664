"""Claims are read back from what the judge writes, all of them and nothing else; published numbers are counted."""

import math
import re
from pathlib import Path

import pytest

from reproduction.judging import ClaimRow, frame_of, judge
from reproduction.report import Line, Report, Section
from reproduction.verdicts import (
    VERDICTS,
    Claim,
    figure_claims,
    number_counts,
    parse_claims,
    parse_sentences,
    told_numbers,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("gain", "n", "verdict"), list(zip((1.0, -1.0, 0.001, 1.0), (4, 4, 4, 1), VERDICTS, strict=True))
)
def test_what_the_judge_writes_is_read(gain, n, verdict):
    frame = frame_of([{"dataset": "d", "split": f"s{k}", "a": gain + 0.01 * k * (-1) ** k} for k in range(n)])
    one = ClaimRow(
        "p", "s", "joint learning (of 2) beats 0.5 alignment", "gain", {"a": "a"}, at_least=0.0, numbers="Or so"
    )
    (claim,) = parse_sentences(judge([one], {"s": frame}))
    assert (claim.verdict, claim.text) == (verdict, "joint learning (of 2) beats 0.5 alignment")
    assert claim.reason.endswith("Or so.")


def test_contexts_lead_to_the_claims_below_them():
    remarks = [
        "By these numbers, D - W:",
        "agrees: one. 1.",
        "not a claim.",
        "",
        "differs: two. 2.",
        "Differs: three. 3.",
    ]
    assert [(claim.text, claim.context) for claim in parse_sentences(remarks)] == [
        ("one", "By these numbers, D - W"),
        ("two", ""),
    ]


def test_every_verdict_of_a_whole_table_is_read():
    text = (ROOT / "results" / "recorded" / "spectrum_learning" / "table.md").read_text(encoding="utf-8")
    remarks = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    judged = [line for line in remarks if re.match(rf"({'|'.join(VERDICTS)}): ", line)]
    found = parse_claims(Report("t", "T", remarks=remarks))
    assert len(found) == len(judged) >= 8
    assert [f"{claim.verdict}: {claim.text}. {claim.reason}" for claim in found] == judged


def test_claims_of_figures_are_found_where_figures_put_them():
    sentence = "agrees: so. In 2 of 2."
    claim = Claim("agrees", "so", "In 2 of 2.")
    assert figure_claims({"claims": [sentence]}) == [claim]
    assert figure_claims({"claims": [[sentence], 3]}) == [claim]
    assert figure_claims({"claims": {"plain": [sentence]}}) == [claim._replace(context="plain")]
    assert figure_claims({"claims by labels": {"2": ["A:", sentence]}}) == [claim._replace(context="by labels 2, A")]
    assert figure_claims({"error": [1.0]}) == figure_claims(None) == figure_claims({"claims": 3}) == []


NAN = math.nan
LINES = [
    Line("a", "svm", "", 10.0, 1.0, 40, 10.2, 2.0),
    Line("a", "rls", "", 10.0, 1.0, 40, 14.0, 1.0),
    Line("a", "far", "", 10.0, 1.0, 4, 11.0, 1.0),
    Line("a", "two", "", 10.0, 1.0, 2, 10.0, 1.0),
    Line("a", "none", "", 10.0, 1.0, 4),
    Line("a", "same", "", 10.0, NAN, 3, 10.004),
]


def test_published_numbers_are_asked_one_by_one():
    assert [line.agreement for line in LINES] == ["agrees", "differs", "inconclusive", "not judged", "", "agrees"]
    sections = [Section("Table 2", LINES), Section("Table 3, times", LINES), Section("U", LINES[4:5])]
    assert number_counts(sections) == {"agrees": 2, "differs": 1, "inconclusive": 1, "not judged": 1}
    told = told_numbers(sections, lambda line: "unknown" if line.method == "rls" else "")
    counted = "2 agree, 1 differs, 1 inconclusive, 1 not judged"
    assert told == [f"Table 2: of 5 published numbers {counted}.", "  a rls: 10.00, published 14.00 - unknown"]


@pytest.mark.parametrize(("apart", "expected"), [(3.0, "differs"), (2.0, "inconclusive"), (1.0, "agrees")])
def test_the_margin_is_the_same_on_either_side(apart, expected):
    """Of a published 8.0 it is two points."""
    for ours in (8.0 - apart, 8.0 + apart):
        assert Line("a", "svm", "", ours, 1.0, 100, 8.0).agreement == expected


def test_runs_of_tasks_that_share_draws_are_judged_by_their_draws():
    """450 runs whose mean is known to 0.1 point by the runs, and to one point by their ten draws."""
    runs = Line("pairs", "svm", "", 10.0, 2.0, 450, 10.4)
    shared = Line("pairs", "svm", "", 10.0, 2.0, 450, 10.4, error=1.0, draws=10)
    assert (runs.agreement, shared.agreement) == ("agrees", "inconclusive")
    assert shared.interval.high - shared.interval.low == pytest.approx(2 * 1.734 * math.sqrt(2), abs=1e-3)
