"""Two moons with one label each: SVM, transductive SVM and Laplacian SVM at their best.

Each panel shows the decisions of a method at the setting that errs least on the unlabelled points, by their hidden
labels: OPTIMISTIC for all three. Below it stand the mean of that least error over draws of the two labels, and how
often no point is wrong. The first draw is shown.

After figure 2 of Belkin, Niyogi and Sindhwani, "Manifold regularization", which shows the best decision surfaces over a
wide range of parameters. Every method is fitted at the same number of settings: widths of the Gaussian kernel times
weights C of the losses (for the Laplacian SVM gamma_I at the gamma_A of `two_moons`). The transductive SVM is Joachims'
(`S3VM(search="label_switching")`), a search for a local minimum, told that half of the unlabelled points are positive,
which is true. Points: the published ones where the data folder holds them, else drawn by `make_two_moons`.
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

WEIGHTS = {"SVM": (1.0, 10.0, 100.0), "TSVM": (1.0, 10.0, 100.0), "LapSVM": (0.1, 1.0, 10.0)}
"""C of the first two, gamma_I of the last."""
GAMMA_A = 0.03125
GRAPH: dict[str, Any] = {"n_neighbors": 6, "kind": "symmetric", "weight": "binary", "normalized": False}

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"resolution": 70, "n_draws": 3, "sigmas": (0.2, 0.35), "n_weights": 2},
    "standard": {"resolution": 200, "n_draws": 5, "sigmas": (0.2, 0.35, 0.5, 1.0), "n_weights": 3},
    "full": {"resolution": 240, "n_draws": 20, "sigmas": (0.2, 0.35, 0.5, 1.0), "n_weights": 3},
}
SECONDS = {"quick": (4, 4), "standard": (8, 8), "full": (50, 50)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit every method at every setting on every draw, and evaluate the best fits of the first one on a grid."""
    chosen = SIZES[size]
    moons, source = published_or_drawn_moons(seed)
    X, y_true = moons.X, moons.y
    draws = [sm.hide_labels(y_true, per_class=1, random_state=seed + k) for k in range(chosen["n_draws"])]
    low, high = X.min(axis=0) - 0.35, X.max(axis=0) + 0.35
    m = chosen["resolution"]
    xx0, xx1 = np.linspace(low[0], high[0], m), np.linspace(low[1], high[1], round(0.8 * m))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx0, xx1)])
    responses, best, results, gaps = {}, {}, {}, {}
    for method, weights in WEIGHTS.items():
        settings = [(sigma, weight) for sigma in chosen["sigmas"] for weight in weights[-chosen["n_weights"] :]]
        errors = np.empty((len(draws), len(settings)))
        for i, y in enumerate(draws):
            fits = [fit(method, X, y, *setting) for setting in settings]
            hidden = y == -1
            errors[i] = [100 * np.mean(one.transduction_[hidden] != y_true[hidden]) for one in fits]
            if i == 0:
                k = int(errors[0].argmin())
                responses[method] = fits[k].decision_function(grid).reshape(len(xx1), len(xx0))
                best[method] = {"sigma": settings[k][0], "gamma_I" if method == "LapSVM" else "C": settings[k][1]}
            if method != "TSVM":  # a search has no proof
                gaps[method] = max(gaps.get(method, 0.0), *(one.result_.certificate.relative_gap for one in fits))
        least = errors.min(axis=1)
        results[method] = {
            "least error of the draw shown": float(least[0]),
            "mean of the least error over the draws": float(least.mean()),
            "its standard error": float(np.std(least, ddof=1) / np.sqrt(len(least))),
            "mean over all settings and draws": float(errors.mean()),
            "fits without an error": int((errors == 0).sum()),
            "fits": errors.size,
        }
    return {
        "X": X,
        "y": draws[0],
        "xx0": xx0,
        "xx1": xx1,
        "responses": responses,
        "parameters": {
            "sigma": list(chosen["sigmas"]),
            "C, or gamma_I of LapSVM": {name: list(each[-chosen["n_weights"] :]) for name, each in WEIGHTS.items()},
            "gamma_A of LapSVM": GAMMA_A,
            "graph": GRAPH,
            "draws": len(draws),
            "of the surfaces drawn": best,
        },
        "results": {"OPTIMISTIC, error on unlabelled points, percent": results},
        "certificates": {"worst relative gap": gaps},
        "data": {"two_moons": source},
        "solvers": ["factorized", "label_switching"],
    }


def fit(method: str, X: np.ndarray, y: np.ndarray, sigma: float, weight: float) -> Any:
    """Fit a method at one setting; the mean of 1/2 |w|^2 + C sum of losses is the SVM with gamma_A = 1 / (2 C)."""
    kernel = RBF(1 / (2 * sigma**2))
    if method == "TSVM":
        return sm.S3VM(C=weight, C_star=weight, search="label_switching", balance=0.0, kernel=kernel).fit(X, y)
    gamma_A, gamma_I = (GAMMA_A, weight) if method == "LapSVM" else (1 / (2 * weight), 0.0)
    with warnings.catch_warnings():
        # One component per moon, each with its label: that is the point of the figure, not a defect.
        warnings.simplefilter("ignore", DisconnectedGraphWarning)
        return sm.LapSVM(
            gamma_A=gamma_A,
            gamma_I=gamma_I,
            kernel=kernel,
            graph=KNN(**{name: GRAPH[name] for name in ("n_neighbors", "kind", "weight")}),
            laplacian=Laplacian(normalized=GRAPH["normalized"]),
            class_balance=None,
        ).fit(X, y)


def draw(data: dict[str, Any]) -> Any:
    """Draw a panel per method, with one legend."""
    from specmargin.plots import DecisionDisplay, LabelDisplay, style, subplots
    from specmargin.plots.points import point_handles

    figure, axes = subplots(1, 3, width="page", aspect=0.95, sharey=True)
    labels = LabelDisplay(data["X"], data["y"])
    told = data["results"]["OPTIMISTIC, error on unlabelled points, percent"]
    for ax, (method, response) in zip(axes[0], data["responses"].items(), strict=True):
        each = told[method]
        display = DecisionDisplay(data["xx0"], data["xx1"], response, points=labels).plot(
            ax, limit=1.0, colorbar=False, title=f"{method}: {each['least error of the draw shown']:.0f} % wrong"
        )
        with style():
            mean, spread = each["mean of the least error over the draws"], each["its standard error"]
            ax.set_xlabel(
                "$x_1$\n"
                f"best over {data['parameters']['draws']} draws: {mean:.0f} $\\pm$ {spread:.0f} % wrong\n"
                f"no error in {each['fits without an error']} of {each['fits']} fits"
            )
        ax.label_outer(remove_inner_ticks=False)
    clipped = max(float(np.abs(response).max()) for response in data["responses"].values()) > 1
    DecisionDisplay.add_colorbar(display.surface_, axes[0, -1], clipped=clipped)
    with style():
        title = "each at its best setting, chosen by the hidden labels: OPTIMISTIC"
        figure.legend(handles=point_handles(), loc="outside upper center", ncols=4, title=title)
    return figure
