"""What a type checker and a page know of the public classes: their parameters, their attributes, and no other ones."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import all_estimators
import pytest
import sklearn.base

import specmargin as sm
from specmargin import graphs, kernels, solvers, spectra
from specmargin.estimators._base import sklearn_bases
from specmargin.parts import Part

ROOT = Path(__file__).parents[3]
ESTIMATORS = [getattr(sm, name) for name in all_estimators.NAMES]
PARTS = [
    one
    for module in (graphs, kernels, solvers, spectra)
    for one in map(module.__dict__.get, module.__all__)
    if isinstance(one, type) and issubclass(one, Part) and one is not kernels.Kernel  # which has no parameters
]


@pytest.mark.parametrize("cls", [*ESTIMATORS, *PARTS], ids=lambda cls: cls.__name__)
def test_a_signature_names_the_parameters(cls: type) -> None:
    own = [name for name in inspect.signature(cls.__init__).parameters if name != "self"]  # type: ignore[misc]
    assert not any(one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in cls.__signature__.parameters.values())  # type: ignore[attr-defined]
    assert list(cls.__signature__.parameters) == own == list(inspect.signature(cls).parameters)  # type: ignore[attr-defined]
    assert pydoc.plain(pydoc.render_doc(cls)).splitlines()[2].startswith(f"class {cls.__name__}(")
    assert "given" not in pydoc.plain(pydoc.render_doc(cls)).split("\n |")[0]


def test_the_signature_of_a_part_that_is_called_is_that_of_the_call() -> None:
    assert list(inspect.signature(kernels.RBF()).parameters) == ["X", "Y"]
    assert list(inspect.signature(graphs.Laplacian()).parameters) == ["W"]


def test_the_typed_bases_are_those_of_scikit_learn() -> None:
    """A method that scikit-learn no longer had, or of other arguments, would still pass the type checker."""
    tree = ast.parse(Path(sklearn_bases.__file__).read_text(encoding="utf-8"))
    typed = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    assert typed.keys() == set(sklearn_bases.__all__)
    for name, node in typed.items():
        real = getattr(sklearn.base, name)
        assert getattr(sklearn_bases, name) is real
        for method in (one for one in node.body if isinstance(one, ast.FunctionDef)):
            given = [one.arg for one in [*method.args.args, *filter(None, [method.args.kwarg])]]
            assert given == list(inspect.signature(getattr(real, method.name)).parameters), (name, method.name)


def attributes(cls: type) -> list[str]:
    """Return the fitted attributes that the docstring of a class documents."""
    _, _, section = (inspect.getdoc(cls) or "").partition("Attributes\n----------\n")
    heads = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", section.partition("\n\n")[0], re.MULTILINE)
    return [name for head in heads for name in head.split(", ")]


def script() -> tuple[str, dict[int, str]]:
    """Return a user's script about all public classes, and by its line what a type checker has to say about it."""
    lines = [
        "from typing import assert_type",
        "import numpy as np",
        "import specmargin as sm",
        "X, y = np.eye(3), [0, 1, -1]",
    ]
    wrong: dict[int, str] = {}

    def refused(line: str, says: str) -> None:
        lines.append(line)
        wrong[len(lines)] = says

    for cls in ESTIMATORS:
        name = f"sm.{cls.__name__}"
        given = ", ".join(f"{one}={name}().{one}" for one in inspect.signature(cls).parameters)
        lines.append(f"model_{cls.__name__} = {name}({given})")
        lines.append(f"assert_type({name}().fit(X, y), {name})")
        lines.extend(f"print(model_{cls.__name__}.{one})" for one in attributes(cls))
        refused(f"{name}(gama_A=1.0)", f'Unexpected keyword argument "gama_A" for "{cls.__name__}"')
        if cls is not sm.LabelSearch:  # which has whatever the estimator has that it chooses
            refused(f"{name}().clases_", f'"{cls.__name__}" has no attribute "clases_"')
    for cls in PARTS:
        name = f"sm.{cls.__module__.split('.')[1]}.{cls.__name__}"
        refused(f"{name}(gama=1.0)", 'Unexpected keyword argument "gama"')
    lines += [
        "result = sm.LapSVM().fit(X, y).result_",
        "print(result.certificate.relative_gap, [one.certificate for one in result])",
        "assert_type(sm.RegularizedEigenmaps().fit(X).result_.certificate.relative_gap, float)",
        "assert_type(sm.LapSVM().fit(X, y).score(X, y), float)",
    ]
    refused("sm.LapSVM().fit(X, y).score(X, y, weight=y)", 'Unexpected keyword argument "weight" for "score"')
    return "\n".join(lines) + "\n", wrong


def test_a_users_script_is_checked(tmp_path: Path) -> None:
    """By mypy with the settings of the project, whose cache it shares: `make test` has filled it."""
    pytest.importorskip("mypy")
    path = tmp_path / "users_script.py"
    text, wrong = script()
    path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-pretty", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.findall(r"^.*users_script\.py:(\d+): error: (.*)$", done.stdout, re.MULTILINE)
    assert {int(line): says for line, says in found if int(line) not in wrong} == {}, done.stdout + done.stderr
    told = {int(line): says for line, says in found}
    for line, says in wrong.items():
        assert says in told.get(line, ""), (text.splitlines()[line - 1], done.stderr)
    assert sm.__name__ == "specmargin"
