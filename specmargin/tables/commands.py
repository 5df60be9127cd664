"""What all commands of the command line share: how an error ends one, and what they print and write."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from specmargin.exceptions import InvalidInputError, SpecmarginError

__all__ = ["CommandGroup", "echo", "file_to_write", "folder_to_write"]

_PLACES = ("--data", "--out", "--results", "--figures")
"""Options that name a place; an empty one, of a variable that is not set, would be the current folder."""

# No fault of the program: what the computer or the folder lacks.
_ENVIRONMENT = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "ENOTDIR", "EISDIR", "EIO", "EMFILE")
    if hasattr(errno, name)
)


def echo(text: str, err: bool = False) -> None:
    """Print a text to the output, or to the error stream; what a terminal would obey is written out."""
    from specmargin.checks import visible

    typer.echo(visible(text), err=err)


def file_to_write(option: str, path: Path) -> Path:
    """Return a path that an option names, unless it is a folder: that is known before anything is computed."""
    if path.is_dir():
        raise InvalidInputError(f"{option} {str(path)!r} is a folder; name the file to be written.")
    return path


def folder_to_write(option: str, path: Path) -> Path:
    """Return a path that an option names, unless it, or what it lies in, is a file."""
    for place in (path, *path.parents):
        if place.exists() and not place.is_dir():
            raise InvalidInputError(f"{option} {str(path)!r}: {str(place)!r} is a file; name a folder to write into.")
    return path


class CommandGroup(TyperGroup):
    """Commands whose foreseen errors become messages."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse places without a name."""
        for option, value in zip(args, [*args, None][1:], strict=True):
            if (option in _PLACES and value == "") or option in [f"{place}=" for place in _PLACES]:
                ctx.fail(f"{option.rstrip('=')} is empty; name a file or a folder.")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; exit code 2 for a bad argument, 128 and the number of a signal, 1 for anything else."""
        from specmargin.interrupts import in_order

        try:
            with in_order():
                return super().invoke(ctx)
        except (SpecmarginError, ValueError) as error:
            if ctx.params.get("debug"):
                raise
            echo(f"Error: {error}", err=True)
            raise typer.Exit(2 if isinstance(error, ValueError) else 1) from None
        except ModuleNotFoundError as error:
            if ctx.params.get("debug") or (error.name or "").partition(".")[0] == "specmargin":
                raise
            echo(f"Error: {error}; pip install 'specmargin[cli]'", err=True)
            raise typer.Exit(1) from None
        except OSError as error:
            if ctx.params.get("debug") or error.errno not in _ENVIRONMENT:
                raise
            named = f" {str(error.filename)!r}" if error.filename else ""
            echo(f"Error: cannot use{named}: {error.strerror}. What was finished before is kept.", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt as interrupt:
            # A sweep says what it kept; anything else keeps what was written before.
            note = str(interrupt)
            if note in ("", "SIGTERM", "SIGHUP"):
                note = f"ended by {note}." if note else "interrupted."
            echo(note, err=True)
            raise typer.Exit(128 + getattr(interrupt, "number", 2)) from None
