"""The figures: a page of thumbnails by the directive ``figure-gallery``, and a page for each in docs/gallery.

Pictures are those that `make figures` has left in figures/output, and what was drawn is read from their sidecars.
Nothing is computed here: where there is no picture yet, the command stands in its place.
"""

import json
import math
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from reproduction.figure_scripts import described, expected_seconds, figure_scripts
from reproduction.papers.bibliography import PAPERS


def minutes(seconds: float | None) -> str:
    """Return a duration as one reads it.

    Examples
    --------
    >>> minutes(20.0), minutes(200.0), minutes(None)
    ('20 seconds', '4 minutes', 'unknown')
    """
    if seconds is None:
        return "unknown"
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    return f"{math.ceil(seconds / 60)} minutes"


def markdown(text: str) -> str:
    r"""Return plain text as Markdown shows it; what stands between backticks is code already.

    Examples
    --------
    >>> markdown("C* = 1, |f|_K of `gamma_A`")
    'C\\* = 1, \\|f\\|\\_K of `gamma_A`'
    """
    parts = re.split(r"(``.+?``|`[^`]+`)", text)
    parts[::2] = [re.sub(r"([*_|<\[\]$])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def page_of_figure(name: str, script: Path) -> str:
    """Return the page of a figure: its picture, its caption, what was drawn of what, and all that the script says."""
    source = script.read_text(encoding="utf-8")
    title, caption, details = described(source)
    picture = script.parent / "output" / f"{name}.png"
    # No table of contents has the page: nineteen titles would fill the menu.
    lines = ["---", "orphan: true", "---", f"# {markdown(title.rstrip('.'))}", "", "[All figures](../gallery.md)", ""]
    if picture.is_file():
        lines += [f"```{{figure}} ../../figures/output/{name}.png", f":alt: {title}", "", markdown(caption), "```", ""]
    else:
        lines += [markdown(caption), ""]
    command = f'`make figures ARGS="{name}"`, {minutes(expected_seconds(source, "standard", real=False))} on one core'
    sidecar = picture.with_suffix(".json")
    if picture.is_file() and sidecar.is_file():
        drawn = json.loads(sidecar.read_text(encoding="utf-8"))
        of = ", ".join(f"`{data}`" for data in drawn.get("data") or {}) or "generated points"
        lines += [f"Drawn of {of}, {drawn.get('size', 'standard')} size. Draw it by {command}.", ""]
    else:
        lines += [f"Not drawn yet in this checkout; draw it by {command}.", ""]
    return "\n".join([*lines, markdown(details)]) + "\n"


def write_pages(app: Any) -> None:
    """Write the pages, and touch those alone that change."""
    scripts = figure_scripts(Path(app.srcdir).parent / "figures")
    target = Path(app.srcdir) / "gallery"
    target.mkdir(exist_ok=True)
    for name, script in scripts.items():
        page, text = target / f"{name}.md", page_of_figure(name, script)
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    for stale in {page for page in target.glob("*.md") if page.stem not in scripts}:
        stale.unlink()


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
        self.state.nested_parse(StringList([markdown(caption)], source=str(path)), 0, card)
        return card


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("figure-gallery", FigureGallery)
    app.connect("builder-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
