"""Sentences on the studies of `_claims_primal`, LapSVM, LapRLS and PCG: verdict first, then the numbers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

import numpy as np

from reproduction.claims import CLOSE, claim
from reproduction.engine.records import Row
from reproduction.papers._claims_manifold import mean_of
from reproduction.papers._claims_primal import ROUNDING, SIZES, SOLVERS


def _judge_optimum(rows: Sequence[Row]) -> list[str]:
    all_of_them = sum(row["nonzero"] == 1.0 for row in rows)
    steps = [row["whole"] for row in rows if row["whole"] > 0]
    most = f"{max(steps):.0f} at the most" if steps else "never"
    return [
        claim(
            "all coefficients of LapSVM differ from zero (sections 2.1 and 3.1.1)",
            all_of_them,
            len(rows),
            f"In {{part}} of {{whole}} fits; least share of coefficients above {ROUNDING:g} of the largest "
            f"{min(row['nonzero'] for row in rows):.3f}",
        ),
        claim(
            "whole Newton steps never fail to converge (section 3.1)",
            len(steps),
            len(rows),
            "From zero to the optimum, without a line search, in {part} of {whole} fits at the published gammas; "
            f"steps: {most}",
        ),
    ]


def _judge_way(rows: Sequence[Row]) -> list[str]:
    few = sum(row["iterations"] <= 0.25 * row["samples"] for row in rows)
    later = sum(row["flat"] > row["iterations"] for row in rows)
    by_set = {
        name: [row for row in rows if row["dataset"] == name] for name in dict.fromkeys(r["dataset"] for r in rows)
    }
    norms = {name: statistics.median(row["gradient"] for row in each) for name, each in by_set.items()}
    apart = max(norms.values()) / max(min(norms.values()), 1e-300)
    unsteady = {name: mean_of(each, "rises") for name, each in by_set.items()}
    listed = ", ".join(f"{name} {mean_of(each, 'iterations'):.0f}" for name, each in by_set.items())
    order = sum(
        unsteady[a] > unsteady[b]
        for a in ("mac_windows", "uspstb")
        for b in ("g50c", "coil20b")
        if {a, b} <= unsteady.keys()
    )
    pairs = sum({a, b} <= unsteady.keys() for a in ("mac_windows", "uspstb") for b in ("g50c", "coil20b"))
    with_change = statistics.fmean(row["rises_with_change"] for row in rows)
    judged = [
        claim(
            "a solution as good as the optimal one takes far fewer than n iterations (sections 3.2.2 and 6.4)",
            few,
            len(rows),
            f"At most n / 4 until the error on U stays within {CLOSE:g} points, in {{part}} of {{whole}} fits; mean "
            f"iterations {listed}",
        ),
        claim(
            "the objective flattens only later than the decisions (sections 4 and 6.4)",
            later,
            len(rows),
            "It is within 1 % of its minimum later than the error on U is, in {part} of {whole} fits; mean iteration "
            f"{mean_of(rows, 'flat'):.0f} and {mean_of(rows, 'iterations'):.0f}",
        ),
        claim(
            "no threshold of a norm fits all sets: they differ by orders of magnitude where errors have converged",
            int(apart >= 100.0),
            1,
            f"The gradient's norm at that iteration, over that at the start, differs by a factor of {apart:.0f} "
            f"between the medians of the sets: {', '.join(f'{name} {value:.1e}' for name, value in norms.items())}",
        ),
    ]
    if pairs:
        numbers = ", ".join(f"{name} {100 * share:.0f} %" for name, share in unsteady.items())
        counts = (
            f"More rises per iteration than on g50c and COIL20(B) in {{part}} of {{whole}} pairs of sets: {numbers}; "
            f"in {100 * with_change:.0f} % of them the set of samples with a loss changes"
        )
        judged.append(
            claim("the gradient's norm is unsteady on PCMAC and USPST(B) (section 6.4)", order, pairs, counts)
        )
    return judged


def _judge_preconditioner(rows: Sequence[Row]) -> list[str]:
    fewer = sum(row["with"] < row["without"] for row in rows)
    ratio = statistics.median(row["without"] / max(row["with"], 1.0) for row in rows)
    counts = (
        f"Fewer to 1 % above the optimum in {{part}} of {{whole}} fits, median ratio {ratio:.1f}, against the "
        "conjugate gradients of scipy on the same objective (cut off at 2000)"
    )
    return [
        claim("preconditioning by the kernel lowers the number of iterations (section 3.2)", fewer, len(rows), counts)
    ]


def _judge_width(rows: Sequence[Row]) -> list[str]:
    fast = [row["iterations_0.1"] < row["iterations_1"] for row in rows]
    bad = [row["error_0.1"] > row["error_1"] for row in rows]
    numbers = ", ".join(
        f"{f:g}: {mean_of(rows, f'iterations_{f:g}'):.0f} and {mean_of(rows, f'error_{f:g}'):.1f} %"
        for f in (0.1, 0.3, 1.0, 3.0)
    )
    saved = sum(row["iterations_seeded"] < row["iterations_1"] for row in rows)
    return [
        claim(
            "a kernel near the identity converges fast and is not accurate (section 3.2.2)",
            sum(fast) + sum(bad),
            len(fast) + len(bad),
            f"A tenth of the published width takes fewer iterations than that in {sum(fast)} and errs more on T in "
            f"{sum(bad)} of {len(rows)} fits; iterations and errors by the factor of the width: {numbers}",
        ),
        claim(
            "a rough estimate as a start saves iterations (section 3.2.2)",
            saved,
            len(rows),
            "From the answer at twice both gammas in {part} of {whole} fits, "
            f"{mean_of(rows, 'iterations_seeded'):.0f} iterations for {mean_of(rows, 'iterations_1'):.0f}",
        ),
    ]


def _judge_moons(rows: Sequence[Row]) -> list[str]:
    right = sum(row["error_4"] == 0.0 for row in rows)
    later = sum(row["flat"] > row["first"] for row in rows)
    return [
        claim(
            "on two moons four iterations classify all samples (section 4, figure 3)",
            right,
            len(rows),
            f"No error in {{part}} of {{whole}} draws; mean error then {mean_of(rows, 'error_4'):.1f} %, after 25 "
            f"{mean_of(rows, 'error_25'):.1f} %; the last decision changes after {mean_of(rows, 'first'):.1f}",
        ),
        claim(
            "what follows changes nothing but the values (section 4, figure 4)",
            later,
            len(rows),
            "The objective is within 1 % of its minimum only after all decisions are right in {part} of {whole} draws, "
            f"after {mean_of(rows, 'flat'):.1f} iterations in the mean",
        ),
    ]


def _judge_laprls(rows: Sequence[Row]) -> list[str]:
    apart = [
        row[f"error_{part}_{rule}"] - row[f"error_{part}_optimum"]
        for row in rows
        for part in ("unlabeled", "test")
        for rule in ("stability", "validation", "mixed")
    ]
    iterations = ", ".join(f"{r} {mean_of(rows, f'iterations_{r}'):.0f}" for r in ("stability", "validation", "mixed"))
    counts = (
        f"At most one point above LapRLS's optimum on PCMAC in {{part}} of {{whole}} (splits, rules, U and T), largest "
        f"{max(apart):+.2f}; mean iterations {iterations}"
    )
    text = "the same rules serve LapRLS (section 5; journal version, table 8)"
    return [claim(text, sum(each <= 1.0 for each in apart), len(apart), counts)]


def _judge_clock(rows: Sequence[Row]) -> list[str]:
    right = sum(row["error_1"] == 0.0 < row["error_0"] for row in rows)
    numbers = f"mean errors {mean_of(rows, 'error_1'):.1f} and {mean_of(rows, 'error_0'):.1f} %"
    text = "with two labels the intrinsic norm tells dial from hands, the supervised SVM does not (figure 1)"
    return [claim(text, right, len(rows), f"In {{part}} of {{whole}} draws of the labels; {numbers}")]


def slope(rows: Sequence[Row], column: str) -> float:
    """Return the slope of log seconds over log n, between the two largest sizes."""
    sizes = SIZES[-2:]
    return float(np.polyfit(np.log(sizes), [math.log(max(mean_of(rows, f"{column}_{n}"), 1e-9)) for n in sizes], 1)[0])


def _judge_costs(rows: Sequence[Row]) -> list[str]:
    slopes = {method: slope(rows, f"seconds_{method}") for method in SOLVERS}
    # Half a power apart: what is not of the leading order still counts at these sizes.
    holds = sum([slopes["pcg"] <= 2.3, *(slopes[m] >= slopes["pcg"] + 0.5 for m in ("newton", "dual"))])
    n = SIZES[-1]
    memory = {method: mean_of(rows, f"memory_{method}_{n}") for method in SOLVERS}
    shares = {m: mean_of(rows, f"seconds_product_{n}") / mean_of(rows, f"seconds_{m}_{n}") for m in ("newton", "dual")}
    need = {method: (1.0 + share) * 24000**2 * 8 / 1e9 for method, share in memory.items()}
    return [
        claim(
            "an iteration of conjugate gradients costs O(n^2), the dual and Newton's method O(n^3)",
            holds,
            3,
            "A slope of at most 2.3, and of half a power more, for {part} of {whole}; "
            f"slopes of log seconds over log n from {SIZES[-2]} to {n}: "
            f"{', '.join(f'{method} {each:.2f}' for method, each in slopes.items())}",
        ),
        claim(
            "forming L K dominates the dual and Newton's method (sections 3.2.2 and 6.4)",
            sum(share > 0.5 for share in shares.values()),
            len(shares),
            f"More than half of the seconds at n = {n} for {{part}} of {{whole}}: "
            f"{', '.join(f'{method} {100 * share:.0f} %' for method, share in shares.items())} (six neighbours, the "
            "second power)",
        ),
        claim(
            "only conjugate gradients can train FACEMIT for want of memory (section 6.4)",
            int(need["pcg"] <= 6.0 < min(need["newton"], need["dual"])),
            1,
            "By the peaks at n = "
            f"{n}, 24,000 samples need {', '.join(f'{method} {each:.1f} GB' for method, each in need.items())}, the "
            "kernel included; the paper's computer had 6 GB",
        ),
    ]


JUDGES: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "Newton's optimum": _judge_optimum,
    "conjugate gradients on the way": _judge_way,
    "without the preconditioner": _judge_preconditioner,
    "width and start": _judge_width,
    "moons by iteration": _judge_moons,
    "rules for LapRLS": _judge_laprls,
    "clock": _judge_clock,
    "costs of LapSVM": _judge_costs,
}
