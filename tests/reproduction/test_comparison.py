"""Reproduced next to published: lines, the word "optimistic", what was published."""

import math

import pytest
from toy_rows import rows_of

from reproduction.comparison import Reference, compare
from reproduction.engine.protocol import UnlabeledPoints, ValidationSet
from reproduction.report import Report, Section

TABLE4 = Reference("lapsvm_primal_2009", "4", "svm", note="other splits")
TABLE15 = Reference("survey2008", "15", "lapsvm_dual")


def test_lines_by_hand(tmp_path):
    lines = compare(rows_of(tmp_path), [ValidationSet(), UnlabeledPoints()], {"svm": [TABLE4, TABLE15]})
    honest, _, flattered, _ = lines
    # Validation chooses setting 0 on s0 (12.0) and 1 on s1 (11.0), the unlabelled error 8.0 and 10.0.
    assert (honest.mean, honest.std, honest.n_splits) == (11.5, pytest.approx(math.sqrt(0.5)), 2)
    assert (flattered.mean, flattered.std) == (9.0, pytest.approx(math.sqrt(2)))
    assert (honest.published_mean, honest.published_std) == (9.33, 2.0)
    assert honest.difference == pytest.approx(11.5 - 9.33)
    assert honest.source == "lapsvm_primal_2009 table 4 svm"
    assert honest.note == "other splits"
    assert [line.source for line in lines[1::2]] == ["survey2008 table 15 lapsvm_dual"] * 2
    assert "Sindhwani" in lines[1].note
    assert math.isnan(lines[1].published_std)
    report = Report("t", "T", [Section("", lines[::2])])
    for form in (report.text(), report.csv(), report.markdown()):
        assert [("optimistic" in row) for row in form.splitlines() if "g50c" in row] == [False, True]


def test_protocol_that_chooses_by_what_is_reported_must_say_so(tmp_path):
    rows = rows_of(tmp_path)
    with pytest.raises(ValueError, match=r"ValidationSet.*chooses by 'error_validation'.*optimistic"):
        compare(rows, [ValidationSet()], {}, column="error_validation")


def test_nothing_published_and_nothing_computed(tmp_path):
    rows = rows_of(tmp_path, dataset="moons")
    (line,) = compare(rows, [UnlabeledPoints()], {"svm": [TABLE4]})
    assert (math.isnan(line.published_mean), line.source, line.note) == (True, "", "nothing published")
    for row in rows:
        row["status"] = "failed"
    (line,) = compare(rows, [UnlabeledPoints()], {})
    assert (math.isnan(line.mean), line.n_splits) == (True, 0)
    assert "  -  " in Report("t", "T", [Section("", [line])]).text()


def test_ambiguous_reference_is_refused():
    reference = Reference("survey2008", "15", "svmlight_s3vm")
    with pytest.raises(ValueError, match=r"2 published rows match.*where=.*class ratio"):
        reference.find("g50c")
    exact = Reference("survey2008", "15", "svmlight_s3vm", where={"note": "exact class ratio used"})
    assert exact.find("g50c")[0] == 6.2
    # A dash of the paper is no number.
    assert Reference("qn_s3vm", "2", "cccp_s3vm").find("no_such_set") is None
