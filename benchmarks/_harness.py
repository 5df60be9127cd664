"""Tools of the benchmarks: alternate timing of rival functions, and a record of measurements with their goals.

A benchmark measures *ratios of one run*: computers differ and drift, so rivals are timed alternately and the median
of the paired ratios is quoted. `make bench` sets one thread before numpy is imported.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reproduction.engine.provenance import collect

RESULTS = Path(__file__).parent / "results"

S3VM_SEARCHES = {
    "AnnealedS3VM": "annealing",
    "CCCPS3VM": "cccp",
    "ContinuationS3VM": "continuation",
    "GradientS3VM": "gradient",
    "LabelSwitchingS3VM": "label_switching",
    "MultiSwitchTSVM": "multi_switch",
    "QuasiNewtonS3VM": "quasi_newton",
}
"""The searches of `specmargin.S3VM` by the names that they have in records and tables."""


def default(name: str) -> Any:
    """Return the estimator of a name with its defaults; each search of `S3VM` counts as one."""
    import specmargin as sm

    return sm.S3VM(search=S3VM_SEARCHES[name]) if name in S3VM_SEARCHES else getattr(sm, name)()


@dataclass(frozen=True)
class Measurement:
    """One line of a report: what was measured, and its goal, if any."""

    name: str
    value: float
    unit: str
    goal: str
    met: bool | None
    note: str


class Report:
    """Lines that are printed as they come and kept in ``benchmarks/results/<name>.json``."""

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.lines: list[Measurement] = []
        print(f"\n{title}\n{'-' * len(title)}", flush=True)

    def add(
        self,
        name: str,
        value: float,
        unit: str = "x",
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        note: str = "",
    ) -> None:
        """Print and keep one line; with a goal, say whether it is met."""
        goal, met = "", None
        if at_least is not None:
            goal, met = f">= {at_least:g}", bool(value >= at_least)
        elif at_most is not None:
            goal, met = f"<= {at_most:g}", bool(value <= at_most)
        self.lines.append(Measurement(name, float(value), unit, goal, met, note))
        verdict = "" if met is None else f"   goal {goal} {unit}: {'met' if met else 'NOT MET'}"
        print(f"{name:<58s} {value:12.4g} {unit:<6s}{verdict}{'   ' + note if note else ''}", flush=True)

    def write(self) -> Path:
        """Write the lines with the versions and the computer."""
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}.json"
        content = {"title": self.title, "lines": [asdict(line) for line in self.lines], "provenance": collect()}
        path.write_text(json.dumps(content, indent=1, default=str) + "\n", encoding="utf-8")
        return path


def seconds(function: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the time of one call, by the clock on the wall or another one."""
    start = clock()
    function()
    return clock() - start


def compare(
    rivals: Mapping[str, Callable[[], Any]],
    *,
    repeats: int = 5,
    warm_up: bool = True,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time the rivals in turns, A B C A B C ..., and return their seconds, round by round.

    Parameters
    ----------
    rivals : mapping of str to callable
        What to time.
    repeats : int, default 5
        Rounds.
    warm_up : bool, default True
        One round that does not count.
    clock : callable, default time.perf_counter
        What says the time: that of the wall, or ``time.process_time``, that of the processor.
    """
    if warm_up:
        for function in rivals.values():
            function()
    times: dict[str, list[float]] = {name: [] for name in rivals}
    for _ in range(repeats):
        for name, function in rivals.items():
            times[name].append(seconds(function, clock))
    return times


def ratio(times: Mapping[str, list[float]], numerator: str, denominator: str) -> float:
    """Return the median of the ratios of seconds, round by round."""
    return statistics.median(a / b for a, b in zip(times[numerator], times[denominator], strict=True))


def parser(description: str) -> argparse.ArgumentParser:
    """Return a parser of the options that every benchmark has."""
    given = argparse.ArgumentParser(description=description)
    given.add_argument("--quick", action="store_true", help="small problems, few repeats: a look, not a record")
    given.add_argument("--data", type=Path, default=None, help="folder of the real data (else $SPECMARGIN_DATA)")
    return given


def options(description: str, **flags: str) -> argparse.Namespace:
    """Parse the options that every benchmark has, and flags with their help that this one has besides."""
    given = parser(description)
    for name, text in flags.items():
        given.add_argument(f"--{name}", action="store_true", help=text)
    return given.parse_args()
