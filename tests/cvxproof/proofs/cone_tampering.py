"""Files of cone programs and of rays, and what a forger would change in them: no change leaves a proof."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import cvxpy as cp
import numpy as np
import scipy.sparse as sp

import cvxproof
from cvxproof.results import ConeProof, SolveResult
from cvxproof.verdicts import verify_file


def power_program(rng):
    x, t = cp.Variable(4, name="x"), cp.Variable(4, name="t")
    held = [cp.PowCone3D(t, np.ones(4), x - rng.standard_normal(4), 0.3).set_label("powers"), cp.norm_inf(x) <= 5]
    weights = cp.Variable(3, name="weights")
    held += [cp.PowConeND(weights, cp.sum(x), [0.2, 0.3, 0.5]), weights <= 3]
    return cp.Problem(cp.Minimize(rng.standard_normal(4) @ x + cp.sum(t)), held)


def cone_program(kind, seed):
    """Return a CVXPY problem whose constraints bind, with labels and all kinds of variables."""
    rng = np.random.default_rng([seed, *map(ord, kind)])
    n, m = 5, 8
    A, x0, c = rng.standard_normal((m, n)), rng.standard_normal(n), rng.standard_normal(n)
    x, y = cp.Variable(n, name="x"), rng.standard_normal(m)
    rows, box = (A @ x <= A @ x0 + rng.random(m)).set_label("rows"), (cp.abs(x) <= 3).set_label("box")
    even = (cp.sum(x) == x0.sum()).set_label("even")
    match kind:
        case "lp":
            return cp.Problem(cp.Maximize(c @ x + 1.5), [rows, box, even])
        case "qp":
            S = rng.standard_normal((n, n))
            return cp.Problem(cp.Minimize(cp.quad_form(x, S @ S.T + np.eye(n)) + 3 * c @ x), [rows, even])
        case "socp":
            return cp.Problem(cp.Minimize(c @ x + cp.norm(A @ x - y)), [(cp.norm(x - x0) <= 1).set_label("ball")])
        case "sdp":
            S = rng.standard_normal((n, n))
            X = cp.Variable((n, n), PSD=True, name="X")
            return cp.Problem(cp.Minimize(cp.trace((S + S.T) @ X)), [(cp.diag(X) == 1).set_label("diagonal")])
        case "exp":
            loss = cp.sum(cp.logistic(-cp.multiply(np.sign(y), A @ x))) + cp.norm1(x) / 4
            return cp.Problem(cp.Minimize(loss), [(cp.exp(x[0]) + x[1] <= 0.5).set_label("capped")])
        case "power":
            return power_program(rng)
        case "radius":  # a line on which nothing changes: the bound supposes a radius
            return cp.Problem(cp.Minimize(cp.sum(cp.logistic(A[:2] @ x)) + cp.logistic(-(rng.random(2) @ A[:2]) @ x)))
    raise AssertionError(kind)


KINDS = ("lp", "qp", "socp", "sdp", "exp", "power", "radius")


def answered(kind: str, seed: int) -> SolveResult:
    """Return the answer to a program, with its proof."""
    result = cvxproof.solve(cone_program(kind, seed))
    assert isinstance(result.log, ConeProof)
    return result


def _moved(x, i, factor=1.01, more=0.0):
    x = np.array(x, dtype=float)
    x[i] = x[i] * factor + more
    return x


def malformed(log: ConeProof) -> Iterator[tuple[str, ConeProof]]:
    """Yield what is no proof of a point nor of a ray."""
    yield "sign", replace(log, sign=-log.sign)
    yield "no radius", replace(log, radius=-1.0)
    yield "not a number", replace(log, A=log.A * np.nan)
    yield "huge", replace(log, b=_moved(log.b, 0, 0.0, 1e300))
    yield "a row of nobody", replace(log, owner=np.full(len(log.b), len(log.names) + 3))
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


def of_point(log: ConeProof) -> Iterator[tuple[str, ConeProof]]:
    """Yield proofs of a point with one number or one name changed."""
    weight = np.abs(log.z) * (1 + np.abs(log.b))
    for kind, rows, _ in log.cones:
        heads = rows[:, 0] if kind != "zero" and np.abs(log.z[rows]).max() > 1e-3 else ()
        for i in sorted(heads, key=lambda i: -weight[i])[:3]:
            yield f"z[{i}] negated", replace(log, z=_moved(log.z, i, -1.0))
    yield "no multipliers", replace(log, z=np.zeros(len(log.z)))
    yield "multipliers reversed", replace(log, z=-log.z)
    i = int(np.argmax(weight))
    for more in (1.0, -1.0):
        yield f"b[{i}] and {more}", replace(log, b=_moved(log.b, i, 1.0, more))
    i = int(np.argmax(np.abs(log.z) * np.diff(log.A.tocsr().indptr)))
    row = log.A.tocsr()[i]
    j = int(row.indices[np.argmax(np.abs(row.data))])
    for factor in (-1.0, 1.5):
        A = log.A.tolil()
        A[i, j] *= factor
        yield f"A[{i}, {j}] times {factor}", replace(log, A=A.tocsc())
    j = int(np.argmax(np.abs(log.q * log.x)))
    if log.q[j] * log.x[j]:
        yield f"q[{j}]", replace(log, q=_moved(log.q, j))
        yield f"x[{j}]", replace(log, x=_moved(log.x, j))
    yield "d", replace(log, d=log.d + 0.01)
    yield "a multiplier that is no number", replace(log, z=_moved(log.z, 0, np.nan))
    yield "a huge answer", replace(log, x=_moved(log.x, 0, 1.0, 1e300))
    if log.P.nnz:
        yield "P is not convex", replace(log, P=-log.P)
        yield "P is larger", replace(log, P=2 * log.P)
    for k, (kind, rows, parameters) in enumerate(log.cones):
        others = [*log.cones[:k], *log.cones[k + 1 :]]
        if kind == "nonnegative" and (log.b - log.A @ log.x)[rows].max() > 1e-3:
            yield "inequalities as equalities", replace(log, cones=(*others, ("zero", rows, ())))
        if kind == "power" and np.abs(log.z[rows]).max() > 1e-3:
            yield "powers reversed", replace(log, cones=(*others, (kind, rows, parameters[::-1])))
        if kind == "exponential":
            yield "other order", replace(log, cones=(*others, (kind, rows, (2.0, 1.0, 0.0))))
        if kind == "semidefinite" and parameters[0] > 2:
            flipped = (parameters[0], 1 - parameters[1])
            yield "other triangle", replace(log, cones=(*others, (kind, rows, flipped)))
        if kind == "second_order":
            yield "other head", replace(log, cones=(*others, (kind, rows[:, ::-1], parameters)))
    if log.names:
        yield "another name", replace(log, names=("other", *log.names[1:]))
        yield "a name less", replace(log, names=log.names[:-1])
    name = next(iter(log.columns))
    yield "columns of another variable", replace(log, columns={**log.columns, name: log.columns[name] * 0})
    yield "another radius", replace(log, radius=log.radius / 10 if log.radius else -1.0)
    yield "added rows not violated", replace(log, added=-1e-3)


def results_of_point(result: SolveResult, proved: tuple[float, float]) -> Iterator[tuple[str, SolveResult]]:
    """Yield results with one claim changed; `proved` are the ends of the bound that is proved."""
    claimed = result.certificate
    size = max(1.0, abs(claimed.primal_objective))
    better = 1.0 if claimed.sense == "minimize" else -1.0
    more = 2 * claimed.rounding + 1e-9 * size
    end = proved[1] if better > 0 else proved[0]
    for name, changes in {
        "a better bound": {"dual_objective": end + better * more},
        "a much better bound": {"dual_objective": claimed.primal_objective + better * 0.1 * size},
        "an infinite bound": {"dual_objective": better * np.inf},
        "no number": {"dual_objective": np.nan},
        "a better value": {"primal_objective": claimed.primal_objective - better * more},
        "a worse value": {"primal_objective": claimed.primal_objective + better * more},
        "another sense": {"sense": "maximize" if claimed.sense == "minimize" else "minimize"},
        "less than no rounding": {"rounding": -1.0},
        "a large scale": {"scale": 1e3 * size},
        "a constraint more": {"violations": {**claimed.violations, "invented": 0.0}},
        "other assumptions": {"assumptions": ("that it is so",)},
        "fewer columns": {"assumptions": ("|x - x0| <= 1000 (1 + |x0|) in 0 of 1 columns",)},
    }.items():
        yield name, replace(result, certificate=replace(claimed, **changes))
    if claimed.assumptions:
        yield "no assumptions", replace(result, certificate=replace(claimed, assumptions=()))
    for name, x in result.variables.items():
        yield f"another {name}", replace(result, variables={**result.variables, name: x + 0.01})
        break


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


def of_infeasible(log: ConeProof, rng: np.random.Generator) -> Iterator[tuple[str, ConeProof]]:
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
        yield "the heaviest multiplier negated", replace(log, z=_moved(log.z, i, -1.0))
    yield "the point is not zero", replace(log, x=np.ones(n))
    yield "the bound is not at zero", replace(log, xh=np.ones(n))


def of_unbounded(log: ConeProof, rng: np.random.Generator) -> Iterator[tuple[str, ConeProof]]:
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
    outside = log.b - log.A @ _moved(log.xh, j, 0.0, far)
    heads = [rows for kind, rows, _ in log.cones if kind == "nonnegative"]
    if heads and outside[np.concatenate(heads).ravel()].min() < -1.0:
        yield "a point outside", replace(log, xh=_moved(log.xh, j, 0.0, far))


def results_of_ray(result: SolveResult) -> Iterator[tuple[str, SolveResult]]:
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
    log = result.log
    assert isinstance(log, ConeProof)
    for what, wrong in malformed(log):
        yield what, replace(result, log=wrong)
    if result.status.has_solution:
        for what, wrong in of_point(log):
            yield what, replace(result, log=wrong)
        yield from results_of_point(result, cvxproof.verify(log, result).bound)
        return
    for what, wrong in (of_infeasible if result.status.value == "infeasible" else of_unbounded)(log, rng):
        yield what, replace(result, log=wrong)
    yield "a name", replace(result, log=replace(log, names=("rows",)))
    yield "another radius", replace(result, log=replace(log, radius=log.radius + 10.0))
    yield from results_of_ray(result)


def forged(path: Path, result: SolveResult, seed: int) -> tuple[list[str], int]:
    """Return the forged files that are proved, and how many were made."""
    assert cvxproof.verify(result.log, result)
    proved, count = [], 0
    for what, bad in forgeries(result, np.random.default_rng(seed)):
        cvxproof.save_result(path, bad.log, bad)
        verdict, count = verify_file(path), count + 1
        assert verdict.outcome in ("proved", "refuted", "unproved", "unreadable", "nothing to verify")
        proved += [f"{what}: {verdict.line()}"] if verdict.exit_code == 0 else []
    return proved, count
