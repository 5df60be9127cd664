"""A table of failures: 1,000 QPs and QCQPs by our numpy solvers and by the solvers that CVXPY finds installed.

    python benchmarks/failures.py            all programs at two settings each; hours, and it can be taken up again
    python benchmarks/failures.py --quick    the first 24 programs at the default settings
    python benchmarks/failures.py --docs     write docs/failures.md from the rows that exist, and solve nothing

Every solver gets the same CVXPY problem, once as it comes and once at a tolerance of 1e-10, and every
answer is judged by the certificate that the objective computes from it: a solver's status is recorded, not believed.
Solves run one at a time in a process of their own, which is ended after `LIMIT` seconds. All seconds are those of the
processor, so that a computer that does something else besides does not change them.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import multiprocessing
import os
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import _harness as harness
import _programs as programs
import _verdicts as verdicts
import cvxpy as cp
from _verdicts import OURS, Row
from cvxpy.reductions.solvers.solving_chain import SolvingChain

import specmargin as sm
from reproduction.engine.provenance import collect

LIMIT = 10.0
"""Seconds of the processor that a solve may take."""

SHARP = 1e-10
"""The tight tolerance: HiGHS takes no smaller one, and interior points gain nothing from one."""

TIGHT: dict[str, dict[str, Any]] = {
    OURS: {"tol": SHARP},
    "CLARABEL": {**dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), SHARP), "accept_unknown": True},
    "ECOS": {**dict.fromkeys(("abstol", "reltol", "feastol"), SHARP), "max_iters": 500},
    "HIGHS": {"primal_feasibility_tolerance": SHARP, "dual_feasibility_tolerance": SHARP},
    "OSQP": {"eps_abs": SHARP, "eps_rel": SHARP, "max_iter": 100_000},
    "PIQP": {
        **dict.fromkeys(("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"), SHARP),
        "max_iter": 500,
    },
    "PROXQP": {"eps_abs": SHARP},
    "QOCO": {"abstol": SHARP, "reltol": SHARP, "max_iters": 500},
    "SCS": {"eps_abs": SHARP, "eps_rel": SHARP, "max_iters": 20_000},
}
TAKES = {
    "QP": ("CLARABEL", "ECOS", "HIGHS", "OSQP", "PIQP", "PROXQP", "QOCO", "SCS"),
    "QCQP": ("CLARABEL", "ECOS", "QOCO", "SCS"),
    "SDP": ("CLARABEL", "SCS"),
}
PACKAGES = {"HIGHS": "highspy", "PROXQP": "proxsuite"}
DOCS = Path(__file__).parents[1] / "docs" / "failures.md"


def main() -> None:
    options = harness.options(__doc__.splitlines()[0], docs="write docs/failures.md from the rows, and solve nothing")
    name = "failures_quick" if options.quick else "failures"
    record = harness.RESULTS / f"{name}.jsonl"
    tasks = [
        (instance, solver, setting)
        for setting in (("default",) if options.quick else ("default", "tight"))
        for instance in programs.instances()[: 24 if options.quick else None]
        for solver in solvers_of(programs.FAMILIES[instance.family].kind)
    ]
    rows = {(row.key, row.solver, row.setting): row for row in kept(record)}
    if not options.docs:
        solve_all(tasks, rows, record)
    wanted = {(instance.key, solver, setting) for instance, solver, setting in tasks}
    text = page([row for known, row in rows.items() if known in wanted], len(tasks))
    path = DOCS if options.docs else record.with_suffix(".md")
    path.write_text(text, encoding="utf-8")
    print(text if options.quick else f"written to {path}")


@cache
def solvers_of(kind: str) -> list[str]:
    """Return ours, and the installed solvers that take programs of a kind."""
    return [OURS, *(name for name in TAKES[kind] if name in cp.installed_solvers())]


@cache
def plan() -> str:
    """Return a hash of the programs and of the settings: rows of others are not taken up."""
    source = ast.unparse(ast.parse(Path(programs.__file__).read_text(encoding="utf-8")))
    return hashlib.sha256(f"{source} {TIGHT} {LIMIT}".encode()).hexdigest()[:12]


def kept(record: Path) -> Iterator[Row]:
    """Yield the rows that an earlier run has written; a line that it was cut off in does not count."""
    if record.exists():
        for line in record.read_text(encoding="utf-8").splitlines():
            try:
                row = Row(**json.loads(line))
            except (json.JSONDecodeError, TypeError):
                continue
            if row.plan == plan():
                yield row


def solve_all(tasks: list[Any], rows: dict[Any, Row], record: Path) -> None:
    """Solve what has no row yet, and write every row as it comes."""
    record.parent.mkdir(exist_ok=True)
    worker, began, done = Worker(), time.perf_counter(), 0
    with record.open("a", encoding="utf-8") as file:
        file.write("\n" if record.stat().st_size else "")
        for k, (instance, solver, setting) in enumerate(tasks, 1):
            if (instance.key, solver, setting) in rows:
                continue
            row = worker.solve(instance, solver, setting)
            rows[row.key, solver, setting] = row
            file.write(json.dumps(row.record()) + "\n")
            file.flush()
            done += 1
            if done % 200 == 0:
                print(f"  {k} of {len(tasks)} solves, {time.perf_counter() - began:.0f} s", flush=True)
    worker.end()


class Worker:
    """A process that solves what it is handed; a solve that takes too long ends with it, and the next has a new one."""

    def __init__(self) -> None:
        self.context = multiprocessing.get_context("fork")
        self.start()

    def start(self) -> None:
        """Start a process and keep our end of its pipe."""
        self.pipe, theirs = self.context.Pipe()
        self.process = self.context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()

    def solve(self, instance: programs.Instance, solver: str, setting: str) -> Row:
        """Return the row of one solve, whatever happens to it."""
        self.pipe.send((instance, solver, setting))
        size = 0
        try:
            size = self.pipe.recv()
            found = self.pipe.recv()
        except EOFError:
            self.process.join()
            late = self.process.exitcode == -signal.SIGPROF
            found = {"end": "timeout", "seconds": LIMIT} if late else {"end": "crash"}
            self.start()
        return Row(
            key=instance.key,
            family=instance.family,
            kind=programs.FAMILIES[instance.family].kind,
            regime=instance.regime,
            size=size,
            solver=solver,
            setting=setting,
            version=sm.__version__ if solver == OURS else metadata.version(PACKAGES.get(solver, solver.lower())),
            plan=plan(),
            **found,
        )


def serve(pipe: Connection) -> None:
    """Solve until the pipe closes; what solvers write to the screen is dropped."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    warnings.simplefilter("ignore")
    used: set[str] = set()
    while True:
        instance, solver, setting = pipe.recv()
        program = instance.program()
        parameters = TIGHT[solver] if setting == "tight" else {}
        if solver not in used:  # the first call loads the solver
            used.add(solver)
            outcome(programs.Instance("SVM, RMM", programs.PAPERS, 0).program(), solver, {})
        pipe.send(program.size)
        signal.setitimer(signal.ITIMER_PROF, LIMIT)  # whose signal ends the process
        found = outcome(program, solver, parameters)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        pipe.send(found)


def outcome(program: programs.Program, solver: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Solve once, from the raw data on, and return the fields of a row."""
    inside: list[float] = []
    usual = SolvingChain.solve_via_data

    def watched(chain: SolvingChain, *given: Any, **options: Any) -> Any:
        began = time.thread_time()
        try:
            return usual(chain, *given, **options)
        finally:
            inside.append(time.thread_time() - began)

    start = time.thread_time()
    try:
        SolvingChain.solve_via_data = watched
        if solver == OURS:
            result = program.ours(**parameters)
            claimed, message = str(result.status), result.message
        else:
            built = program.built()
            result = sm.solve(built, solver, **parameters)
            claimed, message = str(built.problem.status or "solver_error"), result.message
    except Exception as error:  # whatever a solver or its interface raises is a row of the table
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        return {"end": "error", "message": message[:300], "seconds": time.thread_time() - start}
    finally:
        SolvingChain.solve_via_data = usual
    seconds, certificate = time.thread_time() - start, result.certificate
    scale = max(abs(certificate.primal_objective), min(abs(certificate.dual_objective), 1e300))
    return {
        "end": "answer" if result.status.has_solution else "failed",
        "claimed": claimed,
        "gap": certificate.relative_gap,
        "rounding": certificate.rounding / scale if scale > 0 else certificate.rounding,
        "primal": certificate.primal_objective,
        "dual": certificate.dual_objective,
        "sense": certificate.sense,
        "seconds": seconds,
        "own_seconds": sum(inside) if inside else math.nan,
        "n_iter": result.n_iter,
        "message": message[:300],
    }


def page(rows: list[Row], wanted: int) -> str:
    """Return the Markdown page of the rows."""
    best = verdicts.best_bounds(rows)
    ours = {(row.key, row.setting): row.seconds for row in rows if row.solver == OURS}
    edge = [row for row in rows if row.regime != programs.PAPERS]
    versions = {row.solver: row.version for row in rows if row.solver != OURS}
    provenance = collect()
    parts = [
        "# Failures\n",
        f"{len({row.key for row in rows if row.kind != 'SDP'}):,} QPs and QCQPs and "
        f"{len({row.key for row in rows if row.kind == 'SDP'})} semidefinite programs of this package, solved by its "
        "numpy solvers and by those that CVXPY reaches. Written by `make bench` (`benchmarks/failures.py`); "
        f"{len(rows):,} of {wanted:,} solves are in it.\n",
    ]
    parts.append(INTRODUCTION.format(limit=LIMIT))
    parts += [f"- **{column.title}**: {column.meaning}." for column in verdicts.COLUMNS]
    parts.append("\n" + SETTINGS)
    parts += [
        f"- {name}: {', '.join(f'{k}={v:g}' for k, v in TIGHT[name].items())}" for name in (OURS, *sorted(versions))
    ]
    for kind, title in (("QP", "Quadratic programs"), ("QCQP", "Quadratic constraints"), ("SDP", "Semidefinite")):
        for regime, some in (
            ("the papers' ranges", [row for row in rows if row.kind == kind and row.regime == programs.PAPERS]),
            ("the edges", [row for row in edge if row.kind == kind]),
        ):
            if some:
                parts.append(f"\n## {title}: {regime}\n\n{verdicts.table(some, best, ours)}")
    parts.append(f"\n## By family\n\nPercent proved to 1e-8 / to 1e-4.\n\n{verdicts.shares(rows, 'family')}")
    convex = [row for row in rows if row.kind != "SDP"]
    parts.append(
        f"\n## By regime\n\nThe same, without the semidefinite programs.\n\n{verdicts.shares(convex, 'regime')}"
    )
    parts.append(f"\n## Crashes and exceptions\n\n{verdicts.ends(rows)}")
    parts.append(f"\n## Ours above 1e-8\n\n{verdicts.exceptions(rows)}\n")
    named = {"python": provenance["versions"]["python"], "cvxpy": provenance["versions"]["cvxpy"], **versions}
    parts.append("Versions: " + ", ".join(f"{name} {version}" for name, version in sorted(named.items())) + ".\n")
    return "\n".join(parts)


INTRODUCTION = """\
Half of the programs lie in the ranges of the papers (C from 1e-2 to 1e3 per unit mean kernel diagonal, gamma_A to 1e-6,
n from 20 to 300), the other half at an edge: weights of 1e+-10, gammas of 1e-10 to 1e10, features or eigenvectors on
scales of 1e+-8, samples up to 1e8 from the origin, kernels that are constant to rounding, duplicates, separable
classes, ties, one label a class. `benchmarks/_programs.py` draws each of them from its name. No program is scaled for a
solver: each gets the problem that `specmargin.problems` builds, and scales as it does by itself. LapSVM and the SVM
are the dual QPs of the papers over the multipliers, from which the classifier is read by the same function for all; one
family is LapSVM's primal. Quadratic constraints are cones of three rows (`compact`), or those of the paper (`literal`).
ECOS takes quadratic objectives as cones, too.

A gap is that of the certificate: the objective takes the answer and the multipliers, repairs them until they are
feasible, and computes both values from the data, with an allowance for rounding. It is relative to the objective. What
`specmargin.problems` does to an answer before that, e.g. the linear system of the support in alignment, counts for the
solver. One thread, one process; a solve is stopped after {limit:g} seconds of the processor.
"""
SETTINGS = """\
*default* is each solver as CVXPY calls it, ours at a proved relative gap of 1e-9. *tight* asks for 1e-10 by each
solver's own measure, with more iterations:
"""

if __name__ == "__main__":
    main()
