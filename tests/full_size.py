"""How much of a campaign the suite runs: a part that meets every kind, or all of it.

``SPECMARGIN_FULL=1 make test-all`` runs all, as before a release. What is left out are further seeds of the same kind,
and pairs of settings that do not know of each other.
"""

from __future__ import annotations

import os
from typing import TypeVar

FULL = os.environ.get("SPECMARGIN_FULL") == "1"
Kind = TypeVar("Kind")


def shortened(part: Kind, whole: Kind) -> Kind:
    """Return the part, or the whole where all was asked for."""
    return whole if FULL else part
