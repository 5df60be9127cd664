"""Full conformal sets of LapRLS against split conformal: coverage and size at 90 % over draws of labels.

    OMP_NUM_THREADS=1 python benchmarks/conformal.py [--quick] [--data FOLDER] [--draws 500]

Eight data sets, four of scikit-learn and four published ones (those whose files are missing are left out, and the
report says so); 20, 50 and 100 labels drawn at random, 100 other samples, the same for both. Kernel (RBF at the median
distance, cosine for text), graph (10 neighbours, square of the normalised Laplacian, ratio 100) and penalty (0.1 of the
mean variance of the deformed kernel over all samples) are fixed beforehand and look at no label, so that the coverage
is proved; all classes of the set are candidates, whether they are labelled or not. Split conformal trains on half of
the labels and ranks the other half, by the same kernel, penalty and score. Numbers (diabetes) get intervals, whose
width is measured in standard deviations of the target.

Draws are written to ``benchmarks/results/conformal.jsonl`` by fifties; a run that was cut off goes on from there.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from _harness import RESULTS, Report
from sklearn import datasets as bundled
from sklearn.preprocessing import StandardScaler

import specmargin as sm
from reproduction.data import DataNotFoundError
from reproduction.data import load as load_set
from specmargin.kernels.maps import deformed_kernel
from specmargin.objectives.held_out.conformal import ConformalRidge, label_sets
from specmargin.objectives.held_out.leave_one_out import RidgePath

LEVEL, TESTED, CHUNK = 0.9, 100, 50
LABELED = (20, 50, 100)
PUBLISHED = ("g50c", "mac_windows", "uspst", "coil20")
BUNDLED: dict[str, Callable[..., Any]] = {
    "iris": bundled.load_iris,
    "wine": bundled.load_wine,
    "breast_cancer": bundled.load_breast_cancer,
    "digits": bundled.load_digits,
    "diabetes": bundled.load_diabetes,
}


def load(name: str, data: Path | None) -> tuple[Any, np.ndarray]:
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
        X = X if name == "digits" else StandardScaler().fit_transform(X)
        return X, (y - y.mean()) / y.std() if name == "diabetes" else y
    published = load_set(name, data_home=data)
    return published.X, np.unique(published.y, return_inverse=True)[1]


def fixed_kernel(X: Any) -> tuple[np.ndarray, float]:
    """Return the deformed kernel of all samples and the penalty; neither looks at a label."""
    text = not isinstance(X, np.ndarray)
    K = sm.kernels.gram(X, kernel="cosine") if text else sm.kernels.gram(X, gamma=sm.kernels.resolve_gamma(X, "median"))
    W = sm.graphs.knn_graph(X, n_neighbors=10, metric="cosine" if text else "euclidean")
    K = deformed_kernel(K, sm.graphs.laplacian(W, power=2), 100.0).matrix
    return K, 0.1 * float(np.trace(K) / len(K) - K.mean())


def excess(decisions: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the largest other decision minus the own one."""
    rows = np.arange(len(own))
    ours, others = decisions[rows, own], decisions.copy()
    others[rows, own] = -np.inf
    return others.max(axis=1) - ours


def split_p_values(
    K: np.ndarray, T: np.ndarray, y: np.ndarray, known: np.ndarray, new: np.ndarray, penalty: float
) -> np.ndarray:
    """Return split conformal p-values, (m, n_classes): trained on the first half of the labels, ranked by the rest."""
    trained, ranked = known[: len(known) // 2], known[len(known) // 2 :]
    v, b = RidgePath(K[np.ix_(trained, trained)], T[trained]).solution(penalty)
    f = K[:, trained] @ v + b
    scores = excess(f[ranked], y[ranked])
    candidates = np.stack([excess(f[new], np.full(len(new), k)) for k in range(T.shape[1])], axis=1)
    return (1 + (scores >= candidates[..., None]).sum(axis=-1)) / (len(ranked) + 1)


def classes_draw(
    K: np.ndarray, y: np.ndarray, penalty: float, known: np.ndarray, new: np.ndarray
) -> dict[str, tuple[float, float]]:
    """Return coverage and mean number of classes of one draw, by method."""
    T = np.where(y[:, None] == np.arange(y.max() + 1), 1.0, -1.0)
    ridge = ConformalRidge(K[np.ix_(known, known)], T[known], penalty)
    by_method = {
        "full": ridge.p_values(K[np.ix_(new, known)], np.diag(K)[new]),
        "split": split_p_values(K, T, y, known, new, penalty),
    }
    sets = {method: label_sets(p, LEVEL) for method, p in by_method.items()}
    return {
        method: (float(one[np.arange(len(new)), y[new]].mean()), float(one.sum(axis=1).mean()))
        for method, one in sets.items()
    }


def numbers_draw(
    K: np.ndarray, y: np.ndarray, penalty: float, known: np.ndarray, new: np.ndarray
) -> dict[str, tuple[float, float]]:
    """Return coverage and mean width of the intervals of one draw, by method."""
    ridge = ConformalRidge(K[np.ix_(known, known)], y[known], penalty)
    trained, ranked = known[: len(known) // 2], known[len(known) // 2 :]
    v, b = RidgePath(K[np.ix_(trained, trained)], y[trained]).solution(penalty)
    f = K[:, trained] @ v + b
    # The least residual that is not exceeded by a share of 1 - LEVEL.
    position = int(np.ceil(LEVEL * (len(ranked) + 1) - 1e-9)) - 1
    half = np.sort(np.abs(y - f)[ranked])[position] if position < len(ranked) else np.inf
    ends = {
        "full": ridge.intervals(K[np.ix_(new, known)], np.diag(K)[new], LEVEL),
        "split": np.stack([f[new] - half, f[new] + half], axis=1),
    }
    return {
        method: (float(((one[:, 0] <= y[new]) & (y[new] <= one[:, 1])).mean()), float((one[:, 1] - one[:, 0]).mean()))
        for method, one in ends.items()
    }


def chunk(name: str, K: np.ndarray, y: np.ndarray, penalty: float, l: int, first: int, count: int) -> dict[str, Any]:
    """Return sums, and sums of squares, over some draws."""
    draw_of = numbers_draw if name == "diabetes" else classes_draw
    start, values = time.perf_counter(), []
    for draw in range(first, first + count):
        order = np.random.default_rng([draw, l]).permutation(len(y))
        known, new = order[:l], order[l : l + min(TESTED, len(y) - l)]
        by_method = draw_of(K, y, penalty, known, new)
        values.append([*by_method["full"], *by_method["split"]])
    table = np.array(values)
    return {
        "set": name,
        "l": l,
        "first": first,
        "count": count,
        "sums": table.sum(axis=0).tolist(),
        "squares": (table**2).sum(axis=0).tolist(),
        "seconds": time.perf_counter() - start,
    }


def measured(names: list[str], draws: int, data: Path | None, store: Path) -> list[dict[str, Any]]:
    """Return the records of all chunks: those of the file, and those that were missing, which are appended to it."""
    lines = store.read_text(encoding="utf-8").splitlines() if store.exists() else []
    records = [json.loads(line) for line in lines if line.endswith("}")]
    done = {(one["set"], one["l"], one["first"], one["count"]) for one in records}
    for name in names:
        jobs = [
            (l, first, min(CHUNK, draws - first))
            for l in LABELED
            for first in range(0, draws, CHUNK)
            if (name, l, first, min(CHUNK, draws - first)) not in done
        ]
        if not jobs:
            continue
        X, y = load(name, data)
        K, penalty = fixed_kernel(X)
        for l, first, count in jobs:
            records.append(chunk(name, K, y, penalty, l, first, count))
            with store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(records[-1]) + "\n")
            print(f"{name} l={l}: draws {first} to {first + count - 1}, {records[-1]['seconds']:.1f} s", flush=True)
    return [one for one in records if one["set"] in names and one["first"] + one["count"] <= draws]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 draws of the bundled sets: a look, not a record")
    parser.add_argument("--data", type=Path, default=None, help="folder of the real data (else $SPECMARGIN_DATA)")
    parser.add_argument("--draws", type=int, default=500, help="draws of labels per set and number of labels")
    args = parser.parse_args()
    report = Report("conformal", f"Full against split conformal sets of LapRLS at {LEVEL:.0%}")
    names, missing = list(BUNDLED), []
    for name in () if args.quick else PUBLISHED:
        try:
            load(name, args.data)
            names.append(name)
        except DataNotFoundError:
            missing.append(name)
    if missing:
        print(f"left out, for their files are missing: {', '.join(missing)}")
    RESULTS.mkdir(exist_ok=True)
    store = RESULTS / ("conformal_quick.jsonl" if args.quick else "conformal.jsonl")
    records = measured(names, 20 if args.quick else args.draws, args.data, store)
    sizes: dict[int, list[tuple[float, float]]] = {}
    for name in names:
        for l in LABELED:
            mine = [one for one in records if (one["set"], one["l"]) == (name, l)]
            draws = sum(one["count"] for one in mine)
            mean = np.sum([one["sums"] for one in mine], axis=0) / draws
            error = np.sqrt(np.maximum(np.sum([one["squares"] for one in mine], axis=0) / draws - mean**2, 0) / draws)
            note = f"covers {mean[0]:.4f} (s.e. {error[0]:.4f}), split {mean[2]:.4f}; {draws} draws"
            report.add(f"{name}, l={l}: coverage less {LEVEL}", abs(mean[0] - LEVEL), "share", at_most=0.02, note=note)
            note = f"full {mean[1]:.3f} (s.e. {error[1]:.3f}), split {mean[3]:.3f} (s.e. {error[3]:.3f})"
            report.add(f"{name}, l={l}: size of full / size of split", mean[1] / mean[3], "x", at_most=1.0, note=note)
            sizes.setdefault(l, []).append((mean[1], mean[3]))
    for l, pairs in sizes.items():
        full, split = np.array(pairs).T
        note = f"mean sizes {full.mean():.3f} and {split.mean():.3f} of {len(pairs)} sets"
        report.add(f"l={l}: mean of the ratios of sizes", float((full / split).mean()), "x", at_most=1.0, note=note)
    report.write()


if __name__ == "__main__":
    main()
