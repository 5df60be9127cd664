"""`verify`: whether what a certificate claims is so, by arithmetic that shares nothing with the solvers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cvxproof.packing import loaded
from cvxproof.proofs import cone_verification
from cvxproof.proofs.cone_records import cone_record_of, program_of
from cvxproof.proofs.cone_verification import digest_of
from cvxproof.proofs.record import ProofRecord, Verification
from specmargin.exceptions import InvalidInputError
from specmargin.proofs.packing import PACKING
from specmargin.proofs.translation import record_of
from specmargin.proofs.wings import REPLAYS, TREES
from specmargin.results import ConeProof, SolveResult

__all__ = ["Verification", "problem_of", "verify", "verify_record"]


def verify(objective: Any, result: SolveResult) -> Verification:
    """Prove the certificate of a result anew, in ball and rational arithmetic.

    Primal feasibility, the objective and the lower bound are computed from the data as floats that are taken as exact,
    with error bounds for everything. Nothing of the objectives' and the solvers' arithmetic is used: they only supply
    the point and the multipliers, which may be any numbers.

    Parameters
    ----------
    objective : objective, BuiltProblem or cvxpy.Problem
        The problem that was solved; what `specmargin.load_result` returns.
    result : SolveResult
        Result of any solver, with its certificate. Where it holds a log, that is replayed.

    Returns
    -------
    Verification
        True where the claim holds; its message says what was proved and of what, or what fails. Of a problem that is
        not convex and whose result claims no bound it says "nothing to verify: stationary", and is False; its objective
        is checked all the same.

    Raises
    ------
    InvalidTypeError
        If `objective` is none of these, or an objective with a loss of one's own, or `result` is no SolveResult.
    InvalidInputError
        If the result holds no answer or one whose decisions are of another, if a kernel has too many samples to be
        written out, or if a CVXPY problem is another than the one that was solved.
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
    objective = problem_of(objective, result)
    if isinstance(objective, ConeProof):
        record = cone_record_of(result)
    elif isinstance(result, SolveResult) and result.log is not None:
        record = loaded(TREES)(objective, result)
    else:
        record = record_of(objective, result)
    verification = verify_record(record)  # last: what is wrong with the arguments needs no flint
    return replace(verification, digest=digest_of(objective, result, PACKING))


def problem_of(problem: Any, result: Any) -> Any:
    """Return what is proved of a problem: its objective, or the cone program that the result holds.

    Parameters
    ----------
    problem : objective, BuiltProblem, cvxpy.Problem or ConeProof
        A CVXPY problem must compile to the program that was solved: its parameters have the values of then.
    result : SolveResult
        Its answer.
    """
    if type(problem).__module__.startswith("specmargin.problems."):  # loaded only where it is already
        from specmargin.problems import BuiltProblem

        if isinstance(problem, BuiltProblem):
            if problem.is_as_built():
                return problem.current_objective()
            problem = problem.problem
    if isinstance(problem, ConeProof) or type(problem).__module__.startswith(("cvxpy.", "cvxproof.")):
        return program_of(problem, result)
    if isinstance(getattr(result, "log", None), ConeProof):
        raise InvalidInputError(
            f"the result is of {result.problem!r}: an objective says nothing of what was changed in CVXPY; pass the "
            "problem that was solved."
        )
    return problem


def verify_record(record: ProofRecord) -> Verification:
    """Return what is proved of a record: by the replay of its log, or by the verifier.

    Parameters
    ----------
    record : ProofRecord
        Record of `specmargin.proofs.translation`, or from a file.

    Returns
    -------
    Verification
        Outcome, as of `verify`.

    Raises
    ------
    SolverNotInstalledError
        Without python-flint, ``pip install 'specmargin[verify]'``.
    """
    from specmargin.proofs.verifier import check

    if record.kind in ("cone program", "cone ray"):
        return cone_verification.check(record)
    verified: Verification = loaded(REPLAYS[record.kind])(record) if record.kind in REPLAYS else check(record)
    return verified
