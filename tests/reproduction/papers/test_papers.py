"""Tables are found: the table of another paper is one file and one CSV file of its published numbers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from reproduction import Experiment
from reproduction.papers import run_table, tables
from reproduction.run import Options
from specmargin.exceptions import SpecmarginError

ROOT = Path(__file__).resolve().parents[3]

TOY = '''"""A sixth paper: the supervised SVM on scikit-learn's digits."""

from sklearn.svm import SVC

from reproduction.comparison import Reference
from reproduction.grid import grid_experiment
from reproduction.methods import Method, fit_cell
from reproduction.tasks import Task, random_draws, samples

TASKS = {"digits": Task("digits", "digits", n=200, draw=random_draws(n_labeled=40, n_splits=3))}


def _svm(task, setting, data):
    return SVC(C=setting["C"], gamma="scale"), samples(task, data)[0]


METHODS = {"svm": Method(("C",), estimator=_svm, labeled_only=True)}


def work(cell, *, data=None):
    """Fit a method at one setting on one split."""
    return fit_cell(cell, TASKS, METHODS, data)


TOY = grid_experiment(
    "toy",
    "A toy table",
    "SVM on digits: error in percent",
    tasks=list(TASKS.values()),
    methods=METHODS,
    grid={"C": (1.0, 10.0)},
    references={"svm": [Reference("toy_2030", "1", "svm")]},
    work=work,
)
'''
CSV = """paper,table,dataset,method,quantity,split,mean,std,n_labeled,note
toy_2030,1,digits,svm,error_percent,U,12.34,1.5,40,made up
"""


@pytest.mark.slow
def test_a_sixth_paper_is_one_file_and_one_csv(tmp_path):
    for package in ("specmargin", "reproduction"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "reproduction" / "papers" / "toy_2030.py").write_text(TOY)
    (tmp_path / "reproduction" / "engine" / "published_data" / "toy_2030.csv").write_text(CSV)

    def specmargin_command(*words):
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        command = [sys.executable, "-m", "reproduction", *words]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed = specmargin_command("tables")
    assert "A toy table" in listed
    assert "lapsvm_svm" in listed
    text = specmargin_command("tables", "toy", "--quick")
    (line,) = [line for line in text.splitlines() if line.startswith("digits")]
    assert "2 labelled folds" in line
    assert "12.34 (1.50)  toy_2030 table 1 svm" in line
    assert "cells: 4, failed: 0" in text
    assert (tmp_path / "results" / "tables" / "toy-quick.csv").is_file()


def test_tables_are_those_of_the_command_line():
    assert {"lapsvm_svm", "lapsvm_primal", "lapsvm_primal_faces", "qn_s3vm", "s3vm_optima"} <= set(tables())
    for name, table in tables().items():
        assert isinstance(table, Experiment)
        assert table.name == name
        assert table.summary
        assert table.work.__module__.startswith("reproduction.papers.")


def test_tables_without_their_data_say_which_and_where_from(nowhere, tmp_path):
    silent = set()
    for name, table in tables().items():
        missing = [line for line in table.setup(Options(tmp_path, data=nowhere)).header if "NOT AVAILABLE: " in line]
        assert all("SPECMARGIN_DATA. Where each set comes from" in line for line in missing), (name, missing)
        silent |= {name} if not missing else set()
    assert silent == {"s3vm_optima"}  # on generated sets alone


def test_figures_call_what_the_papers_export():
    for script in sorted((ROOT / "figures").glob("*.py")):
        text = script.read_text()
        assert "papers._" not in text, script.name
        assert "papers import _" not in text, script.name


def test_unknown_tables_are_refused():
    with pytest.raises(ValueError, match=r"no table 'tyo'.*lapsvm_svm"):
        run_table("tyo")


def test_two_tables_of_one_name_are_refused(monkeypatch):
    from reproduction.papers import gieseke_2014, lapsvm_svm

    same = type(lapsvm_svm.LAPSVM_SVM)(**{**vars(lapsvm_svm.LAPSVM_SVM), "name": gieseke_2014.QN_S3VM.name})
    monkeypatch.setattr(lapsvm_svm, "LAPSVM_SVM", same)
    tables.cache_clear()
    try:
        with pytest.raises(SpecmarginError, match="two papers have a table 'qn_s3vm'"):
            tables()
    finally:
        tables.cache_clear()
