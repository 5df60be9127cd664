"""Files of infeasible and unbounded programs, and what a forger would change: no change leaves a proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from specmargin.results import ConeProof, SolveResult


def inside(log: ConeProof) -> np.ndarray:
    """Return slacks in the cones, well inside of those that have an inside."""
    s = np.zeros(len(log.b))
    for kind, rows, parameters in log.cones:
        if kind == "nonnegative":
            s[rows] = 1.0
        elif kind == "second_order":
            s[rows[:, 0]] = 1.0
        elif kind == "semidefinite":
            order = int(parameters[0])
            i, j = np.triu_indices(order) if parameters[1] else np.tril_indices(order)
            s[rows[:, i == j]] = 1.0
        elif kind == "exponential":
            for place, value in zip(parameters, (-1.0, 1.0, 1.0), strict=True):
                s[rows[:, int(place)]] = value
        elif kind == "power":
            s[rows[:, :-1]] = 1.0
    return s


def _with_entry(x: np.ndarray, i: int, value: float) -> np.ndarray:
    x = np.array(x, dtype=float)
    x[i] = value
    return x


def _of_infeasible(log: ConeProof, rng: np.random.Generator) -> Iterator[tuple[str, ConeProof]]:
    s, n = inside(log), len(log.q)
    x0 = rng.standard_normal(n)
    yield "right sides of a feasible program", replace(log, b=log.A @ x0 + s)
    yield "right sides for which zero is feasible", replace(log, b=s)
    whole = log.A.tolil()
    for j in rng.integers(0, n, 2).tolist():
        A = whole.copy()
        A[:, j] = (log.b - s)[:, None]
        yield f"a column {j} that makes it feasible", replace(log, A=sp.csc_matrix(A))
    more = {"q": np.append(log.q, 0.0), "x": np.append(log.x, 0.0), "xh": np.append(log.xh, 0.0)}
    P = sp.csc_matrix(sp.block_diag([log.P, sp.csc_matrix((1, 1))]))
    yield "a column more", replace(log, A=sp.csc_matrix(sp.hstack([log.A, (log.b - s)[:, None]])), P=P, **more)
    yield "no ray", replace(log, z=np.zeros(len(log.z)))
    yield "the ray reversed", replace(log, z=-log.z)
    if {kind for kind, *_ in log.cones} != {"zero"}:  # of equalities the verifier finds a ray next to any
        yield "a ray of others", replace(log, z=rng.permutation(log.z) + 10 * rng.standard_normal(len(log.z)))
        i = int(np.argmax(np.abs(log.z * log.b)))
        yield "the heaviest multiplier negated", replace(log, z=_with_entry(log.z, i, -log.z[i]))
    yield "the point is not zero", replace(log, x=np.ones(n))
    yield "the bound is not at zero", replace(log, xh=np.ones(n))


def _of_unbounded(log: ConeProof, rng: np.random.Generator) -> Iterator[tuple[str, ConeProof]]:
    n = len(log.q)
    yield "another objective", replace(log, q=-log.q)
    yield "no objective", replace(log, q=np.zeros(n))
    yield "a curved objective", replace(log, P=sp.csc_matrix(log.P + sp.identity(n)))
    for kind, rows, _ in log.cones:
        if kind in ("nonnegative", "second_order"):
            A = log.A.tolil()
            A[int(rows[0, 0])] = log.x[None]
            yield f"a {kind} row that stops it", replace(log, A=sp.csc_matrix(A))
    yield "no direction", replace(log, x=np.zeros(n))
    yield "the direction reversed", replace(log, x=-log.x)
    yield "another direction", replace(log, x=log.x + 10 * np.abs(log.x).max() * rng.standard_normal(n))
    s = inside(log)
    b = log.A @ log.xh - np.where(s != 0, 1 + np.abs(s), 0.0)
    yield "right sides that the point does not satisfy", replace(log, b=b)
    j = int(np.argmax(np.abs(log.A).sum(axis=0)))
    far = -np.sign(log.A[:, [j]].toarray().sum() or 1.0) * 1e6
    outside = log.b - log.A @ _with_entry(log.xh, j, far)
    heads = [rows for kind, rows, _ in log.cones if kind == "nonnegative"]
    if heads and outside[np.concatenate(heads).ravel()].min() < -1.0:
        yield "a point outside", replace(log, xh=_with_entry(log.xh, j, far))


def changed_logs(result: SolveResult, rng: np.random.Generator) -> Iterator[tuple[str, ConeProof]]:
    """Yield proofs with the program, the ray or the cones changed."""
    log = result.log
    yield from (_of_infeasible if result.status.value == "infeasible" else _of_unbounded)(log, rng)
    yield "another sign", replace(log, sign=-log.sign)
    yield "another radius", replace(log, radius=log.radius + 10.0)
    yield "no radius", replace(log, radius=-1.0)
    yield "not a number", replace(log, A=log.A * np.nan)
    yield "huge", replace(log, b=_with_entry(log.b, 0, 1e300))
    yield "a name", replace(log, names=("rows",))
    yield "rows of nobody", replace(log, owner=np.full(len(log.b), 3))
    yield "a row less", replace(log, b=log.b[:-1])
    yield "a column less", replace(log, q=log.q[:-1])
    for name in ("x", "z", "xh"):
        yield f"{name} too long", replace(log, **{name: np.append(getattr(log, name), 0.0)})
    for k, (kind, rows, parameters) in enumerate(log.cones):
        others = [*log.cones[:k], *log.cones[k + 1 :]]
        yield f"no {kind} cone", replace(log, cones=tuple(others))
        yield f"a {kind} cone twice", replace(log, cones=(*log.cones, log.cones[k]))
        yield "a row too far", replace(log, cones=(*others, (kind, rows + 1, parameters)))
        yield "an unknown cone", replace(log, cones=(*others, ("hyperbolic", rows, parameters)))
        yield "a cone of another size", replace(log, cones=(*others, (kind, rows.reshape(1, -1)[:, :-1], parameters)))
        if kind == "zero" and (log.z[rows] < 0).any():
            yield "equalities as inequalities", replace(log, cones=(*others, ("nonnegative", rows, ())))
        if kind in ("exponential", "semidefinite"):
            yield "other parameters", replace(log, cones=(*others, (kind, rows, (7.0, *parameters[1:]))))
        if kind == "power":
            yield "other powers", replace(log, cones=(*others, (kind, rows, (0.0, *parameters[1:]))))


def changed_results(result: SolveResult) -> Iterator[tuple[str, SolveResult]]:
    """Yield results with one claim changed."""
    claimed = result.certificate
    other = "unbounded" if result.status.value == "infeasible" else "infeasible"
    for status in (other, "optimal", "failed", "unproved"):
        yield f"{status} instead", replace(result, status=type(result.status)(status))
    for name, changes in {
        "a value": {"primal_objective": 1.0},
        "a bound": {"dual_objective": 1.0},
        "no numbers": {"primal_objective": np.nan, "dual_objective": np.nan},
        "rounding": {"rounding": 1.0},
        "another sense": {"sense": "maximize" if claimed.sense == "minimize" else "minimize"},
        "a constraint": {"violations": {"invented": 0.0}},
        "other assumptions": {"assumptions": ("that it is so",)},
        "a radius": {"assumptions": (*claimed.assumptions, "|x| <= 1000")},
    }.items():
        yield name, replace(result, certificate=replace(claimed, **changes))
    yield "values", replace(result, variables={"x": np.ones(2)})
    yield "multipliers", replace(result, duals={"rows": np.ones(2)})


def forgeries(result: SolveResult, rng: np.random.Generator) -> Iterator[tuple[str, SolveResult]]:
    """Yield results of which a file must not be proved."""
    for what, log in changed_logs(result, rng):
        yield what, replace(result, log=log)
    yield from changed_results(result)
