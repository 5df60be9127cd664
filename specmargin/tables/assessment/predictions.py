"""The predicted class of every row, with probabilities: `Predictions`."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cvxproof.files import replace_file
from specmargin.checks import path as check_path
from specmargin.typing import AnyArray, BoolArray, FloatArray

__all__ = ["Predictions"]


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """Predicted classes of all rows of a table, in their order.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        Objects; none where the labels are numbers.
    probabilities : ndarray of shape (n, K)
        Probabilities of the classes; where the labels are numbers, the predictions (n, 1).
    labels : ndarray of shape (n,)
        What was given: objects, None for unlabelled rows.
    ids : dict of str to ndarray
        The column that names the rows, if there is one.
    notes : tuple of str
        What was strange about the rows.
    remarks : tuple of str
        The same for each row; empty where nothing was.

    Examples
    --------
    >>> import numpy as np
    >>> classes, labels = np.array(["no", "yes"], dtype=object), np.array([None, "yes"], dtype=object)
    >>> predictions = Predictions(classes, np.array([[0.8, 0.2], [0.3, 0.7]]), labels)
    >>> predictions.predicted.tolist(), predictions.labeled.tolist()
    (['no', 'yes'], [False, True])
    """

    classes: AnyArray
    probabilities: FloatArray
    labels: AnyArray
    ids: Mapping[str, AnyArray] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def predicted(self) -> AnyArray:
        """Most probable class of each row, (n,); or the number."""
        if not len(self.classes):
            return self.probabilities[:, 0]
        return self.classes[self.probabilities.argmax(axis=1)]

    @property
    def labeled(self) -> BoolArray:
        """Whether a row had a label, (n,)."""
        return np.array([label is not None for label in self.labels], dtype=bool)

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of the table of predictions by name: what a data frame is made of."""
        columns: dict[str, list[Any]] = {
            "row": list(range(1, len(self.labels) + 1)),
            **{name: ["" if value is None else value for value in values] for name, values in self.ids.items()},
            "labelled": ["yes" if known else "no" for known in self.labeled],
            "label": ["" if label is None else label for label in self.labels],
            "predicted": self.predicted.tolist(),
        }
        for k, name in enumerate(self.classes):
            columns[f"p({name})"] = [round(float(p), 6) for p in self.probabilities[:, k]]
        return {**columns, "remark": list(self.remarks)} if any(self.remarks) else columns

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file: row, labelled, label, predicted, and a probability for each class."""
        check_path("path", path)
        replace_file(Path(path), csv_bytes(self.columns()))

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        what = f"classes {self.classes.tolist()}" if len(self.classes) else "numbers"
        return f"Predictions({len(self)} rows, {int(self.labeled.sum())} labelled, {what})"


def csv_bytes(columns: Mapping[str, list[Any]]) -> bytes:
    """Return the columns as the bytes of a CSV file in UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().encode(errors="backslashreplace")
