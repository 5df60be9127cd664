"""Errors and warnings of the package.

`SpecmarginError` is the root of all of them. A bad argument raises `InvalidInputError`, which is a `ValueError`, or
`InvalidTypeError`, which is a `TypeError`, as users of scikit-learn expect; its text names the value and the remedy.
The full contract is the table in ``tests/contract/failure_contract.md``, which the tests enforce.

Every warning of the package's own is a `SpecmarginWarning` and says what to do. Where a solver stops early it is
scikit-learn's ConvergenceWarning. What the proofs of CVXPY problems raise as well is of `cvxproof`: one root serves
both.
"""

from __future__ import annotations

from cvxproof.exceptions import (
    BroadcastWarning,
    InfeasibleError,
    InvalidInputError,
    InvalidTypeError,
    NotWrittenError,
    SolverError,
    SolverNotInstalledError,
)
from cvxproof.exceptions import CvxproofError as SpecmarginError
from cvxproof.exceptions import CvxproofWarning as SpecmarginWarning

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


class MarkerWarning(SpecmarginWarning):
    """The marker of unlabelled samples probably has another meaning than the one that it is read with."""


class SavedVersionWarning(SpecmarginWarning):
    """A saved estimator was written by other versions than those that read it, or its eigenvectors are others here."""
