"""The package alone: its public names, and its tests where nothing else of this project can be imported."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cvxproof

ROOT = Path(__file__).parents[2]
OTHERS = ("specmargin", "reproduction", "sklearn", "matplotlib", "networkx", "lazy_loader")


def run(code: str) -> str:
    """Run code in an interpreter that cannot import what is not of this package."""
    blocked = f"import sys\nsys.modules.update(dict.fromkeys({OTHERS!r}))\n"
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", blocked + code], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def test_all_names_load_and_no_others() -> None:
    assert dir(cvxproof) == cvxproof.__all__ == sorted(cvxproof.__all__)
    assert all(getattr(cvxproof, name) is not None for name in cvxproof.__all__)
    assert cvxproof.certify.__name__ == "certify"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        cvxproof.nothing  # noqa: B018


def test_to_import_it_loads_neither_cvxpy_nor_scipy() -> None:
    assert run("import cvxproof; print(*{'cvxpy', 'scipy', 'numpy'} & set(sys.modules))") == "\n"


def test_the_lines_of_its_readme(tmp_path: Path) -> None:
    blocks = re.findall(r"```(\w*)\n(.*?)```", (ROOT / "cvxproof" / "README.md").read_text(), re.DOTALL)
    code = [text for kind, text in blocks if kind == "python"]
    shown = run("".join([f"import os; os.chdir({str(tmp_path)!r})\n", *code])).splitlines()
    checked = run(f"import os; os.chdir({str(tmp_path)!r})\nfrom cvxproof import check\ncheck.main(['model.cvxproof'])")
    expected = [text.splitlines()[-1] for kind, text in blocks if not kind][1:]
    for told, written in zip([*shown, *checked.splitlines()], expected, strict=True):
        # Digits of a solver are those of a computer.
        assert re.sub(r"[\d.e-]*\d", "", told) == re.sub(r"[\d.e-]*\d", "", written)
    assert all(len(text.split("\n")) - text.count("\n\n") <= 6 for text in code)  # five, and what follows the last


@pytest.mark.slow
def test_its_tests_pass_without_the_rest_of_the_project() -> None:
    options = ["-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", "-p", "no:nbmake"]
    told = run(f"import pytest; sys.exit(pytest.main([*{options!r}, 'tests/cvxproof']))")
    assert " passed" in told
