"""Small S3VMs in decision plus slack, and their optima over all labelings by Clarabel: no code of the package."""

import itertools

import clarabel
import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat

from specmargin.optima.boxes import label_tree
from specmargin.optima.boxes import nodes as box_nodes
from specmargin.optima.boxes.margin_space import MarginSpace


def random_space(seed, most=7, least=4):
    """A problem with 2-4 labelled samples: offset or a balance on x, C from 0.03 to 100, one to four dimensions."""
    rng = np.random.default_rng([31, seed])
    u, l = int(rng.integers(least, most + 1)), int(rng.integers(2, 5))
    n = u + l
    A = rng.standard_normal((n, int(rng.integers(1, 5)))) * 10.0 ** rng.uniform(-0.5, 0.7)
    y = np.zeros(n)
    y[:l] = np.resize([1.0, -1.0], l)
    C = np.full(n, 10.0 ** rng.uniform(-1.5, 2.0))
    if seed % 2:
        C[l:] *= rng.choice([0.4, 1.0])
        return MarginSpace(A, C, y, total=float(u * rng.choice([0.0, 0.3, -0.5])))
    return MarginSpace(A - A[l:].mean(axis=0), C, y, offset=float(rng.choice([0.0, 0.2])))


def with_trees_of(monkeypatch, nodes):
    """Let trees of labels have so many nodes and no more; what is left is branched upon."""
    monkeypatch.setattr(box_nodes, "_FEW", 1)
    monkeypatch.setattr(label_tree, "_TRIED", nodes)
    monkeypatch.setattr(label_tree, "_MOST", -1.0)
    monkeypatch.setattr(label_tree, "_PER_SQUARE", 0.0)


EDGES = ("linear", "rbf", "ties", "doubles", "large", "small", "steep", "flat")


def edge_space(seed, most=12):
    """A problem of 1 to `most` unlabelled samples: kernels, ties, C and C* from 1e-6 to 1e6, all kinds of balances."""
    rng = np.random.default_rng([77, seed])
    u, kind = 1 + seed % most, EDGES[seed // most % len(EDGES)]
    known = np.array([1.0, -1.0]) if rng.random() < 0.3 else np.resize([1.0, -1.0], int(rng.integers(2, 5)))
    if rng.random() < 0.1:
        known = np.array([1.0])
    y = np.append(known, np.zeros(u))
    n, l = len(y), len(known)
    A = rng.standard_normal((n, int(rng.integers(1, 5)))) * 10.0 ** rng.uniform(-0.5, 0.7)
    C = np.full(n, 10.0 ** rng.uniform(-1.5, 2.0))
    if kind == "rbf":
        K = np.exp(-((A[:, None] - A) ** 2).sum(axis=2) / A.shape[1])
        values, vectors = np.linalg.eigh(K)
        A = vectors * np.sqrt(np.maximum(values, 0.0))
    elif kind == "ties":
        A = np.round(A)
    elif kind == "doubles":
        A = A[rng.integers(0, max(2, n // 2), n)]
    elif kind == "large":
        C = np.full(n, 10.0 ** rng.choice([5.0, 6.0]))
    elif kind == "small":
        C = np.full(n, 1e-6)
    elif kind == "steep":
        C[l:] = 1e6 * min(C[0], 1.0)
    elif kind == "flat":
        C[l:] = 1e-6 * C[0]
    if rng.random() < 0.4:
        return MarginSpace(A - A[l:].mean(axis=0), C, y, offset=float(rng.choice([0.0, 0.2, -1.0])))
    mean = rng.choice([1.0, -1.3, 2.0] if u == 1 else [0.0, 0.3, -0.5, 0.95, -0.99, 1.0, 1.4, -3.0])
    return MarginSpace(A, C, y, total=float(u * mean))


def enumerated(space):
    """J and x of the best point of every labeling that has one; rows of labels, values, points."""
    n, size = space.A.shape
    Q = space.A @ space.A.T + np.diag(0.5 / space.C)
    # 1/2 |w|^2 + sum C (x - f)^2, variables (w, x).
    G = np.hstack([np.diag(np.sqrt(2 * space.C)) @ -space.A, np.diag(np.sqrt(2 * space.C))])
    h = -np.sqrt(2 * space.C) * space.offset
    unit = float(space.C.max())
    P = sp.csc_matrix(np.triu(G.T @ G + np.diag(np.append(np.ones(size), np.zeros(n)))) / unit)
    q, constant = G.T @ h / unit, 0.5 * h @ h / unit
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    labelings, values, points = [], [], []
    for signs in itertools.product((-1.0, 1.0), repeat=len(space.free)):
        labels = space.y.copy()
        labels[space.free] = signs
        rows = [np.hstack([np.zeros((n, size)), -np.diag(labels)])]
        right, cones = [-np.ones(n)], [clarabel.NonnegativeConeT(n)]
        if space.total is not None:
            rows.insert(0, np.append(np.zeros(size), space.y == 0)[None, :])
            right.insert(0, np.array([space.total]))
            cones.insert(0, clarabel.ZeroConeT(1))
        solver = clarabel.DefaultSolver(P, q, sp.csc_matrix(np.vstack(rows)), np.concatenate(right), cones, settings)
        answer = solver.solve()
        best = polished(space, Q, labels, np.array(answer.x)[size:])
        if best is None:
            if "Infeasible" in str(answer.status):
                continue
            assert str(answer.status) in ("Solved", "AlmostSolved", "InsufficientProgress")
            best = unit * (answer.obj_val + constant), np.array(answer.x)[size:]
        labelings.append(labels)
        values.append(best[0])
        points.append(best[1])
    return np.array(labelings), np.array(values), np.array(points)


def polished(space, Q, labels, near):
    """J and x where the margins bind that do `near` the best point, if that is the best one: x = offset + Q p."""
    n, equations = len(labels), 0 if space.total is None else 1
    active = labels * near < 1 + 1e-6
    for _ in range(30):
        k = np.flatnonzero(active)
        B = np.eye(n)[:, k]
        right = labels[k] - space.offset
        if equations:
            B, right = np.column_stack([B, space.y == 0]), np.append(right, space.total)
        multipliers = np.linalg.lstsq(B.T @ Q @ B, right, rcond=None)[0]
        p = B @ multipliers
        x = space.offset + Q @ p
        wrong = np.zeros(n, dtype=bool)
        wrong[k] = labels[k] * multipliers[: len(k)] < -1e-9 * np.abs(multipliers).max(initial=0.0)
        short = (labels * x < 1 - 1e-9) & ~active
        if not (wrong | short).any():
            return (0.5 * p @ Q @ p, x) if np.abs(B.T @ (x - space.offset) - right).max(initial=0.0) < 1e-8 else None
        active = (active & ~wrong) | short
    return None


def exact(space):
    """Q and the balance as matrices of balls, as exact as the floats that they are made of."""
    A = arb_mat(space.A.tolist())
    Q = A * A.transpose()
    for i, c in enumerate(space.C.tolist()):
        Q[i, i] += 1 / (2 * arb(c))
    return Q, column(space.balance)


def column(values):
    """A column of balls."""
    return arb_mat([[float(value)] for value in values])


def quadratic_form(M, x):
    """x'Mx."""
    return (x.transpose() * M * x)[0, 0]
