"""The methods of the spectrum paper's tables and five more, on eigenpairs and labels that are there already.

`METHODS` has them by name; the function of each fits a sequence of settings and yields a `Fit` for each. Answers of
somebody else's package carry no certificate. All methods see the same q eigenpairs; the graph and its
eigendecomposition, which cost more than any fit, are made once per task.

=========  ============================================================  ======
name       spectrum                                                      loss
=========  ============================================================  ======
Xu         analytic centre of the spectra that fall by the ratio w       SVM
           or faster, w tuned: the paper's [9]
Xu w=1     the same with w = 1, the order alone                          SVM
MKL-S      learned with the classifier, without order                    SVM
MKL-R      the same                                                      RMM
SGT        spectral graph transducer, Q = i^2
KTA-S      kernel alignment, ordered                                     SVM
KTA-R      the same                                                      RMM
STOAM      learned with the classifier, ordered                          SVM
STORM      the same                                                      RMM
diffusion  exp(-theta / sigma^2), not in the paper's tables              SVM
geometric  w^-i, not in the paper's tables                               SVM
ridge      theta^-2, not in the paper's tables                           square
Poisson    none: Poisson learning on the graph itself, by its authors'
           package `graphlearning`, where that is installed
=========  ============================================================  ======

C is per unit mean kernel diagonal for all of them but SGT, whose own C weighs the squared loss of its problem. `width`
is sigma^2 divided by the mean of the eigenvalues that are not zero. The published description of [9] does not say which
w was used; every w >= 1 keeps the order. A setting may hold ``eps``, the least drop of the ordered spectra that are
learned; the other methods have no use for it.
"""

from __future__ import annotations

import importlib.util
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from specmargin.experiments.methods import Method
from specmargin.labels import Labels
from specmargin.objectives import Alignment, SpectralGraphTransducer, SpectralRidge, SpectrumMargin
from specmargin.objectives.spectral_ridge import power_spectrum
from specmargin.results import SolveResult
from specmargin.solvers import alignment, graph_transducer, spectral_ridge, spectrum_margin
from specmargin.spectra import Spectrum
from specmargin.spectra.transforms import analytic_centre, diffusion, geometric
from specmargin.typing import FloatArray, SparseArray

__all__ = ["METHODS", "PAPER", "Fit", "Setting", "installed_methods"]

Setting: TypeAlias = Mapping[str, float]
"""Hyper-parameters by name, B included where it is finite."""


@dataclass(frozen=True)
class Fit:
    """Scores of all samples, whose sign classifies, and the evidence for them.

    Parameters
    ----------
    f : ndarray of shape (n,)
        Positive for ``labels.classes[1]``.
    results : tuple of SolveResult
        Of every problem that was solved on the way, each with its certificate.
    """

    f: FloatArray
    results: tuple[SolveResult, ...]

    @property
    def relative_gap(self) -> float:
        """Of the worst certificate; inf where one proves nothing, nan where there was nothing to certify."""
        if not self.results:
            return math.nan
        gaps = [result.certificate.relative_gap for result in self.results]
        return max((gap if math.isfinite(gap) else math.inf for gap in gaps), key=abs)


def _fit(*results: SolveResult) -> Fit:
    """Scores are those of the last problem."""
    return Fit(np.asarray(results[-1].variables["f"]), results)


def _margins(
    spectrum: Spectrum,
    labels: Labels,
    settings: Sequence[Setting],
    options: Callable[[Setting], Mapping[str, Any]],
) -> Iterator[SolveResult]:
    """Solve a problem of margin per setting, joint or on a spectrum that `options` gives.

    Where no multiplier reaches its bound C, a larger C changes nothing: the answer is tried first there. A certificate
    has the last word, and a wrong guess costs a step.
    """
    inside: dict[tuple[tuple[str, float], ...], SolveResult] = {}
    for setting in settings:
        others = tuple((name, value) for name, value in setting.items() if name != "C")
        C, B = setting["C"], setting.get("B", np.inf)
        obj = SpectrumMargin(spectrum, labels, C=C, B=B, **options(setting))
        result = spectrum_margin(obj, warm_start=inside.get(others))
        if float((labels.sign * result.variables["gamma"]).max()) < 0.999 * C:
            inside[others] = result
        yield result


def _joint(spectrum: Spectrum, labels: Labels, settings: Sequence[Setting], *, order: bool) -> Iterator[Fit]:
    def options(setting: Setting) -> Mapping[str, Any]:
        return {"order": order, "eps": setting.get("eps", 0.0) if order else 0.0}

    for result in _margins(spectrum, labels, settings, options):
        yield _fit(result)


def _aligned(spectrum: Spectrum, labels: Labels, settings: Sequence[Setting]) -> Iterator[Fit]:
    aligned = alignment(Alignment(spectrum, labels))
    delta = np.asarray(aligned.variables["delta"])
    for result in _margins(spectrum, labels, settings, lambda setting: {"delta": delta}):
        yield _fit(aligned, result)


def _given(
    spectrum: Spectrum,
    labels: Labels,
    settings: Sequence[Setting],
    *,
    weights: Callable[[Spectrum, Setting], FloatArray],
) -> Iterator[Fit]:
    for result in _margins(spectrum, labels, settings, lambda setting: {"delta": weights(spectrum, setting)}):
        yield _fit(result)


def _transduced(spectrum: Spectrum, labels: Labels, settings: Sequence[Setting]) -> Iterator[Fit]:
    for setting in settings:
        obj = SpectralGraphTransducer(spectrum, labels, C=setting["loss_weight"])
        yield _fit(graph_transducer(obj))


def _ridge(spectrum: Spectrum, labels: Labels, settings: Sequence[Setting]) -> Iterator[Fit]:
    delta = power_spectrum(spectrum)
    for setting in settings:
        yield _fit(spectral_ridge(SpectralRidge(spectrum, labels, delta, penalty=setting["penalty"])))


def _poisson(W: SparseArray, labels: Labels, settings: Sequence[Setting]) -> Iterator[Fit]:
    os.environ.setdefault("MPLBACKEND", "Agg")  # graphlearning imports pyplot
    import graphlearning

    for _ in settings:
        u = graphlearning.ssl.poisson(sp.csr_matrix(W)).fit(labels.labeled, (labels.sign > 0).astype(int))
        yield Fit(np.asarray(u[:, 1] - u[:, 0]), ())


def _xu(spectrum: Spectrum, setting: Setting) -> FloatArray:
    return analytic_centre(spectrum, setting.get("w", 1.0))


def _diffusion(spectrum: Spectrum, setting: Setting) -> FloatArray:
    theta = spectrum.eigenvalues
    # A graph of more components than eigenpairs has no width but any.
    unit = float(theta[theta > 0].mean()) if (theta > 0).any() else 1.0
    return diffusion(spectrum, sigma=math.sqrt(setting["width"] * unit))


def _geometric(spectrum: Spectrum, setting: Setting) -> FloatArray:
    return geometric(spectrum, setting["w"])


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "Xu": Method(("C", "w"), fit=partial(_given, weights=_xu)),
        "Xu w=1": Method(("C",), fit=partial(_given, weights=_xu)),
        "MKL-S": Method(("C",), fit=partial(_joint, order=False)),
        "MKL-R": Method(("C", "B"), fit=partial(_joint, order=False)),
        "SGT": Method(("loss_weight",), fit=_transduced),
        "KTA-S": Method(("C",), fit=_aligned),
        "KTA-R": Method(("C", "B"), fit=_aligned),
        "STOAM": Method(("C",), fit=partial(_joint, order=True)),
        "STORM": Method(("C", "B"), fit=partial(_joint, order=True)),
        "diffusion": Method(("C", "width"), fit=partial(_given, weights=_diffusion)),
        "geometric": Method(("C", "w"), fit=partial(_given, weights=_geometric)),
        "ridge": Method(("penalty",), fit=_ridge),
        "Poisson": Method((), fit=_poisson, on_graph=True),
    }
)
"""The methods by name, in the order of the paper's columns; those from diffusion on are not in its tables."""

PAPER = ("Xu", "MKL-S", "MKL-R", "SGT", "KTA-S", "KTA-R", "STOAM", "STORM")
"""The eight columns of the paper's tables."""


def installed_methods() -> tuple[str, ...]:
    """Return the names of `METHODS` whose packages are there: all, or all but Poisson learning."""
    there = importlib.util.find_spec("graphlearning") is not None
    return tuple(name for name in METHODS if name != "Poisson" or there)
