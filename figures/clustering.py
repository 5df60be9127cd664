"""Clusters of two moons that reach the whole plane.

The lowest eigenfunction of regularized spectral clustering, without any label, for three weights gamma of the kernel.
Its zero line (black) is the boundary of the clusters. A small gamma follows the gap between the moons; a large one
wants a function that is smooth in the plane, and cuts across them. Crosses took no part.

After figure 7 of Belkin, Niyogi and Sindhwani, "Manifold regularization": the least gamma |f|_K^2 + f'L f under |f| = 1
and 1'f = 0 (`gamma_A` of `RegularizedSpectralClustering`). With a small gamma each moon is a component of the graph.
Colours have a scale of their own in each panel. The sidecar has the errors on the crosses and on the clustered points,
up to the names of the clusters. Points: the published ones where the data folder holds them, else drawn by
`make_two_moons`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from reproduction.tasks import published_or_drawn_moons
from specmargin.estimators.clustering import RegularizedSpectralClustering
from specmargin.exceptions import DisconnectedGraphWarning
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF

GAMMA_A = (1e-4, 1.0, 1e2)
PARAMETERS = {
    "sigma": 0.35,
    "gamma_A": list(GAMMA_A),
    "n_neighbors": 6,
    "kind": "symmetric",
    "weight": "binary",
    "normalized": False,
}

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"resolution": 70},
    "standard": {"resolution": 240},
    "full": {"resolution": 240},
}
SECONDS = {"quick": (2, 2), "standard": (3, 3), "full": (3, 3)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Cluster under every gamma and evaluate the eigenfunction on a grid."""
    from specmargin.plots import decision_grid

    moons, source = published_or_drawn_moons(seed, n_unseen=200)
    X, y, X_new, y_new = moons.X, moons.y, moons.extras["X_test"], moons.extras["y_test"]
    xx0, xx1 = decision_grid(np.vstack([X, X_new]), resolution=SIZES[size]["resolution"])
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx0, xx1)])
    responses, results, certificates = [], {}, {}
    for gamma_A in GAMMA_A:
        clusters = fit(X, gamma_A)
        # The sign of an eigenfunction is free: the first moon is negative.
        turn = -1.0 if clusters.embedding_[y == 0, 0].mean() > 0 else 1.0
        responses.append(turn * clusters.decision_function(grid).reshape(len(xx1), len(xx0)))
        name = f"gamma={gamma_A:g}"
        results[name] = {
            "error on the clustered samples, percent": error(clusters.labels_, y),
            "error on other samples, percent": error(clusters.predict(X_new), y_new),
            "eigenvalue": float(clusters.eigenvalues_[0]),
        }
        certificate = clusters.result_.certificate
        certificates[name] = {
            "relative gap": certificate.relative_gap,
            "violation of the constraints": certificate.primal_residual,
        }
    return {
        "X": X,
        "X_new": X_new,
        "xx0": xx0,
        "xx1": xx1,
        "responses": np.array(responses),
        "gamma_A": np.array(GAMMA_A),
        "parameters": PARAMETERS,
        "results": results,
        "certificates": certificates,
        "data": {"two_moons": source},
        "solvers": [clusters.result_.solver],
    }


def fit(X: np.ndarray, gamma_A: float) -> RegularizedSpectralClustering:
    """Cluster the samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        return RegularizedSpectralClustering(
            gamma_A=gamma_A,
            kernel=RBF(1 / (2 * PARAMETERS["sigma"] ** 2)),
            graph=KNN(**{name: PARAMETERS[name] for name in ("n_neighbors", "kind", "weight")}),
            laplacian=Laplacian(normalized=PARAMETERS["normalized"]),
        ).fit(X)


def error(clusters: np.ndarray, y: np.ndarray) -> float:
    """Per cent of the samples in the wrong one of two clusters, whatever their names."""
    wrong = float(100 * np.mean(clusters != y))
    return min(wrong, 100 - wrong)


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel per gamma."""
    from matplotlib.lines import Line2D

    from specmargin.plots import DecisionDisplay, style, subplots

    figure, axes = subplots(1, 3, width="page", aspect=0.86, sharey=True)
    with style():
        for ax, gamma_A, response in zip(axes[0], data["gamma_A"], data["responses"], strict=True):
            told = data["results"][f"gamma={gamma_A:g}"]
            percent = told["error on the clustered samples, percent"]
            power = round(np.log10(gamma_A))
            # Eigenvectors have no scale of their own.
            scaled = response / np.abs(response).max()
            display = DecisionDisplay(data["xx0"], data["xx1"], scaled).plot(
                ax,
                limit=1.0,
                colorbar=False,
                title=rf"$\gamma = {f'10^{{{power}}}' if power else 1}$: error {percent:.1f} %",
            )
            ax.plot(*data["X"].T, "o", color="0.25", markersize=1.6, zorder=3, label="clustered sample")
            crosses = {"markersize": 2.0, "markeredgewidth": 0.5, "zorder": 3, "label": "sample that took no part"}
            ax.plot(*data["X_new"].T, "x", color="0.45", **crosses)
            ax.label_outer()
        handles, names = axes[0, 0].get_legend_handles_labels()
        handles.append(Line2D([], [], color="black", linewidth=1.1))
        figure.legend(handles, [*names, "boundary"], loc="outside upper center", ncols=3)
        bar = DecisionDisplay.add_colorbar(display.surface_, axes[0, -1])
        bar.set_label("$f(x)$ over its largest modulus")
    return figure
