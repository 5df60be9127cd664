"""Run an experiment: cells, a sweep that resumes, the report with its header and footer, files.

An `Experiment` says what is computed and what the numbers say; `run_experiment` does what is the same for all tables.
Quick or full, one phase or several, on the data sets that are available; the sweep is kept in ``<out>/sweeps`` and the
table is written to ``<out>/tables``.
"""

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from reproduction.data import available
from reproduction.engine.artifacts import explained, remove_unfinished, require_folder
from reproduction.engine.locking import locked
from reproduction.engine.provenance import collect, since_commit
from reproduction.engine.records import Cell, Row, Store, make_row, worst_gap
from reproduction.engine.sweep import SweepInterruptedError, run_sweep
from reproduction.recorded import read_record, record_table, restore_rows
from reproduction.report import MarkedSection, Report, Section, write_report
from reproduction.tasks import checksums
from specmargin.checks import among, checked, instance, maybe, path, processes
from specmargin.exceptions import InvalidInputError

Run: TypeAlias = Callable[[list[Cell]], list[Row]]
"""Takes cells and returns their rows: a sweep with its folder, or `measured` without one."""

_LONGEST = 80
"""Letters of the choices that a name holds."""


@dataclass(frozen=True)
class Options:
    """How to run a table; the options of ``python -m reproduction tables``.

    Parameters
    ----------
    folder : path
        Folder of the sweep behind the table.
    quick : bool, default False
        Two splits and few settings: seconds.
    data : path, optional
        Folder of the data sets; by default ``$SPECMARGIN_DATA``, else the cache.
    jobs, fresh, retry_failed, progress, wait, scheduler
        The same as in `run_sweep`.
    choices : mapping of str to str
        Axes of the table that are set to other than their default; each table names its own.
    """

    folder: Path
    quick: bool = False
    data: Path | None = None
    jobs: int = 1
    fresh: bool = False
    retry_failed: bool = False
    progress: bool = True
    wait: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)
    scheduler: str | None = None

    @property
    def suffix(self) -> str:
        """What the name of the table and of its folder gets: the choices, and whether it is quick."""
        chosen = "".join(f"-{name}={value}" for name, value in sorted(self.choices.items()))
        if len(chosen) > _LONGEST:  # file systems have a limit
            chosen = f"{chosen[:_LONGEST]}-{hashlib.sha256(chosen.encode()).hexdigest()[:8]}"
        return chosen + ("-quick" if self.quick else "")

    def command(self, name: str) -> str:
        """Return what to type to make that table again."""
        chosen = "".join(f" --set {axis}={value}" for axis, value in sorted(self.choices.items()))
        return f"python -m reproduction tables {name}{chosen}{' --quick' if self.quick else ''} --jobs {self.jobs}"


class Setup(NamedTuple):
    """What can be computed here: the plan, the names of its data sets, what to say of missing ones.

    The plan is up to the experiment. Where that has one phase, ``plan.cells(data)`` returns its cells.
    """

    plan: Any
    sources: Iterable[str]
    header: Sequence[str] = ()


class Findings(NamedTuple):
    """What a report holds: its body, lines below the protocol, what the numbers say, lines before the common footer.

    `facts` fill in the braces of the table's protocol.
    """

    sections: Sequence[Section | MarkedSection]
    header: Sequence[str] = ()
    remarks: Sequence[str] = ()
    footer: Sequence[str] = ()
    facts: Mapping[str, Any] = MappingProxyType({})


def _one_sweep(plan: Any, sweep: Run, data: Path | None) -> list[Row]:
    return sweep(plan.cells(data))


@dataclass(frozen=True)
class Experiment:
    """A table: what is computed, and what the report says of it.

    Parameters
    ----------
    name, summary, title : str
        Its name on the command line; a line of ``python -m reproduction tables``; the title of the report.
    setup : callable
        ``setup(options)`` returns a `Setup`: the plan on the data sets that are available.
    work : callable
        ``work(cell, data=folder)`` computes a cell. Defined at the top of a module.
    report : callable
        ``report(results, plan, options)`` returns the `Findings`.
    measure : callable, optional
        ``measure(plan, sweep, data)`` returns the results, for experiments of several phases: `sweep` takes cells and
        returns rows. By default the rows of ``plan.cells(data)``.
    solver : str, default "numpy"
        Name of who solves, for the provenance.
    quick : str
        What the header says of the quick table.
    axes : tuple of str
        Parts of the protocol that `Options.choices` may set: ``python -m reproduction tables NAME --set axis=value``.
    protocol : tuple of str
        What was done, for the head of the report, in which the `facts` of its findings are filled in.
    """

    name: str
    summary: str
    title: str
    setup: Callable[[Options], Setup]
    work: Callable[..., Mapping[str, Any]]
    report: Callable[[Any, Any, Options], Findings]
    measure: Callable[[Any, Run, Path | None], Any] = _one_sweep
    solver: str = "numpy"
    quick: str = ""
    axes: tuple[str, ...] = ()
    protocol: tuple[str, ...] = ()


_WORDS = tomllib.loads(Path(__file__).with_name("papers").joinpath("tables.toml").read_text(encoding="utf-8"))


def words(name: str) -> dict[str, Any]:
    """Return the fields of a paper's table that are words, its name among them, as ``papers/tables.toml`` has them."""
    return {"name": name} | {key: tuple(v) if isinstance(v, list) else v for key, v in _WORDS[name].items()}


def measured(work: Callable[..., Mapping[str, Any]], data: Path | None = None) -> Run:
    """Return what computes cells one after the other, without a folder: for the figures."""
    return lambda cells: [make_row(cell, {"status": "ok", **work(cell, data=data)}) for cell in dict.fromkeys(cells)]


def footer(rows: Iterable[Row], folder: str | Path, command: str) -> list[str]:
    """Return what a table says of all its rows and of the sweep in `folder`: failures, worst gap, versions, command."""
    rows = list(rows)
    failures = [row for row in rows if row["status"] != "ok"]
    first = f", e.g. {failures[0]['error']}" if failures else ""
    warned = sum("warnings" in row for row in rows)
    gap = worst_gap(rows)
    lines = [
        f"cells: {len(rows)}, failed: {len(failures)}{first}, with warnings: {warned}, "
        f"{sum(row['seconds'] for row in rows):.0f} s of work",
        "worst relative gap of a certificate: " + ("none known" if gap is None else f"{gap:.1e}"),
    ]
    runs = Store(folder).provenance()
    used = dict.fromkeys(row["run"] for row in rows)
    seen = dict.fromkeys(_versions(runs[name]) for name in sorted(used) if name in runs)
    if len(seen) > 1:
        lines.append("the cells were computed by different versions:")
    commits = {git["commit"] for name in used if name in runs and (git := runs[name].get("git"))}
    since = [line for commit in sorted(commits) if (line := since_commit(commit))]
    return [*lines, *seen, *since, f"command: {command}"]


def _versions(provenance: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in provenance["versions"].items() if version)
    git = provenance.get("git")
    commit = f", commit {git['commit'][:12]}{' and uncommitted changes' if git['dirty'] else ''}" if git else ""
    return f"versions: {versions}{commit}; {provenance['platform']}"


@checked(
    experiment=instance(Experiment, "take one of reproduction.papers"),
    out=path,
    data=maybe(path),
    jobs=processes,
    choices=maybe(instance(Mapping, "pass a dict from axes of the table to values")),
)
def run_experiment(
    experiment: Experiment,
    *,
    quick: bool = False,
    data: str | Path | None = None,
    out: str | Path = "results",
    jobs: int = 1,
    fresh: bool = False,
    retry_failed: bool = False,
    progress: bool = True,
    wait: bool = False,
    choices: Mapping[str, str] | None = None,
    record: bool = False,
    scheduler: str | None = None,
) -> Report:
    """Compute a table and write it to ``<out>/tables``; the sweep is kept in ``<out>/sweeps``.

    Where ``<out>/recorded`` has rows of the table, and no sweep was begun, it starts from those.

    Parameters
    ----------
    experiment : Experiment
        What is computed.
    quick, data, jobs, fresh, retry_failed, progress, wait, scheduler
        The same as in `Options`. A quick table has files and a sweep of its own.
    out : path, default "results"
        Folder in which everything is written.
    choices : mapping of str to str, optional
        Axes of the table that are set to other than their default, as ``{"graph": "mutual+mst"}``. Such a table has
        files and a sweep of its own, too.
    record : bool, default False
        Put rows and report into ``<out>/recorded``, also the rows of a run that is interrupted.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If the table has no such axis.
    """
    foreign = sorted(set(choices or {}) - set(experiment.axes))
    if foreign:
        axes = among(foreign[0], experiment.axes)
        remedy = f"take one of {axes}" if experiment.axes else "it has none, so leave that out."
        raise InvalidInputError(f"the table {experiment.name!r} has no axis {foreign[0]!r}; {remedy}")
    out, home = require_folder(Path(out)), None if data is None else Path(data)
    options = Options(out, quick, home, jobs, fresh, retry_failed, progress, wait, dict(choices or {}))
    options = replace(options, scheduler=scheduler)
    full = f"{experiment.name}{options.suffix}"
    options = replace(options, folder=out / "sweeps" / full)
    # For all phases and the report: the sweeps inside take the same lock again.
    with (
        explained(out, lambda: f"What was computed is kept in {str(options.folder)!r}."),
        locked(options.folder / ".lock", f"the table {full} into {str(out)!r}", wait=wait),
    ):
        place = out / "recorded" / full
        if place.is_dir() and not fresh:
            restore_rows(read_record(place), options.folder)
        store = Store(options.folder)
        try:
            report, rows = _computed(experiment, options)
        except SweepInterruptedError:
            if record:
                record_table(experiment.name, store, store.read().values(), place, choices=options.choices)
            raise
        if record:
            record_table(experiment.name, store, rows, place, report=report, choices=options.choices)
        remove_unfinished(out / "tables", f".{report.name}")
        write_report(report, out / "tables")
    return report


def _computed(experiment: Experiment, options: Options) -> tuple[Report, list[Row]]:
    """Return the report and all its rows."""
    plan, sources, header = experiment.setup(options)
    data = checksums(sources, options.data)
    rows: list[Row] = []
    fresh = options.fresh

    def sweep(cells: list[Cell]) -> list[Row]:
        nonlocal fresh
        elsewhere = options.scheduler is not None  # where the folders here are not
        archives = {name: Path(file) for name, file in available(options.data).items() if file and name in data}
        computed = run_sweep(
            cells,
            partial(experiment.work, data=None if elsewhere else options.data),
            folder=options.folder,
            jobs=options.jobs,
            progress=options.progress,
            fresh=fresh,
            retry_failed=options.retry_failed,
            wait=options.wait,
            provenance=collect(data=data, solver=experiment.solver),
            scheduler=options.scheduler,
            data_files={name: file for name, file in archives.items() if file.is_file()} if elsewhere else None,
        )
        fresh = False  # later phases add to the folder
        rows.extend(computed)
        return computed

    results = experiment.measure(plan, sweep, options.data)
    findings = experiment.report(results, plan, options)
    end = footer(rows, options.folder, options.command(experiment.name))
    quick = [f"QUICK: {experiment.quick}"] if options.quick and experiment.quick else []
    report = Report(
        f"{experiment.name}{options.suffix}",
        experiment.title,
        findings.sections,
        [*header, *quick, *(line.format(**findings.facts) for line in experiment.protocol), *findings.header],
        [*findings.footer, *end],
        findings.remarks,
    )
    return report, rows
