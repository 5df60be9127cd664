"""The papers' figures, tables and data: ``python -m reproduction figures | tables | datasets``.

Errors and interrupts end a command as those of ``specmargin`` do; ``--debug`` shows tracebacks.
"""

import logging
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from specmargin.exceptions import InvalidInputError
from specmargin.tables.commands import CommandGroup, echo

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="The figures and tables of five papers on semi-supervised large-margin learning, computed again.",
    epilog="Begin with: python -m reproduction figures --quick.",
)
datasets_app = typer.Typer(no_args_is_help=True, help="What data there is, and where it comes from.")
app.add_typer(datasets_app, name="datasets")

Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder of the data sets; else $SPECMARGIN_DATA, else the user's cache."),
]
Out = Annotated[Path, typer.Option("--out", help="Where everything is written.")]
Quick = Annotated[bool, typer.Option("--quick", help="A small version, for a look.")]
Wait = Annotated[bool, typer.Option("--wait", help="Wait for another run that writes into the same place.")]


def use_data(data: Path | None) -> None:
    """Name the data folder for everything that runs from here on, worker processes included."""
    if data is None:
        return
    if not data.is_dir():
        raise InvalidInputError(f"--data {str(data)!r} is not a folder; name the one that holds the .npz archives.")
    os.environ["SPECMARGIN_DATA"] = str(data.resolve())


def _processes(text: str | int) -> int:
    if not str(text).removeprefix("-").isdecimal():
        raise typer.BadParameter(f"{text!r} is no number of processes; take one, or -1 for one per core.")
    return int(text)


Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", parser=_processes, metavar="INTEGER", help="Processes; -1 for one per core."),
]


@app.callback()
def _options(debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and log messages.")] = False) -> None:
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


@app.command(epilog="Example: python -m reproduction figures two_moons spectra --quick --out pictures")
def figures(
    names: Annotated[list[str] | None, typer.Argument(help="Figures; all of them by default.")] = None,
    quick: Quick = False,
    full: Annotated[bool, typer.Option("--full", help="All points and tasks; some figures take many minutes.")] = False,
    data: Data = None,
    out: Annotated[Path | None, typer.Option("--out", help="Default: figures/output.")] = None,
    jobs: Jobs = -1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what did not change, too.")] = False,
    wait: Wait = False,
    list_: Annotated[bool, typer.Option("--list", help="List the figures and stop.")] = False,
) -> None:
    """Compute and draw figures, on all cores. What did not change since the last run is not computed again."""
    from reproduction import gallery
    from reproduction.figure_scripts import expected_durations

    use_data(data)
    if list_:
        size: Any = "quick" if quick else "full" if full else "standard"
        times = expected_durations(size)
        echo(f"{'figure':<20} {'one core':>8}  what it shows")
        for known, caption in gallery.available_figures().items():
            echo(f"{known:<20} {times.get(known, ''):>8}  {caption}")
        return
    options: dict[str, Any] = {"quick": quick, "full": full, "data": data, "out": out, "jobs": jobs}
    options |= {"fresh": fresh, "wait": wait}
    for result in gallery.run_figures(names or (), **options):
        echo(f"{result.name}: {', '.join(str(path) for path in result.paths)}")


@app.command(epilog="Example: python -m reproduction tables spectrum_learning --quick --set eps=1e-6")
def tables(
    names: Annotated[list[str] | None, typer.Argument(help="Tables; without a name they are listed.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="All tables, one after the other: a day or more.")] = False,
    quick: Quick = False,
    data: Data = None,
    out: Out = Path("results"),
    jobs: Jobs = 1,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget earlier results of this table.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Compute cells again that ended in an error.")
    ] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="AXIS=VALUE: another protocol, on the tables that have that axis.")
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler, whose workers compute the cells.")
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Put rows and table into OUT/recorded, from which they are read at once.")
    ] = False,
    wait: Wait = False,
    list_: Annotated[bool, typer.Option("--list", help="List the tables and stop.")] = False,
) -> None:
    """Compute tables of errors next to the published ones. Interrupted runs go on where they stopped."""
    from reproduction import papers

    known_tables = papers.tables()
    if list_ or not (names or all_):
        width = max(map(len, known_tables))
        for known, entry in known_tables.items():
            axes = f" (--set {', '.join(entry.axes)})" if entry.axes else ""
            echo(f"{known:<{width}} {entry.summary}{axes}")
        if not list_:
            echo("\npython -m reproduction tables NAME computes one of them, with --quick a small version of it.")
        return
    unknown = [name for name in names or () if name not in known_tables]
    if unknown:
        from specmargin.checks import among

        raise InvalidInputError(
            f"there is no table {unknown[0]!r}; choose one of: {among(unknown[0], sorted(known_tables))}"
        )
    choices = dict(_assignment(each) for each in set_ or ())
    use_data(data)
    options: dict[str, Any] = {"quick": quick, "data": data, "out": out, "jobs": jobs, "fresh": fresh}
    options |= {"retry_failed": retry_failed, "wait": wait, "choices": choices}
    options |= {"record": record, "scheduler": scheduler}
    for each in dict.fromkeys(names or known_tables):
        report = papers.run_table(each, **options)
        echo(report.text())
        written = sorted(path.suffix for path in (out / "tables").glob(f"{report.name}.*"))
        echo(f"written to {out / 'tables' / report.name}{', '.join(written)}")


@datasets_app.command("list")
def list_datasets(data: Data = None) -> None:
    """List the data sets and say which are available."""
    from reproduction.data import available
    from reproduction.data.registry import REGISTRY

    use_data(data)
    for name, where in available(data).items():
        source = REGISTRY[name].source
        missing = "can be downloaded" if source == "download" else "not available"
        echo(f"{name:<18} {where or missing}")
        echo(f"{'':<18} {REGISTRY[name].summary}")


@datasets_app.command("fetch")
def fetch_dataset(
    name: Annotated[str, typer.Argument(help="A name of `python -m reproduction datasets list`.")], data: Data = None
) -> None:
    """Find a data set, or download it, and check that it is the right one."""
    from reproduction.data import load

    use_data(data)
    dataset = load(name, data_home=data)
    echo(repr(dataset))
    echo(f"from {dataset.source}, sha256 {dataset.sha256 or 'none (no file)'}")


def _assignment(text: str) -> tuple[str, str]:
    axis, equals, value = text.partition("=")
    if not (axis and equals and value):
        raise InvalidInputError(f"--set {text!r} is not of the form AXIS=VALUE; for example --set graph=mutual+mst.")
    return axis, value


def main() -> None:
    """Run the command line."""
    app(prog_name="python -m reproduction")


if __name__ == "__main__":
    main()
