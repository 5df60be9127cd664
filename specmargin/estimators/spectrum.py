"""Classifiers that learn the spectrum of a graph Laplacian with the margin: `STORM`, `STOAM` and `MKL`.

They work in the span of the q lowest eigenvectors of the graph over labelled and unlabelled samples,
f = sqrt(n) U v + b, and find the weights delta of the eigenvectors jointly with the classifier: STORM and STOAM under
the order of the eigenvalues, MKL without it. C is per unit mean kernel diagonal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from specmargin import objectives
from specmargin.estimators._spectrum import SpectrumClassifier, documented
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum

__all__ = ["MKL", "STOAM", "STORM"]


@documented
class STORM(SpectrumClassifier):
    """Spectrum transformation that optimises the relative margin.

    Learns an ordered spectrum delta_2 >= ... >= delta_q of the graph Laplacian and a classifier on it in one convex
    problem: 1/2 w'w + C sum xi with labelled decisions confined to |f| <= B (eqs. 7 and 16).

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    B : float, default 1.5
        Bound on the labelled decisions; inf makes it `STOAM`.
    eps : float, default 0.0
        Least drop between consecutive weights; the paper's experiments used 1e-6, zero is exact.
    <graph>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    <notes>

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

    def __init__(
        self,
        *,
        C: float = 1.0,
        B: float = 1.5,
        eps: float = 0.0,
        q: int | None = None,
        n_neighbors: int = 5,
        kind: str = "symmetric",
        weight: str = "binary",
        metric: str = "euclidean",
        normalized: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_params: Mapping[str, Any] | None = None,
        tol: float = 1e-6,
        unlabeled: Any = -1,
    ) -> None:
        super().__init__(
            C=C,
            q=q,
            n_neighbors=n_neighbors,
            kind=kind,
            weight=weight,
            metric=metric,
            normalized=normalized,
            solver=solver,
            solver_params=solver_params,
            tol=tol,
            unlabeled=unlabeled,
        )
        self.B = B
        self.eps = eps

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        return self._joint(objectives.SpectrumMargin(spectrum, labels, C=self.C, B=self.B, eps=self.eps))


@documented
class STOAM(SpectrumClassifier):
    """Spectrum transformation that optimises the absolute margin: `STORM` with B = inf.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    eps : float, default 0.0
        Least drop between consecutive weights; the paper's experiments used 1e-6, zero is exact.
    <graph>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    <notes>

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

    def __init__(
        self,
        *,
        C: float = 1.0,
        eps: float = 0.0,
        q: int | None = None,
        n_neighbors: int = 5,
        kind: str = "symmetric",
        weight: str = "binary",
        metric: str = "euclidean",
        normalized: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_params: Mapping[str, Any] | None = None,
        tol: float = 1e-6,
        unlabeled: Any = -1,
    ) -> None:
        super().__init__(
            C=C,
            q=q,
            n_neighbors=n_neighbors,
            kind=kind,
            weight=weight,
            metric=metric,
            normalized=normalized,
            solver=solver,
            solver_params=solver_params,
            tol=tol,
            unlabeled=unlabeled,
        )
        self.eps = eps

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        return self._joint(objectives.SpectrumMargin(spectrum, labels, C=self.C, eps=self.eps))


@documented
class MKL(SpectrumClassifier):
    """Multiple kernel learning over the rank-one kernels u_j u_j': a spectrum without order.

    With B finite it is the paper's MKL-R, with B = inf MKL-S. It solves a relaxation of `STORM` and so reaches a lower
    objective, at the price of a haphazard spectrum.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    B : float, default inf
        Bound on the labelled decisions.
    <graph>

    Attributes
    ----------
    <attributes>

    Notes
    -----
    <notes>

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

    def __init__(
        self,
        *,
        C: float = 1.0,
        B: float = np.inf,
        q: int | None = None,
        n_neighbors: int = 5,
        kind: str = "symmetric",
        weight: str = "binary",
        metric: str = "euclidean",
        normalized: bool = False,
        solver: str | Sequence[str] = "auto",
        solver_params: Mapping[str, Any] | None = None,
        tol: float = 1e-6,
        unlabeled: Any = -1,
    ) -> None:
        super().__init__(
            C=C,
            q=q,
            n_neighbors=n_neighbors,
            kind=kind,
            weight=weight,
            metric=metric,
            normalized=normalized,
            solver=solver,
            solver_params=solver_params,
            tol=tol,
            unlabeled=unlabeled,
        )
        self.B = B

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        return self._joint(objectives.SpectrumMargin(spectrum, labels, C=self.C, B=self.B, order=False))
