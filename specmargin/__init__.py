"""Semi-supervised large-margin learning as convex models, every answer with a certificate.

Start with an estimator (`LapSVM`, `STORM`) on data whose unlabelled samples are marked by -1; `hide_labels`
makes such data from labelled ones. To look underneath: an object of `specmargin.objectives` is the
mathematics, `specmargin.problems` turns it into a CVXPY problem for `solve`, and `specmargin.solvers`
minimise it in numpy. Both ways return a `SolveResult` whose `Certificate` the objective has recomputed.

The names below load when they are first used, so that importing the package stays as cheap as importing
numpy. They are listed in ``__init__.pyi``, which type checkers read too.
"""

import lazy_loader

__version__ = "0.1.0"

_loaded, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_SEARCHES = {
    "AnnealedS3VM": "annealing",
    "CCCPS3VM": "cccp",
    "ContinuationS3VM": "continuation",
    "GradientS3VM": "gradient",
    "LabelSwitchingS3VM": "label_switching",
    "MultiSwitchTSVM": "multi_switch",
    "QuasiNewtonS3VM": "quasi_newton",
}
"""Classes of earlier versions, which are searches of one class now."""


def __getattr__(name: str) -> object:
    if name in _SEARCHES:
        raise AttributeError(f"specmargin has no {name}; write specmargin.S3VM(search={_SEARCHES[name]!r}).")
    return _loaded(name)
