"""Learned spectra over node features, next to their rivals, on graphs from heterophily to homophily.

No paper: the question is our own, what it is worth to learn from the labels which frequencies of a graph a kernel over
node features passes. A cell is one method on one split of one graph; a graph's filtered features serve all its splits.

**Protocol.** `_node_sets` has the graphs: Cora with its public split and with 100 random ones, Texas and Cornell with
the ten splits that came with them, and block models of six homophilies, twelve draws each. Every method sees the
adjacency and the features of all nodes and the labels of the training nodes. What it chooses it chooses by these
labels; validation nodes have no label for anybody. One recipe serves all graphs. Accuracy is that on the test nodes.

**Methods.** "alignment" is `SpectralFilterClassifier` as it is by default; "margin", "ordered", "single" and "mean" are
its other rules. "graph" is alignment without features, X = I. "storm" learns the spectrum of the graph's Laplacian.
All others are in `_node_rivals`. The networks are trained from several seeds, and their errors averaged.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from reproduction.engine.published import published
from reproduction.engine.records import Cell, Row
from reproduction.papers._claims.node import DEFAULT, RULES, Place, judge, places
from reproduction.papers._protocols.node_filters import OURS, WEIGHTS
from reproduction.papers._protocols.node_rivals import RIVALS
from reproduction.papers._protocols.node_sets import (
    NODE_TASKS,
    STAND_IN,
    NodeTask,
    available_node_tasks,
    edge_homophily,
    node_graph,
    node_splits,
)
from reproduction.report import Line, Section
from reproduction.run import Experiment, Findings, Options, Setup, words
from reproduction.tasks import missing_data
from specmargin.exceptions import InvalidInputError

NETWORKS = ("gcn", "appnp")
N_SEEDS = 3
METHODS = (
    *("features", "graph", "label_propagation", "label_spreading", "correct_and_smooth", "laprls"),
    *("gcn", "sgc_l1", "sgc_l2", "appnp_linear", "appnp", "storm"),
    *("alignment", "margin", "ordered", "single", "mean"),
)
"""Rivals, then ours, the default first."""

TASKS: Mapping[str, NodeTask] = MappingProxyType({**NODE_TASKS, STAND_IN.name: STAND_IN})
"""All tasks by name, the small one of quick tables last."""


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit a method on one split.

    Returns
    -------
    dict
        ``error_test`` in percent, the edge ``homophily`` of the graph, and what the method tells of itself: its
        weights, parameters, and largest relative gap.
    """
    task, method = TASKS[cell.dataset], cell.method
    graph, split = node_graph(task, data), node_splits(task, data)[cell.split]
    truth, homophily = graph.y[split.test], edge_homophily(graph.W, graph.y)
    if method in OURS:
        fitted = OURS[method](task, split, data)
        error = float(np.mean(fitted.classes[split.test] != truth))
        return {"error_test": 100.0 * error, "homophily": homophily, **fitted.columns}
    if method not in RIVALS:
        raise InvalidInputError(f"there is no method {method!r}; take one of {', '.join((*RIVALS, *OURS))}.")
    first = N_SEEDS * int(split.name.rpartition("-")[2])
    seeds = range(first, first + N_SEEDS) if method in NETWORKS else [0]
    fit = RIVALS[method].fit
    decisions = [
        fit(graph.W, graph.X, graph.y[split.train], split.train, graph.n_classes, seed)[split.test] for seed in seeds
    ]
    error = float(np.mean([f.argmax(axis=1) != truth for f in decisions]))
    return {"error_test": 100.0 * error, "homophily": homophily}


@dataclass(frozen=True)
class Plan:
    """What is computed: tasks, by name, and how many of their splits at the most."""

    tasks: tuple[str, ...]
    most: int | None = None

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per task, split and method; those of one graph follow one another."""
        return [
            Cell("spectral_filters", method, name, split)
            for name in self.tasks
            for split in list(node_splits(TASKS[name], data))[: self.most]
            for method in METHODS
        ]


QUICK = (STAND_IN.name, "blocks of homophily 0.05, draw 0", "blocks of homophily 0.9, draw 0", "texas")


def _setup(options: Options) -> Setup:
    there, lost = available_node_tasks(options.data)
    names = tuple(task.name for task in there)
    quick = tuple(name for name in QUICK if name in (*names, STAND_IN.name))
    plan = Plan(quick, 2) if options.quick else Plan(names)
    return Setup(plan, {TASKS[name].source for name in plan.tasks} - {""}, missing_data(lost))


def _report(rows: Sequence[Row], plan: Plan, options: Options) -> Findings:
    by_name = places(rows)
    sections = [
        Section(
            "Accuracy in percent, mean (standard error over the splits)",
            [line for place in by_name.values() for line in (*_accuracies(place), *_as_published(place))],
        ),
        Section(
            "Alignment less each other method on the same splits, points of accuracy (standard error)",
            [line for place in by_name.values() for line in _differences(place)],
        ),
    ]
    return Findings(sections, remarks=[*judge(rows), "", _FILTERS, *map(_weights, by_name.values())])


def _accuracies(place: Place) -> list[Line]:
    papers = {method: RIVALS[method].paper if method in RIVALS else "" for method in METHODS}
    return [
        Line(place.name, method, _TUNING, *place.of(method), note=paper)
        for method, paper in papers.items()
        if method in place.accuracy
    ]


def _as_published(place: Place) -> list[Line]:
    """Return the published numbers of a graph, each a line of its own: they saw more labels than ours."""
    theirs = published(quantity="accuracy_percent")
    lines = []
    for row in theirs[theirs["dataset"] == place.name].to_dict("records"):
        tuning = "with 500 more labels" if _MORE in row["note"] else "theirs"
        numbers = (math.nan, math.nan, 0, row["mean"], row["std"])
        source = f"{row['paper']} table {row['table']}"
        lines.append(Line(place.name, f"{row['method']}, as published", tuning, *numbers, source, row["note"]))
    return lines


def _differences(place: Place) -> list[Line]:
    return [
        Line(place.name, method, f"homophily {place.homophily:.2f}", *place.less(DEFAULT, method))
        for method in METHODS
        if method != DEFAULT and len(place.pairs(DEFAULT, method))
    ]


def _weights(place: Place) -> str:
    """Return the median weight of each filter by each rule that learns them, in percent."""
    shown = {rule: 100.0 * np.median(place.weights[rule], axis=0) for rule in RULES[:-1] if rule in place.weights}
    shares = "; ".join(f"{rule} {' '.join(f'{share:.0f}' for share in each)}" for rule, each in shown.items())
    return f"{place.name} (homophily {place.homophily:.2f}) {shares}"


_TUNING = "training labels alone"
_MORE = "500 validation labels"
_FILTERS = f"Median weights of the filters over the splits, percent, g = {', '.join(w.split()[1] for w in WEIGHTS)}:"
SPECTRAL_FILTERS = Experiment(**words("spectral_filters"), setup=_setup, work=work, report=_report)
