"""Conformal sets of classifiers whose decisions are those of regularised least squares, and the kernels behind them."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from specmargin.checks import flag
from specmargin.estimators._feature_maps import FeatureMap, Landmarks
from specmargin.estimators._semi_supervised import check_features, numerical_failures
from specmargin.exceptions import InvalidInputError
from specmargin.kernels import LowRankKernel
from specmargin.kernels.maps import deformed_features, deformed_kernel
from specmargin.labels import Labels
from specmargin.objectives.held_out.conformal import ConformalRidge, label_sets
from specmargin.objectives.manifold_weights import ambient_weight
from specmargin.typing import BoolArray, FloatArray, Matrix, SparseArray

NO_NODES = (
    "new samples are no nodes of the graph, and not exchangeable with the labelled samples, which are; fit with them "
    "among the unlabelled samples and leave X out."
)
_BATCH = 256  # samples whose kernel is computed to know its diagonal


class Training(NamedTuple):
    """What a fit was given, checked: the samples, their labels (or targets), and the graph."""

    X: Matrix
    labels: Any
    graph: SparseArray | None


class KernelBlocks(NamedTuple):
    """A kernel of no label: between the labelled samples, between others and these, and of the others themselves."""

    G: FloatArray
    cross: FloatArray
    diagonal: FloatArray

    @classmethod
    def of(cls, K: FloatArray, labeled: Any) -> KernelBlocks:
        """Return the blocks of all samples from their kernel."""
        cross = K[:, labeled]
        return cls(cross[labeled], cross, np.diag(K))

    @classmethod
    def of_features(cls, Z: FloatArray, labeled: Any) -> KernelBlocks:
        """Return the blocks of all samples from features of theirs."""
        cross = Z @ Z[labeled].T
        return cls(cross[labeled], cross, np.einsum("ij,ij->i", Z, Z))


class KeepsTraining:
    """An estimator that remembers what it was fitted to: references, but no kernel matrix."""

    _training: Training | None = None

    def _learn(self, X: Matrix, y: Any, labels: Any, graph: Any) -> None:
        self._training = None
        super()._learn(X, y, labels, graph)  # type: ignore[misc]  # of the class it is mixed into
        if not getattr(self, "_is_precomputed", False):
            self._training = Training(X, labels, graph)

    def _remembered(self) -> Training:
        check_is_fitted(self)
        if self._training is None:
            raise InvalidInputError(
                f"{type(self).__name__} keeps no kernel matrix, and kernel='precomputed' leaves it nothing else; pass "
                "the kernel's blocks to specmargin.objectives.held_out.conformal.ConformalRidge."
            )
        return self._training


class ManifoldBlocks(KeepsTraining):
    """The kernel blocks of LapRLS: of its deformed kernel, in which gamma_A is the penalty.

    It is mixed into an estimator that has the parameters: were it derived from their classes, a dataclass would take
    their defaults in the place of the estimator's.
    """

    gamma_I_: float
    _functions: FeatureMap

    def _kernel_blocks(self: Any, X: Matrix | None) -> tuple[KernelBlocks, float]:
        """Return the blocks of the training samples, or of new ones where no graph takes part, and the penalty.

        "auto" means no look at labels, nor at which samples have some: gamma_A is in units of all training samples,
        and a graph takes part.
        """
        known, labels, graph = self._remembered()
        L = None if graph is None else self._laplacian(known, graph)
        functions = self._manifold_map(known, labels, L, self.gamma_, self._count(known.shape[0]))
        if isinstance(functions, Landmarks):
            raise InvalidInputError(
                "span='landmarks' takes the labelled samples for landmarks, so that they are not exchangeable with "
                "others; take span='kernel', or 'eigenvectors' with a graph."
            )
        if X is not None and graph is not None:
            raise InvalidInputError(f"{NO_NODES[:-1]}, or take gamma_I=0.")
        K = functions.kernel
        low_rank = isinstance(K, LowRankKernel)

        @cache
        def deformed(ratio: float) -> FloatArray:
            if L is None or ratio == 0:
                return np.asarray(K.factor if low_rank else K)
            return np.asarray(
                deformed_features(K.factor, L, ratio).Z if low_rank else deformed_kernel(K, L, ratio).matrix
            )

        ratio = self._unlearned_ratio(K, L)
        gamma_A = self._unit_weight(deformed(ratio), low_rank) if self.gamma_A == "auto" else float(self.gamma_A)
        own = deformed(ratio if self.gamma_I == "auto" else float(self.gamma_I) / gamma_A)
        if X is not None:
            return self._new_blocks(X, known[labels.labeled]), gamma_A
        assert own is not None
        return (KernelBlocks.of_features if low_rank else KernelBlocks.of)(own, labels.labeled), gamma_A

    def _unit_weight(self: Any, own: FloatArray, low_rank: bool) -> float:
        """Return gamma_A in units of a kernel of all samples, or of the kernel of features."""
        if not low_rank:
            return ambient_weight(own, centred=self.fit_intercept)
        Z = own - own.mean(axis=0) if self.fit_intercept else own
        return ambient_weight(Z.T @ Z, centred=False) * Z.shape[1] / len(Z)

    def _new_blocks(self: Any, X: Matrix, labeled: Matrix) -> KernelBlocks:
        X = check_features(self, X, reset=False)
        batches = (X[start : start + _BATCH] for start in range(0, X.shape[0], _BATCH))
        own = np.concatenate([np.diag(np.asarray(self._gram(batch, batch))) for batch in batches])
        return KernelBlocks(np.asarray(self._gram(labeled)), np.asarray(self._gram(X, labeled)), own)


def require_no_weights(labels: Labels) -> None:
    """Raise where the labels have weights."""
    if labels.weights is not None:
        raise InvalidInputError(
            "labels with weights are not exchangeable, and conformal sets would promise nothing; fit without "
            "sample_weight and class_weight."
        )


class ConformalSets:
    """Conformal p-values and sets; a subclass has ``_conformal(X)``, the ridge and the blocks of some samples."""

    classes_: Any

    def conformal_p_values(self, X: Matrix | None = None, *, class_conditional: bool = False) -> FloatArray:
        """Return how well each class fits as the label of each sample: p-values by full conformal prediction, exact.

        See `conformal_sets` for what they promise, and `specmargin.objectives.held_out.conformal` for the formulas.
        They are those of the decisions f, before classes are balanced. Scores that rounding does not tell apart are
        ties, which only raise p-values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples, where no graph takes part; by default the training samples.
        class_conditional : bool, default False
            Whether a sample's score as of a class is compared with those of the labelled samples of that class only.

        Returns
        -------
        ndarray of shape (m, n_classes)
            In (0, 1]. A labelled training sample has 1 for its label and 0 for the other classes: it is known.

        Raises
        ------
        ValueError
            If new samples are given where a graph takes part, where the functions depend on which samples are
            labelled, or where labels have weights: the p-values would prove nothing.
        """
        flag("class_conditional", class_conditional)
        with numerical_failures(self):
            p = self._p_values(X, class_conditional)
        if X is None:
            labels = self._remembered().labels  # type: ignore[attr-defined]  # of `KeepsTraining`
            p[labels.labeled] = labels.sign_codes[:, None] == np.arange(p.shape[1])
        return np.asarray(p)

    def conformal_sets(
        self, X: Matrix | None = None, level: float = 0.9, *, class_conditional: bool = False
    ) -> BoolArray:
        """Return a set of classes for each sample, which holds its true one with a probability of at least `level`.

        Full conformal prediction: no labels are set aside, and the model need not be right; a bad one has large sets.
        The probability is over the draw of the labelled samples and of the sample itself. It is **proved** where

        - these are exchangeable: the labelled samples were drawn at random, each as likely as any other. Equal numbers
          of labels drawn per class are not; take ``class_conditional=True`` there, whose promise holds within each
          class, and needs labels that are drawn at random within it. Labels chosen for any other reason have no proof;
        - the parameters were fixed without these labels. What an estimator chooses itself is chosen here so that the
          proof holds, which need not be as `fit` chose: ``penalty="loo"`` and learned weights of filters anew with
          every sample and candidate; ``gamma_A="auto"`` in units of all training samples, with the graph that
          ``ratio="auto"`` may leave out. Parameters that these labels chose elsewhere, by a search such as
          `LapRLSCV` or by hand, have no proof; the searches, `AutoSSL` and `LapSVM` have no sets therefore, or because
          they are no least squares;
        - for new samples, too, nothing is taken from the training samples: no ``gamma="median"`` or "scale", no
          ``gamma_A="auto"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples, where no graph takes part; by default the training samples.
        level : float, default 0.9
            In (0, 1).
        class_conditional : bool, default False
            Whether every class is to be covered at that level by itself (Mondrian). It takes 1 / (1 - level) labels of
            a class to exclude it anywhere.

        Returns
        -------
        ndarray of bool, of shape (m, n_classes)
            Columns in the order of ``classes_``. All classes where fewer than 1 / (1 - level) - 1 samples are labelled;
            none where each fits worse than the level allows for; its label alone for a labelled training sample. No
            column is for a class without labels: a sample of it is never covered.

        Raises
        ------
        ValueError
            As `conformal_p_values`, and for a level that is no number between 0 and 1.

        References
        ----------
        Vovk, Gammerman & Shafer, Algorithmic learning in a random world, Springer 2005.

        Examples
        --------
        >>> import numpy as np, specmargin as sm
        >>> X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
        >>> y = sm.hide_labels(truth, n_labeled=12, random_state=0)
        >>> sets = sm.LapRLS(gamma=4.0, gamma_A=1e-2, gamma_I=1.0).fit(X, y).conformal_sets(level=0.9)
        >>> bool(sets[np.arange(120), truth].mean() > 0.8), sets.shape
        (True, (120, 2))
        """
        label_sets(np.ones((1, 1)), level)
        return label_sets(self.conformal_p_values(X, class_conditional=class_conditional), level)

    def _p_values(self, X: Matrix | None, class_conditional: bool) -> FloatArray:
        ridge, blocks = self._conformal(X)
        return ridge.p_values(blocks.cross, blocks.diagonal, class_conditional=class_conditional)

    def _conformal(self, X: Matrix | None) -> tuple[ConformalRidge, KernelBlocks]:
        raise NotImplementedError
