"""Worker processes that never outlive their parent.

`in_processes` runs calls in joblib's processes and yields results as they come. However the parent ends, its workers
end: by the exception that leaves the loop, or, when it was killed, by the operating system (Linux) or by a look at the
parent every half second (elsewhere but on Windows).
"""

import ctypes
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from specmargin.interrupts import WorkerDiedError

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
    from joblib.externals.loky import get_reusable_executor
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    # loky replaces a worker whose memory has grown, and warns that it might have been something worse.
    warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
    few = {} if batch is None else {"pre_dispatch": batch * jobs, "batch_size": batch}
    # Libraries that a worker loads later read their number of threads from its environment.
    with parallel_config("loky", inner_max_num_threads=threads, initializer=die_with, initargs=(os.getpid(),)):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", **few)
        values = parallel(delayed(function)(*each) for each in arguments)
        try:
            yield from values
        except TerminatedWorkerError as error:
            raise WorkerDiedError("a worker process died, most often for want of memory") from error
        except BaseException:
            if jobs != 1:  # Ctrl-C reaches workers from the terminal, SIGTERM and an error do not
                get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
            raise


def die_with(parent: int) -> None:
    """End this process when the process `parent`, which started it, has ended; nothing in `parent` itself."""
    if os.getpid() == parent:
        return
    if sys.platform.startswith("linux"):
        set_death_signal = 1  # PR_SET_PDEATHSIG
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
    elif sys.platform != "win32":
        threading.Thread(target=_wait_for_end, args=(parent,), daemon=True).start()
    # It may have died before we asked. Its number is no sign: it stays until somebody has waited for it.
    if os.getppid() != parent:
        os._exit(1)


def _wait_for_end(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
