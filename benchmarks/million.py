"""A million images, ten labels a class: graph, 200 eigenpairs, ridge and LapRLS; and what the defaults take at 50,000.

    python benchmarks/million.py             the million, then 50,000 rows by every default that is meant for them
    python benchmarks/million.py --quick     20,000 images from 6,000 digits, and 5,000 rows
    python benchmarks/million.py --defaults  the second part alone

The million are the 70,000 digits of MNIST and deformed copies of them: shifted by up to two pixels, and bent by elastic
noise (Simard, Steinkraus and Platt, ICDAR 2003), all from one seed. Labels are drawn among the originals, and errors
are those on the other originals, so that the graph of the originals alone is judged on the very same samples. Nothing
was tuned on them: the settings are those of ``benchmarks/mnist.py``, chosen on other data, and gamma_A is chosen by
leave-one-out on the labels. The neighbours are searched by nearest-neighbour descent (pynndescent) in 50 principal
components of the originals; images are never held all at once.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import _harness as harness
import numpy as np
from scipy.ndimage import gaussian_filter

import specmargin as sm
from reproduction.data import DataNotFoundError, load
from specmargin import objectives, solvers
from specmargin.graphs import NeighborSearch, knn_graph
from specmargin.objectives.held_out.leave_one_out import RidgePath, nll
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.solvers.spectrum.spectral_ridge import choose_penalty

Q, K_NEIGHBORS, WEIGHT, POWER, PENALTY = 200, 10, "self_tuning", 2.0, 0.3  # as in mnist.py
GAMMAS = np.logspace(-8, 1, 19)
COMPONENTS, DRAWS, BLOCK, SIDE = 50, 5, 10_000, 28
STRENGTH, SMOOTHNESS, SHIFT = 6.0, 4.0, 2.0  # of the displacements: their factor, deviation and largest shift in pixels
MINUTES, GIGABYTES = 30.0, 12.0
DEFAULTS = ("LapRLS", "LapSVM", "SpectralRidge", "STORM", "KTA", "LabelSearch", "QuasiNewtonS3VM", "AutoSSL")


def deformed(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return shifted and bent copies of images (m, 784), of the same type."""
    m = len(images)
    noise = rng.uniform(-1.0, 1.0, size=(2, m, SIDE, SIDE)).astype(np.float32)
    field = STRENGTH * gaussian_filter(noise, (0, 0, SMOOTHNESS, SMOOTHNESS), mode="constant")
    field += rng.uniform(-SHIFT, SHIFT, size=(2, m, 1, 1)).astype(np.float32)
    # Bilinear interpolation; beyond the border there is nothing.
    at = np.clip(np.indices((SIDE, SIDE), dtype=np.float32)[:, None] + field, -1.0, SIDE) + 1.0
    low = np.minimum(at.astype(np.intp), SIDE)
    share = at - low
    padded = np.pad(images.reshape(m, SIDE, SIDE), ((0, 0), (1, 1), (1, 1))).astype(np.float32)
    rows = np.arange(m)[:, None, None]
    value = np.zeros((m, SIDE, SIDE), dtype=np.float32)
    for down in (0, 1):
        for right in (0, 1):
            weight = (share[0] if down else 1 - share[0]) * (share[1] if right else 1 - share[1])
            value += weight * padded[rows, low[0] + down, low[1] + right]
    return value.reshape(m, -1)


def rows_of(originals: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return n rows in principal components, the originals first, and which original each comes from."""
    from sklearn.decomposition import PCA

    projection = PCA(COMPONENTS, random_state=0).fit(originals.astype(np.float32))
    source = np.concatenate([np.arange(len(originals)), rng.integers(len(originals), size=n - len(originals))])
    X = np.empty((n, COMPONENTS), dtype=np.float32)
    for start in range(0, n, BLOCK):
        rows = slice(start, min(start + BLOCK, n))
        copies = originals[source[rows]].astype(np.float32)
        fresh = np.arange(rows.start, rows.stop) >= len(originals)
        if fresh.any():
            copies[fresh] = deformed(copies[fresh], rng)
        X[rows] = projection.transform(copies)
    return X, source


def gigabytes() -> float:
    """Return the most memory that this process has held."""
    status = Path("/proc/self/status")
    if status.exists():  # on Linux a process inherits the maximum of the one that started it, elsewhere
        kilobytes = next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(kilobytes) / 1024**2
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024**2 if sys.platform != "darwin" else 1024**3)


class Stages:
    """Seconds of the stages, told as they end."""

    def __init__(self) -> None:
        self.start = self.last = time.perf_counter()

    def end(self, name: str, report: harness.Report | None = None) -> None:
        """Note what a stage took."""
        now = time.perf_counter()
        if report is not None:
            report.add(name, now - self.last, "s", note=f"{gigabytes():.1f} GB so far")
        self.last = now

    @property
    def total(self) -> float:
        """Seconds of all stages that have ended."""
        return self.last - self.start


def draws(truth: np.ndarray, n: int) -> Iterator[np.ndarray]:
    """Yield labels of ten originals per class; all other rows are unlabelled."""
    for seed in range(DRAWS):
        y = np.full(n, -1)
        y[: len(truth)] = sm.hide_labels(truth, per_class=10, random_state=seed)
        yield y


def errors(spectrum: Any, truth: np.ndarray) -> tuple[list[float], list[float], float]:
    """Return the errors of ridge and LapRLS on the unlabelled originals, in per cent, and the largest gap."""
    n = len(spectrum.eigenvectors)
    by_ridge: list[float] = []
    by_laprls: list[float] = []
    gap = 0.0
    for y in draws(truth, n):
        labels = sm.encode_labels(y)
        objective = objectives.SpectralRidge(spectrum, labels, power_spectrum(spectrum, POWER))
        penalty = choose_penalty(objective, default=PENALTY, standardize=True)
        ridge = solvers.spectral_ridge(objective.with_(penalty=penalty))
        deformed_ridge = laprls(spectrum, labels)
        gap = max(gap, ridge.certificate.relative_gap, deformed_ridge.certificate.relative_gap)
        hidden = y[: len(truth)] == -1
        for F, kept in ((ridge.variables["f"], by_ridge), (deformed_ridge.variables["f"], by_laprls)):
            scores = (F[: len(truth)] - F.mean(axis=0)) / F.std(axis=0)
            kept.append(100.0 * float((scores.argmax(axis=1) != truth)[hidden].mean()))
    return by_ridge, by_laprls, gap


def laprls(spectrum: Any, labels: Any) -> Any:
    """Train LapRLS in the span of the eigenvectors, gamma_A chosen by leave-one-out at gamma_I = 1.

    With K = (n / q) U U' the graph norm is diagonal in the coefficients of U, whose weights in the penalty are
    gamma_A + (n / q) lambda_j: all classes at once are the ridge regression with the spectrum of their inverses.
    """
    scale = len(spectrum.eigenvectors) / spectrum.q
    U = spectrum.eigenvectors[labels.labeled]
    losses = []
    for gamma_A in GAMMAS:
        G = (U * (scale / (1.0 + scale / gamma_A * spectrum.eigenvalues))) @ U.T
        path = RidgePath(G, labels.sign, True)
        losses.append(float(nll(path.leave_one_out([gamma_A])[0], labels.sign)))
    delta = 1.0 / (spectrum.q * (float(GAMMAS[int(np.argmin(losses))]) + scale * spectrum.eigenvalues))
    total = float(delta.sum())
    return solvers.spectral_ridge(objectives.SpectralRidge(spectrum, labels, delta / total, penalty=1.0 / total))


def measured(report: harness.Report, originals: np.ndarray, truth: np.ndarray, n: int) -> tuple[float, float]:
    """Report everything about one graph, and return the mean errors of ridge and LapRLS."""
    stages, text = Stages(), f"{n:,} rows"
    X, _ = rows_of(originals, n, np.random.default_rng(0))
    stages.end(f"{text}: images and components", report)
    W = knn_graph(NeighborSearch(X, search="approximate"), K_NEIGHBORS, weight=WEIGHT)
    stages.end(f"{text}: neighbours and weights", report)
    spectrum = sm.spectra.laplacian_eigenpairs(W, Q, normalized=True)
    stages.end(f"{text}: {Q} eigenpairs", report)
    by_ridge, by_laprls, gap = errors(spectrum, truth)
    stages.end(f"{text}: {DRAWS} draws of ridge and LapRLS, ten classes", report)
    report.add(f"{text}: all of that", stages.total / 60, "min", at_most=MINUTES)
    report.add(f"{text}: peak memory", gigabytes(), "GB", at_most=GIGABYTES)
    for name, found in (("ridge", by_ridge), ("LapRLS", by_laprls)):
        report.add(f"{text}: error of {name}", float(np.mean(found)), "%", note=f"({np.std(found):.1f})")
    report.add(f"{text}: largest certified relative gap", gap, at_most=1e-6)
    return float(np.mean(by_ridge)), float(np.mean(by_laprls))


def one_default(name: str, n: int, folder: str) -> None:
    """Fit one default in this process, which nothing else has grown, and write what it took as JSON."""
    data = load("mnist", data_home=folder or None, download=False)
    rows = np.random.default_rng(0).permutation(len(data.y))[:n]
    X, truth = data.X[rows].astype(np.float32) / 255.0, data.y[rows]
    y = sm.hide_labels(truth, per_class=10, random_state=0)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = harness.default(name).fit(X, y)
    wrong = 100.0 * float((model.transduction_ != truth)[y == -1].mean())
    told = sorted({type(one.message).__name__ for one in caught})
    print(json.dumps({"seconds": time.perf_counter() - start, "GB": gigabytes(), "error": wrong, "warnings": told}))


def defaults(report: harness.Report, options: Any, n: int) -> None:
    """Fit every default to n rows, each in a process of its own."""
    for name in DEFAULTS:
        command = [sys.executable, __file__, "--one", name, str(n), str(options.data or "")]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            why = (run.stderr.strip().splitlines() or [f"exit code {run.returncode}"])[-1]
            report.add(f"{n:,} rows: {name}() FAILED", float("nan"), "s", note=why)
            continue
        row = json.loads(run.stdout.strip().splitlines()[-1])
        note = f"{row['GB']:.1f} GB, error {row['error']:.1f} %" + "".join(f", {one}" for one in row["warnings"])
        report.add(f"{n:,} rows: {name}()", row["seconds"], "s", note=note)


def main() -> None:
    """Run what the command line asks for."""
    if sys.argv[1:2] == ["--one"]:
        one_default(sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    given = harness.options(str(__doc__).partition("\n")[0], defaults="the defaults at 50,000 rows alone")
    try:
        data = load("mnist", data_home=given.data, download=False)
    except DataNotFoundError:
        print("MNIST is not available: nothing to measure.", flush=True)
        return
    originals, n, few = (6_000, 20_000, 5_000) if given.quick else (70_000, 1_000_000, 50_000)
    report = harness.Report("million", f"{n:,} images from {originals:,} digits, 10 labels per class")
    if not given.defaults:
        rows = np.random.default_rng(0).permutation(len(data.y))[:originals]
        images, truth = data.X[rows], data.y[rows]
        del data
        small = measured(report, images, truth, originals)
        large = measured(report, images, truth, n)
        for name, before, after in zip(("ridge", "LapRLS"), small, large, strict=True):
            report.add(f"{name}: error of {n:,} minus that of {originals:,}", after - before, "points", at_most=0.0)
    defaults(report, given, few)
    print(f"written to {report.write()}")


if __name__ == "__main__":
    main()
