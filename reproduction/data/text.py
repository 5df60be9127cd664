"""Large sparse text sets of the QN-S3VM paper, read from files of LIBSVM's (svmlight's) format in the data folder.

No archive of them is published that this package could hold a checksum of, and nothing is downloaded: put
``real-sim``, ``gcat``, ``ccat`` or ``aut-avn`` (also with the ending .svm, .txt, .bz2, .gz, .svm.bz2 or .svm.gz; the
names may have underscores) into the data folder. `find_text` tells whether a set is there, `load_text` reads it and
checks its published size.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reproduction.data.fetch import DATA_VARIABLE, DataNotFoundError, Dataset, _folders
from specmargin.checks import among, shown
from specmargin.exceptions import InvalidInputError, SpecmarginError

__all__ = ["TEXT_SETS", "TextSet", "find_text", "load_text"]

_ENDINGS = ("", ".svm", ".txt", ".bz2", ".gz", ".svm.bz2", ".svm.gz")


@dataclass(frozen=True)
class TextSet:
    """Published size of a set, and what it is."""

    n_samples: int
    n_features: int
    summary: str


TEXT_SETS: dict[str, TextSet] = {
    "real_sim": TextSet(72309, 20958, "SRAA newsgroups, real against simulated aviation and auto"),
    "gcat": TextSet(23149, 47236, "Reuters RCV1 training part, topic GCAT against the rest"),
    "ccat": TextSet(23149, 47236, "Reuters RCV1 training part, topic CCAT against the rest"),
    "aut_avn": TextSet(71175, 20707, "SRAA newsgroups, auto against aviation"),
}
"""The sets by name. The paper's table 1 gives 23,119 for the two of Reuters, but rows of its table 2 add to 23,149."""


def find_text(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Return the file of a set in the data folder or the user's cache, or None.

    Raises
    ------
    ValueError
        If the name is not known.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "real-sim.bz2").write_bytes(b"")
    ...     find_text("real_sim", folder).name
    'real-sim.bz2'
    """
    if not isinstance(name, str) or name not in TEXT_SETS:
        raise InvalidInputError(f"there is no text set {shown(name)}; take one of {among(name, TEXT_SETS)}")
    names = [base + ending for base in (name, name.replace("_", "-")) for ending in _ENDINGS]
    return next((path for folder in _folders(data_home) for file in names if (path := folder / file).is_file()), None)


def load_text(name: str, *, data_home: str | os.PathLike[str] | None = None) -> Dataset:
    r"""Return a large sparse text set.

    Parameters
    ----------
    name : {"real_sim", "gcat", "ccat", "aut_avn"}
        The set.
    data_home : path, optional
        Folder of the file; default ``$SPECMARGIN_DATA``. The user's cache is looked into last.

    Returns
    -------
    Dataset
        X in CSR with the features as they are in the file; y 0 for the smaller label and 1 for the larger one.

    Raises
    ------
    ValueError
        If the name is not known.
    DataNotFoundError
        If there is no such file.
    SpecmarginError
        If the file is not of that format, not of the published size, or has not two labels.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "ccat.txt").write_text("1 1:0.5\n-1 2:0.5\n")
    ...     load_text("ccat", data_home=folder)  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    cvxproof.exceptions.CvxproofError: ... holds 2 samples with 2 labels, but ccat has 23149 with 2: ...
    """
    path = find_text(name, data_home)
    known = TEXT_SETS[name]
    if path is None:
        folders = _folders(data_home)
        raise DataNotFoundError(
            f"the text set {name!r} is not available, and no public archive of it is known here. Looked for "
            f"{name}{{{','.join(_ENDINGS)}}} in {', '.join(map(str, folders))}. Put a file of svmlight's format (label "
            f"index:value ...) there, or name its folder by data_home= or the environment variable {DATA_VARIABLE}. "
            f"It holds {known.n_samples} x {known.n_features}: {known.summary}."
        )
    from sklearn.datasets import load_svmlight_file

    try:
        X, y = load_svmlight_file(str(path), n_features=known.n_features)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise SpecmarginError(f"{path} is not a file of svmlight's format ({error}); replace it.") from error
    if not (np.isfinite(X.data).all() and np.isfinite(y).all()):
        raise SpecmarginError(f"{path} holds features or labels that are not finite; replace it.")
    labels, classes = np.unique(y, return_inverse=True)
    if len(labels) != 2 or X.shape[0] != known.n_samples:
        raise SpecmarginError(
            f"{path} holds {X.shape[0]} samples with {len(labels)} labels, but {name} has {known.n_samples} with 2: "
            "it is another set or another version of it; replace it."
        )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    y = classes.astype(np.intp)
    return Dataset(name, X, y, np.array([0, 1]), "as in the file", None, digest, str(path))
