"""Computed data on disk: nested arrays, numbers and strings in one ``.npz``, without pickled objects.

`write_data` and `read_data` are inverse to each other; `strict_json` makes the readable excerpt. Used by the
gallery, which draws a figure again from what was computed before.
"""

from __future__ import annotations

import io
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from specmargin.typing import AnyArray

__all__ = ["read_data", "replace_file", "strict_json", "write_data"]

logger = logging.getLogger(__name__)


def write_data(path: Path, data: Mapping[str, Any], meta: Mapping[str, Any]) -> None:
    """Write `data` (arrays, numbers, strings, None, lists and dicts of them) and `meta` (JSON values)."""
    arrays: dict[str, AnyArray] = {}
    tree = json.dumps(_pack(data, arrays, "data"))
    buffer = io.BytesIO()
    texts = {"__tree__": np.array(tree), "__meta__": np.array(json.dumps(meta))}
    # numpy's stubs take every keyword for its own option.
    np.savez_compressed(buffer, **cast(Any, {**texts, **arrays}))
    replace_file(path, buffer.getvalue())


def read_data(path: Path, depends: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return data and meta, or None where there is no file or it belongs to other settings."""
    if not path.is_file():
        return None
    try:
        with np.load(path, allow_pickle=False) as archive:
            meta = json.loads(str(archive["__meta__"]))
            if meta["depends"] != depends:
                return None
            return _unpack(json.loads(str(archive["__tree__"])), archive), meta
    except Exception as error:  # a truncated or foreign file: computing again is always right
        logger.warning("%s cannot be read (%s: %s); computing again", path.name, type(error).__name__, error)
        return None


def _pack(value: Any, arrays: dict[str, AnyArray], where: str) -> Any:
    """Replace the arrays of nested data by references, so that the rest is JSON."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufUc":
        arrays[where] = value
        return {"__array__": where}
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        return value.item()
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _pack(item, arrays, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_pack(item, arrays, f"{where}.{k}") for k, item in enumerate(value)]
    raise TypeError(
        f"{where} is of type {type(value).__name__}, which cannot be stored; compute must return arrays, "
        "numbers, strings, None, and lists and dicts (with string keys) of them."
    )


def _unpack(value: Any, archive: Mapping[str, AnyArray]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"__array__"}:
            return archive[value["__array__"]]
        return {key: _unpack(item, archive) for key, item in value.items()}
    return [_unpack(item, archive) for item in value] if isinstance(value, list) else value


def strict_json(value: Any) -> Any:
    """Plain JSON: arrays become lists, and inf and nan, which JSON lacks, their names."""
    if isinstance(value, np.ndarray | np.generic):
        return strict_json(value.tolist())
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): strict_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict_json(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)


def replace_file(path: Path, content: bytes) -> None:
    """Write beside and rename: an interrupted run leaves no half file under the real name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    beside.write_bytes(content)
    os.replace(beside, path)
