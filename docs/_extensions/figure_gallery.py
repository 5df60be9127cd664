"""The directive ``figure-gallery``: each script of figures with its picture, its caption and the command that draws it.

Pictures are those that `make figures` has left in figures/output. Nothing is computed here: where there is no picture
yet, the command stands in its place.
"""

import ast
import math
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from specmargin.experiments.figure_scripts import expected_seconds, figure_scripts


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


class FigureGallery(SphinxDirective):
    """One section for each figure."""

    def run(self) -> list[nodes.Node]:
        """Read the scripts, and look for their pictures."""
        scripts = figure_scripts(Path(self.env.srcdir).parent / "figures")
        return [self._section(name, path) for name, path in scripts.items()]

    def _section(self, name: str, path: Path) -> nodes.Node:
        source = path.read_text(encoding="utf-8")
        caption, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
        section = nodes.section(ids=[nodes.make_id(f"figure-{name}")])
        section += nodes.title("", name)
        picture = path.parent / "output" / f"{name}.png"
        for file in (path, picture):  # one that is missing now has this page read again the next time
            self.env.note_dependency(str(file))
        caption_lines = StringList([caption, *rest.split("\n")], source=str(path))
        if picture.is_file():
            figure = nodes.figure()
            figure += nodes.image(uri=f"../figures/output/{picture.name}", alt=caption)
            section += figure
        self.state.nested_parse(caption_lines, 0, section)
        command = f'make figures ARGS="{name}"'
        seconds = minutes(expected_seconds(source, "standard", real=False))
        shown = "Drawn by" if picture.is_file() else "Not drawn yet in this checkout; draw it by"
        line = nodes.paragraph(classes=["figure-command"])
        line += [nodes.Text(f"{shown} "), nodes.literal("", command), nodes.Text(f", {seconds} on one core.")]
        section += line
        return section


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("figure-gallery", FigureGallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
