"""Multiple kernel learning, over kernels of one's own or over the spectrum of a graph: `MKL`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from specmargin.checks import Rule, flag
from specmargin.estimators._base.own_kernels import (
    KERNELS,
    OwnKernel,
    blocks_side_by_side,
    kernels_on,
    learned,
    objective_of,
)
from specmargin.estimators._base.spectrum_classifier import Graph, JointClassifier
from specmargin.exceptions import InvalidInputError
from specmargin.graphs import KNN, Laplacian
from specmargin.labels import Labels
from specmargin.labels.shares import Balance
from specmargin.results import SolveResult
from specmargin.spectra.reuse import KeptSpectrum, warn_of_repeated
from specmargin.typing import FloatArray, Matrix

__all__ = ["MKL"]

_OF_KERNELS = ("_expansion", "kernel_weights_", "kernel_names_", "kernel_scales_")
_OF_SPECTRA = ("_spectra", "_parts", "_places", "delta_", "graph_weights_", "eigenvalues_")


@dataclass(kw_only=True, eq=False, repr=False)
class MKL(JointClassifier):
    """Multiple kernel learning: over kernels of one's own, or over a graph's rank-one kernels u_j u_j'.

    Weights of the kernels and the classifier are learned in one convex problem, SimpleMKL's. Over a graph it is a
    spectrum without order: with B finite the paper's MKL-R, with B = inf MKL-S, a relaxation of `STORM` that reaches a
    lower objective, at the price of a haphazard spectrum.

    Parameters
    ----------
    kernels : list, dict, "precomputed" or None, default None
        The kernels. An entry is a kernel (`specmargin.kernels.RBF`, a name, a function), or a pair of it and the
        columns that it sees: a slice, numbers or names. A dict names them. "precomputed": `fit` takes a list of
        (n, n) matrices, or these side by side in one array, and `predict` their (m, n) blocks. None: the eigenvectors
        of the graph.
    order : bool, default False
        Whether the weight of a kernel must not exceed that of the one before it in the list.
    C : float, default 1.0
        Weight of the loss per unit mean kernel diagonal, > 0.
    B : float or "auto", default inf
        Bound on the labelled decisions: a relative margin; inf is the absolute margin of the SVM. Only values
        between 1 and the largest |f| of the absolute margin change anything; "auto" is the middle of that range:
        the absolute margin is solved first, r is its largest labelled |f|, and B = (1 + r) / 2, or inf (nothing to
        bound) where r <= 1.
    graph : KNN, int, callable or list, default KNN()
        Graph of the samples where `fit` is given none: `specmargin.graphs.KNN`, a number of neighbours, or an
        object that returns the adjacency of samples when it is called with them. A list has one entry per graph.
    laplacian : Laplacian, int or list, default Laplacian()
        Which Laplacian of the graph, and its power. The order of the eigenvectors, which is all that an ordered
        spectrum needs, is the same for every power. A list has one entry per graph.
    q : int or list, optional
        Number of eigenvectors, at most n; by default min(200, n). A list has one entry per graph.
    class_weight : dict, "balanced" or None, default None
        Weights of the classes in the losses of the labelled samples, times `sample_weight` of `fit`. A dict from
        class values, whose missing classes have the weight 1; "balanced": l / (K l_k) for l_k of the l labels of K
        classes, so that all classes weigh the same.
    class_balance : {"shrunk", "zscore", "mass"}, dict or None, default "shrunk"
        How the scores of the classes are made comparable; with two classes the threshold moves. "shrunk": for two
        classes, to where the scores of the training samples are sparse and the share above fits that of the labels;
        for more classes as "zscore". "zscore": by their means and deviations over all samples, unless the label counts
        reject classes of equal size (chi-square test, 5 % level). "mass": by the label proportions over the masses of
        the classes. None: as they are. `LapSVM` has the formulas.
        A dict from each class to its share of all samples, or an interval (low, high) of it, where that is known:
        each class is compared above the threshold that leaves this share of its training decisions.
    model : callable, optional
        Change of the problem that is solved: ``specmargin.problems.models.fairness(group=0)``, or a function that gets
        the built problem, in the form whose ``expressions`` have the decisions, and returns ``built.with_(...)``; with
        more than two classes each problem of one class against the rest, ``built.positive``. CVXPY solves it then, and
        certificates are those of the changed problem (`specmargin.problems.BuiltProblem.with_`).
    solver : str, sequence of str or Solver, default "auto"
        "auto": the package's own, in numpy. Or any installed CVXPY solver ("CLARABEL"), or an order of them.
        `specmargin.solvers.Solver` holds the name with tol, the relative gap to which the answer has to be
        certified, max_iter and options.
    random_state : int, Generator or None, default 0
        Start of the search for eigenvectors.
    unlabeled : scalar, nan or None, default -1
        Marker of unlabelled samples in y.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n,)
        Predicted classes of the training samples, labelled ones included. Where decisions are equal but for rounding
        (with two classes: zero), it is the first of these classes, and a warning counts such samples.
    scores_ : ndarray of shape (n,) or (n, n_classes)
        Decisions of the training samples, as `decision_function` returns those of new ones.
    intercept_ : ndarray of shape (n_outputs,)
    result_ : SolveResult or tuple of SolveResult
        Status, certificate and multipliers, per class with more than two.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
    nodes_ : list
        Names of the nodes in the order of the rows, where `graph` had names.
    balance_ : object
        Map from f to the scores that `decision_function` returns; the numbers are those of the training samples.
    calibration_ : float
        The scale T of `predict_proba`.
    delta_ : ndarray of shape (q,) or (n_classes, q)
        The spectrum, of sum one.
    graph_weights_ : ndarray of shape (n_graphs,) or (n_classes, n_graphs)
        Share of each graph in the trace; one where there is one graph.
    eigenvalues_, eigenvectors_ : ndarray of shape (q,) and (n, q)
        The graph Laplacian's, from the lowest.
    spectrum_ : Spectrum or list of Spectrum
        The eigenpairs as one object, per graph where there are several: ``graph=`` of other fits takes it.
    B_ : float or ndarray of shape (n_classes,)
        The bound in use, inf where there is none.
    kernel_weights_ : ndarray of shape (m,)
        Weights of the `kernels`, of sum one and shared by all classes; then there is no spectrum.
    kernel_names_, kernel_scales_ : list of str, and ndarray of shape (m,)
        Their names, and the mean diagonals over the labelled samples that they were divided by.

    Notes
    -----
    **Kernels of one's own** are divided by their mean diagonal over the labelled samples, which alone enter the
    problem. Several classes are told one from the rest and share the weights, as in the paper of SimpleMKL. The graph
    and its parameters have no part. The certificate is that of `specmargin.objectives.BlockMargin`.

    **Several graphs** are learned over in one joint problem: pass ``fit(X, y, graph=[W1, W2])``, or lists, one entry
    per graph, for any of the parameters graph, laplacian and q, e.g. ``graph=[KNN(5), KNN(20)]``. Their eigenvectors
    stand side by side, each graph under its own order: with q of each, graph g has the entries g q to (g + 1) q of
    `delta_` and `eigenvalues_`, and columns of `eigenvectors_`; `graph_weights_` holds its share of the trace. New
    samples find neighbours graph by graph.

    **Many fits over one graph.** Neighbours and eigenpairs ignore the labels. Compute them once and pass them on:
    ``spectrum = specmargin.spectra.laplacian_eigenpairs(W, q=200)``, then ``fit(X, y, graph=spectrum)`` of any
    estimator over a spectrum; or ``graph=other.spectrum_`` of one that is fitted. The answer is the same. The rows of X
    must be the nodes, in their order; `laplacian` must be of the kind of the spectrum, and with a smaller q the lowest
    eigenpairs are taken. The eigenpairs of L itself serve every power. By default q is min(200, n) here, too, or all
    that the spectrum has; of eigenpairs that are passed, q counts those of components without a label, too.

    New samples get the weighted mean of the scores of their nearest training samples (the Nyström extension of the
    eigenvectors to lowest order); a sample that coincides with training samples gets theirs. A component of the graph
    without a labelled sample is predicted by the intercept; a warning counts such samples. Its eigenvectors are left
    out: q, the units and the balance of classes are those of the other components.

    References
    ----------
    Shivaswamy & Jebara, Laplacian spectrum learning, ECML 2010, eq. 8 without its order. Rakotomamonjy, Bach, Canu &
    Grandvalet, SimpleMKL, JMLR 2008.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> mkl, stoam = sm.MKL(C=10.0, q=20).fit(X, y), sm.STOAM(C=10.0, q=20).fit(X, y)
    >>> a, b = (fitted.result_.certificate for fitted in (mkl, stoam))
    >>> a.primal_objective < b.primal_objective
    True
    >>> clf = sm.MKL(kernels={"both": "rbf", "first": ("linear", [0])}).fit(X, y)
    >>> clf.kernel_names_, clf.kernel_weights_.round(2).tolist()
    (['both', 'first'], [0.67, 0.33])
    """

    kernels: Any = None
    order: bool = False
    C: float = 1.0
    B: float | str = np.inf
    graph: Any = KNN()
    laplacian: Any = Laplacian()
    q: Any = None
    class_weight: Any = None
    class_balance: Any = "shrunk"
    model: Any = None
    solver: Any = "auto"
    random_state: Any = 0
    unlabeled: Any = -1

    _order: ClassVar[bool] = False
    _parameter_rules: ClassVar[Mapping[str, Rule]] = {
        **JointClassifier._parameter_rules,
        "kernels": KERNELS,
        "order": flag,
    }
    _expansion = cast("Any", None)  # of kernels; no field

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernels, str)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = False  # several matrices side by side are not cut by columns
        return tags

    def _needs_graph(self) -> bool:
        return self.kernels is None

    def _read(self, X: Any, y: Any, graph: Any, sample_weight: Any) -> tuple[Matrix, Any, Any, Any, Any]:
        if self.kernels is None:
            if self.order is True:
                raise InvalidInputError("order=True orders kernels of one's own; for an ordered spectrum take STOAM.")
            return super()._read(X, y, graph, sample_weight)
        for name, value in (("graph", graph), ("model", self.model)):
            if value is not None:
                raise InvalidInputError(f"kernels of one's own leave no place for {name}; leave it out, or kernels.")
        return super()._read(blocks_side_by_side(X) if self._is_precomputed else X, y, None, sample_weight)

    def _fit(self, X: Matrix, labels: Labels, graph: Any) -> tuple[FloatArray, list[SolveResult]]:
        for name in _OF_KERNELS if self.kernels is None else _OF_SPECTRA:  # of an earlier fit
            self.__dict__.pop(name, None)
        if self.kernels is None:
            return super()._fit(X, labels, graph)
        kernels = self._kernels(X, labels)
        result, self.B_, expansion = learned(kernels, X, labels, self.solver, self.B, C=self.C, order=self.order)
        self._expansion, self.result_, self.kernel_weights_ = expansion, result, expansion.delta
        self.kernel_names_ = [one.name for one in kernels]
        self.kernel_scales_ = np.array([one.scale for one in kernels])
        self.intercept_ = np.atleast_1d(expansion.b)
        f = expansion(X)
        self.balance_ = Balance.of(f, labels, self.class_balance)
        return self.balance_(f), [result]

    def _kernels(self, X: Matrix, labels: Labels) -> list[OwnKernel]:
        names = getattr(self, "feature_names_in_", None)
        return kernels_on(self.kernels, X, labels.labeled, None if names is None else names.tolist())

    def _decisions_without(self, apart: Any, X: Matrix, labels: Labels, graph: Any) -> FloatArray:
        if self.kernels is None:
            return super()._decisions_without(apart, X, labels, graph)
        scores: FloatArray = apart._fit(X, labels, graph)[0]
        return scores

    def _problem(self, X: Matrix, labels: Labels, graph: Any) -> Any:
        if self.kernels is None:
            return super()._problem(X, labels, graph)
        from specmargin import problems

        if isinstance(self.B, str):
            bound = learned(self._kernels(X, labels), X, labels, self.solver, self.B, C=self.C, order=self.order)[1]
        else:
            bound = float(self.B)
        options = {"C": self.C, "order": self.order, "B": bound}
        return problems.block_margin(objective_of(self._kernels(X, labels), X, labels, **options))

    def _at_new(self, X: Any, values: Callable[[Matrix], FloatArray]) -> FloatArray:
        return super()._at_new(blocks_side_by_side(X) if self._is_precomputed else X, values)

    def _decision(self, X: Matrix) -> FloatArray:
        return super()._decision(X) if self._expansion is None else self.balance_(self._expansion(X))

    def _on_graph(self, X: Any, graph: Any) -> FloatArray:
        if self._expansion is not None:
            raise InvalidInputError("MKL learned from kernels and from no graph; leave graph out.")
        return super()._on_graph(X, graph)

    def _kept(self, graphs: list[Graph], labels: Labels) -> list[KeptSpectrum]:
        spectra = super()._kept(graphs, labels)
        for kept in spectra:
            warn_of_repeated(kept.spectrum, "MKL", "STOAM")
        return spectra
