"""Parameters that several estimators share, each group with what it does: a kernel, a graph, a solver, a bound.

The classes are dataclasses with keywords only: that writes the explicit ``__init__`` which scikit-learn asks for. An
estimator names a parameter again only to give it another default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from specmargin.exceptions import InvalidInputError
from specmargin.graphs import NeighborSearch, knn_graph
from specmargin.graphs.neighbor_graphs import with_graph_sections
from specmargin.kernels import gram, resolve_gamma
from specmargin.results import SolveResult
from specmargin.typing import FloatArray, IntArray, Matrix, SparseArray

DEFAULT_NEIGHBORS = 10
"""Of a graph whose number of neighbours is chosen by n: min(10, n // 2), for a complete graph says nothing."""

_LEAST_EXCESS = 1e-4
"""A free range that exceeds 1 by less is all margin, up to the accuracy of f: there is nothing to bound."""


def neighbor_count(n_neighbors: int | None, n: int) -> int:
    """Return the number of neighbours among n samples: what was asked for, or for None min(10, n // 2)."""
    return min(DEFAULT_NEIGHBORS, max(1, n // 2)) if n_neighbors is None else n_neighbors


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """A kernel of known width.

    It is data and no method of an estimator: kept by a feature map, that would be a cycle, which copies and files of
    some libraries do not take.
    """

    kernel: Any
    gamma: float
    degree: int
    coef0: float

    @property
    def is_precomputed(self) -> bool:
        """Whether matrices are given, and none is computed."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __call__(self, X: Matrix, Y: Matrix | None = None) -> FloatArray:
        """Return the Gram matrix of X, or the block of the rows of X with those of Y."""
        if self.is_precomputed:
            return precomputed(X, Y)
        return gram(X, Y, kernel=self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelFamily:
    """A kernel, whose width may be searched for.

    Parameters
    ----------
    kernel : {"rbf", "poly", "linear", "cosine", "precomputed"} or callable
        Kernel of the expansion.
    degree, coef0 : int, float
        Parameters of the polynomial kernel.
    """

    kernel: Any = "rbf"
    degree: int = 3
    coef0: float = 1.0

    _without_graph: ClassVar[str] = ""
    """What else a precomputed kernel without a graph can be asked for."""

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of the class it is mixed into
        tags.input_tags.pairwise = self._is_precomputed
        return tags

    def _require_features(self) -> None:
        """Raise where a graph of nearest neighbours is needed and there is nothing but a kernel."""
        if self._is_precomputed:
            raise InvalidInputError(
                f"kernel='precomputed' leaves no features to build a graph from; pass {self._without_graph}."
            )

    def _kernel_arguments(self, gamma: float) -> dict[str, Any]:
        return {"kernel": self.kernel, "gamma": gamma, "degree": self.degree, "coef0": self.coef0}

    def _gram_at(self, gamma: float) -> KernelFunction:
        """Return what makes the Gram matrix of the training samples of X, and of (X_new, X) the block of new ones."""
        return KernelFunction(**self._kernel_arguments(gamma))


@dataclass(kw_only=True, eq=False, repr=False)
class KernelParameters(KernelFamily):
    """A kernel of known width.

    Parameters
    ----------
    gamma : float, "scale", "median" or "local"
        Kernel parameter, 1 / (2 sigma^2) for "rbf"; rules are those of `specmargin.kernels.resolve_gamma`. It has
        nothing to do with gamma_A and gamma_I.

    Attributes
    ----------
    gamma_ : float
        The kernel parameter in use.
    """

    gamma: float | str = "scale"

    def _resolve_gamma(self, X: Matrix) -> None:
        self.gamma_ = np.nan if self._is_precomputed else resolve_gamma(X, self.gamma)

    @property
    def _gram(self) -> KernelFunction:
        return self._gram_at(self.gamma_)


def precomputed(K: Matrix, Y: Matrix | None = None) -> FloatArray:
    """Return a Gram matrix, checked, or the block of new samples, dense."""
    dense: Any = K.toarray() if hasattr(K, "toarray") else K
    return gram(dense, kernel="precomputed") if Y is None else np.asarray(dense)


@with_graph_sections
@dataclass(kw_only=True, eq=False, repr=False)
class NeighborParameters:
    """A graph of nearest neighbours.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of the graph; by default min(10, n // 2).
    kind : <kinds>
        How the neighbour relation is made symmetric.
    weight : <weights>
        Edge weights.
    metric : str
        Metric of the neighbours; "cosine" for text.
    """

    n_neighbors: int | None = None
    kind: str = "symmetric"
    weight: str = "binary"
    metric: str = "euclidean"

    def _count(self, n: int) -> int:
        """Return the number of neighbours among n samples."""
        return neighbor_count(self.n_neighbors, n)

    def _neighbor_graph(self, X: Matrix) -> SparseArray:
        """Return the graph of nearest neighbours."""
        if isinstance(self, KernelFamily):
            self._require_features()
        count = self._count(X.shape[0])
        return knn_graph(X, n_neighbors=count, kind=self.kind, weight=self.weight, metric=self.metric)


@dataclass(kw_only=True, eq=False, repr=False)
class GraphParameters(NeighborParameters):
    """A graph of nearest neighbours, and which of its Laplacians.

    Parameters
    ----------
    normalized : bool
        Whether the Laplacian is I - D^-1/2 W D^-1/2 or D - W. The graph norm of the first vanishes on the square roots
        of the degrees: with an intercept, few labels and a small `gamma_A` set by hand decisions then follow the
        degrees. There take `fit_intercept=False`, or D - W.
    """

    normalized: bool = True


@dataclass(kw_only=True, eq=False, repr=False)
class LaplacianParameters(GraphParameters):
    """A graph of nearest neighbours and a power of its Laplacian.

    Parameters
    ----------
    power : int
        The graph norm is that of L^power.
    """

    power: int = 1


class SearchedNeighbors(NeighborParameters):
    """The search for neighbours is kept for new samples: no distance and no projection is computed twice."""

    random_state: Any
    _search: NeighborSearch | None = None
    _reduce: int | str | None = "auto"
    """Principal components in which neighbours are searched, as `specmargin.graphs.NeighborSearch` takes them."""

    def _validated(self, X: Matrix, y: Any, graph: Any) -> tuple[Matrix, Any, Any]:
        self._search = None
        return super()._validated(X, y, graph)  # type: ignore[misc]  # of the class it is mixed into

    def _opened(self, X: Matrix) -> NeighborSearch:
        angles = self.weight == "cosine" or self.metric == "cosine"
        seed = integer_seed(self.random_state)
        return NeighborSearch(X, metric=self.metric, reduce=self._reduce, angles=angles, random_state=seed)

    def _neighbor_graph(self, X: Matrix) -> SparseArray:
        if isinstance(self, KernelFamily):
            self._require_features()
        self._search = self._opened(X)
        return knn_graph(self._search, self._count(X.shape[0]), kind=self.kind, weight=self.weight)


@dataclass(kw_only=True, eq=False, repr=False)
class SolverParameters:
    """A solver of one's choice: in numpy, or any of CVXPY's.

    Parameters
    ----------
    solver : str or sequence of str
        "auto": the package's own, in numpy. Or any installed CVXPY solver ("CLARABEL"), or an order of them.
    solver_params : dict
        Passed on to the solver.
    tol : float
        Relative gap to which the answer has to be certified; a ConvergenceWarning says so where it is not.
    max_iter : int
        Limit of iterations of the package's own solvers; by default that of the solver. Those of CVXPY take theirs
        in `solver_params`, each under a name of its own.
    """

    solver: str | Sequence[str] = "auto"
    solver_params: Mapping[str, Any] | None = None
    tol: float = 1e-6
    max_iter: int | None = None

    def _options(self, **options: Any) -> dict[str, Any]:
        """Return the options of a solver of the package; by default they begin with tol."""
        limit = {} if self.max_iter is None else {"max_iter": self.max_iter}
        return {**(options or {"tol": self.tol}), **limit, **(self.solver_params or {})}

    def _cvxpy(self, built: Any, solver: str | Sequence[str] | None = None) -> Any:
        """Solve a built problem through CVXPY."""
        from specmargin import problems

        if self.max_iter is not None:
            raise InvalidInputError(
                f"max_iter={self.max_iter} limits the solvers of the package, and solver={self.solver!r} is one of "
                "CVXPY's; name its own option, e.g. solver_params={'max_iter': 50} for CLARABEL."
            )
        order = self.solver if solver is None else solver
        return problems.solve(built, order, tol=self.tol, check=True, **(self.solver_params or {}))


@dataclass(kw_only=True, eq=False, repr=False)
class BoundParameter:
    """The bound on the labelled decisions.

    Parameters
    ----------
    B : float or "auto"
        Bound on the labelled decisions: a relative margin; inf is the absolute margin of the SVM. Only values between 1
        and the largest |f| of the absolute margin change anything; "auto" is the middle of that range: the absolute
        margin is solved first, r is its largest labelled |f|, and B = (1 + r) / 2, or inf (nothing to bound) where
        r <= 1.

    Attributes
    ----------
    B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none.
    """

    B: float | str = np.inf


def within_bound(
    B: float | str, solve: Callable[[float], SolveResult], rows: IntArray | slice
) -> tuple[SolveResult, float]:
    """Return the answer under the bound, and the bound: "auto" is the middle of the range that no bound leaves.

    `solve` makes a result of a bound; its variable ``f`` holds decisions, `rows` are those of the labelled samples.
    """
    if not isinstance(B, str):
        return solve(B), float(B)
    free = solve(np.inf)
    bound = _middle(free, rows)
    return (free if np.isinf(bound) else solve(bound)), bound


def bound_in_use(B: float | str, solve: Callable[[float], SolveResult], rows: IntArray | slice) -> float:
    """Return the bound as a number, for which "auto" solves without one; the arguments are those of `within_bound`."""
    return _middle(solve(np.inf), rows) if isinstance(B, str) else float(B)


def _middle(free: SolveResult, rows: IntArray | slice) -> float:
    """Return the middle between 1 and the largest |f|, or inf where no labelled decision exceeds 1."""
    largest = float(np.abs(free.variables["f"][rows]).max())
    return np.inf if largest <= 1 + _LEAST_EXCESS else (1 + largest) / 2


def integer_seed(random_state: Any) -> Any:
    """Return what scikit-learn takes for a seed, never the global state of numpy."""
    if isinstance(random_state, np.random.RandomState | int | np.integer):
        return random_state
    return int(np.random.default_rng(random_state).integers(2**31))
