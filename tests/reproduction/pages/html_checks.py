"""What pages of HTML must be: well nested, whole, without links to what they would have to load."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_INLINE = {"a", "b", "i", "code", "small", "span", "wbr"}
_VOID = {"meta", "img", "br", "col", "wbr", "link", "input", "hr"}
_LOADING = re.compile(r"url\(\s*['\"]?(?!data:)|@import|@font-face", re.IGNORECASE)


class _Nesting(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.flaws: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.text: list[str] = []
        self.summaries = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self._apart(tag)
        if tag not in _VOID:
            self.open.append(tag)
        if tag in ("script", "link", "iframe", "object", "embed", "base"):
            self.flaws.append(f"<{tag}> in a page that loads nothing")
        if "id" in named:
            self.ids.append(named["id"] or "")
        if (named.get("href") or "").startswith("#"):
            self.targets.append((named["href"] or "")[1:])
        if tag == "img":
            self.pictures.append(named)
        if any(name.startswith("on") for name in named):
            self.flaws.append(f"a handler in <{tag}>")

    def _apart(self, tag: str) -> None:
        if tag not in _INLINE:
            self.text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._apart(tag)
        if not self.open or self.open[-1] != tag:
            self.flaws.append(f"</{tag}> closes {self.open[-3:]}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def parsed(page: str) -> _Nesting:
    """Return what a page holds, after it was checked: nesting, ids, links inside of it, nothing to be loaded."""
    reader = _Nesting()
    reader.feed(page)
    reader.close()
    assert reader.flaws == []
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids)), sorted(reader.ids)
    assert set(reader.targets) <= set(reader.ids), set(reader.targets) - set(reader.ids)
    style = "".join(re.findall(r"<style>(.*?)</style>", page, re.DOTALL))
    assert not _LOADING.search(style)
    assert "http" not in style
    # A link that a reader may follow is all that names another place.
    assert set(re.findall(r"(\w+)=['\"]?https?:", page)) <= {"href"}
    assert all("doi.org" in link for link in re.findall(r"href=['\"]?(https?:[^'\" >]+)", page))
    return reader


def text_of(page: str) -> str:
    """Return the text of a page, its blanks collapsed."""
    return " ".join("".join(parsed(page).text).split())
