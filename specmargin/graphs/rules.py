"""The names of kinds of graphs and of edge weights, as rules of arguments; see `specmargin.checks`."""

from __future__ import annotations

from typing import Any

from specmargin.checks import choice
from specmargin.graphs.kinds import KINDS
from specmargin.graphs.weights import EDGE_WEIGHTS

__all__ = ["KIND", "WEIGHT"]


def KIND(name: str, value: Any) -> Any:
    """Check the name of a kind of graph: one of `specmargin.graphs.kinds.KINDS`."""
    return choice(*KINDS)(name, value)


def WEIGHT(name: str, value: Any) -> Any:
    """Check the name of an edge weight: one of `specmargin.graphs.weights.EDGE_WEIGHTS`."""
    return choice(*EDGE_WEIGHTS)(name, value)
