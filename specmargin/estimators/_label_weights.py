"""Weights of the labelled samples' losses: ``sample_weight`` of `fit` and the parameter ``class_weight``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from specmargin.arrays import finite_numbers, numbers_array
from specmargin.checks import NUMBERS, Rule, shown
from specmargin.estimators._semi_supervised import BuildsProblem, fitting
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.graphs.node_names import by_node
from specmargin.labels import Labels, Targets
from specmargin.typing import FloatArray, IntArray, Matrix

_LIGHTEST = 1e-150
"""Weight from which on squares and their inverses neither underflow nor overflow."""


def _class_weight(name: str, value: Any) -> Any:
    if value is None or (isinstance(value, str) and value == "balanced"):
        return value
    if isinstance(value, str):
        raise InvalidInputError(
            f"{name}={value!r} is unknown; take 'balanced', a dict from classes to weights, or None."
        )
    if not isinstance(value, Mapping):
        raise InvalidTypeError(f"{name}={shown(value)} must be 'balanced', a dict from classes to weights, or None.")
    for weight in value.values():
        if isinstance(weight, bool) or not isinstance(weight, NUMBERS) or not 0 < float(weight) < np.inf:
            raise InvalidInputError(f"{name}={shown(value)} must hold positive numbers; leave out classes of weight 1.")
    return value


def weights_of_labeled(sample_weight: Any, labeled: IntArray, n: int) -> FloatArray:
    """Return the weights of the labelled samples, checked; those of the others may be anything."""
    numbers_array("one weight per sample", ndim=1, finite=False)("sample_weight", sample_weight)
    given = np.asarray(sample_weight, dtype=np.float64)
    if given.shape != (n,):
        raise InvalidInputError(
            f"sample_weight has {len(given)} entries for {n} samples: inconsistent numbers of samples; pass one weight "
            "per row, any for the unlabelled ones."
        )
    finite_numbers("sample_weight", given[labeled], "numbers >= 0, one per labelled sample", least=0.0)
    c = given[labeled]
    if ((c > 0) & (c < _LIGHTEST)).any() or c.max(initial=0.0) > 1.0 / _LIGHTEST:
        raise InvalidInputError(
            f"sample_weight holds {c[c > 0].min():g} to {c.max():g}, whose squares underflow or overflow; pass zeros "
            f"and numbers from {_LIGHTEST:g} to {1.0 / _LIGHTEST:g}."
        )
    return c


@dataclass(kw_only=True, eq=False, repr=False)
class LabelWeights:
    """A classifier whose labelled samples may have weights.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes in the losses of the labelled samples, times `sample_weight` of `fit`. A dict from class
        values, whose missing classes have the weight 1; "balanced": l / (K l_k) for l_k of the l labels of K classes,
        so that all classes weigh the same. Where to cut the decisions is the business of `class_balance`, where there
        is such: "shrunk" cuts by the shares of the labels whatever they weigh, None leaves it to the weights.
    """

    class_weight: Any = None

    _parameter_rules: ClassVar[dict[str, Rule]] = {"class_weight": _class_weight}

    def fit(self, X: Matrix, y: Any = None, graph: Any = None, sample_weight: npt.ArrayLike | None = None) -> Any:
        """Learn from labelled and unlabelled samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, n_features)
            Features; an (n, n) Gram matrix where ``kernel="precomputed"``.
        y : array-like of shape (n,), or mapping by node
            Labels; unlabelled samples hold the marker `unlabeled`, or are left out of a mapping.
        graph : {ndarray, sparse matrix} of shape (n, n), networkx.Graph or table of edges, optional
            Symmetric, nonnegative adjacency in the order of the rows (nodes) to use instead of nearest neighbours. A
            table is a frame with the columns source, target and, with weights, weight. Nodes with names are matched
            with a frame X, or a mapping or series y, that has them as its index; else 0 to n - 1 are the rows.
            `STORM`, `STOAM` and `MKL` take a list of several, too. Estimators over a spectrum also take the eigenpairs
            of a graph, a `specmargin.spectra.Spectrum`, which then serve many fits.
        sample_weight : array-like of shape (n,), optional
            Weights of the losses of the labelled samples, >= 0; those of unlabelled samples are not looked at. A label
            of weight 0 has no loss: its sample is an unlabelled one.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For NaN or infinite features, fewer than two classes among the labels, an asymmetric or negative
            graph, parameters out of range, weights that are negative or not finite, and a class all of whose labels
            have the weight 0.
        SolverError
            If no solver gives a usable answer; its ``result`` says what is known.
        """
        own: Any = self  # of the class it is mixed into
        with fitting(self):
            X, y, graph = own._by_node(X, y, graph)
            X, labels, graph = own._validated(X, y, graph)
            weights = by_node(sample_weight, getattr(self, "nodes_", None), np.nan)
            own._learn(X, y, self._weighted_labels(labels, weights), graph)
        return self

    def _weighted_labels(self, labels: Labels, sample_weight: Any) -> Labels:
        """Return the labels with the weights that both, samples and classes, give them."""
        if sample_weight is None and self.class_weight is None:
            return labels
        c = np.ones(labels.n_labeled)
        if sample_weight is not None:
            c = weights_of_labeled(sample_weight, labels.labeled, labels.n_samples)
            labels = labels.weighted(c)
        return labels.weighted(labels.weights_or_ones * self._of_classes(labels))

    def _of_classes(self, labels: Labels) -> FloatArray:
        """Return the weights of the labelled samples that are those of their classes."""
        if self.class_weight is None:
            return np.ones(labels.n_labeled)
        counts = np.bincount(labels.sign_codes, minlength=len(labels.classes))
        if isinstance(self.class_weight, str):
            return np.asarray(labels.n_labeled / (len(counts) * counts))[labels.sign_codes]
        classes = labels.classes.tolist()
        unknown = [name for name in self.class_weight if name not in classes]
        if unknown:
            raise InvalidInputError(
                f"class_weight names the classes {unknown}, but the labels are of {classes}; pass weights of these."
            )
        return np.array([float(self.class_weight.get(name, 1.0)) for name in classes])[labels.sign_codes]


class PassesWeights:
    """A search whose refit is given the `sample_weight` that its own `fit` was given."""

    _sample_weight: Any = None

    def _weighted_labels(self, labels: Labels, sample_weight: Any) -> Labels:
        self._sample_weight = sample_weight
        weighted: Labels = super()._weighted_labels(labels, sample_weight)  # type: ignore[misc]  # it is mixed in
        return weighted

    def _weighted_targets(self, targets: Targets, sample_weight: Any) -> Targets:
        self._sample_weight = sample_weight
        weighted: Targets = super()._weighted_targets(targets, sample_weight)  # type: ignore[misc]  # as above
        return weighted

    def _taken_weight(self) -> Any:
        """Return the `sample_weight` of this fit, and forget it."""
        taken, self._sample_weight = self._sample_weight, None
        return taken


class BuildsWeightedProblem(BuildsProblem):
    """A classifier with weights whose problem can be had before it is solved."""

    def build_problem(self, X: Matrix, y: Any, graph: Any = None, sample_weight: npt.ArrayLike | None = None) -> Any:
        """Return the CVXPY problem that `fit` solves for these data: fresh, unsolved, and apart from this estimator.

        Parameters
        ----------
        X, y, graph, sample_weight
            As for `fit`; two classes, or more where one problem holds all classes (`SpectralRidge`).

        Returns
        -------
        specmargin.problems.BuiltProblem
            Its objective is the one whose certificate `fit` reports; `specmargin.solve` takes it.

        Raises
        ------
        ValueError
            As `fit`, and for more than two classes that are as many problems.
        """
        return self._built_apart(X, y, graph, lambda apart, labels: apart._weighted_labels(labels, sample_weight))
