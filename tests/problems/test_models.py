"""The gallery against the same models in CVXPY alone: optima, multipliers, certificates; and what it refuses."""

from __future__ import annotations

import contextlib
import io
import pickle
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from full_size import FULL, shortened
from model_cases import CASES, GRAPHS, LAPSVM, MKL, SETS, STORM, Exponential, Logistic
from model_references import Case, data_of, optimum

import specmargin as sm
from specmargin.problems import models
from specmargin.results import Status

SOLVERS = {
    "CLARABEL": {},
    "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000},
    "ECOS": {"abstol": 1e-9, "reltol": 1e-9, "feastol": 1e-9},
    "OSQP": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 100_000},
}


def runs() -> list[Any]:
    """Return every case on every set with every solver of its cone; fast ones are those of one set by Clarabel."""
    found = []
    for name, case in CASES.items():
        for where in SETS:
            for solver in ("CLARABEL", "SCS", *(one for one in case.also if one in cp.installed_solvers())):
                if not (solver == "CLARABEL" or where == SETS[1] or FULL):
                    continue  # what a solver does wrong it does on any set
                slow = [] if (where, solver) == ("moons", "CLARABEL") else [pytest.mark.slow]
                found.append(pytest.param(name, where, solver, marks=slow, id=f"{name}, {where}, {solver}"))
    return found


def check(case: Case, where: str, solver: str, rng: np.random.Generator) -> Any:
    """Hold optimum, multipliers and certificate of a changed problem against its reference."""
    data = data_of(where)
    result = sm.solve(case.changed(data), solver, check=True, **SOLVERS[solver])
    certificate, value = result.certificate, case.value(data)
    assert certificate.kind == "cone program"
    assert result.problem.endswith(", changed")
    if solver == "CLARABEL":
        assert result.status is Status.OPTIMAL
        assert certificate.relative_gap <= 1e-6
    assert certificate.primal_objective == pytest.approx(value, rel=1e-6)
    assert certificate.dual_objective <= value + 1e-7 * abs(value)
    for label, sign in case.labels.items():
        multiplier = np.atleast_1d(result.duals[label])
        along = rng.normal(size=multiplier.shape) * 1e-3
        slope = sign * float(multiplier @ along) / 1e-3
        ahead, behind = (case.value(data, {label: side * along}) for side in (1, -1))
        room = 1e-4 * max(1.0, abs(slope))
        assert (value - behind) / 1e-3 - room <= slope <= (ahead - value) / 1e-3 + room, label
    return result


@pytest.mark.parametrize(("name", "where", "solver"), runs())
def test_optimum_multipliers_and_certificate_are_those_of_the_model(name, where, solver, rng):
    check(CASES[name], where, solver, rng)


SIGNS = {
    "band_limited": {"band": -1},
    "grouped": {"groups": -1},
    "convex": {"convex": 1},
    "fairness": {"fairness": -1},
    "class_shares": {"shares": -1},
    "robust_margins": {"margin": 1},
    "graph_budget": {"budget": -1},
}
KINDS = {"lapsvm": LAPSVM, "storm": STORM, "mkl": MKL, "graphs": GRAPHS}


def drawn_case(rng: np.random.Generator) -> Case:
    """Draw a program, one to three models that it has, and their options."""
    kind = str(rng.choice(list(KINDS)))
    pairs = [tuple(pair) for pair in np.sort(rng.permutation(36)[:6].reshape(3, 2), axis=1).tolist()]
    within = float(rng.choice([0.0, 0.2]))
    pool: dict[str, dict[str, Any]] = {
        "fairness": {"group": "the group", "at_most": float(rng.choice([0.0, 0.1, 0.5]))},
        "links": {"must": pairs[:2], "cannot": pairs[2:], "within": within},
        "class_shares": {"positive": 0.5 + 0.2 * rng.random(), "within": within},
        "robust_margins": {"radius": 0.2 * rng.random()},
        "insensitive_smoothness": {"W": "the second graph", "eps": 0.2 * rng.random(), "weight": 0.3 * rng.random()},
    }
    if kind != "lapsvm":
        q = 16 if kind == "graphs" else 9
        pool |= {
            "band_limited": {"q": int(rng.integers(3, 7))},
            "grouped": {"groups": np.sort(rng.integers(0, q // 2, q)).tolist()},
            "smooth": {"weight": 100 * rng.random()},
            "convex": {},
        }
    if kind == "graphs":
        pool["graph_budget"] = {"budgets": (0.5 + 0.5 * rng.random(2)).tolist()}
    chosen = rng.permutation(list(pool))[: rng.integers(1, 4)].tolist()
    labels = {label: sign for name in chosen for label, sign in SIGNS.get(name, {}).items()}
    labels |= dict.fromkeys(("must", "cannot"), -1) if "links" in chosen else {}
    return Case({name: pool[name] for name in chosen}, **KINDS[kind], labels=labels)


@pytest.mark.parametrize("where", SETS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, shortened(30, 67)))])
def test_no_mix_of_models_passes_as_unchanged(where, seed):
    """90 changes, 201 at full size: the answer, the multipliers and the proof are those of the changed program."""
    rng = np.random.default_rng([seed, SETS.index(where)])
    case = drawn_case(rng)
    changed = case.changed(data_of(where))
    assert not changed.is_as_built()
    if not np.isfinite(case.value(data_of(where))):
        assert sm.solve(changed).status is Status.INFEASIBLE
        return
    check(case, where, "CLARABEL", rng)


@pytest.mark.parametrize("loss", [Logistic(), Exponential()])
def test_a_loss_of_ones_own_has_the_proof_of_the_objective(loss):
    data, case = data_of("moons"), Case({}, options={"gamma_A": 0.1, "gamma_I": 0.02, "loss": loss})
    result = sm.solve(case.built(data), check=True)
    assert result.certificate.kind == "objective"
    assert result.certificate.is_optimal(1e-6)
    assert result.certificate.primal_objective == pytest.approx(case.value(data), rel=1e-6)


def test_an_atom_alone_makes_a_loss():
    data, case = data_of("moons"), Case({}, options={"gamma_A": 0.1, "gamma_I": 0.02, "loss": Logistic()})
    built = case.built(data)
    t, norm, smoothness = (built.expressions[part] for part in ("margins", "norm", "smoothness"))
    value = cp.sum(cp.logistic(-t)) + 0.1 * norm + 0.02 * smoothness
    result = sm.solve(cp.Problem(cp.Minimize(value), built.problem.constraints), check=True)
    assert result.certificate.is_optimal(1e-6)
    assert result.certificate.primal_objective == pytest.approx(case.value(data), rel=1e-6)


@pytest.fixture(scope="module")
def built() -> Any:
    return Case({}, **LAPSVM).built(data_of("moons"))


@pytest.fixture(scope="module")
def over_spectrum() -> Any:
    return Case({}, **STORM).built(data_of("moons"))


@pytest.fixture(scope="module")
def over_graphs() -> Any:
    return Case({}, **GRAPHS).built(data_of("moons"))


def of_three_classes(loss: str) -> tuple[Any, list[np.ndarray], Any]:
    """Return blocks of features over 18 samples of three classes."""
    rng = np.random.default_rng(0)
    y = np.arange(18) % 3
    blocks = [np.eye(3)[y] + 0.5 * rng.normal(size=(18, 3)), rng.normal(size=(18, 2))]
    labels = sm.encode_labels(np.where(np.arange(18) < 12, y, -1))
    obj = sm.objectives.BlockMargin(blocks, labels, C=1.0, loss=loss)
    return sm.problems.block_margin(obj, "primal"), blocks, labels


def test_of_several_classes_each_column_of_decisions_is_changed():
    built, *_ = of_three_classes("hinge")
    group = np.arange(18) < 7
    f = sm.solve(models.fairness(group)(built), check=True).variables["f"]
    np.testing.assert_allclose(f[group].mean(axis=0), f[~group].mean(axis=0), atol=1e-7)
    f = sm.solve(models.links(must=[(13, 14)], cannot=[(15, 16)], within=0.1)(built), check=True).variables["f"]
    assert np.abs(f[13] - f[14]).max() <= 0.1 + 1e-6
    assert np.abs(f[15] + f[16]).max() <= 0.1 + 1e-6
    with pytest.raises(sm.exceptions.InvalidInputError, match=r"positive=0.5 must be a share of two classes"):
        models.class_shares(0.5)(built)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_margins_of_several_classes_are_robust_by_the_norm_of_their_column(loss):
    built, blocks, labels = of_three_classes(loss)
    result = sm.solve(models.robust_margins(0.3)(built), check=True)
    v, b = [cp.Variable((F.shape[1], 3)) for F in blocks], cp.Variable((1, 3))
    delta = cp.Variable(2)
    f = blocks[0] @ v[0] + blocks[1] @ v[1] + np.ones((18, 1)) @ b
    norms = [cp.norm(cp.hstack([v[0][:, k], v[1][:, k]])) for k in range(3)]
    shortfall = [cp.pos(1 - cp.multiply(labels.sign[:, k], f[labels.labeled, k]) + 0.3 * norms[k]) for k in range(3)]
    loss_of = {"hinge": lambda xi: cp.sum(xi), "squared_hinge": lambda xi: 0.5 * cp.sum_squares(xi)}[loss]
    value = 0.5 * sum(cp.quad_over_lin(v[k], delta[k]) for k in range(2)) + sum(loss_of(xi) for xi in shortfall)
    reference = cp.Problem(cp.Minimize(value), [delta >= 0, cp.sum(delta) == 1])
    assert not built.objective.order
    assert result.certificate.primal_objective == pytest.approx(optimum(reference), rel=1e-6)


def test_a_radius_moves_the_sample_that_is_worst_for_the_margin(built):
    """The bound of the margin is attained by a sample that moves against the coefficients."""
    result = sm.solve(models.robust_margins(0.1)(built), check=True)
    labels, alpha = built.objective.labels, result.variables["alpha"]
    length = np.sqrt(alpha @ built.objective.K @ alpha)  # of the function, against which the sample moves
    worst = labels.sign * result.variables["f"][labels.labeled] - 0.1 * length
    assert (result.variables["t"] <= worst + 1e-7).all()
    np.testing.assert_allclose(np.maximum(1 - result.variables["t"], 0), np.maximum(1 - worst, 0), atol=1e-6)


def test_models_are_changes_that_are_pickled_and_follow_one_another(over_spectrum):
    changes = [models.band_limited(q=5), models.smooth(weight=1.0), models.convex()]
    changed = over_spectrum
    for change in pickle.loads(pickle.dumps(changes)):
        changed = change(changed)
    assert changed.added().keys() == {"band", "convex"}
    assert changed.terms.keys() == {"smooth"}
    assert over_spectrum.is_as_built()


def test_a_second_group_takes_another_label(built):
    masks = np.arange(40) % 2 == 0, np.arange(40) % 3 == 0
    f = sm.solve(models.fairness(masks[1], label="thirds")(models.fairness(masks[0])(built)), check=True).variables["f"]
    for mask in masks:
        assert f[mask].mean() == pytest.approx(f[~mask].mean(), abs=1e-7)
    with pytest.raises(ValueError, match="has a part 'fairness' already"):
        models.fairness(masks[1])(models.fairness(masks[0])(built))


def test_a_group_is_a_column_of_the_features_of_an_estimator(built):
    X = np.column_stack([np.linspace(-1, 1, 40), np.arange(40) % 2, np.full(40, 1.0)])
    by_mask = sm.solve(models.fairness(X[:, 1] == 1)(built))
    for samples in (X, sp.csr_array(X)):
        seen = replace(built)
        object.__setattr__(seen, "samples", samples)  # what an estimator sets
        by_column = sm.solve(models.fairness(1)(seen))
        np.testing.assert_array_equal(by_column.variables["f"], by_mask.variables["f"])
        assert by_column.duals["fairness"] == by_mask.duals["fairness"] != 0  # of which the sign says who is favoured
        for column, says in (
            (0, "the column holds"),
            (2, "must be True for some"),
            (3, "take 0 to 2"),
            (-1, ""),
        ):
            with pytest.raises(sm.exceptions.InvalidInputError, match=f"group={column}.*{says}"):
                models.fairness(column)(seen)


def test_each_graph_has_its_own_band_and_its_own_bends(over_graphs):
    delta = sm.solve(models.band_limited(3)(over_graphs), check=True).variables["delta"]
    np.testing.assert_allclose(delta[[*range(3, 9), *range(12, 16)]], 0.0, atol=1e-7)
    assert min(delta[1], delta[10]) >= 0
    delta = sm.solve(models.convex()(over_graphs), check=True).variables["delta"]
    for piece in (delta[1:9], delta[10:]):
        assert np.diff(piece, 2).min() >= -1e-7
        assert np.diff(piece).max() <= 1e-7


MASK = np.arange(40) < 10
BAD: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "q=0": ("spectrum", "band_limited", {"q": 0}, "q=0 must be a whole number of at least 1"),
    "q of all": ("spectrum", "band_limited", {"q": 9}, "q=9: no graph has as many"),
    "groups too few": ("spectrum", "grouped", {"groups": [0, 1]}, r"groups=.* must name the groups of 9 weights"),
    "groups of one": ("spectrum", "grouped", {"groups": range(9)}, r"groups=.* must name the groups of 9 weights"),
    "groups of text": ("spectrum", "grouped", {"groups": list("aabbccdde")}, "groups"),
    "negative weight": ("spectrum", "smooth", {"weight": -1.0}, "weight=-1.0 must be a number >= 0"),
    "weight of text": ("spectrum", "smooth", {"weight": "much"}, "weight='much' must be"),
    "no spectrum": ("lapsvm", "convex", {}, "built is LapSVM primal, which has no spectrum"),
    "no weights": ("spectrum", "graph_budget", {"budgets": [1.0, 1.0]}, r"budgets=.* must be 1 shares"),
    "budgets below one": ("graphs", "graph_budget", {"budgets": [0.4, 0.4]}, r"budgets=.* of the sum one or more"),
    "negative budget": ("graphs", "graph_budget", {"budgets": [-0.4, 2.0]}, "budgets holds 1 values that are"),
    "no mask": ("lapsvm", "fairness", {"group": 1}, "group=1 is a column of features, and LapSVM primal has none"),
    "everybody": ("lapsvm", "fairness", {"group": np.ones(40, dtype=bool)}, "group=.* must be True for some of the 40"),
    "short mask": ("lapsvm", "fairness", {"group": MASK[:9]}, "group=.* must be True for some of the 40"),
    "numbers": ("lapsvm", "fairness", {"group": MASK * 1.0}, "group=.* must be an array of True and False"),
    "True": ("lapsvm", "fairness", {"group": True}, "group=True must be an array of True and False"),
    "at most -1": ("lapsvm", "fairness", {"group": MASK, "at_most": -1.0}, "at_most=-1.0 must be"),
    "no pairs": ("lapsvm", "links", {}, "must and cannot are both empty"),
    "a pair of one": ("lapsvm", "links", {"must": [(1, 1)]}, r"must=\[\(1, 1\)\] must be a list of pairs of two"),
    "out of range": ("lapsvm", "links", {"cannot": [(1, 40)]}, r"cannot=\[\(1, 40\)\] must be .* 0 to 39"),
    "triples": ("lapsvm", "links", {"must": [(1, 2, 3)]}, r"must=.* must be a list of pairs"),
    "pairs of text": ("lapsvm", "links", {"must": [("a", "b")]}, r"must=.* must be a list of pairs"),
    "ragged": ("lapsvm", "links", {"must": [(1, 2), (3,)]}, r"must=.* must be a list of pairs"),
    "no list": ("lapsvm", "links", {"must": 3}, r"must=3 must be a list of pairs"),
    "share of 2": ("lapsvm", "class_shares", {"positive": 2.0}, "positive=2.0 must be a number >= 0 and at most 1"),
    "share of text": ("lapsvm", "class_shares", {"positive": "half"}, "positive='half' must be"),
    "reversed": ("lapsvm", "class_shares", {"positive": (0.6, 0.5)}, r"positive=\(0.6, 0.5\) must be a share"),
    "three shares": ("lapsvm", "class_shares", {"positive": (0.1, 0.2, 0.3)}, r"positive=\(0.1, 0.2, 0.3\) must be"),
    "within": ("lapsvm", "class_shares", {"positive": 0.5, "within": np.nan}, "within=nan must be"),
    "radius": ("lapsvm", "robust_margins", {"radius": np.inf}, "radius=inf must be"),
    "no margin": ("dual", "robust_margins", {"radius": 1.0}, "built is LapSVM dual, without a 'margin'"),
    "no decisions": (
        "dual",
        "fairness",
        {"group": MASK},
        "built is LapSVM dual, which has no decisions; build a primal form",
    ),
    "a loss that rises": ("squares", "robust_margins", {"radius": 1.0}, "built is LapRLS primal, without a 'margin'"),
    "of another size": ("lapsvm", "insensitive_smoothness", {"W": np.eye(3), "eps": 0, "weight": 1}, "40"),
    "no edge": (
        *("lapsvm", "insensitive_smoothness", {"W": np.zeros((40, 40)), "eps": 0, "weight": 1}),
        "W has no edge; take a graph",
    ),
    "eps": ("lapsvm", "insensitive_smoothness", {"W": np.ones((40, 40)), "eps": -1, "weight": 1}, "eps=-1 must be"),
    "no problem": ("none", "convex", {}, "built=None is of the type NoneType, not BuiltProblem"),
    "unknown": ("spectrum", "convex", {"wieght": 1.0}, "wieght"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_a_model_refuses_is_named(name, built, over_spectrum, over_graphs):
    of, model, options, says = BAD[name]
    given = {
        "lapsvm": lambda: built,
        "spectrum": lambda: over_spectrum,
        "graphs": lambda: over_graphs,
        "dual": lambda: sm.problems.lapsvm_dual(built.objective),
        "squares": lambda: sm.problems.lapsvm_primal(built.objective.with_(loss="squared")),
        "none": lambda: None,
    }[of]()
    with pytest.raises(sm.exceptions.InvalidInputError, match=says):
        getattr(models, model)(**options)(given)


def test_few_weights_have_no_bends():
    data = data_of("moons")
    spectrum = sm.spectra.laplacian_eigenpairs(data.graphs[0], q=3, normalized=False)
    built = sm.problems.stoam(sm.objectives.SpectrumMargin(spectrum, data.labels), "primal")
    for model in (models.smooth(weight=1.0), models.convex()):
        with pytest.raises(sm.exceptions.InvalidInputError, match="fewer than four weights"):
            model(built)


def test_the_page_prints_what_it_shows():
    """The blocks of docs/models.md, and after them what they have printed."""
    text = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "models"}
    heard = io.StringIO()
    shown = 0
    for kind, block in re.findall(r"^```(python|text)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if kind == "python":
            with contextlib.redirect_stdout(heard):
                exec(block, namespace)
        else:
            assert heard.getvalue() == block
            heard, shown = io.StringIO(), shown + 1
    assert heard.getvalue() == ""
    assert shown == 13
    assert [name for name in models.__all__ if f"models.{name}(" not in text or f"| `{name}(" not in text] == []
