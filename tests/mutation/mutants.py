"""The mutants of a module: mutmut's operators, on all code that computes, and on nothing that only talks.

mutmut itself leaves decorated functions alone, because it changes functions in place. Here every mutant is a source of
its own, so that properties, cached properties and module constants are mutated like the rest. Left out, by `Mutants`:

- type annotations, imports, decorators, ``__all__``, docstrings, blocks under ``TYPE_CHECKING``;
- what an error or a warning says: everything inside ``raise``, ``warnings.warn``, ``__repr__``, f-strings, strings of
  several words, what the functions of `specmargin.checks`, and `finite_numbers`, are to say;
- what only changes speed, memory or warnings: ``np.errstate``, and the keywords of `INERT_KEYWORDS`;
- ``dtype=float``, which is there for numbers that are given as integers;
- factors between 1 and 1.1 (1.001, 1.01), which cover the rounding of an allowance's own arithmetic: mutmut knows only
  larger ones.
"""

import ast
import difflib
import hashlib
import itertools
from dataclasses import dataclass
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

INERT_KEYWORDS = {"check_finite", "overwrite_a", "overwrite_b", "overwrite_c", "copy", "order", "out", "optimize"}
INERT_KEYWORDS |= {"overwrite"}
INERT_CALLS = {"len", "isinstance", "cast", "TypeVar", "warn", "errstate", "shown", "several"}
CHECKS = {"number", "numeric", "real", "whole", "flag", "instance", "operator_like", "members", "numbers_array"}
CHECKS |= {"finite_numbers"}
FLOATS = {"float", "float64"}
TEXT_METHODS = {"__repr__", "__str__"}


@dataclass(frozen=True)
class Mutant:
    """One change of one module."""

    path: str
    """Of the module, relative to the repository."""
    function: str
    """Qualified name of the function, empty for code of the module or of a class."""
    static: bool
    """Whether it is run by the import: code of the module or of a class, or defaults of parameters."""
    line: int
    lines: tuple[int, int]
    """First and last line of the statement, or of its header."""
    before: str
    """The lines that change, without their indentation."""
    after: str
    context: str
    """Digest of the function, or of the statement: a result holds for as long as it stays."""
    key: str
    """Names the mutant in results, whatever is changed elsewhere in the module."""
    start: int
    end: int
    text: str

    def source(self, original: str) -> str:
        """Return the mutated module."""
        return original[: self.start] + self.text + original[self.end :]


class Mutants(MutationVisitor):
    """Collects mutations of all code that computes."""

    METADATA_DEPENDENCIES = MutationVisitor.METADATA_DEPENDENCIES

    def __init__(self) -> None:
        super().__init__(mutation_operators, IgnoredCode(set(), set(), set()))

    def _create_mutations(self, node: cst.CSTNode) -> None:
        first = len(self.mutations)
        super()._create_mutations(node)
        if isinstance(node, cst.Call):
            fresh = self.mutations[first:]
            self.mutations[first:] = [mutation for mutation in fresh if not _inert(node, mutation.mutated_node)]

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        if isinstance(
            node, (cst.Raise, cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.FormattedString)
        ):
            return True
        if isinstance(node, cst.FunctionDef):
            return node.name.value in TEXT_METHODS
        if isinstance(node, cst.Call):
            return _name(node.func) in INERT_CALLS
        if isinstance(node, cst.Arg):
            return _inert_argument(node)
        if isinstance(node, cst.If):
            return isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"
        if isinstance(node, cst.Expr):
            return isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString))
        if isinstance(node, cst.Assign):
            return _name(node.targets[0].target) == "__all__"
        if isinstance(node, cst.ConcatenatedString):
            return True
        if isinstance(node, cst.SimpleString):
            return " " in node.value
        if isinstance(node, cst.Float):
            return 1.0 < node.evaluated_value < 1.1
        return False


def _name(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _inert_argument(argument: cst.Arg) -> bool:
    keyword = argument.keyword.value if argument.keyword is not None else ""
    return keyword in INERT_KEYWORDS or (keyword == "dtype" and _name(argument.value) in FLOATS)


def _inert(call: cst.Call, changed: cst.CSTNode) -> bool:
    """Whether the changed call differs in an argument that does not matter, or is only told another name."""
    if not isinstance(changed, cst.Call):
        return False
    for i, argument in enumerate(call.args):
        if i >= len(changed.args) or changed.args[i] is not argument:
            said = _name(call.func) in CHECKS and isinstance(argument.value, (cst.SimpleString, cst.FormattedString))
            return said or _inert_argument(argument)
    return False


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """Return the mutants of a module in the order of its source, equal ones once."""
    source, name = path.read_text(encoding="utf-8"), path.relative_to(root).as_posix()
    wrapper = MetadataWrapper(cst.parse_module(source))
    visitor = Mutants()
    module = wrapper.visit(visitor)
    positions = wrapper.resolve(PositionProvider)
    lines = source.splitlines(keepends=True)
    offsets = list(itertools.accumulate(map(len, lines), initial=0))
    places = _Places(source)
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    texts = set()
    for mutation in visitor.mutations:
        at = positions[mutation.original_node]
        start, end = offsets[at.start.line - 1] + at.start.column, offsets[at.end.line - 1] + at.end.column
        text = module.code_for_node(mutation.mutated_node).strip()
        if (start, end, text) in texts:
            continue
        texts.add((start, end, text))
        if _same_number(source[start:end], text):
            continue
        first, last = at.start.line - 1, at.end.line
        head, tail = source[offsets[first] : start], source[end : offsets[last]]
        before, after = _changed(source[offsets[first] : offsets[last]], head + text + tail)
        function, static, region, context = places.at(at.start.line)
        digest = hashlib.sha256("\0".join([name, function, before, after]).encode()).hexdigest()[:16]
        seen[digest] = seen.get(digest, 0) + 1
        key = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        found.append(
            Mutant(name, function, static, at.start.line, region, before, after, context, key, start, end, text)
        )
    return found


def _same_number(before: str, after: str) -> bool:
    """Whether adding one changed nothing, as it does to 1e300."""
    try:
        return float(before) == float(after)
    except ValueError:
        return False


def _changed(before: str, after: str) -> tuple[str, str]:
    """Return the lines that differ, stripped and joined by spaces."""
    old, new = before.splitlines(), after.splitlines()
    removed, added = [], []
    for line in itertools.islice(difflib.unified_diff(old, new, n=0, lineterm=""), 2, None):
        if line[0] in "+-":
            (removed if line[0] == "-" else added).append(line[1:].strip())
    return " ".join(removed), " ".join(added)


class _Places:
    """Functions and statements of a module by line."""

    def __init__(self, source: str) -> None:
        self.source, self.lines = source, source.splitlines()
        self.statements: list[tuple[int, int, str, bool, str]] = []
        self._walk(ast.parse(source), "", "")

    def _walk(self, node: ast.AST, function: str, name: str, context: str = "") -> None:
        for child in ast.iter_child_nodes(node):
            inner, path, digest, static = function, name, context, not function
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                path = f"{name}.{child.name}" if name else child.name
                if not isinstance(child, ast.ClassDef) and not function:
                    inner, digest = path, _digest(ast.unparse(child))
            if isinstance(child, ast.stmt):
                last = child.end_lineno or child.lineno
                body = getattr(child, "body", None)
                if isinstance(body, list) and body:
                    last = max(child.lineno, body[0].lineno - 1)
                own = digest or _digest(ast.unparse(child))
                self.statements.append((child.lineno, last, inner, static, own))
            self._walk(child, inner, path, digest)

    def at(self, line: int) -> tuple[str, bool, tuple[int, int], str]:
        """Return the function, whether the import runs it, the lines of the innermost statement, and its digest."""
        within = [entry for entry in self.statements if entry[0] <= line <= entry[1]]
        if not within:
            return "", True, (line, line), _digest(self.lines[line - 1])
        first, last, function, static, context = max(within, key=lambda entry: entry[0])
        return function, static, (first, last), context


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
