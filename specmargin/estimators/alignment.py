"""Kernel-target alignment as a classifier: `KTA`.

The spectrum of the graph kernel is chosen beforehand, by its alignment with the labels, and handed to a machine with
an absolute or a relative margin. The two steps have different criteria; `STORM` has one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from specmargin import objectives
from specmargin.estimators._base import unpacked
from specmargin.estimators._spectrum import SpectrumClassifier, documented
from specmargin.labels import Labels
from specmargin.results import SolveResult
from specmargin.spectra import Spectrum
from specmargin.typing import FloatArray, Matrix, SparseArray

__all__ = ["KTA"]


@documented
class KTA(SpectrumClassifier):
    """Kernel-target alignment: an ordered spectrum from the labels alone, then a classifier on its kernel.

    The spectrum maximises the alignment of the labelled kernel with yy' (eq. 2); an SVM (``margin="absolute"``, the
    paper's KTA-S) or a relative margin machine (``"relative"``, KTA-R) is then trained on it.

    Parameters
    ----------
    C : float, default 1.0
        Weight of the classifier's loss per unit mean kernel diagonal, > 0.
    margin : {"absolute", "relative"}, default "absolute"
        SVM or relative margin machine.
    B : float, default 1.5
        Bound on the labelled decisions, with ``margin="relative"``.
    <graph>

    Attributes
    ----------
    <attributes>
    margin_result_ : SolveResult or tuple of SolveResult
        The classifier's; ``result_`` is the alignment's.

    Notes
    -----
    <notes>

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

    def __init__(
        self,
        *,
        C: float = 1.0,
        margin: Literal["absolute", "relative"] = "absolute",
        B: float = 1.5,
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
        self.margin = margin
        self.B = B

    def _fit(self, X: Matrix, labels: Labels, graph: SparseArray | None) -> tuple[FloatArray, list[SolveResult]]:
        machines: list[SolveResult] = []
        self._machines = machines
        try:
            scores, results = super()._fit(X, labels, graph)
        finally:
            del self._machines
        self.margin_result_ = unpacked(machines)
        return scores, results + machines

    def _solve(self, spectrum: Spectrum, labels: Labels) -> SolveResult:
        from specmargin import problems

        if self.margin not in ("absolute", "relative"):
            raise ValueError(f"margin={self.margin!r} must be 'absolute' (SVM) or 'relative' (RMM).")
        alignment = objectives.Alignment(spectrum, labels)
        found = self._cvxpy(problems.kta(alignment))
        delta, U = found.variables["delta"], alignment.U
        B = self.B if self.margin == "relative" else np.inf
        machine = self._cvxpy(problems.rmm(objectives.RMM((U * delta) @ U.T, labels, C=self.C, B=B)))
        self._machines.append(machine)
        v, b = delta * (U.T @ machine.variables["gamma"]), machine.variables["b"]
        f = np.sqrt(spectrum.n_samples) * (spectrum.eigenvectors @ v) + b
        return replace(found, variables={**found.variables, "v": v, "b": b, "f": f})
