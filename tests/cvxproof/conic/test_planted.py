"""Programs whose end is known in rational numbers: no status claims what is false, whatever the scale."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace

import pytest
from full_size import shortened
from planted_programs import BLOCKS, ENDS, every, false_claim, planted

import cvxproof


def outcomes(programs):
    """Return the false claims, and how often each status is given by end and scale."""
    false, counts = [], Counter()
    for kind, end, seed, powers in programs:
        known = planted(kind, end, seed, powers)
        result = cvxproof.solve(known.problem)
        if told := false_claim(known, result):
            false.append((kind, end, seed, powers, told, result.message))
        counts[end, powers, result.status.name] += 1
    return false, counts


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", BLOCKS)
def test_no_status_claims_what_is_false(kind, end):
    assert outcomes([(kind, end, 0, 36)])[0] == []


@pytest.mark.slow
def test_no_status_of_thousands_claims_what_is_false():
    false, counts = outcomes(every(shortened(range(1, 3), range(1, 17))))
    share = {}
    for end in ("optimal", "free", "zero", "infeasible", "unbounded"):
        status = end.upper() if end in ("infeasible", "unbounded") else "OPTIMAL"
        for powers in (0, 20, 36):
            whole = sum(count for (own, scale, _), count in counts.items() if (own, scale) == (end, powers))
            share[end, powers] = counts[end, powers, status] / whole
            sys.stdout.write(f"{end}, scales to 2^{powers}: {share[end, powers]:.0%} of {whole} are {status}\n")
    assert not false
    assert min(share["optimal", 0], share["free", 0], share["infeasible", 0]) > 0.9
    assert share["zero", 0] > 0.8
    assert share["optimal", 20] + share["free", 20] + share["zero", 20] >= 3 * 0.85


def test_the_oracle_knows_false_claims():
    """Each rule of the oracle, by a result that breaks it."""
    known = planted("lp", "optimal", 0)
    result = cvxproof.solve(known.problem)
    assert false_claim(known, result) == ""
    optimum = float(known.optimum)
    worse = result.certificate.__class__(optimum * (1 + 1e-4), optimum, sense=result.certificate.sense)
    assert "but the value is" in false_claim(known, replace(result, certificate=worse))
    sign = 1 if result.certificate.sense == "minimize" else -1
    beyond = replace(result.certificate, dual_objective=optimum + sign * 1e-6 * known.terms)
    assert "is beyond" in false_claim(known, replace(result, certificate=beyond))
    supposing = replace(result.certificate, assumptions=("|x| <= 1",))
    assert "supposes" in false_claim(known, replace(result, certificate=supposing))
    assert "but it is optimal" in false_claim(known, replace(result, status=cvxproof.Status.INFEASIBLE))
    assert "but it is unbounded" in false_claim(planted("lp", "unbounded", 0), result)
