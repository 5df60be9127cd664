"""The nine methods of the spectrum paper's tables, on eigenpairs and labels that are there already.

Each is a `Method` of the register `METHODS`: the names of its hyper-parameters, and a function that fits a sequence of
settings and yields a `Fit` for each. All of them see the same q eigenpairs; the graph and its eigendecomposition,
which cost more than any fit, are made once per task.

=========  ============================================================  ======
name       spectrum                                                      loss
=========  ============================================================  ======
Xu         analytic centre of the ordered spectra: the paper's [9]       SVM
MKL-S      learned with the classifier, without order                    SVM
MKL-R      the same                                                      RMM
SGT        spectral graph transducer, Q = i^2
KTA-S      kernel alignment, ordered                                     SVM
KTA-R      the same                                                      RMM
STOAM      learned with the classifier, ordered                          SVM
STORM      the same                                                      RMM
diffusion  exp(-theta / sigma^2), not in the paper's tables              SVM
=========  ============================================================  ======

C is per unit mean kernel diagonal for all of them but SGT, whose own C weighs the squared loss of its problem. `width`
is sigma^2 divided by the mean of the eigenvalues that are not zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from specmargin.labels import Labels
from specmargin.objectives import Alignment, SpectralGraphTransducer, SpectrumMargin
from specmargin.results import SolveResult
from specmargin.solvers import alignment, graph_transducer, spectrum_margin
from specmargin.spectra import Spectrum
from specmargin.spectra.transforms import analytic_centre, diffusion
from specmargin.typing import FloatArray

__all__ = ["METHODS", "Fit", "Method", "Setting"]

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
        """Of the worst certificate; inf where one proves nothing."""
        gaps = [result.certificate.relative_gap for result in self.results]
        return max((gap if math.isfinite(gap) else math.inf for gap in gaps), key=abs)


@dataclass(frozen=True)
class Method:
    """A method: its hyper-parameters, in the order in which a grid runs (the last one fastest), and its fits."""

    parameters: tuple[str, ...]
    fit: Callable[[Spectrum, Labels, Sequence[Setting]], Iterator[Fit]]

    def grid(self, values: Mapping[str, Sequence[float]]) -> list[dict[str, float]]:
        """Return every setting of a grid.

        Examples
        --------
        >>> METHODS["KTA-R"].grid({"C": [1.0], "B": [1.5, 4.0], "width": [0.1]})
        [{'C': 1.0, 'B': 1.5}, {'C': 1.0, 'B': 4.0}]
        """
        combinations = product(*(values[name] for name in self.parameters))
        return [dict(zip(self.parameters, combination, strict=True)) for combination in combinations]


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
    for result in _margins(spectrum, labels, settings, lambda setting: {"order": order}):
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


def _centre(spectrum: Spectrum, setting: Setting) -> FloatArray:
    return analytic_centre(spectrum)


def _diffusion(spectrum: Spectrum, setting: Setting) -> FloatArray:
    theta = spectrum.eigenvalues
    return diffusion(spectrum, sigma=math.sqrt(setting["width"] * float(theta[theta > 0].mean())))


METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "Xu": Method(("C",), partial(_given, weights=_centre)),
        "MKL-S": Method(("C",), partial(_joint, order=False)),
        "MKL-R": Method(("C", "B"), partial(_joint, order=False)),
        "SGT": Method(("loss_weight",), _transduced),
        "KTA-S": Method(("C",), _aligned),
        "KTA-R": Method(("C", "B"), _aligned),
        "STOAM": Method(("C",), partial(_joint, order=True)),
        "STORM": Method(("C", "B"), partial(_joint, order=True)),
        "diffusion": Method(("C", "width"), partial(_given, weights=_diffusion)),
    }
)
"""The methods by name, in the order of the paper's columns; the last one is ours."""
