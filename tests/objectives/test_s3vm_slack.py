"""Balance on decision plus slack: values, certificates, and who refuses it."""

import numpy as np
import pytest

import specmargin as sm
from specmargin import optima
from specmargin.labels import encode_labels
from specmargin.objectives.s3vm import S3VM
from specmargin.objectives.s3vm_slack import slack_certificate, slack_value

X = np.array([[-2.0, 0.3], [2.0, 0.1], [-1.0, -0.4], [0.1, 1.0], [0.9, 0.2]])
LABELS = encode_labels([0, 1, -1, -1, -1])


def objective(**options):
    return S3VM(X, LABELS, **{"C": 2.0, "C_star": 0.5, "balance": 0.2, "intercept": "none", **options})


def test_j_is_the_sum_of_penalty_and_squared_slacks():
    obj, w, x = objective(balance_on="slack"), np.array([0.3, -0.2]), np.array([-1.5, 1.0, -1.2, -1.3, 3.1])
    J = 0.5 * w @ w + np.array([2.0, 2.0, 0.5, 0.5, 0.5]) @ (x - X @ w) ** 2
    assert obj.value({"w": w, "x": x}) == pytest.approx(J, rel=1e-14)
    assert obj.decisions({"w": w, "x": x}) == pytest.approx(X @ w)
    proof = obj.certificate({"w": w, "x": x})
    assert proof.primal_objective == pytest.approx(J, rel=1e-14)
    assert proof.dual_objective == -np.inf
    assert proof.violation < 1e-12
    assert 0.0 < proof.rounding < 1e-12
    assert slack_certificate(obj, w, x, 1.0).dual_objective == 1.0
    assert slack_value(obj, w, x) == obj.value_at(w, x)


@pytest.mark.parametrize(("j", "change", "violated"), [(0, 0.9, "margins"), (2, 0.5, "margins"), (4, 0.1, "balance")])
def test_a_point_outside_has_no_value_and_says_what_is_violated(j, change, violated):
    obj, w, x = objective(balance_on="slack"), np.zeros(2), np.array([-1.5, 1.0, -1.2, -1.3, 3.1])
    x[j] += change
    assert obj.value({"w": w, "x": x}) == np.inf
    assert obj.certificate({"w": w, "x": x}).violations[violated] > 0.01


def test_margins_that_are_a_little_short_are_charged_as_rounding():
    obj, w, x = objective(balance_on="slack"), np.zeros(2), np.array([-1.0, 1.0, -1.0, 1.0, 1.0])
    near = x * (1.0 - np.array([1e-7, 0.0, 3e-7, 0.0, 0.0]))
    J, proof = obj.certificate({"w": w, "x": x}).primal_objective, slack_certificate(obj, w, near)
    assert proof.primal_objective < J - 1e-7
    assert J <= proof.primal_objective + proof.rounding <= J + 1e-12


def test_without_a_balance_x_is_no_variable_and_no_intercept_is_the_plain_product():
    obj, w = objective(), np.array([0.3, -0.2])
    assert set(obj.variables) == {"w"}
    assert obj.decisions_at(w) == pytest.approx(X @ w, rel=1e-15)
    assert obj.total is None
    slack = np.maximum(0, 1 - np.array([-1, 1]) * (X @ w)[:2]), np.maximum(0, 1 - np.abs(X @ w)[2:])
    assert obj.value({"w": w}) == pytest.approx(0.5 * w @ w + 2 * (slack[0] ** 2).sum() + 0.5 * (slack[1] ** 2).sum())


def test_an_answer_is_certified_anew():
    obj = objective(balance_on="slack")
    result = optima.branch_and_bound(obj)
    again = sm.certify(obj, result)
    assert again.primal_objective == pytest.approx(result.certificate.primal_objective, rel=1e-14)
    assert again.violation < 1e-9
    assert result.status.name == "OPTIMAL"
