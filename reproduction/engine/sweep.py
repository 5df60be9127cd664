"""Sweeps: many cells, computed once each, in any number of processes, across any number of interruptions.

`run_sweep(cells, work, folder=...)` is all there is. The process that computed a cell writes its row at once, so that
kill -9 loses the cells in flight and nothing else; the same call computes what is missing. A cell that fails is a row
with its error, and the sweep goes on. Results do not depend on the number of processes: every cell runs with the same
number of threads, and rows come back in the order in which the cells were declared.

Every row names its run, which has recorded commit, versions and checksums of the data sets. A row of other data is
computed again; a row of an older commit counts, and the table's footer says what has changed since. ``fresh`` computes
all anew.
"""

import errno
import json
import logging
import secrets
import statistics
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, TypeAlias

from cvxproof.files import parse_json, read_file, replace_file
from reproduction.engine.artifacts import explained, remove_unfinished
from reproduction.engine.locking import locked
from reproduction.engine.processes import in_processes
from reproduction.engine.progress import duration
from reproduction.engine.provenance import collect
from reproduction.engine.records import Cell, Row, Store, canonical_json, make_row, newest
from specmargin.checks import checked, count, members, path, processes, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError, SpecmarginError
from specmargin.interrupts import Terminated, WorkerDiedError, in_order
from specmargin.tables.cluster import ClusterError, on_cluster

Work: TypeAlias = Callable[[Cell], Mapping[str, Any]]
"""A function of a cell: errors in percent and what else the row should hold."""


class StaleResultsError(SpecmarginError):
    """The folder holds results of another experiment, or was written by a later version of this package."""


class SweepInterruptedError(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP during a sweep, whose `number` it has; the text says what is kept and how to go on."""

    def __init__(self, interrupt: KeyboardInterrupt, kept: str) -> None:
        how = f"ended by {interrupt}" if isinstance(interrupt, Terminated) else "interrupted"
        super().__init__(f"{how}: {kept}; the same call goes on from there.")
        self.number = getattr(interrupt, "number", 2)


_logger = logging.getLogger(__name__)
_FORMAT = 2


def _work(name: str, value: Any) -> Any:
    if not callable(value):
        raise InvalidTypeError(f"{name}={shown(value)} is no function; pass one that takes a Cell and returns columns.")
    return value


@checked(work=_work, folder=path, jobs=processes, threads=count(1))
def run_sweep(
    cells: Iterable[Cell],
    work: Work,
    *,
    folder: str | Path,
    jobs: int = 1,
    threads: int = 1,
    progress: bool = True,
    fresh: bool = False,
    retry_failed: bool = False,
    wait: bool = False,
    provenance: Mapping[str, Any] | None = None,
    scheduler: str | None = None,
    data_files: Mapping[str, Path] | None = None,
) -> list[Row]:
    """Compute every cell that `folder` does not hold yet, and return the rows of all.

    Parameters
    ----------
    cells : iterable of Cell
        Cells of one experiment. Equal cells count as one.
    work : callable
        ``work(cell) -> mapping`` of column to number, text or None. Defined at the top of a module, so that other
        processes find it; keep data sets, kernels and graphs in ``functools.lru_cache`` functions next to it, and
        declare cells that share them one after the other.
    folder : path
        Folder in which rows, provenance and the manifest live; made if missing.
    jobs : int, default 1
        Processes; -1 for one per core.
    threads : int, default 1
        BLAS and OpenMP threads of a cell. Not derived from `jobs`, because the last bits of a product depend on it.
    progress : bool, default True
        Show done/total, failures and the time left on stderr.
    fresh : bool, default False
        Forget what `folder` holds first.
    retry_failed : bool, default False
        Compute failed cells again.
    wait : bool, default False
        Wait for another process that writes into the folder, rather than raise.
    provenance : mapping, optional
        What this run records of itself; by default `provenance.collect()`. Rows of runs with another checksum of a
        data set in its ``data`` are computed again.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers compute the cells instead of `jobs` processes (extra
        ``distributed``). This process alone writes into `folder`.
    data_files : mapping of str to path, optional
        Data sets by name, which are sent to those workers.

    Returns
    -------
    list of dict
        One row per cell, in the order of `cells`; exactly what a later call reads back.

    Raises
    ------
    ValueError
        If there is no cell, or cells of several experiments.
    StaleResultsError
        If the folder belongs to another experiment.
    LockedError
        If another process writes into the folder.
    SweepInterruptedError
        On Ctrl-C, SIGTERM and SIGHUP. The folder can be resumed.
    NotWrittenError
        If the disk is full, or the folder cannot be written into. It can be resumed.
    SpecmarginError
        If a worker process dies. The folder can be resumed.

    Examples
    --------
    >>> import tempfile
    >>> def work(cell):
    ...     return {"error_test": 10.0 * cell.parameters["k"]}
    >>> cells = [Cell("demo", "toy", "none", "s0", {"k": k}) for k in (1, 2)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = run_sweep(cells, work, folder=folder, progress=False)
    ...     again = run_sweep(cells, work, folder=folder, progress=False)  # reads
    >>> [row["error_test"] for row in rows], rows == again
    ([10.0, 20.0], True)
    """
    unique = dict.fromkeys(members("cells", cells, Cell, "pass those of the experiment"))
    experiments = sorted({cell.experiment for cell in unique})
    if len(experiments) != 1:
        raise InvalidInputError(
            f"a sweep needs cells of one experiment, got {experiments or 'no cell'}; use a folder for each."
        )
    provenance = collect() if provenance is None else provenance
    store = Store(Path(folder).resolve())  # workers may live in another folder
    done = 0

    def kept() -> str:
        # Workers may have written rows that nobody has collected.
        return f"{done} of {len(unique)} cells or more are in {str(store.folder)!r}"

    with (
        explained(store.folder, lambda: f"{kept()}."),
        locked(store.folder / ".lock", f"results of {experiments[0]} into {str(store.folder)!r}", wait=wait),
    ):
        every = _open(store, experiments[0], fresh)
        rows = _usable(every, store, list(unique), provenance.get("data", {}))
        missing = [
            cell for cell in unique if cell.key not in rows or (retry_failed and rows[cell.key]["status"] != "ok")
        ]
        done = len(unique) - len(missing)
        if missing:
            run = f"{time.time_ns():020d}-{secrets.token_hex(3)}"
            _write(store.folder / "runs" / f"{run}.json", provenance)
            compute = partial(_computed_row, work=work, run=run, threads=threads)
            calls = [(cell,) for cell in missing]
            if scheduler is None:
                written = in_processes(
                    partial(_written_row, compute=compute, store=store, run=run), calls, jobs, threads
                )
            else:  # workers share no folder with this process, which writes for them
                packages = tuple(dict.fromkeys(("specmargin", _package_of(work))))
                away = on_cluster(compute, calls, scheduler, files=data_files, packages=packages)
                written = (store.append(row, run) for row in away)
            bar = _bar(missing, len(unique), every, jobs) if progress else nullcontext(lambda row: None)
            try:
                with bar as advance, in_order():
                    for row in written:
                        rows[row["key"]] = row
                        done += 1
                        advance(row)
            except KeyboardInterrupt as interrupt:
                raise SweepInterruptedError(interrupt, kept()) from None
            except WorkerDiedError as error:
                remedy = f"Run it with fewer jobs than {jobs}." if scheduler is None else "Give workers more memory."
                raise SpecmarginError(f"{error}: {kept()}; the same call goes on from there. {remedy}") from error
            except ClusterError as error:
                raise ClusterError(f"{error}. {kept()}; the same call goes on from there.") from error
    return [rows[cell.key] for cell in unique]


def _open(store: Store, experiment: str, fresh: bool) -> list[Row]:
    """Make the folder, or check that it is ours, and return all its rows; what is damaged is set aside."""
    manifest = store.folder / "manifest.json"
    if fresh:  # only what a sweep writes: the folder may hold other things
        ours = [manifest, *(file for part in ("cells", "runs", "damaged") for file in (store.folder / part).glob("*"))]
        for file in ours:
            if file.is_file():
                file.unlink()
    for place in (store.folder, store.cells, store.folder / "runs"):
        place.mkdir(parents=True, exist_ok=True)
        remove_unfinished(place)
    known = _experiment_in(manifest)
    every = store.all_rows(set_aside=known in (None, experiment))
    known = known or next((row["experiment"] for row in every), experiment)
    if known != experiment:
        raise StaleResultsError(
            f"the folder {str(store.folder)!r} holds results of {known!r}, but this is {experiment!r}. Results of two "
            "experiments are not mixed: choose another folder, or start anew with fresh=True (--fresh on the command "
            "line)."
        )
    _write(manifest, {"format": _FORMAT, "experiment": experiment})
    return every


def _experiment_in(manifest: Path) -> str | None:
    """Return what a manifest says, None where it cannot be read: the rows know it, too."""
    try:
        content = parse_json(read_file(manifest))
        experiment, number = str(content["experiment"]), int(content["format"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
    if number > _FORMAT:
        raise StaleResultsError(
            f"the folder {str(manifest.parent)!r} was written by a later version of specmargin; update specmargin, or "
            "choose another folder."
        )
    return experiment


def _write(path: Path, value: Any) -> None:
    replace_file(path, (json.dumps(value, indent=1, default=str) + "\n").encode())


def _usable(every: Iterable[Row], store: Store, cells: list[Cell], data: Mapping[str, Any]) -> dict[str, Row]:
    """Return the rows that need no computation, by key, and warn of those that do and why."""
    wanted = {cell.key for cell in cells}
    other = {run: _other_data(record, data) for run, record in store.provenance(set_aside=True).items()}
    reasons: dict[str, str] = {}
    good: list[Row] = []
    for row in every:
        if row["key"] in wanted:
            if why := other.get(row["run"]):
                reasons[row["key"]] = why
            else:
                good.append(row)
    rows = newest(good)
    experiment = cells[0].experiment
    for why, n_again in Counter(why for key, why in reasons.items() if key not in rows).items():
        _logger.warning("%s: %d of %d cells are %s; they are computed again", experiment, n_again, len(cells), why)
    return rows


def _other_data(run: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """Return which data sets a run knew with other checksums; one that only one of the two knows does not count."""
    known = run["data"] if isinstance(run.get("data"), dict) else {}
    names = [name for name in sorted(known.keys() & data.keys()) if known[name] != data[name]]
    return f"of other data than today's: {', '.join(names)}" if names else ""


def _package_of(work: Work) -> str:
    """Return the package, or the module, that a work comes from."""
    while isinstance(work, partial):
        work = work.func
    return work.__module__.partition(".")[0]


@contextmanager
def _bar(missing: list[Cell], total: int, every: Iterable[Row], jobs: int) -> Iterator[Callable[[Row], None]]:
    """Announce how long the cells will take, as far as earlier rows tell, and yield what moves the bar by a row."""
    from joblib import effective_n_jobs
    from tqdm import tqdm

    seconds: dict[tuple[str, str], list[float]] = {}
    for row in every:
        seconds.setdefault((row["method"], row["dataset"]), []).append(row["seconds"])
    means = [statistics.fmean(seconds[k]) for cell in missing if (k := (cell.method, cell.dataset)) in seconds]
    if means:
        processes = effective_n_jobs(jobs)
        print(  # noqa: T201  on stderr, like the bar below it
            f"{missing[0].experiment}: {len(missing)} of {total} cells to compute, about "
            f"{duration(statistics.fmean(means) * len(missing) / processes)}"
            f"{f' with {processes} processes' if processes > 1 else ''}, judged by "
            f"{sum(map(len, seconds.values()))} rows of earlier runs",
            file=sys.stderr,
        )
    failed = 0
    # A log file gets a line every half minute, a terminal a moving bar.
    interval = 0.2 if sys.stderr.isatty() else 30.0
    done, name = total - len(missing), missing[0].experiment
    with tqdm(total=total, initial=done, desc=name, unit="cell", mininterval=interval) as bar:

        def advance(row: Row) -> None:
            nonlocal failed
            failed += row["status"] != "ok"
            bar.set_postfix(failed=failed, refresh=False)
            bar.update()

        yield advance


@lru_cache(maxsize=1)
def _thread_controller(n_modules: int) -> Any:
    # Looking for the libraries takes milliseconds; a new one can only have come with a new module.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _written_row(cell: Cell, compute: Callable[[Cell], Row], store: Store, run: str) -> Row:
    """Compute one cell and write its row at once. Runs here, in this process or another."""
    return store.append(compute(cell), run)


def _computed_row(cell: Cell, work: Work, run: str, threads: int) -> Row:
    """Compute one cell and return its row, marked with the run. Runs in a worker."""
    import scipy.linalg  # noqa: F401  brings its own BLAS, which must be there to be limited

    start = time.perf_counter()
    with (
        _thread_controller(len(sys.modules)).limit(limits=threads),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            row = make_row(cell, {"status": "ok", **work(cell)})
            canonical_json(row)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise  # says nothing of the cell
            row = make_row(cell, {"status": "failed", **_describe(error)})
    texts = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    if texts:
        row["warnings"] = " | ".join(texts[:5])
    return row | {"seconds": time.perf_counter() - start, "run": run}


def _describe(error: Exception) -> dict[str, str]:
    """Type, message and traceback; of each file the name alone, because rows are published."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    lines = [f"{Path(f.filename).name}:{f.lineno} in {f.name}: {f.line}" for f in frames]
    return {"error": f"{type(error).__name__}: {error}", "traceback": "\n".join(lines)}
