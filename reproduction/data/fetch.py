"""Real data sets by name: `load` finds, checks and reads them; `available` lists those that need no download.

An archive ``<name>.npz`` is looked for in one data folder (``data_home``, else the environment variable
``SPECMARGIN_DATA``) and then in the user's cache. It must have the sha256 of `reproduction.data.registry`,
so that a number in a table belongs to known data. Where no folder holds the archive but a public source is
left, `load` downloads and converts it (`reproduction.data.sources`); a converted file cannot have the
archive's sha256 and is checked against the one that was written next to it; `Dataset.is_published` tells the two
apart. The arrays of a file are checked as well (`reproduction.data.contents`).
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cvxproof.files import read_file
from reproduction.data.contents import read_archive
from reproduction.data.registry import LAYOUTS, REGISTRY, Entry
from specmargin.checks import among, instance, maybe, shown
from specmargin.datasets.synthetic import make_clock
from specmargin.exceptions import InvalidInputError, SpecmarginError
from specmargin.typing import AnyArray, IntArray, Matrix

__all__ = ["DATA_VARIABLE", "DataNotFoundError", "Dataset", "available", "cache_folder", "load"]

logger = logging.getLogger(__name__)

DATA_VARIABLE = "SPECMARGIN_DATA"
"""Environment variable that names the data folder."""
_WITHOUT_FILE = {"bundled": "scikit-learn", "formula": "formula"}


class DataNotFoundError(SpecmarginError, FileNotFoundError):
    """A data set is neither in the data folder nor in the cache, and cannot be downloaded."""

    def __str__(self) -> str:
        # FileNotFoundError would show only what looks like an errno.
        return str(self.args[0]) if self.args else ""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set with what is known about it.

    Parameters
    ----------
    name : str
        The same as in `load`.
    X : ndarray or CSR matrix of shape (n, d)
        Features, float64; MNIST alone stays uint8, which must be converted before arithmetic.
    y : ndarray of shape (n,)
        Classes counted from 0. In two-class sets the archive's -1 became 0 and its +1 became 1.
    classes : ndarray
        The values of y, sorted.
    scaling : str
        Units of the features.
    labeled_idx : ndarray of shape (n_splits, l) or None
        Published splits: a row holds the indices of the labelled samples, all others are unlabelled.
    sha256 : str or None
        Checksum of the file that was read; None for sets that come from a formula or with scikit-learn.
    source : str
        The file that was read, or how the set came about.
    extras : mapping
        Other contents: ``image_shape``, ``n_train``, ``class_names``, ``vocab``, ``X_test``,
        ``y_test``, ``W`` (the adjacency of a graph), ...
    """

    name: str
    X: Matrix
    y: IntArray
    classes: AnyArray
    scaling: str
    labeled_idx: IntArray | None = None
    sha256: str | None = None
    source: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_published(self) -> bool:
        """Whether the file is the published archive; False for a conversion of downloaded files, and without a file."""
        return self.sha256 is not None and self.sha256 == REGISTRY[self.name].sha256

    def __repr__(self) -> str:
        n, d = self.X.shape
        splits = "no published splits" if self.labeled_idx is None else f"{len(self.labeled_idx)} published splits"
        return f"{self.name}: {n} samples, {d} features, {len(self.classes)} classes, {splits}"


def cache_folder() -> Path:
    """Return the folder that downloads are kept in; it need not exist.

    Returns
    -------
    Path
        ``pooch.os_cache("specmargin")``, or ``~/.cache/specmargin`` where pooch is not installed.

    Examples
    --------
    >>> cache_folder().name
    'specmargin'
    """
    try:
        import pooch
    except ImportError:
        return Path.home() / ".cache" / "specmargin"
    return Path(pooch.os_cache("specmargin"))


def _folders(data_home: str | os.PathLike[str] | None) -> list[Path]:
    """Folders to look in: the first that was named, then the cache."""
    maybe(instance((str, os.PathLike), "pass the name of a folder, or None"))("data_home", data_home)
    named = data_home if data_home is not None else os.environ.get(DATA_VARIABLE) or None
    folders = [] if named is None else [Path(named).expanduser()]
    return [*folders, cache_folder()]


def _find(name: str, data_home: str | os.PathLike[str] | None) -> Path | None:
    return next((path for folder in _folders(data_home) if (path := folder / f"{name}.npz").is_file()), None)


def available(data_home: str | os.PathLike[str] | None = None) -> dict[str, str | None]:
    """Return where each known data set would come from, without reading or downloading it.

    Parameters
    ----------
    data_home : path, optional
        The data folder; default ``$SPECMARGIN_DATA``.

    Returns
    -------
    dict of str to str or None
        Place of each name: the path of its archive, ``"scikit-learn"`` or ``"formula"`` for sets that need none, and
        None where `load` would have to download or would fail.

    Examples
    --------
    >>> available()["digits"]
    'scikit-learn'
    """
    origins: dict[str, str | None] = {}
    for name, entry in REGISTRY.items():
        path = None if entry.source == "bundled" else _find(name, data_home)
        origins[name] = str(path) if path else _WITHOUT_FILE.get(entry.source)
    return origins


def load(name: str, *, data_home: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Return a data set by name.

    Parameters
    ----------
    name : str
        One of <names>.
    data_home : path, optional
        Folder with ``<name>.npz``; default ``$SPECMARGIN_DATA``. The user's cache is looked into last.
    download : bool, default True
        Whether to download what no folder holds (``mnist``, ``usps``, ``20news``, ``isolet``, ``cbcl_faces``;
        needs pooch). It goes to `data_home` if that was named and to the user's cache otherwise.

    Returns
    -------
    Dataset
        Two-class labels are 0 (the archive's -1) and 1, because -1 marks unlabelled samples in this package.

    Raises
    ------
    ValueError
        If the name is not known.
    DataNotFoundError
        If no folder holds the set and it cannot be downloaded. The text says which file goes where.
    SpecmarginError
        If the file is not the one that the registry knows, or cannot be read.

    Examples
    --------
    >>> load("digits")
    digits: 1797 samples, 64 features, 10 classes, no published splits
    """
    entry = REGISTRY.get(name) if isinstance(name, str) else None
    if entry is None:
        raise InvalidInputError(f"there is no data set {shown(name)}; take one of {among(name, REGISTRY)}")
    path = None if entry.source == "bundled" else _find(name, data_home)
    if path is None and entry.source in _WITHOUT_FILE:
        from sklearn.datasets import load_digits

        X, y = make_clock() if entry.source == "formula" else load_digits(return_X_y=True)
        return _dataset(entry, X, y.astype(np.intp), {}, source=_WITHOUT_FILE[entry.source])
    if path is None:
        path = _download(entry, data_home, download)
    content, digest = _checked(entry, path)
    X, y, labeled_idx, extras = read_archive(entry, content, path)
    logger.debug("read %s from %s", entry.name, path)
    return _dataset(entry, X, y, extras, labeled_idx=labeled_idx, sha256=digest, source=str(path))


if load.__doc__:  # which python -OO takes away
    load.__doc__ = load.__doc__.replace("<names>", ", ".join(f"``{name}``" for name in REGISTRY))


def _dataset(entry: Entry, X: Matrix, y: IntArray, extras: dict[str, Any], **origin: Any) -> Dataset:
    shape = {"image_shape": entry.image_shape} if entry.image_shape else {}
    return Dataset(entry.name, X, y, np.unique(y), entry.scaling, extras=extras | shape, **origin)


def _download(entry: Entry, data_home: str | os.PathLike[str] | None, download: bool) -> Path:
    if entry.source != "download":
        raise _not_found(entry, data_home, "no public source of it is left")
    if not download:
        raise _not_found(entry, data_home, "download=False forbids a download")
    from reproduction.data import sources

    folder = cache_folder() if data_home is None else Path(data_home).expanduser()
    try:
        return sources.fetch(entry.name, folder)
    except sources.SourceError as error:
        raise _not_found(entry, data_home, f"the download failed: {error}") from error


def _not_found(entry: Entry, data_home: str | os.PathLike[str] | None, why: str) -> DataNotFoundError:
    folders = _folders(data_home)
    return DataNotFoundError(
        f"the data set {entry.name!r} is not available: {why}. Looked for {entry.name}.npz in "
        f"{', '.join(map(str, folders))}. Put the file into {folders[0]}, or name its folder by data_home= "
        f"or the environment variable {DATA_VARIABLE}. It is a NumPy archive of "
        f"{LAYOUTS[entry.layout]}: {entry.summary}."
    )


def _checked(entry: Entry, path: Path) -> tuple[bytes, str]:
    """Content and sha256 of the file, which must be the registry's or the one recorded by a conversion."""
    content = read_file(path, str(path))
    digest = hashlib.sha256(content).hexdigest()
    expected = entry.sha256
    record = path.with_name(f"{path.name}.sha256")
    # A set that is published only as an archive has one sha256; a record next to it would admit any file.
    if digest != expected and entry.source == "download" and record.is_file():
        expected = read_file(record, str(record)).decode("ascii", "replace").strip()
    if digest != expected:
        raise SpecmarginError(
            f"{path} has the sha256 {digest}, but {expected} was expected: the file is damaged or another "
            f"version. Delete it{' and load again to download it' if entry.source == 'download' else ''}, or "
            "replace it by the published archive."
        )
    return content, digest
