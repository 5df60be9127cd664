"""The spectral graph transducer: global on hard cases, and its speed against the eigenproblem of twice the size.

    OMP_NUM_THREADS=1 python benchmarks/graph_transducer.py [--quick]

Two hundred small random problems are solved by brute force, too: every stationary point on the sphere, from the real
eigenvalues of Gander, Golub & von Matt's 2k x 2k matrix and from the eigenvectors of A, polished by Newton's method.
Hard are those whose b is orthogonal to the lowest eigenvectors of A while the rest of w is too short. The speed is that
of q = 200 eigenvectors of scikit-learn's digits 3 and 8; the rival computes eigenvalues only and solves once.
"""

from __future__ import annotations

from functools import partial

import networkx as nx
import numpy as np
from _harness import Report, compare, options, ratio
from sklearn.datasets import load_digits

import specmargin as sm
from specmargin.objectives.graph_transducer import SpectralGraphTransducer
from specmargin.solvers.spectrum.graph_transducer import graph_transducer
from specmargin.spectra import Spectrum

FAMILIES = ("random", "cycle", "mirrored labels", "hidden eigenvector", "two hidden eigenvectors")


def draw(family: str, seed: int) -> SpectralGraphTransducer:
    """Return a random problem, C from 1e1 to 1e6; the last three families are hard, mostly.

    Labels symmetric on a path leave the antisymmetric eigenvectors to themselves; so does a hidden eigenvector, zero
    at the labelled samples.
    """
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    n, k, C = 2 * int(rng.integers(6, 20)), int(rng.integers(2, 11)), 10.0 ** rng.uniform(1, 6)
    labeled = rng.permutation(n // 2)[: int(rng.integers(2, n // 2))]
    sign = rng.integers(0, 2, size=len(labeled))
    sign[:2] = 0, 1
    if family == "mirrored labels":
        labeled, sign = np.append(labeled, n - 1 - labeled), np.append(sign, sign)
    y = np.full(n, -1)
    y[labeled] = sign
    Q = None
    if family in ("cycle", "mirrored labels"):
        graph = nx.cycle_graph(n) if family == "cycle" else nx.path_graph(n)
        spectrum = sm.spectra.laplacian_eigenpairs(nx.to_numpy_array(graph), q=k + 1, normalized=False)
        if seed % 2:
            Q = spectrum.eigenvalues[1:]
    else:
        n_hidden = {"random": 0, "hidden eigenvector": 1, "two hidden eigenvectors": 2}[family]
        U = np.column_stack([np.ones(n), rng.normal(size=(n, k))])
        others = np.setdiff1d(np.arange(n), labeled)
        U[labeled, 1 : 1 + n_hidden] = 0.0
        U[others, 1 : 1 + n_hidden] -= U[others, 1 : 1 + n_hidden].mean(axis=0)
        U = np.linalg.qr(U)[0]
        U[labeled, 1 : 1 + n_hidden] = 0.0
        spectrum = Spectrum(np.arange(k + 1.0), U, 1)
        if n_hidden == 2:
            Q = np.maximum(np.arange(1.0, k + 1.0) ** 2, 4.0)
    return SpectralGraphTransducer(spectrum, sm.encode_labels(y), C, Q)


def enlarged(obj: SpectralGraphTransducer) -> np.ndarray:
    """Return the real eigenvalues of [A, -I; -bb'/n, A]: the multipliers of the stationary points, in general."""
    eigenvalues = np.linalg.eigvals(np.block([[obj.A, -np.eye(obj.k)], [-np.outer(obj.b, obj.b) / obj.n, obj.A]]))
    return eigenvalues[np.abs(eigenvalues.imag) <= 1e-6 * (1 + np.abs(eigenvalues))].real


def by_eigenvalues(fresh: partial[SpectralGraphTransducer]) -> np.ndarray:
    """Return w of the lowest multiplier, as the enlarged eigenproblem gives it."""
    obj = fresh()
    return np.linalg.solve(obj.A - enlarged(obj).min() * np.eye(obj.k), obj.b)


def brute_force(obj: SpectralGraphTransducer) -> tuple[float, bool]:
    """Return the least value of all stationary points, and whether the case is hard."""
    A, b, n, identity = obj.A, obj.b, obj.n, np.eye(obj.k)
    points = [(np.linalg.lstsq(A - lam * identity, b, rcond=1e-13)[0], lam) for lam in enlarged(obj)]
    a, E = np.linalg.eigh(A)
    beta, hard = E.T @ b, False
    for j in range(obj.k):
        inside = np.abs(a - a[j]) <= 1e-9 * a[j] + 1e-13 * a[-1]
        rest = E[:, ~inside] @ (beta[~inside] / (a[~inside] - a[j]))
        if rest @ rest < n:
            points += [(rest + side * np.sqrt(n - rest @ rest) * E[:, j], a[j]) for side in (-1, 1)]
            hard |= bool(inside[0] and np.linalg.norm(beta[inside]) <= 1e-9 * np.linalg.norm(b))
    best = np.inf
    for w, lam in points:
        if not w.any():
            continue
        for _ in range(6):
            w = w * np.sqrt(n) / np.linalg.norm(w)
            best = min(best, obj.value_at(w))
            J = np.block([[A - lam * identity, -w[:, None]], [-w[None, :], np.zeros((1, 1))]])
            step = np.linalg.lstsq(J, np.append(b + lam * w - A @ w, 0.0), rcond=1e-13)[0]
            w, lam = w + step[:-1], lam + step[-1]
    return best, hard


def main() -> None:
    args = options(__doc__.splitlines()[0])
    report = Report("graph_transducer", "Spectral graph transducer, global optimality and ratios of one run")
    worst, gap, hard, steps, cases = 0.0, 0.0, 0, 0, 0
    for seed in range(8 if args.quick else 40):
        for family in FAMILIES:
            obj = draw(family, seed)
            result = graph_transducer(obj)
            optimum, is_hard = brute_force(obj)
            worst = max(worst, abs(result.certificate.primal_objective - optimum) / max(abs(optimum), 1e-12))
            gap = max(gap, result.certificate.relative_gap)
            hard, steps, cases = hard + is_hard, max(steps, result.n_iter), cases + 1
    report.add("random problems", cases, "cases", at_least=40 if args.quick else 200)
    report.add("of which hard", hard, "cases", at_least=10 if args.quick else 50)
    report.add("largest difference to brute force, relative", worst, "rel", at_most=1e-12)
    report.add("largest certified gap, rounding included", gap, "rel", at_most=1e-9)
    report.add("most Newton steps", steps, "steps")

    X, target = load_digits(return_X_y=True)
    pair = np.isin(target, (3, 8))
    truth = (target[pair] == 3).astype(int)
    y = np.full(len(truth), -1)
    labeled = np.random.default_rng(0).permutation(len(truth))[:60]
    y[labeled] = truth[labeled]
    spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X[pair], n_neighbors=5), q=200, normalized=False)
    for C in (1e1, 1e3, 1e6):
        fresh = partial(SpectralGraphTransducer, spectrum, sm.encode_labels(y), C)
        rivals = {"enlarged": partial(by_eigenvalues, fresh), "ours": lambda fresh=fresh: graph_transducer(fresh())}
        times = compare(rivals, repeats=5 if args.quick else 15)
        obj, theirs, ours = fresh(), by_eigenvalues(fresh), graph_transducer(fresh())
        report.add(
            f"q=200, C={C:.0e}: eigenproblem of size 2q / ours",
            ratio(times, "enlarged", "ours"),
            at_least=10,
            note=f"ours {1e3 * float(np.median(times['ours'])):.1f} ms",
        )
        theirs *= np.sqrt(obj.n) / np.linalg.norm(theirs)
        report.add(
            "  its value over ours, less one",
            obj.value_at(theirs) / ours.certificate.primal_objective - 1,
            "rel",
            note=f"our gap {ours.certificate.relative_gap:.0e}",
        )
    report.write()


if __name__ == "__main__":
    main()
