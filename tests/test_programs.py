"""docs/programs.md against the problems that it describes: names, labels, shapes, and what CVXPY prints.

The parts of the page between ``<!-- built: NAME -->`` and ``<!-- end -->`` are written from built problems:

    python tests/test_programs.py
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "programs.md"
PRINTED_BY = "1.9"
"""The version of CVXPY whose `format_labeled` the page shows; the names and shapes are checked with every version."""

BEGIN, END = "<!-- built: {} -->", "<!-- end -->"

# No two sizes are equal, so that every shape tells which one it is.
SIZES = {"n": 16, "l": 6, "u": 10, "q": 8, "m": 7, "r": 3, "l + 2u": 26, "3l": 18, "r + 1": 4, "K": 5}


def _labels() -> Any:
    y = np.full(SIZES["n"], -1)
    y[:3], y[-3:] = 0, 1
    return sm.encode_labels(y)


def _features() -> Any:
    return np.random.default_rng(0).normal(size=(SIZES["n"], SIZES["r"]))


def _lapsvm(**parameters: Any) -> Any:
    X = _features()
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=4))
    return sm.objectives.LapSVM(X @ X.T, L, _labels(), gamma_A=0.1, gamma_I=1.0, **parameters)


def _spectrum() -> Any:
    """Return eigenpairs of which two share an eigenvalue, so that there is an extreme spectrum fewer."""
    rng = np.random.default_rng(0)
    values = np.array([0.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    vectors, _ = np.linalg.qr(np.column_stack([np.ones(SIZES["n"]), rng.normal(size=(SIZES["n"], SIZES["q"] - 1))]))
    return sm.spectra.Spectrum(values, vectors, n_components=1)


def _ridge() -> Any:
    spectrum = _spectrum()
    return sm.objectives.SpectralRidge(spectrum, _labels(), np.full(SIZES["q"], 1.0 / SIZES["q"]))


def _margin(**parameters: Any) -> Any:
    return sm.objectives.SpectrumMargin(_spectrum(), _labels(), C=2.0, **parameters)


def _blocks(**parameters: Any) -> Any:
    """Return blocks of r columns and of one over K classes."""
    y = np.full(SIZES["n"], -1)
    y[: SIZES["l"]] = np.arange(SIZES["l"]) % SIZES["K"]
    X = _features()
    return sm.objectives.BlockMargin([X, X[:, :1]], sm.encode_labels(y), C=2.0, **parameters)


def _s3vm() -> Any:
    return sm.objectives.S3VM(_features(), _labels(), "hinge", C=2.0, C_star=0.5)


def _rmm(**parameters: Any) -> Any:
    X, labels = _features(), _labels()
    X = X[labels.labeled]
    return sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 0, 1, 1, 1]), C=2.0, **parameters)


PROGRAMS: dict[str, Callable[[], Any]] = {
    "lapsvm_dual": lambda: sm.problems.lapsvm_dual(_lapsvm()),
    "lapsvm_primal": lambda: sm.problems.lapsvm_primal(_lapsvm()),
    "spectral_ridge_primal": lambda: sm.problems.spectral_ridge_primal(_ridge()),
    "kta": lambda: sm.problems.kta(sm.objectives.Alignment(_spectrum(), _labels())),
    "rmm": lambda: sm.problems.rmm(_rmm(B=1.5)),
    "rmm_primal": lambda: sm.problems.rmm_primal(_rmm(B=1.5)),
    "storm, literal": lambda: sm.problems.storm(_margin(B=1.5), "literal"),
    "storm, chained": lambda: sm.problems.storm(_margin(B=1.5), "chained"),
    "storm, compact": lambda: sm.problems.storm(_margin(B=1.5), "compact"),
    "storm, primal": lambda: sm.problems.storm(_margin(B=1.5), "primal"),
    "stoam": lambda: sm.problems.stoam(_margin()),
    "mkl": lambda: sm.problems.mkl(_margin(order=False)),
    "block_margin, literal": lambda: sm.problems.block_margin(_blocks(loss="squared_hinge"), "literal"),
    "block_margin, compact": lambda: sm.problems.block_margin(_blocks(loss="squared_hinge"), "compact"),
    "block_margin, primal": lambda: sm.problems.block_margin(_blocks(loss="squared_hinge"), "primal"),
    "s3vm_relaxation": lambda: sm.optima.s3vm_relaxation(_s3vm()),
    "cccp_subproblem": lambda: sm.problems.cccp_subproblem(_s3vm(), np.full(SIZES["u"], 0.5)),
}


def shape(of: Any) -> str:
    """Write a shape in the letters of `SIZES`: ``(l,)``."""
    letters = {size: letter for letter, size in SIZES.items()}
    sizes = [letters.get(size, str(size)) for size in of]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})" if sizes else "()"


def _kind(constraint: Any) -> str:
    kinds = {"Equality": "==", "Zero": "==", "Inequality": "<=", "NonPos": "<=", "SOC": "cone", "PSD": ">> 0"}
    return kinds[type(constraint).__name__]


def _constraint(held: Any) -> str:
    """Write kind and shape of what stands under one label: of a cone, the number of cones and their rows."""
    if isinstance(held, list):
        return f"{shape((len(held),))} times {_kind(held[0])}"
    if isinstance(held, cp.SOC):
        rows = {int(size) for size in held.cone_sizes()}
        return f"{shape((len(held.cone_sizes()),))} cones of {', '.join(map(str, sorted(rows)))} rows"
    return f"{_kind(held)} {shape(held.shape)}"


def tables(built: Any) -> str:
    """Write names and shapes of a built problem: its named variables, the others, parameters, constraints."""
    named = [f"`{name}` {shape(variable.shape)}" for name, variable in built.variables.items()]
    others = [v for v in built.problem.variables() if v.name() not in built.variables]
    inner = [f"`{v.name()}` {shape(v.shape)}" for v in sorted(others, key=lambda v: v.name())]
    parameters = [f"`{name}` {shape(parameter.shape)}" for name, parameter in built.parameters.items()]
    constraints = [f"`{label}` {_constraint(held)}" for label, held in built.constraints.items()]
    rows = {"variables": named, "inner variables": inner, "parameters": parameters, "constraints": constraints}
    lines = [f"| {kind} | {' · '.join(entries)} |" for kind, entries in rows.items() if entries]
    return "\n".join([f"| `{built.name}` | {'maximised' if _maximises(built) else 'minimised'} |", "|---|---|", *lines])


def _maximises(built: Any) -> bool:
    return isinstance(built.problem.objective, cp.Maximize)


_ARRAY = re.compile(r"(?<![\w\])])\[(?:\s*[-\d.e+\[\]\n]|\s|\.\.\.)+\]")


def printed(built: Any) -> str:
    """Return `format_labeled` with every array of numbers as ``#`` and without arguments that say nothing."""
    text = _ARRAY.sub("#", built.problem.format_labeled())
    text = re.sub(r"Promote\(([^()]*(?:\([^()]*\)[^()]*)?), \(\d+,\)\)", r"\1", text)
    text = text.replace(", None, False)", ")").replace(", 1.0)", ")")
    return re.sub(r"\b(sums|blocks): (.*)(?:\n\s+\1: .*)+", r"\1: \2   (and so on)", text)


def section(name: str) -> str:
    """Return what stands on the page between the markers of a problem."""
    built = PROGRAMS[name]()
    return f"{tables(built)}\n\n```text\n{printed(built)}\n```\n"


def sections(page: str) -> Iterator[re.Match[str]]:
    return re.finditer(r"(<!-- built: (.*?) -->\n)(.*?)(?=<!-- end -->)", page, re.DOTALL)


def written(page: str) -> str:
    """Return the page with its built parts written anew."""
    for name in PROGRAMS:
        pattern = re.escape(BEGIN.format(name)) + r"\n.*?" + re.escape(END)
        new = f"{BEGIN.format(name)}\n{section(name)}{END}"
        page, times = re.subn(pattern, lambda _, new=new: new, page, flags=re.DOTALL)
        if times != 1:
            raise ValueError(f"docs/programs.md has {times} places for {name!r}; it needs one: {BEGIN.format(name)}")
    return page


@pytest.fixture(scope="module")
def page() -> str:
    return PAGE.read_text(encoding="utf-8")


def test_page_shows_every_builder_once(page: str) -> None:
    returned = {
        name: getattr(getattr(module, name), "__annotations__", {})
        for module in (sm.problems, sm.optima)
        for name in module.__all__
    }
    builders = {name for name, types in returned.items() if "BuiltProblem" in str(types.get("return"))}
    assert builders - {"solve", "lapsvm_problem", "primal"} == {name.split(",")[0] for name in PROGRAMS}
    assert [match[2] for match in sections(page)] == list(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_names_labels_and_shapes_of_the_page_are_those_of_the_problem(name: str, page: str) -> None:
    (shown,) = (match[3] for match in sections(page) if match[2] == name)
    assert tables(PROGRAMS[name]()) == shown.split("\n\n")[0], "write it again: python tests/write_pages.py"


@pytest.mark.parametrize("name", PROGRAMS)
def test_page_prints_the_problem_as_cvxpy_does(name: str, page: str) -> None:
    (shown,) = (match[3] for match in sections(page) if match[2] == name)
    text = re.search(r"```text\n(.*?)\n```", shown, re.DOTALL)[1]
    built = PROGRAMS[name]()
    if cp.__version__.startswith(f"{PRINTED_BY}."):
        assert printed(built) == text, "write it again: python tests/write_pages.py"
    # Whatever the version: the page's labels are the problem's, in its order (CVXPY prints none before a cone).
    labels = [label for label, held in built.constraints.items() if not isinstance(held, cp.SOC)]
    assert re.findall(r"^(?:subject to)?\s*(\w+): ", text, re.MULTILINE) == labels
    for label in labels:
        assert f"{label}: " in built.problem.format_labeled()


@pytest.mark.parametrize("name", PROGRAMS)
def test_page_explains_every_name(name: str, page: str) -> None:
    """The prose of a section names each variable, parameter and label beside its symbol or its meaning."""
    built = PROGRAMS[name]()
    before = page[: page.index(BEGIN.format(name))]
    section_of = before[before.rindex("\n## ") :]
    for known in (*built.variables, *built.parameters, *built.constraints):
        assert f"`{known}`" in section_of, f"{name}: say what {known} is"


def test_cone_is_the_one_that_the_page_defines(page: str) -> None:
    """Rows of A and their traces c, by the words of the page, for weights two of which are of equal eigenvalues."""
    assert "c = A 1" in page
    assert "eps is 0 by default" in " ".join(page.split())
    q = SIZES["q"]
    after = [r for r in range(2, q + 1) if r != 3]  # delta_3 = delta_4: there is no drop between them
    A = np.array([[j == 1 for j in range(1, q + 1)], *[[2 <= j <= r for j in range(1, q + 1)] for r in after]], float)
    for obj in (_margin(), sm.objectives.Alignment(_spectrum(), _labels())):
        np.testing.assert_array_equal(obj.cone.matrix(), A)
        np.testing.assert_array_equal(obj.cone.c, A.sum(axis=1))
    np.testing.assert_array_equal(_margin(order=False).cone.matrix(), np.eye(q))
    assert [_margin().eps, _blocks().eps] == [0.0, 0.0]
    assert "0.001" not in page


def test_page_names_functions_that_exist(page: str) -> None:
    named = set(re.findall(r"`sm\.(\w+)\.(\w+)`", page))
    assert len(named) > 10
    for module, name in named:
        assert hasattr(getattr(sm, module), name), f"sm.{module}.{name}"


def test_a_changed_problem_is_noticed(monkeypatch: pytest.MonkeyPatch, page: str) -> None:
    before = PROGRAMS["rmm"]()
    renamed = PROGRAMS["rmm"]()
    renamed.constraints["box"].set_label("bound")
    assert tables(renamed) == tables(before)
    assert printed(renamed) != printed(before)
    svm = sm.problems.rmm(_rmm())  # without B, beta and eta
    assert tables(svm) != tables(before)
    monkeypatch.setitem(PROGRAMS, "rmm", lambda: svm)
    assert written(page) != page


def test_page_without_a_problem_is_noticed(page: str) -> None:
    with pytest.raises(ValueError, match="0 places for 'kta'"):
        written(page.replace(BEGIN.format("kta"), ""))


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)} is up to date.\n")
