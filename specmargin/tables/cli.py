"""The command line: ``specmargin compare | fit | predict | verify``.

``specmargin --install-completion`` lets the shell complete commands and options.

Heavy imports wait inside the commands, so that ``--help`` answers at once. An error that the package foresaw is one
message without a traceback (exit code 2 for a bad argument, 128 and the number of a signal, 1 for anything else);
``specmargin --debug`` shows it all.
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from specmargin.exceptions import InvalidInputError, SolverNotInstalledError
from specmargin.tables.commands import CommandGroup, echo, file_to_write, folder_to_write

__all__ = ["app", "main"]

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Semi-supervised large-margin learning on a table of your own, and proofs of saved results.",
    epilog="Begin with: specmargin compare FILE --target COLUMN.",
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from specmargin import __version__

        echo(f"specmargin {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks and log messages.")] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Say the version and stop.", callback=_tell_version, is_eager=True)
    ] = False,
) -> None:
    logging.basicConfig(level=logging.DEBUG if debug else logging.WARNING, format="%(levelname)s %(name)s: %(message)s")


@app.command(epilog="Example: specmargin verify minimum.npz")
def verify(
    files: Annotated[list[Path], typer.Argument(help="Files that sm.save_result has written.")],
    json_: Annotated[bool, typer.Option("--json", help="Write a list of JSON objects, one for each file.")] = False,
) -> None:
    """Prove again what files of results claim, of the problem and answer in them, by exact and interval arithmetic.

    Exit code 0 if all claims are proved, 1 if one is refuted or unproved, 2 if a file cannot be read or claims nothing.
    """
    import json

    from specmargin.proofs.files import verify_file

    rows = []
    for file in files:
        try:
            rows.append(verify_file(file))
        except SolverNotInstalledError as error:
            echo(f"Error: {error}", err=True)
            raise typer.Exit(2) from None  # 1 would say that a claim is refuted
        if not json_:
            echo(rows[-1].line())
    if json_:
        echo(json.dumps([row.as_json() for row in rows], indent=1, allow_nan=False))
    raise typer.Exit(max(row.exit_code for row in rows))


Target = Annotated[str, typer.Option("--target", help="The column of labels; rows with an empty one are unlabelled.")]
TextColumns = Annotated[list[str] | None, typer.Option("--text", help="A column to be read as text; several times.")]
Ignored = Annotated[list[str] | None, typer.Option("--ignore", help="A column not to be used; several times.")]
Unlabeled = Annotated[
    str | None, typer.Option("--unlabeled", help="A label that means 'no label', in addition to empty cells.")
]


Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="NAME=KIND",
        help="What a column is: number, date, category, text, id, ignore; several times, or a TOML file.",
    ),
]
Exact = Annotated[bool, typer.Option("--exact-labels", help="Labels that differ in capitals are several.")]
Names = Annotated[bool | None, typer.Option("--names/--no-names", help="Whether the first line holds names.")]


def _report(line: str) -> None:
    echo(line, err=True)


def _keep(read: Path, *written: Path) -> None:
    """Refuse to overwrite what is read."""
    for path in written:
        if path.exists() and read.exists() and path.samefile(read):
            raise InvalidInputError(f"{str(path)!r} is the file that is read, and would be overwritten; name another.")


@app.command(epilog="Example: specmargin compare patients.csv --target outcome --budget 120")
def compare(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet or npz file.")],
    target: Target,
    out: Annotated[Path | None, typer.Option("--out", help="Folder; default: the file's name and '-compared'.")] = None,
    budget: Annotated[float | None, typer.Option("--budget", help="Seconds; methods beyond it are skipped.")] = None,
    methods: Annotated[str | None, typer.Option("--methods", help="Names, with commas; a choice by default.")] = None,
    text: TextColumns = None,
    ignore: Ignored = None,
    columns: Columns = None,
    names: Names = None,
    exact: Exact = False,
    unlabeled: Unlabeled = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the folds and of random draws.")] = 0,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler, whose workers compute the methods.")
    ] = None,
    progress: Annotated[
        bool, typer.Option("--progress/--quiet", help="Lines of what is being done, on stderr.")
    ] = True,
) -> None:
    """Compare methods on a table with some labels, and say whether the unlabelled rows help.

    Writes page.html, table.csv, predictions.csv and model.npz. A run that was ended goes on where it stopped.
    """
    import sys

    from specmargin.tables import compare_file

    folder = folder_to_write("--out", file.with_name(f"{file.stem}-compared") if out is None else out)
    _keep(file, *(folder / name for name in ("page.html", "table.csv", "predictions.csv", "model.npz")))
    spread = None
    if scheduler is not None:
        from specmargin.tables.cluster import on_cluster

        spread = partial(on_cluster, address=scheduler)
    comparison = compare_file(
        file,
        target,
        folder=folder,
        budget=budget,
        methods=methods,
        text=text or (),
        ignore=ignore or (),
        columns=columns or (),
        names=names,
        exact=exact,
        unlabeled=unlabeled,
        random_state=seed,
        progress=_report if progress else None,
        spread=spread,
    )
    seen = progress and sys.stderr.isatty()  # what stands above on a terminal
    echo("\n".join(comparison.lines(table=not seen)))
    for path in comparison.save(folder):
        echo(f"written: {path}")


@app.command(epilog="Example: specmargin fit patients.csv --target outcome --method LabelSearch-LapRLS --out model.npz")
def fit(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet or npz file.")],
    target: Target,
    out: Annotated[Path, typer.Option("--out", help="The model file to be written.")] = Path("model.npz"),
    method: Annotated[str, typer.Option("--method", help="As for compare.")] = "AutoSSL",
    text: TextColumns = None,
    ignore: Ignored = None,
    columns: Columns = None,
    names: Names = None,
    exact: Exact = False,
    unlabeled: Unlabeled = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the folds and of random draws.")] = 0,
) -> None:
    """Fit one method to a table and write the model to a file, without pickle."""
    from specmargin.tables import fit_table, read_table, split_target
    from specmargin.tables.assessment.result import column_lines

    _keep(file, file_to_write("--out", out))
    table, labels = split_target(read_table(file, columns=columns or (), names=names), target, unlabeled)
    options: dict[str, Any] = {"text": text or (), "ignore": ignore or (), "exact": exact, "random_state": seed}
    fitted = fit_table(table, labels, method=method, unlabeled=None, target=target, **options)
    fitted.save(out)
    echo("\n".join([*column_lines(fitted.columns), *table.notes, repr(fitted), f"written: {out}"]))


@app.command(epilog="Example: specmargin predict model.npz new.csv --out predictions.csv")
def predict(
    model: Annotated[Path, typer.Argument(help="A file that compare or fit has written.")],
    file: Annotated[Path, typer.Argument(help="A table with the same columns; labels are not needed.")],
    out: Annotated[Path, typer.Option("--out", help="The CSV file to be written.")] = Path("predictions.csv"),
) -> None:
    """Predict the rows of a table: class and probabilities."""
    import warnings

    from specmargin.exceptions import SpecmarginWarning
    from specmargin.tables import predict_file

    for read in (file, model):
        _keep(read, file_to_write("--out", out))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecmarginWarning)  # they are notes of the predictions
        predictions = predict_file(model, file)
    predictions.to_csv(out)
    echo("\n".join([*(f"! {note}" for note in predictions.notes), repr(predictions), f"written: {out}"]))


def main() -> None:
    """Run the command line; ``specmargin`` itself is `specmargin.__main__`, which can speak without typer."""
    app(prog_name="specmargin")
