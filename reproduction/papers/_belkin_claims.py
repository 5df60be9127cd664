"""What the manifold-regularization paper claims of its experiments, put to our rows, next to its published errors.

`of_pairs` has a sentence with a verdict for each claim of the pairs of digits, `of_isolet` for those of Isolet, and
`of_laplacians` says which Laplacian explains the published errors; the other functions are what figures draw. The
speakers of Isolet are those of figure 6, in the same order, so that errors are compared speaker by speaker.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from reproduction.claims import CLOSE, LAPLACIANS, RULE, claim, comparison_counts, correlation, verdict_on
from reproduction.engine.published import published
from reproduction.engine.records import Row
from reproduction.engine.significance import Errors, paired_comparison, paired_p_value
from reproduction.papers._belkin_fits import CONVEX, METHODS, PAIRS, PARTS, SPEAKER_LABELS, TSVM, TSVM_LABELS, VARIANTS
from specmargin.typing import FloatArray

PAPER = "manifold_regularization_jmlr2006"
FEW_LABELS = 4
"""Labels of each digit that are "little labelled data"."""


def by_task(
    rows: Iterable[Row], part: str, *, per_class: int, kernel: str = "plain", normalized: bool = False
) -> dict[str, Errors]:
    """Return the errors of one setting by task, then by method and split; no failed cells.

    `part` is "unlabeled" or "test", `kernel` as in `Plan`, "rbf" for Isolet. Methods without a Laplacian are part of
    either setting of `normalized`.
    """
    tasks: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        of_setting = (row["param_per_class"], row["param_kernel"]) == (per_class, kernel)
        if row["status"] == "ok" and of_setting and row["param_normalized"] in (None, normalized):
            errors = tasks.setdefault(row["dataset"], {}).setdefault(row["method"], {})
            errors[row["split"]] = row[f"error_{part}"]
    return dict(tasks)


def mean_errors(tasks: Mapping[str, Errors], method: str) -> FloatArray:
    """Return a method's mean error per task, in their order."""
    return np.array([statistics.fmean(errors[method].values()) for errors in tasks.values()])


def deviations(tasks: Mapping[str, Errors], method: str) -> FloatArray:
    """Return the deviation of a method's error over the draws, per task, in their order."""
    return np.array([np.std(list(errors[method].values()), ddof=1) for errors in tasks.values()])


def published_mean(method: str, part: str, per_class: int) -> float:
    """Return the published mean error over the pairs, or over the speakers of Isolet; NaN where there is none."""
    name, letter = METHODS[method].published, PARTS[part]
    if per_class == SPEAKER_LABELS:
        return float(published(PAPER, "figure 6", "isolet_split", name, split=letter)["mean"].mean())
    if method == TSVM:  # figure 5 has none
        return figure_4_mean(method) if (part, per_class) == ("unlabeled", TSVM_LABELS) else np.nan
    table = published(PAPER, "figure 5", "usps_pairs", name, split=letter)
    return float(table[table["n_labeled"] == per_class]["mean"].mean())


def figure_4_mean(method: str) -> float:
    """Return the mean over the pairs that figure 4 draws, with two labels; it does not say of which samples.

    Examples
    --------
    >>> round(figure_4_mean("LapRLS"), 2), round(published_mean("LapRLS", "unlabeled", 2), 2)
    (2.17, 2.82)
    """
    return float(published(PAPER, "figure 4", "usps_pairs", METHODS[method].published)["mean"].mean())


def drawn_errors(part: str) -> dict[str, dict[str, float]]:
    """Return the errors that figure 6 draws, by method ("TSVM" among them) and speaker.

    Examples
    --------
    >>> drawn_errors("unlabeled")["LapRLS"]["speaker-01"]
    19.84
    """
    names = {method.published: name for name, method in METHODS.items()}
    table = published(PAPER, "figure 6", "isolet_split", split=PARTS[part])
    speakers = table["note"].str.extract(r"speaker_index=(\d+)", expand=False).astype(int)
    errors: dict[str, dict[str, float]] = {}
    for method, speaker, mean in zip(table["method"], speakers, table["mean"], strict=True):
        errors.setdefault(names[method], {})[f"speaker-{speaker:02d}"] = float(mean)
    return errors


def of_pairs(rows: Sequence[Row], *, per_class: int = 2, kernel: str = "plain", normalized: bool = False) -> list[str]:
    """Return one sentence per claim of the paper's section 5.2, verdict first, from the pairs' rows in one setting."""
    parts = {part: by_task(rows, part, per_class=per_class, kernel=kernel, normalized=normalized) for part in PARTS}
    inside, outside = parts["unlabeled"], parts["test"]
    sentences = [f"The paper's claims by these numbers, {kernel} kernel, {LAPLACIANS[normalized]} ({RULE}):"]
    for supervised, regularised in PAIRS:
        compared = {part: paired_comparison(tasks.values(), regularised, supervised) for part, tasks in parts.items()}
        counts = "; ".join(f"{PARTS[part]}: {comparison_counts(each, 'pairs')}" for part, each in compared.items())
        text = f"{regularised} improves significantly on {supervised}"
        lower, whole = (sum(getattr(each, name) for each in compared.values()) for name in ("lower", "rows"))
        sentences.append(claim(text, lower, whole, counts))
    if all(TSVM in errors for errors in inside.values()):
        rivals = {method: paired_comparison(inside.values(), method, TSVM) for _, method in PAIRS}
        counts = "; ".join(
            f"{method}: significantly lower in {each.clearly_lower} of {each.rows} pairs, higher in "
            f"{each.clearly_higher}"
            for method, each in rivals.items()
        )
        sentences.append(
            claim(
                "manifold regularization compares well with the TSVM or outperforms it (U)",
                sum(each.rows - each.clearly_higher for each in rivals.values()),
                sum(each.rows for each in rivals.values()),
                f"{counts}; mean of the TSVM {mean_errors(inside, TSVM).mean():.2f}, as drawn "
                f"{published_mean(TSVM, 'unlabeled', per_class):.2f}",
            )
        )
    steady = np.array([deviations(tasks, b) < deviations(tasks, a) for a, b in PAIRS for tasks in parts.values()])
    sentences.append(
        claim(
            "the Laplacian algorithms are more stable with respect to the choice of the labelled samples",
            steady.sum(),
            steady.size,
            "Smaller deviation over the draws in {part} of {whole} (pairs, U and T, both losses)",
        )
    )
    if all(TSVM in errors for errors in inside.values()):
        apart = np.concatenate([deviations(inside, TSVM) - deviations(inside, method) for _, method in PAIRS])
        means = ", ".join(f"{name} {deviations(inside, name).mean():.2f}" for name in (*METHODS,))
        counts = f"Smaller deviation in {{part}} of {{whole}} (pairs, U, both losses); mean deviations {means}"
        sentences.append(claim("they are more stable than the TSVM, too", int((apart > 0).sum()), apart.size, counts))
    for _, method in PAIRS:
        u, t = mean_errors(inside, method), mean_errors(outside, method)
        near = np.abs(t - u) <= 1.0
        sentences.append(
            claim(
                f"the out-of-sample extension of {method} is good",
                near.sum(),
                near.size,
                f"T within one point of U in {{part}} of {{whole}} pairs; mean U {u.mean():.2f}, T {t.mean():.2f}, "
                f"largest difference {np.abs(t - u).max():.2f}, correlation {correlation(u, t)}",
            )
        )
    apart = np.abs([mean_errors(tasks, "LapRLS") - mean_errors(tasks, "LapSVM") for tasks in parts.values()])
    sentences.append(
        claim(
            "LapRLS and LapSVM do about the same",
            (apart < 0.5).sum(),
            apart.size,
            "Mean errors within half a point in {part} of {whole} (pairs, U and T), largest difference "
            f"{apart.max():.2f}",
        )
    )
    return sentences


def of_settings(rows: Sequence[Row]) -> list[str]:
    """Return the claims that speak of all settings of the pairs: kernels, Laplacians and numbers of labels together."""
    gains: dict[tuple[str, int, bool], list[tuple[float, float]]] = {}
    for kernel, per_class, normalized in dict.fromkeys(
        (row["param_kernel"], row["param_per_class"], row["param_normalized"])
        for row in rows
        if row["param_normalized"] is not None
    ):
        setting: dict[str, Any] = {"kernel": kernel, "per_class": per_class, "normalized": normalized}
        parts = [by_task(rows, part, **setting) for part in PARTS]
        gains[kernel, per_class, normalized] = [
            (float(mean_errors(tasks, a).mean()), float(mean_errors(tasks, b).mean()))
            for a, b in PAIRS
            for tasks in parts
        ]
    if not gains:
        return []
    everything = [pair for each in gains.values() for pair in each]
    worst = min(gains, key=lambda setting: min(a - b for a, b in gains[setting]))
    few = [(a, b) for (_, per_class, _), each in gains.items() if per_class <= FEW_LABELS for a, b in each]
    judged = [
        "The paper's claims over all settings of the pairs (both Laplacians, every kernel and number of labels):",
        claim(
            "what is observed holds for a wide choice of parameters",
            sum(b < a for a, b in everything),
            len(everything),
            "Lower mean error over the pairs than the supervised twin in {part} of {whole} (settings, losses, U and "
            f"T); the least gain is {min(a - b for a, b in gains[worst]):+.2f} points ({worst[0]} kernel, {worst[1]} "
            f"labels of each digit, {LAPLACIANS[worst[2]]}). The weights of the norms stay those of the paper",
        ),
    ]
    if few:
        less = statistics.median(1.0 - b / a for a, b in few)
        halved = sum(b <= 0.5 * a for a, b in few)
        judged.append(
            claim(
                "with little labelled data the unlabelled samples are used effectively (abstract)",
                halved,
                len(few),
                f"At most {FEW_LABELS} labels of each digit: at most half of the supervised error in {{part}} of "
                f"{{whole}} (settings, losses, U and T); median reduction {100 * less:.0f} %",
            )
        )
    return judged


def of_figure_5(rows: Sequence[Row], *, kernel: str = "plain", normalized: bool = False) -> list[str]:
    """Say how many of the means that figure 5 draws come out, at every number of labels; nothing where none is."""
    apart: dict[str, float] = {}
    for per_class in dict.fromkeys(row["param_per_class"] for row in rows if row["param_kernel"] == kernel):
        for part, method in product(PARTS, CONVEX):
            theirs = published_mean(method, part, per_class)
            tasks = by_task(rows, part, per_class=per_class, kernel=kernel, normalized=normalized)
            if np.isfinite(theirs) and all(method in errors for errors in tasks.values()):
                apart[f"{method} {PARTS[part]}, {per_class} labels"] = float(mean_errors(tasks, method).mean()) - theirs
    if not apart:
        return []
    far = max(apart, key=lambda name: abs(apart[name]))
    text = f"the means of figure 5 at every number of labels ({kernel} kernel, {LAPLACIANS[normalized]})"
    counts = (
        f"Within {CLOSE:g} points in {{part}} of {{whole}} (methods, numbers of labels, U and T), largest difference "
        f"{apart[far]:+.2f} ({far} of each digit)"
    )
    return [claim(text, sum(abs(each) <= CLOSE for each in apart.values()), len(apart), counts)]


def of_isolet(rows: Sequence[Row], *, normalized: bool) -> list[str]:
    """Return one sentence per claim of the paper's section 5.3, verdict first, from the rows of Isolet.

    Where the transductive SVM was not run it is compared as it is drawn.
    """
    setting: dict[str, Any] = {"per_class": SPEAKER_LABELS, "kernel": "rbf", "normalized": normalized}
    errors = {part: by_task(rows, part, **setting)["isolet"] for part in PARTS}
    inside, outside = (_gains(errors[part], PAIRS) for part in PARTS)
    run = TSVM in errors["unlabeled"]
    rivals = errors["unlabeled"] if run else {**errors["unlabeled"], TSVM: drawn_errors("unlabeled")[TSVM]}
    over_tsvm = _gains(rivals, [(TSVM, method) for _, method in PAIRS])
    means = {name: (statistics.fmean(outside[name]), statistics.fmean(inside[name])) for name in inside}
    biased = [
        errors["unlabeled"][method][speaker] < error
        for method in CONVEX
        for speaker, error in errors["test"][method].items()
    ]
    return [
        f"The paper's claims of Isolet by these numbers, {LAPLACIANS[normalized]} ({RULE}):",
        _lower(inside, "LapRLS and LapSVM improve on RLS and SVM for unlabelled speakers, whoever is labelled (U)"),
        _lower(over_tsvm, "and on the TSVM" if run else "and on the TSVM (as drawn)"),
        _lower(outside, "consistently also for the speakers of isolet5 (T)"),
        claim(
            "where the improvement is smaller",
            sum(t < u for t, u in means.values()),
            len(means),
            "; ".join(f"{name} {t:.2f} points for {u:.2f}" for name, (t, u) in means.items()),
        ),
        claim(
            "all algorithms do better on speakers of the same group",
            sum(biased),
            len(biased),
            "U below T in {part} of {whole} (speakers, methods)",
        ),
        _next_to_the_drawing(errors),
    ]


def _gains(errors: Errors, pairs: Iterable[tuple[str, str]]) -> dict[str, list[float]]:
    """Return what the second method of a pair errs less than the first, speaker by speaker."""
    return {
        f"{method} against {rival}": [errors[rival][speaker] - error for speaker, error in errors[method].items()]
        for rival, method in pairs
    }


def _lower(gains: Mapping[str, Sequence[float]], text: str) -> str:
    lower = {name: sum(gain > 0 for gain in each) for name, each in gains.items()}
    counts = "; ".join(
        f"{name}: for {lower[name]} of {len(each)} speakers, by {statistics.fmean(each):.2f} points in the mean "
        f"(p {paired_p_value(each, np.zeros(len(each))):.0e})"
        for name, each in gains.items()
    )
    return claim(text, sum(lower.values()), sum(map(len, gains.values())), counts)


def _next_to_the_drawing(errors: Mapping[str, Errors]) -> str:
    """Say how near the means and the single speakers of figure 6 are."""
    distances, largest, correlations = [], [], []
    for part in PARTS:
        drawn = drawn_errors(part)
        for method, by_speaker in errors[part].items():
            ours = np.array(list(by_speaker.values()))
            theirs = np.array([drawn[method][speaker] for speaker in by_speaker])
            distances.append(abs(statistics.fmean(ours) - published_mean(method, part, SPEAKER_LABELS)))
            largest.append(float(np.abs(ours - theirs).max()))
            correlations.append(correlation(ours, theirs))
    return claim(
        "the means of figure 6",
        sum(distance <= CLOSE for distance in distances),
        len(distances),
        f"Within {CLOSE:g} points in {{part}} of {{whole}}, largest difference {max(distances):.2f}; of a single "
        f"speaker {max(largest):.2f}; least correlation with the drawing over the speakers {min(correlations)}",
    )


def of_laplacians(rows: Sequence[Row]) -> list[str]:
    """Say setting by setting which Laplacian explains the published errors of LapRLS and LapSVM.

    Settings without both Laplacians, or without published errors, are left out.
    """
    settings = dict.fromkeys(
        (row["param_kernel"], row["param_per_class"], row["dataset"].split()[0])
        for row in rows
        if row["param_normalized"] and not row["dataset"].startswith("digits")
    )
    sentences = []
    for kernel, per_class, source in settings:
        both = [{"per_class": per_class, "kernel": kernel, "normalized": normalized} for normalized in LAPLACIANS]
        means = [
            (published_mean(method, part, per_class), *(_mean(rows, method, part, setting) for setting in both))
            for part, (_, method) in product(PARTS, PAIRS)
        ]
        means = [each for each in means if not np.isnan(each).any()]
        if not means:
            continue
        theirs, plain, normalised = zip(*means, strict=True)
        name = f"{source}, {per_class} per class, {kernel} kernel" if kernel != "rbf" else source
        sentences.append(verdict_on(f"{name}, LapRLS and LapSVM", theirs, {False: plain, True: normalised}))
        if kernel != "rbf" and per_class == TSVM_LABELS:
            drawn = [figure_4_mean(method) for _, method in PAIRS]
            inside = {False: plain[: len(drawn)], True: normalised[: len(drawn)]}
            sentences.append(verdict_on(f"{name}, LapRLS and LapSVM, compared with figure 4", drawn, inside))
    return ["Which Laplacian the published numbers belong to:", *sentences] if sentences else []


def of_intercepts(rows: Sequence[Row]) -> list[str]:
    """Say what LapRLS and LapSVM err with and without an intercept, by Laplacian, with the plain kernel, on U."""
    methods = [name for pair in zip(VARIANTS, (method for _, method in PAIRS), strict=True) for name in reversed(pair)]
    sentences = []
    numbers = dict.fromkeys(row["param_per_class"] for row in rows if row["method"] in VARIANTS)
    for per_class, normalized in product(numbers, LAPLACIANS):
        setting = {"per_class": per_class, "kernel": "plain", "normalized": normalized}
        means = {method: _mean(rows, method, "unlabeled", setting) for method in methods}
        errors = ", ".join(f"{method} {mean:.2f}" for method, mean in means.items())
        sentences.append(f"{per_class} per class, plain kernel, {LAPLACIANS[normalized]}, U: {errors}.")
    head = "With and without an intercept (of the paper's LapRLS has none, LapSVM one):"
    return [head, *sentences] if sentences else []


def _mean(rows: Sequence[Row], method: str, part: str, setting: Mapping[str, Any]) -> float:
    tasks = {task: errors for task, errors in by_task(rows, part, **setting).items() if method in errors}
    return float(mean_errors(tasks, method).mean()) if tasks else np.nan
