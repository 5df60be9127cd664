"""The public functions of `specmargin.optima`, whose arguments are checked."""

from __future__ import annotations

from specmargin.checks import accuracy, checked, count, instance, iterations, maybe, number, path, processes
from specmargin.objectives import S3VM
from specmargin.optima.bound import s3vm_bound, with_bound
from specmargin.optima.branching import branch_and_bound
from specmargin.optima.label_flips import one_flip
from specmargin.optima.probing import probe

__all__ = ["branch_and_bound", "one_flip", "probe", "s3vm_bound", "with_bound"]

_OBJ = instance(S3VM, "pass specmargin.objectives.S3VM(X, labels)")
_TOL, _SECONDS, _STEPS = maybe(accuracy), maybe(number(above=0, infinite=True)), maybe(iterations)
_TREE = {"max_nodes": maybe(count(0)), "n_jobs": maybe(processes), "tree": maybe(path)}

branch_and_bound = checked(obj=_OBJ, tol=_TOL, time_limit=_SECONDS, **_TREE)(branch_and_bound)
one_flip = checked(obj=_OBJ, tol=_TOL, max_iter=_STEPS)(one_flip)
probe = checked(obj=_OBJ, tol=_TOL, time_limit=_SECONDS, rounds=maybe(count(0)))(probe)
s3vm_bound = checked(obj=_OBJ, tol=_TOL, time_limit=_SECONDS, max_iter=_STEPS)(s3vm_bound)
with_bound = checked(obj=_OBJ)(with_bound)
