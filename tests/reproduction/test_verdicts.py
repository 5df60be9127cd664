"""Claims are read back from what the functions of claims write, all of them and nothing else."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pandas as pd
import pytest

from reproduction import claims
from reproduction.judging import TABLE_CLAIMS, judge
from reproduction.papers._protocols import melacci_belkin_sections as sections
from reproduction.report import Line, Report, Section
from reproduction.verdicts import VERDICTS, Claim, agreement, figure_claims, parse_claims, parse_sentences

ROOT = Path(__file__).resolve().parents[2]


def one(sentence):
    (claim,) = parse_sentences([sentence])
    return claim


@pytest.mark.parametrize(("part", "verdict"), list(zip((9, 5, 1), VERDICTS, strict=True)))
def test_what_claim_writes_is_read(part, verdict):
    sentence = claims.claim("joint learning (of 2) beats 0.5 alignment", part, 10, "Lower in {part} of {whole}. Or so")
    assert one(sentence) == Claim(
        verdict, "joint learning (of 2) beats 0.5 alignment", f"Lower in {part} of 10. Or so."
    )


def test_what_order_and_within_write_is_read():
    lines = [Line("pairs", "a", "", 4.62, 1.0, 10, 4.6), Line("pairs", "b", "", 5.62, 1.0, 10, 4.2)]
    assert one(claims.order(lines)) == Claim(
        "not reproduced", "the order of the methods on pairs", "a < b; published b < a."
    )
    assert one(claims.within(lines[0], 0.7)) == Claim(
        "reproduced", "the error of pairs a", "4.62, published 4.60, within 0.7 points."
    )
    assert one(claims.within(lines[1], 0.7)).verdict == "not reproduced"
    assert parse_sentences([claims.order(lines[:1]), claims.verdict_on("s", [1.0], {False: [1.0], True: [2.0]})]) == []


@pytest.mark.parametrize("published", [True, False])
def test_what_significance_writes_is_read_with_the_set_before_it(published):
    rows = [
        {"status": "ok", "dataset": f"d{k}", "split": "s", "method": m, "error_unlabeled": e + 0.01 * k}
        for k in range(9)
        for m, e in (("a", 1.0 + 0.1 * (k % 3)), ("b", 4.0))
    ]
    found = one(f"COIL-20, {claims.significance(rows, 'a', 'b', published)}")
    assert found.verdict == ("reproduced" if published else "not reproduced")
    assert found.text == "COIL-20, significance"
    assert found.reason.startswith("a errs -2.90 points against b; p = ")
    assert parse_sentences([claims.significance(rows, "a", "b")]) == []


def test_what_the_faces_say_is_read():
    frame = pd.DataFrame(
        {"U_svm": [40.0, 41.0, 42.0, 40.5], "U_lapsvm_exact": [39.0, 39.9, 41.1, 39.4], "gain_U": 9.83}
    )
    (gain,) = [each for each in TABLE_CLAIMS["lapsvm_primal_faces"] if each.text.endswith("on U at the optimum")]
    found = one(*judge([gain], {"facemit": frame}))
    assert found.verdict == "partly reproduced"
    assert found.text == "LapSVM's gain over the SVM on U at the optimum"
    assert found.reason.startswith("In its sign only: 1.03 points")


def test_numbers_after_a_colon_are_the_reason():
    assert one("reproduced: section 3.3, v* is it: |cos| 0.95 (median of 9 runs). It errs 2.0 %.") == Claim(
        "reproduced", "section 3.3, v* is it", "|cos| 0.95 (median of 9 runs). It errs 2.0 %."
    )


def test_counts_of_numbers_are_judged_with_what_was_missed():
    lines = [
        Line("g50c", "lapsvm_newton", "", 5.0, 0.5, 12, 5.1, 0.5, "paper"),
        Line("coil20b", "lapsvm_newton", "", 13.25, 0.5, 12, 8.16, 0.5, "paper"),
        Line("uspst", "lapsvm_newton", "", 33.25, 0.5, 12, 8.16, 0.5, "paper"),
    ]
    remarks = sections.verdicts([Section("Table 4, error on U", lines), Section("Table 4, error on V", lines[:1])])
    first, second = parse_sentences([*remarks, "", "Tables 8 and 9: gammas.", "  not: a miss"])
    assert (first.verdict, first.text) == ("not reproduced", "the numbers of table 4, error on U")
    assert first.reason.startswith("1 of 3 means within two standard errors. Missed (")
    for number in ("coil20b lapsvm_newton 13.25 (published 8.16)", "uspst lapsvm_newton 33.25 (published 8.16)"):
        assert first.reason.count(number) == 1
    assert second == Claim(
        "reproduced", "the numbers of table 4, error on V", "1 of 1 means within two standard errors."
    )


def test_contexts_lead_to_the_claims_below_them():
    remarks = [
        f"The paper's claims by these numbers, D - W ({claims.RULE}):",
        "reproduced: one. 1 of 1.",
        "",
        "partly reproduced: two. 1 of 2.",
    ]
    assert [claim.context for claim in parse_sentences(remarks)] == ["The paper's claims by these numbers, D - W", ""]


def test_every_verdict_of_a_whole_table_is_read():
    text = (ROOT / "results" / "recorded" / "spectrum_learning" / "table.md").read_text(encoding="utf-8")
    remarks = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    judged = [line for line in remarks if re.match(r"(partly |not )?reproduced: ", line)]
    found = parse_claims(Report("t", "T", remarks=remarks))
    assert len(found) == len(judged) >= 8
    assert [f"{claim.verdict}: {claim.text}. {claim.reason}" for claim in found] == judged


def test_claims_of_figures_are_found_where_figures_put_them():
    sentence = "reproduced: so. In 2 of 2."
    claim = Claim("reproduced", "so", "In 2 of 2.")
    assert figure_claims({"claims": [sentence]}) == [claim]
    assert figure_claims({"claims": {"plain": [sentence]}}) == [claim._replace(context="plain")]
    assert figure_claims({"claims by labels": {"2": [sentence]}}) == [claim._replace(context="by labels 2")]
    counted = {"mean over 3 draws": {"a": {}, "b": {}}, "claims": {"the order helps": ["a"], "it is steep": []}}
    assert figure_claims(counted) == [
        Claim("partly reproduced", "the order helps", "In 1 of 2 tasks: a."),
        Claim("not reproduced", "it is steep", "In 0 of 2 tasks."),
    ]
    assert figure_claims({"error": [1.0]}) == figure_claims(None) == figure_claims({"claims": 3}) == []


def test_published_numbers_are_counted_where_nothing_is_said():
    nan = math.nan
    lines = [
        Line("a", "svm", "", 10.0, 1.0, 4, 11.4, 1.0),  # 2 sqrt(1/4 + 1/4) = 1.41
        Line("a", "rls", "", 10.0, 1.0, 4, 11.5, 1.0),
        Line("a", "far", "", 10.0, 1.0, 4, 20.0, nan),
        Line("a", "none", "", 10.0, 1.0, 4),
        Line("a", "same", "", 10.0, nan, 1, 10.004),
    ]
    report = Report("t", "T", [Section("Table 2", lines), Section("Table 3, times", lines), Section("U", lines[3:4])])
    assert agreement(report) == [
        Claim(
            "partly reproduced",
            "the published numbers of table 2",
            "2 of 4 means within two standard errors; furthest off a far: 10.00, published 20.00.",
        )
    ]
