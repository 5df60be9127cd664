"""Pictures are written into a page as they are, the smaller form where that is asked for."""

from __future__ import annotations

from base64 import b64decode

from reproduction.pages.contents import read_figures
from reproduction.pages.pictures import embedded, embedded_small, linked, picture_html


def test_a_picture_is_embedded_as_it_is(drawn):
    folder = drawn("two_labels", png=b"\x89PNG" + bytes(5000))
    drawn("spectra", svg="M0 0" * 5000)
    figures, _ = read_figures(folder)
    for name, small in (("two_labels", "svg"), ("spectra", "png")):
        pictures = figures[name].pictures
        kind, _, content = embedded(pictures).partition(";base64,")
        assert (kind, b64decode(content)) == ("data:image/svg+xml", (folder / f"{name}.svg").read_bytes())
        _, _, content = embedded_small(pictures).partition(";base64,")
        assert b64decode(content) == (folder / f"{name}.{small}").read_bytes()
        assert linked(pictures) == f"{name}.svg"
    only = {"png": folder / "spectra.png"}
    assert embedded(only) == embedded_small(only)
    assert linked({"png": folder / "a b#.png"}) == "a%20b%23.png"


def test_the_caption_is_the_words_of_the_picture(drawn):
    figures, _ = read_figures(drawn("two_labels"))
    html = picture_html(figures["two_labels"].pictures, linked, 'a "b" <c>')
    assert 'alt="a &quot;b&quot; &lt;c&gt;"' in html
    assert 'class="picture wide"' in html  # 400 points
