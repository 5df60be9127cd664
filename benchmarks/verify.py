"""How long a proof takes next to the CVXPY form of the same problem: `sm.verify` is to need no more than the solve.

    OMP_NUM_THREADS=1 python benchmarks/verify.py                       n = 50, 100, 200
    OMP_NUM_THREADS=1 python benchmarks/verify.py --quick               n = 50
    OMP_NUM_THREADS=1 python benchmarks/verify.py --only lapsvm --runs 3

Two moons with noise and three features of nothing else, a third of the labels, every kind of proof whose problem has a
CVXPY form. CVXPY is timed from the objective on: building the problem, solving it by its default solver, certifying the
answer. The times are those of the processor, so that other programs of the computer count little. A run is the median
of the ratios of its rounds; a line shows the median of the runs, and the least and the most.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from _harness import Report, compare, parser, ratio

import specmargin as sm
from specmargin import optima


class Kind(NamedTuple):
    """An objective, our solver of it, and what builds its CVXPY problem."""

    objective: Any
    solver: Callable[[Any], Any]
    form: Callable[[Any], Any]


def kinds(n: int, seed: int = 0) -> dict[str, Kind]:
    """Return a problem of each kind."""
    rng = np.random.default_rng([seed, n])
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.15, random_state=int(rng.integers(2**31)))
    X = np.column_stack([X, rng.standard_normal((n, 3))])
    y = np.where(rng.random(n) < 1 / 3, truth, -1)
    y[:4] = truth[:4]
    labels, K, W = sm.encode_labels(y), sm.kernels.gram(X, gamma=0.5), sm.graphs.knn_graph(X, n_neighbors=6)
    L, spectrum = sm.graphs.laplacian(W), sm.spectra.laplacian_eigenpairs(W, q=min(60, n // 2), normalized=False)
    linear, whole = X @ X.T, sm.spectra.laplacian_eigenpairs(W, q=n - 1, normalized=False)
    problems, solvers, forms = sm.objectives, sm.solvers, sm.problems
    found = {}
    for name, kernel, loss in (
        ("hinge", K, "hinge"),
        ("squared hinge", K, "squared_hinge"),
        ("squares", K, "squared"),
        ("hinge, kernel of rank 5", (linear + linear.T) / 2, "hinge"),
    ):
        obj = problems.LapSVM(kernel, L, labels, loss, gamma_A=1e-2, gamma_I=0.1)
        found[f"lapsvm, {name}"] = Kind(obj, solvers.factorized, forms.lapsvm_dual)
    found["rmm"] = Kind(problems.RMM(K, labels, C=10.0, B=1.5), solvers.relative_margin, forms.rmm)
    margin = problems.SpectrumMargin(spectrum, labels, C=10.0)
    found["spectrum_margin"] = Kind(margin, solvers.spectrum_margin, forms.storm)
    found["alignment"] = Kind(problems.Alignment(spectrum, labels), solvers.alignment, forms.kta)
    found["alignment, all eigenpairs"] = Kind(problems.Alignment(whole, labels), solvers.alignment, forms.kta)
    power = problems.spectral_ridge.power_spectrum(spectrum, 1.0)
    ridge = problems.SpectralRidge(spectrum, labels, power, 0.1)
    found["spectral_ridge"] = Kind(ridge, solvers.spectral_ridge, forms.spectral_ridge_primal)
    s3vm = problems.S3VM(X, labels, "hinge", C=1.0, C_star=0.1)
    found["s3vm"] = Kind(s3vm, optima.s3vm_bound, lambda obj: optima.s3vm_relaxation(optima.S3VMRelaxation(obj)))
    return found


def main() -> None:
    given = parser(__doc__.splitlines()[0])
    given.add_argument("--only", default="", help="how the names of kinds begin")
    given.add_argument("--runs", type=int, default=5, help="runs of which the median is shown (default 5)")
    args = given.parse_args()
    report = Report("verify", "Proofs by sm.verify, next to CVXPY's solve, ratios of processor times")
    for n in (50,) if args.quick else (50, 100, 200):
        for name, (objective, solver, form) in kinds(n).items():
            if not name.startswith(args.only):
                continue
            result = solver(objective)
            verification = sm.verify(objective, result)
            rivals = {
                "verify": partial(sm.verify, objective, result),
                "cvxpy": lambda o=objective, f=form: sm.solve(f(o)),
            }
            runs = [compare(rivals, repeats=5, clock=time.process_time) for _ in range(args.runs)]
            ratios = [ratio(times, "verify", "cvxpy") for times in runs]
            proof = 1e3 * statistics.median(x for times in runs for x in times["verify"])
            report.add(
                f"{name}, n = {n}: verify / CVXPY",
                statistics.median(ratios),
                at_most=1.0,
                note=f"{min(ratios):.2f} to {max(ratios):.2f}, {proof:.1f} ms"
                + ("" if verification else f"; {verification}"),
            )
    report.write()


if __name__ == "__main__":
    main()
