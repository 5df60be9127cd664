"""A classifier and one weight per block of features without CVXPY: spectral filters, several kernels of any rank.

`block_margin` solves any `objectives.BlockMargin`. For two classes and the hinge, with or without a bound on the
decisions, it is the solver of `spectrum_margin`, whose active set gives the last digits; for squared losses, and for
several classes that share their weights, the interior point of `block_interior_point`. What is returned is the point
of the smallest gap, which the objective recomputes.
"""

from __future__ import annotations

import numpy as np

from specmargin.objectives.blocks import BlockMargin
from specmargin.results import SolveResult
from specmargin.solvers.spectrum.block_interior_point import BlockData
from specmargin.solvers.spectrum.interior_run import Candidate, Iterate, Problem
from specmargin.solvers.spectrum.spectrum_margin import certified, margin_over_cone, over_cone
from specmargin.typing import FloatArray

__all__ = ["block_margin"]


def block_margin(obj: BlockMargin, *, tol: float = 1e-9, max_iter: int = 100) -> SolveResult:
    """Learn a weight per block together with a classifier, with proof.

    Parameters
    ----------
    obj : BlockMargin
        Objective with two classes or more, with any of its losses.
    tol : float, default 1e-9
        Relative gap to be proved.
    max_iter : int, default 100
        Steps of the interior point; 10 to 20 are usual.

    Returns
    -------
    SolveResult
        ``delta`` (m,) of sum one, ``kappa`` (rays,), ``v`` and ``b`` as `BlockMargin` names them, ``gamma`` (l,) or
        (l, K) with w_b = delta_b F_b[labelled]'gamma, ``f`` (n,) or (n, K); multipliers ``balance`` (b) and ``sums``
        (kappa). OPTIMAL if the gap, rounding included, is at most `tol`, else what `Certificate.status` makes of it.
        The history holds, per step, the estimated gap, the length of the step and the largest residual.

    Raises
    ------
    ValueError
        If `tol` or `max_iter` is not positive.
    SolverError
        If no step can be taken at all, which speaks of data with NaN.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, eqs. 7 and 16. Mehrotra, On the implementation of a primal-dual
    interior point method, SIAM J. Optim. 2, 1992.

    Examples
    --------
    >>> import specmargin as sm
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 20)
    >>> blocks = [np.eye(3)[y] + rng.normal(size=(60, 3)), rng.normal(size=(60, 5))]
    >>> blocks = [F * np.sqrt(60 / (F**2).sum()) for F in blocks]
    >>> result = block_margin(sm.objectives.BlockMargin(blocks, sm.encode_labels(y), C=1.0, loss="squared"))
    >>> result.status.name, result.certificate.relative_gap < 1e-9, result.variables["delta"].round(2).tolist()
    ('OPTIMAL', True, [0.66, 0.34])
    """
    known = obj.labels.is_binary and obj.loss.name == "hinge"
    return margin_over_cone(obj, over_cone(obj) if known else _over_blocks(obj), "block_margin", tol, max_iter)


def _over_blocks(obj: BlockMargin) -> Problem:
    """Return the problem of an objective of several classes, or with a squared loss."""
    sign = obj.labels.sign
    Y = sign.reshape(len(sign), -1)
    C = np.broadcast_to(np.asarray(obj.loss.C, dtype=float), (len(Y),))[:, None]
    kernels = obj.cone.of_rays(obj.grams)
    data = BlockData(obj.U, Y, obj.cone, C, obj.B, obj.rho, obj.eps, obj.loss.name, kernels=kernels)

    def certify(at: Iterate, kink: FloatArray | None) -> Candidate:
        gamma, b = (at.gamma[:, 0], at.b[0]) if obj.labels.is_binary else (at.gamma, at.b)
        return certified(obj, gamma, at.kappa, b, kink)

    return Problem(data, certify, obj.name)
