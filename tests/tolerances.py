"""The tolerances of the suite, in one table; tests get it as the fixture ``tol``.

Relative unless a test says otherwise. A test that needs a looser one has found something to explain.
"""

from types import MappingProxyType

TOL = MappingProxyType(
    {
        "exact": 1e-12,  # one formula written in two ways
        "linalg": 1e-9,  # two factorisations of one well-conditioned system
        "gradient": 1e-6,  # central differences against an analytic derivative
        "objective": 1e-6,  # optimal values of two solvers
        "variables": 1e-4,  # their minimisers, where the minimiser is unique
        "float32": 1e-5,  # data that was stored in single precision
        "published": 1e-5,  # data that was published with five decimals
    }
)
