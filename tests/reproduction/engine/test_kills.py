"""Runs that are killed at random moments, two at once, on a full disk: in the end the results of an undisturbed run.

``SPECMARGIN_KILLS=50 pytest tests/reproduction/engine/test_kills.py`` is the whole campaign; the suite does two.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from reproduction.engine.records import Store

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks Linux which processes are left"),
]

KILLS = int(os.environ.get("SPECMARGIN_KILLS", "2"))
TABLE, FIGURES = "lapsvm_svm", ("clock", "two_moons")


def command(kind, out, *options):
    names = (TABLE,) if kind == "tables" else FIGURES
    return [sys.executable, "-m", "reproduction", kind, *names, "--quick", "--out", str(out), "--jobs", "2", *options]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Return a function that starts the command in a session of its own, with bundled data."""
    nothing = tmp_path_factory.mktemp("no_data")
    environment = os.environ | {"SPECMARGIN_DATA": str(nothing), "OMP_NUM_THREADS": "1"}
    begun = []

    def begin(kind, out, *options):
        process = subprocess.Popen(
            command(kind, out, *options),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment,
        )
        begun.append(process)
        return process

    yield begin
    for process in begun:
        for left in of_session(process.pid):
            os.kill(left, signal.SIGKILL)
        process.wait()


def of_session(session):
    """Return the living processes of a session, which is named after its first process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue
        if entry.name.isdigit() and int(fields[3]) == session and fields[0] not in "ZX":
            found.append(int(entry.name))
    return found


def nobody_left(session, seconds=10.0):
    deadline = time.monotonic() + seconds
    while of_session(session) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not of_session(session)


def results(kind, out):
    """Return everything that was written, but for times."""
    if kind == "tables":
        rows = list(Store(out / "sweeps" / f"{TABLE}-quick").all_rows())
        assert set(Counter(row["key"] for row in rows).values()) == {1}, "cells were computed twice"
        found = {row["key"]: {k: v for k, v in row.items() if k not in ("seconds", "run")} for row in rows}
        for file in sorted((out / "tables").iterdir()):
            found[file.name] = re.sub(r"\d+ s of work|, commit [^;\n]*", "", file.read_text())
        return found
    found = {}
    for file in sorted(out.glob("[!.]*.*")):
        if file.suffix == ".npz":
            with np.load(file) as archive:
                found[file.name] = {k: archive[k].tobytes() for k in archive.files if k != "__meta__"}
        elif file.suffix == ".json":
            sidecar = json.loads(file.read_text())
            found[file.name] = {k: v for k, v in sidecar.items() if k not in ("seconds", "provenance")}
        else:
            found[file.name] = file.read_bytes()
    return found


@pytest.fixture(scope="module", params=["tables", "figures"])
def undisturbed(request, tmp_path_factory, start):
    """Return the kind, its results, and what they take; a second run waits for them, and does nothing again."""
    began, out = time.monotonic(), tmp_path_factory.mktemp("undisturbed")
    both = [start(request.param, out, "--wait"), start(request.param, out, "--wait")]
    while all(process.poll() is None for process in both):
        time.sleep(0.05)
    duration = time.monotonic() - began
    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert "waiting for it" in "".join(said)
    assert all(nobody_left(process.pid) for process in both)
    return request.param, results(request.param, out), duration


def test_kills_lose_double_and_change_nothing(undisturbed, tmp_path, start):
    kind, expected, duration = undisturbed
    rng = random.Random(int(os.environ.get("SPECMARGIN_SEED", "0")))
    out, ended, times = tmp_path / "killed-0", Counter(), 0
    while sum(ended.values()) < KILLS:
        process = start(kind, out)
        rival = start(kind, out) if rng.random() < 0.25 else None
        time.sleep(rng.uniform(0.1, 1.0) * duration)
        how = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
        if process.poll() is None:
            process.send_signal(how)  # to the parent alone
            ended[how.name] += 1
            print(kind, dict(ended), flush=True)  # noqa: T201  for the campaign
        said, code = process.stderr.read(), process.wait()
        assert nobody_left(process.pid), "workers outlived their parent"
        assert "Traceback" not in said, said
        if code in (128 + how, -how):
            # Before the command has begun, a signal has its ordinary effect.
            assert code != 128 + how or f"ended by {how.name}" in said
            assert said.count("\n") < 200
        elif rival is None or code == 0:
            assert code == 0, said
        else:  # the rival was first
            assert code == 1, said
            assert "Another process" in said
        if rival is not None:
            said, code = rival.stderr.read(), rival.wait()
            assert nobody_left(rival.pid)
            assert code in (0, 1), said
            assert "Traceback" not in said, said
        if code == 0:
            times += 1
            assert results(kind, out) == expected
            out = tmp_path / f"killed-{times}"
    process = start(kind, out)
    assert process.wait() == 0, process.stderr.read()
    assert results(kind, out) == expected
    assert list(out.rglob("*.tmp")) == []


def test_two_at_once_work_once(undisturbed, tmp_path, start):
    kind, expected, _ = undisturbed
    out = tmp_path / "both"
    both = [start(kind, out), start(kind, out)]
    said = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1], said
    loser = said[0] if both[0].returncode else said[1]
    assert re.search(r"Error: Another process.* writes .*--wait", loser), loser
    assert results(kind, out) == expected


@pytest.mark.parametrize("size", [2_000] if KILLS < 20 else [200, 1_000, 2_000, 12_000, 40_000, 200_000])
def test_full_disk_is_one_message_and_loses_nothing(undisturbed, tmp_path, start, size):
    """No file may be longer than `size`: as on a full disk, writes are cut short or refused."""
    import resource

    kind, expected, _ = undisturbed
    out = tmp_path / "full"
    process = start(kind, out)
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (size, size))
    said, code = process.communicate()[1], process.returncode
    assert nobody_left(process.pid)
    assert code == 1 or size > 10_000
    if code:
        assert code == 1, said
        assert "Traceback" not in said
        assert "Make room and run the same again" in said
        assert [path for path in out.rglob("*") if path.name.endswith(".tmp")] == []
    process = start(kind, out)
    assert process.wait() == 0, process.stderr.read()
    assert results(kind, out) == expected
