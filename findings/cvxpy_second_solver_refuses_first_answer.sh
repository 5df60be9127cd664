#!/usr/bin/env bash
# CVXPY refuses to solve a problem by HiGHS that Clarabel has just solved: "Variable value must be in bounds".
#
# cvxpy 1.9.3, highspy 1.15.1, clarabel 0.11.1, numpy 2.4.6; Python 3.11; seen on 28 November 2026.
#
# Input: a plain linear support vector machine of 40 samples, without a bound on any variable: problem.solve(solver="CLARABEL"),
# then problem.solve(solver="HIGHS") of the same object. No variable of the user has bounds; CVXPY derives some for its
# auxiliary variables where a solver takes bounds, and hands them the values of the first answer.
#
# Seen: 11.569 by Clarabel, then ValueError. A new problem object is solved by HiGHS (with another, wrong value).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check cvxpy==1.9.3 highspy==1.15.1 clarabel==0.11.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import cvxpy as cp
import numpy as np

rng = np.random.default_rng(0)
y = np.r_[np.ones(20), -np.ones(20)]
X = rng.standard_normal((40, 3)) + 0.7 * y[:, None]
w, b = cp.Variable(3), cp.Variable()
problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))))
value = problem.solve(solver="CLARABEL")
print("CLARABEL", round(value, 3))
assert abs(value - 11.569) < 1e-3
try:
    print("HIGHS", problem.solve(solver="HIGHS"))
except ValueError as error:
    print("HIGHS: ValueError:", error)
    assert "must be in bounds" in str(error)
else:
    raise SystemExit("the second solve is no error any more")
PYTHON
