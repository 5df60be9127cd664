"""Spectra of graphs in several pieces: nodes that no label reaches, and the ridge against spectra by other rules.

    python benchmarks/components.py              both tables
    python benchmarks/components.py --quick      one draw of the labels instead of four

The first table adds nodes without edges to two random blocks of 300 nodes, 20 of them labelled, and has the accuracy of
every method over a spectrum on the blocks. The second has errors of `SpectralRidge()` and of support vector machines on
fixed spectra, of the same Laplacian, on graphs of several components, on such that weak edges join, on stars, cliques,
COIL-20, the teaching graphs and the sets of ``default_choices.py``. Errors are per cent of the unlabelled samples.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import default_choices
import networkx as nx
import numpy as np
import scipy.sparse as sp

import specmargin as sm
from reproduction.data import load
from specmargin.graphs import KNN, Laplacian

METHODS = (
    "STORM", "STOAM", "MKL", "KTA", "SpectralRidge", "SpectralGraphTransducer", "SpectralKernelSVM", "XuSpectralSVM",
    "SpectralFilterClassifier",
)  # fmt: skip
RULES = ("gaussian_field", "diffusion", "inverse", "power", "step", "geometric")
NEIGHBOURS = KNN(10, weight="self_tuning")
Graph = tuple[str, Any, np.ndarray, int]


def isolated() -> None:
    """Print the accuracies with more and more nodes that have no edge."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 300)
    A = np.triu(rng.random((600, 600)) < np.where(truth[:, None] == truth, 0.03, 0.003), 1).astype(float)
    y = np.full(600, -1)
    y[:10], y[300:310] = 0, 1
    print("| nodes without edges | " + " | ".join(METHODS) + " |\n|---:|" + "---:|" * len(METHODS))
    for k in (0, 20, 100, 199, 500):
        W = sp.block_diag([A + A.T, sp.csr_array((k, k))], format="csr") if k else sp.csr_array(A + A.T)
        longer = np.append(y, np.full(k, -1))
        fitted = (getattr(sm, name)().fit(None, longer, graph=W) for name in METHODS)
        print(f"| {k} | " + " | ".join(f"{np.mean(one.transduction_[:600] == truth):.3f}" for one in fitted) + " |")


def islands(count: int, weight: float) -> tuple[Any, np.ndarray]:
    """Return pieces of two touching clusters, one of either class, which edges of a weight join to a ring."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 75)
    pieces = [NEIGHBOURS(rng.standard_normal((150, 2)) + 5.0 * np.outer(truth, [1, 0])) for _ in range(count)]
    W = sp.block_diag(pieces, format="lil")
    for i in range(count if weight else 0):
        a, b = 150 * i, 150 * ((i + 1) % count) + 3
        W[a, b] = W[b, a] = weight
    return W.tocsr(), np.tile(truth, count)


def graphs() -> Iterator[Graph]:
    """Yield names, adjacencies, classes, and the number of labels of each class."""
    rng = np.random.default_rng(0)
    far = np.repeat([0, 1], 300)
    yield "far blobs", NEIGHBOURS(rng.standard_normal((600, 10)) + 40.0 * np.eye(2, 10)[far]), far, 3
    yield "a column", NEIGHBOURS((np.arange(120) % 2)[:, None].astype(float)), np.arange(120) % 2, 5
    for name, one in (("cliques", nx.complete_graph(20)), ("stars", nx.star_graph(29)), ("rings", nx.cycle_graph(30))):
        W = nx.to_scipy_sparse_array(nx.disjoint_union(one, one), format="lil").astype(float)
        for weight in (0.0, 1e-6, 0.1):
            W[0, len(one)] = W[len(one), 0] = weight
            yield f"two {name}, {weight:g}", W.tocsr(), np.repeat([0, 1], len(one)), 1
    for count, labels in ((2, 4), (10, 20)):
        for weight in (0.0, 1e-6, 1e-3, 1.0):
            yield f"{count} islands, {weight:g}", *islands(count, weight), labels
    coil = load("coil20")
    _, kind = np.unique(coil.y, return_inverse=True)
    for a, b in ((3, 11), (2, 5), (0, 19), (8, 13)):
        pair = np.isin(kind, [a, b])
        yield f"COIL {a + 1}, {b + 1}", NEIGHBOURS(coil.X[pair]), (kind[pair] == b).astype(int), 1
    for labels in (1, 2, 5):
        yield f"COIL-20, {labels}", NEIGHBOURS(coil.X), kind, labels
    for name, W, truth in default_choices.teaching_graphs():
        yield name, sp.csr_array(W, dtype=float), truth, 2
    for name, make in default_choices.GENERATED.items():
        X, truth = make(400)
        yield name, NEIGHBOURS(X), truth, 3


def against_rules(draws: int) -> None:
    """Print the errors of the ridge and of the fixed spectra, the best of which differs from graph to graph."""
    kind = Laplacian(normalized=True)
    models = {"SpectralRidge": sm.SpectralRidge(laplacian=kind)}
    models |= {rule: sm.SpectralKernelSVM(transformation=rule, laplacian=kind) for rule in RULES}
    print("\n| graph | " + " | ".join(models) + " |\n|---|" + "---:|" * len(models))
    means = []
    for name, W, truth, labels in graphs():
        errors = np.zeros((draws, len(models)))
        for draw in range(draws):
            y = sm.hide_labels(truth, per_class=labels, random_state=draw)
            fitted = (model.fit(None, y, graph=W) for model in models.values())
            errors[draw] = [100 * np.mean((one.transduction_ != truth)[y == -1]) for one in fitted]
        means.append(errors.mean(axis=0))
        print(f"| {name} | " + " | ".join(f"{error:.1f}" for error in means[-1]) + " |", flush=True)
    whole = np.array(means)
    print(f"| mean of {len(whole)} | " + " | ".join(f"{error:.1f}" for error in whole.mean(axis=0)) + " |")
    best = whole[:, 1:].min(axis=1)
    print(f"\nThe best rule of each graph, known afterwards: {best.mean():.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    warnings.simplefilter("ignore", sm.exceptions.SpecmarginWarning)
    isolated()
    against_rules(1 if parser.parse_args().quick else 4)
