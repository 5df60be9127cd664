"""Quasi-Newton semi-supervised SVMs: two moons, errors against shares of labelled and unlabelled samples, seconds.

After figures 4 to 7 of Gieseke, Airola, Pahikkala and Kramer, "Fast and simple gradient-based optimization for
semi-supervised support vector machines". The settings are those of `specmargin.papers.gieseke_2014`.

(a, b), figure 4: decision functions of the supervised SVM and of QN-S3VM with a Gaussian kernel, two labels per class.
Width and weights are those of the least error on the *unseen* points themselves, as in the paper. That is optimistic:
the errors estimate nothing, the SVM's neither. Drawn is the first partition in which the SVM has its median error; mean
and deviation are over all of them. (c, d), figure 5: error on the unseen samples of G4C, tuned by cross-validation on
the labelled part; mean and deviation over the partitions. On the left all others of the 250 training samples are
unlabelled, on the right 20 % are labelled. Four lam of the paper's grid and four of its ten partitions, as in (a) and
(b), and three sizes of each set below; full: every third lam, all partitions and sizes.

(e), figure 6: seconds of a fit at lam = lam' = C = C* = 1, full markers on the dense G2C, hollow ones on the sparse
mac-windows. (f), figure 7: QN-S3VM on the span of up to 2000 random kernel functions, MNIST pairs, the fit alone and
with the making of its features. Seconds are of the machine that computed the figure, medians of repeated fits, while
its other cores may have been at other figures. Without MNIST and mac-windows (e) and (f) use scikit-learn's digits,
without the published moons (a) and (b) those of `make_two_moons`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import specmargin as sm
from specmargin.experiments.engine.splits import Split, random_splits
from specmargin.experiments.tasks import labels_of
from specmargin.kernels import gram
from specmargin.kernels.maps import kernel_map
from specmargin.papers import gieseke_2014 as experiment
from specmargin.papers.gieseke_2014 import Partition, Problem, Setting, fit

NAMES = {
    "svm": ("SVM", "SVM"),
    "cccp_s3vm": ("CCCPS3VM", "CCCP"),
    "multiswitch_tsvm": ("MultiSwitchTSVM", "multi-switch"),
    "da_s3vm": ("AnnealedS3VM", "annealing"),
    "qn_s3vm": ("QuasiNewtonS3VM", "QN-S3VM"),
}
"""Style and name of each method of the experiment."""
TWO = ("svm", "qn_s3vm")

SIZES: dict[str, dict[str, Any]] = {
    "quick": {
        "moons": {"n_partitions": 3, "resolution": 70},
        "amounts": {"powers": (-6, -2), "primes": (1.0,), "n_splits": 2},
        "seconds": {"repeats": 2, "most": 2},
    },
    "standard": {
        "moons": {"n_partitions": 4, "resolution": 200},
        "amounts": {"powers": (-8, -4, 0, 4), "n_splits": 4},
        "seconds": {"repeats": 3, "most": 3},
    },
    "full": {
        "moons": {"n_partitions": experiment.N_PARTITIONS, "resolution": 200},
        "amounts": {"powers": experiment.POWERS[::3]},
        "seconds": {"repeats": 7, "most": None},
    },
}
SECONDS = {"quick": (8, 18), "standard": (38, 58), "full": (150, 220)}  # of one core: bundled data, real data


def compute(size: str, seed: int = 0) -> dict[str, Any]:
    """Fit everything; the partitions are the experiment's, whatever `seed`, which draws moons where none are stored."""
    chosen = SIZES[size]
    moons, source = two_moons(seed, **chosen["moons"])
    amounts = errors_by_amount(chosen["amounts"])
    seconds = seconds_by_size(**chosen["seconds"])
    fits = [*moons["fits"], *amounts["fits"], *(row for _, _, _, row in seconds["fits"])]
    sets = {"two_moons": source, **{name: source_of(name) for name in ("g4c", *seconds["sets"])}}
    return {
        "moons": moons["drawn"],
        "amounts": amounts["panels"],
        "seconds": seconds["panels"],
        "parameters": {
            "figure 4": moons["parameters"],
            "figure 5": amounts["parameters"],
            "figures 6 and 7": seconds["parameters"],
        },
        "results": {
            "figure 4, TUNED ON THE TEST SET, error on unseen points, percent": moons["errors"],
            "figure 5, error on unseen samples, percent": amounts["errors"],
            "figures 6 and 7, seconds on this machine": seconds["seconds"],
            "data": [f"NOT AT HAND: {name}" for name in seconds["lost"]],
        },
        "certificates": {
            "fits of a chosen setting": len(fits),
            "worst relative gap of an SVM": max(abs(row["relative_gap"]) for row in fits if "relative_gap" in row),
            "worst stationarity of QN-S3VM": max(row["stationarity"] for row in fits if row["method"] == "qn_s3vm"),
            "ended": {name: sum(row["ended"] == name for row in fits) for name in sorted({r["ended"] for r in fits})},
        },
        "data": sets,
        "solvers": list(NAMES),
    }


def settings(figure: str) -> list[experiment.Block]:
    """Return the settings of one of the paper's figures."""
    return [one for one in experiment.blocks() if one.title.startswith(f"Figure {figure}")]


def source_of(name: str) -> dict[str, Any]:
    """Say where a set comes from."""
    found = experiment.checksum(name)
    kind = "bundled with scikit-learn" if name.startswith("digits") else "generated" if found is None else "real"
    return {"kind": kind, "sha256": found}


def two_moons(seed: int, n_partitions: int, resolution: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Search the grid on the test set of every partition; return what is drawn of one and what is said of all."""
    X, y, source = points(seed)
    widths = settings("4")
    how = widths[0].how
    splits = random_splits(y, how.n_labeled, experiment.N_PARTITIONS, 0, stratify=True, n_test=how.n_test)
    splits = splits[:n_partitions]
    found = {method: [best(X, y, split, widths, method) for split in splits] for method in TWO}
    errors = {method: np.array([row["error_test"] for row in rows]) for method, rows in found.items()}
    # The lower median: an error that occurs.
    shown = int(np.flatnonzero(errors["svm"] == np.sort(errors["svm"])[(len(splits) - 1) // 2])[0])
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    xx0, xx1 = (np.linspace(low[k], high[k], resolution) for k in range(2))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx0, xx1)])
    responses = {}
    for method in TWO:
        row = found[method][shown]
        shared, features = machine(X, y, splits[shown], row["width"])
        labels = labels_of(shared.y, shared.labeled)
        fitted = fit(method, shared.X, labels, Setting(row["C"], row["C_star"]))
        responses[method] = (features(grid) @ fitted.v + fitted.b).reshape(resolution, resolution)
    known = np.full(len(y), -1)
    known[splits[shown].labeled] = y[splits[shown].labeled]
    train = splits[shown].train
    said = {
        NAMES[method][1]: {
            "shown": errors[method][shown],
            **spread(errors[method]),
            "by partition": errors[method].tolist(),
            "box diameters, by partition": [row["width"] for row in found[method]],
        }
        for method in TWO
    }
    drawn = {
        "X": X[train],
        "y": known[train],
        "xx0": xx0,
        "xx1": xx1,
        "responses": responses,
        "shown": {method: float(errors[method][shown]) for method in TWO},
        "spread": {method: spread(errors[method]) for method in TWO},
    }
    parameters = {
        "partitions": len(splits),
        "shown": splits[shown].name,
        "box diameters tried": [one.how.sigma for one in widths],
        "chosen": {method: {key: found[method][shown][key] for key in ("width", "C", "C_star")} for method in TWO},
        "log2 lam": list(widths[0].powers),
        "lam'": list(widths[0].primes),
    }
    fits = [row for rows in found.values() for row in rows]
    return {"drawn": drawn, "errors": said, "parameters": parameters, "fits": fits}, source


def points(seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Return the published moons, or drawn ones where there are none, and where they came from."""
    try:
        data = sm.datasets.load("two_moons", download=False)
    except sm.DataNotFoundError:
        X, y = sm.datasets.make_two_moons(n_samples=200, noise=0.07, random_state=seed)
        return X, y, {"kind": "generated by make_two_moons", "sha256": None}
    return data.X, data.y, {"kind": "published points", "sha256": data.sha256}


def machine(X: np.ndarray, y: np.ndarray, split: Split, width: float) -> tuple[Problem, Callable[..., np.ndarray]]:
    """Return the problem in the span of a Gaussian kernel, its width in box diameters, and the features of points."""
    A = X[split.train]
    gamma = 1.0 / (2.0 * (width * experiment.box_diameter(A)) ** 2)
    span = kernel_map(gram(A, kernel="rbf", gamma=gamma))

    def features(P: np.ndarray) -> np.ndarray:
        return span(gram(P, A, kernel="rbf", gamma=gamma))

    labeled = np.flatnonzero(np.isin(split.train, split.labeled))
    return Problem(span.Z, features(X[split.test]), y[split.train], y[split.test], labeled), features


def best(X: np.ndarray, y: np.ndarray, split: Split, widths: list[experiment.Block], method: str) -> dict[str, Any]:
    """Return the fit of least error on the unseen points, over widths and weights: optimistic."""
    rows = []
    for one in widths:
        shared, _ = machine(X, y, split, one.how.sigma)
        tried = experiment.grid(method, one.powers_of(method), one.primes, len(split.labeled), len(split.unlabeled))
        row = experiment.optimistic(shared, method, tried)
        rows.append({**row, "method": method, "width": one.how.sigma})
    return min(rows, key=lambda row: row["error_test"])


def spread(values: np.ndarray) -> dict[str, float]:
    """Return mean and deviation."""
    return {"mean": float(np.mean(values)), "std": float(np.std(values, ddof=1))}


def errors_by_amount(economy: dict[str, Any]) -> dict[str, Any]:
    """Return the errors on G4C by share of labelled and of unlabelled samples."""
    rows: dict[str, dict[str, Any]] = {}  # the figures share a setting
    panels, said = {}, {}
    for figure in ("5a", "5b"):
        plans = [replace(one, **economy) for one in settings(figure)]
        each: dict[str, list[dict[str, float]]] = {method: [] for method in TWO}
        for one in plans:
            cells = one.cells(None)
            for cell in cells:
                if cell.key not in rows:
                    rows[cell.key] = {**experiment.work(cell), "method": cell.method}
            for method in TWO:
                errors = [rows[cell.key]["error_test"] for cell in cells if cell.method == method]
                each[method].append(spread(np.array(errors)))
        sizes = [one.how.n_labeled if figure == "5a" else one.how.n_unlabeled for one in plans]
        panels[figure] = {
            # Half of the samples train, half are unseen.
            "share": np.array([100 * size / one.how.n_test for size, one in zip(sizes, plans, strict=True)]),
            **{method: {key: np.array([p[key] for p in each[method]]) for key in ("mean", "std")} for method in TWO},
        }
        said[figure] = {
            NAMES[method][1]: {one.said: value for one, value in zip(plans, each[method], strict=True)}
            for method in TWO
        }
    parameters = {"partitions": plans[0].n_splits, "log2 lam": list(plans[0].powers), "lam'": list(plans[0].primes)}
    return {"panels": panels, "errors": said, "parameters": parameters, "fits": list(rows.values())}


def seconds_by_size(repeats: int, most: int | None) -> dict[str, Any]:
    """Time figures 6 and 7 on sets that are available, at most a number of sizes of each."""
    wanted = {"e": [one for one in settings("6") if one.dataset in ("g2c", "mac_windows")], "f": settings("7")}
    _, lost = experiment.available_sets(list({one.dataset: 0 for each in wanted.values() for one in each}))
    fits, panels = [], {}
    for panel, listed in wanted.items():
        here = [one for one in listed if one.dataset not in lost]
        if len(here) < len(listed) and (panel == "e" or not here):
            here += instead(listed[-1])
        panels[panel] = {}
        for name in dict.fromkeys(one.dataset for one in here):
            plans = [one for one in here if one.dataset == name]
            timed = [clock(one, repeats) for one in plans[:most]]
            panels[panel][name] = {
                "n": np.array([n for n, _, _ in timed]),
                "features": np.array([made for _, made, _ in timed]),
                "fit": {method: np.array([rows[method]["seconds"] for *_, rows in timed]) for method in timed[0][2]},
            }
            fits += [(panel, name, n, row) for n, _, rows in timed for row in rows.values()]
    said = {
        f"figure {6 if panel == 'e' else 7}, {name}": {
            "n": values["n"].tolist(),
            "making the features": values["features"].tolist(),
            **{NAMES[method][1]: seconds.tolist() for method, seconds in values["fit"].items()},
        }
        for panel, sets in panels.items()
        for name, values in sets.items()
    }
    sets = list({name: 0 for each in panels.values() for name in each})
    parameters = {"repeated fits": repeats, "lam, lam', C, C*": 1.0}
    return {"panels": panels, "seconds": said, "parameters": parameters, "fits": fits, "sets": sets, "lost": lost}


def instead(one: experiment.Block) -> list[experiment.Block]:
    """Return settings of scikit-learn's digits in place of one that is not available."""
    landmarks = None if one.how.landmarks is None else 80
    return [
        replace(one, dataset="digits_3_8", said=f"n={n}", how=replace(one.how, landmarks=landmarks, n=n))
        for n in (80, 160, 320)
    ]


def clock(one: experiment.Block, repeats: int) -> tuple[int, float, dict[str, dict[str, Any]]]:
    """Return training samples, seconds of making the features, and by method a fit with its median seconds."""
    n = one.how.n
    assert n is not None
    cells = one.cells(None)
    start = time.perf_counter()
    experiment.problem(one.dataset, cells[0].split, Partition(**cells[0].parameters["how"]), None)  # kept for the fits
    made = time.perf_counter() - start
    rows = {}
    for cell in cells:
        runs = [experiment.work(cell) for _ in range(repeats)]
        rows[cell.method] = {
            **runs[0],
            "method": cell.method,
            "seconds": float(np.median([run["fit_seconds"] for run in runs])),
        }
    return n, made, rows


def draw(data: dict[str, Any]) -> Any:
    """Draw a row of moons, one of errors and one of seconds."""
    from specmargin.plots import style, subplots

    figure, axes = subplots(3, 2, width="page", aspect=0.68)
    draw_moons(axes[0], data["moons"])
    with style():
        for ax, letter, figure_5, what in (
            (axes[1, 0], "c", "5a", "labelled samples, % of the training samples"),
            (axes[1, 1], "d", "5b", "unlabelled samples, % of the training samples"),
        ):
            draw_errors(ax, data["amounts"][figure_5])
            ax.set(xlabel=what, ylabel="error on unseen samples, %")
            ax.set_title(f"({letter}) G4C, more and more {what.split()[0]} samples")
        draw_runtimes(axes[2, 0], data["seconds"]["e"])
        draw_landmarks(axes[2, 1], data["seconds"]["f"])
    return figure


def draw_moons(axes: Any, moons: dict[str, Any]) -> None:
    """Draw panels a and b."""
    from specmargin.plots import DecisionDisplay, LabelDisplay

    labels = LabelDisplay(moons["X"], moons["y"])
    for ax, letter, method in zip(axes, "ab", TWO, strict=True):
        said = moons["spread"][method]
        display = DecisionDisplay(moons["xx0"], moons["xx1"], moons["responses"][method], points=labels).plot(
            ax,
            limit=1.0,
            colorbar=False,
            title=f"({letter}) {NAMES[method][1]}, tuned on test points: OPTIMISTIC\n"
            f"error {moons['shown'][method]:.0f} %; over partitions {said['mean']:.1f} ± {said['std']:.1f} %",
        )
    clipped = any(np.abs(response).max() > 1 for response in moons["responses"].values())
    DecisionDisplay.add_colorbar(display.surface_, axes[-1], clipped=bool(clipped))


def line(method: str) -> dict[str, Any]:
    """Return how a method is drawn."""
    from specmargin.plots.theme import method_styles

    look = method_styles([NAMES[method][0]])[NAMES[method][0]]
    return {"color": look.color, "marker": look.marker, "linestyle": look.linestyle}


def ticks(axis: Any, places: list[float]) -> None:
    """Write plain numbers on a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

    axis.set_major_locator(FixedLocator(places))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FormatStrFormatter("%g"))


def draw_errors(ax: Any, panel: dict[str, Any]) -> None:
    """Draw mean errors, with bars of one deviation, moved apart a little."""
    for method, shift in zip(TWO, (0.975, 1.025), strict=True):
        values = panel[method]
        ax.errorbar(
            panel["share"] * shift,
            values["mean"],
            yerr=values["std"],
            capsize=2,
            elinewidth=0.8,
            label=NAMES[method][1],
            **line(method),
        )
    ax.set(xscale="log", ylim=(0, None))
    ticks(ax.xaxis, np.round(panel["share"]).tolist())
    ax.grid(axis="y")
    ax.legend()


def draw_runtimes(ax: Any, sets: dict[str, Any]) -> None:
    """Draw seconds of the semi-supervised methods, hollow markers for the second set."""
    from matplotlib.lines import Line2D

    kinds = []
    for k, (name, values) in enumerate(sets.items()):
        face = {"markerfacecolor": "white"} if k else {}
        for method, seconds in values["fit"].items():
            label = None if k else NAMES[method][1]
            ax.plot(values["n"], seconds, linewidth=0.9 if k else 1.2, label=label, **face, **line(method))
        said = "G2C" if name == "g2c" else name.replace("_", "-")
        kinds.append(Line2D([], [], color="0.3", marker="o", linestyle="none", label=said, **face))
    handles, _ = ax.get_legend_handles_labels()
    lengths = sorted({int(n) for values in sets.values() for n in values["n"]})
    seconds_axes(ax, lengths)
    ax.set_title("(e) one fit, four methods")
    ax.legend(handles=[*handles, *kinds], ncols=2)


def draw_landmarks(ax: Any, sets: dict[str, Any]) -> None:
    """Draw seconds of QN-S3VM on random kernel functions, hollow markers for the second set."""
    for k, (name, values) in enumerate(sets.items()):
        look = {**line("qn_s3vm"), **({"marker": "o", "markerfacecolor": "white"} if k else {})}
        pair = name.replace("mnist_", "MNIST, ").replace("digits_", "digits, ").replace("_", " and ")
        seconds = values["fit"]["qn_s3vm"]
        ax.plot(values["n"], seconds, label=f"{pair}: fit alone", **look)
        look["linestyle"] = ":"
        ax.plot(values["n"], seconds + values["features"], label=f"{pair}: with its features", **look)
    seconds_axes(ax, sorted({int(n) for values in sets.values() for n in values["n"]}))
    ax.set_title("(f) QN-S3VM with random kernel functions")
    ax.legend()


def seconds_axes(ax: Any, lengths: list[int]) -> None:
    """Name and scale the axes of a panel of seconds; room for the legend above."""
    from specmargin.plots.theme import plain_ticks

    ax.set(xscale="log", yscale="log", xlabel="training samples", ylabel="seconds on this machine")
    apart = (lengths[-1] / lengths[0]) ** 0.09
    shown = lengths[:1]
    for n in lengths:
        if n > apart * shown[-1]:
            shown.append(n)
    ticks(ax.xaxis, [float(n) for n in shown])
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * (high / low) ** 0.45)
    plain_ticks(ax.yaxis)
    ax.grid(axis="y")
