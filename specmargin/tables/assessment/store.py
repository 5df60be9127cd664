"""Finished rows of a comparison in files, so that a run that was ended goes on: `RowStore`."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cvxproof.archive import read_archive, write_archive
from specmargin import __version__
from specmargin.exceptions import InvalidInputError
from specmargin.tables.assessment.evaluation import Outcome
from specmargin.tables.assessment.methods import Method
from specmargin.typing import IntArray, Matrix

__all__ = ["RowStore"]

_logger = logging.getLogger(__name__)

_KIND = "row of a comparison"
_VERSION = 1
"""Of what an outcome means: a change of it makes all files void."""


class RowStore:
    """Outcomes of methods on one set of data.

    Parameters
    ----------
    folder : path or None
        Folder of the files; None keeps nothing.
    X : {ndarray, sparse matrix} of shape (n, d)
    codes : ndarray of shape (n,)
    seed : int
    """

    def __init__(self, folder: str | os.PathLike[str] | None, X: Matrix, codes: IntArray, seed: int) -> None:
        self.folder = None if folder is None else Path(folder) / "rows"
        self._data = _digest(X, codes, seed) if folder is not None else ""

    def path(self, method: Method) -> Path | None:
        """Return the file of a method."""
        if self.folder is None:
            return None
        key = hashlib.sha256(f"{self._data} {method.settings}".encode()).hexdigest()[:16]
        return self.folder / f"{re.sub(r'[^A-Za-z0-9]+', '_', method.name)}-{key}.npz"

    def read(self, method: Method) -> Outcome | None:
        """Return the outcome of a method for the same data, settings and version; None if there is none."""
        path = self.path(method)
        if path is None or not path.exists():
            return None
        try:
            header, arrays = read_archive(path, _KIND)
            return Outcome(
                method.name,
                method.title,
                is_supervised=method.is_supervised,
                held_out=arrays["held_out"],
                probabilities=arrays["probabilities"],
                **header,
            )
        except (InvalidInputError, KeyError, TypeError) as error:
            _logger.warning("the row of %s is computed again: %s", method.title, error)
            return None

    def write(self, method: Method, outcome: Outcome) -> None:
        """Keep an outcome; where it cannot be written, a warning says so, and the comparison goes on."""
        path = self.path(method)
        if path is None or not outcome.was_run:
            return
        header: dict[str, Any] = {
            name: getattr(outcome, name) for name in ("judged", "chosen", "seconds", "peak_bytes", "scale", "notes")
        }
        arrays = {"held_out": np.asarray(outcome.held_out), "probabilities": np.asarray(outcome.probabilities)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_archive(path, _KIND, header, arrays)
        except OSError as error:
            _logger.warning("the row of %s is not kept for a later run: %s", method.title, error)


def _digest(X: Matrix, codes: IntArray, seed: int) -> str:
    digest = hashlib.sha256(f"{__version__} {_VERSION} {seed} {X.shape}".encode())
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    for part in (*parts, codes):
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
