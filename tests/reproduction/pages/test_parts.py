"""The parts of a page: claims under what they come from, a table with its provenance, a figure with its caption."""

from __future__ import annotations

from html_checks import parsed, text_of

from reproduction.pages.contents import read_figures, read_tables
from reproduction.pages.parts import Judged, anchor, claims_html, figure_html, judged_figure, record_html, tally
from reproduction.pages.pictures import linked
from reproduction.verdicts import Claim
from specmargin.markup import document


def test_claims_have_verdicts_in_words_and_others_are_folded():
    main = Judged("table a", "#a", [Claim("reproduced", "a < b", "In 9 of 10.", "D - W"), Claim("not reproduced", "c")])
    other = Judged("figure f", "#f", [Claim("partly reproduced", "d", "word " * 200)], main=False)
    html = claims_html([main, other, Judged("table none", "#none", [])])
    text = text_of(document("t", f"<p id=a></p><p id=f></p>{html}"))
    for part in ("reproduced a < b In 9 of 10.", "not reproduced c", "partly reproduced d", "table a: D - W"):
        assert part in text
    assert "none" not in html
    assert html.index("a &lt; b") < html.index("<details>") < html.index("partly reproduced</span>")
    assert text.count("word") == 200
    assert claims_html([]) == ""


def test_verdicts_are_counted():
    assert (
        tally([Claim("reproduced", ""), Claim("reproduced", "")])
        == "2 reproduced, 0 partly reproduced, 0 not reproduced"
    )


def test_a_table_has_its_numbers_protocol_and_provenance(results):
    there, _ = read_tables(results("lapsvm_svm"))
    html = record_html(there["lapsvm_svm"], "unused")
    text = text_of(document("t", html))
    for number in ("9.50 (1.25)", "9.33 (2.00)", "+0.17", "5.55 (0.75)", "12.17", "-6.62", "23.17"):
        assert number in text, number
    for part in ("OPTIMISTIC: <so>.", "us & pst", "[1] other <protocol>", "in all rows: splits 10, tuning folds"):
        assert part in text, part
    assert "python -m reproduction tables lapsvm_svm --record" in text
    assert "in 2 cells, 0 of them failed" in text
    assert "numpy 2." in text
    assert "Worst relative gap 1.0e-09" in text


def test_an_unfinished_table_says_how_much_there_is(results):
    there, _ = read_tables(results("lapsvm_svm", ks=(0, 99)))
    text = text_of(document("t", record_html(there["lapsvm_svm"], "The title")))
    assert "1 cell of the table is recorded, no table yet" in text
    assert "The title" in text
    assert "python -m reproduction tables lapsvm_svm --record" in text


def test_a_marked_table_says_its_marks_in_text_of(results):
    there, _ = read_tables(results("spectrum_learning", marked=True))
    html = record_html(there["spectrum_learning"], "unused")
    assert 'class="best" title="best">9.25' in html
    assert 'class="light" title="not significantly worse">' in html
    assert "How often of 1 rows:" in text_of(document("t", html))


def test_a_figure_has_its_caption_below_and_its_origin(drawn):
    folder = drawn("spectra", size="quick", results={"claims": ["reproduced: so. In 1 of 1."]})
    figures, _ = read_figures(folder)
    page = document("t", figure_html(figures["spectra"], linked))
    (picture,) = parsed(page).pictures
    assert picture["alt"] == "The <figure> spectra."
    assert picture["src"] == "spectra.svg"
    text = text_of(page)
    places = [text.index(part) for part in ("The <figure> spectra", 'After "figure 1". See sm.LapSVM.', "More")]
    assert [*places, text.index("A second paragraph.")] == sorted([*places, text.index("A second paragraph.")])
    assert "quick: for a look" in text
    assert "python -m reproduction figures spectra --quick" in text
    assert "2026-01-02, size quick, seed 0, 3 s" in text
    judged = judged_figure(figures["spectra"])
    assert (judged.name, judged.main) == ("figure spectra, quick", False)
    assert judged.claims == [Claim("reproduced", "so", "In 1 of 1.")]
    assert anchor("figure", "spectra") in page
