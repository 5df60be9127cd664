"""`diagnose`: what the graph over the samples looks like, and which assumption of semi-supervised learning holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from specmargin.checks import AsText, checked, count, seed
from specmargin.graphs import components, knn_graph
from specmargin.graphs.neighbors import METRIC
from specmargin.graphs.node_names import in_one_order
from specmargin.labels import warn_of_marker
from specmargin.tables.diagnosis.evidence import Evidence, evidence
from specmargin.tables.diagnosis.facts import Columns, Distances, Purity, column_facts, distance_facts, purity
from specmargin.tables.diagnosis.graph_facts import (
    SHOWN,
    Connectivity,
    Degrees,
    Gap,
    connectivity,
    degree_facts,
    edges_between,
    eigenpairs,
    embedding,
    integer_seed,
    largest_gap,
    nearest_labels,
    read_labels,
    read_samples,
)
from specmargin.tables.diagnosis.text import advise, diagnosis_lines, judge
from specmargin.typing import FloatArray, IntArray

if TYPE_CHECKING:
    from specmargin.tables.plots.diagnosis import DiagnosisDisplay

__all__ = ["Diagnosis", "diagnose"]


@dataclass(frozen=True, eq=False)
class Diagnosis(AsText):
    """What samples, graph and labels look like, and which assumption they support; made by `diagnose`.

    ``print(diagnosis)`` is a text of some fifteen lines, `plot` draws four panels, `to_dict` is for JSON.

    Parameters
    ----------
    n_samples, n_labeled : int
    label_counts : dict of class to int
    n_neighbors : int or None
        k of the graph; None where it was given.
    metric : str
    columns : Columns or None
        Scales and copies; None without features, and under precomputed distances.
    distances : Distances or None
        Whether distances tell samples apart; None without features.
    connectivity : Connectivity
        Components of the graph.
    degrees : Degrees
        Degrees and hubs.
    gap : Gap
        Eigenvalues of the normalised Laplacian and their largest gap.
    edges : Purity
        Classes along the edges between labelled samples.
    nearest : Purity
        Classes of labelled samples and of their nearest labelled neighbours.
    evidence : Evidence or None
        Decisions at left-out labels; None without two classes of labels.
    verdict : {"clusters", "manifold", "none", "cannot tell"}
        The assumption that the labels support.
    reason : str
        Why, in a sentence.
    advice : tuple of str
        What to do, a sentence each; often nothing.
    embedding : ndarray of shape (n, 2)
        Two eigenvectors, for the picture.
    counts : ndarray of shape (n,)
        How many samples list each among their nearest neighbours; of a given graph the degrees.
    labeled, codes : ndarray of shape (l,)
        Indices and classes of the labelled samples, as indices into the keys of `label_counts`.
    """

    n_samples: int
    n_labeled: int
    label_counts: dict[Any, int]
    n_neighbors: int | None
    metric: str
    columns: Columns | None
    distances: Distances | None
    connectivity: Connectivity
    degrees: Degrees
    gap: Gap
    edges: Purity
    nearest: Purity
    evidence: Evidence | None
    verdict: str
    reason: str
    advice: tuple[str, ...]
    embedding: FloatArray = field(repr=False)
    counts: IntArray = field(repr=False)
    labeled: IntArray = field(repr=False)
    codes: IntArray = field(repr=False)

    def __str__(self) -> str:
        return "\n".join(diagnosis_lines(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the arrays of one entry per sample, as numbers, texts, lists and dicts for JSON."""
        arrays = {"embedding", "counts", "labeled", "codes"}
        parts = {name: _plain(value) for name, value in self.__dict__.items() if name not in arrays}
        parts["label_counts"] = {str(name): count for name, count in self.label_counts.items()}
        return parts

    def plot(self, axes: Any = None) -> DiagnosisDisplay:
        """Draw four panels: graph and labels in the plane, eigenvalues, hubs, and purities against chance.

        Parameters
        ----------
        axes : sequence of four Axes, optional
            Axes to draw on; a new pyplot figure by default.

        Returns
        -------
        specmargin.tables.plots.DiagnosisDisplay
            Display with ``figure_`` and ``axes_``.
        """
        from specmargin.tables.plots.diagnosis import DiagnosisDisplay

        return DiagnosisDisplay(self).plot(axes)


@checked(n_neighbors=count(1), metric=METRIC, random_state=seed)
def diagnose(
    X: Any = None,
    y: npt.ArrayLike | None = None,
    graph: Any = None,
    *,
    n_neighbors: int = 10,
    metric: Any = "euclidean",
    unlabeled: Any = -1,
    random_state: Any = 0,
) -> Diagnosis:
    r"""Look at samples, their graph of neighbours and their labels before anything is learned.

    Semi-supervised learning helps where unlabelled samples say something about the classes: where classes lie apart
    with few samples between them (clusters), or are smooth along the graph of neighbours (manifold). `diagnose` counts
    what speaks for either, compares each count with that of random labels, and says where labels are too few to tell.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d), optional
        Features, or distances where the metric is "precomputed". Give `X`, `graph` or both.
    y : array-like of shape (n,), optional
        Labels and markers, of any sortable kind. Without labels, all is told that does not need them.
    graph : sparse matrix, ndarray or networkx.Graph, optional
        An adjacency (n, n) instead of the symmetric graph of nearest neighbours.
    n_neighbors : int, default 10
        Neighbours of a sample; at most n - 1 are taken.
    metric : str or callable, default "euclidean"
        Metric of the neighbours; "cosine" for text. More than 10,000 dense rows of many columns are searched in their
        50 principal components.
    unlabeled : scalar, nan or None, default -1
        The marker of unlabelled samples.
    random_state : int, Generator, RandomState or None, default 0
        Draws orders of the labels, and samples where there are too many.

    Returns
    -------
    Diagnosis

    Raises
    ------
    ValueError
        If there are fewer than three samples, shapes do not fit, or data are not finite.

    Warns
    -----
    MarkerWarning
        If no sample is unlabelled, or the marker seems to be a class.

    References
    ----------
    Chapelle, Schölkopf & Zien, *Semi-supervised learning*, 2006, section 1.2 (the assumptions). Radovanović,
    Nanopoulos & Ivanović, *Hubs in space*, JMLR 2010 (hubness). von Luxburg, *A tutorial on spectral clustering*, 2007
    (eigengaps).

    Examples
    --------
    >>> import specmargin as sm
    >>> X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.05, random_state=0)
    >>> d = sm.diagnose(X, sm.hide_labels(truth, per_class=15, random_state=0))
    >>> d.verdict, d.evidence.graph.error, d.evidence.linear.error > 0.05
    ('manifold', 0.0, True)
    """
    whole = integer_seed(random_state)
    y, graph, _ = in_one_order(X, y, graph, unlabeled)
    X, given, search = read_samples(X, graph, metric, whole)
    n = X.shape[0] if given is None else given.shape[0]
    labeled, codes, classes = read_labels(y, unlabeled, n)
    if y is not None and len(classes) > 1:
        warn_of_marker(y, unlabeled)
    k, to_neighbors = 0, None
    if search is not None and search.used.sum() > 1:
        k = min(n_neighbors, int(search.used.sum()) - 1)
        to_neighbors, indices = search.kneighbors(n_neighbors=k)
        counts = np.bincount(indices.ravel(), minlength=n).astype(np.intp)
    W = knn_graph(search, k) if given is None else given
    if given is not None:
        counts = np.asarray((W != 0).sum(axis=1), dtype=np.intp).ravel()
    parts = components(W)
    spectrum = eigenpairs(W, parts.n, whole)
    columns = None if X is None or metric == "precomputed" else column_facts(X, codes, labeled)
    near = nearest_labels(search, labeled)
    pairs = np.zeros(0, dtype=np.intp) if near is None else np.flatnonzero(near >= 0)
    facts = None
    if len(classes) > 1:
        facts = evidence(spectrum, W, X, labeled, codes, near, metric=metric, seed=whole)
    all_alike = columns is not None and columns.n_copied_samples == n - 1 and graph is None
    verdict, reason = judge(facts, len(codes), all_alike)
    diagnosis = Diagnosis(
        n_samples=n,
        n_labeled=len(codes),
        label_counts=dict(zip(classes, np.bincount(codes, minlength=len(classes)).tolist(), strict=True)),
        n_neighbors=k if given is None else None,
        metric=metric if isinstance(metric, str) else getattr(metric, "__name__", "a function"),
        columns=columns,
        distances=None if to_neighbors is None else distance_facts(X, metric, float(to_neighbors.mean()), whole),
        connectivity=connectivity(parts, labeled),
        degrees=degree_facts(W, counts, "in-degree" if given is None else "degree"),
        gap=largest_gap(spectrum.eigenvalues[: max(SHOWN, parts.n + 1)], parts.n),
        edges=purity(codes, *edges_between(W, labeled), whole),
        nearest=purity(codes, pairs, pairs if near is None else near[pairs], whole),
        evidence=facts,
        verdict=verdict,
        reason=reason,
        advice=(),
        embedding=embedding(spectrum),
        counts=counts,
        labeled=labeled,
        codes=codes,
    )
    return replace(diagnosis, advice=advise(diagnosis))


def _plain(value: Any) -> Any:
    """Return a value as what JSON holds."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.item() if isinstance(value, np.generic) else value
