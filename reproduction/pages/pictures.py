"""Pictures in a page: written into it as data, or named by the file next to it."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from specmargin.markup import escape

__all__ = ["Source", "embedded", "embedded_small", "linked", "picture_html"]

Source: TypeAlias = Callable[[Mapping[str, Path]], str]
"""Returns the address of a picture, of which there may be several forms."""

_KINDS = {"svg": "image/svg+xml", "png": "image/png"}
_WIDE = 380.0  # points; more than a phone shows
_WIDTH = re.compile(rb'<svg[^>]*?\swidth="([\d.]+)pt"')


def embedded(pictures: Mapping[str, Path]) -> str:
    """Return a picture as data: SVG where there is one."""
    return _data(next(ending for ending in _KINDS if ending in pictures), pictures)


def embedded_small(pictures: Mapping[str, Path]) -> str:
    """Return the smaller of SVG and PNG as data."""
    return _data(min(pictures, key=lambda ending: pictures[ending].stat().st_size), pictures)


def _data(ending: str, pictures: Mapping[str, Path]) -> str:
    return f"data:{_KINDS[ending]};base64,{b64encode(pictures[ending].read_bytes()).decode()}"


def linked(pictures: Mapping[str, Path]) -> str:
    """Return the name of a picture that lies in the folder of the page."""
    return quote(pictures[next(ending for ending in _KINDS if ending in pictures)].name)


def picture_html(pictures: Mapping[str, Path], source: Source, caption: str) -> str:
    """Return a picture with its caption in words; a wide one scrolls in a box of its own on a phone."""
    wide = " wide" if "svg" in pictures and _is_wide(pictures["svg"]) else ""
    return f'<div class="picture{wide}"><img src="{source(pictures)}" alt="{escape(caption)}"></div>'


def _is_wide(picture: Path) -> bool:
    with picture.open("rb") as file:
        width = _WIDTH.search(file.read(4096))
    return width is not None and float(width[1]) > _WIDE
