"""Changed models: four spectra, and four decisions on two moons.

Above, the spectrum of multiple kernel learning, and that of a changed program. Below, decisions of LapSVM, as it is
and with constraints: the same mean right and left of the dashed line; one pair of samples linked (line), one kept apart
(dotted); classes of one size. Numbers are errors in percent.

The models are `specmargin.problems.models`, and docs/models.md has their formulas and code. Four labels of each class;
the errors are those of all 80 points, of one draw of the labels, and the sidecar has means over other draws. A model is
drawn to show what it does: that it helps here is no result. Each answer has the certificate of its own program.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import specmargin as sm
from specmargin.problems import models

PARAMETERS: dict[str, Any] = {
    "n_samples": 80,
    "noise": 0.15,
    "per_class": 4,
    "n_neighbors": 6,
    "gamma": 4.0,
    "LapSVM": {"gamma_A": 0.01, "gamma_I": 0.1},
    "MKL-S": {"C": 1.0, "order": False},
    "q": 20,
    "q of the band": 6,
    "weight of the curvature": 10.0,
    "group": "x_1 > 0.5",
    "must": [(16, 32)],
    "cannot": [(5, 2)],
    "positive": 0.5,
}
BUILT = "as built"
LINKS: dict[str, Any] = {"must": "-", "cannot": (0, (1, 1))}
ERROR = "error on all points, percent"

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"resolution": 60, "n_draws": 2},
    "standard": {"resolution": 160, "n_draws": 5},
    "full": {"resolution": 160, "n_draws": 30},
}
SECONDS = {"quick": (4, 4), "standard": (6, 6), "full": (16, 16)}  # of one core: bundled data, real data


def changes(X: np.ndarray) -> dict[str, dict[str, Any]]:
    """Return the models of both rows by their names."""
    band, weight, must, cannot = (
        PARAMETERS[name] for name in ("q of the band", "weight of the curvature", "must", "cannot")
    )
    groups = (np.arange(PARAMETERS["q"]) + 3) // 4
    return {
        "MKL-S": {
            "band limit": models.band_limited(q=band),
            "groups": models.grouped(groups=groups),
            "smooth": models.smooth(weight=weight),
            "convex": models.convex(),
        },
        "LapSVM": {
            BUILT: lambda built: built,
            "fairness": models.fairness(group=X[:, 0] > 0.5),
            "links": models.links(must=must, cannot=cannot),
            "class shares": models.class_shares(positive=PARAMETERS["positive"]),
        },
    }


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Solve the eight programs on one draw of the labels, and for their errors on others."""
    from specmargin.plots import decision_grid

    n, noise, gamma = (PARAMETERS[name] for name in ("n_samples", "noise", "gamma"))
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=noise, random_state=seed)
    W = sm.graphs.knn_graph(X, n_neighbors=PARAMETERS["n_neighbors"])
    K, L, spectrum = (
        sm.kernels.gram(X, gamma=gamma),
        sm.graphs.laplacian(W),
        sm.spectra.laplacian_eigenpairs(W, q=20, normalized=False),
    )
    xx0, xx1 = decision_grid(X, resolution=SIZES[size]["resolution"])
    block = sm.kernels.gram(np.column_stack([part.ravel() for part in np.meshgrid(xx0, xx1)]), X, gamma=gamma)
    errors: dict[str, Any] = {}
    answers: dict[str, Any] = {}
    gaps = []
    for k in range(1 + SIZES[size]["n_draws"]):
        y = sm.hide_labels(truth, per_class=PARAMETERS["per_class"], random_state=seed + k)
        labels = sm.encode_labels(y)
        margin = sm.objectives.SpectrumMargin(spectrum, labels, **PARAMETERS["MKL-S"])
        built = {
            "MKL-S": sm.problems.mkl(margin, form="primal"),
            "LapSVM": sm.problems.lapsvm_primal(sm.objectives.LapSVM(K, L, labels, **PARAMETERS["LapSVM"])),
        }
        for method, row in changes(X).items():
            for name, model in {BUILT: lambda problem: problem, **row}.items():
                result = sm.solve(model(built[method]), check=True)
                gaps.append(result.certificate.relative_gap)
                error = float(100 * np.mean((result.variables["f"] > 0) != truth))
                errors.setdefault(method, {}).setdefault(name, []).append(error)
                if k == 0:
                    answers.setdefault(method, {})[name] = result.variables
        if k == 0:
            shown = y
    responses = {name: block @ found["alpha"] + found["b"] for name, found in answers["LapSVM"].items()}
    draws = SIZES[size]["n_draws"]
    return {
        "X": X,
        "y": shown,
        "xx0": xx0,
        "xx1": xx1,
        "spectra": {name: np.maximum(found["delta"], 0.0) for name, found in answers["MKL-S"].items()},
        "responses": {name: found.reshape(len(xx1), len(xx0)) for name, found in responses.items()},
        "parameters": PARAMETERS,
        "results": {
            ERROR: {method: {name: each[0] for name, each in row.items()} for method, row in errors.items()},
            f"the same, mean over {draws} other draws of the labels": {
                method: {name: float(np.mean(each[1:])) for name, each in row.items()} for method, row in errors.items()
            },
        },
        "certificates": {"worst relative gap": float(max(gaps)), "programs": len(gaps)},
        "data": {"two_moons": {"kind": "generated by make_two_moons", "sha256": None}},
        "solvers": ["CLARABEL"],
    }


def draw(data: dict[str, Any]) -> Any:
    """Draw a row of spectra and one of decisions."""
    from matplotlib.lines import Line2D

    from specmargin.plots import PALETTE, DecisionDisplay, LabelDisplay, SpectrumDisplay, style, subplots
    from specmargin.plots.points import point_handles

    figure, axes = subplots(2, 4, width="page", aspect=1.05)
    X, errors = data["X"], data["results"][ERROR]
    before = data["spectra"][BUILT]
    for ax, name in zip(axes[0], list(data["spectra"])[1:], strict=True):
        display = SpectrumDisplay({BUILT: before, "changed": data["spectra"][name]})
        display.plot(ax, scale="linear", legend=False, title=f"{name}: {errors['MKL-S'][name]:.1f} %")
        ax.set(ylim=(0, 0.68), xlabel="eigenvector index")
    labels = LabelDisplay(X, data["y"])
    for ax, (name, response) in zip(axes[1], data["responses"].items(), strict=True):
        shown = DecisionDisplay(data["xx0"], data["xx1"], response, points=labels).plot(
            ax, limit=1.0, colorbar=False, title=f"{name}: {errors['LapSVM'][name]:.1f} %", size=16.0
        )
        with style():
            if name == "fairness":
                ax.axvline(0.5, color="black", linestyle=(0, (4, 2)), linewidth=0.8)
            for pairs, look in LINKS.items() if name == "links" else ():
                for i, j in data["parameters"][pairs]:
                    ax.plot(*X[[i, j]].T, color=PALETTE["purple"], linestyle=look, linewidth=1.6, zorder=5)
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
    handles = display.legend_handles()
    handles[0].set_label(f"{BUILT}: {errors['MKL-S'][BUILT]:.1f} %")
    lines = [Line2D([], [], color="black", linestyle=(0, (4, 2)), linewidth=0.8, label="edge of the group")]
    for pairs, look in LINKS.items():
        lines.append(Line2D([], [], color=PALETTE["purple"], linestyle=look, linewidth=1.6, label=f"{pairs} be linked"))
    with style():
        figure.legend(handles=[*handles, *point_handles(), *lines], loc="outside upper center", ncols=5)
    DecisionDisplay.add_colorbar(shown.surface_, axes[1, -1], clipped=True)
    return figure
