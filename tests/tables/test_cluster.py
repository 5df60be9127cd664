"""A real Dask scheduler and two workers on loopback: the same rows as in this process, also after one of them died."""

import csv
import importlib
import json
import os
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from typer.testing import CliRunner

import specmargin as sm
from reproduction.engine.records import Cell, Store
from reproduction.engine.sweep import run_sweep
from specmargin.exceptions import SpecmarginError
from specmargin.tables import cluster
from specmargin.tables.assessment.outcomes import RowStore
from specmargin.tables.cli import app
from specmargin.tables.cluster import ClusterError, on_cluster

pytestmark = pytest.mark.slow

WORK = """
import os, time
from pathlib import Path
import numpy as np

def work(cell, *, data=None):
    k = cell.parameters["k"]
    if cell.method == "slow":
        time.sleep(0.3)
    if cell.method == "fails" and k == 2:
        raise ValueError("not this one")
    if cell.method == "dies":
        os._exit(1)
    matrix = np.random.default_rng(k).normal(size=(40, 40))
    values = {"error_test": float(np.linalg.svd(matrix)[1][0]), "process": os.getpid()}
    if cell.method == "reads":
        values["total"] = float(np.load(Path(os.environ["SPECMARGIN_DATA"]) / "toy.npz")["x"].sum())
    return values
"""


def cells(method, n=12):
    return [Cell("toy", method, "none", "s0", {"k": k}) for k in range(n)]


def without(rows, *names):
    gone = {"seconds", "run", "process", *names}
    return [{name: value for name, value in row.items() if name not in gone} for row in rows]


class Dask:
    """A scheduler and its workers, each a process."""

    def __init__(self, folder, importable, env=None):
        self.folder, self.file, self.processes = folder, folder / "scheduler.json", []
        self.env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(importable), os.environ.get("PYTHONPATH", "")])}
        self.env |= {"OMP_NUM_THREADS": "1", "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
        self.env.pop("SPECMARGIN_DATA", None)
        self.env |= env or {}
        self.start("dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
        for _ in range(600):
            if self.file.exists() and self.file.stat().st_size:
                break
            time.sleep(0.1)
        self.address = json.loads(self.file.read_text())["address"]

    def start(self, program, *options):
        command = [sys.executable, "-m", f"distributed.cli.{program}", "--scheduler-file", str(self.file), *options]
        with (self.folder / f"{program}{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def worker(self, **env):
        before, self.env = self.env, {**self.env, **env}
        process = self.start(
            "dask_worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder)
        )
        self.env = before
        return process

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def toy(tmp_path, monkeypatch):
    place = tmp_path / "importable"
    place.mkdir()
    (place / "toy_of_cluster.py").write_text(WORK)
    monkeypatch.syspath_prepend(str(place))
    sys.modules.pop("toy_of_cluster", None)
    get_reusable_executor().shutdown()  # its workers, started by an earlier test, do not look into that folder
    return importlib.import_module("toy_of_cluster")


@pytest.fixture
def dask(tmp_path, toy):
    pytest.importorskip("distributed", reason="the cluster's tests need Dask: pip install distributed")
    made = Dask(tmp_path, tmp_path / "importable")
    yield made
    made.end()


def test_a_cluster_gives_the_rows_of_this_process_and_of_two_processes(dask, toy, tmp_path):
    workers = [dask.worker(), dask.worker()]
    options = {"progress": False}
    serial = run_sweep(cells("fails"), toy.work, folder=tmp_path / "serial", **options)
    two = run_sweep(cells("fails"), toy.work, folder=tmp_path / "two", jobs=2, **options)
    away = run_sweep(cells("fails"), toy.work, folder=tmp_path / "away", scheduler=dask.address, **options)
    assert without(serial) == without(two) == without(away)
    assert [row["status"] for row in away].count("failed") == 1
    assert {row["process"] for row in away if "process" in row} <= {worker.pid for worker in workers}
    # this process alone has written, into one file
    (file,) = (tmp_path / "away" / "cells").iterdir()
    assert file.name.endswith(f"-{os.getpid()}.jsonl")


def test_data_sets_go_to_workers_that_share_no_folder_and_to_those_that_join_later(dask, toy, tmp_path):
    file = tmp_path / "driver" / "toy.npz"
    file.parent.mkdir()
    np.savez(file, x=np.arange(5.0))
    options = {"progress": False, "scheduler": dask.address, "data_files": {"toy": file}}
    worker = dask.worker()
    rows = run_sweep(cells("reads", 3), toy.work, folder=tmp_path / "a", **options)
    assert [row["total"] for row in rows] == [10.0] * 3
    worker.kill()
    dask.worker()
    rows = run_sweep(cells("reads", 3), toy.work, folder=tmp_path / "b", **options)
    assert [row["total"] for row in rows] == [10.0] * 3


def test_other_sources_on_a_worker_are_named(dask, toy, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "toy_of_cluster.py").write_text(WORK.replace("(40, 40)", "(41, 41)"))
    dask.worker(PYTHONPATH=os.pathsep.join([str(other), os.environ.get("PYTHONPATH", "")]))
    with pytest.raises(
        ClusterError,
        match=r"sources than this process: toy_of_cluster.py; install the same on both. 0 of 12 cells",
    ):
        run_sweep(cells("plain"), toy.work, folder=tmp_path / "a", scheduler=dask.address, progress=False)


def test_a_scheduler_that_knows_nothing_of_the_work_is_named(tmp_path, toy):
    pytest.importorskip("distributed")
    bare = Dask(tmp_path, tmp_path / "importable", {"PYTHONPATH": ""})
    try:
        bare.worker()
        with pytest.raises(ClusterError, match="cannot read the calls; install this version of specmargin there, too"):
            run_sweep(cells("plain"), toy.work, folder=tmp_path / "a", scheduler=bare.address, progress=False)
    finally:
        bare.end()


def test_a_cell_that_kills_its_workers_ends_the_run_in_order(dask, toy, tmp_path):
    for _ in range(5):
        dask.worker()
    with pytest.raises(SpecmarginError, match=r"died at one call.*the same call goes on from there"):
        run_sweep(cells("dies", 1), toy.work, folder=tmp_path / "a", scheduler=dask.address, progress=False)


def test_a_scheduler_that_cannot_be_reached_is_named(toy, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_ANSWER", 1.0)
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:9'"):
        run_sweep(cells("plain"), toy.work, folder=tmp_path / "a", scheduler="tcp://127.0.0.1:9", progress=False)
    with pytest.raises(ClusterError, match="no Dask scheduler answers at 'nonsense'"):
        list(on_cluster(len, [], "nonsense"))


def test_a_scheduler_without_workers_is_named(dask, toy, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_ALONE", 1.0)
    with pytest.raises(ClusterError, match="has had no worker for 1 seconds"):
        run_sweep(cells("plain"), toy.work, folder=tmp_path / "a", scheduler=dask.address, progress=False)


def test_a_scheduler_that_dies_keeps_what_was_computed(dask, toy, tmp_path):
    dask.worker()
    append = Store.append

    def noticed(self, row, run):
        if dask.processes[0].poll() is None and row["param_k"] >= 3:
            dask.processes[0].kill()
        return append(self, row, run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "append", noticed)
        patch.setattr(cluster, "_ALONE", 6.0)
        with pytest.raises(ClusterError, match="goes on from there"):
            run_sweep(cells("slow", 30), toy.work, folder=tmp_path / "a", scheduler=dask.address, progress=False)
    assert len(Store(tmp_path / "a").read()) >= 3
    rows = run_sweep(cells("slow", 30), toy.work, folder=tmp_path / "a", progress=False)
    assert len(rows) == 30


# Comparisons of a table of one's own.


@pytest.fixture
def table(tmp_path):
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
    y = sm.hide_labels(truth, per_class=7, random_state=0)
    file = tmp_path / "moons.csv"
    rows = [f"{a:.3f},{b:.3f},{'' if k < 0 else ('left', 'right')[k]}" for (a, b), k in zip(X, y, strict=True)]
    file.write_text("\n".join(["a,b,kind", *rows]) + "\n")
    return file


METHODS = "majority,LapRLS,LapSVM,SpectralRidge,AutoSSL"


def compared(folder):
    """What `specmargin compare` has written, but for seconds and memory."""
    with (folder / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            {name: text for name, text in row.items() if name not in ("seconds", "megabytes")}
            for row in csv.DictReader(file)
        ]
    return rows, (folder / "predictions.csv").read_text(encoding="utf-8")


def test_a_comparison_on_a_cluster_is_that_of_this_process_also_after_a_worker_was_killed(dask, table, tmp_path):
    first, second = dask.worker(), dask.worker()
    command = ["compare", str(table), "--target", "kind", "--methods", METHODS, "--progress"]
    assert CliRunner().invoke(app, [*command, "--out", str(tmp_path / "here")]).exit_code == 0
    away = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "away"), "--scheduler", dask.address])
    assert away.exit_code == 0, away.output
    assert "6 methods are computed elsewhere" in away.output
    assert len(compared(tmp_path / "here")[0]) == 6
    assert compared(tmp_path / "here") == compared(tmp_path / "away")

    killed, write = [], RowStore.write

    def noticed(self, method, outcome):
        if not killed:
            second.kill()
            killed.append(method.name)
        return write(self, method, outcome)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RowStore, "write", noticed)
        third = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "third"), "--scheduler", dask.address])
    assert third.exit_code == 0, third.output
    assert killed
    assert first.poll() is None
    assert compared(tmp_path / "here") == compared(tmp_path / "third")
    # Of this process alone: the rows of each method, written once.
    assert len(list((tmp_path / "third" / "rows").iterdir())) == 6


def test_a_comparison_without_a_scheduler_names_it_and_overwrites_nothing(table, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "_ANSWER", 1.0)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "table.csv").write_text("of an earlier run\n")
    command = ["compare", str(table), "--target", "kind", "--methods", "majority", "--out", str(tmp_path / "out")]
    ended = CliRunner().invoke(app, [*command, "--scheduler", "tcp://127.0.0.1:9"])
    assert ended.exit_code != 0
    assert "no Dask scheduler answers at 'tcp://127.0.0.1:9'" in " ".join(ended.output.split())
    assert (tmp_path / "out" / "table.csv").read_text() == "of an earlier run\n"


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"pip install 'specmargin\[distributed\]'"):
        list(on_cluster(partial(len), [], "tcp://127.0.0.1:1"))
