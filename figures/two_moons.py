"""Two moons: from the SVM to the Laplacian SVM.

One label per class. With gamma_I = 0 the model is an SVM that knows two points. As gamma_I grows, the decision becomes
smooth along the graph of all points, and the boundary (black) follows the gap between the moons. Below each panel, mean
and standard error of the error over other draws of the two labels.

After figure 3 of Belkin, Niyogi and Sindhwani, "Manifold regularization". Which two points are labelled matters. The
colours have one scale in all panels. Points: the published ones where the data folder holds them, else drawn by
`make_two_moons`.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import specmargin as sm
from reproduction.tasks import published_or_drawn_moons
from specmargin.exceptions import DisconnectedGraphWarning
from specmargin.graphs import KNN, Laplacian
from specmargin.kernels import RBF

GAMMA_I = (0.0, 0.01, 1.0)
PARAMETERS = {
    "sigma": 0.35,
    "gamma_A": 0.03125,
    "gamma_I": list(GAMMA_I),
    "n_neighbors": 6,
    "kind": "symmetric",
    "weight": "binary",
    "normalized": False,
    "power": 1,
    "loss": "hinge",
}

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"resolution": 70, "n_draws": 3},
    "standard": {"resolution": 240, "n_draws": 30},
    "full": {"resolution": 240, "n_draws": 30},
}
SECONDS = {"quick": (2, 2), "standard": (3, 3), "full": (3, 3)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit one SVM per gamma_I and evaluate it on a grid."""
    moons, source = published_or_drawn_moons(seed)
    X, y_true = moons.X, moons.y
    y = sm.hide_labels(y_true, per_class=1, random_state=seed)
    low, high = X.min(axis=0) - 0.35, X.max(axis=0) + 0.35
    m = SIZES[size]["resolution"]
    xx0, xx1 = np.linspace(low[0], high[0], m), np.linspace(low[1], high[1], round(0.8 * m))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx0, xx1)])
    responses, errors, certificates, solvers = [], {}, {}, set()
    draws = [sm.hide_labels(y_true, per_class=1, random_state=seed + 1 + k) for k in range(SIZES[size]["n_draws"])]
    means, spreads = {}, {}
    for gamma_I in GAMMA_I:
        svm = fit(X, y, gamma_I)
        responses.append(svm.decision_function(grid).reshape(len(xx1), len(xx0)))
        name = f"gamma_I={gamma_I:g}"
        errors[name] = error(svm, y, y_true)
        others = [error(fit(X, other, gamma_I), other, y_true) for other in draws]
        means[name], spreads[name] = float(np.mean(others)), float(np.std(others, ddof=1) / np.sqrt(len(draws)))
        certificates[name] = svm.result_.certificate.relative_gap
        solvers.add(svm.result_.solver)
    return {
        "X": X,
        "y": y,
        "xx0": xx0,
        "xx1": xx1,
        "responses": np.array(responses),
        "gamma_I": np.array(GAMMA_I),
        "others": {"draws": len(draws), "means": means, "standard errors": spreads},
        "parameters": {**PARAMETERS, "labeled": np.flatnonzero(y != -1).tolist()},
        "results": {
            "error on unlabelled points, percent": errors,
            f"the same, mean over {len(draws)} other draws of the two labels": means,
            "the standard error of that mean": spreads,
        },
        "certificates": {"relative gap": certificates},
        "data": {"two_moons": source},
        "solvers": sorted(solvers),
    }


def fit(X: np.ndarray, y: np.ndarray, gamma_I: float) -> sm.LapSVM:
    """Fit the SVM of one panel."""
    svm = sm.LapSVM(
        gamma_A=PARAMETERS["gamma_A"],
        gamma_I=gamma_I,
        loss=PARAMETERS["loss"],
        kernel=RBF(1 / (2 * PARAMETERS["sigma"] ** 2)),
        graph=KNN(**{name: PARAMETERS[name] for name in ("n_neighbors", "kind", "weight")}),
        laplacian=Laplacian(PARAMETERS["power"], PARAMETERS["normalized"]),
        class_balance=None,
    )
    with warnings.catch_warnings():
        # One component per moon, each with its label: that is the point of the figure, not a defect.
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        return svm.fit(X, y)


def error(svm: sm.LapSVM, y: np.ndarray, y_true: np.ndarray) -> float:
    """Per cent of the unlabelled points."""
    hidden = y == -1
    return float(100 * np.mean(svm.transduction_[hidden] != y_true[hidden]))


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel per gamma_I."""
    from specmargin.plots import DecisionDisplay, LabelDisplay, style, subplots
    from specmargin.plots.points import point_handles

    figure, axes = subplots(1, 3, width="page", aspect=0.92, sharey=True)
    labels = LabelDisplay(data["X"], data["y"])
    errors = data["results"]["error on unlabelled points, percent"]
    for ax, gamma_I, response in zip(axes[0], data["gamma_I"], data["responses"], strict=True):
        percent = errors[f"gamma_I={gamma_I:g}"]
        display = DecisionDisplay(data["xx0"], data["xx1"], response, points=labels).plot(
            ax, limit=1.0, colorbar=False, title=rf"$\gamma_I = {gamma_I:g}$: error {percent:.1f} %"
        )
        others, name = data["others"], f"gamma_I={gamma_I:g}"
        told = f"{others['means'][name]:.1f} $\\pm$ {others['standard errors'][name]:.1f} %"
        with style():
            ax.set_xlabel(f"$x_1$\n{others['draws']} other draws: {told}")
        ax.label_outer()
    with style():
        figure.legend(handles=point_handles(), loc="outside upper center", ncols=4)
    DecisionDisplay.add_colorbar(display.surface_, axes[0, -1], clipped=bool(np.abs(data["responses"]).max() > 1))
    return figure
