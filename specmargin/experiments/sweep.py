"""Sweeps: many cells, computed once each, in any number of processes, across any number of interruptions.

`run_sweep(cells, work, folder=...)` is all there is. The process that computed a cell writes its row at once, so that
kill -9 loses the cells in flight and nothing else; the same call computes what is missing. A cell that fails is a row
with its error, and the sweep goes on. Results do not depend on the number of processes: every cell runs with the same
number of threads, and rows come back in the order in which the cells were declared.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import secrets
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from specmargin.exceptions import SpecmarginError
from specmargin.experiments.provenance import collect
from specmargin.experiments.records import Cell, Row, Store, canonical_json, make_row

__all__ = ["StaleResultsError", "SweepInterruptedError", "Work", "read_sweep", "run_sweep"]

Work: TypeAlias = Callable[[Cell], Mapping[str, Any]]
"""A function of a cell: errors in percent and what else the row should hold."""


class StaleResultsError(SpecmarginError):
    """The folder holds results of another experiment, or of another version of this one."""


class SweepInterruptedError(KeyboardInterrupt):
    """Ctrl-C during a sweep; the text says what is kept and how to go on."""


def run_sweep(
    cells: Iterable[Cell],
    work: Work,
    *,
    folder: str | Path,
    version: str | None = None,
    jobs: int = 1,
    threads: int = 1,
    progress: bool = True,
    fresh: bool = False,
    retry_failed: bool = False,
    provenance: Mapping[str, Any] | None = None,
) -> list[Row]:
    """Compute every cell that `folder` does not hold yet, and return the rows of all.

    Parameters
    ----------
    cells : iterable of Cell
        Of one experiment. Equal cells count as one.
    work : callable
        ``work(cell) -> mapping`` of column to number, text or None. Defined at the top of a module, so that other
        processes find it; keep data sets, kernels and graphs in ``functools.lru_cache`` functions beside it, and
        declare cells that share them one after the other.
    folder : path
        Where rows, provenance and the manifest live; made if missing.
    version : str, optional
        Of the experiment: change it when results change. By default a hash of the source text of `work`, which sees
        no change in what `work` calls.
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
    provenance : mapping, optional
        Of this run; by default `provenance.collect()`.

    Returns
    -------
    list of dict
        One row per cell, in the order of `cells`; exactly what a later call reads back.

    Raises
    ------
    ValueError
        If there is no cell, or cells of several experiments.
    StaleResultsError
        If the folder belongs to another experiment or version.
    SweepInterruptedError
        On Ctrl-C. The folder can be resumed.
    SpecmarginError
        If a worker process dies. The folder can be resumed.

    Examples
    --------
    >>> import tempfile
    >>> def work(cell):
    ...     return {"error_test": 10.0 * cell.parameters["k"]}
    >>> cells = [Cell("demo", "toy", "none", "s0", {"k": k}) for k in (1, 2)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = run_sweep(cells, work, folder=folder, version="1", progress=False)
    ...     again = run_sweep(cells, work, folder=folder, version="1", progress=False)  # reads
    >>> [row["error_test"] for row in rows], rows == again
    ([10.0, 20.0], True)
    """
    unique = dict.fromkeys(cells)
    experiments = sorted({cell.experiment for cell in unique})
    if len(experiments) != 1:
        raise ValueError(
            f"a sweep needs cells of one experiment, got {experiments or 'no cell'}; use a folder for each."
        )
    store = Store(Path(folder).resolve())  # workers may live in another folder
    _open(store, experiments[0], version if version is not None else _source_hash(work), fresh)
    rows = store.read()
    missing = [cell for cell in unique if cell.key not in rows or (retry_failed and rows[cell.key]["status"] != "ok")]
    if missing:
        run = _new_run(store, collect() if provenance is None else provenance)
        for row in _compute(missing, work, store, run, jobs, threads, progress, len(unique)):
            rows[row["key"]] = row
    return [rows[cell.key] for cell in unique]


def read_sweep(folder: str | Path) -> list[Row]:
    """Return every row of a folder, in no particular order, without computing anything."""
    return list(Store(folder).read().values())


def _open(store: Store, experiment: str, version: str, fresh: bool) -> None:
    """Make the folder, or check that it is ours."""
    manifest = store.folder / "manifest.json"
    if fresh:  # only what a sweep writes: the folder may hold other things
        manifest.unlink(missing_ok=True)
        for part in ("cells", "runs"):
            shutil.rmtree(store.folder / part, ignore_errors=True)
    wanted = {"format": 1, "experiment": experiment, "version": version}
    if manifest.exists() or any(store.cells.glob("*.jsonl")):
        try:
            found = json.loads(manifest.read_text())
        except (OSError, ValueError):
            found = None
        if found != wanted:
            raise StaleResultsError(
                f"the folder {str(store.folder)!r} holds results of {found or 'an unknown experiment'}, but this is "
                f"{wanted}. Old and new results are not mixed: choose another folder, or start anew with fresh=True "
                "(--fresh on the command line)."
            )
    store.cells.mkdir(parents=True, exist_ok=True)
    (store.folder / "runs").mkdir(exist_ok=True)
    _write(manifest, wanted)


def _write(path: Path, value: Any) -> None:
    """Write JSON so that a reader sees the old file or the new one, never half of it."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps(value, indent=1, default=str) + "\n")
    temporary.replace(path)


def _new_run(store: Store, provenance: Mapping[str, Any]) -> str:
    run = f"{time.time_ns():020d}-{secrets.token_hex(3)}"
    _write(store.folder / "runs" / f"{run}.json", dict(provenance))
    return run


def _source_hash(work: Work) -> str:
    try:
        source = inspect.getsource(work)
    except (OSError, TypeError) as error:
        raise ValueError(
            f"the source of {work!r} cannot be read, so that changes of it could not be noticed; pass version=."
        ) from error
    return "source " + hashlib.sha256(source.encode()).hexdigest()[:16]


def _compute(
    cells: list[Cell],
    work: Work,
    store: Store,
    run: str,
    jobs: int,
    threads: int,
    progress: bool,
    total: int,
) -> Iterable[Row]:
    """Yield the rows of `cells` as they are done; each is on disk before it is yielded."""
    from joblib import Parallel, delayed, parallel_config
    from joblib.externals.loky.process_executor import TerminatedWorkerError
    from tqdm import tqdm

    done, failed = total - len(cells), 0
    bar = tqdm(
        total=total,
        initial=done,
        desc=cells[0].experiment,
        unit="cell",
        disable=not progress,
        # A log file gets a line every half minute, a terminal a moving bar.
        mininterval=0.2 if sys.stderr.isatty() else 30.0,
    )
    # Libraries that a worker loads later read their number of threads from its environment.
    with bar, parallel_config(backend="loky", inner_max_num_threads=threads):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        rows = parallel(delayed(_run_cell)(cell, work, store, run, threads) for cell in cells)
        try:
            for row in rows:
                done += 1
                failed += row["status"] != "ok"
                bar.set_postfix(failed=failed, refresh=False)
                bar.update()
                yield row
        except KeyboardInterrupt:
            raise SweepInterruptedError(f"interrupted: {_kept(store, done, total)}.") from None
        except TerminatedWorkerError as error:
            raise SpecmarginError(
                f"a worker process died, most often for want of memory: {_kept(store, done, total)}. "
                f"Run it with fewer jobs than {jobs}."
            ) from error


def _kept(store: Store, done: int, total: int) -> str:
    # Workers may have written rows that nobody has collected.
    return f"{done} of {total} cells or more are in {str(store.folder)!r}; the same call goes on from there"


@lru_cache(maxsize=1)
def _thread_controller(n_modules: int) -> Any:
    # Looking for the libraries takes milliseconds; a new one can only have come with a new module.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _run_cell(cell: Cell, work: Work, store: Store, run: str, threads: int) -> Row:
    """Compute one cell, write its row and return it. Runs in a worker."""
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
            row = make_row(cell, {"status": "failed", **_describe(error)})
    said = sorted({f"{w.category.__name__}: {w.message}" for w in caught})
    if said:
        row["warnings"] = " | ".join(said[:5])
    row |= {"seconds": time.perf_counter() - start, "run": run}
    return store.append(row, run)


def _describe(error: Exception) -> dict[str, str]:
    """Type, message and traceback; of each file the name alone, because rows are published."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    lines = [f"{Path(f.filename).name}:{f.lineno} in {f.name}: {f.line}" for f in frames]
    return {"error": f"{type(error).__name__}: {error}", "traceback": "\n".join(lines)}
