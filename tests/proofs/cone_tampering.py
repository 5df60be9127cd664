"""Files of cone programs, and what a forger would change in them: each change makes the claim a false one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import cvxpy as cp
import numpy as np

import specmargin as sm
from specmargin.results import ConeProof, SolveResult


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
            return cp.Problem(cp.Minimize(cp.sum(cp.logistic(A[:2] @ x)) + cp.sum(cp.logistic(-A[:2] @ x))))
    raise AssertionError(kind)


KINDS = ("lp", "qp", "socp", "sdp", "exp", "power", "radius")


def answered(kind: str, seed: int) -> SolveResult:
    """Return the answer to a program, with its proof."""
    result = sm.solve(cone_program(kind, seed))
    assert isinstance(result.log, ConeProof)
    return result


def _moved(x, i, factor=1.01, more=0.0):
    x = np.array(x, dtype=float)
    x[i] = x[i] * factor + more
    return x


def changed_logs(log: ConeProof, rng: np.random.Generator) -> Iterator[tuple[str, ConeProof]]:
    """Yield proofs with one number or one name changed."""
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
    yield "sign", replace(log, sign=-log.sign)
    yield "not a number", replace(log, z=_moved(log.z, 0, np.nan))
    yield "huge", replace(log, x=_moved(log.x, 0, 1.0, 1e300))
    if log.P.nnz:
        yield "P is not convex", replace(log, P=-log.P)
        yield "P is larger", replace(log, P=2 * log.P)
    for k, (kind, rows, parameters) in enumerate(log.cones):
        others = [*log.cones[:k], *log.cones[k + 1 :]]
        z = log.z[rows]
        if kind == "zero" and (z < 0).any():
            yield "equalities as inequalities", replace(log, cones=(*others, ("nonnegative", rows, ())))
        if kind == "nonnegative" and (log.b - log.A @ log.x)[rows].max() > 1e-3:
            yield "inequalities as equalities", replace(log, cones=(*others, ("zero", rows, ())))
        if kind == "power" and np.abs(z).max() > 1e-3:
            yield "other powers", replace(log, cones=(*others, (kind, rows, parameters[::-1])))
        if kind == "exponential":
            yield "other order", replace(log, cones=(*others, (kind, rows, (2.0, 1.0, 0.0))))
        if kind == "semidefinite" and parameters[0] > 2:
            flipped = (parameters[0], 1 - parameters[1])
            yield "other triangle", replace(log, cones=(*others, (kind, rows, flipped)))
        if kind == "second_order":
            yield "other head", replace(log, cones=(*others, (kind, rows[:, ::-1], parameters)))
        yield f"no {kind} cone", replace(log, cones=tuple(others))
        yield f"a {kind} cone twice", replace(log, cones=(*log.cones, log.cones[k]))
        yield "a row too far", replace(log, cones=(*others, (kind, rows + 1, parameters)))
        yield "an unknown cone", replace(log, cones=(*others, ("hyperbolic", rows, parameters)))
    if log.names:
        yield "another name", replace(log, names=("other", *log.names[1:]))
        yield "a name less", replace(log, names=log.names[:-1])
        yield "a row of nobody", replace(log, owner=np.full(len(log.b), len(log.names)))
    name = next(iter(log.columns))
    yield "columns of another variable", replace(log, columns={**log.columns, name: log.columns[name] * 0})
    yield "another radius", replace(log, radius=log.radius / 10 if log.radius else -1.0)
    yield "added rows not violated", replace(log, added=-1e-3)


def changed_results(result: SolveResult, proved: tuple[float, float]) -> Iterator[tuple[str, SolveResult]]:
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


def forgeries(result: SolveResult, rng: np.random.Generator) -> Iterator[tuple[str, SolveResult]]:
    """Yield results of which a file must not be proved."""
    for what, log in changed_logs(result.log, rng):
        yield what, replace(result, log=log)
    yield from changed_results(result, sm.verify(result.log, result).bound)
