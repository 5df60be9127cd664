"""The command ``specmargin``, also as ``python -m specmargin``."""

from __future__ import annotations

import sys

__all__ = ["main"]

_NEEDED = ("click", "rich", "typer")


def main() -> None:
    """Run the command line, or say what has to be installed for it."""
    try:
        from specmargin.tables import cli
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        sys.exit(f"Error: the command line needs {error.name}; pip install 'specmargin[cli]'")
    cli.main()


if __name__ == "__main__":
    main()
