"""Two moons, with noise."""

from typing import Any

from benchmark_utils.draws import with_hidden_labels
from benchopt import BaseDataset
from sklearn.datasets import make_moons


class Dataset(BaseDataset):
    """Two half circles in the plane."""

    name = "two_moons"
    requirements = ("pip::scikit-learn",)
    parameters = {"n_samples": [100], "per_class": [5], "seed": [0]}  # noqa: RUF012 - benchopt asks for a dictionary

    def get_data(self) -> dict[str, Any]:
        """Return samples, labels and truth."""
        X, classes = make_moons(self.n_samples, noise=0.15, random_state=self.seed)
        return with_hidden_labels(X, 2 * classes - 1, self.per_class, self.seed)
