"""The regularisation path of a learned spectrum: one objective, many C.

Between two neighbouring C few weights appear or vanish, so the active set of one answer is a good guess for the next:
`spectrum_path` hands each answer on to the next C as a warm start. Once C exceeds the largest multiplier the labels
are separated, the answer no longer depends on C, and the rest of the path costs next to nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from specmargin.exceptions import InvalidInputError
from specmargin.objectives import SpectrumMargin
from specmargin.results import SolveResult
from specmargin.solvers.spectrum.spectrum_margin import spectrum_margin

__all__ = ["spectrum_path"]


def spectrum_path(
    obj: SpectrumMargin, Cs: npt.ArrayLike, *, tol: float = 1e-9, max_iter: int = 100
) -> list[SolveResult]:
    """Solve one objective for many C, from the smallest to the largest, each from the answer before.

    Parameters
    ----------
    obj : SpectrumMargin
        Its own C plays no part.
    Cs : array-like of shape (k,)
        Weights of the loss per unit mean kernel diagonal, > 0, in any order.
    tol, max_iter : float, int
        Parameters of `spectrum_margin`, for every C.

    Returns
    -------
    list of SolveResult
        Results in the order of `Cs`. Every answer has its own certificate: a warm start cannot spoil it.

    Raises
    ------
    ValueError
        If `Cs` is empty, not one-dimensional, or holds something else than positive numbers.

    Examples
    --------
    >>> import numpy as np, specmargin as sm
    >>> W = sm.graphs.knn_graph(np.arange(12.0)[:, None], n_neighbors=2)
    >>> labels = sm.encode_labels([0, 0] + [-1] * 8 + [1, 1])
    >>> obj = sm.objectives.SpectrumMargin(sm.spectra.laplacian_eigenpairs(W, q=6), labels)
    >>> path = sm.solvers.spectrum_path(obj, [0.01, 0.1, 1.0])
    >>> values = [result.certificate.primal_objective for result in path]
    >>> values == sorted(values), all(result.certificate.is_optimal(1e-9) for result in path)
    (True, True)
    """
    weights = np.asarray(Cs, dtype=float)
    if weights.ndim != 1 or weights.size == 0:
        raise InvalidInputError(
            f"Cs has the shape {weights.shape}; pass a list of at least one C, e.g. np.logspace(-2, 3, 30)."
        )
    if not (np.isfinite(weights) & (weights > 0)).all():
        wrong = weights[~(np.isfinite(weights) & (weights > 0))][0]
        raise InvalidInputError(f"Cs holds {wrong}; every C must be a positive number: it weighs the loss.")
    path: dict[int, SolveResult] = {}
    previous = None
    for k in np.argsort(weights, kind="stable"):
        current = replace(obj, C=float(weights[k]))
        previous = path[int(k)] = spectrum_margin(current, tol=tol, max_iter=max_iter, warm_start=previous)
    return [path[k] for k in range(len(weights))]
