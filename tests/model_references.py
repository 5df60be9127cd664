"""The models of the gallery once more, in CVXPY alone: what `specmargin.problems.models` is held against.

A reference is written over other variables than those of the builders: the decisions are S w + b with the symmetric
root S of the kernel, a penalty of the graph is a sum over its edges, and a margin over a spectrum is one of quotients.
`shift` moves the right sides of the constraints of a model, by their labels, so that optima on both sides bracket a
multiplier.
"""

from __future__ import annotations

import contextlib
import warnings
from dataclasses import dataclass, field
from typing import Any

import cvxpy as cp
import networkx as nx
import numpy as np
from scipy.spatial.distance import cdist

import specmargin as sm

LOSSES = {
    "hinge": lambda t: cp.pos(1 - t),
    "squared_hinge": lambda t: 0.5 * cp.square(cp.pos(1 - t)),
    "logistic": lambda t: cp.logistic(-t),
    "exponential": lambda t: cp.exp(-t),
}


@dataclass(frozen=True, eq=False)
class Data:
    """Samples, their kernel and graphs, labels, and who belongs to a group."""

    K: np.ndarray
    graphs: tuple[np.ndarray, ...]
    labels: Any
    group: np.ndarray

    @property
    def spectra(self) -> list[Any]:
        return [sm.spectra.laplacian_eigenpairs(W, q=9 - 2 * k, normalized=False) for k, W in enumerate(self.graphs)]


def data_of(name: str) -> Data:
    """Return moons with two graphs of neighbours, graphs whose degrees are 1 to 15, or two blobs."""
    rng = np.random.default_rng(7)
    if name == "uneven degrees":
        graph = nx.barabasi_albert_graph(36, 2, seed=3)
        graphs = [nx.to_numpy_array(graph), nx.to_numpy_array(nx.barabasi_albert_graph(36, 3, seed=4))]
        second = np.linalg.eigh(nx.laplacian_matrix(graph).toarray())[1][:, 1]
        truth = second > np.median(second)
        X = truth[:, None] + rng.normal(size=(36, 2))
    else:
        if name == "moons":
            X, truth = sm.datasets.make_two_moons(n_samples=40, noise=0.15, random_state=1)
        else:
            truth = np.arange(40) % 2
            X = rng.normal(size=(40, 2)) + 1.5 * truth[:, None]
        near = np.argsort(cdist(X, X), axis=1)
        graphs = []
        for k in (4, 7):
            W = np.zeros((40, 40))
            W[np.repeat(np.arange(40), k), near[:, 1 : k + 1].ravel()] = 1.0
            graphs.append(np.maximum(W, W.T))
    y = sm.hide_labels(np.asarray(truth).astype(int), per_class=6, random_state=2)
    return Data(np.exp(-cdist(X, X, "sqeuclidean")), tuple(graphs), sm.encode_labels(y), X[:, 0] > np.median(X[:, 0]))


@dataclass(frozen=True, eq=False)
class Case:
    """A program of the package and the models that change it, with their options."""

    models: dict[str, dict[str, Any]]
    kind: str = "lapsvm"
    """A loss of LapSVM is in the options, of a margin over spectra these are C, B and order."""
    options: dict[str, Any] = field(default_factory=dict)
    labels: dict[str, float] = field(default_factory=dict)
    """Constraints of the models, and the sign with which their multipliers are the slope of the optimum."""
    also: tuple[str, ...] = ()
    """Solvers for its cone, next to Clarabel and SCS."""

    def built(self, data: Data) -> Any:
        """Build the problem of the package, as it is."""
        if self.kind == "lapsvm":
            L = np.diag(data.graphs[0].sum(axis=0)) - data.graphs[0]
            return sm.problems.lapsvm_primal(sm.objectives.LapSVM(data.K, L, data.labels, **self.options))
        spectra = data.spectra if self.kind == "graphs" else data.spectra[0]
        return sm.problems.storm(sm.objectives.SpectrumMargin(spectra, data.labels, **self.options), "primal")

    def changed(self, data: Data) -> Any:
        """Change it by the models, one after the other."""
        problem = self.built(data)
        for name, options in self.models.items():
            problem = getattr(sm.problems.models, name)(**_of(options, data))(problem)
        return problem

    def value(self, data: Data, shift: dict[str, Any] | None = None) -> float:
        """Return the optimum of the reference, inf where it is infeasible."""
        models = {name: _of(options, data) for name, options in self.models.items()}
        problem = (_lapsvm if self.kind == "lapsvm" else _spectrum)(self, data, models, shift or {})
        return optimum(problem)


def optimum(problem: cp.Problem) -> float:
    """Return the optimum, by the least tolerances that Clarabel does not fail at; of squares as cones it fails less."""
    for tol in (1e-11, 1e-10, 1e-9):
        with contextlib.suppress(cp.SolverError), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate")
            problem.solve(solver="CLARABEL", use_quad_obj=False, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
            return float(problem.value)
    raise AssertionError("Clarabel does not solve the reference")


def _of(options: dict[str, Any], data: Data) -> dict[str, Any]:
    """Fill in what is of the data."""
    known = {"the group": data.group, "the second graph": data.graphs[1]}
    return {name: known[value] if isinstance(value, str) else value for name, value in options.items()}


def _lapsvm(case: Case, data: Data, models: dict[str, Any], shift: dict[str, Any]) -> cp.Problem:
    values, V = np.linalg.eigh(data.K)
    S = (V * np.sqrt(np.maximum(values, 0.0))) @ V.T
    w, b = cp.Variable(len(S)), cp.Variable()
    options = {"gamma_A": 1.0, "gamma_I": 0.0, "loss": "hinge", **case.options}
    worst = models.get("robust_margins", {}).get("radius", 0.0) * cp.norm(w)
    f = S @ w + b
    margins = cp.multiply(data.labels.sign, f[data.labels.labeled]) - worst - shift.get("margin", 0.0)
    i, j = np.nonzero(np.triu(data.graphs[0]))
    graph = cp.sum(cp.multiply(data.graphs[0][i, j], cp.square(f[i] - f[j])))
    loss = getattr(options["loss"], "name", options["loss"])
    scale = 0.5 if loss == "squared_hinge" else 1.0
    value = cp.sum(LOSSES[loss](margins)) + scale * (
        options["gamma_A"] * cp.sum_squares(w) + options["gamma_I"] * graph
    )
    constraints, terms = _parts(models, shift, f, [])
    return cp.Problem(cp.Minimize(value + terms), constraints)


def _spectrum(case: Case, data: Data, models: dict[str, Any], shift: dict[str, Any]) -> cp.Problem:
    options = {"C": 1.0, "B": np.inf, "order": True, **case.options}
    spectra = data.spectra if case.kind == "graphs" else data.spectra[:1]
    b, pieces, f, norms, constraints = cp.Variable(), [], 0.0, 0.0, []
    coefficients = []
    for spectrum in spectra:
        v, delta = cp.Variable(spectrum.q), cp.Variable(spectrum.q)
        f = f + np.sqrt(len(data.K)) * spectrum.eigenvectors @ v
        norms = norms + sum(cp.quad_over_lin(v[j], delta[j]) for j in range(spectrum.q))
        constraints += [delta >= 0]
        if options["order"]:
            constraints += [delta[j] >= delta[j + 1] for j in range(1, spectrum.q - 1)]
        pieces.append(delta)
        coefficients.append(v)
    constraints += [sum(cp.sum(delta) for delta in pieces) == 1]
    f = f + b
    decided = cp.multiply(data.labels.sign, f[data.labels.labeled])
    worst = models.get("robust_margins", {}).get("radius", 0.0) * cp.norm(cp.hstack(coefficients))
    if np.isfinite(options["B"]):
        constraints += [cp.abs(decided) <= options["B"]]
    value = 0.5 * norms + options["C"] * cp.sum(cp.pos(1 - (decided - worst - shift.get("margin", 0.0))))
    more, terms = _parts(models, shift, f, pieces)
    return cp.Problem(cp.Minimize(value + terms), [*constraints, *more])


def _parts(models: dict[str, Any], shift: dict[str, Any], f: Any, pieces: list[Any]) -> tuple[list[Any], Any]:
    """Return the constraints and the terms of all models but for robust margins."""
    constraints: list[Any] = []
    terms: Any = 0.0
    delta = cp.hstack(pieces) if pieces else None
    for name, o in models.items():
        if name == "band_limited":
            tail = [piece[j] for piece in pieces for j in range(o["q"], piece.size)]
            constraints += [sum(tail) <= shift.get("band", 0.0)]
        elif name == "grouped":
            groups = np.asarray(o["groups"])
            rows = [(i, j) for g in np.unique(groups) for i, j in _neighbours(np.flatnonzero(groups == g))]
            moved = np.broadcast_to(shift.get("groups", 0.0), len(rows))
            constraints += [delta[i] - delta[j] == moved[k] for k, (i, j) in enumerate(rows)]
        elif name == "smooth":
            terms = terms + o["weight"] * sum(cp.square(bend) for piece in pieces for bend in _bends(piece))
        elif name == "convex":
            rows = [bend for piece in pieces for bend in _bends(piece)]
            rows += [piece[piece.size - 2] - piece[piece.size - 1] for piece in pieces]
            moved = np.broadcast_to(shift.get("convex", 0.0), len(rows))
            constraints += [row >= moved[k] for k, row in enumerate(rows)]
        elif name == "fairness":
            members = np.flatnonzero(o["group"])
            rest = np.flatnonzero(~o["group"])
            difference = sum(f[i] for i in members) / len(members) - sum(f[i] for i in rest) / len(rest)
            constraints += _bounded([difference], o.get("at_most", 0.0), shift.get("fairness", 0.0))
        elif name == "links":
            for label, sign in (("must", -1), ("cannot", 1)):
                rows = [f[i] + sign * f[j] for i, j in o.get(label, ())]
                constraints += _bounded(rows, o.get("within", 0.0), shift.get(label, 0.0))
        elif name == "class_shares":
            low, high = np.broadcast_to(o["positive"], 2)
            mean, d, h = cp.sum(f) / f.size, o.get("within", 0.0), shift.get("shares", 0.0)
            if low == high and d == 0:
                constraints += [mean == 2 * low - 1 + h]
            else:
                constraints += [mean >= 2 * low - 1 - d - h, mean <= 2 * high - 1 + d + h]
        elif name == "insensitive_smoothness":
            i, j = np.nonzero(np.triu(o["W"]))
            beyond = cp.maximum(f[i] - f[j] - o["eps"], f[j] - f[i] - o["eps"], 0)
            terms = terms + o["weight"] * cp.sum(cp.multiply(o["W"][i, j], beyond))
        elif name == "graph_budget":
            moved = np.broadcast_to(shift.get("budget", 0.0), len(pieces))
            constraints += [cp.sum(piece) <= o["budgets"][k] + moved[k] for k, piece in enumerate(pieces)]
    return constraints, terms


def _neighbours(members: np.ndarray) -> list[tuple[int, int]]:
    return list(zip(members[:-1].tolist(), members[1:].tolist(), strict=True))


def _bends(piece: Any) -> list[Any]:
    """Return the second differences from the second weight on."""
    return [piece[j + 1] - 2 * piece[j] + piece[j - 1] for j in range(2, piece.size - 1)]


def _bounded(rows: list[Any], bound: float, moved: Any) -> list[Any]:
    moved = np.broadcast_to(moved, len(rows))
    if bound == 0:
        return [row == moved[k] for k, row in enumerate(rows)]
    return [part for k, row in enumerate(rows) for part in (row <= bound + moved[k], row >= -bound - moved[k])]
