"""specmargin's own solvers, in numpy."""

from typing import Any

import numpy as np
from benchmark_utils.objectives import objective_of
from benchopt import BaseSolver

import specmargin as sm

METHODS = {
    "LapSVM": ("factorized",),
    "STORM": ("spectrum_margin",),
    "S3VM": ("gradient", "label_switching", "multi_switch", "annealing"),
}


class Solver(BaseSolver):
    """Each method solves one of the problems, from arrays to an answer with its certificate."""

    name = "specmargin"
    requirements = ("pip::specmargin",)
    parameters = {"method": [method for own in METHODS.values() for method in own]}  # noqa: RUF012 - as benchopt asks

    def skip(self, problem: Any) -> tuple[bool, str | None]:
        """Leave out the methods of other problems."""
        own = METHODS[type(problem).__name__]
        return self.method not in own, f"of {type(problem).__name__} the methods are {', '.join(own)}"

    def set_objective(self, problem: Any) -> None:
        """Take the problem."""
        self.problem = problem

    def warm_up(self) -> None:
        """Load what is loaded at its first use."""
        self.run_once()

    def run(self, stop_val: Any) -> None:
        """Solve it."""
        self.variables = getattr(sm.solvers, self.method)(objective_of(self.problem)).variables

    def get_result(self) -> dict[str, Any]:
        """Return the variables of the problem."""
        return {name: np.asarray(self.variables[name]) for name in self.problem.trivial()}
