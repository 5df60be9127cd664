"""A lock has one holder, lets nobody else in, and ends with its process."""

import signal
import subprocess
import sys

import pytest

from reproduction.engine.locking import LockedError, locked

HOLD = """
import sys, time
from pathlib import Path
from reproduction.engine.locking import locked
with locked(Path(sys.argv[1]), "the toy"):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""

pytestmark = pytest.mark.slow  # processes of their own


@pytest.fixture
def hold(tmp_path):
    """Return a function that starts a process which holds the lock for so many seconds."""
    begun = []

    def begin(seconds):
        arguments = [sys.executable, "-c", HOLD, str(tmp_path / "sub" / ".lock"), str(seconds)]
        process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        begun.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield begin
    for process in begun:
        process.kill()
        process.wait()


def test_second_process_is_told_what_and_what_to_do(tmp_path, hold):
    process = hold(60)
    said = rf"^Another process \({process.pid}\) writes the toy\. .*wait=True.*two folders"
    with (
        pytest.raises(LockedError, match=said),
        locked(tmp_path / "sub" / ".lock", "the toy"),
    ):
        raise AssertionError("two holders")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no signals")
def test_lock_of_a_killed_process_is_free(tmp_path, hold):
    process = hold(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with locked(tmp_path / "sub" / ".lock", "the toy"):
        pass


def test_waiting_ends_with_the_holder(tmp_path, hold, caplog):
    process = hold(0.5)
    with locked(tmp_path / "sub" / ".lock", "the toy", wait=True):
        pass
    assert f"Another process ({process.pid}) writes the toy; waiting for it" in caplog.text


def test_same_process_takes_it_again_and_keeps_it_to_the_end(tmp_path):
    lock = tmp_path / ".lock"
    probe = [sys.executable, "-c", HOLD, str(lock), "0"]
    with locked(lock, "the toy"):
        with pytest.raises(ZeroDivisionError), locked(lock, "the toy", wait=True):
            raise ZeroDivisionError
        assert b"LockedError" in subprocess.run(probe, capture_output=True).stderr
    assert subprocess.run(probe, capture_output=True).stdout == b"held\n"


def test_crowd_enters_one_by_one(tmp_path):
    """Four processes add to a number in a file: without the lock some additions are lost."""
    (tmp_path / "number").write_text("0")
    code = """
import sys
from pathlib import Path
from reproduction.engine.locking import locked
folder = Path(sys.argv[1])
for _ in range(20):
    with locked(folder / ".lock", "the number", wait=True):
        n = int((folder / "number").read_text())
        (folder / "number").write_text(str(n + 1))
"""
    crowd = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stderr=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait() for process in crowd] == [0] * 4
    assert (tmp_path / "number").read_text() == "80"
