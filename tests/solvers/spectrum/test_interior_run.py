"""The run of an interior point: what it asks of a step, and when it ends; the steps are made up."""

from types import SimpleNamespace

import numpy as np
import pytest

from specmargin.results import History
from specmargin.solvers.spectrum import interior_run


@pytest.fixture
def run_of(monkeypatch):
    """A run whose steps have these gaps and residuals, and the list of what it asked for."""

    def make(gaps, residuals=None, length=1.0):
        asked, given = [], iter(zip(gaps, residuals or [0.0] * len(gaps), strict=True))

        def step(data, point, last, *, centre):
            asked.append((last, centre))
            gap, residual = next(given)
            if gap is None:
                raise np.linalg.LinAlgError
            return SimpleNamespace(
                point=SimpleNamespace(pos=np.ones(1), slack=np.array([gap])), length=length, residual=residual
            )

        monkeypatch.setattr(interior_run, "interior_step", step)
        data = SimpleNamespace(start=lambda: None, value=lambda point: 1.0)
        return interior_run.InteriorRun(data, History()), asked

    return make


def test_a_small_gap_that_shrinks_no_more_ends_the_run_and_a_large_one_does_not(run_of):
    for gap, ends in ((1e-6, True), (1e-4, False)):
        run, _ = run_of([gap] * 15)
        given_up = [run.advance() and bool(run.message) for _ in range(14)]
        assert given_up == [False] * 13 + [ends]
        assert run.message == ("the gap shrinks no more" if ends else "")


def test_what_is_not_finite_ends_the_run_at_the_point_before(run_of):
    for gaps, length, message in (([1.0, None], 1.0, "became singular"), ([1.0, np.nan], 1.0, "lost its digits")):
        run, _ = run_of(gaps, length=length)
        assert run.advance()
        point = run.point
        assert not run.advance()
        assert run.point is point
        assert message in run.message
        assert len(run.history) == 1
