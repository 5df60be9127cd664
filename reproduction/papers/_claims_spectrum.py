"""Small studies for claims of the spectrum paper (STORM, STOAM, MKL, KTA) that its table does not judge.

As in `_claims_manifold`: `MEASURES`, `SETS` and `JUDGES`. Tasks and graphs are those of `shivaswamy_jebara_2010`, 60
labels, C = 10 and B = 1.5 throughout, as `python -m reproduction figures spectra` has them; nothing is tuned. The first
eigenvector is constant and left out of every spectrum.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from reproduction.claims import claim
from reproduction.engine.records import Row
from reproduction.papers import _shivaswamy_jebara_fits as fits
from reproduction.papers._claims_manifold import Measure, hidden_error, mean_of
from specmargin.labels import Labels, encode_labels, hide_labels
from specmargin.objectives import Alignment, SpectrumMargin
from specmargin.results import SolveResult
from specmargin.solvers import alignment, spectrum_margin
from specmargin.spectra import Spectrum, laplacian_eigenpairs
from specmargin.typing import FloatArray, IntArray

N, Q, LABELED, C, B = 1000, 200, 60, 10.0, 1.5
FIRST = 5
"""Eigenvectors that are "the top few"."""
NUMBERS, LABELS = (25, 50, 100, 200), (20, 40, 80, 160)
KINDS = ("symmetric", "mutual+mst", "mutual")


def drawn(name: str, draw: int, data: Path | None, n_labeled: int = LABELED) -> tuple[IntArray, Labels]:
    """Return the classes of a task's samples, and a draw of the labels."""
    y = np.asarray(fits.samples(name, N, data)[1])
    return y, encode_labels(hide_labels(y, n_labeled=n_labeled, random_state=draw))


def learned(spectrum: Spectrum, labels: Labels) -> dict[str, tuple[FloatArray, SolveResult]]:
    """Return the spectra and the answers of KTA, STOAM, STORM and both MKL."""
    aligned = np.asarray(alignment(Alignment(spectrum, labels)).variables["delta"])
    answers = {
        "KTA": spectrum_margin(SpectrumMargin(spectrum, labels, C=C, delta=aligned)),
        "STOAM": spectrum_margin(SpectrumMargin(spectrum, labels, C=C)),
        "STORM": spectrum_margin(SpectrumMargin(spectrum, labels, C=C, B=B)),
        "MKL-S": spectrum_margin(SpectrumMargin(spectrum, labels, C=C, order=False)),
        "MKL-R": spectrum_margin(SpectrumMargin(spectrum, labels, C=C, B=B, order=False)),
    }
    return {
        name: (aligned if name == "KTA" else np.asarray(result.variables["delta"]), result)
        for name, result in answers.items()
    }


def shares(delta: FloatArray) -> FloatArray:
    """Return the shares of the weight, from the second eigenvector on.

    Examples
    --------
    >>> shares(np.array([9.0, 3.0, 1.0])).tolist()
    [0.75, 0.25]
    """
    return delta[1:] / delta[1:].sum()


def apart(a: FloatArray, b: FloatArray) -> float:
    """Return the share of the weight that lies elsewhere in b than in a."""
    return 0.5 * float(np.abs(a - b).sum())


def spectra(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Return errors, objectives and shapes of all learned spectra on one draw, and what eps = 1e-6 changes."""
    spectrum, (y, labels) = fits.eigenpairs(name, N, Q, data), drawn(name, draw, data)
    answers = learned(spectrum, labels)
    weights = {method: shares(delta) for method, (delta, _) in answers.items()}
    row: dict[str, float] = {}
    for method, (_, result) in answers.items():
        row[f"error_{method}"] = hidden_error(result.variables["f"], y, labels)
        row[f"objective_{method}"] = float(result.certificate.primal_objective)
        row[f"first_{method}"] = float(weights[method][:FIRST].sum())
        row[f"rises_{method}"] = float((np.diff(weights[method]) > 1e-6 * weights[method].max()).sum())
    for pair, others in (
        (("STOAM", "STORM"), ("KTA", "MKL-S", "MKL-R")),
        (("MKL-S", "MKL-R"), ("KTA", "STOAM", "STORM")),
    ):
        a, b = (weights[method] for method in pair)
        row[f"apart_{pair[1]}"] = apart(a, b)
        row[f"others_{pair[1]}"] = min(apart(each, weights[other]) for each in (a, b) for other in others)
    eps = spectrum_margin(SpectrumMargin(spectrum, labels, C=C, B=B, eps=1e-6)).variables["f"]
    row["error_eps"] = hidden_error(eps, y, labels)
    other = (np.asarray(eps) > 0) != (np.asarray(answers["STORM"][1].variables["f"]) > 0)
    return {**row, "changed_eps": 100.0 * float(other.mean())}


def numbers_and_graphs(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Return the errors of all methods for fewer and more eigenvectors, and on the other kinds of graph."""
    y, labels = drawn(name, draw, data)
    variants = [*((str(q), q, KINDS[0]) for q in NUMBERS), *((kind, Q, kind) for kind in KINDS[1:])]
    row: dict[str, float] = {}
    for key, q, kind in variants:
        answers = learned(fits.eigenpairs(name, N, q, data, kind), labels)
        row |= {
            f"error_{key}_{m}": hidden_error(result.variables["f"], y, labels) for m, (_, result) in answers.items()
        }
    return row


def costs(name: str, draw: int, data: Path | None) -> dict[str, float]:
    """Return processor seconds of STORM over q and l, and of the eigenpairs, dense and as we find them."""
    W = fits.neighbor_graph(name, N, data)
    start = time.process_time()
    spectrum = laplacian_eigenpairs(W, q=Q)
    middle = time.process_time()
    laplacian_eigenpairs(W, q=Q, method="dense")
    row = {"seconds_eigenpairs": middle - start, "seconds_dense": time.process_time() - middle}
    for column, values in (("q", NUMBERS), ("l", LABELS)):
        for value in values:
            part = fits.eigenpairs(name, N, value, data) if column == "q" else spectrum
            y, labels = drawn(name, draw, data, value if column == "l" else LABELED)
            start = time.process_time()
            for _ in range(3):
                result = spectrum_margin(SpectrumMargin(part, labels, C=C, B=B))
            row[f"seconds_{column}_{value}"] = (time.process_time() - start) / 3.0
            row[f"error_{column}_{value}"] = hidden_error(result.variables["f"], y, labels)
    return row


PAIRS = (*(f"mnist {pair}" for pair in fits.DIGITS), *(f"20news {pair}" for pair in fits.TEXT))
MEASURES: dict[str, Measure] = {
    "learned spectra": spectra,
    "eigenvectors and graphs": numbers_and_graphs,
    "costs of STORM": costs,
}
SETS: dict[str, tuple[tuple[str, ...], int]] = {
    "learned spectra": (PAIRS, 4),
    "eigenvectors and graphs": (PAIRS, 2),
    "costs of STORM": (PAIRS[:1], 1),
}


def _judge_spectra(rows: Sequence[Row]) -> list[str]:
    cases = f"tasks, draws, of {len({row['dataset'] for row in rows})} tasks"
    pairs = (("MKL-S", "STOAM"), ("MKL-R", "STORM"))
    fitted = [
        (row[f"objective_{a}"] < row[f"objective_{b}"], row[f"error_{a}"] > row[f"error_{b}"])
        for row in rows
        for a, b in pairs
    ]
    near = [row[f"apart_{b}"] < row[f"others_{b}"] for row in rows for b in ("STORM", "MKL-R")]
    steep = [row["first_KTA"] > row[f"first_{other}"] for row in rows for other in ("STORM", "STOAM", "MKL-S", "MKL-R")]
    broken = [row[f"rises_{m}"] >= 1 for row in rows for m in ("MKL-S", "MKL-R")]
    alike = sum(abs(row["error_eps"] - row["error_STORM"]) <= 0.5 for row in rows)
    tops = ", ".join(
        f"{m} {100 * mean_of(rows, f'first_{m}'):.0f} %" for m in ("KTA", "STOAM", "STORM", "MKL-S", "MKL-R")
    )
    return [
        claim(
            "without the order the objective is better and the error worse: over-fitting (experiments)",
            sum(lower and worse for lower, worse in fitted),
            len(fitted),
            f"Both in {{part}} of {{whole}} ({cases}, S and R); the objective is lower in {sum(a for a, _ in fitted)}, "
            f"the error higher in {sum(b for _, b in fitted)}",
        ),
        claim(
            "the spectra of STOAM and STORM, and of MKL-S and MKL-R, are closer to each other than to the others",
            sum(near),
            len(near),
            f"In {{part}} of {{whole}} ({cases}, pairs); of the weight {100 * mean_of(rows, 'apart_STORM'):.0f} and "
            f"{100 * mean_of(rows, 'apart_MKL-R'):.0f} % lie elsewhere within the pairs, "
            f"{100 * mean_of(rows, 'others_STORM'):.0f} and {100 * mean_of(rows, 'others_MKL-R'):.0f} % next to others",
        ),
        claim(
            "KTA weighs the top few eigenvectors significantly more (experiments, figure 1)",
            sum(steep),
            len(steep),
            f"More on the first {FIRST} in {{part}} of {{whole}} ({cases}, rivals); mean shares {tops}",
        ),
        claim(
            "multiple kernel learning fails to keep the order (derivation, experiments)",
            sum(broken),
            len(broken),
            f"A weight rises in {{part}} of {{whole}} ({cases}, S and R), {mean_of(rows, 'rises_MKL-R'):.0f} times "
            "in the mean of MKL-R",
        ),
        claim(
            "eps is not a parameter: the result does not depend on it (derivation)",
            alike,
            len(rows),
            f"The error of STORM with 1e-6 is within half a point of that with 0 in {{part}} of {{whole}} ({cases}); "
            f"{mean_of(rows, 'changed_eps'):.2f} % of the decisions differ in the mean",
        ),
    ]


_METHODS = ("KTA", "STOAM", "STORM", "MKL-S", "MKL-R")


def _judge_numbers(rows: Sequence[Row]) -> list[str]:
    means = {key: {m: mean_of(rows, f"error_{key}_{m}") for m in _METHODS} for key in (*map(str, NUMBERS), *KINDS[1:])}
    pairs = [(a, b) for i, a in enumerate(_METHODS) for b in _METHODS[i + 1 :]]
    base = means[str(Q)]
    same = [(means[key][a] < means[key][b]) == (base[a] < base[b]) for key in map(str, NUMBERS[:-1]) for a, b in pairs]
    rivals = [(kind, rival) for kind in KINDS[1:] for rival in ("KTA", "MKL-S", "MKL-R")]
    lower = sum(min(means[kind]["STORM"], means[kind]["STOAM"]) < means[kind][rival] for kind, rival in rivals)

    def listed(keys: Sequence[str]) -> str:
        return "; ".join(f"{key}: {', '.join(f'{m} {means[key][m]:.2f}' for m in _METHODS)}" for key in keys)

    return [
        claim(
            "q = 200 favours nobody (experiments)",
            sum(same),
            len(same),
            f"The order of two methods by mean error is that of q = {Q} in {{part}} of {{whole}} (numbers, pairs of "
            f"methods). {listed([str(q) for q in NUMBERS])}",
        ),
        claim(
            "with mutual neighbours, the literal protocol, STORM or STOAM errs least as well (experiments)",
            lower,
            len(rivals),
            f"Less than KTA and both MKL in {{part}} of {{whole}} (graphs, rivals), nothing tuned. {listed(KINDS[1:])}",
        ),
    ]


def _judge_costs(rows: Sequence[Row]) -> list[str]:
    def slope(column: str, values: Sequence[int]) -> float:
        seconds = [max(mean_of(rows, f"seconds_{column}_{value}"), 1e-6) for value in values]
        return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])

    of_q, of_l = slope("q", NUMBERS), slope("l", LABELS)
    ours, pairs, dense = (mean_of(rows, f"seconds_{name}") for name in (f"q_{Q}", "eigenpairs", "dense"))
    holds = [of_q <= 1.3, of_l <= 3.3, ours < 0.5 * dense]
    counts = (
        f"{{part}} of {{whole}} hold: slopes of log seconds {of_q:.2f} over log q and {of_l:.2f} over log l, and "
        f"{ours:.3f} s next to {dense:.2f} s of all eigenpairs of n = {N} (ours, the {Q} lowest alone, {pairs:.2f} s)"
    )
    text = "STORM is solved in O(q l^3), little next to the eigendecomposition's O(n^3) (derivation)"
    return [claim(text, sum(holds), len(holds), counts)]


JUDGES: dict[str, Callable[[Sequence[Row]], list[str]]] = {
    "learned spectra": _judge_spectra,
    "eigenvectors and graphs": _judge_numbers,
    "costs of STORM": _judge_costs,
}
