"""The constants of `specmargin.AutoSSL`, all in one place: `Constants`, and `CONSTANTS`, those in use.

They were chosen on half of the data sets that ``python -m reproduction tables auto_ssl`` names and confirmed on the
other half. Another set of constants is a copy with changes, ``dataclasses.replace(CONSTANTS, prior_labels=1.0)``.
"""

from __future__ import annotations

from dataclasses import dataclass

from specmargin.exceptions import InvalidInputError
from specmargin.labels.shares import CUT_LABELS

__all__ = ["CONSTANTS", "FAMILIES", "SUPERVISED", "Constants", "check_families"]

FAMILIES = ("graph", "pca", "lap", "s3vm", "sup", "svm")
"""Families of candidates; each has the same share of the prior weight, however many candidates it has."""

SUPERVISED = ("sup", "svm")
"""Those that ignore the unlabelled samples, but for the centre of all samples: the mixture of them is the baseline."""


def check_families(name: str, value: object) -> tuple[str, ...]:
    """Check names of families, one or several."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, tuple | list) or not given or any(one not in FAMILIES for one in given):
        raise InvalidInputError(f"{name}={value!r} must be one or several of {', '.join(FAMILIES)}.")
    return tuple(dict.fromkeys(given))


@dataclass(frozen=True)
class Constants:
    """What `AutoSSL` does not learn from the data.

    Parameters
    ----------
    rank : int
        Features of an ambient kernel at most.
    eigenpairs : int
        Eigenvectors of a graph at most.
    widths, text_widths : tuple of float
        Widths of the RBF kernels in units of the median distance; of text the second.
    text_share : float
        Share of entries that are not zero, below which features count as text.
    components : tuple of int
        Numbers of principal components of the family ``pca``.
    component_width : float
        Width of the RBF kernels on few components, in units of their median distance.
    graph_neighbors : tuple of int
        Neighbours of the graphs; those from `deformed_from` on also deform ambient kernels (the family ``lap``).
    large_neighbors : tuple of int
        The same for more than `large` samples.
    deformed_from : int
        Least neighbours of a graph that deforms ambient kernels.
    view_components : tuple of int
        Numbers of principal components in which further graphs are searched.
    view_neighbors : int
        Neighbours of those.
    powers, ratios : tuple
        Powers of the Laplacian, and ratios gamma_I / gamma_A, of the family ``lap``.
    deformed_width : float
        Width of the RBF kernel that graphs deform; of text the largest of `text_widths`.
    landmarks : int
        Landmarks of the RBF kernels; up to as many samples the kernels are exact.
    large : int
        Samples beyond which fewer graphs are built, on the leading principal components.
    whole : int
        Nodes of a graph without features up to which all eigenvectors take part.
    penalties : tuple of float
        Penalties of the ridge, in units of tr(G) / l.
    graph_penalties : tuple of float
        The same on a graph without features.
    Cs, few_Cs : tuple of float
        Weights of the hinge loss, with two classes and with more.
    folds : int
        Folds of the hinge loss at most.
    hinge_labels : int
        Labels beyond which no SVM is trained: the time of its folds grows with the square of their number.
    s3vm_C, s3vm_shares : float, tuple of float
        Weight of the loss of a label in the family ``s3vm``, and weights of all unlabelled samples together, in units
        of that of all labels.
    s3vm_rank, s3vm_folds : int
        Leading directions of the features in which it searches, and folds.
    pseudo_labels : float
        Pseudo-labels per class in the shares of the classes.
    intercept_labels : float
        Pseudo-labels that hold the intercept of the ridge.
    share_labels : float
        Labels of several classes up to which their shares alone decide the shares of the predictions; those of rare
        classes count less, `specmargin.tables.candidates.offsets.even_labels`.
    cut_labels : float
        Labels of two classes up to which the share above the cut of `specmargin.labels.shares.sparse_share` alone
        decides the shares of the predictions.
    prior : tuple of (str, float)
        Prior weight of each family.
    temperature : float
        What summed losses are divided by in the weights.
    agreement : float
        Power, with two classes, of the ratio of disagreements that multiplies the prior weights of the families that
        use the unlabelled samples, `specmargin.tables.candidates.agreement.disagreement_ratio`; 0 leaves them as is.
    sampled : int
        Samples from which thresholds are recomputed without a label.
    """

    rank: int = 300
    eigenpairs: int = 120
    widths: tuple[float, ...] = (0.25, 0.5, 1.0)
    text_widths: tuple[float, ...] = (0.5, 1.0)
    text_share: float = 0.05
    components: tuple[int, ...] = (2, 5, 10, 20, 50)
    component_width: float = 0.5
    graph_neighbors: tuple[int, ...] = (3, 5, 8, 50)
    large_neighbors: tuple[int, ...] = (5, 15, 50)
    deformed_from: int = 3
    view_components: tuple[int, ...] = (20,)
    view_neighbors: int = 10
    powers: tuple[int, ...] = (1, 4)
    ratios: tuple[float, ...] = (1e2, 1e4)
    deformed_width: float = 0.5
    landmarks: int = 300
    large: int = 5000
    whole: int = 1000
    penalties: tuple[float, ...] = (0.1, 1.0)
    graph_penalties: tuple[float, ...] = (0.1, 1.0, 100.0)
    Cs: tuple[float, ...] = (0.1, 1.0, 10.0, 100.0)
    few_Cs: tuple[float, ...] = (1.0, 10.0)
    folds: int = 10
    hinge_labels: int = 2000
    s3vm_C: float = 1.0
    s3vm_shares: tuple[float, ...] = (1.0, 4.0)
    s3vm_rank: int = 100
    s3vm_folds: int = 5
    pseudo_labels: float = 2.0
    intercept_labels: float = 10.0
    share_labels: float = 10.0
    cut_labels: float = CUT_LABELS
    prior: tuple[tuple[str, float], ...] = (
        ("graph", 2.0), ("pca", 1.0), ("lap", 1.0), ("s3vm", 1.0), ("sup", 1.0), ("svm", 1.0),
    )  # fmt: skip
    temperature: float = 2.5
    agreement: float = 5.0
    sampled: int = 1000


CONSTANTS = Constants()
"""The constants in use."""
