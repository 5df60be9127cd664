"""STORM and KTA that choose their parameters by the labelled samples alone: `STORMCV` and `KTACV`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from specmargin import objectives, solvers
from specmargin.estimators._docstrings import documented
from specmargin.estimators._spectrum_classifier import SpectrumClassifier
from specmargin.estimators._spectrum_grid import Neighborhood, SpectrumCV
from specmargin.estimators.alignment import KTA
from specmargin.estimators.spectrum_margin import STORM
from specmargin.labels import Labels
from specmargin.objectives import SpectrumMargin
from specmargin.spectra import Spectrum
from specmargin.typing import Matrix

__all__ = ["KTACV", "STORMCV"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class STORMCV(SpectrumCV):
    """STORM that chooses neighbours, number of eigenvectors, B and C by the labelled samples alone.

    Left-out labels are decided about by a spectrum and a classifier that have not seen them, over eigenpairs that are
    computed once per graph. With inf among `Bs` STOAM is a candidate.

    Parameters
    ----------
    eps : float
        Least drop between consecutive weights; the paper's experiments used 1e-6, zero is exact.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=5, random_state=0)
    >>> clf = sm.STORMCV(qs=[10, 20], n_neighbors=[5]).fit(X, y)
    >>> sorted(clf.best_params_), bool((clf.transduction_ == y_true).mean() > 0.9)
    (['B', 'C', 'n_neighbors', 'q'], True)
    >>> again = sm.STORM(**clf.best_params_).fit(X, y)
    >>> bool(abs(again.scores_ - clf.scores_).max() < 1e-6), clf.comparison_.verdict[:6]
    (True, 'cannot')
    """

    eps: float = 0.0

    _refitted: ClassVar[type[SpectrumClassifier]] = STORM

    def _problem_of(self, spectrum: Spectrum, labels: Labels) -> SpectrumMargin:
        return SpectrumMargin(spectrum, labels, eps=self.eps)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class KTACV(SpectrumCV):
    """KTA that chooses neighbours, number of eigenvectors, B and C by the labelled samples alone.

    The alignment sees no label that a fold leaves out: a spectrum aligned with all labels would know what it is asked
    for. It depends on neither C nor B, which therefore cost little, nor on weights, which are those of the classifier.

    Attributes
    ----------
    margin_result_ : SolveResult or tuple of SolveResult
        The classifier's; ``result_`` is the alignment's.

    References
    ----------
    Zhu, Kandola, Ghahramani & Lafferty, Nonparametric transforms of graph kernels for semi-supervised learning,
    NIPS 2004. Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=5, random_state=0)
    >>> clf = sm.KTACV(qs=[10, 20], n_neighbors=[5]).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-6), bool((clf.transduction_ == y_true).mean() > 0.9)
    (True, True)
    """

    Bs: Sequence[float | str] = (np.inf,)

    _refitted: ClassVar[type[SpectrumClassifier]] = KTA

    def _problem_of(self, spectrum: Spectrum, labels: Labels) -> SpectrumMargin:
        aligned = solvers.alignment(objectives.Alignment(spectrum, replace(labels, weights=None)), tol=1e-6)
        return SpectrumMargin(spectrum, labels, delta=aligned.variables["delta"])

    def _refit(self, X: Matrix, y: object, neighborhoods: list[Neighborhood], sample_weight: object) -> None:
        super()._refit(X, y, neighborhoods, sample_weight)
        self.margin_result_ = self.estimator_.margin_result_
