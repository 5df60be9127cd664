"""One model, many splits: new labels for a problem that is built, against building it anew from these labels.

    python benchmarks/splits.py [--quick]

Every split is solved both ways in turn, and both answers are proved; seconds are those of the processor. What is left
of a solve with new labels is told apart: the solver, the proof, and the rest, which is CVXPY's way there and back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import cvxpy as cp
from _harness import Report, options
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL

import specmargin as sm
from cvxproof.conic import attempts, solving
from specmargin.problems import BuiltProblem

L = 20


def models(n: int, q: int) -> dict[str, tuple[Callable[[Any], BuiltProblem], Any]]:
    """Return builders from labels, with the truth that labels are drawn from."""
    X, truth = sm.datasets.make_two_moons(n_samples=n, random_state=0)
    W = sm.graphs.knn_graph(X, n_neighbors=8)
    K, laplacian, spectrum = (
        sm.kernels.gram(X, gamma=4.0),
        sm.graphs.laplacian(W),
        sm.spectra.laplacian_eigenpairs(W, q=q, normalized=False),
    )
    group = X[:, 0] > 0.5

    def lapsvm(labels: Any) -> Any:
        return sm.objectives.LapSVM(K, laplacian, labels, gamma_A=0.01, gamma_I=1.0)

    def storm(labels: Any) -> BuiltProblem:
        return sm.problems.storm(sm.objectives.SpectrumMargin(spectrum, labels, C=10.0, B=1.5), "primal")

    def smooth(labels: Any) -> BuiltProblem:
        built = storm(labels)
        delta = built.expressions["spectrum"]
        terms = {"smooth": 5.0 * cp.sum_squares(cp.diff(delta, 2))}
        return built.with_(terms=terms, constraints={"budget": cp.sum(delta[:5]) <= 0.6})

    def fair(labels: Any) -> BuiltProblem:
        built = sm.problems.lapsvm_primal(lapsvm(labels))
        f = built.expressions["decisions"]
        return built.with_(constraints={"fair": cp.sum(f[group]) / group.sum() == cp.sum(f[~group]) / (~group).sum()})

    made: dict[str, Callable[[Any], BuiltProblem]] = {
        "STORM, primal": storm,
        "LapSVM, primal": lambda labels: sm.problems.lapsvm_primal(lapsvm(labels)),
        "STORM with a term and a constraint": smooth,
        "LapSVM with a constraint": fair,
    }
    return {f"{name}, n = {n}": (build, truth) for name, build in made.items()}


@contextmanager
def told_apart(spent: Counter[str]) -> Iterator[None]:
    """Add up the seconds of the solver and of the proofs."""

    def timed(kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **given: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **given)
            finally:
                spent[kind] += time.process_time() - start

        return run

    with (
        patch.object(CLARABEL, "solve_via_data", timed("solver", CLARABEL.solve_via_data)),
        patch.object(attempts, "_judged", timed("proof", attempts._judged)),
        patch.object(solving, "_certificate", timed("proof", solving._certificate)),
    ):
        yield


def measure(report: Report, name: str, build: Callable[[Any], BuiltProblem], truth: Any, count: int) -> None:
    """Solve all splits both ways, and add the ratio of the times."""
    splits = [sm.encode_labels(sm.hide_labels(truth, per_class=L // 2, random_state=seed)) for seed in range(count + 1)]
    once = build(splits[0])
    sm.solve(once)
    anew, again, worst, spent = 0.0, 0.0, 0.0, Counter[str]()
    recover = once.recover

    def proved(objective: Any) -> Any:
        start = time.process_time()
        recovered = recover(objective)
        spent["proof"] += time.process_time() - start
        return recovered

    object.__setattr__(once, "recover", proved)
    for labels in splits[1:]:
        start = time.process_time()
        first = sm.solve(build(labels)).certificate
        anew += time.process_time() - start
        with told_apart(spent):
            start = time.process_time()
            once.relabel(labels)
            second = sm.solve(once).certificate
            again += time.process_time() - start
        worst = max(worst, abs(first.primal_objective / second.primal_objective - 1), second.relative_gap)
    each = {part: 1e3 * spent[part] / count for part in ("solver", "proof")}
    rest = 1e3 * again / count - sum(each.values())
    parts = f"solver {each['solver']:.1f}, proof {each['proof']:.1f}, rest {rest:.1f} ms"
    note = f"{1e3 * anew / count:.1f} ms anew; {1e3 * again / count:.1f} ms with new labels: {parts}"
    report.add(f"{name}: {count} splits", anew / again, at_least=10.0, note=note)
    report.add(f"{name}: largest gap or difference", worst, "", at_most=1e-6)


def main() -> None:
    """Measure."""
    given = options(__doc__ or "")
    report = Report("splits", "One model, many splits: built anew over new labels for the built problem")
    for n, q, count in ((300, 40, 10 if given.quick else 100), (1000, 100, 2 if given.quick else 20)):
        for name, (build, truth) in models(n, q).items():
            measure(report, name, build, truth, count)
    report.write()


if __name__ == "__main__":
    main()
