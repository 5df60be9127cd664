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

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
