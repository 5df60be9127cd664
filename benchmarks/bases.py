"""Which functions the default of LapSVM takes for many samples: what they cost over n, and what they decide.

    OMP_NUM_THREADS=1 python benchmarks/bases.py              1,000 to 100,000 samples, then eleven sets
    OMP_NUM_THREADS=1 python benchmarks/bases.py --quick      up to 6,000 samples, digits alone
    OMP_NUM_THREADS=1 python benchmarks/bases.py --only sizes     or sets

Sizes: seconds of the processor per sample of a fit on Gaussians of eight dimensions, whose kernel has full rank, in
units of what 30,000 samples take. Sets: errors on the unlabelled samples in per cent, means over draws of 20 and of 100
labels: of the kernel, of 200 eigenvectors, of landmarks, and of what the default takes beyond 5,000 samples, here of
any number, so that the kernel can be compared.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import _harness as harness
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

import specmargin as sm
from reproduction.data import DataNotFoundError, load
from specmargin.estimators._base import manifold
from specmargin.kernels import Landmarks
from specmargin.spectra import Eigenvectors

MOST = 3000
"""Samples of a set."""
NAMES = ("coil20", "g50c", "isolet", "mac_windows", "mnist", "pcmac_counts", "rcv1_ccat_sample", "usps")
Data = tuple[Any, np.ndarray]


def seconds(work: Callable[[], Any]) -> float:
    """Return the seconds of the processor that one call takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def sizes(report: harness.Report, ns: tuple[int, ...], unit: int) -> None:
    """Fit the default to more and more samples."""
    found = {}
    for n in ns:
        rng, truth = np.random.default_rng(0), np.arange(n) % 2
        X = rng.normal(size=(n, 8)) + 2.0 * truth[:, None] * (np.arange(8) < 2)
        y = np.where(rng.permutation(n) < 100, truth, -1)
        model = sm.LapSVM()
        took = min(seconds(lambda m=model, X=X, y=y: m.fit(X, y)) for _ in range(3 if n <= 3000 else 1))
        found[n] = took / n, f"{took:.1f} s, error {100 * np.mean(model.transduction_ != truth):.1f} %, {model.result_}"
    for n, (share, told) in found.items():
        report.add(f"time per sample, n = {n:,} / n = {unit:,}", share / found[unit][0], at_most=3.0, note=told)


def sets(data: Any, quick: bool) -> dict[str, Callable[[], Data]]:
    """Return what reads each set."""
    found: dict[str, Callable[[], Data]] = {"digits": lambda: load_digits(return_X_y=True)}
    if not quick:
        X, y = load_breast_cancer(return_X_y=True)
        found["breast cancer"] = lambda: ((X - X.mean(axis=0)) / X.std(axis=0), y)
        found["two moons"] = lambda: sm.datasets.make_two_moons(n_samples=MOST, noise=0.15, random_state=0)
        for name in NAMES:
            found[name] = lambda name=name: (lambda read: (read.X, read.y))(load(name, data_home=data, download=False))
    return found


def errors(report: harness.Report, name: str, X: Any, y: np.ndarray, draws: int) -> None:
    """Compare the bases on one set, and the one that left-out labels take."""
    rows = np.random.default_rng(0).permutation(len(y))[:MOST]
    X, codes = X[rows].astype(float), np.unique(y[rows], return_inverse=True)[1]
    m = int(np.clip(10_000_000 // len(codes), 500, 1000))
    bases = {"kernel": "kernel", "eigenvectors": Eigenvectors(), "landmarks": Landmarks(m)}
    for l in (20, 100):
        wrong = []
        for draw in range(draws):
            known = np.random.default_rng([draw, l]).permutation(len(codes))[:l]
            hidden = np.full(len(codes), -1)
            hidden[known] = codes[known]
            fits = [sm.LapSVM(functions=functions).fit(X, hidden) for functions in bases.values()]
            stored, manifold.STORED_SAMPLES = manifold.STORED_SAMPLES, 0
            try:
                fits.append(sm.LapSVM().fit(X, hidden))
            finally:
                manifold.STORED_SAMPLES = stored
            wrong.append([100 * np.mean((fit.transduction_ != codes)[hidden < 0]) for fit in fits])
        *each, chosen = np.mean(wrong, axis=0)
        told = ", ".join(f"{basis} {one:.1f}" for basis, one in zip(bases, each, strict=True))
        text = f"{name}, {l} labels: error above that of the best basis"
        report.add(text, chosen - min(each), "points", at_most=1.0, note=f"{chosen:.1f}; {told}")


def main() -> None:
    """Measure both."""
    parser = harness.parser(str(__doc__).partition("\n")[0])
    parser.add_argument("--only", choices=("sizes", "sets"), help="one of both")
    parser.add_argument("--most", type=int, default=100_000, help="the largest number of samples (default 100,000)")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    report = harness.Report("bases", "Functions of LapSVM for many samples")
    if given.only != "sets":
        ns = (1000, 3000, 6000) if given.quick else (1000, 3000, 5000, 10_000, 30_000, 100_000)
        sizes(report, tuple(n for n in ns if n <= given.most), 6000 if given.quick else 30_000)
    for name, read in sets(given.data, given.quick).items() if given.only != "sizes" else ():
        try:
            errors(report, name, *read(), draws=1 if given.quick else 3)
        except DataNotFoundError as error:
            print(f"{name}: {error}")
    report.write()


if __name__ == "__main__":
    main()
