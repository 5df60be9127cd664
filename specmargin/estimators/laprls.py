"""Laplacian regularised least squares: `LapRLS`, LapSVM with the squared loss.

One linear system for all classes where the support vector machine has a problem per class. ``gamma_I=0`` is
regularised least-squares classification (kernel ridge regression on the labels). `LapRLSCV` chooses the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from specmargin.estimators._conformal import ConformalSets, KernelBlocks, ManifoldBlocks, require_no_weights
from specmargin.estimators._docstrings import documented
from specmargin.estimators.lapsvm import LapSVM
from specmargin.objectives.held_out.conformal import ConformalRidge
from specmargin.typing import Matrix

__all__ = ["LapRLS"]


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LapRLS(ConformalSets, ManifoldBlocks, LapSVM):
    """Laplacian regularised least squares.

    Minimises, per class against the rest, sum_i (y_i - f_i)^2 + gamma_A alpha'K alpha + gamma_I alpha'K L K alpha
    (eq. 14 of the primal paper) over f(x) = sum_j alpha_j k(x_j, x) + b. The sums are not means: `from_published`
    converts the gammas of tables.

    Parameters
    ----------
    solver : str or sequence of str
        As for `LapSVM`.

    References
    ----------
    Belkin, Niyogi & Sindhwani, Manifold regularization, JMLR 2006. Melacci & Belkin, Laplacian support vector
    machines trained in the primal, JMLR 2011. Zhu, Ghahramani & Lafferty, Semi-supervised learning using Gaussian
    fields and harmonic functions, ICML 2003 (class mass normalisation).

    Examples
    --------
    >>> import specmargin as sm
    >>> from specmargin.estimators.laprls import LapRLS
    >>> X, y_true = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    >>> y = sm.hide_labels(y_true, per_class=3, random_state=0)
    >>> clf = LapRLS(gamma=4.0, gamma_A=1e-2, gamma_I=1.0, n_neighbors=5).fit(X, y)
    >>> clf.result_.certificate.is_optimal(1e-9), bool((clf.transduction_ == y_true).mean() > 0.95)
    (True, True)
    """

    loss: str = field(init=False, default="squared")

    def _conformal(self, X: Matrix | None) -> tuple[ConformalRidge, KernelBlocks]:
        labels = self._remembered().labels
        require_no_weights(labels)
        blocks, gamma_A = self._kernel_blocks(X)
        return ConformalRidge(blocks.G, labels.sign, gamma_A, self.fit_intercept), blocks
