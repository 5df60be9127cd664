#!/usr/bin/env bash
# CVXPY solves a program over a diagonal matrix variable, and then raises while it evaluates the objective at the answer.
#
# cvxpy 1.9.3, clarabel 0.11.1, numpy 2.4.6, scipy 1.17.1; Python 3.11; seen on 29 November 2026.
#
# Input: convex functions of D = cp.Variable((3, 3), diag=True) with trace(D) == 3, and the same with the diagonal matrix
# cp.diag(d) of a vector in the place of D. The value of D is a scipy.sparse.dia_array, which cannot be indexed and which
# numpy.linalg takes for an array without dimensions.
#
# Seen: with cp.diag(d) the optima 1, 3, 0 and 1. With D, problem.solve() raises AxisError for lambda_max, ValueError for the
# nuclear norm and LinAlgError for log_det; sigma_max and the sum of squares are solved, but D[0, 0].value, and with it
# the violation of a constraint on an entry of D, raises TypeError: 'dia_array' object is not subscriptable.
#
# What our product does there: it stores the diagonal matrix as an array before CVXPY evaluates anything, and proves all five.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check cvxpy==1.9.3 clarabel==0.11.1 numpy==2.4.6 scipy==1.17.1
cat > "$folder/diagonal.py" <<'PYTHON'
import cvxpy as cp

FUNCTIONS = {
    "lambda_max": cp.lambda_max,
    "nuclear norm": lambda M: cp.norm(M, "nuc"),
    "log_det": lambda M: -cp.log_det(M),
    "sigma_max": cp.sigma_max,
}


def said(call):
    try:
        return f"{abs(call()):.4f}"
    except Exception as error:
        return type(error).__name__


for name, function in FUNCTIONS.items():
    D, d = cp.Variable((3, 3), diag=True), cp.Variable(3)
    first = cp.Problem(cp.Minimize(function(D)), [cp.trace(D) == 3])
    second = cp.Problem(cp.Minimize(function(cp.diag(d))), [cp.sum(d) == 3])
    print(f"{name}: {said(lambda: first.solve(solver='CLARABEL'))}, {said(lambda: second.solve(solver='CLARABEL'))}")
entry = [D[0, 0] >= 1]
cp.Problem(cp.Minimize(cp.sum_squares(D)), entry).solve(solver="CLARABEL")
print(f"{type(D.value).__name__}, entry: {said(lambda: D[0, 0].value)}, violation: {said(entry[0].violation)}")
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/diagonal.py" | tee "$folder/out.txt"
grep -qx "lambda_max: AxisError, 1.0000" "$folder/out.txt"
grep -qx "nuclear norm: ValueError, 3.0000" "$folder/out.txt"
grep -qx "log_det: LinAlgError, 0.0000" "$folder/out.txt"
grep -qx "sigma_max: 1.0000, 1.0000" "$folder/out.txt"
grep -qx "dia_array, entry: TypeError, violation: TypeError" "$folder/out.txt"
echo "As described."
