"""Quasi-Newton semi-supervised SVMs: two moons, errors, seconds.

(a, b) Decisions of a supervised SVM and of QN-S3VM on two moons, two labels per class. (c, d) Errors on unseen samples
as the share of labelled, then of unlabelled samples grows. (e, f) Seconds of a fit against the number of samples and of
kernel functions; measured where it was drawn.

After figures 4 to 7 of Gieseke, Airola, Pahikkala and Kramer, "Fast and simple gradient-based optimization for
semi-supervised support vector machines". The settings are those of `reproduction.papers.gieseke_2014`.

(a, b), figure 4: width and weights are those of the least error on the *unseen* points themselves, as in the paper: the
errors estimate nothing, the SVM's neither. Drawn is the first partition in which the SVM has its median error; mean and
deviation are over all of them. (c, d), figure 5: G4C, tuned by cross-validation on the labelled part; mean and one
standard error over the partitions. On the left all others of the 250 training samples are unlabelled, on the right 20 %
are labelled. Four lam of the paper's grid and four of its ten partitions, as in (a) and (b), and three sizes of each
set below; full: every third lam, all partitions and sizes. (e), figure 6: lam = lam' = C = C* = 1, full markers on the
dense G2C, hollow ones on the sparse mac-windows. (f), figure 7: QN-S3VM on the span of up to 2000 random kernel
functions, MNIST pairs, the fit alone and with the making of its features. Seconds are medians of repeated fits.

Without MNIST and mac-windows (e) and (f) use scikit-learn's digits, without the published moons (a) and (b) those of
`make_two_moons`. The quick size has two sizes of each set and does not draw (e) and (f): two points show no trend.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction.engine.splits import Split, random_splits
from reproduction.papers import gieseke_2014 as experiment
from reproduction.papers.gieseke_2014 import PartitionBlock, Setting, divided, fit
from reproduction.tasks import checksums, is_available, labels_of, published_or_drawn_moons

NAMES = {
    "svm": ("SVM", "SVM"),
    "cccp_s3vm": ("cccp", "CCCP"),
    "multiswitch_tsvm": ("multi_switch", "multi-switch"),
    "da_s3vm": ("annealing", "annealing"),
    "qn_s3vm": ("quasi_newton", "QN-S3VM"),
}
"""Style and name of each method of the experiment."""
TWO = ("svm", "qn_s3vm")

SIZES: dict[str, dict[str, Any]] = {
    "quick": {
        "moons": {"n_partitions": 3, "resolution": 70},
        "amounts": {"powers": (-6, -2), "primes": (1.0,), "n_splits": 3},
        "seconds": {"repeats": 2, "most": 2},
    },
    "standard": {
        "moons": {"n_partitions": 4, "resolution": 200},
        "amounts": {"powers": (-8, -4, 0, 4), "n_splits": 4},
        "seconds": {"repeats": 3, "most": 3},
    },
    "full": {
        "moons": {"n_partitions": 10, "resolution": 200},
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
    fits = [*moons["fits"], *amounts["fits"], *seconds["fits"]]
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
            "data": [f"NOT AVAILABLE: {name}" for name in seconds["missing"]],
        },
        "certificates": {
            "fits of a chosen setting": len(fits),
            "worst relative gap of an SVM": max(abs(row["relative_gap"]) for row in fits if "relative_gap" in row),
            "worst stationarity of QN-S3VM": max(row["stationarity"] for row in fits if row["method"] == "qn_s3vm"),
            "ended": {name: sum(row["ended"] == name for row in fits) for name in sorted({r["ended"] for r in fits})},
        },
        "data": {"two_moons": source, **{name: source_of(name) for name in ("g4c", *seconds["sets"])}},
        "solvers": list(NAMES),
    }


def blocks_of(figure: str) -> list[PartitionBlock]:
    """Return the settings of one of the paper's figures."""
    return [block for block in experiment.blocks() if block.title.startswith(f"Figure {figure}")]


def source_of(name: str) -> dict[str, Any]:
    """Return where a set comes from."""
    source = experiment.task_named(name).source
    kind = "bundled with scikit-learn" if source == "digits" else "real" if source else "generated"
    return {"kind": kind, "sha256": checksums([source])[source]}


def two_moons(seed: int, n_partitions: int, resolution: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Search the grid on the test set of every partition; return what is drawn of one with the errors of all."""
    moons, source = published_or_drawn_moons(seed)
    X, y = moons.X, moons.y
    widths = blocks_of("4")
    how = widths[0].how
    splits = random_splits(y, how.n_labeled, n_partitions, 0, stratify=True, n_test=how.n_test)
    rows = {method: [best(X, y, split, widths, method) for split in splits] for method in TWO}
    errors = {method: np.array([row["error_test"] for row in rows[method]]) for method in TWO}
    # The lower median: an error that occurs.
    k = int(np.flatnonzero(errors["svm"] == np.sort(errors["svm"])[(len(splits) - 1) // 2])[0])
    shown = {method: rows[method][k] for method in TWO}
    xx0, xx1 = (np.linspace(X[:, j].min() - 0.3, X[:, j].max() + 0.3, resolution) for j in range(2))
    grid = np.column_stack([part.ravel() for part in np.meshgrid(xx0, xx1)])
    responses = {}
    for method, row in shown.items():
        problem, features = divided(X, y, splits[k], replace(how, sigma=row["width"]))
        fitted = fit(method, problem.X, labels_of(problem.y, problem.labeled), Setting(row["C"], row["C_star"]))
        responses[method] = (features(grid) @ fitted.v + fitted.b).reshape(resolution, resolution)
    train = splits[k].train
    results = {
        NAMES[method][1]: {
            "shown": errors[method][k],
            **spread(errors[method]),
            "by partition": errors[method].tolist(),
            "box diameters, by partition": [row["width"] for row in rows[method]],
        }
        for method in TWO
    }
    drawn = {
        "X": X[train],
        "y": np.where(np.isin(train, splits[k].labeled), y[train], -1),
        "xx0": xx0,
        "xx1": xx1,
        "responses": responses,
        "shown": {method: float(errors[method][k]) for method in TWO},
        "spread": {method: spread(errors[method]) for method in TWO},
    }
    parameters = {
        "partitions": len(splits),
        "shown": splits[k].name,
        "box diameters tried": [block.how.sigma for block in widths],
        "chosen": {method: {key: row[key] for key in ("width", "C", "C_star")} for method, row in shown.items()},
        "log2 lam": list(widths[0].powers),
        "lam'": list(widths[0].primes),
    }
    fits = [row for each in rows.values() for row in each]
    return {"drawn": drawn, "errors": results, "parameters": parameters, "fits": fits}, source


def best(X: np.ndarray, y: np.ndarray, split: Split, widths: list[PartitionBlock], method: str) -> dict[str, Any]:
    """Return the fit of least error on the unseen points, over widths and weights: optimistic."""
    rows = []
    for block in widths:
        problem, _ = divided(X, y, split, block.how)
        row = experiment.optimistic(problem, method, block.powers_of(method), block.primes)
        rows.append({**row, "method": method, "width": block.how.sigma})
    return min(rows, key=lambda row: row["error_test"])


def spread(values: np.ndarray) -> dict[str, float]:
    """Return mean and deviation."""
    return {"mean": float(np.mean(values)), "std": float(np.std(values, ddof=1))}


def errors_by_amount(economy: dict[str, Any]) -> dict[str, Any]:
    """Return the errors on G4C by share of labelled and of unlabelled samples."""
    rows: dict[str, dict[str, Any]] = {}  # the figures share a setting
    panels, results = {}, {}
    for figure in ("5a", "5b"):
        blocks = [replace(block, **economy) for block in blocks_of(figure)]
        for cell in (cell for block in blocks for cell in block.cells()):
            if cell.key not in rows:
                rows[cell.key] = {**experiment.work(cell), "method": cell.method}
        errors = {
            method: [
                spread(np.array([row["error_test"] for row in block.rows(rows) if row["method"] == method]))
                for block in blocks
            ]
            for method in TWO
        }
        sizes = [block.how.n_labeled if figure == "5a" else block.how.n_unlabeled for block in blocks]
        panels[figure] = {
            # Half of the samples train, half are unseen.
            "share": np.array([100 * size / block.how.n_test for size, block in zip(sizes, blocks, strict=True)]),
            **{method: {key: np.array([e[key] for e in errors[method]]) for key in ("mean", "std")} for method in TWO},
        }
        results[figure] = {
            NAMES[method][1]: {block.tuning: value for block, value in zip(blocks, errors[method], strict=True)}
            for method in TWO
        }
    parameters = {"partitions": blocks[0].n_splits, "log2 lam": list(blocks[0].powers), "lam'": list(blocks[0].primes)}
    return {"panels": panels, "errors": results, "parameters": parameters, "fits": list(rows.values())}


def seconds_by_size(repeats: int, most: int | None) -> dict[str, Any]:
    """Time figures 6 and 7 on sets that are available, at most a number of sizes of each."""
    wanted = {"e": [b for b in blocks_of("6") if b.dataset in ("g2c", "mac_windows")], "f": blocks_of("7")}
    missing = list(dict.fromkeys(b.dataset for each in wanted.values() for b in each if not is_available(b.source)))
    fits: list[dict[str, Any]] = []
    panels: dict[str, Any] = {}
    for panel, blocks in wanted.items():
        there = [block for block in blocks if block.dataset not in missing]
        if len(there) < len(blocks) and (panel == "e" or not there):
            there += stand_ins(blocks[-1])
        panels[panel] = {}
        for name in dict.fromkeys(block.dataset for block in there):
            timed = [clock(block, repeats) for block in [b for b in there if b.dataset == name][:most]]
            panels[panel][name] = {
                "n": np.array([n for n, _, _ in timed]),
                "features": np.array([made for _, made, _ in timed]),
                "fit": {method: np.array([rows[method]["seconds"] for *_, rows in timed]) for method in timed[0][2]},
            }
            fits += [row for *_, rows in timed for row in rows.values()]
    results = {
        f"figure {6 if panel == 'e' else 7}, {name}": {
            "n": values["n"].tolist(),
            "making the features": values["features"].tolist(),
            **{NAMES[method][1]: seconds.tolist() for method, seconds in values["fit"].items()},
        }
        for panel, sets in panels.items()
        for name, values in sets.items()
    }
    return {
        "panels": panels,
        "seconds": results,
        "parameters": {"repeated fits": repeats, "lam, lam', C, C*": 1.0},
        "fits": fits,
        "sets": list(dict.fromkeys(name for sets in panels.values() for name in sets)),
        "missing": missing,
    }


def stand_ins(block: PartitionBlock) -> list[PartitionBlock]:
    """Return settings of scikit-learn's digits in place of one that is not available."""
    how = replace(block.how, landmarks=None if block.how.landmarks is None else 80)
    digits = replace(block, dataset="digits_3_8", tasks=("digits_3_8",))
    return [replace(digits, tuning=f"n={n}", how=replace(how, n=n)) for n in (80, 160, 320)]


def clock(block: PartitionBlock, repeats: int) -> tuple[int, float, dict[str, dict[str, Any]]]:
    """Return training samples, seconds of making the features, and by method a fit with its median seconds."""
    assert block.how.n is not None
    cells = block.cells()
    start = time.perf_counter()
    experiment.problem(block.dataset, cells[0].split, block.how)  # kept for the fits
    made = time.perf_counter() - start
    rows = {}
    for cell in cells:
        runs = [experiment.work(cell) for _ in range(repeats)]
        seconds = float(np.median([run["fit_seconds"] for run in runs]))
        rows[cell.method] = {**runs[0], "method": cell.method, "seconds": seconds}
    return block.how.n, made, rows


def draw(data: dict[str, Any]) -> Any:
    """Draw a row of moons, one of errors and one of seconds."""
    from specmargin.plots import style, subplots

    sizes = [len(values["n"]) for sets in data["seconds"].values() for values in sets.values()]
    # A line through two sizes would show a trend that nobody has measured.
    figure, axes = subplots(3 if min(sizes) > 2 else 2, 2, width="page", aspect=0.68)
    draw_moons(axes[0], data["moons"])
    with style():
        for ax, letter, panel, kind in zip(axes[1], "cd", ("5a", "5b"), ("labelled", "unlabelled"), strict=True):
            draw_errors(ax, data["amounts"][panel], data["parameters"]["figure 5"]["partitions"])
            ax.set(xlabel=f"{kind} samples, % of the training samples", ylabel="error on unseen samples, %")
            ax.set_title(f"({letter}) G4C, more and more {kind} samples")
        if len(axes) == 3:
            draw_runtimes(axes[2, 0], data["seconds"]["e"])
            draw_landmarks(axes[2, 1], data["seconds"]["f"])
    return figure


def draw_moons(axes: Any, moons: dict[str, Any]) -> None:
    """Draw panels a and b."""
    from specmargin.plots import DecisionDisplay, LabelDisplay, style
    from specmargin.plots.points import point_handles

    labels = LabelDisplay(moons["X"], moons["y"])
    for ax, letter, method in zip(axes, "ab", TWO, strict=True):
        errors = moons["spread"][method]
        display = DecisionDisplay(moons["xx0"], moons["xx1"], moons["responses"][method], points=labels).plot(
            ax,
            limit=1.0,
            colorbar=False,
            title=f"({letter}) {NAMES[method][1]}, tuned on test points: OPTIMISTIC\n"
            f"error {moons['shown'][method]:.0f} %; all partitions: {errors['mean']:.0f} %, "
            f"deviation {errors['std']:.0f}",
        )
    with style():
        axes[0].get_figure().legend(handles=point_handles(), loc="outside upper center", ncols=4)
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


def draw_errors(ax: Any, panel: dict[str, Any], n_partitions: int) -> None:
    """Draw mean errors, with bars of one standard error, moved apart a little."""
    for method, shift in zip(TWO, (0.975, 1.025), strict=True):
        mean, std = panel[method]["mean"], panel[method]["std"]
        bars = {"yerr": std / np.sqrt(n_partitions), "capsize": 2, "elinewidth": 0.8}
        ax.errorbar(panel["share"] * shift, mean, label=NAMES[method][1], **bars, **line(method))
    ax.set(xscale="log", ylim=(0, None))
    ticks(ax.xaxis, np.round(panel["share"]).tolist())
    ax.grid(axis="y")
    ax.legend(title=f"bars: standard error,\n{n_partitions} partitions", alignment="left")


def draw_runtimes(ax: Any, sets: dict[str, Any]) -> None:
    """Draw seconds of the semi-supervised methods, hollow markers for the second set."""
    from matplotlib.lines import Line2D

    kinds = []
    for k, (name, values) in enumerate(sets.items()):
        face = {"markerfacecolor": "white"} if k else {}
        for method, seconds in values["fit"].items():
            label = None if k else NAMES[method][1]
            ax.plot(values["n"], seconds, linewidth=0.9 if k else 1.2, label=label, **face, **line(method))
        label = "G2C" if name == "g2c" else name.replace("_", "-")
        kinds.append(Line2D([], [], color="0.3", marker="o", linestyle="none", label=label, **face))
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
    from specmargin.plots.ticks import plain_ticks

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
