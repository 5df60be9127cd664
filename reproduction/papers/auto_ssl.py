"""AutoSSL on two dozen sets: its errors next to a tuned SVM's, its supervised baseline's, and every family's alone.

No paper: this is the table by which the constants of `specmargin.tables.candidates` are judged. One cell is one draw of
labels of one set; the kernels of a set serve all its draws.

**Protocol.** Labels are drawn at random until each class has one; everything is tuned on them alone. The SVM is tuned
by five labelled folds over linear and RBF kernels and C. Errors are those of the unlabelled samples. The sets of
`CHOOSING` may choose constants, those of `CONFIRMING` confirm them: ``--set half=choosing`` or ``half=confirming``;
``half=unseen`` are fifteen sets that were named, before they were computed, after all constants had been chosen.
``half=published`` are four whole data sets with published splits of 50 labels (COIL20: two of each class); AutoSSL is
also shown there with the exact shares of the classes, which the S3VMs had whose errors were published.
"""

import math
import statistics
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from reproduction.blocks import grouped
from reproduction.engine.evaluation import percent
from reproduction.engine.records import Cell, Row
from reproduction.papers._protocols.auto_ssl_sets import (
    CHOOSING,
    CONFIRMING,
    FLOORS,
    PUBLISHED,
    SETS,
    SEVERAL,
    TEST_TUNED,
    UNSEEN,
)
from reproduction.report import Line, Section
from reproduction.run import Experiment, Findings, Options, Setup, words
from reproduction.tasks import Task, available_tasks, samples, splits
from specmargin.estimators.comparison import compare_errors, error_estimate
from specmargin.exceptions import InvalidInputError
from specmargin.tables.candidates import (
    CONSTANTS,
    FAMILIES,
    SUPERVISED,
    Constants,
    KernelGroup,
    Mixture,
    build_bank,
    train_candidates,
)
from specmargin.typing import FloatArray, IntArray

VARIANTS: Mapping[str, Constants] = {
    "usual": CONSTANTS,
    "finer graphs": replace(CONSTANTS, graph_neighbors=(2, 3, 5, 8, 15, 50), deformed_from=2),
    "equal prior": replace(CONSTANTS, prior=tuple((family, 1.0) for family in FAMILIES)),
    "more eigenpairs": replace(CONSTANTS, eigenpairs=200),
    "smaller penalties": replace(CONSTANTS, penalties=(1e-3, 1e-2, 1e-1)),
    "more penalties": replace(CONSTANTS, penalties=(1e-3, 1e-2, 1e-1, 1.0, 10.0)),
    "no s3vm": replace(CONSTANTS, s3vm_shares=()),
    "no agreement": replace(CONSTANTS, agreement=0.0),
    "agreement 4": replace(CONSTANTS, agreement=4.0),
    "agreement 10": replace(CONSTANTS, agreement=10.0),
    "temperature 2": replace(CONSTANTS, temperature=2.0),
    "temperature 4": replace(CONSTANTS, temperature=4.0),
}
"""Constants that can be compared, ``--set constants=NAME``."""

_ALL: Mapping[str, Task] = {**SETS, **UNSEEN, **PUBLISHED}
_LABELS = (4, 10, 20, 50, 100)
_LABELS_PER_CLASS = (2, 5, 10)
_NAMES = ("tuned", "baseline", "auto", "known", *FAMILIES)
"""tuned: the SVM that folds of the labels tune; known: AutoSSL with the exact shares of the classes."""
_TITLES = {"known": "auto, exact class shares"}


def draw_labels(y: IntArray, n_labeled: int, seed: int) -> IntArray:
    """Return the rows of random labels, drawn again until each class has one.

    Examples
    --------
    >>> 3 in draw_labels(np.array([0, 0, 0, 1]), 2, seed=0)
    True
    """
    rng, n_classes = np.random.default_rng(seed), int(y.max()) + 1
    for _ in range(100_000):
        rows = rng.permutation(len(y))[:n_labeled]
        if len(np.unique(y[rows])) == n_classes:
            return np.sort(rows)
    raise InvalidInputError(f"n_labeled={n_labeled} hardly ever holds all {n_classes} classes; take more.")


def tuned_svm(X: Any, y: IntArray, labeled: IntArray, seed: int = 0) -> IntArray:
    """Return the classes of all samples by an SVM whose kernel and C labelled folds choose.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    y : ndarray of shape (n,)
        Classes, of which those of `labeled` are read.
    labeled : ndarray of int
    seed : int
        Deals out the folds.
    """
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import SVC

    from specmargin.kernels import resolve_gamma

    median = resolve_gamma(X, "median")
    Cs = [0.1, 1.0, 10.0, 100.0]
    scale = float(np.sqrt((X.multiply(X) if hasattr(X, "multiply") else X * X).sum() / X.shape[0])) or 1.0
    grid = [
        {"kernel": ["linear"], "C": Cs},
        {"kernel": ["rbf"], "gamma": [scale**2 * median * factor for factor in (0.25, 1.0, 4.0, 16.0)], "C": Cs},
    ]
    # Folds of fewer than two of the largest class cannot be dealt out.
    folds = max(2, min(5, int(np.bincount(y[labeled]).max())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer labels than folds
        search = GridSearchCV(SVC(), grid, cv=StratifiedKFold(folds, shuffle=True, random_state=seed), error_score=0.0)
        search.fit(X[labeled] / scale, y[labeled])
    return np.asarray(search.predict(X / scale))


@lru_cache(maxsize=1)
def _bank(name: str, constants: str, n: int, data: Path | None) -> tuple[Any, IntArray, list[KernelGroup], float]:
    X, y, *_ = samples(_ALL[name], data)
    if name not in PUBLISHED and len(y) > n:
        rows = np.sort(np.random.default_rng(1).permutation(len(y))[:n])
        X, y = X[rows], y[rows]
    start = time.process_time()
    return X, y, build_bank(X, constants=VARIANTS[constants]), time.process_time() - start


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Return the errors in percent of all methods at one draw, and what the report would have told."""
    p = cell.parameters
    constants = VARIANTS[p["constants"]]
    X, y, bank, seconds = _bank(cell.dataset, p["constants"], p["n"], data)
    n_classes = int(y.max()) + 1
    if cell.dataset in PUBLISHED:
        labeled = splits(PUBLISHED[cell.dataset], data)[cell.split].labeled
    else:
        seed = int(cell.split.removeprefix("draw"))
        labeled = draw_labels(y, p["labels"] * (n_classes if cell.dataset in SEVERAL else 1), seed)
    codes, hidden = y[labeled], np.setdiff1d(np.arange(len(y)), labeled)
    start = time.process_time()
    trained = train_candidates(bank, labeled, codes, n_classes, families=FAMILIES, constants=constants)
    wanted = {"auto": FAMILIES, "baseline": SUPERVISED, **{family: (family,) for family in FAMILIES}}
    mixtures: dict[str, Mixture] = {}
    told: dict[str, Any] = {}
    for name, families in wanted.items():
        if name == FAMILIES[0]:
            told = _told(mixtures["auto"], mixtures["baseline"], codes)
            fit_seconds = time.process_time() - start
        groups = [group for group in trained if group.family in families]
        if groups:
            mixtures[name] = Mixture(groups, codes, n_classes, constants=constants)
    if cell.dataset in PUBLISHED:
        shares = np.bincount(y) / len(y)
        mixtures["known"] = Mixture(trained, codes, n_classes, constants=constants, known_shares=(shares, shares))
    predicted = {name: mixture.log_probabilities.argmax(axis=1) for name, mixture in mixtures.items()}
    predicted["tuned"] = tuned_svm(X, y, labeled)
    return {
        **{f"error_{name}": percent(classes[hidden] != y[hidden]) for name, classes in predicted.items()},
        **{f"balanced_{name}": _balanced(predicted[name][hidden], y[hidden]) for name in ("tuned", "auto", "baseline")},
        **told,
        "bank_seconds": seconds,
        "fit_seconds": fit_seconds,
    }


def _told(auto: Mixture, baseline: Mixture, codes: IntArray) -> dict[str, Any]:
    """Return what the report tells a user."""
    wrong, wrong_baseline = (one.held_out_proba().argmax(axis=1) != codes for one in (auto, baseline))
    estimate = error_estimate(wrong)
    comparison = compare_errors(wrong, wrong_baseline, 0.0)
    return {
        "told": 100.0 * estimate.error,
        "told_low": 100.0 * estimate.interval[0],
        "told_high": 100.0 * estimate.interval[1],
        "p_better": comparison.p_better,
        "p_worse": comparison.p_worse,
    }


def _balanced(predicted: IntArray, y: IntArray) -> float:
    return 100.0 * float(np.mean([np.mean(predicted[y == c] != c) for c in np.unique(y)]))


@dataclass(frozen=True)
class Plan:
    """What is computed: sets, numbers of labels (per class where there are several), draws, samples at most."""

    sets: tuple[str, ...]
    labels: tuple[int, ...] = _LABELS
    labels_per_class: tuple[int, ...] = _LABELS_PER_CLASS
    draws: int = 12
    n: int = 1000
    constants: str = "usual"

    def cells(self, data: Path | None) -> list[Cell]:
        """Return the cells, those of one set together."""
        shared = {"n": self.n, "constants": self.constants}
        cells = []
        for name in self.sets:
            drawn = [f"draw{seed}" for seed in range(self.draws)]
            labels = self.labels_per_class if name in SEVERAL else self.labels
            if name in PUBLISHED:
                known = splits(PUBLISHED[name], data)
                drawn, labels = list(known)[: self.draws], (len(next(iter(known.values())).labeled),)
            cells += [Cell("auto_ssl", "all", name, split, {"labels": l, **shared}) for l in labels for split in drawn]
        return cells


def _setup(options: Options) -> Setup:
    chosen = options.choices
    halves = {"all": tuple(SETS), "choosing": CHOOSING, "confirming": CONFIRMING, "unseen": tuple(UNSEEN)}
    halves["published"] = tuple(PUBLISHED)
    half, constants = chosen.get("half", "all"), chosen.get("constants", "usual")
    for axis, value, known in (("half", half, halves), ("constants", constants, VARIANTS)):
        if value not in known:
            raise InvalidInputError(f"--set {axis}={value} is unknown; take one of {', '.join(known)}.")
    names = chosen["sets"].split(",") if "sets" in chosen else halves[half]
    unknown = sorted(set(names) - set(_ALL))
    if unknown:
        raise InvalidInputError(f"--set sets={chosen['sets']}: there is no {unknown[0]!r}; take {', '.join(_ALL)}.")
    there, missing = available_tasks([_ALL[name] for name in names], [SETS["breast_cancer"]], "", options.data)
    sets = tuple(task.name for task in there)
    if options.quick:
        plan = Plan(sets[:2], (10, 20), (2,), 2, 300, constants)
    else:
        plan = Plan(sets, draws=int(chosen.get("draws", 12)), n=int(chosen.get("n", 1000)), constants=constants)
        if "labels" in chosen:
            wanted = tuple(int(text) for text in chosen["labels"].split(","))
            plan = replace(plan, labels=wanted)
    return Setup(plan, {task.source for task in there}, missing)


def _report(rows: Sequence[Row], plan: Plan, options: Options) -> Findings:
    ok = [row for row in rows if row["status"] == "ok"]
    lines, remarks = [], []
    for (name, labels), members in grouped(ok, lambda row: (row["dataset"], row["param_labels"])).items():
        lines += _lines(name, labels, members)
    for several in (False, True):
        alike = [row for row in ok if row["dataset"] not in PUBLISHED and (row["dataset"] in SEVERAL) == several]
        for labels, members in grouped(alike, lambda row: row["param_labels"]).items():
            remarks += _remarks(f"{labels} labels{' a class' if several else ''}", members)
    return Findings([Section("", lines)], remarks=remarks, facts={"choosing": ", ".join(CHOOSING)})


def _lines(name: str, labels: int, rows: Sequence[Row]) -> list[Line]:
    """Return the lines of one set and number of labels."""
    errors = {method: _column(rows, f"error_{method}") for method in _NAMES}
    errors = {method: values for method, values in errors.items() if len(values)}
    best = min((method for method in FAMILIES if method in errors), key=lambda method: errors[method].mean())
    floors = dict(zip(("tuned", "auto", "best"), FLOORS.get(name, {}).get(labels, (math.nan,) * 3), strict=True))
    if name in TEST_TUNED:
        floors["auto"] = floors["known"] = TEST_TUNED[name]
    title = f"{name}, l = {labels}{' a class' if name in SEVERAL else ''}"
    source = "test-tuned" if name in TEST_TUNED else "floor"
    lines = []
    for method, values in errors.items():
        floor = floors.get("best" if method == best else method, math.nan)
        lines.append(
            Line(
                title,
                f"{method} (best)" if method == best else _TITLES.get(method, method),
                "labels, class shares" if method == "known" else "labels alone",
                float(values.mean()),
                float(values.std(ddof=1)) if len(values) > 1 else math.nan,
                len(values),
                published_mean=floor,
                source="" if math.isnan(floor) else source,
            )
        )
    return lines


def _column(rows: Sequence[Row], name: str) -> FloatArray:
    return np.array([row[name] for row in rows if row.get(name) is not None], dtype=np.float64)


def _remarks(title: str, rows: Sequence[Row]) -> list[str]:
    """Return what all sets with one number of labels say."""
    auto, svm, baseline = (_column(rows, f"error_{name}") for name in ("auto", "tuned", "baseline"))
    by_set = grouped(rows, lambda row: row["dataset"])
    trained = [family for family in FAMILIES if len(_column(rows, f"error_{family}"))]  # no S3VM of several classes
    families = {family: _mean_of_sets(by_set, family) for family in trained}
    hindsight = [
        _column(members, "error_auto").mean() - min(_column(members, f"error_{f}").mean() for f in trained)
        for members in by_set.values()
    ]
    worse = {
        other: ", ".join(name for name, members in by_set.items() if _is_worse(members, other)) or "none"
        for other in ("tuned", "baseline")
    }
    told = _column(rows, "told")
    inside = (_column(rows, "told_low") <= auto) & (auto <= _column(rows, "told_high"))
    better = _column(rows, "p_better") < 0.05
    best = min(families, key=lambda family: families[family])
    return [
        f"{title}, {len(by_set)} sets: mean error "
        + ", ".join(f"{name} {_mean_of_sets(by_set, name):.1f}" for name in ("tuned", "baseline", "auto"))
        + f"; one family for all sets {families[best]:.1f} ({best}); above the best family with hindsight by "
        f"{statistics.fmean(hindsight):.1f}",
        f"{title}: P(error > tuned SVM + 1) {np.mean(auto > svm + 1):.2f}, P(error > baseline + 1) "
        f"{np.mean(auto > baseline + 1):.2f}; significantly worse (paired, one-sided 5 %) than the SVM on "
        f"{worse['tuned']}, than the baseline on {worse['baseline']}",
        f"{title}: told error off by {np.abs(told - auto).mean():.1f} in the mean (bias {np.mean(told - auto):+.1f}), "
        f"interval holds {inside.mean():.2f}; 'better' was told in {better.mean():.2f} of fits"
        + (f" and true in {np.mean((auto < baseline)[better]):.2f} of these" if better.any() else ""),
    ]


def _mean_of_sets(by_set: Mapping[str, Sequence[Row]], name: str) -> float:
    return statistics.fmean(_column(members, f"error_{name}").mean() for members in by_set.values())


def _is_worse(rows: Sequence[Row], other: str) -> bool:
    """Whether a paired t-test says that AutoSSL errs more."""
    a, b = _column(rows, "error_auto"), _column(rows, f"error_{other}")
    if len(a) < 2 or np.ptp(a - b) <= 1e-9:  # differences that are all alike have no deviation but rounding
        return len(a) > 1 and bool((a > b).all())
    return bool(ttest_rel(a, b, alternative="greater").pvalue < 0.05)


AUTO_SSL = Experiment(**words("auto_ssl"), setup=_setup, work=work, report=_report)
"""The table by which the constants of AutoSSL are judged."""
