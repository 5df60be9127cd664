"""`verify`: whether what a certificate claims is so, by arithmetic that shares nothing with the solvers."""

from __future__ import annotations

from specmargin.objectives import Objective
from specmargin.proofs.record import ProofRecord, Verification
from specmargin.proofs.translation import record_of, tree_record_of
from specmargin.results import SolveResult

__all__ = ["verify", "verify_record"]


def verify(objective: Objective, result: SolveResult) -> Verification:
    """Prove the certificate of a result anew, in ball and rational arithmetic.

    Primal feasibility, the objective and the lower bound are computed from the data as floats that are taken as exact,
    with error bounds for everything. Nothing of the objectives' and the solvers' arithmetic is used: they only supply
    the point and the multipliers, which may be any numbers.

    Parameters
    ----------
    objective : Objective
        The problem that was solved.
    result : SolveResult
        Of any solver, with its certificate. Where it holds a log, that is replayed.

    Returns
    -------
    Verification
        True where the claim holds; its message says what was proved, or what fails. Of a problem that is not convex
        and whose result claims no bound it says "nothing to verify: stationary", and is False.

    Raises
    ------
    InvalidTypeError
        If `objective` is no objective of this package, or `result` no SolveResult.
    InvalidInputError
        If the result holds no answer, or if a kernel has too many samples to be written out.
    SolverNotInstalledError
        Without python-flint, ``pip install 'specmargin[verify]'``.

    Examples
    --------
    >>> import numpy as np
    >>> import specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> svm = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0)
    >>> bool(sm.verify(svm, sm.solvers.relative_margin(svm)))
    True
    """
    with_log = isinstance(result, SolveResult) and result.log is not None
    record = tree_record_of(objective, result) if with_log else record_of(objective, result)
    return verify_record(record)  # last: what is wrong with the arguments needs no flint


def verify_record(record: ProofRecord) -> Verification:
    """Return what is proved of a record: by the replay of its log, or by the verifier.

    Parameters
    ----------
    record : ProofRecord
        Of `specmargin.proofs.translation`, or from a file.

    Returns
    -------
    Verification
        As of `verify`.

    Raises
    ------
    SolverNotInstalledError
        Without python-flint, ``pip install 'specmargin[verify]'``.
    """
    from specmargin.proofs.verifier import check

    if record.kind != "s3vm_tree":
        return check(record)
    from specmargin.proofs.replay import replay

    return replay(record)
