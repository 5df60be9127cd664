"""Every table and every figure belongs to one paper."""

from collections import Counter

from reproduction.gallery import available_figures
from reproduction.papers import bibliography, modules, tables
from reproduction.papers.bibliography import PAPERS, homeless_tables, paper_of_figure


def test_every_table_and_every_figure_has_one_home():
    assert Counter(name for paper in PAPERS for name in paper.tables) == Counter(list(tables()))
    assert Counter(name for paper in PAPERS for name in paper.figures) == Counter(list(available_figures()))
    assert homeless_tables() == ()
    assert all(paper_of_figure(name) is not None for name in available_figures())
    assert paper_of_figure("of_nobody") is None


def test_a_table_of_a_new_module_is_without_a_home(monkeypatch):
    added = {**modules(), "toy_2030": (tables()["lapsvm_svm"],)}
    monkeypatch.setattr(bibliography, "modules", lambda: added)
    assert homeless_tables() == ("lapsvm_svm",)


def test_papers_are_named_and_what_is_ours_has_no_authors():
    assert [paper.name for paper in PAPERS[:5]] == [
        "Belkin, Niyogi & Sindhwani (2006)",
        "Melacci & Belkin (2011)",
        "Shivaswamy & Jebara (2010)",
        "Chapelle, Chi & Zien (2006)",
        "Gieseke, Airola, Pahikkala & Kramer (2014)",
    ]
    assert len({paper.key for paper in PAPERS}) == len(PAPERS)
    for paper in PAPERS:
        assert bool(paper.authors) == bool(paper.venue) == bool(paper.year)
        assert paper.protocol.count(". ") == 1  # two sentences
        assert set(paper.modules) <= modules().keys()
        assert paper.authors or paper.name == paper.title
