"""What the manifold-regularization paper claims of its experiments, put to our rows.

`claims` gives a sentence with a verdict for each of them; the other functions are the means that figures draw.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from specmargin.experiments.claims import LAPLACIANS, verdict
from specmargin.experiments.engine.published import published
from specmargin.experiments.engine.records import Row, worst_gap
from specmargin.experiments.engine.significance import Errors, paired_comparison
from specmargin.papers._belkin_tasks import (
    GRAPH,
    KERNELS,
    METHODS,
    PAIRS,
    PARTS,
    TSVM,
    TSVM_LABELS,
    Plan,
    gammas,
)
from specmargin.typing import FloatArray

__all__ = [
    "CERTIFIED",
    "PAPER",
    "RULE",
    "next_to_published",
    "by_task",
    "certificates",
    "claims",
    "correlation",
    "deviations",
    "figure_4_mean",
    "mean_errors",
    "parameters",
    "published_mean",
]

PAPER = "manifold_regularization_jmlr2006"

RULE = "reproduced: in 90 % or more; partly: in half or more"
"""Of the verdicts."""

CERTIFIED = 1e-6
"""Relative gap above which a fit is counted as not certified."""


def by_task(
    rows: Iterable[Row], part: str, *, per_class: int, kernel: str = "plain", normalized: bool = False
) -> dict[str, Errors]:
    """Return the errors of one setting by task, then by method and split; no failed cells.

    Parameters
    ----------
    rows : iterable of rows
        Of `work`.
    part : {"unlabeled", "test"}
        Where the errors are measured.
    per_class : int
        Labelled samples of each class.
    kernel : str, default "plain"
        As in `Plan`; "rbf" for Isolet.
    normalized : bool, default False
        The Laplacian; RLS and SVM, which have none, are part of either.
    """
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        wanted = (row["param_per_class"], row["param_kernel"]) == (per_class, kernel)
        if row["status"] == "ok" and wanted and row["param_normalized"] in (None, normalized):
            errors = found.setdefault(row["dataset"], {}).setdefault(row["method"], {})
            errors[row["split"]] = row[f"error_{part}"]
    return dict(found)


def mean_errors(tasks: Mapping[str, Errors], method: str) -> FloatArray:
    """Return a method's mean error per task, in their order."""
    return np.array([statistics.fmean(errors[method].values()) for errors in tasks.values()])


def deviations(tasks: Mapping[str, Errors], method: str) -> FloatArray:
    """Return the deviation of a method's error over the draws, per task, in their order."""
    return np.array([np.std(list(errors[method].values()), ddof=1) for errors in tasks.values()])


def published_mean(method: str, part: str, per_class: int, *, isolet: bool = False) -> float:
    """Return the published mean error over the tasks, NaN where nothing was published."""
    name, letter = _published_name(method), PARTS[part]
    if method == TSVM and not isolet:  # figure 5 has none
        return figure_4_mean(method) if (part, per_class) == ("unlabeled", TSVM_LABELS) else np.nan
    if isolet:
        table = published(PAPER, "figure 6", "isolet_split", name, split=letter)
    else:
        table = published(PAPER, "figure 5", "usps_pairs", name, split=letter)
        table = table[table["n_labeled"] == per_class]
    return float(table["mean"].mean())


def figure_4_mean(method: str) -> float:
    """Return the mean over the pairs that figure 4 draws, with two labels; it does not say of which samples.

    Examples
    --------
    >>> round(figure_4_mean("LapRLS"), 2), round(published_mean("LapRLS", "unlabeled", 2), 2)
    (2.17, 2.82)
    """
    return float(published(PAPER, "figure 4", "usps_pairs", _published_name(method))["mean"].mean())


def _published_name(method: str) -> str:
    return "tsvm" if method == TSVM else METHODS[method].published


def claims(rows: Sequence[Row], *, per_class: int = 2, kernel: str = "plain", normalized: bool = False) -> list[str]:
    """Return one sentence per claim of the paper's section 5.2, verdict first (`verdict`).

    Parameters
    ----------
    rows : sequence of rows
        Of `work`, over pairs of digits.
    per_class : int, default 2
        The number of labels that is looked at.
    kernel : str, default "plain"
        The kernel that is looked at.
    normalized : bool, default False
        The Laplacian that is looked at.
    """
    setting: dict[str, Any] = {"per_class": per_class, "kernel": kernel, "normalized": normalized}
    parts = {part: by_task(rows, part, **setting) for part in PARTS}
    inside, outside = parts["unlabeled"], parts["test"]
    sentences = []
    for supervised, regularised in PAIRS:
        comparisons = {
            part: paired_comparison(tasks.values(), regularised, supervised) for part, tasks in parts.items()
        }
        lower = sum(result.lower for result in comparisons.values())
        counts = "; ".join(
            f"{PARTS[part]}: lower mean error in {d.lower} of {d.rows} pairs ({d.clearly_lower} significant), "
            f"higher in {d.higher} ({d.clearly_higher})"
            for part, d in comparisons.items()
        )
        sentences.append(
            f"{verdict(lower, sum(d.rows for d in comparisons.values()))}: {regularised} improves significantly on "
            f"{supervised}. {counts}."
        )
    if all(TSVM in errors for errors in inside.values()):
        rivals = {method: paired_comparison(inside.values(), method, TSVM) for _, method in PAIRS}
        well = sum(d.rows - d.clearly_higher for d in rivals.values())
        counts = "; ".join(
            f"{method}: significantly lower in {d.clearly_lower} of {d.rows} pairs, higher in {d.clearly_higher}"
            for method, d in rivals.items()
        )
        sentences.append(
            f"{verdict(well, sum(d.rows for d in rivals.values()))}: manifold regularization compares well with the "
            f"TSVM or outperforms it (U). {counts}; mean of the TSVM {mean_errors(inside, TSVM).mean():.2f}, as drawn "
            f"{published_mean(TSVM, 'unlabeled', per_class):.2f}."
        )
    steady = [deviations(tasks, b) < deviations(tasks, a) for a, b in PAIRS for tasks in parts.values()]
    part, whole = int(np.sum(steady)), int(np.size(steady))
    sentences.append(
        f"{verdict(part, whole)}: the Laplacian algorithms are more stable with respect to the choice of the labelled "
        f"samples. Smaller deviation over the draws in {part} of {whole} (pairs, U and T, both losses)."
    )
    for _, method in PAIRS:
        u, t = mean_errors(inside, method), mean_errors(outside, method)
        close = np.abs(t - u) <= 1.0
        sentences.append(
            f"{verdict(int(close.sum()), len(close))}: the out-of-sample extension of {method} is good. T within one "
            f"point of U in {close.sum()} of {len(close)} pairs; mean U {u.mean():.2f}, T {t.mean():.2f}, largest "
            f"difference {np.abs(t - u).max():.2f}, correlation {correlation(u, t)}."
        )
    alike = [np.abs(mean_errors(tasks, "LapRLS") - mean_errors(tasks, "LapSVM")) for tasks in parts.values()]
    part, whole = int(np.sum(np.less(alike, 0.5))), int(np.size(alike))
    sentences.append(
        f"{verdict(part, whole)}: LapRLS and LapSVM do about the same. Mean errors within half a point in {part} of "
        f"{whole} (pairs, U and T), largest difference {np.max(alike):.2f}."
    )
    return [f"The paper's claims by these numbers, {kernel} kernel, {LAPLACIANS[normalized]} ({RULE}):", *sentences]


def correlation(a: FloatArray, b: FloatArray) -> str:
    """Return the correlation of two series in words, "-" where there is none."""
    return f"{np.corrcoef(a, b)[0, 1]:.2f}" if len(a) > 2 and np.ptp(a) > 0 and np.ptp(b) > 0 else "-"


def next_to_published(rows: Sequence[Row], plan: Plan, kernel: str = "plain") -> dict[str, dict[str, dict[str, float]]]:
    """Return mean errors over the pairs by labels per class, then by method: ours and the published ones, U and T."""
    found: dict[str, dict[str, dict[str, float]]] = {}
    real = plan.tasks[0].startswith("usps")
    for per_class in plan.per_class:
        each = found[str(per_class)] = {method: {} for method in METHODS}
        for part, letter in PARTS.items():
            tasks = by_task(rows, part, per_class=per_class, kernel=kernel)
            for method in METHODS:
                each[method][letter] = float(mean_errors(tasks, method).mean())
                value = published_mean(method, part, per_class) if real else np.nan
                each[method][f"published {letter}"] = value
    return found


def parameters(plan: Plan) -> dict[str, Any]:
    """Return what a figure's sidecar says of a plan."""
    return {
        "pairs": len(plan.tasks),
        "per_class": list(plan.per_class),
        "draws": plan.n_draws,
        "training images per digit, at most": plan.n,
        "kernels": {**KERNELS, "used": list(plan.kernels)},
        "graph": {**GRAPH, "normalized": list(plan.normalized)},
        "machines": {
            name: {
                "loss": method.options["loss"],
                "gamma_A": gammas(name, "usps")[0],
                "gamma_I": gammas(name, "usps")[1],
                "intercept": method.options["fit_intercept"],
            }
            for name, method in METHODS.items()
        },
    }


def certificates(rows: Sequence[Row]) -> dict[str, Any]:
    """Return what a figure's sidecar says of the certificates."""
    return {
        "fits": len(rows),
        "worst relative gap": worst_gap(rows),
        f"with a relative gap above {CERTIFIED:g}": sum(abs(row.get("relative_gap", 0.0)) > CERTIFIED for row in rows),
    }
