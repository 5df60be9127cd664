"""Provenance says what was used, and nothing about whose machine it was."""

import getpass
import json
import platform
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import specmargin
from reproduction.engine import provenance
from reproduction.engine.provenance import collect


def test_what_is_collected():
    got = collect(seed=3, data={"g50c": "abc", "digits": None}, solver="CLARABEL")
    assert got["versions"]["numpy"] == np.__version__
    assert got["versions"]["python"] == platform.python_version()
    assert set(provenance.PACKAGES) < set(got["versions"])
    assert (got["seed"], got["data"], got["solver"]) == (3, {"g50c": "abc", "digits": None}, "CLARABEL")
    assert abs(datetime.fromisoformat(got["utc"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert json.loads(json.dumps(got)) == got


def test_no_paths_and_no_names_of_the_machine():
    text = json.dumps(collect())
    assert str(Path.home()) not in text.replace(str(Path("/")), "/") or str(Path.home()) == "/"
    assert "/" not in text
    assert "\\" not in text
    assert socket.gethostname() not in text
    assert getpass.getuser() not in text


def test_what_is_not_installed_is_none(monkeypatch):
    monkeypatch.setattr(provenance, "PACKAGES", ("numpy", "no-such-package-here"))
    assert collect()["versions"]["no-such-package-here"] is None


def test_nothing_heavy_is_imported():
    code = (
        "import sys; from reproduction.engine.provenance import collect; "
        "before = set(sys.modules); collect(); print(*(set(sys.modules) - before))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert not loaded & {"cvxpy", "clarabel", "ecos", "pandas", "sklearn", "scipy"}


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """Return a checkout of its own whose file the module takes itself for."""
    root = tmp_path / "checkout"
    file = root / "specmargin" / "experiments" / "engine" / "provenance.py"
    file.parent.mkdir(parents=True)
    file.write_text("one\n")
    monkeypatch.setattr(specmargin, "__file__", str(root / "specmargin" / "__init__.py"))
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)

    def git(*arguments):
        command = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.org", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--no-verify", "-m", "one")
    return root, git


def test_commit_of_a_checkout(checkout):
    root, git = checkout
    assert collect()["git"] == {"commit": git("rev-parse", "HEAD"), "dirty": False}
    (root / "untracked.txt").write_text("")
    assert collect()["git"]["dirty"] is False
    (root / "specmargin" / "experiments" / "engine" / "provenance.py").write_text("two\n")
    assert collect()["git"]["dirty"] is True


def test_commit_of_a_surrounding_project_is_not_ours(checkout, monkeypatch):
    root, _ = checkout
    installed = root / ".venv" / "lib" / "specmargin" / "__init__.py"
    installed.parent.mkdir(parents=True)
    monkeypatch.setattr(specmargin, "__file__", str(installed))
    assert collect()["git"] is None


def test_files_that_have_changed_since_a_commit_are_named(checkout, monkeypatch):
    monkeypatch.setattr(provenance, "changed_since", provenance.changed_since.__wrapped__)  # without its memory
    root, git = checkout
    first = git("rev-parse", "HEAD")
    assert provenance.changed_since(first) == ()
    assert provenance.since_commit(first) == ""
    (root / "README.py").write_text("no source of the package\n")
    (root / "specmargin" / "two.py").write_text("two\n")
    git("add", ".")
    git("commit", "--quiet", "--no-verify", "-m", "two")
    assert provenance.changed_since(first) == ("specmargin/two.py",)
    assert provenance.since_commit(first) == f"the code has changed since commit {first[:12]}, in 1 file"
    assert provenance.changed_since("f" * 40) is None
    assert "is not in this checkout" in provenance.since_commit("f" * 40)
    assert provenance.changed_since("--output=x") is None


def test_no_git_at_all(checkout, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert collect()["git"] is None
