"""Copies of built problems, in the same process or another one.

CVXPY tells variables, parameters and constraints apart by numbers that each process counts by itself, and keeps what it
has compiled with them. A copy draws its numbers where it is made, and forgets what was compiled; values, multipliers
and status stay.
"""

from __future__ import annotations

import io
import pickle
import re
from typing import Any

import cvxpy as cp
from cvxpy.lin_ops.lin_utils import get_id
from cvxpy.utilities.canonical import Canonical

from specmargin.checks import foreign

__all__ = ["dumped", "loaded"]

_CACHE = re.compile("^_lazy|__cache__$|^__deepcopy__$")
"""Attributes that CVXPY computes once, such as canonical forms, which are full of numbers."""


def dumped(built: Any) -> bytes:
    """Return all that a built problem holds as bytes: `loaded` takes them in any process of the same Python.

    Raises
    ------
    TypeError
        If something that was added to the problem cannot be copied.
    """
    import cloudpickle  # takes the functions that a builder makes, too, as pickle does not

    class Pickler(cloudpickle.Pickler):
        def reducer_override(self, held: Any) -> Any:
            if isinstance(held, cp.Problem):
                parts = (held.objective, held.constraints)
                return type(held), parts, {name: vars(held)[name] for name in ("_value", "_status")}
            if isinstance(held, Canonical):
                kept = {name: value for name, value in vars(held).items() if not _CACHE.search(name)}
                return _blank, (type(held),), kept, None, None, _numbered
            return super().reducer_override(held)

    file = io.BytesIO()
    with foreign(f"{built.name} cannot be copied: make what was added to it of expressions and of arrays alone"):
        Pickler(file).dump(vars(built))
    return file.getvalue()


def loaded(kind: type, content: bytes) -> Any:
    """Return the built problem of what `dumped` returned."""
    built = _blank(kind)
    vars(built).update(pickle.loads(content))
    return built


def _blank(kind: type) -> Any:
    return object.__new__(kind)


def _numbered(new: Canonical, kept: dict[str, Any]) -> None:
    """Give an expression or a constraint what it holds, and a number of this process."""
    vars(new).update(kept)
    if hasattr(new, "id"):
        new.id = get_id()
