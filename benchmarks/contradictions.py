"""Infeasible programs with a planted contradiction: which constraints `cvxproof.explain` names, and what holds of it.

    python benchmarks/contradictions.py [--quick]

200 random programs of 20 to 490 constraints and five variables with attributes; rows, quadratic and second-order
constraints and matrix inequalities, and linear, quadratic and second-order objectives. Of thirteen kinds each has one
contradiction of two to six constraints, attributes (PSD, NSD, nonneg, nonpos, bounds, symmetric, diag) among them; its
other constraints hold with room at one point. Sets that are named count if they have at most twice as many, SCS says
that they have no point, and for each constraint that is said to be needed there is a point without it, whose violations
CVXPY evaluates. Seconds are those of the processor.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from _harness import Report, options

import cvxproof
from cvxproof.conic.contradictions import parts_by_name

sys.path.append(str(Path(__file__).parents[1] / "tests" / "cvxproof" / "conic"))
from contradicting_programs import KINDS, contradicting, has_no_point, has_point


def main() -> None:
    """Explain, and judge what is named."""
    given = options(__doc__ or "")
    warnings.filterwarnings("ignore")
    report = Report("contradictions", "Contradictions of many constraints, by name")
    counts, bad, seconds, kinds = Counter[str](), list[str](), list[float](), list(KINDS)
    total = 26 if given.quick else 200
    for k in range(total):
        kind, seed = kinds[k % len(kinds)], k // len(kinds)
        made = contradicting(kind, seed, 60 if given.quick else 490)
        start = time.process_time()
        why = cvxproof.explain(made.problem)
        seconds.append(time.process_time() - start)
        parts, found = parts_by_name(made.problem), why.contradiction
        names = found.names if found else ()
        needed = [name for name in names if found and name not in found.unsettled]
        held = {
            "small": 0 < len(names) <= 2 * len(made.names),
            "infeasible": bool(names) and has_no_point([one for name in names for one in parts[name]]),
            "needed": all(
                has_point([one for other in names if other != name for one in parts[other]]) for name in needed
            ),
            "settled": bool(names) and len(needed) == len(names),
        }
        counts.update(name for name, holds in held.items() if holds)
        counts.update(["as planted"] if set(names) == made.names else [])
        counts.update(["relaxed"] if why.proved >= (1 - 1e-5) * why.least > 0 else [])
        missed = [name for name, holds in held.items() if not holds]
        bad += [f"{kind} {seed} not {' '.join(missed)}"] if missed else []
        print(
            f"{kind} {seed}: {len(parts)} constraints, {len(names)} named, {len(made.names)} planted",
            *missed,
            flush=True,
        )
    note = "; ".join(bad[:9])
    report.add("named: at most twice as many as planted", counts["small"], "", at_least=total, note=note)
    report.add("named: no point, by SCS", counts["infeasible"], "", at_least=total)
    report.add("all that is said to be needed is, by points", counts["needed"], "", at_least=total)
    report.add("of each constraint it is settled whether it is needed", counts["settled"], "")
    report.add("named: just what was planted", counts["as planted"], "")
    report.add("least relaxation proved to 1e-5", counts["relaxed"], "")
    report.add("explain, median", float(np.median(seconds)), "s")
    report.add("explain, largest", max(seconds), "s")
    report.write()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
