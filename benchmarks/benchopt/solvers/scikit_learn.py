"""scikit-learn's SVC (libsvm) on the kernel that the graph deforms, which is LapSVM; its other problems it has not."""

from typing import Any

import numpy as np
from benchopt import BaseSolver
from sklearn.svm import SVC


class Solver(BaseSolver):
    """In the space of the kernel H = K (I + gamma_I / gamma_A L K)^-1 the two norms of LapSVM are one.

    So f = Hc + b with c at the labelled samples only, where an SVM with C = 1 / (2 gamma_A) finds it, and
    alpha = (I + gamma_I / gamma_A L K)^-1 c.
    """

    name = "scikit-learn"
    requirements = ("pip::scikit-learn",)
    parameters = {"tol": [1e-3, 1e-8]}  # noqa: RUF012 - as benchopt asks

    def skip(self, problem: Any) -> tuple[bool, str | None]:
        """Leave out what it does not solve."""
        name = type(problem).__name__
        return name != "LapSVM", f"scikit-learn has no solver of the problem {name}"

    def set_objective(self, problem: Any) -> None:
        """Take the problem."""
        self.problem = problem

    def run(self, stop_val: Any) -> None:
        """Deform the kernel, and train."""
        problem, known = self.problem, np.flatnonzero(self.problem.y)
        system = np.eye(len(problem.y)) + problem.gamma_I / problem.gamma_A * problem.L @ problem.K
        columns = np.linalg.solve(system, np.eye(len(problem.y))[:, known])
        H = (problem.K @ columns)[known]
        svc = SVC(kernel="precomputed", C=0.5 / problem.gamma_A, tol=self.tol).fit((H + H.T) / 2, problem.y[known])
        self.alpha, self.b = columns[:, svc.support_] @ svc.dual_coef_[0], svc.intercept_[0]

    def get_result(self) -> dict[str, Any]:
        """Return the coefficients in the kernel that was given."""
        return {"alpha": self.alpha, "b": self.b}
