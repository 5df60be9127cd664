#!/usr/bin/env bash
# HiGHS's presolve loses the optimum of an integer program of two rows and five binary variables: 0 is called the
# largest x5, where x = (1, 0, 0, 0, 1) satisfies every row in the very floats that were passed.
#
# scipy 1.17.1 (its own HiGHS) and highspy 1.15.1, numpy 2.4.6; Python 3.11; seen on 29 November 2026.
#
# Input: maximise x5 over x in {0, 1}^5 subject to
#     -.0185 x1 - .017 x2 - 1e-7 x3 - .0027 x4             >= -.0185
#            x1 + .0248 x2 + 5.7e-5 x3 + .143 x4 - .653 x5 >= -.1
# The first row is an equation at x1 = 1, and its entry of 1e-7 is what matters: without it the answer is right.
#
# Seen: "optimal" with x5 = 0, also as the bound, by default; x5 = 1 with presolve off, or with 0 in place of 1e-7.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 highspy==1.15.1
"$folder/venv/bin/python" - <<'PYTHON'
from fractions import Fraction

import highspy
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

SMALL, SIDES, COSTS = 1e-7, [-0.0185, -0.1], [0.0, 0.0, 0.0, 0.0, -1.0]


def rows(small):
    return [[-0.0185, -0.017, -small, -0.0027, 0.0], [1.0, 0.0248, 5.7e-5, 0.143, -0.653]]


def by_scipy(small, presolve):
    answer = milp(
        COSTS,
        constraints=LinearConstraint(rows(small), SIDES, np.inf),
        integrality=np.ones(5),
        bounds=Bounds(0, 1),
        options={"presolve": presolve},
    )
    assert answer.status == 0
    return -answer.fun, -answer.mip_dual_bound


def by_highspy(presolve):
    solver = highspy.Highs()
    solver.silent()
    solver.setOptionValue("presolve", presolve)
    x = [solver.addBinary() for _ in COSTS]
    for row, side in zip(rows(SMALL), SIDES):
        solver.addConstr(sum(a * one for a, one in zip(row, x)) >= side)
    solver.maximize(x[4])
    return solver.getModelStatus().name, solver.getObjectiveValue()


point = [1, 0, 0, 0, 1]
left = [sum(Fraction(a) * one for a, one in zip(row, point)) - Fraction(side) for row, side in zip(rows(SMALL), SIDES)]
print("x = (1, 0, 0, 0, 1) is above its sides by", [float(one) for one in left])
assert min(left) >= 0

seen = {
    "scipy": by_scipy(SMALL, True),
    "scipy, presolve off": by_scipy(SMALL, False),
    "scipy, 0 for 1e-7": by_scipy(0.0, True),
    "highspy": by_highspy("choose"),
    "highspy, presolve off": by_highspy("off"),
}
for name, answer in seen.items():
    print(f"{name}: {answer}")
assert seen["scipy"] == (0.0, 0.0), "scipy has another answer now"
assert seen["scipy, presolve off"][0] == seen["scipy, 0 for 1e-7"][0] == 1.0
assert seen["highspy"] == ("kOptimal", 0.0), "highspy has another answer now"
assert seen["highspy, presolve off"] == ("kOptimal", 1.0)
PYTHON
