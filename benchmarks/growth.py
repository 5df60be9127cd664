"""How time and memory of every method grow with the samples, next to what the method cannot do without.

    OMP_NUM_THREADS=1 python benchmarks/growth.py [--quick] [--only LapSVM]

Two overlapping Gaussians in 20 dimensions with 50 labels, and the defaults of every method, each in a process of its
own. The exponent is that of the CPU seconds of a fit, the best of two, from the smallest n to the largest; memory is
the peak above that of the data. The floor is what a fit cannot do without: the largest terms of its operations and of
the numbers that it holds, by n, l labels, d features, q = 200 eigenvectors and k neighbours, and their exponent. A
search for neighbours by brute force is n^2 d products with a small constant; what is linear without it grows between
one and two. The table is kept in ``benchmarks/results/growth.md`` as it grows.
"""

from __future__ import annotations

import multiprocessing
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from _harness import RESULTS, Report, default, parser

import specmargin as sm

SIZES = (500, 1000, 2000)
N_FEATURES, N_LABELED = 20, 50


class Floor(NamedTuple):
    """Largest terms of the operations and of the bytes, in words, and the exponents of both in n."""

    flops: str
    bytes: str
    time: float
    memory: float


STORED = Floor("2/3 n^3 (LU)", "8 n^2 (kernel)", 3.0, 2.0)
SPECTRUM = Floor("n^2 d (neighbours), n q^2", "8 n q", 2.0, 1.0)
LINEAR = Floor("n d per step", "8 n d", 1.0, 1.0)
FLOORS = {
    "LapSVM": STORED,
    "LapRLS": STORED,
    "STORM": SPECTRUM,
    "STOAM": SPECTRUM,
    "MKL": SPECTRUM,
    "KTA": SPECTRUM,
    "SpectralRidge": SPECTRUM,
    "SpectralKernelSVM": SPECTRUM,
    "XuSpectralSVM": SPECTRUM,
    "SpectralGraphTransducer": SPECTRUM,
    "SpectralFilterClassifier": Floor("n^2 d (neighbours), m n k d", "8 m n d (m filters)", 2.0, 1.0),
    "RMM": Floor("l^2 d (labels alone)", "8 l^2", 0.0, 0.0),
    "GradientS3VM": LINEAR,
    "QuasiNewtonS3VM": LINEAR,
    "ContinuationS3VM": LINEAR,
    "MultiSwitchTSVM": LINEAR,
    "LabelSwitchingS3VM": LINEAR,
    "CCCPS3VM": LINEAR,
    "AutoSSL": Floor("n^2 d (neighbours), n m^2 (m landmarks)", "8 n m", 2.0, 1.0),
}


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return features, and labels with -1 where they are hidden."""
    rng = np.random.default_rng(n)
    truth = np.arange(n) % 2
    X = rng.normal(size=(n, N_FEATURES)) + 1.2 * (truth == 1)[:, None] * (np.arange(N_FEATURES) < 3)
    return X, sm.hide_labels(truth, per_class=N_LABELED // 2, random_state=0)


def peak_bytes() -> float:
    """Return the peak memory of this process."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024.0 * int(next(line for line in status if line.startswith("VmHWM")).split()[1])


def fits(name: str, sizes: tuple[int, ...], repeats: int) -> list[tuple[float, float]]:
    """Return CPU seconds of a fit and bytes above those before it, for each number of samples."""
    warnings.simplefilter("ignore")
    default(name).fit(*sample(200))
    out = []
    for n in sizes:
        X, y = sample(n)
        before, each = peak_bytes(), []
        for _ in range(repeats):
            start = time.process_time()
            default(name).fit(X, y)
            each.append(time.process_time() - start)
        out.append((min(each), peak_bytes() - before))
    return out


def main() -> None:
    given = parser(__doc__.splitlines()[0])
    given.add_argument("--only", default="", help="how the names of methods begin")
    args = given.parse_args()
    report = Report("growth", "Growth with the samples: CPU seconds of a fit")
    sizes = (250, 500) if args.quick else SIZES
    heads = " | ".join(f"n = {n}, s" for n in sizes)
    table = [f"| method | {heads} | exponent | floor | MB | floor: operations | floor: bytes |"]
    table.append("|---|" + "---:|" * (len(sizes) + 3) + "---|---|")
    RESULTS.mkdir(exist_ok=True)
    for name, floor in FLOORS.items():
        if not name.startswith(args.only):
            continue
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            measured = pool.apply(fits, (name, sizes, 1 if args.quick else 2))
        (first, _), (last, memory) = measured[0], measured[-1]
        exponent = float(np.log(last / first) / np.log(sizes[-1] / sizes[0]))
        note = f"{last:.3g} s at n = {sizes[-1]}; floor n^{floor.time:g}: {floor.flops}; {floor.bytes}"
        report.add(f"{name}: exponent", exponent, "", note=note)
        each = " | ".join(f"{seconds:.2g}" for seconds, _ in measured)
        numbers = f"{each} | {exponent:.1f} | {floor.time:g} | {memory / 1e6:.0f}"
        table.append(f"| {name} | {numbers} | {floor.flops} | {floor.bytes} |")
        # As it goes: some methods take minutes.
        (RESULTS / "growth.md").write_text("\n".join(table) + "\n", encoding="utf-8")
    print("\n" + "\n".join(table))
    report.write()


if __name__ == "__main__":
    main()
