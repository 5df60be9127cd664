"""Proof files: how many are accepted by the checker, how many forged ones are refused, how large, how long.

    python benchmarks/proof_files.py [--quick] [--data FOLDER]

1,000 random programs (linear, quadratic, second-order, semidefinite) of 2 to 100 variables, whose logarithm is uniform,
are solved, their proofs exported and checked by ``python -I -S cvxproof/check.py``, which has the standard library
alone. Three forged files are made of each. The bounds are compared with those of the certificates, and of 200 programs
with known optima in rational numbers; of Maros-Meszaros and SDPLIB, where their folder is known, the small ones are
exported. Seconds are those of the processor.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
from _cone_files import maros_meszaros, sdplib
from _harness import Report, options

import cvxproof
from cvxproof import check

sys.path.append(str(Path(__file__).parents[1] / "tests" / "cvxproof"))
sys.path.append(str(Path(__file__).parents[1] / "tests" / "cvxproof" / "conic"))
from exact_programs import KINDS, exact_program
from forged_proofs import Forger
from planted_programs import planted

CHECK = [sys.executable, "-I", "-S", str(check.__file__)]


def accepted(path: Path) -> str:
    """Return what the checker says that a file proves; empty if it refuses it."""
    done = subprocess.run([*CHECK, str(path)], capture_output=True, text=True, check=False)
    return done.stdout.partition(": proved: ")[2] if done.returncode == 0 else ""


def refused(content: bytes) -> bool:
    """Whether the checker refuses a file."""
    try:
        check.check(io.BytesIO(content))
    except check.Refused:
        return True
    return False


def of_random(report: Report, count: int, path: Path) -> None:
    """Add random programs, and forged files."""
    rng, proved, failures, accepted_forged = np.random.default_rng(0), Counter[str](), list[str](), list[str]()
    forged = Counter[str]()
    worse, sizes, seconds = [], [], []
    for k in range(count):
        kind, seed = KINDS[k % len(KINDS)], k // len(KINDS)
        if k % 100 == 99:
            print(f"{k} programs, {proved.total()} accepted; {forged.total()} forged, {len(accepted_forged)} accepted")
        problem = exact_program(kind, seed)
        result = cvxproof.solve(problem)
        start = time.process_time()
        try:
            cvxproof.export(path, problem, result)
            end = time.process_time()
            told = accepted(path)
        except cvxproof.CvxproofError as error:
            told = ""
            failures.append(f"{kind} {seed}: {error}")
        if not told:
            continue
        proved[kind] += 1
        content = path.read_bytes()
        sizes.append(len(content))
        check.check(path)
        seconds.append((end - start, time.process_time() - end))
        bound, claimed = float(told.partition(";")[0].split()[-1]), result.certificate.dual_objective
        sign = 1 if result.certificate.sense == "minimize" else -1
        worse.append(sign * (claimed - bound) / max(abs(claimed), 1e-9 * result.certificate.scale))
        made = list(Forger(content, rng).forged())
        for j in rng.choice(len(made), 3, replace=False).tolist():
            what, bad = made[j]
            forged[what] += 1
            accepted_forged += [] if refused(bad) else [f"{what} of {kind} {seed}"]
    for kind in KINDS:
        report.add(f"{kind}: accepted", proved[kind], "files")
    note = "; ".join(failures[:5])
    report.add(f"accepted of {count}", proved.total(), "files", at_least=count, note=note)
    report.add("largest share by which a bound is below the certificate's", max(worse), "", at_most=1e-6)
    report.add("size, median", float(np.median(sizes)) / 1e3, "kB")
    report.add("size, largest", max(sizes) / 1e3, "kB")
    for name, column in zip(("export", "check"), np.array(seconds).T, strict=True):
        report.add(f"{name}, median", float(np.median(column)), "s")
        report.add(f"{name}, largest", float(column.max()), "s")
    note = f"{forged.total()} made in {len(forged)} ways; {', '.join(accepted_forged[:9])}"
    report.add("forged files that are accepted", len(accepted_forged), "files", at_most=0, note=note)


def of_planted(report: Report, count: int, path: Path) -> None:
    """Add programs whose optima are known in rational numbers."""
    made = exact = beyond = infeasible = unsolved = 0
    worst, failures = 0.0, list[str]()
    for k in range(count):
        kind, end = ("lp", "qp", "socp", "sdp")[k % 4], ("optimal", "infeasible")[k // 4 % 2]
        known = planted(kind, end, k)
        result = cvxproof.solve(known.problem)
        if end == "infeasible" and result.status is not cvxproof.Status.INFEASIBLE:
            unsolved += 1
            continue
        try:
            cvxproof.export(path, known.problem, result)
        except cvxproof.CvxproofError as error:
            failures.append(f"{kind} {end} {k}: {error}")
            continue
        told = accepted(path)
        if end == "infeasible":
            infeasible += told.startswith("no point")
            continue
        made += 1
        bound, sign = Fraction(float(told.partition(";")[0].split()[-1])), 1 if "at least" in told else -1
        gap = sign * (known.optimum - bound)
        beyond += gap < 0 and kind != "sdp"  # whose entries CVXPY multiplies by a rounded root
        exact += gap == 0
        worst = max(worst, float(abs(gap)) / (max(abs(float(known.optimum)), known.terms) or 1.0))
    report.add("known optima: bounds", made, "files", note="; ".join(failures[:5]))
    report.add("of these the optimum itself", exact, "files")
    report.add("of these beyond the optimum", beyond, "files", at_most=0)
    report.add("largest distance, as a share of the terms", worst, "", at_most=1e-6)
    report.add("known to be infeasible, and proved so", infeasible, "files", at_least=count // 2 - unsolved)


def of_files(report: Report, folder: Path, largest: int, path: Path) -> None:
    """Add the programs of Maros-Meszaros and SDPLIB of at most so many columns."""
    files = [*maros_meszaros(folder, largest=largest)]
    files += [(name, one.problem()) for name, one in sdplib(folder) if len(one.c) <= largest]
    left, count = list[str](), 0
    for name, problem in files:
        result = cvxproof.solve(problem)
        if not (result.status.has_solution and result.log):
            continue
        count += 1
        try:
            cvxproof.export(path, problem, result)
            left += [] if accepted(path) else [name]
        except cvxproof.CvxproofError:
            left.append(f"{name} ({result.status.name})")
    note = f"of {count}; no exact multipliers: {', '.join(left) or 'none'}"
    report.add(f"files of up to {largest} columns: accepted", count - len(left), "files", note=note)


def main() -> None:
    """Export, check, forge."""
    given = options(__doc__ or "")
    report = Report("proof_files", "Proof files of cvxproof, and their checker")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.cvxproof"
        of_random(report, 70 if given.quick else 1000, path)
        of_planted(report, 40 if given.quick else 200, path)
        folder = given.data or Path(os.environ.get("SPECMARGIN_DATA", ""))
        if folder.is_dir():
            of_files(report, folder, 12 if given.quick else 60, path)
    report.write()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
