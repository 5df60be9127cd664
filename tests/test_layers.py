"""The import contracts of pyproject.toml hold, and would be seen to break."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

LAYERS = "layers"
SOLVERS = "numpy solvers never see CVXPY"
PROBLEMS = "problems never see scikit-learn or matplotlib"
CVXPY = "CVXPY lives in problems"
WING = "the core never imports a wing"
ALONE = "cvxproof stands alone"
BELOW = "layers of cvxproof"
ONE = "one module of the searches for global optima sees CVXPY"

# What the script `lint-imports` does, by the interpreter that runs the tests.
COMMAND = "import sys, importlinter.cli as cli; sys.exit(cli.lint_imports(no_logo=True, no_cache=True))"


def check_contracts(tree: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter in `tree`, whose own package it then finds first."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND],
        cwd=tree,
        env={**os.environ, "COLUMNS": "300", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the package and its contracts, to be spoilt."""
    for package in ("cvxproof", "specmargin"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_contracts_are_kept() -> None:
    run = check_contracts(ROOT)
    assert run.returncode == 0, run.stdout + run.stderr
    for contract in (LAYERS, SOLVERS, PROBLEMS, CVXPY, WING, ONE, ALONE, BELOW):
        assert f"{contract} KEPT" in run.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("losses.py", "from specmargin import estimators", LAYERS),
        ("typing.py", "import specmargin.results", LAYERS),
        ("solvers/planted.py", "from specmargin.problems import solve", LAYERS),
        ("problems/planted.py", "from specmargin import solvers", LAYERS),
        ("solvers/planted.py", "import cvxpy", SOLVERS),
        ("objectives/planted.py", "def late():\n    import matplotlib.pyplot", SOLVERS),
        ("problems/planted.py", "from sklearn.svm import SVC", PROBLEMS),
        ("labels.py", "import cvxpy", CVXPY),
        ("solvers/planted.py", "def late():\n    from specmargin.optima import bound", WING),
        ("plots/planted.py", "import specmargin.optima", WING),
        ("optima/boxes/planted.py", "import cvxpy", ONE),
        ("estimators/planted.py", "def late():\n    from specmargin.tables.auto_ssl import AutoSSL", WING),
        ("../cvxproof/results.py", "def late():\n    import specmargin", ALONE),
        ("../cvxproof/proofs/planted.py", "import sklearn", ALONE),
        ("../cvxproof/conic/planted.py", "import cvxproof.proofs.balls", BELOW),
    ],
)
def test_planted_import_is_caught(copy: Path, module: str, line: str, broken: str) -> None:
    path = copy / "specmargin" / module
    before = path.read_text() if path.exists() else '"""Planted."""\n'
    path.write_text(f"{before}\n{line}\n")

    run = check_contracts(copy)

    assert run.returncode == 1, run.stdout + run.stderr
    assert f"{broken} BROKEN" in run.stdout
    name = f"specmargin.{module}".removeprefix("specmargin.../").removesuffix(".py").replace("/", ".")
    assert f"{name} ->" in run.stdout


def test_module_outside_the_layers_is_caught(copy: Path) -> None:
    (copy / "specmargin" / "planted.py").write_text('"""Planted."""\n')

    run = check_contracts(copy)

    assert run.returncode == 1
    assert f"{LAYERS} BROKEN" in run.stdout
    assert "- specmargin.planted" in run.stdout.splitlines()
