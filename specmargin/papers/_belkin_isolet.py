"""What the manifold-regularization paper claims of Isolet and of its Laplacian, put to our rows.

The speakers are those of its figure 6, in the same order, so that errors are compared speaker by speaker
(`drawn_errors`). Where the transductive SVM was not run it is compared as it is drawn.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from specmargin.experiments.claims import CLOSE, LAPLACIANS, verdict, verdict_on
from specmargin.experiments.engine.published import published
from specmargin.experiments.engine.records import Row
from specmargin.experiments.engine.significance import Errors, paired_p_value
from specmargin.papers._belkin_claims import (
    PAPER,
    RULE,
    by_task,
    correlation,
    figure_4_mean,
    mean_errors,
    published_mean,
)
from specmargin.papers._belkin_tasks import (
    METHODS,
    PAIRS,
    PARTS,
    SPEAKER_LABELS,
    TSVM,
    TSVM_LABELS,
    speaker_name,
)

__all__ = ["drawn_errors", "isolet_claims", "isolet_errors", "laplacian_verdicts"]


def isolet_errors(rows: Iterable[Row], part: str, *, normalized: bool) -> Errors:
    """Return the errors on Isolet by method and speaker, as `manifold_claims.by_task` does; empty if there are none."""
    found = by_task(rows, part, per_class=SPEAKER_LABELS, kernel="rbf", normalized=normalized)
    return found.get("isolet", {})


def drawn_errors(part: str) -> dict[str, dict[str, float]]:
    """Return the errors that figure 6 draws, by method ("TSVM" among them) and speaker.

    Parameters
    ----------
    part : {"unlabeled", "test"}
        Where they are measured.

    Examples
    --------
    >>> drawn_errors("unlabeled")["LapRLS"]["speaker-01"]
    19.84
    """
    names = {method.published: name for name, method in METHODS.items()} | {"tsvm": TSVM}
    table = published(PAPER, "figure 6", "isolet_split", split=PARTS[part])
    found: dict[str, dict[str, float]] = {}
    for method, note, mean in zip(table["method"], table["note"], table["mean"], strict=True):
        speaker = int(note.partition("speaker_index=")[2].partition(";")[0])
        found.setdefault(names[method], {})[speaker_name(speaker)] = float(mean)
    return found


def isolet_claims(rows: Sequence[Row], *, normalized: bool) -> list[str]:
    """Return one sentence per claim of the paper's section 5.3, verdict first (`claims.verdict`).

    Parameters
    ----------
    rows : sequence of rows
        Of `belkin_2006.work`; those of Isolet are looked at.
    normalized : bool
        The Laplacian.
    """
    errors = {part: isolet_errors(rows, part, normalized=normalized) for part in PARTS}
    gains = {part: _gains(errors[part], dict(PAIRS)) for part in PARTS}
    inside, outside = gains["unlabeled"], gains["test"]
    sentences = [
        _lower(inside, "LapRLS and LapSVM improve on RLS and SVM for unlabelled speakers, whoever is labelled (U)"),
        _lower(
            _gains({TSVM: drawn_errors("unlabeled")[TSVM], **errors["unlabeled"]}, {TSVM: ("LapRLS", "LapSVM")}),
            "and on the TSVM" if TSVM in errors["unlabeled"] else "and on the TSVM (as drawn)",
        ),
        _lower(outside, "consistently also for the speakers of isolet5 (T)"),
    ]
    smaller = [statistics.fmean(outside[name]) < statistics.fmean(inside[name]) for name in inside]
    sentences.append(
        f"{verdict(sum(smaller), len(smaller))}: where the improvement is smaller. "
        + "; ".join(
            f"{name} {statistics.fmean(outside[name]):.2f} points for {statistics.fmean(inside[name]):.2f}"
            for name in inside
        )
        + "."
    )
    biased = [
        errors["unlabeled"][method][speaker] < error
        for method in METHODS
        for speaker, error in errors["test"][method].items()
    ]
    sentences.append(
        f"{verdict(sum(biased), len(biased))}: all algorithms do better on speakers of the same group. U below T in "
        f"{sum(biased)} of {len(biased)} (speakers, methods)."
    )
    return [
        f"The paper's claims of Isolet by these numbers, {LAPLACIANS[normalized]} ({RULE}):",
        *sentences,
        _next_to_the_drawing(errors),
    ]


def _gains(errors: Errors, rivals: Mapping[str, str | Sequence[str]]) -> dict[str, list[float]]:
    """Return what a regularised method errs less than its rival, speaker by speaker."""
    pairs = [
        (rival, method)
        for rival, methods in rivals.items()
        for method in ([methods] if isinstance(methods, str) else methods)
    ]
    return {
        f"{method} against {rival}": [errors[rival][s] - error for s, error in errors[method].items()]
        for rival, method in pairs
    }


def _lower(gains: Mapping[str, Sequence[float]], claim: str) -> str:
    lower = {name: sum(gain > 0 for gain in each) for name, each in gains.items()}
    counts = "; ".join(
        f"{name}: for {lower[name]} of {len(each)} speakers, by {statistics.fmean(each):.2f} points in the mean "
        f"(p {paired_p_value(each, [0.0] * len(each)):.0e})"
        for name, each in gains.items()
    )
    return f"{verdict(sum(lower.values()), sum(map(len, gains.values())))}: {claim}. {counts}."


def _next_to_the_drawing(errors: Mapping[str, Errors]) -> str:
    """Say how near the means and the single speakers of figure 6 are."""
    differences, apart, alike = [], [], []
    for part in PARTS:
        drawn = drawn_errors(part)
        for method in errors[part]:
            ours = errors[part][method]
            theirs = [drawn[method][speaker] for speaker in ours]
            values = list(ours.values())
            differences.append(abs(statistics.fmean(values) - published_mean(method, part, 0, isolet=True)))
            apart.append(float(np.max(np.abs(np.subtract(values, theirs)))))
            alike.append(correlation(np.array(values), np.array(theirs)))
    near = sum(difference <= CLOSE for difference in differences)
    return (
        f"{verdict(near, len(differences))}: the means of figure 6. Within {CLOSE:g} points in {near} of "
        f"{len(differences)}, largest difference {max(differences):.2f}; of a single speaker {max(apart):.2f}; least "
        f"correlation with the drawing over the speakers {min(alike)}."
    )


def laplacian_verdicts(rows: Sequence[Row]) -> list[str]:
    """Say setting by setting which Laplacian explains the published errors of LapRLS and LapSVM.

    Parameters
    ----------
    rows : sequence of rows
        Of `belkin_2006.work`. Settings without both Laplacians, or without published errors, are left out.
    """
    settings = dict.fromkeys(
        (row["param_kernel"], row["param_per_class"], row["dataset"].split()[0])
        for row in rows
        if row["param_normalized"] and not row["dataset"].startswith("digits")
    )
    sentences = []
    for kernel, per_class, source in settings:
        printed: list[float] = []
        ours: dict[bool, list[float]] = {False: [], True: []}
        for part in PARTS:
            for _, method in PAIRS:
                value = published_mean(method, part, per_class, isolet=source == "isolet")
                means = {normalized: _mean(rows, method, part, per_class, kernel, normalized) for normalized in ours}
                if not np.isnan([value, *means.values()]).any():
                    printed.append(value)
                    for normalized, mean in means.items():
                        ours[normalized].append(mean)
        if printed:
            name = source if source == "isolet" else f"{source}, {per_class} per class, {kernel} kernel"
            sentences.append(verdict_on(f"{name}, LapRLS and LapSVM", printed, ours))
            if source != "isolet" and per_class == TSVM_LABELS:
                drawn = [figure_4_mean(method) for _, method in PAIRS]
                inside = {normalized: errors[: len(PAIRS)] for normalized, errors in ours.items()}
                sentences.append(verdict_on(f"{name}, LapRLS and LapSVM, beside figure 4", drawn, inside))
    return ["Which Laplacian the printed numbers belong to:", *sentences] if sentences else []


def _mean(rows: Sequence[Row], method: str, part: str, per_class: int, kernel: str, normalized: bool) -> float:
    tasks = by_task(rows, part, per_class=per_class, kernel=kernel, normalized=normalized)
    tasks = {task: errors for task, errors in tasks.items() if method in errors}
    return float(mean_errors(tasks, method).mean()) if tasks else float("nan")
