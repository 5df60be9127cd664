"""The verifier: claims of certificates, proved anew in ball and rational arithmetic from their floats taken as exact.

`check` judges a `ProofRecord`. It trusts flint and three modules that share no code with objectives and solvers:
`cvxproof.proofs.balls` (arithmetic), `specmargin.proofs.conjugates` (losses) and `specmargin.proofs.bounds` (a
function for each kind of record, as in its paper). `KINDS` lists what a record of each kind holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np

from cvxproof.proofs.balls import Refuted, arb, balls, matrix
from cvxproof.proofs.judging import Proof, concluded, judged, require_numbers
from cvxproof.proofs.record import ProofRecord, Verification
from specmargin.proofs import bounds
from specmargin.proofs.conjugates import MARGIN_LOSSES, UNLABELED_LOSSES
from specmargin.typing import AnyArray

__all__ = ["KINDS", "check", "read"]

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


def check(record: ProofRecord) -> Verification:
    """Return what is proved of a record."""
    return concluded(lambda: proved(record))


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
