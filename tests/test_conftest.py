"""The suite tells which data tests ran without the real data."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DATA_TEST = """
import pytest

@pytest.mark.data
def test_on_data(data_folder, monkeypatch):
    # What a test does to the environment does not change the list.
    monkeypatch.delenv("SPECMARGIN_DATA", raising=False)

def test_on_nothing(): pass
"""


def run_suite(folder: Path, data: str, workers: int) -> subprocess.CompletedProcess[str]:
    shutil.copy(Path(__file__).with_name("conftest.py"), folder)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    data: real data\n")
    (folder / "test_it.py").write_text(DATA_TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(workers), "test_it.py"]
    environment = {**os.environ, "SPECMARGIN_DATA": data}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("with_data", "workers"), [(False, 2), (True, 0)])  # reports travel from workers
def test_data_tests_without_data_are_listed(tmp_path: Path, with_data: bool, workers: int) -> None:
    ran = run_suite(tmp_path, str(tmp_path) if with_data else "", workers)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ("ran on bundled data" in ran.stdout) is not with_data
    assert ("test_it.py::test_on_data" in ran.stdout) is not with_data
    assert "test_on_nothing" not in ran.stdout


def test_a_wrong_data_folder_is_refused(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, str(tmp_path / "absent"), 0)
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert "absent" in ran.stderr
