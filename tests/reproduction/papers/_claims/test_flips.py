"""Rank correlations of certificates with losses, and verdicts, from rows made by hand."""

import numpy as np
import pandas as pd
import pytest
from claim_rows import line_on
from scipy.stats import spearmanr

from reproduction.papers._claims.flips import PREDICTORS, by_rate, correlations, judge, means
from reproduction.papers._protocols.flipped_fits import METHODS, RATES

SETS = tuple("abcdef")


def made(value, sets=SETS, draws=3):
    """Return rows whose columns are ``value(column, rate, set, method, draw)``, all of them numbers of their place."""
    rows = []
    for i, name in enumerate(sets):
        for j, method in enumerate(METHODS):
            for k in range(draws):
                row = {"status": "ok", "dataset": name, "method": method, "split": f"draw{k}"}
                row |= {column: value(column, 0, i, j, k) for column in ("error_clean", "one", "flips")}
                for rate in RATES:
                    for column in (
                        *("survive", "found", "user", "user_one", "user_flips", "trial"),
                        *("error", "changed", "broken", "error_held", "changed_held", "auc", "auc_margin"),
                    ):
                        row[f"{column}_{rate}"] = value(column, rate, i, j, k)
                rows.append(row)
    return rows


def drawn(seed):
    rng = np.random.default_rng(seed)
    return lambda column, rate, i, j, k: float(rng.integers(0, 40))


def test_correlations_are_those_of_scipy():
    mean = means(by_rate(made(drawn(0))))
    found = {(c.rate, c.predictor, c.outcome, c.where): c for c in correlations(mean)}
    assert len(found) == (len(RATES) + 1) * len(PREDICTORS) * 2 * 2
    at = mean[mean["rate"] == 20]
    for predictor, expression in PREDICTORS.items():
        x = at.assign(x=at.eval(expression))
        within = [spearmanr(of["x"], of["loss"])[0] for _, of in x.groupby("dataset")]
        across = [spearmanr(of["x"], of["loss"])[0] for _, of in x.groupby("method")]
        for where, values in (("within sets", within), ("across sets", across)):
            one = found[20, predictor, "loss", where]
            assert one.mean == pytest.approx(np.mean(values))
            assert -1 <= one.low < one.mean < one.high <= 1
            pooled = found[0, predictor, "loss", where].mean
            assert pooled == pytest.approx(np.mean([found[rate, predictor, "loss", where].mean for rate in RATES]))


def test_what_is_less_robust_is_predicted_to_lose_more():
    # Later methods are more robust: more survives, more flips are needed, less changes in trials.
    rows = made(lambda column, rate, i, j, k: -float(j) if column == "trial" else float(j))
    mean = means(by_rate(rows))
    for predictor in PREDICTORS:
        assert (mean.groupby("method", sort=False)[predictor].mean().diff().dropna() < 0).all(), predictor


def test_the_interval_within_sets_is_that_of_their_mean():
    mean = means(by_rate(made(drawn(1))))
    (one,) = [c for c in correlations(mean, ["loss"]) if c[:2] == (10, "one, as given") and c.where == "within sets"]
    at = mean[mean["rate"] == 10]
    each = [spearmanr(100 - of["user_one"], of["loss"])[0] for _, of in at.groupby("dataset")]
    half = 1.96 * np.std(each) / np.sqrt(len(SETS))
    assert one.high - one.low == pytest.approx(2 * half, rel=0.15)


def test_what_is_the_same_everywhere_predicts_nothing():
    mean = means(by_rate(made(lambda column, *place: 0.0 if column == "survive" else drawn(2)(column, *place))))
    alike = [c for c in correlations(mean) if c.predictor == "as many, true labels"]
    assert {(c.mean, c.low, c.high) for c in alike} == {(0.0, 0.0, 0.0)}


def test_rows_are_split_by_rate_and_failures_left_out():
    rows = made(lambda column, rate, *place: float(rate) if column.startswith("error") else None, SETS[:1], draws=1)
    rows[0]["status"] = "error"
    frame = by_rate(rows)
    assert len(frame) == (len(METHODS) - 1) * len(RATES)
    assert (frame["loss"] == frame["rate"]).all()
    assert (frame["loss_held"] == frame["rate"]).all()
    assert isinstance(by_rate(rows[:1]), pd.DataFrame)
    assert judge(rows[:1]) == []


def test_claims_hold_and_fail():
    """Methods are in the order of their loss; what is certified falls with it, or rises, by a sign."""

    def value(sign, more=0.0):
        def of(column, rate, i, j, k):
            if column in ("one", "survive"):
                return 50 - sign * 5.0 * j - sign * i
            if column == "auc":
                return 60 + sign + k
            known = {"error": 20.0 + j + i, "auc_margin": 60.0 + k, "changed_held": 20.0 + more}
            return known.get(column, 0.0)

        return of

    for text in (
        "survive more false labels loses",
        "any one false label more often loses",
        "a graph makes predictions",
        "tells better than its margin",
    ):
        for sign, expected in ((1, "agrees"), (-1, "differs")):
            assert line_on(text, judge(made(value(sign)))).partition(":")[0] == expected
    held = "no certified prediction changes"
    assert line_on(held, judge(made(value(1)))).startswith("agrees")
    assert line_on(held, judge(made(value(1, more=31.0)))).startswith("differs")
