"""Records of results: what an objective and an answer of any solver claim, and the evidence for it.

What the problem is and what the answer is must be trusted to this module, and nothing else: everything that the value
of an objective depends on is in its record, or is refused by name. It may use the objectives freely to find evidence:
they know which multipliers belong to a point and how they are made feasible. `specmargin.proofs.verifier` judges what
comes out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
import scipy.sparse as sp

from cvxproof.packing import loaded
from cvxproof.proofs.record import Claim, ProofRecord
from specmargin.checks import shown
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs import LaplacianOperator
from specmargin.kernels import KernelOperator, LowRankKernel
from specmargin.losses import LOSSES, UNLABELED_LOSSES, SymmetricRamp
from specmargin.objectives import (
    RMM,
    S3VM,
    Alignment,
    Features,
    FixedSpectrum,
    LapRLS,
    LapSVM,
    Objective,
    ProductCone,
    RegularizedClustering,
    SpectralGraphTransducer,
    SpectralRidge,
    SpectrumCone,
    SpectrumMargin,
    WeightedSVM,
)
from specmargin.objectives.reduction import Applied
from specmargin.proofs.wings import BOUND, RECORDS
from specmargin.results import CHANGED, SolveResult
from specmargin.typing import AnyArray, FloatArray

__all__ = [
    "Claim",
    "ProofRecord",
    "DENSE",
    "Parts",
    "Variables",
    "lacks_its_tree",
    "parts_of",
    "record",
    "record_of",
    "require_own",
    "s3vm_parts",
]

DENSE = 3000
"""Samples up to which kernels and graphs that are no stored matrices are written out."""

Variables = Mapping[str, Any]
Parts = tuple[str, dict[str, Any], dict[str, Any]]
"""Kind, numbers and arrays of a record."""

_OF_TREES = ("branch_and_bound", "probe")
_SAME = 1e-6
"""Share of the largest decision that two computations of it may differ by."""
_REPAIRED = {
    "rmm": {"c": "gamma"},
    "spectrum_margin": {"v": "v", "delta": "delta"},
    "alignment": {"delta": "delta"},
    "graph_transducer": {"w": "w"},
    "clustering": {"alpha": "alpha"},
}
"""Answers that a record makes feasible, as the certificate does, and how the variables call them."""
_PROVED_LOSSES = {
    type(loss)
    for loss in (*LOSSES.values(), *UNLABELED_LOSSES.values())
    if type(loss).__module__.startswith("specmargin.losses.")
}


def lacks_its_tree(objective: Objective, result: SolveResult) -> bool:
    """Whether the bound of a result rests on the nodes of a tree that its solver was not asked to keep."""
    kept = result.log is not None or "theta" in result.variables or "theta" in result.duals
    searched = isinstance(objective, S3VM) and not (objective.is_supervised and objective.features.penalty == 0.0)
    return searched and result.solver in _OF_TREES and not kept


def record_of(objective: Objective, result: SolveResult) -> ProofRecord:
    """Return the record of a result: data, answer, evidence and claim, as plain numbers and arrays.

    Parameters
    ----------
    objective : Objective
        The problem that was solved.
    result : SolveResult
        Result of any solver. Multipliers are looked for among its duals, then among its variables, and derived from the
        variables where there are none; what the objective repairs before it certifies a point is repaired here.

    Returns
    -------
    ProofRecord
        The claim is ``result.certificate`` as it is.

    Raises
    ------
    InvalidTypeError
        If `objective` is no objective of this package or has a loss of one's own, or `result` is no SolveResult.
    InvalidInputError
        If the result holds no answer, or one of another problem, if its decisions or labels are not those of its
        answer, if a kernel has too many samples to be written out, or if its bound rests on a tree that was not kept.

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    >>> svm = sm.objectives.RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0)
    >>> record = record_of(svm, sm.solvers.relative_margin(svm))
    >>> record.kind, sorted(record.arrays), round(record.claim.primal, 12)
    ('rmm', ['K', 'c', 'gamma', 'y'], 0.5)
    """
    if isinstance(objective, type) or not isinstance(objective, Objective):
        raise InvalidTypeError(
            f"objective={shown(objective)} is no objective; build one of specmargin.objectives from data and labels."
        )
    if not isinstance(result, SolveResult):
        raise InvalidTypeError(f"result={shown(result)} must be a SolveResult; pass what a solver returned.")
    if not result.status.has_solution:
        raise InvalidInputError(f"the result is {result.status.name}: it holds no answer to verify.")
    if result.problem.endswith(CHANGED):
        raise InvalidInputError(
            f"the result is of {result.problem!r}: an objective says nothing of what was changed in CVXPY; verify the "
            "result of the unchanged problem."
        )
    if isinstance(objective, S3VM) and result.problem == "S3VM relaxation":
        objective = loaded("specmargin.optima.S3VMRelaxation")(objective)
    if type(objective).__name__ in RECORDS:
        loaded(RECORDS[type(objective).__name__])
    if isinstance(objective, S3VM) and objective.count is not None:
        raise InvalidInputError("balance_on='labels' has no proof that is written down yet: take its certificate.")
    free = isinstance(objective, S3VM) and objective.features.penalty == 0.0 and not objective.is_supervised
    if free and np.isfinite(result.certificate.dual_objective):
        raise InvalidInputError("the bound of a free intercept is not written down yet: take its certificate.")
    held: Variables = {**result.variables, **result.duals}
    if lacks_its_tree(objective, result):
        raise InvalidInputError(
            f"the bound of {result.solver} rests on a tree that was not kept; solve with log=True, which keeps it."
        )
    if "proved" in result.variables:
        raise InvalidInputError(
            "its labels that all optima share rest on a log that was not kept; solve with log=True."
        )
    if type(objective) not in parts_of.registry:  # a class of one's own may mean another problem
        parts_of.registry[object](objective)
    require_own(objective, result.variables)
    is_open = np.isfinite(result.certificate.dual_objective) and not {"theta", "beta"} <= set(held)
    if isinstance(objective, S3VM) and not objective.is_supervised and is_open:
        held = loaded(BOUND)(objective).variables
    return record(*parts_of(objective, result.variables, held), result)


def record(kind: str, numbers: dict[str, Any], arrays: dict[str, Any], result: SolveResult) -> ProofRecord:
    """Return the record of what a result claims, and of the feasible point that it is claimed of."""
    moved = 0.0
    for name, given in _REPAIRED.get(kind, {}).items():
        x = np.asarray(arrays[name], dtype=float)
        y = np.asarray(result.variables[given], dtype=float).reshape(x.shape)
        y = y / y.sum() if kind == "alignment" else y
        moved = max(moved, float(np.abs(x - y).max(initial=0.0) / (np.abs(x).max(initial=0.0) or 1.0)))
    if not moved <= _SAME:
        numbers = {**numbers, "moved": moved}
    claimed = result.certificate
    primal, dual, rounding = map(float, (claimed.primal_objective, claimed.dual_objective, claimed.rounding))
    claim = Claim(primal, dual, rounding, claimed.sense, str(result.status))
    return ProofRecord(kind, numbers, {name: _plain(array) for name, array in arrays.items()}, claim)


def require_own(objective: Any, variables: Variables) -> None:
    """Raise where what a result says of its answer is not of that answer: decisions, labels, coefficients."""
    for name, x in variables.items():
        if np.asarray(x).dtype.kind not in "biuf":
            raise InvalidInputError(f"{name}={shown(x)} of the result holds no real numbers.")
    of = getattr(objective, "obj", objective) if "w" in variables else objective  # in coordinates of a relaxation
    own = {"f": of.decisions(variables)}
    if isinstance(objective, S3VM | WeightedSVM):
        own["v"], own["b"] = objective.features.coefficients(np.asarray(variables["w"], dtype=float))
    if isinstance(objective, S3VM):
        x = own["f"] if objective.total is None else np.asarray(variables["x"])
        own["labels"] = np.where(x >= 0, 1.0, -1.0)[objective.unlabeled]
    for name in own.keys() & variables.keys() - set(objective.variables):
        given, meant = np.asarray(variables[name]), np.asarray(own[name])
        allowed = _SAME * max(1.0, float(np.abs(meant).max(initial=0.0)))
        near = abs(own["f"][objective.unlabeled]) <= allowed if name == "labels" else False
        if given.shape != meant.shape or not np.all((np.abs(given - meant) <= allowed) | near):
            raise InvalidInputError(f"{name} of the result is not that of its answer; take both from one result.")


def _plain(array: Any) -> AnyArray:
    """Return float64 or int64, contiguous."""
    array = np.asarray(array)
    if array.dtype.kind not in "iuf":
        raise InvalidInputError(f"an array of the problem or its answer holds {array.dtype}, not real numbers.")
    return np.ascontiguousarray(array, dtype=np.int64 if array.dtype.kind in "iu" else np.float64)


def _answer(objective: Objective, variables: Variables) -> list[FloatArray]:
    """Return the variables that decide the value, checked by the objective."""
    objective.decisions(variables)
    return [np.asarray(variables[name], dtype=float) for name in objective.variables]


@singledispatch
def parts_of(objective: Any, *_: Any) -> Parts:
    """Return kind, numbers and arrays of an objective, from variables of its answer and all that is held of it."""
    raise InvalidTypeError(f"there is no proof of the objective {type(objective).__name__}; call specmargin.certify.")


def _loss(loss: Any) -> tuple[str, float]:
    """Return the name of a loss and its parameter: of a loss that the verifier knows, to the last bit."""
    if type(loss) not in _PROVED_LOSSES:
        raise InvalidTypeError(
            f"the loss {shown(loss)} of the class {type(loss).__name__} has no proof record, whose losses are those of "
            "specmargin.losses; specmargin.certify recomputes a certificate with it: call that."
        )
    if isinstance(loss, SymmetricRamp):
        return ("symmetric_ramp", -float(loss.s)) if loss.s else ("symmetric_hinge", 1.0)
    return loss.name, next((float(getattr(loss, name)) for name in ("h", "s") if hasattr(loss, name)), 1.0)


@parts_of.register
def _(obj: LapSVM, variables: Variables, held: Variables) -> Parts:
    alpha, b = _answer(obj, variables)
    _unweighted(obj)
    theta = obj.labels.sign * np.asarray(held["beta"]) if "beta" in held else obj.multipliers(alpha, float(b))
    name, p = _loss(obj.margin_loss)
    numbers = {"loss": name, "parameter": p, "gamma_A": float(obj.gamma_A), "gamma_I": float(obj.gamma_I), "power": 1}
    numbers.update(scale=float(obj.scale), fit_intercept=bool(obj.fit_intercept), b=float(b))
    arrays = {"J": obj.labels.labeled, "y": obj.labels.sign, "alpha": alpha, "theta": obj.repair_multipliers(theta)}
    if isinstance(obj.K, LowRankKernel):
        arrays["F"] = obj.K.factor
    else:
        arrays["K"] = _dense(obj.K, "K")
    if obj.gamma_I > 0:
        numbers["power"] = _graph(obj.L, arrays)
    return "lapsvm", numbers, arrays


@parts_of.register
def _(obj: LapRLS, variables: Variables, held: Variables) -> Parts:
    raise InvalidTypeError(
        "LapRLS with numbers for targets has no proof record, whose labels are signs; its certificate is recomputed by "
        "specmargin.certify: call that."
    )


def _unweighted(obj: Any) -> None:
    """Raise where the labels have weights, for which a record has no place."""
    if obj.labels.weights is not None:
        raise InvalidTypeError(
            f"{type(obj).__name__} with weights of the labels has no proof record; specmargin.certify recomputes its "
            "certificate: call that."
        )


def _dense(K: Any, name: str) -> FloatArray:
    """Return all entries of a matrix, symmetric; of one that is known by its products if it is not too large."""
    if isinstance(K, np.ndarray):
        return K
    n = K.shape[0]
    if not sp.issparse(K) and n > DENSE:
        raise InvalidInputError(
            f"{name} is of {n} samples and not stored: it can be verified up to {DENSE}. Pass a matrix, or verify the "
            "same problem on fewer samples."
        )
    if sp.issparse(K):
        return np.asarray(((K + K.T) / 2).toarray())
    full = np.asarray(K) if isinstance(K, KernelOperator) else K @ np.eye(n)
    return np.asarray((full + full.T) / 2)


def _graph(L: Any, arrays: dict[str, Any]) -> int:
    """Put a Laplacian among the arrays and return its power."""
    L = L.L if isinstance(L, Applied) else L  # with its product with K, which is the same again
    matrix, power = (L.matrix, L.power) if isinstance(L, LaplacianOperator) else (L, 1)
    arrays["L"] = _dense(matrix, "L")
    return int(power)


@parts_of.register
def _(obj: RMM, variables: Variables, held: Variables) -> Parts:
    c, b = _answer(obj, variables)
    _unweighted(obj)
    share = obj.loss.share_within(obj.K @ c + float(b))
    gamma = obj.loss.nearest_multipliers(obj.labels.sign, np.asarray(held["gamma"]))
    numbers = {"C": float(obj.C), "B": float(obj.B), "b": share * float(b)}
    return "rmm", numbers, {"K": obj.K, "y": obj.labels.sign, "c": share * c, "gamma": gamma}


@parts_of.register
def _(obj: SpectrumMargin, variables: Variables, held: Variables) -> Parts:
    _unweighted(obj)
    gamma, _, delta, v, b = obj.feasible(variables, held)[0]
    fixed = isinstance(obj.cone, FixedSpectrum)
    if fixed and not np.allclose(variables["delta"], obj.cone.weights(np.ones(1)), rtol=_SAME, atol=_SAME):
        raise InvalidInputError("delta of the result is not the spectrum that the problem gives; take both from one.")
    numbers = {"C": float(obj.C), "B": float(obj.B), "eps": float(obj.eps), "fixed": fixed, "b": float(b)}
    delta = obj.cone.weights(np.ones(1)) if fixed else delta
    arrays = {"U": obj.U, "y": obj.labels.sign, "v": v, "delta": delta, "gamma": gamma}
    return "spectrum_margin", numbers, {**arrays, **_rays(obj.cone)}


def _rays(cone: Any) -> dict[str, Any]:
    """Return first and last entries of the extreme spectra."""
    first: list[int] = []
    last: list[int] = []
    start = 0
    for part in cone.parts if isinstance(cone, ProductCone) else (cone,):
        if isinstance(part, SpectrumCone) and part.order:
            first += [start] + [start + 1] * len(part.block_ends)
            last += [start] + [start + int(end) for end in part.block_ends]
        else:
            first += range(start, start + part.q)
            last += range(start, start + part.q)
        start += part.q
    return {"first": np.array(first), "last": np.array(last)}


@parts_of.register
def _(obj: Alignment, variables: Variables, held: Variables) -> Parts:
    (delta,) = _answer(obj, variables)
    return "alignment", {}, {"U": obj.U, "y": obj.labels.sign, "delta": obj.repair(delta), **_rays(obj.cone)}


@parts_of.register
def _(obj: SpectralRidge, variables: Variables, held: Variables) -> Parts:
    _unweighted(obj)
    v, b = _answer(obj, variables)
    l, q = obj.U.shape
    v = np.where(obj.delta[:, None] > 0, v.reshape(q, -1), 0.0)
    theta = np.asarray(held["theta"]) if "theta" in held else obj.multipliers(v.reshape(variables["v"].shape), b)
    arrays = {"U": obj.U, "y": obj.labels.sign.reshape(l, -1), "delta": obj.delta, "v": v, "b": np.atleast_1d(b)}
    arrays["theta"] = obj.repair_multipliers(theta).reshape(l, -1)
    return "spectral_ridge", {"penalty": float(obj.penalty)}, arrays


@parts_of.register
def _(obj: SpectralGraphTransducer, variables: Variables, held: Variables) -> Parts:
    _unweighted(obj)
    (w,) = _answer(obj, variables)
    if not np.isfinite(obj.value(variables)):
        w = w * np.sqrt(obj.n / (w @ w))
    lam = float(held["lam"]) if "lam" in held else float(w @ (obj.A @ w - obj.b)) / obj.n
    lam = min(lam, float(obj.eigen[0].min()))
    numbers = {"C": float(obj.C), "n": float(obj.n), "lam": lam}
    return "graph_transducer", numbers, {"V": obj.labeled_rows, "y": obj.labels.sign, "Q": obj.Q, "w": w}


@parts_of.register
def _(obj: RegularizedClustering, variables: Variables, held: Variables) -> Parts:
    (alpha,) = _answer(obj, variables)
    alpha = alpha.reshape(len(alpha), -1)
    if not np.isfinite(obj.value(variables)):
        alpha = obj.feasible(alpha)
    f, theta = obj.K @ alpha, obj.rayleigh_quotients(alpha)
    arrays = {"K": obj.K, "alpha": alpha, "Z": f / np.linalg.norm(f, axis=0), "s": theta.max() - theta}
    power = _graph(obj.L, arrays)
    return "clustering", {"gamma_A": float(obj.gamma), "centred": obj.basis.row_sums is None, "power": power}, arrays


def _rows(features: Features) -> dict[str, Any]:
    """Return the rows that decide, the mean that sparse ones are still to be centred on, and penalties other than 1."""
    penalties = {} if (features.weights == 1).all() else {"P": features.weights}
    if features.penalty is not None and features.mu is not None:
        raise InvalidInputError("features with a mean and an intercept of their own have no proof; take one of them.")
    if not features.is_sparse or features.mu is None:
        return {"X": features.dense(), **penalties}
    if features.residue is not None:
        raise InvalidInputError(
            "sparse features with a residue of their mean have no proof; build them by Features.of."
        )
    return {"X": features.X.toarray(), "mu": features.mu, **penalties}


@parts_of.register
def _(obj: WeightedSVM, variables: Variables, held: Variables) -> Parts:
    (w,) = _answer(obj, variables)
    f = obj.features.decisions(w)
    sides = [held[name] if name in held else -obj.loss.gradient(y * f) for name, y in (("plus", 1.0), ("minus", -1.0))]
    name, p = _loss(obj.loss)
    numbers = {"loss": name, "parameter": p, "b": float(obj.features.offset)}
    arrays = {"plus": obj.plus, "minus": obj.minus, "w": w, "P": obj.features.weights, **_rows(obj.features)}
    linear = np.zeros(len(f)) if obj.linear is None else obj.linear
    return "weighted_svm", numbers, {**arrays, "linear": linear, "theta_plus": sides[0], "theta_minus": sides[1]}


@parts_of.register
def _(obj: S3VM, variables: Variables, held: Variables) -> Parts:
    (w,) = _answer(obj, variables)
    if obj.is_supervised:
        return parts_of(obj.guessed(np.zeros(len(obj.unlabeled)), 0.0), variables, held)
    numbers, arrays = s3vm_parts(obj, held)
    nothing = {"decided": np.zeros(0, dtype=int), "signs": np.zeros(0)}
    return "s3vm", numbers, {**arrays, **nothing, "w": w}


def s3vm_parts(obj: S3VM, held: Variables) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what an S3VM and its relaxation share."""
    _unweighted(obj)
    (name, p), (unlabeled, q) = _loss(obj.loss), _loss(obj.unlabeled_loss)
    numbers = {"loss": name, "parameter": p, "unlabeled_loss": unlabeled, "unlabeled_parameter": q}
    numbers.update(C=float(obj.C), C_star=float(obj.C_star), b=float(obj.features.offset))
    arrays = {**_rows(obj.features), "J": obj.labels.labeled, "y": obj.labels.sign}
    arrays["theta"] = np.asarray(held.get("theta", np.zeros(len(obj.unlabeled))))
    arrays["beta"] = np.asarray(held.get("beta", np.zeros(obj.labels.n_labeled)))
    return numbers, arrays
