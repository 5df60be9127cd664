"""The proved problems as a data set for others: how each is made again, its optimum, bound and optimal labels.

    python -m reproduction.papers._protocols.optima_archive

writes ``optima.npz`` beside the recorded rows, from these and the data sets. Of the samples it holds the numbers of
their rows alone. Arrays over the m proved problems, each of n samples:

- ``set``, ``draw``, ``share``, ``kernel``, ``weight``: the arguments of `drawn`, which makes the problem;
- ``rows`` (m, n): the samples' rows in the data set ``source``, -1 beyond the last;
- ``labeled`` (m, n): whose labels are known;
- ``C``, ``C_star``: weights of the losses;
- ``labels`` (m, n): the known labels and the optimal ones of the others, -1 and +1, 0 beyond the last;
- ``optimum``, ``bound``: the value J of the S3VM trained with these labels, and what J nowhere falls below.
"""

import io
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cvxproof.files import replace_file
from reproduction.engine.records import Row
from reproduction.papers._protocols.optima_instances import SETS, Problem, drawn
from reproduction.recorded import read_record, recorded_folder
from specmargin.typing import AnyArray

FILE = "optima.npz"


def problem_of(row: Row, data: Path | None = None) -> Problem:
    """Return the problem that a row is of."""
    settings = {name: row[f"param_{name}"] for name in ("n", "share", "kernel", "weight")}
    return drawn(row["dataset"], draw=int(row["split"].removeprefix("draw")), data=data, **settings)


def optimal_labels(row: Row, problem: Problem) -> AnyArray:
    """Return the labels of all samples: the known ones, and those of the optimum, (n,)."""
    labels = np.where(problem.y == 1, 1, -1)
    free = np.ones(len(labels), dtype=bool)
    free[problem.labeled] = False
    labels[free] = [1 if sign == "+" else -1 for sign in row["labels"]]
    return labels


def archive(rows: list[Row], data: Path | None = None) -> dict[str, AnyArray]:
    """Return the arrays of the proved problems among some rows."""
    proved = [row for row in rows if row["status"] == "ok" and row["proved"]]
    problems = [problem_of(row, data) for row in proved]
    known = [np.isin(np.arange(len(each.y)), each.labeled) for each in problems]
    parameters: Mapping[str, str] = {name: f"param_{name}" for name in ("share", "kernel", "weight")}
    return {
        "set": np.array([row["dataset"] for row in proved]),
        "source": np.array([SETS[row["dataset"]].name for row in proved]),
        "draw": np.array([int(row["split"].removeprefix("draw")) for row in proved], dtype=np.int8),
        **{name: np.array([row[column] for row in proved]) for name, column in parameters.items()},
        "rows": _padded([each.rows for each in problems], -1).astype(np.int32),
        "labeled": _padded(known, 0).astype(bool),
        "labels": _padded([optimal_labels(*pair) for pair in zip(proved, problems, strict=True)], 0).astype(np.int8),
        **{name: np.array([row[name] for row in proved]) for name in ("C", "C_star", "optimum", "bound")},
    }


def _padded(rows: list[AnyArray], fill: int) -> AnyArray:
    table = np.full((len(rows), max(map(len, rows))), fill)
    for line, row in zip(table, rows, strict=True):
        line[: len(row)] = row
    return table


def write(folder: Path, data: Path | None = None) -> Path:
    """Write the archive of a record into its folder."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **archive(read_record(folder).rows(), data))
    replace_file(folder / FILE, buffer.getvalue())
    return folder / FILE


if __name__ == "__main__":
    place = recorded_folder()
    assert place is not None, "run it in a checkout"
    write(place / "s3vm_optima")
