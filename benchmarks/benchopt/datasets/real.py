"""Published sets of two classes, from the folder that SPECMARGIN_DATA names; left out by name where they are not."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from benchmark_utils.draws import with_hidden_labels
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """G50C, 550 samples of two Gaussians in 50 dimensions, and G10N, 550 of a non-linear problem in ten."""

    name = "real"
    requirements = ("numpy",)
    parameters = {"set_name": ["g50c", "g10n"], "per_class": [25], "seed": [0]}  # noqa: RUF012 - as benchopt asks

    def get_data(self) -> dict[str, Any]:
        """Return samples, labels and truth."""
        folder = os.environ.get("SPECMARGIN_DATA")
        path = Path(folder or "") / f"{self.set_name}.npz"
        if not (folder and path.is_file()):
            return {
                "X": None,
                "y": None,
                "truth": None,
                "missing": f"there is no {path.name} in the folder of SPECMARGIN_DATA",
            }
        with np.load(path) as held:
            X, classes = held["X"].astype(float), held["y"]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        return with_hidden_labels(X, np.where(classes == classes.max(), 1, -1), self.per_class, self.seed)
