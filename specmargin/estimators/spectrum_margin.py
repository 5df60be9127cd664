"""Classifiers that learn the spectrum of a graph Laplacian with the margin: `STORM`, `STOAM` and `MKL`.

They work in the span of the q lowest eigenvectors of the graph over labelled and unlabelled samples,
f = sqrt(n) U v + b, and find the weights delta of the eigenvectors jointly with the classifier: STORM and STOAM under
the order of the eigenvalues, MKL without it. C is per unit mean kernel diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from specmargin import solvers
from specmargin.checks import outside
from specmargin.estimators._docstrings import documented
from specmargin.estimators._shared_parameters import BoundParameter, bound_in_use, within_bound
from specmargin.estimators._spectrum_classifier import Answer, Graph, Spectra, SpectrumClassifier
from specmargin.labels import Labels
from specmargin.objectives import SpectrumMargin
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum
from specmargin.spectra.reuse import warn_of_repeated

__all__ = ["MKL", "STOAM", "STORM"]


@dataclass(kw_only=True, eq=False, repr=False)
class _JointClassifier(SpectrumClassifier):
    """Spectrum and classifier in one problem, over one graph or several.

    Notes
    -----
    **Several graphs** are learned over in one joint problem: pass ``graph=[W1, W2]``, or lists, one entry per
    graph, for any of `n_neighbors`, `kind`, `weight`, `metric`, `normalized`, `power` and `q`, e.g.
    ``metric=["euclidean", "cosine"]``. Their eigenvectors stand side by side, each graph under its own order: with q of
    each, graph g has the entries g q to (g + 1) q of `delta_` and `eigenvalues_`, and columns of `eigenvectors_`;
    `graph_weights_` holds its share of the trace. New samples find neighbours graph by graph.
    """

    _several_graphs: ClassVar[bool] = True
    _order: ClassVar[bool] = True

    def _objective(self, spectrum: Spectra, labels: Labels, bound: float) -> SpectrumMargin:
        eps = getattr(self, "eps", 0.0)
        return SpectrumMargin(spectrum, labels, C=self.C, B=bound, order=self._order, eps=eps)

    def _under(self, spectrum: Spectra, labels: Labels, bound: float) -> SolveResult:
        objective = self._objective(spectrum, labels, bound)
        if self.solver == "auto":
            return solvers.spectrum_margin(objective, **self._options())
        from specmargin import problems

        return self._cvxpy(problems.storm(objective, "compact"))

    def _solve(self, spectrum: Spectra, labels: Labels) -> Answer:
        result, bound = within_bound(self._bound, partial(self._under, spectrum, labels), labels.labeled)
        return Answer(result, result, bound)

    def _built(self, spectrum: Spectra, labels: Labels) -> Any:
        from specmargin import problems

        bound = bound_in_use(self._bound, partial(self._under, spectrum, labels), labels.labeled)
        return problems.storm(self._objective(spectrum, labels, bound), "compact")


@dataclass(kw_only=True, eq=False, repr=False)
class _OrderedClassifier(_JointClassifier):
    """An ordered spectrum.

    Parameters
    ----------
    eps : float
        Least drop between consecutive weights; the paper's experiments used 1e-6, zero is exact.
    """

    eps: float = 0.0


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class STORM(BoundParameter, _OrderedClassifier):
    """Spectrum transformation that optimises the relative margin.

    Learns an ordered spectrum delta_2 >= ... >= delta_q of the graph Laplacian and a classifier on it in one convex
    problem: 1/2 w'w + C sum xi with labelled decisions confined to |f| <= B (eqs. 7 and 16).

    Notes
    -----
    It is not the best method on the data of its paper: with every parameter of every method chosen alike, spectra that
    no label has touched (`SpectralGraphTransducer`, the diffusion kernel, `XuSpectralSVM` with w tuned) err less than
    STORM in most cells; ``python -m reproduction tables spectrum_learning`` counts them. What does hold is that
    the order helps.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> storm = sm.STORM(C=10.0, B=1.5, q=20).fit(X, y)
    >>> storm.result_.certificate.is_optimal(1e-6), storm.delta_.shape
    (True, (20,))
    """

    B: float | str = 1.5


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class STOAM(_OrderedClassifier):
    """Spectrum transformation that optimises the absolute margin: `STORM` with B = inf.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> sm.STOAM(C=10.0, q=20).fit(X, y).result_.certificate.is_optimal(1e-6)
    True
    """


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class MKL(BoundParameter, _JointClassifier):
    """Multiple kernel learning over the rank-one kernels u_j u_j': a spectrum without order.

    With B finite it is the paper's MKL-R, with B = inf MKL-S. It solves a relaxation of `STORM` and so reaches a lower
    objective, at the price of a haphazard spectrum.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010, eq. 8 without its order.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> mkl, stoam = sm.MKL(C=10.0, q=20).fit(X, y), sm.STOAM(C=10.0, q=20).fit(X, y)
    >>> a, b = (fitted.result_.certificate for fitted in (mkl, stoam))
    >>> a.primal_objective < b.primal_objective
    True
    """

    _order: ClassVar[bool] = False

    def _spectra(self, graphs: list[Graph]) -> list[Spectrum]:
        spectra = super()._spectra(graphs)
        for spectrum in spectra:
            warn_of_repeated(spectrum, "MKL", "STOAM", stacklevel=outside())
        return spectra
