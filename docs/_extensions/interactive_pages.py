"""Pages that compute in the reader's browser: the block ``{interactive} NAME`` becomes data of the package and scripts.

`PAGES` has a function of data for each page, docs/_static/interactive the scripts. Data stand in the page itself and
scripts are no modules: a browser loads neither for a page that was opened from a folder.
"""

import json
import re
from typing import Any

import numpy as np

import specmargin as sm

BLOCK = re.compile(r"^```\{interactive\} (\w+)\n```$", re.MULTILINE)


def moons() -> dict[str, Any]:
    """Return two moons with their graph, and the functions u_k and energies theta_k of both penalties.

    With K = R R' the columns u_k of R P, where P diagonalises R'L R, have norm one in the kernel's space.
    """
    X, truth = sm.datasets.make_two_moons(n_samples=48, noise=0.1, random_state=5)
    graph = sm.graphs.knn_graph(X, n_neighbors=5)
    values, vectors = np.linalg.eigh(sm.kernels.gram(X, gamma=4.0))
    R = vectors * np.sqrt(np.maximum(values, 0.0))
    theta, P = np.linalg.eigh(R.T @ sm.graphs.laplacian(graph).toarray() @ R)
    y = sm.hide_labels(truth, per_class=2, random_state=3)
    labels = [[int(i), 1 if y[i] == 1 else -1] for i in np.flatnonzero(y != -1)]
    edges = [[int(i), int(j)] for i, j in zip(*np.nonzero(graph.toarray()), strict=True) if i < j]
    return {
        "X": X,
        "truth": truth,
        "edges": edges,
        "width": 4.0,
        "U": R @ P,
        "theta": np.maximum(theta, 0.0),
        "labels": labels,
    }


def dual() -> dict[str, Any]:
    """Return the moons, the weights of LapSVM, and points of the plane at which a test compares decisions."""
    return {**moons(), "gamma_A": 0.01, "gamma_I": 1.0, "probes": [[-1.0, 0.5], [0.5, 0.2], [1.9, -0.4]]}


PAGES = {"dual": dual}


def fragment(name: str, static: str) -> str:
    """Return the HTML of a page: a place to draw in, data, and the scripts in the folder `static`."""
    plain = json.dumps(PAGES[name](), default=lambda array: array.tolist(), separators=(",", ":"))
    scripts = (f'<script src="{static}/interactive/{one}.js"></script>' for one in ("numbers", "drawing", name))
    return "\n".join(
        [
            '<div id="interactive"><noscript>This page computes in your browser, and JavaScript is off.</noscript></div>',
            f'<script type="application/json" id="interactive-data">{plain}</script>',
            *scripts,
        ]
    )


def write_blocks(app: Any, docname: str, source: list[str]) -> None:
    """Replace the block of a page by its HTML."""
    static = "../" * docname.count("/") + "_static"
    source[0] = BLOCK.sub(lambda block: f"```{{raw}} html\n{fragment(block[1], static)}\n```", source[0])


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", write_blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
