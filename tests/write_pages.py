"""Write the pages of docs that are written from the code, each held by the test that is run here as a command.

    python tests/write_pages.py

The tables of README.md and docs follow from results/recorded by ``python tests/page_numbers.py``.
"""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGES = (
    "test_programs.py",
    "estimators/test_signatures.py",
    "contract/test_failure_contract.py",
    "test_paper_pages.py",
    "test_real_tools.py",
)

if __name__ == "__main__":
    places = os.pathsep.join(str(place) for place in (HERE.parent, HERE, HERE / "contract"))
    for page in PAGES:
        subprocess.run([sys.executable, str(HERE / page)], check=True, env={**os.environ, "PYTHONPATH": places})
