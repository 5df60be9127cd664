"""Branch and bound by boxes: what is answered, which problems go that way, and what its failures look like."""

import numpy as np
import pytest
from margin_problems import enumerated, with_trees_of

from specmargin import optima, solvers, verify
from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import branching as branch_and_bound
from specmargin.optima.bound import s3vm_bound
from specmargin.optima.boxes import nodes as box_nodes
from specmargin.optima.boxes.by_boxes import _multipliers, by_boxes, is_for_boxes
from specmargin.optima.boxes.margin_space import MarginSpace, Quadratic
from specmargin.optima.boxes.product_bound import product_bound
from specmargin.optima.boxes.product_sdp import product_sdp
from specmargin.optima.boxes.products import Products
from specmargin.optima.boxes.search import BoxSearch
from specmargin.results import Status

KINDS = [
    {},
    {"intercept": "regularized", "C_star": 0.3},
    {"intercept": "none", "C": 30.0},
    {"intercept": "none", "balance_on": "slack", "balance": 0.1},
]


def objective(seed=0, u=7, **options):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1, 0, 1], np.full(u, -1))
    return S3VM(rng.standard_normal((u + 4, 3)), encode_labels(y), **{"C": 1.0, **options})


def solved(obj, **options):
    return by_boxes(obj, None, **{"tol": 1e-6, "time_limit": 60.0, "max_nodes": 1000, "progress": None, **options})


@pytest.mark.parametrize("options", KINDS)
def test_the_answer_is_the_optimum_over_all_labelings(options):
    obj = objective(**options)
    assert is_for_boxes(obj, 1e-6)
    result = solved(obj)
    labelings, values, _ = enumerated(MarginSpace.of(obj))
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(values.min(), rel=1e-6)
    assert result.certificate.dual_objective <= values.min() * (1 + 1e-9)
    assert result.variables["labels"] == pytest.approx(labelings[values.argmin()][obj.unlabeled])
    assert result.variables["w"].shape == (obj.size,)
    assert ("x" in result.variables) == (obj.balance_on == "slack")


@pytest.mark.parametrize("options", KINDS[:3])
def test_the_search_by_labels_agrees(options, monkeypatch):
    obj = objective(seed=1, u=14, **options)
    ours = optima.branch_and_bound(obj)
    monkeypatch.setattr(branch_and_bound, "is_for_boxes", lambda *_: False)
    theirs = optima.branch_and_bound(obj)
    assert ours.certificate.primal_objective == pytest.approx(theirs.certificate.primal_objective, rel=1e-6)
    assert "n_cuts" in ours.variables
    assert "n_cuts" not in theirs.variables


def _noted(cuts, space, products, *given, **more):
    """Solve a relaxation, and note how many products of two samples it has."""
    cuts.append(len(products) - len(products.diagonal) - len(products.lines) - len(products.triangles))
    return product_sdp(space, products, *given, **more)


@pytest.mark.parametrize("options", KINDS)
def test_the_way_of_large_problems_ends_at_the_same_optimum(options, monkeypatch):
    """A rough first relaxation, few cuts at once, the zeros of F left out; no tree of labels that closes the root."""
    obj = objective(seed=2, u=16, **options)
    usual = solved(obj, tol=1e-4)
    with_trees_of(monkeypatch, 0)
    monkeypatch.setattr("specmargin.optima.boxes.nodes._MANY", 0)
    monkeypatch.setattr("specmargin.optima.boxes.product_sdp._SPARSE", 0)
    cuts = []
    monkeypatch.setattr(box_nodes, "product_sdp", lambda *given, **more: _noted(cuts, *given, **more))
    large = solved(obj, tol=1e-4)
    if obj.total is not None:  # no other solver has the first relaxation
        assert cuts.pop(0) == 0
    assert not cuts or 0 < cuts[0] <= len(obj.features.X) / 2  # where the root is still open
    assert usual.status is large.status is Status.OPTIMAL
    assert large.certificate.primal_objective == pytest.approx(usual.certificate.primal_objective, rel=1e-6)
    assert large.certificate.dual_objective <= usual.certificate.primal_objective * (1 + 1e-9)


@pytest.mark.parametrize("options", KINDS[:3])
def test_multipliers_of_decisions_prove_the_same_in_decisions_plus_slacks(options):
    """Two relaxations by two solvers: one bound, and moments that leave the products nothing on the whole."""
    obj = objective(seed=3, u=25, **options)
    space = MarginSpace.of(obj)
    space.highest = 100.0
    products = Products.of(space.y, None)
    proof = product_bound(space, products, _multipliers(obj))
    assert proof.lower == pytest.approx(s3vm_bound(obj).certificate.dual_objective, rel=1e-6)
    assert proof.lower == pytest.approx(product_sdp(space, products, tol=1e-5).value, rel=2e-3)
    X = proof.moments()
    assert proof.lam @ products.values(X) == pytest.approx(0.0, abs=1e-9 * proof.lam.sum())
    assert np.linalg.eigvalsh(X).min() > -1e-12
    assert X[-1, -1] == 1.0
    assert X[-1, :-1] == pytest.approx(proof.x)


def test_labels_that_the_root_fixes_hold_in_the_optimum(monkeypatch):
    with_trees_of(monkeypatch, 0)
    obj = objective(u=14)
    search = BoxSearch(MarginSpace.of(obj), 1e-3)
    search.run()
    result = solved(obj, tol=1e-3)
    fixed = search.root_box.labels[obj.unlabeled]
    assert int(result.variables["n_fixed"]) == np.count_nonzero(fixed) > 0
    assert (fixed * result.variables["labels"] >= 0).all()


def test_large_weights_hinges_and_many_samples_go_the_way_of_labels():
    assert not is_for_boxes(objective(C=1e12), 1e-6)
    assert not is_for_boxes(objective(loss="hinge"), 1e-6)
    assert not is_for_boxes(objective(u=1300), 1e-6)
    assert optima.branch_and_bound(objective(C=1e12)).status is Status.OPTIMAL


def test_a_given_point_that_is_better_is_the_answer():
    obj = objective(u=10)
    w = solved(obj).variables["w"]
    result = by_boxes(obj, w, tol=1e-6, time_limit=60.0, max_nodes=0, progress=None)
    assert obj.value_at(result.variables["w"]) <= obj.value_at(w)
    assert result.status is Status.MAX_ITER
    assert "stopped" in result.message


def test_bounds_that_contradict_themselves_are_an_alarm(monkeypatch):
    dual_bound = Quadratic.dual_bound
    monkeypatch.setattr(Quadratic, "dual_bound", lambda self, p, gain: 1.5 * dual_bound(self, p, gain))
    result = solved(objective())
    assert result.status is Status.NUMERICAL
    monkeypatch.setattr(Quadratic, "dual_bound", lambda self, p, gain: 0.9 * dual_bound(self, p, gain))
    with_trees_of(monkeypatch, 0)
    result = solved(objective(u=5))
    assert result.certificate.dual_objective <= result.certificate.primal_objective


def test_the_time_limit_is_kept():
    obj = objective(u=120)
    result = solved(obj, time_limit=0.2)
    assert result.status is Status.MAX_ITER
    assert result.seconds < 3.0
    assert 0.0 < result.certificate.dual_objective < result.certificate.primal_objective


@pytest.mark.parametrize(
    ("options", "given", "sentence"),
    [
        ({}, {"time_limit": 0}, "time_limit=0 must be a positive number"),
        ({}, {"n_jobs": 0}, "n_jobs=0; take a number of processes"),
        ({}, {"tree": "no folder/it.npz"}, "lies in no folder that exists"),
        ({"loss": "hinge"}, {"tree": "it.npz"}, "are for the search by boxes"),
        ({"loss": "hinge"}, {"n_jobs": 2}, "are for the search by boxes"),
        ({"u": 1, "intercept": "none", "balance_on": "slack", "balance": 0.2}, {}, "adds up to 0.2"),
        ({"balance": 2.0}, {}, "balance=2.0 must be in"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(options, given, sentence, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=sentence):
        optima.branch_and_bound(objective(**options), **given)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_without_unlabelled_losses_the_answer_is_the_convex_svm_with_any_intercept(loss):
    for options in ({"u": 0}, {"u": 5, "C_star": 0.0, "intercept": "free"}):
        obj = objective(loss=loss, **options)
        result = optima.branch_and_bound(obj)
        assert result.status is Status.OPTIMAL
        others = solvers.weighted_svm(obj.guessed(np.zeros(len(obj.unlabeled)), 0.0)).certificate
        assert result.certificate.primal_objective == pytest.approx(others.primal_objective, rel=1e-9)
        assert verify(obj, result).holds


@pytest.mark.parametrize("options", [{}, {"intercept": "none", "balance_on": "slack", "balance": -1.0}])
def test_one_unlabelled_sample_has_the_better_of_two_labels(options):
    obj = objective(u=1, **options)
    result = solved(obj)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(enumerated(MarginSpace.of(obj))[1].min(), rel=1e-6)


def test_a_tree_is_saved_and_gone_on_from(tmp_path):
    obj, tree = objective(u=20), tmp_path / "it.npz"
    stopped = optima.branch_and_bound(obj, max_nodes=0, tree=tree)
    assert stopped.status is Status.MAX_ITER
    whole = optima.branch_and_bound(obj, tree=tree)
    assert whole.status is Status.OPTIMAL
    again = optima.branch_and_bound(obj, tree=tree)
    assert again.certificate == whole.certificate
    with pytest.raises(InvalidInputError, match="another problem or tolerance"):
        optima.branch_and_bound(objective(seed=5, u=20), tree=tree)


@pytest.mark.parametrize("balance_on", ["slack", "labels"])
def test_weights_that_are_too_large_for_the_features_are_named(balance_on):
    """What it says is enough: the features divided by their deviation are answered."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14, 2)) * 10.0
    options = {"unlabeled_loss": "symmetric_squared_hinge", "intercept": "none", "balance_on": balance_on, "C": 100.0}
    labels = encode_labels(np.where(np.arange(14) < 6, np.arange(14) % 2, -1))
    obj = S3VM(X, labels, "squared_hinge", C_star=100.0, balance=0.0, **options)
    with pytest.raises(
        InvalidInputError, match=r"C=100 and C_star=100 are too large for features of this scale.*Divide"
    ):
        optima.branch_and_bound(obj)
    scaled = S3VM(X / X.std(axis=0), labels, "squared_hinge", C_star=100.0, balance=0.0, **options)
    assert optima.branch_and_bound(scaled).status is Status.OPTIMAL
