"""Sweeps survive kill -9, failures, damage and impatience, and give the same rows whatever happened."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

from cvxproof import files
from reproduction.engine import records
from reproduction.engine.locking import LockedError, locked
from reproduction.engine.records import Cell, Store
from reproduction.engine.sweep import StaleResultsError, SweepInterruptedError, run_sweep
from specmargin.exceptions import NotWrittenError, SpecmarginError
from specmargin.interrupts import Terminated

pytestmark = pytest.mark.slow  # processes of their own


def cells_of(n, experiment="toy"):
    return [Cell(experiment, "m", "d", f"s{k % 3}", {"k": k}) for k in range(n)]


def logging_work(log: Path, fail=(), at_3=lambda: None):
    """Return a work that writes a byte per call into a file named after the cell; something may happen in cell 3."""

    def work(cell):
        k = cell.parameters["k"]
        if k == 3:
            at_3()
        with open(log / str(k), "ab") as file:
            file.write(b"x")
        if k in fail:
            raise ArithmeticError(f"no answer for {k}")
        return {"error_test": 100.0 / (3 + k), "solver": "toy"}

    return work


def calls(log: Path) -> dict[int, int]:
    return {int(path.name): path.stat().st_size for path in log.iterdir()}


def timeless(rows):
    return [{k: v for k, v in row.items() if k not in ("seconds", "run")} for row in rows]


def stored(key):
    """Return a row as short as a row may be."""
    names = dict.fromkeys(("experiment", "method", "dataset", "split", "parameters", "run"), "")
    return {"key": key, "status": "ok", "seconds": 0.0, **names}


def soon(holds, seconds=60.0):
    """Wait until something holds, no longer than so; return whether it does."""
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds()


@pytest.fixture
def log(tmp_path):
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


@pytest.fixture
def sweep(tmp_path):
    def run(cells, work, **options):
        options = {"folder": tmp_path / "sweep", "progress": False} | options
        return run_sweep(cells, work, **options)

    return run


def test_second_call_reads_and_adds_only_new_cells(sweep, log):
    first = sweep(cells_of(4), logging_work(log))
    assert [row["error_test"] for row in first] == [100.0 / (3 + k) for k in range(4)]
    again = sweep(cells_of(6), logging_work(log))
    assert again[:4] == first
    assert calls(log) == dict.fromkeys(range(6), 1)


def test_rows_come_in_the_declared_order_and_equal_cells_run_once(sweep, log):
    cells = cells_of(5)[::-1]
    rows = sweep(cells + cells_of(5), logging_work(log), jobs=2)
    assert [row["key"] for row in rows] == [cell.key for cell in cells]
    assert calls(log) == dict.fromkeys(range(5), 1)


def test_results_do_not_depend_on_the_number_of_processes(tmp_path):
    def work(cell):
        # Products of this size are split among threads, and the split changes the last bits.
        A = np.random.default_rng(cell.parameters["k"]).standard_normal((300, 300))
        return {"error_test": float(np.linalg.svd(A @ A.T, compute_uv=False).sum())}

    one, two = (run_sweep(cells_of(6), work, folder=tmp_path / str(jobs), jobs=jobs, progress=False) for jobs in (1, 2))
    assert timeless(one) == timeless(two)


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_are_set_in_the_cell(sweep, jobs, threads):
    def work(cell):
        from threadpoolctl import threadpool_info

        blas = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return {"threads": blas, "limit": os.environ.get("OMP_NUM_THREADS")}

    rows = sweep(cells_of(3), work, jobs=jobs, threads=threads)
    assert [row["threads"] for row in rows] == [threads] * 3
    # Workers start with the limit in their environment, for libraries that only the cell loads.
    assert jobs == 1 or [row["limit"] for row in rows] == [str(threads)] * 3


SCRIPT = """
import os, signal, sys, time
from pathlib import Path
from reproduction.engine.records import Cell
from reproduction.engine.sweep import run_sweep

signal.signal(signal.SIGINT, signal.default_int_handler)  # also where these tests run in the background

def work(cell):
    with open(Path(sys.argv[1]) / "log" / f"{os.getpid()}", "ab") as file:
        file.write(b"x")
    time.sleep(float(sys.argv[4]))
    return {"error_test": 100.0 / (3 + cell.parameters["k"])}

if __name__ == "__main__":
    cells = [Cell("toy", "m", "d", f"s{k % 3}", {"k": k}) for k in range(int(sys.argv[3]))]
    run_sweep(cells, work, folder=Path(sys.argv[1]) / "sweep", jobs=int(sys.argv[2]), progress=False)
"""


@pytest.fixture
def command(tmp_path, log):
    """Return a function that returns a command: a sweep whose processes are the names of the files in the log."""
    (tmp_path / "toy.py").write_text(SCRIPT)
    return lambda jobs, n_cells=60, seconds=0.05: [
        sys.executable,
        *map(str, (tmp_path / "toy.py", tmp_path, jobs, n_cells, seconds)),
    ]


@pytest.mark.parametrize("jobs", [1, 2])
def test_kill_9_loses_only_the_cells_in_flight(tmp_path, log, command, jobs):
    store = Store(tmp_path / "sweep")
    process = subprocess.Popen(command(jobs), start_new_session=True)
    assert soon(lambda: len(store.read()) >= 8)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    time.sleep(0.1)
    kept = store.read()
    started = sum(path.stat().st_size for path in log.iterdir())
    assert 8 <= len(kept) < 60
    assert started - len(kept) <= jobs

    subprocess.run(command(jobs), check=True)

    total = sum(path.stat().st_size for path in log.iterdir())
    assert total - started == 60 - len(kept)
    rows = store.read()
    assert {key: rows[key] for key in kept} == kept
    work = lambda cell: {"error_test": 100.0 / (3 + cell.parameters["k"])}
    whole = run_sweep(cells_of(60), work, folder=tmp_path / "whole", progress=False)
    assert timeless(rows[row["key"]] for row in whole) == timeless(whole)


def test_failed_cell_is_recorded_and_does_not_stop_the_rest(sweep, log):
    rows = sweep(cells_of(4), logging_work(log, fail={1}), jobs=2)
    assert [row["status"] for row in rows] == ["ok", "failed", "ok", "ok"]
    assert rows[1]["error"] == "ArithmeticError: no answer for 1"
    assert "in work: raise ArithmeticError" in rows[1]["traceback"]
    assert "/" not in rows[1]["traceback"].replace("100.0 / (3 + k)", "")
    assert "error_test" not in rows[1]


def test_failed_cells_are_retried_only_on_request(sweep, log):
    failed = sweep(cells_of(3), logging_work(log, fail={1}))
    assert sweep(cells_of(3), logging_work(log)) == failed

    def other(cell):
        raise LookupError("another reason")

    assert sweep(cells_of(3), other, retry_failed=True)[1]["error"] == "LookupError: another reason"
    rows = sweep(cells_of(3), logging_work(log), retry_failed=True)
    assert [row["status"] for row in rows] == ["ok"] * 3
    assert calls(log) == {0: 1, 1: 2, 2: 1}
    assert sweep(cells_of(3), logging_work(log)) == rows


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace(b'"param_k":2', b'"param_k":7'),  # one byte, still JSON
        lambda text: text[: text.index(b'"param_k":2')],  # torn: rows 3 and 4 are gone, too
        lambda text: text.replace(b'"status"', b"\xff\xfe", 1),
        lambda text: b"",
        lambda text: b"\x00" * 100 + text,
    ],
)
def test_damaged_rows_are_computed_again(tmp_path, sweep, log, damage, caplog):
    whole = sweep(cells_of(5), logging_work(log))
    (shard,) = (tmp_path / "sweep" / "cells").glob("*.jsonl")
    before = shard.read_bytes()
    shard.write_bytes(damage(before))
    assert shard.read_bytes() != before
    missing = 5 - len(Store(tmp_path / "sweep").read())
    assert (missing > 0) == (b"\x00" not in shard.read_bytes())
    assert timeless(sweep(cells_of(5), logging_work(log))) == timeless(whole)
    assert sum(calls(log).values()) == 5 + missing


@pytest.fixture
def store(tmp_path):
    (tmp_path / "cells").mkdir()
    return Store(tmp_path)


def test_row_after_a_torn_one_in_the_same_file_is_kept(store):
    store.append(stored("a"), "run")
    (shard,) = store.cells.iterdir()
    shard.write_bytes(shard.read_bytes() + b'\n12345678 {"key":"b","sta')  # what a full disk leaves
    store.append(stored("c"), "run")
    assert set(store.read()) == {"a", "c"}


def test_cells_of_other_data_are_computed_again_but_not_because_of_further_data(sweep, log, caplog):
    def provenance(**data):
        return {"data": data}

    sweep(cells_of(2), logging_work(log), provenance=provenance(a="1"))
    sweep(cells_of(3), logging_work(log), provenance=provenance(a="1", b="7"))
    assert calls(log) == {0: 1, 1: 1, 2: 1}
    sweep(cells_of(3), logging_work(log), provenance=provenance(a="1", b="8"))
    assert calls(log) == {0: 1, 1: 1, 2: 2}
    assert "1 of 3 cells are of other data than today's: b; they are computed again" in caplog.text
    sweep(cells_of(3), logging_work(log), provenance=provenance(a="2", b="8"))
    assert calls(log) == {0: 2, 1: 2, 2: 3}


def test_rows_of_another_commit_count(tmp_path, sweep, log, caplog):
    first = sweep(cells_of(2), logging_work(log), provenance={"git": {"commit": "a" * 40, "dirty": False}})
    rows = sweep(cells_of(3), logging_work(log), provenance={"git": {"commit": "b" * 40, "dirty": False}})
    assert rows[:2] == first
    assert calls(log) == {0: 1, 1: 1, 2: 1}
    assert caplog.text == ""


def test_another_experiment_is_refused_with_the_remedy(tmp_path, sweep, log):
    sweep(cells_of(2), logging_work(log))
    manifest = tmp_path / "sweep" / "manifest.json"
    before = manifest.read_bytes()
    assert json.loads(before) == {"format": 2, "experiment": "toy"}
    for content in (before, b'{"version"', b"", b"[]", b"\xff\x00", None):
        if content is None:
            manifest.unlink()
        else:
            manifest.write_bytes(content)
        with pytest.raises(StaleResultsError, match=r"'toy', but this is 'other'.*fresh=True"):
            sweep(cells_of(2, "other"), logging_work(log))
        sweep(cells_of(2), logging_work(log))  # the manifest is made again
        assert manifest.read_bytes() == before
    manifest.write_text('{"format": 99, "experiment": "toy"}')
    with pytest.raises(StaleResultsError, match="later version of specmargin"):
        sweep(cells_of(2), logging_work(log))
    assert calls(log) == {0: 1, 1: 1}


def test_fresh_forgets_the_sweep_and_nothing_else(tmp_path, sweep, log):
    sweep(cells_of(3), logging_work(log))
    (tmp_path / "sweep" / "notes.txt").write_text("mine")
    rows = sweep(cells_of(2), logging_work(log), fresh=True)
    assert calls(log) == {0: 2, 1: 2, 2: 1}
    assert len(Store(tmp_path / "sweep").read()) == len(rows) == 2
    assert len(Store(tmp_path / "sweep").provenance()) == 1
    assert (tmp_path / "sweep" / "notes.txt").read_text() == "mine"


def test_death_of_a_worker_is_explained(sweep, log):
    mortal = logging_work(log, at_3=lambda: os.kill(os.getpid(), signal.SIGKILL))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # joblib's own word on it
        with pytest.raises(SpecmarginError, match=r"worker process died.*goes on from there.*fewer jobs than 2"):
            sweep(cells_of(8), mortal, jobs=2)
    assert [row["status"] for row in sweep(cells_of(8), logging_work(log))] == ["ok"] * 8


def test_nan_is_a_failure_and_so_is_a_name_of_the_cell(sweep):
    outcomes = [{"error_test": float("nan")}, {"dataset": "x"}, {"error_test": object()}, {"relative_gap": np.inf}]
    rows = sweep(cells_of(4), lambda cell: outcomes[cell.parameters["k"]])
    assert [row["status"] for row in rows] == ["failed", "failed", "failed", "ok"]
    assert "error_test = nan" in rows[0]["error"]
    assert "['dataset']" in rows[1]["error"]
    assert "does not fit into JSON" in rows[2]["error"]


def test_warnings_are_kept_in_the_row(sweep):
    def work(cell):
        for _ in range(3):
            warnings.warn("gap 1e-3 only", RuntimeWarning, stacklevel=2)
        return {}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sweep(cells_of(1), work)[0]["warnings"] == "RuntimeWarning: gap 1e-3 only"


def test_success_outlives_the_failure_of_a_later_or_parallel_run(store):
    store.append(stored("a"), "1")
    store.append(stored("a") | {"status": "failed"}, "2")
    assert store.read() == {"a": stored("a")}


def test_numpy_numbers_read_back_as_they_were_returned(tmp_path, sweep):
    rows = sweep(cells_of(1), lambda cell: {"a": np.float64(0.1) + 0.2, "n": np.int64(7), "flag": np.bool_(True)})
    assert (rows[0]["a"], rows[0]["n"], rows[0]["flag"]) == (0.1 + 0.2, 7, True)
    assert list(Store(tmp_path / "sweep").read().values()) == rows


def test_rows_name_the_run_that_computed_them(tmp_path, sweep, log):
    sweep(cells_of(1), logging_work(log), provenance={"commit": "one"})
    rows = sweep(cells_of(2), logging_work(log), provenance={"commit": "two"})
    provenance = Store(tmp_path / "sweep").provenance()
    assert [provenance[row["run"]]["commit"] for row in rows] == ["one", "two"]
    sweep(cells_of(2), logging_work(log))
    assert len(Store(tmp_path / "sweep").provenance()) == 2  # nothing computed, no run


def test_no_cell_or_several_experiments_are_refused(sweep):
    with pytest.raises(ValueError, match="got no cell"):
        sweep([], dict)
    with pytest.raises(ValueError, match=r"\['other', 'toy'\]"):
        sweep(cells_of(1) + cells_of(1, "other"), dict)


def test_progress_counts_what_was_there_and_what_failed(sweep, log, capsys):
    sweep(cells_of(2), logging_work(log))
    sweep(cells_of(5), logging_work(log, fail={4}), progress=True)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "2/5" in shown.err
    assert "5/5" in shown.err
    assert "failed=1" in shown.err


FAULTS = [
    *({"seconds": seconds} for seconds in (None, "long", float("inf"), -1.0)),
    *({"status": "maybe"}, {"status": ["ok"]}, {"key": [1]}, {"method": 3}, {"dataset": {}}, {"parameters": {}}),
    {"run": None},
]


def test_damaged_lines_are_set_aside_and_said_once(tmp_path, sweep, log, caplog):
    whole = sweep(cells_of(5), logging_work(log))
    (shard,) = (tmp_path / "sweep" / "cells").glob("*.jsonl")
    lines = [line for line in shard.read_bytes().split(b"\n") if line]
    payload = json.loads(lines[1].split(b" ", 1)[1])
    bad = [{k: v for k, v in payload.items() if k != lacking} for lacking in ("status", "seconds")]
    bad += [payload | fault for fault in FAULTS]
    texts = [json.dumps(value).encode() for value in [*bad, [1, 2], 7]]
    torn = [b"%08x %s" % (zlib.crc32(text), text) for text in texts]  # checksums that fit
    torn += [lines[1][:-9], b"\x00\xff" * 40, b"zz", b"12345678"]
    shard.write_bytes(b"\n".join([lines[0], *torn, *lines[2:], lines[0]]))  # the second cell is lost, the first double
    assert timeless(sweep(cells_of(5), logging_work(log))) == timeless(whole)
    assert calls(log) == {0: 1, 1: 2, 2: 1, 3: 1, 4: 1}
    assert f" {len(torn)} damaged lines in cells are set aside in damaged/" in caplog.text
    assert (tmp_path / "sweep" / "damaged" / shard.name).read_bytes().split(b"\n")[:-1] == torn
    caplog.clear()
    assert timeless(sweep(cells_of(5), logging_work(log))) == timeless(whole)
    assert caplog.text == ""


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe\x00", b"null"])
def test_damaged_records_of_runs_cost_nothing(tmp_path, sweep, log, caplog, content):
    rows = sweep(cells_of(3), logging_work(log))
    (record,) = (tmp_path / "sweep" / "runs").iterdir()
    record.write_bytes(content)
    assert Store(tmp_path / "sweep").provenance() == {}
    assert sweep(cells_of(3), logging_work(log)) == rows
    assert "1 damaged records in runs are set aside" in caplog.text
    assert (tmp_path / "sweep" / "damaged" / record.name).read_bytes() == content
    assert calls(log) == dict.fromkeys(range(3), 1)


def test_leftovers_of_killed_writers_are_cleared_away(tmp_path, sweep, log):
    sweep(cells_of(1), logging_work(log))
    left = [tmp_path / "sweep" / ".manifest.json.77.tmp", tmp_path / "sweep" / "runs" / ".a.json.77.tmp"]
    left.append(tmp_path / "sweep" / "manifest.json.77.tmp")  # as earlier versions called it
    for path in left:
        path.write_text("half")
    sweep(cells_of(1), logging_work(log))
    assert not any(path.exists() for path in left)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_disk_that_fills_at_any_write(tmp_path, log, monkeypatch, number):
    """The n-th thing that is asked of the disk fails, for every n: one message, and the next run goes on."""
    asked, limit = [0], [10**9]

    class Disk:
        """The module os as the writers see it: joblib's own pipes are left alone."""

        def __getattr__(self, name):
            true = getattr(os, name)
            if name not in ("write", "fsync", "replace"):
                return true

            def ask(*arguments):
                asked[0] += 1
                if asked[0] > limit[0]:
                    raise OSError(number, os.strerror(number))
                return true(*arguments)

            return ask

    for module in (files, records):
        monkeypatch.setattr(module, "os", Disk())

    def run(folder):
        asked[0] = 0
        return run_sweep(cells_of(3), logging_work(log), folder=folder, progress=False)

    whole = run(tmp_path / "whole")
    n_asked = asked[0]
    assert n_asked >= 10  # manifest and record by two each, rows by two each
    for n in range(n_asked):
        folder, limit[0] = tmp_path / str(n), n
        with pytest.raises(NotWrittenError, match=r"cannot write into .* of 3 cells or more are in .* run the same"):
            run(folder)
        assert list(folder.rglob("*.tmp")) == []
        before = len(Store(folder).read())
        limit[0] = 10**9
        count = sum(calls(log).values())
        assert timeless(run(folder)) == timeless(whole)
        assert sum(calls(log).values()) - count == 3 - before


def test_row_that_is_cut_short_is_taken_back(store, monkeypatch):
    store.append(stored("a"), "run")
    (shard,) = store.cells.iterdir()
    before, write = shard.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[: len(line) // 2]))
    with pytest.raises(OSError, match=r"wrote .* bytes of a row"):
        store.append(stored("b"), "run")
    assert shard.read_bytes() == before


def test_full_disk_inside_a_cell_says_nothing_of_the_cell(sweep, log):
    def full(cell):
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(NotWrittenError, match=r"No space left on device.*Make room and run the same again"):
        sweep(cells_of(2), full)
    assert [row["status"] for row in sweep(cells_of(2), logging_work(log))] == ["ok", "ok"]


def test_folder_that_is_a_file_is_named(tmp_path, log):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotWrittenError, match="Name another folder"):
            run_sweep(cells_of(1), logging_work(log), folder=folder, progress=False)


@pytest.mark.parametrize(("name", "how"), [("SIGINT", "interrupted"), ("SIGTERM", "ended by"), ("SIGHUP", "ended by")])
def test_signals_leave_a_folder_that_can_be_resumed(sweep, log, name, how, heeded):
    number = heeded(name)
    before = signal.getsignal(number)
    message = rf"{how if name == 'SIGINT' else f'{how} {name}'}: 3 of 5 cells.*goes on from there"
    with pytest.raises(SweepInterruptedError, match=message) as caught:
        sweep(cells_of(5), logging_work(log, at_3=lambda: os.kill(os.getpid(), number)))
    assert caught.value.number == number
    assert signal.getsignal(number) is before
    assert len(sweep(cells_of(5), logging_work(log))) == 5
    assert calls(log) == dict.fromkeys(range(5), 1)


def test_handlers_of_others_stay(sweep, log):
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
    try:
        sweep(cells_of(1), lambda cell: os.kill(os.getpid(), signal.SIGTERM) or {})
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert issubclass(Terminated, KeyboardInterrupt)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(log, command, number):
    """In the middle of a cell, when the parent alone gets the signal."""
    process = subprocess.Popen(command(2, 4, 600), stderr=subprocess.PIPE)
    assert soon(lambda: len(calls(log)) == 2)
    workers = list(calls(log))
    process.send_signal(number)
    process.communicate(timeout=60)
    assert soon(lambda: not any(map(alive, workers)), 10)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux for the workers of a process")
def test_worker_that_has_no_cell_yet_ends_with_its_parent(log, command):
    """One cell for two workers: the other one waits, for five minutes if nobody told it."""
    process = subprocess.Popen(command(2, 1, 600))
    assert soon(lambda: calls(log))
    time.sleep(2)  # until the other one has begun, too
    workers = children(process.pid)
    process.kill()
    process.wait()
    assert len(workers) == 2
    assert soon(lambda: not any(map(alive, workers)), 10)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.parametrize("asks_kernel", [True, False])
@pytest.mark.parametrize("early", [True, False])
def test_parent_that_is_dead_but_not_yet_waited_for(asks_kernel, early):
    """Its number still exists then. Early: it dies before the worker has asked to die with it."""
    code = """
import os, sys, time
from reproduction.engine import processes
if sys.argv[1] == "False":
    sys.platform = "darwin"
parent = os.getpid()
child = os.fork()
if child == 0:
    if sys.argv[2] == "True":
        while os.getppid() == parent:
            time.sleep(0.01)
    processes.die_with(parent)
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
time.sleep(0.0 if sys.argv[2] == "True" else 1.0)
"""
    command = [sys.executable, "-c", code, str(asks_kernel), str(early)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    child = int(process.stdout.readline())
    dead = soon(lambda: not alive(child), 20)
    process.wait()
    assert dead


def children(pid):
    workers = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"LokyProcess" in (entry / "cmdline").read_bytes():
                workers.add(int(entry.name))
        except OSError:  # it has ended
            continue
    return workers


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that nobody has waited for yet is no more.
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


def test_one_writer_to_a_folder(tmp_path, sweep, log, command):
    sweep(cells_of(1), logging_work(log))
    with locked(tmp_path / "sweep" / ".lock", "results"):
        other = subprocess.run(command(1), capture_output=True, text=True)
        sweep(cells_of(2), logging_work(log))  # the holder itself may
    assert other.returncode == 1
    assert f"LockedError: Another process ({os.getpid()}) writes results of toy into" in other.stderr
    assert issubclass(LockedError, SpecmarginError)


def test_expected_time_is_said_where_it_is_known(sweep, log, capsys, caplog):
    sweep(cells_of(2), logging_work(log), progress=True)
    assert "to compute, about" not in capsys.readouterr().err
    sweep(cells_of(6), logging_work(log), progress=True)
    assert "toy: 4 of 6 cells to compute, about 0 s, judged by 2 rows of earlier runs" in capsys.readouterr().err


DEEP = b"[" * 10**5


@pytest.mark.timeout(60)
def test_foreign_and_damaged_files_stop_no_sweep(tmp_path, sweep, log, caplog):
    rows = sweep(cells_of(2), logging_work(log))
    folder = tmp_path / "sweep"
    (folder / "manifest.json").write_bytes(DEEP)
    (folder / "runs" / "deep.json").write_bytes(DEEP)
    (folder / "runs" / "list.json").write_text("[1]")
    (folder / "runs" / "odd.json").write_text('{"code": {"a": [1]}}')
    (folder / "cells" / "deep.jsonl").write_bytes(b"%08x %s\n" % (zlib.crc32(DEEP), DEEP))
    (folder / "cells" / "notes.jsonl").write_text("bought milk\n")
    (folder / "cells" / "folder.jsonl").mkdir()
    (folder / "runs" / "folder.json").mkdir()
    os.mkfifo(folder / "cells" / "pipe.jsonl")
    (folder / "cells" / "my.notes.v1.tmp").write_text("mine")
    (folder / "cells" / "gone.jsonl").symlink_to("nowhere")
    assert timeless(Store(folder).read().values()) == timeless(rows)
    assert timeless(sweep(cells_of(3), logging_work(log))[:2]) == timeless(rows)
    assert calls(log) == {0: 1, 1: 1, 2: 1}
    for name in ("folder.jsonl' is a folder", "pipe.jsonl' is a pipe", "gone.jsonl' does not exist"):
        assert name in caplog.text
    assert (folder / "damaged" / "deep.json").read_bytes() == DEEP
    assert (folder / "cells" / "my.notes.v1.tmp").read_text() == "mine"
    sweep(cells_of(1), logging_work(log), fresh=True)
    assert (folder / "cells" / "folder.jsonl").is_dir()
