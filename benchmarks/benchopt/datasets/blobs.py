"""Two clouds that overlap, in ten dimensions."""

from typing import Any

from benchmark_utils.draws import with_hidden_labels
from benchopt import BaseDataset
from sklearn.datasets import make_blobs


class Dataset(BaseDataset):
    """Two Gaussian clouds."""

    name = "blobs"
    requirements = ("pip::scikit-learn",)
    parameters = {"n_samples": [100], "per_class": [5], "seed": [0]}  # noqa: RUF012 - benchopt asks for a dictionary

    def get_data(self) -> dict[str, Any]:
        """Return samples, labels and truth."""
        X, classes = make_blobs(self.n_samples, 10, centers=2, cluster_std=5.0, random_state=self.seed)
        return with_hidden_labels(X, 2 * classes - 1, self.per_class, self.seed)
