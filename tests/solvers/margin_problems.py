"""Small S3VMs in decision plus slack, and their optima over all labelings by Clarabel: no code of the package."""

import itertools

import clarabel
import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat

from specmargin.solvers.exact_s3vm.margin_space import MarginSpace


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


def enumerated(space):
    """J and x of the best point of every labeling that has one; rows of labels, values, points."""
    n, size = space.A.shape
    # 1/2 |w|^2 + sum C (x - f)^2, variables (w, x).
    G = np.hstack([np.diag(np.sqrt(2 * space.C)) @ -space.A, np.diag(np.sqrt(2 * space.C))])
    h = -np.sqrt(2 * space.C) * space.offset
    P = sp.csc_matrix(np.triu(G.T @ G + np.diag(np.append(np.ones(size), np.zeros(n)))))
    q, constant = G.T @ h, 0.5 * h @ h
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
        if str(answer.status) not in ("Solved", "AlmostSolved"):
            assert "Infeasible" in str(answer.status)
            continue
        labelings.append(labels)
        values.append(answer.obj_val + constant)
        points.append(np.array(answer.x)[size:])
    return np.array(labelings), np.array(values), np.array(points)


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
