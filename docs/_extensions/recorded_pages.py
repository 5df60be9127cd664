"""The claims, the recorded tables and the failure contract as pages, written into docs/recorded, which git ignores."""

from pathlib import Path
from typing import Any

from sphinx.util import logging

from reproduction.site import record_pages, write_pages


def write_records(app: Any) -> None:
    """Write the pages; what cannot be read is a warning."""
    root = Path(app.srcdir).parent
    pages = record_pages(root / "results" / "recorded", root / "figures" / "output")
    contract = (root / "tests" / "contract" / "failure_contract.md").read_text(encoding="utf-8")
    write_pages(Path(app.srcdir) / "recorded", {**pages.texts, "failure_contract": contract})
    for problem in pages.problems:
        logging.getLogger(__name__).warning("%s", problem)


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", write_records)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
