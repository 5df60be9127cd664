#!/usr/bin/env bash
# HiGHS calls a strongly convex quadratic program with a bounded minimum "unbounded", from some curvature down.
#
# cvxpy 1.9.3, highspy 1.15.1, clarabel 0.11.1; Python 3.11; seen on 28 November 2026.
#
# Input: min c |x - 3|^2 over x in R^2 with x >= -10. The minimum is 0 at x = (3, 3) for every c > 0.
#
# Seen: HiGHS is right for c = 1e-3 and says "unbounded" for c = 1e-4 and 1e-5; CLARABEL is right for all three.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check cvxpy==1.9.3 highspy==1.15.1 clarabel==0.11.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import cvxpy as cp

seen = {}
for c in (1e-3, 1e-4, 1e-5):
    for solver in ("HIGHS", "CLARABEL"):
        x = cp.Variable(2)
        problem = cp.Problem(cp.Minimize(c * cp.sum_squares(x - 3)), [x >= -10])
        problem.solve(solver=solver)
        seen[solver, c] = problem.status
        print(solver, c, problem.status)
assert all(status == "optimal" for (solver, c), status in seen.items() if solver == "CLARABEL" or c == 1e-3)
assert seen["HIGHS", 1e-4] == seen["HIGHS", 1e-5] == "unbounded", "HiGHS has another answer now"
PYTHON
