"""The pictures of README and guide, each with the numbers that it shows.

``python docs/_extensions/pictures.py`` draws them anew.

The numbers lie in the file as a text: what `compute` of the figure's script returns as results and certificates, and a
boundary as signs on a coarse grid. ``tests/test_page_numbers.py`` computes them again.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, PngImagePlugin

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ("two_labels", "false_labels")
KEY = "specmargin"
SIGNS = 8
"""Every so many points of the grid in each direction have their sign kept."""


def shown(data: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that a picture of computed data shows, rounded to what can be seen."""
    signs = {
        name: "".join("01"[int(value > 0)] for value in np.asarray(response)[::SIGNS, ::SIGNS].ravel())
        for name, response in data.get("responses", {}).items()
    }
    certificates = {
        name: {key: round(float(np.log10(value))) if value > 0 else None for key, value in own.items()}
        for name, own in data.get("certificates", {}).items()
    }
    results = json.loads(json.dumps(data["results"]), parse_float=lambda text: round(float(text), 6))
    return {"results": results, "powers of ten": certificates, "signs": signs}


def kept(path: Path) -> dict[str, Any]:
    """Return the numbers that a picture holds."""
    with Image.open(path) as picture:
        return dict(json.loads(picture.info[KEY]))


def main() -> None:
    """Draw both pictures; 256 colours are enough, and a third of the bytes."""
    from reproduction.figure_scripts import figure_scripts, load_script
    from specmargin.plots import save

    for name in PICTURES:
        script = load_script(figure_scripts()[name])
        data = script.compute("standard")
        with tempfile.TemporaryDirectory() as folder:
            (path,) = save(script.draw(data), f"{folder}/{name}", formats=("png",))
            small = Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.FLOYDSTEINBERG)
        text = PngImagePlugin.PngInfo()
        text.add_text(KEY, json.dumps(shown(data)))
        small.save(ROOT / "docs" / f"{name}.png", optimize=True, pnginfo=text)
        sys.stdout.write(f"docs/{name}.png is up to date.\n")


if __name__ == "__main__":
    main()
