"""The convex SVM with a weight for each label: its formulas against differences, duality and CVXPY."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.losses import get_loss
from specmargin.objectives import S3VM, Features, WeightedSVM
from specmargin.objectives.rounding import weighted_svm as _weighted_rounding
from specmargin.objectives.rounding.weighted_svm import dual_with_rounding, value_with_rounding
from specmargin.solvers.s3vm.weighted_svm import weighted_svm

intercepts = pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
losses = pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "huber_hinge", "squared", "smooth_hinge"])


def convex_svm(rng, loss="squared_hinge", intercept="balance", n=25, d=4, with_linear_term=True, sparse=False):
    """Both labels of most samples weigh something; with a free intercept the linear term leaves the problem bounded."""
    X = rng.normal(size=(n, d))
    features = Features.of(sp.csr_array(X) if sparse else X, intercept, rows=np.arange(n // 2), balance=0.2)
    plus, minus = rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 2.0, n)
    plus[::5], minus[1::5] = 0.0, 0.0
    linear = 0.3 * rng.normal(size=n) if with_linear_term else None
    return WeightedSVM(features, plus, minus, loss, linear=linear)


def written_out(svm, w):
    """The objective sample by sample, from the dense rows."""
    A, loss = svm.features.dense(), get_loss(svm.loss)
    penalty = np.ones(svm.size)
    if svm.features.penalty is not None:
        penalty[-1] = svm.features.penalty
    total = 0.5 * sum(p * x * x for p, x in zip(penalty, w, strict=True))
    for i in range(len(A)):
        f = np.array([A[i] @ w + svm.features.offset])
        total += svm.plus[i] * loss.value(f)[0] + svm.minus[i] * loss.value(-f)[0]
        total += 0.0 if svm.linear is None else svm.linear[i] * f[0]
    return total


@losses
@intercepts
@pytest.mark.parametrize("sparse", [False, True])
def test_value_is_the_sum_over_samples_and_labels(loss, intercept, sparse, rng, tol):
    svm = convex_svm(rng, loss, intercept, sparse=sparse)
    w = rng.normal(size=svm.size)
    assert svm.value_at(w) == pytest.approx(written_out(svm, w), rel=tol["exact"])


@losses
@intercepts
def test_gradient_is_that_of_differences(loss, intercept, rng):
    svm = convex_svm(rng, loss, intercept)
    w, step = rng.normal(size=svm.size), 1e-6
    numeric = [(svm.value_at(w + step * e) - svm.value_at(w - step * e)) / (2 * step) for e in np.eye(svm.size)]
    np.testing.assert_allclose(svm.gradient(w), numeric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "smooth_hinge"])
def test_curvatures_are_the_differences_of_slopes(loss, rng):
    svm = convex_svm(rng, loss)
    f, step = rng.normal(size=svm.features.n_samples), 1e-6
    numeric = (svm.slopes(f + step) - svm.slopes(f - step)) / (2 * step)
    np.testing.assert_allclose(svm.curvatures(f), numeric, rtol=1e-6, atol=1e-6)


@intercepts
def test_known_labels_make_the_semi_supervised_objective(intercept, rng, tol):
    """V at the labels of the signs is U, so that both objectives agree where the guess is the sign."""
    y = np.array([0, 1, *[-1] * 12])
    obj = S3VM(rng.normal(size=(14, 3)), sm.encode_labels(y), C=2.0, C_star=0.7, intercept=intercept)
    w = rng.normal(size=obj.size)
    svm = obj.guessed(obj.labels_of(w))
    assert svm.value_at(w) == pytest.approx(obj.value_at(w), rel=tol["exact"])
    # Half a label is half of both costs.
    halves = obj.guessed(np.zeros(12), weight=1.0)
    np.testing.assert_array_equal(halves.plus[2:], 0.5)
    np.testing.assert_array_equal(halves.minus[:2], [2.0, 0.0])


@losses
@intercepts
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_exact_arithmetic_finds_no_larger_gap(loss, intercept, C, rng):
    """Primal and dual once more, in rational numbers (the entropies in 60 decimals), at the very same points."""
    for scale in (1.0, 100.0):
        svm = convex_svm(rng, loss, intercept, n=12, d=3)
        X = scale * (svm.features.X + 2.0)
        svm = svm.with_(
            features=Features.of(X, intercept, rows=np.arange(6), balance=0.2),
            plus=C * svm.plus,
            minus=C * svm.minus,
            linear=C * svm.linear,
        )
        result = weighted_svm(svm)
        w, certificate = result.variables["w"], svm.prove(result.variables["w"])
        f = svm.features.decisions(w)
        theta = -svm.loss.gradient(f), -svm.loss.gradient(-f)
        gap = exact_gap(svm, w, *theta)
        assert gap <= certificate.gap
        if loss != "hinge":  # whose multipliers are not the slopes at its kink
            assert certificate.rounding < 1e-9 * certificate.primal_objective


def exact_gap(svm, w, theta_plus, theta_minus):
    """What primal and dual differ by, with the multipliers of a free intercept balanced to the last digit."""
    primal, dual = exact_values(svm, w, theta_plus, theta_minus)
    return primal - dual


def exact_values(svm, w, theta_plus, theta_minus):
    """Primal and dual objective in fractions."""
    features, zero = svm.features, Fraction(0)
    # Dense features are centred once: that is the data.
    A = [[Fraction(x) for x in row] for row in np.asarray(features.X if features.mu is None else features.matrix)]
    if features.penalty is not None:
        A = [[*row, Fraction(1)] for row in A]
    P = [Fraction(x) for x in features.weights]
    W, p, m, t, up, down = (
        [Fraction(x) for x in values] for values in (w, svm.plus, svm.minus, svm.linear, theta_plus, theta_minus)
    )
    offset = Fraction(features.offset)
    if features.penalty == 0.0:
        up, down = balanced_exactly(svm, p, m, t, up, down)
    f = [sum((x * v for x, v in zip(row, W, strict=True)), offset) for row in A]
    primal = sum((q * v * v for q, v in zip(P, W, strict=True)), zero) / 2
    primal += sum((c * f_i for c, f_i in zip(t, f, strict=True)), zero)
    primal += sum((c * exact_loss(svm.loss, x) for c, x in zip(p, f, strict=True)), zero)
    primal += sum((c * exact_loss(svm.loss, -x) for c, x in zip(m, f, strict=True)), zero)
    a = [c - q * x + r * y for c, q, x, r, y in zip(t, p, up, m, down, strict=True)]
    pulled = [sum((row[j] * v for row, v in zip(A, a, strict=True)), zero) for j in range(len(W))]
    dual = offset * sum(a, zero) - sum((x * x / q for x, q in zip(pulled, P, strict=True) if q), zero) / 2
    for weights, theta in ((p, up), (m, down)):
        dual += sum((c * exact_conjugate(svm.loss, x) for c, x in zip(weights, theta, strict=True)), zero)
    return primal, dual


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
@pytest.mark.parametrize("with_linear_term", [False, True])
def test_samples_with_weights_on_both_sides_are_computed_anew_on_both(loss, with_linear_term, rng):
    """Where decisions cancel, extended precision takes them; what float64 knew of them is to leave no trace."""
    for size in 10.0 ** np.arange(0, 10, 3):
        w, linear = size * rng.normal(size=4), rng.normal(size=6) if with_linear_term else np.zeros(6)
        across = rng.normal(size=(6, 4))
        across -= np.outer(across @ w, w) / (w @ w)
        features = Features(across + np.outer(rng.uniform(-0.9, 0.9, 6), w) / (w @ w))
        for cost in 10.0 ** np.arange(0, 13, 4):
            plus, minus = cost * rng.uniform(size=(2, 6))
            svm = WeightedSVM(features, plus, minus, loss, linear=cost * linear)
            value, rounding = value_with_rounding(svm, w, features.decisions(w))
            exact = exact_values(svm, w, np.zeros(6), np.zeros(6))[0]
            assert abs(Fraction(value) - exact) <= Fraction(rounding)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared"])
def test_a_tilt_far_larger_than_the_multipliers_is_balanced_by_them(loss, rng):
    """What is left of a large linear term by rounding is much of small multipliers, which have to make up for it."""
    for size in 10.0 ** np.arange(0, 15, 2):
        X, linear = 10.0 ** rng.integers(-2, 3) * rng.normal(size=(8, 3)), np.zeros(8)
        X[:4], linear[:3] = 0.0, size * rng.normal(size=3)
        linear[3] = -linear[:3].sum()
        features = Features.of(X, "free", rows=np.arange(8))
        svm = WeightedSVM(features, *rng.uniform(size=(2, 8)), loss, linear=linear)
        theta = rng.uniform(-3.0 if loss == "squared" else 0.0, 1.0, size=(2, 8))
        bound, rounding = dual_with_rounding(svm, *theta)
        assert np.isfinite(bound)
        exact = exact_values(svm, np.zeros(4), *theta)[1]
        assert abs(Fraction(bound) - exact) <= Fraction(rounding)


def dual_case(name, rng):
    """An SVM and multipliers whose dual objective is little beside one thing that rounds."""
    n = 8
    plus, minus = rng.uniform(0.5, 1.0, size=(2, n))
    theta, X, linear = rng.uniform(size=(2, n)), rng.normal(size=(n, 3)), np.zeros(n)
    if name == "linear term against multipliers":  # a is what is left of large numbers
        plus, X = 1e8 * plus, 1e3 * X
        linear = plus * theta[0]
    elif name == "long rows that cancel":
        X *= 1e8
        X[-1] = -((minus * theta[1] - plus * theta[0])[:-1] @ X[:-1]) / (minus * theta[1] - plus * theta[0])[-1]
    elif name == "gains that cancel":
        X, theta = 0.0 * X, 4.0 * (1.0 - 1e-9 * rng.uniform(size=(2, n)))
    elif name == "offset":
        X, linear, theta = 0.0 * X, 1e8 * rng.normal(size=n), 1e-3 * theta
        linear[-1] -= linear.sum()
    features = Features(X, offset=0.0 if name == "gains that cancel" else 0.3)
    return WeightedSVM(features, plus, minus, "squared_hinge", linear=linear), theta


CASES = ["linear term against multipliers", "long rows that cancel", "gains that cancel", "offset"]


@pytest.mark.parametrize("refined", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_dual_is_that_of_fractions_but_for_its_rounding(name, refined, rng, monkeypatch):
    monkeypatch.setattr(_weighted_rounding, "_needs_extended", lambda *args: refined)
    for _ in range(20):
        svm, theta = dual_case(name, rng)
        bound, rounding = dual_with_rounding(svm, *theta)
        exact = exact_values(svm, np.zeros(3), *theta)[1]
        assert abs(Fraction(bound) - exact) <= Fraction(rounding)


def test_tilts_that_cancel_are_charged_for_their_sum(rng):
    for _ in range(20):
        X = 2.0 + rng.uniform(size=(40, 1))
        linear = 1e8 * rng.normal(size=40)
        linear[-1] = -(linear[:-1] @ X[:-1, 0]) / X[-1, 0]
        svm = WeightedSVM(Features(X), np.zeros(40), np.zeros(40), "hinge", linear=linear)
        value, rounding = value_with_rounding(svm, np.ones(1), X[:, 0])
        exact = exact_values(svm, np.ones(1), np.zeros(40), np.zeros(40))[0]
        assert abs(Fraction(value) - exact) <= Fraction(rounding)


def test_multipliers_that_cannot_make_up_for_the_rounding_of_a_tilt_prove_nothing():
    features = Features.of(np.eye(4), "free", rows=np.arange(4))
    linear = np.array([1e10 / 3, 1e10 / 7, -1e10 / 3 - 1e10 / 7, 0.0])
    svm = WeightedSVM(features, np.full(4, 1e-9), np.full(4, 1e-9), "squared", linear=linear)
    assert svm.dual_bound(np.ones(4), np.ones(4)) == -np.inf


def balanced_exactly(svm, p, m, t, up, down):
    up, down = (
        [Fraction(x) for x in values] for values in svm.repair_multipliers(np.array(up, float), np.array(down, float))
    )
    heavy = sum(c * x for c, x in zip(m, down, strict=True)), sum(c * x for c, x in zip(p, up, strict=True)) - sum(t)
    if svm.loss.name == "squared":
        shift = (heavy[0] - heavy[1]) / (sum(p) + sum(m))
        return [x + shift for x in up], [x - shift for x in down]
    if heavy[0] > heavy[1]:
        return up, [x * heavy[1] / heavy[0] for x in down]
    share = (heavy[0] + sum(t)) / (heavy[1] + sum(t))
    return [x * share for x in up], down


def exact_loss(loss, t):
    slack = max(1 - t, Fraction(0))
    if loss.name == "smooth_hinge":
        u = decimal(20 * abs(1 - t))
        return slack + Fraction((1 + (-u).exp()).ln() / 20)
    if loss.name == "huber_hinge":
        x = max(Fraction(3, 2) - t, Fraction(0))
        return x**2 / 2 if x <= 1 else 1 - t
    return {"hinge": slack, "squared_hinge": slack**2, "squared": (1 - t) ** 2}[loss.name]


def exact_conjugate(loss, beta):
    if loss.name == "smooth_hinge":
        entropy = sum((-x * Fraction(decimal(x).ln()) for x in (beta, 1 - beta) if x), Fraction(0))
        return beta + entropy / 20
    if loss.name == "huber_hinge":
        return beta + beta * (1 - beta) / 2
    return beta if loss.name == "hinge" else beta - beta**2 / 4


def decimal(x):
    with localcontext(prec=60):
        return Decimal(x.numerator) / Decimal(x.denominator)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "hinge"])
def test_a_free_intercept_is_bounded_by_multipliers_that_balance(loss, rng):
    """Whatever multipliers are given, those that the bound takes leave b without a slope."""
    for with_linear_term in (False, True):
        svm = convex_svm(rng, loss, "free", with_linear_term=with_linear_term)
        for _ in range(20):
            given = rng.uniform(0.0, 1.0, size=(2, 25))
            plus, minus = svm.repair_multipliers(*given)
            linear = 0.0 if svm.linear is None else svm.linear.sum()
            assert svm.minus @ minus - svm.plus @ plus + linear == pytest.approx(0.0, abs=1e-12)
            bound = svm.dual_bound(*given)
            assert all(bound <= svm.value_at(scale * rng.normal(size=svm.size)) + 1e-9 for scale in (0.01, 0.3, 3.0))


def test_an_excess_that_rounding_hides_leaves_the_multipliers_as_they_are():
    # 1 - 1 + 1e-17 is above zero, but what is left of the other side is all of it.
    features = Features(np.array([[1.0], [2.0]]))
    svm = WeightedSVM(features, np.array([0.0, 1.0]), np.array([1.0, 0.0]), "hinge", linear=np.array([1e-17, 0.0]))
    up, down = svm.repair_multipliers(np.ones(2), np.ones(2))
    assert up.tolist() == down.tolist() == [1.0, 1.0]


@pytest.fixture
def coarse(monkeypatch):
    """A unit of 1e-6, without extended precision: what is charged for n operations is n millionths."""
    monkeypatch.setattr(_weighted_rounding, "gamma", lambda n: 1e-6 * n)
    monkeypatch.setattr(_weighted_rounding, "_needs_extended", lambda *args: False)
    return 1e-6


def test_every_sum_of_the_value_is_charged_for_its_terms(coarse):
    """The square of w, the losses and the linear term, each alone."""
    nothing = np.zeros(60)
    w = np.full(40, 10.0)
    svm = WeightedSVM(Features(np.zeros((60, 40))), nothing, nothing, "hinge")
    value, rounding = value_with_rounding(svm, w, nothing)
    assert value == 2000.0
    assert 40 * coarse * value <= rounding <= 45 * coarse * value
    for plus, minus in ((np.full(60, 0.5), nothing), (nothing, np.full(60, 0.5))):
        svm = WeightedSVM(Features(np.zeros((60, 1))), plus, minus, "hinge")
        value, rounding = value_with_rounding(svm, np.zeros(1), nothing)
        assert value == 30.0
        assert 60 * coarse * value <= rounding <= 71 * coarse * value  # and two for the margins
    linear = np.where(np.arange(60) % 2, 1.0, -1.0)
    svm = WeightedSVM(Features(linear[:, None]), nothing, nothing, "hinge", linear=linear)
    value, rounding = value_with_rounding(svm, np.ones(1), linear)
    assert value == 60.5
    assert 60 * coarse * 60 <= rounding <= 72 * coarse * 60


def in_fractions(features, X):
    """The rows of A, of which sparse ones are centred on the fly."""
    if features.is_sparse and features.mu is not None:
        return [[Fraction(x) - Fraction(m) for x, m in zip(row, features.mu, strict=True)] for row in X]
    return [[Fraction(x) for x in row] for row in features.dense()]


@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_decisions_are_within_their_rounding(intercept, form, far, rng):
    """In fractions, also of sparse rows that are centred on the fly, and along every single weight."""
    X = far + rng.normal(size=(6, 3))
    features = Features.of(form(X), intercept, rows=np.arange(6), balance=0.2)
    A = in_fractions(features, X)
    lengths = [float(sum(x * x for x in row)) ** 0.5 for row in A]
    for w in [*np.eye(features.size), *rng.normal(size=(10, features.size))]:
        f = features.decisions(w)
        bounds = _weighted_rounding.decision_rounding(features, w, f)
        exact = [sum(x * Fraction(z) for x, z in zip(row, w, strict=True)) + Fraction(features.offset) for row in A]
        assert all(abs(Fraction(x) - z) <= Fraction(e) for x, z, e in zip(f, exact, bounds, strict=True))
        if intercept == "balance" and np.count_nonzero(w) == 1:  # a product of the lengths of both
            assert (bounds >= 3 * 2.0**-53 * np.array(lengths)).all()


@pytest.mark.parametrize("intercept", ["balance", "regularized", "free"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_adjoint_in_extended_precision_is_that_of_fractions(intercept, form, rng):
    X, a = 1e6 + rng.normal(size=(6, 3)), rng.normal(size=6)
    features = Features.of(form(X), intercept, rows=np.arange(6), balance=0.2)
    A = in_fractions(features, X)
    exact = [sum(row[j] * Fraction(z) for row, z in zip(A, a, strict=True)) for j in range(features.size)]
    found, error = _weighted_rounding._accurate_adjoint(features, a)
    assert found.shape == error.shape == (features.size,)
    assert all(abs(Fraction(x) - z) <= Fraction(e) for x, z, e in zip(found, exact, error, strict=True))
    assert (error <= 1e-11 + 2.0**-52 * np.abs(found)).all()


def test_a_share_taken_off_multipliers_is_charged_in_full(coarse):
    """Two long rows that cancel, and a tilt whose rounding asks for a tenth of one side's multipliers."""
    X = np.array([[1e3], [1e3], [0.0], [0.0]])
    tilt = 2e4 * np.array([0.0, 0.0, 1.0, -1.0])
    features = Features(X, penalty=0.0)
    svm = WeightedSVM(features, np.array([1.0, 0, 0, 0]), np.array([0, 1.0, 0, 0]), "squared_hinge", linear=tilt)
    theta = np.ones(4)
    bound, rounding = dual_with_rounding(svm, theta, theta)
    share = 4 * coarse * np.abs(tilt).sum()
    for taken in np.linspace(0.0, share, 5):
        less = 1.0 - taken
        exact = 0.75 + less - less**2 / 4 - 0.5 * (1e3 * taken) ** 2
        assert bound - rounding <= exact


@pytest.mark.parametrize("excess", [0.0, 1.0, -1.0])
def test_an_excess_of_any_size_is_balanced(excess):
    """Also of one, and multipliers of zero are left as they are."""
    for loss in ("hinge", "squared"):
        svm = WeightedSVM(Features(np.ones((4, 1)), penalty=0.0), np.ones(4), np.ones(4), loss)
        theta_plus, theta_minus = np.full(4, 0.5), np.full(4, 0.5 + excess / 4)
        plus, minus = svm.repair_multipliers(theta_plus, theta_minus)
        assert minus.sum() - plus.sum() == 0.0
        assert plus.sum() == (2.0 + excess / 2 if loss == "squared" else min(2.0, 2.0 + excess))
    zero = np.zeros(4)
    for repaired in svm.with_(loss="hinge").repair_multipliers(zero, zero):
        np.testing.assert_array_equal(repaired, zero)


@pytest.mark.parametrize("loss", ["squared_hinge", "huber_hinge", "squared", "smooth_hinge"])
def test_errors_of_decisions_are_charged_for_the_steepest_loss_within(loss, rng):
    """However large: the loss moves by its slope at the worse end, times the error."""
    svm = convex_svm(rng, loss)
    for size in (1e-3, 0.5, 3.0):
        f, df = rng.normal(size=25), size * rng.uniform(size=25)
        charged = _weighted_rounding._losses_rounding(svm, f, df)
        moved = np.abs(svm.linear) @ df
        for weights, y in ((svm.plus, 1.0), (svm.minus, -1.0)):
            slopes = [np.abs(svm.loss.gradient(y * (f + end * df))) for end in (-1.0, 1.0)]
            moved += weights @ (df * np.maximum(*slopes))
        assert charged == pytest.approx(moved, rel=1e-10)


def test_decisions_anew_of_sparse_rows_that_are_centred_are_those_of_fractions(rng):
    """The centre is subtracted within the sum; one weight on either side, none, or one of a linear term alone."""
    X, w = 1e3 + rng.normal(size=(6, 3)), rng.normal(size=3)
    features = Features.of(sp.csr_array(X), "balance", rows=np.arange(6), balance=0.2)
    exact = [
        sum((Fraction(x) - Fraction(m)) * Fraction(z) for x, m, z in zip(row, features.mu, w, strict=True))
        + Fraction(features.offset)
        for row in X
    ]
    one, nothing = np.eye(6)[2], np.zeros(6)
    for plus, minus, linear, used in (
        (np.ones(6), nothing, None, range(6)),
        (one, nothing, None, [2]),
        (nothing, one, None, [2]),
        (one, one, None, [2]),
        (nothing, nothing, one, [2]),
        (nothing, nothing, np.ones(6), range(6)),
    ):
        for loss in ("hinge", "smooth_hinge"):
            svm = WeightedSVM(features, plus, minus, loss, linear=linear)
            f, df = features.decisions(w), np.full(6, np.nan)
            _weighted_rounding._refined(svm, w, f, df)
            for i in used:
                assert abs(Fraction(f[i]) - exact[i]) <= Fraction(df[i]) < 1e-13
            assert (np.delete(df, list(used)) == 0).all()


def test_decisions_near_one_that_only_a_linear_term_weighs_are_within_their_error(rng):
    """1 - f has more digits there than f itself, which rounds once more."""
    features = Features(np.column_stack([0.99 + 0.01 * rng.uniform(size=(80, 1)), 1e-3 * rng.normal(size=(80, 1))]))
    svm, w = WeightedSVM(features, np.zeros(80), np.zeros(80), "hinge", linear=np.ones(80)), np.array([1.0, 1.0 / 3.0])
    f, df = features.decisions(w), np.zeros(80)
    _weighted_rounding._refined(svm, w, f, df)
    for row, x, error in zip(features.X, f, df, strict=True):
        exact = sum(Fraction(a) * Fraction(z) for a, z in zip(row, w, strict=True))
        assert abs(Fraction(x) - exact) <= Fraction(error) < 1e-15


@pytest.mark.parametrize("size", [1e-2, 1e2])
def test_the_square_of_an_image_is_charged_as_a_square(size, coarse):
    svm = WeightedSVM(Features(size * np.ones((1, 40))), np.ones(1), np.zeros(1), "hinge")
    _, rounding = dual_with_rounding(svm, np.array([1.0]), np.zeros(1))
    square = 40 * size**2
    assert 44 * coarse * square <= rounding - 9 * coarse <= (44 + 12) * coarse * square * 1.02 + 1e-12


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_linear_term_that_no_scaling_balances_leaves_no_multipliers(sign):
    """It asks for more than the other side has: a factor below zero would be no answer."""
    svm = WeightedSVM(Features(np.ones((4, 1)), penalty=0.0), np.ones(4), np.ones(4), "hinge", linear=np.full(4, sign))
    given = np.full(4, 0.5)
    plus, minus = svm.repair_multipliers(given, given)
    scaled, kept = (minus, plus) if sign > 0 else (plus, minus)
    assert np.isnan(scaled).all()
    assert kept.tolist() == given.tolist()
    assert svm.dual_bound(given, given) == -np.inf
