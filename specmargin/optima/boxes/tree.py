"""The tree of an exact search in x as a file that the search goes on from: `SavedTree`."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from cvxproof.archive import read_archive, write_archive
from specmargin.exceptions import InvalidInputError
from specmargin.optima.boxes.log import BoxTreeLog
from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.nodes import BoxNode
from specmargin.optima.boxes.pivoting import LabeledPoint
from specmargin.optima.boxes.products import ROWS, Products
from specmargin.optima.boxes.search import BoxSearch
from specmargin.optima.search_log import BoxLog
from specmargin.results import History
from specmargin.typing import AnyArray

__all__ = ["SavedTree", "load_tree", "save_tree"]

_BETWEEN = 20.0
"""Time between two savings of a tree, in units of what one takes."""

_KIND = "tree of an exact search"
_NUMBERS = ("nodes", "closed", "plain", "root", "count")
_COUNTS = ("n_sdp", "n_cuts", "n_programs")


class SavedTree:
    """The file of a search: what the search goes on from, written after rounds if that takes a small share of the time.

    Parameters
    ----------
    path : str or path
        The file; where it exists, it is brought to `search`.
    search : BoxSearch
        A search that has not begun.
    """

    def __init__(self, path: str | os.PathLike[str], search: BoxSearch) -> None:
        self.path, self.search, self.next = path, search, -np.inf
        if os.path.exists(path):
            load_tree(path, search)

    def keep(self, at_once: bool) -> None:
        """Save the tree if it is time to; not what was cut short."""
        start = time.perf_counter()
        if not self.search.search.late and self.search.search.best is not None and (at_once or start >= self.next):
            save_tree(self.path, self.search)
            self.next = time.perf_counter() + _BETWEEN * (time.perf_counter() - start)


def save_tree(path: str | os.PathLike[str], search: BoxSearch) -> None:
    """Write all that a search knows between two rounds: the file is the old one or the new one whatever happens."""
    best, root, bounding = search.search.best, search.root_box, search.bounding
    assert best is not None
    assert root is not None
    header = {name: getattr(search, name) for name in _NUMBERS}
    header |= {"problem": _digest(search), "highest": search.space.highest, "most": bounding.most}
    header |= {name: getattr(bounding, name) for name in _COUNTS}
    header |= {"level": root.level, "log": search.log is not None}
    header["best"] = [best.lower, best.value]
    arrays = {f"best/{name}": getattr(best, name) for name in ("labels", "x", "p", "active")}
    arrays |= {"root/low": root.low, "root/high": root.high}
    arrays |= {f"history/{name}": np.array(x, dtype=float) for name, x in search.history.columns.items()}
    for _, count, node in search.open_nodes:
        arrays |= _packed(count, node)
    if search.log is not None:
        arrays |= {f"log/{name}": x for name, x in search.log.finished().arrays.items()}
    write_archive(path, _KIND, header, arrays)


def load_tree(path: str | os.PathLike[str], search: BoxSearch) -> None:
    """Bring a search that has not begun to where another one of the same problem was when it wrote the file."""
    header, arrays = read_archive(path, _KIND)
    wrong = ""
    if header["problem"] != _digest(search):
        wrong = "another problem or tolerance"
    elif header["log"] != (search.log is not None):
        wrong = f"a search with log={header['log']}"
    if wrong:
        raise InvalidInputError(f"tree={str(Path(path))!r} is of {wrong}; pass its arguments, or another file.")
    for name in _NUMBERS:
        setattr(search, name, header[name])
    search.space.highest, search.bounding.most = header["highest"], header["most"]
    for name in _COUNTS:
        setattr(search.bounding, name, header[name])
    search.root_box = MarginBox(arrays["root/low"], arrays["root/high"], header["level"])
    labels, x, p, active = (arrays[f"best/{name}"] for name in ("labels", "x", "p", "active"))
    search.search.best = LabeledPoint(labels, x, p, active, *header["best"])
    search.history = History({name: x.tolist() for name, x in _under("history/", arrays).items()})
    if search.log is not None:
        search.log = BoxTreeLog.of(BoxLog(len(search.space.y), **_under("log/", arrays)))
    nodes: dict[str, dict[str, AnyArray]] = {}
    for name, x in _under("open/", arrays).items():
        count, part = name.split("/", 1)
        nodes.setdefault(count, {})[part] = x
    for node in nodes.values():
        search.open(*_unpacked(node))


def _under(prefix: str, arrays: dict[str, AnyArray]) -> dict[str, AnyArray]:
    return {name.removeprefix(prefix): x for name, x in arrays.items() if name.startswith(prefix)}


def _digest(search: BoxSearch) -> str:
    space = search.space
    given = ["open", space.offset, space.total, space.count, search.bounding.tol, space.unit]
    digest = hashlib.sha256(repr(given).encode())
    for array in (space.A, space.C, space.y):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _packed(count: int, node: BoxNode) -> dict[str, AnyArray]:
    """Return an open node as arrays; one without a relaxation has no x and no products."""
    own = {
        "low": node.box.low,
        "high": node.box.high,
        "numbers": np.array([count, node.number]),
        "bounds": np.array([node.lower, node.box.level]),
        "cuts": np.array(node.cuts, dtype=np.int64).reshape(-1, 3),
        "triangles": np.array(node.triangles, dtype=np.int64).reshape(-1, 4),
    }
    if node.products is not None and node.lam is not None and node.x is not None:
        own |= {"x": node.x, "lam": node.lam}
        own |= {f"of/{name}": getattr(node.products, name) for name in (*ROWS, "triangles")}
    return {f"open/{count}/{name}": x for name, x in own.items()}


def _unpacked(a: dict[str, AnyArray]) -> tuple[BoxNode, int]:
    (count, number), (lower, level) = a["numbers"].tolist(), a["bounds"].tolist()
    cuts, triangles = (list(map(tuple, a[name].tolist())) for name in ("cuts", "triangles"))
    node = BoxNode(lower, MarginBox(a["low"], a["high"], level), cuts, triangles, number=number)
    if "x" in a:
        products: dict[str, Any] = _under("of/", a)
        node.x, node.lam, node.products = a["x"], a["lam"], Products(len(a["low"]), **products)
    return node, count
