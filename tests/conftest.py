"""Fixtures of the whole suite, and the list of data tests that ran without the real data."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path

import hypothesis
import numpy as np
import pytest

_RAN_ON_BUNDLED = ("ran on", "bundled data")
# Read once: tests change the environment.
_FOLDER = os.environ.get("SPECMARGIN_DATA")
DATA_FOLDER = Path(_FOLDER).expanduser() if _FOLDER else None

# Reproducible: the same examples in every run. No deadline: the first call may import scikit-learn.
hypothesis.settings.register_profile("specmargin", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("specmargin")


def pytest_configure(config: pytest.Config) -> None:
    if DATA_FOLDER is not None and not DATA_FOLDER.is_dir():
        raise pytest.UsageError(f"SPECMARGIN_DATA={DATA_FOLDER} is no folder; correct or unset it.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator:
    report = yield
    if report.when == "call" and DATA_FOLDER is None and item.get_closest_marker("data"):
        report.user_properties.append(_RAN_ON_BUNDLED)  # which travels from a worker, too
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for found in terminalreporter.stats.values() for report in found]
    names = sorted(report.nodeid for report in reports if _RAN_ON_BUNDLED in getattr(report, "user_properties", ()))
    if names:
        terminalreporter.section("ran on bundled data: SPECMARGIN_DATA names no folder")
        for name in names:
            terminalreporter.line(name)


@pytest.fixture
def rng() -> np.random.Generator:
    """Seeded alike in every test."""
    return np.random.default_rng(20090412)


@pytest.fixture
def heeded() -> Iterator[Callable[[str], int]]:
    """Return the number of a signal by its name, which ends this process even where it was started with nohup."""
    before = {}

    def number(name: str) -> int:
        sign = getattr(signal, name)
        usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
        before[sign] = signal.signal(sign, usual)
        return sign

    yield number
    for sign, handler in before.items():
        signal.signal(sign, handler)


@pytest.fixture(scope="session")
def data_folder() -> Path | None:
    """Folder of the real data, or None."""
    return DATA_FOLDER


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the real data; without it the test is skipped."""
    if DATA_FOLDER is None:
        pytest.skip("needs the real data: name their folder by $SPECMARGIN_DATA")
    return DATA_FOLDER


@pytest.fixture(scope="session")
def tol() -> Mapping[str, float]:
    """The table of `tests/tolerances.py`, which importlib mode cannot import by name."""
    path = Path(__file__).with_name("tolerances.py")
    spec = importlib.util.spec_from_file_location("specmargin_tolerances", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TOL
