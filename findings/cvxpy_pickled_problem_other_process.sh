#!/usr/bin/env bash
# A pickled CVXPY problem is solved in one process and raises ValueError in another, by how many variables that one made.
#
# cvxpy 1.9.3, clarabel 0.11.1, numpy 2.4.6; Python 3.11; seen on 29 November 2026.
#
# Input: a support vector machine with two variables, pickled in a process that made 30 variables before (so that theirs
# are the ids 31 and 32), and loaded in processes that made k variables before it, k = 0 to 31. Variables keep the ids they
# were pickled with; those that CVXPY adds while it compiles the problem take the next numbers of the process that solves it,
# and may be the same.
#
# Seen: 15.864335 in the process that pickled it and for 28 of the 32 k. For k = 8, 9 and 23: "ValueError: Resulting quadratic
# form does not have appropriate dimensions"; for k = 22: "ValueError: operands could not be broadcast together".
#
# What our product does there: before it compiles a problem, it lets the process count on from the largest id in the problem.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check cvxpy==1.9.3 clarabel==0.11.1 numpy==2.4.6
cat > "$folder/one.py" <<'PYTHON'
import pickle
import sys

import cvxpy as cp
import numpy as np

file, before = sys.argv[1], int(sys.argv[2])
for _ in range(before):
    cp.Variable()
if len(sys.argv) > 3:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    y = np.sign(X[:, 0] + 0.5 * rng.normal(size=30))
    w, b = cp.Variable(4, name="w"), cp.Variable(name="b")
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))
    problem = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + hinge), [cp.norm(w, 1) <= 3, w[0] <= 1])
    with open(file, "wb") as written:
        pickle.dump(problem, written)
else:
    with open(file, "rb") as read:
        problem = pickle.load(read)
try:
    print(before, round(problem.solve(solver="CLARABEL"), 6))
except ValueError as error:
    print(before, "ValueError:", str(error)[:60])
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/one.py" "$folder/svm.pkl" 30 make | tee "$folder/made.txt"
for k in $(seq 0 31); do "$folder/venv/bin/python" -W ignore "$folder/one.py" "$folder/svm.pkl" "$k"; done | tee "$folder/loaded.txt"
grep -q "^30 15.864335$" "$folder/made.txt"
test "$(grep -c " 15.864335$" "$folder/loaded.txt")" = 28
test "$(grep ValueError "$folder/loaded.txt" | cut -d' ' -f1 | tr '\n' ' ')" = "8 9 22 23 "
echo "As described."
