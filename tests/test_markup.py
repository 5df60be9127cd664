"""Pages of HTML: tables keep what stands in them, and nothing gets out of its text."""

from __future__ import annotations

import re

from specmargin.markup import STYLE, Cell, captioned, document, items, table

NASTY = '<b onclick="x">&amp;\''


def test_everything_is_escaped():
    page = document(
        NASTY,
        table([NASTY, "b"], [[NASTY, NASTY], ["a", Cell(NASTY, NASTY, "best", NASTY)]], label=NASTY)
        + items([NASTY], "list")
        + captioned("<svg></svg>", NASTY),
    )
    assert "<b onclick" not in page
    assert page.count("&lt;b onclick=&quot;x&quot;&gt;&amp;amp;&#x27;") == 10
    assert "<ul class=list><li>" in page


def test_a_column_that_repeats_stands_above_its_rows():
    rows = [["set a", "svm", "1.0"], ["set a", "rls", "2.0"], ["set b", "svm", "3.0"], ["set b", "rls", "4.0"]]
    html = table(["dataset", "method", "error"], rows, label="errors", texts=[1], grouped=True)
    assert html.count("set a") == html.count("set b") == 1
    assert "<th colspan=2 scope=rowgroup><span>set a</span></th>" in html
    assert re.findall(r"<th scope=row>(\w+)</th><td>([\d.]+)</td>", html) == [(row[1], row[2]) for row in rows]
    assert re.findall(r"<th scope=col[^>]*>(\w+)", html) == ["method", "error"]


def test_a_column_that_seldom_repeats_stays():
    rows = [["set a", "svm", "1.0"], ["set b", "svm", "3.0"], ["set b", "rls", "4.0"]]
    html = table(["dataset", "method", "error"], rows, label="errors", texts=[1], grouped=True)
    assert re.findall(r"<th scope=row>([\w ]+)</th><td class=\"text\">(\w+)</td><td>([\d.]+)</td>", html) == [
        tuple(row) for row in rows
    ]
    assert "rowgroup" not in html


def test_the_look_loads_nothing_and_knows_dark_screens_phones_and_paper():
    assert "url(" not in STYLE
    assert "@import" not in STYLE
    for medium in ("prefers-color-scheme:dark", "max-width:720px", "print"):
        assert medium in STYLE
