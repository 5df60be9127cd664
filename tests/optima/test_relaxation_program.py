"""The semidefinite relaxation of S3VMs in CVXPY against the numpy bound, and its certificates against the truth."""

import itertools

import cvxpy as cp
import numpy as np
import pytest

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.labels import encode_labels
from specmargin.losses import ExpSquared, SymmetricRamp
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import branch_and_bound
from specmargin.optima.bound import s3vm_bound
from specmargin.optima.boxes.margin_boxes import MarginBox
from specmargin.optima.boxes.margin_space import MarginSpace
from specmargin.optima.boxes.product_bound import product_bound
from specmargin.optima.boxes.product_sdp import product_sdp
from specmargin.optima.boxes.products import Products
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.optima.relaxation_program import s3vm_relaxation
from specmargin.problems import solve
from specmargin.results import Status

LOSSES = {
    "hinge": {"loss": "hinge"},
    "squared hinge": {"loss": "squared_hinge"},
    "exp": {"unlabeled_loss": "exp"},
    "exp, s = 5": {"unlabeled_loss": ExpSquared(5.0)},
    "hinge and exp": {"loss": "hinge", "unlabeled_loss": "exp"},
    "mixed": {"loss": "squared_hinge", "unlabeled_loss": "symmetric_hinge"},
    "flat ramp": {"loss": "hinge", "unlabeled_loss": SymmetricRamp(0.0)},
}
losses = pytest.mark.parametrize("options", LOSSES.values(), ids=LOSSES)


def objective(u=8, d=4, C=10.0, seed=0, balance=0.2, intercept="balance", **options):
    rng = np.random.default_rng(seed)
    side = np.arange(u + 4) % 2
    X = rng.standard_normal((u + 4, d)) + side[:, None]
    y = np.where(np.arange(u + 4) < 4, side, -1)
    return S3VM(X, encode_labels(y), C=C, balance=balance, intercept=intercept, **options)


def best_of_all(obj):
    """The global optimum of the squared hinge by CVXPY, labeling by labeling."""
    A, l = obj.features.dense(), obj.labels.n_labeled
    values = []
    for labels in itertools.product([-1.0, 1.0], repeat=len(obj.unlabeled)):
        y, w = np.concatenate([obj.labels.sign, labels]), cp.Variable(A.shape[1])
        slack = cp.pos(1 - cp.multiply(y, A @ w + obj.features.offset))
        cost = obj.C * cp.sum_squares(slack[:l]) + obj.C_star * cp.sum_squares(slack[l:])
        values.append(cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cost)).solve(solver="CLARABEL"))
    return min(values)


@losses
@pytest.mark.parametrize(("C", "intercept"), [(1.0, "regularized"), (100.0, "balance")])
def test_relaxation_equals_the_numpy_bound(options, C, intercept, tight):
    obj = objective(C=C, intercept=intercept, **options)
    result = solve(s3vm_relaxation(obj), **tight["CLARABEL"])
    ours = s3vm_bound(obj, tol=1e-7)
    assert result.status is Status.OPTIMAL
    assert ours.status is Status.OPTIMAL
    for certificate in (result.certificate, ours.certificate):
        assert certificate.dual_objective == pytest.approx(ours.certificate.primal_objective, rel=2e-6)
        assert certificate.primal_objective == pytest.approx(ours.certificate.primal_objective, rel=2e-6)
    np.testing.assert_allclose(result.variables["theta"], ours.variables["theta"], rtol=0.02, atol=1e-3 * C)


@pytest.mark.slow
@losses
def test_relaxation_equals_the_numpy_bound_of_more_samples(options):
    for seed in range(3):
        obj = objective(u=24, d=10, C=[1.0, 100.0][seed % 2], seed=seed, **options)
        result, ours = solve(s3vm_relaxation(obj)), s3vm_bound(obj, tol=1e-6)
        assert result.certificate.dual_objective == pytest.approx(ours.certificate.dual_objective, rel=1e-5)


def test_the_solvers_own_value_is_no_bound_but_the_certificate_is():
    """A loose first-order solver: whatever it says, the repaired multipliers prove a bound."""
    obj = objective(u=4, d=3, C=100.0, seed=4)
    optimum = best_of_all(obj)
    tight = s3vm_bound(obj, tol=1e-7).certificate.dual_objective
    said = []
    for eps in (1e-1, 1e-2, 1e-3):
        built = s3vm_relaxation(obj)
        result = solve(built, "SCS", eps=eps)
        said.append(built.problem.value)
        assert result.certificate.dual_objective <= min(optimum, tight) * (1 + 1e-6)
        assert result.certificate.primal_objective >= tight * (1 - 1e-9)
        assert result.certificate.dual_objective >= 0.5 * tight
        # Those multipliers are returned, not what they were before the repair.
        theta, beta = result.variables["theta"], result.variables["beta"]
        assert S3VMRelaxation(obj).dual_bound(theta, beta) == pytest.approx(
            result.certificate.dual_objective, rel=1e-12
        )
    # One of these claims is above the global optimum of J.
    assert max(said) > 1.1 * optimum


def test_multipliers_of_the_constraints_are_those_of_the_dual(tol):
    obj = objective(u=6)
    built = s3vm_relaxation(obj)
    result = solve(built)
    relaxation = S3VMRelaxation(obj)
    theta, beta = 2 * result.duals["square"], result.duals["margin"] / relaxation.weights
    np.testing.assert_allclose(result.variables["theta"], theta, rtol=1e-4, atol=1e-8)
    np.testing.assert_allclose(result.variables["beta"], beta)
    # Complementarity: where s and t are the relaxed f^2 and margins, theta = -2 C* v'(s) and beta = -V'(t).
    s, t = result.variables["s"], result.variables["t"]
    np.testing.assert_allclose(theta, 2 * obj.C_star * np.maximum(1 / np.sqrt(s) - 1, 0), atol=1e-3 * obj.C_star)
    np.testing.assert_allclose(beta, 2 * np.maximum(1 - t, 0), atol=1e-3)
    f = result.variables["f"]
    np.testing.assert_allclose(f, obj.decisions_at(result.variables["w"]), rtol=tol["linalg"])
    np.testing.assert_allclose(t, obj.labels.sign * f[obj.labels.labeled], atol=1e-5)
    assert set(built.constraints) == {"psd", "corner", "margin", "square"}
    assert set(built.variables) == {"M", "s", "t"}


def test_decided_labels():
    """A relaxation with decided labels, a node of branch and bound, and one with all of them: then it is exact."""
    obj = objective(u=3, d=3)
    values = []
    for first in (-1.0, 1.0):
        node = S3VMRelaxation(obj, np.array([first, 0, 0]))
        values.append(solve(s3vm_relaxation(node)).certificate.dual_objective)
    root = solve(s3vm_relaxation(obj)).certificate.dual_objective
    optimum = best_of_all(obj)
    assert root <= min(values) * (1 + 1e-7) <= optimum * (1 + 1e-6)
    leaves = [
        solve(s3vm_relaxation(S3VMRelaxation(obj, np.array(labels)))).certificate
        for labels in itertools.product([-1.0, 1.0], repeat=3)
    ]
    assert min(c.dual_objective for c in leaves) == pytest.approx(optimum, rel=1e-6)
    with pytest.raises(TypeError, match=r"ExpEnvelope\(s=3.0\) has no convex CVXPY expression"):
        s3vm_relaxation(S3VMRelaxation(objective(u=4, unlabeled_loss="exp"), np.array([1.0, 0, 0, 0])))


def test_without_unlabelled_losses():
    obj = objective(C_star=0.0)
    result = solve(s3vm_relaxation(obj))
    assert result.certificate.is_optimal(1e-6)
    assert "s" not in result.variables
    assert result.certificate.dual_objective == pytest.approx(obj.value_at(result.variables["w"]), rel=1e-6)


def test_refusals_and_failures():
    with pytest.raises(ValueError, match="unbounded for a free intercept"):
        s3vm_relaxation(objective(intercept="free"))
    with pytest.raises(ValueError, match="cover convex losses"):
        s3vm_relaxation(objective(loss="squared", unlabeled_loss="exp"))
    with pytest.raises(ValueError, match=r"SymmetricRamp\(s=-0.2\) has no CVXPY form here"):
        s3vm_relaxation(objective(loss="hinge", unlabeled_loss=SymmetricRamp(-0.2)))
    assert sm.problems.default_solvers()[0] == "CLARABEL"


def test_a_smooth_loss_has_the_relaxation_of_the_numpy_solver():
    obj = objective(loss="smooth_hinge")
    answer, bound = solve(s3vm_relaxation(obj)), s3vm_bound(obj, tol=1e-6).certificate.dual_objective
    assert answer.status is Status.OPTIMAL
    assert answer.certificate.primal_objective == pytest.approx(bound, rel=1e-5)


@pytest.mark.parametrize("balance", [0.0, 0.5])
def test_features_that_are_all_alike_have_a_relaxation(balance):
    labels = encode_labels([0, 1, 1, 1] + [-1] * 8)
    flat = S3VM(np.zeros((12, 2)), labels, balance=balance)
    near = S3VM(1e-4 * np.eye(12)[:, :2], labels, balance=balance)
    result, limit = solve(s3vm_relaxation(flat)), solve(s3vm_relaxation(near))
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(limit.certificate.primal_objective, abs=1e-4)
    np.testing.assert_allclose(result.variables["f"], balance)


# With cuts, in decision plus slack


def numpy_bound(obj, cuts, level):
    """The bound of the exact search with all cuts of the box of a level, to the end: product_sdp."""
    space = MarginSpace.of(obj)
    space.highest = level
    box = MarginBox.of(space.y)
    box.meet(*space.quadratic.reduced().box(level) if space.total is None else unbalanced(space, level), level)
    pairs = itertools.combinations(range(len(space.y)), 2)
    chosen = [(i, j, kind) for i, j in pairs for kind in range(4)] if cuts != "diagonal" else []
    triples = itertools.combinations(range(len(space.y) + 1), 3)
    triangles = [(*triple, kind) for triple in triples for kind in range(4)] if cuts == "triangles" else []
    products = Products.of(space.y, box, None, chosen, triangles)
    found = product_sdp(space, products, tol=1e-9, max_iter=200)
    return product_bound(space, products, found.lam).lower


def unbalanced(space, level):
    """The box of a level without regard to the balance."""
    radius = np.sqrt(2.0 * level * space.Q.diagonal())
    return -radius, radius


@pytest.mark.parametrize("cuts", ["diagonal", "products", "triangles"])
@pytest.mark.parametrize("options", [{}, {"intercept": "regularized", "C_star": 3.0}, {"intercept": "none", "C": 1.0}])
def test_cuts_are_those_of_the_exact_search(cuts, options, tight):
    obj = objective(u=4, d=3, **options)
    level = 1.05 * best_of_all(obj)
    result = solve(s3vm_relaxation(obj, cuts=cuts, level=level), **tight["CLARABEL"])
    ours = numpy_bound(obj, cuts, level)
    assert result.certificate.dual_objective == pytest.approx(ours, rel=1e-6)
    assert min(result.certificate.dual_objective, level) <= level / 1.05 * (1 + 1e-7)


@pytest.mark.parametrize(("seed", "C", "d"), [(3, 10.0, 5), (4, 30.0, 4)])
def test_cuts_tighten_the_relaxation_of_the_labels(seed, C, d):
    obj = objective(u=5, d=d, seed=seed, C=C)
    level = branch_and_bound(obj).certificate.primal_objective
    built = s3vm_relaxation(obj), *(s3vm_relaxation(obj, cuts=cuts, level=level) for cuts in ("diagonal", "products"))
    plain, diagonal, products = (solve(one).certificate.dual_objective for one in built)
    assert 1.01 * plain < diagonal < products / 1.01 < level / 1.01


def test_triangles_tighten_the_relaxation_of_products():
    obj = objective(u=7, d=6, seed=3, C=1.0)
    level = branch_and_bound(obj).certificate.primal_objective
    products, triangles = (
        solve(s3vm_relaxation(obj, cuts=cuts, level=level)).certificate.dual_objective
        for cuts in ("products", "triangles")
    )
    assert 1.001 * products < triangles <= level * (1 + 1e-7)


@pytest.mark.parametrize("cuts", ["diagonal", "products", "triangles"])
def test_a_balance_on_slack_is_an_equation_of_all_moments(cuts, tight):
    obj = objective(u=4, d=3, C=1.0, intercept="none", balance_on="slack")
    level = 1.05 * branch_and_bound(obj).certificate.primal_objective
    ours = numpy_bound(obj, cuts, level)
    result = solve(s3vm_relaxation(obj, cuts=cuts, level=level), **tight["CLARABEL"])
    # The search prices the balance, which is weaker than the equation by what the price leaves.
    assert ours * (1 - 1e-7) <= result.certificate.dual_objective <= min(1.02 * ours, level)


@pytest.mark.parametrize(
    ("options", "given", "sentence"),
    [
        ({"loss": "hinge"}, {"cuts": "products", "level": 1.0}, "squared hinges"),
        ({}, {"cuts": "products"}, "finite level"),
        ({}, {"cuts": "products", "level": -1.0}, "finite level"),
        ({}, {"cuts": "squares", "level": 1.0}, "take 'diagonal', 'products' or 'triangles'"),
        ({"C_star": 0.0}, {"cuts": "diagonal", "level": 1.0}, "C_star > 0"),
    ],
)
def test_what_has_no_cuts_is_refused(options, given, sentence):
    with pytest.raises(InvalidInputError, match=sentence):
        s3vm_relaxation(objective(u=3, **options), **given)
