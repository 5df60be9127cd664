r"""Preconditioned conjugate gradients in the primal (Algorithm 1 of the primal paper): early stopping, large n.

Preconditioned by K, the gradient by alpha of `specmargin.objectives.LapSVM` is the inner gradient
g = S alpha + I_E (K alpha + b - y): what is left after dividing K out costs nothing. An iteration needs one kernel
product, K g; K alpha, L K alpha and the products with the direction d follow by recurrence. The step is exact
(`specmargin.solvers.line_search`), directions are those of Polak and Ribiere, and start anew where their update is
negative or does not descend.

Two things differ from the published algorithm. The bias is preconditioned by 1/l, the inverse of its second derivative
while all l labelled samples are active, instead of 1: fewer iterations. And what the recurrences promise is checked
with a true K alpha before a norm counts as reached; where they have drifted, they are set right and the loop goes on.
That makes kernels in single precision exact to the digits that are asked for, as iterative refinement does.

`pcg` trains one classifier, `pcg_one_vs_rest` all classes at once: one matrix product instead of many products
with vectors, which are bound by memory. Convergence is ruled by cond(S): at gamma_A <= 1e-4 expect thousands of
iterations to a small gradient, and call `specmargin.solvers.factorized` for an accurate answer. The decisions converge
much earlier; see `specmargin.solvers.manifold.stopping`.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives import LapSVM
from specmargin.objectives.proved_decisions import Distances, ambient_distances, decision_bounds, distances
from specmargin.results import History, SolveResult, Status
from specmargin.solvers.manifold.answer import full_space_result
from specmargin.solvers.manifold.conjugate import Stack, StackedProblem, kernel_product
from specmargin.solvers.manifold.monitor import Monitor
from specmargin.solvers.manifold.stopping import NormRule, ProvedRule, Stagnation, stopping_rule
from specmargin.solvers.parts import require
from specmargin.typing import BoolArray, FloatArray, IntArray

__all__ = ["REQUIRES", "pcg", "pcg_one_vs_rest"]

REQUIRES = ("convex", "smooth", "piecewise_quadratic")
"""A gradient that is continuous, and exact minima along lines."""

Preconditioner = Literal["scaled", "printed"]


def pcg(
    obj: LapSVM,
    *,
    stopping: str = "gradient",
    tol: float = 1e-8,
    max_iter: int = 5000,
    validation: npt.ArrayLike | None = None,
    truth: npt.ArrayLike | None = None,
    check_every: int | None = None,
    preconditioner: Preconditioner = "scaled",
    dtype: npt.DTypeLike = np.float64,
    gap_tol: float = 1e-6,
    proved: float = 1.0,
    start: tuple[npt.ArrayLike, float] | None = None,
    prove: bool = False,
) -> SolveResult:
    """Train in the primal by preconditioned conjugate gradients.

    Parameters
    ----------
    obj : LapSVM
        Objective with a loss that is convex and piecewise quadratic, of continuous slope: "squared_hinge",
        "huber_hinge" or "squared".
    stopping : str, default "gradient"
        "gradient", "preconditioned_gradient", "mixed_product" or "objective" (to `tol`, relative to the start), or
        one of "stability", "validation", "mixed", "safe", "decisions", which look at the decisions (module
        ``stopping``).
    tol : float, default 1e-8
        Tolerance of the rule; for those that look at decisions, the relative mixed product at which nothing is left to
        do. 0 goes on until rounding has the last word.
    max_iter : int, default 5000
        Iterations. More than are needed change nothing.
    validation : array-like of int, optional
        Samples that are unlabelled in `obj` but have a label in `truth`, for "validation" and "mixed".
    truth : array-like of shape (n,), optional
        Signs in {-1, +1} as far as they are known, 0 elsewhere: the history then holds errors.
    check_every : int, optional
        Iterations between two looks at the decisions, default round(sqrt(n) / 2).
    preconditioner : {"scaled", "printed"}, default "scaled"
        Preconditioner of the bias: 1/l, or 1 as in Algorithm 1.
    dtype : float64 or float32, default float64
        Precision of the products with a stored kernel. Single precision takes half the time, and half the memory of
        K once more; the answer and its certificate are in double precision.
    gap_tol : float, default 1e-6
        Relative gap that the certificate has to prove for the status OPTIMAL.
    proved : float, default 1
        Share of the decisions, in (0, 1], that "decisions" proves to be those of the optimum.
    start : tuple of (alpha, b), optional
        Point to begin at (section 3.2.2 of the paper), for instance the answer under other gammas; default zero. What
        is relative to the start in `tol` remains relative to zero.
    prove : bool, default False
        Whether the certificate of an answer that was stopped early is to be as tight as that of others. It takes up to
        100 products with L, and says how far the optimum still is.

    Returns
    -------
    SolveResult
        Variables ``alpha`` (n,), ``b``, ``f`` (n,), ``beta`` (l,). EARLY_STOPPED where the decisions stopped it. The
        history starts with the start, so that it has n_iter + 1 entries: ``objective``; the norms ``gradient``,
        ``preconditioned_gradient`` and ``mixed_product`` (the root of their inner product); ``step``, ``active``;
        ``changed``, the share of other decisions on the unlabelled samples than one iteration before;
        ``labeled_error``, and with `truth` ``unlabeled_error`` and ``validation_error``, as shares.

    Raises
    ------
    ValueError
        If the loss does not meet `REQUIRES`, a parameter is out of range, or validation samples are labelled in `obj`.

    References
    ----------
    Melacci & Belkin, Laplacian support vector machines trained in the primal, sections 3.2 and 4.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=100, noise=0.05, random_state=0)
    >>> labels = sm.encode_labels(sm.hide_labels(y_true, per_class=2, random_state=0))
    >>> K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    >>> obj = sm.objectives.LapSVM(K, L, labels, loss="squared_hinge", gamma_A=0.01, gamma_I=1.0)
    >>> pcg(obj).status.name, pcg(obj, stopping="safe").status.name
    ('OPTIMAL', 'EARLY_STOPPED')
    """
    signs = None if truth is None else np.asarray(truth, dtype=float).reshape(-1, 1)
    settings = _Settings(stopping, tol, max_iter, check_every, preconditioner, np.dtype(dtype), gap_tol, prove, proved)
    return _solve([obj], settings, validation, signs, "pcg", start)[0]


def pcg_one_vs_rest(
    obj: LapSVM,
    labels: Labels,
    *,
    stopping: str = "gradient",
    tol: float = 1e-8,
    max_iter: int = 5000,
    validation: npt.ArrayLike | None = None,
    truth: npt.ArrayLike | None = None,
    check_every: int | None = None,
    preconditioner: Preconditioner = "scaled",
    dtype: npt.DTypeLike = np.float64,
    gap_tol: float = 1e-6,
    proved: float = 1.0,
    prove: bool = False,
) -> list[SolveResult]:
    """Train one classifier per class against the rest, all in one loop.

    Every class has its own steps, directions and stopping rule and leaves the stack when it is done; they share the
    product of K with the matrix of their gradients.

    Parameters
    ----------
    obj : LapSVM
        Kernel, graph, loss and gammas; its labels do not matter.
    labels : Labels
        Labels of all classes.
    truth : array-like of shape (n,), optional
        Class values as far as they are known; whatever is no class of `labels` is unknown.
    stopping, tol, max_iter, validation, check_every, preconditioner, dtype, gap_tol, proved, prove
        The same as in `pcg`.

    Returns
    -------
    list of SolveResult
        One per class, in the order of ``labels.classes``; a single one for two classes.

    Examples
    --------
    >>> import specmargin as sm
    >>> X = np.array([[0.0], [0.1], [1.0], [1.1], [2.0], [2.1]])
    >>> labels = sm.encode_labels([0, -1, 1, -1, 2, -1])
    >>> K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=2))
    >>> obj = sm.objectives.LapSVM(K, L, next(labels.one_vs_rest()), loss="squared", gamma_A=0.1, gamma_I=0.1)
    >>> F = np.column_stack([result.variables["f"] for result in pcg_one_vs_rest(obj, labels)])
    >>> F.argmax(axis=1).tolist()
    [0, 0, 1, 1, 2, 2]
    """
    binary = list(labels.one_vs_rest())
    signs = None
    if truth is not None:
        values = np.asarray(truth)
        known = np.isin(values, labels.classes)
        if labels.is_binary:
            signs = np.where(known, np.where(values == labels.classes[1], 1.0, -1.0), 0.0)[:, None]
        else:
            signs = np.where(known[:, None], np.where(values[:, None] == labels.classes, 1.0, -1.0), 0.0)
    settings = _Settings(stopping, tol, max_iter, check_every, preconditioner, np.dtype(dtype), gap_tol, prove, proved)
    objectives = [obj.with_(labels=one) for one in binary]
    return _solve(objectives, settings, validation, signs, "pcg_one_vs_rest")


class _Settings(NamedTuple):
    """Arguments of `pcg` and `pcg_one_vs_rest` that hold for every class."""

    stopping: str
    tol: float
    max_iter: int
    check_every: int | None
    preconditioner: str
    dtype: np.dtype[Any]
    gap_tol: float
    prove: bool
    proved: float


class _Progress:
    """Rules, histories, iterations and answers of all classes, whose columns leave the stack one by one."""

    def __init__(
        self, problem: StackedProblem, monitor: Monitor, settings: _Settings, objectives: list[LapSVM]
    ) -> None:
        n, c = problem.obj.labels.n_samples, problem.signs.shape[1]
        every = settings.check_every or max(1, round(np.sqrt(n) / 2))
        validation = monitor.validation
        self.problem, self.monitor, self.max_iter = problem, monitor, settings.max_iter
        self.rules: list[Any]
        if settings.stopping == "decisions":
            first = objectives[0]
            known = distances(first) if first.is_reduced else ambient_distances(first)
            shares = [partial(_share_proved, one, known) for one in objectives]
            norms = [NormRule("mixed_product", settings.tol) for _ in objectives]
            pairs = zip(norms, shares, strict=True)
            self.rules = [ProvedRule(norm, settings.proved, share) for norm, share in pairs]
        else:
            watched, truth = monitor.watched, monitor.truth[validation] > 0
            seen: dict[str, Any] = {"check_every": every, "watched": watched, "validation": validation}
            self.rules = [stopping_rule(settings.stopping, settings.tol, truth=truth[:, j], **seen) for j in range(c)]
        self.stagnation = [Stagnation() for _ in range(c)]
        self.histories = [History() for _ in range(c)]
        self.positive = np.zeros((n, c), dtype=bool)
        self.alpha, self.b = np.zeros((n, c)), np.zeros(c)
        self.n_iter = np.zeros(c, dtype=int)
        self.answer, self.answer_b, self.Kalpha = self.alpha.copy(), self.b.copy(), self.alpha.copy()
        self.reached, self.final = np.full(c, np.inf), np.zeros(c, dtype=bool)
        """Mixed product by true products, and whether nothing is to be gained any more."""
        self.ended = [""] * c
        """Why a column left the stack: "rule", "early", "rounding" or "max_iter"."""

    def begin(self, stack: Stack) -> None:
        """Make this point, and not the first iterate, the one that the tolerances of the rules refer to."""
        for rule, now, f in zip(self.rules, stack.quantities(self.problem), (stack.Kalpha + stack.b).T, strict=True):
            rule.stops(0, now, f)

    def record(self, stack: Stack, step: FloatArray, decrease: FloatArray) -> tuple[BoolArray, BoolArray]:
        """Record an iteration of the columns in the stack; return which go on, and which should restart."""
        f = stack.Kalpha + stack.b
        positive, watched = f > 0, self.monitor.watched
        changed = (positive[watched] != self.positive[np.ix_(watched, stack.column)]).mean(axis=0)
        self.positive[:, stack.column] = positive
        goes_on, stuck = np.ones(len(stack.b), dtype=bool), np.zeros(len(stack.b), dtype=bool)
        for k, (j, now) in enumerate(zip(stack.column.tolist(), stack.quantities(self.problem), strict=True)):
            t = int(self.n_iter[j])
            self.histories[j].record(
                **now, step=step[k], changed=changed[k] if t else np.nan, **self.monitor.errors(positive[:, k], j)
            )
            rule = self.rules[j]
            stuck[k] = self.stagnation[j].update(now["mixed_product"], decrease[k], now["objective"])
            if rule.stops(t, now, f[:, k], (stack.alpha[:, k], float(stack.b[k]))):
                self.ended[j] = "early" if rule.early else "rule"
            elif t and (self.stagnation[j].exhausted or not step[k] > 0):
                self.ended[j] = "rounding"
            elif t >= self.max_iter:
                self.ended[j] = "max_iter"
            else:
                continue
            goes_on[k] = False
            self.alpha[:, j], self.b[j] = stack.alpha[:, k], stack.b[k]
        return goes_on, stuck

    def descend(self, stack: Stack) -> None:
        """Iterate until every column of the stack has left it."""
        while len(stack.b):
            step, decrease = stack.advance(self.problem)
            self.n_iter[stack.column] += 1
            goes_on, stuck = self.record(stack, step, decrease)
            stack.renew(self.problem, stuck & goes_on)
            if not goes_on.all():
                stack.keep(goes_on)

    def unconfirmed(self) -> IntArray:
        """Return the columns that ended by the recurrences and are not yet confirmed by true products with K."""
        ended = [why in ("rule", "rounding") for why in self.ended]
        return np.flatnonzero(np.array(ended) & ~self.final)

    def confirm(self, stack: Stack) -> BoolArray:
        """Keep the points whose true products are smaller than before; return which columns have to go on, and can."""
        goes_on = np.zeros(len(stack.b), dtype=bool)
        for k, (j, now) in enumerate(zip(stack.column.tolist(), stack.quantities(self.problem), strict=True)):
            product = now["mixed_product"]
            goes_on[k] = (
                not self.rules[j].confirms(now) and product < 0.5 * self.reached[j] and self.n_iter[j] < self.max_iter
            )
            if product < self.reached[j]:
                self.reached[j] = product
                self.answer[:, j], self.answer_b[j], self.Kalpha[:, j] = (
                    stack.alpha[:, k],
                    stack.b[k],
                    stack.Kalpha[:, k],
                )
            self.final[j] = not goes_on[k]
            self.stagnation[j] = Stagnation()
        return goes_on

    def finish(self) -> None:
        """Take the last iterates as the answers of columns that were cut off."""
        cut = ~self.final
        if cut.any():
            self.answer[:, cut], self.answer_b[cut] = self.alpha[:, cut], self.b[cut]
            self.Kalpha[:, cut] = kernel_product(self.problem.obj.K, self.alpha[:, cut])


def _share_proved(obj: LapSVM, known: Distances, alpha: FloatArray, b: float) -> float:
    low, high, *_ = decision_bounds(obj, {"alpha": alpha, "b": b}, known=known)
    return float(np.mean((low > 0) | (high < 0)))


def _start_columns(start: tuple[npt.ArrayLike, float], obj: LapSVM) -> tuple[FloatArray, FloatArray]:
    """Return the start (alpha, b), checked, as columns."""
    alpha, b = np.asarray(start[0], dtype=np.float64), float(start[1])
    n = obj.labels.n_samples
    if alpha.shape != (n,) or not np.isfinite(alpha).all() or not np.isfinite(b):
        raise InvalidInputError(
            f"start must be (alpha, b), {n} finite coefficients and a number; alpha has {alpha.shape}."
        )
    return alpha[:, None].copy(), np.array([b if obj.fit_intercept else 0.0])


def _solve(
    objectives: list[LapSVM],
    settings: _Settings,
    validation: npt.ArrayLike | None,
    truth: FloatArray | None,
    solver: str,
    start: tuple[npt.ArrayLike, float] | None = None,
) -> list[SolveResult]:
    """Iterate, correct the recurrences by true products until all ends are confirmed, and collect the answers."""
    begin = time.perf_counter()
    if settings.dtype not in (np.float64, np.float32):
        raise InvalidInputError(f"dtype={settings.dtype} is no precision of kernel products; take float64 or float32.")
    require(solver, "LapSVM", objectives[0].loss)
    obj, c = objectives[0], len(objectives)
    signs = np.column_stack([one.labels.sign for one in objectives])
    problem = StackedProblem(obj, signs, scaled=settings.preconditioner == "scaled", dtype=settings.dtype)
    progress = _Progress(problem, Monitor(obj.labels, c, validation, truth, settings.stopping), settings, objectives)
    stack = Stack.at(problem, np.arange(c), np.zeros((obj.labels.n_samples, c)), np.zeros(c))
    if start is not None:
        progress.begin(stack)
        stack = Stack.at(problem, np.arange(c), *_start_columns(start, obj))
    stack.keep(progress.record(stack, np.full(c, np.nan), np.zeros(c))[0])
    progress.descend(stack)
    while len(unconfirmed := progress.unconfirmed()):
        stack = Stack.at(problem, unconfirmed, progress.alpha[:, unconfirmed], progress.b[unconfirmed])
        stack.keep(progress.confirm(stack))
        progress.descend(stack)
    progress.finish()
    statuses = {"early": Status.EARLY_STOPPED, "max_iter": Status.MAX_ITER}
    messages = {
        "early": f"stopped by {settings.stopping}",
        "rule": f"{settings.stopping} at {settings.tol:g} of its start",
        "rounding": "nothing left but rounding",
        "max_iter": "iterations used up",
    }
    return [
        full_space_result(
            one,
            progress.answer[:, j].copy(),
            float(progress.answer_b[j]),
            Kalpha=progress.Kalpha[:, j].copy(),
            solver=solver,
            history=progress.histories[j],
            n_iter=int(progress.n_iter[j]),
            seconds=time.perf_counter() - begin,
            tol=settings.gap_tol,
            stopped=statuses.get(progress.ended[j]),
            message=messages[progress.ended[j]],
            prove=settings.prove or progress.ended[j] != "early",
        )
        for j, one in enumerate(objectives)
    ]
