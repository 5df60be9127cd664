"""The models of the gallery with options that bind, over four programs, and two losses of one's own."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
from model_references import Case
from scipy.special import entr, expit

import specmargin as sm
from specmargin.problems import as_cvxpy

SETS = ("moons", "uneven degrees", "blobs")
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
    "nearly fair": Case(
        {"fairness": {"group": "the group", "at_most": 0.3}}, **STORM, labels={"fairness": -1}, also=CONES
    ),
    "links": Case(
        {"links": {"must": [(0, 1), (2, 9)], "cannot": [(3, 30)]}}, **LAPSVM, labels={"must": -1, "cannot": -1}, also=QP
    ),
    "loose links": Case(
        {"links": {"cannot": [(3, 30), (5, 8)], "within": 0.1}}, **STORM, labels={"cannot": -1}, also=CONES
    ),
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
