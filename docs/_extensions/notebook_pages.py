"""The notebooks as pages: copies in docs/notebooks, which git ignores, with anchors that the site has.

Jupyter jumps to a heading by its text with hyphens for blanks, ``#1.-The-question``; here anchors are those of Markdown
pages, ``#1-the-question``. Links of other pages to files of the repository that are pages of the site, too, lead to
these.
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


# Files of the repository that the site shows under another name.
_SHOWN = {"README.md": "index.md", "CONTRIBUTING.md": "adding.md", "CHANGELOG.md": "changes.md"}


def site_link(link: str, docname: str) -> str:
    """Return a link of the page `docname` as the site has it: notebooks and the pages of the root are among its own.

    Examples
    --------
    >>> site_link("../../notebooks/01.ipynb", "papers/index"), site_link("../README.md#map", "guide")
    ('../notebooks/01.ipynb', 'index.md')
    >>> site_link("certificates.md#gaps", "guide"), site_link("../figures/clock.py", "guide")
    ('certificates.md#gaps', '../figures/clock.py')
    """
    up = "../" * docname.count("/")
    out, inside, name = link.partition(f"{up}../")
    if out or not inside:
        return link
    if name.startswith("notebooks/"):
        return up + name
    return up + _SHOWN[name.partition("#")[0]] if name.partition("#")[0] in _SHOWN else link


def mend_links(app: Any, docname: str, source: list[str]) -> None:
    """Let links that leave the folder docs stay on the site where they can."""
    source[0] = re.sub(r"\]\(([^)\s]+)\)", lambda link: f"]({site_link(link[1], docname)})", source[0])


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", copy_notebooks)
    app.connect("source-read", mend_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
