"""What all commands of the command line share: how an error ends one."""

from __future__ import annotations

import errno
from typing import Any

import typer
from typer.core import TyperGroup

from specmargin.exceptions import SpecmarginError

__all__ = ["CommandGroup"]

# No fault of the program: what the computer or the folder lacks.
_ENVIRONMENT = frozenset(
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "ENOTDIR", "EISDIR", "EIO", "EMFILE")
    if hasattr(errno, name)
)


class CommandGroup(TyperGroup):
    """Commands whose foreseen errors become messages."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; exit code 2 for a bad argument, 128 and the number of a signal, 1 for anything else."""
        from specmargin.experiments.engine.processes import in_order

        try:
            with in_order():
                return super().invoke(ctx)
        except (SpecmarginError, ValueError) as error:
            if ctx.params.get("debug"):
                raise
            typer.echo(f"Error: {error}", err=True)
            raise typer.Exit(2 if isinstance(error, ValueError) else 1) from None
        except ModuleNotFoundError as error:
            if ctx.params.get("debug") or (error.name or "").partition(".")[0] == "specmargin":
                raise
            typer.echo(f"Error: {error}; pip install 'specmargin[data,experiments,cli]'", err=True)
            raise typer.Exit(1) from None
        except OSError as error:
            if ctx.params.get("debug") or error.errno not in _ENVIRONMENT:
                raise
            named = f" {str(error.filename)!r}" if error.filename else ""
            typer.echo(f"Error: cannot use{named}: {error.strerror}. What was finished before is kept.", err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt as interrupt:
            # A sweep says what it kept; anything else keeps what was written before.
            note = str(interrupt)
            if note in ("", "SIGTERM", "SIGHUP"):
                note = f"ended by {note}." if note else "interrupted."
            typer.echo(note, err=True)
            raise typer.Exit(128 + getattr(interrupt, "number", 2)) from None
