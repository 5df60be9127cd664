"""Terms that add up to a model: losses, norms, smoothness along graphs, a spectrum that is learned, an alignment.

The decisions of a model are f = g + b. The intercept b is free; g is of one space, that of a kernel (`Norm`) or of the
eigenvectors of a graph (`SpectrumNorm`). A sum that is a problem of this package, in whatever order, is solved in
numpy and proved by its objective: LapSVM, LapRLS, STORM, STOAM, MKL, KTA, and over a fixed spectrum SVM, RMM and
SpectralRidge. Any other sum is a CVXPY problem, proved as a cone program.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from specmargin import objectives, problems, solvers
from specmargin.arrays import operator_like
from specmargin.checks import checked, flag, instance, members, number, shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs import LaplacianOperator, check_adjacency
from specmargin.kernels import as_kernel
from specmargin.kernels.semidefinite import require_minors, symmetric
from specmargin.labels import Labels
from specmargin.losses import LOSSES, MarginLoss, Squared, get_loss
from specmargin.objectives import LapSVM, SpectralRidge, SpectrumMargin
from specmargin.problems import BuiltProblem
from specmargin.problems.composing import composed
from specmargin.results import SolveResult
from specmargin.solvers.parts import takers
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["Alignment", "Loss", "Model", "Norm", "Smoothness", "SpectrumNorm", "TotalVariation"]


class _Summand:
    """What terms and their sums share: ``+``, and ``*`` by a nonnegative number."""

    __array_ufunc__ = None  # a number of numpy leaves the product to us

    def __add__(self, other: Any) -> Model:
        return Model((*_terms(self), *_terms(other))) if isinstance(other, _Summand) else NotImplemented

    def __radd__(self, other: Any) -> Self:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # Python's sum begins with 0

    def __mul__(self, factor: Any) -> Self:
        raise NotImplementedError

    def __rmul__(self, factor: Any) -> Self:
        return self * factor


class Term(_Summand):
    """Base of the terms, frozen dataclasses whose data come first: equal if their fields hold equal values.

    Every term has a ``weight`` >= 0, one by default; terms of weight zero do not count.
    """

    weight: float

    @property
    def n_samples(self) -> int | None:
        """Number of samples of its data; None where there are none."""
        data = getattr(self, fields(self)[0].name)  # type: ignore[arg-type]
        shape = getattr(data, "shape", ())
        return shape[0] if shape else getattr(data, "n_samples", None)

    def __mul__(self, factor: Any) -> Self:
        return replace(self, weight=self.weight * number(least=0)("factor", factor))  # type: ignore[type-var]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(map(_equal, vars(self).values(), vars(other).values()))

    def __repr__(self) -> str:
        told = []
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            if one.default is MISSING or not _equal(value, one.default):
                told.append(("" if one.default is MISSING else f"{one.name}=") + shown(value))
        return f"{type(self).__name__}({', '.join(told)})"


@dataclass(frozen=True, eq=False, repr=False)
class Loss(Term):
    """weight sum_i c_i V(y_i f_i) over the labelled samples, c the weights of the labels.

    Parameters
    ----------
    loss : str or MarginLoss
        V, convex: a name of `specmargin.losses.LOSSES`, or an object.
    bound : float, default inf
        B > 0 with |f_i| <= B at the labelled samples: the margin is relative to the spread of the decisions.

    Examples
    --------
    >>> 2 * Loss("hinge", bound=1.5)
    Loss(Hinge(), weight=2.0, bound=1.5)
    """

    loss: str | MarginLoss
    weight: float = 1.0
    bound: float = math.inf

    def __post_init__(self) -> None:
        loss = get_loss(self.loss)
        if not (getattr(loss, "convex", False) and hasattr(loss, "value_of_slack")):
            raise InvalidTypeError(f"loss={shown(loss)} is not declared convex; take one of {sorted(LOSSES)}.")
        object.__setattr__(self, "loss", loss)


@dataclass(frozen=True, eq=False, repr=False)
class Norm(Term):
    """weight alpha'K alpha of g = K alpha: the functions are those of a kernel, the weight is gamma_A.

    Parameters
    ----------
    K : ndarray or sparse matrix of shape (n, n), or KernelOperator
        Positive semidefinite Gram matrix of all samples.

    Examples
    --------
    >>> 0.5 * Norm(np.eye(2))
    Norm(array([[1., 0.], [0., 1.]]), weight=0.5)
    """

    K: Any
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", as_kernel(self.K))


@dataclass(frozen=True, eq=False, repr=False)
class Smoothness(Term):
    """weight g'L g, the smoothness of g along a graph: the weight is gamma_I.

    Parameters
    ----------
    L : matrix-like of shape (n, n)
        Laplacian, e.g. of `specmargin.graphs.laplacian`. Those of several terms add up.

    Examples
    --------
    >>> Smoothness(np.array([[1.0, -1.0], [-1.0, 1.0]])) == 2 * Smoothness(np.array([[1.0, -1.0], [-1.0, 1.0]]), 0.5)
    True
    """

    L: Any
    weight: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.L, np.ndarray) or sp.issparse(self.L):
            object.__setattr__(self, "L", symmetric(self.L, "L"))
            require_minors(self.L)


@dataclass(frozen=True, eq=False, repr=False)
class TotalVariation(Term):
    """weight sum of w_ij |f_i - f_j| over the edges of a graph: most edges join equal decisions, few are cut.

    Parameters
    ----------
    W : sparse matrix, ndarray or networkx.Graph of shape (n, n)
        Adjacency, see `specmargin.graphs.check_adjacency`.

    Examples
    --------
    >>> TotalVariation(np.array([[0.0, 1.0], [1.0, 0.0]]))
    TotalVariation(<sparse matrix of shape (2, 2)>)
    """

    W: Any
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "W", check_adjacency(self.W))


@dataclass(frozen=True, eq=False, repr=False)
class SpectrumNorm(Term):
    """weight 1/2 sum_j v_j^2 / delta_j of g = sqrt(n) U v: the functions are those of the eigenvectors of a graph.

    Parameters
    ----------
    spectrum : Spectrum
        The q lowest eigenpairs U of a Laplacian.
    order : bool, default True
        Whether delta, which is learned, >= 0 and of sum one, is nonincreasing (STORM, STOAM, KTA) or free (MKL).
    delta : ndarray of shape (q,), optional
        Delta itself, scaled to sum one, e.g. of `specmargin.spectra.transforms`: it is not learned.

    Examples
    --------
    >>> spectrum = Spectrum(np.array([0.0, 1.0, 2.0]), np.eye(3), n_components=1)
    >>> (SpectrumNorm(spectrum) + Loss("hinge", 10.0, bound=1.5)).kind
    'STORM'
    >>> (SpectrumNorm(spectrum, 0.2, delta=np.ones(3)) + Loss("squared")).kind
    'SpectralRidge'
    """

    spectrum: Spectrum
    weight: float = 1.0
    order: bool = True
    delta: FloatArray | None = None

    def __post_init__(self) -> None:
        if self.delta is not None:
            object.__setattr__(self, "delta", objectives.FixedSpectrum(self.delta).delta)


@dataclass(frozen=True, eq=False, repr=False)
class Alignment(Term):
    """Alignment of a learned spectrum's kernel with the labels, which is maximised: KTA, whatever the weight.

    Examples
    --------
    >>> spectrum = Spectrum(np.array([0.0, 1.0, 2.0]), np.eye(3), n_components=1)
    >>> (SpectrumNorm(spectrum) + Alignment()).kind
    'KTA'
    """

    weight: float = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class Model(_Summand):
    """A sum of terms; what is missing, or does not go together, is told when it is used.

    Parameters
    ----------
    terms : tuple of Term
        Terms in any order. Losses and Laplacians add up.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y = sm.datasets.make_two_moons(n_samples=40, random_state=0)
    >>> labels, W = sm.encode_labels(sm.hide_labels(y, per_class=2, random_state=0)), sm.graphs.knn_graph(X)
    >>> model = Loss("hinge") + Norm(sm.kernels.gram(X, gamma=4.0), 0.01) + Smoothness(sm.graphs.laplacian(W))
    >>> model.kind, model.solve(labels).certificate.is_optimal(1e-9)
    ('LapSVM', True)
    >>> result = (model + TotalVariation(W, 0.1)).solve(labels)
    >>> result.certificate.kind, result.certificate.is_optimal(1e-6)
    ('cone program', True)
    """

    terms: tuple[Term, ...]

    def __post_init__(self) -> None:
        given = members("terms", self.terms, Term, "add them up, Loss('hinge') + Norm(K, 0.01)")
        object.__setattr__(self, "terms", tuple(given))

    def __mul__(self, factor: Any) -> Self:
        return replace(self, terms=tuple(term * factor for term in self.terms))

    def __eq__(self, other: object) -> bool:
        rest = list(other.terms) if isinstance(other, Model) else []
        for term in self.terms:
            if term not in rest:
                return False
            rest.remove(term)
        return isinstance(other, Model) and not rest

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.terms))

    @property
    def kind(self) -> str:
        """Name of the problem that the sum is, such as "LapSVM", else "composed"."""
        return "composed" if (known := _known(_read(self))) is None else known.kind

    @property
    def unit(self) -> float:
        """Value of the sum over that of the problem that it is: certificates are in the units of the latter."""
        return 1.0 if (known := _known(_read(self))) is None else known.unit

    def objective(self, labels: Labels) -> Any:
        """Return the objective of `specmargin.objectives` that the sum is for some labels; None where there is none."""
        known = _known(_read(self, labels))
        return None if known is None else known.objective(labels)

    def build(self, labels: Labels) -> BuiltProblem:
        """Return the CVXPY problem: that of a known one in its primal form, else one whose objective is the sum.

        The latter has the parts of the sum in ``expressions``: "loss", "norm", "smoothness" and "variation".
        """
        parts = space, losses, bound, graph, variations = _read(self, labels)
        known, unit = _known(parts), self.unit
        if known is not None and known.problem is not None:
            return known.problem(known.objective(labels))
        functions, norm = _functions(space, labels)
        L = None if graph is None else graph[1] * _stored(graph[0])
        losses = [(loss, weight / unit) for loss, weight in losses]  # a unit but 1 is that of a loss and a norm
        return composed(functions, labels, losses, norm / unit, bound, L, variations)

    def solve(self, labels: Labels, solver: str | Sequence[str] = "auto", **options: Any) -> SolveResult:
        """Solve for some labels.

        Parameters
        ----------
        labels : Labels
            Labels of the samples, from `specmargin.encode_labels`.
        solver : str or sequence of str, default "auto"
            Solvers of CVXPY by name, or the numpy solver of the problem that the sum is where there is one.
        **options
            Passed on to the solver of `specmargin.solvers`, or to `specmargin.solve`.
        """
        known = _known(_read(self, labels))
        if solver == "auto" and known is not None and known.solver is not None:
            return known.solver(known.objective(labels), **options)
        return problems.solve(self.build(labels), problems.default_solvers() if solver == "auto" else solver, **options)


class _Parts(NamedTuple):
    """What the terms of a sum come to."""

    space: Any
    losses: list[tuple[Any, float]]
    bound: float
    graph: tuple[Any, float] | None
    variations: list[tuple[Any, float]]


class _Known(NamedTuple):
    """The problem of the package that a sum is; it is composed where no builder has both decisions and an interior."""

    kind: str
    unit: float
    objective: Callable[[Labels], Any]
    solver: Callable[..., SolveResult] | None
    problem: Callable[[Any], BuiltProblem] | None


def _terms(summand: _Summand) -> tuple[Term, ...]:
    return summand.terms if isinstance(summand, Model) else (summand,)  # type: ignore[return-value]


def _equal(a: Any, b: Any) -> bool:
    """Whether two fields hold equal values; operators and spectra are equal to themselves only."""
    if sp.issparse(a) and sp.issparse(b):
        return a.shape == b.shape and (a != b).nnz == 0
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return type(a) is type(b) and np.array_equal(a, b)
    return a is b or bool(a == b)


def _stored(L: Any) -> Any:
    """Return a Laplacian as a matrix, sparse if it is known to be."""
    if isinstance(L, LaplacianOperator) and L.power == 1:
        L = L.matrix
    if sp.issparse(L):
        return sp.csr_array(L)
    return L if isinstance(L, np.ndarray) else L @ np.eye(L.shape[0])


def _read(model: Model, labels: Labels | None = None) -> _Parts:
    """Return what the terms come to, Laplacians added up; raise where they are no model."""
    terms = [term for term in model.terms if term.weight > 0]
    spaces = [term for term in terms if isinstance(term, Norm | SpectrumNorm)]
    if len(spaces) != 1:
        remedy = "keep one of these" if spaces else "add Norm(K, 0.01) of a kernel, or SpectrumNorm(spectrum)"
        raise InvalidInputError(f"{model} has {len(spaces) or 'no'} spaces of functions; {remedy}.")
    losses = [term for term in terms if isinstance(term, Loss)]
    if any(isinstance(term, Alignment) for term in terms):
        if len(terms) != 2 or getattr(spaces[0], "delta", ()) is not None:
            raise InvalidInputError(f"{model}: an alignment has no decisions; keep it and a spectrum to be learned.")
    elif not losses:
        raise InvalidInputError(f"{model} has no loss; add Loss('hinge'), or Alignment() to a spectrum to be learned.")
    sizes = {term.n_samples: type(term).__name__ for term in reversed(terms) if term.n_samples is not None}
    if labels is not None:
        sizes.setdefault(_LABELS("labels", labels).n_samples, "labels")
    if len(sizes) > 1:
        told = " and ".join(f"{name} of {size}" for size, name in sizes.items())
        raise InvalidInputError(f"the terms are of other samples, {told}; make all of them of the same n samples.")
    smooth = [(term.L, term.weight) for term in terms if isinstance(term, Smoothness)]
    if len(smooth) > 1:
        smooth = [(sum(weight * _stored(L) for L, weight in smooth), 1.0)]
    return _Parts(
        spaces[0],
        [(term.loss, term.weight) for term in losses],
        min((term.bound for term in losses), default=math.inf),
        smooth[0] if smooth else None,
        [(term.W, term.weight) for term in terms if isinstance(term, TotalVariation)],
    )


def _known(parts: _Parts) -> _Known | None:
    """Return the problem of the package that the terms come to, None where there is none."""
    space, losses, bound, graph, variations = parts
    if not losses:
        made: Any = partial(objectives.Alignment, space.spectrum, order=space.order)
        return _Known("KTA", 1.0, made, solvers.alignment, problems.kta)
    loss, weight, bounded = losses[0][0], sum(each for _, each in losses), math.isfinite(bound)
    if variations or any(other != loss for other, _ in losses):
        return None
    if isinstance(space, Norm):
        L, smooth = graph or (None, 0.0)
        kind = "LapSVM" if loss.pieces is None or loss.pieces.kinks else "LapRLS"
        solver = solvers.factorized if "factorized" in takers("LapSVM", loss) else None
        made = partial(LapSVM, space.K, L, loss=loss, gamma_A=space.weight / weight, gamma_I=smooth / weight)
        known = _Known(kind, weight / loss.lapsvm_scale, made, solver, problems.lapsvm_primal)
        return None if bounded else known
    if graph is None and loss.box_dual:  # the hinge
        names = ("SVM", "RMM") if space.delta is not None else ("STOAM", "STORM") if space.order else ("MKL-S", "MKL-R")
        given = {"C": weight / space.weight, "B": bound, "order": space.order, "delta": space.delta}
        made = partial(SpectrumMargin, space.spectrum, **given)
        return _Known(names[bounded], space.weight, made, solvers.spectrum_margin, problems.primal)
    if graph is None and space.delta is not None and isinstance(loss, Squared) and not bounded:
        made = partial(SpectralRidge, space.spectrum, delta=space.delta, penalty=space.weight / (2.0 * weight))
        return _Known("SpectralRidge", weight, made, solvers.spectral_ridge, problems.spectral_ridge_primal)
    return None


def _functions(space: Any, labels: Labels) -> tuple[BuiltProblem, float]:
    """Return a problem over the functions of a space, and what its norm counts."""
    if isinstance(space, Norm):
        return problems.lapsvm_primal(LapSVM(space.K, None, labels)), space.weight
    if space.delta is None:
        return problems.storm(SpectrumMargin(space.spectrum, labels, order=space.order), "primal"), space.weight
    return problems.spectral_ridge_primal(SpectralRidge(space.spectrum, labels, space.delta)), space.weight / 2.0


_LABELS = instance(Labels, "pass specmargin.encode_labels(y)")
_WEIGHT = number(least=0)
_SPECTRUM = instance(Spectrum, "pass specmargin.spectra.laplacian_eigenpairs(W)")
for _term, _rules in {
    Loss: {"bound": number(above=0, infinite=True)},
    Norm: {},
    Smoothness: {"L": operator_like("Laplacian", "pass specmargin.graphs.laplacian(W), or a symmetric matrix")},
    TotalVariation: {},
    SpectrumNorm: {"spectrum": _SPECTRUM, "order": flag},
    Alignment: {},
}.items():
    _term.__init__ = checked(**_rules, weight=_WEIGHT)(_term.__init__)  # type: ignore[misc]  # before any object exists
