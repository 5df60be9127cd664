"""The choices that docstrings list, read from the registries of kinds and weights.

A docstring writes ``kind : <kinds>`` and ``weight : <weights>`` and, for an entry on each, ``<each kind>`` and ``<each
weight>``; `with_graph_sections` fills them in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from specmargin.graphs.kinds import KINDS
from specmargin.graphs.weights import EDGE_WEIGHTS

__all__ = ["choices", "with_graph_sections"]

Documented = TypeVar("Documented", bound=Callable[..., Any])


def choices(names: Iterable[str]) -> str:
    """Return names as numpydoc lists the choices of a parameter.

    Examples
    --------
    >>> choices(["symmetric", "mutual"])
    '{"symmetric", "mutual"}'
    """
    return "{" + ", ".join(f'"{name}"' for name in names) + "}"


def with_graph_sections(documented: Documented) -> Documented:
    """Fill in the markers in the docstring of a function or a class.

    Examples
    --------
    >>> @with_graph_sections
    ... def graph(kind):
    ...     "Take a kind out of <kinds>."
    >>> graph.__doc__
    'Take a kind out of {"symmetric", "mutual", "mutual+mst"}.'
    """
    if documented.__doc__ is None:  # python -OO
        return documented
    texts = {
        "<kinds>": choices(KINDS),
        "<weights>": choices(EDGE_WEIGHTS),
        "<each kind>": _entries({name: kind.__doc__ or "" for name, kind in KINDS.items()}),
        "<each weight>": _entries({name: weight.summary for name, weight in EDGE_WEIGHTS.items()}),
    }
    for marker, text in texts.items():
        # Entries stand where their marker does: since Python 3.13 a docstring loses its own indentation.
        at = re.search(rf"^ *(?={marker})", documented.__doc__, re.MULTILINE)
        indented = text.replace("\n", "\n" + at.group() if at else "\n")
        documented.__doc__ = documented.__doc__.replace(marker, indented)
    return documented


def _entries(texts: dict[str, str]) -> str:
    """Return a list, a line for each entry."""
    return "\n".join(f'* "{name}": {text}' for name, text in texts.items())
