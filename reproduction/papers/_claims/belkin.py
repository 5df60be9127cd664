"""What the manifold-regularization paper claims of its experiments, put to our rows, next to its published errors.

`of_pairs` has a sentence with a verdict for each claim of the pairs of digits, `of_isolet` for those of Isolet, and
`of_laplacians` says which Laplacian explains the published errors; the other functions are what figures draw. The
speakers of Isolet are those of figure 6, in the same order, so that errors are compared speaker by speaker.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from reproduction.claims import LAPLACIANS, verdict_on
from reproduction.engine.published import published
from reproduction.engine.records import Row
from reproduction.engine.significance import Errors
from reproduction.judging import TABLE_CLAIMS, judge, wide_frame
from reproduction.papers._protocols.belkin_fits import (
    METHODS,
    PAIRS,
    PARTS,
    SPEAKER_LABELS,
    TSVM,
    TSVM_LABELS,
    VARIANTS,
)
from specmargin.typing import FloatArray

PAPER = "manifold_regularization_jmlr2006"
CLAIMS = TABLE_CLAIMS[PAPER]


def by_task(
    rows: Iterable[Row], part: str, *, per_class: int, kernel: str = "plain", normalized: bool = False
) -> dict[str, Errors]:
    """Return the errors of one setting by task, then by method and split; no failed cells.

    `part` is "unlabeled" or "test", `kernel` as in `Plan`, "rbf" for Isolet. Methods without a Laplacian are part of
    either setting of `normalized`.
    """
    tasks: dict[str, dict[str, dict[str, float]]] = {}
    for row in _of_setting(rows, per_class, kernel, normalized):
        tasks.setdefault(row["dataset"], {}).setdefault(row["method"], {})[row["split"]] = row[f"error_{part}"]
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
    frame = wide_frame(
        _of_setting(rows, per_class, kernel, normalized),
        {letter: f"error_{part}" for part, letter in PARTS.items()},
        drawn=published_mean(TSVM, "unlabeled", per_class),
    )
    fit = ", whose scale is fitted to figure 5" if kernel == "fitted" else ""
    judged = judge(CLAIMS, {"pairs of digits": frame})
    return [f"Pairs of digits, {kernel} kernel{fit}, {LAPLACIANS[normalized]}:", *judged] if judged else []


def _of_setting(rows: Iterable[Row], per_class: int, kernel: str, normalized: bool) -> list[Row]:
    return [
        row
        for row in rows
        if row["status"] == "ok"
        and (row["param_per_class"], row["param_kernel"]) == (per_class, kernel)
        and row["param_normalized"] in (None, normalized)
    ]


def of_settings(rows: Sequence[Row]) -> list[str]:
    """Return the claims that speak of all numbers of labels, by kernel and Laplacian, the paper's first."""
    sentences = []
    kernels = sorted({row["param_kernel"] for row in rows}, key=("fitted", "plain", "unit").index)
    for kernel, normalized in product(kernels, LAPLACIANS):
        numbers = dict.fromkeys(row["param_per_class"] for row in rows if row["param_kernel"] == kernel)
        frames = [_means_over_pairs(rows, per_class, kernel, normalized) for per_class in sorted(numbers)]
        judged = judge(CLAIMS, {"settings": pd.concat(frames)})
        sentences += [f"Numbers of labels, {kernel} kernel, {LAPLACIANS[normalized]}:", *judged] if judged else []
    return sentences


def _means_over_pairs(rows: Sequence[Row], per_class: int, kernel: str, normalized: bool) -> pd.DataFrame:
    """Return the errors of a setting by draw, each the mean over the pairs."""
    columns = {letter: f"error_{part}" for part, letter in PARTS.items()}
    means: Any = (
        wide_frame(_of_setting(rows, per_class, kernel, normalized), columns).groupby("split", sort=False).mean()
    )
    return means.assign(dataset=f"{per_class} labels", per_class=per_class).reset_index()


def of_isolet(rows: Sequence[Row], *, normalized: bool) -> list[str]:
    """Return one sentence per claim of the paper's section 5.3, verdict first, from the rows of Isolet.

    Where the transductive SVM was not run it is compared as it is drawn.
    """
    of_setting = _of_setting(rows, SPEAKER_LABELS, "rbf", normalized)
    frame = wide_frame(of_setting, {letter: f"error_{part}" for part, letter in PARTS.items()})
    frame.attrs["as_drawn"] = "" if "U_TSVM" in frame else ", as drawn"
    if frame.attrs["as_drawn"]:
        frame["U_TSVM"] = frame.index.get_level_values("split").map(drawn_errors("unlabeled")[TSVM])
    return [f"Isolet, {LAPLACIANS[normalized]}:", *judge(CLAIMS, {"isolet": frame})]


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
