"""The helper of these tests can be imported by name."""

import sys
from pathlib import Path

# At the end: it must not shadow anything. In importlib mode a test cannot import its neighbours otherwise.
sys.path += [folder for folder in (str(Path(__file__).parent),) if folder not in sys.path]
