"""Arrays and archives as a forger would write them: headers that announce anything, checksums that are right."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from typing import Any

import numpy as np


def npy(array: Any) -> bytes:
    """Return an array as the bytes of a .npy file."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array))
    return buffer.getvalue()


def header(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    """Return the beginning of a .npy file that announces an array."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": descr, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, seal: bool = True) -> bytes:
    """Return a zip archive, with the checksum of a whole file at its end or without it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = bytes(71) if seal else b""
    content = buffer.getvalue()
    if not seal:
        return content
    return content[:-71] + b"sha256:" + hashlib.sha256(content[:-71]).hexdigest().encode()


def opened(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the document of an archive without its checksum, and all other members."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(members.pop("header.json"))
    document.pop("checksum")
    return document, members


def closed(document: dict[str, Any], members: dict[str, bytes], **options: Any) -> bytes:
    """Return an archive with right checksums; that of the document may be given in it."""
    plain = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    document = {"checksum": hashlib.sha256(plain).hexdigest(), **document}
    return zipped({"header.json": json.dumps(document).encode(), **members}, **options)
