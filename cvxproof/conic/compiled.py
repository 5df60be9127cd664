"""The cone program that CVXPY compiles a problem to, and the way back from an answer to the problem's variables.

What is compiled is taken as it is: a certificate of it speaks of the problem as far as CVXPY's compilation does.
"""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from cvxpy.constraints import PSD, SOC, ExpCone, NonNeg, PowCone3D, PowConeND, SvecPSD, Zero
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from cvxproof.conic import cones
from cvxproof.conic.attributes import attribute_constraints, written_out
from cvxproof.conic.cones import Cone
from cvxproof.conic.program import Answer, ConeProgram
from cvxproof.conic.running import as_solver_errors, data_for, run
from cvxproof.conic.values import dense
from cvxproof.typing import FloatArray, IntArray, Matrix

__all__ = ["Compiled", "compiled"]

_ORDER = (Zero, NonNeg, SOC, PSD, SvecPSD, ExpCone, PowCone3D, PowConeND)


@dataclass(eq=False)
class Compiled:
    """A CVXPY problem as one of its solvers gets it.

    Parameters
    ----------
    problem : cvxpy.Problem
        The problem.
    solver : str
        Name of the solver.
    program : ConeProgram
        What was compiled.
    """

    problem: cp.Problem
    solver: str
    program: ConeProgram
    data: Mapping[str, Any] = field(repr=False)
    chain: Any = field(repr=False)
    inverse: Any = field(repr=False)
    constraints: list[Any] = field(repr=False)
    attributes: dict[str, Any] = field(repr=False)
    """Constraints that the attributes of variables are, by their names."""
    packing: Matrix | None = field(default=None, repr=False)
    """From the solver's rows to those of the program, where it takes semidefinite matrices whole."""

    def solved(self, scale: float = 1.0, /, **options: Any) -> Answer:
        """Run the solver, on the objective times `scale`, and return its answer to the program.

        Multipliers come by the constraint, after CVXPY's own inversion for that solver: one code serves all.
        """
        data = dict(self.data)
        for name in ("c", "q", "P"):
            if scale != 1.0 and data.get(name) is not None:
                data[name] = data[name] * scale
        with as_solver_errors():
            raw = run(self.solver, self.chain, data, self.inverse, options)
            solution = self.chain.reductions[-1].invert(raw, self.inverse[-1])
        if scale != 1.0:
            solution.opt_val = None if solution.opt_val is None else solution.opt_val / scale
            solution.dual_vars = {key: _divided(dual, scale) for key, dual in (solution.dual_vars or {}).items()}
        return self._answer(solution, getattr(raw, "x", None))

    def unpack(self, answer: Answer) -> None:
        """Give the problem's variables and constraints the values and multipliers of an answer."""
        solution = answer.solution
        with as_solver_errors():
            for reduction, inverse in reversed(list(zip(self.chain.reductions[:-1], self.inverse[:-1], strict=True))):
                solution = reduction.invert(solution, inverse)
            if solution.status in cp.settings.ERROR:
                raise cp.SolverError(f"{self.solver} failed ({solution.status})")
            # Before CVXPY evaluates the objective, which not all its functions can of the diagonal that it stores.
            solution.primal_vars.update({key: dense(value) for key, value in solution.primal_vars.items()})
            self.problem.unpack(solution)
            for one in self.attributes.values():
                if one.id in (solution.dual_vars or {}):
                    one.save_dual_value(solution.dual_vars[one.id])

    def relaxed(self, shares: Matrix, costs: FloatArray) -> tuple[ConeProgram, Answer, FloatArray]:
        """Return the program whose rows may be off, Clarabel's answer to it, and the multipliers of the rows.

        It is the least costs't with A x + s = b + (shares t) e and t >= 0, e inside of the cones; equalities may be off
        to either side.
        """
        program, dims, more = self.program, copy.copy(self.data["dims"]), len(costs)
        (m, n), k, inside = program.A.shape, dims.zero, np.zeros(len(program.b))
        for cone in program.parts:
            cone.shrunk(inside, -1.0)
            if isinstance(cone, cones.Exponential):
                inside[cone.rows[:, cone.order]] = -1.0, 1.0, 1.0
        inside[:k] = 1.0  # those of equalities are the first
        rows, sign = np.r_[:k, :k, k:m], np.repeat([1.0, -1.0, 1.0], [k, k, m - k])
        moved = sp.diags(inside) @ sp.csr_matrix(shares)
        whole = sp.hstack([sp.diags(sign) @ program.A.tocsr()[rows], -moved[rows]])
        A = sp.vstack([sp.eye(more, n + more, n) * -1.0, whole], "csc")
        b, q = np.append(np.zeros(more), sign * program.b[rows]), np.append(np.zeros(n), costs)
        parts: list[Cone] = [cones.Nonnegative(np.arange(more + 2 * k)[:, None])]
        parts += [replace(one, rows=one.rows + more + k) for one in program.parts if not isinstance(one, cones.Zero)]
        dims.zero, dims.nonneg = 0, dims.nonneg + 2 * k + more
        data = {name: held for name, held in self.data.items() if name != "P"}
        size = float(np.abs(b).max())
        size = size if 0 < size < 1e-3 or size > 1e3 else 1.0  # x, s and t are in units of it
        with as_solver_errors():
            raw = run(self.solver, self.chain, {**data, "A": A, "b": b / size, "c": q, "dims": dims}, self.inverse, {})
        z, up, down = np.array(raw.z), np.arange(more, more + k), np.arange(more + k, more + 2 * k)
        net = z[up] - z[down]
        z[up], z[down] = np.maximum(net, 0.0), np.maximum(-net, 0.0)
        empty = sp.csc_matrix((n + more, n + more))
        out = ConeProgram(empty, q, A, b, tuple(parts))
        return out, Answer(str(raw.status), size * np.array(raw.x), z), np.append(net, z[more + 2 * k :])

    def owners(self, constraints: Iterable[Any]) -> IntArray:
        """Return the place of the constraint that each row was made of; -1 for rows that CVXPY added."""
        place: dict[int, int] = {}
        for k, constraint in enumerate(constraints):
            last = constraint.id
            for reduction in self.chain.reductions:
                last = getattr(reduction, "cons_id_map", {}).get(last, last)
            place[last] = k
        owner, start = np.full(len(self.program.b), -1), 0
        for one in self.constraints:
            end = start + _n_rows(one)
            owner[start:end], start = place.get(one.id, -1), end
        return owner

    def columns(self) -> dict[int, IntArray]:
        """Return where the entries of the variables stand, by their ids; of the variables whose entries CVXPY keeps."""
        lowered = [inverse[0] for inverse in self.inverse if isinstance(inverse, tuple) and inverse]
        starts, columns = self.data["param_prob"].var_id_to_col, dict[int, IntArray]()
        for variable in self.problem.variables():
            leaf = lowered[0].get(variable.id, variable) if lowered else variable
            if leaf.id not in starts:
                continue
            at = starts[leaf.id] + np.arange(leaf.size)
            if leaf.size == variable.size:
                columns[variable.id] = at.reshape(variable.shape, order="F")
            elif variable.ndim == 2 and variable.is_symmetric() and 2 * leaf.size > variable.size:
                whole = np.zeros(variable.shape, dtype=np.intp)
                whole[np.triu_indices(len(whole))] = at
                columns[variable.id] = np.maximum(whole, whole.T)
        return columns

    def _answer(self, solution: Any, raw_x: Any) -> Answer:
        """Read point and multipliers off a solution of the last reduction."""
        n = self.program.A.shape[1]
        x = next(iter((solution.primal_vars or {}).values()), raw_x)
        x = np.zeros(n) if np.size(x) != n else np.ravel(np.asarray(x, dtype=float))
        z, at = np.zeros(sum(map(_size, self.constraints))), 0
        for constraint in self.constraints:
            size = _size(constraint)
            value = (solution.dual_vars or {}).get(constraint.id)
            if value is not None and np.size(value) == size:
                value = np.ravel(np.asarray(value, dtype=float), order="F")
                if isinstance(constraint, ExpCone) and self.solver == "ECOS":
                    value = value.reshape(-1, 3)[:, [0, 2, 1]].ravel()  # CVXPY's order; the rows have the solver's
                z[at : at + size] = value
            at += size
        z = z if self.packing is None else self.packing @ z
        return Answer(str(solution.status), np.nan_to_num(x), np.nan_to_num(z), solution)


def _divided(dual: Any, scale: float) -> Any:
    if isinstance(dual, list):
        return [_divided(part, scale) for part in dual]
    return None if dual is None else dual / scale


def compiled(problem: cp.Problem, solver: str = "CLARABEL") -> Compiled:
    """Return a problem as CVXPY compiles it for a solver.

    Parameters
    ----------
    problem : cvxpy.Problem
        DCP, with values for all parameters and no integer variables.
    solver : str, default "CLARABEL"
        Name of an installed solver.

    Returns
    -------
    Compiled
        The cone program, and what is needed to run the solver on it.

    Examples
    --------
    >>> import cvxpy as cp
    >>> x = cp.Variable(2)
    >>> compiled(cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])).program.b.tolist()
    [-1.0, -1.0]
    """
    attributes = attribute_constraints(problem)
    # One with parameters is compiled once, for all of their values, and keeps its attributes.
    written = written_out(problem, attributes) if attributes and not problem.parameters() else None
    data, chain, inverse = data_for(written or problem, solver)
    form = data["param_prob"]
    if type(chain.solver).apply is ConicSolver.apply:
        P, q, d, A, b = data.get("P"), data["c"], inverse[-1]["offset"], data["A"], data["b"]
    else:  # rows in another order, or in parts
        has_quadratic = form.P is not None
        applied = form.apply_parameters(quad_obj=has_quadratic)
        P, (q, d, A, b) = (applied[0], applied[1:]) if has_quadratic else (None, applied)
        A = -A
    A, b = sp.csc_matrix(A), np.ravel(np.asarray(b, dtype=float))
    constraints = [one for kind in _ORDER for one in form.constraints if type(one) is kind]
    parts = _parts(constraints, chain.solver)
    if not form.formatted:  # quadratic solvers: equalities with the other sign
        flip = np.ones(len(b))
        for cone in parts:
            if isinstance(cone, cones.Zero):
                flip[cone.rows] = -1.0
        A, b = sp.diags(flip) @ A, flip * b
    packing = _packing(constraints) if any(type(one) is PSD for one in constraints) else None
    if packing is not None:
        A, b = packing @ A, packing @ b
    sign = -1.0 if isinstance(problem.objective, cp.Maximize) else 1.0
    program = ConeProgram(
        _symmetric(P, len(q)), np.ravel(q).astype(float), sp.csc_matrix(A), b, tuple(parts), float(np.ravel(d)[0]), sign
    )
    named = {name: part[0] for name, part in attributes.items()} if written else {}
    return Compiled(problem, solver, program, data, chain, inverse, constraints, named, packing)


def _n_rows(constraint: Any) -> int:
    """Return the number of rows that a constraint of the compiled problem has in the program."""
    return sum(count * m for _, count, m in _shapes(constraint, None)) if type(constraint) is PSD else _size(constraint)


def _size(constraint: Any) -> int:
    return sum(part.size for part in constraint.args)


def _packing(constraints: list[Any]) -> Matrix:
    """Return the matrix that packs whole semidefinite matrices as `cones.Semidefinite` has them, by symmetric parts."""
    blocks = [sp.identity(0)]
    for one in constraints:
        if type(one) is not PSD:
            blocks.append(sp.identity(_size(one)))
            continue
        for m in one.cone_sizes():
            i, j = cones.Semidefinite(np.zeros((0, 0), dtype=np.intp), int(m), "upper").places
            k, weight = np.arange(len(i)), np.where(i == j, 0.5, math.sqrt(0.5))
            places = np.r_[i + m * j, j + m * i]
            blocks.append(sp.csc_matrix((np.r_[weight, weight], (np.r_[k, k], places)), (len(k), int(m) ** 2)))
    return sp.block_diag(blocks, format="csc")


def _parts(constraints: list[Any], solver: Any) -> list[Cone]:
    """Return the cones, equal ones together."""
    rows: dict[Any, list[IntArray]] = defaultdict(list)
    at = 0
    for key, count, m in (shape for one in constraints for shape in _shapes(one, solver)):
        if count * m:
            rows[(*key, m)].append(at + np.arange(count * m).reshape(count, m))
        at += count * m
    return [kind(np.concatenate(held), *arguments) for (kind, *arguments, _), held in rows.items()]


def _shapes(constraint: Any, solver: Any) -> Iterator[tuple[tuple[Any, ...], int, int]]:
    """Yield the kind of cone with its arguments, how many, and of how many rows each."""
    match constraint:
        case Zero():
            yield (cones.Zero,), constraint.size, 1
        case NonNeg():
            yield (cones.Nonnegative,), constraint.size, 1
        case SOC():
            for m in constraint.cone_sizes():
                yield (cones.SecondOrder,), 1, int(m)
        case PSD() | SvecPSD():
            triangle = solver.PSD_TRIANGLE_KIND.name.lower() if isinstance(constraint, SvecPSD) else "upper"
            for m in constraint.cone_sizes():
                yield (cones.Semidefinite, int(m), triangle), 1, int(m) * (int(m) + 1) // 2
        case ExpCone():
            yield (cones.Exponential, tuple(solver.EXP_CONE_ORDER)), constraint.num_cones(), 3
        case PowCone3D():
            for a in np.ravel(constraint.alpha.value).tolist():
                yield (cones.Power, (a, 1 - a)), 1, 3
        case _:
            alpha = np.asarray(constraint.alpha.value)
            for column in np.atleast_2d(alpha.T if constraint.axis == 0 else alpha).tolist():
                yield (cones.Power, tuple(column)), 1, len(column) + 1


def _symmetric(P: Matrix | None, n: int) -> Matrix:
    if P is None:
        return sp.csc_matrix((n, n))
    P = sp.csc_matrix(P)
    if abs(P - P.T).nnz:  # one triangle only, or symmetric up to rounding
        P = sp.triu(P) + sp.triu(P, 1).T if not sp.tril(P, -1).nnz else (P + P.T) / 2
    P = sp.csc_matrix(P)
    P.eliminate_zeros()
    return P
