"""Plain data: what a claim's gap is, and what a verification says."""

import math

from cvxproof.proofs.record import Claim, Verification


def test_the_gap_of_a_claim():
    assert Claim(2.0, 1.5).gap == 0.5
    assert Claim(2.0, 1.5, 0.25).gap == 0.75
    assert Claim(1.5, 2.0, 0.25, "maximize").gap == 0.75
    assert Claim(2.0, -math.inf).gap == math.inf


def test_a_verification_is_true_where_it_holds():
    assert Verification(True, "so it is")
    assert not Verification(False, "it is not")
    nothing = Verification(False, "it is not")
    for interval in (nothing.primal, nothing.bound, nothing.gap):
        assert interval == (-math.inf, math.inf)
    assert nothing.assumptions == ()


def test_a_verification_is_told_in_one_line():
    assert str(Verification(False, "it is not")) == "not proved: it is not"
    assert (
        str(Verification(True, "so it is", assumptions=("if K is", "if L is"))) == "proved: so it is; if K is; if L is"
    )
