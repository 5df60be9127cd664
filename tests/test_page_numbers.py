"""The numbers of README.md and of docs: each has a source in the repository and is what the source has.

`tests/page_numbers.py` says how a page names its sources, and `python tests/page_numbers.py --list` what is missing.
"""

from __future__ import annotations

import doctest
import importlib.util
import os
import statistics
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import page_numbers
import page_tables
import pytest
from page_numbers import ROOT, faults, not_kept, pages, rewritten, tables_of
from scipy.stats import ttest_ind_from_stats

from reproduction.figure_scripts import figure_scripts, load_script

_SPEC = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "_extensions" / "pictures.py")
assert _SPEC is not None
assert _SPEC.loader is not None
pictures = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(pictures)

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
BENCHMARK = "`python benchmarks/auto_ssl.py` prints it"

# Numbers that no file of the repository has: the page, and why. No other may come.
NOT_KEPT = {
    ("docs/proofs.md", "`python tests/mutation/mutation.py` prints the score of a sample"),
    ("docs/auto_ssl.md", "evaluated once, while the constants of AutoSSL were chosen"),
    ("docs/auto_ssl.md", BENCHMARK),
    ("docs/performance.md", BENCHMARK),
    ("docs/performance.md", "`python benchmarks/calibration.py` prints it"),
    ("docs/performance.md", "evaluated once, while the scale of probabilities was chosen"),
}

# Pages that a program writes whole, and what holds their numbers.
WRITTEN = {
    "docs/defaults.md": "by benchmarks/defaults.py; its means are recomputed below, its cells are too many to keep",
    "docs/default_choices.md": "by benchmarks/default_choices.py; its cells are too many to keep",
    "docs/failures.md": "by benchmarks/failures.py; its 16,160 rows are too many to keep",
    "docs/real_tools.md": "by tests/test_real_tools.py, which compares it",
}


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_the_lines_of_the_readme_are_right(tmp_path: Path) -> None:
    part = text_of("README.md").split("\n## In five lines\n")[1].split("\n## ")[0]
    blocks = [block.split("```")[0] for block in part.split("```python\n")[1:]]
    assert blocks[0] == start_page_lines()
    graph = nx.karate_club_graph()
    club = [int(graph.nodes[node]["club"] == "Officer") for node in graph]
    shown = f"\nassert sum(clubs.transduction_ != {club}) == 2, clubs"
    command = [sys.executable, "-W", "error", "-c", "".join(blocks) + shown]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("0.0 LapSVM: OPTIMAL")


def start_page_lines() -> str:
    """Return the code of the start page."""
    return text_of("docs/index.md").split("```python\n")[1].split("```")[0]


def test_the_lines_of_the_start_page_print_what_the_picture_shows(tmp_path: Path) -> None:
    assert sum(bool(line) for line in start_page_lines().splitlines()) == 5
    svm = start_page_lines().replace("graph=12", "graph=12, gamma_I=0")
    share = "default"  # an SVM that calls 84 % negative warns of it
    for lines, printed, rule in ((start_page_lines(), "0.0", "error"), (svm, "0.345", share)):
        command = [sys.executable, "-W", rule, "-c", lines]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False, env=ENVIRONMENT
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{printed} LapSVM: OPTIMAL")


@pytest.mark.parametrize("page", pages())
def test_every_number_is_that_of_its_source(page: str) -> None:
    assert faults(page, text_of(page)) == []


@pytest.mark.parametrize("page", [page for page in pages() if "<!-- numbers: " in text_of(page)])
def test_generated_tables_are_up_to_date(page: str) -> None:
    assert rewritten(text_of(page), page_tables.TABLES) == text_of(page), "python tests/page_numbers.py"


def test_every_generated_table_is_shown() -> None:
    texts = "".join(text_of(page) for page in pages())
    assert [name for name in page_tables.TABLES if f"<!-- numbers: {name} -->" not in texts] == []


def test_numbers_that_nothing_keeps_are_these() -> None:
    assert set().union(*(not_kept(page, text_of(page)) for page in pages())) == NOT_KEPT
    assert set(page_numbers.WRITTEN) == WRITTEN.keys()
    assert {"README.md", "docs/auto_ssl.md", "docs/papers/qn_s3vm.md"} <= set(pages())


def test_examples_of_the_reader() -> None:
    assert doctest.testmod(page_numbers).failed == 0
    assert doctest.testmod(page_numbers).attempted > 1


# What is wrong is noticed.

PAGE = """# A page

On g50c the SVM errs on {svm} %, `C=0.5`, in section 3.2.
{comment}
| set | error |
|---|---|
| g50c | {lapsvm} |

<!-- sources
{lapsvm} = lapsvm_svm | g50c | lapsvm_hinge | 5 labelled folds
-->
"""
SVM = "lapsvm_svm | g50c | svm | 5 labelled folds"


def page(svm: str = "10.1", lapsvm: str = "5.64", comment: str = f"\n<!-- sources\n10.1 = {SVM}\n-->\n") -> list[str]:
    if comment:
        assert comment.startswith("\n")
    return faults("page.md", PAGE.format(svm=svm, lapsvm=lapsvm, comment=comment))


def test_a_page_that_is_right_has_no_faults() -> None:
    assert page() == []
    # Directly below, or after an empty line.
    assert faults("page.md", f"It errs 10.06 %.\n<!-- sources\n10.06 = {SVM}\n-->\n") == []


def test_numbers_that_are_wrong_or_have_no_source_are_noticed() -> None:
    assert page(lapsvm="5.63") == [
        "page.md:9: 5.63 = lapsvm_svm | g50c | lapsvm_hinge | 5 labelled folds: there it is 5.64 (0.93)"
    ]
    assert page(svm="10.2") == ["page.md:3: 10.2 has no source", "page.md:3: 10.1 has a source and is not shown"]
    assert page(comment="\n") == ["page.md:3: 10.1 has no source"]


def source_fault(number: str, source: str) -> str:
    return page_numbers.disagreement(number, source)


@pytest.mark.parametrize(
    ("number", "source"),
    [
        ("9.33", "lapsvm_svm | g50c | svm | 5 labelled folds | published"),
        ("10.06", SVM),
        ("840", "lapsvm_svm: cells: 840, failed: 0"),
        ("9.33", "lapsvm_primal_table04_errors.csv | g50c | svm | U | mean"),
        ("18.0", "defaults | # Next to a tuned SVM | g50c | 4 | LapSVM()"),
        ("14", "test tests/test_page_numbers.py::test_a_picture_shows_what_the_code_draws"),
        ("14", "given: a constant"),
        ("14", "not kept: a command prints it"),
    ],
)
def test_every_kind_of_source_is_resolved(number: str, source: str) -> None:
    assert source_fault(number, source) == ""


@pytest.mark.parametrize(
    ("number", "source", "fault"),
    [
        ("10.07", SVM, "there it is 10.06 (1.80)"),
        ("10.060", SVM, "there it is"),  # more digits than there are
        ("1.0", "lapsvm_svm | g50c | svm | no such tuning", "0 cells"),
        ("1.0", "lapsvm_svm | g50c | svm", "2 cells"),
        ("1.0", "nothing | g50c | svm", "no record"),
        ("17.5", "defaults | # No such part | g50c | 4 | LapSVM()", "no table below"),
        ("841", "lapsvm_svm: cells: 841, failed: 0", "does not have these words"),
        ("84", "lapsvm_svm: cells: 840, failed: 0", "do not hold the number"),
        ("14", "test tests/test_page_numbers.py::test_nothing", "no such test"),
        ("14", "test tests/test_nowhere.py::test_nothing", "no such test"),
        ("14", "given", "no record"),
        ("14", "guessed: 14", "no record"),
    ],
)
def test_wrong_sources_are_noticed(number: str, source: str, fault: str) -> None:
    assert fault in source_fault(number, source)


def test_tables_that_are_out_of_date_or_nobodys_are_noticed() -> None:
    text = "Before.\n\n<!-- numbers: demo -->\n\n| 1 |\n\n<!-- end of numbers -->\n\nAfter 1.5.\n"
    assert rewritten(text, {"demo": lambda: "| 1 |"}) == text
    assert "| 2 |" in rewritten(text, {"demo": lambda: "| 2 |"})
    empty = text.replace("\n| 1 |\n\n", "")
    assert rewritten(empty, {"demo": lambda: "| 1 |"}) == text
    with pytest.raises(LookupError, match="nothing makes the table 'demo'"):
        rewritten(text, {})
    # What a program writes needs no comment; what stands around it does.
    assert faults("page.md", text) == ["page.md:9: 1.5 has no source"]


def test_independent_numbers_are_held_against_the_draws_of_ours() -> None:
    """Against scipy's t test of two samples of these means, deviations and sizes."""
    entry = {"what": "w", "line": "qn_s3vm-labels=uniform-rows=few | # Table 2 | usps_3_8 | qn_s3vm", "draws": 4}
    mean, std = 5.731070496083551, 2.715801
    apart = {
        value: ttest_ind_from_stats(mean, std, 10, value, std, 4).pvalue > 0.05
        for value in (mean - 5.0, mean - 3.6, mean - 3.4, mean + 3.4, mean + 3.6)
    }
    assert set(apart.values()) == {True, False}
    for value, within in apart.items():
        row = page_tables.independent_row({**entry, "independent": value, "why": "because"})
        assert row[4].endswith("within" if within else "outside"), row
        if not within:
            with pytest.raises(ValueError, match=r"'w': ours less the independent number is .*; say why"):
                page_tables.independent_row({**entry, "independent": value})
    assert row[1:3] == ["5.40", "5.73"]


def test_independent_counts_are_the_same_or_have_a_reason() -> None:
    entry = {"what": "w", "words": ["spectrum_learning", r"\[9\] at w 1: STORM or STOAM (?P<mean>\d+),"]}
    assert page_tables.independent_row({**entry, "independent": 36})[1:5] == ["-", "36", "36", "the same"]
    with pytest.raises(ValueError, match="outside; say why"):
        page_tables.independent_row({**entry, "independent": 35})
    for damaged in ({"words": ["spectrum_learning", "no such words"]}, {"line": "qn_s3vm | # Table 2 | nowhere"}):
        with pytest.raises(LookupError):
            page_tables.independent_row({"what": "w", "independent": 1, "draws": 10, **damaged})


def test_pairs_of_digits_are_counted_from_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deviations on U of 1 and 1, by LapRLS 0.5 and 2, by LapSVM 0.5 and 0.5; T is above U by 0.5 and by 3."""
    spread = {"TSVM": (1.0, 1.0), "LapRLS": (0.5, 2.0), "LapSVM": (0.5, 0.5)}
    setting = {"param_kernel": "fitted", "param_per_class": 2}
    rows = [
        {"dataset": pair, "method": name, "error_unlabeled": 5 + sign * each, "error_test": 5 + sign * each + apart}
        | {**setting, "param_normalized": None if name == "TSVM" else False}
        for name, deviations in spread.items()
        for pair, each, apart in zip(("usps 0-1", "usps 0-2"), deviations, (0.5, 3.0), strict=True)
        for sign in (-1, 1)
    ]
    other = [{**row, **changed, "error_unlabeled": 0.0} for row in rows for changed in OTHER_SETTINGS]
    monkeypatch.setattr(page_tables, "records", lambda: {"t": SimpleNamespace(rows=lambda: [*other, *rows])})
    entry = {"what": "w", "steadier": ["t", "TSVM", "fitted", False]}
    assert page_tables.independent_row({**entry, "independent": 3})[1:5] == ["-", "3 of 4", "3", "the same"]
    assert page_tables.independent_row({**entry, "independent": 3, "by": "package"})[0] == "w *"
    with pytest.raises(ValueError, match="outside; say why"):
        page_tables.independent_row({**entry, "independent": 4})
    near = {"what": "w", "pairs": ["t", "LapSVM", "fitted", False], "independent": 1}
    assert page_tables.independent_row(near)[:5] == ["w", "-", "1 of 2", "1", "the same"]


OTHER_SETTINGS = ({"param_kernel": "plain"}, {"param_per_class": 8}, {"param_normalized": True})


# Pages that programs write whole.


def test_means_of_the_page_on_defaults_are_those_of_its_sets() -> None:
    compared = 0
    for table in tables_of("defaults"):
        if table.heading != "Next to a tuned SVM":
            continue
        for labels in dict.fromkeys(row[1] for row in table.rows):
            rows = [row for row in table.rows if row[1] == labels]
            (mean,) = [row for row in rows if row[0] == "mean"]
            sets = [row for row in rows if not row[0].startswith("mean")]
            for column in range(2, len(table.columns)):
                # Each set and the mean are rounded to a tenth.
                assert statistics.fmean(float(row[column]) for row in sets) == pytest.approx(
                    float(mean[column]), abs=0.1
                )
                compared += 1
    assert compared == 4 * (5 + 3)


@pytest.mark.parametrize("name", pictures.PICTURES)
def test_a_picture_shows_what_the_code_draws(name: str) -> None:
    """Its numbers are kept in the file; `python docs/_extensions/pictures.py` draws it anew."""
    script = load_script(figure_scripts()[name])
    data = script.compute("standard")
    now, drawn = pictures.shown(data), pictures.kept(ROOT / "docs" / f"{name}.png")
    assert {**now, "signs": None} == {**drawn, "signs": None}, "python docs/_extensions/pictures.py"
    for classifier, signs in now["signs"].items():  # rounding may move a point on the boundary
        apart = sum(a != b for a, b in zip(signs, drawn["signs"][classifier], strict=True))
        assert apart <= 0.005 * len(signs), "python docs/_extensions/pictures.py"


def test_another_boundary_is_noticed() -> None:
    grid = np.linspace(-1.0, 1.0, 81)[None, :] + np.zeros((81, 1))
    first, second = ({"results": {}, "responses": {"SVM": grid + move}} for move in (0.0, 0.3))
    assert pictures.shown(first)["signs"]["SVM"] == "00000011111" * 11
    assert pictures.shown(second)["signs"]["SVM"] == "00001111111" * 11
