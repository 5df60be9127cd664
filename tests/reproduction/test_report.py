"""The table with significance marks, as text, CSV and Markdown."""

import csv
import io
import json
import math
import re

from reproduction.report import Line, Report, Section, write_report


def test_text_has_the_marks(report):
    text = report.text()
    first, second = (line for line in text.splitlines() if line.startswith("p & q"))
    assert re.split(r" {2,}", first) == ["p & q", "20", "**3.67 (0.47)**", "*3.75 (0.35)*", "8.50 (0.71)"]
    assert re.split(r" {2,}", second) == ["p & q", "40", "6.75 (1.06)", "-", "**1.50 (0.71)**"]
    assert text.index("HEAD") < text.index("p & q") < text.index("How often of 2") < text.index("CLAIM")
    counts = {line.split()[0]: line.split()[-3:] for line in text.splitlines() if line.startswith(("best", "either"))}
    assert counts == {"best": ["1", "0", "1"], "either": ["1", "1", "1"]}


def test_markdown_has_one_cell_per_column(report):
    table = [line for line in report.markdown().splitlines() if line.startswith("|")]
    assert {line.count("|") for line in table[:4]} == {6}
    assert table[2] == "| p & q | 20 | **3.67 (0.47)** | *3.75 (0.35)* | 8.50 (0.71) |"
    assert "- CLAIM" in report.markdown()


def test_csv_is_unrounded_and_says_optimistic(report):
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert [(row["n_labeled"], row["method"]) for row in rows] == [
        ("20", "one"),
        ("20", "two"),
        ("20", "three"),
        ("40", "one"),
        ("40", "three"),
    ]
    assert float(rows[0]["mean"]) == (10 / 3 + 4) / 2
    assert rows[0]["setting"] == "C=1"
    assert [row["mark"] for row in rows[:3]] == ["best", "not significantly worse", ""]
    assert all("optimistic" in row["tuning"] for row in rows)


def test_lines_are_those_of_an_ordinary_table(report):
    assert [(line.dataset, line.method, line.n_splits) for line in report.lines[-2:]] == [
        ("p & q, l = 40", "one", 2),
        ("p & q, l = 40", "three", 2),
    ]


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
    at = text[3].index("ours")
    assert text[4][at:].startswith("3.33 (0.12)")
    assert text[5][at:].startswith("-")
    assert "[1] a | b" in text
    rows = list(csv.DictReader(io.StringIO(report.csv())))
    assert float(rows[0]["mean"]) == 10 / 3
    assert rows[0]["published_std"] == rows[1]["mean"] == ""
    assert "a \\| b" in report.markdown()


def test_all_files_are_written(report, tmp_path):
    assert [path.name for path in write_report(report, tmp_path)] == ["t.txt", "t.csv", "t.md", "t.json"]
    assert (tmp_path / "t.md").read_text() == report.markdown()
    assert Report.from_json(json.loads((tmp_path / "t.json").read_text())).text() == report.text()
