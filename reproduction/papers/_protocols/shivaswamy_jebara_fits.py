"""What the spectrum paper's experiment fits: tasks, graphs, eigenpairs, splits, the methods on them, and a cell.

What every method of a task shares is made once per process: the graph of 5 nearest neighbours (Euclidean over
standardised pixels, cosine over tf-idf), joined when either of two samples is a neighbour of the other, with weights 0
and 1, and the lowest eigenpairs of its combinatorial Laplacian, which cost more than any fit.

C is per unit mean kernel diagonal for all methods but SGT, whose own C, `loss_weight`, weighs the squared loss of its
problem. `width` is sigma^2 divided by the mean of the eigenvalues that are not zero, `w` the ratio of consecutive
weights. The published description of the paper's [9] does not say which w was used; every w >= 1 keeps the order. A
setting may hold ``eps``, the least drop of the ordered spectra that are learned.
"""

import importlib.util
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp

from reproduction.data import mnist_pair, newsgroups_pair
from reproduction.engine.records import Cell, canonical_json
from reproduction.engine.splits import Split, random_splits
from reproduction.methods import Method
from reproduction.tasks import is_available, missing_data
from specmargin.datasets import digits_pair
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import knn_graph
from specmargin.labels import Labels
from specmargin.objectives import Alignment, SpectralGraphTransducer, SpectralRidge, SpectrumMargin
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.results import SolveResult
from specmargin.solvers import alignment, graph_transducer, spectral_ridge, spectrum_margin
from specmargin.spectra import Spectrum, laplacian_eigenpairs
from specmargin.spectra.transforms import analytic_centre, diffusion, gaussian_field, geometric
from specmargin.typing import FloatArray, IntArray, SparseArray

Phase: TypeAlias = Literal["tuning", "fresh"]
Setting: TypeAlias = Mapping[str, float]
"""Hyper-parameters by name, B included where it is finite."""
Fit: TypeAlias = tuple[FloatArray, tuple[SolveResult, ...]]
"""Scores of all samples, positive for ``labels.classes[1]``, and the results of every problem solved on the way."""

TEXT = ("baseball-hockey", "pc-mac", "religion-atheism", "windows-xwindows", "mideast-misc")
DIGITS = ("0-9", "1-2", "3-8", "4-7", "5-6")
BUNDLED = ("3-8", "4-7", "5-9", "8-9", "1-8")  # the paper's pairs are too easy at 8 x 8 pixels

GRAPH: dict[str, Any] = {"n_neighbors": 5, "kind": "symmetric", "weight": "binary"}
"""What every task's graph is made with, but for another kind where that is asked for."""

KINDS = ("symmetric", "mutual+mst", "mutual")
"""Graphs that a plan may ask for: ours; the paper's, joined by a minimum spanning tree; the paper's as it is, in
hundreds of components on these data."""

N_SPLITS: dict[Phase, int] = {"tuning": 20, "fresh": 100}
"""The paper's; a plan may use the first few."""

CERTIFIED = 1e-6
"""Relative gap above which a fit is counted as not certified."""


def tasks_available(data: Path | None = None) -> tuple[list[str], list[str]]:
    """Return the names of the tasks that can be loaded, and what to say of the others."""
    pairs = {"20news": TEXT, "mnist": DIGITS}
    tasks = [f"{source} {pair}" for source, of in pairs.items() if is_available(source, data) for pair in of]
    lost = [source for source in pairs if not is_available(source, data)]
    if tasks:
        return tasks, missing_data(lost)
    instead = "other pairs, of scikit-learn's digits (8 x 8 pixels)"
    return [f"digits {pair}" for pair in BUNDLED], missing_data(lost, instead, joint=" and ")


@lru_cache(maxsize=16)
def samples(task: str, n: int, data: Path | None = None) -> tuple[Any, IntArray]:
    """Return n samples of a task, or all there are, and their true classes, 0 and 1."""
    source, _, pair = task.partition(" ")
    if source == "20news":
        return newsgroups_pair(pair, n=n, data_home=data)
    digits = pair.split("-")
    if source not in ("mnist", "digits") or len(digits) != 2 or not all(digit.isdigit() for digit in digits):
        raise InvalidInputError(f"there is no task {task!r}; write '20news pc-mac', 'mnist 3-8' or 'digits 3-8'.")
    a, b = map(int, digits)
    if source == "mnist":
        return mnist_pair(a, b, n=n, data_home=data)
    X, y = digits_pair(a, b)
    return X[:n], y[:n]


@lru_cache(maxsize=16)
def neighbor_graph(task: str, n: int, data: Path | None = None, kind: str = GRAPH["kind"]) -> SparseArray:
    """Return the graph of a task; `kind` is one of `KINDS`."""
    metric = "cosine" if task.startswith("20news") else "euclidean"
    return knn_graph(samples(task, n, data)[0], **{**GRAPH, "kind": kind}, metric=metric)


@lru_cache(maxsize=16)
def eigenpairs(task: str, n: int, q: int, data: Path | None = None, kind: str = GRAPH["kind"]) -> Spectrum:
    """Return the q lowest eigenpairs of a task's graph, fewer where there are fewer samples."""
    W = neighbor_graph(task, n, data, kind)
    return laplacian_eigenpairs(W, q=min(q, W.shape[0]), normalized=False)


def split_names(n_labeled: int, phase: Phase, seed: int, n_splits: int) -> list[str]:
    """Return what `splits` calls the first splits of a phase."""
    return [f"random{n_labeled}-seed{_seed(phase, seed)}-{i:02d}" for i in range(n_splits)]


@lru_cache(maxsize=4)
def splits(task: str, n: int, n_labeled: int, phase: Phase, seed: int, data: Path | None = None) -> dict[str, Split]:
    """Return the splits of a phase by name; split i holds the labelled points of split i for fewer labels."""
    drawn = random_splits(samples(task, n, data)[1], n_labeled, N_SPLITS[phase], _seed(phase, seed))
    return {split.name: split for split in drawn}


def _seed(phase: Phase, seed: int) -> int:
    """Return the seed of a phase: none of any seed shares its generator with another."""
    return 2 * seed + {"tuning": 1, "fresh": 2}[phase]


def _margins(
    spectrum: Spectrum,
    labels: Labels,
    settings: Sequence[Setting],
    *,
    order: bool = True,
    delta: Callable[[Spectrum, Setting], FloatArray] | None = None,
) -> Iterator[Fit]:
    """Solve a problem of margin per setting, on the spectrum `delta` or learned together with it.

    Where no multiplier reaches its bound C, a larger C changes nothing: the answer is tried first there. A certificate
    has the last word, and a wrong guess costs a step.
    """
    inside: dict[tuple[tuple[str, float], ...], SolveResult] = {}
    for setting in settings:
        others = tuple((name, value) for name, value in setting.items() if name != "C")
        C, B = setting["C"], setting.get("B", np.inf)
        if delta is None:
            obj = SpectrumMargin(spectrum, labels, C=C, B=B, order=order, eps=setting.get("eps", 0.0) * order)
        else:
            obj = SpectrumMargin(spectrum, labels, C=C, B=B, delta=delta(spectrum, setting))
        result = spectrum_margin(obj, warm_start=inside.get(others))
        if float((labels.sign * result.variables["gamma"]).max()) < 0.999 * C:
            inside[others] = result
        yield np.asarray(result.variables["f"]), (result,)


def _aligned(spectrum: Spectrum, labels: Labels, settings: Sequence[Setting]) -> Iterator[Fit]:
    aligned = alignment(Alignment(spectrum, labels))
    for f, results in _margins(spectrum, labels, settings, delta=lambda *_: np.asarray(aligned.variables["delta"])):
        yield f, (aligned, *results)


def _transduced(spectrum: Spectrum, labels: Labels, settings: Sequence[Setting]) -> Iterator[Fit]:
    for setting in settings:
        result = graph_transducer(SpectralGraphTransducer(spectrum, labels, C=setting["loss_weight"]))
        yield np.asarray(result.variables["f"]), (result,)


def _ridge(spectrum: Spectrum, labels: Labels, settings: Sequence[Setting]) -> Iterator[Fit]:
    delta = power_spectrum(spectrum)
    for setting in settings:
        result = spectral_ridge(SpectralRidge(spectrum, labels, delta, penalty=setting["penalty"]))
        yield np.asarray(result.variables["f"]), (result,)


def _poisson(W: SparseArray, labels: Labels, settings: Sequence[Setting]) -> Iterator[Fit]:
    """Learn on the graph itself, by the authors' package; their answers carry no certificate."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # graphlearning imports pyplot
    import graphlearning

    for _ in settings:
        u = graphlearning.ssl.poisson(sp.csr_matrix(W)).fit(labels.labeled, (labels.sign > 0).astype(int))
        yield np.asarray(u[:, 1] - u[:, 0]), ()


def _xu(spectrum: Spectrum, setting: Setting) -> FloatArray:
    return analytic_centre(spectrum, setting.get("w", 1.0))


def _diffusion(spectrum: Spectrum, setting: Setting) -> FloatArray:
    return diffusion(spectrum, sigma=_sigma(spectrum, setting))


def _gaussian_field(spectrum: Spectrum, setting: Setting) -> FloatArray:
    return gaussian_field(spectrum, sigma=_sigma(spectrum, setting))


def _sigma(spectrum: Spectrum, setting: Setting) -> float:
    theta = spectrum.eigenvalues
    # A graph of more components than eigenpairs has no width but any.
    unit = float(theta[theta > 0].mean()) if (theta > 0).any() else 1.0
    return math.sqrt(setting["width"] * unit)


def _geometric(spectrum: Spectrum, setting: Setting) -> FloatArray:
    return geometric(spectrum, setting["w"])


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        # The analytic centre of the spectra that fall by the ratio w or faster, w tuned: the paper's [9].
        "Xu": Method(("C", "w"), fit=partial(_margins, delta=_xu)),
        # The same with w = 1, the order alone.
        "Xu w=1": Method(("C",), fit=partial(_margins, delta=_xu)),
        # Learned with the classifier, an SVM or RMM, without order.
        "MKL-S": Method(("C",), fit=partial(_margins, order=False)),
        "MKL-R": Method(("C", "B"), fit=partial(_margins, order=False)),
        # The spectral graph transducer, Q = i^2.
        "SGT": Method(("loss_weight",), fit=_transduced),
        # Kernel alignment, ordered, before the classifier.
        "KTA-S": Method(("C",), fit=_aligned),
        "KTA-R": Method(("C", "B"), fit=_aligned),
        # Learned with the classifier, ordered.
        "STOAM": Method(("C",), fit=_margins),
        "STORM": Method(("C", "B"), fit=_margins),
        # Not in the paper's tables: exp(-theta / sigma^2), 1 / (theta + sigma^2), w^-i, theta^-2 with the squared loss,
        # and Poisson learning.
        "diffusion": Method(("C", "width"), fit=partial(_margins, delta=_diffusion)),
        "Gaussian field": Method(("C", "width"), fit=partial(_margins, delta=_gaussian_field)),
        "geometric": Method(("C", "w"), fit=partial(_margins, delta=_geometric)),
        "ridge": Method(("penalty",), fit=_ridge),
        "Poisson": Method((), fit=_poisson, on_graph=True),
    }
)
"""The methods by name, in the order of the paper's columns."""

PAPER = ("Xu", "MKL-S", "MKL-R", "SGT", "KTA-S", "KTA-R", "STOAM", "STORM")
"""The eight columns of the paper's tables."""


def installed_methods() -> tuple[str, ...]:
    """Return the names of `METHODS` whose packages are there: all, or all but Poisson learning."""
    there = importlib.util.find_spec("graphlearning") is not None
    return tuple(name for name in METHODS if name != "Poisson" or there)


def worst_gap(results: Sequence[SolveResult]) -> float:
    """Return the relative gap of the worst certificate; inf where one proves nothing."""
    gaps = [result.certificate.relative_gap for result in results]
    return max((gap if math.isfinite(gap) else math.inf for gap in gaps), key=abs)


def work(cell: Cell, *, data: Path | None = None) -> dict[str, Any]:
    """Fit one method on one split: its whole grid in the tuning phase, one setting in the other.

    Returns
    -------
    dict
        ``error_unlabeled`` in percent, or in the tuning phase ``errors``, those of the grid, as a list in JSON;
        ``relative_gap`` of the worst certificate, the number of ``fits``, how many are ``uncertified``, ``solver``.
    """
    method, parameters = METHODS[cell.method], cell.parameters
    n, phase, kind = parameters["n"], parameters["phase"], parameters.get("graph", GRAPH["kind"])
    given = (
        neighbor_graph(cell.dataset, n, data, kind)
        if method.on_graph
        else eigenpairs(cell.dataset, n, parameters["q"], data, kind)
    )
    y = samples(cell.dataset, n, data)[1]
    split = splits(cell.dataset, n, parameters["n_labeled"], phase, parameters["seed"], data)[cell.split]
    labels = Labels(np.where(y[split.labeled] == 1, 1.0, -1.0), split.labeled, np.array([0, 1]), len(y))
    tuning = phase == "tuning"
    settings = method.grid(parameters["grid"]) if tuning else [{name: parameters[name] for name in method.parameters}]
    eps = parameters.get("eps", 0.0)
    assert method.fit is not None
    fits: list[Fit] = list(method.fit(given, labels, [{**setting, "eps": eps} for setting in settings]))
    errors = [100.0 * float(np.mean((f > 0)[split.unlabeled] != (y[split.unlabeled] == 1))) for f, _ in fits]
    gaps = [worst_gap(results) for _, results in fits if results]
    return {
        **({"errors": canonical_json(errors)} if tuning else {"error_unlabeled": errors[0]}),
        "relative_gap": max(gaps, key=abs, default=None),
        "fits": len(fits),
        "uncertified": sum(not abs(gap) <= CERTIFIED for gap in gaps),
        "solver": "+".join(sorted({result.solver for _, results in fits for result in results} or {cell.method})),
    }
