"""A fitted classifier of tables: preparation of the columns, estimator and classes; its predictions, and files of it.

A file holds arrays and JSON and no pickle. Estimators of the package are stored as `specmargin.save` does, the
preparation of the columns and classifiers of scikit-learn by skops.
"""

from __future__ import annotations

import csv
import io
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cvxproof.archive import read_archive, write_archive
from cvxproof.files import replace_file
from cvxproof.packing import contents_of
from specmargin.checks import path as check_path
from specmargin.estimators.storage import is_ours, pack_estimator, unpack_estimator
from specmargin.exceptions import SpecmarginWarning
from specmargin.tables.assessment.columns import as_texts, objects
from specmargin.tables.assessment.methods import FittedMethod
from specmargin.tables.assessment.preparation import Preparation, from_bytes, to_bytes
from specmargin.tables.assessment.table import as_table
from specmargin.typing import AnyArray, BoolArray, FloatArray

__all__ = ["KIND", "Predictions", "TableModel", "load_model"]


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


KIND = "table model"
"""Of the archives that hold a model."""
_AS_THEY_ARE = ("scale", "name", "target", "identifier", "columns", "names")
"""Fields that stand in a file as they are."""


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A classifier for tables with the same columns as those that it was fitted to.

    Parameters
    ----------
    preparation : Preparation
        Map from columns to features.
    fitted : FittedMethod
        The estimator, fitted to codes of the classes.
    classes_ : ndarray of shape (K,)
        Objects; none where the labels are numbers.
    scale : float
        Scale of decisions that are no probabilities.
    name : str
        Name of the method.
    target : str
        Name of the labels.
    identifier : str
        Name of the column that names the rows, "" if there is none.
    columns : list of dict
        What was read: see `specmargin.tables.assessment.roles.described`.
    names : bool
        Whether the file had a line of names.
    """

    preparation: Preparation
    fitted: FittedMethod
    classes_: AnyArray
    scale: float = 1.0
    name: str = ""
    target: str = "y"
    identifier: str = ""
    columns: list[dict[str, Any]] = field(default_factory=list)
    names: bool = True

    @property
    def estimator(self) -> Any:
        """The estimator on prepared features, fitted to the codes 0, 1, ... of ``classes_``."""
        return self.fitted.estimator

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities (m, K) of the rows of a table; of numbers, the predictions (m, 1)."""
        return self.predictions(X).probabilities

    def predict(self, X: Any) -> AnyArray:
        """Return the classes (m,) of the rows of a table, or numbers."""
        return self.predictions(X).predicted

    def predictions(self, X: Any, labels: AnyArray | None = None) -> Predictions:
        """Return classes and probabilities of the rows of a table, next to the labels that it has.

        Warns
        -----
        SpecmarginWarning
            If a cell cannot be read, or holds a value that the model does not know: it names column and row.
        """
        given = as_table(X)
        table, notes, remarks = self.preparation.read(given)
        for note in notes:
            warnings.warn(note, SpecmarginWarning, stacklevel=2)
        p = self.fitted.scores(self.preparation.transform(table), len(self.classes_))
        if len(self.classes_):
            p = self.fitted.probabilities(p, self.scale)
        labels = np.full(len(p), None, dtype=object) if labels is None else labels
        ids = {name: as_texts(given.cells[name]) for name in (self.identifier,) if name in given.cells}
        return Predictions(self.classes_, p, labels, ids, tuple(notes), tuple(remarks))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which `load_model` reads.

        Raises
        ------
        TypeError
            If the estimator is neither of this package nor of scikit-learn: no file can hold it without pickle.
        """
        prepared, arrays = self.preparation.state()
        arrays = {f"preparation/{name}": array for name, array in arrays.items()}
        header = {
            "preparation": prepared,
            "classes": self.classes_.tolist(),
            **{name: getattr(self, name) for name in _AS_THEY_ARE},
            "chosen": self.fitted.chosen,
            "estimator": _packed(self.estimator, arrays),
        }
        write_archive(path, KIND, header, arrays)

    def __repr__(self) -> str:
        what = f"classes {self.classes_.tolist()}" if len(self.classes_) else "numbers"
        return f"TableModel({self.name}: {self.fitted.chosen}; {what})"


def load_model(path: str | os.PathLike[str]) -> TableModel:
    """Read a model from a file of `TableModel.save`; nothing in the file is executed.

    Raises
    ------
    ValueError
        If there is no such file, or it is foreign, truncated, or was changed after it was written.

    Examples
    --------
    >>> import tempfile
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=80, noise=0.1, random_state=0)
    >>> model = sm.tables.fit_table(X, sm.hide_labels(y_true, per_class=6, random_state=0))
    >>> path = f"{tempfile.mkdtemp()}/moons.npz"
    >>> model.save(path)
    >>> bool((load_model(path).predict(X) == model.predict(X)).all())
    True
    """
    header, arrays = read_archive(path, KIND)
    with contents_of(path):
        at = "preparation/"
        own = {name.removeprefix(at): array for name, array in arrays.items() if name.startswith(at)}
        preparation = Preparation.from_state(header["preparation"], own)
        fitted = FittedMethod(_unpacked(header["estimator"], arrays), header["chosen"])
        own_fields = {name: header[name] for name in _AS_THEY_ARE}
        return TableModel(preparation, fitted, objects(header["classes"]), **own_fields)


def _packed(estimator: Any, arrays: dict[str, AnyArray]) -> dict[str, Any]:
    """Return an estimator as JSON, and put its arrays among the others."""
    if is_ours(estimator):
        return {"kind": "package", **pack_estimator(estimator, arrays, "estimator/")}
    arrays["skops"] = to_bytes(estimator)
    return {"kind": "skops"}


def _unpacked(packed: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    return from_bytes(arrays["skops"]) if packed["kind"] == "skops" else unpack_estimator(packed, arrays)
