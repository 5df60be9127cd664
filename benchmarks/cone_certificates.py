"""What is proved of convex programs that nobody here wrote, by set.

    python benchmarks/cone_certificates.py [--quick] [--data FOLDER] [--set NAME ...]

random        1,000 programs of ten classes, scales 1e-6 to 1e6, ties and redundant rows
rays          60 infeasible and 60 unbounded models of twelve kinds, and their files
tampered      multipliers that were perturbed, reversed, made up, made huge, zero or not a number; 500 small linear
              programs whose optimum is a known fraction
solvers       the multipliers of every installed solver, by one code path
models        the ten models of `specmargin.problems.models` on three data sets: what solvers claim, and what holds
maros         Maros-Meszaros; VALUES is not convex, which a proof has to notice
large         programs of Maros-Meszaros with more than 3,000 columns
sdplib        SDPLIB, against the published optima
speed         proof over solve of Netlib and of the random programs: the seconds of `cvxproof.solve` beyond those of
              CVXPY's own `problem.solve` with the same solver, over the latter; each compiles a fresh problem
sparse        a lasso, a linear program and a logistic regression of 10,000 columns

Without --set the first six. What counts is the proved bound of the attempts that `specmargin.solve` makes: an answer
is proved to 1e-6 if the modulus of its gap and its violation, both relative, are at most that. Seconds are those of the
processor; a solve is CVXPY's compilation and the solver.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import cvxpy as cp
import numpy as np
from _cone_files import NOT_CONVEX, maros_meszaros, netlib, published, sdplib
from _cone_random import CLASSES, random_program, sparse_programs
from _harness import Report, parser

import cvxproof
import specmargin as sm
from cvxproof.conic.attempts import Attempt, attempted, proved_upper_end
from cvxproof.conic.certificate import judged
from cvxproof.conic.compiled import compiled
from cvxproof.conic.program import Answer

sys.path.append(str(Path(__file__).parents[1] / "tests"))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "exact"))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "cvxproof" / "conic"))
from conic_programs import rational_program
from model_cases import CASES
from model_cases import SETS as DATA
from model_references import data_of
from ray_programs import RAYS

TOL = 1e-6
WIDEST = 3000
BY_SCS = {"mcp250-3", "mcp250-4", "mcp500-2"}
"""Programs of SDPLIB whose factorisation by Clarabel takes more than 6 GB."""
SPEED = {"random": 1.0, "Netlib": 0.5}
"""How many times the seconds of a solve a proof may take, by the median."""
TAKES = {
    "CLARABEL": tuple(CLASSES),
    "SCS": tuple(CLASSES),
    "ECOS": ("linear", "quadratic", "second order", "exponential", "geometric mean"),
    "OSQP": ("linear", "quadratic"),
    "PIQP": ("linear", "quadratic"),
    "QOCO": ("linear", "quadratic", "second order", "geometric mean"),
    "HIGHS": ("linear",),
    "SCIPY": ("linear",),
}


@dataclass
class Measured:
    """The best attempt at one program, the seconds of a solve, and those of a proof of its answer."""

    name: str
    attempt: Attempt
    solve: float
    proof: float

    @property
    def text(self) -> str:
        """The distance from a proved answer, and what it supposes."""
        proof = self.attempt.proof
        supposes = " with an assumption" if proof is not None and proof.assumptions else ""
        return f"{self.name} {self.attempt.distance:.0e}{supposes}"


def measured(name: str, problem: cp.Problem) -> Measured:
    """Solve a problem, judge the answer, and make further attempts where these are needed."""
    start = time.process_time()
    form = compiled(problem)
    answer = form.solved(time_limit=300.0)
    solve = time.process_time() - start
    start = time.process_time()
    attempt = Attempt(form, answer, judged(form.program, answer, tol=TOL / 10))
    proof = time.process_time() - start
    if attempt.distance > TOL or attempt.proof is None or attempt.proof.assumptions:
        attempt = attempted(problem, "CLARABEL", TOL, time_limit=300.0)
    return Measured(name, attempt, solve, proof)


def add_shares(report: Report, title: str, rows: list[Measured], proved: float | None, free: float | None) -> None:
    """Add which share of the programs is proved, and which is without an assumption."""
    left = [row.text for row in rows if not row.attempt.distance <= TOL]
    note = f"{len(rows)} programs; left: {', '.join(left) or 'none'}"
    report.add(f"{title}: proved to 1e-6", 1 - len(left) / len(rows), "", at_least=proved, note=note)
    supposed = [row.name for row in rows if row.attempt.proof is None or row.attempt.proof.assumptions]
    note = f"not: {', '.join(supposed)}" if 0 < len(supposed) < 40 else ""
    report.add(f"{title}: without an assumption", 1 - len(supposed) / len(rows), "", at_least=free, note=note)


def of_random(report: Report, quick: bool, folder: Path | None) -> None:
    """Add the random programs, class by class."""
    rows: list[Measured] = []
    for kind in CLASSES:
        own = [measured(f"{kind} {seed}", random_program(kind, seed)) for seed in range(4 if quick else 100)]
        distances = [row.attempt.distance for row in own]
        report.add(f"{kind}: proved to 1e-6", float(np.mean(np.array(distances) <= TOL)), "", at_least=0.99)
        rows += own
    add_shares(report, "random", rows, 0.99, 0.99)


def of_rays(report: Report, quick: bool, folder: Path | None) -> None:
    """Add programs without an optimum: what a solve proves, and how many of these proofs their files do."""
    for (word, kind), make in RAYS.items():
        results = []
        for seed in range(2 if quick else 10):
            problem = make(seed)
            results.append((problem, sm.solve(problem)))
        proved = [result.status.value == word and result.log is not None for _, result in results]
        supposed = sorted({text for _, result in results for text in result.certificate.assumptions})
        held = [bool(sm.verify(*one)) for one, is_proved in zip(results, proved, strict=True) if is_proved]
        note = f"supposing {'; '.join(supposed[:2])}; " if supposed else ""
        note += f"{sum(held)} of {len(held)} files proved"
        report.add(f"{word}, {kind}: proved", float(np.mean(proved)), "", at_least=1.0, note=note)
        report.add(f"{word}, {kind}: proofs that a file proves", float(np.mean(held)), "", at_least=1.0)


def tampered(z: np.ndarray, rng: np.random.Generator) -> Iterable[np.ndarray]:
    """Yield multipliers that are wrong in eight ways."""
    size = float(np.abs(z).max(initial=1.0))
    yield z * (1 + 10.0 ** rng.integers(-9, 0) * rng.standard_normal(len(z)))
    yield z + 10.0 ** rng.integers(-9, 0) * size * rng.standard_normal(len(z))
    yield z[::-1].copy()
    yield size * rng.standard_normal(len(z))
    yield np.full(len(z), 1e6) * rng.choice([1, 1e6, 1e100])
    yield np.zeros(len(z))
    yield -z
    yield np.where(rng.random(len(z)) < 0.2, np.nan, z)


def of_tampered(report: Report, quick: bool, folder: Path | None) -> None:
    """Add wrong multipliers, and exact optima."""
    total = above = finite = no_upper = 0
    for kind in CLASSES:
        for seed in range(2 if quick else 8):
            attempt = attempted(random_program(kind, seed), "CLARABEL", TOL)
            upper = proved_upper_end(attempt)
            if not np.isfinite(upper) or attempt.proof is None:
                no_upper += 1
                continue
            bounds = [attempt.proof.bound]
            rng, x = np.random.default_rng(seed), attempt.answer.x
            for k, z in enumerate(tampered(attempt.answer.z, rng)):
                near = x * (1 + 10.0 ** (k - 9) * rng.standard_normal(len(x))) if k % 2 else x
                bounds.append(judged(attempt.compiled.program, Answer("", near, z)).bound)
            total += len(bounds) - 1
            finite += int(np.isfinite(bounds[1:]).sum())
            above += sum(bound > upper for bound in bounds)
    note = f"{total} multipliers, {finite} with a finite bound; no feasible point proved of {no_upper} programs"
    report.add("tampered: bounds above a feasible value", above, "", at_most=0, note=note)
    gaps, above, count = [], 0, 0
    for seed in range(50 if quick else 520):
        found = rational_program(seed)
        if found is None:
            continue
        problem, optimum = found
        form = compiled(problem)
        answer, rng = form.solved(), np.random.default_rng(seed)
        for z in (answer.z, *tampered(answer.z, rng)):
            bound = judged(form.program, Answer("", answer.x, z)).bound
            above += bool(np.isfinite(bound) and Fraction(bound) > optimum)
            count += 1
        proof = attempted(problem, "CLARABEL", TOL).proof
        bound = -np.inf if proof is None else proof.bound
        above += bool(np.isfinite(bound) and Fraction(bound) > optimum)
        gaps.append(float((optimum - Fraction(bound)) / abs(optimum)) if np.isfinite(bound) and optimum else np.inf)
    note = f"{len(gaps)} programs, {count} multipliers; gap to the fraction: {_spread(gaps)}"
    report.add("exact: bounds above the optimum, a fraction", above, "", at_most=0, note=note)


def _spread(values: list[float]) -> str:
    median, most, worst = np.quantile(values, [0.5, 0.95, 1.0])
    return f"median {median:.1e}, 95 % {most:.1e}, largest {worst:.1e}"


def of_solvers(report: Report, quick: bool, folder: Path | None) -> None:
    """Add other solvers, one attempt each with their own settings."""
    for solver in (name for name in TAKES if name in cp.installed_solvers()):
        for kind in TAKES[solver]:
            gaps, outside, free, failed = [], [], 0, 0
            for seed in range(0, 6 if quick else 40, 2):  # objectives as they are
                try:
                    form = compiled(random_program(kind, seed), solver)
                    answer = form.solved()
                except cp.SolverError:
                    failed += 1
                    continue
                attempt = Attempt(form, answer, judged(form.program, answer, rounds=5))
                gaps.append(abs(attempt.relative_gap))
                outside.append(form.program.relative_violation(answer.x))
                free += attempt.proof is not None and not attempt.proof.assumptions
            share = float(np.mean(np.array(gaps) <= TOL)) if gaps else 0.0
            note = f"{len(gaps)} programs, {free} without an assumption, {failed} failed; "
            note += f"gap median {np.median(gaps):.0e}, largest {max(gaps):.0e}; outside by at most {max(outside):.0e}"
            report.add(f"{solver}, {kind}: gap of at most 1e-6", share, "", note=note)


def of_models(report: Report, quick: bool, folder: Path | None) -> None:
    """Add the models of the gallery: one attempt of each solver with its own settings, next to an independent optimum.

    The status that counts is the solver's own. What holds is what `sm.certify` would say: a gap and a violation, both
    relative, of at most 1e-6. Last comes what `sm.solve` makes of Clarabel by further attempts.
    """
    rows: dict[str, list[tuple[bool, Attempt, float]]] = {name: [] for name in (*TAKES, "sm.solve")}
    for case in CASES.values():
        for where in DATA[: 1 if quick else None]:
            data = data_of(where)
            optimum, problem = case.value(data), case.changed(data).problem
            for solver in (name for name in TAKES if name in cp.installed_solvers()):
                try:
                    form = compiled(problem, solver)
                    answer = form.solved()
                except cp.SolverError:  # cones that it does not take, or a failure
                    continue
                proof = judged(form.program, answer, rounds=5)
                rows[solver].append((answer.status == "optimal", Attempt(form, answer, proof), optimum))
            rows["sm.solve"].append((True, attempted(problem, "CLARABEL", TOL), optimum))
    for solver, own in ((solver, own) for solver, own in rows.items() if own):
        distances = np.array([attempt.distance for _, attempt, _ in own])
        claimed = np.array([claims for claims, _, _ in own])
        off = [abs(attempt.proof.value - optimum) / abs(optimum) for _, attempt, optimum in own if attempt.proof]
        above = sum(attempt.proof.bound > optimum + 1e-6 * abs(optimum) for _, attempt, optimum in own if attempt.proof)
        free = sum(attempt.proof is not None and not attempt.proof.assumptions for _, attempt, _ in own)
        note = f"{len(own)} answers, {claimed.sum()} called optimal, of which {(distances[claimed] > TOL).sum()} are "
        note += f"not proved to 1e-6; {free} without an assumption; distance {_spread(distances.tolist())}; "
        note += f"value off by at most {max(off):.0e} of the reference; {above} bounds above it"
        goal = 1.0 if solver == "sm.solve" else None
        report.add(f"models, {solver}: proved to 1e-6", float(np.mean(distances <= TOL)), "", at_least=goal, note=note)


def of_maros(report: Report, quick: bool, folder: Path | None) -> None:
    """Add Maros-Meszaros up to 3,000 columns."""
    rows = []
    for name, problem in maros_meszaros(_needed(folder), 0, 300 if quick else WIDEST):
        row = measured(name, problem)
        if name in NOT_CONVEX:
            report.add(f"{name}, not convex: relative gap", row.attempt.relative_gap, "", at_least=1e-2)
        else:
            rows.append(row)
    add_shares(report, "Maros-Meszaros", rows, 0.97, 0.90)


def of_large(report: Report, quick: bool, folder: Path | None) -> None:
    """Add the rest of Maros-Meszaros, program by program."""
    rows = [measured(name, problem) for name, problem in maros_meszaros(_needed(folder), WIDEST, np.inf)]
    for row in rows:
        note = f"{row.text}; solve {row.solve:.1f} s, proof {row.proof:.1f} s"
        report.add(f"{row.name}, {len(row.attempt.answer.x)} columns: gap", row.attempt.distance, "", note=note)
    add_shares(report, "Maros-Meszaros, large", rows, None, None)


def of_sdplib(report: Report, quick: bool, folder: Path | None) -> None:
    """Add SDPLIB, program by program: distance, side of the published optimum, interiors."""
    inside, wrong = [], []
    for name, made in sdplib(_needed(folder)):
        if quick and len(made.c) > 60:
            continue
        primal, dual = made.has_interiors()
        problem = made.problem()
        start = time.process_time()
        if name in BY_SCS:
            settings = {"eps_abs": 1e-9, "eps_rel": 1e-8, "max_iters": 20000, "time_limit_secs": 300.0}
            attempt = attempted(problem, "SCS", TOL, **settings)
        else:
            attempt = attempted(problem, "CLARABEL", TOL, time_limit=300.0)
        solve = time.process_time() - start
        start = time.process_time()
        judged(attempt.compiled.program, attempt.answer, tol=TOL / 10)
        again = time.process_time() - start
        upper = proved_upper_end(attempt) if name not in BY_SCS else np.inf
        optimum, digit = published(name)
        proof = attempt.proof
        bound = -np.inf if proof is None else proof.bound
        if bound > optimum + digit:
            wrong.append(name)
        words = ", ".join(word for word, has in (("primal", primal), ("dual", dual)) if not has)
        note = f"bound {bound:.9g}, published {optimum:.7g}, feasible {upper:.9g}; "
        note += f"no interior of the {words}; " if words else ""
        note += f"{'; '.join(proof.assumptions) or 'no assumption'}; " if proof is not None else ""
        note += f"attempts {solve:.2f} s, proof {again:.2f} s"
        report.add(f"{name}: gap or violation", attempt.distance, "", note=note)
        if primal and dual:
            inside.append(attempt.distance <= TOL)
    note = f"{sum(inside)} of {len(inside)} programs"
    report.add("SDPLIB, those with interiors: proved to 1e-6", float(np.mean(inside)), "", at_least=0.9, note=note)
    report.add("SDPLIB: bounds above the published optimum", len(wrong), "", at_most=0, note=", ".join(wrong))


def of_sparse(report: Report, quick: bool, folder: Path | None) -> None:
    """Add sparse programs of many columns."""
    rows = [measured(name, problem) for name, problem in sparse_programs(1000 if quick else 10_000)]
    for row in rows:
        note = f"{row.text}; {row.attempt.compiled.program.A.shape[0]} rows; solve {row.solve:.2f} s"
        report.add(f"{row.name}: gap or violation", row.attempt.distance, "", at_most=TOL, note=note)
        report.add(f"{row.name}: proof over solve", row.proof / row.solve, "x", at_most=0.25)
    report.add("sparse: proof over solve, median", float(np.median([row.proof / row.solve for row in rows])), "x")


def of_speed(report: Report, quick: bool, folder: Path | None) -> None:
    """Add proof over solve, and what is proved of Netlib."""
    seeds = range(2 if quick else 10)
    sets: dict[str, Callable[[], Iterable[tuple[str, cp.Problem]]]] = {
        "random": lambda: ((kind, random_program(kind, seed)) for kind in CLASSES for seed in seeds),
        "Netlib": lambda: netlib(_needed(folder)),
    }
    cvxproof.solve(random_program("linear", 0))  # what is imported once
    for name, made in sets.items():
        solve, proof, free = [], [], []
        for (kind, one), (_, other) in zip(made(), made(), strict=True):
            start = time.process_time()
            with contextlib.suppress(cp.SolverError):
                one.solve(solver="CLARABEL")
            middle = time.process_time()
            result = cvxproof.solve(other)
            end = time.process_time()
            solve.append(middle - start)
            proof.append(end - middle - solve[-1])
            free.append(result.certificate.is_optimal(TOL))
            if name == "Netlib":
                report.add(f"{kind}: proof over solve", proof[-1] / solve[-1], "x", note=result.message)
        ratios = np.array(proof) / solve
        note = f"{len(ratios)} programs, {_spread(ratios.tolist())}"
        report.add(f"{name}: proof over solve, median", float(np.median(ratios)), "x", at_most=SPEED[name], note=note)
        report.add(f"{name}: summed", sum(proof) / sum(solve), "x", at_most=1.0)
        report.add(f"{name}: OPTIMAL, without an assumption", float(np.mean(free)), "", at_least=0.9)


def _needed(folder: Path | None) -> Path:
    if folder is None:
        raise SystemExit("this set needs the folder of the data: --data FOLDER, or $SPECMARGIN_DATA.")
    return folder


SETS: dict[str, Callable[[Report, bool, Path | None], None]] = {
    "random": of_random,
    "rays": of_rays,
    "tampered": of_tampered,
    "solvers": of_solvers,
    "models": of_models,
    "maros": of_maros,
    "large": of_large,
    "sdplib": of_sdplib,
    "speed": of_speed,
    "sparse": of_sparse,
}
SHORT = ("random", "rays", "tampered", "solvers", "models", "maros")


def main() -> None:
    """Measure."""
    options = parser(__doc__ or "")
    options.add_argument("--set", nargs="+", choices=SETS, help="what to measure")
    given = options.parse_args()
    folder = given.data or (Path(os.environ["SPECMARGIN_DATA"]) if "SPECMARGIN_DATA" in os.environ else None)
    warnings.filterwarnings("ignore", message="Solution may be inaccurate|.*is being approximated")
    for name in given.set or SHORT:
        if name == "maros" and folder is None and not given.set:
            print("Maros-Meszaros is left out: no folder of data is given.")
            continue
        report = Report(f"cone_certificates_{name}", f"Certificates of any convex program: {name}")
        SETS[name](report, given.quick, folder)
        report.write()


if __name__ == "__main__":
    main()
