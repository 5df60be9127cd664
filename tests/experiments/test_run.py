"""Reproduced beside published: lines, the word "optimistic", footers, files."""

from __future__ import annotations

import csv
import io
import math

import pytest

from specmargin.experiments import (
    Cell,
    Experiment,
    Findings,
    Line,
    Reference,
    Report,
    Section,
    Setup,
    UnlabeledPoints,
    ValidationSet,
    compare,
    footer,
    run,
    run_sweep,
)

TABLE4 = Reference("lapsvm_primal_2009", "4", "svm", note="other splits")
TABLE15 = Reference("survey2008", "15", "lapsvm_dual")

# Per split (validation error, unlabelled error) of the two settings.
ERRORS = {"s0": [(1.0, 12.0), (2.0, 8.0)], "s1": [(5.0, 10.0), (4.0, 11.0)]}


def rows_of(tmp_path, dataset="g50c", method="svm", errors=ERRORS, **options):
    cells = [Cell("t", method, dataset, s, {"k": k}) for k in range(2) for s in errors]

    def work(cell):
        v, u = errors[cell.split][cell.parameters["k"]]
        return {"error_validation": v, "error_unlabeled": u, "relative_gap": -1e-7 if u == 8.0 else 1e-9}

    return run_sweep(cells, work, folder=tmp_path / "sweep", version="1", progress=False, **options)


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


def test_every_form_says_optimistic(tmp_path):
    lines = compare(rows_of(tmp_path), [LabeledFoldsOff(), UnlabeledPoints()], {"svm": [TABLE4]})
    report = Report("t", "T", [Section("", lines)])
    for form in (report.text(), report.csv(), report.markdown()):
        assert [("optimistic" in row) for row in form.splitlines() if "g50c" in row] == [False, True]


class LabeledFoldsOff(ValidationSet):
    """A protocol of another family, as later experiments may bring them."""


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


def test_text_is_aligned_and_csv_unrounded():
    nan = math.nan
    lines = [
        Line("g50c", "svm", "fixed", 10 / 3, 0.123456, 10, 9.33, nan, "paper", "a | b"),
        Line("a_long_name", "s", "fixed", nan, nan, 0),
    ]
    report = Report("t", "Title", [Section("", lines)], ["HEAD"], ["FOOT"])
    text = report.text().splitlines()
    assert text[:2] == ["Title", "HEAD"]
    assert text[-1] == "FOOT"
    at = text[3].index("reproduced")
    assert text[4][at:].startswith("3.33 (0.12)")
    assert text[5][at:].startswith("-")
    assert "[1] a | b" in text
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert float(rows[0]["mean"]) == 10 / 3
    assert rows[0]["published_std"] == rows[1]["mean"] == ""
    assert "a \\| b" in report.markdown()


def test_footer_tells_of_failures_gaps_versions_and_command(tmp_path):
    rows = rows_of(tmp_path, provenance={"versions": {"numpy": "9.9", "ecos": None}, "git": None, "platform": "P"})
    rows[0] |= {"status": "failed", "error": "ValueError: x", "warnings": "w"}
    lines = footer(rows, tmp_path / "sweep", "specmargin tables t")
    assert lines[0].startswith("cells: 4, failed: 1, e.g. ValueError: x, with warnings: 1, ")
    assert lines[1] == "worst relative gap of a certificate: -1.0e-07"
    assert lines[2] == "versions: numpy 9.9; P"
    assert lines[3:] == ["command: specmargin tables t"]


def test_footer_tells_of_mixed_versions(tmp_path):
    one, two = (
        {"versions": {"specmargin": v}, "git": {"commit": v * 40, "dirty": v == "2"}, "platform": "P"} for v in "12"
    )
    rows_of(tmp_path, provenance=one, errors={"s0": ERRORS["s0"]})
    lines = footer(rows_of(tmp_path, provenance=two), tmp_path / "sweep", "c")
    assert "different versions" in lines[2]
    assert lines[3] == "versions: specmargin 1, commit 111111111111; P"
    assert lines[4] == "versions: specmargin 2, commit 222222222222 and uncommitted changes; P"


def test_run_passes_options_and_writes_files(tmp_path):
    got = []

    def build(options):
        got.append(options)
        return Setup(None, {})

    def nothing(*_):
        return []

    toy = Experiment("toy", "A toy", "Toy", build, nothing, lambda *_: Findings([]), nothing)
    run(toy, quick=True, data=tmp_path, out=tmp_path / "out", jobs=3, fresh=True)
    run(toy, out=tmp_path / "out", retry_failed=True, progress=False)
    assert [options.folder.name for options in got] == ["toy-quick", "toy"]
    assert got[0].folder.parent == tmp_path / "out" / "sweeps"
    assert (got[0].quick, got[0].data, got[0].jobs, got[0].fresh, got[0].retry_failed) == (
        True,
        tmp_path,
        3,
        True,
        False,
    )
    assert (got[1].fresh, got[1].retry_failed, got[1].progress) == (False, True, False)
    written = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    assert written == {f"{name}.{ending}" for name in ("toy", "toy-quick") for ending in ("txt", "csv", "md")}
