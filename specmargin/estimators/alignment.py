"""Kernel-target alignment as a classifier: `KTA`.

The spectrum of the graph kernel is chosen beforehand, by its alignment with the labels, and handed to a machine with
an absolute or a relative margin. The two steps have different criteria; `STORM` has one.
"""

from __future__ import annotations

from dataclasses import dataclass

from specmargin import objectives, solvers
from specmargin.estimators._base import unpacked
from specmargin.estimators._docs import documented
from specmargin.estimators._spectrum_base import Answer, MarginClassifier
from specmargin.labels import Labels
from specmargin.spectra import Spectrum

__all__ = ["KTA"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class KTA(MarginClassifier):
    """Kernel-target alignment: an ordered spectrum from the labels alone, then a classifier on its kernel.

    The spectrum maximises the alignment of the labelled kernel with yy' (eq. 2); an SVM (``margin="absolute"``, the
    paper's KTA-S) or a relative margin machine (``"relative"``, KTA-R) is then trained on it.

    Parameters
    ----------
    <margin>
    <graph>
    <solver>

    Attributes
    ----------
    <attributes>
    <bound_>
    margin_result_ : SolveResult or tuple of SolveResult
        The classifier's; ``result_`` is the alignment's.

    Notes
    -----
    <notes>

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
    >>> kta = sm.KTA(C=10.0, q=20).fit(X, y)
    >>> kta.result_.certificate.sense, kta.result_.certificate.is_optimal(1e-6)
    ('maximize', True)
    """

    def _solve(self, spectrum: Spectrum, labels: Labels) -> Answer:
        objective = objectives.Alignment(spectrum, labels)
        if self.solver == "auto":
            found = self._numpy(solvers.alignment, objective)
        else:
            from specmargin import problems

            found = self._cvxpy(problems.kta(objective))
        return Answer(found, *self._margin(spectrum, labels, found.variables["delta"]))

    def _record(self, spectra: list[Spectrum], answers: list[Answer]) -> None:
        super()._record(spectra, answers)
        self.margin_result_ = unpacked([answer.machine for answer in answers])
