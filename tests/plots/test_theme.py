import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import colors, image
from matplotlib.figure import Figure
from PIL import Image

from specmargin.plots import decision_colormap, method_styles, save, style, subplots
from specmargin.plots.theme import CLASS_COLORS, METHODS


def luminance(color):
    """Relative luminance (WCAG): what a grey print keeps."""
    rgb = np.array(colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def seen_by_a_deuteranope(color):
    """Machado, Oliveira & Fernandes (2009), severity 1, in linear RGB."""
    rgb = np.array(colors.to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    matrix = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    return np.array(matrix) @ linear


def small_figure():
    figure, axes = subplots(1, 2, width="column")
    axes[0, 0].plot([0, 1], [0, 1], label="$x^2$")
    axes[0, 0].legend()
    axes[0, 1].imshow(np.eye(4), cmap=decision_colormap())
    return figure


def test_importing_and_drawing_leave_the_callers_parameters():
    before = dict(mpl.rcParams)
    figure = small_figure()
    assert dict(mpl.rcParams) == before
    with style():
        assert mpl.rcParams["pdf.fonttype"] == 42
    with pytest.raises(RuntimeError), style():
        raise RuntimeError
    assert dict(mpl.rcParams) == before
    assert figure.axes[0].xaxis.label.get_size() == 7.5


def test_every_method_looks_different_without_colour():
    looks = [(look.marker, look.linestyle) for look in METHODS.values()]
    assert len(set(looks)) == len(looks)


def test_methods_of_one_paper_differ_in_every_respect():
    first = [METHODS[name] for name in ("KTA", "STORM", "STOAM", "MKL", "SVM", "LapSVM")]
    for part in zip(*first, strict=True):
        assert len(set(part)) >= len(first) - 1  # LapSVM and STORM share the solid line
    assert len({look.color for look in first}) == len(first)
    assert len({look.marker for look in first}) == len(first)


def test_colours_differ_for_a_deuteranope():
    seen = [seen_by_a_deuteranope(METHODS[name].color) for name in ("KTA", "STORM", "MKL", "STOAM")]
    gaps = [np.linalg.norm(a - b) for k, a in enumerate(seen) for b in seen[:k]]
    assert min(gaps) > 0.1
    one, other = map(seen_by_a_deuteranope, CLASS_COLORS)
    assert np.linalg.norm(one - other) > 0.3


def test_styles_are_fixed_by_name_and_not_by_company():
    alone = method_styles(["STORM"])["STORM"]
    assert method_styles(["other", "KTA", "STORM"])["STORM"] == alone == METHODS["STORM"]
    assert method_styles(["STORM (B=1.5)"])["STORM (B=1.5)"] == alone
    # Two of a family: the plain name keeps the style, and the other one is told apart.
    both = method_styles(["STORM (B=1.5)", "STORM"])
    assert both["STORM"] == alone
    assert both["STORM (B=1.5)"] != alone
    # SVMlight is no SVM of ours, and MKL-R is not plain MKL.
    assert method_styles(["SVMlight"])["SVMlight"] != METHODS["SVM"]
    assert method_styles(["MKL-R n=5"])["MKL-R n=5"] == METHODS["MKL-R"]


def test_unknown_methods_get_styles_of_their_own():
    names = [f"new {k}" for k in range(8)]
    assert len(set(method_styles(names).values())) == 8
    assert list(method_styles(names)) == names


def test_colormap_is_white_at_zero_and_even_on_both_sides():
    colormap = decision_colormap()
    levels = np.linspace(0, 0.5, 6)
    negative = [luminance(colormap(0.5 - level)) for level in levels]
    positive = [luminance(colormap(0.5 + level)) for level in levels]
    assert colormap(0.5) == (1.0, 1.0, 1.0, 1.0)
    assert (np.diff(negative) < 0).all()
    assert (np.diff(positive) < 0).all()
    np.testing.assert_allclose(negative, positive, atol=0.06)


def test_sizes_are_those_of_paper_columns():
    assert subplots(width="page")[0].get_figwidth() == 7.0
    assert subplots(2, 2, width=5.0, aspect=0.5)[0].get_size_inches().tolist() == [5.0, 2.5]
    with pytest.raises(ValueError, match="width='wide' is unknown"):
        subplots(width="wide")


def test_save_is_deterministic_and_embeds_fonts(tmp_path):
    one = save(small_figure(), tmp_path / "deep" / "one.v1")
    two = save(small_figure(), tmp_path / "two")
    assert [path.name for path in one] == ["one.v1.pdf", "one.v1.png", "one.v1.svg"]
    for a, b in zip(one, two, strict=True):
        assert a.read_bytes() == b.read_bytes()
    pdf, _, svg = (path.read_bytes() for path in one)
    assert b"/FontFile2" in pdf
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf
    assert b"<dc:date>" not in svg
    assert b"<text" not in svg  # glyphs are outlines


def test_png_has_200_dots_per_inch_and_a_narrow_margin(tmp_path):
    figure = Figure(figsize=(3.0, 2.0), dpi=50)
    figure.add_axes((0, 0, 1, 1)).set(xticks=[], yticks=[])
    (path,) = save(figure, tmp_path / "figure", formats=("png",))
    height, width = image.imread(path).shape[:2]
    assert (width, height) == pytest.approx(((3.0 + 0.06) * 200, (2.0 + 0.06) * 200), abs=3)


def test_unknown_format_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="holds 'jpeg'; pass a list of formats: pdf, png, svg"):
        save(small_figure(), tmp_path / "figure", formats=("png", "jpeg"))
    assert list(tmp_path.iterdir()) == []


def test_the_caption_is_in_the_file(tmp_path):
    caption = "A line.\n\nIt is straight,\nand β is a letter."
    pdf, png, svg = save(small_figure(), tmp_path / "told", caption=caption)
    told = Image.open(png).text
    assert (told["Title"], told["Description"]) == ("A line.", "It is straight, and β is a letter.")
    assert b"/Title (A line.)" in pdf.read_bytes()
    assert b"/Subject" in pdf.read_bytes()
    text = svg.read_text(encoding="utf-8")
    assert "<dc:title>A line.</dc:title>" in text
    assert "It is straight, and β is a letter." in text
    plain = Image.open(save(small_figure(), tmp_path / "plain", ("png",))[0])
    assert "Title" not in plain.text
