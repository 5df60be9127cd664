"""Computed data on disk: nested arrays, numbers and strings in one ``.npz``, without pickled objects.

`write_data` and `read_data` are inverse to each other; `strict_json` makes the readable excerpt. Used by the
gallery, which draws a figure again from what was computed before. `cvxproof.files.replace_file` is how every result
is written, and `explained` makes the message where it cannot be.
"""

import errno
import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import numpy as np

from cvxproof.files import Members, parse_json, read_file, replace_file
from specmargin.exceptions import InvalidInputError, InvalidTypeError, NotWrittenError, SpecmarginError
from specmargin.typing import AnyArray

logger = logging.getLogger(__name__)

_TEMPORARY = re.compile(r"\.[0-9a-f]+\.tmp$")
"""Ends of the names that `replace_file` gives to what it has not finished."""


class ResultsNotWrittenError(NotWrittenError):
    """Results could not be written; the text says what of all that was computed is kept, and how to go on."""


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
    if not path.exists():
        return None
    try:
        archive = Members(read_file(path))
        meta = parse_json(str(archive["__meta__"]))
        if meta["depends"] != depends:
            return None
        return _unpack(parse_json(str(archive["__tree__"])), archive), meta
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
    raise InvalidTypeError(
        f"{where} is of type {type(value).__name__}, which cannot be stored; compute must return arrays, "
        "numbers, strings, None, and lists and dicts (with string keys) of them."
    )


def _unpack(value: Any, archive: Mapping[str, AnyArray]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, archive) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"__array__"}:
        return archive[value["__array__"]]
    return {key: _unpack(item, archive) for key, item in value.items()}


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


def remove_unfinished(folder: Path, pattern: str = "*") -> None:
    """Delete the temporary files of processes that were killed while they wrote files of this pattern.

    For the holder of the lock of these files alone: nobody else may be writing. Other people's files stay.
    """
    for path in folder.glob(f"{pattern}.*.tmp"):
        if _TEMPORARY.search(path.name):
            with suppress(OSError):
                path.unlink()


def require_folder(path: Path) -> Path:
    """Return the path, unless it or what it lies in is a file."""
    for place in (path, *path.parents):
        if place.exists() and not place.is_dir():
            raise InvalidInputError(f"{str(place)!r} is a file; name a folder to write into.")
    return path


@contextmanager
def explained(folder: Path, kept: Callable[[], str]) -> Iterator[None]:
    """Turn the failure to write into one message: where, why, what is kept and how to go on."""
    try:
        yield
    except OSError as error:
        ours = isinstance(error, SpecmarginError)
        if isinstance(error, ResultsNotWrittenError) or (ours and not isinstance(error, NotWrittenError)):
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        remedy = "Make room" if full else "Name another folder, or mend this one"
        reason = os.strerror(error.errno) if error.errno else error
        raise ResultsNotWrittenError(
            error.errno or 0,
            f"cannot write into {str(folder)!r}: {reason}. {kept()} {remedy} and run the same again.",
        ) from error
