"""The runner of the figure scripts, on scripts written for the tests."""

import json
import os
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

from reproduction.data import DataNotFoundError
from reproduction.engine.artifacts import read_data, strict_json, write_data
from reproduction.engine.progress import figure_bar
from reproduction.figure_scripts import SIZES, described, expected_seconds, figure_scripts
from reproduction.gallery import FigureError, _makespan, available_figures, run_figures
from specmargin.exceptions import SpecmarginError
from specmargin.plots.stamp import QUICK_NOTE

GOOD = '''
"""A parabola.

More about it.
"""
import os
from pathlib import Path
import numpy as np
from specmargin.plots import subplots

def compute(size, seed=0):
    log = Path(__file__).with_name("log.txt")
    log.write_text(log.read_text() + "x" if log.exists() else "x")
    x = np.linspace(-1, 1, {"quick": 5, "standard": 9, "full": 17}[size])
    return {
        "x": x, "curves": {"parabola": x**2 + seed}, "notes": ["a", None, (1, np.float64(2.5))],
        "parameters": {"power": 2, "B": np.inf}, "certificates": {"fit": 1e-12}, "results": {"top": x.max()},
        "data": {"parabola": {"kind": "formula", "sha256": None}}, "solvers": ["none"],
        "folder": os.environ.get("SPECMARGIN_DATA", ""),
    }

def draw(data):
    figure, axes = subplots(width="column")
    axes[0, 0].plot(data["x"], data["curves"]["parabola"])
    return figure
'''
BAD = '''
"""Fails."""
def compute(size, seed=0):
    raise ZeroDivisionError("on purpose")
def draw(data):
    raise AssertionError("never reached")
'''


@pytest.fixture
def scripts(tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    (folder / "good.py").write_text(textwrap.dedent(GOOD).lstrip())
    return folder


def run(scripts, *names, **options):
    settings = {"out": scripts.parent / "out", "progress": False, "formats": ("png",), "quick": True, **options}
    return run_figures(names, folder=scripts, **settings)


@pytest.fixture
def edit(scripts):
    """Return a function that changes the good script, as it was in the beginning."""
    script, whole = scripts / "good.py", (scripts / "good.py").read_text()

    def change(*pairs):
        text = whole
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new)
        script.write_text(text)

    return change


def n_computed(scripts):
    return len((scripts / "log.txt").read_text())


def test_lists_scripts_by_the_first_line_without_running_them(scripts):
    (scripts / "another.py").write_text('"""Another.\n\nText."""\nraise SystemExit\n')
    (scripts / "_helper.py").write_text('"""Not a figure."""\n')
    assert available_figures(scripts) == {"another": "Another.", "good": "A parabola."}


def test_the_packages_own_gallery_is_found():
    assert {"two_moons", "clock", "spectra", "spectrum_errors", "spectrum_path"} <= available_figures().keys()
    assert all(available_figures().values())


def test_captions_are_short_and_speak_of_no_data_set_that_may_be_replaced():
    """A picture is drawn of bundled data where others are missing, and the details say which."""
    replaced = re.compile(r"FACEMIT|CBCL|MNIST|USPS|Isolet|newsgroups|Cora|COIL")
    for name, path in figure_scripts().items():
        title, caption, details = described(path.read_text("utf-8"))
        assert 4 <= len(title.split()) <= 15, name
        assert 20 <= len(caption.split()) <= 60, name
        assert not replaced.search(title + caption), name
        assert details, name


def test_what_does_not_exist_is_named(scripts, tmp_path):
    with pytest.raises(ValueError, match=r"no figure wrong; take some of good"):
        run(scripts, "wrong")
    with pytest.raises(SpecmarginError, match="no folder of figure scripts"):
        available_figures(tmp_path / "nowhere")
    with pytest.raises(DataNotFoundError, match="no data folder"):
        run(scripts, data=tmp_path / "nowhere")


def test_writes_figure_data_and_sidecar(scripts):
    (result,) = run(scripts, seed=3, formats=("pdf", "png", "svg"))
    pictures = ["good.pdf", "good.png", "good.svg"]
    assert [path.name for path in result.paths] == pictures
    assert all(path.stat().st_size > 500 for path in result.paths)
    assert {path.name for path in (scripts.parent / "out").glob("[!.]*")} == {*pictures, "good.npz", "good.json"}
    text = result.sidecar.read_text()
    sidecar = json.loads(text, parse_constant=pytest.fail)  # NaN and Infinity are not JSON
    expected = {
        "caption": "A parabola.",
        "description": "More about it.",
        "size": "quick",
        "parameters": {"power": 2, "B": "inf"},
        "certificates": {"fit": 1e-12},
        "results": {"top": 1.0},
        "data": {"parabola": {"kind": "formula", "sha256": None}},
    }
    assert {name: sidecar[name] for name in expected} == expected
    assert (sidecar["provenance"]["seed"], sidecar["provenance"]["solver"]) == (3, "none")
    assert sidecar["seconds"].keys() == {"compute", "draw"}
    assert len(sidecar["depends"]["script"]) == 16
    assert str(scripts.parent) not in text


def test_a_quick_picture_says_so_and_no_other_does(scripts):
    quick, standard = (
        run(scripts, quick=quick, formats=("svg",))[0].paths[0].read_text("utf-8") for quick in (True, False)
    )
    assert f"<!-- {QUICK_NOTE[:20]}" in quick
    assert QUICK_NOTE[:20] not in standard
    assert "<dc:title>A parabola.</dc:title>" in standard


def test_resumes_only_what_depends_on_nothing_that_changed(scripts, edit):
    first = run(scripts)[0]
    assert not first.resumed
    picture = first.paths[0].read_bytes()
    again = run(scripts)[0]
    assert again.resumed
    assert again.seconds_compute == first.seconds_compute
    assert n_computed(scripts) == 1
    assert again.paths[0].read_bytes() == picture
    for changed in ({"seed": 1}, {"quick": False}, {"quick": False, "full": True}):
        assert not run(scripts, **changed)[0].resumed
    assert not run(scripts)[0].resumed  # the last run wrote other settings over it
    assert not run(scripts, fresh=True)[0].resumed
    edit(("power", "exponent"))
    assert not run(scripts)[0].resumed
    assert n_computed(scripts) == 7
    # What draws does not compute, and comments change nothing.
    edit(("power", "exponent"), ("axes[0, 0].plot", "axes[0, 0].step"), ("import os", "import os  # needed"))
    assert run(scripts)[0].resumed
    assert n_computed(scripts) == 7


def test_a_lost_sidecar_or_a_failed_drawing_costs_no_computation(scripts):
    result = run(scripts)[0]
    result.sidecar.unlink()
    with pytest.raises(FigureError, match="'jpeg'"):
        run(scripts, formats=("jpeg",))
    assert not result.sidecar.is_file()
    assert run(scripts)[0].resumed
    assert result.sidecar.is_file()
    assert n_computed(scripts) == 1


def test_a_truncated_data_file_is_computed_again(scripts, caplog):
    run(scripts)
    stored = scripts.parent / "out" / "good.npz"
    stored.write_bytes(stored.read_bytes()[:100])
    assert not run(scripts)[0].resumed
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_failure_stops_no_other_figure_and_fails_at_the_end(scripts, jobs):
    (scripts / "bad.py").write_text(BAD.lstrip())
    (scripts / "empty.py").write_text('"""No functions."""\n')
    with pytest.raises(FigureError, match="2 of 3 figures failed") as caught:
        run(scripts, jobs=jobs)
    assert "bad: ZeroDivisionError: on purpose" in str(caught.value)
    assert "empty.py has no compute and no draw" in str(caught.value)
    assert [result.name for result in caught.value.results] == ["bad", "empty", "good"]
    good = caught.value.results[-1]
    assert good.paths[0].is_file()
    assert not good.error
    assert "on purpose" in caught.value.results[0].trace
    assert not (scripts.parent / "out" / "bad.json").exists()


def test_the_data_folder_is_set_for_the_script_alone_and_other_data_mean_another_computation(
    scripts, tmp_path, monkeypatch
):
    monkeypatch.setenv("SPECMARGIN_DATA", "before")
    data = tmp_path / "data"
    data.mkdir()
    run(scripts, data=data)
    assert stored_data(scripts.parent / "out" / "good.npz")["folder"] == str(data.resolve())
    assert os.environ["SPECMARGIN_DATA"] == "before"
    assert run(scripts, data=data)[0].resumed
    (data / "mnist.npz").write_bytes(b"something")
    assert not run(scripts, data=data)[0].resumed


def test_warnings_of_a_script_are_kept(scripts, edit, caplog):
    edit(("    log =", "    import warnings; warnings.warn('careful'); log ="))
    (result,) = run(scripts)
    assert result.warnings == ("UserWarning: careful",)
    assert "careful" in caplog.text


def test_wrong_return_values_are_named(scripts, edit):
    edit(("return figure", "return axes"))
    with pytest.raises(FigureError, match="draw of figure 'good' returned ndarray"):
        run(scripts)
    edit(('{"power": 2', '{"power": {1, 2}'))
    with pytest.raises(FigureError, match=r"data\.parameters\.power is of type set"):
        run(scripts)


def test_stored_data_come_back_as_they_were(tmp_path):
    data = {
        "a": np.arange(6.0).reshape(2, 3),
        "nested": {
            "texts": np.array(["x", "yy"]),
            "list": [1, 2.5, None, True, {"deep": np.array([np.nan, np.inf])}],
        },
        "tiny": 1e-300,
        "third": 1 / 3,
        "scalar": np.int64(7),
        "inf": float("inf"),
    }
    path = tmp_path / "folder" / "stored.npz"
    write_data(path, data, {"depends": {"k": 1}})
    back, meta = read_data(path, {"k": 1})
    assert meta == {"depends": {"k": 1}}
    np.testing.assert_equal(back, data)
    assert type(back["nested"]["list"][3]) is bool
    assert read_data(path, {"k": 2}) is None
    assert [item.name for item in path.parent.iterdir()] == ["stored.npz"]
    with pytest.raises(TypeError, match=r"data\.bad is of type ndarray"):
        write_data(path, {"bad": np.array([object()])}, {})
    with pytest.raises(TypeError, match=r"data is of type dict"):
        write_data(path, {1: 2}, {})


def test_strict_json_has_no_nan():
    value = {"x": np.array([1.0, np.nan]), "inf": -np.inf, "path": Path("p"), "flag": np.bool_(True)}
    assert strict_json(value) == {"x": [1.0, "nan"], "inf": "-inf", "path": "p", "flag": True}


PRODUCT = '''
"""A product of matrices, whose last bits depend on the number of threads."""
import os
import numpy as np
from threadpoolctl import threadpool_info
from specmargin.plots import subplots

SECONDS = {"quick": (1, 2), "standard": (70, 700)}

def compute(size, seed=0):
    A = np.random.default_rng(seed).standard_normal((400, 400))
    threads = max(pool["num_threads"] for pool in threadpool_info())
    return {"product": A @ A.T, "process": os.getpid(), "threads": threads}

def draw(data):
    return subplots()[0]
'''


def stored_data(path):
    with np.load(path) as archive:
        depends = json.loads(str(archive["__meta__"]))["depends"]
    return read_data(path, depends)[0]


@pytest.mark.slow
def test_results_do_not_depend_on_the_number_of_processes(scripts):
    names = ("one", "two", "three")
    for name in names:
        (scripts / f"{name}.py").write_text(PRODUCT.lstrip())
    stored = {}
    for jobs in (1, 2, -1):
        out = scripts.parent / str(jobs)
        run(scripts, *names, jobs=jobs, out=out)
        stored[jobs] = [stored_data(out / f"{name}.npz") for name in names]
    assert {data["threads"] for each in stored.values() for data in each} == {1}
    assert {data["process"] for data in stored[1]} == {os.getpid()}
    assert os.getpid() not in {data["process"] for data in stored[2]}
    for each in zip(*stored.values(), strict=True):
        np.testing.assert_array_equal(each[0]["product"], each[1]["product"])
        np.testing.assert_array_equal(each[0]["product"], each[2]["product"])


def test_sizes_and_jobs_are_checked(scripts):
    with pytest.raises(ValueError, match="quick and full exclude each other"):
        run(scripts, full=True)
    with pytest.raises(ValueError, match="jobs=0"):
        run(scripts, jobs=0)
    (scripts / "old.py").write_text('"""Old."""\ndef compute(quick, seed=0): ...\ndef draw(data): ...\n')
    with pytest.raises(FigureError, match=r"compute of old.py takes 'quick' first; make that the size"):
        run(scripts, "old")


def test_the_longest_figure_starts_first(scripts):
    started = scripts.parent / "started.txt"
    code = "SECONDS = {{'quick': ({0}, {0})}}\n\ndef compute(size, seed=0): open({1!r}, 'a').write({2!r})\n\n"
    code += "def draw(data): ..."
    for name, seconds in {"a": 1, "b": 5, "c": 5}.items():
        (scripts / f"{name}.py").write_text(code.format(seconds, str(started), name))
    with pytest.raises(FigureError):
        run(scripts, "a", "b", "c")
    assert started.read_text() == "bca"
    assert _makespan([5.0, 3.0, 2.0, 1.0], 2) == 6.0
    assert _makespan([5.0, 3.0, 2.0, 1.0], 1) == 11.0
    assert _makespan([], 3) == 0.0


def test_a_script_says_how_long_it_takes_without_being_run():
    source = "raise SystemExit\nSECONDS = {'quick': (1, 2), 'full': (60, 600)}\n"
    assert expected_seconds(source, "quick", real=False) == 1.0
    assert expected_seconds(source, "full", real=True) == 600.0
    assert expected_seconds(source, "standard", real=True) is None
    assert expected_seconds("x = 1", "quick", real=True) is None


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("real", [False, True])
def test_every_figure_of_the_package_says_how_long_it_takes(size, real):
    scripts = figure_scripts()
    assert scripts.keys() == {path.stem for path in (Path(__file__).parents[2] / "figures").glob("[!_]*.py")}
    seconds = [expected_seconds(path.read_text(encoding="utf-8"), size, real) for path in scripts.values()]
    assert None not in seconds
    most = {"quick": 60, "standard": 205}.get(size)  # four minutes with the set-up, and room for a figure or two
    assert most is None or _makespan(sorted(seconds, reverse=True), 2) <= most


def test_expected_time_is_announced_before_the_start(scripts, capsys, monkeypatch):
    monkeypatch.delenv("SPECMARGIN_DATA", raising=False)
    monkeypatch.setattr("reproduction.data.available", lambda: {"digits": "bundled"})
    run(scripts, progress=True)
    assert capsys.readouterr().err.startswith("1 figure, quick size, 1 process.\n")
    run(scripts)
    assert capsys.readouterr().err == ""
    (scripts / "product.py").write_text(PRODUCT.lstrip())
    for expected in ("73 s", "4 s"):  # the second time it will be drawn again, no more
        run(scripts, "product", progress=True, quick=False)
        shown = capsys.readouterr().err
        assert shown.startswith(f"1 figure, standard size: about {expected} in 1 process.\n")


def test_progress_counts_figures(capsys):
    with figure_bar(2, "two figures, about 2 minutes") as report:
        for name in ("one", "two"):
            for stage in ("computing", "drawing", "done"):
                report(name, stage)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("two figures, about 2 minutes\n")
    assert "2/2" in shown.err


@pytest.mark.slow
def test_the_papers_figures_show_what_the_papers_say(tmp_path, monkeypatch):
    """Quick, on generated and bundled data: the suite must pass without the real ones."""
    monkeypatch.delenv("SPECMARGIN_DATA", raising=False)
    names = ["two_moons", "clock", "spectra"]
    results = run_figures(names, quick=True, out=tmp_path, progress=False, formats=("png",))
    moons, clock, spectra = (json.loads(result.sidecar.read_text()) for result in results)
    key = "error on unlabelled points, percent"
    errors = moons["results"][key]
    assert errors["gamma_I=1"] == 0 < errors["gamma_I=0.01"] <= errors["gamma_I=0"]
    errors = clock["results"][key]
    assert errors["LapSVM"] == 0
    assert errors["SVM"] > 30
    for sidecar in (moons, clock):
        assert max(sidecar["certificates"]["relative gap"].values()) < 1e-6
    shown = spectra["results"]["draw shown"]
    assert len(shown) == 2
    for row in shown.values():
        assert row["KTA"]["order violations"] == row["STORM"]["order violations"] == 0
        assert row["MKL-R"]["order violations"] > 2
    assert spectra["results"]["claims"]["KTA is steeper than STORM, by the effective number"] == list(shown)
    for row in spectra["certificates"]["relative gap, per draw"].values():
        assert max(max(gaps) for gaps in row.values()) < 1e-5
