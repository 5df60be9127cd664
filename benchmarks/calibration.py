"""Expected calibration error of predict_proba, compared with that of the raw scores, of every classifier.

    OMP_NUM_THREADS=1 python benchmarks/calibration.py [--quick] [--data FOLDER] [--draws 10] [--only STORM,KTA]

Six sets of at most 500 samples (those whose files are missing are left out, and the report says so), 20 and 100
labels drawn at random, every classifier with its defaults. Errors are those of the unlabelled samples, whose truth is
known here: samples go into 15 bins by the probability of the class that is predicted, and the error is the mean over
samples of the distance between a bin's mean probability and its share of right predictions; bins of equal numbers, and
bins of equal width. Raw scores are made probabilities in two ways: the logistic (softmax) function of decisions, and
decisions scaled to [0, 1] by their least and their largest, with more than two classes over their sum.

Three more numbers say what can be had. A bin of 30 samples is off by chance alone: the same is measured of labels that
are drawn by the probabilities themselves, which are calibrated by construction ("chance"). One scale cannot mend the
shape of decisions: the scale with the least log-loss on all unlabelled samples ("best scale"). And few labels do not
tell the scale: that of as many labels as the fit had, of samples that it has not seen labelled, in the mean of three
draws ("fresh labels"); no refit without labels can be expected to know more. "Over chance" is the error less
"chance", ours over that of the logistic function; a difference, not a decomposition.

Draws are written to ``benchmarks/results/calibration.jsonl``; a run that was cut off goes on from there.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _harness import RESULTS, Report, default
from scipy.special import expit, softmax

import specmargin as sm
from reproduction.data import DataNotFoundError
from reproduction.papers._protocols.auto_ssl_sets import SETS
from reproduction.tasks import samples
from specmargin.objectives.held_out.calibration import calibrated_scale, class_probabilities

BINS, GOAL, N, FRESH = 15, 0.5, 500, 3
LABELED = (20, 100)
NAMES = ("g50c", "breast_cancer", "mnist 3-8", "mac-windows", "four clusters", "digits")
CLASSIFIERS = (
    *("LapRLS", "LabelSearch", "LapSVM", "RMM", "SpectralRidge", "SpectralGraphTransducer", "KTA", "STORM"),
    *("STOAM", "MKL", "SpectralKernelSVM", "XuSpectralSVM", "AutoSSL", "ContinuationS3VM", "GradientS3VM"),
    *("QuasiNewtonS3VM", "MultiSwitchTSVM", "AnnealedS3VM", "CCCPS3VM", "LabelSwitchingS3VM"),
)
KNOWN = ("chance", "best scale", "fresh labels")
"""Errors of no probabilities that anyone could have: what explains ours."""
CALIBRATED_SCORES = ("AutoSSL",)
"""Whose decisions are log-probabilities already: raw scores have nothing to lose to."""


def calibration_error(p: np.ndarray, right: np.ndarray, *, adaptive: bool) -> float:
    """Return the expected calibration error of the probabilities p of the predicted classes."""
    if adaptive:
        at = np.empty(len(p), dtype=int)
        at[np.argsort(p, kind="stable")] = np.arange(len(p)) * BINS // len(p)
    else:
        at = np.clip(np.ceil(p * BINS).astype(int) - 1, 0, BINS - 1)
    gaps = np.bincount(at, p - right, minlength=BINS)
    return float(np.abs(gaps).sum() / len(p))


def of_predicted(f: np.ndarray, p: np.ndarray, own: np.ndarray) -> dict[str, np.ndarray]:
    """Return the probability of the predicted class of every sample, 0 .. K - 1, by the way that made it."""
    rows = np.arange(len(own))
    scaled = (f - f.min()) / max(float(np.ptp(f)), 1e-300)
    if f.ndim == 1:
        logistic, scaled = (np.stack([1.0 - q, q], axis=1) for q in (expit(f), scaled))
    else:
        logistic, scaled = softmax(f, axis=1), scaled / np.maximum(scaled.sum(axis=1, keepdims=True), 1e-300)
    assert (p.argmax(axis=1) == own).all()
    return {"ours": p[rows, own], "logistic": logistic[rows, own], "min-max": scaled[rows, own]}


def explained(
    f: np.ndarray, truth: np.ndarray, p: np.ndarray, right: np.ndarray, l: int, draw: int
) -> dict[str, float]:
    """Return the errors that are `KNOWN`, of decisions f, true classes in 0 .. K - 1, and probabilities p as they are.

    In bins of equal numbers.
    """
    rng = np.random.default_rng([draw, l])
    sign = np.where(truth == 1 if f.ndim == 1 else truth[:, None] == np.arange(f.shape[1]), 1.0, -1.0)

    def error(T: float) -> float:
        scaled = class_probabilities(T * (f[:, None] if f.ndim == 1 else f)).max(axis=1)
        return calibration_error(scaled, right, adaptive=True)

    chance = calibration_error(p, rng.random(len(p)) < p, adaptive=True)
    fresh = [rng.choice(len(p), min(l, len(p)), replace=False) for _ in range(FRESH)]
    return {
        "chance": chance,
        "best scale": error(calibrated_scale(f, sign, pseudo=1e-6)),
        "fresh labels": float(np.mean([error(calibrated_scale(f[some], sign[some])) for some in fresh])),
    }


def subset(X: Any, truth: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return at most N samples, always the same ones."""
    rows = np.sort(np.random.default_rng(0).permutation(len(truth))[:N])
    return X[rows], truth[rows]


def row(name: str, X: Any, truth: np.ndarray, classifier: str, l: int, draw: int) -> dict[str, Any]:
    """Return the errors of one fit."""
    y = sm.hide_labels(truth, n_labeled=l, random_state=1000 * l + draw)
    new, start = np.flatnonzero(y == -1), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of shares, components and gaps: defaults are judged as they are
        clf = default(classifier).fit(X, y)
        fitted = time.process_time()
        predicted = np.searchsorted(clf.classes_, clf.predict(X[new]))
        f, p = clf.decision_function(X[new]), clf.predict_proba(X[new])
    told, true = time.process_time(), np.searchsorted(clf.classes_, truth[new])
    by, right = of_predicted(f, p, predicted), predicted == true
    errors = {
        f"{way}, {'equal numbers' if adaptive else 'equal width'}": calibration_error(each, right, adaptive=adaptive)
        for way, each in by.items()
        for adaptive in (True, False)
    }
    errors.update(explained(f, true, by["ours"], right, l, draw))
    return {
        "set": name,
        "classifier": classifier,
        "l": l,
        "draw": draw,
        "errors": errors,
        "accuracy": float(right.mean()),
        "mean probability": float(by["ours"].mean()),
        "fit": fitted - start,
        "probabilities": told - fitted,
    }


def measured(sets: list[str], classifiers: list[str], draws: int, data: Path | None, store: Path) -> list[Any]:
    """Return the records of all fits: those of the file, and those that were missing, which are appended to it."""
    lines = store.read_text(encoding="utf-8").splitlines() if store.exists() else []
    records = [json.loads(line) for line in lines if line.endswith("}")]
    records = [one for one in records if one["errors"].keys() >= set(KNOWN)]
    done = {(one["set"], one["classifier"], one["l"], one["draw"]) for one in records}
    loaded = {name: subset(*samples(SETS[name], data)[:2]) for name in sets}
    for draw in range(draws):
        for name, (X, truth) in loaded.items():
            for classifier in classifiers:
                for l in LABELED:
                    if (name, classifier, l, draw) in done:
                        continue
                    records.append(row(name, X, truth, classifier, l, draw))
                    with store.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(records[-1]) + "\n")
            print(f"{name}: draw {draw}", flush=True)
    return [one for one in records if one["draw"] < draws and one["classifier"] in classifiers]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 draws of the bundled sets: a look, not a record")
    parser.add_argument("--data", type=Path, default=None, help="folder of the real data (else $SPECMARGIN_DATA)")
    parser.add_argument("--draws", type=int, default=10, help="draws of labels per set and number of labels")
    parser.add_argument("--only", default=",".join(CLASSIFIERS), help="classifiers, with commas between them")
    args = parser.parse_args()
    report = Report("calibration", f"Expected calibration error in {BINS} bins of equal numbers: ours over raw scores'")
    sets, missing = [], []
    for name in ("breast_cancer", "four clusters") if args.quick else NAMES:
        try:
            samples(SETS[name], args.data)
            sets.append(name)
        except DataNotFoundError:
            missing.append(name)
    if missing:
        print(f"left out, for their files are missing: {', '.join(missing)}")
    RESULTS.mkdir(exist_ok=True)
    store = RESULTS / ("calibration_quick.jsonl" if args.quick else "calibration.jsonl")
    classifiers = args.only.split(",")
    records = measured(sets, classifiers, 2 if args.quick else args.draws, args.data, store)

    def mean(of: list[Any], key: str) -> float:
        return float(np.mean([one["errors"][key] for one in of]))

    for classifier in classifiers:
        mine = [one for one in records if one["classifier"] == classifier and one["set"] in sets]
        for name in (*sets, "all"):
            some = [one for one in mine if name in (one["set"], "all")]
            ours, logistic, scaled = (mean(some, f"{way}, equal numbers") for way in ("ours", "logistic", "min-max"))
            width = [mean(some, f"{way}, equal width") for way in ("ours", "logistic", "min-max")]
            chance, best, fresh = (mean(some, key) for key in KNOWN)
            excess = (ours - chance) / max(logistic - chance, 1e-12)
            note = (
                f"{ours:.3f}, logistic {logistic:.3f}, min-max {scaled:.3f}; equal width {width[0]:.3f}, "
                f"{width[1]:.3f}, {width[2]:.3f}; chance {chance:.3f}, best scale {best:.3f}, "
                f"fresh labels {fresh:.3f} ({fresh / max(logistic, 1e-12):.2f} and {fresh / max(scaled, 1e-12):.2f} of "
                f"raw scores'); over chance {excess:.2f} of logistic's; "
                f"accuracy {np.mean([one['accuracy'] for one in some]):.3f}, {len(some)} fits"
            )
            goal = None if classifier in CALIBRATED_SCORES else GOAL
            report.add(f"{classifier}, {name}: over logistic", ours / max(logistic, 1e-12), at_most=goal, note=note)
            report.add(f"{classifier}, {name}: over min-max", ours / max(scaled, 1e-12), at_most=GOAL)
    report.write()


if __name__ == "__main__":
    main()
