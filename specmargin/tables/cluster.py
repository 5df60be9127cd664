"""Cells on a Dask cluster that exists already: workers compute, this process alone writes.

`on_cluster` sends calls to the workers of a scheduler and yields their values as they come. Workers share no folder
with this process: the files of data sets go to each of them once, also to those that join later. A worker that is lost
loses the call that it was at, which another one makes again. Every worker has one call at a time, whatever its number
of threads, and must have the same sources as this process, file by file.

Needs the extra ``distributed``. A cluster on this computer, for a look: ``dask scheduler`` in one shell, and
``dask worker tcp://127.0.0.1:8786 --nthreads 1 --nworkers 2`` in another.
"""

from __future__ import annotations

import hashlib
import logging
import os
import queue
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from cvxproof.files import replace_file
from specmargin.exceptions import SpecmarginError
from specmargin.interrupts import WorkerDiedError

__all__ = ["ClusterError", "on_cluster"]

T = TypeVar("T")

_DATA = "SPECMARGIN_DATA"
_ANSWER = 10.0
"""Seconds in which a scheduler must answer."""
_ALONE = 60.0
"""Seconds that calls wait for a first or for another worker."""
_LOOK = 2.0

_logger = logging.getLogger(__name__)
_one_at_a_time = threading.Lock()
_places: dict[str, str] = {}
"""Of a worker: where it keeps the files of data sets."""


class ClusterError(SpecmarginError):
    """The scheduler cannot be reached, has no workers, is gone, or a worker has other sources."""


def on_cluster(
    function: Callable[..., T],
    arguments: Iterable[tuple[Any, ...]],
    address: str,
    *,
    files: Mapping[str, Path] | None = None,
    packages: tuple[str, ...] = ("specmargin",),
) -> Iterator[T]:
    """Yield the values of ``function(*each)``, in the order in which they come.

    Parameters
    ----------
    function : callable
        Function of a module that the workers can import, or a `functools.partial` of one.
    arguments : iterable of tuple
        Arguments of each call.
    address : str
        Address of the scheduler, ``"tcp://127.0.0.1:8786"``.
    files : mapping of str to path, optional
        Data sets by name, which the workers find as they would in ``$SPECMARGIN_DATA``.
    packages : tuple of str, default ("specmargin",)
        Packages and modules whose sources must be those of this process on every worker.

    Raises
    ------
    ClusterError
        If the scheduler cannot be reached, is lost, has no worker for a minute, or a worker has other sources.
    WorkerDiedError
        If several workers died of one call.
    """
    try:
        from distributed import Client
        from distributed.scheduler import KilledWorker
    except ImportError:
        raise ClusterError("a cluster needs Dask: pip install 'specmargin[distributed]'") from None

    with _connected(Client, address) as client:
        place = _send(client, files or {})
        same = {"function": function, "place": place, "packages": packages, "expected": sources(*packages)}
        futures = client.map(_call, list(arguments), **same, pure=False)
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        for future in futures:
            future.add_done_callback(done.put)
        try:
            for _ in range(len(futures)):
                future = _next(done, client, address)
                value = future.result()
                future.release()  # need not stay on the cluster
                yield value
        except KilledWorker as error:
            raise WorkerDiedError(f"{error.last_worker.address} and others died at one call") from error
        except (RuntimeError, ImportError) as error:
            if "deserializ" not in str(error) and not isinstance(error, ImportError):
                raise
            raise ClusterError(
                f"the scheduler {address} or a worker cannot read the calls; install this version of specmargin "
                "there, too"
            ) from error
        except (CancelledError, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # of a call, or of this computer
            raise ClusterError(f"the scheduler {address} is gone ({type(error).__name__})") from error
        finally:
            with suppress(Exception):
                client.cancel([future for future in futures if not future.done()], force=True)


@contextmanager
def _connected(Client: Any, address: str) -> Iterator[Any]:
    logging.getLogger("distributed").setLevel(logging.ERROR)
    try:
        client = Client(address, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address!r} ({error}); start one with `dask scheduler`, and name the "
            "address that it tells."
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=_ANSWER)


def _next(done: queue.SimpleQueue[Any], client: Any, address: str) -> Any:
    """Return the next future that has ended; look now and then whether anybody is left who could end one."""
    alone = 0.0
    while True:
        try:
            return done.get(timeout=_LOOK)
        except queue.Empty:
            if client.status not in ("running", "connecting"):
                raise ClusterError(f"the scheduler {address} is gone") from None
            try:
                workers = client.scheduler_info()["workers"]
            except (OSError, KeyError):
                workers = {}
            alone = 0.0 if workers else alone + _LOOK
            if alone >= _ALONE:
                raise ClusterError(
                    f"the scheduler {address} has had no worker for {_ALONE:.0f} seconds; start some with "
                    f"`dask worker {address}`"
                ) from None


def _send(client: Any, files: Mapping[str, Path]) -> str | None:
    """Give every worker, now or later, the files; return the name of the place where it keeps them."""
    from distributed.diagnostics.plugin import WorkerPlugin

    if not files:
        return None
    contents = {name: Path(file).read_bytes() for name, file in sorted(files.items())}
    seal = hashlib.sha256(b"".join(name.encode() + content for name, content in contents.items())).hexdigest()[:16]

    class DataSets(WorkerPlugin):
        name = f"specmargin-data-{seal}"

        def setup(self, worker: Any) -> None:
            keep_files(seal, contents, getattr(worker, "local_directory", None))

    client.register_plugin(DataSets())
    return seal


def keep_files(seal: str, contents: Mapping[str, bytes], folder: str | None) -> None:
    """Write files on a worker, once for each content, and remember where."""
    place = Path(folder or tempfile.gettempdir()) / f"specmargin-data-{seal}-{os.getpid()}"
    place.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        replace_file(place / f"{name}.npz", content)
    _places[seal] = str(place)


def _call(
    each: tuple[Any, ...],
    *,
    function: Callable[..., T],
    place: str | None,
    packages: tuple[str, ...],
    expected: Mapping[str, str],
) -> T:
    """Make one call on a worker."""
    if expected != sources(*packages):
        named = ", ".join(differing(expected, sources(*packages))[:6])
        raise ClusterError(f"a worker has other sources than this process: {named}; install the same on both")
    with _one_at_a_time, patch.dict(os.environ, {} if place is None else {_DATA: _places[place]}):
        return function(*each)


@cache
def sources(*names: str) -> dict[str, str]:
    """Return a hash of every source of packages or modules, by the file's name; equal on every machine."""
    files: dict[str, Path] = {}
    for name in names:
        module = import_module(name)
        for folder in getattr(module, "__path__", ()):
            files |= {f"{name}/{file.relative_to(folder).as_posix()}": file for file in Path(folder).rglob("*.py")}
        if not hasattr(module, "__path__") and getattr(module, "__file__", None):
            files[f"{name}.py"] = Path(str(module.__file__))
    return {name: hashlib.sha256(files[name].read_bytes()).hexdigest()[:16] for name in sorted(files)}


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names whose values differ, those included that only one of the two has.

    Examples
    --------
    >>> differing({"a": "1", "b": "2"}, {"a": "3", "b": "2", "c": "4"})
    ['a', 'c']
    """
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
