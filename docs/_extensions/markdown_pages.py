"""What Markdown pages, which are to be read on a forge as well, need to be pages of the site.

Links to files of the repository that the site shows under another name lead there. The page ``index`` of a folder has
all pages of the folder in its table of contents.
"""

import re
from typing import Any

from reproduction.site import page_name

# Files of the repository that the site shows under another name.
_SHOWN = {"README.md": "index.md", "CONTRIBUTING.md": "adding.md", "CHANGELOG.md": "changes.md"}


def site_link(link: str, docname: str) -> str:
    """Return a link of the page `docname` as the site has it: notebooks and the pages of the root are among its own.

    Examples
    --------
    >>> site_link("../../notebooks/01.ipynb", "papers/index"), site_link("../README.md#map", "guide")
    ('../notebooks/01.ipynb', 'index.md')
    >>> site_link("../results/recorded/auto_ssl-draws=30/table.md", "auto_ssl")
    'recorded/auto_ssl-draws-30.md'
    >>> site_link("certificates.md#gaps", "guide"), site_link("../figures/clock.py", "guide")
    ('certificates.md#gaps', '../figures/clock.py')
    """
    up = "../" * docname.count("/")
    out, inside, name = link.partition(f"{up}../")
    if out or not inside:
        return link
    if name.startswith("notebooks/"):
        return up + name
    if name.startswith("results/recorded/") and name.endswith("/table.md"):
        return f"{up}recorded/{page_name(name.split('/')[2])}.md"
    return up + _SHOWN[name.partition("#")[0]] if name.partition("#")[0] in _SHOWN else link


_FOLDER = """
```{toctree}
:hidden:
:glob:

*
```
"""


def mend_page(app: Any, docname: str, source: list[str]) -> None:
    """Let links that leave the folder docs stay on the site, and the index of a folder list the folder."""
    source[0] = re.sub(r"\]\(([^)\s]+)\)", lambda link: f"]({site_link(link[1], docname)})", source[0])
    if docname.endswith("/index"):
        source[0] += _FOLDER


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", mend_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
