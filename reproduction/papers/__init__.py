"""The papers whose experiments are made again, a file for each: protocol, experiments, claims, and why we differ.

A table is an `Experiment` in one of the modules of this package; `tables` finds them all, so that the table of another
paper is one file here and one CSV file of its published numbers. `run_table` computes a table by its name.
`reproduction.papers.bibliography` has the titles of the papers, and says which tables and figures are theirs.
"""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from reproduction.report import Report
from reproduction.run import Experiment, run_experiment
from specmargin.checks import among, shown
from specmargin.exceptions import InvalidInputError, SpecmarginError


def modules() -> dict[str, tuple[Experiment, ...]]:
    """Return the tables of each paper's module, in their order; modules that begin with an underscore are parts."""
    names = sorted(info.name for info in iter_modules(__path__) if not info.name.startswith("_"))
    values = {name: vars(import_module(f"{__name__}.{name}")).values() for name in names}
    return {name: tuple(value for value in each if isinstance(value, Experiment)) for name, each in values.items()}


@cache
def tables() -> dict[str, Experiment]:
    """Return all tables by name, in the order of the papers' modules."""
    named: dict[str, Experiment] = {}
    for module, each in modules().items():
        for experiment in each:
            if named.setdefault(experiment.name, experiment) is not experiment:
                raise SpecmarginError(f"two papers have a table {experiment.name!r}; rename the one in {module}.py.")
    return named


def run_table(name: str, **options: Any) -> Report:
    """Compute a table by its name, with the options of `run_experiment`, and write it.

    Raises
    ------
    ValueError
        If there is no such table, or it has no such axis.
    """
    if not isinstance(name, str) or name not in tables():
        raise InvalidInputError(f"there is no table {shown(name)}; choose one of: {among(name, sorted(tables()))}")
    return run_experiment(tables()[name], **options)
