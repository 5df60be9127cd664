"""What the documentation shows is run: the docstrings' examples and the README's."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType

import pytest

import specmargin

ROOT = Path(__file__).resolve().parents[1]

# Records that others return; the functions that make them carry the example.
WITHOUT_EXAMPLES = {
    "specmargin.tables.assessment.model.TableModel",
    "specmargin.tables.assessment.result.Comparison",
    "specmargin.tables.diagnosis.report.Diagnosis",
    "specmargin.graphs.laplacians.Components",
    "specmargin.kernels.blocks.LandmarkFeatures",
    "specmargin.labels.encoding.Labels",
    "specmargin.labels.targets.Targets",
    "specmargin.objectives.clustering.ClusteringBasis",
    "specmargin.objectives.reduction.Reduction",
    "specmargin.objectives.cones.margin.SpectrumPoint",
    "specmargin.problems.base.BuiltProblem",
    "specmargin.problems.base.Recovered",
    "cvxproof.results.SolveResult",
}


def module_names() -> list[str]:
    """Name every module of the library, of `reproduction` and of the lessons' helper, without importing any."""
    homes = {"cvxproof": ROOT, "specmargin": ROOT, "reproduction": ROOT, "teaching": ROOT / "notebooks" / "lessons"}
    files = ((path, home) for package, home in homes.items() for path in (home / package).rglob("*.py"))
    paths = (path.relative_to(home).with_suffix("") for path, home in files)
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths)
    return sorted(name for name in names if not name.endswith("__main__"))


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Run in an empty folder, without the real data and without a screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SPECMARGIN_DATA", raising=False)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    return tmp_path


def docstrings_with_examples(module: ModuleType) -> int:
    """Count the docstrings that show a prompt, in the source rather than among the objects."""
    nodes = ast.walk(ast.parse(inspect.getsource(module)))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return sum(">>> " in (ast.get_docstring(node) or "") for node in nodes if isinstance(node, documented))


@pytest.mark.parametrize("name", module_names())
def test_examples_of_docstrings(name: str, elsewhere: Path) -> None:
    module = importlib.import_module(name)
    examples = [test for test in doctest.DocTestFinder().find(module) if test.examples]
    # A decorator that loses the docstring would take its example out of the run unnoticed.
    assert len(examples) == docstrings_with_examples(module)

    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    assert doctest.testmod(module, optionflags=flags).failed == 0
    assert list(elsewhere.iterdir()) == [], "an example wrote into the working directory"


def public_objects() -> Iterator[tuple[str, object]]:
    """Yield the functions and classes that users reach from the package, each under the name of its home."""
    seen = set()
    named = [getattr(specmargin, name) for name in specmargin.__all__]
    modules = [value for value in named if inspect.ismodule(value)]
    inside = [getattr(module, name) for module in modules for name in module.__all__]
    for value in named + inside:
        if not (inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "__wrapped__")):
            continue
        home = f"{value.__module__}.{value.__qualname__}"
        if home.startswith(("cvxproof.", "specmargin.")) and home not in seen:
            seen.add(home)
            yield home, value


def needs_no_example(value: object) -> bool:
    """Whether `value` is of a kind that nobody calls: an error, a warning, an enumeration, a protocol."""
    return inspect.isclass(value) and (issubclass(value, BaseException | Enum) or getattr(value, "_is_protocol", False))


def without_examples(objects: Iterable[tuple[str, object]]) -> list[str]:
    """Name the objects whose docstring is missing or shows no example."""
    has_example = re.compile(r"^Examples\n-{8}\n(.*\n)*>>> ", re.MULTILINE)
    return [
        name
        for name, value in objects
        if not (needs_no_example(value) or has_example.search(inspect.getdoc(value) or ""))
    ]


def test_public_objects_show_an_example() -> None:
    found = set(without_examples(public_objects()))
    assert found - WITHOUT_EXAMPLES == set(), "write an example"
    assert WITHOUT_EXAMPLES - found == set(), "these have an example now; take them off the list"


def test_missing_example_is_noticed() -> None:
    def documented() -> None:
        """Do nothing.

        Examples
        --------
        >>> None
        """

    def named_only() -> None:
        """Do nothing. Examples would go here."""

    def bare() -> None: ...

    objects = [(f.__name__, f) for f in (documented, named_only, bare)]
    assert without_examples(objects) == ["named_only", "bare"]


def pages_with_code() -> list[str]:
    """Name the README and the pages of docs that show Python; what `make docs` has made is not among them.

    Nor is the page of what can be added, whose blocks `test_contributing.py` carries out.
    """
    pages = sorted({*(ROOT / "docs").rglob("*.md")} - {ROOT / "docs" / "adding.md"})
    paths = (path.relative_to(ROOT) for path in pages)
    kept = [path for path in paths if path.parts[1] not in ("_build", "api", "gallery", "notebooks")]
    return ["README.md", *(path.as_posix() for path in kept if "\n```python\n" in (ROOT / path).read_text("utf-8"))]


def test_pages_with_code_are_read() -> None:
    assert {"README.md", "docs/index.md", "docs/guide.md", "docs/proofs.md"} <= set(pages_with_code())


@pytest.mark.parametrize("page", pages_with_code())
def test_examples_of_pages_run(page: str, elsewhere: Path) -> None:
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    assert blocks, f"{page} shows no Python"
    namespace: dict[str, object] = {"__name__": path.stem}
    for block in blocks:
        # Blank lines before the code make a traceback point at the line of the page.
        first = text[: block.start(1)].count("\n")
        exec(compile("\n" * first + block[1], str(path), "exec"), namespace)
