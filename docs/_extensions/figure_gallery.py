"""The figures: a page of thumbnails by the directive ``figure-gallery``, and a page for each in docs/gallery.

Pictures are those that `make figures` has left in figures/output, and what was drawn is read from their sidecars.
Nothing is computed here: where there is no picture yet, the command stands in its place.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from reproduction.figure_scripts import described, figure_scripts
from reproduction.papers.bibliography import PAPERS
from reproduction.site import figure_pages, plain, write_pages


def write_figures(app: Any) -> None:
    """Write the pages of the figures."""
    root, target = Path(app.srcdir).parent, Path(app.srcdir) / "gallery"
    write_pages(target, figure_pages(root / "figures" / "output", target))


class FigureGallery(SphinxDirective):
    """Thumbnails that lead to the pages, under the titles of the papers."""

    def run(self) -> list[nodes.Node]:
        """Read the scripts, and look for their pictures."""
        scripts = figure_scripts(Path(self.env.srcdir).parent / "figures")
        groups = {
            paper.title.partition(":")[0]: [name for name in paper.figures if name in scripts] for paper in PAPERS
        }
        listed = {name for names in groups.values() for name in names}
        groups["Other figures"] = [name for name in scripts if name not in listed]
        return [self._group(title, {name: scripts[name] for name in names}) for title, names in groups.items() if names]

    def _group(self, title: str, scripts: dict[str, Path]) -> nodes.Node:
        grid = nodes.container(classes=["gallery"])
        grid += [self._card(name, path) for name, path in scripts.items()]
        return nodes.section("", nodes.title("", title), grid, ids=[nodes.make_id(title)])

    def _card(self, name: str, path: Path) -> nodes.Node:
        title, caption, _ = described(path.read_text(encoding="utf-8"))
        picture = path.parent / "output" / f"{name}.png"
        for file in (path, picture):  # one that is missing now has this page read again the next time
            self.env.note_dependency(str(file))
        uri = self.env.app.builder.get_relative_uri(self.env.docname, f"gallery/{name}")
        link = nodes.reference(internal=True, refuri=uri)
        if picture.is_file():
            link += nodes.image(uri=f"../figures/output/{picture.name}", alt="", loading="lazy")
        link += nodes.strong("", title.rstrip("."))
        card = nodes.container("", nodes.paragraph("", "", link), classes=["gallery-card"])
        self.state.nested_parse(StringList([plain(caption)], source=str(path)), 0, card)
        return card


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("figure-gallery", FigureGallery)
    app.connect("builder-inited", write_figures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
