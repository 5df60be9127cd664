"""How a problem is solved, as objects that estimators are composed of: `Solver` and `Search`; what solvers need.

A solver states next to its function the facts that it needs (`specmargin.losses.Loss`),

    REQUIRES = ("convex", "piecewise_quadratic")

and, where unlabelled samples have a loss of their own, ``REQUIRES_UNLABELED``. A fact is the name of an attribute of
the loss; "smooth or box_dual" means either. ``REQUIRES_PAIR = (fact, other)`` means that the loss of the labelled
samples has the one or that of the unlabelled ones the other. Nothing is needed by a solver that states nothing. A
``REMEDY`` ends the error, where there is one besides another solver.
`require` raises where a loss does not have what is needed, `takers` lists the solvers that take it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from specmargin.checks import accuracy, among, choice, flag, iterations, maybe, number, shown, solver_names
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.losses import SymmetricRamp
from specmargin.parts import Part, require_part

__all__ = ["SEARCHES", "SOLVERS", "Search", "Solver", "missing", "require", "search_of", "solver_of", "takers"]

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


def _options(name: str, value: Any) -> None:
    if value is not None and not (isinstance(value, Mapping) and all(isinstance(key, str) for key in value)):
        raise InvalidTypeError(f"{name}={shown(value)} must be a dict from names of options, or None.")


@dataclass(frozen=True, repr=False)
class Solver(Part):
    """The solver of a convex problem, and how well it has to be solved.

    Parameters
    ----------
    name : str or sequence of str, default "auto"
        "auto": the package's own, in numpy. Or another one that the estimator names, any installed solver of CVXPY
        ("CLARABEL"), or an order of them.
    tol : float, default 1e-6
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    max_iter : int, optional
        Limit of iterations of the package's own solvers; by default that of the solver. Those of CVXPY take theirs in
        `options`, each under a name of its own.
    options : dict, optional
        Passed on to the solver, such as ``{"stopping": "safe"}`` to "pcg".

    Examples
    --------
    >>> Solver("CLARABEL", tol=1e-8)
    Solver(name='CLARABEL', tol=1e-08)
    """

    name: str | Sequence[str] = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    options: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        solver_names("name", self.name)
        accuracy("tol", self.tol)
        maybe(iterations)("max_iter", self.max_iter)
        _options("options", self.options)

    def arguments(self, **first: Any) -> dict[str, Any]:
        """Return the keyword arguments of a solver of the package; by default they begin with tol."""
        limit = {} if self.max_iter is None else {"max_iter": self.max_iter}
        return {**(first or {"tol": self.tol}), **limit, **(self.options or {})}


_AUTO = Solver()


def solver_of(name: str, value: Any) -> Solver:
    """Return the solver that a parameter means: a `Solver`, the name of one, or an order of names.

    Examples
    --------
    >>> solver_of("solver", "newton")
    Solver(name='newton')
    """
    if isinstance(value, str) and value == "auto":
        return _AUTO
    require_part(name, value)
    if isinstance(value, Solver):
        return value
    if isinstance(value, Part):
        raise InvalidTypeError(f"{name}={shown(value)} is no solver; take a name, or specmargin.solvers.Solver(...).")
    solver_names(name, value)
    return Solver(value if isinstance(value, str) else tuple(value))


class Method(NamedTuple):
    """One way to search for the minimum of an S3VM: module of the solver, the losses whose objective it searches.

    The module, whose functions do not check their arguments, is imported when the search is asked for.
    """

    module: str
    loss: str
    unlabeled_loss: str | None = None


_S3VM = "specmargin.solvers.s3vm."
SEARCHES: dict[str, Method] = {
    "continuation": Method(f"{_S3VM}continuation", "hinge", "exp"),
    "gradient": Method(f"{_S3VM}gradient", "squared_hinge", "exp"),
    "quasi_newton": Method(f"{_S3VM}quasi_newton", "smooth_hinge", "exp"),
    "multi_switch": Method(f"{_S3VM}multi_switch", "squared_hinge"),
    "annealing": Method(f"{_S3VM}annealing", "squared_hinge"),
    "cccp": Method(f"{_S3VM}cccp", "hinge", "ramp"),
    "label_switching": Method(f"{_S3VM}label_switching", "hinge"),
    "branch_and_bound": Method("specmargin.optima", "hinge"),
}
"""The searches by name, which is that of their solver, too."""


@dataclass(frozen=True, repr=False)
class Search(Part):
    """How an S3VM is searched for among its local minima, and the losses that belong to the search.

    Parameters
    ----------
    name : str, default "continuation"
        "continuation": hinge and exp(-3 f^2), smoothed until one minimum is left, which is followed back: the most
        reliable. "gradient": squared hinge and exp(-3 f^2), while C* is doubled ten times. "quasi_newton": smooth hinge
        and exp(-3 f^2), by L-BFGS with C* annealed: the fastest on sparse text. "annealing": squared hinge at both
        labels by their probabilities, cooled. "multi_switch", "label_switching": guessed labels, of which many or two
        at a time are switched; squared hinge and hinge at the better of both labels. "cccp": hinge and a ramp at either
        label, a sequence of convex upper bounds. "branch_and_bound": hinge at the better of both labels, the global
        optimum, for some dozens of unlabelled samples.
    tol : float, optional
        Relative gradient at which the solver stops (nothing is proved about the global optimum); by default its own.
    max_iter : int, optional
        Limit of iterations; by default that of the solver. A ConvergenceWarning says where it was met. The limit of
        "branch_and_bound" is `max_nodes` in `options`.
    intercept : {"balance", "regularized", "free"}, default "balance"
        "balance" fixes the mean decision on the unlabelled samples; see `specmargin.objectives.Features`.
    one_flip : bool, default False
        Whether single labels are flipped afterwards until no flip lowers the objective (`specmargin.optima.one_flip`);
        ramps with s < 0 are refused.
    s : float, default -0.3
        End of the ramp of "cccp", in (-1, 0]: samples with |f| < -s have no gradient. UniverSVM's default is 0, the
        symmetric hinge, with which labels hardly ever change once the unlabelled losses weigh; the paper tunes s, and
        names -0.3 for text.
    bound : float, optional
        Seconds that may be spent afterwards on a proved bound of the global optimum
        (`specmargin.optima.with_bound`), so that the certificate of ``result_`` has a gap; None: no bound.
    options : dict, optional
        Passed on to the solver of that name in `specmargin.solvers`, or to `specmargin.optima.branch_and_bound`:
        ``{"time_limit": 600.0}``, say.

    References
    ----------
    Chapelle, Chi & Zien, A continuation method for semi-supervised SVMs, ICML 2006. Chapelle & Zien, Semi-supervised
    classification by low density separation, AISTATS 2005 (gradient). Gieseke, Airola, Pahikkala & Kramer, Fast and
    simple gradient-based optimization for semi-supervised support vector machines, Neurocomputing 123, 2014
    (quasi-Newton). Sindhwani & Keerthi, Large scale semi-supervised linear SVMs, SIGIR 2006 (multi-switch). Sindhwani,
    Keerthi & Chapelle, Deterministic annealing for semi-supervised kernel machines, ICML 2006. Collobert, Sinz, Weston
    & Bottou, Large scale transductive SVMs, JMLR 7, 2006 (CCCP). Joachims, Transductive inference for text
    classification using support vector machines, ICML 1999 (label switching). Chapelle, Sindhwani & Keerthi, Branch and
    bound for semi-supervised support vector machines, NIPS 2006.

    Examples
    --------
    >>> Search("quasi_newton", tol=1e-6)
    Search(name='quasi_newton', tol=1e-06)
    """

    name: str = "continuation"
    tol: float | None = None
    max_iter: int | None = None
    intercept: str = "balance"
    one_flip: bool = False
    s: float = -0.3
    bound: float | None = None
    options: Mapping[str, Any] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or self.name not in SEARCHES:
            kind = InvalidInputError if isinstance(self.name, str) else InvalidTypeError
            raise kind(f"name={shown(self.name)} is unknown; take one of {among(self.name, SEARCHES)}")
        maybe(accuracy)("tol", self.tol)
        maybe(iterations)("max_iter", self.max_iter)
        if self.name == "branch_and_bound" and self.max_iter is not None:
            raise InvalidInputError(
                f"max_iter={self.max_iter} is no limit of branch and bound, which counts nodes; pass "
                f'options={{"max_nodes": {self.max_iter}}}'
            )
        choice("balance", "regularized", "free")("intercept", self.intercept)
        flag("one_flip", self.one_flip)
        number()("s", self.s)
        maybe(number(above=0, infinite=True))("bound", self.bound)
        _options("options", self.options)

    def losses(self) -> tuple[str, Any]:
        """Return the loss of the labelled samples, and that of the unlabelled ones."""
        method = SEARCHES[self.name]
        return method.loss, SymmetricRamp(s=self.s) if method.unlabeled_loss == "ramp" else method.unlabeled_loss

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of the solver."""
        limits = {"tol": self.tol, "max_iter": self.max_iter}
        return {**{name: value for name, value in limits.items() if value is not None}, **(self.options or {})}


_BY_NAME = {name: Search(name) for name in SEARCHES}


def search_of(name: str, value: Any) -> Search:
    """Return the search that a parameter means: a `Search`, or the name of one.

    Examples
    --------
    >>> search_of("search", "cccp")
    Search(name='cccp')
    """
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    require_part(name, value)
    if isinstance(value, Search):
        return value
    if not isinstance(value, str):
        raise InvalidTypeError(f"{name}={shown(value)} is no search; take a name, or specmargin.solvers.Search(...).")
    raise InvalidInputError(f"{name}={value!r} is unknown; take one of {among(value, SEARCHES)}")
