"""The claims of the manifold-regularization paper against numbers made by hand, and its published errors.

That every comparison of a claim decides is seen on the recorded rows, in `tests/test_recorded_claims.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from reproduction.papers._claims import belkin as claims
from reproduction.papers._protocols.belkin_fits import CONVEX, FITTED, METHODS, PARTS, SPEAKER_LABELS, split_names

SPEAKERS = split_names("isolet", SPEAKER_LABELS, 0, 30)


def pair_rows(errors, per_class=2):
    """Return rows of three pairs and two draws from the errors of each method on U and T."""
    return [
        row(f"usps 0-{pair}", method, f"s{draw}", [error + spread * draw + pair for error in both], per_class, "plain")
        for pair in (1, 2, 3)
        for method, (*both, spread) in errors.items()
        for draw in (0, 1)
    ]


def isolet_rows(errors, normalized):
    """Return rows of 30 speakers from the errors (U, T) of each method, numbers or one per speaker."""
    return [
        row("isolet", method, speaker, both, SPEAKER_LABELS, "rbf", normalized)
        for method, (u, t) in errors.items()
        for speaker, *both in zip(SPEAKERS, np.broadcast_to(u, 30), np.broadcast_to(t, 30), strict=True)
    ]


def row(dataset, method, split, errors, per_class, kernel, normalized=False):
    return {
        "status": "ok",
        "dataset": dataset,
        "method": method,
        "split": split,
        "param_per_class": per_class,
        "param_kernel": kernel,
        "param_normalized": normalized if FITTED[method].graph else None,
        "error_unlabeled": float(errors[0]),
        "error_test": float(errors[1]),
    }


GOOD = {"RLS": (9, 9, 1), "LapRLS": (2, 2.9, 0.5), "SVM": (9, 9.1, 1), "LapSVM": (2.1, 2.9, 0.5)}


def verdicts(lines):
    """Return the first words: "reproduced", "partly" or "not"."""
    return " ".join(line.split()[0].strip(":") for line in lines[1:])


def test_claims_count():
    good = pair_rows(GOOD)
    lines = claims.of_pairs(good)
    assert verdicts(lines).split() == ["reproduced"] * 6
    assert "U: lower mean error in 3 of 3 pairs" in lines[1]
    assert "Smaller deviation over the draws in 12 of 12" in lines[3]
    assert "T within one point of U in 3 of 3 pairs; mean U 4.25, T 5.15, largest difference 0.90" in lines[4]
    assert "correlation 1.00" in lines[4]
    assert "half a point in 6 of 6 (pairs, U and T), largest difference 0.10" in lines[6]
    bad = pair_rows({"RLS": (2, 2, 1), "LapRLS": (9, 11, 2), "SVM": (2, 9, 1), "LapSVM": (3, 3, 1)})
    lines = claims.of_pairs(bad)
    assert verdicts(lines) == "not partly not not reproduced not"
    assert "U: lower mean error in 0 of 3 pairs (0 significant), higher in 3 (3)" in lines[1]
    # Other numbers of labels and other kernels take no part.
    mixed = [*good, *pair_rows({"RLS": (0, 0, 0), "LapRLS": (50, 50, 9)}, per_class=4)]
    assert claims.of_pairs(mixed) == claims.of_pairs(good)


def test_what_was_not_run_or_drawn_is_not_judged():
    with_tsvm = claims.of_pairs(pair_rows({**GOOD, "TSVM": (3, 3, 0.5)}))
    assert len(claims.of_pairs(pair_rows(GOOD))) == len(with_tsvm) - 2
    assert claims.of_settings(isolet_rows({"RLS": (1, 1)}, False)) == []
    assert claims.of_figure_5(pair_rows(GOOD, per_class=1)) == []
    assert claims.of_laplacians(drawn_rows(False)) == []
    assert claims.of_intercepts(pair_rows(GOOD)) == []


def test_published_means_are_the_drawings():
    assert claims.published_mean("LapSVM", "unlabeled", 2) == 2.62
    assert claims.published_mean("RLS", "test", 128) == 0.79
    assert np.isnan(claims.published_mean("RLS", "test", 1))
    assert 10 < claims.published_mean("LapRLS", "unlabeled", SPEAKER_LABELS) < 25


def drawn_rows(normalized, shift=0.0):
    """Return rows that hold the figure's own numbers, those of the methods with a graph shifted."""
    drawn = {part: claims.drawn_errors(part) for part in PARTS}
    errors = {}
    for method in CONVEX:
        u, t = (np.array([drawn[part][method][s] for s in SPEAKERS]) for part in PARTS)
        errors[method] = (u + shift * METHODS[method].graph, t + shift * METHODS[method].graph)
    return isolet_rows(errors, normalized)


def test_drawn_errors_have_the_published_means():
    for part in PARTS:
        drawn = claims.drawn_errors(part)
        assert set(drawn) == set(METHODS)
        for method in METHODS:
            assert list(drawn[method]) == SPEAKERS
            mean = np.mean(list(drawn[method].values()))
            assert mean == pytest.approx(claims.published_mean(method, part, SPEAKER_LABELS))


def test_the_figures_own_numbers_bear_out_the_papers_claims():
    lines = claims.of_isolet(drawn_rows(True), normalized=True)
    assert "the normalised Laplacian" in lines[0]
    assert verdicts(lines).split() == ["reproduced"] * 6
    assert "Within 0.5 points in 8 of 8, largest difference 0.00; of a single speaker 0.00" in lines[-1]
    shifted = claims.of_isolet(drawn_rows(True, shift=2.0), normalized=True)
    assert shifted[-1].startswith("partly reproduced")
    assert "Within 0.5 points in 4 of 8, largest difference 2.00" in shifted[-1]


def test_claims_count_speakers():
    low = np.where(np.arange(30) < 10, 19.0, 21.0)  # below RLS and SVM for ten speakers
    rows = isolet_rows({"RLS": (20, 25), "LapRLS": (low, 24), "SVM": (20, 25), "LapSVM": (low, 24)}, False)
    lines = claims.of_isolet(rows, normalized=False)
    assert verdicts(lines) == "not reproduced reproduced not reproduced partly"
    assert "LapRLS against RLS: for 10 of 30 speakers, by -0.33 points in the mean" in lines[1]
    assert "LapSVM against SVM: for 30 of 30 speakers, by 1.00 points" in lines[3]
    assert "LapRLS against RLS 1.00 points for -0.33" in lines[4]
    assert "U below T in 120 of 120" in lines[5]
