"""A finished table as HTML: numbers, notes and marks, escaped, in one page and in all files."""

from __future__ import annotations

import json
import math
import re

from reproduction.report import Line, Report, Section
from reproduction.report_page import notes_html, report_html, section_html, write_report


def test_marks_are_as_counted_and_texts_escaped(report):
    page = report_html(report)
    assert page.count('class="best"') == 2
    assert page.count('class="light"') == 1
    assert "HEAD &lt;x&gt;" in page
    assert page.count("p &amp; q") == 1  # above its two rows
    assert page.count("<tr") == page.count("</tr>") == 1 + 1 + 2 + 4
    assert "http" not in page  # a page of its own
    for part in ("CLAIM", "FOOT", "6.75 <small>(1.06)</small>", "<td>-</td>"):
        assert part in page


def test_all_files_are_written(report, tmp_path):
    names = [path.name for path in write_report(report, tmp_path)]
    assert names == ["t.txt", "t.csv", "t.md", "t.json", "t.html"]
    assert (tmp_path / "t.html").read_text() == report_html(report)
    assert Report.from_json(json.loads((tmp_path / "t.json").read_text())).text() == report.text()


def test_what_is_compared_comes_first_and_what_is_the_same_once():
    nan = math.nan
    lines = [
        Line("g50c", "svm", "folds", 9.5, 1.2, 10, 9.33, nan, "table 4", "a note"),
        Line("g50c", "rls", "folds", 8.5, 1.2, 10, 9.33, nan, "table 4", "another"),
        Line("g50c", "lapsvm", "folds", 7.5, nan, 10, nan, nan, "table 4", "a note"),
    ]
    html = section_html(Section("", lines), "errors")
    heads = re.findall(r"<th scope=col[^>]*>(\w+)", html)
    assert heads == ["method", "reproduced", "published", "difference", "note"]
    assert "in all rows: splits 10, tuning folds, source table 4" in html
    assert "[1] a note" in html
    assert html.count("<td>[1]</td>") == 2
    assert "+0.17" in html
    own = [Line(f"set {k}", "svm", "folds", float(k), 1.0, 10, note=f"note {k}") for k in range(9)]
    assert '<td class="text">note 8</td>' in section_html(Section("", own), "errors")
    alone = section_html(Section("", lines[:1]), "errors")
    assert re.findall(r"<th scope=col[^>]*>(\w+)", alone)[0] == "dataset"
    assert "in all rows" not in alone


def test_remarks_keep_their_order_and_what_leads_them():
    html = notes_html(["first", "A head:", "  below <it>", "", "last"])
    assert html == ("<ul><li>first</li></ul><p>A head:</p><ul><li class=under>below &lt;it&gt;</li><li>last</li></ul>")
    assert notes_html([]) == ""
