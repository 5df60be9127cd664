"""Smoothing an objective until one minimum is left.

The continuation method on an objective of one weight w, under two weights C. Above, the objective smoothed by a
Gaussian of variance gamma; black lines are its minima, triangles the way down. Below, the objective and some
smoothings; the filled circle is the global minimum. On the right the method ends there, on the left not.

After figure 2 of Chapelle, Chi and Zien, "A continuation method for semi-supervised SVMs". Two labelled and five
unlabelled points on a line; the decision is f(x) = w (x - mean) + r, so that w is all there is to find. Each smoothed
objective is drawn less its least value. Grey dashed lines are its maxima: they meet minima and vanish in pairs as gamma
grows, and above the last meeting one minimum is left. With the larger C = C* the method ends in the best of three
minima. With the smaller one the minimum of the smooth objective turns into the worst of them; nothing on the way tells.
The global minima are proved by evaluating J on a grid with a bound on its slope; the sidecar has what that leaves open,
and the lower bound of the semidefinite relaxation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import specmargin as sm
from specmargin.objectives.s3vm import S3VM
from specmargin.optima.bound import s3vm_bound
from specmargin.solvers.s3vm.continuation import continuation, smoothing_path

POINTS: dict[str, Any] = {"negative": -1.5, "positive": -1.2, "unlabeled": [-1.9, -1.8, -1.7, -0.2, 0.8]}
WEIGHTS = {"found": 2.0, "missed": 1.0}  # C = C*
PARAMETERS = {"loss": "hinge", "unlabeled_loss": "exp", "s": 3.0, "balance": 0.6, "n_steps": 10}
WIDTH = 4.0  # |w| shown and searched; beyond it w^2 / 2 alone exceeds the minima

SIZES: dict[str, dict[str, Any]] = {
    "quick": {"n_weights": 321, "n_variances": 90, "n_searched": 40_001},
    "standard": {"n_weights": 961, "n_variances": 240, "n_searched": 400_001},
    "full": {"n_weights": 961, "n_variances": 240, "n_searched": 400_001},
}
SECONDS = {"quick": (2, 2), "standard": (3, 3), "full": (3, 3)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Evaluate J and its smoothings on grids and follow the path; nothing here is random."""
    w = np.linspace(-WIDTH, WIDTH, SIZES[size]["n_weights"])
    panels, results, certificates = {}, {}, {}
    for name, C in WEIGHTS.items():
        obj = objective(C)
        path = smoothing_path(obj, PARAMETERS["n_steps"])
        gamma = np.geomspace(path[-1] / 1.5, 1.5 * path[0], SIZES[size]["n_variances"])
        smoothings = [obj.smoothed(float(g)) for g in gamma]
        values = np.array([along(smooth, w) for smooth in smoothings])
        slopes = np.array([along(smooth, w, derivative=True) for smooth in smoothings])
        answer = continuation(obj, n_steps=PARAMETERS["n_steps"])
        ends = followed(obj, path)
        assert np.isclose(ends[-1], answer.variables["w"][0], atol=1e-2), "the path drawn is not the solver's"
        minima = local_minima(obj, w)
        lower = proved(obj, SIZES[size]["n_searched"])
        least = float(obj.value_at(np.array([minima[0]])))
        end = answer.certificate.primal_objective
        panels[name] = {
            "C": C,
            "gamma": gamma,
            "values": values,
            "slopes": slopes,
            "objective": along(obj, w),
            "shown": {f"{g:.2g}": along(obj.smoothed(float(g)), w) for g in path[[0, 3, 6]]},
            "path": {"gamma": path, "w": np.array(ends)},
            "minima": {"w": minima, "objective": along(obj, minima)},
            "end": {"w": float(answer.variables["w"][0]), "objective": end},
        }
        results[name] = {
            "local minima": {f"{x:+.3f}": float(obj.value_at(np.array([x]))) for x in minima},
            "objective where continuation ends": end,
            "gap to the global minimum, percent": 100 * (end - least) / least,
        }
        certificates[name] = {
            "relative gap of the global minimum, by the grid": (least - lower) / least,
            "lower bound of the relaxation": s3vm_bound(obj).certificate.dual_objective,
        }
    return {
        "w": w,
        "panels": panels,
        "parameters": {**PARAMETERS, **POINTS, "C": WEIGHTS},
        "results": results,
        "certificates": certificates,
        "data": {"points": {"kind": "formula", "sha256": None}},
        "solvers": ["continuation", "s3vm_bound"],
    }


def objective(C: float) -> S3VM:
    """Return the S3VM of the points on a line."""
    X = np.array([POINTS["negative"], POINTS["positive"], *POINTS["unlabeled"]])[:, None]
    labels = sm.encode_labels([0, 1] + [-1] * len(POINTS["unlabeled"]))
    return S3VM(
        X, labels, PARAMETERS["loss"], PARAMETERS["unlabeled_loss"], C=C, C_star=C, balance=PARAMETERS["balance"]
    )


def along(obj: S3VM, w: np.ndarray, derivative: bool = False) -> np.ndarray:
    """Return J, or its derivative, at many weights at once: `S3VM.value` takes one."""
    known, hidden = obj.labels.labeled, obj.unlabeled
    y, x = obj.labels.sign, obj.features.dense()[:, 0]
    f = np.outer(w, x) + obj.features.offset
    if derivative:
        losses = obj.C * obj.loss.gradient(y * f[:, known]) @ (y * x[known])
        return w + losses + obj.C_star * obj.unlabeled_loss.gradient(f[:, hidden]) @ x[hidden]
    losses = obj.C * obj.loss.value(y * f[:, known]).sum(axis=1)
    return 0.5 * w**2 + losses + obj.C_star * obj.unlabeled_loss.value(f[:, hidden]).sum(axis=1)


def local_minima(obj: S3VM, w: np.ndarray) -> np.ndarray:
    """Return the minima of J, the best one first."""
    from scipy.optimize import minimize_scalar

    J = along(obj, w)
    lows = np.flatnonzero((J[1:-1] < J[:-2]) & (J[1:-1] <= J[2:])) + 1
    minima = []
    for k in lows:
        bounds = (w[k - 1], w[k + 1])
        minima.append(minimize_scalar(lambda x: obj.value_at(np.array([x])), bounds=bounds, options={"xatol": 1e-10}).x)
    return np.array(minima)[np.argsort(along(obj, np.array(minima)))]


def proved(obj: S3VM, n_points: int) -> float:
    """Return a lower bound on J: its least value on a grid, less what its slope allows in half a cell."""
    w = np.linspace(-WIDTH, WIDTH, n_points)
    x = np.abs(obj.features.dense()[:, 0])
    steepest_exp = np.sqrt(2 * PARAMETERS["s"] / np.e)  # of exp(-s f^2)
    slope = WIDTH + obj.C * x[obj.labels.labeled].sum() + obj.C_star * steepest_exp * x[obj.unlabeled].sum()
    least = min(along(obj, part).min() for part in np.array_split(w, 40))
    assert least < WIDTH**2 / 2, "the minimum may lie beyond the weights searched"
    return float(least - slope * (w[1] - w[0]) / 2)


def followed(obj: S3VM, path: np.ndarray) -> list[float]:
    """Return the minimum that each step of the continuation ends in: downhill from that of the step before."""
    from scipy.optimize import minimize

    ends, w, options = [], np.zeros(1), {"gtol": 1e-9, "ftol": 1e-15}
    for gamma in path:
        smooth = obj.smoothed(float(gamma))
        w = minimize(smooth.value_and_gradient, w, jac=True, method="L-BFGS-B", options=options).x
        ends.append(float(w[0]))
    return ends


def draw(data: dict[str, Any]) -> Any:
    """Draw a column per problem: the smoothings above, J below."""
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm
    from matplotlib.lines import Line2D

    from specmargin.plots import PALETTE, style, subplots
    from specmargin.plots.theme import method_styles

    w, panels = data["w"], data["panels"]
    look = method_styles(["continuation"])["continuation"]
    triangle = {"marker": look.marker, "color": look.color, "markeredgecolor": "white", "markeredgewidth": 0.5}
    hills = LinearSegmentedColormap.from_list("hills", ["#FFFFFF", "#D9E9F4", "#A3C8E3", "#6BA3D0", "#3B7DB6"])
    heights = PowerNorm(0.5, 0.0, 4.0)  # the dents are shallow next to the walls
    figure, axes = subplots(2, 2, width="page", aspect=0.64, sharex=True, gridspec_kw={"height_ratios": (1.3, 1.0)})
    figure.get_layout_engine().set(wspace=0.06)
    with style():
        for column, (name, panel) in enumerate(panels.items()):
            above, below = axes[:, column]
            gamma, slopes = panel["gamma"], panel["slopes"]
            rise = panel["values"] - panel["values"].min(axis=1, keepdims=True)
            rows, columns = slice(None, None, len(gamma) // 90), slice(None, None, len(w) // 320)  # drawing takes time
            surface = above.pcolormesh(
                w[columns], gamma[rows], rise[rows, columns], cmap=hills, norm=heights, rasterized=True
            )
            minima(above, w, gamma, slopes)
            above.plot(panel["path"]["w"], panel["path"]["gamma"], linewidth=0.9, markersize=5.2, zorder=4, **triangle)
            above.set(yscale="log", ylim=(gamma[0], gamma[-1]))
            above.spines[["top", "right"]].set_visible(True)
            for (text, curve), grey in zip(panel["shown"].items(), ("0.74", "0.56", "0.38"), strict=True):
                below.plot(w, curve, color=grey, linewidth=0.9, label=rf"$J_\gamma$, $\gamma = {text}$")
            below.plot(w, panel["objective"], color=PALETTE["blue"], linewidth=1.5, label="$J$")
            at, value = panel["minima"]["w"], panel["minima"]["objective"]
            below.plot(at, value, "o", color=PALETTE["blue"], markerfacecolor="white", markersize=4.8, zorder=4)
            below.plot(at[0], value[0], "o", color=PALETTE["blue"], markersize=4.8, zorder=4)
            end, top = panel["end"], value[0] + 3.4 * panel["C"]
            below.plot(end["w"], end["objective"] + 0.22 * panel["C"], linestyle="none", markersize=6, **triangle)
            below.set(xlim=(-2.4, 2.9), xticks=range(-2, 3), ylim=(value[0] - 0.35 * panel["C"], top))
            below.set_xlabel("weight $w$")
            below.legend(loc="upper center", ncols=2)
            gap = data["results"][name]["gap to the global minimum, percent"]
            ends = "in the global minimum" if gap < 0.1 else f"{gap:.1f} % above it"
            above.set_title(f"$C = {panel['C']:g}$: continuation ends {ends}")
        axes[0, 0].set_ylabel(r"variance $\gamma$ of the smoothing")
        axes[1, 0].set_ylabel("objective")
        bar = figure.colorbar(
            surface,
            cax=axes[0, 1].inset_axes((1.03, 0.0, 0.045, 1.0)),
            label=r"$J_\gamma(w) - \min\, J_\gamma$",
            extend="max",
            extendfrac=0.04,
            ticks=(0, 0.1, 0.5, 1, 2, 3, 4),
        )
        bar.outline.set_linewidth(0.5)
        ring: dict[str, Any] = {"marker": "o", "color": PALETTE["blue"], "linestyle": "none", "markersize": 4.8}
        handles = {
            "continuation": Line2D([], [], linewidth=0.9, markersize=5.2, **triangle),
            r"minimum of $J_\gamma$": Line2D([], [], color="black", linewidth=1.1),
            r"maximum of $J_\gamma$": Line2D([], [], color="0.15", linewidth=0.7, linestyle=(0, (3, 2))),
            "global minimum of $J$": Line2D([], [], **ring),
            "local minimum": Line2D([], [], markerfacecolor="white", **ring),
        }
        figure.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=5, columnspacing=1.4)
    return figure


def minima(ax: Any, w: np.ndarray, gamma: np.ndarray, slopes: np.ndarray) -> None:
    """Draw where the slope is zero: minima black, maxima grey and dashed."""
    from scipy.ndimage import binary_dilation

    rising = np.gradient(slopes, axis=1) > 0
    kinds = {
        "maximum": (binary_dilation(~rising), {"colors": "0.15", "linestyles": [(0, (3, 2))], "linewidths": 0.7}),
        "minimum": (binary_dilation(rising), {"colors": "black", "linewidths": 1.1}),
    }
    for kept, look in kinds.values():  # one cell too many on either side, so that the lines meet
        ax.contour(w, gamma, np.where(kept, slopes, np.nan), levels=[0.0], **look)
