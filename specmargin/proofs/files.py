"""Files of results, verified one by one for the command line: `verify_file`, and its `Verdict` as text and JSON."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from specmargin.exceptions import InvalidInputError
from specmargin.proofs.record import Verification
from specmargin.proofs.saving import read_record
from specmargin.proofs.verification import verify_record

__all__ = ["Verdict", "verify_file"]


@dataclass(frozen=True)
class Verdict:
    """What is known of a file.

    Parameters
    ----------
    file : str
        Its name.
    outcome : {"proved", "refuted", "nothing to verify", "unreadable"}
        Nothing to verify is in the answer of a search that claims no bound.
    message : str
        One sentence.
    kind : str, optional
        Of the record.
    verification : Verification, optional
        Where something was claimed.
    """

    file: str
    outcome: Literal["proved", "refuted", "nothing to verify", "unreadable"]
    message: str
    kind: str | None = None
    verification: Verification | None = None

    @property
    def exit_code(self) -> int:
        """0 where the claim is proved, 1 where it is refuted, 2 where there is none."""
        return {"proved": 0, "refuted": 1}.get(self.outcome, 2)

    def line(self) -> str:
        """Return one line of text."""
        named = self.file if self.kind is None else f"{self.file}: {self.kind}"
        if self.outcome != "proved" or self.verification is None:
            return f"{named}: {self.outcome}: {self.message}"
        low, high = self.verification.gap
        ends = "".join(f"; {assumption}" for assumption in self.verification.assumptions)
        return f"{named}: proved: the gap is in [{low:.3g}, {high:.3g}]{ends}"

    def as_json(self) -> dict[str, Any]:
        """Return what JSON knows; what is infinite is None."""
        row: dict[str, Any] = {"file": self.file, "outcome": self.outcome, "message": self.message, "kind": self.kind}
        if self.verification is not None:
            for name in ("primal", "bound", "gap"):
                ends = getattr(self.verification, name)
                row[name] = [end if math.isfinite(end) else None for end in ends]
            row["assumptions"] = list(self.verification.assumptions)
        return row


def verify_file(path: str | os.PathLike[str]) -> Verdict:
    """Read what a file of `specmargin.save_result` claims, and prove it anew; the section ``proof/`` alone is used.

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
        Without python-flint.

    Examples
    --------
    >>> import numpy as np
    >>> import tempfile
    >>> import specmargin as sm
    >>> path = f"{tempfile.mkdtemp()}/pair.npz"
    >>> obj = sm.objectives.RMM(np.eye(2), sm.encode_labels([0, 1]), C=1.0)
    >>> sm.save_result(path, obj, sm.solvers.relative_margin(obj))
    >>> verify_file(path).outcome, verify_file("missing.npz").outcome
    ('proved', 'unreadable')
    """
    file = str(path)
    try:
        record = read_record(Path(path))
    except (InvalidInputError, OSError) as error:
        return Verdict(file, "unreadable", str(error))
    if not math.isfinite(record.claim.dual):
        return Verdict(file, "nothing to verify", "its answer claims no bound (stationary)", record.kind)
    verification = verify_record(record)
    return Verdict(file, "proved" if verification.holds else "refuted", verification.message, record.kind, verification)
