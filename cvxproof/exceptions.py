"""Errors and warnings of the package.

`CvxproofError` is the root of all of them. A bad argument raises `InvalidInputError`, which is a `ValueError`, or
`InvalidTypeError`, which is a `TypeError`; its text names the value and the remedy. Every warning of the package's own
is a `CvxproofWarning` and says what to do.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BroadcastWarning",
    "CvxproofError",
    "CvxproofWarning",
    "InfeasibleError",
    "InvalidInputError",
    "InvalidTypeError",
    "NotWrittenError",
    "SolverError",
    "SolverNotInstalledError",
]


class CvxproofError(Exception):
    """Root of the package's own errors."""


class InvalidInputError(CvxproofError, ValueError):
    """An argument has a value that cannot be used; the text names it and says what to do."""


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument is of a kind that cannot be used: an `InvalidInputError` that is a TypeError, too."""


class SolverError(CvxproofError):
    """A solve ended without a usable answer.

    Parameters
    ----------
    message : str
        What happened and what to do.
    result : SolveResult, optional
        What the solver returned: status, history, attempts. (No type says so: results import the errors.)
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class InfeasibleError(SolverError):
    """The constraints admit no point (or the objective is unbounded on them)."""


class SolverNotInstalledError(CvxproofError, ImportError):
    """The named solver is not installed, or CVXPY does not know it."""


class NotWrittenError(CvxproofError, OSError):
    """A file could not be written: the disk is full, or the folder cannot be written into; the text says what is kept.

    Parameters
    ----------
    errno : int
        Number of the system's error.
    message : str
        Text that says where, why, and what is kept.
    """

    def __str__(self) -> str:
        return str(self.args[-1]) if self.args else ""


class CvxproofWarning(UserWarning):
    """Root of the package's own warnings."""


class BroadcastWarning(CvxproofWarning):
    """A term of a CVXPY problem combines each of n entries with each of n others, where pairs are probably meant."""
