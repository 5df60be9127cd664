"""The CVXPY forms of specmargin, solved by Clarabel, ECOS, QOCO and PIQP; of an S3VM, the concave-convex procedure.

That procedure replaces the concave part of U(f) = max(0, 1 - |f|)^2 = V(f) + V(-f) - (1 + |f|)^2, where V is the
squared hinge, by its tangent, and solves a convex SVM in every round.
"""

from typing import Any

import cvxpy as cp
import numpy as np
from benchmark_utils.objectives import objective_of
from benchopt import BaseSolver

import specmargin as sm

ROUNDS, ENOUGH, LARGEST = 30, 1e-6, 200


class Solver(BaseSolver):
    """A convex solver, from arrays to an answer: building the problem counts."""

    name = "CVXPY"
    requirements = ("pip::specmargin", "pip::qoco", "pip::piqp", "pip::ecos")
    parameters = {"solver": ["CLARABEL", "ECOS", "QOCO", "PIQP"]}  # noqa: RUF012 - as benchopt asks

    def skip(self, problem: Any) -> tuple[bool, str | None]:
        """Leave out solvers that are not installed or are not made for cones, and S3VMs that take too long."""
        if self.solver not in cp.installed_solvers():
            return True, f"{self.solver} is not installed: pip install {self.solver.lower()}"
        if self.solver == "PIQP" and type(problem).__name__ == "STORM":
            return True, "PIQP solves quadratic programs, and STORM has cones"
        if type(problem).__name__ == "S3VM" and len(problem.y) > LARGEST:
            return True, f"rounds of more than {LARGEST} samples take minutes each"
        return False, None

    def set_objective(self, problem: Any) -> None:
        """Take the problem."""
        self.problem = problem

    def warm_up(self) -> None:
        """Load what is loaded at its first use."""
        self.run_once()

    def run(self, stop_val: Any) -> None:
        """Solve it."""
        objective = objective_of(self.problem)
        if type(self.problem).__name__ == "S3VM":
            self.variables = {"w": self.rounds(objective)}
        else:
            form = sm.problems.lapsvm_dual if type(self.problem).__name__ == "LapSVM" else sm.problems.storm
            self.variables = sm.solve(form(objective), self.solver).variables

    def rounds(self, objective: Any) -> np.ndarray:
        """Return the last weights of the concave-convex procedure, which begins near the supervised SVM."""
        hidden, A, r = objective.unlabeled, self.problem.A, self.problem.r
        built = sm.problems.cccp_subproblem(objective.with_(C_star=1e-6), np.zeros(len(hidden)))
        built.problem.solve(solver=self.solver)
        w, before = built.variables["w"].value, np.inf
        built = sm.problems.cccp_subproblem(objective, np.zeros(len(hidden)))
        for _ in range(ROUNDS):
            f = (A @ w + r)[hidden]
            built.parameters["beta"].value = -2.0 * objective.C_star * (1.0 + np.abs(f)) * np.sign(f)
            built.problem.solve(solver=self.solver)
            w = built.variables["w"].value
            value = objective.value({"w": w})
            if before - value <= ENOUGH * value:
                break
            before = value
        return w

    def get_result(self) -> dict[str, Any]:
        """Return the variables of the problem."""
        return {name: np.asarray(self.variables[name]) for name in self.problem.trivial()}
