"""Small studies for claims of the spectrum paper (STORM, STOAM, MKL, KTA) that its table does not judge.

As in `_claims_manifold`: `STUDIES`. Tasks and graphs are those of `shivaswamy_jebara_2010`, 60
labels, C = 10 and B = 1.5 throughout, as `python -m reproduction figures spectra` has them; nothing is tuned. The first
eigenvector is constant and left out of every spectrum.
"""

import time
from pathlib import Path

import numpy as np

from reproduction.papers._claims.manifold import Study, hidden_error
from reproduction.papers._protocols import shivaswamy_jebara_fits as fits
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
    spectrum = laplacian_eigenpairs(W, q=Q, normalized=False)
    middle = time.process_time()
    laplacian_eigenpairs(W, q=Q, method="dense", normalized=False)
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
STUDIES: dict[str, Study] = {
    "learned spectra": (spectra, PAIRS, 4),
    "eigenvectors and graphs": (numbers_and_graphs, PAIRS, 4),
    "costs of STORM": (costs, PAIRS[:1], 5),
}
