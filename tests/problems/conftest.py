"""The data of `tests/objectives`, for the problems that are built from those objectives."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import specmargin as sm

# importlib mode cannot import a neighbouring folder by name.
_SPEC = importlib.util.spec_from_file_location(
    "specmargin_objective_fixtures", Path(__file__).parents[1] / "objectives" / "conftest.py"
)
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)
manifold_data, spectrum_data = _MODULE.manifold_data, _MODULE.spectrum_data

_TIGHT = {
    "CLARABEL": {"tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11},
    "ECOS": {"reltol": 1e-11, "abstol": 1e-11, "feastol": 1e-11},
}


@pytest.fixture(scope="session")
def tight():
    """Solver parameters that ask for all the digits there are, by the solver's name."""
    return _TIGHT


@pytest.fixture(scope="session")
def gram_data():
    """Return make(...) -> (K, labels) of labelled samples, of full rank or not."""

    def make(n=14, *, seed=0, gamma=0.5, rank=None):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 2))
        truth = (X[:, 0] + 0.5 * rng.normal(size=n) > -0.4).astype(int)
        K = np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2)) if rank is None else X[:, :rank] @ X[:, :rank].T
        return K, sm.encode_labels(truth)

    return make
