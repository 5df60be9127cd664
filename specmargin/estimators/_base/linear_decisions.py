"""What classifiers have whose decisions are a linear map of the labels: conformal sets, and false labels counted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from specmargin.checks import flag
from specmargin.estimators._base.changed_model import refuse_changed
from specmargin.estimators._base.label_robustness import Smoother, count_flips, count_together
from specmargin.estimators._base.manifold import KernelBlocks
from specmargin.estimators._base.semi_supervised import numerical_failures
from specmargin.exceptions import InvalidInputError
from specmargin.labels import Labels
from specmargin.objectives.held_out.collective_flips import CollectiveFlips
from specmargin.objectives.held_out.conformal import ConformalRidge, label_sets
from specmargin.objectives.held_out.label_flips import LabelRobustness
from specmargin.typing import BoolArray, FloatArray, Matrix


class LinearDecisions:
    """Conformal sets and label robustness of regularised least squares.

    A subclass has ``_conformal(X, labels)``, the ridge and the kernel blocks, and ``_smoother(X)``.
    """

    classes_: Any

    _keeps_training: ClassVar[bool] = True

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
            Values in (0, 1]. A labelled training sample has 1 for its label and 0 for the other classes: it is known.

        Raises
        ------
        ValueError
            If new samples are given where a graph takes part, where the functions depend on which samples are
            labelled, or where labels have weights: the p-values would prove nothing.
        """
        flag("class_conditional", class_conditional)
        refuse_changed(self, "conformal sets")
        labels: Labels = self._remembered().labels  # type: ignore[attr-defined]  # it is mixed in
        if labels.weights is not None:
            raise InvalidInputError(
                "labels with weights are not exchangeable, and conformal sets would promise nothing; fit without "
                "sample_weight and class_weight."
            )
        with numerical_failures(self):
            p = self._p_values(X, labels, class_conditional)
        if X is None:
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
          ``gamma_I="auto"`` may leave out. Parameters that these labels chose elsewhere, by `LabelSearch`
          or by hand, have no proof; `AutoSSL` and `LapSVM` have no sets therefore, or for want of least squares;
        - for new samples, too, nothing is taken from the training samples: a kernel with a number for its width, no
          rule such as "median", no ``gamma_A="auto"``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples, where no graph takes part; by default the training samples.
        level : float, default 0.9
            Level in (0, 1).
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
        >>> sets = sm.LapRLS(gamma_A=1e-2, gamma_I=1.0, kernel=4.0).fit(X, y).conformal_sets(level=0.9)
        >>> bool(sets[np.arange(120), truth].mean() > 0.8), sets.shape
        (True, (120, 2))
        """
        label_sets(np.ones((1, 1)), level)
        return label_sets(self.conformal_p_values(X, class_conditional=class_conditional), level)

    def label_robustness(self, X: Matrix | None = None, *, max_flips: int | None = None) -> LabelRobustness:
        """Return how many labels would have to be false before each prediction changes its class, and which.

        A false label is one of any other class. Sets of them that leave a class without a label count, too, though one
        sees such a set, so that the radius errs on the safe side. Everything else is held as `fit` left it: **kernel,
        graph, penalties and learned weights stay, whatever chose them**, the labels included; only the decisions, the
        thresholds that follow from them, and the weights of ``class_weight`` are those of the changed labels. What is
        certified is the answer of the problem with these parameters, not that of a search that would choose others.

        Decisions of least squares are linear in the labels, and the worst r labels the r largest terms of a sum
        (`specmargin.objectives.held_out.label_flips` has the proof). With ``class_balance=None`` and no `class_weight`
        that is the whole answer: exact for every number of labels, at the cost of a fit or less. Otherwise thresholds
        or weights follow from the labels, too; then every set of labels is tried, moved in every way: exact as well, up
        to ``limit`` labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples; by default the training samples.
        max_flips : int, optional
            Largest number of false labels that is asked for. By default all of them; where sets have to be tried,
            as many as 5,000 sets allow, one at least.

        Returns
        -------
        LabelRobustness
            Arrays ``radius`` and ``flips``, and ``certified(r)``, ``share(r)``.
            `specmargin.plots.LabelRobustnessDisplay` draws it.

        Raises
        ------
        ValueError
            If there are fewer labels than `max_flips`, or a class has one label only; ``refine="kmeans"`` and another
            `model` are refused, too.

        Examples
        --------
        >>> import specmargin as sm
        >>> X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
        >>> y = sm.hide_labels(truth, per_class=5, random_state=0)
        >>> robust = sm.SpectralRidge(class_balance=None).fit(X, y).label_robustness()
        >>> robust.share(1) >= robust.share(2), robust.flips.shape
        (True, (120, 10))
        """
        return count_flips(self, X, max_flips)

    def collective_flips(self, r: int, X: Matrix | None = None, *, time_limit: float = 60.0) -> CollectiveFlips:
        """Return how many predictions r false labels change at once, at most.

        `label_robustness` asks of each prediction by itself which labels would change it, and these differ from one to
        the next. Here one set of r labels is false for all. What is held is the same.

        Parameters
        ----------
        r : int
            Number of false labels, at most.
        X : {array-like, sparse matrix} of shape (m, n_features), optional
            New samples; by default the training samples whose label is not given.
        time_limit : float, default 60
            Seconds of HiGHS. Where they end first, the number is a bound.

        Returns
        -------
        CollectiveFlips
            ``bound``, which is exact where ``exact`` says so, the labels that attain ``attained``, and the bounds
            ``relaxed`` and ``one_at_a_time``.

        Raises
        ------
        ValueError
            If r is larger than the number of labels, a class has one label only, or `class_balance` or `class_weight`
            make decisions other than linear in the labels.

        Examples
        --------
        >>> import specmargin as sm
        >>> X, truth = sm.datasets.make_two_moons(n_samples=120, noise=0.2, random_state=0)
        >>> y = sm.hide_labels(truth, per_class=5, random_state=0)
        >>> together = sm.SpectralRidge(class_balance=None).fit(X, y).collective_flips(1)
        >>> together.exact, together.bound <= together.one_at_a_time
        (True, True)
        """
        return count_together(self, r, X, time_limit)

    def _p_values(self, X: Matrix | None, labels: Labels, class_conditional: bool) -> FloatArray:
        ridge, blocks = self._conformal(X, labels)
        return ridge.p_values(blocks.cross, blocks.diagonal, class_conditional=class_conditional)

    def _conformal(self, X: Matrix | None, labels: Labels) -> tuple[ConformalRidge, KernelBlocks]:
        raise NotImplementedError

    def _smoother(self, X: Matrix | None) -> Smoother:
        raise NotImplementedError
