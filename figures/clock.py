"""A clock's dial and hands, told apart with one label each.

Left, the data: 100 points of a dial, 47 of its hands, one label each. Middle, an SVM sees the two labels and separates
them half-way. Right, the Laplacian SVM keeps its decision constant along dial and hands.

After figure 1 of Melacci and Belkin, "Laplacian support vector machines trained in the primal".
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import specmargin as sm
from reproduction.data import load
from specmargin.exceptions import DisconnectedGraphWarning
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF

LABELED = (25, 125)  # the top of the dial, the tip of the long hand
LIMIT = 1.5  # of the colours: beyond the points, where nothing is known, f may grow larger
PARAMETERS = {
    "sigma": 0.35,
    "gamma_A": 1e-3,
    "gamma_I": {"SVM": 0.0, "LapSVM": 1.0},
    "n_neighbors": 6,
    "kind": "symmetric",
    "weight": "binary",
    "normalized": False,
    "power": 1,
    "loss": "hinge",
    "labeled": list(LABELED),
}

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"resolution": 70},
    "standard": {"resolution": 240},
    "full": {"resolution": 240},
}
SECONDS = {"quick": (2, 2), "standard": (3, 3), "full": (3, 3)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit both classifiers and evaluate them on a grid; nothing here is random."""
    data = load("clock", download=False)
    X, y_true = data.X, data.y
    y = np.full_like(y_true, -1)
    y[list(LABELED)] = y_true[list(LABELED)]
    hidden = y == -1
    side = np.linspace(-1.25, 1.25, SIZES[size]["resolution"])
    grid = np.column_stack([part.ravel() for part in np.meshgrid(side, side)])
    responses, errors, certificates, solvers = {}, {}, {}, set()
    shared = {
        "gamma_A": PARAMETERS["gamma_A"],
        "loss": PARAMETERS["loss"],
        "kernel": RBF(1 / (2 * PARAMETERS["sigma"] ** 2)),
        "graph": KNN(**{name: PARAMETERS[name] for name in ("n_neighbors", "kind", "weight")}),
        "laplacian": Laplacian(PARAMETERS["power"], PARAMETERS["normalized"]),
        "class_balance": None,
    }
    for name, gamma_I in PARAMETERS["gamma_I"].items():
        svm = sm.LapSVM(gamma_I=gamma_I, **shared)
        with warnings.catch_warnings():
            # Dial and hands are two components, each with its label: that is the point of the figure.
            warnings.simplefilter("ignore", DisconnectedGraphWarning)
            svm.fit(X, y)
        responses[name] = svm.decision_function(grid).reshape(len(side), len(side))
        errors[name] = float(100 * np.mean(svm.transduction_[hidden] != y_true[hidden]))
        certificates[name] = svm.result_.certificate.relative_gap
        solvers.add(svm.result_.solver)
    return {
        "X": X,
        "y": y,
        "side": side,
        "responses": responses,
        "parameters": PARAMETERS,
        "results": {"error on unlabelled points, percent": errors},
        "certificates": {"relative gap": certificates},
        "data": {"clock": {"kind": "published points" if data.sha256 else "formula", "sha256": data.sha256}},
        "solvers": sorted(solvers),
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw the data and a panel per classifier."""
    from specmargin.plots import DecisionDisplay, LabelDisplay, style, subplots
    from specmargin.plots.points import point_handles

    figure, axes = subplots(1, 3, width="page", aspect=1.02, sharey=True)
    labels = LabelDisplay(data["X"], data["y"])
    labels.plot(axes[0, 0], title="Data: two labelled points")
    largest = max(float(np.abs(response).max()) for response in data["responses"].values())
    errors = data["results"]["error on unlabelled points, percent"]
    for ax, (name, response) in zip(axes[0, 1:], data["responses"].items(), strict=True):
        display = DecisionDisplay(data["side"], data["side"], response, points=labels).plot(
            ax, limit=LIMIT, colorbar=False, title=f"{name}: error {errors[name]:.1f} %"
        )
    axes[0, 0].spines[["top", "right"]].set_visible(True)
    for ax in axes[0]:
        ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        ax.label_outer()
    with style():
        figure.legend(handles=point_handles(), loc="outside upper center", ncols=4)
    DecisionDisplay.add_colorbar(display.surface_, axes[0, -1], clipped=largest > LIMIT)
    return figure
