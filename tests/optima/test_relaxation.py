"""The dual bound of S3VMs against its formula, against exact rational arithmetic, and against the losses themselves."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from exact_fractions import fractions, is_definite, solved
from scipy.optimize import approx_fprime

from specmargin.labels import encode_labels
from specmargin.losses import ExpSquared, SquaredHinge, SymmetricHinge, SymmetricRamp, SymmetricSquaredHinge
from specmargin.objectives.s3vm import S3VM
from specmargin.optima import relaxation_rounding as s3vm_relaxation_proof
from specmargin.optima import s3vm_bound
from specmargin.optima.minorants import ExpEnvelope, minorant
from specmargin.optima.relaxation import S3VMRelaxation
from specmargin.optima.row_space import RowSpace, _measured

UNLABELED = [SymmetricHinge(), SymmetricSquaredHinge(), ExpSquared(3.0), ExpSquared(5.0), ExpSquared(0.2)]
RAMPS = [SymmetricRamp(s) for s in (-0.1, -0.3, -0.5, -0.8)]
unlabeled = pytest.mark.parametrize("loss", UNLABELED, ids=repr)


# The parabolas


@unlabeled
def test_parabolas_touch_the_loss_from_below(loss):
    below = minorant(loss)
    f = np.append(np.linspace(0, 2, 400001), np.linspace(2, 12, 10001))
    for theta in (1e-6, 0.1, 0.5, 1.0, 1.7, 4.0, 30.0, 1e3):
        intercept = float(below.value(np.array(theta)))
        excess = loss.value(f) - (intercept - theta * f**2 / 2)
        assert excess.min() == pytest.approx(0.0, abs=1e-8 * (1 + theta))
    np.testing.assert_allclose(below.relaxed(f**2), loss.value(f), atol=1e-15)


@pytest.mark.parametrize("ramp", RAMPS, ids=repr)
def test_parabolas_below_ramps_are_the_highest_and_their_envelope_is_in_the_square(ramp):
    below, f = minorant(ramp), np.linspace(0, 3, 30001)
    theta = below.largest * np.array([0.0, 0.01, 0.3, 0.7, 0.999, 1.0, 1.5, 40.0])
    tops = [(ramp.value(f) + one * f**2 / 2).min() for one in theta]
    np.testing.assert_allclose(below.value(theta), tops, atol=1e-8)
    assert below.value(theta)[5] == pytest.approx(1.0 + ramp.s, rel=1e-12)
    assert below.value(theta)[4] < (1.0 + ramp.s) * (1 - 1e-7)
    inside, h = theta[1:5], 1e-6
    first, second = below.derivatives(inside)
    np.testing.assert_allclose(first, (below.value(inside + h) - below.value(inside - h)) / (2 * h), rtol=1e-3)
    change = [below.derivatives(inside + sign * 1e-7)[0] for sign in (1, -1)]
    np.testing.assert_allclose(second, (change[0] - change[1]) / 2e-7, rtol=1e-4, atol=1e-6)
    # The convex envelope in f^2 by its definition: the highest of all parabolas below.
    many = np.concatenate([[0.0], np.geomspace(1e-4, below.largest, 4001)])
    highest = (below.value(many)[:, None] - many[:, None] * f[::100] ** 2 / 2).max(axis=0)
    np.testing.assert_allclose(below.relaxed(f[::100] ** 2), highest, atol=1e-6)


@unlabeled
def test_minorant_values_are_concave_with_the_right_derivatives(loss, tol):
    below = minorant(loss)
    theta = np.array([1e-4, 0.02, 0.3, 0.7, 1.3, 2.1, 5.0, 8.0])
    first, second = below.derivatives(theta)
    step = 1e-6 * theta
    np.testing.assert_allclose(
        (below.value(theta + step) - below.value(theta - step)) / (2 * step), first, atol=1e-8, rtol=tol["gradient"]
    )
    slopes = [below.derivatives(theta + sign * step)[0] for sign in (1, -1)]
    np.testing.assert_allclose((slopes[0] - slopes[1]) / (2 * step), second, atol=1e-7, rtol=1e-4)
    assert (first >= 0).all()
    assert (second <= 0).all()
    assert float(below.value(np.array(0.0))) == 0.0


@pytest.mark.parametrize("s", [0.2, 3.0, 5.0])
def test_exp_envelope_is_the_convex_envelope(s):
    loss, envelope = ExpSquared(s), ExpEnvelope(s)
    t = np.linspace(0, 6 / np.sqrt(s), 2001)
    # The envelope by its definition: the largest of all lines below the loss.
    steepest = ((1 - loss.value(t[1:])) / t[1:]).max()
    slopes = -np.append(np.sqrt(s) * np.geomspace(1e-9, 3, 6001), [0.0, steepest])
    assert envelope.upper == pytest.approx(steepest, rel=1e-5)
    lines = (loss.value(t) - slopes[:, None] * t).min(axis=1)[:, None] + slopes[:, None] * t
    np.testing.assert_allclose(envelope.value(t), lines.max(axis=0), atol=1e-5)
    assert (envelope.value(t) <= loss.value(t) + 1e-15).all()
    at = np.array([-1.0, 0.1, 0.5, 1.0, 2.0]) / np.sqrt(s)
    np.testing.assert_allclose(
        envelope.gradient(at),
        [approx_fprime(x, lambda x: envelope.value(x)[0], 1e-8)[0] for x in at[:, None]],
        atol=1e-6,
    )
    smooth = at[3:]
    rises = (envelope.gradient(smooth + 1e-6) - envelope.gradient(smooth - 1e-6)) / 2e-6
    np.testing.assert_allclose(envelope.curvature(smooth), rises, atol=1e-7)
    assert (envelope.curvature(at[:3]) == 0).all()
    assert envelope.gradient(np.array([1e200]))[0] == 0.0


@pytest.mark.parametrize("s", [0.2, 3.0])
def test_dual_of_the_exp_envelope(s):
    envelope = ExpEnvelope(s)
    beta = envelope.upper * np.array([1e-9, 1e-3, 0.2, 0.7, 0.999, 1.0])
    t = np.linspace(0, 12 / np.sqrt(s), 400001)
    brute = (envelope.value(t) + beta[:, None] * t).min(axis=1)
    np.testing.assert_allclose(envelope.dual_value(beta), brute, atol=1e-8)
    assert envelope.dual_value(np.array([0.0, -0.1, 1.1 * envelope.upper])).tolist() == [0.0, -np.inf, -np.inf]
    inside = beta[1:-1]
    first, second = envelope.dual_derivatives(inside)
    step = 1e-5 * inside
    dual = envelope.dual_value
    np.testing.assert_allclose((dual(inside + step) - dual(inside - step)) / (2 * step), first, rtol=1e-6)
    slopes = [envelope.dual_derivatives(inside + sign * step)[0] for sign in (1, -1)]
    np.testing.assert_allclose((slopes[0] - slopes[1]) / (2 * step), second, rtol=1e-4)


def test_losses_without_parabolas():
    assert type(minorant(SymmetricRamp(0.0))) is type(minorant(SymmetricHinge()))
    with pytest.raises(ValueError, match="not convex in f\\^2, nor a sum of two ramps"):
        minorant(SquaredHinge())


# The dual bound


def random_relaxation(rng, loss="squared_hinge", unlabeled_loss=None, decided=0, d=3, l=4, u=7, C=3.0, C_star=2.0):
    X = rng.standard_normal((l + u, d))
    y = np.concatenate([np.arange(l) % 2, np.full(u, -1)])
    obj = S3VM(X, encode_labels(y), loss, unlabeled_loss, C=C, C_star=C_star, balance=0.3)
    signs = np.zeros(u)
    signs[:decided] = rng.choice([-1.0, 1.0], decided)
    return S3VMRelaxation(obj, signs)


@pytest.mark.parametrize("decided", [0, 3, 7])
@pytest.mark.parametrize(("loss", "unlabeled_loss"), [("hinge", None), ("squared_hinge", None), ("hinge", "exp")])
def test_dual_bound_is_below_everything_and_tight_for_its_own_minorant(loss, unlabeled_loss, decided, rng):
    problem = random_relaxation(rng, loss, unlabeled_loss, decided)
    obj, b = problem.obj, problem.offset
    assert problem.rank == 3
    for _ in range(20):
        theta = problem.repair(rng.exponential(size=len(problem.free))) * rng.uniform(0, 1)
        beta = np.minimum(rng.exponential(size=len(problem.y)), problem.upper)
        lower = problem.dual_bound(theta, beta)
        A = np.eye(3) - (problem.Z_free * theta[:, None]).T @ problem.Z_free
        q = b * theta @ problem.Z_free + (problem.weights * beta * problem.y) @ problem.Z_known
        formula = problem.minorant_values(theta).sum() - b**2 / 2 * theta.sum()
        formula += problem.weights @ (problem.dual_values(beta) - beta * problem.y * b)
        formula -= 0.5 * q @ np.linalg.solve(A, q)
        assert lower <= formula
        assert lower == pytest.approx(formula, rel=1e-8, abs=1e-8 * problem.weights.sum())
        w = problem.minimizer(theta, beta)
        np.testing.assert_allclose(A @ w, q, atol=1e-9)
        for scale in (0.1, 1.0, 10.0):
            W = scale * rng.standard_normal((50, 3))
            for point in W:
                on_their_sides = (obj.decisions_at(problem.expand(point))[obj.unlabeled] * problem.signs >= 0).all()
                assert lower <= obj.value_at(problem.expand(point)) or not on_their_sides
                assert lower <= problem.value_at(point, np.zeros(len(problem.free)), 0.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("size", [1.0, 1e-7, 1e7])
def test_the_margin_covers_every_rounding_error(loss, size, rng):
    """The exact bound in rational arithmetic, also where A(theta) is nearly singular and terms cancel."""
    for trial in range(25):
        problem = random_relaxation(rng, loss, decided=trial % 3, C=size, C_star=size)
        Z = problem.space.Z
        exact_space = RowSpace(Z, np.eye(3), 0.0)
        problem = S3VMRelaxation(problem.obj, problem.signs, exact_space)
        theta = rng.exponential(size=len(problem.free))
        theta = problem.repair(1e3 * theta if trial % 2 else theta / 100)
        beta = np.minimum(10.0 ** rng.uniform(-3, 1, len(problem.y)), problem.upper)
        lower = problem.dual_bound(theta, beta)
        exact = rational_bound(problem, theta, beta)
        assert Fraction(lower) <= exact
        # Little is given away, but for the nearly singular ones.
        assert lower >= float(exact) - (1e-3 if trial % 2 else 1e-9) * (abs(float(exact)) + size)


@pytest.mark.parametrize(
    ("loss", "l", "u", "d", "C_star", "size"),
    [("hinge", 2, 38, 3, 1.3, 0.0), ("squared_hinge", 40, 2, 3, 1e-9, 1e-7), ("squared_hinge", 2, 2, 30, 1e-9, 1.0)],
)
def test_the_margin_covers_sums_that_round_upwards(loss, l, u, d, C_star, size, rng):
    """Over many minorants, many labelled samples and many features: half of such sums come out too large."""
    for _ in range(20 if d < 30 else 2):
        X, y = rng.standard_normal((l + u, d)), np.concatenate([np.arange(l) % 2, np.full(u, -1)])
        obj = S3VM(X, encode_labels(y), loss, C=rng.uniform(0.5, 2), C_star=C_star, intercept="regularized")
        problem = S3VMRelaxation(obj, None, RowSpace(obj.features.dense(), np.eye(d + 1), 0.0))
        theta = problem.repair(rng.exponential(size=u)) if l + d < u else np.zeros(u)
        beta = size * rng.uniform(size=l)
        assert Fraction(problem.dual_bound(theta, beta)) <= rational_bound(problem, theta, beta)


def test_the_margin_covers_a_poor_solution(rng, monkeypatch):
    """The bound holds for any w that the linear algebra may come up with."""
    exactly = s3vm_relaxation_proof.solved
    for trial in range(20):
        problem = random_relaxation(rng, C=1.0, C_star=1.0)
        problem = S3VMRelaxation(problem.obj, None, RowSpace(problem.space.Z, np.eye(3), 0.0))
        theta, beta = 0.9 * problem.repair(rng.exponential(size=7)), rng.exponential(size=4)
        noise = 10.0 ** -(trial % 8) * rng.standard_normal(3)
        monkeypatch.setattr(s3vm_relaxation_proof, "solved", lambda *args, noise=noise: exactly(*args) + noise)
        assert Fraction(problem.dual_bound(theta, beta)) <= rational_bound(problem, theta, beta)
        monkeypatch.setattr(s3vm_relaxation_proof, "solved", exactly)


def test_the_margin_covers_gains_that_cancel():
    """Labelled samples that decide nothing: beta less its square over four is all rounding next to beta = 4."""
    obj = S3VM(np.zeros((5, 1)), encode_labels([0, 1, 0, 1, -1]), C=1e6, C_star=1e-20, balance=0.0)
    problem = S3VMRelaxation(obj, None, RowSpace(np.eye(5)[:, :1] * 0.0, np.eye(1), 0.0))
    for beta in 4.0 * (1.0 - 2.0**-10 * np.random.default_rng(0).uniform(size=(50, 4)) ** 8):
        lower = problem.dual_bound(np.zeros(1), beta)
        assert Fraction(lower) <= rational_bound(problem, np.zeros(1), beta)


def test_what_is_exactly_indefinite_is_never_proved_definite(rng):
    """Within a few roundings of the boundary, where a plain Cholesky factorisation may well succeed."""
    indefinite = 0
    for _ in range(40):
        problem = random_relaxation(rng)
        problem = S3VMRelaxation(problem.obj, None, RowSpace(problem.space.Z, np.eye(3), 0.0))
        theta = rng.exponential(size=7)
        theta = theta / np.linalg.eigvalsh((problem.Z_free * theta[:, None]).T @ problem.Z_free)[-1]
        for scale in 1 + np.arange(-4, 5) * 2.0**-52:
            if not is_definite(penalty_less_parabolas(problem, scale * theta)):
                indefinite += 1
                assert problem.dual_bound(scale * theta, np.ones(4)) == -np.inf
    assert indefinite > 20


def penalty_less_parabolas(problem, theta):
    """A(theta) in fractions."""
    Z = fractions(problem.Z_free)
    return fractions(np.eye(problem.rank)) - (Z.T * fractions(theta)) @ Z


def rational_bound(problem, theta, beta):
    """LB(theta, beta) of the chapter in fractions, by Gaussian elimination."""
    obj = problem.obj
    hinge = problem.upper[0] == 1.0
    c_star, b = Fraction(obj.C_star), Fraction(problem.offset)
    theta, beta = [Fraction(x) for x in theta], [Fraction(x) for x in beta]
    free = [[Fraction(x) for x in row] for row in problem.Z_free]
    known = [[Fraction(x) for x in row] for row in problem.Z_known]
    value, r = Fraction(0), problem.rank
    for x in theta:
        x_rel = x / c_star
        if hinge:
            value += c_star * (x_rel / 2 if x_rel < 1 else 1 - 1 / (2 * x_rel))
        else:
            value += c_star * x_rel / (2 + x_rel)
        value -= x * b * b / 2
    q = [sum(b * x * z[i] for x, z in zip(theta, free, strict=True)) for i in range(r)]
    for y, c, x, z in zip(problem.y, problem.weights, beta, known, strict=True):
        y, c = Fraction(y), Fraction(c)
        value += c * ((x if hinge else x - x * x / 4) - x * y * b)
        q = [q[i] + c * x * y * z[i] for i in range(r)]
    A = penalty_less_parabolas(problem, theta)
    assert is_definite(A)
    return value - sum(x * y for x, y in zip(q, solved(A, q), strict=True)) / 2


def test_repair_keeps_what_is_feasible_and_scales_the_rest(rng):
    problem = random_relaxation(rng)
    theta = problem.repair(rng.exponential(size=7) * 100)
    assert np.linalg.eigvalsh(problem.matrix(theta))[0] == pytest.approx(1e-9, rel=0.5)
    np.testing.assert_array_equal(problem.repair(0.5 * theta), 0.5 * theta)
    np.testing.assert_allclose(problem.repair(3 * theta), theta, rtol=1e-12)
    assert np.isfinite(problem.dual_bound(theta, np.zeros(4)))
    assert problem.dual_bound(theta * (1 + 1e-6), np.zeros(4)) == -np.inf
    assert problem.repair(np.array([np.nan, -1.0, np.inf, 0, 0, 0, 0])).tolist() == [0.0] * 7
    with pytest.raises(ValueError, match="theta must hold 7 numbers"):
        problem.repair(np.ones(3))


def test_bound_at_multipliers_that_are_not_finite(rng):
    problem = random_relaxation(rng)
    assert problem.dual_bound(np.full(7, np.nan), np.zeros(4)) == -np.inf
    assert problem.dual_bound(np.zeros(7), np.full(4, np.nan)) == -np.inf
    assert problem.dual_bound(np.zeros(7), np.zeros(4)) == pytest.approx(0.0, abs=1e-9)
    assert problem.minimizer(np.full(7, 1e3), np.zeros(4)) is None


def test_relaxed_value_and_certificate(rng):
    problem = random_relaxation(rng)
    w, S = rng.standard_normal(3), np.diag([0.1, 0.0, 2.0])
    M = np.outer(w, w) + S
    b, Z = problem.offset, problem.Z_free
    s = np.einsum("ij,jk,ik->i", Z, M, Z) + 2 * b * Z @ w + b * b
    f = problem.Z_known @ w + b
    expected = 0.5 * np.trace(M) + problem.obj.C * (np.maximum(1 - problem.y * f, 0) ** 2).sum()
    expected += problem.obj.C_star * (np.maximum(1 - np.sqrt(s), 0) ** 2).sum()
    spread = np.einsum("ij,jk,ik->i", Z, S, Z)
    assert problem.value_at(w, spread, 2.1) == pytest.approx(expected, rel=1e-12)
    assert problem.value_at(w, 0 * spread, 0.0) == pytest.approx(problem.obj.value_at(problem.expand(w)), rel=1e-12)
    assert problem.prove(w, spread, 2.1, np.full(7, 1e4), np.ones(4)).dual_objective == 0.0
    certificate = problem.prove(w, spread, 2.1, *problem.best_inwards(np.full(7, 1e4), np.ones(4)))
    assert certificate.primal_objective == pytest.approx(expected, rel=1e-12)
    assert np.isfinite(certificate.dual_objective)
    assert certificate.gap > 0


def test_certificates_without_multipliers_take_those_of_the_point(rng):
    """Slopes of the losses at M: good ones near the optimum, drawn inwards where they prove nothing as they are."""
    relaxation = random_relaxation(rng)
    solved = s3vm_bound(relaxation.obj, tol=1e-7)
    free = S3VMRelaxation(relaxation.obj)
    best = solved.certificate
    known = free.certificate(solved.variables, {name: solved.variables[name] for name in ("theta", "beta")})
    assert known.dual_objective == pytest.approx(best.dual_objective, rel=1e-6)
    bare = free.certificate(solved.variables)
    assert bare.primal_objective == pytest.approx(best.primal_objective, rel=1e-6)
    assert 0.0 <= bare.dual_objective <= best.primal_objective * (1 + 1e-7)
    some = free.certificate(solved.variables, {"theta": solved.variables["theta"]})
    assert 0.5 * best.dual_objective <= some.dual_objective <= best.primal_objective * (1 + 1e-7)


def test_unlabelled_samples_without_weight_are_no_part_of_it(rng):
    X = rng.standard_normal((8, 3))
    labels = encode_labels([0, 1, 0, 1, -1, -1, -1, -1])
    relaxation = S3VMRelaxation(S3VM(X, labels, C=2.0, C_star=0.0))
    assert relaxation.free.tolist() == relaxation.decided.tolist() == []
    decided = S3VMRelaxation(S3VM(X, labels, C=2.0, C_star=0.0), np.array([1.0, -1.0, 0.0, 1.0]))
    assert decided.free.tolist() == decided.decided.tolist() == []
    assert decided.y.tolist() == labels.sign.tolist()


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_relaxed_value_is_that_of_the_features(loss, still, rng):
    """Coordinates that are off along S z, or in a basis that is too short, make squares too large."""
    for off, short in ((1e-5, 0.0), (0.0, 1e-5)):
        problem = random_relaxation(rng, loss, decided=3)
        A, basis = 0.1 * problem.obj.features.dense(), (1.0 - short) * np.eye(3)
        root = rng.standard_normal((3, 3))
        S, w = root @ root.T, np.zeros(3) if still else rng.standard_normal(3)
        Z = A / (1.0 - short) + off * (A @ S) / np.linalg.norm(A @ S, axis=1)[:, None]
        rough = S3VMRelaxation(problem.obj, problem.signs, RowSpace(Z, basis, off, 2.0 * short))
        exact = S3VMRelaxation(problem.obj, problem.signs, RowSpace(A, np.eye(3)))
        spread = np.einsum("ij,jk,ik->i", rough.Z_free, S, rough.Z_free)
        there, lifted = basis @ S @ basis.T, basis @ w
        true = exact.value_at(lifted, np.einsum("ij,jk,ik->i", exact.Z_free, there, exact.Z_free), np.trace(there))
        rounding = rough.rounding(w, spread, np.trace(S))
        assert true <= rough.value_at(w, spread, np.trace(S)) + rounding
        assert rounding < 1e-2 * true


def test_multipliers_are_the_slopes_of_the_losses(rng):
    problem = random_relaxation(rng, "hinge", "exp", decided=2)
    w = rng.standard_normal(3)
    t = problem.y * (problem.Z_known @ w + problem.offset)
    expected = np.concatenate([(t[:4] < 1) * 1.0, -ExpEnvelope(3.0).gradient(t[4:])])
    np.testing.assert_allclose(problem.multipliers(w), expected)


def test_row_space_of_wide_and_of_deficient_features(rng):
    X = rng.standard_normal((9, 2)) @ rng.standard_normal((2, 30))
    y = np.array([0, 1] + [-1] * 7)
    obj = S3VM(X, encode_labels(y), C=2.0, balance=0.0)
    space = RowSpace.of(obj)
    assert space.Z.shape == (9, 2)
    A = obj.features.dense()
    np.testing.assert_allclose(space.Z @ space.V.T, A, atol=1e-12)
    np.testing.assert_allclose(space.V.T @ space.V, np.eye(2), atol=1e-13)
    missed = np.linalg.norm(space.Z @ space.V.T - A, axis=1)
    assert (missed <= space.errors + 2.0**-50 * np.linalg.norm(A, axis=1)).all()
    assert (space.errors <= 1e-12 * np.linalg.norm(A, axis=1)).all()
    assert np.linalg.norm(space.V.T @ space.V - np.eye(2), 2) <= space.skew < 1e-12
    # A direction without length is left out.
    assert RowSpace.of(S3VM(np.ones((4, 2)), encode_labels([0, 1, -1, -1]), balance=0.0)).Z.shape == (4, 0)


def whole_numbers(x):
    """The entries times 2^300, as integers."""
    return np.vectorize(lambda value: int(Fraction(value) * 2**300), otypes=[object])(x)


def missed_exactly(A, Z, V):
    """Lengths of the rows of A - Z V', and V'V - I."""
    Z, V = whole_numbers(Z), whole_numbers(V)
    off = ((whole_numbers(A) * 2**300 - Z @ V.T) / 2**600).astype(float)
    one = 2**600 * np.eye(V.shape[1], dtype=int).astype(object)
    return np.linalg.norm(off, axis=1), ((V.T @ V - one) / 2**600).astype(float)


@pytest.mark.parametrize("graded", [False, True])
def test_errors_of_a_row_space_are_measured_to_their_own_digits(graded, rng):
    """Against integers: in whichever order products are summed, and no more than what there is."""
    X = rng.standard_normal((40, 24))
    if graded:
        X *= np.geomspace(1.0, 1e-12, 40)[:, None]
    obj = S3VM(X, encode_labels(np.append([0, 1], np.full(38, -1))), intercept="regularized")
    space, A = RowSpace.of(obj), obj.features.dense()
    assert space.Z.shape == (40, 25)
    missed, skew = missed_exactly(A, space.Z, space.V)
    assert (missed <= space.errors).all()
    assert (space.errors <= 1.02 * missed + 2.0**-55 * np.linalg.norm(A, axis=1)).all()
    assert np.linalg.norm(skew, 2) <= space.skew <= 1.02 * np.linalg.norm(skew) + 2.0**-60


def test_what_measuring_rounds_is_counted(rng):
    """Small rows beside a large one, which leave nothing of A - Z V' in float64."""
    V = np.linalg.qr(rng.standard_normal((40, 24)))[0]
    Z = rng.standard_normal((9, 24)) * np.append(1.0, np.full(8, 1e-12))[:, None]
    missed, _ = missed_exactly(Z @ V.T, Z, V)
    assert (missed[1:] > 0).all()
    assert (missed <= _measured(Z @ V.T, Z, V)[0]).all()


def test_sparse_features_that_are_centred_on_the_fly_were_rounded(rng):
    X = rng.standard_normal((12, 1)) * np.geomspace(1.0, 1e-6, 12)[:, None]
    obj = S3VM(sp.csr_array(X), encode_labels(np.append([0, 1], np.full(10, -1))), balance=0.0)
    space = RowSpace.of(obj)
    mu = whole_numbers(obj.features.mu)
    off = (whole_numbers(X) - mu) * 2**300 - whole_numbers(space.Z) @ whole_numbers(space.V.T)
    missed = np.linalg.norm((off / 2**600).astype(float), axis=1)
    assert missed.any()
    assert (missed <= space.errors).all()


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e5])
@pytest.mark.parametrize("decided", [0, 7])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_bound_holds_for_the_features_themselves(loss, decided, scale, rng):
    """Not for their coordinates alone: the exact dual of A in fractions, with coordinates that are off by 1e-9."""
    for trial in range(6):
        problem = random_relaxation(rng, loss, decided=decided, C=scale, C_star=scale)
        space, A = problem.space, problem.obj.features.dense()
        off = 1e-9 * rng.standard_normal(space.Z.shape)
        rough = RowSpace(space.Z + off, space.V, np.linalg.norm(off, axis=1) + space.errors, space.skew)
        problem = S3VMRelaxation(problem.obj, problem.signs, rough)
        exact = S3VMRelaxation(problem.obj, problem.signs, RowSpace(A, np.eye(3)))
        theta = problem.repair(rng.exponential(size=len(problem.free)))
        theta = theta * (1.0 - 1e-5 if trial % 2 else 0.5)
        beta = np.minimum(10.0 ** rng.uniform(-3, 1, len(problem.y)), problem.upper)
        lower, truth = problem.dual_bound(theta, beta), rational_bound(exact, theta, beta)
        assert Fraction(lower) <= truth
        assert lower >= float(truth) - (1e-2 if trial % 2 else 1e-6) * (abs(float(truth)) + scale)
        # Without the charge some come out too high.
        plain = S3VMRelaxation(problem.obj, problem.signs, RowSpace(rough.Z, rough.V))
        assert plain.dual_bound(theta, beta) > lower


def in_coordinates(A, Z, errors, skew=0.0, balance=0.0, basis=1.0):
    """A relaxation over two labelled and more free samples in coordinates Z, and that over their features A."""
    labels = encode_labels(np.append([0, 1], np.full(len(A) - 2, -1)))
    obj = S3VM(np.zeros((len(A), 1)), labels, "squared_hinge", C=1.0, balance=balance)
    spaces = RowSpace(Z, basis * np.eye(Z.shape[1]), errors, skew), RowSpace(A, np.eye(A.shape[1]))
    return [S3VMRelaxation(obj, None, space) for space in spaces]


def test_errors_of_free_rows_count_where_nothing_pulls():
    """Opposite rows, whose pulls by the offset cancel: w is zero, and what all rows are off by is the residual."""
    Z = np.array([[1.0, 0.0], [1.0, 0.0], [0.5, 0.0], [-0.5, 0.0]])
    A = Z + np.array([0.0, 1e-3]) * np.array([[0.0], [0.0], [1.0], [1.0]])
    rough, exact = in_coordinates(A, Z, np.array([0.0, 0.0, 1e-3, 1e-3]), balance=0.5)
    theta, beta = np.full(2, 0.5), np.zeros(2)
    truth = rational_bound(exact, theta, beta)
    assert truth - Fraction(1, 10**5) <= Fraction(rough.dual_bound(theta, beta)) <= truth


def test_errors_of_free_decisions_count_where_the_minorant_is_flat():
    """A decision of zero that is off moves w by that over the smallest eigenvalue."""
    Z = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    A = Z + np.array([[0.0, 0.0], [0.0, 0.0], [1e-3, 0.0]])
    rough, exact = in_coordinates(A, Z, np.array([0.0, 0.0, 1e-3]))
    theta, beta = np.array([0.95]), np.ones(2)
    truth = rational_bound(exact, theta, beta)
    assert truth - Fraction(1, 10**3) <= Fraction(rough.dual_bound(theta, beta)) <= truth


@pytest.mark.parametrize("stretched", [False, True])
def test_definiteness_is_that_of_the_features(stretched):
    """Coordinates that are short by a hundredth, of rows that are off or in a basis that is too long."""
    A, Z = np.array([[1.0], [1.0], [1.01]]), np.ones((3, 1))
    if stretched:
        rough, exact = in_coordinates(1.01 * Z, Z, 0.0, 1.01**2 - 1.0, basis=1.01)
    else:
        rough, exact = in_coordinates(A, Z, np.array([0.0, 0.0, 0.01]))
    assert np.linalg.cholesky(rough.matrix(np.array([0.99])))[0, 0] > 0.0
    assert 0.99 * exact.Z_free[0, 0] ** 2 > 1.0
    assert rough.dual_bound(np.array([0.99]), np.ones(2)) == -np.inf
    theta, beta = np.array([0.9]), np.ones(2)
    truth = rational_bound(exact, theta, beta)
    assert truth - 5 <= Fraction(rough.dual_bound(theta, beta)) <= truth


@pytest.mark.parametrize("s", [0.5, 3.0])
def test_beyond_its_largest_curvature_a_parabola_gains_nothing(s):
    for below in map(minorant, (SymmetricHinge(), SymmetricSquaredHinge(), ExpSquared(s))):
        at = np.array([below.largest, 10.0 * below.largest])
        least, most = below.value(at)
        assert most - least < 1e-7
        assert float(below.value(np.array(0.5 * min(below.largest, 1.0)))) < least
    exp = minorant(ExpSquared(s))
    assert float(exp.value(np.array(0.9 * exp.largest))) < 1.0 == float(exp.value(np.array(exp.largest)))


def test_multiples_lead_inwards_to_zero(rng):
    problem = random_relaxation(rng)
    theta = 3.0 * rng.exponential(size=7)
    inside = list(problem.inwards(theta))
    np.testing.assert_array_equal(inside[0], problem.repair(theta))
    shares = [float((one / inside[0]).mean()) for one in inside]
    assert shares == sorted(shares, reverse=True)
    assert (shares[0], shares[-1]) == (1.0, 0.0)
    assert len(set(shares)) == len(shares) > 5
    assert all(np.isfinite(problem.dual_bound(one, np.ones(4))) for one in inside[1:])


def test_multipliers_beyond_the_bounds_count_as_the_bounds(rng):
    problem = random_relaxation(rng, "hinge")
    theta = 0.5 * problem.repair(rng.exponential(size=7))
    bound = problem.dual_bound(theta, np.array([1.0, 0.0, 1.0, 0.3]))
    assert np.isfinite(bound)
    assert problem.dual_bound(theta, np.array([1.5, -2.0, 7.0, 0.3])) == bound


def test_the_margin_covers_a_poor_solution_of_the_unit_matrix(rng, monkeypatch):
    """Without a parabola A is the unit matrix, and what is missed costs half its square, no less."""
    for _ in range(5):
        problem = random_relaxation(rng, C=1.0, C_star=1.0)
        problem = S3VMRelaxation(problem.obj, None, RowSpace(problem.space.Z, np.eye(3), 0.0))
        theta, beta = np.zeros(7), rng.exponential(size=4)
        exact = float(rational_bound(problem, theta, beta))
        for noise in (0.0, 1e-4, 1.0):
            monkeypatch.setattr(s3vm_relaxation_proof, "solved", lambda obj, factor, theta, q, x=noise: q + x)
            assert exact - 1e-9 <= problem.dual_bound(theta, beta) <= exact


def test_the_conjugate_of_the_envelope_vanishes_with_the_slope():
    """Down to numbers whose squares underflow."""
    values = ExpEnvelope(3.0).dual_value(np.array([0.0, 1e-300, 1e-200, 1e-100, 1e-10]))
    assert (values >= 0).all()
    assert (np.diff(values) >= 0).all()
    assert values[-1] < 1e-9


def test_errors_of_known_rows_add_to_what_a_solution_misses(rng, monkeypatch):
    """At w = 0 all of q is missed, and rows that are off along it make q longer; no parabola plays a part."""
    for _ in range(5):
        obj = random_relaxation(rng, "hinge").obj
        Z, errors = rng.standard_normal((11, 3)), 0.1 * rng.uniform(size=11)
        problem = S3VMRelaxation(obj, None, RowSpace(Z, np.eye(3), errors))
        beta = rng.uniform(0.2, 1.0, 4)
        monkeypatch.setattr(s3vm_relaxation_proof, "solved", lambda *args: np.zeros(3))
        weighted = problem.weights * beta
        q = (weighted * problem.y) @ problem.Z_known
        longer = np.linalg.norm(q) + weighted @ errors[obj.labels.labeled]
        exact = weighted.sum() - problem.offset * (weighted @ problem.y) - 0.5 * longer**2
        assert exact - 1e-3 * abs(exact) <= problem.dual_bound(np.zeros(7), beta) <= exact


@pytest.mark.parametrize("kind", ["exp", "symmetric_squared_hinge", "symmetric_hinge"])
def test_multipliers_of_a_point_are_the_slopes_of_the_loss_in_its_square(kind, rng):
    """U(f) = v(f^2), theta = -2 C* v', by differences of the relaxed losses; the steepest parabola where f is zero."""
    problem = random_relaxation(rng, unlabeled_loss=kind, C_star=3.0)
    w, spread, step = 0.3 * rng.normal(size=3), rng.uniform(0.01, 0.1, 7), 1e-7
    s = (problem.Z_free @ w + problem.offset) ** 2 + spread
    rises = (problem.minorant.relaxed(s + step) - problem.minorant.relaxed(s - step)) / (2 * step)
    smooth = np.abs(np.sqrt(s) - 1.0) > 1e-3
    np.testing.assert_allclose(problem._slopes(w, spread)[smooth], -2.0 * 3.0 * rises[smooth], rtol=1e-5, atol=1e-6)
    level = S3VMRelaxation(S3VM(np.zeros((3, 1)), encode_labels([0, 1, -1]), unlabeled_loss=kind, balance=0.0))
    np.testing.assert_array_equal(level._slopes(np.zeros(level.rank), np.zeros(1)), level.largest)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_feasibility_is_relative_to_the_matrix(size, rng):
    problem = random_relaxation(rng)
    w = size * rng.normal(size=3)
    M = np.vstack([np.r_[1.0, w], np.column_stack([w, np.outer(w, w) + size**2 * np.eye(3)])])
    off = np.zeros((4, 4))
    off[1, 2] = max(1.0, np.abs(M).max())
    assert np.isfinite(problem.value({"M": M + 1e-13 * off}))
    assert problem.value({"M": M + 1e-2 * off}) == np.inf


@pytest.mark.parametrize("skew", [-1e-3, 1e-3])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_margin_covers_a_basis_that_is_too_long_or_too_short(skew, loss, rng):
    """Coordinates Z with V'V = (1 + skew) I: those in an orthonormal basis are longer by the root of that."""
    for trial in range(25):
        problem = random_relaxation(rng, loss, decided=trial % 3)
        Z = 10.0 ** rng.uniform(-1, 2) * problem.space.Z
        rounded = S3VMRelaxation(problem.obj, problem.signs, RowSpace(Z, np.eye(3), 0.0, abs(skew)))
        meant = S3VMRelaxation(problem.obj, problem.signs, RowSpace(np.sqrt(1 + skew) * Z, np.eye(3), 0.0))
        theta = rng.uniform(0.5, 0.998) * rounded.repair(1e6 * rng.exponential(size=len(problem.free)))
        for beta in (np.zeros(len(problem.y)), np.minimum(rng.exponential(size=len(problem.y)), problem.upper)):
            lower = rounded.dual_bound(theta, beta)
            if lower > -np.inf and is_definite(penalty_less_parabolas(meant, theta)):
                assert lower <= float(rational_bound(meant, theta, beta))


def test_the_envelope_is_a_line_far_to_the_left_and_nothing_far_to_the_right():
    envelope, far = ExpEnvelope(3.0), np.array([-1e160, -1e300])
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_allclose(envelope.value(far), -envelope.upper * far, rtol=1e-12)
        np.testing.assert_array_equal(envelope.gradient(far), -envelope.upper)
        np.testing.assert_array_equal(envelope.curvature(np.append(far, [1e100, 1e160, 1e300])), 0.0)


def test_another_objective_has_coordinates_of_its_own(rng):
    problem = random_relaxation(rng)
    obj = S3VM(rng.normal(size=(11, 4)), problem.obj.labels, "hinge", balance=0.0)
    other = problem.with_(obj=obj)
    np.testing.assert_array_equal(other.space.Z, RowSpace.of(obj).Z)
    assert problem.with_(signs=np.ones(7)).space is problem.space


def test_a_matrix_that_is_not_positive_semidefinite_is_not_feasible(rng):
    M = np.diag([1.0, 1.0, 1.0, -1e-3])
    assert random_relaxation(rng).value({"M": M}) == np.inf
