"""Weights and features beyond double precision: named, or answered without a warning of numpy, or called NUMERICAL."""

import numpy as np
import pytest

import specmargin as sm
from specmargin.objectives.s3vm import S3VM
from specmargin.results import Certificate, Status
from specmargin.solvers.s3vm.annealing import annealing
from specmargin.solvers.s3vm.cccp import cccp
from specmargin.solvers.s3vm.continuation import continuation
from specmargin.solvers.s3vm.gradient import gradient
from specmargin.solvers.s3vm.label_switching import label_switching
from specmargin.solvers.s3vm.multi_switch import multi_switch
from specmargin.solvers.s3vm.precision import require_range, trusted
from specmargin.solvers.s3vm.quasi_newton import quasi_newton

SEARCHES = {
    continuation: ("hinge", "exp"),
    gradient: ("squared_hinge", "exp"),
    quasi_newton: ("smooth_hinge", "exp"),
    multi_switch: ("squared_hinge", None),
    annealing: ("squared_hinge", None),
    cccp: ("hinge", None),
    label_switching: ("hinge", None),
}
searches = pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.__name__)


def problem(search, scale=1.0, n=16, **words):
    X, truth = sm.datasets.make_two_moons(n_samples=n, noise=0.13, random_state=3)
    y = sm.encode_labels(sm.hide_labels(truth, per_class=3, random_state=3))
    return S3VM(scale * X, y, *SEARCHES[search], **words)


@searches
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(("intercept", "supervised"), [("balance", False), ("free", True)])
@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"C": 1e300}, r"C=1e\+300 with features of length up to .* derivatives overflow. Take C from 1e-100 to"),
        ({"C": 1e-300}, r"C=1e-300 .* squares of gradients underflow"),
        ({"C_star": 1e300}, r"C_star=1e\+300 .* Take C_star from"),
        ({"scale": 1e160}, "squared lengths of the features overflow; divide the features"),
        ({"scale": 1e-160}, "squared lengths of the features underflow; divide the features"),
    ],
)
def test_what_overflows_is_named(search, intercept, words, match, supervised):
    obj = problem(search, intercept=intercept, **words)
    if supervised and obj.C != 1.0:
        obj = obj.supervised()
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match=match):
        search(obj)


@pytest.mark.parametrize("search", [multi_switch, annealing, cccp, label_switching], ids=lambda search: search.__name__)
def test_searches_with_hessians_name_long_features(search):
    with pytest.raises(ValueError, match=r"C=1 with features of length up to .*e\+130 .*overflow. Scale the features"):
        search(problem(search, 1e130))
    with pytest.raises(
        ValueError, match=r"C=1 with features of length up to .*e\+80 .*Take C from 1e-100 to .*, or sc"
    ):
        search(problem(search, 1e80))


@searches
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("words", [{"C": 1e-80}, {"C": 1e90}, {"scale": 1e40}])
def test_what_does_not_overflow_is_answered_or_called_numerical(search, words):
    obj = problem(search, intercept="regularized", **words)
    # One weight of the unlabelled losses: at 1e90 each of many trainings with the hinge would run into its limit.
    result = search(obj, **({"first_share": 1.0, "max_iter": 3} if search is label_switching else {}))
    assert result.status in (Status.STATIONARY, Status.NUMERICAL, Status.MAX_ITER)
    value = result.certificate.primal_objective
    assert np.isfinite(value)
    if result.status is Status.STATIONARY:
        assert value <= obj.value_at(np.zeros(obj.size)) * (1 + 1e-9)


def test_roundings_and_ways_down_are_told_apart():
    """A large weight alone is no reason to distrust an end, a gap that rounding does not explain is."""
    obj = problem(label_switching, C=1e17)
    w = label_switching(problem(label_switching, C=100.0)).variables["w"]
    labeled = obj.labels.sign * obj.decisions_at(w)[obj.labels.labeled]
    scaled = w / labeled.min() if labeled.min() > 0 else w
    assert trusted(obj, w, Status.MAX_ITER, "cut off") == (Status.MAX_ITER, "cut off")
    easy, stationary = problem(label_switching), Status.STATIONARY
    assert trusted(easy, w, stationary, "done") == (stationary, "done")
    # A gap that is no rounding is a way down from 1e-6 on, rounding is put up with to 1e-2.
    proofs = [(0.5, 0.0), (1.0 - 1e-5, 0.0), (1.0 - 1e-5, 0.1), (1.0 - 1e-9, 0.0), (1.0 - 1e-9, 1e-3)]
    found = [trusted(easy, w, stationary, "", Certificate(1.0, dual, rounding=own)) for dual, own in proofs]
    assert [status for status, _ in found] == 3 * [Status.NUMERICAL] + 2 * [stationary]
    assert all("rounding decides: the weights times" in message for _, message in found[:3])
    # No labels separate these samples: J is C times what it is at a weight of 1, as far as there are digits.
    solved = {C: label_switching(problem(label_switching, C=C), scaled, first_share=1.0) for C in (1e7, 1e9, 1e17)}
    assert solved[1e7].status is solved[1e9].status is stationary
    assert solved[1e9].certificate.primal_objective == pytest.approx(
        100.0 * solved[1e7].certificate.primal_objective, rel=1e-7
    )
    assert solved[1e17].status is Status.NUMERICAL
    assert "rounding decides: the weights times" in solved[1e17].message


def test_ordinary_weights_are_in_range():
    for C in (1e-6, 1.0, 1e6):
        for scale in (1e-6, 1.0, 1e6):
            require_range(problem(gradient, scale, C=C, C_star=1e-3 * C))
