"""`import specmargin` is cheap, and every public name is there when it is asked for."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import specmargin

# The names that users type, and where each one lives.
MODULES = [
    *("datasets", "exceptions", "graphs", "kernels", "labels", "losses"),
    *(
        "model_selection",
        "objectives",
        "optima",
        "plots",
        "problems",
        "results",
        "solvers",
        "spectra",
        "tables",
        "terms",
    ),
]
NAMES = {
    "tables.diagnosis": ["Diagnosis", "diagnose"],
    "tables": ["compare", "Comparison"],
    "labels": ["encode_labels", "hide_labels"],
    "problems": ["certify", "solve"],
    "estimators": [
        *("LapSVM", "LapRLS", "LapRLSRegressor", "LabelSearch"),
        *("KTA", "MKL", "RMM", "S3VM", "STOAM", "STORM", "SpectralGraphTransducer"),
        *("SpectralFilterClassifier", "SpectralFilterRegressor", "SpectralKernelSVM"),
        *("SpectralRidge", "XuSpectralSVM", "RegularizedSpectralClustering", "RegularizedEigenmaps"),
    ],
    "tables.auto_ssl": ["AutoSSL"],
    "estimators.sensitivity": ["Sensitivity", "sensitivity"],
    "estimators.storage": ["save", "load"],
    "model_selection": ["LabeledKFold", "Nodes", "labeled_accuracy", "precision_recall_breakeven"],
    "proofs": ["Verification", "verify", "save_result", "load_result"],
    "estimators.with_unlabeled": ["WithUnlabeled"],
    "exceptions": ["SolverError"],
    "results": ["Status", "Certificate", "SolveResult"],
}
HEAVY = {"flint", "matplotlib", "cvxpy", "networkx", "sklearn", "pandas"}


def run_fresh(code: str) -> str:
    """Run `code` in a new interpreter, where nothing is imported yet."""
    env = {name: value for name, value in os.environ.items() if name != "EAGER_IMPORT"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_costs_little_more_than_numpy() -> None:
    code = "import numpy, time\nstart = time.perf_counter()\nimport specmargin\nprint(time.perf_counter() - start)"
    # Other processes only ever add time: the smallest of several is the import's own.
    assert min(float(run_fresh(code)) for _ in range(5)) < 0.3


def test_import_pulls_in_nothing_heavy() -> None:
    loaded = run_fresh("import sys, specmargin; print(*{name.split('.')[0] for name in sys.modules})")
    assert HEAVY & set(loaded.split()) == set()


def test_an_estimator_loads_little_more_of_scikit_learn_than_its_svm() -> None:
    """Half of what the package itself takes to load is saved."""
    loaded = run_fresh("import sys; from specmargin import LapSVM; print(*sys.modules)").split()
    slow = {f"sklearn.{name}" for name in ("cluster", "decomposition", "manifold", "neighbors", "tree", "covariance")}
    assert slow & {*loaded} == set()


def test_mathematics_needs_no_cvxpy_and_no_matplotlib() -> None:
    used = ("labels", "losses", "results", "exceptions", "objectives", "spectra", "kernels")
    code = f"import sys, specmargin; [getattr(specmargin, module) for module in {used}]; print(*sys.modules)"
    assert {"cvxpy", "matplotlib"} & set(run_fresh(code).split()) == set()


def test_public_modules_and_names_resolve() -> None:
    for module in MODULES:
        assert getattr(specmargin, module) is importlib.import_module(f"specmargin.{module}")
    for module, names in NAMES.items():
        home = importlib.import_module(f"specmargin.{module}")
        for name in names:
            assert getattr(specmargin, name) is getattr(home, name), name


def test_first_use_in_any_order() -> None:
    """A name must not be hidden by a module that loads on the way to it."""
    names = [name for group in NAMES.values() for name in group]
    for order in (names, names[::-1]):
        code = f"import specmargin\nprint(*[type(getattr(specmargin, name)).__name__ for name in {order!r}])"
        assert "module" not in run_fresh(code).split()


def test_dir_lists_exactly_the_public_names() -> None:
    expected = sorted([*MODULES, *(name for group in NAMES.values() for name in group)])
    assert sorted(dir(specmargin)) == expected
    assert sorted(specmargin.__all__) == expected


def test_stub_exports_what_it_imports() -> None:
    """Type checkers read ``__all__``, lazy_loader reads the imports: one file, two readers."""
    source = Path(specmargin.__file__).with_suffix(".pyi").read_text()
    exported = next(
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    )
    assert sorted(exported) == sorted(specmargin.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="laplacian_svm"):
        _ = specmargin.laplacian_svm


OPTIMISED = """
import importlib, pkgutil, warnings
import specmargin as sm
from specmargin import estimators

assert False, "asserts are left out"
warnings.simplefilter("ignore")
X, truth = sm.datasets.make_two_moons(n_samples=40, random_state=0)
y = sm.hide_labels(truth, per_class=4, random_state=0)
fitted = []
for name in estimators.__all__:
    estimator = getattr(estimators, name)
    if hasattr(estimator, "fit"):
        estimator().fit(X, y.astype(float) if "Regressor" in name else y)
        fitted.append(name)
for module in pkgutil.walk_packages(sm.__path__, "specmargin."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(len(fitted), "fitted")
"""


@pytest.mark.slow
def test_without_docstrings_and_asserts_every_estimator_can_be_fitted() -> None:
    """As ``python -OO``, which leaves both out: a dataclass then writes a docstring of its own."""
    from specmargin import estimators

    done = subprocess.run([sys.executable, "-OO", "-c", OPTIMISED], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count = sum(hasattr(getattr(estimators, name), "fit") for name in estimators.__all__)
    assert done.stdout == f"{count} fitted\n"
