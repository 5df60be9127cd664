"""Reproduced next to published: lines, the word "optimistic", footers, files."""

from toy_rows import ERRORS, rows_of

from reproduction.run import Experiment, Findings, Options, Setup, footer, run_experiment


def test_footer_tells_of_failures_gaps_versions_and_command(tmp_path):
    rows = rows_of(tmp_path, provenance={"versions": {"numpy": "9.9", "ecos": None}, "git": None, "platform": "P"})
    rows[0] |= {"status": "failed", "error": "ValueError: x", "warnings": "w"}
    lines = footer(rows, tmp_path / "sweep", "python -m reproduction tables t")
    assert lines[0].startswith("cells: 4, failed: 1, e.g. ValueError: x, with warnings: 1, ")
    assert lines[1] == "worst relative gap of a certificate: -1.0e-07"
    assert lines[2] == "versions: numpy 9.9; P"
    assert lines[3:] == ["command: python -m reproduction tables t"]


def test_footer_tells_of_mixed_versions(tmp_path):
    one, two = (
        {"versions": {"specmargin": v}, "git": {"commit": v * 40, "dirty": v == "2"}, "platform": "P"} for v in "12"
    )
    rows_of(tmp_path, provenance=one, errors={"s0": ERRORS["s0"]})
    lines = footer(rows_of(tmp_path, provenance=two), tmp_path / "sweep", "c")
    assert "different versions" in lines[2]
    assert lines[3] == "versions: specmargin 1, commit 111111111111; P"
    assert lines[4] == "versions: specmargin 2, commit 222222222222 and uncommitted changes; P"


def test_run_passes_options_and_writes_files(tmp_path):
    got = []

    def build(options):
        got.append(options)
        return Setup(None, ())

    def nothing(*_):
        return []

    toy = Experiment("toy", "A toy", "Toy", build, nothing, lambda *_: Findings([]), nothing)
    run_experiment(toy, quick=True, data=tmp_path, out=tmp_path / "out", jobs=3, fresh=True)
    run_experiment(toy, out=tmp_path / "out", retry_failed=True, progress=False)
    assert [options.folder.name for options in got] == ["toy-quick", "toy"]
    assert got[0].folder.parent == tmp_path / "out" / "sweeps"
    first = got[0]
    assert (first.quick, first.data, first.jobs, first.fresh, first.retry_failed) == (True, tmp_path, 3, True, False)
    assert (got[1].fresh, got[1].retry_failed, got[1].progress) == (False, True, False)
    written = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    assert written == {f"{name}.{ending}" for name in ("toy", "toy-quick") for ending in ("txt", "csv", "md", "json")}


def test_long_choices_make_a_name_that_file_systems_take(tmp_path):
    short = Options(tmp_path, choices={"sets": "g50c"})
    assert short.suffix == "-sets=g50c"
    long = [Options(tmp_path, True, choices={"sets": ",".join(f"set {k}" for k in range(n))}) for n in (60, 61)]
    assert all(len(each.suffix) < 120 and each.suffix.endswith("-quick") for each in long)
    assert long[0].suffix != long[1].suffix
