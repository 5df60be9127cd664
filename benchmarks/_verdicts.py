"""What a row of `benchmarks/failures.py` says of a solver, and the tables of all rows."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

__all__ = ["COLUMNS", "OURS", "Row", "Verdict", "best_bounds", "ends", "exceptions", "judged", "shares", "table"]

OURS = "specmargin"
Ours: TypeAlias = Mapping[tuple[str, str], float]
"""Our seconds by the key of a program and the setting."""
TIGHT_GAP, LOOSE_GAP, GOOD_GAP = 1e-8, 1e-4, 1e-6


@dataclass(frozen=True)
class Row:
    """One solve: what the solver claimed, and what the objective recomputed from its answer."""

    key: str
    family: str
    kind: str
    regime: str
    size: int
    solver: str
    setting: str
    end: str
    """"answer", "failed" (no values), "error" (another exception), "crash" or "timeout"."""
    version: str = ""
    claimed: str = ""
    """The solver's own status in CVXPY's words; ours: that of the result."""
    gap: float = math.nan
    """Relative gap of the certificate, rounding included."""
    rounding: float = math.nan
    """Share of the rounding allowance in it, relative to the objective."""
    primal: float = math.nan
    dual: float = math.nan
    sense: str = "minimize"
    seconds: float = math.nan
    """The whole call, from the raw data to the certificate, of the processor's time."""
    own_seconds: float = math.nan
    """What the solver took of it, with the interface that CVXPY calls."""
    n_iter: int = 0
    message: str = ""
    plan: str = ""
    """Which programs and settings; rows of another plan do not count."""

    def record(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Verdict:
    """What a row is counted as."""

    tight: bool
    """Proved to 1e-8."""
    loose: bool
    """Proved to 1e-4."""
    false_optimal: bool
    """Claimed optimal while the gap is above 1e-4, negative or undefined."""
    wrong: bool
    """And the answer itself is worse by 1e-4 than the best bound that anyone proved."""
    pessimistic: bool
    """Claimed less than optimal while the gap is below 1e-6."""
    denied: bool
    """Claimed infeasible or unbounded; every program has an optimum."""
    nothing: bool
    """No answer: gave up, no finite values, or an exception."""
    crash: bool
    """The process ended with it."""
    timeout: bool


def judged(row: Row, best: float | None = None) -> Verdict:
    """Classify a row; `best` is the best bound on the optimum that is known for its program."""
    answered = row.end == "answer"
    optimal = answered and row.claimed == "optimal"
    loose = answered and 0.0 <= row.gap <= LOOSE_GAP
    false_optimal = optimal and not loose
    denied = row.claimed.startswith(("infeasible", "unbounded"))
    return Verdict(
        tight=answered and 0.0 <= row.gap <= TIGHT_GAP,
        loose=loose,
        false_optimal=false_optimal,
        wrong=false_optimal and excess(row, best) > LOOSE_GAP,
        pessimistic=answered and not optimal and 0.0 <= row.gap <= GOOD_GAP,
        denied=denied,
        nothing=row.end in ("failed", "error") and not denied,
        crash=row.end == "crash",
        timeout=row.end == "timeout",
    )


def excess(row: Row, best: float | None) -> float:
    """Return by how much the primal objective is worse than the bound, relative to the larger of the two."""
    if best is None or not math.isfinite(row.primal):
        return math.inf
    scale = max(abs(row.primal), abs(best))
    worse = row.primal - best if row.sense == "minimize" else best - row.primal
    return worse / scale if scale > 0 else worse


def best_bounds(rows: Iterable[Row]) -> dict[str, float]:
    """Return for every program the best bound that a sound certificate proved."""
    best: dict[str, float] = {}
    for row in rows:
        if row.end == "answer" and row.gap >= 0 and math.isfinite(row.dual):
            better = max if row.sense == "minimize" else min
            best[row.key] = better(best.get(row.key, row.dual), row.dual)
    return best


@dataclass
class _Column:
    title: str
    meaning: str
    value: Callable[[list[tuple[Row, Verdict]], Ours], str]


def _share(name: str) -> Callable[[list[tuple[Row, Verdict]], Ours], str]:
    def value(some: list[tuple[Row, Verdict]], _: Ours) -> str:
        return percent(sum(getattr(verdict, name) for _, verdict in some), len(some))

    return value


def _count(name: str) -> Callable[[list[tuple[Row, Verdict]], Ours], str]:
    def value(some: list[tuple[Row, Verdict]], _: Ours) -> str:
        return str(sum(getattr(verdict, name) for _, verdict in some))

    return value


def _ratio(seconds: str) -> Callable[[list[tuple[Row, Verdict]], Ours], str]:
    def value(some: list[tuple[Row, Verdict]], ours: Ours) -> str:
        ratios = [
            getattr(row, seconds) / ours[row.key, row.setting]
            for row, verdict in some
            if verdict.loose and (row.key, row.setting) in ours and math.isfinite(getattr(row, seconds))
        ]
        return f"{statistics.median(ratios):.2g}" if ratios else "-"

    return value


def percent(part: int, whole: int) -> str:
    """Return a share in percent: 100 and 0 where it is all or none only."""
    if not whole:
        return "-"
    share = 100.0 * part / whole
    return f"{share:.0f}" if part in (0, whole) else f"{min(max(share, 0.1), 99.9):.1f}"


COLUMNS = (
    _Column("programs", "how many programs of this kind the solver takes", lambda some, _: str(len(some))),
    _Column("<= 1e-8", "percent of them whose answer has a proved relative gap of at most 1e-8", _share("tight")),
    _Column("<= 1e-4", "the same with 1e-4", _share("loose")),
    _Column(
        "time",
        "seconds of the whole call (data to certificate, CVXPY's compilation included) over ours at the same setting: "
        "median over the programs solved to 1e-4",
        _ratio("seconds"),
    ),
    _Column(
        "own time",
        "the same with the seconds of the solver's interface alone: without CVXPY's compilation, the matrices of the "
        "program and the certificate; ours includes the latter two",
        _ratio("own_seconds"),
    ),
    _Column(
        "false optimal",
        "claimed optimal, while the gap recomputed from its answer is above 1e-4 (or nothing is proved)",
        _count("false_optimal"),
    ),
    _Column(
        "wrong",
        "those of them whose objective is worse by more than 1e-4 than the best bound that any solver proved: there "
        "the answer is at fault, else its multipliers alone",
        _count("wrong"),
    ),
    _Column(
        "pessimistic",
        "claimed less than optimal, while the gap is below 1e-6; at the tight setting that may be what was asked for",
        _count("pessimistic"),
    ),
    _Column("denied", "claimed infeasible or unbounded; every program has an optimum", _count("denied")),
    _Column("no answer", "gave up without values, values that are not finite, an exception", _count("nothing")),
    _Column("crash", "ended the process of Python, by a segmentation fault for one", _count("crash")),
    _Column("timeout", "ended at the limit of time", _count("timeout")),
)


def table(rows: Sequence[Row], best: Mapping[str, float], ours: Ours) -> str:
    """Return the Markdown table of some rows, a line for each solver and setting."""
    lines = [_line(["solver", "setting", *(column.title for column in COLUMNS)])]
    lines.append(_line(["---", "---", *["---:" for _ in COLUMNS]]))
    for (solver, setting), some in _grouped(rows).items():
        verdicts = [(row, judged(row, best.get(row.key))) for row in some]
        lines.append(_line([solver, setting, *(column.value(verdicts, ours) for column in COLUMNS)]))
    return "\n".join(lines)


def shares(rows: Sequence[Row], by: str) -> str:
    """Return the Markdown table of percent proved to 1e-8 / 1e-4, a column for each family or regime."""
    columns = list(dict.fromkeys(getattr(row, by) for row in rows))
    lines = [_line(["solver", "setting", *columns]), _line(["---", "---", *["---:" for _ in columns]])]
    for (solver, setting), some in _grouped(rows).items():
        cells = []
        for column in columns:
            verdicts = [judged(row) for row in some if getattr(row, by) == column]
            tight, loose = (sum(getattr(v, name) for v in verdicts) for name in ("tight", "loose"))
            cells.append(f"{percent(tight, len(verdicts))} / {percent(loose, len(verdicts))}" if verdicts else "")
        lines.append(_line([solver, setting, *cells]))
    return "\n".join(lines)


def exceptions(rows: Iterable[Row]) -> str:
    """Return the Markdown list of our own answers above 1e-8, at the default tolerance."""
    lines = []
    for row in rows:
        if row.solver == OURS and row.setting == "default" and not judged(row).tight:
            cause = "the rounding allowance alone is above 1e-8" if row.rounding > TIGHT_GAP else "not rounding"
            lines.append(
                f"- `{row.key}` (n = {row.size}): {row.end}, {row.claimed}, gap {row.gap:.1e}, rounding allowance "
                f"{row.rounding:.1e}: {cause}."
            )
    return "\n".join(lines) or "None."


def ends(rows: Iterable[Row]) -> str:
    """Return the Markdown list of crashes and exceptions: how many of each, with a program to see it on."""
    groups: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.end in ("crash", "error"):
            groups[row.solver, row.setting, row.message[:120] or "the process ended"].append(row.key)
    lines = [
        f"- {solver}, {setting}, {len(keys)} x, `{keys[0]}` for one: {message}"
        for (solver, setting, message), keys in sorted(groups.items())
    ]
    return "\n".join(lines) or "None."


def _grouped(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row.solver, row.setting].append(row)
    return dict(sorted(groups.items(), key=lambda pair: (pair[0][0] != OURS, pair[0])))


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
