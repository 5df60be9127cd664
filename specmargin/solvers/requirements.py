"""What a solver needs of a loss, and who else would take it.

A solver states next to its function the facts that it needs (`specmargin.losses.Loss`),

    REQUIRES = ("convex", "piecewise_quadratic")

and, where unlabelled samples have a loss of their own, ``REQUIRES_UNLABELED``. A fact is the name of an attribute of
the loss; "smooth or box_dual" means either. ``REQUIRES_PAIR = (fact, other)`` means that the loss of the labelled
samples has the one or that of the unlabelled ones the other. Nothing is needed by a solver that states nothing. A
``REMEDY`` ends the error, where there is one besides another solver.
`require` raises where a loss does not have what is needed, `takers` lists the solvers that take it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from specmargin.exceptions import InvalidInputError

__all__ = ["SOLVERS", "lacking", "missing", "require", "takers"]

SOLVERS: dict[str, dict[str, str]] = {
    "LapSVM": {
        "factorized": ".manifold.factorized",
        "newton": ".manifold.newton",
        "pcg": ".manifold.pcg",
        "pcg_one_vs_rest": ".manifold.pcg",
    },
    "WeightedSVM": {
        "finite_newton": ".s3vm.finite_newton",
        "weighted_svm": ".s3vm.weighted_svm",
    },
    "S3VM": {
        "annealing": ".s3vm.annealing",
        "branch_and_bound": "specmargin.optima.branching",
        "cccp": ".s3vm.cccp",
        "continuation": ".s3vm.continuation",
        "gradient": ".s3vm.gradient",
        "label_switching": ".s3vm.label_switching",
        "multi_switch": ".s3vm.multi_switch",
        "one_flip": "specmargin.optima.label_flips",
        "polish": ".s3vm.polish",
        "probe": "specmargin.optima.probing",
        "quasi_newton": ".s3vm.quasi_newton",
        "s3vm_bound": "specmargin.optima.bound",
    },
}
"""The solvers of every objective that has a loss to choose, by name, and the modules with their requirements.

Those of `specmargin.optima` have their whole names: they are imported when they are asked about."""

_ALWAYS = {"LapSVM": "problems.lapsvm_dual, the CVXPY problem of any convex loss"}
"""What is left where no solver takes a convex loss."""

_LACKS = {
    "box_dual": "it is no hinge (its dual value is not beta on [0, 1])",
    "convex": "it is not convex",
    "convex_in_square": "it is not convex in f^2",
    "curved": "it is piecewise linear and has no curvature",
    "gaussian": "its convolution with a Gaussian is not known",
    "nonincreasing": "it rises beyond the margin",
    "piecewise_quadratic": "it is not piecewise quadratic",
    "slack_power": "it is no power of max(0, 1 - t)",
    "smooth": "it has no continuous slope",
    "two_ramps": "it is no sum of two ramps, one per label",
}


def missing(loss: Any, requires: tuple[str, ...]) -> list[str]:
    """Return those facts that a loss does not declare.

    Examples
    --------
    >>> from specmargin.losses import Hinge, SmoothHinge
    >>> missing(Hinge(), ("convex", "smooth")), missing(SmoothHinge(), ("smooth or box_dual", "piecewise_quadratic"))
    (['smooth'], ['piecewise_quadratic'])
    """
    return [fact for fact in requires if not any(getattr(loss, one, False) for one in fact.split(" or "))]


def lacking(solver: str, of: str, loss: Any, unlabeled_loss: Any = None) -> tuple[list[str], list[str]]:
    """Return the facts that a solver of an objective needs, and that its losses do not declare.

    Of a pair of facts of which one is enough, the second is among them where there is neither.

    Examples
    --------
    >>> from specmargin.losses import Hinge
    >>> lacking("newton", "LapSVM", Hinge())
    (['smooth'], [])
    """
    module = import_module(SOLVERS[of][solver], __package__)
    own = missing(loss, module.REQUIRES)
    if unlabeled_loss is None:
        return own, []
    other = missing(unlabeled_loss, getattr(module, "REQUIRES_UNLABELED", ()))
    pair = getattr(module, "REQUIRES_PAIR", ())
    if pair and missing(loss, pair[:1]) and missing(unlabeled_loss, pair[1:]):
        other.append(pair[1])
    return own, other


def takers(of: str, loss: Any, unlabeled_loss: Any = None) -> list[str]:
    """Return the solvers of an objective whose requirements its losses meet, in alphabetical order.

    Parameters
    ----------
    of : str
        The name of the objective's class, of `SOLVERS`.
    loss, unlabeled_loss : Loss
        Loss of the labelled samples, and of the unlabelled ones where the objective has such.

    Examples
    --------
    >>> from specmargin.losses import Hinge, SquaredHinge
    >>> takers("LapSVM", Hinge()), takers("LapSVM", SquaredHinge())
    (['factorized'], ['factorized', 'newton', 'pcg', 'pcg_one_vs_rest'])
    """
    return [solver for solver in SOLVERS[of] if not any(lacking(solver, of, loss, unlabeled_loss))]


def require(solver: str, of: str, loss: Any, unlabeled_loss: Any = None) -> None:
    """Raise where losses do not have what a solver needs of them.

    Parameters
    ----------
    solver, of : str
        The solver's name, and that of the objective's class.
    loss, unlabeled_loss : Loss
        Loss of the labelled samples, and of the unlabelled ones where the objective has such.

    Raises
    ------
    ValueError
        With the loss, what it lacks, and the solvers that take it.

    Examples
    --------
    >>> from specmargin.losses import SmoothHinge
    >>> require("newton", "LapSVM", SmoothHinge())
    Traceback (most recent call last):
        ...
    cvxproof.exceptions.InvalidInputError: solvers.newton does not take the loss 'smooth_hinge': it is not piecewise \
quadratic. What takes it: problems.lapsvm_dual, the CVXPY problem of any convex loss.
    """
    facts = lacking(solver, of, loss, unlabeled_loss)
    for what, one, lacks in zip(("loss", "unlabelled loss"), (loss, unlabeled_loss), facts, strict=True):
        if not lacks:
            continue
        module = import_module(SOLVERS[of][solver], __package__)
        reasons = " and ".join(" and ".join(_LACKS[part] for part in fact.split(" or ")) for fact in lacks)
        pair: tuple[str, ...] = getattr(module, "REQUIRES_PAIR", ())
        if one is unlabeled_loss and lacks[-1:] == list(pair[1:]):
            reasons += f", and of the loss {_named(loss)}, {_LACKS[pair[0]]}"
        others = [_called(other, of) for other in takers(of, loss, unlabeled_loss)]
        if not others and getattr(loss, "convex", False) and of in _ALWAYS:
            others = [_ALWAYS[of]]
        ends = [f"What takes it: {', '.join(others)}" if others else "No solver of this objective takes it"]
        ends += [remedy] if (remedy := getattr(module, "REMEDY", "")) else []
        raise InvalidInputError(
            f"{_called(solver, of)} does not take the {what} {_named(one)}: {reasons}. {'; '.join(ends)}."
        )


def _called(solver: str, of: str) -> str:
    return f"{'solvers' if SOLVERS[of][solver].startswith('.') else 'optima'}.{solver}"


def _named(loss: Any) -> str:
    return repr(getattr(loss, "name", None) or type(loss).__name__)
