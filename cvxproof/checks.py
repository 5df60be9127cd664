"""What messages are made of: values as they are shown, names that are meant, warnings at the caller's line."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from collections.abc import Iterable
from difflib import get_close_matches
from html import escape
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cvxproof.exceptions import InvalidTypeError

__all__ = ["INSIDE", "AsText", "among", "is_number", "outside", "path", "shown", "visible", "warn"]

INSIDE = [f"{Path(__file__).parent}{os.sep}"]
"""Folders of the packages whose own lines no warning points at; one that is built on this one adds its own."""
_SHOWN = 120  # characters of a value
# Controls of terminals, halves of characters, other ends of lines, and what turns the direction of writing.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def path(name: str, value: Any) -> Any:
    """Check the name of a file or a folder."""
    if not isinstance(value, str | os.PathLike) or value == "":
        raise InvalidTypeError(f"{name}={shown(value)} is no path; pass the name of a file or a folder.")
    return value


def is_number(value: Any) -> bool:
    """Whether a value is a real number, of Python or numpy."""
    return isinstance(value, Real)


def outside() -> int:
    """Return the ``stacklevel`` at which a warning points at the first caller outside of these packages."""
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(tuple(INSIDE)):
        level, frame = level + 1, frame.f_back
    return level


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of these packages that led here."""
    warnings.warn(text, category, stacklevel=outside())


def shown(value: Any) -> str:
    """Return the value as a message shows it: arrays by shape and type, long texts cut."""
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        value = value.item()
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"<array of shape {value.shape} and type {value.dtype}>"
    if sp.issparse(value):
        return f"<sparse matrix of shape {value.shape}>"
    if len(getattr(value, "shape", ())) and not isinstance(value, np.ndarray):
        return f"<{type(value).__name__} of shape {tuple(value.shape)}>"
    text = visible(" ".join(repr(value).split()))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def visible(text: str) -> str:
    r"""Return a text in which what a terminal or a page would obey, and nobody would see, is written out.

    Ends of lines and tabs stay.

    Examples
    --------
    >>> print(visible("red: \x1b[31m"))
    red: \x1b[31m
    """
    return _HIDDEN.sub(lambda hidden: hidden[0].encode("unicode_escape").decode(), text)


class AsText:
    """Base of what a notebook shows as `print` writes it.

    Examples
    --------
    >>> class Bound(AsText):
    ...     def __str__(self):
    ...         return "gap < 1e-6"
    >>> Bound()._repr_html_()
    '<pre>gap &lt; 1e-6</pre>'
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(visible(str(self)))}</pre>"


def among(name: Any, known: Iterable[str]) -> str:
    """Return the known names for the end of a message, and a question after the one that is probably meant.

    Examples
    --------
    >>> among("LapSVMM", ["LapRLS", "LapSVM"]), among("x", ["LapSVM"])
    ("LapRLS, LapSVM. Did you mean 'LapSVM'?", 'LapSVM.')
    """
    listed = list(known)
    lower = {one.lower(): one for one in listed}
    near = get_close_matches(name.lower(), lower, 1) if isinstance(name, str) else []
    return f"{', '.join(listed)}." + (f" Did you mean {lower[near[0]]!r}?" if near else "")
