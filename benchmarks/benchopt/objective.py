"""LapSVM, STORM and semi-supervised SVMs: the objective of an answer, computed here and by nobody else."""

from typing import Any

import numpy as np
from benchmark_utils.problems import PROBLEMS
from benchopt import BaseObjective


class Objective(BaseObjective):
    """One of three problems, in numpy: `benchmark_utils/problems.py` has their formulas."""

    name = "Semi-supervised large margins"
    min_benchopt_version = "1.10"
    sampling_strategy = "run_once"
    requirements = ("numpy",)
    parameters = {"problem": list(PROBLEMS)}  # noqa: RUF012 - benchopt asks for a dictionary
    test_dataset_name = "two_moons"

    def skip(self, X: Any, y: Any, truth: Any, missing: str = "") -> tuple[bool, str | None]:
        """Leave out data that are not here."""
        return bool(missing), missing or None

    def set_data(self, X: Any, y: Any, truth: Any, missing: str = "") -> None:
        """Take samples, labels -1 and 1, or 0 where they are hidden, and what they are in truth."""
        self.instance, self.hidden, self.truth = PROBLEMS[self.problem].of(X, y), y == 0, truth

    def get_objective(self) -> dict[str, Any]:
        """Return the problem: its class has the name, its fields are arrays and numbers."""
        return {"problem": self.instance}

    def evaluate_result(self, **answer: Any) -> dict[str, float]:
        """Return the objective at an answer, and the percentage of the hidden labels that its decisions miss."""
        value, decisions = self.instance.evaluate(**answer)
        missed = np.sign(decisions) != self.truth
        return {"value": value, "error_percent": 100.0 * float(missed[self.hidden].mean())}

    def get_one_result(self) -> dict[str, Any]:
        """Return an answer for benchopt's own tests."""
        return self.instance.trivial()
