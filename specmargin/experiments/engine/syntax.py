"""Syntax trees without what has no effect: comments, docstrings, annotations, layout, lists of public names.

`walk` visits the nodes that count and `hash_of` is equal for trees that do the same, whatever the Python that parsed
them.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["bound", "hash_of", "walk"]


def bound(statement: ast.stmt) -> Iterator[str]:
    """Names that a top-level statement binds, blocks included; imports excluded."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    own = {  # the variables of a comprehension stay in it
        name
        for node in walk(statement, inside=False)
        if isinstance(node, ast.comprehension)
        for name in ast.walk(node.target)
    }
    for node in walk(statement, inside=False):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in own:
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def walk(tree: ast.AST, *, inside: bool = True) -> Iterator[ast.AST]:
    """Yield the nodes that count; with ``inside=False`` do not enter functions and classes."""
    yield tree
    for child in _children(tree):
        if not inside and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            yield child
        else:
            yield from walk(child, inside=inside)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for _, value in _fields(node):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield item


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """Yield what counts of a node: no docstring, no annotation, nothing empty (later Pythons add empty fields)."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "type_comment", "kind") or value is None or value == []:
            continue
        if field in ("body", "orelse", "finalbody") and isinstance(value, list):
            value = [each for each in value if not _without_effect(each)]
        yield field, value


def _without_effect(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse
    return isinstance(node, ast.Assign) and [t.id for t in node.targets if isinstance(t, ast.Name)] == ["__all__"]


def hash_of(trees: Iterable[ast.AST]) -> str:
    """Return a short hash of what trees do."""
    sha = hashlib.sha256()

    def add(value: Any) -> None:
        if isinstance(value, ast.AST):
            sha.update(b"(" + type(value).__name__.encode())
            for field, item in _fields(value):
                sha.update(b" " + field.encode())
                add(item)
            sha.update(b")")
        elif isinstance(value, list):
            sha.update(b"[")
            for item in value:
                add(item)
            sha.update(b"]")
        else:
            sha.update(f"{type(value).__name__}:{value!r};".encode())

    for tree in trees:
        add(tree)
    return sha.hexdigest()[:16]
