"""How many mutants of objectives, losses, bounds, certificates, the verifier and the checker the tests notice.

    python tests/mutation/mutation.py                       a sample of every group, and its score
    python tests/mutation/mutation.py --sample 400 --seed 1
    python tests/mutation/mutation.py --all                 every mutant: hours
    python tests/mutation/mutation.py --only rounding.py --list
    python tests/mutation/mutation.py --report              the score of the results so far, and the survivors

The operators are mutmut's; `mutants.py` says which changes are left out. A run is resumed where it ended: results lie
in `.mutation/results.json` for as long as the function that was changed stays as it was. A mutant that survived is run
again when other tests reach it (``--again``: in any case).

First all tests of `TESTS` run once, with the lines that each of them reaches. A mutant then meets the tests that reach
its statement, those of its own module first, then the fastest, for at most `BUDGET` seconds; what takes longer than
`LONGEST` never counts, nor does a test that fails without any mutant, as one may that asks for a fresh process. What
the import runs, such as a default, also meets `OF_SIGNATURES`, whichever lines these reach. Every mutant has a process
of its own, forked from one that has imported numpy, CVXPY and the like: the code of one function is replaced there or,
for what the import runs, one module is imported with another source. A mutant that hangs, or asks for more memory than
there is, counts as noticed. One that no test reaches counts as a survivor.

Survivors that no test could notice, or that are no defect, stand in `survivors.toml`, each with its reason; a rule
there speaks of many alike, such as allowances that become larger by one rounding. The score is reported with and
without them. The interval is Wilson's, at 95 %, for the sample of a group.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import math
import os
import re
import resource
import signal
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".mutation"

GROUPS = {
    "objectives": ["specmargin/objectives/**/*.py"],
    "losses": ["specmargin/losses/*.py"],
    "certificates": ["cvxproof/results.py", "cvxproof/rounding.py", "specmargin/rounding.py"],
    "bounds": ["specmargin/optima/bound.py"],
    "verify": [f"specmargin/proofs/{name}.py" for name in ("verifier", "bounds", "conjugates", "verification")]
    + ["cvxproof/proofs/balls.py"],
    "checker": ["specmargin/optima/replay.py"],
}
GOALS = {"objectives": 0.90, "losses": 0.90, "certificates": 0.90, "bounds": 0.90, "verify": 0.95, "checker": 0.95}

_OF_ANSWERS = [
    "tests/objectives",
    "tests/exact",
    "tests/cvxproof/test_results.py",
    "tests/test_rounding.py",
    "tests/optima/test_bound.py",
    "tests/solvers/spectrum/test_spectrum_rounding.py",
]
TESTS = {
    "objectives": _OF_ANSWERS,
    "losses": ["tests/losses"],
    "certificates": _OF_ANSWERS,
    "bounds": [*_OF_ANSWERS, "tests/optima/test_free_intercept.py"],
    "verify": [f"tests/proofs/test_{name}.py" for name in ("verifier", "bounds", "conjugates", "verification")]
    + ["tests/cvxproof/proofs/test_balls.py"],
    "checker": ["tests/optima/test_replay.py"],
}

OF_SIGNATURES = {"specmargin/objectives/": ("tests/objectives/test_arguments.py", "tests/objectives/test_refusals.py")}
"""Of the modules in a folder: tests of defaults and of what arguments must be, which look at them and run no line."""

LONGEST = 10.0
"""Seconds of the longest test that counts, of the processor."""
BUDGET = 40.0
"""Seconds of tests that a mutant meets, likewise, as timed without it."""
MEMORY = 6 * 2**30
HANGS = 3.0
"""Seconds of the processor after which a test hangs, with `SLOWER` times those that it takes without a mutant."""
SLOWER = 5.0
WAIT = 20.0
"""Seconds on the clock for a second of the processor, of a mutant that hangs without computing."""


def modules(group: str) -> list[Path]:
    """Return the modules of a group that exist."""
    return sorted({path for pattern in GROUPS[group] for path in ROOT.glob(pattern)})


def digest(paths: Iterable[Path]) -> str:
    """Return a digest of the content of files."""
    total = hashlib.sha256()
    for path in sorted(paths):
        total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def say(line: str = "") -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# -- a process for each run of tests


class Changed(importlib.abc.MetaPathFinder):
    """Finds one module with another source."""

    def __init__(self, path: Path, source: str) -> None:
        parts = path.relative_to(ROOT).with_suffix("").parts
        self.package = parts[-1] == "__init__"
        self.name = ".".join(parts[:-1] if self.package else parts)
        self.path, self.source = path, source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return how to load the module of that name, where it is the changed one."""
        if name != self.name:
            return None
        source = self.source

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> Any:
                return compile(source, self.path, "exec", dont_inherit=True)

        locations = [str(self.path.parent)] if self.package else None
        return importlib.util.spec_from_file_location(
            name, self.path, loader=Loader(name, str(self.path)), submodule_search_locations=locations
        )


QUIET = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler", "--tb=no", "--no-header"]


def run_tests(nodes: Sequence[str], plugins: Sequence[Any] = ()) -> int:
    """Run tests in this process."""
    import pytest

    return int(pytest.main([*QUIET, *nodes], plugins=list(plugins)))


def forked(work: Callable[[], int], seconds: float) -> str:
    """Do work in a process of its own, of so many seconds of the processor; return its exit code, or "timeout"."""
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.setpgid(0, 0)
            log = os.open(CACHE / "last.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))
            code = work()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
            os._exit(code)
    deadline = time.monotonic() + WAIT * seconds
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code == NOT_REPLACED:
                raise SystemExit("The code of a function could not be replaced; this is a defect of mutation.py.")
            return "timeout" if code in (-signal.SIGXCPU, -signal.SIGPROF) else str(code)
        if time.monotonic() > deadline:
            for end in (os.killpg, os.kill):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    end(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return "timeout"
        time.sleep(0.01)


VERDICTS = {"0": "survived", "timeout": "timeout"}


def allowed(nodes: dict[str, float]) -> float:
    """Return the seconds of the processor that a mutant has for its tests."""
    return HANGS + SLOWER * sum(nodes.values())


def imported_anew(mutant: Any, nodes: dict[str, float]) -> str:
    """Return how the tests end with a module of another source, imported by a process that has none of the package."""
    path = ROOT / mutant.path
    source = mutant.source(path.read_text(encoding="utf-8"))

    def work() -> int:
        sys.meta_path.insert(0, Changed(path, source))
        return run_tests([*nodes])

    code = forked(work, allowed(nodes))
    if code == "5":
        raise SystemExit(f"No test was collected for {path}; see {CACHE / 'last.log'}.")
    return VERDICTS.get(code, "killed")


class Loop:
    """In the place of pytest's loop over the tests: a process for each mutant, with the code of one function replaced.

    Neither package nor tests are imported again, which takes longer than most mutants live.
    """

    def __init__(self, work: Callable[[Loop], None]) -> None:
        self.work = work
        self.items: dict[str, Any] = {}
        self.functions: dict[tuple[str, str, int], list[FunctionType]] = defaultdict(list)

    def pytest_runtestloop(self, session: Any) -> bool:
        """Try the mutants, run no test here."""
        self.session, self.items = session, {item.nodeid: item for item in session.items}
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType):
                code = thing.__code__
                self.functions[code.co_filename, code.co_name, code.co_firstlineno].append(thing)
        gc.freeze()
        self.work(self)
        return True

    def verdict(self, mutant: Any, nodes: dict[str, float]) -> str:
        """Return how the tests end with the code of the mutant."""
        return VERDICTS.get(forked(lambda: self.run(mutant, nodes), allowed(nodes)), "killed")

    def run(self, mutant: Any, nodes: dict[str, float]) -> int:
        """Replace the code, run the tests until one fails or hangs."""
        path = ROOT / mutant.path
        module = compile(mutant.source(path.read_text(encoding="utf-8")), str(path), "exec", dont_inherit=True)
        changed = 0
        for code in codes(module):
            if code.co_firstlineno <= mutant.line and code.co_name == mutant.function.rpartition(".")[2]:
                for function in self.functions[str(path), code.co_name, code.co_firstlineno]:
                    if function.__code__.co_qualname == code.co_qualname == mutant.function:
                        function.__code__ = code
                        changed += 1
        if not changed:
            return NOT_REPLACED
        items = [self.items[node] for node in nodes]
        for item, after in zip(items, [*items[1:], None], strict=True):
            signal.setitimer(signal.ITIMER_PROF, allowed({item.nodeid: nodes[item.nodeid]}))  # its signal ends this
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if self.session.testsfailed:
                return 1
        return 0


NOT_REPLACED = 98


def codes(module: CodeType) -> Iterator[CodeType]:
    """Yield all code objects of a module."""
    for constant in module.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)


def preload(groups: Iterable[str]) -> None:
    """Import what the tests import, but for the package: a fork then has it."""
    names = CACHE / "imports.json"

    def work() -> int:
        import pytest

        pytest.main(["-q", "--collect-only", "-p", "no:cacheprovider", "-p", "no:xdist", *existing_tests(groups)])
        own = (
            "cvxproof",
            "specmargin",
            "tests",
            "conftest",
            "exact_",
            "test_",
            "__main__",
            "_pytest",
            "s3vm_",
            "manifold_",
        )
        loaded = [name for name, module in sys.modules.items() if getattr(module, "__spec__", None) is not None]
        files = {name: str(getattr(sys.modules[name], "__file__", None) or "") for name in loaded}
        kept = [n for n in loaded if not n.startswith(own) and "site-packages" in files[n]]
        names.write_text(json.dumps(kept))
        return 0

    if forked(work, 600) != "0":
        raise SystemExit(f"The tests cannot be collected; see {CACHE / 'last.log'}.")
    for name in json.loads(names.read_text()):
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    assert not any(name.startswith(("cvxproof", "specmargin")) for name in sys.modules)


# -- which tests reach which lines


def existing_tests(groups: Iterable[str]) -> list[str]:
    """Return the folders and files of the tests of groups that exist, each once."""
    names = dict.fromkeys(name for group in groups for name in TESTS[group])
    return [name for name in names if (ROOT / name).exists()]


def stamps(groups: Iterable[str]) -> dict[str, str]:
    """Return a digest for each file of tests of the groups: of it, of what it imports from, and of what it tests."""
    out = {}
    for name in existing_tests(groups):
        place = ROOT / name
        folders = {
            ROOT / "tests",
            *(folder for folder in (place, *place.parents) if folder.is_relative_to(ROOT / "tests")),
        }
        helpers = {file for folder in folders for file in folder.glob("*.py") if not file.name.startswith("test_")}
        sources = {path for group, tests in TESTS.items() if name in tests for path in modules(group)}
        for file in [place] if place.is_file() else sorted(place.rglob("test_*.py")):
            out[file.relative_to(ROOT).as_posix()] = digest({file, *helpers, *sources})
    return out


def measured(groups: Iterable[str]) -> dict[str, Any]:
    """Return the seconds of each test, and the tests that reach each line, measured where sources or tests are new."""
    place, files = CACHE / "reached.json", stamps(groups)
    known: dict[str, Any] = {"files": {}, "names": [], "seconds": {}, "lines": {}}
    if place.exists():
        known = json.loads(place.read_text())
    fresh = [name for name in files if known["files"].get(name) != files[name]]
    gone = {name for name in known["files"] if not (ROOT / name).exists()}
    if not fresh and not gone:
        return known
    say(f"Running {len(fresh)} files of tests once, with the lines that they reach ...")
    began, part = time.monotonic(), CACHE / "part.json"
    if fresh and forked(lambda: measure(part, fresh), 3600) != "0":
        raise SystemExit(f"Tests fail without any mutant; see {CACHE / 'last.log'}.")
    new = json.loads(part.read_text()) if fresh else {"seconds": {}, "lines": {}}
    stale = gone | set(fresh)
    kept = {test: took for test, took in known["seconds"].items() if test.split("::")[0] not in stale}
    seconds = {**kept, **new["seconds"]}
    names, lines = sorted(seconds), {}
    numbers = {name: i for i, name in enumerate(names)}
    for path in {**known["lines"], **new["lines"]}:
        old, more = known["lines"].get(path, {}), new["lines"].get(path, {})
        lines[path] = {
            line: sorted(
                {numbers[known["names"][i]] for i in old.get(line, []) if known["names"][i] in kept}
                | {numbers[test] for test in more.get(line, [])}
            )
            for line in {**old, **more}
        }
    files = {name: stamp for name, stamp in {**known["files"], **files}.items() if name not in gone}
    known = {"files": files, "names": names, "seconds": seconds, "lines": lines}
    place.write_text(json.dumps(known))
    say(f"{len(new['seconds'])} tests in {time.monotonic() - began:.0f} s.")
    return known


def measure(place: Path, tests: Sequence[str]) -> int:
    """Run tests under coverage, and write what they reach."""
    import coverage
    import pytest

    sources = [path for group in GROUPS for path in modules(group)]
    cov = coverage.Coverage(data_file=None, include=[str(path) for path in sources], config_file=False)
    seconds: dict[str, float] = {}
    shared: dict[str, set[str]] = defaultdict(set)
    failed: set[str] = set()

    class Watch:
        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_protocol(self, item: Any) -> Any:
            began = sum(os.times()[:4])  # of the processor, with the processes that a test starts
            out = yield
            seconds[item.nodeid] = sum(os.times()[:4]) - began
            return out

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_setup(self, item: Any) -> Any:
            cov.switch_context("setup " + item.nodeid)
            for name, found in item._fixtureinfo.name2fixturedefs.items():
                if found[-1].scope != "function" and not name.startswith("_"):
                    shared[f"{found[-1].baseid}::{name}"].add(item.nodeid)
            return (yield)

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(self, item: Any) -> Any:
            cov.switch_context(item.nodeid)
            return (yield)

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                failed.add(report.nodeid)

    cov.start()
    code = run_tests([*tests, "-m", "not slow", "--maxfail=10"], [Watch()])
    cov.stop()
    if code not in (0, 5) and not 0 < len(failed) < 10:  # 5: all of them are slow
        return code
    seconds = {test: took for test, took in seconds.items() if test not in failed}
    mates: dict[str, set[str]] = defaultdict(set)
    for users in shared.values():
        for user in users:
            mates[user] |= users
    data, lines = cov.get_data(), {}
    for path in sources:
        reached: dict[str, list[str]] = {}
        for line, contexts in data.contexts_by_lineno(str(path)).items():
            tests: set[str] = set()
            for context in contexts:
                if context.startswith("setup "):
                    # What a shared fixture made is looked at by all tests that share it.
                    tests |= {context[6:]} | mates[context[6:]]
                elif context:
                    tests.add(context)
            reached[str(line)] = sorted(tests & seconds.keys())
        lines[path.relative_to(ROOT).as_posix()] = reached
    place.write_text(json.dumps({"seconds": seconds, "lines": lines}))
    return 0


def reaching(mutant: Any, reached: dict[str, Any]) -> set[str]:
    """Return the tests that reach the statement of a mutant, or the module where the import runs it."""
    lines, names, seconds = reached["lines"].get(mutant.path, {}), reached["names"], reached["seconds"]
    first, last = mutant.lines
    places = lines if mutant.static else map(str, range(first, last + 1))
    tests = {names[i] for line in places for i in lines.get(line, [])}
    if mutant.static:
        tests |= {test for test in names if of_signatures(mutant, test)}
    return {test for test in (tests or (set(names) if mutant.static else set())) if seconds[test] <= LONGEST}


def of_signatures(mutant: Any, test: str) -> bool:
    """Whether a test is one of `OF_SIGNATURES` for the module of a mutant."""
    return any(mutant.path.startswith(folder) and test.split("::")[0] in own for folder, own in OF_SIGNATURES.items())


def chosen(mutant: Any, reached: dict[str, Any]) -> dict[str, float]:
    """Return the tests that a mutant meets, in order, with their seconds."""
    seconds, stem = reached["seconds"], Path(mutant.path).stem

    def rank(test: str) -> tuple[bool, float]:
        own = Path(test.split("::")[0]).stem.startswith(f"test_{stem}")
        return not (own or (mutant.static and of_signatures(mutant, test))), seconds[test]

    out: dict[str, float] = {}
    for test in sorted(reaching(mutant, reached), key=rank):
        if sum(out.values()) + seconds[test] > BUDGET:
            break
        out[test] = seconds[test]
    return out


# -- samples, results, scores


class Results:
    """Verdicts by mutant, in a file."""

    def __init__(self, reached: dict[str, Any] | None) -> None:
        self.path, self.reached = CACHE / "results.json", reached
        self.load()

    def load(self) -> None:
        """Read the file, which another process may have written."""
        self.all: dict[str, dict[str, str]] = json.loads(self.path.read_text()) if self.path.exists() else {}

    def of(self, mutant: Any) -> str | None:
        """Return the verdict, None where there is none that still holds."""
        entry = self.all.get(mutant.key)
        if entry is None or entry["context"] != mutant.context:
            return None
        lives = entry["verdict"] in ("survived", "unreached")
        if lives and self.reached is not None and entry["tests"] != self.tests(mutant):
            return None
        return entry["verdict"]

    def tests(self, mutant: Any) -> str:
        """Return a digest of the names of the tests that reach a mutant; none of one that the import runs."""
        assert self.reached is not None
        names = "" if mutant.static else "\n".join(sorted(reaching(mutant, self.reached)))
        return hashlib.sha256(names.encode()).hexdigest()[:12]

    def store(self, mutant: Any, verdict: str) -> None:
        """Keep a verdict."""
        self.all[mutant.key] = {"context": mutant.context, "verdict": verdict, "tests": self.tests(mutant)}
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.all))
        fresh.replace(self.path)


def explained() -> tuple[dict[tuple[str, str, str, str], str], list[dict[str, Any]]]:
    """Return the reasons of `survivors.toml` by module, function and the lines before and after, and its rules."""
    table = tomllib.loads((HERE / "survivors.toml").read_text(encoding="utf-8"))
    reasons = {
        (entry["module"], entry["function"], entry["before"], after): entry["reason"]
        for entry in table["survivor"]
        for after in entry["after"]
    }
    return reasons, table["rule"]


def reason_of(mutant: Any, known: tuple[dict[tuple[str, str, str, str], str], list[dict[str, Any]]]) -> str | None:
    """Return the reason why a mutant may survive, if there is one."""
    reasons, rules = known
    own = reasons.get((mutant.path, mutant.function, mutant.before, mutant.after))
    return next((rule["reason"] for rule in rules if follows(mutant, rule)), None) if own is None else own


_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?![\w.])")


_LIMIT = re.compile(r"\s*([<>])(=?)\s*")


def at_a_limit(mutant: Any) -> str | None:
    """Return the lines before with @ for the one comparison whose limit belongs to the other side, None for others."""
    before, after = _LIMIT.split(mutant.before), _LIMIT.split(mutant.after)
    changed = [i for i, (x, z) in enumerate(zip(before, after, strict=False)) if x != z]
    if len(before) != len(after) or len(changed) != 1 or changed[0] % 3 != 2:
        return None
    at = changed[0]
    kept = [
        "".join([" ", *before[i : i + 2], " "]) if i % 3 == 1 else before[i] for i in range(len(before)) if i % 3 < 2
    ]
    kept[(at - 2) // 3 * 2 + 1] = " @ "
    return "".join(kept)


def follows(mutant: Any, rule: dict[str, Any]) -> bool:
    """Whether a mutant is one of those that a rule speaks of: a number raised, a word for another, or a limit."""
    if not mutant.path.startswith(rule["modules"]):
        return False
    for old, new in rule.get("words", ()):
        places = [found.start() for found in re.finditer(re.escape(old), mutant.before)]
        if any(mutant.before[:at] + new + mutant.before[at + len(old) :] == mutant.after for at in places):
            return True
    if "limits" in rule:
        marked = at_a_limit(mutant)
        return marked is not None and any(re.search(place, marked) for place in rule["limits"])
    before, after = _NUMBER.split(mutant.before), _NUMBER.split(mutant.after)
    changed = [i for i, (x, z) in enumerate(zip(before, after, strict=False)) if x != z]
    if len(before) != len(after) or len(changed) != 1 or changed[0] % 2 == 0:
        return False
    at = changed[0]
    if float(after[at]) != float(before[at]) + 1.0:
        return False
    marked = "".join([*before[:at], "#", *before[at + 1 :]])
    return any(re.search(place, marked) for place in rule.get("raised", ())) and not re.search(r"[<>]|==", marked)


def wilson(good: int, n: int) -> tuple[float, float]:
    """Return Wilson's interval at 95 %."""
    if n == 0:
        return 0.0, 1.0
    z, p = 1.959964, good / n
    centre, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (centre - half) / (1 + z * z / n)), min(1.0, (centre + half) / (1 + z * z / n))


def score(good: int, n: int) -> str:
    """Return a share and its interval in percent."""
    if n == 0:
        return "-"
    low, high = wilson(good, n)
    return f"{100 * good / n:5.1f} % ({100 * low:.0f} to {100 * high:.0f})"


def sampled(mutants: Sequence[Any], size: int | None, seed: int) -> list[Any]:
    """Return a random sample; a larger one of the same seed contains it."""

    def rank(mutant: Any) -> str:
        return hashlib.sha256(f"{seed} {mutant.key}".encode()).hexdigest()

    return sorted(mutants, key=rank)[:size]


def report(chosen_of: dict[str, list[Any]], sizes: dict[str, int], results: Results, show: bool) -> bool:
    """Write the scores and the survivors that no reason explains; return whether all goals are met."""
    reasons, met = explained(), True
    head = f"{'group':<40}{'mutants':>8}{'tried':>7}{'killed':>8}{'survived':>10}{'explained':>11}"
    say(f"\n{head}   {'raw score':<24}explained left out")
    open_ones = []
    for group, sample in chosen_of.items():
        by_module: dict[str, list[Any]] = defaultdict(list)
        for mutant in sample:
            by_module[mutant.path].append(mutant)
        rows = [(path.removeprefix("specmargin/"), found) for path, found in sorted(by_module.items())]
        for name, found in [*(rows if len(rows) > 1 else []), (group.upper(), sample)]:
            tried = [(mutant, results.of(mutant)) for mutant in found]
            tried = [(mutant, verdict) for mutant, verdict in tried if verdict is not None]
            killed = sum(verdict in ("killed", "timeout") for _, verdict in tried)
            left = [mutant for mutant, verdict in tried if verdict not in ("killed", "timeout")]
            known = sum(reason_of(mutant, reasons) is not None for mutant in left)
            total = sizes[group] if name == group.upper() else ""
            say(
                f"{name:<40}{total:>8}{len(tried):>7}{killed:>8}{len(left):>10}{known:>11}   "
                f"{score(killed, len(tried)):<24}{score(killed, len(tried) - known)}"
            )
            if name == group.upper():
                met &= not tried or killed >= GOALS[group] * (len(tried) - known)
                open_ones += [mutant for mutant in left if reason_of(mutant, reasons) is None]
        say()
    if show:
        for mutant in sorted(open_ones, key=lambda mutant: (mutant.path, mutant.line)):
            state = " (no test reaches it)" if results.of(mutant) == "unreached" else ""
            say(f"{mutant.path}:{mutant.line} {mutant.function}{state}\n  - {mutant.before}\n  + {mutant.after}")
    goals = ", ".join(f"{group} {100 * goal:.0f} %" for group, goal in GOALS.items())
    say(f"{'Goals are met' if met else 'A goal is missed'}: {goals} of the mutants that no reason explains.")
    return met


def main() -> int:
    """Run the sample, and say the score."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="mutants of each group (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--all", action="store_true", help="every mutant")
    parser.add_argument("--only", default="", help="a part of the names of modules")
    parser.add_argument("--group", choices=GROUPS, action="append", help="one group (may be repeated)")
    parser.add_argument("--again", action="store_true", help="run survivors again, even where no test has changed")
    parser.add_argument("--report", action="store_true", help="say the score of the results so far, run nothing")
    parser.add_argument("--list", action="store_true", help="list the mutants, run nothing")
    options = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    CACHE.mkdir(exist_ok=True)
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT), str(HERE)]
    from mutants import mutants_of

    chosen_of, sizes = {}, {}
    for group in options.group or GROUPS:
        paths = [path for path in modules(group) if options.only in path.as_posix()]
        every = [mutant for path in paths for mutant in mutants_of(path, ROOT)]
        if every:
            chosen_of[group], sizes[group] = (
                sampled(every, None if options.all else options.sample, options.seed),
                len(every),
            )
    if options.list:
        for sample in chosen_of.values():
            for mutant in sample:
                say(f"{mutant.path}:{mutant.line} {mutant.function}\n  - {mutant.before}\n  + {mutant.after}")
        return 0
    results = Results(None)
    if not options.report:
        preload(chosen_of)
        results = Results(measured(chosen_of))
        todo = []
        for i in range(max(map(len, chosen_of.values()))):  # of all groups in turn
            todo += [sample[i] for sample in chosen_of.values() if i < len(sample)]
        renew = ("survived", "unreached") if options.again else ()
        todo = [mutant for mutant in todo if results.of(mutant) in (None, *renew)]
        if todo:
            attempt(todo, results, existing_tests(chosen_of))
    return 0 if report(chosen_of, sizes, results, show=True) else 1


def attempt(todo: Sequence[Any], results: Results, tests: Sequence[str]) -> None:
    """Try mutants, those last whose change the import runs: they take longer."""
    done = 0

    def one(mutant: Any, trial: Callable[[Any, dict[str, float]], str]) -> None:
        nonlocal done
        began = time.monotonic()
        nodes = chosen(mutant, results.reached)
        found = trial(mutant, nodes) if nodes else "unreached"
        results.store(mutant, found)
        done += 1
        say(
            f"{done}/{len(todo)} {found} in {time.monotonic() - began:.1f} s: "
            f"{mutant.path}:{mutant.line}  {mutant.before}  =>  {mutant.after}"
        )

    static = [mutant for mutant in todo if mutant.static]

    def rest(loop: Loop) -> None:
        for mutant in todo:
            if not mutant.static:
                one(mutant, loop.verdict)

    if len(static) < len(todo):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = run_tests([*tests, "-m", "not slow", "--capture=no"], [Loop(rest)])
            finally:
                os._exit(code)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
            raise SystemExit("The loop over the mutants ended early.")
        results.load()
        done = len(todo) - len(static)
    for mutant in static:
        one(mutant, imported_anew)


if __name__ == "__main__":
    sys.exit(main())
