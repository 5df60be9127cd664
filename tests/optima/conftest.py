"""What the tests of global optima share."""

import pytest


@pytest.fixture(scope="session")
def tight():
    """Solver parameters that ask for all the digits there are, by the solver's name."""
    return {
        "CLARABEL": {"tol_gap_rel": 1e-11, "tol_gap_abs": 1e-11, "tol_feas": 1e-11},
        "ECOS": {"reltol": 1e-11, "abstol": 1e-11, "feastol": 1e-11},
    }
