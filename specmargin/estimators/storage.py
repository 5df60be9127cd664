"""Estimators in files, without pickle: `save` and `load`.

A file is a `cvxproof.archive`: arrays and a JSON header with checksums. It holds the parameters, the fitted
attributes and what predictions of new samples need, and nothing that could be executed; `specmargin.estimators`'
`_object_graph` says which classes can be in it. What pickles leave out, files leave out, too.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import Any

from sklearn.base import BaseEstimator

from cvxproof.archive import read_archive, write_archive
from cvxproof.packing import contents_of, package_versions
from specmargin.checks import shown
from specmargin.estimators._base.object_graph import FOREIGN, Reader, Writer, class_name, known_classes
from specmargin.exceptions import InvalidInputError, InvalidTypeError, SavedVersionWarning
from specmargin.typing import AnyArray

__all__ = ["KIND", "is_ours", "known_classes", "load", "pack_estimator", "save", "unpack_estimator"]

KIND = "estimator"
"""Of the archives that hold an estimator."""

_CONTENTS_VERSION = 2
"""Version of what such a file holds: raised when a later package could not predict from it."""

_PACKAGES = ("specmargin", "numpy", "scipy", "scikit-learn")
_COMPARED = ("specmargin", "scikit-learn")
"""Packages whose versions decide how an estimator predicts."""


def save(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Write an estimator, fitted or not, to a file that `load` reads.

    Parameters
    ----------
    estimator : estimator
        One of the package. Of a pipeline of scikit-learn save the step that is one, and the others with a tool of
        their own, such as skops.
    path : str or path
        The file, such as "model.npz"; its folder must exist. A file of that name is replaced.

    Raises
    ------
    TypeError
        If `estimator` is none of the package, or a parameter is a function, a random generator or an object of a class
        of one's own, which no file can hold without code. The text names the parameter and what to set instead.
    ValueError
        If the folder does not exist, or the path is one.

    Examples
    --------
    >>> import tempfile
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> clf = sm.LapSVM().fit(X, sm.hide_labels(y_true, per_class=3, random_state=0))
    >>> path = f"{tempfile.mkdtemp()}/moons.npz"
    >>> sm.save(clf, path)
    >>> again = sm.load(path)
    >>> bool((again.decision_function(X) == clf.decision_function(X)).all()), again.get_params() == clf.get_params()
    (True, True)
    """
    if isinstance(estimator, str | os.PathLike):
        raise InvalidTypeError(f"estimator={shown(estimator)} is a path; pass it last, save(estimator, path).")
    arrays: dict[str, AnyArray] = {}
    write_archive(path, KIND, pack_estimator(estimator, arrays), arrays)


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator from a file of `save`.

    Nothing in the file is executed, and only classes that the package keeps data in are made.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        Estimator with the parameters and the fitted attributes that were saved. Predictions are the same to the last
        bit with the same packages on the same computer.

    Raises
    ------
    ValueError
        If there is no such file, or it is foreign, truncated, of a newer version, holds something else, or was changed
        after it was written. The text says which.

    Warns
    -----
    SavedVersionWarning
        If another version of specmargin or of scikit-learn wrote the file.

    Examples
    --------
    `save` has one for a fitted estimator. One that is not fitted is its parameters:

    >>> import tempfile
    >>> import specmargin as sm
    >>> path = f"{tempfile.mkdtemp()}/settings.npz"
    >>> sm.save(sm.STORM(C=10.0, graph=[sm.graphs.KNN(5), sm.graphs.KNN(10)]), path)
    >>> sm.load(path)
    STORM(C=10.0, graph=[KNN(n_neighbors=5), KNN(n_neighbors=10)])
    """
    header, arrays = read_archive(path, KIND)
    with contents_of(path):
        estimator = unpack_estimator(header, arrays)
        _warn_of_versions(path, header["versions"])
        return estimator


def pack_estimator(estimator: Any, arrays: dict[str, AnyArray], at: str = "") -> dict[str, Any]:
    """Return an estimator as JSON, and put its arrays into `arrays` under names that begin with `at`.

    For files that hold more than an estimator; `save` writes what this returns.

    Raises
    ------
    TypeError
        As `save`.
    """
    _require_ours(estimator)
    for name, value in estimator.get_params(deep=False).items():
        Writer().packed(value, name)  # what no file can hold is called by the name of its parameter
    writer = Writer()
    root = writer.packed(estimator, at.rstrip("/"))
    arrays.update(writer.arrays)
    return {
        "contents_version": _CONTENTS_VERSION,
        "class": type(estimator).__name__,
        "versions": package_versions(*_PACKAGES),
        "root": root,
        "objects": writer.objects,
    }


def unpack_estimator(packed: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Any:
    """Return the estimator that `pack_estimator` was given.

    Raises
    ------
    ValueError
        If it is of a newer version, or no estimator.
    """
    version = packed["contents_version"]
    if not isinstance(version, int) or version > _CONTENTS_VERSION:
        raise InvalidInputError(
            f"it holds an estimator in the version {version!r}, written by specmargin "
            f"{packed['versions']['specmargin']}, and this one reads up to {_CONTENTS_VERSION}; use a newer one."
        )
    estimator = Reader(packed["objects"], arrays).unpacked(packed["root"])
    if not is_ours(estimator):
        kind = type(estimator).__name__
        raise InvalidInputError(f"what it holds is a {kind}, which is no estimator; pass a file of sm.save.")
    return estimator


def is_ours(value: Any) -> bool:
    """Whether a value is an estimator of the package, which files of `save` can hold."""
    return isinstance(value, BaseEstimator) and class_name(type(value)) not in (None, *FOREIGN)


def _require_ours(estimator: Any) -> None:
    if is_ours(estimator):
        return
    cls = type(estimator)
    what, remedy = f"is of the class {cls.__module__}.{cls.__qualname__}", "pass an estimator of specmargin"
    if isinstance(estimator, type):
        what, remedy = "is a class", f"pass an estimator, {estimator.__name__}(...)"
    elif hasattr(estimator, "steps"):
        remedy = "pass its fitted step, estimator[-1] for the last, or save the whole with skops.io.dump"
    elif hasattr(estimator, "get_params"):
        remedy = "pass the estimator that it holds (best_estimator_ of a search), or save the whole with skops"
    raise InvalidTypeError(f"estimator={shown(estimator)} {what}, which is not the package's; {remedy}.")


def _warn_of_versions(path: Any, versions: Mapping[str, Any]) -> None:
    ours = package_versions(*_PACKAGES)
    other = [f"{name} {versions[name]}, not {ours[name]}" for name in _COMPARED if versions[name] != ours[name]]
    if other:
        warnings.warn(
            f"path={str(path)!r} was written with {' and '.join(other)}: what it predicts may differ from then. Fit "
            "again, or install that version, where it has to be the same.",
            SavedVersionWarning,
            stacklevel=3,
        )
