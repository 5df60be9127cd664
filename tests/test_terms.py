"""Models as sums: what is known has its objective's answer, what is not that of CVXPY; order and scale change nothing.

The reference of a composed sum is written here once more, without a kernel's factor or a builder: over alpha, or over
v and delta, with a loop over samples and edges, and solved by CVXPY alone with tolerances of 1e-10.
"""

import itertools
import pickle

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.exceptions import InvalidInputError, InvalidTypeError
from specmargin.terms import Alignment, Loss, Model, Norm, Smoothness, SpectrumNorm, TotalVariation

X, TRUTH = sm.datasets.make_two_moons(n_samples=40, random_state=0)
LABELS = sm.encode_labels(sm.hide_labels(TRUTH, per_class=4, random_state=0))
WEIGHTED = LABELS.weighted(np.linspace(0.5, 2.0, 8))
W, SPARSE = sm.graphs.knn_graph(X, n_neighbors=6), sm.graphs.knn_graph(X, n_neighbors=3)
L, OTHER = sm.graphs.laplacian(W), sm.graphs.laplacian(SPARSE, normalized=False)
K = sm.kernels.gram(X, gamma=4.0)
SPECTRUM = sm.spectra.laplacian_eigenpairs(W, q=10, normalized=False)
DELTA = sm.spectra.transforms.inverse(SPECTRUM)
TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}

KNOWN = {
    "LapSVM": (
        Loss("hinge") + Norm(K, 0.01) + Smoothness(L, 0.5),
        lambda y: sm.objectives.LapSVM(K, L, y, gamma_A=0.01, gamma_I=0.5),
        sm.solvers.factorized,
    ),
    "LapSVM, squared hinge": (
        Loss("squared_hinge") + Norm(K, 0.01) + Smoothness(L, 0.5),
        lambda y: sm.objectives.LapSVM(K, L, y, loss="squared_hinge", gamma_A=0.01, gamma_I=0.5),
        sm.solvers.newton,
    ),
    "LapSVM, no graph": (
        Loss("huber_hinge", 4.0) + Norm(K, 0.04),
        lambda y: sm.objectives.LapSVM(K, None, y, loss="huber_hinge", gamma_A=0.01),
        sm.solvers.factorized,
    ),
    "LapSVM, no numpy solver": (
        Loss("smooth_hinge") + Norm(K, 0.01),
        lambda y: sm.objectives.LapSVM(K, None, y, loss="smooth_hinge", gamma_A=0.01),
        lambda obj: sm.solve(sm.problems.lapsvm_dual(obj), tol_gap_rel=1e-11, tol_gap_abs=1e-11),
    ),
    "LapRLS": (
        Loss("squared", 2.0) + Norm(K, 0.02) + Smoothness(L, 1.0),
        lambda y: sm.objectives.LapSVM(K, L, y, loss="squared", gamma_A=0.01, gamma_I=0.5),
        sm.solvers.factorized,
    ),
    "STORM": (
        Loss("hinge", 10.0, bound=1.2) + SpectrumNorm(SPECTRUM),
        lambda y: sm.objectives.SpectrumMargin(SPECTRUM, y, C=10.0, B=1.2),
        sm.solvers.spectrum_margin,
    ),
    "STOAM": (
        Loss("hinge", 5.0) + SpectrumNorm(SPECTRUM, 0.5),
        lambda y: sm.objectives.SpectrumMargin(SPECTRUM, y, C=10.0),
        sm.solvers.spectrum_margin,
    ),
    "MKL-S": (
        Loss("hinge", 10.0) + SpectrumNorm(SPECTRUM, order=False),
        lambda y: sm.objectives.SpectrumMargin(SPECTRUM, y, C=10.0, order=False),
        sm.solvers.spectrum_margin,
    ),
    "MKL-R": (
        Loss("hinge", 10.0, bound=1.1) + SpectrumNorm(SPECTRUM, order=False),
        lambda y: sm.objectives.SpectrumMargin(SPECTRUM, y, C=10.0, B=1.1, order=False),
        sm.solvers.spectrum_margin,
    ),
    "SVM": (
        Loss("hinge", 10.0) + SpectrumNorm(SPECTRUM, 2.0, delta=3.0 * DELTA),
        lambda y: sm.objectives.SpectrumMargin(SPECTRUM, y, C=5.0, delta=DELTA),
        sm.solvers.spectrum_margin,
    ),
    "RMM": (
        Loss("hinge", 10.0, bound=1.1) + SpectrumNorm(SPECTRUM, delta=DELTA),
        lambda y: sm.objectives.SpectrumMargin(SPECTRUM, y, C=10.0, B=1.1, delta=DELTA),
        sm.solvers.spectrum_margin,
    ),
    "SpectralRidge": (
        Loss("squared", 3.0) + SpectrumNorm(SPECTRUM, 0.6, delta=3.0 * DELTA),
        lambda y: sm.objectives.SpectralRidge(SPECTRUM, y, DELTA, penalty=0.1),
        sm.solvers.spectral_ridge,
    ),
    "KTA": (
        Alignment() + SpectrumNorm(SPECTRUM),
        lambda y: sm.objectives.Alignment(SPECTRUM, y),
        sm.solvers.alignment,
    ),
}


def over_alpha(losses, norm, smooth=(), variations=(), bound=None, y=LABELS):
    """Return the optimum of a sum over g = K alpha, in the coordinates of no factor of K."""
    alpha, b = cp.Variable(len(K)), cp.Variable()
    root = np.linalg.cholesky(K + 1e-12 * np.eye(len(K)))
    value = norm * cp.sum_squares(root.T @ alpha)
    return optimum(value, K @ alpha, b, losses, smooth, variations, bound, y)


def over_spectrum(losses, norm, smooth=(), variations=(), bound=None, y=LABELS, delta=None, order=True):
    """Return the optimum of a sum over eigenvectors, by quadratic over linear."""
    q, n = SPECTRUM.q, SPECTRUM.n_samples
    v, b = cp.Variable(q), cp.Variable()
    learned = cp.Variable(q, nonneg=True)
    constraints = [cp.sum(learned) == 1]
    if order:
        constraints += [learned[j] >= learned[j + 1] for j in range(1, q - 1)]
    if delta is not None:
        seen = delta > 0
        value = 0.5 * cp.sum_squares(v[seen] / np.sqrt(delta[seen]))
        constraints = [v[~seen] == 0] if (~seen).any() else []
    else:
        value = 0.5 * sum(cp.quad_over_lin(v[j], learned[j]) for j in range(q))
    g = np.sqrt(n) * SPECTRUM.eigenvectors @ v
    return optimum(norm * value, g, b, losses, smooth, variations, bound, y, constraints)


def optimum(value, g, b, losses, smooth, variations, bound, y, constraints=()):
    f, constraints = g + b, list(constraints)
    c = y.weights_or_ones
    for loss, weight in losses:
        for k, i in enumerate(y.labeled):
            t = y.sign[k] * f[i]
            one = {"hinge": cp.pos(1 - t), "squared": cp.square(1 - t), "squared_hinge": cp.square(cp.pos(1 - t))}
            value += weight * c[k] * one[loss]
    for graph, weight in smooth:  # of the eigenvalue equation of L, not of its factor
        values, vectors = np.linalg.eigh(np.asarray(graph @ np.eye(len(X))))
        for one, vector in zip(np.maximum(values, 0.0), vectors.T, strict=True):
            value += weight * one * cp.square(vector @ g)
    for graph, weight in variations:
        A = graph.toarray()
        for i, j in itertools.combinations(range(len(X)), 2):
            if A[i, j]:
                value += weight * A[i, j] * cp.abs(f[i] - f[j])
    if bound is not None:
        constraints += [cp.max(cp.abs(f[y.labeled])) <= bound]
    problem = cp.Problem(cp.Minimize(value), constraints)
    problem.solve(solver="CLARABEL", **TIGHT)
    return problem.value


COMPOSED = {
    "two graphs and total variation": (
        Loss("hinge", 2.0) + Norm(K, 0.01) + Smoothness(L, 0.5) + Smoothness(OTHER, 0.2) + TotalVariation(SPARSE, 0.1),
        lambda y: over_alpha([("hinge", 2.0)], 0.01, [(L, 0.5), (OTHER, 0.2)], [(SPARSE, 0.1)], y=y),
    ),
    "two losses": (
        Loss("hinge") + Loss("squared", 0.3) + Norm(K, 0.1),
        lambda y: over_alpha([("hinge", 1.0), ("squared", 0.3)], 0.1, y=y),
    ),
    "a bound on a kernel": (
        Loss("hinge", 10.0, bound=0.8) + Norm(K, 0.5) + Smoothness(L, 0.1),
        lambda y: over_alpha([("hinge", 10.0)], 0.5, [(L, 0.1)], bound=0.8, y=y),
    ),
    "two bounds, of which one holds": (
        Loss("squared", 1.0, bound=3.0) + Loss("hinge", 2.0, bound=0.7) + Norm(K, 0.5),
        lambda y: over_alpha([("squared", 1.0), ("hinge", 2.0)], 0.5, bound=0.7, y=y),
    ),
    "a learned spectrum with squares": (
        Loss("squared_hinge", 4.0) + SpectrumNorm(SPECTRUM, 0.5),
        lambda y: over_spectrum([("squared_hinge", 4.0)], 0.5, y=y),
    ),
    "a learned spectrum with one graph": (
        Loss("hinge", 10.0) + SpectrumNorm(SPECTRUM) + Smoothness(OTHER, 0.3),
        lambda y: over_spectrum([("hinge", 10.0)], 1.0, [(OTHER, 0.3)], y=y),
    ),
    "a fixed spectrum with one graph": (
        Loss("squared") + SpectrumNorm(SPECTRUM, 0.2, delta=DELTA) + Smoothness(OTHER, 0.3),
        lambda y: over_spectrum([("squared", 1.0)], 0.2, [(OTHER, 0.3)], y=y, delta=DELTA),
    ),
    "a fixed spectrum with bounded squares": (
        Loss("squared", bound=0.7) + SpectrumNorm(SPECTRUM, 0.2, delta=DELTA),
        lambda y: over_spectrum([("squared", 1.0)], 0.2, bound=0.7, y=y, delta=DELTA),
    ),
    "a learned spectrum with graphs": (
        Loss("hinge", 10.0, bound=1.5)
        + SpectrumNorm(SPECTRUM, order=False)
        + Smoothness(L, 0.3)
        + TotalVariation(W, 0.02),
        lambda y: over_spectrum([("hinge", 10.0)], 1.0, [(L, 0.3)], [(W, 0.02)], 1.5, y, order=False),
    ),
    "a fixed spectrum with total variation": (
        Loss("squared") + SpectrumNorm(SPECTRUM, 0.2, delta=DELTA) + TotalVariation(W, 0.1),
        lambda y: over_spectrum([("squared", 1.0)], 0.2, variations=[(W, 0.1)], y=y, delta=DELTA),
    ),
    "a fixed spectrum with two losses": (
        Loss("squared") + Loss("hinge", 5.0) + SpectrumNorm(SPECTRUM, 0.2, delta=DELTA),
        lambda y: over_spectrum([("squared", 1.0), ("hinge", 5.0)], 0.2, y=y, delta=DELTA),
    ),
}


@pytest.mark.parametrize("labels", [LABELS, WEIGHTED], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", KNOWN)
def test_a_known_sum_has_the_answer_of_its_objective(name, labels):
    model, objective, solver = KNOWN[name]
    if name == "KTA" and labels is WEIGHTED:
        with pytest.raises(InvalidInputError, match="weights"):
            model.solve(labels)
        return
    obj = objective(labels)
    assert model.kind == obj.name == name.partition(",")[0]
    assert model.objective(labels).name == obj.name
    expected, result = solver(obj), model.solve(labels)
    assert result.certificate.kind == "objective"
    assert result.certificate.is_optimal(1e-8), result
    assert result.certificate.primal_objective == pytest.approx(expected.certificate.primal_objective, rel=1e-9)
    assert sm.certify(obj, result).is_optimal(1e-8)


@pytest.mark.parametrize("name", KNOWN)
def test_the_cvxpy_problem_of_a_known_sum_is_that_sum(name):
    model = KNOWN[name][0]
    built, result = model.build(LABELS), model.solve(LABELS)
    solved = sm.solve(built)
    assert solved.certificate.primal_objective == pytest.approx(result.certificate.primal_objective, rel=1e-6)
    assert model.solve(LABELS, "CLARABEL").solver == "CLARABEL"
    if name == "KTA":
        assert not built.expressions
        return
    assert solved.certificate.is_optimal(1e-6)
    np.testing.assert_allclose(built.expressions["decisions"].value, result.variables["f"], atol=2e-3)
    bounded = built.with_(constraints={"small": cp.abs(built.expressions["decisions"]) <= 0.7})
    changed = sm.solve(bounded)
    assert changed.certificate.is_optimal(1e-6)
    assert np.abs(changed.variables["f"]).max() <= 0.7 + 1e-6
    assert changed.certificate.primal_objective > result.certificate.primal_objective


@pytest.mark.parametrize("name", [name for name in KNOWN if name != "KTA"])
def test_the_unit_is_what_the_sum_is_of_the_objective(name):
    """The value of the sum, added up term by term at the answer, is that of the objective times the unit."""
    model = KNOWN[name][0]
    result = model.solve(LABELS)
    f, b = result.variables["f"], float(result.variables["b"])
    total = 0.0
    for term in model.terms:
        if isinstance(term, Loss):
            total += term.weight * term.loss.value(LABELS.sign * f[LABELS.labeled]).sum()
        elif isinstance(term, Norm):
            total += term.weight * (f - b) @ result.variables["alpha"]
        elif isinstance(term, Smoothness):
            total += term.weight * (f - b) @ (term.L @ (f - b))
        else:
            v, delta = result.variables["v"], result.variables["delta"]
            used = delta > 0
            total += term.weight / 2.0 * (v[used] ** 2 / delta[used]).sum()
    assert total == pytest.approx(model.unit * result.certificate.primal_objective, rel=1e-7)
    three = 3 * model
    assert three.unit == pytest.approx(3 * model.unit)
    assert three.solve(LABELS).certificate.primal_objective == pytest.approx(result.certificate.primal_objective)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # of the reference
@pytest.mark.parametrize("labels", [LABELS, WEIGHTED], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", COMPOSED)
def test_a_composed_sum_has_the_optimum_of_its_formulation(name, labels):
    model, reference = COMPOSED[name]
    assert (model.kind, model.unit, model.objective(labels)) == ("composed", 1.0, None)
    result = model.solve(labels)
    assert result.certificate.kind == "cone program"
    assert result.certificate.assumptions == ()
    assert result.certificate.is_optimal(1e-6), result.message
    value = reference(labels)
    assert result.certificate.primal_objective == pytest.approx(value, rel=1e-6)
    assert result.certificate.dual_objective <= value * (1 + 1e-7)


@pytest.mark.parametrize("name", COMPOSED)
def test_parts_add_up_and_scale(name):
    model = COMPOSED[name][0]
    built = model.build(LABELS)
    result = sm.solve(built)
    value = result.certificate.primal_objective
    parts = [
        built.expressions[part] for part in ("loss", "norm", "smoothness", "variation") if part in built.expressions
    ]
    assert sum(float(part.value) for part in parts) == pytest.approx(value, rel=1e-9)
    assert (np.float64(2.5) * model).solve(LABELS).certificate.primal_objective == pytest.approx(2.5 * value, rel=2e-6)
    np.testing.assert_allclose(result.variables["f"], built.expressions["decisions"].value, atol=1e-9)


@pytest.mark.parametrize("name", ["LapSVM", "STORM", "SpectralRidge", "KTA"])
def test_the_order_of_terms_changes_nothing(name):
    model = KNOWN[name][0]
    value = model.solve(LABELS).certificate.primal_objective
    for terms in itertools.permutations(model.terms):
        other = sum(terms)
        assert (other, other.kind) == (model, model.kind)
        assert other.solve(LABELS).certificate.primal_objective == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_any_laplacians_and_losses_that_add_up_are_one_lapsvm(seed):
    """Split L and the loss into random shares, in any form and order: the model is LapSVM of the sum."""
    rng = np.random.default_rng(seed)
    squared = sm.graphs.laplacian(W, power=2)
    forms = [L, OTHER, squared, sp.csr_matrix(L.matrix), OTHER.toarray(), sp.coo_array(OTHER.matrix)]
    drawn = [(forms[k], float(rng.uniform(0.1, 1.0))) for k in rng.integers(len(forms), size=rng.integers(2, 5))]
    shares = rng.dirichlet(np.ones(3))
    terms = [Norm(K, 0.02), *(Smoothness(one, weight) for one, weight in drawn), *(Loss("hinge", s) for s in shares)]
    model = sum(terms[k] for k in rng.permutation(len(terms)))
    whole = sum(weight * np.asarray(one @ np.eye(len(X))) for one, weight in drawn)
    expected = sm.solvers.factorized(sm.objectives.LapSVM(K, whole, LABELS, gamma_A=0.02, gamma_I=1.0))
    assert model.kind == "LapSVM"
    result = model.solve(LABELS)
    assert result.certificate.kind == "objective"
    assert result.certificate.primal_objective == pytest.approx(expected.certificate.primal_objective, rel=1e-9)


def test_several_classes_are_one_ridge_regression():
    labels = sm.encode_labels(np.where(np.arange(40) < 12, np.arange(40) % 3, -1))
    model = Loss("squared") + SpectrumNorm(SPECTRUM, 0.2, delta=DELTA)
    expected = sm.solvers.spectral_ridge(sm.objectives.SpectralRidge(SPECTRUM, labels, DELTA, penalty=0.1))
    assert model.solve(labels).variables["f"].shape == (40, 3)
    np.testing.assert_allclose(model.solve(labels).variables["f"], expected.variables["f"])
    with pytest.raises(InvalidInputError, match="3 classes"):
        (model + TotalVariation(W)).solve(labels)
    with pytest.raises(InvalidInputError, match="3 classes"):
        KNOWN["LapSVM"][0].solve(labels)


def test_a_composed_answer_decides_new_samples_by_its_coefficients():
    result = COMPOSED["two losses"][0].solve(LABELS)
    f = K[:5] @ result.variables["alpha"] + result.variables["b"]
    np.testing.assert_allclose(f, result.variables["f"][:5], atol=1e-9)


# The objects


def test_terms_are_equal_by_their_values():
    dense, sparse = OTHER.toarray(), sp.csr_array(OTHER.matrix)
    assert Smoothness(dense) == Smoothness(dense.copy()) != Smoothness(2.0 * dense)
    assert Smoothness(sparse) == Smoothness(sparse.copy()) != Smoothness(dense)
    assert Smoothness(L) == Smoothness(L) != Smoothness(sm.graphs.laplacian(W))
    assert Loss("hinge") == Loss(sm.losses.Hinge()) != Loss("hinge", 2.0)
    assert Norm(K) != Norm(K, 2.0) != Loss("hinge")
    assert SpectrumNorm(SPECTRUM) != SpectrumNorm(SPECTRUM, delta=DELTA) == SpectrumNorm(SPECTRUM, delta=2 * DELTA)
    assert Loss("hinge") + Norm(K) == Norm(K) + Loss("hinge") != Norm(K) + Loss("hinge") + Loss("hinge")
    assert Norm(K) + Loss("hinge") + Loss("hinge") != Loss("hinge") + Norm(K)
    assert Model((Norm(K),)) != Norm(K)
    model = Loss("hinge", bound=2.0) + Norm(K) + Smoothness(dense)
    assert pickle.loads(pickle.dumps(model)) == model


def test_terms_say_what_they_are():
    model = Loss("squared_hinge", bound=1.5) + Norm(K, 0.5) + Smoothness(L) + TotalVariation(W, 2)
    assert repr(model) == (
        "Loss(SquaredHinge(), bound=1.5) + Norm(<array of shape (40, 40) and type float64>, weight=0.5) + "
        "Smoothness(<LaplacianOperator of shape (40, 40)>) + "
        "TotalVariation(<sparse matrix of shape (40, 40)>, weight=2)"
    )
    assert repr(Alignment()) == "Alignment()"
    assert repr(SpectrumNorm(SPECTRUM, delta=DELTA)).endswith("delta=<array of shape (10,) and type float64>)")


def test_sums_and_products_leave_their_terms_as_they_are():
    loss, norm = Loss("hinge"), Norm(K, 0.5)
    model = loss + norm
    assert [*(2 * model).terms] == [Loss("hinge", 2.0), Norm(K, 1.0)]
    assert (loss * 3, np.float64(3.0) * loss) == (Loss("hinge", 3.0),) * 2
    assert (model + Smoothness(L)).terms[:2] == model.terms == (loss, norm)
    assert (model + (Smoothness(L) + loss)).terms == (loss, norm, Smoothness(L), loss)
    with pytest.raises(AttributeError):
        loss.weight = 2.0
    with pytest.raises(AttributeError):
        model.terms = ()
    for other in (1, "hinge", None):
        with pytest.raises(TypeError):
            loss + other
    assert 0.0 * TotalVariation(W) + model + Loss("squared", 0.0) != model
    assert (0.0 * TotalVariation(W) + model + Loss("squared", 0.0)).kind == "LapSVM"


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ((Loss("hinge"), Smoothness(L)), "no spaces of functions; add Norm"),
        ((Loss("hinge"), Norm(K, 0.0)), "no spaces of functions; add Norm"),
        ((), "no spaces"),
        ((Norm(K), Smoothness(L)), "no loss; add Loss"),
        ((Norm(K), Loss("hinge", 0.0)), "no loss; add Loss"),
        ((Loss("hinge"), Norm(K), SpectrumNorm(SPECTRUM)), "2 spaces of functions; keep one"),
        ((Loss("hinge"), Norm(K), Norm(K)), "2 spaces of functions; keep one"),
        ((Alignment(), Norm(K)), "alignment has no decisions; keep it and a spectrum"),
        ((Alignment(), SpectrumNorm(SPECTRUM, delta=DELTA)), "a spectrum to be learned"),
        ((Alignment(), SpectrumNorm(SPECTRUM), Loss("hinge")), "alignment has no decisions"),
        ((Alignment(), Alignment(), SpectrumNorm(SPECTRUM)), "alignment has no decisions"),
        ((Loss("hinge"), Norm(K), Smoothness(np.eye(3))), "Smoothness of 3 and Norm of 40"),
        ((Loss("hinge"), Norm(K[:3, :3]), TotalVariation(W)), "TotalVariation of 40 and Norm of 3"),
        ((Loss("hinge"), Norm(K[:3, :3])), "Norm of 3 and labels of 40"),
        (
            (Alignment(), SpectrumNorm(sm.spectra.laplacian_eigenpairs(W[:9, :9], q=4, normalized=False))),
            "of 9 and labels of 40",
        ),
    ],
)
def test_sums_that_are_no_model_say_what_is_missing(terms, says):
    for use in (Model(terms).build, Model(terms).solve, Model(terms).objective):
        with pytest.raises(InvalidInputError, match=says):
            use(LABELS)


def test_bad_terms_are_refused_by_name():
    for make, says in (
        (lambda: Loss("hinge", -1.0), "weight=-1.0 must be a number >= 0"),
        (lambda: Norm(K, np.nan), "weight=nan"),
        (lambda: -2.0 * Loss("hinge"), "factor=-2.0 must be a number >= 0"),
        (lambda: Norm(K) * "2", "factor='2'"),
        (lambda: Loss("hinge", bound=0.0), "bound=0.0 must be a positive number"),
        (lambda: Loss("hinges"), "unknown loss 'hinges'"),
        (lambda: Loss(sm.losses.Ramp()), "not declared convex"),
        (lambda: Norm(np.full((2, 2), np.nan)), "K"),
        (lambda: Smoothness(W), r"not positive semidefinite: L\["),
        (lambda: Smoothness(None), "no Laplacian"),
        (lambda: TotalVariation(-W), "W"),
        (lambda: SpectrumNorm(W), "spectrum=.* not Spectrum"),
        (lambda: SpectrumNorm(SPECTRUM, order=1), "order=1 must be True or False"),
        (lambda: SpectrumNorm(SPECTRUM, delta=-DELTA), "delta"),
        (lambda: Loss(los="hinge"), "pass what it takes"),
        (lambda: KNOWN["LapSVM"][0].solve(TRUTH), "labels=.*encode_labels"),
        (lambda: (Loss("hinge") + SpectrumNorm(SPECTRUM, delta=np.ones(3))).solve(LABELS), r"\(3,\)|3"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            make()
    with pytest.raises(InvalidTypeError):
        Loss("hinge", "1")


def test_an_indefinite_operator_is_refused_and_no_graph_is_no_term():
    class Operator:
        shape = (40, 40)

        def __matmul__(self, other):
            return -(L @ other)

    with pytest.raises(InvalidInputError, match="L is no kernel: it has the eigenvalue -"):
        (Loss("hinge") + Norm(K) + Smoothness(Operator()) + TotalVariation(W)).build(LABELS)
    empty = Loss("hinge") + Norm(K, 0.1) + TotalVariation(sp.csr_array((40, 40)))
    plain = Loss("hinge") + Norm(K, 0.1)
    values = [one.solve(LABELS).certificate.primal_objective for one in (empty, plain)]
    assert (empty.kind, values[0]) == ("composed", pytest.approx(values[1], rel=1e-6))
