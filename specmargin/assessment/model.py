"""A fitted classifier of tables: preparation of the columns, estimator and classes; `fit_table`, and files of it.

A file holds arrays and JSON and no pickle. Estimators of the package are stored as `specmargin.save` does; the tuned
SVM and the majority class as the labelled rows and the parameters, from which they are fitted again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from specmargin.archive import read_archive, write_archive
from specmargin.arrays import sparse_from_parts
from specmargin.assessment.methods import FittedMethod
from specmargin.assessment.predictions import Predictions
from specmargin.assessment.preparation import Preparation
from specmargin.assessment.table import as_table
from specmargin.assessment.tuned_svm import TunedSVM
from specmargin.estimators.storage import pack_estimator, unpack_estimator
from specmargin.objectives.calibration import class_probabilities
from specmargin.proofs.packing import contents_of
from specmargin.typing import AnyArray, FloatArray

__all__ = ["KIND", "TableModel", "load_model"]

KIND = "table model"
"""Of the archives that hold a model."""


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A classifier for tables with the same columns as those that it was fitted to.

    Parameters
    ----------
    preparation : Preparation
        From columns to features.
    fitted : FittedMethod
        The estimator, fitted to codes of the classes.
    classes_ : ndarray of shape (K,)
        Objects.
    scale : float
        Of decisions that are no probabilities.
    name : str
        Of the method.
    target : str
        Name of the labels.
    """

    preparation: Preparation
    fitted: FittedMethod
    classes_: AnyArray
    scale: float = 1.0
    name: str = ""
    target: str = "y"

    @property
    def estimator(self) -> Any:
        """The estimator on prepared features, fitted to the codes 0, 1, ... of ``classes_``."""
        return self.fitted.estimator

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities (m, K) of the rows of a table."""
        features = self.preparation.transform(as_table(X))
        scores = self.fitted.scores(features, len(self.classes_))
        p = np.exp(scores) if self.fitted.is_calibrated else class_probabilities(self.scale * scores)
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> AnyArray:
        """Return the classes (m,) of the rows of a table."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def predictions(self, X: Any, labels: AnyArray | None = None) -> Predictions:
        """Return classes and probabilities of the rows of a table, next to the labels that it has."""
        p = self.predict_proba(X)
        return Predictions(self.classes_, p, np.full(len(p), None, dtype=object) if labels is None else labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, which `load_model` reads.

        Raises
        ------
        TypeError
            If the estimator is a foreign one, which no file can hold without pickle.
        """
        prepared, arrays = self.preparation.state()
        arrays = {f"preparation/{name}": array for name, array in arrays.items()}
        header = {
            "preparation": prepared,
            "classes": self.classes_.tolist(),
            "scale": self.scale,
            "name": self.name,
            "target": self.target,
            "chosen": self.fitted.chosen,
            "estimator": _packed(self.estimator, arrays),
        }
        write_archive(path, KIND, header, arrays)

    def __repr__(self) -> str:
        return f"TableModel({self.name}: {self.fitted.chosen}; classes {self.classes_.tolist()})"


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
    >>> model = sm.assessment.fit_table(X, sm.hide_labels(y_true, per_class=6, random_state=0))
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
        classes = np.empty(len(header["classes"]), dtype=object)
        classes[:] = header["classes"]
        fitted = FittedMethod(_unpacked(header["estimator"], arrays), header["chosen"])
        return TableModel(preparation, fitted, classes, header["scale"], header["name"], header["target"])


def _packed(estimator: Any, arrays: dict[str, AnyArray]) -> dict[str, Any]:
    """Return an estimator as JSON, and put its arrays among the others."""
    if isinstance(estimator, TunedSVM):
        X = estimator.X_
        if sp.issparse(X):
            arrays |= {"svm/data": X.data, "svm/indices": X.indices, "svm/indptr": X.indptr}
        else:
            arrays["svm/X"] = np.asarray(X)
        arrays |= {"svm/y": estimator.y_}
        return {"kind": "svm", "shape": list(X.shape), "chosen": estimator.chosen_, "options": estimator.options_}
    if type(estimator).__name__ == "DummyClassifier":
        arrays["prior"] = np.asarray(estimator.class_prior_)
        arrays["classes"] = np.asarray(estimator.classes_)
        return {"kind": "majority"}
    return {"kind": "package", **pack_estimator(estimator, arrays, "estimator/")}


def _unpacked(packed: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    if packed["kind"] == "svm":
        if "svm/X" in arrays:
            X: Any = arrays["svm/X"]
        else:
            parts = (arrays["svm/data"], arrays["svm/indices"], arrays["svm/indptr"])
            X = sparse_from_parts("svm", parts, packed["shape"])
        return TunedSVM.refitted(X, arrays["svm/y"], packed["options"], packed["chosen"])
    if packed["kind"] == "majority":
        from sklearn.dummy import DummyClassifier

        # One sample per class, weighted by its share.
        dummy = DummyClassifier(strategy="prior")
        n = len(arrays["classes"])
        return dummy.fit(np.zeros((n, 1)), arrays["classes"], sample_weight=arrays["prior"])
    return unpack_estimator(packed, arrays)
