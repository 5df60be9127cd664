"""Gradient descent with annealed C*: its schedule, the same minima as Newton's method, CVXPY, bad input."""

import numpy as np
import pytest
from s3vm_problems import gaussians

from specmargin.results import Status
from specmargin.solvers.s3vm.gradient import gradient


def test_schedule_is_that_of_the_paper():
    """C*_i = 2^(i - 10) C*, i = 0 ... 10, each step started at the last end."""
    obj = gaussians(C=3.0)
    result = gradient(obj, tol=1e-7)
    history = result.history
    assert set(history) == {"factor", "objective", "gradient", "n_iter", "n_calls"}
    assert history["factor"] == [2.0 ** (i - 10) for i in range(11)]
    assert history["objective"][-1] == result.certificate.primal_objective
    assert max(history["gradient"][:-1]) <= 1e-3
    # The least value rises with C*.
    assert (np.diff(history["objective"]) > 0).all()
    assert result.n_iter == sum(history["n_iter"])
    assert result.solver == "gradient"


def test_other_schedules_are_taken():
    obj = gaussians()
    assert gradient(obj, n_steps=3).history["factor"] == [0.125, 0.25, 0.5, 1.0]
    assert gradient(obj, n_steps=0).history["factor"] == [1.0]
    assert gradient(obj, schedule=[0, 0.5, 1]).history["factor"] == [0.0, 0.5, 1.0]
    # A part of C* only: the certificate is still that of the whole objective.
    half = gradient(obj, schedule=[0.5], tol=1e-9)
    assert half.history["objective"][0] == pytest.approx(obj.with_(C_star=0.5).value_at(half.variables["w"]), rel=1e-12)
    assert half.certificate.primal_objective == obj.value_at(half.variables["w"])


def test_kinked_losses_make_no_claim():
    result = gradient(gaussians(loss="hinge", unlabeled_loss="symmetric_hinge", C=10.0))
    assert np.isfinite(result.certificate.primal_objective)
    assert result.status is Status.MAX_ITER
    assert "kink" in result.message
