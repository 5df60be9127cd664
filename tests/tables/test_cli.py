"""The command line: clean messages, exit codes, options that arrive."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import specmargin as sm
from reproduction import papers
from reproduction.__main__ import app as papers_app
from reproduction.engine.sweep import SweepInterruptedError
from reproduction.run import Experiment, Findings, Setup
from specmargin.exceptions import SpecmarginError
from specmargin.objectives import RMM, S3VM
from specmargin.tables.cli import app

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # Set first, so that whatever the command sets is taken back.
    monkeypatch.setenv("SPECMARGIN_DATA", str(tmp_path / "none"))

    def invoked(*arguments):
        """Run the command of the package, or for what is about the papers that of `reproduction`."""
        taken = papers_app if set(map(str, arguments)) & {"figures", "tables", "report", "datasets"} else app
        return CliRunner().invoke(taken, [str(argument) for argument in arguments])

    return invoked


@pytest.fixture
def toy_table(monkeypatch):
    """Register a table that remembers its options, or raises what `raises` holds."""
    toy = SimpleNamespace(options=[], raises=None, act=lambda: None)

    def build(options):
        toy.options.append(options)
        toy.act()
        if toy.raises is not None:
            raise toy.raises
        return Setup(None, ())

    def nothing(*_):
        return []

    made = Experiment("toy", "A toy", "The toy table", build, nothing, lambda *_: Findings([]), nothing)
    monkeypatch.setattr(papers, "tables", lambda: {"toy": made})
    return toy


@pytest.mark.parametrize("command", ["compare", "fit", "predict", "figures", "tables", "verify"])
def test_help_of_every_command_has_an_example(run, command):
    text = " ".join(run(command, "--help").stdout.replace("│", " ").split())
    program = "python -m reproduction" if command in ("figures", "tables") else "specmargin"
    assert f"{program} {command} " in text.partition("Example")[2]


def test_list_of_figures_tells_how_long_they_take(run):
    times = {}
    for size in ("--quick", "--full"):
        lines = run("figures", "--list", size).stdout.splitlines()
        assert lines[0].split() == ["figure", "one", "core", "what", "it", "shows"]
        times[size] = {line.split()[0]: line[20:30].strip() for line in lines[1:]}
    assert times["--quick"]["qn_s3vm"] == "8 s"  # SECONDS of figures/qn_s3vm.py, bundled data
    assert times["--full"]["qn_s3vm"] == "2 min"


def test_help_names_the_commands(run):
    for program, names in ((app, "compare fit predict verify"), (papers_app, "figures tables datasets")):
        result = CliRunner().invoke(program, ["--help"])
        assert result.exit_code == 0
        assert {name for name in names.split() if name not in result.output} == set()


def test_compare_fit_and_predict(run, tmp_path, monkeypatch):
    from specmargin.tables.assessment import result, tuned_svm

    monkeypatch.setattr(tuned_svm, "_CS", (10.0,))
    monkeypatch.setattr(tuned_svm, "_WIDTHS", ())
    monkeypatch.setattr(result, "FAMILIES", ("sup", "pca"))
    monkeypatch.setattr(result, "_DRAWS", 1)
    rng = np.random.default_rng(0)
    lines = ["size,town,kind"]
    for i in range(40):
        label = ("iris", "rose")[i % 2] if i < 14 else "unknown" if i < 20 else ""
        lines.append(f"{3 * (i % 2) + rng.normal():.3f},{('Rome', 'Oslo')[i % 3 % 2]},{label}")
    (tmp_path / "flowers.csv").write_text("\n".join(lines) + "\n")
    common = ("flowers.csv", "--target", "kind", "--unlabeled", "unknown")
    result = run("compare", *common, "--methods", "majority,svm", "--out", "out", "--seed", 3)
    assert result.exit_code == 0, result.output
    assert "40 rows, 14 labelled" in result.stdout
    first, _, heads, *_ = result.stdout.splitlines()
    assert first.startswith("Whether unlabelled rows help could not be told: no method that uses them was")
    assert heads.startswith("column  role     type")
    assert "tuned SVM: fold 10 of 10\n" in result.stderr
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["model.npz", "page.html", "predictions.csv", "rows", "table.csv"]
    again = run("compare", *common, "--methods", "majority,svm", "--out", "out", "--seed", 3)
    assert again.stderr.count("kept from an earlier run") == 3
    assert run("compare", *common, "--methods", "majority", "--out", "out", "--seed", 3, "--quiet").stderr == ""
    assert run("fit", *common, "--method", "svm", "--out", "svm.npz").exit_code == 0
    assert run("predict", "svm.npz", "flowers.csv", "--out", "later.csv").exit_code == 0
    assert len((tmp_path / "later.csv").read_text().splitlines()) == 41
    spent = run("compare", *common, "--methods", "svm", "--out", "none", "--budget", 1e-9)
    assert (spent.exit_code, "the budget of 1e-09 s was spent" in spent.stderr) == (2, True)


def test_what_is_read_is_never_overwritten(run, tmp_path):
    text = "x,z,kind\n" + "".join(f"{i % 2 + i / 100},{i % 3},{'pq'[i % 2] if i < 20 else ''}\n" for i in range(30))
    (tmp_path / "t.csv").write_text(text)
    (tmp_path / "link.csv").symlink_to("t.csv")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "predictions.csv").write_text(text)
    assert run("fit", "t.csv", "--target", "kind", "--method", "svm", "--out", "m.npz").exit_code == 0
    model = (tmp_path / "m.npz").read_bytes()
    for command in (
        ("fit", "t.csv", "--target", "kind", "--method", "svm", "--out", "t.csv"),
        ("fit", "t.csv", "--target", "kind", "--method", "svm", "--out", "link.csv"),
        ("predict", "m.npz", "t.csv", "--out", "t.csv"),
        ("predict", "m.npz", "t.csv", "--out", "m.npz"),
        ("compare", "out/predictions.csv", "--target", "kind", "--methods", "majority", "--out", "out"),
    ):
        result = run(*command)
        assert result.exit_code == 2, command
        assert "is the file that is read, and would be overwritten; name another" in result.stderr
    assert (tmp_path / "t.csv").read_text() == (tmp_path / "out" / "predictions.csv").read_text() == text
    assert (tmp_path / "m.npz").read_bytes() == model


def test_types_are_said_on_the_command_line(run, tmp_path):
    text = "x;z;price\n" + "".join(f"{i % 7},5;{i % 3};{3 * (i % 7)},25\n" for i in range(30))
    (tmp_path / "t.csv").write_text(text)
    refused = run("fit", "t.csv", "--target", "price", "--out", "m.npz")
    assert (refused.exit_code, "--columns price=number" in refused.stderr) == (2, True)
    result = run("fit", "t.csv", "--target", "price", "--columns", "price=number", "--columns", "z=category")
    assert result.exit_code == 0, result.output
    assert re.search(r"z +feature +category, as stated", result.stdout)
    (tmp_path / "new.csv").write_text("x;z\n3,5;1\n3,5;9\n")
    result = run("predict", "model.npz", "new.csv")
    assert result.exit_code == 0, result.output
    assert "! 'z': '9' (row 2) was in no row that the model was fitted with." in result.stdout
    rows = (tmp_path / "predictions.csv").read_text().splitlines()
    assert rows[0] == "row,labelled,label,predicted,remark"
    assert abs(float(rows[1].split(",")[3]) - 9.25) < 0.5


def test_help_imports_nothing_heavy():
    code = "import sys, specmargin.tables.cli; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"numpy", "scipy", "pandas", "sklearn", "cvxpy", "matplotlib", "joblib", "networkx"}


def test_tables_pass_their_options_and_print_the_table(run, toy_table, tmp_path):
    (tmp_path / "d").mkdir()
    options = ["--quick", "--data", tmp_path / "d", "--out", "o", "--jobs", 2, "--fresh", "--retry-failed"]
    result = run("tables", "toy", *options)
    assert result.exit_code == 0, result.output
    assert "The toy table" in result.stdout
    (got,) = toy_table.options
    assert (got.quick, got.data, got.jobs, got.fresh, got.retry_failed) == (True, tmp_path / "d", 2, True, True)
    assert os.environ["SPECMARGIN_DATA"] == str(tmp_path / "d")
    assert (tmp_path / "o" / "tables" / "toy-quick.csv").is_file()
    assert got.wait is False
    assert run("tables", "--all", "--wait").exit_code == 0
    assert toy_table.options[1].folder.parts[:2] == ("results", "sweeps")
    assert toy_table.options[1].wait is True


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ValueError("take 1 to 5"), 2, r"Error: take 1 to 5\n"),
        (SpecmarginError("the folder is stale; use --fresh"), 1, r"Error: the folder is stale; use --fresh\n"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            1,
            r"Error: cannot write into 'results': No space left on device\. .*Make room and run the same again\..*",
        ),
        (ModuleNotFoundError("No module named 'pandas'", name="pandas"), 1, r".*pip install 'specmargin\[cli\]'.*"),
        (
            SweepInterruptedError(KeyboardInterrupt(), "3 of 9 cells or more are in 'results'"),
            130,
            r"interrupted: 3 of 9 cells or more are in 'results'; the same call goes on from there\.\n",
        ),
        (KeyboardInterrupt(), 130, r"interrupted\.\n"),
    ],
)
def test_foreseen_errors_are_one_message(run, toy_table, error, code, said):
    toy_table.raises = error
    result = run("tables", "toy")
    assert (result.exit_code, result.stdout) == (code, "")
    assert re.fullmatch(said, result.stderr, re.DOTALL)


def test_debug_shows_the_error_itself(run, toy_table):
    toy_table.raises = ValueError("deep inside")
    assert run("--debug", "tables", "toy").exception is toy_table.raises
    toy_table.raises = ZeroDivisionError("a bug, which is never hidden")
    assert run("tables", "toy").exception is toy_table.raises


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_end_with_one_message(run, toy_table, name, heeded):
    number = heeded(name)
    toy_table.act = lambda: os.kill(os.getpid(), number)
    before = signal.getsignal(number)
    result = run("tables", "toy")
    assert result.exit_code == 128 + number
    assert result.stderr == f"ended by {name}.\n"
    assert signal.getsignal(number) is before


def test_without_a_name_tables_are_listed_and_nothing_is_computed(run, toy_table):
    result = run("tables")
    assert result.exit_code == 0
    assert "toy A toy" in result.stdout
    assert "python -m reproduction tables NAME" in result.stdout
    assert toy_table.options == []


ONE_OF = f"no table 'nope'; choose one of: {', '.join(sorted(papers.tables()))}"
COMPARE, FIT = ("compare", "t.csv", "--target", "y"), ("fit", "t.csv", "--target", "y")
NO_FILE, NO_FOLDER, NO_NAME = (
    "is a folder; name the file",
    "is a file; name a folder",
    "is empty; name a file or a folder",
)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tables", "nope"), ONE_OF),
        (("tables", "qn_s3vm", "--data", "absent"), "is not a folder"),
        (("no-such-command",), ""),
        (("tables", "claim"), "Did you mean 'claims'?"),
        (("figures", "two_mons"), "Did you mean 'two_moons'?"),
        (("datasets", "fetch", "MNISTT"), "Did you mean 'mnist'?"),
        ((*COMPARE, "--methods", "LapSVMM"), "Did you mean 'LapSVM'?"),
        ((*FIT, "--method", "autosl"), "Did you mean 'AutoSSL'?"),
        (("compar", "t.csv"), "Did you mean 'compare'?"),
        ((*COMPARE, "--out", ""), NO_NAME),
        ((*FIT, "--out="), NO_NAME),
        (("figures", "--out", ""), NO_NAME),
        (("datasets", "list", "--data", ""), NO_NAME),
        (("predict", "no.npz", "no.csv", "--out", "folder"), f"--out 'folder' {NO_FILE}"),
        (("fit", "no.csv", "--target", "y", "--out", "folder"), f"--out 'folder' {NO_FILE}"),
        (("compare", "no.csv", "--target", "y", "--out", "file/below"), f"'file' {NO_FOLDER}"),
        (("tables", "qn_s3vm", "--out", "file"), f"file' {NO_FOLDER} to write into."),
        (("figures", "clock", "--out", "file/below"), f"file' {NO_FOLDER} to write into."),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(run, tmp_path, arguments, says):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{k},{'ab'[k % 2] if k < 8 else ''}\n" for k in range(20)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    result = run(*arguments)
    assert result.exit_code == 2
    assert says in " ".join(result.stderr.replace("│", " ").split())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder", "t.csv"]
    assert (tmp_path / "file").read_text() == "mine"


def test_datasets(run, tmp_path):
    result = run("datasets", "list")
    assert result.exit_code == 0
    assert "scikit-learn" in result.stdout
    assert "can be downloaded" in result.stdout
    assert "not available" in result.stdout
    result = run("datasets", "fetch", "digits")
    assert result.stdout.startswith("digits: 1797 samples, 64 features")
    result = run("datasets", "fetch", "g50c")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: the data set 'g50c' is not available")
    assert run("datasets", "fetch", "g50").exit_code == 2


def test_figures_pass_their_options(run, tmp_path, monkeypatch):
    from reproduction import gallery

    calls = []

    def run_figures(names, **options):
        calls.append((list(names), options))
        return [SimpleNamespace(name="moons", paths=("moons.pdf", "moons.png"))]

    monkeypatch.setattr(gallery, "run_figures", run_figures)
    result = run("figures", "moons", "clock", "--quick", "--data", tmp_path, "--out", "o", "--jobs", 2)
    assert result.exit_code == 0, result.output
    assert "moons: moons.pdf, moons.png" in result.stdout
    names, options = calls[0]
    assert names == ["moons", "clock"]
    assert (options["quick"], options["data"], str(options["out"]), options["jobs"]) == (True, tmp_path, "o", 2)
    assert run("figures").exit_code == 0
    assert calls[1][0] == []
    assert (calls[1][1]["quick"], calls[1][1]["full"], calls[1][1]["jobs"]) == (False, False, -1)
    assert run("figures", "--full").exit_code == 0
    assert (calls[2][1]["quick"], calls[2][1]["full"]) == (False, True)
    monkeypatch.setattr(gallery, "available_figures", lambda: {"moons": "Two moons."})
    assert "Two moons." in run("figures", "--list").stdout
    assert len(calls) == 3


@pytest.fixture
def answers(tmp_path):
    """A proved answer, the same with a better claim, a search without a bound, and text."""
    X = np.array([[-2.0], [-1.0], [1.0], [3.0]])
    svm = RMM(X @ X.T, sm.encode_labels([0, 0, 1, 1]), C=1.0)
    result = sm.solvers.relative_margin(svm)
    sm.save_result(tmp_path / "proved.npz", svm, result)
    better = replace(result.certificate, dual_objective=0.6, primal_objective=0.6)
    sm.save_result(tmp_path / "refuted.npz", svm, replace(result, certificate=better))
    search = S3VM(X, sm.encode_labels([0, -1, -1, 1]), C=1.0)
    sm.save_result(tmp_path / "stationary.npz", search, sm.solvers.quasi_newton(search))
    (tmp_path / "text.npz").write_text("text")


def test_verify_says_a_line_a_file(run, answers):
    result = run("verify", "proved.npz")
    assert result.exit_code == 0, result.output
    said = r"the gap is at most \S+ to the global optimum; of it \S+ is the charge for K .*; sha256 [0-9a-f]{16}"
    assert re.fullmatch(rf"proved.npz: rmm: proved: {said}\n", result.stdout)
    result = run("verify", "proved.npz", "refuted.npz", "proved.npz")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert re.fullmatch("refuted.npz: rmm: refuted: the objective is 0.5[0-9]*, not 0.59999999999999998", lines[1])
    assert lines[0] == lines[2]
    result = run("verify", "refuted.npz", "text.npz", "stationary.npz", "proved.npz", "none.npz")
    assert result.exit_code == 2
    _, text, stationary, proved, none = result.stdout.splitlines()
    assert text.startswith("text.npz: unreadable: path='text.npz' begins with b'text': no archive of cvxproof")
    assert stationary == "stationary.npz: s3vm: nothing to verify: its answer claims no bound (stationary)"
    assert proved == lines[0]
    assert none.startswith("none.npz: unreadable: path='none.npz' does not exist")
    assert run("verify", "stationary.npz").exit_code == 2
    assert run("verify").exit_code == 2


def test_verify_as_json(run, answers):
    result = run("verify", "--json", "proved.npz", "refuted.npz", "stationary.npz", "text.npz")
    assert result.exit_code == 2
    rows = json.loads(result.stdout)
    assert [row["outcome"] for row in rows] == ["proved", "refuted", "nothing to verify", "unreadable"]
    assert [row["kind"] for row in rows] == ["rmm", "rmm", "s3vm", None]
    assert rows[0]["bound"][0] <= 0.5 <= rows[0]["primal"][1]
    assert 0 <= rows[0]["gap"][1] < 1e-12
    assert len(rows[0]["assumptions"]) == 1
    assert "primal" not in rows[2]


def test_verify_without_flint_names_the_remedy(answers, tmp_path):
    code = "import sys; sys.modules['flint'] = None; import specmargin.tables.cli; specmargin.tables.cli.main()"
    command = [sys.executable, "-c", code, "verify", "proved.npz"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 2
    assert result.stdout == ""
    assert re.fullmatch(r"Error: .* pip install python-flint\n", result.stderr)


# The entry, names that are nearly right, places, controls


def test_the_module_is_the_command():
    done = subprocess.run([sys.executable, "-m", "specmargin", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"specmargin {sm.__version__}\n"


ENTRIES = {
    "specmargin": ["-c", "import sys; from specmargin.__main__ import main; sys.exit(main())"],
    "python -m specmargin": ["-m", "specmargin"],
    "python -m reproduction": ["-m", "reproduction"],
    "python -m reproduction datasets": ["-m", "reproduction", "datasets"],
    "lesson_files.py": [str(ROOT / "notebooks" / "lessons" / "lesson_files.py")],
    "built_pages.py": [str(ROOT / "docs" / "_extensions" / "built_pages.py")],
    "page_numbers.py": [str(ROOT / "tests" / "page_numbers.py")],
    "house_words.py": [str(ROOT / "tests" / "house_words.py")],
    "house_counts.py": [str(ROOT / "tests" / "house_counts.py")],
}
DO_SOMETHING_ALONE = {"lesson_files.py", "page_numbers.py", "house_words.py", "house_counts.py"}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_command_answers_nothing_a_wrong_word_and_a_call_for_help(entry, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in (ROOT / "notebooks" / "lessons").iterdir()}
    usage = {}
    for words, code in (([], 2), (["nonsense"], 2), (["--nonsense"], 2), (["--help"], 0)):
        if words or entry not in DO_SOMETHING_ALONE:
            done = subprocess.run(
                [sys.executable, *ENTRIES[entry], *words],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
            )
            usage[tuple(words)] = done.stdout + done.stderr
            assert done.returncode == code, usage
            assert "usage" in usage[tuple(words)].lower(), usage
            assert "Traceback" not in usage[tuple(words)]
    assert "nonsense" in usage["nonsense",]
    assert before == {path: path.stat().st_mtime_ns for path in (ROOT / "notebooks" / "lessons").iterdir()}


@pytest.mark.parametrize("lacking", ["typer", "rich"])
def test_without_the_extra_the_command_says_what_to_install(lacking):
    code = f"import sys; sys.modules[{lacking!r}] = None\nfrom specmargin.__main__ import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=False)
    if lacking == "typer":
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == "Error: the command line needs typer; pip install 'specmargin[cli]'\n"
    assert "Traceback" not in done.stderr


def test_names_and_arguments_in_python_are_asked_after():
    with pytest.raises(ValueError, match=r"Did you mean 'squared_hinge'\?"):
        sm.losses.get_loss("squared_hing")
    with pytest.raises(TypeError, match=r"Did you mean 'budget'\?"):
        sm.compare([[1.0]], [0], budgt=3)


CONTROLS = "\x1b]0;owned\x07\x1b[31m\u202e\x00\x9b"


def test_controls_of_a_terminal_are_written_out(run, tmp_path):
    """In names of classes and columns, in messages, and in what is written for a browser."""
    rows = "".join(f"{k % 2 + k / 50},{('a' + CONTROLS, 'b')[k % 2] if k < 24 else ''}\n" for k in range(40))
    (tmp_path / "t.csv").write_text(f"x{CONTROLS},y\n{rows}".replace("\0", ""), "utf-8")
    result = run("compare", "t.csv", "--target", "y", "--methods", "majority")
    assert result.exit_code == 0, result.stderr
    page = (tmp_path / "t-compared" / "page.html").read_text("utf-8")
    for text in (result.stdout, result.stderr, page):
        assert not set("\x00\x07\x1b\x9b\u202e") & set(text)
    assert r"\x1b[31m" in page
    result = run("tables", f"no{CONTROLS}")
    assert not set(CONTROLS[:1]) & set(result.stderr)
    assert result.exit_code == 2
