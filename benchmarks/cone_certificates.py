"""What is proved of convex programs that nobody here wrote: Maros-Meszaros, and random ones over all cones.

    python benchmarks/cone_certificates.py [--quick] [--data FOLDER]

Every program is solved by Clarabel, in the attempts that `specmargin.solve` makes; what counts is the proved bound.
VALUES of Maros-Meszaros is not convex, which a proof has to notice.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import cvxpy as cp
import numpy as np
import scipy.io
import scipy.sparse as sp
from _harness import Report, options

from specmargin.problems.conic.attempts import Attempt, attempted
from specmargin.problems.conic.certificate import judged
from specmargin.problems.conic.program import compiled

NOT_CONVEX = ("VALUES",)


def maros_meszaros(folder: Path, largest: int) -> Iterator[tuple[str, cp.Problem]]:
    """Yield the quadratic programs of at most so many columns, the smallest file first."""
    for path in sorted(folder.glob("maros_meszaros/*.mat"), key=lambda path: path.stat().st_size):
        held = scipy.io.loadmat(path)
        P, A = sp.csc_matrix(held["P"]), sp.csc_matrix(held["A"])
        q, low, high = (held[name].ravel() for name in "qlu")
        if len(q) > largest:
            continue
        x = cp.Variable(len(q))
        fixed = low == high
        above, below = (high < 1e19) & ~fixed, (low > -1e19) & ~fixed
        rows = [(fixed, "=="), (above, "<="), (below, ">=")]
        constraints = []
        for chosen, sign in rows:
            if chosen.any():
                product = A[chosen] @ x
                end = low[chosen] if sign == ">=" else high[chosen]
                constraints.append(
                    product == end if sign == "==" else product <= end if sign == "<=" else product >= end
                )
        quadratic = 0.5 * cp.quad_form(x, cp.psd_wrap(P)) if P.nnz else 0
        yield path.stem, cp.Problem(cp.Minimize(quadratic + q @ x + float(np.ravel(held["r"])[0])), constraints)


def random_programs(count: int) -> Iterator[tuple[str, cp.Problem]]:
    """Yield programs with linear, quadratic, second-order, semidefinite, exponential and power cones."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(3, 25)), int(rng.integers(4, 40))
        A, x0, c = rng.standard_normal((m, n)), rng.standard_normal(n), rng.standard_normal(n)
        y, x, X = rng.standard_normal(m), cp.Variable(n), cp.Variable((6, 6), PSD=True)
        S, t = rng.standard_normal((6, 6)), cp.Variable(n)
        scale = 10.0 ** int(rng.integers(-6, 7))
        kinds = {
            "linear": (c @ x, [A @ x <= A @ x0 + rng.random(m), cp.norm_inf(x) <= 9]),
            "quadratic": (cp.sum_squares(A @ x - y) + cp.norm1(x), [x >= np.minimum(x0, 0)]),
            "second-order": (c @ x + cp.norm(A @ x - y), [cp.norm(x - x0) <= 2]),
            "semidefinite": (cp.trace((S + S.T) @ X), [cp.diag(X) == 1]),
            "exponential": (cp.sum(cp.logistic(-cp.multiply(np.sign(y), A @ x))) + cp.norm1(x), []),
            "power": (
                c @ x + cp.sum(t),
                [cp.constraints.PowCone3D(t, np.ones(n), x - x0, 0.3), cp.norm_inf(x) <= 5],
            ),
        }
        for kind, (loss, constraints) in kinds.items():
            yield f"{kind} {seed}", cp.Problem(cp.Minimize(scale * loss), constraints)


def measured(problem: cp.Problem) -> tuple[Attempt, float]:
    """Return the best attempt, and the seconds of a proof over those of compilation and solve."""
    start = time.process_time()
    form = compiled(problem)
    answer = form.solved()
    solve = time.process_time() - start
    start = time.process_time()
    judged(form.program, answer)
    proof = time.process_time() - start
    return attempted(problem, "CLARABEL", 1e-8), proof / max(solve, 1e-9)


def report_on(
    report: Report, title: str, programs: Iterator[tuple[str, cp.Problem]], proved: float, free: float
) -> None:
    """Add what is proved of the programs, with its goals."""
    gaps, unconditional, ratios, left = [], [], [], []
    for name, problem in programs:
        if name in NOT_CONVEX:
            attempt, _ = measured(problem)
            report.add(f"{name}, not convex: relative gap", attempt.relative_gap, "", at_least=1e-2)
            continue
        attempt, ratio = measured(problem)
        gap = np.inf if attempt.proof is None else attempt.proof.gap
        gaps.append(gap)
        unconditional.append(attempt.proof is not None and not attempt.proof.assumptions)
        ratios.append(ratio)
        if gap > 1e-6:
            left.append(f"{name} {gap:.0e}")
    note = f"{len(gaps)} programs; left: {', '.join(left) or 'none'}"
    report.add(f"{title}: proved to 1e-6", float(np.mean(np.array(gaps) <= 1e-6)), "", at_least=proved, note=note)
    report.add(f"{title}: proved to 1e-8", float(np.mean(np.array(gaps) <= 1e-8)), "")
    report.add(f"{title}: without an assumption", float(np.mean(unconditional)), "", at_least=free)
    report.add(f"{title}: seconds of the proof over the solve, median", float(np.median(ratios)), "x", at_most=1.0)


def main() -> None:
    """Measure."""
    given = options(__doc__ or "")
    report = Report("cone_certificates", "Certificates of any convex program")
    report_on(report, "random", random_programs(4 if given.quick else 60), 0.99, 0.99)
    folder = given.data or (Path(os.environ["SPECMARGIN_DATA"]) if "SPECMARGIN_DATA" in os.environ else None)
    if folder is not None and (folder / "maros_meszaros").is_dir():
        programs = maros_meszaros(folder, 300 if given.quick else 3000)
        report_on(report, "Maros-Meszaros", programs, 0.97, 0.90)
    else:
        print("Maros-Meszaros is left out: no folder of data holds maros_meszaros.")
    report.write()


if __name__ == "__main__":
    main()
