r"""What searches over the labels of an S3VM write down of their proofs: a `specmargin.optima.ProofLog`.

All their bounds are of one form. With lines and parabolas below the losses of the samples, where the labels of a node
hold,

    loss_i(f) >= h_i + g_i f - theta_i f^2 / 2,      A = I - sum theta_i z_i z_i' positive definite,

J is at least sum h_i + min_w 1/2 |w|^2 + sum g_i f_i - 1/2 sum theta_i f_i^2. The SVM of the labelled and decided
samples alone has theta = 0 and g = -y a, the relaxation both, and the envelopes of a box of exp(-s f^2) one line for
every sample. So the slopes g and the curvatures theta are all that is kept: the best h_i follow from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from specmargin.optima.label_qp import LabelPoint
from specmargin.optima.label_svms import LabelSVMs
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.optima.search_log import ProofLog
from specmargin.typing import FloatArray, IntArray

__all__ = ["Evidence", "TreeLog"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Slopes and curvatures of lines and parabolas below the losses, as `ProofLog` keeps them.

    Parameters
    ----------
    node : int
        Node of the log at which they are below the losses.
    index : ndarray of int
        Samples with a slope; n + i for a sample i with a curvature.
    value : ndarray
        The slopes and the curvatures.
    """

    node: int
    index: IntArray
    value: FloatArray

    @classmethod
    def of(cls, node: int, slopes: FloatArray, curvatures: FloatArray) -> Evidence:
        """Return the evidence of the slopes and the curvatures of all samples, (n,) each."""
        both = np.concatenate([slopes, curvatures])
        index = np.flatnonzero(both)
        return cls(node, index, both[index])

    @classmethod
    def of_labels(cls, node: int, qp: LabelSVMs, point: LabelPoint) -> Evidence:
        """Return that of the SVM of labelled samples: `LabelSVMs.lower`."""
        return cls.of(node, -point.y * np.clip(point.a, 0.0, qp.upper), np.zeros(len(point.y)))

    @classmethod
    def of_relaxation(cls, node: int, problem: S3VMRelaxation, theta: FloatArray, beta: FloatArray) -> Evidence:
        """Return that of the relaxation at the multipliers theta and beta: `S3VMRelaxation.dual_bound`."""
        curvatures = np.maximum(problem.over_unlabeled(theta), 0.0)
        return cls.of_parabolas(node, problem, curvatures, np.zeros(len(curvatures)), beta)

    @classmethod
    def of_parabolas(
        cls, node: int, problem: S3VMRelaxation, theta: FloatArray, linear: FloatArray, beta: FloatArray
    ) -> Evidence:
        """Return that of parabolas linear f - theta f^2 / 2 of the unlabelled samples, (u,) each, and of beta."""
        n, unlabeled = problem.obj.features.n_samples, problem.obj.unlabeled
        slopes, curvatures = np.zeros(n), np.zeros(n)
        slopes[unlabeled], curvatures[unlabeled] = linear, theta
        slopes[problem.known] = -problem.weights * np.clip(beta, 0.0, problem.upper) * problem.y
        return cls.of(node, slopes, curvatures)


class TreeLog:
    """A log that grows with the search.

    Parameters
    ----------
    n_samples : int
        Number of samples, labelled and unlabelled.
    """

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples
        self._splits: list[tuple[int, int, float]] = []
        self._kept: dict[tuple[int, int], Evidence] = {}

    def split(self, node: int, sample: int, at: float = 0.0) -> tuple[int, int]:
        """Split a node by the label of a sample, and return the nodes of the labels -1 and +1."""
        self._splits.append((node, sample, at))
        return 2 * len(self._splits) - 1, 2 * len(self._splits)

    def keep(self, evidence: Evidence | None, node: int | None = None) -> None:
        """Keep what bounds a leaf, once, however many leaves it bounds; at another node than its own where given."""
        if evidence is not None:
            self._kept.setdefault((id(evidence), evidence.node if node is None else node), evidence)

    def finished(self) -> ProofLog:
        """Return the log as arrays."""
        kept = list(self._kept.values())
        start = np.cumsum([0] + [len(one.index) for one in kept], dtype=np.int64)
        splits = self._splits
        return ProofLog(
            self.n_samples,
            parent=np.array([node for node, _, _ in splits], dtype=np.int64),
            sample=np.array([sample for _, sample, _ in splits], dtype=np.int64),
            at=np.array([at for _, _, at in splits], dtype=float),
            node=np.array([node for _, node in self._kept], dtype=np.int64),
            start=start,
            index=np.concatenate([np.zeros(0, dtype=np.int64), *(one.index for one in kept)]),
            value=np.concatenate([np.zeros(0), *(one.value for one in kept)]),
        )
