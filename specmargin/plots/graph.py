"""A neighbourhood graph in the plane: edges as lines, nodes coloured by a label, an eigenvector or a score.

`GraphDisplay` shows a graph before any solver uses it: whether the classes are connected, which edges join two
classes, how smooth an eigenvector is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import to_rgba

from specmargin.arrays import numbers_array
from specmargin.exceptions import InvalidInputError
from specmargin.graphs.adjacency import named_adjacency
from specmargin.graphs.node_names import by_row, row_names
from specmargin.plots.points import LabelDisplay, points_in_plane
from specmargin.plots.theme import Display, attach_colorbar, decision_colormap

__all__ = ["GraphDisplay"]


class GraphDisplay(Display):
    """Weighted graph over points of the plane.

    Parameters
    ----------
    X : array of shape (n, 2), or mapping by node
        Positions of the nodes, such as ``networkx.spring_layout(graph)``.
    W : sparse or dense array of shape (n, n), networkx.Graph or table of edges
        Symmetric adjacency; entries above the diagonal are the edges. Nodes with names are matched with those of `X`.

    Attributes
    ----------
    figure_, ax_ : Figure, Axes
        Set by `plot`.
    edges_ : LineCollection
        Set by `plot`.
    colorbar_ : Colorbar or None
        Set by `plot` when nodes are coloured by a score.

    Examples
    --------
    >>> import numpy as np
    >>> from specmargin.plots import subplots
    >>> figure, axes = subplots(width="column")
    >>> W = np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]])
    >>> len(GraphDisplay([[0, 0], [1, 0], [1, 1]], W).plot(axes[0, 0]).edges_.get_segments())
    2
    """

    edges_: LineCollection
    colorbar_: Colorbar | None

    def __init__(self, X: Any, W: Any) -> None:
        from scipy import sparse

        self.X = points_in_plane(list(X.values()) if isinstance(X, Mapping) else X)
        rows = list(X) if isinstance(X, Mapping) else row_names(X)
        W, nodes = named_adjacency(W, len(self.X), rows)
        self._nodes = nodes or rows
        W = numbers_array("the adjacency of the points, (n, n): an edge needs a finite weight", ndim=2)("W", W)
        adjacency = sparse.coo_array(W)
        if adjacency.shape != (len(self.X), len(self.X)):
            raise InvalidInputError(
                f"W has the shape {adjacency.shape}, but X has {len(self.X)} points; pass the adjacency of "
                f"the same points, of shape {(len(self.X), len(self.X))}."
            )
        apart = abs(adjacency - adjacency.T).tocoo()
        if apart.data.max(initial=0.0) > 1e-10 * abs(adjacency.data).max(initial=0.0):
            i, j = (int(at[apart.data.argmax()]) for at in (apart.row, apart.col))
            both = adjacency.tocsr()
            raise InvalidInputError(
                f"W is not symmetric: W[{i}, {j}] = {both[i, j]:.6g} but W[{j}, {i}] = {both[j, i]:.6g}; draw W + W.T "
                "or build the graph with kind='symmetric'."
            )
        upper = sparse.triu(adjacency.tocsr(), k=1).tocoo()
        present = upper.data != 0
        self.pairs = np.column_stack([upper.row[present], upper.col[present]])
        self.weights = np.asarray(upper.data[present], dtype=np.float64)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        y: npt.ArrayLike | None = None,
        score: npt.ArrayLike | None = None,
        unlabeled: Any = -1,
        score_label: str = "score",
        node_size: float = 14.0,
        title: str | None = None,
        legend: bool = False,
    ) -> Self:
        """Draw the edges and the nodes.

        Parameters
        ----------
        ax : Axes, optional
            Axes to draw on; a new pyplot figure by default.
        y : array of shape (n,), or mapping by node, optional
            Class values and markers: nodes take the colour and marker of their class.
        score : array of shape (n,), optional
            A value per node, e.g. an eigenvector: nodes take its colour on a scale centred on zero. Give `y`
            or `score` or neither.
        unlabeled : scalar, nan or None, default -1
            The marker in `y`.
        score_label : str, default "score"
            Name of the colour bar.
        node_size : float, default 14
            Area of a node, in square points.
        title : str, optional
            Title of the axes.
        legend : bool, default False
            Name the classes above the axes.

        Returns
        -------
        GraphDisplay
            Itself, with its attributes set.
        """
        if y is not None and score is not None:
            raise InvalidInputError("both y and score are given; nodes have one colour, so pass one of the two.")
        labels = None
        if y is not None:
            labels = LabelDisplay(self.X, by_row(y, self.X, self._nodes, unlabeled), unlabeled=unlabeled)
        values = None if score is None else np.asarray(score, dtype=np.float64)
        if values is not None and values.shape != (len(self.X),):
            raise InvalidInputError(
                f"score has the shape {values.shape}; give one value for each of {len(self.X)} nodes."
            )
        with self._drawing(ax, (3.4, 2.8), title, 16 if legend and labels is not None else 4) as ax:
            self.edges_ = self._edge_lines()
            ax.add_collection(self.edges_)
            self.colorbar_ = None
            if labels is not None:
                labels.plot(ax, legend=legend, size=node_size, unlabeled_size=0.5 * node_size)
            else:
                nodes = self._node_markers(ax, values, node_size)
                if values is not None:
                    self.colorbar_ = attach_colorbar(nodes, ax, score_label)
            ax.set_aspect("equal")
            ax.margins(0.04)
            ax.autoscale_view()
            ax.set(xlabel="$x_1$", ylabel="$x_2$")
        return self

    def _edge_lines(self) -> LineCollection:
        """Return lines to be drawn under the nodes: the heavier the edge, the darker and wider."""
        heaviest = np.abs(self.weights).max(initial=0.0)
        share = np.abs(self.weights) / heaviest if heaviest > 0 else self.weights
        # Many edges on one page must not add up to a black patch.
        factor = min(1.0, (600 / max(len(share), 1)) ** 0.25)
        colors = np.tile(to_rgba("0.3"), (len(share), 1))
        colors[:, 3] = factor * (0.15 + 0.55 * share)
        return LineCollection(
            list(self.X[self.pairs]), colors=colors, linewidths=factor * (0.3 + 0.7 * share), zorder=1
        )

    def _node_markers(self, ax: Axes, values: Any, size: float) -> PathCollection:
        look: dict[str, Any] = {"color": "0.35", "edgecolors": "white", "linewidths": 0.3}
        if values is not None:
            limit = float(np.abs(values).max()) or 1.0
            look = {"c": values, "cmap": decision_colormap(), "vmin": -limit, "vmax": limit}
            look |= {"edgecolors": "0.25", "linewidths": 0.35}
        return ax.scatter(self.X[:, 0], self.X[:, 1], s=size, zorder=3, **look)
