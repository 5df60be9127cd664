"""Proved decisions: how many a gap proves, and whether one ever differs from the optimum's.

    python benchmarks/decisions.py [--quick]

Sixty problems: LapSVM with four losses, with and without an intercept, on kernels, landmarks and eigenvectors, with
weights from 1e-6 to 1e6; SpectralRidge of several classes; support vector machines over given spectra, C from 1e-6 to
1e6. Each is solved to the last digit; points at a given gap then lie in random directions from the optimum.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import _harness as harness
import numpy as np

import specmargin as sm
from specmargin.objectives import LapSVM, SpectralRidge, SpectrumMargin
from specmargin.objectives.proved_decisions import decision_bounds, distances
from specmargin.objectives.spectral_ridge import power_spectrum

GAPS = (1e-2, 1e-4, 1e-6, 1e-8)


class Problem(NamedTuple):
    """An objective, its optimum, and which variables random directions change."""

    name: str
    usual: bool
    objective: Any
    optimum: dict[str, Any]
    changed: tuple[str, ...]


def data() -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
    """Yield names, samples, classes and widths."""
    from sklearn.datasets import load_digits

    yield "moons", *sm.datasets.make_two_moons(n_samples=400, noise=0.2, random_state=0), 4.0
    D, t = load_digits(return_X_y=True)
    pair = (t == 3) | (t == 8)
    yield "digits 3-8", D[pair] / 16, (t[pair] == 8).astype(int), 0.125


def problems() -> Iterator[Problem]:
    """Yield sixty problems with their optima."""
    from specmargin.kernels import LowRankKernel

    for name, X, t, width in data():
        labels = sm.encode_labels(sm.hide_labels(t, n_labeled=11, random_state=0))  # an odd number: one intercept
        W = sm.graphs.knn_graph(X, n_neighbors=8)
        K, L = sm.kernels.gram(X, gamma=width), sm.graphs.laplacian(W)
        spectrum = sm.spectra.laplacian_eigenpairs(W, q=40)
        landmarks = LowRankKernel(sm.kernels.landmark_features(X, 80, gamma=width, random_state=0)(X))
        vectors = LowRankKernel(np.sqrt(len(X)) * spectrum.eigenvectors[:, 1:])
        weights = [(1e-2, 1.0), (1e-4, 1e-2), (1e-1, 10.0), (1e-6, 1e-6), (1e6, 1e6), (1e-6, 1e6)]
        for i, (loss, (gamma_A, gamma_I)) in enumerate(
            itertools.product(("hinge", "squared_hinge", "squared", "huber_hinge"), weights)
        ):
            kind, kernel = [("kernel", K), ("landmarks", landmarks), ("eigenvectors", vectors)][i % 3]
            options: dict[str, Any] = {"gamma_A": gamma_A, "gamma_I": gamma_I, "fit_intercept": i % 2 == 0}
            objective = LapSVM(kernel, L, labels, loss=loss, **options)
            answer = sm.solvers.factorized(objective, tol=1e-13)
            usual = 1e-6 < gamma_A < 1e6
            text = f"{name}, {kind}, {loss}, {gamma_A:g}, {gamma_I:g}"
            yield Problem(text, usual, objective, dict(answer.variables), ("alpha", "b"))
        delta = power_spectrum(spectrum)
        for C in (1e-6, 1.0, 10.0, 1e6):
            margin = SpectrumMargin(spectrum, labels, C=C, B=1.5 if C == 1.0 else np.inf, delta=delta)
            answer = sm.solvers.spectrum_margin(margin, tol=1e-13)
            yield Problem(f"{name}, SVM, C = {C:g}", 1e-6 < C < 1e6, margin, dict(answer.variables), ("v", "b"))
        ten = sm.encode_labels(sm.hide_labels(np.arange(len(X)) % 2 + 2 * t, per_class=5, random_state=0))
        for penalty in (1e-6, 0.1):
            ridge = SpectralRidge(spectrum, ten, delta, penalty)
            answer = sm.solvers.spectral_ridge(ridge, tol=1e-13)
            yield Problem(
                f"{name}, four classes, penalty {penalty:g}", penalty > 1e-6, ridge, dict(answer.variables), ("v", "b")
            )


def at_gap(problem: Problem, gap: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return a point of about that relative gap, in a random direction from the optimum."""
    objective, best = problem.objective, problem.optimum
    value = objective.value(best)
    moves = {name: rng.normal(size=np.shape(best[name])) for name in problem.changed}
    if "v" in moves:
        moves["v"] = (moves["v"].T * np.sqrt(objective.delta)).T
    elif rng.random() < 0.5:  # functions that the graph hardly penalises
        moves["alpha"] = objective.reduction.coefficients(rng.normal(size=objective.labels.n_labeled))
    if not getattr(objective, "fit_intercept", True):
        moves["b"] = 0.0

    def moved(size: float) -> dict[str, Any]:
        return {**best, **{name: best[name] + 10.0**size * move for name, move in moves.items()}}

    excess: Callable[[float], float] = lambda size: objective.value(moved(size)) - value  # noqa: E731
    low, high = -40.0, 40.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < gap * abs(value) else (low, middle)
    return moved(low)


def main() -> None:
    options = harness.options(__doc__.splitlines()[0])
    report = harness.Report("decisions", "Proved decisions")
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    repeats = 2 if options.quick else 12
    total, wrong = 0, 0
    shares: dict[tuple[bool, float], list[float]] = {}
    for problem in problems():
        known = distances(problem.objective)
        exact = problem.objective.decisions(problem.optimum)
        for gap in GAPS:
            for _ in range(repeats):
                low, high, *_ = decision_bounds(problem.objective, at_gap(problem, gap, rng), known=known)
                proved = (low > 0) | (high < 0)
                wrong += int((proved & ((low > 0) != (exact > 0))).sum())
                total += proved.size
                shares.setdefault((problem.usual, gap), []).append(float(proved.mean()))
    report.add("decisions", total, "")
    report.add("proved that differ from the optimum", wrong, "", at_most=0)
    for (usual, gap), each in sorted(shares.items(), reverse=True):
        goal = {1e-4: 95.0, 1e-6: 99.4}.get(gap) if usual else None
        name = f"proved at a gap of {gap:g}, {len(each)} points, {'usual' if usual else 'extreme'} weights"
        report.add(name, 100 * float(np.mean(each)), "%", at_least=goal)
    print(f"written to {report.write()}")


if __name__ == "__main__":
    main()
