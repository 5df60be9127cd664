"""Learned filters and STORM on the graphs of `_node_sets`: what a graph's splits share is computed once.

`bank` keeps the filtered features of the last graphs, with the features or with the graph alone (X = I), and `spectrum`
the eigenpairs of D - W. The rules for the weights are those of `SpectralFilterClassifier` with its default parameters,
which a test holds them against; "graph" is the first of them, alignment, with X = I. STORM chooses C and B by five
folds of the labels: the number of errors decides, then the least squared error.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from reproduction.papers._protocols.node_sets import NodeSplit, NodeTask, node_graph
from reproduction.tasks import labels_of
from specmargin.graphs import laplacian, normalized_adjacency
from specmargin.labels import Labels
from specmargin.objectives import SpectrumMargin
from specmargin.objectives.held_out.leave_one_out import dealt_folds
from specmargin.results import SolveResult
from specmargin.solvers import spectrum_margin
from specmargin.solvers.spectrum.block_weights import learn_weights, ridge_on_blocks
from specmargin.spectra import FilterBank, Resolvents, Spectrum, filter_bank, laplacian_eigenpairs
from specmargin.typing import FloatArray, IntArray

WEIGHTS = tuple(f"weight {g:g}" for g in Resolvents().parameters)
"""Columns of the learned weights, by the g of their filters, from the roughest to the smoothest."""
TOL = 1e-6
N_FOLDS = 5
Q = 200
COSTS = (1.0, 10.0, 0.1, 100.0)
BOUNDS = (1.5, np.inf)
"""C and B of STORM; of settings that are equally good the first is taken."""


class Fitted(NamedTuple):
    """What a method says: a class for every node, and columns for the row."""

    classes: IntArray
    columns: dict[str, Any]


class Method(Protocol):
    """A method of our own."""

    def __call__(self, task: NodeTask, split: NodeSplit, data: Path | None) -> Fitted:
        """Fit it on one split."""


@lru_cache(maxsize=2)
def bank(task: NodeTask, data: Path | None = None, features: bool = True) -> FilterBank:
    """Return the filtered features of a graph's nodes, or with X = I."""
    graph = node_graph(task, data)
    return filter_bank(normalized_adjacency(graph.W), graph.X if features else None)


@lru_cache(maxsize=2)
def spectrum(task: NodeTask, data: Path | None = None) -> Spectrum:
    """Return the lowest eigenpairs of a graph's D - W."""
    W = node_graph(task, data).W
    return laplacian_eigenpairs(laplacian(W, normalized=False), q=min(Q, W.shape[0]))


def learned_filters(
    task: NodeTask, split: NodeSplit, data: Path | None = None, *, rule: str, features: bool = True
) -> Fitted:
    """Learn the weights of the filters by a rule, and fit the ridge regression on the kernel that they make."""
    labels, filtered = labels_of(node_graph(task, data).y, split.train), bank(task, data, features)
    learned = learn_weights(filtered, labels, rule, tol=TOL)  # the last filter is the smoothest
    rows = [F[labels.labeled] for F in filtered.blocks]
    fitted = ridge_on_blocks(learned.delta, np.stack([R @ R.T for R in rows]), labels)
    f = np.zeros((labels.n_samples, *fitted.gamma.shape[1:])) + fitted.b
    for weight, F, R in zip(learned.delta, filtered.blocks, rows, strict=True):
        if weight > 0:
            f += weight * (F @ (R.T @ fitted.gamma))
    columns = dict(zip(WEIGHTS, map(float, learned.delta), strict=True)) | {"penalty": fitted.penalty}
    if learned.C is not None:
        columns["C"] = learned.C
    return Fitted(named(f, labels), columns | proved(learned.results))


def storm(task: NodeTask, split: NodeSplit, data: Path | None = None) -> Fitted:
    """Fit STORM over the graph's Laplacian eigenvectors: the features are not looked at."""
    labels, eigenpairs = labels_of(node_graph(task, data).y, split.train), spectrum(task, data)
    settings = [(C, B) for B in BOUNDS for C in COSTS]
    scores = np.zeros((len(settings), 2))
    for fold in dealt_folds(labels.sign, N_FOLDS):
        kept = labels.at(np.setdiff1d(np.arange(labels.n_labeled), fold.left_out))
        tested, sign = labels.labeled[fold.test], labels.sign[fold.test]
        for i, (f, _) in enumerate(margins(eigenpairs, kept, settings)):
            wrong = named(f[tested], labels) != labels.classes[columns_of(sign).argmax(axis=1)]
            scores[i] += np.count_nonzero(wrong), ((f[tested] - sign) ** 2).sum()
    best = min(range(len(settings)), key=lambda i: tuple(scores[i]))
    ((f, results),) = margins(eigenpairs, labels, [settings[best]])
    C, B = settings[best]
    return Fitted(named(f, labels), {"C": C} | ({"B": B} if np.isfinite(B) else {}) | proved(results))


def margins(
    eigenpairs: Spectrum, labels: Labels, settings: list[tuple[float, float]]
) -> Iterator[tuple[FloatArray, list[SolveResult]]]:
    """Yield decisions, in the shape of the labels' signs, and answers of STORM at each setting of C and B."""
    problems = [SpectrumMargin(eigenpairs, binary) for binary in labels.one_vs_rest()]
    for C, B in settings:
        results = [spectrum_margin(problem.with_(C=C, B=B), tol=TOL) for problem in problems]
        f = np.column_stack([result.variables["f"] for result in results])
        yield f[:, 0] if labels.is_binary else f, results


def columns_of(f: FloatArray) -> FloatArray:
    """Return decisions with a column per class, of two classes, too."""
    return np.column_stack([-f, f]) if f.ndim == 1 else f


def named(f: FloatArray, labels: Labels) -> IntArray:
    """Return the class of the largest decision."""
    return np.asarray(labels.classes[columns_of(f).argmax(axis=1)])


def proved(results: list[SolveResult]) -> dict[str, float]:
    """Return the largest relative gap of the answers, where there are any."""
    gaps = [float(result.certificate.relative_gap) for result in results]
    return {"relative_gap": max(gaps, key=abs)} if gaps else {}


OURS: Mapping[str, Method] = MappingProxyType(
    {
        "graph": partial(learned_filters, rule="alignment", features=False),
        "storm": storm,
        **{rule: partial(learned_filters, rule=rule) for rule in ("alignment", "margin", "ordered", "single", "mean")},
    }
)
"""The graph alone, STORM on it, and the learned filters, of which the default comes first."""
