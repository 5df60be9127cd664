"""Flipped labels: which classifier is robust by certificate, and whether that tells how much accuracy is lost.

No paper: the question is our own. A cell is one classifier at one draw of 40 labels of one set; 5 to 30 % of them are
flipped, at random, and `label_robustness` has said before what any as many flips may change.

**Protocol.** Eleven sets of two classes, 400 samples of each at the most. They were named before anything was computed
on them: the protocol was tried out on three others. Labels are drawn at random until each class has one, and flips
until two of each class are left. Classifiers are as they come (`METHODS`), what they choose they choose by the labels
they see, the flipped ones included; no test label chooses anything. Samples of more features than samples are given in
coordinates of their own span, which leaves distances and products as they are.
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from reproduction.engine.records import Cell, Row
from reproduction.papers._claims.flips import Correlation, by_rate, correlations, judge, means
from reproduction.papers._protocols.auto_ssl_sets import SETS, UNSEEN
from reproduction.papers._protocols.flipped_fits import METHODS, RATES, compared, n_flips
from reproduction.papers.auto_ssl import draw_labels
from reproduction.report import Line, Section
from reproduction.run import Experiment, Findings, Options, Setup, words
from reproduction.tasks import available_tasks, samples
from specmargin.checks import among
from specmargin.exceptions import InvalidInputError
from specmargin.typing import FloatArray, IntArray

TASKS = {
    name: {**SETS, **UNSEEN}[name]
    for name in (
        *("breast_cancer", "two_moons", "rings", "one Gaussian"),
        *("g50c", "mac-windows", "mnist 3-8", "usps 3-5", "coil20 halves", "ionosphere", "heart"),
    )
}
"""The sets by name; the first four need no data."""

_FEWEST = 20
"""Labels of which 5 % are one."""


@lru_cache(maxsize=len(TASKS))
def _drawn(name: str, n: int, data: Path | None) -> tuple[FloatArray, IntArray]:
    X, y, *_ = samples(TASKS[name], data)
    if len(y) > n:
        rows = np.sort(np.random.default_rng(1).permutation(len(y))[:n])
        X, y = X[rows], y[rows]
    if X.shape[1] > X.shape[0]:
        gram = X @ X.T
        w, V = np.linalg.eigh(gram.toarray() if hasattr(gram, "toarray") else gram)
        X = V * np.sqrt(np.maximum(w, 0.0))
    return np.asarray(X, dtype=np.float64), y


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Return what `compared` says of one classifier at one draw of labels."""
    p = cell.parameters
    for what, name, known in (("method", cell.method, METHODS), ("set", cell.dataset, TASKS)):
        if name not in known:
            raise InvalidInputError(f"there is no {what} {name!r}; take one of {among(name, tuple(known))}")
    X, y = _drawn(cell.dataset, p["n"], data)
    seed = int(cell.split.removeprefix("draw"))
    labeled = draw_labels(y, p["labels"], seed)
    return compared(METHODS[cell.method], X, y, labeled, seed=seed, trials=p["trials"])


@dataclass(frozen=True)
class Plan:
    """What is computed: sets by name, draws, labels, samples at most, and trials."""

    sets: tuple[str, ...]
    draws: int = 5
    labels: int = 40
    n: int = 400
    trials: int = 3

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per draw, set and method; those of one draw first, so that a table that was cut off is fair."""
        shared = {"labels": self.labels, "n": self.n, "trials": self.trials}
        return [
            Cell("flipped_labels", method, name, f"draw{seed}", shared)
            for seed in range(self.draws)
            for name in self.sets
            for method in METHODS
        ]


def _setup(options: Options) -> Setup:
    names = options.choices["sets"].split(",") if "sets" in options.choices else list(TASKS)
    unknown = [name for name in names if name not in TASKS]
    if unknown:
        raise InvalidInputError(
            f"--set sets={options.choices['sets']}: there is no {unknown[0]!r}; take {', '.join(TASKS)}."
        )
    there, missing = available_tasks([TASKS[name] for name in names], [TASKS["two_moons"]], "two moons", options.data)
    sets = tuple(task.name for task in there)
    plan = Plan(sets[:2], 2, n=120) if options.quick else Plan(sets, **_numbers(options))
    return Setup(plan, {TASKS[name].source for name in plan.sets} - {""}, missing)


def _numbers(options: Options) -> dict[str, int]:
    numbers = {}
    for name, least in (("draws", 1), ("labels", _FEWEST)):
        if name in options.choices:
            text = options.choices[name]
            if not text.isdecimal() or int(text) < least:
                raise InvalidInputError(f"--set {name}={text}: take a whole number, {least} or more.")
            numbers[name] = int(text)
    return numbers


def _report(rows: Sequence[Row], plan: Plan, options: Options) -> Findings:
    frame = by_rate(rows)
    if frame.empty:
        return Findings([Section("", [])])
    mean = means(frame)
    found = correlations(mean)
    sections = [
        Section("Loss of accuracy in points, mean (deviation) over the sets", list(_overall(mean, plan))),
        Section(
            "Rank correlation with the loss, and with the share of predictions that change", [_line(c) for c in found]
        ),
        Section("Loss of accuracy in points, mean (deviation) over the draws", list(_cells(frame, plan))),
    ]
    return Findings(sections, remarks=[*judge(rows), "", *_told(frame, mean, found, plan)])


def _overall(mean: pd.DataFrame, plan: Plan) -> Iterable[Line]:
    for rate in RATES:
        for method, of in mean[mean["rate"] == rate].groupby("method", sort=False):
            yield _loss(f"{rate} % ({n_flips(rate, plan.labels)} of {plan.labels})", str(method), of, "all sets")


def _cells(frame: pd.DataFrame, plan: Plan) -> Iterable[Line]:
    for name in plan.sets:
        for rate in RATES:
            here = frame[(frame["dataset"] == name) & (frame["rate"] == rate)]
            for method, of in here.groupby("method", sort=False):
                yield _loss(f"{name}, {rate} %", str(method), of, "one set")


def _loss(title: str, method: str, of: pd.DataFrame, tuning: str) -> Line:
    m = of.mean(numeric_only=True)
    found = f" ({m['found']:.1f})" if method == "LapSVM" else ""
    note = (
        f"error {m['error_clean']:.1f} to {m['error']:.1f}, held {m['error_held']:.1f}; changed {m['changed']:.1f}, "
        f"held {m['changed_held']:.1f}; survive {m['survive']:.1f}{found}, any one {m['one']:.1f}; trial "
        f"{m['trial']:.1f}"
    )
    std = float(of["loss"].std(ddof=1)) if len(of) > 1 else math.nan
    return Line(title, method, tuning, float(m["loss"]), std, len(of), note=note)


def _line(c: Correlation) -> Line:
    rate = f"{c.rate} %" if c.rate else "all rates"
    note = f"[{c.low:.2f}, {c.high:.2f}], 95 % of bootstraps over the sets"
    return Line(f"{rate}, {c.where}", c.predictor, c.outcome, c.mean, math.nan, 0, note=note)


def _told(frame: pd.DataFrame, mean: pd.DataFrame, found: Sequence[Correlation], plan: Plan) -> Iterable[str]:
    """Yield the answers in sentences."""
    first = mean[mean["rate"] == RATES[0]]
    for title, column, of in (
        ("any one false label", "one", first),
        *((f"any {n_flips(r, plan.labels)} of {plan.labels}", "survive", mean[mean["rate"] == r]) for r in RATES),
    ):
        share = of.groupby("method", sort=False)[column].mean().sort_values(ascending=False, kind="stable")
        best = of.loc[of[of[column] > 0].groupby("dataset", sort=False)[column].idxmax(), "method"].value_counts()
        listed = ", ".join(f"{name} {value:.1f}" for name, value in share.items())
        most = f"; most on {best.iloc[0]} of {len(plan.sets)} sets: {best.index[0]}" if len(best) else ""
        yield f"Predictions that survive {title}, percent: {listed}{most}"
    for rate in RATES:
        at = mean[mean["rate"] == rate]
        loss = at.groupby("method", sort=False)["loss"].mean().sort_values(kind="stable")
        yield f"Loss with {rate} % flipped, points: " + ", ".join(f"{name} {value:.1f}" for name, value in loss.items())
    for c in found:
        if c.rate == 0:
            interval = f"[{c.low:.2f}, {c.high:.2f}]"
            yield f"Rank correlation {c.where}: {c.predictor}, with {c.outcome}: {c.mean:.2f} {interval}"
    certified, broken = (frame[name].mean() for name in ("user", "broken"))
    yield (
        f"Certified for as many flips by the fit to the flipped labels: {certified:.2f} % of the predictions; not the "
        f"class that the true labels give, parameters chosen anew: {broken:.2f} %. With parameters held it is none, "
        f"which is asserted in {len(frame)} comparisons"
    )
    for method, of in frame.groupby("method", sort=False):
        auc, margin = (statistics.fmean(of[name].dropna()) for name in ("auc", "auc_margin"))
        yield f"{method}: what changes is told (area under the curve) by flips {auc:.1f}, by the margin {margin:.1f}"


FLIPPED_LABELS = Experiment(**words("flipped_labels"), setup=_setup, work=work, report=_report)
"""Shares that are certified, shares that change and losses by set, rate and classifier, and their rank correlations."""
