"""Which sources a result depends on: what a worker can reach, without comments.

`fingerprint` takes the function that computes a cell, or a figure's data, and follows names and imports from there, in
the sources alone. The library (solvers, objectives, graphs, ...) counts module by module. The experiments, the papers
and the scripts of figures count definition by definition, so that the words of a report, which stand in one module with
the worker, do not make hours of cells stale. Packages that only hand names on do not count: `from specmargin.solvers
import pcg` reaches ``solvers.pcg`` and what that imports. Comments, docstrings, annotations and the layout do not count
either; the hash is that of the syntax tree. Values that were bound with `functools.partial` count, paths excepted.

What it does not see: other packages (their versions are in the provenance), and code that is reached neither by a name,
nor by an import, nor by a text that begins with the name of this package.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any, TypeAlias

import specmargin
from specmargin.exceptions import InvalidInputError
from specmargin.experiments.engine.syntax import bound, hash_of, walk

__all__ = ["Fingerprint", "changes", "digest", "fingerprint"]

Fingerprint: TypeAlias = dict[str, str]
"""Hash by what is hashed: ``solvers.pcg``, ``papers.lapsvm_svm:work``, ``arguments``, ``data g50c``."""

_PACKAGE = "specmargin"
_BY_DEFINITION = (f"{_PACKAGE}.experiments.", f"{_PACKAGE}.papers.")
_PUBLISHED = f"{_PACKAGE}.experiments.engine.published"
_NAMED_IN_TEXT = re.compile(rf"^{_PACKAGE}(\.\w+)*\.?$")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def fingerprint(work: Callable[..., Any], path: Path | None = None) -> Fingerprint:
    """Return the hashes of the sources that a function can reach: equal for equal sources, wherever they lie.

    `functools.partial` is looked through. `path` is the file that the function stands in, where its module cannot be
    imported by name. `ValueError` if the source cannot be read, or a bound argument has no text of its own.

    Examples
    --------
    >>> from specmargin.papers.lapsvm_svm import work
    >>> hashes = fingerprint(work)
    >>> [name in hashes for name in ("objectives.lapsvm", "papers.lapsvm_svm:work", "plots.theme", "cli")]
    [True, True, False, False]
    """
    arguments: dict[str, str] = {}
    while isinstance(work, functools.partial):
        given = {**{f"#{k}": value for k, value in enumerate(work.args)}, **work.keywords}
        arguments |= {name: _text(value) for name, value in given.items() if not isinstance(value, Path | None)}
        work = work.func
    module, name = getattr(work, "__module__", ""), getattr(work, "__qualname__", "")
    script = getattr(sys.modules.get(module), "__file__", None)
    file = path or _file_of(module) or (None if script is None else Path(script))
    try:
        if file is None or not name.isidentifier():
            hashes = _of_text(inspect.getsource(work), module, file)
        else:
            hashes = _reached([("definition", module, name)], module, file)
    except (OSError, TypeError, KeyError, SyntaxError) as error:
        raise InvalidInputError(
            f"the source of {work!r} cannot be read, so that changes of it could not be noticed; pass version=."
        ) from error
    return hashes | ({"arguments": digest(arguments)} if arguments else {})


def digest(hashes: Mapping[str, str]) -> str:
    """Return one short hash of a fingerprint.

    Examples
    --------
    >>> digest({"a": "1", "b": "2"}) == digest({"b": "2", "a": "1"})
    True
    """
    return _hash(json.dumps(dict(hashes), sort_keys=True))


def changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Return what differs, by name. Data sets that only one of the two knows do not count: it did without them.

    Examples
    --------
    >>> changes({"a": "1", "data x": "2"}, {"a": "3", "b": "4", "data y": "5"})
    ['a', 'b']
    """
    names = {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    return sorted(name for name in names if not name.startswith("data ") or (name in old and name in new))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _text(value: Any) -> str:
    text = repr(value)
    if _ADDRESS.search(text):
        raise InvalidInputError(
            f"the bound argument {text} has no text of its own, so that changes could not be noticed."
        )
    return text


def _file_of(module: str) -> Path | None:
    """Source of a module of this package, found without importing it."""
    root, *parts = module.split(".")
    if root != _PACKAGE:
        return None
    place = Path(specmargin.__file__).resolve().parent.joinpath(*parts)
    if not parts:
        return place / "__init__.pyi"  # the names of the package, which load at first use
    for candidate in (place.with_suffix(".py"), place / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


_Node: TypeAlias = tuple[str, str, str]
"""``("module", name, "")`` or ``("definition", module, name)``."""


class _Source:
    """Syntax tree of one module, its top-level names, and what they are imported from."""

    def __init__(self, module: str, file: Path) -> None:
        self.module, self.file = module, file
        self.whole: tuple[str, list[_Node]] | None = None
        self.tree = ast.parse(file.read_bytes())
        self.package = module if file.name.startswith("__init__.") else module.rpartition(".")[0]

    @cached_property
    def imported(self) -> dict[str, tuple[str, str | None]]:
        """Module and name behind each name that an import at the top level binds."""
        return {name: target for node in walk(self.tree, inside=False) for name, target in self.targets(node)}

    @cached_property
    def defined(self) -> dict[str, list[ast.stmt]]:
        """Top-level statements that bind a name."""
        table: dict[str, list[ast.stmt]] = {}
        for statement in self.tree.body:
            for name in bound(statement):
                table.setdefault(name, []).append(statement)
        return table

    def targets(self, node: ast.AST) -> Iterator[tuple[str, tuple[str, str | None]]]:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname or alias.name.partition(".")[0], (alias.name, None))
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                base = self.package.split(".")
                origin = ".".join([*base[: len(base) - node.level + 1], *([origin] if origin else [])])
            for alias in node.names:
                yield (alias.asname or alias.name, (origin, alias.name))


def _reached(start: Iterable[_Node], script: str, file: Path | None) -> Fingerprint:
    """Follow names and imports from the nodes of `start`; `script` is a module that counts by definition."""
    hashes: Fingerprint = {}
    seen: set[_Node] = set()
    waiting = list(start)
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        kind, module, name = node
        source = _source(module, file if module == script else None)
        if kind == "module":
            if source.whole is None:  # the same whoever asks
                source.whole = hash_of([source.tree]), list(_followed(source, [source.tree], script))
            hashes[_short(module)] = source.whole[0]
            waiting += source.whole[1]
            if module == _PUBLISHED:
                tables = sorted(source.file.with_name("published_data").glob("*.csv"))
                hashes["published_data"] = _hash(repr([hashlib.sha256(t.read_bytes()).hexdigest() for t in tables]))
        else:
            statements = source.defined[name]
            label = name if module == script and not module.startswith(_PACKAGE) else f"{_short(module)}:{name}"
            hashes[label] = hash_of(statements)
            waiting += _followed(source, statements, script)
            if module == _PUBLISHED:
                waiting.append(("module", module, ""))
    return hashes


def _of_text(text: str, module: str, file: Path | None) -> Fingerprint:
    """Take a function inside another one, or a lambda: its text, and what the names in it reach."""
    text = textwrap.dedent(text)
    try:
        statements: list[ast.AST] = list(ast.parse(text).body)
    except SyntaxError:  # a lambda in the middle of a statement
        return {"source": _hash(text)}
    hashes = {"source": hash_of(statements)}
    if file is None:
        return hashes
    return _reached(_followed(_source(module, file), statements, module), module, file) | hashes


@cache
def _parsed(module: str, file: Path, changed: int) -> _Source:
    return _Source(module, file)


def _source(module: str, file: Path | None) -> _Source:
    file = file or _file_of(module)
    if file is None:
        raise KeyError(module)
    return _parsed(module, file, file.stat().st_mtime_ns)


def _short(module: str) -> str:
    return module.removeprefix(f"{_PACKAGE}.")


def _by_definition(module: str, script: str) -> bool:
    return module == script or module.startswith(_BY_DEFINITION)


def _followed(source: _Source, trees: Iterable[ast.AST], script: str) -> Iterator[_Node]:
    """Yield what syntax trees of one module refer to."""
    whole = not _by_definition(source.module, script)
    for tree in trees:
        chained: set[ast.AST] = set()
        local: dict[str, tuple[str, str | None]] = {}
        for node in walk(tree):
            for name, target in source.targets(node):
                local[name] = target
                # `import a.b` binds a, and a package only hands names on: its attributes say what is used.
                if target[1] is not None and not (whole and _is_package(*target)):
                    yield from _resolved(*target, script)
        for node in walk(tree):
            if isinstance(node, ast.Attribute) and node not in chained:
                chain, base = [node.attr], node.value
                while isinstance(base, ast.Attribute):
                    chained.add(base)
                    chain.append(base.attr)
                    base = base.value
                known = (local.get(base.id) or source.imported.get(base.id)) if isinstance(base, ast.Name) else None
                if known is not None:
                    chained.add(base)
                    yield from _chain(*known, chain[::-1], script)
            if isinstance(node, ast.Name) and node not in chained:
                if whole:
                    known = local.get(node.id) or source.imported.get(node.id)
                    if known is not None and _is_package(*known):
                        yield from _resolved(*known, script)
                elif node.id in source.defined:
                    yield ("definition", source.module, node.id)
                elif node.id in source.imported:
                    yield from _resolved(*source.imported[node.id], script)
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from _in_text(node.value)


def _chain(module: str, name: str | None, attributes: list[str], script: str) -> Iterator[_Node]:
    """Resolve ``name.a.b`` as far as `name`, `name.a`, ... are modules of the package."""
    if name is not None and _file_of(f"{module}.{name}") is not None and not _handed_on(module, name):
        module, name = f"{module}.{name}", None
    if name is None and attributes and _file_of(module) is not None:
        yield from _chain(module, attributes[0], attributes[1:], script)
    else:
        yield from _resolved(module, name, script)


def _is_package(module: str, name: str | None) -> bool:
    file = _file_of(module if name is None else f"{module}.{name}")
    return file is not None and file.name.startswith("__init__.") and (name is None or not _handed_on(module, name))


def _handed_on(module: str, name: str) -> tuple[str, str | None] | None:
    """Return where a package takes a name from: its own submodules' names, most often."""
    if _file_of(module) is None:
        return None
    target = _source(module, None).imported.get(name)
    return None if target == (module, name) else target  # `from . import name` means the submodule


def _resolved(module: str, name: str | None, script: str) -> Iterator[_Node]:
    if _file_of(module) is None:
        return
    if name is None:
        yield from _all_of(module, script)
        return
    target = _handed_on(module, name)
    if target is not None:
        yield from _resolved(*target, script)
    elif name in _source(module, None).defined:
        yield ("definition", module, name) if _by_definition(module, script) else ("module", module, "")
    elif _file_of(f"{module}.{name}") is not None:
        yield from _all_of(f"{module}.{name}", script)
    elif module != _PACKAGE:  # whose __version__ and the like do not count
        yield ("module", module, "")


def _all_of(module: str, script: str) -> Iterator[_Node]:
    if _is_package(module, None):  # passed on whole
        yield from (node for name in _source(module, None).imported for node in _resolved(module, name, script))
    else:
        yield ("module", module, "")


def _in_text(text: str) -> Iterator[_Node]:
    """``import_module(f"specmargin.solvers.{name}")`` reaches all of that package."""
    module = text.rstrip(".")
    file = _file_of(module) if text != _PACKAGE and _NAMED_IN_TEXT.match(text) else None
    if file is None:
        return
    if file.name != "__init__.py":
        yield ("module", module, "")
    elif text.endswith("."):
        yield from (("module", f"{module}.{each.stem}", "") for each in sorted(file.parent.glob("[!_]*.py")))
