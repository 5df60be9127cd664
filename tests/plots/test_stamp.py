"""The note under a figure."""

import numpy as np
from matplotlib import image

from specmargin.plots import save, subplots
from specmargin.plots.stamp import QUICK_NOTE, add_note
from specmargin.plots.theme import WIDTHS


def picture(tmp_path, width, note):
    figure, axes = subplots(1, 1, width=width)
    axes[0, 0].set_xlabel("$x$")
    if note:
        add_note(figure, note)
    (path,) = save(figure, tmp_path / f"{width}-{bool(note)}", ("png",))
    return figure, image.imread(path)[..., :3]


def test_a_note_lies_below_everything_and_within_the_width(tmp_path):
    for width in WIDTHS:
        _, plain = picture(tmp_path, width, "")
        figure, noted = picture(tmp_path, width, QUICK_NOTE)
        assert 5 <= len(noted) - len(plain) <= 80  # rows of pixels
        assert noted.shape[1] <= 200 * WIDTHS[width] * 1.02
        below = noted[len(plain) :]
        assert (np.ptp(below, axis=2) > 0.3).any()  # in colour
        assert " ".join(figure.texts[-1].get_text().split()) == QUICK_NOTE
        assert figure.texts[-1].get_text().count("\n") == (width == "column")
