"""The gallery against the same models in CVXPY alone: optima, multipliers, certificates; and what it refuses."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from model_references import Case, data_of
from scipy.special import entr, expit

import specmargin as sm
from specmargin.problems import as_cvxpy, models
from specmargin.results import Status

SETS = ("moons", "uneven degrees", "blobs")
SOLVERS = {
    "CLARABEL": {},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000},
    "ECOS": {"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9},
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000},
}
STORM = {"kind": "spectrum", "options": {"C": 1.0, "B": 1.5}}
MKL = {"kind": "spectrum", "options": {"C": 1.0, "order": False}}
GRAPHS = {"kind": "graphs", "options": {"C": 1.0}}
LAPSVM = {"options": {"gamma_A": 0.1, "gamma_I": 0.02}}
QP, CONES = ("ECOS", "OSQP"), ("ECOS",)


class Logistic(sm.losses.MarginLoss):
    """log(1 + exp(-t)): a loss of one's own, as docs/models.md has it."""

    name, lower, upper, convex, nonincreasing = "logistic", 0.0, 1.0, True, True
    value = lambda self, t: np.logaddexp(0.0, -t)
    gradient = lambda self, t: -expit(-t)
    dual_value = lambda self, beta: entr(beta) + entr(1.0 - beta)


class Exponential(sm.losses.MarginLoss):
    """exp(-t), the loss of boosting."""

    name, lower, upper, convex, nonincreasing = "exponential", 0.0, np.inf, True, True
    value = lambda self, t: np.exp(-t)
    gradient = lambda self, t: -np.exp(-t)
    dual_value = lambda self, beta: beta + entr(beta)


as_cvxpy.register(Logistic, lambda loss, t: cp.logistic(-t))
as_cvxpy.register(Exponential, lambda loss, t: cp.exp(-t))

CASES = {
    "band": Case({"band_limited": {"q": 4}}, **STORM, labels={"band": -1}, also=CONES),
    "band, no order": Case({"band_limited": {"q": 4}}, **MKL, labels={"band": -1}, also=CONES),
    "groups": Case({"grouped": {"groups": [0, 1, 1, 2, 2, 2, 0, 3, 3]}}, **MKL, labels={"groups": -1}, also=CONES),
    "smooth": Case({"smooth": {"weight": 50.0}}, **STORM, also=CONES),
    "smooth graphs": Case({"smooth": {"weight": 20.0}}, **GRAPHS, also=CONES),
    "convex": Case({"convex": {}}, **MKL, labels={"convex": 1}, also=CONES),
    "fair": Case({"fairness": {"group": "the group"}}, **LAPSVM, labels={"fairness": -1}, also=QP),
    "nearly fair": Case({"fairness": {"group": "the group", "at_most": 0.3}}, **STORM, labels={"fairness": -1}, also=CONES),
    "links": Case(
        {"links": {"must": [(0, 1), (2, 9)], "cannot": [(3, 30)]}}, **LAPSVM, labels={"must": -1, "cannot": -1}, also=QP
    ),
    "loose links": Case({"links": {"cannot": [(3, 30), (5, 8)], "within": 0.1}}, **STORM, labels={"cannot": -1}, also=CONES),
    "shares": Case({"class_shares": {"positive": 0.7}}, **LAPSVM, labels={"shares": -1}, also=QP),
    "an interval of shares": Case(
        {"class_shares": {"positive": (0.6, 0.7), "within": 0.05}}, **LAPSVM, labels={"shares": -1}, also=QP
    ),
    "robust": Case({"robust_margins": {"radius": 0.1}}, **LAPSVM, labels={"margin": 1}, also=CONES),
    "robust, squared hinge": Case(
        {"robust_margins": {"radius": 0.1}},
        options={"gamma_A": 0.1, "gamma_I": 0.02, "loss": "squared_hinge"},
        labels={"margin": 1},
        also=CONES,
    ),
    "robust spectrum": Case({"robust_margins": {"radius": 0.1}}, **STORM, labels={"margin": 1}, also=CONES),
    "insensitive": Case(
        {"insensitive_smoothness": {"W": "the second graph", "eps": 0.05, "weight": 0.1}}, **LAPSVM, also=QP
    ),
    "budgets": Case({"graph_budget": {"budgets": [0.3, 0.8]}}, **GRAPHS, labels={"budget": -1}, also=CONES),
    "logistic": Case(
        {"fairness": {"group": "the group"}},
        options={"gamma_A": 0.1, "gamma_I": 0.02, "loss": Logistic()},
        labels={"fairness": -1},
        also=CONES,
    ),
    "an own loss": Case(
        {"class_shares": {"positive": 0.6}},
        options={"gamma_A": 0.1, "gamma_I": 0.02, "loss": Exponential()},
        labels={"shares": -1},
        also=CONES,
    ),
}


def runs() -> list[Any]:
    """Return every case on every set with every solver of its cone; fast ones are those of one set by Clarabel."""
    found = []
    for name, case in CASES.items():
        for where in SETS:
            for solver in ("CLARABEL", "SCS", *(one for one in case.also if one in cp.installed_solvers())):
                slow = [] if (where, solver) == ("moons", "CLARABEL") else [pytest.mark.slow]
                found.append(pytest.param(name, where, solver, marks=slow, id=f"{name}, {where}, {solver}"))
    return found


def check(case: Case, where: str, solver: str, rng: np.random.Generator) -> Any:
    """Hold optimum, multipliers and certificate of a changed problem against its reference."""
    data = data_of(where)
    result = sm.solve(case.changed(data), solver, check=True, **SOLVERS[solver])
    certificate, value = result.certificate, case.value(data)
    assert certificate.kind == "cone program"
    assert result.problem.endswith(", changed")
    if solver == "CLARABEL":
        assert result.status is Status.OPTIMAL
        assert certificate.relative_gap <= 1e-6
    assert certificate.primal_objective == pytest.approx(value, rel=1e-6)
    assert certificate.dual_objective <= value + 1e-7 * abs(value)
    for label, sign in case.labels.items():
        multiplier = np.atleast_1d(result.duals[label])
        along = rng.normal(size=multiplier.shape) * 1e-3
        slope = sign * float(multiplier @ along) / 1e-3
        ahead, behind = (case.value(data, {label: side * along}) for side in (1, -1))
        room = 1e-4 * max(1.0, abs(slope))
        assert (value - behind) / 1e-3 - room <= slope <= (ahead - value) / 1e-3 + room, label
    return result


@pytest.mark.parametrize(("name", "where", "solver"), runs())
def test_optimum_multipliers_and_certificate_are_those_of_the_model(name, where, solver, rng):
    check(CASES[name], where, solver, rng)
