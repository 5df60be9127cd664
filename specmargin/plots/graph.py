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
from matplotlib.collections import LineCollection
from matplotlib.colorbar import Colorbar
from matplotlib.colors import to_rgba
from scipy import sparse

from specmargin.exceptions import InvalidInputError
from specmargin.graphs.adjacency import check_adjacency, named_adjacency
from specmargin.graphs.node_names import by_row, row_names
from specmargin.plots.points import LabelDisplay, points_in_plane
from specmargin.plots.theme import Display, attach_colorbar, decision_colormap

__all__ = ["GraphDisplay"]

_AREA = 14.0  # of a node, in square points


class GraphDisplay(Display):
    """Weighted graph over points of the plane.

    Parameters
    ----------
    X : array of shape (n, 2), or mapping by node
        Positions of the nodes, such as ``networkx.spring_layout(graph)``.
    W : sparse or dense array of shape (n, n), networkx.Graph or table of edges
        Symmetric adjacency, as `specmargin.graphs.check_adjacency` takes it. Nodes with names are matched with those
        of `X`.

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
        self.X = points_in_plane(list(X.values()) if isinstance(X, Mapping) else X)
        rows = list(X) if isinstance(X, Mapping) else row_names(X)
        W, nodes = named_adjacency(W, len(self.X), rows)
        self._nodes = nodes or rows
        upper = sparse.triu(check_adjacency(W, len(self.X)), k=1).tocoo()
        self.pairs = np.column_stack([upper.row, upper.col])
        self.weights = np.asarray(upper.data, dtype=np.float64)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        y: npt.ArrayLike | None = None,
        score: npt.ArrayLike | None = None,
        unlabeled: Any = -1,
        score_label: str = "score",
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
                labels.plot(ax, legend=legend, size=_AREA, unlabeled_size=0.5 * _AREA)
            else:
                look: dict[str, Any] = {"color": "0.35", "edgecolors": "white", "linewidths": 0.3}
                if values is not None:
                    limit = float(np.abs(values).max()) or 1.0
                    look = {"c": values, "cmap": decision_colormap(), "vmin": -limit, "vmax": limit}
                    look |= {"edgecolors": "0.25", "linewidths": 0.35}
                nodes = ax.scatter(self.X[:, 0], self.X[:, 1], s=_AREA, zorder=3, **look)
                if values is not None:
                    self.colorbar_ = attach_colorbar(nodes, ax, score_label)
            ax.set_aspect("equal")
            ax.margins(0.04)
            ax.autoscale_view()
            ax.set(xlabel="$x_1$", ylabel="$x_2$")
        return self

    def _edge_lines(self) -> LineCollection:
        """Return lines to be drawn under the nodes: the heavier the edge, the darker and wider."""
        share = self.weights / self.weights.max(initial=1e-300)
        # Many edges on one page must not add up to a black patch.
        factor = min(1.0, (600 / max(len(share), 1)) ** 0.25)
        colors = np.tile(to_rgba("0.3"), (len(share), 1))
        colors[:, 3] = factor * (0.15 + 0.55 * share)
        return LineCollection(
            list(self.X[self.pairs]), colors=colors, linewidths=factor * (0.3 + 0.7 * share), zorder=1
        )
