"""Worker processes that never outlive their parent, and signals that end a run in order.

`in_processes` runs calls in joblib's processes and yields results as they come. However the parent ends, its workers
end: by the exception that leaves the loop, or, when it was killed, by the operating system (Linux) or by a look at the
parent every half second (elsewhere but on Windows). `in_order` turns SIGTERM and SIGHUP into `Terminated`, which passes
through the same code as Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

from specmargin.interrupts import WorkerDiedError

__all__ = ["die_with", "in_processes"]

T = TypeVar("T")


def in_processes(
    function: Callable[..., T],
    arguments: Iterable[tuple[Any, ...]],
    jobs: int,
    threads: int | None = None,
    batch: int | None = None,
) -> Iterator[T]:
    """Yield the values of ``function(*each)``, in the order in which they come; `WorkerDiedError` if a process dies.

    With one job the calls are made in this process. `threads` are the BLAS and OpenMP threads of a process, by default
    what is left for it of the cores; `batch` is how many calls a process takes at a time, and no earlier than it is
    free, by default as joblib decides.
    """
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    parent = os.getpid()
    # loky replaces a worker whose memory has grown, and warns that it might have been something worse.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
    options: dict[str, Any] = {"initializer": die_with, "initargs": (parent,)}
    try:
        configured = parallel_config(backend="loky", inner_max_num_threads=threads, **options)
    except TypeError:  # joblib before 1.5: workers bind themselves to the parent with their first call
        configured = parallel_config(backend="loky", inner_max_num_threads=threads)
    # Libraries that a worker loads later read their number of threads from its environment.
    few = {} if batch is None else {"pre_dispatch": batch * jobs, "batch_size": batch}
    with configured:
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", **few)
        values = parallel(delayed(_guarded)(parent, function, each) for each in arguments)
        try:
            yield from values
        except TerminatedWorkerError as error:
            raise WorkerDiedError("a worker process died, most often for want of memory") from error
        except BaseException:
            _stop_workers()
            raise


def _guarded(parent: int, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    die_with(parent)
    return function(*arguments)


def _stop_workers() -> None:
    """Kill joblib's workers: Ctrl-C reaches them from the terminal, SIGTERM and an error do not."""
    with suppress(Exception):  # joblib's private field: it offers no other way; where it is missing they die with us
        from joblib.externals.loky import reusable_executor

        executor = reusable_executor._executor
        if executor is not None:
            executor.shutdown(wait=True, kill_workers=True)


@lru_cache(maxsize=1)
def die_with(parent: int) -> None:
    """End this process when the process `parent`, which started it, has ended; nothing if it is that process itself."""
    if os.getpid() == parent or sys.platform == "win32":
        return
    if not _ask_kernel():
        threading.Thread(target=_wait_for_end, args=(parent,), daemon=True).start()
    # It may have died before we asked. Its number is no sign: it stays until somebody has waited for it.
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def _ask_kernel() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    with suppress(Exception):
        import ctypes

        set_death_signal = 1  # PR_SET_PDEATHSIG
        return ctypes.CDLL(None, use_errno=True).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0) == 0
    return False


def _wait_for_end(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)
