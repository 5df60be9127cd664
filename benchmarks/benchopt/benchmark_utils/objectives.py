"""The same problems as objectives of specmargin, for the solvers that are built on it."""

from __future__ import annotations

from typing import Any

import numpy as np

import specmargin as sm

__all__ = ["objective_of"]


def objective_of(problem: Any) -> Any:
    """Return a new objective, which has computed nothing yet."""
    labels = sm.encode_labels(np.where(problem.y == 0, -1, (problem.y + 1) // 2).astype(int))
    name = type(problem).__name__
    if name == "LapSVM":
        weights = {"gamma_A": problem.gamma_A, "gamma_I": problem.gamma_I}
        return sm.objectives.LapSVM(problem.K, problem.L, labels, "hinge", **weights)
    if name == "STORM":
        n = len(problem.y)
        components = int((problem.eigenvalues == 0).sum())
        spectrum = sm.spectra.Spectrum(problem.eigenvalues, problem.U / np.sqrt(n), components)
        return sm.objectives.SpectrumMargin(spectrum, labels, C=problem.C, B=problem.B, ties=False)
    weights = {"C": problem.C, "C_star": problem.C_star, "balance": problem.r}
    return sm.objectives.S3VM(problem.X, labels, "squared_hinge", **weights)
