"""Tables: reproduced beside published.

`run_table(name)` computes a registered table and writes it as text, CSV and Markdown; `TABLES` is the register. A
table is a function of `TableOptions` that returns a `TableReport`: it declares cells, calls `run_sweep`, and hands the
rows to `compare`, which applies each protocol of tuning and looks the published numbers up. Every line names its
protocol, with the word "optimistic" where the reported error also chose the parameters.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from specmargin.checks import checked, maybe, members, path, processes, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.experiments.engine.artifacts import explained, remove_leftovers, require_folder
from specmargin.experiments.engine.locking import locked
from specmargin.experiments.engine.protocol import Tuning, select
from specmargin.experiments.engine.published import published
from specmargin.experiments.engine.records import Row, Store, worst_gap
from specmargin.experiments.table_report import Line, TableReport

__all__ = ["TABLES", "Reference", "TableEntry", "TableOptions", "compare", "footer", "run_table"]

_STALE = "STALE:"


@dataclass(frozen=True)
class TableEntry:
    """A line of the register: what the table shows, where its function is (``module:function``), and its axes.

    An axis is a part of the protocol that `TableOptions.choices` may set: ``specmargin tables NAME --set axis=value``.
    """

    summary: str
    target: str
    axes: tuple[str, ...] = ()


TABLES: dict[str, TableEntry] = {
    "lapsvm_svm": TableEntry(
        "SVM and LapSVM on g50c and uspst, published splits, beside the primal-LapSVM paper and the 2008 survey",
        "specmargin.experiments.lapsvm_svm:lapsvm_svm",
    ),
    "lapsvm_primal": TableEntry(
        "Tables 3 to 11 of the primal-LapSVM paper: errors, iterations and times on its six smaller data sets",
        "specmargin.experiments.lapsvm_primal:lapsvm_primal",
    ),
    "lapsvm_primal_mnist": TableEntry(
        "The same on MNIST, 3 against 8: 11,902 training samples, hours",
        "specmargin.experiments.lapsvm_primal:lapsvm_primal_mnist",
    ),
    "lapsvm_primal_faces": TableEntry(
        "The same on FACEMIT, the CBCL faces: 24,044 training samples, two labels, macro error; 5 GB, most of an hour",
        "specmargin.experiments.lapsvm_primal_faces_report:lapsvm_primal_faces",
    ),
    "lapsvm_primal_laplacian": TableEntry(
        "Table 4 of the primal-LapSVM paper with either Laplacian, normalised and D - W",
        "specmargin.experiments.lapsvm_primal_laplacian:lapsvm_primal_laplacian",
    ),
    "manifold_regularization": TableEntry(
        "RLS, LapRLS, SVM and LapSVM on 45 pairs of USPS digits and on Isolet, the protocol of the manifold paper",
        "specmargin.experiments.manifold_regularization:manifold_regularization",
    ),
    "spectrum_learning": TableEntry(
        "Methods over a graph's spectrum on 20 newsgroups and MNIST, the protocol of the spectrum paper",
        "specmargin.experiments.spectrum_learning:spectrum_learning",
        axes=("graph", "eps"),
    ),
    "continuation_s3vm": TableEntry(
        "Tables 1 to 4 and figures 3 to 7 of the continuation paper: S3VMs on pairs of digits and objects, and on text",
        "specmargin.experiments.continuation_s3vm:continuation_s3vm",
    ),
    "qn_s3vm": TableEntry(
        "Table 2 and figures 4 to 7 of the QN-S3VM paper: linear classifiers tuned on the labelled part alone",
        "specmargin.experiments.qn_s3vm:qn_s3vm",
    ),
    "s3vm_survey": TableEntry(
        "Tables 8, 11, 13 and 14 of the 2008 survey: every semi-supervised SVM solver on g50c, text and uspst",
        "specmargin.experiments.s3vm_survey:s3vm_survey",
    ),
    "s3vm_optima": TableEntry(
        "How often each semi-supervised SVM solver finds the global optimum, which branch and bound proves",
        "specmargin.experiments.s3vm_optima_table:s3vm_optima",
    ),
}
"""The tables by name. The functions are imported when they are run."""


@dataclass(frozen=True)
class TableOptions:
    """How to run a table; the options of ``specmargin tables``.

    Parameters
    ----------
    folder : path
        Of the sweep behind the table.
    quick : bool, default False
        Two splits and few settings: seconds.
    data : path, optional
        Folder of the data sets; by default ``$SPECMARGIN_DATA``, else the cache.
    jobs : int, default 1
        Processes.
    fresh, retry_failed, progress, keep_stale, wait : bool
        As in `run_sweep`.
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
    keep_stale: bool = False
    wait: bool = False
    choices: Mapping[str, str] = field(default_factory=dict)

    @property
    def suffix(self) -> str:
        """What the name of the table and of its folder gets: the choices, and whether it is quick."""
        chosen = "".join(f"-{name}={value}" for name, value in sorted(self.choices.items()))
        return chosen + ("-quick" if self.quick else "")

    def command(self, name: str) -> str:
        """Return what to type to make that table again."""
        words = [f"--set {axis}={value}" for axis, value in sorted(self.choices.items())]
        return " ".join(
            [f"specmargin tables {name}", *words, *(["--quick"] if self.quick else []), f"--jobs {self.jobs}"]
        )

    def of_sweep(self) -> dict[str, Any]:
        """Return those that `run_sweep` takes, by their names there."""
        names = ("folder", "jobs", "fresh", "retry_failed", "progress", "keep_stale", "wait")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Reference:
    """Where to look a published number up, and what to say of it.

    Parameters
    ----------
    paper, table, method : str
        As in `published`.
    split : str, default "U"
        Which points the published error is measured on.
    quantity : str, default "error_percent"
        What was published.
    note : str
        Differences of protocol, for the note column. The note of the published row itself is added.
    where : mapping, optional
        Further columns that tell variants apart, e.g. ``{"n_labeled": 50}``.
    """

    paper: str
    table: str
    method: str
    split: str = "U"
    quantity: str = "error_percent"
    note: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)

    def find(self, dataset: str) -> tuple[float, float, str] | None:
        """Return mean, standard deviation (NaN if not printed) and note, or None if nothing was published.

        Raises
        ------
        ValueError
            If several rows match: name what tells them apart in `where`.
        """
        rows = published(self.paper, self.table, method=self.method, quantity=self.quantity, split=self.split)
        rows = rows[rows["dataset"] == dataset]
        for column, value in self.where.items():
            rows = rows[(rows[column] == value).fillna(False)]
        if len(rows) > 1:
            raise InvalidInputError(
                f"{len(rows)} published rows match {self!r} on {dataset!r}; tell them apart with where=: "
                f"n_labeled {rows['n_labeled'].tolist()}, note {rows['note'].tolist()}."
            )
        if rows.empty or math.isnan(rows["mean"].iloc[0]):
            return None
        note = "; ".join(part for part in (self.note, rows["note"].iloc[0]) if part)
        return float(rows["mean"].iloc[0]), float(rows["std"].iloc[0]), note


def compare(
    rows: Iterable[Row],
    tunings: Iterable[Tuning],
    references: Mapping[str, Sequence[Reference]],
    *,
    column: str = "error_unlabeled",
) -> list[Line]:
    """Apply every protocol to the rows of a sweep and put the published numbers beside.

    Parameters
    ----------
    rows : iterable of rows
        In the declared order of the cells.
    tunings : iterable of Tuning
        A line (or several, one per published number) for each.
    references : mapping of str to sequence of Reference
        By the method of the cells.
    column : str, default "error_unlabeled"
        What is reported.

    Returns
    -------
    list of Line
        By data set, method, protocol. The deviation is that of a sample (n - 1), NaN for a single split.

    Raises
    ------
    ValueError
        If a protocol that chooses by `column` does not call itself optimistic.
    """
    rows = members("rows", rows, dict, "pass those of run_sweep")
    tunings = members("tunings", tunings, Tuning, "pass LabeledFolds(), ValidationSet(), ...")
    if not isinstance(references, Mapping):
        raise InvalidTypeError(f"references={shown(references)}; pass a dict from methods to lists of Reference.")
    for tuning in tunings:
        if tuning.criterion == column and not tuning.optimistic:
            raise InvalidInputError(
                f"{tuning!r} chooses by {column!r}, which is what the table reports, but is not marked optimistic; "
                "report another column or set optimistic = True."
            )
    lines = []
    chosen = {tuning.name: select(rows, tuning) for tuning in tunings}
    for dataset, method in dict.fromkeys((row["dataset"], row["method"]) for row in rows):
        for name, selected in chosen.items():
            errors = [row[column] for row in selected if (row["dataset"], row["method"]) == (dataset, method)]
            mean = statistics.fmean(errors) if errors else math.nan
            std = statistics.stdev(errors) if len(errors) > 1 else math.nan
            found = [(reference, reference.find(dataset)) for reference in references.get(method, ())]
            sources = [
                (*numbers[:2], f"{reference.paper} table {reference.table} {reference.method}", numbers[2])
                for reference, numbers in found
                if numbers is not None
            ]
            lines += [
                Line(dataset, method, name, mean, std, len(errors), *source)
                for source in sources or [(math.nan, math.nan, "", "nothing published")]
            ]
    return lines


def footer(rows: Iterable[Row], folder: str | Path, command: str) -> list[str]:
    """Return what a table says of the sweep behind it: failures, worst certificate, versions, command.

    Parameters
    ----------
    rows : iterable of rows
        All rows of the table.
    folder : path
        Of the sweep, for the provenance of its runs.
    command : str
        What to type to make the table again.
    """
    rows = list(rows)
    failures = [row for row in rows if row["status"] != "ok"]
    first = f", e.g. {failures[0]['error']}" if failures else ""
    warned = sum("warnings" in row for row in rows)
    gap = worst_gap(rows)
    stale = [row["stale"] for row in rows if "stale" in row]
    lines = [
        f"{_STALE} {len(stale)} of {len(rows)} cells are of older code or data, kept as asked for; changed since: "
        f"{', '.join(sorted({name for names in stale for name in names.split(', ')}))}"
    ] * bool(stale)
    lines += [
        f"cells: {len(rows)}, failed: {len(failures)}{first}, with warnings: {warned}, "
        f"{sum(row['seconds'] for row in rows):.0f} s of work",
        "worst relative gap of a certificate: " + ("none known" if gap is None else f"{gap:.1e}"),
    ]
    runs = Store(folder).provenance()
    used = dict.fromkeys(row["run"] for row in rows)
    seen = dict.fromkeys(_versions(runs[run]) for run in sorted(used) if run in runs)
    if len(seen) > 1:
        lines.append("the cells were computed by different versions:")
    return [*lines, *seen, f"command: {command}"]


def _versions(provenance: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in provenance["versions"].items() if version)
    git = provenance.get("git")
    commit = f", commit {git['commit'][:12]}{' and uncommitted changes' if git['dirty'] else ''}" if git else ""
    return f"versions: {versions}{commit}; {provenance['platform']}"


def _choices(name: str, value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise InvalidTypeError(f"{name}={shown(value)}; pass a dict from axes of the table to values.")
    return value


@checked(out=path, data=maybe(path), jobs=processes, choices=maybe(_choices))
def run_table(
    name: str,
    *,
    quick: bool = False,
    data: str | Path | None = None,
    out: str | Path = "results",
    jobs: int = 1,
    fresh: bool = False,
    retry_failed: bool = False,
    progress: bool = True,
    keep_stale: bool = False,
    wait: bool = False,
    choices: Mapping[str, str] | None = None,
) -> TableReport:
    """Compute a registered table and write it to ``<out>/tables``; the sweep is kept in ``<out>/sweeps``.

    Parameters
    ----------
    name : str
        In `TABLES`.
    quick, data, jobs, fresh, retry_failed, progress, keep_stale, wait
        As in `TableOptions`. A quick table has files and a sweep of its own.
    out : path, default "results"
        Where everything is written.
    choices : mapping of str to str, optional
        Axes of the table that are set to other than their default, as ``{"graph": "mutual+mst"}``. Such a table has
        files and a sweep of its own, too.

    Returns
    -------
    TableReport

    Raises
    ------
    ValueError
        If there is no such table, or it has no such axis.
    """
    if not isinstance(name, str) or name not in TABLES:
        raise InvalidInputError(f"there is no table {shown(name)}; choose one of: {', '.join(sorted(TABLES))}.")
    foreign = sorted(set(choices or {}) - set(TABLES[name].axes))
    if foreign:
        axes = ", ".join(TABLES[name].axes)
        remedy = f"take one of {axes}" if axes else "it has none, so leave that out"
        raise InvalidInputError(f"the table {name!r} has no axis {foreign[0]!r}; {remedy}.")
    module, _, function = TABLES[name].target.partition(":")
    build: Callable[[TableOptions], TableReport] = getattr(import_module(module), function)
    out, home = require_folder(Path(out)), None if data is None else Path(data)
    options = TableOptions(out, quick, home, jobs, fresh, retry_failed, progress, keep_stale, wait, dict(choices or {}))
    full = f"{name}{options.suffix}"
    options = replace(options, folder=out / "sweeps" / full)
    # For all phases and the report: the sweeps inside take the same lock again.
    with (
        explained(out, lambda: f"What was computed is kept in {str(options.folder)!r}."),
        locked(options.folder / ".lock", f"the table {full} into {str(out)!r}", wait=wait),
    ):
        report = build(options)
        loud = [line for line in report.footer if line.startswith(_STALE)]
        report = replace(report, header=[*loud, *report.header])
        remove_leftovers(out / "tables", f".{report.name}")
        report.write(out / "tables")
    return report
