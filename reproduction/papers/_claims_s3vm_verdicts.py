"""Sentences on the studies of `_claims_s3vm`, continuation and QN-S3VM: verdict first, then the numbers."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

import numpy as np

from reproduction.claims import claim
from reproduction.engine.records import Row
from reproduction.papers._claims_manifold import mean_of
from reproduction.papers._claims_s3vm import CLUSTERS, COMPONENTS, FOUR, SIZES

ONE_CLASS = 0.95
"""Share of the larger class from which on the unlabelled samples all have one class."""
BADLY = 5.0
"""Points by which an estimated share is badly off."""
SAME = 1e-3
ALIKE = 1.0
"""Points of error, between two ways that err alike."""


def _means(rows: Sequence[Row], names: Sequence[str]) -> str:
    return ", ".join(f"{name} {mean_of(rows, f'error_{name}'):.2f}" for name in names)


def _judge_balance(rows: Sequence[Row]) -> list[str]:
    text = "without a balance the unlabelled samples all get one class (section 2.2)"
    counts = (
        f"At least {100 * ONE_CLASS:g} % of them in {{part}} of {{whole}} runs (pairs of USPS, splits) with a free "
        f"intercept and no annealing; mean share of the larger class {100 * mean_of(rows, 'larger_free'):.0f} %, with "
        f"the balance {100 * mean_of(rows, 'larger_balanced'):.0f} %; errors {_means(rows, ('free', 'balanced'))} %"
    )
    return [claim(text, sum(row["larger_free"] >= ONE_CLASS for row in rows), len(rows), counts)]


def _judge_shares(rows: Sequence[Row]) -> list[str]:
    off = [row for row in rows if row["off"] >= BADLY]
    objects = [row for row in rows if row["dataset"].startswith("coil20")]
    judged = []
    if off:
        harm = [row["error_hard"] - row["error_hard_exact"] for row in off]
        other = [row["error_mean"] - row["error_mean_exact"] for row in off]
        less = sum(a < b for a, b in zip(other, harm, strict=True))
        numbers = (
            f"{statistics.fmean(harm):+.2f} points for the share, {statistics.fmean(other):+.2f} for the mean decision"
        )
        judged = [
            claim(
                "a hard class ratio that is badly estimated harms (section 2.2)",
                sum(each > 0 for each in harm),
                len(off),
                f"Where it is {BADLY:g} points off or more, it errs more than the exact ratio in {{part}} of {{whole}} "
                f"runs; {numbers}",
            ),
            claim(
                "the mean decision is the more flexible constraint (section 2.2)",
                less,
                len(off),
                f"It loses less by the wrong ratio in {{part}} of {{whole}} of these runs; {numbers}",
            ),
        ]
    if objects:
        gain = [row["error_hard"] - row["error_hard_exact"] for row in objects]
        lower = sum(row["error_hard"] < row["error_mean"] for row in objects)
        judged.append(
            claim(
                "SVM-light gains on COIL-20 by its hard constraint on the balance (section 4.3)",
                lower,
                len(objects),
                f"Lower error than with the mean decision (continuation) in {{part}} of {{whole}} runs, "
                f"{_means(objects, ('hard', 'mean'))} %; the exact share is worth {statistics.fmean(gain):+.2f} points "
                f"more, and is off by {mean_of(objects, 'off'):.1f}",
            )
        )
    return judged


def _judge_no_clusters(rows: Sequence[Row]) -> list[str]:
    gains = {m: mean_of(rows, "error_svm") - mean_of(rows, f"error_{m}") for m in FOUR[1:]}
    text = "a set without clusters (g10n) gains nothing from its unlabelled samples (section 4.1)"
    counts = f"No lower mean error than the SVM for {{part}} of {{whole}} S3VMs, C = C* = 1: {_means(rows, FOUR)} %"
    return [claim(text, sum(gain <= 0 for gain in gains.values()), len(gains), counts)]


def _judge_text(rows: Sequence[Row]) -> list[str]:
    worse = [row["error_graph"] > row[f"error_{m}"] for row in rows for m in FOUR[1:]]
    text = "LapSVM is worse on text than every S3VM (section 5.1)"
    numbers = _means(rows, ("graph", *FOUR[1:]))
    counts = f"In {{part}} of {{whole}} (splits, S3VMs), with the published gammas: {numbers} %"
    return [claim(text, sum(worse), len(worse), counts)]


def _judge_time(rows: Sequence[Row]) -> list[str]:
    seconds = [mean_of(rows, f"seconds_{n}") for n in SIZES]
    slope = float(np.polyfit(np.log(SIZES[-2:]), np.log(seconds[-2:]), 1)[0])
    numbers = ", ".join(f"{n}: {s:.2f} s" for n, s in zip(SIZES, seconds, strict=True))
    text = "the run time is cubic in the number of samples (section 5.2)"
    counts = f"A slope of 2.5 to 3.5 of log seconds over log n, from {SIZES[-2]} to {SIZES[-1]}: {slope:.2f}; {numbers}"
    return [claim(text, int(2.5 <= slope <= 3.5), 1, counts)]


def _judge_clusters(rows: Sequence[Row]) -> list[str]:
    gains = {k: mean_of(rows, f"error_svm_{k}") - mean_of(rows, f"error_cs3vm_{k}") for k in CLUSTERS}
    few, many = gains[CLUSTERS[1]], gains[CLUSTERS[-1]]
    worse = sum(row[f"error_cs3vm_{CLUSTERS[-1]}"] >= row[f"error_svm_{CLUSTERS[-1]}"] for row in rows)
    numbers = ", ".join(
        f"{k}: {mean_of(rows, f'error_cs3vm_{k}'):.1f} for {mean_of(rows, f'error_svm_{k}'):.1f} %" for k in CLUSTERS
    )
    text = "continuation gains nothing where a class has several clusters (section 5.3)"
    counts = (
        f"It errs as much as the SVM or more in {{part}} of {{whole}} draws of {CLUSTERS[-1]} clusters per class; gain "
        f"{many:+.1f} points, {few:+.1f} with {CLUSTERS[1]}; errors by clusters: {numbers}"
    )
    return [claim(text, worse, len(rows), counts)]


def _judge_components(rows: Sequence[Row]) -> list[str]:
    below = sum(row["error_best"] < row["error_svm"] for row in rows)
    text = "the first principal components of the kernel hold the clusters (section 3.3, citing)"
    counts = (
        f"The best split along one of the first {COMPONENTS} errs less than the SVM in {{part}} of {{whole}} runs "
        f"(pairs of USPS, splits), OPTIMISTIC; best {mean_of(rows, 'error_best'):.1f}, first "
        f"{mean_of(rows, 'error_first'):.1f}, SVM {mean_of(rows, 'error_svm'):.1f} %"
    )
    return [claim(text, below, len(rows), counts)]


def _judge_minima(rows: Sequence[Row]) -> list[str]:
    one = sum(row["minima_start"] == 1.0 for row in rows)
    several = sum(row["minima_end"] > 1.0 for row in rows)
    best = sum(row["error_end"] <= 100.0 * SAME for row in rows)
    text = "with enough smoothing one minimum is left (section 3, figure 2)"
    counts = (
        f"One at gamma_0 in {{part}} of {{whole}} draws of ten samples and one weight; several at the end of the path "
        f"in {several}, and continuation ends in the least of them in {best}"
    )
    return [claim(text, one, len(rows), counts)]


def _judge_choices(rows: Sequence[Row]) -> list[str]:
    def same(column: str, reference: str) -> int:
        return sum(
            row[f"objective_{column}"] <= row[f"objective_{reference}"] * (1.0 + SAME)
            and abs(row[f"error_{column}"] - row[f"error_{reference}"]) <= ALIKE
            for row in rows
        )

    calls = ", ".join(f"m = {m}: {mean_of(rows, f'iterations_m_{m}'):.0f}" for m in (3, 10, 50))
    few = sum(same(f"m_{m}", "m_50") for m in (3, 10))
    errors = _means(rows, ("schedule_one", "schedule_six", "schedule_long"))
    return [
        claim(
            "3 to 50 pairs of L-BFGS suffice (section 3.3.3)",
            few,
            2 * len(rows),
            f"As low an objective with 3 and with 10 as with 50, and as low an error, in {{part}} of {{whole}} "
            f"(pairs of USPS, partitions, numbers); iterations {calls}",
        ),
        claim(
            "a short annealing is enough (section 4.1.4)",
            same("schedule_six", "schedule_long"),
            len(rows),
            "The six factors end as low as fifty in {part} of {whole} runs, "
            f"{mean_of(rows, 'iterations_schedule_six'):.0f} iterations for "
            f"{mean_of(rows, 'iterations_schedule_long'):.0f}; errors {errors} %",
        ),
    ]


def _judge_features(rows: Sequence[Row]) -> list[str]:
    apart = [row[f"error_pca_{r}"] - row[f"error_landmarks_{r}"] for row in rows for r in (10, 30, 100)]
    numbers = "; ".join(
        f"r = {r}: {mean_of(rows, f'error_pca_{r}'):.1f} and {mean_of(rows, f'error_landmarks_{r}'):.1f} %, "
        f"{mean_of(rows, f'seconds_pca_{r}'):.2f} and {mean_of(rows, f'seconds_landmarks_{r}'):.2f} s"
        for r in (10, 30, 100)
    )
    text = "kernel PCA with few components does the same as the subset of regressors (section 3.3.2)"
    counts = (
        f"Errors within {ALIKE:g} point in {{part}} of {{whole}} (pairs of USPS, draws, r); both in turn, {numbers}"
    )
    return [claim(text, sum(abs(each) <= ALIKE for each in apart), len(apart), counts)]


def _judge_calls(rows: Sequence[Row]) -> list[str]:
    goals = {"kernel": 2.0, "d": 1.0, "r": 1.0, "s": 1.0}
    slopes = {
        name: float(
            np.polyfit(np.log([1, 2, 4]), np.log([mean_of(rows, f"seconds_{name}_{k}") for k in (1, 2, 4)]), 1)[0]
        )
        for name in goals
    }
    holds = sum(slopes[name] <= goal + 0.4 for name, goal in goals.items())
    text = "a value and gradient cost O(n^2), O(n d), O(s) and O(n r) (theorems 1 to 4)"
    counts = (
        "Slopes of log seconds at most 0.4 above, for {part} of {whole}: over n of a kernel "
        f"{slopes['kernel']:.2f}, over d {slopes['d']:.2f}, over the non-zeros {slopes['s']:.2f}, over n at fixed r "
        f"{slopes['r']:.2f}"
    )
    return [claim(text, holds, len(goals), counts)]


JUDGES: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "no balance": _judge_balance,
    "shares of positive labels": _judge_shares,
    "no clusters": _judge_no_clusters,
    "a graph on text": _judge_text,
    "time of continuation": _judge_time,
    "clusters per class": _judge_clusters,
    "components of the kernel": _judge_components,
    "minima of one weight": _judge_minima,
    "choices of QN-S3VM": _judge_choices,
    "few features": _judge_features,
    "costs of QN-S3VM": _judge_calls,
}
