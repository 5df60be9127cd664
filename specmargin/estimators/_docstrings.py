"""Docstrings of estimators, put together from the classes that declare what they describe: `documented`.

A parameter, an attribute or a note is described once, in the class that has it. A subclass gets the entries of its
bases, with the defaults of its own signature, and describes only what it adds or what means something else there.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any, TypeVar

from specmargin.exceptions import InvalidInputError

_HEADER = re.compile(r"^([A-Z][a-z]+)\n-{3,}\n", re.MULTILINE)
_ENTRY = re.compile(r"\n(?=\S)")

_Class = TypeVar("_Class", bound=type)


def documented(cls: _Class) -> _Class:
    """Complete the sections Parameters, Attributes and Notes of a class by those of its bases.

    Parameters come with their defaults: the class's own first, then those of its bases, the nearest first. A
    description serves until a class nearer to `cls` has another one. A parameter that no class describes is an error.
    """
    if documented.__doc__ is None:  # python -OO; a dataclass then writes a line of its own
        return cls
    package = __name__.partition(".")[0]
    family = [dict(_written(base)) for base in cls.__mro__ if base.__module__.partition(".")[0] == package]
    own = family[0]
    signature = inspect.signature(cls).parameters
    entries = _parameters(
        {name: parameter.default for name, parameter in signature.items()},
        [_entries(sections.get("Parameters", "")) for sections in family],
    )
    own["Parameters"] = "\n".join(entries.values())
    init = vars(cls).get("__init__")
    if init is not None:  # all are keywords: what the class adds stands first here, too
        listed = ["self", *(name for names in entries for name in names)]
        parameters = inspect.signature(init).parameters
        init.__signature__ = inspect.Signature([parameters[name] for name in listed])
    attributes: dict[str, str] = {}
    for sections in reversed(family):
        attributes |= _entries(sections.get("Attributes", ""))
    described = dict.fromkeys(attributes.values())
    own["Attributes"] = "\n".join(described)
    own["Notes"] = "\n\n".join(dict.fromkeys(sections["Notes"] for sections in family if "Notes" in sections))
    order = ("", "Parameters", "Attributes", "Notes", "References", "Examples")
    texts = [(title, own[title]) for title in order if own.get(title)]
    parts = [f"{title}\n{'-' * len(title)}\n{text}" if title else text for title, text in texts]
    cls.__doc__ = ("\n\n".join(parts) + "\n").replace("\n", "\n    ").replace("    \n", "\n")
    return cls


@cache
def _written(cls: type) -> dict[str, str]:
    """Return the sections of a docstring as it is written, before it is completed, by title; the summary has none."""
    summary, *rest = _HEADER.split(inspect.cleandoc(vars(cls)["__doc__"] or ""))
    titled = {"": summary, **dict(zip(rest[::2], rest[1::2], strict=True))}
    return {title: text.strip("\n") for title, text in titled.items()}


def _entries(section: str) -> dict[str, str]:
    """Return the entries of a section by the names that they describe; one may describe several."""
    entries = [entry for entry in _ENTRY.split(section) if entry]
    return {name: entry for entry in entries for name in entry.split("\n")[0].partition(" : ")[0].split(", ")}


def _parameters(defaults: dict[str, Any], described: list[dict[str, str]]) -> dict[tuple[str, ...], str]:
    """Return the entries of Parameters by the names in them, from those of a class and of its bases, nearest first."""
    entries: dict[str, str] = {}
    for nearer in described:
        entries = {**entries, **{name: entry for name, entry in nearer.items() if name not in entries}}
    undescribed = [name for name in defaults if name not in entries]
    if undescribed:
        raise InvalidInputError(f"no class describes the parameters {', '.join(undescribed)}; write their entries.")
    texts = {}
    for entry in dict.fromkeys(entries[name] for name in sorted(defaults, key=list(entries).index)):
        head, *lines = entry.split("\n")
        names = tuple(name for name in defaults if entries[name] == entry)
        values = [_shown(defaults[name]) for name in names]
        optional = values == ["None"] and "None" not in head
        texts[names] = "\n".join([f"{head}, {'optional' if optional else 'default ' + ' and '.join(values)}", *lines])
    return texts


def _shown(default: Any) -> str:
    return f'"{default}"' if isinstance(default, str) else f"{default}".replace("e-0", "e-")
