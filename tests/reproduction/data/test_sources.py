"""Downloads and conversions, with local files in the place of the network."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import http.server
import io
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reproduction import data as datasets
from reproduction.data import DataNotFoundError, conversions, sources
from specmargin.exceptions import SpecmarginError

Files = dict[str, bytes]
Install = Callable[..., "Network"]
pytestmark = pytest.mark.usefixtures("empty_cache")


def idx(array: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, array.ndim]) + b"".join(size.to_bytes(4, "big") for size in array.shape)
    return gzip.compress(header + array.astype(np.uint8).tobytes(), mtime=0)  # the clock has no place in a test's name


@pytest.fixture
def mnist_files(rng: np.random.Generator) -> Files:
    train, test = rng.integers(0, 256, (12, 28, 28)), rng.integers(0, 256, (5, 28, 28))
    return {
        "train-images-idx3-ubyte.gz": idx(train),
        "train-labels-idx1-ubyte.gz": idx(np.arange(12) % 10),
        "t10k-images-idx3-ubyte.gz": idx(test),
        "t10k-labels-idx1-ubyte.gz": idx(np.array([9, 8, 7, 6, 5])),
    }


class Network:
    """Stand-in for pooch's downloader: serves files by name, fails for dead hosts, remembers what was asked."""

    def __init__(self, files: Files, dead: tuple[str, ...] = ()) -> None:
        self.files, self.dead, self.asked = files, dead, []

    def __call__(self, url: str, target: str, _: object) -> None:
        self.asked.append(url)
        name = url.rsplit("/", 1)[-1]
        if url.startswith(self.dead) or name not in self.files:
            raise ConnectionError(f"no route to {url}")
        Path(target).write_bytes(self.files[name])


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Serve made files, which have other hashes than the published ones."""
    for name, bases in sources.SOURCES.items():
        monkeypatch.setitem(sources.SOURCES, name, {base: dict.fromkeys(files) for base, files in bases.items()})

    def install(files: Files, dead: tuple[str, ...] = ()) -> Network:
        fake = Network(files, dead)
        monkeypatch.setattr(sources, "_download", fake)
        return fake

    return install


def test_mnist_is_downloaded_once(
    empty_cache: Path, network: Install, mnist_files: Files, rng: np.random.Generator
) -> None:
    fake = network(mnist_files)
    data = datasets.load("mnist")
    rng = np.random.default_rng(20090412)  # as the fixture drew
    images = [rng.integers(0, 256, (12, 28, 28)), rng.integers(0, 256, (5, 28, 28))]
    np.testing.assert_array_equal(data.X, np.concatenate(images).reshape(17, 784))
    np.testing.assert_array_equal(data.y, [*(np.arange(12) % 10), 9, 8, 7, 6, 5])
    assert data.X.dtype == np.uint8
    assert data.extras["n_train"] == 12
    assert data.sha256 == hashlib.sha256((empty_cache / "mnist.npz").read_bytes()).hexdigest()
    assert len(fake.asked) == 4
    again = datasets.load("mnist", download=False)
    np.testing.assert_array_equal(again.X, data.X)
    assert len(fake.asked) == 4
    # Nothing but the archive and its record is left behind.
    assert sorted(path.name for path in empty_cache.iterdir()) == ["mnist.npz", "mnist.npz.sha256"]


def test_download_goes_to_the_named_folder(
    tmp_path: Path, empty_cache: Path, network: Install, mnist_files: Files
) -> None:
    network(mnist_files)
    home = tmp_path / "made" / "on demand"
    assert datasets.load("mnist", data_home=home).source == str(home / "mnist.npz")
    assert not empty_cache.exists()


def test_second_mirror(network: Install, mnist_files: Files) -> None:
    first, second = sources.SOURCES["mnist"]
    fake = network(mnist_files, dead=(first,))
    assert datasets.load("mnist").X.shape == (17, 784)
    assert fake.asked[0].startswith(first)
    assert fake.asked[-1].startswith(second)


@pytest.mark.parametrize("name", ["mnist", "usps"])
def test_no_network(empty_cache: Path, network: Install, name: str) -> None:
    fake = network({})
    with pytest.raises(DataNotFoundError) as caught:
        datasets.load(name)
    text = str(caught.value)
    assert f"{name}.npz" in text
    assert str(empty_cache) in text
    assert "ConnectionError" in text
    assert "X (n, d)" in text
    for url in fake.asked:
        assert url.rsplit("/", 1)[0] in text
    assert len(fake.asked) == 2
    assert list(empty_cache.iterdir()) == []


def test_without_pooch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(DataNotFoundError, match=r"pip install pooch"):
        datasets.load("mnist")


def test_folder_that_cannot_be_made(tmp_path: Path, network: Install, mnist_files: Files) -> None:
    network(mnist_files)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataNotFoundError, match="download failed"):
        datasets.load("mnist", data_home=tmp_path / "file")


def test_damaged_conversion_is_noticed(empty_cache: Path, network: Install, mnist_files: Files) -> None:
    network(mnist_files)
    datasets.load("mnist")
    path, record = empty_cache / "mnist.npz", empty_cache / "mnist.npz.sha256"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(SpecmarginError) as caught:
        datasets.load("mnist")
    assert record.read_text().strip() in str(caught.value)
    assert hashlib.sha256(path.read_bytes()).hexdigest() in str(caught.value)
    assert "load again" in str(caught.value)


def test_failing_write_leaves_nothing(
    empty_cache: Path, network: Install, mnist_files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    network(mnist_files)
    monkeypatch.setattr(np, "savez_compressed", full_disk)
    with pytest.raises(DataNotFoundError, match="No space left"):
        datasets.load("mnist")
    assert list(empty_cache.iterdir()) == []


@pytest.mark.parametrize("name", ["train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz"])
@pytest.mark.parametrize(
    "content",
    [b"<html>gone</html>", b"", idx(np.zeros(3)), idx(np.zeros((12, 2)))[:-9]],
    ids=["page", "nothing", "short", "cut off"],
)
def test_nonsense_from_a_mirror(network: Install, mnist_files: Files, name: str, content: bytes) -> None:
    network({**mnist_files, name: content})
    with pytest.raises(DataNotFoundError, match="download failed"):
        datasets.load("mnist")


def test_usps_from_both_formats(
    empty_cache: Path, network: Install, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversions, "USPS_SIZES", (7, 4))
    X = np.round(rng.uniform(-1, 1, (11, 256)), 3)
    X[X > 0.9] = 0.0  # LIBSVM's format leaves zeros out
    y = rng.permutation(11) % 10

    def text(rows: range) -> bytes:
        lines = [f"{y[i]:.4f} " + " ".join(f"{v:.4f}" for v in X[i]) for i in rows]
        return gzip.compress(("\n".join(lines) + "\n").encode())

    def svmlight(rows: range) -> bytes:
        lines = [f"{y[i] + 1} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(X[i]) if v) for i in rows]
        return bz2.compress(("\n".join(lines) + "\n").encode())

    first, second = sources.SOURCES["usps"]
    files = {
        "zip.train.gz": text(range(7)),
        "zip.test.gz": text(range(7, 11)),
        "usps.bz2": svmlight(range(7)),
        "usps.t.bz2": svmlight(range(7, 11)),
    }
    network(files, dead=(second,))
    with pytest.raises(DataNotFoundError, match="hold other images than the published archive"):
        datasets.load("usps")
    content = X.astype(np.float32).tobytes() + y.astype(np.int16).tobytes()
    monkeypatch.setattr(conversions, "USPS_CONTENT", hashlib.sha256(content).hexdigest())
    for dead, used in ((second, first), (first, second)):
        fake = network(files, dead=(dead,))
        data = datasets.load("usps")
        np.testing.assert_allclose(data.X, X, atol=1e-7)
        np.testing.assert_array_equal(data.y, y)
        assert data.extras["n_train"] == 7
        assert data.extras["image_shape"] == (16, 16)
        assert fake.asked[-1].startswith(used)
        (empty_cache / "usps.npz").unlink()
    monkeypatch.setattr(conversions, "USPS_SIZES", (8, 3))
    with pytest.raises(DataNotFoundError, match="hold 7 and 4 images of 256 pixels"):
        datasets.load("usps")


def compressed(content: bytes, most: int = 16, clear_at: int = 0) -> bytes:
    """Write the format of compress: LZW, codes by eights; the table is cleared once after so many codes."""
    out, pending, n_bits = bytearray([0x1F, 0x9D, 0x80 | most]), 0, 0
    table = {bytes([k]): k for k in range(256)}
    width, in_group, free, n_codes = 9, 0, 257, 0

    def pad() -> None:
        nonlocal pending, n_bits, in_group
        if in_group:
            out.extend(pending.to_bytes(width, "little"))
        pending, n_bits, in_group = 0, 0, 0

    def put(code: int) -> None:
        nonlocal pending, n_bits, in_group
        pending |= code << n_bits
        n_bits += width
        in_group += 1
        if in_group == 8:
            pad()

    word = b""
    for byte in content:
        longer = word + bytes([byte])
        if longer in table:
            word = longer
            continue
        put(table[word])
        n_codes += 1
        if free > (1 << width) - 1 and width < most:
            pad()
            width += 1
        if n_codes == clear_at:
            put(256)
            pad()
            table = {bytes([k]): k for k in range(256)}
            width, free = 9, 257
        elif free < 1 << most:
            table[longer] = free
            free += 1
        word = bytes([byte])
    if word:
        put(table[word])
    if in_group:
        out.extend(pending.to_bytes(-(-n_bits // 8), "little"))
    return bytes(out)


@pytest.mark.parametrize(("most", "clear_at"), [(16, 0), (16, 2000), (16, 100), (12, 0), (10, 700)])
def test_uncompress(rng: np.random.Generator, most: int, clear_at: int) -> None:
    content = b", ".join(b"%.4f" % value for value in np.round(rng.uniform(-1, 1, 3000), 1)) + b"aaaaaaaa"
    packed = compressed(content, most, clear_at)
    assert len(packed) < len(content)
    assert conversions.uncompress(packed) == content
    if gzip_program := shutil.which("gzip"):  # reads the format, too
        assert subprocess.run([gzip_program, "-dc"], input=packed, capture_output=True, check=True).stdout == content


@pytest.fixture
def isolet(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, Files]:
    """Two files of 31 and 2 speakers, who say two letters twice, but for one utterance that is lost."""
    monkeypatch.setattr(conversions, "ISOLET_SPEAKERS", (31, 2))
    letters = np.repeat([1, 26], 2)
    y = np.delete(np.tile(letters, 33), 4 * 4)  # speaker 5 says A once
    X = np.round(rng.uniform(-1, 1, (len(y), 617)), 1)

    def text(rows: slice) -> bytes:
        lines = [
            ", ".join(f"{v:.1f}" for v in row) + f", {letter}." for row, letter in zip(X[rows], y[rows], strict=True)
        ]
        return ("\n".join(lines) + "\n").encode()

    cut = 31 * 4 - 1
    files = dict(zip(sources.LOCAL_FILES["isolet"], (text(slice(cut)), text(slice(cut, None))), strict=True))
    return np.column_stack([X, y]), files


@pytest.mark.parametrize("form", ["downloaded", "files", "compressed files"])
def test_isolet(tmp_path: Path, network: Install, isolet: tuple[np.ndarray, Files], form: str) -> None:
    table, files = isolet
    packed = {f"{name}.Z": compressed(content) for name, content in files.items()}
    fake = network(packed if form == "downloaded" else {})
    home = tmp_path / "home"
    home.mkdir()
    if form != "downloaded":
        for name, content in (files if form == "files" else packed).items():
            (home / name).write_bytes(content)
    data = datasets.load("isolet", data_home=home)
    np.testing.assert_allclose(data.X, table[:, :-1], atol=1e-7)
    np.testing.assert_array_equal(data.y, table[:, -1] - 1)
    assert data.extras["n_train"] == 123
    counts = np.bincount(data.extras["speaker"])
    assert counts.tolist() == [0, 4, 4, 4, 4, 3, *[4] * 28]
    np.testing.assert_array_equal(data.extras["group"], np.where(data.extras["speaker"] <= 30, 1, 2))
    assert len(fake.asked) == (2 if form == "downloaded" else 0)


def test_isolet_of_other_sizes(
    network: Install, isolet: tuple[np.ndarray, Files], monkeypatch: pytest.MonkeyPatch
) -> None:
    network({f"{name}.Z": compressed(content) for name, content in isolet[1].items()})
    monkeypatch.setattr(conversions, "ISOLET_SPEAKERS", (120, 30))
    with pytest.raises(DataNotFoundError, match="hold 31 and 2 speakers, 617 features up to 1 and letters 1 to 26"):
        datasets.load("isolet")


def faces_files(X: np.ndarray, y: np.ndarray, cut: int, n_announced: int | None = None) -> Files:
    files = {}
    for name, rows in zip(sources.LOCAL_FILES["cbcl_faces"], (slice(cut), slice(cut, None)), strict=True):
        lines = [" ".join(f"{v:.6f}" for v in row) + f" {label}" for row, label in zip(X[rows], y[rows], strict=True)]
        files[name] = "\n".join([str(n_announced or len(lines)), str(X.shape[1]), *lines, ""]).encode()
    return files


def tarred(files: Files) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(f"faces/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def test_faces(tmp_path: Path, network: Install, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversions, "FACES_SIZES", (5, 4))
    X, y = np.round(rng.uniform(0, 1, (9, 361)), 6), np.array([1, 1, -1, -1, -1, 1, -1, -1, 1])
    files = faces_files(X, y, 5)
    fake = network({"faces.tar.gz": tarred(files)})
    home = tmp_path / "home"
    home.mkdir()
    for name, content in files.items():
        (home / name).write_bytes(content)
    for place, asked in ((home, 0), (None, 1)):
        data = datasets.load("cbcl_faces", data_home=place)
        np.testing.assert_allclose(data.X, X, atol=1e-7)
        np.testing.assert_array_equal(data.y, y > 0)
        assert data.extras["n_train"] == 5
        assert data.extras["image_shape"] == (19, 19)
        assert len(fake.asked) == asked


def test_faces_refused(network: Install, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rng.uniform(0, 1, (9, 361)), np.repeat([1, -1], [5, 4])
    served = {
        "hold 5 and 4 images of 361 pixels from 0": tarred(faces_files(X, y, 5)),
        "pixels from -?[0-9.]+ to 2, labels -1 to 1": tarred(faces_files(2.0 * (X > 0.5), y, 5)),
        r"announces a table of \(7, 362\), but holds \(5, 362\)": tarred(faces_files(X, y, 5, 7)),
        "holds no file svm.train.normgrey": tarred({}),
        "not an archive of tar": b"<html>gone</html>",
    }
    for text, content in served.items():
        network({"faces.tar.gz": content})
        with pytest.raises(DataNotFoundError, match=text):
            datasets.load("cbcl_faces")


def message(sender: str, subject: str, body: str) -> str:
    return f"From: {sender}\nSubject: {subject}\nOrganization: Acme secret\n\n{body}"


def test_newsgroups_conversion(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["rec.sport.baseball", "rec.sport.hockey"]
    parts = {
        "train": ([1, 0, 0], [20, 9, 100], ["puck ice", "ball bat", "ball ice"]),
        "test": ([1, 1], [3, 2], ["puck puck", "ice puck"]),
    }

    def fake(*, data_home: Path, subset: str, shuffle: bool) -> SimpleNamespace:
        assert not shuffle
        target, number, bodies = parts[subset]
        return SimpleNamespace(
            data=[message("x", "y", body) for body in bodies],
            target=np.array(target),
            filenames=np.array([f"{data_home}/{names[t]}/{i}" for t, i in zip(target, number, strict=True)]),
            target_names=names,
        )

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", fake)
    data = datasets.load("20news")
    assert data.extras["vocab"].tolist() == [b"ball", b"ice", b"puck"]
    # Within train and test by class, then by the number of the message.
    assert data.extras["doc_id"].tolist() == [9, 100, 20, 2, 3]
    assert data.y.tolist() == [0, 0, 1, 1, 1]
    assert data.X.toarray().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1], [0, 0, 2]]
    assert data.extras["n_train"] == 3
    assert data.extras["class_names"] == tuple(names)
    X, y = datasets.newsgroups_pair("baseball-hockey", n=None)
    assert X.shape == (5, 3)
    assert y.sum() == 3


def test_newsgroups_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(**kwargs: object) -> None:
        raise OSError("name resolution failed")

    monkeypatch.setattr("sklearn.datasets.fetch_20newsgroups", offline)
    with pytest.raises(DataNotFoundError, match="name resolution failed"):
        datasets.load("20news")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A web server on this computer; yields its address and its folder."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))

        def log_message(self, *args: object) -> None:
            pass

    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(variable, "127.0.0.1")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/", folder
        running.shutdown()
        thread.join()


def test_pooch_itself(
    server: tuple[str, Path], empty_cache: Path, mnist_files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, folder = server
    for name, content in mnist_files.items():
        (folder / name).write_bytes(content)
    md5 = {name: f"md5:{hashlib.md5(content).hexdigest()}" for name, content in mnist_files.items()}
    monkeypatch.setitem(sources.SOURCES, "mnist", {f"{address}absent/": md5, address: md5})
    assert datasets.load("mnist").X.shape == (17, 784)
    (empty_cache / "mnist.npz").unlink()
    # A mirror that serves something else is refused by the hash.
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(idx(np.array([1, 1, 1, 1, 1])))
    with pytest.raises(DataNotFoundError, match="does not match the known hash"):
        datasets.load("mnist")
    assert not (empty_cache / "mnist.npz").exists()


def test_an_address_that_leaves_https_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Answer:
        history = (SimpleNamespace(url="https://host.example/a"),)
        url = "http://host.example/b"

        def __enter__(self) -> Answer:
            return self

        def __exit__(self, *args: object) -> None: ...

        def raise_for_status(self) -> None: ...

        def iter_content(self, size: int) -> Iterator[bytes]:
            yield b"x" * 10

    monkeypatch.setattr("requests.get", lambda url, **keywords: Answer())
    with pytest.raises(ValueError, match=r"leads to http://host.example/b, which is not https"):
        sources.retrieve("https://host.example/", {"a": None}, tmp_path)
    monkeypatch.setattr(Answer, "url", "https://host.example/b")
    (path,) = sources.retrieve("https://host.example/", {"a": None}, tmp_path)
    assert path.read_bytes() == b"x" * 10
    monkeypatch.setattr(sources, "MOST_BYTES", 9)
    with pytest.raises(ValueError, match="sends more than 9 bytes"):
        sources.retrieve("https://host.example/", {"c": None}, tmp_path)
    assert not (tmp_path / "c").exists()


def test_every_source_is_https() -> None:
    for bases in sources.SOURCES.values():
        for address in bases:
            assert address.startswith("https://")


def test_members_of_the_tar_are_bounded(network: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "MOST_BYTES", 1000)
    network({"faces.tar.gz": tarred(dict.fromkeys(sources.LOCAL_FILES["cbcl_faces"], b"0" * 1001))})
    with pytest.raises(DataNotFoundError, match="announced with 1001 bytes, more than 1000"):
        datasets.load("cbcl_faces")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        link = tarfile.TarInfo(f"faces/{sources.LOCAL_FILES['cbcl_faces'][0]}")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    network({"faces.tar.gz": buffer.getvalue()})
    with pytest.raises(DataNotFoundError, match=r"holds no file svm\.train\.normgrey"):
        datasets.load("cbcl_faces")


@pytest.mark.data
def test_the_content_of_usps_is_that_of_the_published_archive(real_data: Path) -> None:
    with np.load(real_data / "usps.npz") as archive:
        content = archive["X"].tobytes() + archive["y"].tobytes()
    assert hashlib.sha256(content).hexdigest() == conversions.USPS_CONTENT
