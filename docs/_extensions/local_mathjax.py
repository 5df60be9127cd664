"""MathJax from an installed package, not from a network: the files that formulas need go into the site.

`sphinx-mathjax-offline` has them all, 24 MB with the spoken formulas of a dozen languages; 1 MB of them is shown.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_FILES = ("tex-chtml.js", "output/chtml/fonts/woff-v2")


def copy_mathjax(app: Any, error: Exception | None) -> None:
    """Copy the script and its fonts next to the other static files."""
    if error is not None or app.builder.format != "html":
        return
    package = find_spec("sphinx-mathjax-offline")
    assert package is not None, "sphinx-mathjax-offline is not installed; run make docs"
    assert package.origin is not None
    source, target = Path(package.origin).parent / "static" / "mathjax", Path(app.outdir) / "_static" / "mathjax"
    for name in _FILES:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, dirs_exist_ok=True)
        else:
            shutil.copyfile(source / name, target / name)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.config.mathjax_path = "mathjax/tex-chtml.js"
    app.connect("build-finished", copy_mathjax)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
