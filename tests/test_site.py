"""The pages of docs: all can be reached, none links to nothing; and the site made of them, where Sphinx is there."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

import specmargin

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

# What `make docs` writes into docs; git ignores it.
MADE = ("_build", "api", "gallery", "notebooks", "recorded")

FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1", re.MULTILINE | re.DOTALL)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|<img[^>]* src=\"([^\"]+)\"")


def pages(docs: Path) -> dict[str, str]:
    """Return the text of every page that is written by hand or kept, by its name without ending."""
    paths = (path.relative_to(docs) for path in sorted(docs.rglob("*.md")))
    kept = [path for path in paths if path.parts[0] not in MADE]
    return {path.with_suffix("").as_posix(): (docs / path).read_text(encoding="utf-8") for path in kept}


def listed(name: str, text: str) -> list[str]:
    """Return the entries of the tables of contents of a page, from the root of docs on."""
    lines = [line for block in TOCTREE.findall(text) for line in block.splitlines() if line and line[0] != ":"]
    if name.endswith("/index"):  # as docs/_extensions/markdown_pages.py has it
        lines.append("*")
    return [(Path(name).parent / line.strip()).as_posix() for line in lines]


def unlisted(docs: Path) -> set[str]:
    """Name the pages that no other page has in its table of contents."""
    texts = pages(docs)
    return {
        page
        for page in texts.keys() - {"index"}
        if not any(fnmatch(page, entry) for name, text in texts.items() if name != page for entry in listed(name, text))
    }


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page, as a forge makes them."""
    titles = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(path: Path) -> list[str]:
    """List the relative links and pictures of a page that lead nowhere."""
    found = []
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for link in (first or second for first, second in LINK.findall(re.sub(r"`[^`\n]*`", "", text))):
        if re.match(r"[a-z]+:", link):
            continue
        file, _, anchor = link.partition("#")
        target = path.parent / file if file else path
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
            found.append(link)
    return found


def extension(name: str) -> ModuleType:
    """Import a module of docs/_extensions."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "_extensions" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_a_table_of_contents() -> None:
    assert len(pages(DOCS)) > 10
    assert unlisted(DOCS) == set()


def test_tables_of_contents_name_what_is_there() -> None:
    texts = pages(DOCS)
    entries = {entry for name, text in texts.items() for entry in listed(name, text)}
    missing = {entry for entry in entries if not any(fnmatch(page, entry) for page in texts)}
    made = {entry for entry in missing if entry.split("/")[0] in MADE}
    assert missing - made == set()

    modules = {entry.removeprefix("api/") for entry in made if entry.startswith("api/")}
    assert {name for name in modules if importlib.util.find_spec(f"specmargin.{name}") is None} == set()
    public = {name for name in specmargin.__all__ if isinstance(getattr(specmargin, name), ModuleType)}
    assert public - modules == set(), "modules without a page of the API"


def markdown() -> Iterator[Path]:
    """Yield the pages of docs and those of the root."""
    yield from (DOCS / f"{name}.md" for name in pages(DOCS))
    yield from (ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))


def test_no_link_leads_nowhere() -> None:
    assert {path.name: links for path in markdown() if (links := broken_links(path))} == {}


def test_planted_page_and_links_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# A page\n\n```{toctree}\n:hidden:\n\nsecond\n*/index\n```\n")
    (tmp_path / "tables").mkdir()
    for name in ("second", "third", "tables/index", "tables/fourth"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n")
    assert unlisted(tmp_path) == {"third"}

    page = tmp_path / "second.md"
    page.write_text(
        "# Two words\n[a](index.md#a-page) [b](#two-words) [c](https://a.b) `[d](d.md)`\n"
        '[e](e.md) [f](index.md#nothing) ![g](g.png)\n<img src="h.png">\n```\n[i](i.md)\n```\n'
    )
    assert broken_links(page) == ["e.md", "index.md#nothing", "g.png", "h.png"]


def test_wrong_pages_are_noticed(tmp_path: Path) -> None:
    check = extension("built_pages").complaints
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html#x">b</a><a href="https://elsewhere/">c</a>')
    (tmp_path / "b.html").write_text('<p id="x"><a href="#x"></a><img src="data:image/png;base64,"></p>')
    assert list(check(tmp_path)) == []
    (tmp_path / "b.html").write_text('<script src="https://elsewhere/x.js"></script><a href="c.html"></a>')
    assert list(check(tmp_path)) == [
        "a.html: no anchor for b.html#x",
        "b.html: no file for c.html",
        "b.html: loads https://elsewhere/x.js",
    ]


def test_links_to_recorded_tables_lead_to_their_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    link = extension("markdown_pages").site_link
    assert link("../results/recorded/toy-draws=30/table.md", "auto_ssl") == "recorded/toy-draws-30.md"
    assert link("../../results/recorded/toy-draws=30/table.md", "tables/index") == "../recorded/toy-draws-30.md"


def test_the_page_of_autossl_begins_with_code() -> None:
    before = (DOCS / "auto_ssl.md").read_text(encoding="utf-8").partition("```python")[0]
    assert len(before.split()) < 60


SPHINX = ("sphinx", "myst_nb", "numpydoc", "furo", "sphinx-mathjax-offline")


def needs_sphinx() -> None:
    """Skip the test where what `make docs` installs is not there."""
    for module in SPHINX:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed; make docs installs it")


@pytest.mark.parametrize("name", [path.stem for path in sorted((DOCS / "_extensions").glob("*.py"))])
def test_examples_of_extensions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_sphinx()
    monkeypatch.syspath_prepend(str(DOCS / "_extensions"))
    assert doctest.testmod(extension(name)).failed == 0


@pytest.mark.slow
def test_pictures_are_drawn_of_the_examples(tmp_path: Path) -> None:
    needs_sphinx()
    extension("api_pages").draw_pictures(tmp_path)
    drawn = {path.stem for path in tmp_path.iterdir()}
    assert {"LapSVM", "STORM", "SpectralRidge", "DecisionDisplay", "SpectrumDisplay"} <= drawn
    assert {name for name in specmargin.plots.__all__ if name.endswith("Display")} <= drawn


@pytest.mark.slow
def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """Notebooks are not run here: `make test` does."""
    needs_sphinx()
    options = ["--fail-on-warning", "--keep-going", "--quiet", "-D", "nb_execution_mode=off"]
    site = tmp_path / "html"
    command = [sys.executable, "-m", "sphinx", *options, "-d", str(tmp_path / "doctrees"), str(DOCS), str(site)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert list(extension("built_pages").complaints(site)) == []
    assert (site / "searchindex.js").stat().st_size > 10_000
    assert extension("api_pages").unlisted() == []
    for name in pages(DOCS):
        assert (site / f"{name}.html").is_file(), name
    for name in extension("api_pages").estimators():  # an example stands on the first screen
        text = re.sub(
            r"<[^>]+>", " ", (site / "api" / f"{name}.html").read_text(encoding="utf-8").partition("<article")[2]
        )
        assert len(text.partition("&gt;&gt;&gt;")[0].split()) < 300, name
    for page in (site / "api").glob("*.html"):  # a class shows its parameters, not what its __new__ takes
        text = re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))
        assert not re.search(r"\*\*?(given|named|_)\b", text), page
    captions = (site / "gallery.html").read_text(encoding="utf-8")
    assert captions.count("gallery-card") == len(list((ROOT / "figures").glob("*.py")))
