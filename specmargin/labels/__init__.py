"""Labels of a partly labelled sample.

Above this package a *marker* tells which samples have no label (-1 by scikit-learn's convention, or any scalar
that the caller names). Below it there are no markers: `encode_labels` turns ``y`` into `Labels`, and the
objectives read signs in {-1, +1} at the indices of the labelled samples. The marker is never guessed.
"""

from specmargin.labels.encoding import Labels, encode_labels, hide_labels, several
from specmargin.labels.markers import is_unlabeled, label_array, label_vector, warn_of_marker
from specmargin.labels.targets import Targets, encode_targets

__all__ = [
    "Labels",
    "Targets",
    "encode_labels",
    "encode_targets",
    "hide_labels",
    "is_unlabeled",
    "label_array",
    "label_vector",
    "several",
    "warn_of_marker",
]
