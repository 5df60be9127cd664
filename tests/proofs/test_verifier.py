"""What the verifier says of claims: true ones, and records in which one digit, one label or one name is wrong."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import proof_problems
import pytest

pytest.importorskip("flint")
from flint import arb, ctx
from proved import BITS, record_of, sm, with_arrays, with_claim, with_numbers

from cvxproof.proofs.balls import Shift, outward
from cvxproof.proofs.judging import STATUS_GAP, Proof, judged
from cvxproof.proofs.record import Claim, ProofRecord
from specmargin.proofs import verifier
from specmargin.proofs.verifier import KINDS, check, read
from specmargin.results import INACCURATE_GAP

SEEDS = {"lapsvm": 24, "clustering": 24, "s3vm": 36, "s3vm relaxation": 36}
"""Of problems where a digit of any multiplier matters; of all other kinds it is 0."""


@cache
def true_record(kind):
    """The record of a random problem of a kind and its answer, by a solver of ours where there is one."""
    problem = proof_problems.made(kind.replace(" ", "_"), SEEDS.get(kind, 0))
    solver = min(problem.solvers, key=lambda name: (name.startswith("cvxpy"), name == "s3vm_bound"))
    return record_of(problem.objective, problem.solvers[solver]())


SOLVED = [*KINDS, "s3vm relaxation"]
MULTIPLIERS = {
    "lapsvm": ["theta"],
    "rmm": ["gamma"],
    "spectrum_margin": ["gamma"],
    "spectral_ridge": ["theta"],
    "clustering": ["Z"],
    "weighted_svm": ["theta_plus", "theta_minus"],
    "s3vm": ["theta", "beta"],
    "s3vm relaxation": ["theta", "beta"],
}


@pytest.mark.parametrize("kind", SOLVED)
def test_true_claims_hold(kind):
    record = true_record(kind)
    verification = check(record)
    assert verification, verification
    assert verification.message.startswith("the gap is at most ")
    low, high = verification.gap
    assert -1e-30 < low <= high <= record.claim.gap * (1 + 1e-12)
    assert (
        verification.primal[0] <= verification.primal[1] <= verification.primal[0] + 1e-14 * abs(verification.primal[0])
    )
    assert verification.primal[0] == pytest.approx(record.claim.primal, rel=1e-9)
    assert verification.bound[0] == pytest.approx(record.claim.dual, rel=1e-9)


@pytest.mark.parametrize("kind", SOLVED)
def test_a_digit_of_the_claim(kind):
    record = true_record(kind)
    claim = record.claim
    sign = 1 if claim.sense == "minimize" else -1
    nothing = f"nothing to verify: {'stationary' if record.kind == 's3vm' else 'no bound is claimed'}$"
    record = with_claim(record, status="")
    # A digit of the third place of the gap, or of what rounding leaves of the values.
    digit = 10.0 ** math.floor(math.log10(max(claim.gap / 100, 1e-9 * abs(claim.primal))))
    for changes, sentence in (
        ({"primal": claim.primal - sign * max(digit, 10 * claim.rounding)}, "the objective is"),
        ({"primal": claim.primal + sign * max(digit, 10 * claim.rounding)}, "the objective is"),
        ({"dual": claim.dual + sign * 2 * max(claim.gap, digit)}, "the multipliers prove the bound|the objective is"),
        ({"rounding": -1e-300}, "is none"),
        ({"rounding": math.nan}, "is none"),
        ({"sense": "maximize" if sign > 0 else "minimize"}, "is not the problem of a record"),
        ({"dual": -sign * math.inf}, nothing),
        ({"dual": math.nan}, nothing),
        ({"rounding": math.inf}, nothing),
        ({"primal": math.nan}, "a claim of nan up to .* is none"),
    ):
        verification = check(with_claim(record, **changes))
        assert not verification, changes
        assert re.search(sentence, verification.message), verification


@pytest.mark.parametrize("kind", SOLVED)
def test_a_digit_of_a_multiplier_or_of_the_data(kind):
    record = true_record(kind)
    refused = {}
    for name, array in record.arrays.items():
        if (
            array.dtype.kind != "f"
            or not array.size
            or name in ("F", "V", "s", "mu", "linear")
            or (kind == "alignment" and name == "delta")
        ):
            continue
        size = np.abs(array)
        if name in ("theta_plus", "theta_minus"):
            size = size * record.arrays[name.removeprefix("theta_")]
        at = np.unravel_index(int(size.argmax()), array.shape)
        changed = array.copy()
        changed[at] *= 1.1
        if name in ("K", "L"):
            changed[at[::-1]] = changed[at]
        refused[name] = check(with_arrays(record, **{name: changed}))
    assert not [name for name, verification in refused.items() if verification and name not in ("minus", "plus")]
    for name in MULTIPLIERS.get(kind, []):
        message = refused[name].message
        if message.startswith("the multipliers prove no bound"):
            continue
        assert message.startswith(("the multipliers prove the bound", "the gap is")), (name, message)
        numbers = [
            float(one.strip(",")) for one in message.replace("not", "").split() if one[0].isdigit() or one[0] == "-"
        ]
        assert numbers[0] != numbers[1]


@pytest.mark.parametrize("kind", [kind for kind in SOLVED if kind != "clustering"])
def test_a_flipped_label(kind):
    record = true_record(kind)
    name = "plus" if kind == "weighted_svm" else "y"
    changed = record.arrays[name].copy()
    if kind == "weighted_svm":
        changed = record.arrays["minus"]
    else:
        changed.flat[0] *= -1
    assert not check(with_arrays(record, **{name: changed}))


@pytest.mark.parametrize("kind", SOLVED)
def test_another_kind(kind):
    record = true_record(kind)
    for other in KINDS:
        if other != record.kind:
            verification = check(replace(record, kind=other))
            assert not verification
            assert f"of a record of the kind '{other}'" in verification.message
    assert check(replace(record, kind="mystery")).message == "there is no proof of the kind 'mystery'"


@pytest.mark.parametrize("kind", SOLVED)
def test_what_is_missing_or_of_another_size(kind):
    record = true_record(kind)
    _, arrays, numbers = KINDS[record.kind]
    for name in numbers.split():
        rest = {key: x for key, x in record.numbers.items() if key != name}
        verification = check(replace(record, numbers=rest))
        assert not verification
        assert f"{name}=None is no number of a record of the kind" in verification.message
        for wrong in (1.0 if isinstance(record.numbers[name], str) else "text", math.nan):
            assert not check(with_numbers(record, **{name: wrong})), (name, wrong)
    for spec in arrays.split():
        name = spec.split("=")[0]
        if name not in record.arrays:
            continue
        rest = {key: x for key, x in record.arrays.items() if key != name}
        array = record.arrays[name]
        assert not check(replace(record, arrays=rest)) or spec.endswith("?"), name
        assert not check(with_arrays(record, **{name: array[None]})), name
        if array.size:
            assert not check(with_arrays(record, **{name: array[:-1]})), name
            assert not check(with_arrays(record, **{name: array.astype(str)})), name
        if array.dtype.kind == "f" and array.size:
            bad = array.copy()
            bad.flat[0] = np.nan
            assert f"{name} of the shape" in check(with_arrays(record, **{name: bad})).message
            assert f"{name} of the shape" in check(with_arrays(record, **{name: array.astype(np.int64)})).message


def test_indices_and_signs():
    record = true_record("lapsvm")
    J = record.arrays["J"]
    for wrong in (J[::-1].copy(), np.r_[J[:1], J[:-1]], J - J[0] - 1):
        assert not check(with_arrays(record, J=wrong))
    n = len(record.arrays["K"])
    assert check(with_arrays(record, J=J + n)).message == f"J goes beyond the {n} that there are"
    assert check(with_arrays(record, J=np.r_[J[:-1], n])).message == f"J goes beyond the {n} that there are"
    y = record.arrays["y"].copy()
    y[0] *= 0.5
    assert f"y of the shape ({len(y)},) is no array" in check(with_arrays(record, y=y)).message
    relaxed = true_record("s3vm relaxation")
    half = with_arrays(relaxed, decided=relaxed.arrays["J"][:1], signs=np.array([0.5]))
    assert "signs of the shape (1,) is no array" in check(half).message
    K = record.arrays["K"].copy()
    K[0, 1] += 1e-12
    assert f"K of the shape {K.shape} is no array" in check(with_arrays(record, K=K)).message
    L = record.arrays["L"].copy()
    L[0, 1] = np.nextafter(L[0, 1], 9.0)
    assert f"L of the shape {L.shape} is no array" in check(with_arrays(record, L=L)).message
    rays = true_record("spectrum_margin")
    assert not check(with_arrays(rays, last=rays.arrays["last"][::-1].copy()))
    assert not check(with_arrays(rays, first=rays.arrays["first"][::-1].copy()))
    svm = true_record("weighted_svm")
    assert "plus of the shape" in check(with_arrays(svm, plus=svm.arrays["plus"] - 1e-300)).message
    assert "P of the shape" in check(with_arrays(svm, P=-svm.arrays["P"])).message


def test_what_numbers_may_hardly_be():
    record = true_record("lapsvm")
    assert "gamma_I=-1e-300 is no number" in check(with_numbers(record, gamma_I=-1e-300)).message
    assert "C_star=-1e-300 is no number" in check(with_numbers(true_record("s3vm"), C_star=-1e-300)).message
    assert "fit_intercept=1 is no number" in check(with_numbers(record, fit_intercept=1)).message
    assert not check(with_numbers(record, gamma_I=0.0))  # another problem
    assert check(with_numbers(true_record("rmm"), B=math.inf)).message.startswith(("the multipliers", "the gap"))


NAMES = {
    "lapsvm": ("gamma_A scale power", "gamma_I"),
    "rmm": ("C", "B"),
    "spectrum_margin": ("C", "B eps"),
    "spectral_ridge": ("penalty", ""),
    "graph_transducer": ("C n", ""),
    "clustering": ("gamma_A power", ""),
    "weighted_svm": ("", "plus minus P"),
    "s3vm": ("C", "C_star"),
}


@pytest.mark.parametrize("kind", NAMES)
def test_what_must_be_positive_and_what_must_not_be_negative(kind):
    record = true_record(kind)
    positive, nonnegative = (names.split() for names in NAMES[kind])
    for name in (*positive, *nonnegative):
        for wrong in (-1, 0) if name in positive else (-1,):
            if name in record.arrays:
                changed = record.arrays[name].copy()
                changed.flat[-1] = wrong
                message = check(with_arrays(record, **{name: changed})).message
                assert message.startswith(f"{name} of the shape"), name
            else:
                message = check(with_numbers(record, **{name: wrong})).message
                assert message.startswith(f"{name}={wrong} is no number"), name
    if kind in ("lapsvm", "weighted_svm", "s3vm"):
        for name in ("parameter", "unlabeled_parameter")[: 1 + (kind == "s3vm")]:
            assert f"{name}=0.0 is no number" in check(with_numbers(record, **{name: 0.0})).message
            assert f"{name}=-1.0 is no number" in check(with_numbers(record, **{name: -1.0})).message


def test_a_claim_without_rounding_is_one():
    message = check(with_claim(true_record("lapsvm"), rounding=0.0)).message
    assert message.startswith(("the gap is", "the objective is", "the multipliers prove"))


def test_numbers_become_balls():
    record = true_record("lapsvm")
    with ctx.workprec(BITS):
        r = read(record, *KINDS["lapsvm"][1:])
        assert r.gamma_A == arb(record.numbers["gamma_A"])
        for name in ("loss", "power", "fit_intercept"):
            assert getattr(r, name) is record.numbers[name]
        assert r.F is None
        assert r.J.tolist() == record.arrays["J"].tolist()
        assert r.alpha[0] == record.arrays["alpha"][0]
        assert r.K is record.arrays["K"]  # floats, of which a factor is guessed
        assert r.claim is record.claim


def test_what_half_of_the_bits_do_not_prove_is_tried_with_all(monkeypatch):
    tried = []

    def proof(r):
        tried.append(ctx.prec)
        return Proof(arb(1), arb(1) - arb(2) ** -200 if ctx.prec == BITS else arb(0))

    monkeypatch.setitem(KINDS, "lapsvm", (proof, *KINDS["lapsvm"][1:]))
    record = replace(true_record("lapsvm"), claim=Claim(1.0, 1.0, 1e-30))
    assert check(record)
    assert tried == [BITS // 2, BITS]


def says(claim, proof):
    with ctx.workprec(BITS):
        return judged(claim, proof)


CLAIM = Claim(2.0, 1.0, 0.125)


def test_what_is_compared():
    assert says(CLAIM, Proof(arb(2), arb(1)))
    assert says(CLAIM, Proof(arb(2), arb(1))).gap[0] == pytest.approx(1)
    assert says(CLAIM, Proof(arb(2.125), arb(1)))
    assert says(CLAIM, Proof(arb(1.875), arb(0.875)))
    assert says(CLAIM, Proof(arb(1.875), arb(1.5)))
    assert says(CLAIM, Proof(arb(2.126), arb(1.1))).message == "the objective is 2.1259999999999994, not 2"
    assert says(CLAIM, Proof(arb(1.874), arb(1))).message.startswith("the objective is 1.87")
    assert says(CLAIM, Proof(arb(1.9), arb(0.874))).message.startswith("the multipliers prove the bound 0.87")
    assert says(CLAIM, Proof(arb(2.1), arb(0.9))).message == "the gap is 1.2000000000000004, not 1.125"
    # One unit of the last digit is the claim's own.
    exact = Claim(2.0, 1.0)
    assert says(exact, Proof(arb(2) - math.ulp(2.0), arb(1)))
    assert not says(exact, Proof(arb(2) - 1.01 * math.ulp(2.0), arb(1)))
    assert not says(exact, Proof(arb(2) + math.ulp(2.0) / 4, arb(1)))
    # What is not known well enough is not proved.
    assert not says(CLAIM, Proof(arb(2), arb(1, 0.2)))
    assert not says(CLAIM, Proof(arb(2, 0.2), arb(1)))
    assert not says(CLAIM, Proof(arb("nan"), arb(1)))


def test_a_refusal_says_what_is_known():
    for proof in (Proof(arb(2.5), arb(1)), Proof(arb(1.9), arb(0.5)), Proof(arb(2.1), arb(0.9))):
        refused = says(CLAIM, proof)
        assert not refused
        with ctx.workprec(BITS):
            assert refused.primal == outward(proof.primal)
            assert refused.bound == outward(proof.bound)
            assert refused.gap == outward(proof.primal - proof.bound)


def test_upper_bounds_are_compared_the_other_way():
    claim = Claim(1.0, 2.0, 0.125, "maximize")
    assert says(claim, Proof(arb(1), arb(2)))
    assert says(claim, Proof(arb(1), arb(1.5)))
    assert says(claim, Proof(arb(1.125), arb(2.125)))
    assert says(claim, Proof(arb(1.125), arb(2.126))).message.startswith("the multipliers prove the bound 2.12")
    assert says(claim, Proof(arb(0.9), arb(2.1))).message.startswith("the gap is 1.2")


def test_a_bound_without_an_answer():
    claim = Claim(math.inf, 1.0)
    assert says(claim, Proof(arb(5), arb(1)))
    assert not says(claim, Proof(arb(5), arb(0.99)))
    assert not says(Claim(-math.inf, 1.0), Proof(arb(5), arb(1)))


def test_shifts_are_assumptions():
    tiny = Shift("K", arb(1e-15))
    charged = says(CLAIM, Proof(arb(2), arb(1), (tiny, Shift("L")), arb(0.125)))
    assert charged
    told = "of it 0.126 is the charge for K + 2e-15 I, which is positive semidefinite by proof"
    assert charged.assumptions == (told,)
    assert charged.charge == pytest.approx(0.125)
    assert charged.message == "the gap is at most 1.13, 56.2 % of the objective, to the global optimum"
    two = (tiny, Shift("L", arb(1e-14)))
    both = says(CLAIM, Proof(arb(2), arb(1), two, arb(0.25), "note"))
    assert not both  # beyond what is claimed, and more than a millionth of the objective
    assert both.message.startswith("unproved: the gap is at most 1.26")
    assert "0.251 is the charge for K + 2e-15 I and L + 2e-14 I" in both.message
    assert both.message.endswith("; 1.12 is claimed")
    exact = Claim(2.0, 1.0)
    afforded = says(exact, Proof(arb(2), arb(1), two, arb(2e-6), "note"))
    assert afforded
    assert afforded.assumptions[0] == "note"
    assert "2.01e-06 is the charge for K + 2e-15 I and L + 2e-14 I" in afforded.assumptions[1]
    assert not says(exact, Proof(arb(2), arb(1), two, arb(2.1e-6)))
    assert not says(exact, Proof(arb(2), arb(1), (Shift("K", arb(1e-9), False),), arb(2e-6)))
    assert says(CLAIM, Proof(arb(2), arb(1), (Shift("K", arb(1e-9), False),), arb(0.1)))
    plain = says(CLAIM, Proof(arb(2), arb(1), (Shift("K"),), assumption="note"))
    assert (plain.assumptions, plain.charge) == (("note",), 0.0)
    assert says(CLAIM, Proof(arb(2), arb(1))).assumptions == ()


def test_a_status_must_fit_its_gap():
    for status, gap, fits in (
        ("optimal", 0.02, False),
        ("optimal_inaccurate", 0.02, False),
        ("optimal", 0.009, True),
        ("unproved", 0.5, True),
        ("max_iter", 0.5, True),
    ):
        said = says(Claim(1.0, 1.0 - gap, status=status), Proof(arb(1), arb(1)))
        assert bool(said) is fits, status
        assert fits or said.message == f"its status is {status}, next to a gap of {gap:.3g} of the objective"
    assert says(Claim(1.0, -math.inf, status="optimal"), Proof(arb(1), arb(1))).message.startswith("its status is")
    assert says(Claim(1.0, -math.inf, status="stationary"), Proof(arb(1), arb(1))).message.startswith("nothing to")
    assert says(Claim(1.5, -math.inf), Proof(arb(1), arb(1))).message.startswith("the objective is")
    assert STATUS_GAP["optimal"] == INACCURATE_GAP
    assert verifier.POWERS == sm.graphs.laplacians.POWERS


def test_numbers_out_of_range_are_refused():
    record = true_record("lapsvm")
    huge = with_arrays(record, K=np.diag(np.full(12, 1e308)) + 1e307)
    assert not check(huge)
    zero = with_arrays(record, K=np.zeros((12, 12)))
    assert not check(zero)
    svm = true_record("weighted_svm")
    assert check(with_arrays(svm, w=svm.arrays["w"] * 1e300)).message.startswith("the objective is")
    empty = ProofRecord("rmm", {"C": 1.0, "B": 1.0, "b": 0.0}, {}, CLAIM)
    assert check(empty).message == "K of the shape () is no array of a record of the kind 'rmm'"
    relaxation = true_record("s3vm relaxation")
    assert check(with_arrays(relaxation, w=relaxation.arrays["w"][:-1])).message.startswith("V of the shape")
    rest = {key: x for key, x in relaxation.arrays.items() if key not in ("V", "F")}
    wrong = check(replace(relaxation, arrays={**rest, "w": np.zeros(2)}))
    assert wrong.message.startswith("the record contradicts itself, or leaves the range of floats")


def test_who_checks_loads_nothing_of_who_claims():
    code = (
        "import sys, specmargin.proofs.verifier; print(*sorted("
        "m for m in sys.modules if m.startswith(('specmargin.', 'cvxproof.'))))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    below = ("checks", "exceptions", "proofs", "proofs.balls", "proofs.judging", "proofs.record", "typing")
    own = ("proofs", "proofs.bounds", "proofs.conjugates", "proofs.verifier", "typing")
    assert found.split() == [*(f"cvxproof.{one}" for one in below), *(f"specmargin.{one}" for one in own)]
