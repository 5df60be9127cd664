"""The notebooks as pages: copies in docs/notebooks, which git ignores, with anchors that the site has.

Jupyter jumps to a heading by its text with hyphens for blanks, ``#1.-The-question``; here anchors are those of Markdown
pages, ``#1-the-question``.
"""

import json
import re
from pathlib import Path
from typing import Any


def page_anchor(title: str) -> str:
    """Return the anchor of a heading whose anchor in Jupyter is `title`.

    Examples
    --------
    >>> page_anchor("3.-The-dual,-by-hand")
    '3-the-dual-by-hand'
    """
    return re.sub(r"[^\w-]", "", title.lower())


def with_page_anchors(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook whose links within itself work on the site."""

    def mend(line: str) -> str:
        return re.sub(r"\]\(#([^)]+)\)", lambda link: f"](#{page_anchor(link[1])})", line)

    cells = [
        {**cell, "source": [mend(line) for line in cell["source"]]} if cell["cell_type"] == "markdown" else cell
        for cell in notebook["cells"]
    ]
    return {**notebook, "cells": cells}


def copy_notebooks(app: Any) -> None:
    """Write the copies, and touch those alone that change."""
    source, target = Path(app.srcdir).parent / "notebooks", Path(app.srcdir) / "notebooks"
    target.mkdir(exist_ok=True)
    written = set()
    for path in sorted(source.glob("*.ipynb")):
        text = json.dumps(with_page_anchors(json.loads(path.read_text(encoding="utf-8"))), indent=1)
        copy = target / path.name
        if not copy.is_file() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")
        written.add(copy)
    for stale in set(target.glob("*.ipynb")) - written:
        stale.unlink()


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", copy_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
