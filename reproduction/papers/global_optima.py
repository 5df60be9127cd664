r"""How often each local S3VM solver finds the global optimum, with and without one-flip descent.

Small problems whose optimum branch and bound proves: four labelled samples, a radial kernel, C = C*, the squared hinge
for labelled and the symmetric squared hinge for unlabelled samples. Every local solver runs on the losses that its
paper gives it, label switching on those of J; its answer is then judged in this one objective J, three times: as it
is, with the labels converged (retrain with the signs of its decisions, until they stay), and after one-flip descent. It
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
import pandas as pd

from reproduction.blocks import grouped
from reproduction.engine.records import Cell, Row
from reproduction.judging import TABLE_CLAIMS, judge
from reproduction.methods import Method
from reproduction.report import Line, Section
from reproduction.run import Experiment, Findings, Options, Setup
from specmargin import solvers
from specmargin.datasets import load
from specmargin.exceptions import DataNotFoundError, InvalidInputError
from specmargin.kernels import gram, kernel_map
from specmargin.labels import encode_labels
from specmargin.objectives import S3VM
from specmargin.results import SolveResult
from specmargin.solvers.s3vm.one_flip import one_flip
from specmargin.typing import AnyArray, FloatArray, IntArray

__all__ = ["HIT", "METHODS", "S3VM_OPTIMA", "WEIGHTS", "Problem", "judged", "rows", "summary", "tasks", "work"]

METHODS: Mapping[str, Method] = {
    "supervised": Method(solver=partial(one_flip, max_iter=0)),
    "label_switching": Method(solver=solvers.label_switching),
    "multi_switch": Method(solver=solvers.multi_switch),
    "annealing": Method(solver=solvers.annealing),
    "cccp": Method(options={"loss": "hinge", "unlabeled_loss": "symmetric_hinge"}, solver=solvers.cccp),
    "gradient": Method(options={"unlabeled_loss": "exp"}, solver=solvers.gradient),
    "quasi_newton": Method(options={"loss": "smooth_hinge", "unlabeled_loss": "exp"}, solver=solvers.quasi_newton),
    "continuation": Method(options={"loss": "hinge", "unlabeled_loss": "exp"}, solver=solvers.continuation),
}
"""The solvers, with the losses that they run on where those are not J's. "supervised" starts from the labels that the
supervised classifier predicts."""

HIT = 1e-5
"""Relative excess of J over the optimum that counts as having found it."""

WEIGHTS = (1.0, 100.0)
"""C = C* of the table."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A problem without its weights C: name and seed of the draw, features, truth, and how many samples are labelled.

    The features X, (n, d), are a map of the kernel; the true labels y, (n,), are 0 and 1; the first ones are known.
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


def _alternating(y: AnyArray, pair: tuple[int, int], n: int, rng: np.random.Generator) -> IntArray:
    """Return samples of two classes in turns."""
    chosen = [rng.permutation(np.flatnonzero(y == label)) for label in pair]
    if n > 2 * min(map(len, chosen)):
        raise InvalidInputError(f"{n} samples are more than there are of the digits {pair}.")
    return np.column_stack([rows[: (n + 1) // 2] for rows in chosen]).ravel()[:n]


def tasks(n_unlabeled: int = 36, seeds: int = 8, data_home: str | Path | None = None) -> Iterator[Problem]:
    """Yield two moons, two Gaussians and two pairs of digits, 2-7 and 3-8; each with a number of seeds.

    The digits are those of USPST (Chapelle & Zien's), or scikit-learn's where that file is not in the data folder.
    """
    n = n_unlabeled + 4
    try:
        data = load("uspst", data_home=data_home, download=False)
        source, images, gamma = "USPST", np.asarray(data.X, dtype=float), 1 / (2 * 8.0**2)
    except DataNotFoundError:
        data = load("digits")
        source, images, gamma = "digits", np.asarray(data.X, dtype=float) / 16.0, 0.1
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        y = np.arange(n) % 2
        t = rng.uniform(0, np.pi, n)
        arcs = np.where(y[:, None] == 1, np.c_[np.cos(t), np.sin(t)], np.c_[1 - np.cos(t), 0.5 - np.sin(t)])
        drawn = [("two moons", arcs + 0.1 * rng.standard_normal((n, 2)), 2.0)]
        gaussians = rng.standard_normal((n, 10))
        gaussians[:, 0] += 3.0 * y
        drawn.append(("two Gaussians", gaussians, 0.02))
        for a, b in ((2, 7), (3, 8)):
            drawn.append((f"{source} {a}-{b}", images[_alternating(data.y, (a, b), n, rng)], gamma))
        for name, X, width in drawn:
            yield Problem(name, seed, kernel_map(gram(X, gamma=width), tol=1e-9).Z, y)


def rows(problems: Iterable[Problem], weights: Sequence[float] = WEIGHTS, *, time_limit: float = 20.0) -> list[Row]:
    """Run every solver on every problem, and branch and bound from the best answer.

    `weights` are values of C = C*, `time_limit` the seconds of branch and bound. There is one row per problem, C and
    solver: ``task``, ``seed``, ``C``, ``solver``, ``objective`` (J as the solver left it), ``converged`` and
    ``flipped`` (J then), ``optimum`` and ``bound`` with ``proved``, ``error``, ``error_flipped`` and ``error_optimum``
    in percent, and ``seconds``. A solver that fails has ``failed``, the reason, and no numbers of its own.
    """
    return [row for problem in problems for C in weights for row in _solved(problem, C, time_limit)]


def _solved(problem: Problem, C: float, time_limit: float) -> list[Row]:
    """Return the rows of one problem at one C."""
    obj = problem.objective(C)
    answers: list[SolveResult] = []
    table: list[Row] = []
    for name, method in METHODS.items():
        row: Row = {"task": problem.name, "seed": problem.seed, "C": C, "solver": name}
        table.append(row)
        start = time.perf_counter()
        try:
            w = method.solve(obj.with_(**method.options)).variables["w"]
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as failure:
            row["failed"] = str(failure)
            continue
        row |= {"seconds": time.perf_counter() - start, "objective": obj.value_at(w)}
        converged, flipped = one_flip(obj, w, max_iter=0), one_flip(obj, w)
        row |= {"converged": converged.certificate.primal_objective, "error": problem.error(converged)}
        row |= {"flipped": flipped.certificate.primal_objective, "error_flipped": problem.error(flipped)}
        answers.append(flipped)
    best = min(answers, key=lambda answer: answer.certificate.primal_objective, default=None)
    exact = solvers.branch_and_bound(obj, None if best is None else best.variables["w"], time_limit=time_limit)
    optimum = {
        "optimum": exact.certificate.primal_objective,
        "bound": exact.certificate.dual_objective,
        "proved": exact.certificate.is_optimal(1e-6),
        "error_optimum": problem.error(exact),
    }
    return [row | optimum for row in table]


def summary(table: Iterable[Row]) -> list[Row]:
    """Return one row per C and solver, over the problems whose optimum is proved.

    Its columns: ``runs``, ``hit`` and ``hit_flipped``, the shares in percent of runs that found the optimum, with
    converged labels and after one-flip descent; ``gap`` and ``gap_flipped``, the median excess of J over it in percent;
    ``error``, ``error_flipped`` and ``error_optimum``, the mean test errors in percent.
    """
    proved = (row for row in table if row["proved"] and "failed" not in row)
    lines = []
    for (C, solver), members in grouped(proved, lambda row: (row["C"], row["solver"])).items():
        line: Row = {"C": C, "solver": solver, "runs": len(members)}
        for column, suffix in (("converged", ""), ("flipped", "_flipped")):
            excess = [row[column] / row["optimum"] - 1.0 for row in members]
            line[f"hit{suffix}"] = 100.0 * statistics.fmean(value <= HIT for value in excess)
            line[f"gap{suffix}"] = 100.0 * statistics.median(excess)
        for name in ("error", "error_flipped", "error_optimum"):
            line[name] = statistics.fmean(row[name] for row in members)
        lines.append(line)
    return lines


@lru_cache(maxsize=2)
def _tasks(n_unlabeled: int, seeds: int, data: Path | None) -> dict[tuple[str, str], Problem]:
    return {(task.name, f"seed{task.seed}"): task for task in tasks(n_unlabeled, seeds, data)}


_OF_PROBLEM = ("optimum", "proved", "error_optimum")
_OF_SOLVER = ("converged", "flipped", "error", "error_flipped")


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Run all solvers and branch and bound on one problem: a row of `rows` with the columns of each solver."""
    p = cell.parameters
    problems, key = _tasks(p["n_unlabeled"], p["seeds"], data), (cell.dataset, cell.split)
    if key not in problems:
        load("uspst", data_home=data, download=False)  # a cell of its digits: where the file is missing, it says so
    problem = problems[key]
    solved = _solved(problem, p["C"], p["time_limit"])
    shared = {name: solved[0][name] for name in (*_OF_PROBLEM, "bound")}
    each = {f"{row['solver']}_{name}": row.get(name) for row in solved for name in _OF_SOLVER}
    return {**shared, **each, "relative_gap": 1.0 - shared["bound"] / shared["optimum"]}


def _by_solver(rows: Iterable[Row]) -> Iterator[Row]:
    """Return a row per solver again, as `summary` takes them."""
    for row in rows:
        for solver in METHODS:
            if row[f"{solver}_converged"] is not None:
                own = {name: row[f"{solver}_{name}"] for name in _OF_SOLVER}
                named = {"C": row["param_C"], "dataset": row["dataset"], "split": row["split"], "solver": solver}
                yield {**named, **own, **{name: row[name] for name in _OF_PROBLEM}}


@dataclass(frozen=True)
class Plan:
    """What is computed: number of unlabelled samples and of draws."""

    n_unlabeled: int = 36
    seeds: int = 8

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per problem and C, each with all solvers: branch and bound starts from their best answer."""
        shared = {"n_unlabeled": self.n_unlabeled, "seeds": self.seeds, "time_limit": 60.0}
        return [
            Cell("s3vm_optima", "all", *name, {"C": C, **shared})
            for name in _tasks(self.n_unlabeled, self.seeds, data)
            for C in WEIGHTS
        ]


def _setup(options: Options) -> Setup:
    return Setup(Plan(16, 2) if options.quick else Plan(), {})


def judged(rows: Iterable[Row]) -> list[str]:
    """Say how often label switching, the TSVM, ends above the proved optimum, with `rows` of one solver each."""
    mine = [row for row in rows if row["solver"] == "label_switching" and row["proved"]]
    excess = [
        {name: row[name] for name in ("C", "dataset", "split")} | {"excess": row["converged"] / row["optimum"] - 1.0}
        for row in mine
    ]
    return judge(TABLE_CLAIMS["s3vm_optima"], {"label switching": pd.DataFrame(excess)})


def _report(rows: Sequence[Row], plan: Plan, options: Options) -> Findings:
    ok = [row for row in rows if row["status"] == "ok"]
    proved = sum(bool(row["proved"]) for row in ok)
    lines = [
        Line(f"C = {line['C']:g}", line["solver"], tuning, line[f"hit{end}"], math.nan, line["runs"], note=note)
        for line in summary(_by_solver(ok))
        for end, tuning in (("", "as it ends"), ("_flipped", "after one-flip descent"))
        for note in (
            f"median excess {line[f'gap{end}']:.2f} %, mean error {line[f'error{end}']:.1f} % (optimum's "
            f"{line['error_optimum']:.1f} %)",
        )
    ]
    return Findings(
        [Section("", lines)],
        [
            f"{len({row['dataset'] for row in ok})} sets, {plan.n_unlabeled} unlabelled, four labelled samples each; "
            f"squared hinge, C = C*. The optimum is proved by branch and bound in {proved} of {len(ok)} problems; only "
            "those count.",
            "Every solver runs on the losses of its paper, label switching on the squared hinge; answers are judged in "
            "one objective, with converged labels.",
        ],
        judged(_by_solver(ok)),
    )


S3VM_OPTIMA = Experiment(
    "s3vm_optima",
    "How often each semi-supervised SVM solver finds the global optimum, which branch and bound proves",
    "Share of runs that find the global optimum of the S3VM objective, in percent",
    _setup,
    work,
    _report,
)
"""The share of runs that end in the global optimum, in percent, by solver and C: with converged labels, and
after one-flip descent. Quick: 16 unlabelled samples, two seeds."""
