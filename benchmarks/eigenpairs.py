"""`laplacian_eigenpairs` on large neighbour graphs, in units of one product of the graph with a block of 220 columns.

The unit is one product of the normalised adjacency, float32, renumbered by reverse Cuthill-McKee, with 220 columns in C
order, which scipy does on one thread. Everything is CPU seconds of one thread, the unit measured around each run, so
that a busy computer matters little. The graph: MNIST (or a mixture of its size where it is not available) in 50
principal components, ten neighbours, symmetric. A run of 70,000 points is a process of its own, so that its peak of
memory is its own too. ARPACK is given the same renumbered matrix and asked for the same residual.
"""

from __future__ import annotations

import cProfile
import multiprocessing
import pstats
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import _harness as harness
import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import eigsh
from sklearn.decomposition import PCA

from reproduction.data import DataNotFoundError, load
from specmargin.graphs import knn_graph
from specmargin.spectra import laplacian_eigenpairs

Q, K, COLUMNS = 200, 10, 220
RESIDUAL = 1e-3
WEIGHTS = ("self_tuning", "binary")
PARTS = {  # of the time: function and file; of two with one name, the costlier
    "density": ("estimate_density", "lanczos.py"),
    "filter": ("__call__", "lanczos.py"),
    "orthogonalisation": ("_project", "lanczos.py"),
    "new blocks": ("_orthonormal", "lanczos.py"),
    "small eigenproblems": ("ritz", "lanczos.py"),
    "restart": ("restart", "lanczos.py"),
    "float64 finish": ("_rayleigh_ritz", "lanczos.py"),
    "residual": ("residual_norms", "spectrum.py"),
    "reading W": ("read_laplacian", "eigenpairs.py"),
}


def main() -> None:
    options = harness.options(__doc__)
    report = harness.Report("eigenpairs", f"{Q} eigenpairs, in products with {COLUMNS} columns of float32")
    name, X = points(options.data)
    print(f"{name}, {X.shape[1]} principal components, {K} neighbours", flush=True)
    order = np.random.default_rng(0).permutation(len(X))
    accuracy(report, X[order[: 5000 if options.quick else 10_000]])
    sizes = (20_000,) if options.quick else (20_000, len(X))
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            rows = np.sort(order[:n])
            for weight in WEIGHTS:
                path = Path(folder) / f"{n}-{weight}.npz"
                sp.save_npz(path, sp.csr_matrix(knn_graph(X[rows], n_neighbors=K, weight=weight)))
                lanczos(report, path, f"{n}, {weight}", whole=n == len(X), normalized=True)
            lanczos(report, path, f"{n}, {weight}", whole=False, normalized=False)
            if not options.quick:
                # In float64 it takes two to three times as long again: once is enough.
                arpack(report, path, f"{n}, {weight}", (np.float32,) if n == len(X) else (np.float32, np.float64))
    print(f"written to {report.write()}")


def points(data: Any) -> tuple[str, np.ndarray]:
    try:
        X = load("mnist", data_home=data, download=False).X.astype(np.float32) / 255
        return "MNIST", PCA(50, svd_solver="covariance_eigh").fit_transform(X)
    except DataNotFoundError:
        # Ten curved classes of 12 dimensions: as many small eigenvalues as digits have.
        rng = np.random.default_rng(1)
        X = np.concatenate(
            [
                rng.normal(size=50) + np.tanh(rng.normal(size=(7000, 12)) @ rng.normal(size=(12, 50)) / 3)
                for _ in range(10)
            ]
        )
        return "synthetic mixture (MNIST is not available)", X.astype(np.float32)


def unit(W: Any, repeats: int = 5) -> float:
    """CPU seconds of the unit, the median of several."""
    S = renumbered(W).astype(np.float32)
    X = np.random.default_rng(0).standard_normal((S.shape[0], COLUMNS), dtype=np.float32)
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        S @ X
        times.append(time.process_time() - start)
    return statistics.median(times[1:])


def renumbered(W: Any) -> sp.csr_array:
    """Return the normalised adjacency in the order of reverse Cuthill-McKee."""
    scale = sp.diags_array(1.0 / np.sqrt(np.maximum(np.asarray(W.sum(axis=1)).ravel(), 1e-300)))
    S = sp.csr_array(scale @ W @ scale)
    order = csgraph.reverse_cuthill_mckee(sp.csr_matrix(S), symmetric_mode=True)
    S = sp.csr_array(S[order][:, order])
    S.sort_indices()
    return S


def _run(path: Path, normalized: bool) -> dict[str, Any]:
    """Compute in this process; return cost in units, parts, residual and the peak of memory."""
    W = sp.csr_array(sp.load_npz(path))
    laplacian_eigenpairs(
        W[:300][:, :300], 5, normalized=normalized, method="lanczos"
    )  # imports what is imported at first use
    before = unit(W)
    start = time.process_time()
    spectrum = laplacian_eigenpairs(W, Q, normalized=normalized, method="lanczos")
    seconds = time.process_time() - start
    peak = peak_memory()
    one = (before + unit(W)) / 2
    profile = cProfile.Profile(time.process_time)
    profile.runcall(laplacian_eigenpairs, W, Q, normalized=normalized, method="lanczos")
    parts = {}
    for (file, _, function), (*_, cumulative, _) in pstats.Stats(profile).stats.items():
        for part, (wanted, where) in PARTS.items():
            if function == wanted and file.endswith(where):
                parts[part] = max(parts.get(part, 0.0), cumulative / one)
    mean_degree = 1.0 if normalized else float(W.sum() / W.shape[0])
    return {
        "unit": one,
        "units": seconds / one,
        "parts": parts,
        "residual": spectrum.residual / mean_degree,
        "peak": peak,
    }


def peak_memory() -> float:
    """Peak of this process in GB; the value of getrusage may be that of the parent, from before the exec."""
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def lanczos(report: harness.Report, path: Path, label: str, *, whole: bool, normalized: bool) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        measured = pool.apply(_run, (path, normalized))
    kind = "normalized" if normalized else "combinatorial"
    goals = {"at_most": 200.0} if whole else {}
    note = f"{label}; unit {measured['unit']:.3f} s"
    report.add(f"block Lanczos, {kind}", measured["units"], "units", note=note, **goals)
    report.add("  residual" + ("" if normalized else " over mean degree"), measured["residual"], "", at_most=RESIDUAL)
    report.add("  peak memory of the process", measured["peak"], "GB", **({"at_most": 3.0} if whole else {}))
    for part, units in measured["parts"].items():
        report.add(f"  of it: {part}", units, "units")


def arpack(report: harness.Report, path: Path, label: str, dtypes: tuple[type, ...]) -> None:
    W = sp.csr_array(sp.load_npz(path))
    S = renumbered(W)
    for dtype in dtypes:
        one = unit(W)
        start = time.process_time()
        A = S.astype(dtype)
        theta, U = eigsh(A, k=Q, which="LA", tol=RESIDUAL, v0=np.ones(len(A.indptr) - 1, dtype))
        seconds = time.process_time() - start
        residual = np.linalg.norm(S @ U.astype(float) - U.astype(float) * theta, axis=0).max()
        one = (one + unit(W)) / 2
        note = f"{label}; residual {residual:.0e}"
        report.add(f"ARPACK, {np.dtype(dtype).name}, normalized", seconds / one, "units", note=note)


def accuracy(report: harness.Report, X: np.ndarray) -> None:
    W = knn_graph(X, n_neighbors=K, weight="binary")
    for normalized in (True, False):
        label = f"{len(X)}, {'normalized' if normalized else 'combinatorial'}"
        start = time.process_time()
        exact = laplacian_eigenpairs(W, Q, normalized=normalized, method="arpack")
        reference = time.process_time() - start
        for tol in (None, 0.0):
            start = time.process_time()
            s = laplacian_eigenpairs(W, Q, normalized=normalized, method="lanczos", tol=tol)
            seconds = time.process_time() - start
            note = f"{label}, tol={tol}, residual {s.residual:.0e}"
            error = abs(s.eigenvalues - exact.eigenvalues).max() / exact.eigenvalues[-1]
            report.add("largest error of an eigenvalue, over the last", error, "", note=note)
            # Of the span without its last tenth, which the gap after the last eigenvalue decides.
            keep = exact.eigenvectors[:, : Q - Q // 10]
            sine = np.linalg.norm(keep - s.eigenvectors @ (s.eigenvectors.T @ keep), axis=0).max()
            report.add("sine of the worst angle to the span, first nine tenths", sine, "", note=note)
            report.add("time of ARPACK at machine precision over it", reference / seconds, note=label)


if __name__ == "__main__":
    main()
