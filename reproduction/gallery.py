"""Run the figure scripts: compute, draw, save, and write down what was done.

`run_figures` calls ``compute`` and ``draw`` of every script (`reproduction.figure_scripts`), in as many
processes as it is told, the longest figure first, and leaves in the output folder

- ``NAME.pdf``, ``NAME.png``, ``NAME.svg``: the figure, its caption among the file's properties; a quick one says so;
- ``NAME.npz``: the computed data, from which the figure is drawn again when nothing that it depends on changed: the
  script but for ``draw``, its arguments, the data sets that there are;
- ``NAME.json``: caption, what ``compute`` returned under ``parameters``, ``certificates``, ``results`` and ``data``,
  seed, versions, commit and seconds.

`available_figures` lists what there is.
"""

import heapq
import json
import logging
import os
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from cvxproof.files import replace_file
from reproduction.data import DataNotFoundError
from reproduction.engine.artifacts import (
    explained,
    read_data,
    remove_unfinished,
    require_folder,
    strict_json,
    write_data,
)
from reproduction.engine.locking import locked
from reproduction.engine.processes import in_processes
from reproduction.engine.progress import Report, duration, figure_bar
from reproduction.engine.provenance import collect
from reproduction.engine.sweep import SweepInterruptedError
from reproduction.figure_scripts import (
    DATA_VARIABLE,
    Size,
    data_folder,
    described,
    expected_seconds,
    figure_scripts,
    has_real_data,
    load_script,
    script_dependencies,
)
from specmargin.checks import among
from specmargin.exceptions import (
    InvalidInputError,
    InvalidTypeError,
    NotWrittenError,
    SpecmarginError,
)
from specmargin.interrupts import in_order

logger = logging.getLogger(__name__)

_REPORTED = ("parameters", "certificates", "results", "data")
_START = 3.0  # seconds until a process computes
_DRAWING = 1.0


@dataclass(frozen=True)
class FigureResult:
    """What became of one figure.

    Parameters
    ----------
    name : str
        Name of the script, without suffix.
    paths : tuple of Path
        Figure files, in the order of the formats.
    sidecar : Path or None
        The JSON file; None where the figure failed.
    seconds_compute, seconds_draw : float
        Wall time. A resumed figure reports what its computation took when it ran.
    resumed : bool
        Whether the computed data were read instead of computed.
    warnings : tuple of str
        What ``compute`` and ``draw`` warned of.
    error, trace : str
        Type and text of the exception, and its traceback; empty if the figure was made.
    """

    name: str
    paths: tuple[Path, ...] = ()
    sidecar: Path | None = None
    seconds_compute: float = 0.0
    seconds_draw: float = 0.0
    resumed: bool = False
    warnings: tuple[str, ...] = ()
    error: str = ""
    trace: str = ""


class FigureError(SpecmarginError):
    """One or more figures failed; `results` holds all of them, also those that were made."""

    def __init__(self, message: str, results: Sequence[FigureResult]) -> None:
        super().__init__(message)
        self.results = list(results)


@dataclass(frozen=True)
class _Settings:
    size: Size
    seed: int
    data: str | None
    out: Path
    fresh: bool
    formats: tuple[str, ...]


def available_figures(folder: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Return the first line of every script's docstring by its name, sorted; no script is executed.

    Parameters
    ----------
    folder : path, optional
        Folder of the scripts; the package's own gallery by default. `SpecmarginError` if there is none.
    """
    return {name: described(path.read_text("utf-8")).title for name, path in figure_scripts(folder).items()}


def run_figures(
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    full: bool = False,
    data: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    progress: bool = True,
    seed: int = 0,
    fresh: bool = False,
    formats: Sequence[str] = ("pdf", "png", "svg"),
    folder: str | os.PathLike[str] | None = None,
    wait: bool = False,
) -> list[FigureResult]:
    """Make figures.

    Parameters
    ----------
    names : sequence of str
        Scripts to run; all by default.
    quick : bool, default False
        Fewer points and tasks, for a look in seconds.
    full : bool, default False
        All points and tasks, for the record; some figures take many minutes, and a line tells so before they start.
    data : path, optional
        Data folder; default ``$SPECMARGIN_DATA``.
    out : path, optional
        Folder to write into; default ``figures/output`` under the current folder.
    jobs : int, default 1
        Figures at a time, through joblib; -1 for one per core. The result does not depend on it: linear algebra has
        one thread in every process.
    progress : bool, default True
        Say on the error stream how long it will take, and show a bar.
    seed : int, default 0
        Passed to ``compute``.
    fresh : bool, default False
        Compute also what could be resumed.
    formats : sequence of {"pdf", "png", "svg"}
        Formats of the figure files.
    folder : path, optional
        Folder of the scripts.
    wait : bool, default False
        Wait for another process that makes one of these figures in the same folder, rather than raise.

    Returns
    -------
    list of FigureResult
        Results in the order of `names`.

    Raises
    ------
    ValueError
        If a name is not known (the text lists those that are), `jobs` is zero, or both sizes are asked for.
    DataNotFoundError
        If `data` is not a folder.
    LockedError
        If another process makes one of these figures in the same folder.
    SweepInterruptedError
        On Ctrl-C, SIGTERM and SIGHUP. What was made is kept.
    FigureError
        If a figure failed, after all others were run; its ``results`` hold all of them.
    """
    from joblib import effective_n_jobs

    scripts = figure_scripts(folder)
    unknown = [name for name in names if name not in scripts]
    if unknown:
        raise InvalidInputError(f"there is no figure {', '.join(unknown)}; take some of {among(unknown[0], scripts)}")
    if data is not None and not Path(data).expanduser().is_dir():
        raise DataNotFoundError(f"there is no data folder {os.fspath(data)!r}; name one with NAME.npz files.")
    if jobs == 0:
        raise InvalidInputError("jobs=0; take a number of processes, or -1 for one per core.")
    if quick and full:
        raise InvalidInputError("quick and full exclude each other; take one, or neither for the standard size.")
    settings = _Settings(
        size="quick" if quick else "full" if full else "standard",
        seed=int(seed),
        data=os.environ.get(DATA_VARIABLE) if data is None else str(Path(data).expanduser().resolve()),
        out=require_folder(Path("figures/output" if out is None else out).expanduser().resolve()),
        fresh=bool(fresh),
        formats=tuple(formats),
    )
    chosen = list(dict.fromkeys(names)) or list(scripts)
    with data_folder(settings.data):
        seconds = {name: told for name in chosen if (told := _expected(scripts[name], settings)) is not None}
    # What takes long must not be last.
    paths = [scripts[name] for name in sorted(chosen, key=lambda name: (-seconds.get(name, 0.0), name))]
    jobs = max(1, min(effective_n_jobs(jobs), len(paths)))
    headline = _headline(paths, seconds, settings.size, jobs)
    bar = figure_bar(len(chosen), headline) if progress else nullcontext(lambda name, stage: None)
    made: dict[str, FigureResult] = {}
    try:
        with _sole_writer(chosen, settings.out, wait), in_order(), bar as report:
            for result in _results(paths, settings, jobs, report):
                made[result.name] = result
                report(result.name, "failed" if result.error else "done")
    except KeyboardInterrupt as interrupt:
        good = sum(not result.error for result in made.values())
        kept = f"{good} of {len(chosen)} figures are in {str(settings.out)!r}, and what others have computed"
        raise SweepInterruptedError(interrupt, kept) from None
    results = [made[name] for name in chosen]
    for result in results:
        for text in result.warnings:
            logger.warning("%s: %s", result.name, text)
        if result.trace:
            logger.error("figure %s failed\n%s", result.name, result.trace)
    failed = [f"{result.name}: {result.error}" for result in results if result.error]
    if failed:
        raise FigureError(
            f"{len(failed)} of {len(results)} figures failed; the others are in {settings.out}.\n" + "\n".join(failed),
            results,
        )
    return results


def _expected(path: Path, settings: _Settings) -> float | None:
    """Return the seconds that a figure should take, if the script tells; little where it will only be drawn."""
    stored = settings.out / f"{path.stem}.npz"
    if not settings.fresh and stored.is_file():
        with suppress(Exception):  # of whatever kind: the user hears of it where the figure is made
            if read_data(stored, script_dependencies(path, settings.size, settings.seed)):
                return _DRAWING
    return expected_seconds(path.read_text("utf-8"), settings.size, has_real_data())


def _headline(paths: Sequence[Path], seconds: Mapping[str, float], size: Size, jobs: int) -> str:
    """Say what will be made and, where every script tells, how long that should take."""
    what = f"{len(paths)} figure{'s' if len(paths) > 1 else ''}, {size} size"
    where = "1 process" if jobs == 1 else f"{jobs} processes"
    if len(seconds) < len(paths):
        return f"{what}, {where}."
    return f"{what}: about {duration(_START + _makespan([seconds[path.stem] for path in paths], jobs))} in {where}."


def _makespan(seconds: Sequence[float], jobs: int) -> float:
    """Return when the last of several tasks ends, each given to the first process that is free."""
    ends = [0.0] * jobs
    for each in seconds:
        heapq.heapreplace(ends, ends[0] + each)
    return max(ends)


def _results(paths: Sequence[Path], settings: _Settings, jobs: int, report: Report) -> Iterator[FigureResult]:
    """Yield results as they come."""
    if jobs == 1:
        for path in paths:
            yield _run_one(path, settings, report)
        return

    def started() -> Iterator[tuple[Path, _Settings]]:
        # The next figure is asked for when a process is free; the bar lives in this process.
        for path in paths:
            report(path.stem, "running")
            yield path, settings

    yield from in_processes(_run_one, started(), jobs, threads=1, batch=1)


def _run_one(path: Path, settings: _Settings, report: Report = lambda name, stage: None) -> FigureResult:
    """Compute (or resume), draw and save one figure; an exception becomes a result."""
    import scipy.linalg  # noqa: F401  brings its own BLAS, which must be there to be limited
    import sklearn.neighbors  # noqa: F401  and this OpenMP
    from threadpoolctl import threadpool_limits

    result = FigureResult(path.stem)
    # One thread, whatever the number of processes: the last bits of a product depend on it.
    with warnings.catch_warnings(record=True) as caught, data_folder(settings.data), threadpool_limits(1):
        warnings.simplefilter("default")
        try:
            result = _make(path, settings, report)
        except NotWrittenError as error:
            result = replace(result, error=str(error))
        except Exception as error:  # whatever a script raises must not stop the other figures
            result = replace(result, error=f"{type(error).__name__}: {error}", trace=traceback.format_exc())
    texts = dict.fromkeys(f"{entry.category.__name__}: {entry.message}" for entry in caught)
    return replace(result, warnings=tuple(texts))


@contextmanager
def _sole_writer(names: Sequence[str], out: Path, wait: bool) -> Iterator[None]:
    """Hold the locks of these figures, and clear away what killed runs have left of them."""
    with ExitStack() as stack:
        stack.enter_context(explained(out, lambda: "Figures that are there stay."))
        for name in sorted(names):
            what = f"the figure {name} into {str(out)!r}"
            stack.enter_context(locked(out / f".{name}.lock", what, wait=wait))
            remove_unfinished(out, f".{name}")
        yield


def _make(path: Path, settings: _Settings, report: Report) -> FigureResult:
    from specmargin.plots.stamp import QUICK_NOTE, add_note
    from specmargin.plots.theme import save

    name, target = path.stem, settings.out / path.stem
    module = load_script(path)
    depends = script_dependencies(path, settings.size, settings.seed)
    stored = None if settings.fresh else read_data(target.with_suffix(".npz"), depends)
    resumed = stored is not None
    if stored is None:
        report(name, "computing")
        _compute(module, target, depends, settings)
        stored = read_data(target.with_suffix(".npz"), depends)
        assert stored is not None
    data, meta = stored
    report(name, "drawing")
    start = time.perf_counter()
    figure = module.draw(data)
    if not hasattr(figure, "savefig"):
        raise InvalidTypeError(f"draw of figure {name!r} returned {type(figure).__name__}; return a Figure.")
    caption, _, description = (module.__doc__ or "").strip().partition("\n")
    if settings.size == "quick":
        add_note(figure, QUICK_NOTE)
    with explained(settings.out, lambda: f"What {name} computed is kept."):
        paths = save(figure, target, settings.formats, (module.__doc__ or "").strip())
        seconds_draw = time.perf_counter() - start
        sidecar = {
            "name": name,
            "caption": caption,
            "description": description.strip(),
            "size": settings.size,
            **{key: data[key] for key in _REPORTED if key in data},
            "seconds": {"compute": meta["seconds"], "draw": round(seconds_draw, 3)},
            "depends": depends,
            "provenance": meta["provenance"],
            "files": [item.name for item in (*paths, target.with_suffix(".npz"))],
        }
        text = json.dumps(strict_json(sidecar), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        replace_file(target.with_suffix(".json"), text.encode())
    return FigureResult(name, tuple(paths), target.with_suffix(".json"), meta["seconds"], seconds_draw, resumed)


def _compute(module: ModuleType, target: Path, depends: dict[str, Any], settings: _Settings) -> None:
    """Write the computed data with what they depend on and where they come from."""
    start = time.perf_counter()
    data = module.compute(settings.size, seed=settings.seed)
    seconds = time.perf_counter() - start
    if not isinstance(data, Mapping):
        raise InvalidTypeError(f"compute of figure {target.name!r} returned {type(data).__name__}; return a dict.")
    checksums = {name: entry.get("sha256") for name, entry in data.get("data", {}).items()}
    provenance = collect(seed=settings.seed, data=checksums, solver=", ".join(data.get("solvers", ())) or None)
    with explained(settings.out, lambda: f"The figure {target.name} is as it was."):
        meta = {"depends": depends, "provenance": provenance, "seconds": round(seconds, 3)}
        write_data(target.with_suffix(".npz"), data, meta)
