"""Fingerprints follow what a worker reaches: they change with it, and with nothing else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import specmargin
from specmargin.experiments import LabeledFolds, published
from specmargin.experiments.engine.fingerprint import changes, digest, fingerprint
from specmargin.experiments.engine.records import Store
from specmargin.papers import lapsvm_svm, tables

WORKERS = {table.work.__module__.removeprefix("specmargin."): table.work for table in tables().values()}
PACKAGE = Path(specmargin.__file__).parent


@pytest.mark.parametrize("name", WORKERS)
def test_every_worker_has_one_that_knows_its_solvers_and_no_plots(name):
    found = fingerprint(WORKERS[name])
    assert f"{name}:work" in found
    if name == "papers.auto_ssl":  # a mixture in closed form, of candidates in the place of objectives and solvers
        assert sum(key.startswith("candidates.") for key in found) >= 2
    else:
        assert sum(key.startswith("solvers.") for key in found) >= 1
        assert sum(key.startswith("objectives.") for key in found) >= 2
    assert any(key.startswith("datasets.") for key in found)
    reports = ("run", "report", "claims", "comparison", "gallery", "engine.sweep", "engine.provenance")
    assert not [k for k in found if k.startswith(("plots", "cli", *(f"experiments.{part}:" for part in reports)))]


@pytest.mark.parametrize("name", ["manifold_regularization"])
def test_every_module_that_a_worker_runs_is_in_it(tmp_path, name):
    """Against the interpreter: in whichever module a function runs while cells are computed, the fingerprint has it."""
    code = """
import json, sys
from specmargin.experiments.engine import sweep
from specmargin import papers
from specmargin.experiments.engine.fingerprint import fingerprint

used, known = set(), set()

def trace(frame, event, arg):
    name = frame.f_globals.get("__name__", "")
    if name.startswith("specmargin."):
        used.add(name)

def run(cell, work, **options):
    if not known:
        known.update("specmargin." + key.partition(":")[0] for key in fingerprint(work))
    def traced(cell):
        sys.setprofile(trace)
        try:
            return work(cell)
        finally:
            sys.setprofile(None)
    return compute(cell, traced, **options)

compute, sweep._computed_row = sweep._computed_row, run
papers.run_table(sys.argv[1], quick=True, out=sys.argv[2], progress=False)
print(json.dumps([sorted(used - known), len(used)]))
"""
    environment = {k: v for k, v in os.environ.items() if k != "SPECMARGIN_DATA"}
    run = subprocess.run(
        [sys.executable, "-c", code, name, str(tmp_path)], capture_output=True, text=True, check=True, env=environment
    )
    unknown, n_used = json.loads(run.stdout)
    # Packages hand names on, and the package's own start is no part of any result.
    assert [name for name in unknown if not (PACKAGE.parent / name.replace(".", "/")).is_dir()] == []
    assert n_used > 10


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    root = tmp_path_factory.mktemp("copy") / "specmargin"
    shutil.copytree(PACKAGE, root, ignore=shutil.ignore_patterns("__pycache__"))
    return root


@pytest.fixture
def copy(copied, monkeypatch):
    """Return a copy of the package in which files may be changed, and a function that takes its fingerprint."""
    monkeypatch.setattr(specmargin, "__file__", str(copied / "__init__.py"))
    return copied, partial(fingerprint, lapsvm_svm.work)


def changed(path, old, new):
    before = path.read_text("utf-8")
    assert old in before
    path.write_text(before.replace(old, new, 1), "utf-8")
    return lambda: path.write_text(before, "utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        # What a cell computes.
        ("solvers/manifold/factorized.py", "1e-", "2e-", ["solvers.manifold.factorized"]),
        ("graphs/laplacians.py", "\ndef ", "\ndef added():\n    pass\n\n\ndef ", ["graphs.laplacians"]),
        (
            "papers/lapsvm_svm.py",
            "lru_cache(maxsize=2)",
            "lru_cache(maxsize=9)",
            ["papers.lapsvm_svm:_deformed_kernel"],
        ),
        (
            "experiments/engine/evaluation.py",
            "return 100.0 *",
            "return 99.0 *",
            ["experiments.engine.evaluation:_percent"],
        ),
        # What it does not.
        ("papers/lapsvm_svm.py", '"SVM and LapSVM: error on', '"LapSVM and SVM: error on', []),
        ("experiments/report.py", '"reproduced"', '"ours"', []),
        ("experiments/engine/sweep.py", "_FORMAT = 2", "_FORMAT = 3", []),
        ("plots/theme.py", "3.4", "3.5", []),
        ("solvers/s3vm/annealing.py", "def annealing", "x = 1\n\n\ndef annealing", []),
        ("solvers/__init__.py", '"alignment",', "", []),
        # Comments, docstrings, annotations, layout.
        ("solvers/manifold/factorized.py", "\nfrom ", "\n# a comment\n\n\nfrom ", []),
        ("solvers/manifold/factorized.py", '"""', '"""Reworded. ', []),
        ("experiments/engine/evaluation.py", "def _percent(wrong: AnyArray)", "def _percent(wrong: Any)", []),
    ],
)
def test_what_changes_it(copy, file, old, new, expected):
    package, tell = copy
    before = tell()
    restore = changed(package / file, old, new)
    try:
        assert changes(before, tell()) == expected
    finally:
        restore()


def test_a_new_import_brings_what_it_imports(copy):
    package, tell = copy
    before = tell()
    (package / "graphs" / "new_thing.py").write_text("from specmargin.spectra.transforms import diffusion\n\nX = 1\n")
    restore = changed(
        package / "graphs" / "laplacians.py", "\nimport ", "\nfrom specmargin.graphs import new_thing\nimport "
    )
    try:
        assert {"graphs.laplacians", "graphs.new_thing", "spectra.transforms"} <= set(changes(before, tell()))
    finally:
        restore()


def outer(cell):
    return helper(cell)


def helper(cell):
    return {"error_test": CONSTANT}


CONSTANT = 1.0
UNUSED = 2.0


def test_functions_of_scripts_are_followed_and_bound_arguments_count():
    found = fingerprint(outer)
    assert set(found) == {"outer", "helper", "CONSTANT"}
    one, two = fingerprint(partial(outer, folds=LabeledFolds(2))), fingerprint(partial(outer, folds=LabeledFolds(5)))
    assert changes(one, two) == ["arguments"]
    # Where the data lie says nothing of what they are.
    assert fingerprint(partial(outer, data=Path("a"))) == fingerprint(partial(outer, data=None)) == found
    with pytest.raises(ValueError, match="no text of its own"):
        fingerprint(partial(outer, thing=object()))


def reads_published(cell):
    return {"error_test": float(published("survey2008")["mean"].max())}


def test_published_numbers_count_where_they_are_read():
    assert "published_data" in fingerprint(reads_published)
    assert "published_data" not in fingerprint(outer)


def test_functions_inside_functions_and_lambdas():
    def inside(cell):
        """Say something."""
        return helper(cell)

    found = fingerprint(inside)
    assert set(found) == {"source", "helper", "CONSTANT"}
    assert "source" in fingerprint(lambda cell: 1)
    with pytest.raises(ValueError, match="pass version="):
        fingerprint(len)


def test_digest_does_not_depend_on_the_order():
    assert digest({"a": "1", "b": "2"}) == digest({"b": "2", "a": "1"}) != digest({"a": "2", "b": "1"})


WORSE = """

_before = factorized


def factorized(*arguments, **options):
    result = _before(*arguments, **options)
    return replace(result, variables={name: -value for name, value in result.variables.items()})


from dataclasses import replace
"""


@pytest.mark.slow
def test_a_changed_solver_makes_a_table_say_so_and_compute_again(tmp_path):
    """From end to end, on a copy of the package: the numbers that the older code made are not served again."""
    package = tmp_path / "specmargin"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "SPECMARGIN_DATA": str(tmp_path / "none")}
    command = [sys.executable, "-m", "specmargin", "tables", "lapsvm_svm", "--quick", "--out", "out"]
    store = Store(tmp_path / "out" / "sweeps" / "lapsvm_svm-quick")

    def run(*options):
        done = subprocess.run([*command, *options], capture_output=True, text=True, env=environment, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stderr, (tmp_path / "out" / "tables" / "lapsvm_svm-quick.csv").read_text(), len(store.all_rows())

    said, numbers, n = run()
    assert "stale" not in said
    solver = package / "solvers" / "manifold" / "factorized.py"
    before = solver.read_text("utf-8")
    solver.write_text(before + WORSE, "utf-8")
    try:
        said, kept, m = run("--keep-stale")
        assert (
            f"{n} of {n} cells are stale, because this changed since: solvers.manifold.factorized. They are KEPT"
            in said
        )
        assert (kept, m) == (numbers, n)
        text = (tmp_path / "out" / "tables" / "lapsvm_svm-quick.txt").read_text()
        what = f"{n} of {n} cells are of older code or data"
        loud = f"STALE: {what}, kept as asked for; changed since: solvers.manifold.factorized"
        assert text.splitlines()[1] == loud
        said, other, m = run()
        assert f"{n} of {n} cells are stale, because this changed since: solvers.manifold.factorized." in said
        assert "They are computed again" in said
        assert m == 2 * n
        assert other != numbers
        assert "STALE" not in (tmp_path / "out" / "tables" / "lapsvm_svm-quick.txt").read_text()
    finally:
        solver.write_text(before, "utf-8")
    said, back, m = run()  # the rows of the first code are still there
    assert (back, m) == (numbers, 2 * n)
    assert "stale" not in said
