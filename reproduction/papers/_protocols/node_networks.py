"""Networks of two layers on a graph, in numpy with their gradients by hand: GCN, and APPNP with its hidden layer.

Both are logits = B relu(A X V) U. GCN has A = B = S, the adjacency with self-loops and its rows and columns divided by
the roots of the degrees. APPNP has A = I and for B ten steps of personalised PageRank. The loss is the mean
cross-entropy at the labelled nodes and wd/2 |V|^2; half of the entries of X and of the hidden layer, drawn anew in
every epoch, are left out and the others doubled; there are no intercepts. Adam takes 200 steps from weights of Glorot &
Bengio's uniform distribution. There is no early stopping, for which others need validation labels.

Only what reaches a labelled node takes part in the training.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import log_softmax, softmax

from specmargin.graphs import normalized_adjacency
from specmargin.typing import BoolArray, FloatArray, IntArray

EPOCHS = 200
STEP = 0.01
DROPOUT = 0.5
GCN_HIDDEN, GCN_DECAY = 16, 5e-4
APPNP_HIDDEN, APPNP_DECAY = 64, 5e-3
TELEPORT, N_STEPS = 0.1, 10
"""Share that restarts at the node itself, and steps of PageRank: APPNP's for citation graphs."""


def unit_rows(X: Any, order: int = 2) -> Any:
    """Return the rows of X divided by their l1 or l2 norm, CSR; rows of zeros stay."""
    X = sp.csr_matrix(X, dtype=float)
    powers = abs(X).power(order)
    norms = np.asarray(powers.sum(axis=1)).ravel() ** (1.0 / order)
    return (sp.diags(np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)) @ X).tocsr()


def pagerank(S: Any, F: Any, teleport: float = TELEPORT, n_steps: int = N_STEPS) -> FloatArray:
    """Return F after steps Z <- (1 - t) S Z + t F, begun at F."""
    F = np.asarray(F.toarray() if sp.issparse(F) else F, dtype=float)
    Z = F
    for _ in range(n_steps):
        Z = (1.0 - teleport) * (S @ Z) + teleport * F
    return Z


@dataclass(frozen=True, eq=False)
class Network:
    """The rows of logits = B relu(A X V) U at the labelled nodes, their loss and its gradient.

    Parameters
    ----------
    A : sparse matrix of shape (m, p)
        First propagation, or None for I.
    B : ndarray of shape (l, m)
        Second propagation: the labelled rows.
    targets : ndarray of shape (l, K)
        One in the column of the class.
    decay : float
        wd.
    """

    A: Any
    B: FloatArray
    targets: FloatArray
    decay: float

    def loss_and_gradient(
        self, weights: tuple[FloatArray, FloatArray], X: Any, kept: FloatArray
    ) -> tuple[float, tuple[FloatArray, FloatArray]]:
        """Return the loss at weights (V, U), and its derivatives by both.

        Parameters
        ----------
        weights : tuple of ndarray
            V of shape (d, h) and U of shape (h, K).
        X : sparse matrix of shape (p, d)
            Features, those left out already zero.
        kept : ndarray of shape (m, h)
            What the hidden layer is multiplied by: 0 where it is left out.
        """
        V, U = weights
        before = X @ V
        if self.A is not None:
            before = self.A @ before
        hidden = np.maximum(before, 0.0) * kept
        logits = self.B @ (hidden @ U)
        l = len(self.targets)
        loss = -(self.targets * log_softmax(logits, axis=1)).sum() / l + 0.5 * self.decay * (V**2).sum()
        by_output = self.B.T @ ((softmax(logits, axis=1) - self.targets) / l)
        by_before = (by_output @ U.T) * kept * (before > 0)
        if self.A is not None:
            by_before = self.A.T @ by_before
        return float(loss), (X.T @ by_before + self.decay * V, hidden.T @ by_output)


class Adam:
    """Adam of Kingma & Ba with their constants: steps along the mean gradient over the root of its mean square."""

    def __init__(self, weights: tuple[FloatArray, ...], step: float = STEP) -> None:
        self.weights, self.step, self.n_steps = weights, step, 0
        self.mean = [np.zeros_like(w) for w in weights]
        self.square = [np.zeros_like(w) for w in weights]

    def update(self, gradients: tuple[FloatArray, ...]) -> None:
        """Change the weights, in place."""
        self.n_steps += 1
        unbiased, unbiased_square = 1.0 - 0.9**self.n_steps, 1.0 - 0.999**self.n_steps
        for w, g, mean, square in zip(self.weights, gradients, self.mean, self.square, strict=True):
            mean += 0.1 * (g - mean)
            square += 0.001 * (g**2 - square)
            w -= self.step * (mean / unbiased) / (np.sqrt(square / unbiased_square) + 1e-8)


def glorot(rows: int, columns: int, rng: np.random.Generator) -> FloatArray:
    """Return weights between -r and r, r^2 = 6 / (rows + columns)."""
    bound = np.sqrt(6.0 / (rows + columns))
    return rng.uniform(-bound, bound, (rows, columns))


def train_network(network: Network, X: Any, hidden: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return V and U after Adam with dropout on the features X (p, d) and on the hidden layer."""
    rng = np.random.default_rng(seed)
    weights = glorot(X.shape[1], hidden, rng), glorot(hidden, network.targets.shape[1], rng)
    adam, dropped = Adam(weights), X.copy()
    for _ in range(EPOCHS):
        dropped.data = X.data * _kept(X.data.shape, rng)
        adam.update(network.loss_and_gradient(weights, dropped, _kept((network.B.shape[1], hidden), rng))[1])
    return weights


def _kept(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    return (rng.random(shape) >= DROPOUT) / (1.0 - DROPOUT)


def gcn(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
    """GCN with 16 hidden units on features whose rows sum to one: logits of all nodes, (n, n_classes)."""
    S, F = normalized_adjacency(W), unit_rows(X, 1)
    rows = S[train].toarray()
    hidden_nodes = np.flatnonzero(rows.any(axis=0))
    A = S[hidden_nodes]
    near = _columns_used(A)
    network = Network(A[:, near], rows[:, hidden_nodes], np.eye(n_classes)[y_train], GCN_DECAY)
    V, U = train_network(network, F[near], GCN_HIDDEN, seed)
    return np.asarray(S @ (np.maximum(S @ (F @ V), 0.0) @ U))


def appnp(W: Any, X: Any, y_train: IntArray, train: IntArray, n_classes: int, seed: int = 0) -> FloatArray:
    """APPNP with 64 hidden units on features whose rows sum to one: logits of all nodes, (n, n_classes).

    The paper also leaves out edges during the training and stops by validation labels; here neither is done.
    """
    S, F = normalized_adjacency(W), unit_rows(X, 1)
    # Powers of S are symmetric: the rows of the labelled nodes are their columns.
    start = np.zeros((S.shape[0], len(train)))
    start[train, np.arange(len(train))] = 1.0
    rows = pagerank(S, start).T
    near = np.flatnonzero(rows.any(axis=0))
    network = Network(None, np.ascontiguousarray(rows[:, near]), np.eye(n_classes)[y_train], APPNP_DECAY)
    V, U = train_network(network, F[near], APPNP_HIDDEN, seed)
    return pagerank(S, np.maximum(F @ V, 0.0) @ U)


def _columns_used(A: Any) -> IntArray:
    used: BoolArray = np.zeros(A.shape[1], dtype=bool)
    used[A.indices] = True
    return np.flatnonzero(used)
