"""A claim against its proof: whether value, bound and gap are as claimed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from cvxproof.proofs.balls import BITS, ZERO, Ball, Refuted, Shift, arb, ctx, outward
from cvxproof.proofs.record import Claim, Verification

__all__ = ["STATUS_GAP", "Proof", "concluded", "judged", "require_numbers"]

_CHARGED = 1e-6
"""Share of the objective that a kernel which is semidefinite but for rounding may cost."""
STATUS_GAP = {"optimal": 1e-2, "optimal_inaccurate": 1e-2, "conditional": 1e-2}
"""Relative gaps beyond which no result is called so (`cvxproof.results.INACCURATE_GAP`)."""
_ZERO = 1e-10
"""Share of the size of its terms up to which an objective counts as zero (`cvxproof.results.ZERO`)."""
_NOTHING = ("nothing to verify: no bound is claimed", "nothing to verify: stationary")
_WRONG = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""What arithmetic raises for a record that nobody made in earnest."""


class Proof(NamedTuple):
    """Primal and bound, and of what in words; with shifts of matrices also their charges to primal and bound."""

    primal: Ball
    bound: Ball
    shifts: tuple[Shift, ...] = ()
    charges: Ball = ZERO
    assumption: str = ""
    of: str = "the global optimum"


def concluded(conclusion: Callable[[], Verification], precisions: tuple[int, ...] = (BITS // 2, BITS)) -> Verification:
    """Return a conclusion, with midpoints of the first precision that is enough."""
    outcome = Verification(False, "")
    for bits in precisions:
        with ctx.workprec(bits):
            try:
                outcome = conclusion()
            except Refuted as refuted:
                outcome = Verification(False, str(refuted))
            except _WRONG as error:
                outcome = Verification(False, f"the record contradicts itself, or leaves the range of floats: {error}")
        if outcome:
            break
    return outcome


def require_numbers(claim: Claim, is_search: bool = False) -> None:
    """Refute a claim whose numbers are none."""
    if math.isnan(claim.dual) or claim.rounding == math.inf:
        raise Refuted(_NOTHING[is_search])
    if math.isnan(claim.primal) or not claim.rounding >= 0:
        raise Refuted(f"a claim of {claim.primal} up to {claim.rounding} is none")


def judged(claim: Claim, proof: Proof, is_search: bool = False) -> Verification:
    """Compare what was proved with what is claimed; a search claims no bound, but an objective."""
    sign = 1 if claim.sense == "minimize" else -1
    gap, claimed = sign * (proof.primal - proof.bound), sign * (arb(claim.primal) - claim.dual) + claim.rounding
    known: dict[str, Any] = {"primal": outward(proof.primal), "bound": outward(proof.bound), "gap": outward(gap)}
    allowed = arb(claim.rounding) + math.ulp(claim.primal)
    if claim.primal != sign * math.inf and not abs(proof.primal - claim.primal) <= allowed:
        message = f"the objective is {known['primal'][0]:.17g}, not {claim.primal:.17g}"
    elif claim.status in STATUS_GAP and not _share(claim) <= STATUS_GAP[claim.status]:
        message = f"its status is {claim.status}, next to a gap of {_share(claim):.3g} of the objective"
    elif claim.dual == -sign * math.inf:
        message = _NOTHING[is_search]
    elif not sign * (proof.bound - claim.dual) >= -arb(claim.rounding):
        told = known["bound"][0]  # no number where the multipliers leave a term of the bound open
        message = (
            f"the multipliers prove {f'the bound {told:.17g}' if told == told else 'no bound'}, not {claim.dual:.17g}"
        )
    elif not gap <= claimed:
        message = f"the gap is {known['gap'][1]:.17g}, not {float(claimed):.17g}"
    else:
        return _with_shifts(proof, gap, claimed, known, _size(claim))
    return Verification(False, message, **known)


def _share(claim: Claim) -> float:
    """Return the claimed gap as a share of the objective, as `cvxproof.Certificate` has it."""
    size = _size(claim)
    return claim.gap / size if size > 0 and math.isfinite(claim.gap) else claim.gap


def _size(claim: Claim) -> float:
    """Return what the claimed gap is held against."""
    size = max(abs(claim.primal), min(abs(claim.dual), 1e300))
    return claim.scale if size + claim.rounding <= _ZERO * claim.scale else size


def _with_shifts(proof: Proof, gap: Ball, claimed: Ball, known: dict[str, Any], least: float) -> Verification:
    """Say what is proved, and of what: matrices that are positive semidefinite but for rounding are charged for it."""
    assumptions = (proof.assumption,) if proof.assumption else ()
    shifts = [one for one in proof.shifts if one.s > 0]
    whole, size = gap + proof.charges, abs(proof.primal).max(arb(least))
    message = f"the gap is at most {_above(whole)}"
    if whole > 0.01 * size > 0:
        message += f", {100 * float(whole / size):.3g} % of the objective,"
    message += f" to {proof.of}"
    if not shifts:
        return Verification(True, message, **known, assumptions=assumptions)
    shifted = " and ".join(f"{one.name} + {2 * float(one.s):.2g} I" for one in shifts)
    told = f"of it {_above(proof.charges)} is the charge for {shifted}, which is positive semidefinite by proof"
    known["charge"] = outward(proof.charges)[1]
    affords = all(one.is_rounding for one in shifts) and proof.charges <= _CHARGED * size
    if affords or whole <= claimed:
        return Verification(True, message, **known, assumptions=(*assumptions, told))
    return Verification(False, f"unproved: {message}; {told}; {float(claimed):.3g} is claimed", **known)


def _above(x: Ball) -> str:
    """Return three digits that are not below a number."""
    return f"{1.0051 * outward(x)[1]:.3g}"
