"""Three forms of the problem over blocks: they agree, their values are the objective's, and parameters move them."""

import cvxpy as cp
import numpy as np
import pytest
from block_problems import LOSSES, blocks_of, labels_of

from specmargin.exceptions import InvalidInputError
from specmargin.objectives import BlockMargin
from specmargin.problems import block_margin, solve

FORMS = ("literal", "compact", "primal")
losses = pytest.mark.parametrize("loss", LOSSES)
pytestmark = pytest.mark.filterwarnings("ignore:Solution may be inaccurate")


@losses
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(("order", "eps"), [(False, 0.0), (True, 0.0), (True, 1e-3)])
def test_forms_agree(loss, n_classes, order, eps):
    labels = labels_of(n_classes, n=20, labelled=12, weights="some" if order else None)
    obj = BlockMargin(blocks_of(labels, [3, 14, 1]), labels, C=1.5, loss=loss, order=order, eps=eps)
    results = [solve(block_margin(obj, form)) for form in FORMS]
    for result in results:
        assert result.certificate.relative_gap < 1e-5
        assert result.variables["delta"].sum() == pytest.approx(1.0)
        np.testing.assert_allclose(result.variables["delta"], results[0].variables["delta"], atol=2e-3)
    assert np.ptp([result.certificate.primal_objective for result in results]) < 1e-5
    assert np.ptp([result.certificate.dual_objective for result in results]) < 1e-5


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("B", [np.inf, 1.2])
def test_problem_value_is_the_objective_and_follows_its_parameters(form, B):
    labels = labels_of(3, n=20, labelled=12)
    obj = BlockMargin(blocks_of(labels, [3, 14]), labels, C=1.5, B=B)
    built = block_margin(obj, form)
    for C in (1.5, 4.0):
        built.parameters["C"].value = C
        result = solve(built)
        assert built.problem.value == pytest.approx(result.certificate.primal_objective, rel=1e-5)
        assert built.current_objective().loss.C == C


@losses
def test_a_model_written_here_agrees(loss):
    """Two classes, straight from the definition."""
    labels = labels_of(2, n=20, labelled=12)
    blocks, C = blocks_of(labels, [3, 14]), 1.5
    w, delta, b = [cp.Variable(F.shape[1]) for F in blocks], cp.Variable(2), cp.Variable()
    f = sum(F[labels.labeled] @ one for F, one in zip(blocks, w, strict=True)) + b
    t = cp.multiply(labels.sign, f)
    missing = 1 - t if loss == "squared" else cp.pos(1 - t)
    charged = C * cp.sum(missing) if loss == "hinge" else C / 2 * cp.sum_squares(missing)
    norm = sum(cp.quad_over_lin(one, delta[i]) for i, one in enumerate(w)) / 2
    model = cp.Problem(cp.Minimize(norm + charged), [cp.sum(delta) == 1, delta >= 0])
    value = model.solve(solver="CLARABEL", use_quad_obj=False)
    result = solve(block_margin(BlockMargin(blocks, labels, C=C, loss=loss)))
    assert result.certificate.primal_objective == pytest.approx(value, rel=1e-6)


def test_an_unknown_form_is_refused():
    labels = labels_of(2)
    with pytest.raises(InvalidInputError, match="unknown form 'chained'"):
        block_margin(BlockMargin(blocks_of(labels, [3]), labels), "chained")
