"""The page of all results: claims first, then every paper; whole, offline, and honest on what is missing."""

from __future__ import annotations

import os

import pytest
from html_checks import parsed, text_of

from reproduction import papers
from reproduction.gallery import available_figures
from reproduction.pages import page as pages
from reproduction.pages import write_index, write_page
from reproduction.papers.bibliography import PAPERS
from specmargin.exceptions import InvalidInputError


def test_the_page_has_everything_and_loads_nothing(results, drawn, tmp_path):
    folder = results("lapsvm_svm")
    results("spectrum_learning", marked=True)
    figures = drawn(
        "spectra", results={"claims": {"the order helps": ["a", "b"]}, "mean over 2 draws": {"a": 1, "b": 2}}
    )
    written = write_page(tmp_path / "page.html", results=folder, figures=figures)
    html = written.path.read_text()
    assert (written.size, written.pictures, written.problems) == (len(html.encode()), "SVG", [])
    read = parsed(html)
    assert [picture["src"].partition(";")[0] for picture in read.pictures] == ["data:image/svg+xml"]
    assert "/tmp" not in html
    text = text_of(html)
    # What came out is the first sentence, and claims stand before the papers, with the verdict in words.
    first = "Of 6 claims that recorded tables judge: 2 reproduced, 2 partly reproduced, 2 not reproduced."
    assert 0 < text.index(first) < text.index("Of 14 tables 2 are recorded whole")
    assert text.index("What the papers claim") < text.index("reproduced the graph <helps> Lower error in 9 of 10")
    assert text.index("not reproduced it is best") < text.index("Four stratified folds")
    assert "1 reproduced, 1 partly reproduced, 1 not reproduced." in text
    assert "reproduced the order helps In 2 of 2 tasks: a, b." in text
    for paper in PAPERS:
        assert paper.title in text
        assert paper.protocol in text
    assert "href='https://doi.org/10.1145/1143844.1143868'" in html
    assert "Of 14 tables 2 are recorded whole, 12 are missing; of 19 figures 1 are drawn." in text


def test_what_is_missing_is_named_with_its_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("none", "nothing"):
        (tmp_path / folder).mkdir()
    text = text_of(write_page("page.html", results="none", figures="nothing").path.read_text())
    for name in papers.tables():
        assert f"Table {name} is not here yet" in text
        assert f"python -m reproduction tables {name} --record" in text
    for name in available_figures():
        assert f"Figure {name} is not here yet" in text
        assert f"python -m reproduction figures {name}" in text
    assert "No claim is judged yet" in text


def test_a_quick_record_stands_in_for_the_whole_one_but_judges_nothing(results, tmp_path):
    folder = results("lapsvm_svm", quick=True)
    (tmp_path / "no figures").mkdir()
    text = text_of(write_page(tmp_path / "p.html", results=folder, figures=tmp_path / "no figures").path.read_text())
    assert "quick: for a look, not for the record" in text
    assert "Whole table lapsvm_svm is not here yet" in text
    assert "Judged by figures, quick forms and other choices: 1 reproduced" in text
    results("lapsvm_svm")
    text = text_of(write_page(tmp_path / "p.html", results=folder, figures=tmp_path / "no figures").path.read_text())
    assert "lapsvm_svm-quick" not in text
    assert "lapsvm_svm is not here yet" not in text


def test_problems_are_on_the_page_and_in_the_answer(results, tmp_path):
    folder = results("lapsvm_svm")
    results("spectrum_learning")
    (folder / "lapsvm_svm" / "table.json").write_text("{")
    (tmp_path / "no figures").mkdir()
    written = write_page(tmp_path / "p.html", results=folder, figures=tmp_path / "no figures")
    assert len(written.problems) == 1
    text = text_of(written.path.read_text())
    assert "What could not be read" in text
    assert "1 thing could not be read" in text
    assert (folder / "lapsvm_svm" / "table.json").read_text() == "{"


def test_a_large_page_takes_the_smaller_pictures(drawn, tmp_path, monkeypatch):
    figures = drawn("spectra", svg="M0 0" * 50_000)
    (tmp_path / "none").mkdir()
    monkeypatch.setattr(pages, "MOST", 100_000)
    written = write_page(tmp_path / "p.html", results=tmp_path / "none", figures=figures)
    assert written.pictures == "PNG where SVG is larger, for with SVG it has 0.3 MB"
    assert written.size < 100_000
    assert "data:image/png" in written.path.read_text()


def test_folders_and_targets_that_will_not_do_are_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"--results .* is not a folder"):
        write_page(tmp_path / "p.html", results=tmp_path / "none")
    with pytest.raises(InvalidInputError, match=r"--figures .* is not a folder"):
        write_page(tmp_path / "p.html", figures=tmp_path / "none")
    with pytest.raises(InvalidInputError, match="is a folder; name the file"):
        write_page(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_figure_and_a_table_without_a_paper_have_a_place(results, drawn, tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "homeless_tables", lambda: ("lapsvm_svm",))
    monkeypatch.setattr(pages, "PAPERS", PAPERS[:1])
    written = write_page(tmp_path / "p.html", results=results("lapsvm_svm"), figures=drawn("of_nobody"))
    html = written.path.read_text()
    parsed(html)
    other = text_of(html).partition("No paper names them")[2]
    assert "The <figure> of_nobody" in other
    assert "5.55 (0.75)" in other


def test_an_index_shows_what_lies_in_a_folder(results, drawn, tmp_path):
    results("lapsvm_svm")
    written = write_index(tmp_path / "run")
    text = text_of(written.path.read_text())
    assert written.path.name == "index.html"
    for part in (
        "Tables",
        "reproduced the graph <helps>",
        "5.55 (0.75)",
        "table lapsvm_svm",
        "python -m reproduction tables lapsvm_svm",
    ):
        assert part in text, part
    folder = drawn("spectra")
    html = write_index(folder).path.read_text()
    thumbnail, picture = parsed(html).pictures
    assert thumbnail["src"] == picture["src"] == "spectra.svg"
    assert (folder / picture["src"]).is_file()
    assert text_of(html).count("The <figure> spectra") == 2  # below the thumbnail, above the picture


def test_an_index_of_nothing_says_so(tmp_path):
    assert "Nothing is finished yet" in text_of(write_index(tmp_path).path.read_text())
