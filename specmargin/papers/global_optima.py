r"""How often each local S3VM solver finds the global optimum, with and without one-flip descent.

Small problems whose optimum branch and bound proves: four labelled samples, a radial kernel, C = C*, the squared hinge
for labelled and the symmetric squared hinge for unlabelled samples. Every local solver runs on the losses that its
paper gives it, label switching on those of J; its answer is then judged in this one objective J, three times: as it
is, with the labels settled (retrain with the signs of its decisions, until they stay), and after one-flip descent. It
hits if J is within 1e-5 of the optimum, relatively.

`rows` computes, `summary` turns rows into the table. A cell of the table is one problem at one C with all solvers,
since branch and bound starts from the best of their answers.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from specmargin.datasets import load
from specmargin.exceptions import DataNotFoundError, InvalidInputError
from specmargin.experiments.engine.records import Cell, Row
from specmargin.experiments.methods import Method
from specmargin.experiments.report import Line, Section
from specmargin.experiments.run import Experiment, Findings, Options, Setup
from specmargin.kernels import gram, kernel_map
from specmargin.labels import encode_labels
from specmargin.objectives import S3VM
from specmargin.results import SolveResult
from specmargin.solvers.s3vm.annealing import annealing
from specmargin.solvers.s3vm.branch_and_bound import branch_and_bound
from specmargin.solvers.s3vm.cccp import cccp
from specmargin.solvers.s3vm.continuation import continuation
from specmargin.solvers.s3vm.gradient import gradient
from specmargin.solvers.s3vm.label_switching import label_switching
from specmargin.solvers.s3vm.multi_switch import multi_switch
from specmargin.solvers.s3vm.one_flip import one_flip
from specmargin.solvers.s3vm.quasi_newton import quasi_newton
from specmargin.typing import AnyArray, FloatArray

__all__ = ["HIT", "S3VM_OPTIMA", "METHODS", "Problem", "rows", "summary", "tasks", "work"]

METHODS: Mapping[str, Method] = {
    "supervised": Method(solver=partial(one_flip, max_iter=0)),
    "label_switching": Method(solver=label_switching),
    "multi_switch": Method(solver=multi_switch),
    "annealing": Method(solver=annealing),
    "cccp": Method(options={"loss": "hinge", "unlabeled_loss": "symmetric_hinge"}, solver=cccp),
    "gradient": Method(options={"unlabeled_loss": "exp"}, solver=gradient),
    "quasi_newton": Method(options={"loss": "smooth_hinge", "unlabeled_loss": "exp"}, solver=quasi_newton),
    "continuation": Method(options={"loss": "hinge", "unlabeled_loss": "exp"}, solver=continuation),
}
"""The solvers, with the losses that they run on where those are not J's. "supervised" settles the labels that the
supervised classifier predicts."""

HIT = 1e-5
"""Relative excess of J over the optimum that counts as having found it."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem without its weights C: features, which samples are labelled, and the truth.

    Parameters
    ----------
    name : str
        Of the data.
    seed : int
        Of the draw.
    X : ndarray of shape (n, d)
        A map of the kernel.
    y : ndarray of shape (n,)
        The true labels, 0 and 1.
    labeled : int
        Number of samples, from the first on, that are labelled.
    """

    name: str
    seed: int
    X: FloatArray
    y: AnyArray
    labeled: int = 4

    def objective(self, C: float) -> S3VM:
        """Return J with C* = C; the balance is that of the known labels."""
        known = np.where(np.arange(len(self.y)) < self.labeled, self.y, -1)
        return S3VM(self.X, encode_labels(known), "squared_hinge", C=C)

    def error(self, result: SolveResult) -> float:
        """Return the share of wrong labels among the unlabelled samples, in percent."""
        wrong = (result.variables["f"][self.labeled :] >= 0) != (self.y[self.labeled :] == 1)
        return 100.0 * float(np.mean(wrong))


def _alternating(
    images: FloatArray, digits: AnyArray, pair: tuple[int, int], n: int, rng: np.random.Generator
) -> FloatArray:
    """Return images of two digits in turns."""
    chosen = [rng.permutation(np.flatnonzero(digits == digit)) for digit in pair]
    if n > 2 * min(len(chosen[0]), len(chosen[1])):
        raise InvalidInputError(f"{n} samples are more than there are of the digits {pair}.")
    rows = np.empty(n, dtype=int)
    rows[0::2], rows[1::2] = chosen[0][: len(rows[0::2])], chosen[1][: len(rows[1::2])]
    return images[rows]


def tasks(n_unlabeled: int = 36, seeds: int = 8, data_home: str | Path | None = None) -> Iterator[Problem]:
    """Yield two moons, two Gaussians and two pairs of digits, 2-7 and 3-8; each with a number of seeds.

    The digits are those of USPST (Chapelle & Zien's), or scikit-learn's where that file is not in the data folder.
    """
    n = n_unlabeled + 4
    try:
        data = load("uspst", data_home=data_home, download=False)
        source, images, digits, gamma = "USPST", np.asarray(data.X, dtype=float), data.y, 1 / (2 * 8.0**2)
    except DataNotFoundError:
        data = load("digits")
        source, images, digits, gamma = "digits", np.asarray(data.X, dtype=float) / 16.0, data.y, 0.1
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        y = np.arange(n) % 2
        t = rng.uniform(0, np.pi, n)
        arcs = np.where(y[:, None] == 1, np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)])
        yield _task("two moons", seed, arcs + 0.1 * rng.standard_normal((n, 2)), y, 2.0)
        gaussians = rng.standard_normal((n, 10))
        gaussians[:, 0] += 3.0 * y
        yield _task("two Gaussians", seed, gaussians, y, 0.02)
        for pair in ((2, 7), (3, 8)):
            yield _task(f"{source} {pair[0]}-{pair[1]}", seed, _alternating(images, digits, pair, n, rng), y, gamma)


def _task(name: str, seed: int, X: FloatArray, y: AnyArray, gamma: float) -> Problem:
    return Problem(name, seed, kernel_map(gram(X, gamma=gamma), tol=1e-9).Z, y)


def rows(
    problems: Sequence[Problem],
    weights: Sequence[float] = (1.0, 100.0),
    *,
    time_limit: float = 20.0,
    methods: Mapping[str, Method] | None = None,
) -> list[Row]:
    """Run every solver on every problem, and branch and bound from the best answer.

    Parameters
    ----------
    problems : sequence of Problem
        See `tasks`.
    weights : sequence of float, default (1, 100)
        Values of C = C*.
    time_limit : float, default 20
        Seconds of branch and bound.
    methods : mapping of str to Method, optional
        In place of `METHODS`.

    Returns
    -------
    list of dict
        One row per problem, C and solver: ``task``, ``seed``, ``C``, ``solver``, ``objective`` (J as the solver left
        it), ``settled`` and ``flipped`` (J then), ``optimum`` and ``bound`` with ``proved``, ``error``,
        ``flipped_error`` and ``optimum_error`` in percent, and ``seconds``. A solver that fails has ``failed``, the
        reason, and no numbers of its own.
    """
    methods = METHODS if methods is None else methods
    table: list[Row] = []
    for task in problems:
        for C in weights:
            obj = task.objective(C)
            found: list[tuple[Row, SolveResult]] = []
            block: list[Row] = []
            for name, method in methods.items():
                row: Row = {"task": task.name, "seed": task.seed, "C": C, "solver": name}
                block.append(row)
                start = time.perf_counter()
                try:
                    w = method.solve(obj.with_(**method.options)).variables["w"]
                except (ValueError, ArithmeticError, np.linalg.LinAlgError) as problem:
                    row["failed"] = str(problem)
                    continue
                row["seconds"] = time.perf_counter() - start
                settled, flipped = one_flip(obj, w, max_iter=0), one_flip(obj, w)
                row["objective"] = obj.value_at(w)
                row["settled"] = settled.certificate.primal_objective
                row["flipped"] = flipped.certificate.primal_objective
                row["error"], row["flipped_error"] = task.error(settled), task.error(flipped)
                found.append((row, flipped))
            best = min((one for _, one in found), key=lambda one: one.certificate.primal_objective, default=None)
            exact = branch_and_bound(obj, None if best is None else best.variables["w"], time_limit=time_limit)
            for row in block:
                row["optimum"] = exact.certificate.primal_objective
                row["bound"] = exact.certificate.dual_objective
                row["proved"] = exact.certificate.is_optimal(1e-6)
                row["optimum_error"] = task.error(exact)
            table.extend(block)
    return table


def summary(table: Sequence[Row]) -> list[Row]:
    """Return one row per C and solver, over the problems whose optimum is proved.

    Its columns: ``runs``, ``hit`` and ``hit_flipped``, the shares in percent of runs that found the optimum, settled
    and after one-flip descent; ``gap`` and ``gap_flipped``, the median excess of J over it in percent; ``error``,
    ``error_flipped`` and ``error_optimum``, the mean test errors in percent.

    Examples
    --------
    >>> row = {"task": "t", "seed": 0, "C": 1.0, "solver": "s", "settled": 3.0, "flipped": 2.0, "optimum": 2.0,
    ...        "proved": True, "error": 10.0, "flipped_error": 5.0, "optimum_error": 5.0}
    >>> [(line["hit"], line["hit_flipped"], line["gap"]) for line in summary([row])]
    [(0.0, 100.0, 50.0)]
    """
    cells: dict[tuple[float, str], list[Row]] = {}
    for row in table:
        if row["proved"] and "failed" not in row:
            cells.setdefault((row["C"], row["solver"]), []).append(row)
    lines = []
    for (C, solver), members in cells.items():
        line: Row = {"C": C, "solver": solver, "runs": len(members)}
        for column, suffix in (("settled", ""), ("flipped", "_flipped")):
            excess = [row[column] / row["optimum"] - 1.0 for row in members]
            line[f"hit{suffix}"] = 100.0 * statistics.fmean(value <= HIT for value in excess)
            line[f"gap{suffix}"] = 100.0 * statistics.median(excess)
        for column, name in (
            ("error", "error"),
            ("flipped_error", "error_flipped"),
            ("optimum_error", "error_optimum"),
        ):
            line[name] = statistics.fmean(row[column] for row in members)
        lines.append(line)
    return lines


WEIGHTS = (1.0, 100.0)
_KEPT = ("settled", "flipped", "error", "flipped_error")


@lru_cache(maxsize=2)
def _tasks(n_unlabeled: int, seeds: int, data: Path | None) -> dict[tuple[str, int], Problem]:
    return {(task.name, task.seed): task for task in tasks(n_unlabeled, seeds, data)}


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Run all solvers and branch and bound on one problem.

    Returns
    -------
    dict
        ``optimum``, ``bound``, ``proved``, ``optimum_error``, and per solver its objective with settled labels and
        after one-flip descent, and both errors in percent; ``relative_gap`` of the optimum.
    """
    p = cell.parameters
    task = _tasks(p["n_unlabeled"], p["seeds"], data)[cell.dataset, int(cell.split.removeprefix("seed"))]
    found = rows([task], (p["C"],), time_limit=p["time_limit"])
    first = found[0]
    shared = {name: first[name] for name in ("optimum", "bound", "proved", "optimum_error")}
    each = {f"{row['solver']}_{name}": row.get(name) for row in found for name in _KEPT}
    return {**shared, **each, "relative_gap": 1.0 - first["bound"] / first["optimum"]}


def _long(found: Iterable[Row]) -> Iterator[Row]:
    """Return a row per solver again, as `s3vm_optima.summary` takes them."""
    for row in found:
        if row["status"] != "ok":
            continue
        shared = {name: row[name] for name in ("optimum", "proved", "optimum_error")}
        for solver in METHODS:
            if row.get(f"{solver}_settled") is not None:
                own = {name: row[f"{solver}_{name}"] for name in _KEPT}
                yield {"task": row["dataset"], "C": row["param_C"], "solver": solver, **shared, **own}


@dataclass(frozen=True)
class Plan:
    """What is computed: number of unlabelled samples and of draws."""

    n_unlabeled: int = 36
    seeds: int = 8

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per problem and C, each with all solvers: branch and bound starts from their best answer."""
        shared = {"n_unlabeled": self.n_unlabeled, "seeds": self.seeds, "time_limit": 60.0}
        return [
            Cell("s3vm_optima", "all", name, f"seed{seed}", {"C": C, **shared})
            for name, seed in _tasks(self.n_unlabeled, self.seeds, data)
            for C in WEIGHTS
        ]


def _setup(options: Options) -> Setup:
    return Setup(Plan(16, 2) if options.quick else Plan(), {})


def _report(found: Sequence[Row], plan: Plan, options: Options) -> Findings:
    ok = [row for row in found if row["status"] == "ok"]
    proved = sum(bool(row["proved"]) for row in ok)
    return Findings(
        [Section("", _lines(summary(list(_long(found)))))],
        [
            f"{len({row['dataset'] for row in ok})} sets, {plan.n_unlabeled} unlabelled, four labelled samples each; "
            f"squared hinge, C = C*. The optimum is proved by branch and bound in {proved} of {len(ok)} problems; only "
            "those count.",
            "Every solver runs on the losses of its paper, label switching on the squared hinge; answers are judged in "
            "one objective, with labels settled.",
        ],
    )


def _lines(summaries: Sequence[Row]) -> list[Line]:
    lines = []
    for one in summaries:
        for suffix, said in (("", "as it ends"), ("_flipped", "after one-flip descent")):
            note = (
                f"median excess {one[f'gap{suffix}']:.2f} %, mean error {one[f'error{suffix}']:.1f} % (optimum's "
                f"{one['error_optimum']:.1f} %)"
            )
            lines.append(
                Line(f"C = {one['C']:g}", one["solver"], said, one[f"hit{suffix}"], math.nan, one["runs"], note=note)
            )
    return lines


S3VM_OPTIMA = Experiment(
    "s3vm_optima",
    "How often each semi-supervised SVM solver finds the global optimum, which branch and bound proves",
    "Share of runs that find the global optimum of the S3VM objective, in percent",
    _setup,
    work,
    _report,
)
"""The share of runs that end in the global optimum, in percent, by solver and C: with labels settled, and after
one-flip descent. Quick: 16 unlabelled samples, two seeds."""
