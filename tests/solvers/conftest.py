"""The helpers of these tests, and the arithmetic in a hundred digits of `tests/exact`, can be imported by name."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
# At the end: they must not shadow anything. In importlib mode a test cannot import its neighbours otherwise.
sys.path += [folder for folder in (str(HERE), str(HERE.parent / "exact")) if folder not in sys.path]
