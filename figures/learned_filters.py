"""Filters learned over node features: low-pass, high-pass, and none.

Above, the power that the learned kernel passes at the frequencies of three graphs; the features as they are have 1.
Below, the weights of its seven filters: high-pass for g < 0, low-pass for g > 0. Medians over draws of the labels, and
10 to 90 % of them.

Where neighbours are alike low frequencies pass, where they are not high ones. The kernel is K = sum_b delta_b F_b F_b'
with the filters h_g(s) = (1 - |g|) / (1 - g s), the features themselves at g = 0. Weights are learned by centred
alignment with the labels, and by the margin of the spectrum paper with blocks in place of eigenvectors (squared loss, C
by leave-one-out on the labels). The axis ends at the highest frequency of the graph. A rough block (g < 0, and g = 0)
has a kernel that is nearly the identity, so that it also serves as a ridge: some weight of the margin there does not
make a filter high-pass, which is why both methods are drawn.

Cora has 20 labels of each class, drawn at random; Texas and Cornell have those of their published training sets. In the
archives that are read these two have the same features and classes, and differ in edges and splits. A graph that the
data folder lacks is replaced by a drawn block model, with about as many edges within a class; its title says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import specmargin as sm
from reproduction.tasks import dataset, is_available, missing_data, sources_of
from specmargin.solvers.spectrum.block_weights import learn_weights

HOMOPHILY = {"cora": 0.9, "texas": 0.05, "cornell": 0.33}
"""Of the block models that stand in: low-pass, high-pass, and about one in the three classes."""
RULES = ("alignment", "margin")
PER_CLASS = 20

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n": 240, "n_draws": 4, "bundled": True},
    "standard": {"n": 600, "n_draws": 10, "bundled": False},
    "full": {"n": 600, "n_draws": 30, "bundled": False},
}
SECONDS = {"quick": (2, 2), "standard": (2, 12), "full": (7, 22)}  # of one core: generated data, real data


class Graph(NamedTuple):
    """A graph whose nodes have features and classes."""

    W: Any
    X: Any
    y: np.ndarray
    train: np.ndarray | None
    """Published splits, a row of nodes with labels each."""


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Learn the weights on every graph and draw."""
    from specmargin.plots import FilterResponseDisplay

    settings = SIZES[size]
    real = [name for name in HOMOPHILY if not settings["bundled"] and is_available(name)]
    panels: dict[str, dict[str, Any]] = {}
    results, gaps = {}, []
    for name, h in HOMOPHILY.items():
        graph = published(name) if name in real else block_model(h, settings["n"], seed)
        S = sm.graphs.normalized_adjacency(graph.W)
        bank = sm.spectra.filter_bank(S, graph.X, dtype=np.float32)
        weights: dict[str, list[np.ndarray]] = {rule: [] for rule in RULES}
        for labeled in drawn_labels(graph, settings["n_draws"], seed):
            # Weights depend on the labelled rows alone; the others would cost decisions that nobody asks for.
            blocks, labels = [F[labeled] for F in bank.blocks], sm.encode_labels(graph.y[labeled])
            for rule in RULES:
                learned = learn_weights(blocks, labels, rule)
                weights[rule].append(learned.delta)
                gaps += [result.certificate.relative_gap for result in learned.results]
        display = FilterResponseDisplay.from_bank(bank, weights)
        within = edges_within(graph)
        title = name.capitalize() if name in real else f"block model for {name.capitalize()}"
        panels[name] = {
            "title": f"{title}, {len(weights['margin'])} draws\n{100 * within:.0f} % of edges within a class",
            "frequencies": display.frequencies,
            "responses": display.responses,
            "weights": {rule: np.array(draws) for rule, draws in weights.items()},
        }
        results[name] = {
            "share of edges within a class": within,
            "highest frequency": float(display.frequencies[-1]),
            **{rule: facts(np.array(draws), bank.filters.parameters) for rule, draws in weights.items()},
        }
    lost = [] if settings["bundled"] else [name for name in HOMOPHILY if name not in real]
    generated = {
        f"block model for {name}": {"kind": "generated", "sha256": None} for name in HOMOPHILY if name not in real
    }
    return {
        "panels": panels,
        "g": bank.filters.parameters,
        "parameters": {
            "filters": {"family": bank.filters.name, "g": bank.filters.parameters.tolist()},
            "draws": {name: len(panel["weights"]["margin"]) for name, panel in panels.items()},
            "loss of the margin": "squared",
            "labels of each class on Cora and on block models": PER_CLASS,
        },
        "results": {**results, "data": missing_data(lost, "drawn block models")},
        "certificates": {"worst relative gap": max(gaps), "problems": len(gaps)},
        "data": {**sources_of(real), **generated},
        "solvers": ["alignment", "block_margin"],
    }


def published(name: str) -> Graph:
    """Return a data set; Texas and Cornell have splits."""
    whole = dataset(name)
    train = whole.extras["train_idx"]
    return Graph(whole.extras["W"], whole.X, whole.y, train if train.dtype == bool else None)


def block_model(h: float, n: int, seed: int) -> Graph:
    """Draw three classes with words of their own, mean degree 6, and a share h of the edges within a class."""
    rng, degree = np.random.default_rng(seed), 6.0
    y = np.arange(n) % 3
    own = np.arange(60) % 3 == y[:, None]
    X = (rng.random((n, 60)) < np.where(own, 0.285, 0.14)).astype(float)
    rates = degree * np.where(y[:, None] == y, h / (n / 3 - 1), (1 - h) / (2 * n / 3))
    W = np.triu(rng.random((n, n)) < rates, k=1)
    return Graph(sp.csr_array((W | W.T).astype(float)), X, y, None)


def drawn_labels(graph: Graph, n_draws: int, seed: int) -> list[np.ndarray]:
    """Return the labelled nodes of each draw: of published splits where there are some, else as many of each class."""
    if graph.train is not None:
        return [np.flatnonzero(row) for row in graph.train[:n_draws]]
    draws = [sm.hide_labels(graph.y, per_class=PER_CLASS, random_state=seed + k) for k in range(n_draws)]
    return [np.flatnonzero(y != -1) for y in draws]


def edges_within(graph: Graph) -> float:
    """Return the share of edges that join two nodes of one class."""
    edges = sp.coo_array(sp.triu(graph.W, k=1))
    return float(np.mean(graph.y[edges.row] == graph.y[edges.col]))


def facts(weights: np.ndarray, g: np.ndarray) -> dict[str, float]:
    """Say in numbers what the panels show: the mean share of three kinds of filters."""
    return {
        "mean weight, high-pass (g < 0)": float(weights[:, g < 0].sum(axis=1).mean()),
        "mean weight, features (g = 0)": float(weights[:, g == 0].sum(axis=1).mean()),
        "mean weight, low-pass (g > 0)": float(weights[:, g > 0].sum(axis=1).mean()),
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw a column per graph, with one legend."""
    from specmargin.plots import FilterResponseDisplay, WeightsDisplay, style, subplots

    names = [f"{g:g}" for g in data["g"]]
    figure, axes = subplots(2, len(data["panels"]), width="page", aspect=0.82, sharey="row")
    panels = data["panels"].values()
    displays = [FilterResponseDisplay(each["frequencies"], each["responses"]) for each in panels]
    ends = [display.extremes() for display in displays]
    limits = min(low for low, _ in ends), max(high for _, high in ends)
    for column, display, panel in zip(axes.T, displays, panels, strict=True):
        display.plot(column[0], limits=limits, legend=False, title=panel["title"])
        WeightsDisplay(panel["weights"], names=names).plot(column[1], xlabel="$g$ of the filter", legend=False)
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
    handles = displays[0].legend_handles()
    handles[len(RULES)].set_label("band, whisker: 10 to 90 % of draws")
    with style():
        figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure
