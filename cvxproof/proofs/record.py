"""What is handed to the verifier, and what it answers: plain data, no mathematics.

This module is all that the verifier has in common with those whose claims it checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from cvxproof.checks import AsText
from cvxproof.typing import AnyArray

__all__ = ["Claim", "ProofRecord", "Verification"]


@dataclass(frozen=True, slots=True)
class Claim:
    """The numbers of a certificate, as it states them (`cvxproof.Certificate`).

    Parameters
    ----------
    primal, dual : float
        Objective at the answer, and the bound on the optimum; an infinite bound claims nothing.
    rounding : float
        Bound on how far both together may be off.
    sense : {"minimize", "maximize"}
        Whether the bound is one from below or from above.
    status : str, default ""
        What the result is called (`cvxproof.Status`), which must fit its gap; nothing is claimed by "".
    scale : float, default 0
        Least modulus that the gap is held against: that of terms which cancel in the objective.
    """

    primal: float
    dual: float
    rounding: float = 0.0
    sense: Literal["minimize", "maximize"] = "minimize"
    status: str = ""
    scale: float = 0.0

    @property
    def gap(self) -> float:
        """What is left between the answer and the optimum, rounding included."""
        gap = self.primal - self.dual
        return (gap if self.sense == "minimize" else -gap) + self.rounding


@dataclass(frozen=True)
class ProofRecord:
    """A problem, an answer and the evidence for a bound, as floats that are taken as exact.

    Parameters
    ----------
    kind : str
        Which problem it is, such as "cone program"; its verifier knows the names that it needs.
    numbers : mapping of str to float, int, bool or str
        Scalars of the problem, and single numbers of the answer and the evidence.
    arrays : mapping of str to ndarray
        float64 and int64 arrays: data, answer, evidence.
    claim : Claim
        What is claimed of it.
    """

    kind: str
    numbers: Mapping[str, Any]
    arrays: Mapping[str, AnyArray]
    claim: Claim


@dataclass(frozen=True)
class Verification(AsText):
    """What was proved of a record, independently of who made it.

    Parameters
    ----------
    holds : bool
        Whether the claim is proved: the answer is feasible, its objective is the one claimed to the claimed rounding,
        and the gap is at most the one claimed.
    message : str
        One sentence: what was proved, or what fails, with the numbers.
    primal, bound, gap : pair of float
        Enclosures: exact values lie between both ends. (-inf, inf) where the check did not get that far.
    charge : float, default 0
        What the gap grows by for the nearest kernel or graph that is positive semidefinite by proof, where the one in
        hand is so but for rounding.
    assumptions : tuple of str
        What the proof rests on beyond the data, such as the shift that makes a kernel positive semidefinite.
    digest : str, default ""
        SHA-256 of all that was judged: the problem, the answer, the multipliers and the claim, to the last bit. Of a
        file and of the objective and result in it it is the same.

    Examples
    --------
    >>> bool(Verification(False, "the multipliers sum to 0.1, not to 0")), bool(Verification(True, "gap in [0, 1e-9]"))
    (False, True)
    >>> print(Verification(True, "the gap is at most 1e-9", assumptions=("stated for K + 1e-15 I",)))
    proved: the gap is at most 1e-9; stated for K + 1e-15 I
    """

    holds: bool
    message: str
    primal: tuple[float, float] = (float("-inf"), float("inf"))
    bound: tuple[float, float] = (float("-inf"), float("inf"))
    gap: tuple[float, float] = (float("-inf"), float("inf"))
    charge: float = 0.0
    assumptions: tuple[str, ...] = field(default=())
    digest: str = ""

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        return "; ".join([f"{'proved' if self.holds else 'not proved'}: {self.message}", *self.assumptions])
