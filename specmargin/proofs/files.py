"""Files of results of any problem, verified one by one for the command line."""

from __future__ import annotations

import os

from cvxproof.verdicts import Verdict, verdict_of
from specmargin.proofs.packing import PACKING
from specmargin.proofs.saving import load_result, provable
from specmargin.proofs.verification import verify_record

__all__ = ["Verdict", "verify_file"]


def verify_file(path: str | os.PathLike[str]) -> Verdict:
    """Read what a file of `specmargin.save_result` claims, and prove it anew of the very problem and answer it holds.

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
    return verdict_of(path, load_result, provable, verify_record, PACKING)
