"""What solvers say of 200 programs whose end is known in rational numbers, and what holds.

    python benchmarks/solver_statuses.py [--quick] [--data FOLDER]

Linear, quadratic, second-order and semidefinite programs of two to six variables, built from a point and multipliers of
small whole numbers: half of them have an optimum, the others none, eight of these weakly infeasible; half have rows and
columns of scales from 2^-20 to 2^20. Every solver runs with its defaults. Its answer counts as right to 1e-6 if value
and violations are, relative to their terms; so does a status that is the known end. The last columns are those of
`cvxproof.solve` with that solver: how many ends it proves, and how many of these proofs are false. Solvers that are not
installed are named.
"""

from __future__ import annotations

import importlib.metadata
import sys
import warnings
from collections import Counter
from pathlib import Path

import cvxpy as cp
from _harness import Report, options

import cvxproof
from cvxproof.conic.violations import relative, violation

sys.path.append(str(Path(__file__).parents[1] / "tests" / "cvxproof" / "conic"))
from planted_programs import Planted, false_claim, planted

SOLVERS = ("CLARABEL", "ECOS", "SCS", "OSQP", "HIGHS", "PIQP", "QOCO")
RIGHT, NEAR = 1e-6, 1e-3


def programs(quick: bool) -> list[Planted]:
    """Return the programs: of every kind, end and scale as many."""
    kinds, ends = ("lp", "qp", "socp", "sdp"), ("optimal", "zero", "infeasible", "unbounded")
    made = [
        planted(kind, end, seed, powers)
        for kind in kinds
        for end in ends
        for powers in (0, 20)
        for seed in range(1 if quick else 6)
    ]
    return made + [planted("socp", "weakly infeasible", seed) for seed in range(1 if quick else 8)]


def said(known: Planted, solver: str) -> str:
    """Return what a solver says and whether it holds; empty if it does not take such a program."""
    problem = known.problem
    try:
        problem.get_problem_data(solver)
    except cp.SolverError:
        return ""
    try:
        value = problem.solve(solver=solver)
    except cp.SolverError:
        return "gives up"
    except Exception as error:
        return f"raises {type(error).__name__}"
    if problem.status in ("infeasible", "unbounded"):
        # What has no point may be unbounded as well: of both words the other one is wrong.
        return f"no optimum, {'right' if problem.status == known.end else 'wrong'}"
    if problem.status != "optimal":
        return "gives up"
    if known.optimum is None:
        return "optimal, wrong"
    far = abs(value - float(known.optimum)) / max(known.terms, 1e-300)
    far = max(far, *(relative(one, violation(one)) for one in problem.constraints), 0.0)
    return f"optimal, {'right' if far <= RIGHT else 'near' if far <= NEAR else 'wrong'}"


def proved(known: Planted, solver: str) -> str:
    """Return what `cvxproof.solve` proves, and whether it holds."""
    result = cvxproof.solve(known.problem, solver)
    if false_claim(known, result):
        return "proved, false"
    return "proved" if result.status.name in ("OPTIMAL", "INFEASIBLE", "UNBOUNDED") else "not proved"


def version(solver: str) -> str:
    """Return the version of a solver's package."""
    return importlib.metadata.version({"HIGHS": "highspy"}.get(solver, solver.lower()))


COLUMNS = {
    "optimal, right": "optimal: right to 1e-6",
    "optimal, near": "to 1e-3",
    "optimal, wrong": "wrong",
    "no optimum, right": "infeasible or unbounded: right",
    "no optimum, wrong": "wrong",
    "gives up": "inaccurate, or gives up",
    "proved": "cvxproof proves",
    "proved, false": "falsely",
}


def main() -> None:
    """Ask all solvers, and print the table."""
    given = options(__doc__ or "")
    warnings.filterwarnings("ignore")
    report = Report("solver_statuses", "What solvers say, and what holds")
    known, installed = programs(given.quick), cp.installed_solvers()
    rows = ["| solver | programs | " + " | ".join(COLUMNS.values()) + " |", "|---" * (len(COLUMNS) + 2) + "|"]
    for solver in SOLVERS:
        if solver not in installed:
            rows.append(f"| {solver} | not installed |" + " |" * len(COLUMNS))
            continue
        counts = Counter[str]()
        for one in known:
            told = said(one, solver)
            if told:
                counts.update(["all", "gives up" if told.startswith("raises") else told, proved(one, solver)])
        name = f"{solver} {version(solver)}"
        rows.append(f"| {name} | {counts['all']} | " + " | ".join(str(counts[key]) for key in COLUMNS) + " |")
        report.add(f"{name}: false proofs", counts["proved, false"], "", at_most=0, note=f"of {counts['all']} programs")
        report.add(f"{name}: wrong statuses", counts["optimal, wrong"] + counts["no optimum, wrong"], "")
    report.write()
    print(f"\nCVXPY {cp.__version__}\n", *rows, sep="\n")


if __name__ == "__main__":
    main()
