"""The form of a problem that has decisions: the same optimum as the other forms, by another program."""

import numpy as np
import pytest

import specmargin as sm
from specmargin import problems

SPECTRA = {"storm": {"B": 1.5}, "stoam": {}, "mkl": {"order": False}}


def margin(spectrum_data, **options):
    spectrum, labels = spectrum_data("tied")
    return sm.objectives.SpectrumMargin(spectrum, labels, C=1.0, **options)


def agree(obj, other):
    built = problems.primal(obj)
    one, two = sm.solve(built), sm.solve(other)
    assert one.certificate.is_optimal(1e-6)
    assert one.certificate.primal_objective == pytest.approx(two.certificate.primal_objective, rel=2e-6)
    decisions = built.expressions["decisions"]
    assert decisions.is_affine()
    assert decisions.value == pytest.approx(built.derived(obj)["f"], abs=1e-8)
    return built, one, two


@pytest.mark.parametrize("kind", SPECTRA)
def test_of_a_learned_spectrum(kind, spectrum_data):
    obj = margin(spectrum_data, **SPECTRA[kind])
    agree(obj, problems.storm(obj, "compact"))


@pytest.mark.parametrize("B", [1.2, np.inf])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_of_a_fixed_spectrum_it_is_a_qp(B, C, spectrum_data):
    spectrum, _ = spectrum_data("tied")
    delta = np.where(np.arange(spectrum.q) % 3 == 1, 0.0, 0.5 ** np.arange(spectrum.q))
    obj = margin(spectrum_data, delta=delta / delta.sum()).with_(B=B, C=C)
    built = problems.primal(obj)
    assert built.problem.is_qp()
    result = sm.solve(built)
    ours = sm.solvers.spectrum_margin(obj)
    assert result.certificate.is_optimal(1e-6)
    assert result.certificate.primal_objective == pytest.approx(ours.certificate.primal_objective, rel=2e-6)
    assert built.derived(obj)["delta"] == pytest.approx(delta / delta.sum())


@pytest.mark.parametrize("B", [1.2, np.inf])
def test_of_the_relative_margin_it_is_the_dual_of_the_dual(B, gram_data):
    K, labels = gram_data()
    obj = sm.objectives.RMM(K, labels, C=2.0, B=B)
    built, one, two = agree(obj, problems.rmm(obj))
    assert one.variables["f"] == pytest.approx(two.variables["f"], abs=1e-3)
    assert K @ built.expressions["coefficients"].value + built.variables["b"].value == pytest.approx(
        built.expressions["decisions"].value, abs=1e-8
    )


def test_of_a_singular_kernel_one_coefficient_is_left():
    obj = sm.objectives.RMM(np.ones((4, 4)), sm.encode_labels([0, 1, 0, 1]), C=1.0)
    built = problems.primal(obj)
    assert built.variables["w"].shape == (1,)
    assert sm.solve(built).certificate.is_optimal(1e-6)


def test_of_laplacian_svms_both_norms_are_diagonal(manifold_data):
    K, L, labels = manifold_data()
    obj = sm.objectives.LapSVM(K, L, labels, gamma_A=0.1, gamma_I=1.0)
    built, one, _ = agree(obj, problems.lapsvm_dual(obj))
    f, alpha = one.variables["f"] - one.variables["b"], one.variables["alpha"]
    assert built.expressions["norm"].value == pytest.approx(alpha @ K @ alpha, rel=1e-4)
    assert built.expressions["smoothness"].value == pytest.approx(f @ (L @ f), rel=1e-4)


def test_what_has_no_decisions_is_refused(spectrum_data):
    with pytest.raises(TypeError, match="no problem of Alignment has decisions"):
        problems.primal(sm.objectives.Alignment(*spectrum_data("tied")))
