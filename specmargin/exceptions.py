"""Errors and warnings of the package.

`SpecmarginError` is the root of all of them. A bad argument raises `InvalidInputError`, which is a `ValueError`, or
`InvalidTypeError`, which is a `TypeError`, as users of scikit-learn expect; its text names the value and the remedy.
The full contract is the table in ``docs/failure_contract.md``, which the tests enforce.

Every warning of the package's own is a `SpecmarginWarning` and says what to do. Where a solver stops early it is
scikit-learn's ConvergenceWarning.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BroadcastWarning",
    "ClassShareWarning",
    "ColumnScaleWarning",
    "DisconnectedGraphWarning",
    "EigenspaceWarning",
    "InfeasibleError",
    "InvalidInputError",
    "InvalidTypeError",
    "MarkerWarning",
    "NotWrittenError",
    "SavedVersionWarning",
    "SingleClassWarning",
    "SolverError",
    "SolverNotInstalledError",
    "SpecmarginError",
    "SpecmarginWarning",
    "UndecidedWarning",
]


class SpecmarginError(Exception):
    """Root of the package's own errors."""


class InvalidInputError(SpecmarginError, ValueError):
    """An argument has a value that cannot be used; the text names it and says what to do."""


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument is of a kind that cannot be used: an `InvalidInputError` that is a TypeError, too."""


class SolverError(SpecmarginError):
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


class SolverNotInstalledError(SpecmarginError, ImportError):
    """The named solver is not installed, or CVXPY does not know it."""


class NotWrittenError(SpecmarginError, OSError):
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


class SpecmarginWarning(UserWarning):
    """Root of the package's own warnings."""


class DisconnectedGraphWarning(SpecmarginWarning):
    """The graph has isolated nodes, several components, or a component without a labelled point."""


class SingleClassWarning(SpecmarginWarning):
    """A classifier with labels of several classes predicts one class for all training samples, or all unlabelled ones.

    Of the unlabelled samples alone it is given where they are too many to be of one class by chance.
    """


class ClassShareWarning(SpecmarginWarning):
    """A classifier predicts shares of the classes that are far from those of the labels."""


class UndecidedWarning(SpecmarginWarning):
    """Decisions of unlabelled samples are equal for several classes, up to rounding: which one they get is a rule."""


class EigenspaceWarning(SpecmarginWarning):
    """Eigenvalues of a graph are equal, and the answer depends on which of their eigenvectors are used."""


class ColumnScaleWarning(SpecmarginWarning):
    """Columns of the features differ in scale so much that distances see the large ones only."""


class BroadcastWarning(SpecmarginWarning):
    """A term of a CVXPY problem combines each of n entries with each of n others, where pairs are probably meant."""


class MarkerWarning(SpecmarginWarning):
    """The marker of unlabelled samples probably has another meaning than the one that it is read with."""


class SavedVersionWarning(SpecmarginWarning):
    """A saved estimator was written by another version of the package or of scikit-learn than the one that reads it."""
