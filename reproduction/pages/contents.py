"""What there is to show: recorded tables, figures with their sidecars, and finished reports, read from folders.

Whatever cannot be read is named, and the rest is read: each function returns what there is, by name, and a list of
sentences on what it could not use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reproduction import papers
from reproduction.recorded import RecordedTable, read_record
from reproduction.report import Report
from specmargin.exceptions import InvalidInputError
from specmargin.files import parse_json, read_file

__all__ = ["Figure", "Table", "read_figures", "read_reports", "read_tables"]

_QUICK = "-quick"


@dataclass(frozen=True)
class Table:
    """A recorded table, and how it is shown."""

    record: RecordedTable

    @property
    def quick(self) -> bool:
        """Whether it is the small version, for a look."""
        return self.record.name.endswith(_QUICK)

    @property
    def plain(self) -> bool:
        """Whether it is the whole table under the default choices."""
        return not self.quick and not self.record.choices

    @property
    def command(self) -> str:
        """What to type to make the record again."""
        return f"{self.record.command}{' --quick' if self.quick else ''} --record"


@dataclass(frozen=True)
class Figure:
    """A figure: what its sidecar says, and its pictures by their ending."""

    name: str
    sidecar: Mapping[str, Any]
    pictures: Mapping[str, Path]

    @property
    def command(self) -> str:
        """What to type to make it again."""
        size = self.sidecar.get("size", "standard")
        return f"python -m reproduction figures {self.name}{'' if size == 'standard' else f' --{size}'}"


def read_tables(folder: Path) -> tuple[dict[str, Table], list[str]]:
    """Read the records of a folder, their rows included; a folder that is not there holds none."""
    there: dict[str, Table] = {}
    problems: list[str] = []
    known = papers.tables()
    for place in sorted(each for each in folder.glob("*") if each.is_dir() and not each.name.startswith(".")):
        try:
            record = read_record(place)
            experiment = known.get(record.experiment)
            if experiment is None:
                raise InvalidInputError(
                    f"the record {str(place)!r} is of a table {record.experiment!r}, which this version does not have; "
                    "update specmargin, or move the record elsewhere."
                )
            count = len(record.rows())
            if count != record.cells:
                raise InvalidInputError(
                    f"the record {str(place)!r} has {count} rows and says that it has {record.cells}; take it from "
                    "version control again."
                )
            there[record.name] = Table(record)
        except InvalidInputError as error:
            problems.append(str(error))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problems.append(f"the record {str(place)!r} is damaged ({type(error).__name__}: {error}); make it anew.")
    return there, problems


def read_figures(folder: Path) -> tuple[dict[str, Figure], list[str]]:
    """Read the figures of a folder; one that is not there holds none."""
    there: dict[str, Figure] = {}
    problems: list[str] = []
    for file in sorted(folder.glob("*.json")):
        try:
            sidecar = parse_json(read_file(file))
            name, caption = sidecar["name"], sidecar["caption"]
            if name != file.stem or not isinstance(caption, str) or "seed" not in sidecar["depends"]:
                raise InvalidInputError("it is no sidecar of that figure")
        except (ValueError, KeyError, TypeError) as error:
            problems.append(
                f"{str(file)!r} is no sidecar of a figure ({type(error).__name__}: {error}); make the figure again by "
                f"python -m reproduction figures {file.stem}, or move the file elsewhere."
            )
            continue
        pictures = {ending: file.with_suffix(f".{ending}") for ending in ("svg", "png")}
        drawn = {ending: picture for ending, picture in pictures.items() if picture.is_file()}
        if not drawn:
            problems.append(
                f"the figure {name!r} has neither {name}.svg nor {name}.png in {str(folder)!r}; make it again by "
                f"python -m reproduction figures {name}."
            )
        there[name] = Figure(name, sidecar, drawn)
    return there, problems


def read_reports(folder: Path) -> tuple[dict[str, Report], list[str]]:
    """Read the finished tables that runs have left in a folder as ``NAME.json``."""
    there: dict[str, Report] = {}
    problems: list[str] = []
    for file in sorted(folder.glob("*.json")):
        try:
            there[file.stem] = Report.from_json(parse_json(read_file(file)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problems.append(f"{str(file)!r} is no finished table ({type(error).__name__}: {error}); make it again.")
    return there, problems
