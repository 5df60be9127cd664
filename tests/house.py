"""The rules of the house as functions of a checkout: each lists what breaks it. `tests/test_house.py` runs them.

They read the sources without importing them, so that they hold for a copy with a planted violation as well.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import networkx as nx

PACKAGE = "specmargin"
PACKAGES = (PACKAGE, "reproduction", "cvxproof")


def place_of(root: Path, path: Path) -> Path:
    """Return where a module stands: below the library, or with ``reproduction`` in front."""
    parts = path.relative_to(root).parts
    return Path(*parts[1:]) if parts[0] == PACKAGE else Path(*parts)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def parse(path: Path) -> ast.Module:
    return _parsed(path.read_text(encoding="utf-8"))


def module_paths(root: Path) -> dict[str, Path]:
    """Return the file of every module of the package by its dotted name."""
    found = {}
    for path in sorted(path for package in PACKAGES for path in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


# Imports


class Imports(NamedTuple):
    """Who imports whom within the package: when the module loads, and when a function is called."""

    loading: dict[str, set[str]]
    calling: dict[str, set[str]]


def imported(node: ast.Import | ast.ImportFrom, modules: Mapping[str, Path]) -> set[str]:
    """Return the modules of the package that an import names, the most particular ones that exist."""
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names if alias.name in modules}
    home = node.module or ""
    inside = {f"{home}.{alias.name}" for alias in node.names}
    return {name if name in modules else home for name in inside} & modules.keys()


def _imports(tree: ast.AST, late: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, late
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            # For types alone: they run never, and tie modules together for whoever reads them.
            yield from _imports(ast.Module(node.body, []), True)
            yield from _imports(ast.Module(node.orelse, []), late)
        else:
            inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(node, late or inside)


def package_imports(root: Path) -> Imports:
    modules = module_paths(root)
    loading: dict[str, set[str]] = {name: set() for name in modules}
    calling: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        for node, late in _imports(parse(path)):
            (calling if late else loading)[name] |= imported(node, modules) - {name}
    return Imports(loading, calling)


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that import each other, each in alphabetical order."""
    graph = nx.DiGraph([(name, other) for name, others in arrows.items() for other in others])
    return sorted(sorted(circle) for circle in nx.strongly_connected_components(graph) if len(circle) > 1)


# Tests


def test_files(root: Path) -> dict[str, Path]:
    """Return the test files by their path below ``tests``."""
    return {path.relative_to(root / "tests").as_posix(): path for path in sorted((root / "tests").rglob("test_*.py"))}


def _test_name(module: str) -> str:
    """Name the test file of a module's path below the package: of ``_docs.py`` it is ``test_docs.py``."""
    path = PurePosixPath(module)
    return str(path.with_name(f"test_{path.name.lstrip('_')}"))


def tests_without_module(root: Path) -> set[str]:
    """Return the test files whose name is that of no module at the same place."""
    sources = {place_of(root, path).as_posix() for path in module_paths(root).values()}
    return test_files(root).keys() - {_test_name(module) for module in sources}


def public_homes(root: Path) -> dict[str, str]:
    """Return the module that defines a public name, by the name as users type it: ``specmargin.solvers.pcg``."""
    homes = {}
    packages = {name: path for name, path in module_paths(root).items() if path.name == "__init__.py"}
    stubs = {name: stub for name, path in packages.items() if (stub := path.with_suffix(".pyi")).exists()}
    for name, path in [*packages.items(), *stubs.items()]:
        for node in parse(path).body:
            if isinstance(node, ast.ImportFrom):
                home = ".".join(filter(None, [name if node.level else "", node.module]))  # relative in stubs
                if home.startswith(PACKAGES):
                    homes |= {f"{name}.{alias.asname or alias.name}": f"{home}.{alias.name}" for alias in node.names}
    return homes


def _chain(node: ast.expr) -> list[str]:
    """Split ``a.b.c`` into its names; the first is empty where it starts with anything else than a name."""
    rest: list[str] = []
    while isinstance(node, ast.Attribute):
        rest.insert(0, node.attr)
        node = node.value
    return [node.id if isinstance(node, ast.Name) else "", *rest]


def used_modules(path: Path, modules: Mapping[str, Path], homes: Mapping[str, str]) -> set[str]:
    """Return the modules of the package whose names a file imports or reaches as attributes of the package."""
    tree = parse(path)
    known: dict[str, str] = {}
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if (top := alias.name.split(".")[0]) in PACKAGES:
                    known[alias.asname or top] = alias.name if alias.asname else top
                    used.add(alias.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
            for alias in node.names:
                known[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                used.add(f"{node.module}.{alias.name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            head, *rest = _chain(node)
            if head in known:
                used.add(".".join([known[head], *rest]))
    reached = set()
    for name in used:
        for _ in range(4):  # a name of the top may be a package's name for a module's name
            name = homes.get(name, name)
        while name and name not in modules:
            name = name.rpartition(".")[0]
        reached.add(name)
    return reached & modules.keys()


def modules_without_test(root: Path) -> set[str]:
    """Return the public modules that have no test file of their name and that no test below their package names."""
    modules, homes, tests = module_paths(root), public_homes(root), test_files(root)
    used = {name: used_modules(path, modules, homes) for name, path in tests.items()}
    missing = set()
    for dotted, path in modules.items():
        module = place_of(root, path)
        is_paper = module.parts[:2] == (PACKAGES[1], "papers")  # which the tests of all papers run
        if is_paper or any(part.startswith("_") for part in module.parts) or _test_name(module.as_posix()) in tests:
            continue
        place = "" if module.parent == Path() else f"{module.parts[0]}/"
        if not any(dotted in used[name] for name in tests if name.startswith(place)):
            missing.add(module.as_posix())
    return missing


# Names


_SHADOWED = """
import importlib, pkgutil, sys
import cvxproof, specmargin, reproduction
for top in (cvxproof, specmargin, reproduction):
    for module in pkgutil.walk_packages(top.__path__, f"{top.__name__}."):
        importlib.import_module(module.name)
for name, module in sorted(sys.modules.items()):
    package, _, stem = name.rpartition(".")
    if package.startswith(("cvxproof", "specmargin", "reproduction")):
        if getattr(sys.modules[package], stem, None) is not module:
            print(name)
"""


def shadowed_modules(root: Path) -> set[str]:
    """Return the modules that an attribute of their package hides; it imports everything, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _SHADOWED], cwd=root, capture_output=True, text=True, check=False, env=_environment(root)
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return set(done.stdout.split())


def _environment(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(root), "MPLBACKEND": "Agg"}


def long_modules(root: Path, limit: int) -> dict[str, int]:
    """Return the modules of more than `limit` lines."""
    lengths = {
        place_of(root, path).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in module_paths(root).values()
    }
    return {name: length for name, length in lengths.items() if length > limit}


def private_reads(root: Path) -> Counter[str]:
    """Count the reads of private fields of other objects than self and cls, by module.

    A named tuple's public methods begin with an underscore.
    """
    counts: Counter[str] = Counter()
    for name, path in module_paths(root).items():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Attribute) and re.match(r"_(?!replace$|asdict$|fields$)[a-zA-Z]", node.attr):
                own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                own |= isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()"
                counts[name] += not own
    return +counts


def first_lines(root: Path, package: str) -> dict[str, str]:
    """Return the stem and the first line of the docstring of every module below a package, by its path."""
    lines = {}
    for path in sorted((root / package).rglob("*.py")):
        first = (ast.get_docstring(parse(path)) or "").partition("\n")[0]
        lines[place_of(root, path).as_posix()] = f"{path.stem} | {first}"
    return lines


def matching(lines: Mapping[str, str], names: tuple[str, ...]) -> list[str]:
    """Return the modules whose file name or first line holds one of the names, from `first_lines`."""
    pattern = re.compile("|".join(rf"(?<![a-z])(?:{name})(?![a-z])" for name in names), re.IGNORECASE)
    return [path for path, line in lines.items() if pattern.search(line) and not path.endswith("__init__.py")]


def by_top(names: Mapping[str, int]) -> dict[str, int]:
    """Sum counts of modules by layer."""
    sums: dict[str, int] = defaultdict(int)
    for name, count in names.items():
        sums[name.split(".")[1] if "." in name else name] += count
    return dict(sums)


# Words


# A description begins with a noun phrase or a verb, never with one of these.
_NO_BEGINNING = re.compile(
    "(above|after|against|along|among|and|around|as|at|because|before|below|between|but|by|for|from|if|in|into|like|not|of"
    "|on|only|or|over|per|since|so|than|that|then|there|through|to|under|until|upon|when|where|who|whose|with|without)\\b",
    re.IGNORECASE,
)
_DESCRIBED = ("Parameters", "Returns", "Yields", "Attributes", "Other Parameters")


def _descriptions(docstring: str) -> Iterator[str]:
    """Yield the first line of a docstring, and the first line of every description in its sections."""
    lines = docstring.splitlines()
    yield lines[0]
    section = ""
    for line, following in itertools.pairwise(lines):
        if re.fullmatch(r"-{3,}", following):
            section = line
        elif section in _DESCRIBED and line and not line.startswith(" ") and following.startswith("    "):
            yield following.strip()


def beginnings(root: Path) -> list[str]:
    """Return the descriptions in docstrings that begin with a preposition, a conjunction or an adverb."""
    found = []
    for name, path in module_paths(root).items():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                found += [f"{name}: {line}" for line in _descriptions(text) if _NO_BEGINNING.match(line)]
    return found


def loss_comparisons(root: Path) -> dict[str, int]:
    """Count the comparisons of a loss's name with a text, by module, outside of `losses` and of the verifier."""
    counts: Counter[str] = Counter()
    for name, path in module_paths(root).items():
        if name.startswith((f"{PACKAGE}.losses", f"{PACKAGE}.proofs", f"{PACKAGE}.optima.replay")):
            continue
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Compare) and re.search(r"loss\w*(\.name)?$", ast.unparse(node.left)):
                texts = [part for one in node.comparators for part in ast.walk(one) if isinstance(part, ast.Constant)]
                counts[name] += any(isinstance(text.value, str) for text in texts)
    return dict(+counts)
