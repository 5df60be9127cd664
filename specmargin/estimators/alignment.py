"""Kernel-target alignment as a classifier: `KTA`.

The spectrum of the graph kernel is chosen beforehand, by its alignment with the labels, and handed to a classifier with
an absolute or a relative margin. The two steps have different criteria; `STORM` has one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from specmargin import objectives, solvers
from specmargin.estimators._docstrings import documented
from specmargin.estimators._semi_supervised import unpacked
from specmargin.estimators._shared_parameters import BoundParameter, within_bound
from specmargin.estimators._spectrum_classifier import Answer, FixedSpectrumClassifier
from specmargin.labels import Labels
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray

__all__ = ["KTA"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class KTA(BoundParameter, FixedSpectrumClassifier):
    """Kernel-target alignment: an ordered spectrum from the labels alone, then a classifier on its kernel.

    The spectrum maximises the alignment of the labelled kernel with yy' (eq. 2); an SVM (``B=inf``, the paper's KTA-S)
    or a relative margin machine (B finite, KTA-R) is then trained on it. `build_problem` is the alignment's.

    Attributes
    ----------
    margin_result_ : SolveResult or tuple of SolveResult
        The classifier's; ``result_`` is the alignment's.

    Notes
    -----
    Weights of samples and classes are those of the classifier's loss: the alignment has none.

    Labels that no eigenvector correlates with, two twins of different classes for one, leave the alignment undefined:
    a ValueError.

    References
    ----------
    Zhu, Kandola, Ghahramani & Lafferty, Nonparametric transforms of graph kernels for semi-supervised learning,
    NIPS 2004. Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> kta = sm.KTA(q=20).fit(X, y)
    >>> kta.result_.certificate.sense, kta.result_.certificate.is_optimal(1e-6)
    ('maximize', True)
    """

    C: float = 10.0

    def _solve(self, spectrum: Spectrum, labels: Labels) -> Answer:
        if self.solver == "auto":
            result = solvers.alignment(objectives.Alignment(spectrum, _without_weights(labels)), **self._options())
        else:
            result = self._cvxpy(self._built(spectrum, labels))
        train = self._trained(spectrum, labels, result.variables["delta"])
        return Answer(result, *within_bound(self.B, train, labels.labeled))

    def _built(self, spectrum: Spectrum, labels: Labels) -> Any:
        from specmargin import problems

        return problems.kta(objectives.Alignment(spectrum, _without_weights(labels)))

    def _record(self, spectra: list[Spectrum], answers: list[Answer]) -> FloatArray:
        self.margin_result_ = unpacked([answer.classifier for answer in answers])
        return super()._record(spectra, answers)


def _without_weights(labels: Labels) -> Labels:
    return replace(labels, weights=None)
