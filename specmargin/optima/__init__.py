"""Global optima of S3VMs: bounds that are proved, searches that end at the optimum, and their logs.

`s3vm_bound` proves by the relaxation `S3VMRelaxation` how low J can be at most, `with_bound` puts that into the
certificate of any answer. `branch_and_bound` minimises J, `probe` proves labels that all minima share, `one_flip`
improves an answer label by label. `s3vm_relaxation` is the relaxation as a CVXPY problem.

The functions of this package check their arguments; those of its modules, which call each other, do not. No other part
of specmargin imports this one: `specmargin.S3VM` and the proofs reach it by name, when they are asked for it. Names
load when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
