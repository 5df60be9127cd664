"""Files that were made or damaged to harm whoever reads them: each is named in an own error, at once, in little memory.

Every file is read in a process of its own, whose memory is limited. Archives have right checksums, as from a forger.
"""

import hashlib
import multiprocessing
import os
import random
import resource
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
from forged import closed, header, npy, opened, zipped

import specmargin as sm
from specmargin.exceptions import SpecmarginError
from specmargin.proofs.files import verify_file
from specmargin.tables import compare_file, read_table
from specmargin.tables.assessment.model import load_model

MEMORY = 10**9
SECONDS = 10.0
BIG = 8 * 10**7  # numbers of 8 bytes


def bomb(n=BIG):
    return header((n,)) + bytes(8 * n)


def entry(content, shape):
    return {"dtype": "<f8", "shape": list(shape), "sha256": hashlib.sha256(content).hexdigest(), "member": "bomb.npy"}


def read_all(path, readers, answers):
    """In a child: what each reader does to a file."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + MEMORY,) * 2)
    outcomes = []
    for read in readers:
        try:
            value = read(path)
        except SpecmarginError:
            outcomes.append("own error")
        except BaseException as error:
            outcomes.append(f"{type(error).__name__}: {error}")
        else:
            outcomes.append(getattr(value, "outcome", "was read"))
    answers.send(outcomes)


def outcomes_of(path, readers):
    context = multiprocessing.get_context("fork")
    answers, sender = context.Pipe(duplex=False)
    process = context.Process(target=read_all, args=(path, readers, sender))
    started = time.monotonic()
    process.start()
    process.join(3 * SECONDS)
    hangs = process.is_alive()
    if hangs:
        process.kill()
    assert not hangs, "goes on for ever"
    assert process.exitcode == 0, f"ends the interpreter: {process.exitcode}"
    assert time.monotonic() - started < SECONDS
    return answers.recv()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return the bytes of a file of a fitted estimator, with a sparse graph in it."""
    X, truth = sm.datasets.make_two_moons(n_samples=40, random_state=0)
    path = tmp_path_factory.mktemp("model") / "it.npz"
    sm.save(sm.STORM().fit(X, sm.hide_labels(truth, per_class=4, random_state=0)), path)
    return path.read_bytes()


def shared(model):
    document, members = opened(model)
    content = bomb(10**6)
    document["arrays"] |= {f"copy {k}": entry(content, (10**6,)) for k in range(3000)}
    return closed(document, {**members, "bomb.npy": content})


def with_bomb(model, **options):
    document, members = opened(model)
    document["arrays"]["bomb"] = entry(bomb(), (BIG,))
    return closed(document, {**members, "bomb.npy": bomb()}, **options)


def text(content):
    return lambda model: zipped({"header.json": content})


ARCHIVES = {
    "an array of 640 MB": with_bomb,
    "bzip2": lambda model: with_bomb(model, method=zipfile.ZIP_BZIP2),
    "lzma": lambda model: with_bomb(model, method=zipfile.ZIP_LZMA),
    "an array of many names": shared,
    "a long header": text(b"[" + b"[]," * 10**7 + b"0]"),
    "a deep header": text(b"[" * 10**5 + b"]" * 10**5),
    "a deep header of mappings": text(b'{"a":' * 10**5),
    "a long number": text(b"9" * 10**6),
    "a long text": text(b'"' + b"a" * 10**8 + b'"'),
    "not a mapping": text(b"[1]"),
    "UTF-16": text('{"format": 1}'.encode("utf-16")),
    "another zip": lambda model: zipped({"header.json": b"[1]"}, seal=False),
    "the end missing": lambda model: model[:-100],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_that_were_made_to_harm(tmp_path, model, name):
    path = tmp_path / "it.npz"
    path.write_bytes(ARCHIVES[name](model))
    assert path.stat().st_size < 10**6
    outcomes = outcomes_of(path, (sm.load, sm.load_result, load_model, verify_file, read_table))
    assert set(outcomes) <= {"own error", "unreadable"}


NASTY = [
    *(None, -1, 10**9, 2**70, "x", [], {}, {"object": 0}, {"object": -1}, {"array": "no"}, {"tuple": 5}),
    *({"items": [1]}, {"pairs": [[[1], 2]]}, {"floats": "no"}, {"objects": [1], "shape": [10**9, 10**9]}),
    *({"enum": "results.Status", "value": 99}, {"dtype": "no"}, {"range": [0, 10**18, 1]}, {"float": "x"}, "\x1b"),
]


def places(value, at=()):
    yield at
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*at, key))


def with_value(value, at, new):
    if not at:
        return new
    if isinstance(value, dict):
        return {key: with_value(item, at[1:], new) if key == at[0] else item for key, item in value.items()}
    return [with_value(item, at[1:], new) if k == at[0] else item for k, item in enumerate(value)]


def load_and_use(path):
    estimator = sm.load(path)
    try:
        estimator.predict(np.zeros((2, 2)))
    except Exception:
        return "was read"  # whatever it says: it does not end the interpreter
    return "was read"


def test_a_range_that_nobody_can_walk_through_is_refused(tmp_path, model):
    (document, members), path = opened(model), tmp_path / "it.npz"
    at = ("objects", 0, "state", "items", "_places")
    for length, refused in ((10**18, True), (2**70, True), (10**6 + 1, True), (10**6, False)):
        path.write_bytes(
            closed({**document, "header": with_value(document["header"], at, {"range": [0, length, 1]})}, members)
        )
        if refused:
            with pytest.raises(SpecmarginError, match="use another file"):
                sm.load(path)
        else:
            assert len(sm.load(path)._places) == length


@pytest.mark.slow
def test_headers_that_were_changed_by_a_forger(tmp_path, model):
    draw, (document, members), path = random.Random(0), opened(model), tmp_path / "it.npz"
    every = list(places(document["header"]))
    for _ in range(60):
        at, new = draw.choice(every), draw.choice(NASTY)
        path.write_bytes(closed({**document, "header": with_value(document["header"], at, new)}, members))
        outcomes = outcomes_of(path, (load_and_use, verify_file))
        assert set(outcomes) <= {"own error", "unreadable", "was read"}, (at, new)


def table(X, y=None, **more):
    members = {"X": X, "y": npy(np.array([0, 1, None] * 4, dtype=float)) if y is None else y, **more}
    return zipped({f"{name}.npy": content for name, content in members.items()}, seal=False)


ROWS = npy(np.arange(24.0).reshape(12, 2))
TABLES = {
    "240 MB of zeros": lambda: table(header((10**5, 300)) + bytes(24 * 10**7)),
    "wide": lambda: table(header((1, 10**8), "|i1") + bytes(10**8)),
    "tall": lambda: table(header((10**8, 1), "|i1") + bytes(10**8)),
    "announced": lambda: table(header((2**40, 2**10))),
    "negative": lambda: table(header((-1, 2))),
    "texts of no length": lambda: table(header((10**11,), "<U0")),
    "objects": lambda: table(header((2, 2), "|O") + bytes(32)),
    "brackets": lambda: table(b"\x93NUMPY\x01\x00\x00\x20" + b"(" * 0x2000),
    "signs": lambda: table(b"\x93NUMPY\x01\x00\x00\x20" + b"-" * 0x1FFF + b"1"),
    "a late version": lambda: table(b"\x93NUMPY\x09\x00\x02\x00{}"),
    "empty": lambda: table(b""),
    "half": lambda: table(ROWS[:200]),
    "cube": lambda: table(npy(np.zeros((3, 3, 3)))),
    "complex": lambda: table(npy(np.ones((12, 2)) * 1j)),
    "no rows": lambda: table(npy(np.zeros((0, 2)))),
    "no columns": lambda: table(npy(np.zeros((12, 0)))),
    "no X": lambda: zipped({"Z.npy": ROWS}, seal=False),
    "text": lambda: b"PK\x03\x04 and nothing else",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_tables_that_were_made_to_harm(tmp_path, name):
    path = tmp_path / "it.npz"
    path.write_bytes(TABLES[name]())
    outcomes = outcomes_of(path, (read_table, lambda file: compare_file(file, "y", methods=["majority"])))
    assert set(outcomes) <= {"own error"}


def test_arrays_that_nobody_asked_for_are_not_read(tmp_path):
    path = tmp_path / "it.npz"
    path.write_bytes(table(ROWS, extra=bomb(10**7)))
    assert list(read_table(path).columns) == ["x0", "x1", "y"]
