"""The score of `mutation.py` is computed as it says, and every survivor that it leaves out is one that exists."""

import tomllib
from pathlib import Path
from types import SimpleNamespace

import mutation
import pytest
from scipy.stats import binomtest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


TABLE = tomllib.loads((HERE / "survivors.toml").read_text(encoding="utf-8"))
SURVIVORS, RULES = TABLE["survivor"], TABLE["rule"]


def test_a_survivor_is_a_change_of_a_line_that_exists():
    modules = {survivor["module"] for survivor in SURVIVORS}
    sources = {name: " ".join(map(str.strip, (ROOT / name).read_text("utf-8").splitlines())) for name in modules}
    for survivor in SURVIVORS:
        assert survivor["before"] in sources[survivor["module"]], survivor
        assert survivor["after"], survivor
        assert survivor["before"] not in survivor["after"], survivor
        assert len(survivor["reason"].split()) >= 5, survivor


def test_no_survivor_stands_twice():
    changes = [(s["module"], s["function"], s["before"], after) for s in SURVIVORS for after in s["after"]]
    assert len(changes) == len(set(changes)) == len(mutation.explained()[0])


@pytest.mark.parametrize(
    ("before", "after", "follows"),
    [
        ("e = 4.0 * UNIT * abs(x)", "e = 5.0 * UNIT * abs(x)", True),
        ("e = 4.0 * UNIT * abs(x)", "e = 3.0 * UNIT * abs(x)", False),
        ("e = 4.0 * size * abs(x)", "e = 5.0 * size * abs(x)", False),
        ("e = gamma(n + 8) * x", "e = gamma(n + 9) * x", True),
        ("e = gamma(n + 8) * x", "e = gamma(n - 8) * x", False),
        ("e = gamma(2 * k + 24) * x", "e = gamma(3 * k + 24) * x", False),
        ("e = gamma(4) * x[2]", "e = gamma(4) * x[3]", False),
        ("if x > 4.0 * UNIT:", "if x > 5.0 * UNIT:", False),
        ("e = (1.0 + 1e-9) * error", "e = (1.0 + 1.000000001) * error", True),
        ("e = (1.0 + 1e-9) * value", "e = (1.0 + 1.000000001) * value", False),
        (
            "bits = max(4, (51 - max(1, k - 1).bit_length()) // 2)",
            "bits = max(4, (51 - max(2, k - 1).bit_length()) // 2)",
            True,
        ),
        (
            "bits = max(4, (51 - max(1, k - 1).bit_length()) // 2)",
            "bits = max(4, (51 + max(1, k - 1).bit_length()) // 2)",
            False,
        ),
        ("step *= 2.0", "step *= 3.0", True),
        ("step = 1.1 * share * size", "step = 2.1 * share * size", True),
        ("least = lowest - 2.0 * step", "least = lowest - 3.0 * step", False),
        ("error += 2.0 * size + 1e-9 * x", "error += 3.0 * size + 1e-9 * x", True),
        ("error += (1.0 + 1e-9) * x", "error += (2.0 + 1e-9) * x", True),
        ("error += (unit * x) ** 2 * size", "error += (unit * x) ** 3 * size", False),
        ("error += x / (2.0 * size)", "error += x / (3.0 * size)", False),
        ("error += 2.0 * size - x", "error += 3.0 * size - x", False),
        ("value += 2.0 * size", "value += 3.0 * size", False),
        ("if rounding > _ROUNDING * abs(value):", "if rounding>= _ROUNDING * abs(value):", True),
        ("if a > 0 and rounding > _ROUNDING * abs(b):", "if a>= 0 and rounding > _ROUNDING * abs(b):", False),
        ("if rounding > _ROUNDING * abs(value):", "if rounding < _ROUNDING * abs(value):", False),
        ("if n > _LARGEST:", "if n>= _LARGEST:", False),
        ("if simple <= negligible:", "if simple< negligible:", True),
        ("y: A = field(init=False, repr=False)", "y: A = field(init=False, )", True),
        ("y: A = field(init=False, repr=False)", "y: A = field(init=True, repr=False)", False),
        ("x = y.astype(float)", "x = y.astype(None)", True),
        ("x = y.astype(np.longdouble)", "x = y.astype(None)", False),
        ("for a, b in zip(x, y, strict=True):", "for a, b in zip(x, y, strict=None):", True),
        ("for a, b in zip(x, y, strict=True):", "for a, b in zip(x, None, strict=True):", False),
    ],
)
def test_rules_speak_of_wider_allowances_and_of_nothing_else(before, after, follows):
    mutant = SimpleNamespace(path="specmargin/objectives/some.py", function="some", before=before, after=after)
    assert any(mutation.follows(mutant, rule) for rule in RULES) == follows
    assert (mutation.reason_of(mutant, mutation.explained()) is not None) == follows
    elsewhere = SimpleNamespace(path="tests/some.py", function="some", before=before, after=after)
    assert mutation.reason_of(elsewhere, mutation.explained()) is None


@pytest.mark.parametrize(("good", "n"), [(0, 1), (1, 1), (3, 7), (180, 200), (400, 400)])
def test_the_interval_is_wilsons(good, n):
    expected = binomtest(good, n).proportion_ci(confidence_level=0.95, method="wilson")
    assert mutation.wilson(good, n) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_a_larger_sample_contains_a_smaller_one_of_the_same_seed():
    mutants = [SimpleNamespace(key=str(i)) for i in range(500)]
    small, large = mutation.sampled(mutants, 50, seed=3), mutation.sampled(mutants, 80, seed=3)
    assert large[:50] == small
    assert {mutant.key for mutant in small} != {mutant.key for mutant in mutation.sampled(mutants, 50, seed=4)}


def test_a_module_is_imported_with_the_changed_source():
    path = ROOT / "specmargin" / "exceptions.py"
    changed = mutation.Changed(path, "value = 41 + 1\n")
    assert changed.find_spec("specmargin.rounding") is None
    spec = changed.find_spec("specmargin.exceptions")
    assert spec.origin == str(path)
    names = {}
    exec(spec.loader.get_code(spec.name), names)
    assert names["value"] == 42


def test_every_group_has_its_modules_and_every_folder_its_tests():
    assert all(mutation.modules(group) for group in ("objectives", "certificates", "bounds"))
    assert len(mutation.modules("objectives")) > 25
    assert {"tests/objectives", "tests/test_rounding.py"} <= set(mutation.existing_tests(["objectives"]))


def test_defaults_meet_the_tests_of_signatures_whichever_lines_these_reach():
    ours, other = "tests/objectives/cones/test_cone.py::a", "tests/losses/test_margin.py::a"
    args = mutation.OF_SIGNATURES["specmargin/objectives/"][0] + "::defaults"
    names = [ours, other, args]
    reached = {
        "names": names,
        "seconds": {ours: 0.2, other: 0.1, args: 0.3},
        "lines": {"specmargin/objectives/cones/cone.py": {"7": [0]}},
    }
    mutant = SimpleNamespace(path="specmargin/objectives/cones/cone.py", static=True, lines=(7, 7))
    assert list(mutation.chosen(mutant, reached)) == [ours, args]
    mutant.static = False
    assert list(mutation.chosen(mutant, reached)) == [ours]
    elsewhere = SimpleNamespace(path="specmargin/rounding.py", static=True, lines=(7, 7))
    reached["lines"]["specmargin/rounding.py"] = {"9": [1]}
    assert list(mutation.chosen(elsewhere, reached)) == [other]
    assert all((ROOT / own).exists() for files in mutation.OF_SIGNATURES.values() for own in files)
