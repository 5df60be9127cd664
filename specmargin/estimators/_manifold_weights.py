"""The weights gamma_A and gamma_I of manifold regularization: numbers, units of the data, or those of a paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from specmargin.checks import Rule, flag, maybe, number
from specmargin.estimators._parameter_rules import or_word
from specmargin.graphs import Laplacian, laplacian
from specmargin.labels import Labels
from specmargin.objectives import LapSVM
from specmargin.objectives.held_out import leave_one_out as loo
from specmargin.objectives.manifold_weights import ambient_weight, ratio_for, usual_ratio, weights_of_paper
from specmargin.typing import FloatArray, Matrix, SparseArray

_AUTO = "auto"
USUAL_RATIO = 100.0
"""For the normalized Laplacian, where the ratio is not in units of the graph; a search looks near it first."""
_NATS = 1.0
"""Of 15 sets, half of them for confirmation, 1 was as good as 2 and better than 0 and 4, from 10 to 100 labels."""
_FEWEST = 3
"""Numbers from which the deviation of an error can be seen."""


@dataclass(kw_only=True, eq=False, repr=False)
class ManifoldWeights:
    """The weights of the two norms.

    Parameters
    ----------
    gamma_A : float or "auto"
        Weight of the ambient norm, > 0, next to a loss that is a sum over the labelled samples. "auto":
        0.1 tr(H G H) / l, in units that depend neither on their number l nor on the scale of the kernel; see the notes.
    gamma_I : float or "auto"
        Weight of the intrinsic norm, >= 0; 0 is the supervised classifier and builds no graph. "auto": gamma_A times
        `ratio` over the mean of the kernel's diagonal.
    ratio : float or "auto"
        gamma_I / gamma_A where gamma_I is "auto", >= 0, for a kernel whose diagonal has the mean one; 0 is supervised.
        "auto": in units of the graph and the kernel, or 0 where the labels speak against the graph; see the notes.
    normalized : bool, optional
        Whether L is I - D^-1/2 W D^-1/2 or D - W. By default it is D - W where a classifier's `gamma_I` and `ratio` are
        "auto", it has an intercept and functions of a kernel, else the normalized one, in whose units papers report
        weights; see the notes.

    Attributes
    ----------
    gamma_A_, gamma_I_ : float
        The weights in use; gamma_I_ is 0 where the supervised classifier was taken.
    normalized_ : bool
        The kind of Laplacian in use.

    Notes
    -----
    **Weights.** With d the mean of the kernel's diagonal, G = J K (I + ratio / d L K)^-1 J' is the deformed kernel of
    the l labelled samples (rows J), and tr(H G H) / l the mean eigenvalue that is left when H takes constants out
    (nothing is taken out without an intercept). A tenth of it is ``gamma_A="auto"``; where gamma_I is 0, G is the
    kernel itself. On 19 data sets its size hardly mattered between a tenth and ten times of that.
    With m = tr(K)^2 / |K|^2 the number of functions that K holds in effect and p the power of the Laplacian,
    ``ratio="auto"`` of a classifier with an intercept sets gamma_I / gamma_A to 10000 m / tr(L^p K): the graph norm of
    an average function of K weighs 10,000 times its ambient norm, whatever the number of samples and the units of K and
    L. Without an intercept, and for numbers, which vary within clusters, it is 100 over the mean of K's diagonal.
    ``gamma_A_`` and ``gamma_I_`` given as numbers, with ``normalized=normalized_``, make the same classifier again. A
    solver that factorises nothing ("pcg", "newton") pays one factorisation for "auto".

    **Which Laplacian.** The graph norm of I - D^-1/2 W D^-1/2 vanishes on the square roots of the degrees, and with a
    large ratio and few labels decisions follow the degrees; that of D - W vanishes on constants, which the intercept
    takes. Where the functions are eigenvectors the first one, constant or these roots, is left to the intercept.

    **Graphs that mislead.** No weight repairs a graph that says nothing about the classes. ``ratio="auto"`` asks the
    labels: least squares with the graph and without it decide about each labelled sample from the others (exact
    leave-one-out), and where the sum of the log-losses of their calibrated probabilities is larger by more than one
    with the graph, it is left out. A few labels seldom say that, so that the graph is taken then.
    """

    gamma_A: float | str = _AUTO
    gamma_I: float | str = _AUTO
    ratio: float | str = _AUTO
    normalized: Any = None

    _tells_classes: ClassVar[bool] = True
    _parameter_rules: ClassVar[dict[str, Rule]] = {
        "gamma_A": or_word(number(above=0), _AUTO),
        "gamma_I": or_word(number(least=0), _AUTO),
        "normalized": maybe(flag),
        "ratio": or_word(number(least=0), _AUTO),
    }

    @classmethod
    def from_published(cls, *, gamma_A: float, gamma_I: float, l: int, u: int, form: str, **params: Any) -> Self:
        """Return an estimator with the weights that a paper reports.

        Parameters
        ----------
        gamma_A, gamma_I : float
            As published.
        l, u : int
            Numbers of labelled and of unlabelled samples that the classifier is to learn from.
        form : {"means", "sums"}
            "means": 1/l sum V(y_i f_i) + gamma_A |f|^2 + gamma_I / (l+u)^2 f'L f, as in the manifold-regularization
            paper; here l gamma_A and l gamma_I / (l+u)^2. "sums": sum V(y_i f_i) + gamma_A |f|^2 + gamma_I f'L f, or
            half of all that, as in the primal paper; here the same numbers.
        **params
            All other parameters. The papers compare decisions with 0 (``class_balance=None``) and take powers,
            neighbours and kernels of their own.

        Returns
        -------
        estimator

        Raises
        ------
        ValueError
            For numbers out of range or another form.

        References
        ----------
        Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006, eqs. 4 and 5. Melacci & Belkin, Laplacian
        support vector machines trained in the primal, JMLR 2011, eqs. 4, 7 and 14.

        Examples
        --------
        >>> import specmargin as sm
        >>> svm = sm.LapSVM.from_published(gamma_A=0.005, gamma_I=4.0, l=4, u=16, form="means", class_balance=None)
        >>> svm.gamma_A, svm.gamma_I
        (0.02, 0.04)
        """
        ours = weights_of_paper(gamma_A, gamma_I, l, u, form)
        return cls(gamma_A=ours[0], gamma_I=ours[1], **params)

    @property
    def _in_units_of_both(self: Any) -> bool:
        """Whether the ratio is in units of the graph and the kernel: of classes, where an intercept takes constants."""
        return self._tells_classes and self.fit_intercept and self.gamma_I == _AUTO and self.ratio == _AUTO

    def _laplacian(self: Any, X: Matrix, graph: SparseArray | None) -> Laplacian | None:
        """Return the Laplacian of the kind that is asked for, or that suits weights and functions."""
        if graph is None:
            return None
        spectral = self._manifold_span(X.shape[0], True) == "eigenvectors"
        usual = spectral or not self._in_units_of_both
        self.normalized_ = usual if self.normalized is None else bool(self.normalized)
        return laplacian(graph, normalized=self.normalized_, power=self.power)

    @property
    def _is_supervised(self) -> bool:
        return self.gamma_I == 0 or (self.gamma_I == _AUTO and self.ratio == 0)

    def _unlearned_ratio(self: Any, K: Any, L: Laplacian | None) -> float:
        """Return gamma_I / gamma_A before any label is asked."""
        if self._is_supervised or L is None:
            return 0.0
        if self._in_units_of_both:
            return usual_ratio(K, L)
        return ratio_for(K, USUAL_RATIO if self.ratio == _AUTO else self.ratio)

    def _weighted(self: Any, K: Any, L: Any, labels: Labels) -> LapSVM:
        """Return the objective of the first class with the weights in use, and keep these."""
        options = {"loss": self.loss, "fit_intercept": self.fit_intercept}
        first = next(iter(labels.one_vs_rest()))
        weighted: LapSVM = self._with_weights(K, L, partial(LapSVM, K, L, first, **options), labels.sign)
        return weighted

    def _with_weights(
        self: Any, K: Any, L: Laplacian | None, made: Callable[..., Any], targets: FloatArray, numbers: bool = False
    ) -> Any:
        """Return the objective that `made` makes of gamma_A and gamma_I, and keep those in use."""
        ratio, unit = self._unlearned_ratio(K, L), None
        if self.ratio == _AUTO and self.gamma_I == _AUTO:
            unit, alone = made(gamma_A=1.0, gamma_I=ratio), made(gamma_A=1.0, gamma_I=0.0)
            losses = [self._held_out_loss(one.reduction.G, targets, numbers) for one in (unit, alone)]
            if losses[0] - losses[1] > _NATS:
                unit, ratio = alone, 0.0
        if self.gamma_A != _AUTO:
            self.gamma_A_ = float(self.gamma_A)
        else:
            unit = unit or made(gamma_A=1.0, gamma_I=ratio)
            self.gamma_A_ = ambient_weight(unit.reduction.G, centred=self.fit_intercept)
        self.gamma_I_ = ratio * self.gamma_A_ if self.gamma_I == _AUTO else float(self.gamma_I)
        # Of the same ratio: what was factorised serves again.
        return (unit.with_ if unit is not None else made)(gamma_A=self.gamma_A_, gamma_I=self.gamma_I_)

    def _held_out_loss(self: Any, G: FloatArray, targets: FloatArray, numbers: bool) -> float:
        """Return minus the log-likelihood of each labelled sample by least squares that knows all others."""
        gamma_A = ambient_weight(G, centred=self.fit_intercept) if self.gamma_A == _AUTO else float(self.gamma_A)
        kept = (
            np.arange(len(targets)) if numbers else np.flatnonzero(loo.counted(targets, loo.one_left_out(len(targets))))
        )
        if len(kept) < (_FEWEST if numbers else 1):
            return 0.0
        left_out = loo.RidgePath(G, targets, self.fit_intercept).leave_one_out([gamma_A])[0][kept]
        if not numbers:
            return float(loo.log_losses(left_out, targets[kept]).sum())
        # A normal error of the deviation that suits it best, up to a constant.
        return (
            0.5 * len(targets) * float(np.log(max(float(loo.squared_error(left_out, targets)), np.finfo(float).tiny)))
        )
