#!/usr/bin/env bash
# Build sdist and wheel, install the wheel in a bare environment, run the sdist's fast tests on it: bash tests/wheel.sh
# Everything happens in a folder of its own, and the current folder is not imported from: what is tested is the wheel.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
python="$root/.venv/bin/python"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PYTHONSAFEPATH=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
unset PYTHONPATH

cd "$root"
"$python" -m hatchling build --target sdist --directory "$folder/dist"
tar -xzf "$folder"/dist/*.tar.gz -C "$folder"
cd "$folder"/specmargin-*
"$python" -m hatchling build --target wheel --directory "$folder/dist"

"$python" -m venv "$folder/venv"
bare="$folder/venv/bin/python"
install=("$bare" -m pip --quiet --quiet --disable-pip-version-check install)
grep -oE '^[a-z0-9][^ ;]*==[^ ;]+( ; [^\\]*)?' requirements/main.lock > "$folder/versions"
"${install[@]}" --constraint "$folder/versions" "$folder"/dist/*.whl
"$bare" - <<'CODE'
import specmargin as sm

X, y = sm.datasets.make_two_moons(n_samples=60, random_state=0)
print("bare wheel:", sm.LapSVM().fit(X, sm.hide_labels(y, per_class=3, random_state=0)).result_)
CODE

"${install[@]}" --require-hashes --requirement requirements/main.lock
"$bare" - <<'CODE'
import os
import sysconfig

import specmargin

place = os.path.realpath(specmargin.__file__)
assert place.startswith(os.path.realpath(sysconfig.get_path("purelib"))), place
print("testing", place)
CODE
"$bare" -m pytest -n auto -m "not slow" "$@"
