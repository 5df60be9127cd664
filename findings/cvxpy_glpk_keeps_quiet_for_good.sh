#!/usr/bin/env bash
# CVXPY's interface to GLPK writes into the dict of options that it is given, so that a later verbose solve stays silent.
#
# cvxpy 1.9.3, cvxopt 1.3.3, numpy 2.4.6; Python 3.11; seen on 29 November 2026.
#
# Input: a linear program, solved twice by GLPK with one and the same dict, glpk={"it_lim": 50}: first as it is, then with
# verbose=True. Both solves take the options as a nested dict, as CVXPY's documentation of GLPK asks for.
#
# Seen: after the first solve the dict is {"it_lim": 50, "msg_lev": "GLP_MSG_OFF"}. The second solve prints no line of GLPK's
# own; with a new dict of the same content it prints the simplex log. The optimum is 2 each time.
#
# What our product does there: a solver gets a copy of the options, also of those inside of them, so that what one solve
# writes never reaches the next.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check cvxpy==1.9.3 cvxopt==1.3.3 numpy==2.4.6
cat > "$folder/twice.py" <<'PYTHON'
import sys

import cvxpy as cp

options = {"it_lim": 50}
x = cp.Variable(2)
problem = cp.Problem(cp.Minimize(cp.sum(x)), [x >= 1])
problem.solve(solver="GLPK", glpk=options)
print("kept", options, file=sys.stderr)
given = options if sys.argv[1] == "same" else {"it_lim": 50}
print("optimum", problem.solve(solver="GLPK", verbose=True, glpk=given))
PYTHON
for which in same new; do
    "$folder/venv/bin/python" -W ignore "$folder/twice.py" $which > "$folder/$which.txt" 2> "$folder/$which.err"
    grep kept "$folder/$which.err"
    grep -c "GLPK Simplex" "$folder/$which.txt" || true
    grep "^optimum" "$folder/$which.txt"
done
grep -q "kept {'it_lim': 50, 'msg_lev': 'GLP_MSG_OFF'}" "$folder/same.err"
test "$(grep -c "GLPK Simplex" "$folder/same.txt" || true)" = 0
test "$(grep -c "GLPK Simplex" "$folder/new.txt")" -ge 1
grep -q "^optimum 2.0" "$folder/same.txt"
echo "As described."
