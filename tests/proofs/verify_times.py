"""How long a proof takes next to the CVXPY form of the same problem: a command, no test.

    python tests/proofs/verify_times.py             n = 50, 100, 200
    python tests/proofs/verify_times.py --n 200 --seed 1 --kinds lapsvm alignment

Seconds are those of the processor in one process of one thread, the best of `ROUNDS`: of `verify`, of our solver, of
CVXPY from the objective on (building the problem, and solving it by its default solver). A ratio below one says that
the proof takes less than CVXPY's solve.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

import specmargin as sm  # noqa: E402

ROUNDS = 10


def drawn(n: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Features, labels of a third of them, a kernel and a graph."""
    rng = np.random.default_rng([seed, n])
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.15, random_state=int(rng.integers(2**31)))
    X = np.column_stack([X, rng.standard_normal((n, 3))])
    y = np.where(rng.random(n) < 1 / 3, truth, -1)
    y[:4] = truth[:4]
    K = sm.kernels.gram(X, gamma=0.5)
    W = sm.graphs.knn_graph(X, n_neighbors=6)
    return X, sm.encode_labels(y), K, W


def problems(n: int, seed: int) -> dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]]:
    """By kind: the objective, our solver, and what builds the CVXPY problem."""
    X, labels, K, W = drawn(n, seed)
    spectrum, whole = (sm.spectra.laplacian_eigenpairs(W, q=q) for q in (min(60, n // 2), n - 1))
    linear = X @ X.T
    L, objectives, solvers, forms = sm.graphs.laplacian(W), sm.objectives, sm.solvers, sm.problems
    found: dict[str, tuple[Any, Callable[[Any], Any], Callable[[Any], Any]]] = {
        f"lapsvm {loss}": (
            objectives.LapSVM(K, L, labels, loss, gamma_A=1e-2, gamma_I=0.1),
            solvers.factorized,
            forms.lapsvm_dual,
        )
        for loss in ("hinge", "squared_hinge", "squared")
    }
    linear_kernel = objectives.LapSVM((linear + linear.T) / 2, L, labels, "hinge", gamma_A=1e-2, gamma_I=0.1)
    found["lapsvm of rank 5"] = (linear_kernel, solvers.factorized, forms.lapsvm_dual)
    found["rmm"] = (objectives.RMM(K, labels, C=10.0, B=1.5), solvers.relative_margin, forms.rmm)
    margin = objectives.SpectrumMargin(spectrum, labels, C=10.0)
    found["spectrum_margin"] = (margin, solvers.spectrum_margin, forms.storm)
    found["alignment"] = (objectives.Alignment(spectrum, labels), solvers.alignment, forms.kta)
    found["alignment, all pairs"] = (objectives.Alignment(whole, labels), solvers.alignment, forms.kta)
    ridge = objectives.SpectralRidge(spectrum, labels, objectives.spectral_ridge.power_spectrum(spectrum, 1.0), 0.1)
    found["spectral_ridge"] = (ridge, solvers.spectral_ridge, forms.spectral_ridge_primal)
    svm = objectives.S3VM(X, labels, "hinge", C=1.0, C_star=0.1)
    found["s3vm"] = (svm, solvers.s3vm_bound, lambda obj: forms.s3vm_relaxation(objectives.S3VMRelaxation(obj)))
    return found


def seconds(*works: Callable[[], Any]) -> list[float]:
    """The least seconds of the processor that each work took; they take turns, as other processes come and go."""
    best = [np.inf] * len(works)
    for _ in range(ROUNDS):
        for k, work in enumerate(works):
            began = time.process_time()
            work()
            best[k] = min(best[k], time.process_time() - began)
    return best


def line(name: str, n: int, objective: Any, solver: Callable[[Any], Any], form: Callable[[Any], Any]) -> str:
    """What the proof of one result takes, as text."""
    result = solver(objective)
    verification = sm.verify(objective, result)
    proof, own, usual = seconds(
        lambda: sm.verify(objective, result), lambda: solver(objective), lambda: sm.solve(form(objective))
    )
    told = "" if verification else f"   {verification}"
    return f"{name:<24}{n:>5}{proof:>10.4f}{own:>10.4f}{usual:>10.4f}{proof / usual:>17.2f}{told}\n"


def main() -> None:
    """Print a line for every kind and size."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[50, 100, 200], help="samples")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=[""], help="how the names of kinds begin")
    given = parser.parse_args()
    sys.stdout.write(f"{'kind':<24}{'n':>5}{'verify':>10}{'ours':>10}{'CVXPY':>10}{'verify / CVXPY':>17}\n")
    for n in given.n:
        for name, parts in problems(n, given.seed).items():
            if name.startswith(tuple(given.kinds)):
                sys.stdout.write(line(name, n, *parts))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
