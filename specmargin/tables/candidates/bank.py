r"""The bank of candidate kernels: built once from the features alone, and shared by all labels, penalties and classes.

A `KernelGroup` is one feature map :math:`\Phi`, an optional rotation R of it, and the weights d of many kernels

.. math:: K = \Phi R \,\mathrm{diag}(d)\, R^\top \Phi^\top .

Some 65 kernels come from some 15 decompositions: `sup`, the linear kernel and RBF kernels of all features; `pca`, few
principal components, whitened or under an RBF kernel; `graph`, filters of the eigenvalues of several graphs; `lap`,
ambient kernels that a graph deforms (LapRLS in the span of :math:`\Phi`). In `lap`, R diagonalises
:math:`\Phi^\top L^p \Phi` with the eigenvalues e, and d = 1 / (1 + ratio e) is the deformed kernel for every ratio.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from specmargin.graphs import LaplacianOperator
from specmargin.tables.candidates.ambient_maps import FeatureMap, PrincipalComponents, RadialFeatures, Whitened
from specmargin.tables.candidates.constants import CONSTANTS, FAMILIES, Constants
from specmargin.tables.candidates.graph_maps import (
    Eigenvectors,
    NeighborView,
    filter_spectra,
    heat_graph,
    node_spectra,
)
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

__all__ = ["KernelGroup", "build_bank", "graph_bank"]

_LEADING = 50
"""Principal components in which neighbours are searched, of more than twice as many columns."""


@dataclass(frozen=True, eq=False)
class KernelGroup:
    """Kernels of one feature map.

    Parameters
    ----------
    family : str
        One of `specmargin.tables.candidates.constants.FAMILIES`.
    map : FeatureMap
    names : list of str
        One per kernel.
    weights : ndarray of shape (s, r)
        d of each kernel, >= 0.
    rotation : ndarray of shape (map.rank, r), optional
        R; by default the features are taken as they are.
    """

    family: str
    map: FeatureMap
    names: list[str]
    weights: FloatArray
    rotation: FloatArray | None = None

    def labeled(self, rows: IntArray) -> FloatArray:
        """Return the features at some training samples, (l, r), rotated."""
        features = self.map.values[rows]
        return features if self.rotation is None else features @ self.rotation

    def coefficients(self, v: FloatArray) -> FloatArray:
        """Return the coefficients of the map's own features, from those of the rotated ones (r, ...)."""
        return v if self.rotation is None else self.rotation @ v


class _Builder:
    """What the families share while a bank is built."""

    def __init__(self, X: Matrix, constants: Constants, metric: str, seed: int) -> None:
        self.X, self.constants, self.metric, self.seed = X, constants, metric, seed
        # Not by the way in which X is stored, which must not change the answer.
        stored = X.count_nonzero() if sp.issparse(X) else np.count_nonzero(X)
        self.n, self.is_text = X.shape[0], stored < constants.text_share * X.shape[0] * X.shape[1]
        self.components = PrincipalComponents(X, rank=constants.rank, random_state=seed)
        # A rotation keeps distances, and fewer columns take less time.
        self.leading = self.components.leading(_LEADING if X.shape[1] > 2 * _LEADING else constants.rank)
        self.rows: IntArray | None = None
        if self.n > constants.landmarks:
            self.rows = np.sort(np.random.default_rng(seed).choice(self.n, constants.landmarks, replace=False))
        landmarks = None if self.rows is None else X[self.rows]
        self.widths = constants.text_widths if self.is_text else constants.widths
        self.ambient: dict[str, FeatureMap] = {"linear": self.components}
        for width in self.widths:
            self.ambient[f"rbf {width:g}"] = RadialFeatures(X, width=width, rank=constants.rank, landmarks=landmarks)

    def supervised(self) -> list[KernelGroup]:
        return [
            KernelGroup("sup", features, [name], np.ones((1, features.rank)))
            for name, features in self.ambient.items()
            if features.rank  # none where all samples are alike
        ]

    def few_components(self) -> list[KernelGroup]:
        groups = []
        for m in self.constants.components:
            if m > self.leading.rank:
                break
            whitened = Whitened(self.leading, m)
            groups.append(KernelGroup("pca", whitened, [f"{m} components"], np.full((1, m), 1.0 / m)))
            scores = np.ascontiguousarray(self.leading.values[:, :m])
            radial = RadialFeatures(
                scores,
                width=self.constants.component_width,
                rank=self.constants.rank,
                landmarks=None if self.rows is None else scores[self.rows],
                components=self.leading,
            )
            groups.append(KernelGroup("pca", radial, [f"{m} components, rbf"], np.ones((1, radial.rank))))
        return groups

    def graphs(self, graph: SparseArray | None, with_deformed: bool) -> list[KernelGroup]:
        constants, groups = self.constants, []
        for name, W, view, k, deforms in self.views(graph):
            features = Eigenvectors(W, q=constants.eigenpairs, view=view, k=k, random_state=self.seed)
            names, d = filter_spectra(features.spectrum.eigenvalues)
            groups.append(KernelGroup("graph", features, [f"{name}, {one}" for one in names], d))
            if deforms and with_deformed and self.components.rank:
                radial = max(self.widths) if self.is_text else constants.deformed_width
                ambient = f"rbf {radial:g}"
                groups += self.deformed(f"{ambient}, {name}", self.ambient[ambient], features.laplacian)
        return groups

    def views(self, graph: SparseArray | None) -> list[tuple[str, SparseArray, NeighborView, int, bool]]:
        """Return graphs: name, adjacency, neighbours of new samples and their number, whether it deforms kernels."""
        constants, n = self.constants, self.n
        large = n > constants.large
        # Of text too much would be left out.
        keeps = self.metric in ("euclidean", "l2") and (large or not self.is_text)
        source = self.leading if keeps and self.leading.rank else None
        rows = self.X if source is None else source.values
        limit = max(1, (n - 1) // 3)
        wanted = constants.large_neighbors if large else constants.graph_neighbors
        ks = sorted({min(k, limit) for k in wanted})
        if graph is not None:
            k = min(constants.view_neighbors, limit)
            return [("given graph", graph, NeighborView(rows, k, metric=self.metric, components=source), k, True)]
        products = self.components.products if source is None and self.metric in ("euclidean", "l2") else None
        view = NeighborView(rows, ks[-1], metric=self.metric, components=source, products=products)
        ks = sorted({min(k, view.k) for k in ks})
        least = min(constants.deformed_from, ks[-1])
        listed = [(f"{k} neighbours", heat_graph(view, k, n), view, k, k >= least) for k in ks]
        if self.X.shape[1] > max(constants.view_components) and self.components.rank >= 20 and not large:
            k = min(constants.view_neighbors, limit)
            for m in constants.view_components:
                few = NeighborView(self.leading.values[:, :m], k, components=self.leading)
                listed.append((f"{k} neighbours in {m} components", heat_graph(few, few.k, n), few, few.k, False))
        return listed

    def deformed(self, name: str, features: FeatureMap, L: LaplacianOperator) -> list[KernelGroup]:
        """Return the kernels that powers of a Laplacian deform."""
        constants, values, groups = self.constants, features.values, []
        images = {0: values}
        for p in range(1, max(constants.powers) // 2 + max(constants.powers) % 2 + 1):
            images[p] = L.matrix @ images[p - 1]
        for p in constants.powers:
            half = images[p // 2]
            e, R = sla.eigh(half.T @ (images[p // 2 + 1] if p % 2 else half), check_finite=False)
            d = 1.0 / (1.0 + np.multiply.outer(np.asarray(constants.ratios), np.maximum(e, 0.0)))
            names = [f"{name}, power {p}, ratio {ratio:g}" for ratio in constants.ratios]
            groups.append(KernelGroup("lap", features, names, d, R))
        return groups


def build_bank(
    X: Matrix,
    *,
    families: Any = FAMILIES,
    constants: Constants = CONSTANTS,
    graph: SparseArray | None = None,
    metric: str = "euclidean",
    random_state: int = 0,
) -> list[KernelGroup]:
    """Return the kernels that candidates are trained on, in groups of one feature map each.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        All samples, finite.
    families : sequence of str
        The families that are wanted; the kernels of ``svm`` and ``s3vm`` are those of ``sup``.
    constants : Constants
    graph : sparse matrix of shape (n, n), optional
        Graph instead of all graphs of neighbours.
    metric : str, default "euclidean"
        Metric of the neighbours.
    random_state : int, default 0
        Draws landmarks, starts the search for eigenvectors.

    Returns
    -------
    list of KernelGroup

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> groups = build_bank(X, families=("sup", "graph"))
    >>> sorted({group.family for group in groups}), sum(len(group.names) for group in groups)
    (['graph', 'sup'], 32)
    """
    builder = _Builder(X, constants, metric, random_state)
    groups: list[KernelGroup] = []
    if {"sup", "svm", "s3vm"} & set(families):
        groups += builder.supervised()
    if "pca" in families:
        groups += builder.few_components()
    # Neighbours of samples that are all alike are arbitrary.
    if ("graph" in families or "lap" in families) and (graph is not None or builder.components.rank):
        groups += [group for group in builder.graphs(graph, "lap" in families) if group.family in families]
    builder.components.products = None
    return groups


def graph_bank(W: SparseArray, *, constants: Constants = CONSTANTS, random_state: int = 0) -> list[KernelGroup]:
    """Return the kernels of a graph whose nodes have no features: filters of its spectrum, and label spreading.

    Up to `Constants.whole` nodes all eigenvectors take part, and label spreading is exact.

    Examples
    --------
    >>> [group] = graph_bank(sp.csr_array(np.ones((5, 5)) - np.eye(5)))
    >>> group.family, len(group.names), group.weights.shape
    ('graph', 12, (12, 5))
    """
    n = W.shape[0]
    features = Eigenvectors(W, q=n if n <= constants.whole else constants.eigenpairs, random_state=random_state)
    return [KernelGroup("graph", features, *node_spectra(features.spectrum.eigenvalues))]
