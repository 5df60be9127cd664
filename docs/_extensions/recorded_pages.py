"""The recorded tables as pages: copies of results/recorded/NAME/table.md in docs/recorded, which git ignores."""

import json
from pathlib import Path
from typing import Any

_INDEX = """# Recorded tables

Tables that were computed whole and are kept in the repository, with every row behind them
(`results/recorded/NAME/rows.jsonl.gz`). `python -m reproduction report` makes one page of
them and of the figures, with the claims of the papers first; each command below goes on from the rows that are there.

| table | cells | hours of one core | made again by |
|---|---|---|---|
"""


def page_name(record: str) -> str:
    """Return the name of the page of a record.

    Examples
    --------
    >>> page_name("auto_ssl-draws=30")
    'auto_ssl-draws-30'
    """
    return record.replace("=", "-").replace(" ", "_").replace(",", "-")


def index(tables: dict[str, dict[str, Any]]) -> str:
    """Return the page that lists the tables, by the content of their ``table.json``."""
    lines = []
    for name, table in tables.items():
        title = table["report"]["title"].partition(":")[0].replace("|", "\\|")
        chosen = "".join(f" --set {axis}={value}" for axis, value in sorted(table["choices"].items()))
        made = f"`python -m reproduction tables {table['experiment']}{chosen}`"
        lines.append(f"| [{title}]({page_name(name)}.md) | {table['cells']} | {table['seconds'] / 3600:.2f} | {made} |")
    return _INDEX + "\n".join(lines) + "\n"


def copy_tables(app: Any) -> None:
    """Write the pages, and touch those alone that change; records that are not whole have none."""
    source, target = Path(app.srcdir).parent / "results" / "recorded", Path(app.srcdir) / "recorded"
    target.mkdir(exist_ok=True)
    whole = {place.parent.name: place.parent for place in sorted(source.glob("*/table.md"))}
    pages = {page_name(name): (place / "table.md").read_text(encoding="utf-8") for name, place in whole.items()}
    read = {name: json.loads((place / "table.json").read_text(encoding="utf-8")) for name, place in whole.items()}
    pages["index"] = index(read)
    for name, text in pages.items():
        page = target / f"{name}.md"
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
    for page in target.glob("*.md"):
        if page.stem not in pages:
            page.unlink()


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", copy_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
