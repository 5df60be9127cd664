"""Files of results and of proofs, verified one by one: `verify_file`, and its `Verdict` as text and JSON."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

from cvxproof import check as exact
from cvxproof.exceptions import InvalidInputError
from cvxproof.packing import Packing, contents_of
from cvxproof.proofs import cone_verification
from cvxproof.proofs.cone_records import cone_record_of
from cvxproof.proofs.record import ProofRecord, Verification
from cvxproof.result_files import load_result
from cvxproof.results import SolveResult

__all__ = ["Verdict", "verdict_of", "verify_file"]

Outcome = Literal["proved", "refuted", "unproved", "nothing to verify", "unreadable"]


@dataclass(frozen=True)
class Verdict:
    """What is known of a file.

    Parameters
    ----------
    file : str
        Its name.
    outcome : {"proved", "refuted", "unproved", "nothing to verify", "unreadable"}
        Unproved is a claim that a kernel's negative eigenvalues may cost more than rounding; nothing to verify is in
        the answer of a search that claims no bound.
    message : str
        One sentence.
    kind : str, optional
        Kind of the record.
    verification : Verification, optional
        Verification, if something was claimed.
    """

    file: str
    outcome: Outcome
    message: str
    kind: str | None = None
    verification: Verification | None = None

    @property
    def exit_code(self) -> int:
        """0 where the claim is proved, 1 where it is refuted or unproved, 2 where there is none."""
        return {"proved": 0, "refuted": 1, "unproved": 1}.get(self.outcome, 2)

    def line(self) -> str:
        """Return one line of text."""
        named = self.file if self.kind is None else f"{self.file}: {self.kind}"
        told = [self.message]
        if self.outcome == "proved" and self.verification is not None:
            told += [*self.verification.assumptions, f"sha256 {self.verification.digest[:16]}"]
        return f"{named}: {self.outcome}: {'; '.join(told)}"

    def as_json(self) -> dict[str, Any]:
        """Return what JSON knows; what is infinite is None."""
        row: dict[str, Any] = {"file": self.file, "outcome": self.outcome, "message": self.message, "kind": self.kind}
        if self.verification is not None:
            for name in ("primal", "bound", "gap"):
                ends = getattr(self.verification, name)
                row[name] = [end if math.isfinite(end) else None for end in ends]
            row["charge"], row["sha256"] = self.verification.charge, self.verification.digest
            row["assumptions"] = list(self.verification.assumptions)
        return row


def verify_file(path: str | os.PathLike[str]) -> Verdict:
    """Read what a file of `save_result` claims, and prove it anew of the very problem and answer it holds.

    A file of `export` is checked as `cvxproof/check.py` does, in rational numbers.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Verdict

    Raises
    ------
    SolverNotInstalledError
        Without python-flint, for a file of `save_result`.

    Examples
    --------
    >>> import tempfile
    >>> import cvxpy as cp, cvxproof
    >>> path, x = f"{tempfile.mkdtemp()}/answer.npz", cp.Variable(2)
    >>> problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
    >>> cvxproof.save_result(path, problem, cvxproof.solve(problem))
    >>> verify_file(path).outcome, verify_file("missing.npz").outcome
    ('proved', 'unreadable')
    """
    return verdict_of(path, load_result, lambda _, result: cone_record_of(result), cone_verification.check, Packing())


def verdict_of(
    path: str | os.PathLike[str],
    load: Callable[..., tuple[Any, SolveResult]],
    record_of: Callable[[Any, SolveResult], ProofRecord],
    check: Callable[[ProofRecord], Verification],
    packing: Packing,
) -> Verdict:
    """Return what is known of a file, by what reads it, what makes a record of its problem, and what proves that."""
    file = str(path)
    if _is_exact(path):
        try:
            return Verdict(file, "proved", "; ".join(exact.check(path)), "exact proof")
        except exact.Refused as error:
            return Verdict(file, "refuted", str(error), "exact proof")
    try:
        problem, result = load(path)
        with contents_of(path):
            record, digest = record_of(problem, result), cone_verification.digest_of(problem, result, packing)
    except (InvalidInputError, OSError) as error:
        return Verdict(file, "unreadable", str(error))
    verification = replace(check(record), digest=digest)
    if verification.message.startswith("nothing to verify"):
        return Verdict(file, "nothing to verify", "its answer claims no bound (stationary)", record.kind)
    outcome: Outcome = "proved" if verification else "unproved" if verification.charge else "refuted"
    return Verdict(file, outcome, verification.message.removeprefix(f"{outcome}: "), record.kind, verification)


def _is_exact(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one of `export`, by the name of what is in it."""
    with suppress(Exception):  # of damaged bytes zipfile raises some ten types
        if os.path.isfile(path):
            with zipfile.ZipFile(path) as archive:
                return archive.namelist() == [exact.MEMBER]
    return False
