"""S3VM estimators: continuation, gradient, quasi-Newton, multi-switch, annealed, CCCP and label switching.

All minimise 1/2 |w|^2 + C sum V(y f) + C* sum U(f) (`specmargin.objectives.s3vm.S3VM`); they differ in the losses V and
U and in how they search among the local minima:

- `ContinuationS3VM` smooths the objective until one minimum is left, and follows that back: the most reliable;
- `GradientS3VM`, `QuasiNewtonS3VM` raise C* from nearly zero; the latter is the fastest on sparse text;
- `AnnealedS3VM` gives every sample a probability of being positive, and cools;
- `MultiSwitchTSVM`, `LabelSwitchingS3VM` guess labels and switch pairs of them;
- `CCCPS3VM` solves a sequence of convex upper bounds.

With ``gamma_I > 0`` any of them works on the kernel that a graph of the samples deforms: the hybrid.
"""

from __future__ import annotations

from dataclasses import dataclass

from specmargin import solvers
from specmargin.estimators._docstrings import documented
from specmargin.estimators._s3vm_classifier import S3VMClassifier
from specmargin.losses import SmoothLoss, SymmetricRamp

__all__ = [
    "AnnealedS3VM",
    "CCCPS3VM",
    "ContinuationS3VM",
    "GradientS3VM",
    "LabelSwitchingS3VM",
    "MultiSwitchTSVM",
    "QuasiNewtonS3VM",
]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ContinuationS3VM(S3VMClassifier):
    """S3VM by continuation (cS3VM): hinge and exp(-3 f^2), smoothed less and less.

    Calls `specmargin.solvers.continuation`.

    References
    ----------
    Chapelle, Chi & Zien, A continuation method for semi-supervised SVMs, ICML 2006.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=2, random_state=0)
    >>> clf = ContinuationS3VM(kernel="rbf", gamma=4.0, C=100.0, C_star=None, balance=0.0).fit(X, y)
    >>> clf.result_.status.name, bool((clf.transduction_ == y_true).mean() > 0.95)
    ('STATIONARY', True)
    """

    _loss = "hinge"
    _unlabeled_loss = "exp"
    _solver = staticmethod(solvers.continuation)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class GradientS3VM(S3VMClassifier):
    """S3VM by gradient descent while C* is doubled ten times: squared hinge and exp(-3 f^2).

    Calls `specmargin.solvers.gradient`.

    References
    ----------
    Chapelle & Zien, Semi-supervised classification by low density separation, AISTATS 2005.

    Examples
    --------
    >>> import specmargin as sm
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=2, random_state=0)
    >>> clf = GradientS3VM(kernel="rbf", gamma=4.0, balance=0.0).fit(X, y)
    >>> clf.result_.status.name, clf.dual_coef_.shape
    ('STATIONARY', (1, 120))
    """

    _loss = "squared_hinge"
    _unlabeled_loss = "exp"
    _solver = staticmethod(solvers.gradient)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class QuasiNewtonS3VM(S3VMClassifier):
    """S3VM by L-BFGS with C* annealed (QN-S3VM): smooth hinge and exp(-3 f^2).

    Calls `specmargin.solvers.quasi_newton`. With ``kernel="linear"`` sparse features stay sparse. C = 1 / (2 lam l) and
    C_star = lam' / (2 lam u) are the paper's parameters.

    References
    ----------
    Gieseke, Airola, Pahikkala & Kramer, Fast and simple gradient-based optimization for semi-supervised support vector
    machines, Neurocomputing 123, 2014.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = sp.csr_array(np.array([[-2.0, 0.0], [2.0, 0.0], [-1.5, 1.0], [1.0, 0.0], [1.8, 1.0], [-1.0, 0.0]]))
    >>> clf = QuasiNewtonS3VM(kernel="linear", balance=0.0).fit(X, [0, 1, -1, -1, -1, -1])
    >>> clf.transduction_.tolist(), clf.coef_.shape
    ([0, 1, 0, 1, 1, 0], (1, 2))
    """

    _loss = "smooth_hinge"
    _unlabeled_loss = "exp"
    _solver = staticmethod(solvers.quasi_newton)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class MultiSwitchTSVM(S3VMClassifier):
    """Transductive SVM by switching many labels at once (TSVMlin): squared hinge at the better of both labels.

    Calls `specmargin.solvers.multi_switch`. The balance also says how many labels are positive.

    References
    ----------
    Sindhwani & Keerthi, Large scale semi-supervised linear SVMs, SIGIR 2006.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-2.0, 0.0], [2.0, 0.0], [-1.5, 1.0], [1.0, 0.0], [1.8, 1.0], [-1.0, 0.0]])
    >>> MultiSwitchTSVM(kernel="linear", balance=0.0).fit(X, [0, 1, -1, -1, -1, -1]).transduction_.tolist()
    [0, 1, 0, 1, 1, 0]
    """

    _loss = "squared_hinge"
    _solver = staticmethod(solvers.multi_switch)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AnnealedS3VM(S3VMClassifier):
    """S3VM by deterministic annealing (DA): squared hinge at both labels, by their probabilities.

    Calls `specmargin.solvers.annealing`.

    Notes
    -----
    The weights matter more than with other solvers. While it is hot, all p = R, the objective charges the squares of
    the unlabelled decisions: with a large C* it fits the labels along directions of little variance, and what it cools
    down to is a poor minimum. Tune C and C_star towards small values.

    References
    ----------
    Sindhwani, Keerthi & Chapelle, Deterministic annealing for semi-supervised kernel machines, ICML 2006.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-2.0, 0.0], [2.0, 0.0], [-1.5, 1.0], [1.0, 0.0], [1.8, 1.0], [-1.0, 0.0]])
    >>> AnnealedS3VM(kernel="linear", balance=0.0).fit(X, [0, 1, -1, -1, -1, -1]).transduction_.tolist()
    [0, 1, 0, 1, 1, 0]
    """

    _loss = "squared_hinge"
    _solver = staticmethod(solvers.annealing)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class CCCPS3VM(S3VMClassifier):
    """S3VM by the concave-convex procedure (UniverSVM): hinge, and a ramp at either label.

    Calls `specmargin.solvers.cccp`. Its objective never rises, and it ends after a few rounds;
    ``solver_params={"schedule": ...}`` lets C_star rise first, which finds lower objectives.

    Parameters
    ----------
    s : float
        Where the ramp ends, in (-1, 0]: samples with |f| < -s have no gradient. UniverSVM's default is 0,
        the symmetric hinge, with which labels hardly ever change once the unlabelled losses weigh; the paper tunes s,
        and names -0.3 for text.

    References
    ----------
    Collobert, Sinz, Weston & Bottou, Large scale transductive SVMs, JMLR 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-2.0, 0.0], [2.0, 0.0], [-1.5, 1.0], [1.0, 0.0], [1.8, 1.0], [-1.0, 0.0]])
    >>> CCCPS3VM(kernel="linear", balance=0.0).fit(X, [0, 1, -1, -1, -1, -1]).transduction_.tolist()
    [0, 1, 0, 1, 1, 0]
    """

    s: float = -0.3

    _loss = "hinge"
    _solver = staticmethod(solvers.cccp)

    def _losses(self) -> tuple[str | SmoothLoss, str | SmoothLoss | None]:
        return self._loss, SymmetricRamp(s=self.s)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LabelSwitchingS3VM(S3VMClassifier):
    """Transductive SVM by switching one pair of labels at a time (SVM-light): hinge at the better of both labels.

    Calls `specmargin.solvers.label_switching`. The oldest of the searches, and the one that gets stuck most.

    References
    ----------
    Joachims, Transductive inference for text classification using support vector machines, ICML 1999.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-2.0, 0.0], [2.0, 0.0], [-1.5, 1.0], [1.0, 0.0], [1.8, 1.0], [-1.0, 0.0]])
    >>> LabelSwitchingS3VM(kernel="linear", balance=0.0).fit(X, [0, 1, -1, -1, -1, -1]).transduction_.tolist()
    [0, 1, 0, 1, 1, 0]
    """

    _loss = "hinge"
    _solver = staticmethod(solvers.label_switching)
