"""What the primal-LapSVM paper concludes from its own columns, put to ours: tables 3 to 11, LapSVM, LapRLS, PCG.

`sentences` has a verdict for each conclusion. Errors are compared at the gammas that V chose for each method, tasks and
parts (U and T) apart; iterations and seconds are those of the fits that were made alone. *Comparable* are mean errors
within `COMPARABLE` points of one another, *really close* within `CLOSE`. What a rule loses, or gains, by its own gammas
is seen next to the fits at Newton's, of which one split has all rules.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product

import numpy as np

from reproduction.claims import CLOSE, RULE, claim, comparison_counts, yes_or_no
from reproduction.engine.published import published_sizes
from reproduction.engine.records import Row
from reproduction.engine.significance import Comparison, Errors, paired_comparison
from reproduction.papers._melacci_belkin_fits import PAPER, RULES, Setting

COMPARABLE = 1.0
"""Points of error."""
_POINTS = {COMPARABLE: "one point", CLOSE: "half a point"}

FAST, FEW = 2.0, 0.25
"""How many times as fast is "appreciably" faster; which share of n iterations is "noticeably smaller" than n."""

PARTS = {"unlabeled": "U", "test": "T"}
SUPERVISED, WITH_GRAPH = ("svm", "rls"), ("laprls", "lapsvm_dual", "lapsvm_newton")
NEWTON = "lapsvm_newton"
STABILITY, VALIDATION, MIXED = (f"lapsvm_pcg_{name}" for name in ("stability", "validation", "mixed"))
LATER = ("coil20b", "uspst", "coil20")
"""The sets for which section 6.4 has the stability rule stop later."""

_TO_TRAIN = 1.0 / 3.0  # a fold to test, three to train


def sentences(grid: Sequence[Row], timed: Sequence[Row], chosen: Mapping[tuple[str, str], Setting]) -> list[str]:
    """Return one sentence per conclusion, verdict first, of those that the rows allow.

    Parameters
    ----------
    grid, timed : sequence of rows
        Fits of the whole grid, and those that were made alone.
    chosen : mapping
        By task and method, the setting that V chose.
    """
    own = [row for row in grid if row["setting"] == chosen.get((row["dataset"], row["method"]))]
    alone = [row for row in timed if row["setting"] == chosen.get((row["dataset"], row["method"]))]
    at_newton = [row for row in timed if row["setting"] == chosen.get((row["dataset"], NEWTON))]
    judged = [
        *_errors(own),
        *_newton(timed),
        *_seconds(alone),
        *_early(own, at_newton),
        *_iterations(alone, at_newton),
        *_gammas(chosen, alone, at_newton),
    ]
    return [f"What the paper concludes from its own columns, by ours ({RULE}):", *judged] if judged else []


def by_task(rows: Iterable[Row], column: str) -> dict[str, Errors]:
    """Return a column of rows by task, then by method and split."""
    tasks: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        tasks.setdefault(row["dataset"], {}).setdefault(row["method"], {})[row["split"]] = row[column]
    return dict(tasks)


def mean(errors: Errors, method: str) -> float:
    """Return the mean of a method over its splits, NaN where it has none."""
    return statistics.fmean(errors[method].values()) if errors.get(method) else math.nan


def _iterations_of(row: Row) -> float:
    return statistics.fmean(row["iterations"])


def samples_of(task: str) -> int | None:
    """Return how many samples a classifier is trained on, those of L and U; None for a task that is not the paper's."""
    sizes = published_sizes(PAPER, "2")
    of_task = sizes[sizes["dataset"] == task].set_index("quantity")["value"]
    return int(of_task["n_labeled"]) + int(of_task["n_unlabeled"]) if len(of_task) else None


def _errors(own: Sequence[Row]) -> list[str]:
    """Sections 5 and 6.4 on table 4: who errs less, who as much, and who is wrong on its labels."""
    errors = {part: by_task(own, f"error_{part}") for part in PARTS}
    compared: dict[str, dict[str, list[Comparison]]] = {}
    for (part, tasks), method, rival in product(errors.items(), WITH_GRAPH, SUPERVISED):
        ratios = [_TO_TRAIN] * len(tasks) if part == "test" else []
        result = paired_comparison(tasks.values(), method, rival, test_to_train=ratios)
        if result.rows:
            compared.setdefault(rival, {}).setdefault(part, []).append(result)
    if not compared:
        return []
    everything = [each for of in compared.values() for results in of.values() for each in results]
    counts = "; ".join(
        f"against {rival} on {PARTS[part]}: {comparison_counts(_sum(results), 'cases', corrected=part == 'test')}"
        for rival, of in compared.items()
        for part, results in of.items()
    )
    whole = _sum(everything)
    judged = [
        claim(
            "all semi-supervised methods err clearly less than SVM and RLSC (table 4)",
            whole.clearly_lower,
            whole.rows,
            f"LapRLS and both LapSVM, significantly lower in {{part}} of {{whole}} (tasks, methods, U and T): {counts}",
        )
    ]
    for text, pairs, points in (
        (
            "LapRLS, LapSVM in the dual and in the primal have comparable errors (table 4)",
            [("laprls", "lapsvm_dual"), ("lapsvm_dual", NEWTON), (NEWTON, "laprls")],
            COMPARABLE,
        ),
        ("those of LapRLS and of LapSVM in the primal are really close", [(NEWTON, "laprls")], CLOSE),
    ):
        judged.append(_within(text, _apart(errors, pairs), points))
    labelled = [row for row in own if "error_labeled" in row]
    right = sum(row["error_labeled"] == 0.0 for row in labelled)
    worst = max(labelled, key=lambda row: row["error_labeled"], default=None)
    if worst is not None:
        where = f"{worst['error_labeled']:.1f} % ({worst['dataset']} {worst['method']})"
        counts = f"No error on L in {{part}} of {{whole}} fits, the largest is {where}"
        judged.append(claim("every classifier is right on the labelled samples", right, len(labelled), counts))
    return judged


def _sum(results: Iterable[Comparison]) -> Comparison:
    return Comparison(*(sum(counts) for counts in zip(*results, strict=True)))


def _apart(errors: Mapping[str, Mapping[str, Errors]], pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """Return what the first method of each pair errs more than the second in the mean, by task, method and part."""
    apart = {
        f"{task} {a} {PARTS[part]}": mean(each, a) - mean(each, b)
        for a, b in pairs
        for part, tasks in errors.items()
        for task, each in tasks.items()
    }
    return {name: difference for name, difference in apart.items() if not math.isnan(difference)}


def _within(text: str, apart: Mapping[str, float], points: float) -> str:
    far = max(apart, key=lambda name: abs(apart[name]))
    counts = (
        f"Mean errors within {_POINTS[points]} in {{part}} of {{whole}} (tasks, pairs of methods, U and T), largest "
        f"difference {abs(apart[far]):.2f} ({far})"
    )
    return claim(text, sum(abs(each) <= points for each in apart.values()), len(apart), counts)


def _newton(timed: Iterable[Row]) -> list[str]:
    """Section 6.4 on table 5."""
    steps = [count for row in timed if row["method"] == NEWTON for count in row["iterations"]]
    if not steps:
        return []
    counts = f"In {{part}} of {{whole}} trainings, mean {statistics.fmean(steps):.1f}, most {max(steps)}"
    return [claim("Newton's method converges in less than six steps", sum(s < 6 for s in steps), len(steps), counts)]


def _seconds(alone: Sequence[Row]) -> list[str]:
    """Section 6.4 on table 3, seconds of one computer; every rule is taken, not the best alone."""
    seconds = by_task(alone, "seconds")
    ratios = {
        (task, rule, rival): mean(each, rival) / mean(each, rule)
        for task, each in seconds.items()
        for rule, rival in product(RULES, (NEWTON, "lapsvm_dual"))
        if each.get(rule) and each.get(rival)
    }
    if not ratios:
        return []
    by_rival = {
        rival: [ratio for (*_, other), ratio in ratios.items() if other == rival] for rival in (NEWTON, "lapsvm_dual")
    }
    counts = "; ".join(
        f"against {rival}: {sum(ratio >= FAST for ratio in each)} of {len(each)}, {min(each):.1f} to {max(each):.1f} "
        "times as fast"
        for rival, each in by_rival.items()
        if each
    )
    judged = [
        claim(
            "training by conjugate gradients with early stopping is appreciably faster on every set (table 3)",
            sum(ratio >= FAST for ratio in ratios.values()),
            len(ratios),
            f"At least {FAST:g} times in {{part}} of {{whole}} (tasks, rules): {counts}. Our dual solver shares one "
            "factorisation among the classes and works on the labelled samples alone, the paper's does not",
        )
    ]
    sizes = {task: n for task in seconds if (n := samples_of(task)) is not None}
    best = {
        task: max(ratio for (name, _, rival), ratio in ratios.items() if name == task and rival == NEWTON)
        for task in sizes
        if any(name == task and rival == NEWTON for name, _, rival in ratios)
    }
    # One classifier each: with one against the rest the classes count as well.
    both = [(a, b) for a, b in product(best, repeat=2) if sizes[a] < sizes[b] and _alike(a, b)]
    if both:
        counts = ", ".join(f"{task} ({sizes[task]}) {best[task]:.1f}" for task in sorted(best, key=lambda t: sizes[t]))
        judged.append(
            claim(
                "the more so the more samples there are",
                sum(best[a] < best[b] for a, b in both),
                len(both),
                "The larger of two sets of as many classes has the larger ratio to Newton's method in {part} of "
                f"{{whole}} pairs. Samples, and times as fast: {counts}",
            )
        )
    alike = [mean(each, NEWTON) / mean(each, "lapsvm_dual") for each in seconds.values() if each.get("lapsvm_dual")]
    if alike:
        counts = (
            "Within a factor of two in {part} of {whole} tasks; Newton's seconds over the dual's "
            f"{min(alike):.2f} to {max(alike):.2f}"
        )
        near = sum(0.5 <= ratio <= 2.0 for ratio in alike)
        judged.append(
            claim("the dual and Newton's method take about the same time (table 3)", near, len(alike), counts)
        )
    return judged


_MANY_CLASSES = ("coil20", "uspst")


def _alike(a: str, b: str) -> bool:
    """Whether both tasks have two classes, or both have more."""
    return (a in _MANY_CLASSES) == (b in _MANY_CLASSES)


def _early(own: Sequence[Row], at_newton: Sequence[Row]) -> list[str]:
    """Abstract and sections 4.1 and 6.4 on tables 7 and 11: what early stopping costs."""
    errors = {part: by_task(own, f"error_{part}") for part in PARTS}
    same = {part: by_task(at_newton, f"error_{part}") for part in PARTS}
    judged = []
    for text, numbers in (
        ("early stopping errs about as much as the optimal solution, on all sets (tables 4 and 7)", errors),
        ("also with the gammas of Newton's method (table 11)", same),
    ):
        apart = _apart(numbers, [(rule, NEWTON) for rule in RULES])
        if apart:
            judged.append(_no_worse(text, apart))
    gaps = {task: _gap(same, task) for task in same["test"]}
    gaps = {task: gap for task, gap in gaps.items() if not math.isnan(gap)}
    if {"coil20", "coil20b"} <= gaps.keys():
        far = max(gaps, key=lambda task: gaps[task])
        listed = ", ".join(f"{task} {gap:+.2f}" for task, gap in gaps.items())
        holds = far == "coil20" and gaps["coil20b"] <= COMPARABLE
        judged.append(
            f"{yes_or_no(holds)}: COIL20 is farthest from the optimal solution at the stop, COIL20(B) is not far "
            f"(section 6.4). Points above Newton's method at its gammas, mean over rules, U and T: {listed}."
        )
    over = {
        task: mean(each, NEWTON) - mean(each, VALIDATION)
        for task, each in same["test"].items()
        if each.get(VALIDATION) and each.get(NEWTON)
    }
    if over:
        listed = ", ".join(f"{task} {gain:+.2f}" for task, gain in over.items())
        counts = (
            "Lower error on T at its stop than at the optimum of the same gammas in {part} of {whole} tasks, by "
            f"{listed} points"
        )
        lower = sum(gain > 0 for gain in over.values())
        judged.append(claim("the validation rule avoids some over-fitting (section 4.1)", lower, len(over), counts))
    return judged


def _no_worse(text: str, apart: Mapping[str, float]) -> str:
    far = max(apart, key=lambda name: apart[name])
    counts = (
        f"At most {_POINTS[COMPARABLE]} above Newton's method in {{part}} of {{whole}} (tasks, rules, U and T), mean "
        f"difference {statistics.fmean(apart.values()):+.2f}, largest {apart[far]:+.2f} ({far})"
    )
    return claim(text, sum(difference <= COMPARABLE for difference in apart.values()), len(apart), counts)


def _gap(errors: Mapping[str, Mapping[str, Errors]], task: str) -> float:
    """Return what the rules err more than Newton's method, in the mean."""
    gaps = [
        mean(errors[part].get(task, {}), rule) - mean(errors[part].get(task, {}), NEWTON)
        for part in PARTS
        for rule in RULES
    ]
    return statistics.fmean(gaps)


def _iterations(alone: Sequence[Row], at_newton: Sequence[Row]) -> list[str]:
    """Section 6.4 on table 6: how many iterations, and which rule is the stricter one."""
    counts = by_task([{**row, "count": _iterations_of(row)} for row in alone], "count")
    judged = []
    shares = {
        f"{task} {rule}": mean(each, rule) / n
        for task, each in counts.items()
        for rule in RULES
        if (n := samples_of(task)) is not None and each.get(rule)
    }
    if shares:
        most = max(shares, key=lambda name: shares[name])
        judged.append(
            claim(
                "the number of iterations is noticeably smaller than n",
                sum(share <= FEW for share in shares.values()),
                len(shares),
                f"At most n / {1 / FEW:g} in {{part}} of {{whole}} (tasks, rules), median n / "
                f"{1 / statistics.median(shares.values()):.0f}, most n / {1 / shares[most]:.0f} ({most})",
            )
        )
    later = {
        task: each for task, each in counts.items() if task in LATER and each.get(STABILITY) and each.get(VALIDATION)
    }
    if later:
        means = ", ".join(
            f"{task} {mean(each, STABILITY):.0f} and {mean(each, VALIDATION):.0f}" for task, each in later.items()
        )
        result = paired_comparison(later.values(), VALIDATION, STABILITY)
        judged.append(
            claim(
                "the stability rule stops later than the validation rule on COIL20(B), USPST and COIL20 (table 6)",
                result.lower,
                result.rows,
                f"In {{part}} of {{whole}} of these ({result.clearly_lower} significant); mean iterations {means}",
            )
        )
    columns = {
        (row["dataset"], row["split"], row["method"]): row["iterations"] for row in at_newton if row["method"] in RULES
    }
    runs = [
        tuple(columns[task, split, rule] for rule in (STABILITY, VALIDATION, MIXED))
        for task, split, method in columns
        if method == MIXED and (task, split, STABILITY) in columns and (task, split, VALIDATION) in columns
    ]
    stops = [stop for run in runs for stop in zip(*run, strict=True)]
    if stops:
        with_it = sum(mixed == max(first, second) for first, second, mixed in stops)
        text = "the mixed rule generally stops with the stricter of the two (table 6)"
        never = sum(mixed < max(first, second) for first, second, mixed in stops)
        judged.append(
            claim(
                text,
                with_it,
                len(stops),
                f"With it in {{part}} of {{whole}} trainings at one setting, before it in {never}, else later",
            )
        )
    return judged


def _gammas(chosen: Mapping[tuple[str, str], Setting], alone: Sequence[Row], at_newton: Sequence[Row]) -> list[str]:
    """Appendix A: tables 8 to 11."""
    choices = [
        (np.array(setting), np.array(chosen[task, NEWTON]))
        for (task, method), setting in chosen.items()
        if method in RULES and (task, NEWTON) in chosen
    ]
    if not choices:
        return []
    equal = sum(bool((a == b).all()) for a, b in choices)
    larger = sum(bool((a > b).any()) for a, b in choices)
    judged = [
        claim(
            "the gammas chosen with early stopping are mostly those of Newton's method (appendix A)",
            equal,
            len(choices),
            "The same in {part} of {whole} (tasks, rules)",
        )
    ]
    if equal < len(choices):
        counts = "A larger gamma_A or gamma_I in {part} of the {whole} that differ"
        judged.append(claim("where they differ, gamma_A or gamma_I is larger", larger, len(choices) - equal, counts))
    columns = {"iterations": "count", **{f"error on {letter}": f"error_{part}" for part, letter in PARTS.items()}}
    gains: dict[str, list[float]] = {}
    for name, column in columns.items():
        mine, theirs = (
            by_task([{**row, "count": _iterations_of(row)} for row in rows], column) for rows in (alone, at_newton)
        )
        gains[name] = [
            mean(theirs[task], rule) - mean(each, rule)
            for task, each in mine.items()
            for rule in RULES
            if each.get(rule) and theirs.get(task, {}).get(rule) and chosen[task, rule] != chosen[task, NEWTON]
        ]
    if not gains["iterations"]:
        return judged
    counts = "; ".join(
        f"{name}: lower in {sum(gain > 0 for gain in each)} of {len(each)}, by {statistics.fmean(each):.2f} in the mean"
        for name, each in gains.items()
    )
    everything = [gain > 0 for each in gains.values() for gain in each]
    text = "gammas tuned by the rule itself make it faster and better than Newton's do (appendix A, tables 10 and 11)"
    return [*judged, claim(text, sum(everything), len(everything), counts)]
