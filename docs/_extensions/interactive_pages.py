"""Pages that compute in the reader's browser: the block ``{interactive} NAME`` becomes data of the package and scripts.

`PAGES` has a function of data for each page, docs/_static/interactive the scripts. Data stand in the page itself and
scripts are no modules: a browser loads neither for a page that was opened from a folder.
"""

import json
import re
from typing import Any

import numpy as np

import specmargin as sm
from specmargin.solvers.s3vm.continuation import smoothing_path

BLOCK = re.compile(r"^```\{interactive\} (\w+)\n```$", re.MULTILINE)


def moons() -> dict[str, Any]:
    """Return two moons with their graph, and the functions u_k and energies theta_k of both penalties.

    With K = R R' the columns u_k of R P, where P diagonalises R'L R, have norm one in the kernel's space.
    """
    X, truth = sm.datasets.make_two_moons(n_samples=48, noise=0.1, random_state=5)
    L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=5)).toarray()
    values, vectors = np.linalg.eigh(sm.kernels.gram(X, gamma=4.0))
    R = vectors * np.sqrt(np.maximum(values, 0.0))
    theta, P = np.linalg.eigh(R.T @ L @ R)
    y = sm.hide_labels(truth, per_class=2, random_state=3)
    labels = [[int(i), 1 if y[i] == 1 else -1] for i in np.flatnonzero(y != -1)]
    edges = [[int(i), int(j), L[i, j]] for i, j in zip(*np.nonzero(L), strict=True) if i < j]
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


def spectrum_of(name: str, X: Any, graph: Any, truth: Any, y: Any) -> dict[str, Any]:
    """Return nine eigenvectors of a graph, scaled as the objectives have them, and the rays of ordered spectra."""
    spectrum, labels = sm.spectra.laplacian_eigenpairs(graph, q=9, normalized=False), sm.encode_labels(y)
    alignment = sm.objectives.Alignment(spectrum, labels)
    edges = [[int(i), int(j)] for i, j in zip(*graph.nonzero(), strict=True) if i < j]
    signs = [[int(i), int(sign)] for i, sign in zip(labels.labeled, labels.sign, strict=True)]
    vectors, rays = np.sqrt(len(y)) * spectrum.eigenvectors, alignment.cone.matrix()
    return {"name": name, "X": X, "edges": edges, "U": vectors, "rays": rays, "truth": truth, "labels": signs}


def alignment() -> dict[str, Any]:
    """Return two moons under two draws of labels, and a ring, whose eigenvalues are equal in pairs."""
    X, truth = sm.datasets.make_two_moons(n_samples=60, noise=0.15, random_state=5)
    graph = sm.graphs.knn_graph(X, n_neighbors=5)
    draws = [sm.hide_labels(truth, per_class=5, random_state=seed) for seed in (0, 4)]
    angle = 2 * np.pi * np.arange(24) / 24
    circle, sides = np.c_[np.cos(angle), np.sin(angle)], (np.cos(2 * angle + 0.4) > 0).astype(int)
    ring, seen = sm.graphs.knn_graph(circle, n_neighbors=2), sm.hide_labels(sides, per_class=4, random_state=1)
    first, second = (spectrum_of(f"two moons, draw {k}", X, graph, truth, y) for k, y in enumerate(draws, start=1))
    return {"cases": [first, second, spectrum_of("ring, eigenvalues in pairs", circle, ring, sides, seen)]}


def s3vm_of(obj: Any) -> dict[str, Any]:
    """Return what decides an S3VM whose intercept is that of a balance; points without a label have the sign 0."""
    sign = np.zeros(obj.features.n_samples)
    sign[obj.labels.labeled] = obj.labels.sign
    return {"Z": obj.features.dense(), "sign": sign, "r": float(obj.features.offset), "C": obj.C}


def tree() -> dict[str, Any]:
    """Return a semi-supervised SVM of two labels and six points without one, in the plane."""
    draw = np.random.default_rng(24)
    X = np.vstack([draw.uniform(-1.2, 1.2, (2, 2)), draw.uniform(-1.5, 1.5, (6, 2))])
    labels = sm.encode_labels(np.array([0, 1] + [-1] * 6))
    obj = sm.objectives.S3VM(X, labels, loss="hinge", C=2.0, balance=0.0)
    return {**s3vm_of(obj), "X": X, "center": X[2:].mean(axis=0), "labeled": 2}


def continuation() -> dict[str, Any]:
    """Return the seven points on a line of the notebook on local minima, two weights, and the smoothings of each."""
    x = np.array([-1.5, -1.2, -1.9, -1.8, -1.7, -0.2, 0.8])[:, None]
    labels = sm.encode_labels(np.array([0, 1] + [-1] * 5))
    problems = []
    for C in (2.0, 1.0):
        obj = sm.objectives.S3VM(x, labels, "hinge", "exp", C=C, balance=0.6)
        parts, gammas = s3vm_of(obj), smoothing_path(obj, 20)
        problems.append({**parts, "z": parts["Z"][:, 0], "s": obj.unlabeled_loss.s, "gammas": gammas})
    return {"problems": problems}


PAGES = {"alignment": alignment, "continuation": continuation, "dual": dual, "filter": moons, "tree": tree}


def fragment(name: str, static: str) -> str:
    """Return the HTML of a page: a place to draw in, data, and the scripts in the folder `static`."""
    plain = json.dumps(PAGES[name](), default=lambda array: array.tolist(), separators=(",", ":"))
    scripts = (f'<script src="{static}/interactive/{one}.js"></script>' for one in ("numbers", "drawing", name))
    return "\n".join(
        [
            '<div id="interactive"><noscript>This page computes in your browser: turn JavaScript on.</noscript></div>',
            f'<script type="application/json" id="interactive-data">{plain}</script>',
            *scripts,
        ]
    )


def write_blocks(app: Any, docname: str, source: list[str]) -> None:
    """Replace the block of a page by its HTML."""
    static = "../" * docname.count("/") + "_static"
    source[0] = BLOCK.sub(lambda block: f"```{{raw}} html\n{fragment(block[1], static)}\n```", source[0])


def outdated(app: Any, env: Any, *changes: set[str]) -> set[str]:
    """Name the pages: they are written anew each time, since the package may have changed."""
    return {f"interactive/{name}" for name in PAGES} & env.found_docs


def setup(app: Any) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", write_blocks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
