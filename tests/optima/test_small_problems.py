"""Five hundred small problems of all kinds: no bound exceeds the optimum over all labelings, no proved label is wrong.

Hinges, squared hinges and their mixtures, exp(-s f^2); intercepts "balance", "regularized", "none"; the balance on
decisions or on decision plus slack; up to 14 unlabelled samples. ``SPECMARGIN_FULL=1`` takes all of them.
"""

import numpy as np
import pytest
from full_size import shortened
from scipy.optimize import lsq_linear
from small_problems import LOSSES, enumerated, small_problem

from specmargin.optima.bound import s3vm_bound, with_bound
from specmargin.optima.branching import branch_and_bound
from specmargin.optima.probing import probe
from specmargin.results import Status

PARTS, MOST = 5, 14
COUNT = shortened(60, 500)
SHORT = 1e-9
"""What the bounds of the best labelings are apart by, and a little."""


def check(seed):
    """All that must hold for a problem; returns the search's answer, and how many labels were proved."""
    small = small_problem(seed, MOST)
    optima, obj, name = enumerated(small), small.obj, small.name
    best, above = optima.best, optima.best * (1.0 + SHORT)
    assert small.smooth or optima.lower.min() >= best * (1.0 - SHORT), name
    exact = branch_and_bound(obj, time_limit=20.0)
    bounds = [exact.certificate.dual_objective, *exact.history["bound"]]
    if "root_bound" in exact.variables:
        bounds.append(float(exact.variables["root_bound"]))
    value = exact.certificate.primal_objective
    assert value >= best * (1.0 - 1e-7) or small.smooth, name
    if exact.status is Status.OPTIMAL:
        assert value <= best * (1.0 + 2e-6), name
    else:  # exp in several dimensions, when the time is up
        assert small.smooth, f"{name}: {exact.status.name}, {exact.message}"
    proved = np.zeros(small.free.sum())
    if small.total is None:
        root, probed = s3vm_bound(obj), probe(obj)
        bounds += [root.certificate.dual_objective, probed.certificate.dual_objective]
        bounds.append(with_bound(obj, exact).certificate.dual_objective)
        proved = probed.variables["proved"]
        check_labels(small, optima, probed, name)
    # A point that misses its margins by rounding, under a balance on slack, says what that is worth.
    attained = value + exact.certificate.rounding
    assert max(bounds) <= min(above, attained * (1.0 + SHORT)), name
    assert min(bounds) >= 0.0, name
    return exact, int(np.count_nonzero(proved))


def check_labels(small, optima, probed, name):
    """Every optimum has the proved labels."""
    f = optima.W @ small.A.T[:, small.free] + small.b
    optimal = optima.upper <= min(optima.best, probed.certificate.primal_objective) * (1.0 + 1e-12)
    proved = probed.variables["proved"]
    assert (f[optimal][:, proved != 0] * proved[proved != 0] > 0).all(), name


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_bound_exceeds_the_optimum_and_no_proved_label_is_wrong(part):
    answers = [check(seed) for seed in range(part, COUNT, PARTS)]
    assert np.mean([exact.status is Status.OPTIMAL for exact, _ in answers]) > 0.9
    assert sum(labels for _, labels in answers) > len(answers)


def test_a_few_of_each_kind_hold():
    for seed in (0, 1, 2, 3, 5, 10, 13, 18, 20, 22):
        check(seed)


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 6, 9])
def test_the_enumeration_is_that_of_scipy(seed):
    """Single labelings as least squares in a box, with a ridge of nothing where the hinge is plain."""
    small = small_problem(seed, 4)
    if small.smooth or small.total is not None:
        small = small_problem(seed + 1, 4)
    optima = enumerated(small)
    values = []
    for y in small.labelings:
        rows, q = y[:, None] * small.A, 1.0 - y * small.b
        tiny = np.where(small.squared, (2.0 * small.C) ** -0.5, 3e-5 * small.C**-0.5)
        M, d = np.vstack([rows.T, np.diag(tiny)]), np.append(np.zeros(small.A.shape[1]), q / tiny)
        top = np.where(small.squared, np.inf, small.C)
        a = lsq_linear(M, d, (0.0, top), method="bvls", tol=1e-14).x
        w = rows.T @ np.clip(a, 0.0, top)
        slack = np.maximum(0.0, 1.0 - y * (small.A @ w + small.b))
        values.append(0.5 * w @ w + small.C @ np.where(small.squared, slack**2, slack))
    assert optima.best == pytest.approx(min(values), rel=1e-5)
    assert (optima.lower <= np.array(values) * (1.0 + 1e-9)).all()


def test_every_kind_is_among_the_problems():
    names = [small_problem(seed, MOST).name.split(": ")[1] for seed in range(60)]
    assert len({name.split(", l =")[0] for name in names}) == 3 * len(LOSSES) + 1
    assert max(int(name.split("u = ")[1].split(",")[0]) for name in names) == MOST
