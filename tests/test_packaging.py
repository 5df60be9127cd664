"""The repository as a package: one version, a whole wheel, nothing of one machine in it."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import cvxproof
import specmargin

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Written in halves, so that this file does not contain what it forbids.
FORBIDDEN = {
    "package-index host": re.compile("|".join(["pypi" + r"\.", "python" + r"hosted\."])),
    "package-index setting": re.compile("|".join(["index" + "-url", "find" + "-links", "trusted" + "-host"])),
    "home directory": re.compile(r"(?<![\w.])(/ho" + r"me/\w|/Us" + r"ers/\w|[A-Z]:\\Us" + "ers)"),
}


def source_files() -> list[Path]:
    """List the files that git tracks or would track, or the whole tree where there is no git."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        paths = [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        skipped = {".git", ".hypothesis", ".venv", "__pycache__", "build", "dist", "output", "results"}
        paths = [p for p in ROOT.rglob("*") if not skipped & set(p.relative_to(ROOT).parts)]
        paths = [p for p in paths if not any(part.endswith("_cache") for part in p.parts)]
    return [path for path in paths if path.is_file()]


def traces(text: str) -> Iterator[str]:
    """Yield what in `text` belongs to one machine and not to a repository."""
    for what, pattern in FORBIDDEN.items():
        if found := pattern.search(text):
            yield f"{what}: {found[0]!r}"
    for what, place in (("this checkout", ROOT), ("this user's home", Path.home())):
        # "/" and "/root" alone are words of other meanings, unless a path goes on behind them.
        if len(place.parts) > 1 and re.search(rf"(?<![\w.]){re.escape(str(place))}/", text):
            yield f"absolute path of {what}: '{place}'"


def test_no_traces_of_a_machine() -> None:
    files = source_files()
    assert ROOT / "specmargin" / "results.py" in files
    found = {}
    for path in files:
        content = path.read_bytes()
        if b"\0" in content:
            continue  # a picture or an archive
        if listed := list(traces(content.decode("utf-8"))):
            found[str(path.relative_to(ROOT))] = listed
    assert found == {}


@pytest.mark.parametrize(
    "text",
    [
        "see https://pypi" + ".org/simple",
        "--extra-index" + "-url x",
        "pip --find" + "-links wheels",
        "open('/ho" + "me/someone/data')",
        f"{ROOT}/pyproject.toml",
        f"{Path.home()}/.cache",
    ],
)
def test_traces_are_noticed(text: str) -> None:
    assert list(traces(text))


def pinned(lock: str) -> set[str]:
    """Return the names that a lock file pins, each with checksums; all of its lines must."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    entries = [line for line in text.replace("\\\n", "").splitlines() if line and not line.lstrip().startswith("#")]
    entry = r"[a-z0-9-]+(\[[a-z0-9,-]+\])?==[^\s;]+( ; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+$"
    assert [line for line in entries if not re.match(entry, line)] == []
    return {line.split("==")[0].split("[")[0] for line in entries}


def names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", line)[0].lower().replace("_", "-") for line in requirements}


def test_locks_pin_every_dependency_and_name_no_place() -> None:
    project, groups = PYPROJECT["project"], PYPROJECT["dependency-groups"]
    extras = dict(project["optional-dependencies"])
    # What tests do not need, and some machines cannot build, is installed by `make bench` alone.
    rivals = names([*extras.pop("large"), *groups["bench"]])
    del extras["parquet"]  # 50 MB for one kind of file: the tests see the message that asks for it
    asked = [
        *project["dependencies"],
        *groups["reproduction"],
        *groups["dev"][1:],
        *(line for extra in extras.values() for line in extra),
    ]
    assert names(asked) - pinned("requirements/main.lock") == set(), "run make lock"
    assert rivals - pinned("requirements/bench.lock") == set(), "run make lock"
    for group in ("mutation", "race", "docs"):
        assert names(groups[group]) - pinned(f"requirements/{group}.lock") == set(), "run make lock"


def test_lock_installs_without_a_compiler() -> None:
    """ECOS has no wheels for Python 3.13: there the lock must not list it."""
    lock = (ROOT / "requirements" / "main.lock").read_text(encoding="utf-8")
    (line,) = re.findall(r"^ecos==.*$", lock, re.MULTILINE)
    assert re.search(r"; python_(full_)?version < '3\.13'", line), line


def test_one_version_everywhere() -> None:
    version = specmargin.__version__  # which the build reads
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "specmargin/__init__.py"
    assert importlib.metadata.version("specmargin") == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(rf"^## .*\b{re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)


def test_picture_of_the_readme_is_small_and_wide_enough() -> None:
    picture = (ROOT / "docs" / "two_labels.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 200_000
    assert int.from_bytes(picture[16:20], "big") >= 480  # pixels across
    assert (ROOT / "figures" / "two_labels.py").is_file()


def test_release_workflow_builds_what_a_tag_names_and_pins_its_actions() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    assert 'tags: ["v*"]' in workflow
    assert "bash tests/wheel.sh" in workflow
    assert 'test "$GITHUB_REF_NAME" = "v$version"' in workflow
    used = re.findall(r"uses: \S+@(\S+)", workflow)
    assert used
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in used)


def test_release_workflow_gives_the_right_to_write_to_no_job_that_runs_code_of_others() -> None:
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")
    head, *jobs = re.split(r"^  (?=\w+:$)", text.partition("\njobs:\n")[2], flags=re.MULTILINE)
    assert head == ""
    assert "\npermissions: {}\n" in text
    named = {job.partition(":")[0]: job for job in jobs}
    assert list(named) == ["test", "build", "publish"]
    assert [name for name, job in named.items() if "write" in job] == ["publish"]
    assert not any(word in named["publish"] for word in ("checkout", "make ", "python", "pip"))
    assert "needs: [test, build]" in named["publish"]
    assert "attest-build-provenance" in named["publish"]


def test_every_installation_from_a_lock_checks_its_files() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installed = [line for line in makefile.splitlines() if "--requirement" in line]
    assert installed
    assert all("--require-hashes" in line for line in installed), installed
    assert "--generate-hashes" in makefile


def test_workflow_runs_the_two_commands_of_the_readme_and_pins_its_actions() -> None:
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command, whole in (("make figures", "make figures"), ("make test", "make test-all")):
        assert re.search(rf"^ *(- )?run: {whole}$", workflow, re.MULTILINE), whole
        assert re.search(rf"^{command}\b", readme, re.MULTILINE), command
    actions = re.findall(r"uses: (.*)", workflow)
    assert len(actions) >= 2
    assert [action for action in actions if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+(\.\d+)*", action)] == []
    least = PYPROJECT["project"]["requires-python"].removeprefix(">=")
    assert f'python: ["{least}", ' in workflow
    assert "secrets" not in re.sub(r"#.*", "", workflow)


def test_hooks_are_the_checks_that_make_test_begins_with() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.split('"== lint"')[1].split('"== tests"')[0]
    linted = set(re.findall(r"\$\(BIN\)/([\w-]+(?: check| format)?)", recipe))
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    hooked = set(re.findall(r"entry: \.venv/bin/([\w-]+(?: check| format)?)", hooks))
    assert linted == hooked


def test_makefile_has_ten_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {"setup", "test", "test-all", "figures", "tables", "docs", "bench", "lock", "format", "clean"}
    assert set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE)) == targets


def test_failures_of_repo_review_are_named_with_a_reason() -> None:
    ignored = PYPROJECT["tool"]["repo-review"]["ignore"]
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for check, reason in ignored.items():
        assert re.fullmatch(r"[A-Z]+\d{3}", check)
        assert len(reason.split()) > 3, check
        assert re.search(rf"\b{check}\b", page), f"CONTRIBUTING.md does not name {check}"


def test_wheel_is_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())

    def tree(folder: str, pattern: str) -> set[str]:
        return {str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob(pattern)}

    assert tree("specmargin", "*.py") | tree("cvxproof", "*.py") <= held
    assert tree("specmargin", "*.toml") | tree("specmargin", "*.mplstyle") <= held
    assert {"specmargin/py.typed", "cvxproof/py.typed"} | tree("specmargin", "*.pyi") | tree(
        "specmargin", "*.html"
    ) <= held

    tops = {name.split("/")[0] for name in held}
    assert tops == {"cvxproof", "specmargin", f"specmargin-{specmargin.__version__}.dist-info"}
    assert any(name.endswith("licenses/LICENSE") for name in held)


def test_sdist_holds_all_that_pages_and_tests_name(tmp_path: Path) -> None:
    """Pages link to records, figures and benchmarks, and the sdist's own tests follow the links."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as held:
        names = {name.partition("/")[2] for name in held.getnames()}

    folders = [
        "cvxproof",
        "specmargin",
        "reproduction",
        "tests",
        "figures",
        "docs",
        "notebooks",
        "benchmarks",
        "results/recorded",
    ]
    for folder in folders:
        assert any(name.startswith(f"{folder}/") for name in names), folder
    if not (ROOT / ".git").exists():
        return  # in an unpacked sdist the tree is compared with itself, and with what its tests leave
    # Hooks of a checkout, and what describes it to a forge or an editor.
    spared = {".ci", ".editorconfig", ".gitattributes"}
    files = {path.relative_to(ROOT).as_posix() for path in source_files()}
    assert {name for name in files - names if name.split("/")[0] not in spared} == set()


def test_cvxproof_alone_is_the_one_in_the_wheel() -> None:
    assert cvxproof.__version__ == specmargin.__version__
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    alone = tomllib.loads((ROOT / "cvxproof" / "pyproject.toml").read_text())["project"]
    assert set(alone["dependencies"]) <= set(whole["dependencies"])
    assert alone["requires-python"] == whole["requires-python"]
