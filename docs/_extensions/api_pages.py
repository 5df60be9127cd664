"""Pages of the API: one for each estimator and one for each public module, in docs/api, which git ignores.

They are made of ``specmargin.__all__`` and of the ``__all__`` of the modules, so that a public name cannot be left out.
A class shows the methods and properties that this package defines; those that it inherits from scikit-learn are
documented there. What can be drawn has a picture, made by running the example of its docstring; an estimator's example
comes before its parameters.

Docstrings are read in a terminal most often, and write |f|, gamma_A_ and coef_ as they are. To reStructuredText a bar
begins a substitution, and a final underscore ends a link: here they get their backslash.
"""

import contextlib
import doctest
import importlib
import inspect
import io
import logging
import pkgutil
import re
import tempfile
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from sphinx.errors import PycodeError
from sphinx.ext import autosummary
from sphinx.pycode import ModuleAnalyzer

import cvxproof
import specmargin

OWN = ("cvxproof", "specmargin")
# Modules and their titles, in the order of reading.
MODULES = {
    "labels": "Labels",
    "model_selection": "Model selection",
    "tables": "Tables of one's own",
    "tables.diagnosis": "Before anything is learned",
    "tables.candidates": "Candidates of AutoSSL",
    "estimators.comparison": "Errors at left-out labels",
    "kernels": "Kernels",
    "graphs": "Graphs",
    "spectra": "Spectra",
    "losses": "Losses",
    "objectives": "Objectives",
    "problems": "CVXPY problems",
    "problems.models": "Models to copy",
    "solvers": "Solvers",
    "optima": "Global optima of S3VMs",
    "terms": "Models as sums of terms",
    "results": "Results and certificates",
    "proofs": "Proofs",
    "datasets": "Data sets",
    "plots": "Plots",
    "tables.plots": "Plots of tables",
    "exceptions": "Errors and warnings",
}


def estimators() -> list[str]:
    """Name the estimators at the top, and what else `specmargin.estimators` offers there."""
    homes = {name: getattr(getattr(specmargin, name), "__module__", "") for name in specmargin.__all__}
    return [
        name
        for name, home in homes.items()
        if home.startswith(("specmargin.estimators.", "specmargin.tables.auto_ssl"))
    ]


def unlisted() -> list[str]:
    """Name the public objects of the package that no page would show."""
    listed, shown = set(estimators()), set[int]()
    for module in MODULES:
        shown |= {id(getattr(importlib.import_module(f"specmargin.{module}"), name)) for name in names_of(module)}
    public = {name: getattr(specmargin, name) for name in specmargin.__all__}
    modules = {f"specmargin.{name}" for name in MODULES}
    return [
        name
        for name, value in public.items()
        if not (name in listed or id(value) in shown or (inspect.ismodule(value) and value.__name__ in modules))
    ]


def names_of(module: str) -> list[str]:
    """Return the public names of a module, but for modules among them, which have pages of their own."""
    home = importlib.import_module(f"specmargin.{module}")
    return [name for name in home.__all__ if not inspect.ismodule(getattr(home, name))]


def members(cls: type) -> list[str]:
    """Name the public methods and properties of a class that this package defines and describes."""
    found: dict[str, None] = {}
    for base in cls.__mro__:
        if not base.__module__.startswith(OWN):
            continue
        for name, value in vars(base).items():
            plain = getattr(value, "__func__", value)
            if name.startswith("_") or not (inspect.isroutine(plain) or isinstance(plain, property)):
                continue
            if (getattr(plain, "__module__", None) or "specmargin").startswith(OWN) and plain.__doc__:
                found.setdefault(name)
    return list(found)


def comment_of(name: str) -> list[str]:
    """Return the lines that describe a constant in the module that defines it."""
    walked = (pkgutil.walk_packages(package.__path__, f"{package.__name__}.") for package in (cvxproof, specmargin))
    for module in chain(*walked):
        try:
            docs = ModuleAnalyzer.for_module(module.name).find_attr_docs()
        except PycodeError:
            continue
        if described := docs.get(("", name)):
            return list(described)
    return []


def entry(name: str, value: Any) -> Iterator[str]:
    """Yield the lines that document one object."""
    if inspect.isclass(value):
        yield f".. autoclass:: {name}"
        if listed := members(value):
            yield f"   :members: {', '.join(listed)}"
            yield "   :member-order: bysource"
    elif callable(value) and hasattr(value, "__qualname__"):
        yield f".. autofunction:: {name}"
    else:
        yield f".. py:data:: {name}"
        yield ""
        yield from (f"   {line}" for line in comment_of(name))
    yield ""


_MARKED = re.compile(r"(``.+?``|:\w+:`[^`]*`|`[^`]*`)")
_MARKS = re.compile(r"(?<!\\)\||(?<=[^\W_])_(?!\w)")


def plain_formulas(lines: list[str]) -> list[str]:
    r"""Return a docstring whose bars and final underscores are text; code, examples and formulas stay as they are.

    Examples
    --------
    >>> plain_formulas(["min |f|_K of `coef_` and coef_", ">>> a | b"])
    ['min \\|f\\|_K of `coef_` and coef\\_', '>>> a | b']
    """
    written, literal = [], None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "...", "..")):
            parts = _MARKED.split(line)
            parts[::2] = [_MARKS.sub(lambda mark: "\\" + mark[0], part) for part in parts[::2]]
            line = "".join(parts)
        if literal is None and (line.rstrip().endswith("::") or line.lstrip().startswith(".. ")):
            literal = indent
        written.append(line)
    return written


def example_first(lines: list[str]) -> list[str]:
    """Return a docstring, as numpydoc has written it, with its example before its parameters.

    Examples
    --------
    >>> example_first(["What.", "", ":Parameters:", "", "   C", "", ".. rubric:: Examples", "", ">>> 1", "1"])
    ['What.', '', '.. rubric:: Examples', '', '>>> 1', '1', '', ':Parameters:', '', '   C', '']
    """
    marks = [":Parameters:", ".. rubric:: Examples"]
    if not all(mark in lines for mark in marks):
        return lines
    parameters, example = (lines.index(mark) for mark in marks)
    return [*lines[:parameters], *lines[example:], "", *lines[parameters:example]]


def mend_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Let docstrings be read as plain text, after numpydoc has put their sections into order."""
    known = name.rpartition(".")[2]
    if (picture := Path(app.srcdir) / "api" / f"{known}.png").is_file() and what in ("class", "function"):
        lines += ["", f".. image:: /api/{picture.name}", f"   :alt: The example of {known}, drawn.", "   :width: 420"]
    lines[:] = plain_formulas(example_first(lines) if known in estimators() else lines)


def picture_of(value: Any) -> Any:
    """Return the figure that an example makes, or one of the estimator that it fits; None where there is none."""
    from specmargin.plots import DecisionDisplay, SpectrumDisplay, subplots

    space = dict(vars(inspect.getmodule(value) or specmargin))
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(value) or "")
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # examples are tested elsewhere
        for example in examples:
            exec(compile(example.source, "<example>", "single"), space)  # the package's own docstrings
        fitted = [one for one in space.values() if inspect.isclass(value) and type(one) is value]
        if "figure" in space:
            return space["figure"]
        if not fitted or not isinstance(space.get("X"), np.ndarray):
            return None
        figure, axes = subplots(width="column")
        if hasattr(fitted[-1], "delta_"):
            SpectrumDisplay.from_estimators({value.__name__: fitted[-1]}, ax=axes[0, 0], title="spectrum")
        elif space["X"].shape[1] == 2 and np.ndim(getattr(fitted[-1], "scores_", 0.0)) == 1:
            DecisionDisplay.from_estimator(fitted[-1], space["X"], space.get("y"), ax=axes[0, 0], title="decisions")
        else:
            return None
        return figure


def draw_pictures(folder: Path) -> None:
    """Draw what can be drawn of estimators and of plots, and touch those pictures alone that change."""
    from specmargin import plots

    drawable = {name: getattr(specmargin, name) for name in estimators()}
    drawable |= {name: getattr(plots, name) for name in names_of("plots") if name.endswith(("Display", "panels"))}
    drawn = set()
    logging.getLogger("specmargin").setLevel(logging.WARNING)  # searches tell what they chose
    for name, value in drawable.items():
        if not callable(value) or (figure := picture_of(value)) is None:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            (written,) = plots.save(figure, Path(scratch) / name, formats=("png",))
            picture = folder / written.name
            if not picture.is_file() or picture.read_bytes() != written.read_bytes():
                picture.write_bytes(written.read_bytes())
        drawn.add(picture)
    for stale in set(folder.glob("*.png")) - drawn:
        stale.unlink()


def heading(title: str) -> list[str]:
    """Return a title and its underline."""
    return [title, "=" * len(title), ""]


def page_of_estimator(name: str) -> str:
    """Return the page of a class or function at the top of the package."""
    lines = [*heading(name), ".. currentmodule:: specmargin", "", *entry(name, getattr(specmargin, name))]
    return "\n".join(lines) + "\n"


def page_of_module(module: str, title: str) -> str:
    """Return the page of a module: its docstring, a table of its names, and each of them."""
    home, names = importlib.import_module(f"specmargin.{module}"), names_of(module)
    described = inspect.cleandoc(home.__doc__ or "").split("\n")
    table = [".. autosummary::", "   :nosignatures:", ""]
    # What has no docstring has no place in a table of first sentences.
    listed = [name for name in names if inspect.isclass(getattr(home, name)) or inspect.isroutine(getattr(home, name))]
    table += [f"   {name}" for name in listed]
    lines = [*heading(title), f".. module:: specmargin.{module}", "", *described, "", *table, ""]
    for name in names:
        lines += entry(name, getattr(home, name))
    return "\n".join(lines) + "\n"


def summary(names: list[str]) -> str:
    """Return a table of names, each with the first sentence of its docstring."""
    lines = [".. currentmodule:: specmargin", "", ".. autosummary::", "   :nosignatures:", ""]
    return "\n".join([*lines, *(f"   {name}" for name in names), "", ""])


def write_pages(app: Any) -> None:
    """Write the pages, and touch those alone that change."""
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    draw_pictures(folder)
    pages = {f"{name}.rst": page_of_estimator(name) for name in estimators()}
    pages |= {f"{module}.rst": page_of_module(module, title) for module, title in MODULES.items()}
    pages["estimators.txt"] = summary(estimators()) + "\n".join(
        [".. toctree::", "   :hidden:", "", *(f"   /api/{name}" for name in estimators()), ""]
    )
    pages["modules.txt"] = summary(list(MODULES))
    for name, text in pages.items():
        path = folder / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for stale in {path for path in folder.iterdir() if path.suffix != ".png" and path.name not in pages}:
        stale.unlink()


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    # "of eq. 2" does not end the sentence that stands in a table.
    autosummary.WELL_KNOWN_ABBREVIATIONS = (*autosummary.WELL_KNOWN_ABBREVIATIONS, "eq.", "eqs.")
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", mend_docstring, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
