"""How large a fitted classifier over a graph's eigenpairs is in a pickle, next to its features.

    OMP_NUM_THREADS=1 python benchmarks/pickles.py                 2,000 samples of 50 features
    OMP_NUM_THREADS=1 python benchmarks/pickles.py --quick         500 samples

A pickle holds the features and the graph once, and no eigenvectors: these follow from the graph, and are computed again
where they are asked for. Every copy is to decide as its original does, to the last bit, and to have its eigenvectors.
"""

from __future__ import annotations

import pickle

import numpy as np
from _harness import Report, parser, seconds

import specmargin as sm

NAMES = ("STORM", "STOAM", "MKL", "KTA", "SpectralKernelSVM", "SpectralRidge", "LapSVM")


def main() -> None:
    args = parser(__doc__.splitlines()[0]).parse_args()
    report = Report("pickles", "Fitted classifiers in a pickle, bytes next to those of the features")
    n, rng = 500 if args.quick else 2000, np.random.default_rng(0)
    truth = rng.integers(2, size=n)
    X, new = (rng.normal(size=(len(t), 50)) + 0.5 * t[:, None] for t in (truth, truth[:200]))
    y = np.where(rng.permutation(n) < 100, truth, -1)
    for name in NAMES:
        fitted = getattr(sm, name)().fit(X, y)
        content = pickle.dumps(fitted)
        again = pickle.loads(content)
        same = np.array_equal(again.decision_function(new), fitted.decision_function(new))
        note = "the copy decides the same" if same else "THE COPY DECIDES OTHERWISE"
        if hasattr(fitted, "eigenvectors_"):
            took = seconds(lambda copy=again: copy.eigenvectors_)
            equal = np.array_equal(again.eigenvectors_, fitted.eigenvectors_)
            note += f", its eigenvectors {'are the same' if equal else 'DIFFER'}, after {took:.2f} s"
        report.add(f"{name}, n = {n}: pickle / features", len(content) / X.nbytes, at_most=2.0, note=note)
    report.write()


if __name__ == "__main__":
    main()
