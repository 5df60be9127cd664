#!/usr/bin/env bash
# The fast tests on the lowest versions that pyproject.toml admits, in an environment of its own: bash tests/lowest.sh
# Wheels alone: a version that has none for this Python, and would have to be compiled, is not one that it admits.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
lowest=.venv-lowest
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.venv/bin/python -m pip install --quiet uv
.venv/bin/python -m venv --clear "$lowest"
.venv/bin/uv pip compile pyproject.toml --quiet --resolution lowest-direct --only-binary :all: --no-header --no-annotate \
  --python "$lowest/bin/python" --extra cli --extra verify --group dev --output-file "$lowest/requirements.txt"
.venv/bin/uv pip install --quiet --python "$lowest/bin/python" --requirement "$lowest/requirements.txt"
.venv/bin/uv pip install --quiet --python "$lowest/bin/python" --no-deps --no-build-isolation --editable .
echo "== fast tests on" $(grep -E '^(cvxpy|matplotlib|numpy|pandas|scikit-learn|scipy|typer)==' "$lowest/requirements.txt")
"$lowest/bin/python" -m pytest -n auto -m "not slow" "$@"
