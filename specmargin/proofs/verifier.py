"""The verifier: claims of certificates, proved anew in ball and rational arithmetic from their floats taken as exact.

`check` judges a `ProofRecord`. It trusts flint and three modules that share no code with objectives and solvers:
`specmargin.proofs.balls` (arithmetic), `specmargin.proofs.conjugates` (losses) and `specmargin.proofs.bounds` (a
function for each kind of record, as in its paper). `KINDS` lists what a record of each kind holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from specmargin.proofs import bounds
from specmargin.proofs.balls import BITS, Ball, Refuted, arb, balls, ctx, matrix, outward
from specmargin.proofs.bounds import Proof
from specmargin.proofs.conjugates import MARGIN_LOSSES, UNLABELED_LOSSES
from specmargin.proofs.record import Claim, ProofRecord, Verification
from specmargin.typing import AnyArray

__all__ = ["KINDS", "STATUS_GAP", "check", "concluded", "judged", "read", "require_numbers"]

KINDS: dict[str, tuple[Callable[[SimpleNamespace], Proof], str, str]] = {
    "lapsvm": (
        bounds.lapsvm,
        "K=nn? F=nm? L=nn? J=l y=l alpha=n theta=l",
        "loss parameter gamma_A gamma_I power scale fit_intercept b",
    ),
    "rmm": (bounds.rmm, "K=ll y=l c=l gamma=l", "C B b"),
    "spectrum_margin": (bounds.spectrum_margin, "U=lq y=l first=m last=m v=q delta=q gamma=l", "C B eps fixed b"),
    "alignment": (bounds.alignment, "U=lq y=l first=m last=m delta=q", ""),
    "spectral_ridge": (bounds.spectral_ridge, "U=lq y=lk delta=q v=qk b=k theta=lk", "penalty"),
    "graph_transducer": (bounds.graph_transducer, "V=lk y=l Q=k w=k", "C n lam"),
    "clustering": (bounds.clustering, "K=nn L=nn alpha=nm Z=nm s=m", "gamma_A power centred"),
    "weighted_svm": (
        bounds.weighted_svm,
        "X=nd mu=d? P=d plus=n minus=n linear=n w=d theta_plus=n theta_minus=n",
        "loss parameter b",
    ),
    "s3vm": (
        bounds.s3vm,
        "X=nd mu=d? P=d? J=l y=l w=r theta=u beta=k decided=c signs=c V=dr? F=rs?",
        "loss parameter unlabeled_loss unlabeled_parameter C C_star b",
    ),
}
"""The kinds of records: what proves them, arrays, numbers. Letters are sizes; what has a ? may be missing.

==================  ===============================================================================================
lapsvm              kernel K or its factor, K = FF'; graph L and its power; labels y of the samples J; answer alpha, b;
                    multipliers theta
rmm                 kernel K of the labelled samples; answer c, b; multipliers gamma
spectrum_margin     labelled rows U; extreme spectra from first to last, or one that is fixed; answer v, delta, b
alignment           the same
spectral_ridge      the same of several classes; multipliers theta
graph_transducer    labelled rows V; penalties Q; number n of samples; answer w; multiplier lam of the sphere
clustering          answer alpha; Z and s of the bound; whether K counts as centred
weighted_svm        features X, less mu; penalties P of weights; weights plus and minus of both labels; linear term;
                    answer w; multipliers theta_plus, theta_minus
s3vm                features X, less mu; penalties P of weights; answer w, in the coordinates V and with F where it is
                    that of the relaxation; signs of decided samples; multipliers theta of free samples, beta of the
                    others
==================  ===============================================================================================
"""
_POSITIVE = {"C", "gamma_A", "scale", "penalty", "n", "power", "parameter", "unlabeled_parameter"}
_NONNEGATIVE = {"gamma_I", "C_star", "B", "eps", "plus", "minus", "P"}
_SIGNS = {"y", "signs"}
_INDICES = {"J": "n", "decided": "n", "first": "q", "last": "q"}
_LOSSES = {"loss": MARGIN_LOSSES, "unlabeled_loss": UNLABELED_LOSSES}
_TYPES: dict[str, type] = {"loss": str, "unlabeled_loss": str, "power": int}
_TYPES |= dict.fromkeys(("fixed", "fit_intercept", "centred"), bool)
POWERS = 100
"""Largest power of a graph, as of `specmargin.graphs`: the time of a proof grows with it."""
CHARGED = 1e-6
"""Share of the objective that a kernel which is semidefinite but for rounding may cost."""
STATUS_GAP = {"optimal": 1e-2, "optimal_inaccurate": 1e-2, "conditional": 1e-2}
"""Relative gaps beyond which no result is called so (`specmargin.results.INACCURATE_GAP`)."""
ZERO = 1e-10
"""Share of the size of its terms up to which an objective counts as zero (`specmargin.results.ZERO`)."""


NOTHING = ("nothing to verify: no bound is claimed", "nothing to verify: stationary")
WRONG = (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError)
"""What arithmetic raises for a record that nobody made in earnest."""


def check(record: ProofRecord) -> Verification:
    """Return what is proved of a record."""
    return concluded(lambda: proved(record))


def concluded(conclusion: Callable[[], Verification], precisions: tuple[int, ...] = (BITS // 2, BITS)) -> Verification:
    """Return a conclusion, with midpoints of the first precision that is enough."""
    outcome = Verification(False, "")
    for bits in precisions:
        with ctx.workprec(bits):
            try:
                outcome = conclusion()
            except Refuted as refuted:
                outcome = Verification(False, str(refuted))
            except WRONG as error:
                outcome = Verification(False, f"the record contradicts itself, or leaves the range of floats: {error}")
        if outcome:
            break
    return outcome


def proved(record: ProofRecord) -> Verification:
    """Return what is proved with the present precision, or raise Refuted."""
    if record.kind not in KINDS:
        raise Refuted(f"there is no proof of the kind {record.kind!r}")
    require_numbers(record.claim, record.kind == "s3vm")
    if record.claim.sense != ("maximize" if record.kind == "alignment" else "minimize"):
        raise Refuted(f"to {record.claim.sense} is not the problem of a record of the kind {record.kind!r}")
    prove, arrays, numbers = KINDS[record.kind]
    proof = prove(read(record, arrays, numbers))
    if "moved" in record.numbers:
        moved = record.numbers["moved"]
        far = f"of the feasible point that the certificate is for, {moved:.2g} from the answer"
        proof = proof._replace(assumption=f"{proof.assumption}; {far}" if proof.assumption else far)
    return judged(record.claim, proof, record.kind == "s3vm")


def require_numbers(claim: Claim, is_search: bool = False) -> None:
    """Refute a claim whose numbers are none."""
    if math.isnan(claim.dual) or claim.rounding == math.inf:
        raise Refuted(NOTHING[is_search])
    if math.isnan(claim.primal) or not claim.rounding >= 0:
        raise Refuted(f"a claim of {claim.primal} up to {claim.rounding} is none")


def read(record: ProofRecord, arrays: str, numbers: str) -> SimpleNamespace:
    """Return what a kind needs, floats as balls, once its sizes and signs are right."""
    out, sizes = SimpleNamespace(claim=record.claim), dict[str, int]()
    for name in numbers.split():
        x = record.numbers.get(name)
        if not isinstance(x, _TYPES.get(name, int | float)) or not _is_allowed(name, np.asarray(x)):
            raise Refuted(f"{name}={x!r} is no number of a record of the kind {record.kind!r}")
        if name in _LOSSES and x not in _LOSSES[name]:
            raise Refuted(f"{name}={x!r} is none of the losses that have a proof: {', '.join(_LOSSES[name])}")
        setattr(out, name, x if name in _TYPES else arb(x))
    for name, letters in (spec.rstrip("?").split("=") for spec in arrays.split()):
        if name not in record.arrays and f"{name}={letters}?" in arrays:
            setattr(out, name, None)
            continue
        x = np.asarray(record.arrays.get(name, math.nan))
        fits = x.ndim == len(letters) and x.dtype.kind == ("i" if name in _INDICES else "f")
        fits = fits and all(sizes.setdefault(k, n) == n for k, n in zip(letters, x.shape, strict=True))
        if not fits or not np.isfinite(x).all() or not _is_allowed(name, x):
            raise Refuted(f"{name} of the shape {x.shape} is no array of a record of the kind {record.kind!r}")
        if name in _INDICES and not ((x >= 0) & (x < sizes[_INDICES[name]])).all():
            raise Refuted(f"{name} goes beyond the {sizes[_INDICES[name]]} that there are")
        # K and L stay floats, of which factors are guessed.
        setattr(out, name, x if name in _INDICES or name in ("K", "L") else balls(x) if x.ndim == 1 else matrix(x))
    return out


def _is_allowed(name: str, x: AnyArray) -> bool:
    """Whether what has that name is what it must be: a weight, signs, a symmetric matrix, indices in order."""
    if name == "power" and x > POWERS:
        return False
    if name in _POSITIVE or name in _NONNEGATIVE:
        return bool((x >= 0).all() and not (name in _POSITIVE and (x == 0).any()))
    if name in _SIGNS:
        return bool((abs(x) == 1).all())
    if name in ("K", "L"):
        return bool((x == x.T).all())
    if name in _INDICES:
        return bool((np.diff(x) > -(name == "first")).all())
    return name in _TYPES or bool((x == x).all())


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
        message = NOTHING[is_search]
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
    """Return the claimed gap as a share of the objective, as `specmargin.Certificate` has it."""
    size = _size(claim)
    return claim.gap / size if size > 0 and math.isfinite(claim.gap) else claim.gap


def _size(claim: Claim) -> float:
    """Return what the claimed gap is held against."""
    size = max(abs(claim.primal), min(abs(claim.dual), 1e300))
    return claim.scale if size + claim.rounding <= ZERO * claim.scale else size


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
    affords = all(one.is_rounding for one in shifts) and proof.charges <= CHARGED * size
    if affords or whole <= claimed:
        return Verification(True, message, **known, assumptions=(*assumptions, told))
    return Verification(False, f"unproved: {message}; {told}; {float(claimed):.3g} is claimed", **known)


def _above(x: Ball) -> str:
    """Return three digits that are not below a number."""
    return f"{1.0051 * outward(x)[1]:.3g}"
