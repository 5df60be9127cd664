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
from specmargin.optima.boxes.log import BoxTreeLog, joined, starts
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
    arrays |= _packed([(count, node) for _, count, node in search.open_nodes], len(root.low))
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
    for count, node in _unpacked(_under("open/", arrays)):
        search.open(node, count)


def _under(prefix: str, arrays: dict[str, AnyArray]) -> dict[str, AnyArray]:
    return {name.removeprefix(prefix): x for name, x in arrays.items() if name.startswith(prefix)}


def _digest(search: BoxSearch) -> str:
    space = search.space
    given = ["kinds", space.offset, space.total, space.count, search.bounding.tol, space.unit]
    digest = hashlib.sha256(repr(given).encode())
    for array in (space.A, space.C, space.y):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _packed(nodes: list[tuple[int, BoxNode]], n: int) -> dict[str, AnyArray]:
    """Return open nodes as arrays; a node without a relaxation has no x and no products."""
    of = [node for _, node in nodes]
    products = [none if node.products is None else node.products for node in of for none in [_none(n)]]
    given: dict[str, Any] = {
        "count": np.array([count for count, _ in nodes], dtype=np.int64),
        "number": np.array([node.number for node in of], dtype=np.int64),
        "lower": np.array([node.lower for node in of]),
        "level": np.array([node.box.level for node in of]),
        "low": np.array([node.box.low for node in of]).reshape(-1, n),
        "high": np.array([node.box.high for node in of]).reshape(-1, n),
        "x": np.array([np.full(n, np.nan) if node.x is None else node.x for node in of]).reshape(-1, n),
        "first_product": starts(len(one.i) for one in products),
        "first_multiplier": starts(len(one) for one in products),
        "first_own": starts(len(one.triangles) for one in products),
        "own": joined([one.triangles for one in products], np.zeros((0, 4), dtype=np.int64)),
        "first_triangle": starts(len(node.triangles) for node in of),
        "triangles": np.array([one for node in of for one in node.triangles], dtype=np.int64).reshape(-1, 4),
        "first_cut": starts(len(node.cuts) for node in of),
        "cuts": np.array([cut for node in of for cut in node.cuts], dtype=np.int64).reshape(-1, 3),
        "lam": joined([np.zeros(0) if node.lam is None else node.lam for node in of], np.zeros(0)),
    }
    for name in ROWS:
        given[name] = joined([getattr(one, name) for one in products], getattr(_none(n), name))
    return {f"open/{name}": x for name, x in given.items()}


def _unpacked(a: dict[str, AnyArray]) -> list[tuple[int, BoxNode]]:
    nodes = []
    for k, count in enumerate(a["count"].tolist()):
        names = ("product", "multiplier", "cut", "own", "triangle")
        m, l, c, o, t = (slice(*a[f"first_{name}"][k : k + 2]) for name in names)
        box = MarginBox(a["low"][k].copy(), a["high"][k].copy(), float(a["level"][k]))
        cuts = [(i, j, kind) for i, j, kind in a["cuts"][c].tolist()]
        triangles = [(i, j, h, kind) for i, j, h, kind in a["triangles"][t].tolist()]
        node = BoxNode(float(a["lower"][k]), box, cuts, triangles, number=int(a["number"][k]))
        if not np.isnan(a["x"][k]).any():
            node.x, node.lam = a["x"][k].copy(), a["lam"][l].copy()
            rows: dict[str, Any] = {name: a[name][m].copy() for name in ROWS}
            node.products = Products(len(box.low), **rows, triangles=a["own"][o].copy())
        nodes.append((count, node))
    return nodes


def _none(n: int) -> Products:
    index, number = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Products(n, index, index, number, number, number, index)
