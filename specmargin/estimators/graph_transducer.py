"""The spectral graph transducer as a classifier: `SpectralGraphTransducer`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from specmargin import objectives, solvers
from specmargin.checks import outside
from specmargin.estimators._docstrings import documented
from specmargin.estimators._label_weights import LabelWeights
from specmargin.estimators._spectrum_classifier import Answer, GraphSpectrumClassifier
from specmargin.exceptions import EigenspaceWarning
from specmargin.labels import Labels
from specmargin.solvers.spectrum.graph_transducer import HARD_CASE
from specmargin.spectra import Spectrum
from specmargin.spectra.transforms import power

__all__ = ["SpectralGraphTransducer"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SpectralGraphTransducer(LabelWeights, GraphSpectrumClassifier):
    """Spectral graph transducer: a relaxed normalised cut that the labels steer.

    Finds values h = V w of all samples on the sphere h'h = n, smooth along the graph and near their targets where
    samples are labelled: 1/2 w'Q w + C (h - tau)'P (h - tau) with Q_ii = i^2 (eq. 1 of the spectrum paper). The
    problem is not convex, but its answer is the global optimum, and certified. Samples are classified by
    f = h - (tau+ + tau-) / 2.

    Parameters
    ----------
    C : float
        Weight of the loss, > 0; 1e1 to 1e6 are in use. The loss is a mean per class, h has mean square one: this C
        is not that of a margin. The default did well on the unlabelled samples of two tasks of the paper (MNIST 3-8,
        pc-mac), which makes it an optimistic choice there.
    exponent : float
        Q_ii = i^exponent, >= 0; a block of equal eigenvalues shares the harmonic mean of its entries.
    max_iter : int
        Limit of iterations; by default that of the solver.
    solver_params : dict
        Passed on to the solver, `specmargin.solvers.graph_transducer`: there is one only.

    Notes
    -----
    `delta_` is the spectrum of the kernel V Q^-1 V', `intercept_` minus the threshold.

    **Weights** of labels: a label of weight c counts as c labels of that one sample. The loss stays a mean per class,
    by weights, and l+ and l-, which make the targets tau, are sums of weights; the weight of a whole class moves the
    targets and the threshold alone. That is not what c rows in the place of one do: each of them is a node, which has
    edges, and a share in h'h = n and in the eigenvectors.

    References
    ----------
    Joachims, Transductive learning via spectral graph partitioning, ICML 2003.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> sgt = sm.SpectralGraphTransducer(q=20).fit(X, y)
    >>> sgt.result_.certificate.is_optimal(1e-6), bool((sgt.transduction_ == y_true).mean() > 0.9)
    (True, True)
    """

    C: float = 10000.0
    exponent: float = 2.0
    max_iter: int | None = None
    solver_params: Mapping[str, Any] | None = None

    def _solve(self, spectrum: Spectrum, labels: Labels) -> Answer:
        delta = power(spectrum, self.exponent)
        # The sum of all i^-exponent undoes the scaling of delta to sum one: Q is literally i^exponent.
        total = (np.arange(1.0, spectrum.q) ** -self.exponent).sum()
        objective = objectives.SpectralGraphTransducer(spectrum, labels, C=self.C, Q=1.0 / (total * delta[1:]))
        limit = {} if self.max_iter is None else {"max_iter": self.max_iter}
        result = solvers.graph_transducer(objective, **{"tol": self.tol, **limit, **(self.solver_params or {})})
        if result.message.startswith(HARD_CASE):
            warnings.warn(
                f"SpectralGraphTransducer: the labels leave a direction open in an eigenspace of the problem "
                f"({result.message}); the optimum is not the only one, and which is returned depends on the order of "
                "the nodes. Label more nodes, or take SpectralRidge or STOAM, whose answers are unique.",
                EigenspaceWarning,
                stacklevel=outside(),
            )
        variables = {**result.variables, "delta": delta, "b": np.asarray(-objective.threshold)}
        result = replace(result, variables=variables)
        return Answer(result, result)
