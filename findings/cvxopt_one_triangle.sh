#!/usr/bin/env bash
# CVXOPT through CVXPY holds one triangle of a matrix variable semidefinite, where the variable is not declared symmetric.
#
# cvxpy 1.9.3, cvxopt 1.3.3, clarabel 0.11.1; Python 3.11; seen on 28 November 2026.
#
# Input: the nearest matrix Y to M = [[0, 3], [-1, 0]] in squares, subject to Y >> 0, which CVXPY defines for a square matrix
# as: (Y + Y') / 2 is positive semidefinite. By hand: the symmetric part [[0, 1], [1, 0]] of M has the eigenvalues 1 and
# -1, and the nearest semidefinite matrix leaves out the latter, so that the optimum is 1.
#
# Seen: CLARABEL "optimal" at 1.0000. CVXOPT "optimal" at 0.6667, at a Y whose symmetric part has the eigenvalue -1.0.
# With cp.Variable((2, 2), symmetric=True) both agree.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check cvxpy==1.9.3 cvxopt==1.3.3 clarabel==0.11.1
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import cvxpy as cp
import numpy as np

M = np.array([[0.0, 3.0], [-1.0, 0.0]])
seen = {}
for solver in ("CLARABEL", "CVXOPT"):
    Y = cp.Variable((2, 2))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(Y - M)), [Y >> 0])
    value = problem.solve(solver=solver)
    seen[solver] = problem.status, round(value, 3), round(float(np.linalg.eigvalsh((Y.value + Y.value.T) / 2)[0]), 2)
    print(solver, *seen[solver])
    assert problem.status == "optimal"
assert abs(seen["CLARABEL"][1] - 1.0) < 1e-3 and abs(seen["CLARABEL"][2]) < 1e-2
assert abs(seen["CVXOPT"][1] - 2 / 3) < 1e-3 and abs(seen["CVXOPT"][2] + 1.0) < 1e-2, "CVXOPT's answer is another one now"
PYTHON
