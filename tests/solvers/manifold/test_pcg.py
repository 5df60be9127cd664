"""Preconditioned conjugate gradients: the optimum, the stops on the way to it, and what an iteration costs."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from manifold_problems import data, objective

import specmargin as sm
from specmargin.kernels.operators import KernelOperator
from specmargin.objectives import LapSVM
from specmargin.results import Status
from specmargin.solvers import factorized
from specmargin.solvers.manifold.conjugate import Stack, StackedProblem, kernel_product
from specmargin.solvers.manifold.newton import newton
from specmargin.solvers.manifold.pcg import pcg, pcg_one_vs_rest
from specmargin.solvers.manifold.stopping import DecisionRule, NormRule

losses = pytest.mark.parametrize("loss", ["squared_hinge", "huber_hinge", "squared"])
intercepts = pytest.mark.parametrize("fit_intercept", [True, False])
NORMS = ["gradient", "preconditioned_gradient", "mixed_product"]


def moons(n=200, per_class=1, noise=0.05, seed=0, gamma_A=1e-2, **options):
    """Two moons, their signs, and the objective of the primal paper's figure 3."""
    X, y_true = sm.datasets.make_two_moons(n_samples=n, noise=noise, random_state=seed)
    labels = sm.encode_labels(sm.hide_labels(y_true, per_class=per_class, random_state=seed))
    K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    return LapSVM(K, L, labels, loss="squared_hinge", gamma_A=gamma_A, gamma_I=1.0, **options), 2.0 * y_true - 1.0


class Counted(KernelOperator):
    """A matrix that counts the columns it is multiplied with."""

    def __init__(self, matrix):
        self.matrix, self.columns, self.products = matrix, 0, 0

    @property
    def shape(self):
        return self.matrix.shape

    def __matmul__(self, other):
        self.products += 1
        self.columns += 1 if other.ndim == 1 else other.shape[1]
        return self.matrix @ other

    def rows(self, index):
        return self.matrix[index]

    def trace(self):
        return float(np.trace(self.matrix))


# The optimum


@losses
@intercepts
@pytest.mark.parametrize(("copies", "width", "l"), [(1, 0.1, 2), (2, 4.0, 20)])
def test_it_reaches_the_objective_of_the_factorisation(loss, fit_intercept, copies, width, l):
    """Singular K: a wide kernel, and copies of samples with opposite labels."""
    for gamma_A, gamma_I in ((1e-2, 1.0), (1.0, 1.0), (1.0, 0.0), (1e-2, 1e-2)):
        obj = objective(data(60, l, copies=copies, width=width), loss, gamma_A, gamma_I, fit_intercept=fit_intercept)
        result = pcg(obj, tol=1e-9)
        assert result.status is Status.OPTIMAL
        exact = factorized(obj).certificate.primal_objective
        assert result.certificate.primal_objective == pytest.approx(exact, rel=1e-8)
        assert result.certificate.primal_objective >= exact * (1 - 1e-10)


@pytest.mark.parametrize("l", [2, 20])
@pytest.mark.parametrize("width", [1.0, 4.0])
def test_condition_of_S_up_to_1e8(l, width):
    K, L, labels = data(60, l, width=width)
    gamma_A = np.linalg.norm(L @ K, 2) / 1e8
    gamma_A *= np.linalg.cond(gamma_A * np.eye(60) + L @ K) / 1e8
    obj = LapSVM(K, L, labels, loss="squared_hinge", gamma_A=gamma_A, gamma_I=1.0)
    assert 5e7 < np.linalg.cond(gamma_A * np.eye(60) + L @ K) < 2e8
    result = pcg(obj, stopping="mixed_product", tol=1e-11, max_iter=20000)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(factorized(obj).certificate.primal_objective, rel=1e-8)


# The course of the iteration


@losses
@intercepts
@pytest.mark.parametrize("preconditioner", ["scaled", "printed"])
def test_history_holds_what_the_figures_draw(loss, fit_intercept, preconditioner):
    """Every quantity recomputed from the iterate that max_iter leaves behind."""
    case = data()
    truth = np.where(np.arange(60) % 2, 1.0, -1.0)
    obj = objective(case, loss, fit_intercept=fit_intercept)
    V = obj.labels.unlabeled[:10]
    options = {"validation": V, "truth": truth, "preconditioner": preconditioner}
    full = pcg(obj, max_iter=12, **options)
    assert len(full.history) == full.n_iter + 1 == 13
    U, y, labeled = obj.labels.unlabeled[10:], obj.labels.sign, obj.labels.labeled
    weight = fit_intercept * (1.0 if preconditioner == "printed" else 1 / 20)
    decisions = [np.zeros(60, bool)]
    for t in range(1, 13):
        result = pcg(obj, max_iter=t, **options)
        alpha, b, f = result.variables["alpha"], float(result.variables["b"]), result.variables["f"]
        decisions.append(f > 0)
        by_alpha, by_b = obj.gradient(alpha, b)
        inner = np.linalg.lstsq(obj.K, by_alpha, rcond=None)[0]
        expected = {
            "objective": obj.value_at(alpha, b),
            "gradient": np.hypot(np.linalg.norm(by_alpha), by_b),
            "preconditioned_gradient": np.hypot(np.linalg.norm(inner), weight * by_b),
            "mixed_product": np.sqrt(by_alpha @ inner + weight * by_b**2),
            "active": {
                "squared_hinge": (y * f[labeled] < 1).sum(),
                "huber_hinge": (np.abs(1 - y * f[labeled]) < 0.5).sum(),
                "squared": 20,
            }[loss],
            "changed": np.mean((decisions[-1] != decisions[-2])[U]),
            "labeled_error": np.mean((f[labeled] > 0) != (y > 0)),
            "unlabeled_error": np.mean((f[U] > 0) != (truth[U] > 0)),
            "validation_error": np.mean((f[V] > 0) != (truth[V] > 0)),
        }
        for name, value in expected.items():
            assert full.history[name][t] == pytest.approx(value, rel=1e-6, abs=1e-12), name
    assert full.history["objective"][0] == pytest.approx(obj.scale * 20)
    assert full.history.columns.keys() == expected.keys() | {"step"}
    assert (np.diff(full.history["objective"]) < 0).all()


def stack_at_zero(obj):
    problem = StackedProblem(obj, obj.labels.sign[:, None], scaled=True, dtype=np.dtype(float))
    return problem, Stack.at(problem, np.arange(1), np.zeros((obj.labels.n_samples, 1)), np.zeros(1))


def test_directions_are_those_of_polak_and_ribiere():
    """From gradients by the objective itself, over an iteration in which E changes and updates turn negative."""
    obj = objective(data(60, 60, width=1.0), gamma_I=1e-2)
    problem, stack = stack_at_zero(obj)
    K_inverse = np.linalg.pinv(obj.K, rcond=1e-9)
    restarts, changes = 0, 0

    def active():
        return obj.labels.sign * (stack.Kalpha[obj.labels.labeled, 0] + stack.b) < 1

    for _ in range(60):
        before = obj.gradient(stack.alpha[:, 0], stack.b[0])
        d, db, length, was = stack.d.copy(), stack.db.copy(), stack.square[0], active()
        stack.advance(problem)
        after = obj.gradient(stack.alpha[:, 0], stack.b[0])
        change = after[0] - before[0], after[1] - before[1]
        update = (after[0] @ K_inverse @ change[0] + after[1] * change[1] / 60) / length
        np.testing.assert_allclose(stack.d, max(update, 0.0) * d - stack.g, atol=1e-5 * np.abs(stack.d).max())
        np.testing.assert_allclose(stack.db, max(update, 0.0) * db - after[1] / 60, atol=1e-5 * np.abs(stack.d).max())
        restarts += update < -1e-3
        changes += int((active() != was).any())
    assert restarts > 0
    assert changes > 5


def test_a_direction_that_climbs_is_given_up():
    obj = objective(data())
    problem, stack = stack_at_zero(obj)
    _, downhill = stack_at_zero(obj)
    downhill.advance(problem)
    stack.d, stack.db, stack.Kd = -stack.d, -stack.db, -stack.Kd
    step, fall = stack.advance(problem)
    assert step[0] > 0
    assert fall[0] > 0
    np.testing.assert_allclose(stack.alpha, downhill.alpha)


@pytest.mark.parametrize("iterations", [10, 60])
def test_one_kernel_product_per_iteration(iterations):
    """Beyond a constant for the start, the check at the end and the certificate."""
    obj, truth = moons()
    fixed = {}
    for t in (1, iterations):
        K, L = Counted(obj.K), Counted(obj.L)
        V = obj.labels.unlabeled[:5]
        result = pcg(replace(obj, K=K, L=L), tol=0.0, max_iter=t, truth=truth, validation=V)
        assert result.n_iter == t
        fixed[t] = K.columns - t
        # The certificate may improve its bound by conjugate gradients on the graph. One that is known by its products
        # alone is stored for it, too: n of them.
        assert L.columns - t <= 130 + len(truth)
    assert max(fixed.values()) <= 5


@pytest.mark.parametrize("form", ["sparse", "operator"])
def test_kernels_that_are_no_arrays(form):
    obj = objective(data(), gamma_A=0.1)
    K = np.where(obj.K > 1e-3, obj.K, 0.0)
    K += max(0.0, -np.linalg.eigvalsh(K)[0]) * np.eye(60)
    stored = replace(obj, K=K)
    other = replace(obj, K=sp.csr_array(K) if form == "sparse" else Counted(K))
    for solve in (pcg, newton):
        np.testing.assert_allclose(solve(other).variables["f"], solve(stored).variables["f"], atol=1e-9)
    np.testing.assert_allclose(pcg(other, dtype=np.float32).variables["f"], pcg(stored).variables["f"], atol=1e-6)


def test_scaled_bias_needs_fewer_iterations():
    """The printed preconditioner takes the derivative by b at its face value, l times too long."""
    ratios = []
    for gamma_A in (1e-1, 1e-2):
        for l in (150, 200):
            obj = objective(data(200, l), gamma_A=gamma_A)
            ratios.append(pcg(obj).n_iter / pcg(obj, preconditioner="printed").n_iter)
    assert np.exp(np.mean(np.log(ratios))) < 0.8


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("gamma_A", "copies", "width"), [(1.0, 1, 4.0), (1e-2, 2, 4.0)])
def test_it_stays_converged(dtype, gamma_A, copies, width):
    """Tolerance 0: 5,000 further iterations change nothing, and nothing overflows or divides by zero on the way."""
    obj = objective(data(copies=copies, width=width), gamma_A=gamma_A)
    with np.errstate(all="raise", under="ignore"):
        short, long = (pcg(obj, tol=0.0, max_iter=n, dtype=dtype) for n in (4000, 9000))
    assert short.status is long.status is Status.OPTIMAL
    assert short.message == "nothing left but rounding"
    assert short.n_iter == long.n_iter
    np.testing.assert_array_equal(short.variables["f"], long.variables["f"])
    exact = factorized(obj).certificate.primal_objective
    assert long.certificate.primal_objective == pytest.approx(exact, rel=1e-11)
    assert np.isfinite(long.history["mixed_product"]).all()


def test_drift_of_the_recurrences_is_set_right():
    """gamma_A = 1e-6 on a wide kernel: without a new start the loss of conjugacy takes over for ever."""
    obj = objective(data(60, 6, width=0.1), gamma_A=1e-6, gamma_I=1e-2)
    result = pcg(obj)
    assert result.n_iter < 3000
    assert result.certificate.primal_objective == pytest.approx(factorized(obj).certificate.primal_objective, rel=1e-6)


def test_start_that_is_the_optimum():
    """Labels that cancel on two copies of one sample: f = 0 is optimal, and every norm is zero from the start."""
    obj = LapSVM(np.ones((4, 4)), None, sm.encode_labels([0, 1, 0, 1]), loss="squared", gamma_A=1.0)
    with np.errstate(all="raise"):
        result = pcg(obj, max_iter=50)
    assert result.status is Status.OPTIMAL
    assert result.certificate.primal_objective == pytest.approx(4.0, rel=1e-12)
    np.testing.assert_allclose(result.variables["f"], 0.0, atol=1e-12)


# Stops


@pytest.mark.parametrize("stopping", NORMS)
def test_norms_are_reached_and_not_overshot(stopping):
    obj = objective(data())
    for tol in (1e-2, 1e-5):
        result = pcg(obj, stopping=stopping, tol=tol)
        values = np.array(result.history[stopping])
        assert values[-1] <= tol * values[0]
        assert (values[:-1] > tol * values[0]).all()


def test_objective_stops_at_its_first_small_fall():
    result = pcg(objective(data()), stopping="objective", tol=1e-4)
    values = np.array(result.history["objective"])
    falls = -np.diff(values) / values[1:]
    assert falls[-1] <= 1e-4
    assert (falls[:-1] > 1e-4).all()


def test_checks_come_every_half_root_of_n():
    obj, truth = moons(n=400, gamma_A=1e-3)
    V = obj.labels.unlabeled[:20]
    for stopping in ("stability", "validation", "mixed", "safe"):
        result = pcg(obj, stopping=stopping, validation=V, truth=truth)
        assert result.status is Status.EARLY_STOPPED
        assert result.n_iter % 10 == 0
        assert result.message == f"stopped by {stopping}"


def test_mixed_stops_where_both_hold():
    def rule(name):
        nobody = np.arange(4)
        return DecisionRule(name, NormRule("mixed_product", 0.0), 1, nobody, nobody, np.array([True] * 4))

    # Decisions on four samples, all of which should be positive: gain, stable, change without gain, stable.
    course = [[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    stops = {}
    for name in ("stability", "validation", "mixed"):
        r = rule(name)
        stops[name] = [r.stops(t, {"mixed_product": 1.0}, np.array(p, float)) for t, p in enumerate(course)]
    assert stops["stability"] == [False, False, True, False, True]
    assert stops["validation"] == [False, False, True, True, True]
    assert stops["mixed"] == [False, False, True, False, True]
    # A gain at stable decisions (the watched samples are others) goes on.
    r = DecisionRule("mixed", NormRule("mixed_product", 0.0), 1, np.arange(2), np.arange(2, 4), np.array([True, True]))
    course = [[0, 0, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1], [1, 0, 1, 1]]
    assert [r.stops(t, {"mixed_product": 1.0}, np.array(p, float)) for t, p in enumerate(course)] == [False] * 3 + [
        True
    ]


def test_stable_means_fewer_than_three_changes_in_200():
    nobody = np.arange(0)
    for changed, answer in ((2, True), (3, False), (4, False)):
        r = DecisionRule("stability", NormRule("mixed_product", 0.0), 1, np.arange(200), nobody, nobody.astype(bool))
        f = np.ones(200)
        r.stops(0, {"mixed_product": 1.0}, f)
        r.stops(1, {"mixed_product": 1.0}, f)
        f = f.copy()
        f[:changed] = -1.0
        assert r.stops(2, {"mixed_product": 1.0}, f) is answer


def test_safe_wants_both_classes_three_checks_and_a_smaller_product():
    def run(course, products):
        r = DecisionRule("safe", NormRule("mixed_product", 0.0), 1, np.arange(3), np.arange(0), np.zeros(0, bool))
        pairs = enumerate(zip(course, products, strict=True))
        return [r.stops(t, {"mixed_product": m}, np.array(f, float)) for t, (f, m) in pairs]

    one, two = [1, 1, 1], [1, -1, 1]
    assert run([one] * 6, [1.0] + [1e-3] * 5) == [False] * 6
    assert run([two] * 5, [1.0] + [1e-3] * 4) == [False] * 4 + [True]
    assert run([two] * 5, [1.0] + [0.05] * 4) == [False] * 5
    assert run([two, two, two, one, two, two, two, two], [1.0] + [1e-3] * 7) == [False] * 7 + [True]
    # The second decision creeps towards a change, by 5 % and then by 2 % of itself.
    creeping, slow = ([[1, -((1 - move) ** t), 1] for t in range(6)] for move in (0.05, 0.02))
    assert run(creeping, [1.0] + [1e-3] * 5) == [False] * 6
    assert run(slow, [1.0] + [1e-3] * 5) == [False] * 4 + [True] * 2


def test_early_rules_end_at_convergence_where_decisions_stay_constant():
    """All labels but one are negative, and so is every decision at the optimum: safe must not wait for ever."""
    K, L, labels = data(60, 20)
    sign = -np.ones(20)
    sign[0] = 1.0
    obj = objective((K, L, type(labels)(sign, labels.labeled, labels.classes, 60)), gamma_A=10.0)
    result = pcg(obj, stopping="safe")
    assert (result.variables["f"] < 0).all()
    assert result.status is Status.OPTIMAL
    assert result.n_iter < 200


def test_status_of_an_interrupted_run():
    obj = objective(data(), gamma_A=1e-4)
    assert pcg(obj, max_iter=3).status is Status.MAX_ITER
    assert pcg(obj, tol=0.1).status is Status.UNPROVED
    assert pcg(obj, tol=0.1, gap_tol=1e3).status is Status.OPTIMAL


def test_nothing_to_watch_when_every_sample_is_labelled():
    obj = objective(data(60, 60))
    assert pcg(obj, stopping="safe").status is Status.EARLY_STOPPED
    assert "unlabeled_error" not in pcg(obj, truth=np.ones(60)).history


# Several classes, single precision


@losses
def test_stacked_classes_are_the_single_ones(loss):
    n_classes = 4
    K, L, labels = data(90, 30, n_classes=n_classes)
    obj = LapSVM(K, L, next(labels.one_vs_rest()), loss=loss, gamma_A=1e-2, gamma_I=1.0)
    stacked = pcg_one_vs_rest(obj, labels, tol=1e-10)
    assert len(stacked) == n_classes
    for binary, together in zip(labels.one_vs_rest(), stacked, strict=True):
        alone = pcg(LapSVM(K, L, binary, loss=loss, gamma_A=1e-2, gamma_I=1.0), tol=1e-10)
        # Sums of a matrix product are rounded otherwise, and many iterations magnify it.
        assert abs(together.n_iter - alone.n_iter) <= 0.1 * alone.n_iter
        np.testing.assert_allclose(together.variables["f"], alone.variables["f"], atol=1e-7)
        assert together.certificate.primal_objective == pytest.approx(alone.certificate.primal_objective, rel=1e-10)
        assert together.status is Status.OPTIMAL
    assert len({result.n_iter for result in stacked}) > 1  # finished classes left, the others went on


def test_truth_of_the_classes():
    K, L, labels = data(90, 30, n_classes=3)
    obj = LapSVM(K, L, next(labels.one_vs_rest()), loss="squared_hinge", gamma_A=1e-2, gamma_I=1.0)
    truth = np.arange(90) % 3
    V = labels.unlabeled[:12]
    results = pcg_one_vs_rest(obj, labels, truth=truth, validation=V, stopping="mixed")
    for k, result in enumerate(results):
        wrong = (result.variables["f"][V] > 0) != (truth[V] == k)
        assert result.history["validation_error"][-1] == pytest.approx(wrong.mean())
    two = data()
    truth = np.where(np.arange(60) % 2, 0, 1)
    result = pcg_one_vs_rest(objective(two), two[2], truth=truth)
    U = two[2].unlabeled
    assert len(result) == 1
    assert result[0].history["unlabeled_error"][-1] == np.mean((result[0].variables["f"][U] > 0) != (truth[U] == 1))


@pytest.mark.parametrize("stopping", ["gradient", "safe"])
def test_single_precision_products_give_double_precision_answers(stopping):
    K, L, labels = data(200, 30, n_classes=4)
    obj = LapSVM(K, L, next(labels.one_vs_rest()), loss="squared_hinge", gamma_A=1e-2, gamma_I=1.0)
    single = pcg_one_vs_rest(obj, labels, dtype=np.float32, stopping=stopping)
    double = pcg_one_vs_rest(obj, labels, stopping=stopping)
    for a, b in zip(single, double, strict=True):
        assert a.variables["f"].dtype == np.float64
        np.testing.assert_allclose(a.variables["f"], K @ a.variables["alpha"] + float(a.variables["b"]), atol=1e-12)
        if stopping == "gradient":
            assert a.certificate.is_optimal(1e-9)
            assert a.certificate.primal_objective == pytest.approx(b.certificate.primal_objective, rel=1e-11)
        else:
            assert a.certificate.primal_objective == pytest.approx(b.certificate.primal_objective, rel=1e-3)


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": np.float16}, "dtype=float16 is no precision"),
        ({"stopping": "mixed"}, "stopping='mixed' needs validation samples"),
        ({"validation": [0.5]}, "must be a list of sample numbers"),
        ({"validation": [-1, 400]}, "validation names -1, 400, but samples are 0 to 59"),
        ({"truth": np.ones(59)}, "truth has 59 entries for 60 samples"),
        ({"truth": np.full(60, 2.0)}, "truth holds values besides -1, 0 and 1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        pcg(objective(data()), **options)


def test_validation_needs_samples_of_its_own():
    obj = objective(data())
    both = obj.labels.labeled[:12]
    with pytest.raises(
        ValueError, match=f"12 validation samples are labelled training samples, too: {both[0]}, .*, ..."
    ):
        pcg(obj, validation=np.append(both, obj.labels.unlabeled), truth=np.ones(60))
    with pytest.raises(ValueError, match="validation names samples, but not their labels"):
        pcg(obj, validation=obj.labels.unlabeled)
    truth = np.ones(60)
    truth[obj.labels.unlabeled[3]] = 0
    with pytest.raises(ValueError, match=f"1 samples that truth has no label for: {obj.labels.unlabeled[3]}"):
        pcg(obj, validation=obj.labels.unlabeled, truth=truth)


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_product_of_the_stack_is_that_of_the_kernel(columns, dtype):
    """In single precision by the transpose and in filled-up rows; the loop itself would forgive an error."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(50, 50))
    K = (K + K.T).astype(dtype)
    D = rng.normal(size=(50, columns))
    found = kernel_product(K, D)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, K.astype(float) @ D, atol=1e-4 if dtype == np.float32 else 1e-12)


def test_a_start_is_where_it_begins():
    obj, _ = moons()
    cold = pcg(obj, tol=1e-8)
    near = pcg(obj.with_(gamma_A=obj.gamma_A, gamma_I=1.05 * obj.gamma_I), tol=1e-8)
    seeded = pcg(obj, tol=1e-8, start=(near.variables["alpha"], float(near.variables["b"])))
    assert seeded.certificate.primal_objective == pytest.approx(cold.certificate.primal_objective, rel=1e-7)
    assert seeded.n_iter < cold.n_iter
    at_end = pcg(obj, tol=1e-6, start=(cold.variables["alpha"], float(cold.variables["b"])))
    assert at_end.n_iter <= 1  # relative to zero, not to a start that is the answer
    n = obj.labels.n_samples
    for start in ((np.zeros(n - 1), 0.0), (np.full(n, np.nan), 0.0), (np.zeros(n), np.inf)):
        with pytest.raises(ValueError, match="start must be"):
            pcg(obj, start=start)
    without = replace(obj, fit_intercept=False)
    assert float(pcg(without, start=(np.zeros(n), 3.0)).variables["b"]) == 0.0


class CountedGraph(sm.graphs.LaplacianOperator):
    """A Laplacian that counts its products."""

    products = 0

    def __matmul__(self, other):
        vars(self)["products"] = self.products + 1
        return super().__matmul__(other)


def test_an_early_stop_is_proved_on_request_only():
    obj, _ = moons()
    counts, gaps = [], []
    for prove in (False, True):
        counted = CountedGraph(obj.L.matrix, obj.L.power, obj.L.normalized, obj.L.degrees)
        result = pcg(replace(obj, L=counted), stopping="safe", prove=prove)
        assert result.status is Status.EARLY_STOPPED
        counts.append(counted.products - result.n_iter)
        gaps.append(result.certificate.gap)
    assert counts[0] < 12 < 40 < counts[1]
    assert 0 < gaps[1] <= gaps[0]


def test_stability_compares_with_the_last_check():
    obj, _ = moons(gamma_A=1e-3)
    result = pcg(obj, stopping="stability", check_every=4)
    assert result.status is Status.EARLY_STOPPED
    t, U = result.n_iter, obj.labels.unlabeled
    assert t % 4 == 0
    f = {k: pcg(obj, max_iter=k).variables["f"][U] > 0 for k in range(4, t + 1, 4)}
    changed = [np.mean(f[k] != f[k - 4]) for k in range(8, t + 1, 4)]
    assert changed[-1] < 0.015
    assert all(share >= 0.015 for share in changed[:-1])


def test_validation_wants_one_sample_more_at_every_check():
    obj, truth = moons(n=200, noise=0.2, gamma_A=1e-3)
    V = obj.labels.unlabeled[::7]
    result = pcg(obj, stopping="validation", validation=V, truth=truth, check_every=2)
    errors = np.round(np.array(result.history["validation_error"])[2::2] * len(V)).astype(int)
    gains = -np.diff(np.append(len(V), errors))
    assert gains[-1] < 1
    assert (gains[:-1] >= 1).all()


# Decisions that are proved


@pytest.mark.parametrize("reduced", [False, True])
@pytest.mark.parametrize("loss", ["squared_hinge", "huber_hinge", "squared"])
def test_proved_decisions_are_those_of_the_optimum(loss, reduced):
    obj = moons(n=200, per_class=5, noise=0.15)[0].with_(loss=loss)
    exact = factorized(obj, tol=1e-13).variables["f"]
    apart = obj.reduced() if reduced else replace(obj)
    results = [pcg(apart, stopping="decisions", proved=share) for share in (0.8, 1.0)]
    assert results[0].n_iter <= results[1].n_iter < pcg(apart, tol=0.0, max_iter=2000).n_iter
    assert ((results[1].variables["f"] > 0) == (exact > 0)).all()
    wrong = (results[0].variables["f"] > 0) != (exact > 0)
    assert wrong.mean() <= 0.2
    assert results[0].status is Status.EARLY_STOPPED
    assert results[0].message == "stopped by decisions"
    assert apart.is_reduced is reduced  # nothing is factorised for it


def test_each_class_waits_for_its_own_decisions():
    X, y = sm.datasets.make_two_moons(n_samples=120, noise=0.1, random_state=0)
    labels = sm.encode_labels(sm.hide_labels(y + 2 * (X[:, 0] > 0.5), per_class=4, random_state=0))
    K, L = sm.kernels.gram(X, gamma=4.0), sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
    obj = LapSVM(K, L, next(labels.one_vs_rest()), loss="squared_hinge", gamma_A=0.05, gamma_I=0.5)
    for result, binary in zip(pcg_one_vs_rest(obj, labels, stopping="decisions"), labels.one_vs_rest(), strict=True):
        exact = factorized(obj.with_(labels=binary), tol=1e-13).variables["f"]
        assert ((result.variables["f"] > 0) == (exact > 0)).all()


@pytest.mark.parametrize("proved", [0.0, 1.5, "all"])
def test_a_share_that_is_none_is_refused(proved):
    with pytest.raises((ValueError, TypeError), match="proved"):
        sm.solvers.pcg(objective(data()), stopping="decisions", proved=proved)
