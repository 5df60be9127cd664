#!/usr/bin/env bash
# CVXPY's loggamma is another function, up to .036 below log(Gamma(x)): its minimum is "optimal" at -.1265, where log(Gamma) is never below -.1215.
#
# cvxpy 1.9.3, clarabel 0.11.1, numpy 2.4.6; Python 3.11; seen on 29 November 2026.
#
# Input: minimise loggamma(x) over x. CVXPY documents loggamma as the elementwise log of the gamma function, "of modest
# accuracy", and writes it as the largest of ten simpler functions. Nothing in the problem, its status or its value says so.
# By hand: log(Gamma) has its minimum -.121486 at x = 1.461632, by math.lgamma.
#
# Seen: "optimal", value -.12653 at x = 1.3424, where math.lgamma(x) is -.1143. The difference is largest, .0364, at x = .221.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check cvxpy==1.9.3 clarabel==0.11.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import math

import cvxpy as cp
import numpy as np

x = cp.Variable()
problem = cp.Problem(cp.Minimize(cp.loggamma(x)))
value = problem.solve(solver="CLARABEL")
least = math.lgamma(1.4616321449683622)
print(problem.status, round(value, 5), "at", round(float(x.value), 4), "where lgamma is", round(math.lgamma(x.value), 4))
print("least lgamma:", round(least, 6))
points = np.arange(1, 20001) / 1000
apart = np.array([math.lgamma(point) for point in points]) - cp.loggamma(cp.Constant(points)).value
print("largest difference on (0, 20]:", round(float(apart.max()), 4), "at", points[apart.argmax()])
assert problem.status == "optimal"
assert abs(value + 0.12653) < 1e-4 and abs(least + 0.121486) < 1e-6, "the minimum is another one now"
assert abs(apart.max() - 0.0364) < 1e-4, "loggamma is another function now"
PYTHON
