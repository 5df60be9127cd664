"""The papers themselves: title, authors, venue, and which tables and figures of ours belong to each.

A table belongs to the paper whose module it stands in (`Paper.modules`), a figure to the one that names it
(`Paper.figures`). `PAPERS`, read from ``bibliography.toml``, is in the order of the page of claims. A DOI is given
where it is known for certain; the Journal of Machine Learning Research assigns none.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction.papers import modules


@dataclass(frozen=True)
class Paper:
    """A paper, or a question of our own, that tables and figures belong to.

    Parameters
    ----------
    key : str
        One word, for links.
    title : str
        Title of the paper.
    protocol : str
        What is done and what is measured, in two sentences.
    modules : tuple of str
        Modules of `reproduction.papers` whose tables are its own.
    figures : tuple of str
        Scripts of figures.
    authors, venue : str
        Empty where the question is our own.
    year : int or None
        Year of the print.
    doi : str
        Empty where there is none, or none is known for certain.
    """

    key: str
    title: str
    protocol: str
    modules: tuple[str, ...]
    figures: tuple[str, ...] = ()
    authors: str = ""
    venue: str = ""
    year: int | None = None
    doi: str = ""

    @property
    def name(self) -> str:
        """Authors' names and year, or the title where the question is our own."""
        return f"{self.authors} ({self.year})" if self.authors else self.title

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of its tables."""
        known = modules()
        return tuple(experiment.name for module in self.modules for experiment in known.get(module, ()))


def _read() -> Iterator[Paper]:
    for fields in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["paper"]:
        values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
        yield Paper(**values)


PAPERS = tuple(_read())
"""In the order in which they are shown: five papers, the survey, and questions of our own."""


def paper_of_figure(name: str) -> Paper | None:
    """Return the paper that a figure belongs to; None for one that no paper names."""
    return next((paper for paper in PAPERS if name in paper.figures), None)


def homeless_tables() -> tuple[str, ...]:
    """Return the tables in modules that no paper names, such as one that was just added."""
    named = {module for paper in PAPERS for module in paper.modules}
    return tuple(each.name for module, those in modules().items() if module not in named for each in those)
