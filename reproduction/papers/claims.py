"""Claims of the five papers that need a computation of their own: small studies, a verdict each, minutes in all.

The tables of the papers judge what their rows can; here is the rest. A study measures something on one draw of a set,
generated or published; a cell is one draw. What the studies do stands in the parts of this module: `_claims.manifold`,
`_claims.primal`, `_claims.spectrum`, `_claims.s3vm`, the claims on their rows in `_claims.study`. Seconds are those of
the processor, of one computer; they say how costs grow, and compare methods, and no more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.comparison import mean_and_deviation
from reproduction.engine.records import Cell, Row
from reproduction.judging import frame_of, judge
from reproduction.papers._claims import manifold, primal, s3vm, spectrum
from reproduction.papers._claims import study as of_studies
from reproduction.papers._protocols.gieseke_fits import SETS as GIESEKE_SETS
from reproduction.report import Line, Section
from reproduction.run import Experiment, Findings, Options, Setup, words
from reproduction.tasks import is_available, missing_data
from specmargin.exceptions import InvalidInputError

_PARTS = (manifold, primal, spectrum, s3vm)
STUDIES = {name: study for part in _PARTS for name, study in part.STUDIES.items()}
"""Every study: what computes one draw, its sets, how many draws; what begins with "generated" needs no data."""

_GENERATED = "generated"


def source_of(name: str) -> str:
    """Return the data set that a set of a study is read from, empty for a generated one.

    Examples
    --------
    >>> source_of("mnist 3-8"), source_of("usps_2_7"), source_of("coil20b"), source_of("generated moons")
    ('mnist', 'usps', 'coil20', '')
    """
    first = name.split()[0]
    if first == _GENERATED:
        return ""
    known = {**{name: task.source for name, task in GIESEKE_SETS.items()}, "coil20b": "coil20", "uspstb": "uspst"}
    return known.get(first, first)


@dataclass(frozen=True)
class Plan:
    """What is computed: studies, and how many of their draws at the most.

    Parameters
    ----------
    sets : mapping of str to sequence of str
        Sets by study.
    most : int, default 100
        Draws.
    """

    sets: Mapping[str, Sequence[str]]
    most: int = 100

    def cells(self, data: Path | None = None) -> list[Cell]:
        """Return a cell per study, set and draw; those of one set follow one another."""
        return [
            Cell("claims", study, name, f"draw-{draw:02d}", {"draw": draw})
            for study, names in self.sets.items()
            for name in names
            for draw in range(min(STUDIES[study][2], self.most))
        ]


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Compute one draw of a study on one set.

    Returns
    -------
    dict
        Numbers; those that begin with "error" are in percent and come out again on another computer.
    """
    if cell.method not in STUDIES:
        raise InvalidInputError(f"there is no study {cell.method!r}; take one of {', '.join(STUDIES)}.")
    return dict(STUDIES[cell.method][0](cell.dataset, int(cell.parameters["draw"]), data))


def _setup(options: Options) -> Setup:
    sets: dict[str, Sequence[str]] = {}
    missing: set[str] = set()
    for study, (_, names, _) in STUDIES.items():
        there = [name for name in names if is_available(source_of(name), options.data)]
        missing |= {source_of(name) for name in names if name not in there}
        if there and not (options.quick and source_of(there[0])):
            sets[study] = there
    plan = Plan(sets, 2) if options.quick else Plan(sets)
    sources = {source_of(name) for names in sets.values() for name in names} - {""}
    return Setup(plan, sources, missing_data(sorted(missing)))


def _report(rows: Sequence[Row], plan: Plan, options: Options) -> Findings:
    sections, remarks = [], []
    good = [row for row in rows if row["status"] == "ok"]
    for paper, claims in of_studies.CLAIMS.items():
        names = dict.fromkeys(one.source for one in claims)
        mine = {name: each for name in names if (each := [row for row in good if row["method"] == name])}
        if mine:
            sections.append(Section(paper, [line for study, each in mine.items() for line in _lines(study, each)]))
            frames = {study: frame_of(each, of_studies.DERIVED.get(study)) for study, each in mine.items()}
            remarks += [f"{paper}:", *judge(claims, frames), ""]
    return Findings(sections, remarks=remarks[:-1])


def _lines(study: str, rows: Sequence[Row]) -> list[Line]:
    """Return a line per set and error of a study."""
    lines = []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        of_set = [row for row in rows if row["dataset"] == name]
        for column in of_set[0]:
            if column.startswith("error_"):
                numbers = mean_and_deviation([row[column] for row in of_set])
                lines.append(Line(name, study, column.removeprefix("error_"), *numbers, note="nothing published"))
    return lines


CLAIMS = Experiment(**words("claims"), setup=_setup, work=work, report=_report)
