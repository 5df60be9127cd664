"""What the primal-LapSVM paper concludes from its own columns, put to ours: tables 3 to 11, LapSVM, LapRLS, PCG.

The conclusions stand in ``table_claims.toml``; `sentences` has the frames that they are judged by. Errors are compared
at the gammas that V chose for each method, tasks and parts (U and T) apart; iterations and seconds are those of fits
that were made alone. What a rule loses, or gains, by its own gammas is seen next to the fits at Newton's, of which one
split has all rules.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from reproduction.claims import RULE
from reproduction.engine.published import published_sizes
from reproduction.engine.records import Row
from reproduction.judging import TABLE_CLAIMS, judge, named_frame, wide_frame
from reproduction.papers._protocols.melacci_belkin_fits import METHODS, PAPER, RULES, Setting

NEWTON, DUAL = "lapsvm_newton", "lapsvm_dual"
COLUMNS = {"U": "error_unlabeled", "T": "error_test", "count": "count", "seconds": "seconds"}
_MANY_CLASSES = ("coil20", "uspst")


def sentences(grid: Sequence[Row], timed: Sequence[Row], chosen: Mapping[tuple[str, str], Setting]) -> list[str]:
    """Return one sentence per conclusion, verdict first, of those that the rows allow.

    Parameters
    ----------
    grid, timed : sequence of rows
        Fits of the whole grid, and those that were made alone.
    chosen : mapping
        The setting that V chose, by task and method.
    """
    own = [row for row in grid if row["setting"] == chosen.get((row["dataset"], row["method"]))]
    counted = [{**row, "count": statistics.fmean(row["iterations"])} for row in timed]
    alone = [row for row in counted if row["setting"] == chosen.get((row["dataset"], row["method"]))]
    at_newton = [row for row in counted if row["setting"] == chosen.get((row["dataset"], NEWTON))]
    frames = {
        **_errors(own, at_newton),
        **_times(timed, alone),
        **_stops(alone, at_newton),
        **_gammas(chosen, alone, at_newton),
    }
    judged = judge(TABLE_CLAIMS[PAPER], frames)
    return [f"What the paper concludes from its own columns, by ours ({RULE}):", *judged] if judged else []


def samples_of(task: str) -> int | None:
    """Return how many samples a classifier is trained on, those of L and U; None for a task that is not the paper's."""
    sizes = published_sizes(PAPER, "2")
    of_task = sizes[sizes["dataset"] == task].set_index("quantity")["value"]
    return int(of_task["n_labeled"]) + int(of_task["n_unlabeled"]) if len(of_task) else None


def means_of(rows: Iterable[Row]) -> dict[str, pd.DataFrame]:
    """Return the means over the splits of errors, iterations and seconds: a row per task, a column per method."""
    frame = pd.DataFrame(list(rows), columns=["dataset", "method", *COLUMNS.values()])
    means: Any = frame.groupby(["dataset", "method"], sort=False)
    wide = {name: means[column].agg(_mean).dropna().unstack(sort=False) for name, column in COLUMNS.items()}
    return {name: each.reindex(columns=list(METHODS)).astype(float) for name, each in wide.items()}


def _mean(values: pd.Series) -> float:
    return statistics.fmean(values)


def _listed(frame: pd.DataFrame) -> dict[str, float]:
    """Return the numbers of a frame by task and rule, those that there are."""
    return {f"{task} {rule}": number for task, each in frame.iterrows() for rule, number in each.dropna().items()}


def _apart(means: Mapping[str, pd.DataFrame], pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Return what the first method of each pair errs more than the second in the mean, by task, method and part."""
    apart = {
        f"{task} {a} {part}": gap
        for (a, b), part in product(pairs, "UT")
        for task, gap in (means[part][a] - means[part][b]).items()
    }
    return named_frame({"apart": apart})


def _errors(own: Sequence[Row], at_newton: Sequence[Row]) -> dict[str, pd.DataFrame]:
    """Tables 4, 7 and 11: who errs less, who as much, and what early stopping costs."""
    means, same = means_of(own), means_of(at_newton)
    early = [(rule, NEWTON) for rule in RULES]
    stopped: Any = _apart(same, early)
    by_task = stopped["apart"].groupby(lambda name: name.split()[0], sort=False)
    gaps = {task: _mean(each) for task, each in by_task if len(each) == 6}
    labelled = [row for row in own if "error_labeled" in row]
    frames = {
        "comparable errors": _apart(means, [("laprls", DUAL), (DUAL, NEWTON), (NEWTON, "laprls")]),
        "close errors": _apart(means, [(NEWTON, "laprls")]),
        "labelled samples": pd.DataFrame(
            {"error": [row["error_labeled"] for row in labelled]},
            [f"{row['dataset']} {row['method']}" for row in labelled],
        ),
        "early stopping": _apart(means, early),
        "early stopping at Newton's gammas": stopped,
        "gaps": pd.DataFrame([{**gaps, "most": max(gaps.values(), default=0.0)}]),
        "validation": named_frame({"gain": same["T"][NEWTON] - same["T"][RULES[1]]}),
    }
    frames["gaps"].attrs["listed"] = ", ".join(f"{task} {gap:+.2f}" for task, gap in gaps.items())
    return {"errors": wide_frame(own, {"U": "error_unlabeled", "T": "error_test"}), **frames} if own else frames


def _times(timed: Sequence[Row], alone: Sequence[Row]) -> dict[str, pd.DataFrame]:
    """Tables 3 and 5: Newton's steps, and seconds of one computer; every rule is taken, not the best alone."""
    steps = [count for row in timed if row["method"] == NEWTON for count in row["iterations"]]
    seconds = means_of(alone)["seconds"]
    newton, dual = (seconds[list(RULES)].rdiv(seconds[rival], axis=0) for rival in (NEWTON, DUAL))
    sizes = {task: n for task in seconds.index if (n := samples_of(task)) is not None}
    best = newton.max(axis=1).dropna().filter(list(sizes)).to_dict()
    # One classifier each: with one against the rest the classes count as well.
    pairs = [
        (a, b)
        for a, b in product(best, repeat=2)
        if sizes[a] < sizes[b] and (a in _MANY_CLASSES) == (b in _MANY_CLASSES)
    ]
    listed = ", ".join(
        f"{task} ({sizes[task]}) {best[task]:.1f}" for task in sorted(best, key=lambda task: sizes[task])
    )
    return {
        "steps": pd.DataFrame({"steps": steps}),
        "seconds": named_frame({"newton": _listed(newton), "dual": _listed(dual)}),
        "sizes": named_frame(
            {"smaller": {f"{a} {b}": best[a] for a, b in pairs}, "larger": {f"{a} {b}": best[b] for a, b in pairs}},
            listed=listed,
        ),
        "dual and Newton": named_frame({"ratio": seconds[NEWTON] / seconds[DUAL]}),
    }


def _stops(alone: Sequence[Row], at_newton: Sequence[Row]) -> dict[str, pd.DataFrame]:
    """Table 6: how many iterations, and which rule is the stricter one."""
    counts = means_of(alone)["count"][list(RULES)]
    sizes = pd.Series({task: samples_of(task) for task in counts.index}, dtype=float)
    first = counts[counts.index.isin(["coil20b", "uspst", "coil20"])][list(RULES[:2])].dropna()
    listed = ", ".join(f"{task} {a:.0f} and {b:.0f}" for task, a, b in first.itertuples())
    columns = ["dataset", "split", "method", "iterations"]
    runs: Any = pd.DataFrame([row for row in at_newton if row["method"] in RULES], columns=columns)
    runs = runs.pivot(index=columns[:2], columns="method", values="iterations").reindex(columns=RULES).dropna()
    stops = [stop for run in runs.itertuples(index=False) for stop in zip(*run, strict=True)]
    frames = {
        "iterations": named_frame({"share": _listed(counts.div(sizes, axis=0))}),
        "mixed rule": pd.DataFrame(
            [{"mixed": mixed, "stricter": max(first, second)} for first, second, mixed in stops]
        ),
    }
    return {"rules": wide_frame(alone, {"count": "count"}, listed=listed), **frames} if alone else frames


def _gammas(
    chosen: Mapping[tuple[str, str], Setting], alone: Sequence[Row], at_newton: Sequence[Row]
) -> dict[str, pd.DataFrame]:
    """Tables 8 to 11: the gammas of each rule, and what they gain over Newton's."""
    choices = {
        f"{task} {rule}": (setting, chosen[task, NEWTON])
        for (task, rule), setting in chosen.items()
        if rule in RULES and (task, NEWTON) in chosen
    }
    moved = {name for name, (mine, newtons) in choices.items() if mine != newtons}
    mine, theirs = means_of(alone), means_of(at_newton)
    gains = {name: _listed((theirs[name] - mine[name])[list(RULES)]) for name in ("count", "U", "T")}
    return {
        "gammas": pd.DataFrame(
            [{"same": a == b, "larger": any(x > y for x, y in zip(a, b, strict=True))} for a, b in choices.values()]
        ),
        "gains": named_frame(
            {name: {k: gain for k, gain in each.items() if k in moved} for name, each in gains.items()}
        ),
    }
