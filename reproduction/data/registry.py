"""What the real data sets are: one `Entry` each, read from ``registry.toml``, with the sha256 of its archive.

An archive is ``<name>.npz``, plain arrays without pickled objects. Dense: ``X`` and ``y``. Sparse: ``data``,
``indices``, ``indptr`` and ``shape`` of a CSR matrix, and ``y``. A graph: those parts of two matrices, ``X_...`` of
the features and ``W_...`` of the adjacency, ``y``, and the public splits ``train_idx``, ``val_idx``, ``test_idx`` as
they are. Where there are published splits, ``labeled_idx`` has a row of labelled indices per repetition. Read the
archives by `reproduction.data.load`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

__all__ = ["LAYOUTS", "REGISTRY", "Entry"]

LAYOUTS = {
    "dense": "X (n, d) and y (n,) [labeled_idx (splits, l), n_train]",
    "graph": "X_data, X_indices, X_indptr, X_shape and W_... of two CSR matrices, features and adjacency, and y (n,)",
    "sparse": "data, indices, indptr, shape of a CSR matrix, and y (n,) [labeled_idx, n_train, class_names]",
}


@dataclass(frozen=True)
class Entry:
    """A data set that `load` knows.

    Parameters
    ----------
    name : str
        File name without ``.npz``.
    summary : str
        Size, kind and origin in one line.
    scaling : str
        Units of the features.
    sha256 : str or None
        Checksum of the archive; None where there is none because the set comes with scikit-learn.
    layout : {"dense", "sparse", "graph"}
        Which arrays the archive holds.
    source : {"archive", "download", "formula", "bundled"}
        Source of the set when no folder holds it: nowhere, the network, a generator, scikit-learn.
    image_shape : tuple of int, optional
        Rows and columns of an image that is stored row by row.
    """

    name: str
    summary: str
    scaling: str
    sha256: str | None = None
    layout: Literal["dense", "sparse", "graph"] = "dense"
    source: Literal["archive", "download", "formula", "bundled"] = "archive"
    image_shape: tuple[int, int] | None = None


_FILE = Path(__file__).with_name("registry.toml")
REGISTRY = {
    name: Entry(name, **fields | {"image_shape": tuple(fields.get("image_shape", ())) or None})
    for name, fields in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}
"""The entries by name, as ``registry.toml`` lists them."""
