"""What is wrong with a built site: links that lead nowhere, and pages that ask another host for something.

``python docs/_extensions/built_pages.py docs/_build/html`` is run by `make docs`.
"""

import argparse
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser loads by itself; a link is followed by its reader.
_LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}


class _Page(HTMLParser):
    """Anchors, links and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag, name) == ("a", "name"):
                self.anchors.add(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)
            elif (tag, name) in _LOADED:
                self.loaded.append(value)


def complaints(folder: Path) -> Iterator[str]:
    """Yield a line for each link of the pages in `folder` that is broken, and for each foreign file that one loads."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    yield f"{name}: loads {link}"
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                yield f"{name}: no file for {link}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{name}: no anchor for {link}"


def main() -> int:
    """Print the complaints about the site in the folder that is named first; return how many there are."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the built site")
    folder = parser.parse_args().folder
    if not folder.is_dir():
        parser.error(f"{folder} is no folder")
    found = list(complaints(folder))
    sys.stdout.write("".join(f"{line}\n" for line in found))
    pages = len(list(folder.rglob("*.html")))
    sys.stdout.write(f"{pages} pages, {len(found)} broken links or foreign files\n")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
